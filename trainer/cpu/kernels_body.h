/* kernels_body.h - the kernels of kernels.h, written over a vector type. Included once per instruction set after these
 * are defined: vec (vector of VL reals), ivec (of as many int32), VL, NV (vectors per panel row of the product), MR
 * (rows of its register tile), vec_fma(a, b, c) = a b + c, vec_set1(x), KERNELS_TABLE, KERNELS_NAME; and KERNELS_BLAS
 * to take the matrix product from OpenBLAS. */

#include <math.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
/* Loops over registers must disappear, or the registers live in memory; -O2 alone does not do that. */
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

typedef vec vec_unaligned __attribute__((aligned(sizeof(real)), may_alias));
INLINE vec load(const real *p)
{
    return *(const vec_unaligned *)p;
}
INLINE void store(real *p, vec v)
{
    *(vec_unaligned *)p = v;
}

/* ---- matrix product ------------------------------------------------------------------------------------------- */

#ifdef KERNELS_BLAS
static void gemm(int m, int n, int k, const real *a, ptrdiff_t a_row, ptrdiff_t a_col, const real *b, ptrdiff_t b_row,
                 ptrdiff_t b_panel, real *c, ptrdiff_t c_row, int add)
{
    (void)b_panel; /* one panel holds all columns */
    if (m == 0 || n == 0)
        return;
    CBLAS_TRANSPOSE trans = a_col == 1 ? CblasNoTrans : CblasTrans;
    int lda = (int)(a_col == 1 ? a_row : a_col);
    if (a_col == 1 && lda < k)
        lda = k; /* one row: the stride is not used, but checked */
    if (a_col != 1 && lda < m)
        lda = m;
    CBLAS_GEMM(CblasRowMajor, trans, CblasNoTrans, m, n, k, 1, a, lda, b, (int)b_row, add ? 1 : 0, c, (int)c_row);
}
#define PANEL (1 << 30)
#else
#define PANEL 32
#define K_BLOCK 224 /* at most; a strip of B is then 28 KB, inside the L1 cache of every CPU with AVX2 */

/* The register tile: rows x nv vectors of C += A B over k; A is read by broadcast, B and C by vectors. `a_unit` says at
 * compile time which stride of A is 1, so that addresses fold into the instructions. */
INLINE void tile(int rows, int nv, int a_unit_col, int k, const real *a, ptrdiff_t a_stride, const real *b,
                 ptrdiff_t b_row, real *c, ptrdiff_t c_row, int add)
{
    vec acc[MR][NV];
    UNROLL
    for (int i = 0; i < rows; i++) {
        UNROLL
        for (int j = 0; j < nv; j++)
            acc[i][j] = add ? load(c + i * c_row + j * VL) : vec_set1(0);
    }
    for (int p = 0; p < k; p++) {
        vec right[NV];
        UNROLL
        for (int j = 0; j < nv; j++)
            right[j] = load(b + j * VL);
        UNROLL
        for (int i = 0; i < rows; i++) {
            vec left = vec_set1(a_unit_col ? a[i * a_stride] : a[i]);
            UNROLL
            for (int j = 0; j < nv; j++)
                acc[i][j] = vec_fma(left, right[j], acc[i][j]);
        }
        a += a_unit_col ? 1 : a_stride;
        b += b_row;
    }
    UNROLL
    for (int i = 0; i < rows; i++) {
        UNROLL
        for (int j = 0; j < nv; j++)
            store(c + i * c_row + j * VL, acc[i][j]);
    }
}

/* One function per number of rows, so that a ragged edge still runs from registers. */
#define TILE_CASE(r)                                                      \
    case r:                                                               \
        tile(r, nv, a_unit_col, k, a, a_stride, b, b_row, c, c_row, add); \
        break;
#define TILE_SWITCH(nv_, a_unit_col_)                \
    {                                                \
        enum { nv = nv_, a_unit_col = a_unit_col_ }; \
        switch (rows) {                              \
            TILE_CASES                               \
        default:                                     \
            break;                                   \
        }                                            \
    }
static __attribute__((noinline)) void tile_any(int rows, int whole, int unit_col, int k, const real *a,
                                               ptrdiff_t a_stride, const real *b, ptrdiff_t b_row, real *c,
                                               ptrdiff_t c_row, int add)
{
    if (whole && unit_col)
        TILE_SWITCH(NV, 1)
    else if (whole)
        TILE_SWITCH(NV, 0)
    else if (unit_col)
        TILE_SWITCH(1, 1)
    else
        TILE_SWITCH(1, 0)
}

