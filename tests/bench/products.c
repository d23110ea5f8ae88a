/* products.c - single-precision matrix products of this machine on one thread, OpenBLAS's and ours in turns, and the
 * rate of multiply-adds whose numbers stay in registers. step.sh compares a training step with them.
 *   products [KERNELS [N [ROUNDS]]]      (the best of this CPU, 3000, 7)
 * A line of key=value pairs for the registers, for n x n x n and for the four products that a step of METR-LA's shape
 * consists of. Medians of the rounds, in GFLOP/s. OPENBLAS_CORETYPE chooses the kernels of OpenBLAS. */
#include "tests/bench/registers.h"
#include "trainer/cpu/kernels.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_ROUNDS 100
#define LANES 16 /* an odd number of cache lines between rows spreads them over the sets of the first cache */

static float *numbers(size_t n)
{
    float *p = aligned_alloc(64, (n * sizeof *p + 63) / 64 * 64);
    for (size_t i = 0; p && i < n; i++)
        p[i] = (float)((i * 2654435761u >> 8) % 2000) / 1000 - 1;
    return p;
}

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, compare);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* ---- products --------------------------------------------------------------------------------------------------- */

struct product {
    const char *what;
    int m, n, k;
    int is_turned; /* A is read by columns, B lies in rows, and the result is added up: a gradient of weights */
    float *a, *b, *packed, *blas, *ours;
    ptrdiff_t a_row, b_row;
};

static ptrdiff_t odd_lines(int n)
{
    return ((n + LANES - 1) / LANES | 1) * LANES;
}

static int make(struct product *p, int panel)
{
    int width = p->n < panel ? p->n : panel;
    int rows = p->is_turned ? p->k : p->m, columns = p->is_turned ? p->m : p->k;
    p->a_row = p->is_turned ? columns : odd_lines(columns);
    p->b_row = p->is_turned ? odd_lines(p->n) : p->n;
    p->a = numbers((size_t)rows * (size_t)p->a_row);
    p->b = numbers((size_t)p->k * (size_t)p->b_row + (size_t)width);
    p->packed = numbers((size_t)p->k * (size_t)(p->n + width));
    p->blas = calloc((size_t)p->m * (size_t)p->n, sizeof *p->blas);
    p->ours = calloc((size_t)p->m * (size_t)p->n, sizeof *p->ours);
    if (!p->a || !p->b || !p->packed || !p->blas || !p->ours)
        return -1;
    /* In training this is done once for weights that serve a whole batch. */
    for (int i = 0; i < p->k; i++)
        for (int j = 0; j < p->n; j++)
            p->packed[(size_t)(j / width) * (size_t)(p->k * width) + (size_t)(i * width + j % width)] =
                p->b[i * p->b_row + j];
    return 0;
}

static void release(struct product *p)
{
    float *all[] = {p->a, p->b, p->packed, p->blas, p->ours};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
}

static void by_blas(const struct product *p)
{
    cblas_sgemm(CblasRowMajor, p->is_turned ? CblasTrans : CblasNoTrans, CblasNoTrans, p->m, p->n, p->k, 1, p->a,
                (int)p->a_row, p->b, (int)p->b_row, p->is_turned ? 1 : 0, p->blas, p->n);
}

/* A large product is computed in tiles of A that fill three quarters of the second cache; A of the model is already
 * such a tile. */
enum { DEPTH = 448, TILE_ROW = DEPTH + LANES };
static void by_us(const struct product *p, const struct kernels *k, float *tile, int tile_rows)
{
    int width = p->n < k->panel ? p->n : k->panel;
    ptrdiff_t panel = (ptrdiff_t)p->k * width;
    if (p->is_turned)
        k->gemm(p->m, p->n, p->k, p->a, 1, p->a_row, p->b, p->b_row, k->panel, p->ours, p->n, 1);
    else if (!tile)
        k->gemm(p->m, p->n, p->k, p->a, p->a_row, 1, p->packed, width, panel, p->ours, p->n, 0);
    for (int i = 0; tile && i < p->m; i += tile_rows)
        for (int q = 0; q < p->k; q += DEPTH) {
            int rows = p->m - i < tile_rows ? p->m - i : tile_rows, depth = p->k - q < DEPTH ? p->k - q : DEPTH;
            for (int r = 0; r < rows; r++)
                memcpy(tile + r * TILE_ROW, p->a + (i + r) * p->a_row + q, (size_t)depth * sizeof *tile);
            k->gemm(rows, p->n, depth, tile, TILE_ROW, 1, p->packed + (size_t)q * (size_t)width, width, panel,
                    p->ours + (ptrdiff_t)i * p->n, p->n, q > 0);
        }
}

