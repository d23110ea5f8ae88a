/* gconv.c - see gconv.h. Called by dcgru.c for every cell and step; independent of weights and time. */
#include "trainer/model/gconv.h"

#include <stdlib.h>
#include <string.h>

static void csr_release(struct kernels_csr *m)
{
    free(m->row_start);
    free(m->col);
    free(m->val);
    memset(m, 0, sizeof *m);
}

static int csr_copy(const struct graph_csr *from, struct kernels_csr *to, struct dcr_err *err)
{
    size_t n = (size_t)from->n, nnz = (size_t)graph_csr_nnz(from);
    *to = (struct kernels_csr){.n = from->n,
                               .row_start = malloc((n + 1) * sizeof *to->row_start),
                               .col = malloc((nnz + 1) * sizeof *to->col),
                               .val = malloc((nnz + 1) * sizeof *to->val)};
    if (!to->row_start || !to->col || !to->val)
        return dcr_err_set(err, DCR_FAIL, "out of memory for a support with %zu entries", nnz);
    memcpy(to->row_start, from->row_start, (n + 1) * sizeof *to->row_start);
    memcpy(to->col, from->col, nnz * sizeof *to->col);
    for (size_t e = 0; e < nnz; e++)
        to->val[e] = (real)from->val[e];
    return 0;
}

int gconv_init(struct gconv *g, const struct graph_supports *supports, int k_hops, enum dcrnn_recursion recursion,
               const struct kernels *kernels, struct dcr_err *err)
{
    memset(g, 0, sizeof *g);
    g->kernels = kernels;
    g->n_sensors = supports->n_sensors;
    g->n_supports = supports->n;
    g->k_hops = k_hops;
    g->n_terms = 1 + supports->n * k_hops;
    g->recursion = recursion;
    struct graph_csr transposed = {0};
    int rc = 0;
    for (int s = 0; s < supports->n && rc == 0; s++) {
        rc = csr_copy(&supports->support[s], &g->support[s], err);
        if (rc == 0)
            rc = graph_csr_transpose(&supports->support[s], &transposed, err);
        if (rc == 0)
            rc = csr_copy(&transposed, &g->transposed[s], err);
        graph_csr_free(&transposed);
    }
    return rc;
}

void gconv_release(struct gconv *g)
{
    for (int s = 0; s < GRAPH_MAX_SUPPORTS; s++) {
        csr_release(&g->support[s]);
        csr_release(&g->transposed[s]);
    }
}

ptrdiff_t gconv_odd_lines(ptrdiff_t n)
{
    ptrdiff_t lane = 64 / (ptrdiff_t)sizeof(real), lines = (n + lane - 1) / lane;
    return (lines | 1) * lane;
}

ptrdiff_t gconv_scratch_row(const struct gconv *g, int width)
{
    int strip = g->kernels->strip;
    return gconv_odd_lines((ptrdiff_t)g->k_hops * (width < strip ? width : strip));
}

/* The terms k = 1 .. K of one support from its starting value; term k goes to out + (k-1) * out_term. */
static void recur(const struct gconv *g, const struct kernels_csr *s, int n_samples, int width, const real *start,
                  ptrdiff_t start_row, real *out, ptrdiff_t out_row, ptrdiff_t out_term)
{
    for (int k = 1; k <= g->k_hops; k++) {
        real *y = out + (k - 1) * out_term;
        const real *last = k == 1 ? start : y - out_term;
        const real *last_but_one = k == 1 ? NULL : k == 2 ? start : y - 2 * out_term;
        g->kernels->spmm(s, n_samples, width, k == 1 ? 1 : 2, last, k == 1 ? start_row : out_row, last_but_one,
                         k == 2 ? start_row : out_row, y, out_row);
    }
}

void gconv_diffuse(const struct gconv *g, int n_samples, int width, real *z, ptrdiff_t row, ptrdiff_t term)
{
    const real *start = z;
    for (int s = 0; s < g->n_supports; s++) {
        real *out = z + (1 + s * g->k_hops) * term;
        recur(g, &g->support[s], n_samples, width, start, row, out, row, term);
        if (g->recursion == DCRNN_PUBLISHED && g->k_hops > 1)
            start = out + (g->k_hops - 2) * term; /* a_(K-1); for K = 1 that is a_0, the input */
    }
}

/* With "published" the terms of support 2 are T_k(S2) T_(K-1)(S1) X, T_k the Chebyshev polynomials. Their adjoint is
 * T_(K-1)(S1^T) T_k(S2^T) G: first the recursion with S2^T, then K-1 more steps with S1^T on all K results at once.
 * The two steps of a Chebyshev recursion alternate between `scratch` and the final place, and start so that they end
 * in the final place. */
static void adjoint_published(const struct gconv *g, int n_samples, int width, const real *g0, real *out, ptrdiff_t row,
                              ptrdiff_t term, real *scratch)
{
    int n_steps = g->k_hops - 1;
    struct place {
        real *p;
        ptrdiff_t row, term;
    } final = {out, row, term}, other = {scratch, gconv_scratch_row(g, width), width};
    struct place even = n_steps % 2 ? other : final, odd = n_steps % 2 ? final : other;
    recur(g, &g->transposed[1], n_samples, width, g0, row, even.p, even.row, even.term);
    for (int k = 1; k <= n_steps; k++) {
        const struct place from = k % 2 ? even : odd, to = k % 2 ? odd : even;
        for (int t = 0; t < g->k_hops; t++)
            g->kernels->spmm(&g->transposed[0], n_samples, width, k == 1 ? 1 : 2, from.p + t * from.term, from.row,
                             k == 1 ? NULL : to.p + t * to.term, to.row, to.p + t * to.term, to.row);
    }
}

static void adjoint_strip(const struct gconv *g, int n_samples, int width, real *q, ptrdiff_t row, ptrdiff_t term,
                          real *scratch)
{
    real *out = q + (1 + g->k_hops) * term;
    recur(g, &g->transposed[0], n_samples, width, q, row, q + term, row, term);
    if (g->n_supports < 2)
        return;
    if (g->recursion == DCRNN_PUBLISHED && g->k_hops > 1)
        adjoint_published(g, n_samples, width, q, out, row, term, scratch);
    else
        recur(g, &g->transposed[1], n_samples, width, q, row, out, row, term);
}

/* All terms of some columns, then the next columns, so that the output of one product is in the cache when the next one
 * reads it. */
void gconv_adjoint(const struct gconv *g, int n_samples, int width, real *q, ptrdiff_t row, real *scratch)
{
    int strip = g->kernels->strip;
    for (int j = 0; j < width; j += strip)
        adjoint_strip(g, n_samples, width - j < strip ? width - j : strip, q + j, row, width, scratch);
}