static void gemm(int m, int n, int k, const real *a, ptrdiff_t a_row, ptrdiff_t a_col, const real *b, ptrdiff_t b_row,
                 ptrdiff_t b_panel, real *c, ptrdiff_t c_row, int add)
{
    if (k == 0 && !add)
        for (int i = 0; i < m; i++)
            memset(c + i * c_row, 0, (size_t)n * sizeof *c);
    int unit_col = a_col == 1;
    ptrdiff_t a_stride = unit_col ? a_row : a_col;
    int n_blocks = (m + MR - 1) / MR; /* of nearly equal height: no thin last block */
    int n_slices = (k + K_BLOCK - 1) / K_BLOCK;
    for (int slice = 0; slice < n_slices; slice++) {
        int k0 = (int)((long)k * slice / n_slices), kn = (int)((long)k * (slice + 1) / n_slices) - k0;
        for (int j = 0; j < n;) { /* the slice of one strip of B stays in L1 for all of A */
            int whole = n - j >= NV * VL;
            const real *bj = b + (j / PANEL) * b_panel + k0 * b_row + j % PANEL;
            for (int block = 0; block < n_blocks; block++) {
                int i0 = (int)((long)m * block / n_blocks), i1 = (int)((long)m * (block + 1) / n_blocks);
                tile_any(i1 - i0, whole, unit_col, kn, a + i0 * a_row + k0 * a_col, a_stride, bj, b_row,
                         c + i0 * c_row + j, c_row, add || k0 > 0);
            }
            j += whole ? NV * VL : VL;
        }
    }
}
#endif

static void dots(int m, int n, int k, const real *a, ptrdiff_t a_row, const real *w, ptrdiff_t w_row, real *y,
                 ptrdiff_t y_row)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            const real *ai = a + i * a_row, *wj = w + j * w_row;
            vec sum = vec_set1(0);
            for (int p = 0; p < k; p += VL)
                sum = vec_fma(load(ai + p), load(wj + p), sum);
            real total = 0;
            for (int lane = 0; lane < VL; lane++)
                total += sum[lane];
            y[i * y_row + j] += total;
        }
}

/* ---- sparse product ------------------------------------------------------------------------------------------- */

/* acc += the neighbours e .. e + n - 1 of a row. */
INLINE void add_neighbours(int n, int nv, const struct kernels_csr *s, int e, const real *x, ptrdiff_t x_row, vec *acc)
{
    UNROLL
    for (int p = 0; p < n; p++) {
        vec weight = vec_set1(s->val[e + p]);
        const real *from = x + s->col[e + p] * x_row;
        UNROLL
        for (int j = 0; j < nv; j++)
            acc[j] = vec_fma(weight, load(from + j * VL), acc[j]);
    }
}

/* One row of y, nv vectors wide, kept in registers over the neighbours of the row; these in pairs, since a
 * branch for each of the few costs as much as its product. */
INLINE void spmm_strip(int nv, const struct kernels_csr *s, int i, real factor, const real *x, ptrdiff_t x_row,
                       const real *prev, real *y)
{
    vec acc[4];
    int e = s->row_start[i], end = s->row_start[i + 1];
    UNROLL
    for (int j = 0; j < nv; j++)
        acc[j] = vec_set1(0);
    for (; e + 2 <= end; e += 2)
        add_neighbours(2, nv, s, e, x, x_row, acc);
    for (; e < end; e++)
        add_neighbours(1, nv, s, e, x, x_row, acc);
    vec f = vec_set1(factor);
    UNROLL
    for (int j = 0; j < nv; j++)
        store(y + j * VL, prev ? vec_fma(f, acc[j], -load(prev + j * VL)) : f * acc[j]);
}

static void spmm_tail(const struct kernels_csr *s, int i, int width, real factor, const real *x, ptrdiff_t x_row,
                      const real *prev, real *y)
{
    for (int j = 0; j < width; j++) {
        real sum = 0;
        for (int e = s->row_start[i]; e < s->row_start[i + 1]; e++)
            sum += s->val[e] * x[s->col[e] * x_row + j];
        y[j] = factor * sum - (prev ? prev[j] : 0);
    }
}

static void spmm(const struct kernels_csr *s, int n_samples, int width, real factor, const real *x, ptrdiff_t x_row,
                 const real *prev, ptrdiff_t prev_row, real *y, ptrdiff_t y_row)
{
    for (int sample = 0; sample < n_samples; sample++) {
        for (int j = 0; j < width;) { /* strips of columns: one strip of all rows of x fits L1 or L2 */
            int left = width - j, step = left >= 4 * VL ? 4 * VL : left >= VL ? VL : left;
            for (int i = 0; i < s->n; i++) {
                const real *prev_i = prev ? prev + i * prev_row + j : NULL;
                if (step == 4 * VL)
                    spmm_strip(4, s, i, factor, x + j, x_row, prev_i, y + i * y_row + j);
                else if (step == VL)
                    spmm_strip(1, s, i, factor, x + j, x_row, prev_i, y + i * y_row + j);
                else
                    spmm_tail(s, i, left, factor, x + j, x_row, prev_i, y + i * y_row + j);
            }
            j += step;
        }
        x += s->n * x_row;
        y += s->n * y_row;
        prev = prev ? prev + s->n * prev_row : NULL;
    }
}

/* ---- activations ---------------------------------------------------------------------------------------------- */