static double worst(const struct product *p)
{
    double difference = 0, size = 0;
    for (ptrdiff_t i = 0; i < (ptrdiff_t)p->m * p->n; i++) {
        difference = fmax(difference, fabs((double)p->blas[i] - (double)p->ours[i]));
        size = fmax(size, fabs((double)p->blas[i]));
    }
    return difference / size;
}

static int measure(struct product *p, const struct kernels *k, int rounds)
{
    double blas[MAX_ROUNDS], ours[MAX_ROUNDS], flop = 2.0 * p->m * p->n * p->k;
    int is_large = flop > 1e9, repeats = is_large ? 1 : (int)(1e9 / flop);
    long cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
    int tile_rows = (int)((cache > 0 ? cache : 1 << 20) * 3 / 4 / (DEPTH * (long)sizeof(float)) / 84 * 84); /* 14 x 6 */
    float *tile = tile_rows ? numbers((size_t)tile_rows * TILE_ROW) : NULL;
    if (make(p, k->panel) || !tile) {
        fprintf(stderr, "products: no memory for matrices of %d x %d x %d\n", p->m, p->n, p->k);
        free(tile);
        release(p);
        return -1;
    }
    for (int round = 0; round < rounds; round++) {
        double t = thread_cpu_s();
        for (int i = 0; i < repeats; i++)
            by_blas(p);
        blas[round] = 1e-9 * flop * repeats / (thread_cpu_s() - t);
        t = thread_cpu_s();
        for (int i = 0; i < repeats; i++)
            by_us(p, k, is_large ? tile : NULL, tile_rows);
        ours[round] = 1e-9 * flop * repeats / (thread_cpu_s() - t);
    }
    memset(p->blas, 0, (size_t)p->m * (size_t)p->n * sizeof *p->blas);
    memset(p->ours, 0, (size_t)p->m * (size_t)p->n * sizeof *p->ours);
    by_blas(p);
    by_us(p, k, is_large ? tile : NULL, tile_rows);
    double b = median(blas, rounds), o = median(ours, rounds), difference = worst(p);
    printf("product=%s m=%d n=%d k=%d blas=%.1f ours=%.1f ratio=%.3f difference=%.1e\n", p->what, p->m, p->n, p->k, b,
           o, o / b, difference);
    free(tile);
    release(p);
    if (!(difference < 1e-5)) {
        fprintf(stderr, "products: the two results of '%s' differ by %.1e of the largest number\n", p->what,
                difference);
        return -1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    const struct kernels *k = NULL;
    struct dcr_err err = {0};
    const char *name = argc > 1 && strcmp(argv[1], "auto") != 0 ? argv[1] : NULL;
    long n = argc > 2 ? strtol(argv[2], NULL, 10) : 3000, rounds = argc > 3 ? strtol(argv[3], NULL, 10) : 7;
    if (n < 32 || n > 20000 || rounds < 1 || rounds > MAX_ROUNDS) {
        fprintf(stderr, "products: a size is 32 to 20000, rounds are 1 to %d\n", MAX_ROUNDS);
        return DCR_EXIT_INPUT;
    }
    if (kernels_choose(name, &k, &err)) {
        fprintf(stderr, "products: %s\n", err.text);
        return DCR_EXIT_INPUT;
    }
    openblas_set_num_threads(1);
    double rates[MAX_ROUNDS];
    for (int i = 0; i < rounds; i++)
        rates[i] = register_rate(k->name);
    printf("registers=%.1f kernels=%s openblas=%s\n", median(rates, (int)rounds), k->name, openblas_get_corename());
    int size = (int)n / KERNELS_LANES * KERNELS_LANES; /* our kernels have no ragged width: 3000 becomes 2992 */
    struct product all[] = {
        {.what = "large", .m = size, .n = size, .k = size},
        {.what = "gates", .m = 207, .n = 128, .k = 640},
        {.what = "candidate", .m = 207, .n = 64, .k = 640},
        {.what = "state-gradient", .m = 207, .n = 64, .k = 320},
        {.what = "weight-gradient", .m = 64, .n = 320, .k = 207, .is_turned = 1},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (measure(&all[i], k, (int)rounds))
            return DCR_EXIT_INPUT;
    return 0;
}
