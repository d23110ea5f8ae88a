/* sgemm.c - the single-precision matrix products of this machine on one thread: OpenBLAS's and ours, n x n x n, in
 * turns. What a training step is measured against by step.sh. Prints one line of key=value pairs: the best of the
 * rounds, since a busy neighbour only takes.
 *   sgemm [N [ROUNDS]]      (3000, 3) */
#include "trainer/cpu/kernels.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A is taken in tiles as the model's: their slices stay in the L2 cache, their rows in different sets of the L1 cache.
 */
#define ROWS 208
#define DEPTH 640
#define TILE_ROW 656

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* n columns, and room for a last panel that is not full. */
static float *numbers(int n)
{
    size_t size = (size_t)n * (size_t)(n + 64);
    float *p = malloc(size * sizeof *p);
    for (size_t i = 0; p && i < size; i++)
        p[i] = (float)((i * 2654435761u >> 8) % 2000) / 1000 - 1;
    return p;
}

/* Panels of the kernel's width, once: in training this is done for weights that serve a whole batch. */
static void pack(int n, int width, const float *b, float *packed)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            packed[(size_t)(j / width) * (size_t)(n * width) + (size_t)(i * width + j % width)] = b[i * n + j];
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

static void ours(const struct kernels *k, int n, int width, const float *a, const float *packed, float *c)
{
    static float tile[ROWS * TILE_ROW];
    for (int i = 0; i < n; i += ROWS)
        for (int p = 0; p < n; p += DEPTH) {
            int rows = least(n - i, ROWS), depth = least(n - p, DEPTH);
            for (int r = 0; r < rows; r++)
                memcpy(tile + r * TILE_ROW, a + (i + r) * n + p, (size_t)depth * sizeof *a);
            k->gemm(rows, n, depth, tile, TILE_ROW, 1, packed + p * width, width, (ptrdiff_t)n * width, c + i * n, n,
                    p > 0);
        }
}

static double worst(int n, const float *a, const float *b)
{
    double difference = 0, size = 0;
    for (int i = 0; i < n * n; i++) {
        difference = fmax(difference, fabs((double)a[i] - (double)b[i]));
        size = fmax(size, fabs((double)b[i]));
    }
    return difference / size;
}

int main(int argc, char **argv)
{
    const struct kernels *k = NULL;
    struct dcr_err err = {0};
    int n = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 3000, rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 3;
    if (n < 32 || n > 20000 || rounds < 1 || rounds > 1000) {
        fprintf(stderr, "sgemm: a size is 32 to 20000, rounds are 1 to 1000\n");
        return DCR_EXIT_INPUT;
    }
    n = n / KERNELS_LANES * KERNELS_LANES; /* our kernels have no ragged width: 3000 becomes 2992 */
    if (kernels_choose(NULL, &k, &err)) {
        fprintf(stderr, "sgemm: %s\n", err.text);
        return DCR_EXIT_INPUT;
    }
    int width = least(n, k->panel);
    float *a = numbers(n), *b = numbers(n), *packed = numbers(n), *c_blas = numbers(n), *c_ours = numbers(n);
    double best_blas = INFINITY, best_ours = INFINITY;
    if (!a || !b || !packed || !c_blas || !c_ours) {
        fprintf(stderr, "sgemm: no memory for five matrices of %d x %d\n", n, n);
        return DCR_EXIT_INPUT;
    }
    openblas_set_num_threads(1);
    for (int round = 0; round < rounds; round++) {
        double t0 = cpu_s();
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a, n, b, n, 0, c_blas, n);
        double t1 = cpu_s();
        pack(n, width, b, packed);
        double t2 = cpu_s();
        ours(k, n, width, a, packed, c_ours);
        best_blas = fmin(best_blas, t1 - t0);
        best_ours = fmin(best_ours, cpu_s() - t2);
    }
    double gflop = 2e-9 * n * n * n;
    printf("n=%d openblas=%s openblas_gflops=%.1f kernels=%s ours_gflops=%.1f difference=%.1e\n", n,
           openblas_get_corename(), gflop / best_blas, k->name, gflop / best_ours, worst(n, c_ours, c_blas));
    free(a);
    free(b);
    free(packed);
    free(c_blas);
    free(c_ours);
    return 0;
}