#ifdef DCR_REAL_F64
INLINE vec vec_sigmoid(vec x)
{
    for (int lane = 0; lane < VL; lane++)
        x[lane] = 1 / (1 + exp(-x[lane]));
    return x;
}
INLINE vec vec_tanh(vec x)
{
    for (int lane = 0; lane < VL; lane++)
        x[lane] = tanh(x[lane]);
    return x;
}
#else
/* exp(x) for x clamped to [-87, 87]: x = n ln 2 + r, |r| <= ln 2 / 2, exp(r) by its Taylor polynomial of degree 7
 * (truncation below 6e-9 relative), times 2^n. NaN stays NaN. */
INLINE vec vec_exp(vec x)
{
    const vec lo = vec_set1(-87.0f), hi = vec_set1(87.0f);
    ivec below = x<lo, above = x> hi;
    x = (vec)(((ivec)x & ~below & ~above) | ((ivec)lo & below) | ((ivec)hi & above));
    const vec magic = vec_set1(12582912.0f); /* 1.5 * 2^23: adding it rounds to an integer, left in the low bits */
    vec t = vec_fma(x, vec_set1(1.44269504088896f), magic);
    vec n = t - magic;
    vec r = vec_fma(n, vec_set1(-0.693145751953125f), x); /* ln 2 in two parts, the first exact times n */
    r = vec_fma(n, vec_set1(-1.42860682030941723e-6f), r);
    vec p = vec_set1(1.0f / 5040);
    p = vec_fma(p, r, vec_set1(1.0f / 720));
    p = vec_fma(p, r, vec_set1(1.0f / 120));
    p = vec_fma(p, r, vec_set1(1.0f / 24));
    p = vec_fma(p, r, vec_set1(1.0f / 6));
    p = vec_fma(p, r, vec_set1(0.5f));
    p = vec_fma(p, r, vec_set1(1.0f));
    p = vec_fma(p, r, vec_set1(1.0f));
    ivec power = ((ivec)t << 23) + 0x3f800000;
    return p * (vec)power;
}
/* Absolute error of both below 2.5e-7 for all x (measured over all floats in tests/unit/test_kernels.c). */
INLINE vec vec_sigmoid(vec x)
{
    return vec_set1(1) / (vec_set1(1) + vec_exp(-x));
}
INLINE vec vec_tanh(vec x)
{
    return vec_set1(1) - vec_set1(2) / (vec_set1(1) + vec_exp(x + x));
}
#endif

static void gates(int m, int units, const real *pre, const real *b, const real *h, real *r, real *u, real *rh,
                  ptrdiff_t rh_row)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < units; j += VL) {
            ptrdiff_t at = (ptrdiff_t)i * units + j;
            const real *p = pre + (ptrdiff_t)i * 2 * units + j;
            vec reset = vec_sigmoid(load(p) + load(b + j));
            store(r + at, reset);
            store(u + at, vec_sigmoid(load(p + units) + load(b + units + j)));
            if (h)
                store(rh + i * rh_row + j, reset * load(h + at));
        }
}

static void state(int m, int units, const real *pre, const real *b, const real *u, const real *h, real *c, real *h_new)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < units; j += VL) {
            ptrdiff_t at = (ptrdiff_t)i * units + j;
            vec candidate = vec_tanh(load(pre + at) + load(b + j));
            vec keep = load(u + at), old = h ? load(h + at) : vec_set1(0);
            store(c + at, candidate);
            store(h_new + at, vec_fma(keep, old - candidate, candidate));
        }
}

static void back_candidate(int m, int units, const real *dh, const real *u, const real *c, real *g_c, ptrdiff_t g_c_row)
{
    const vec one = vec_set1(1);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < units; j += VL) {
            ptrdiff_t at = (ptrdiff_t)i * units + j;
            vec candidate = load(c + at);
            store(g_c + i * g_c_row + j, load(dh + at) * (one - load(u + at)) * (one - candidate * candidate));
        }
}

static void back_gates(int m, int units, const real *d_rh, const real *h, const real *r, const real *u, const real *c,
                       real *dh, real *g_ru, ptrdiff_t g_row)
{
    const vec one = vec_set1(1), zero = vec_set1(0);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < units; j += VL) {
            ptrdiff_t at = (ptrdiff_t)i * units + j;
            real *g = g_ru + i * g_row + j;
            vec d = load(dh + at), keep = load(u + at), old = h ? load(h + at) : zero;
            store(g + units, d * (old - load(c + at)) * keep * (one - keep));
            if (h) {
                vec reset = load(r + at), through = load(d_rh + at) * reset;
                store(g, through * (one - reset) * old);
                store(dh + at, vec_fma(d, keep, through));
            } else {
                store(g, zero);
            }
        }
}

static void multiply(ptrdiff_t n, const real *a, const real *b, real *y)
{
    for (ptrdiff_t i = 0; i < n; i += VL)
        store(y + i, load(a + i) * load(b + i));
}

const struct kernels KERNELS_TABLE = {
    .name = KERNELS_NAME,
    .panel = PANEL,
    .gemm = gemm,
    .dots = dots,
    .spmm = spmm,
    .gates = gates,
    .state = state,
    .back_candidate = back_candidate,
    .back_gates = back_gates,
    .multiply = multiply,
};
