/* graph_eigen.c - graph_lambda_max of graph.h. Called by graph.c for the laplacian filter only. */
#include "trainer/model/graph.h"

#include "trainer/model/rng.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#define MAX_STEPS 500

static void multiply(const struct graph_csr *m, const double *x, double *y)
{
    for (int i = 0; i < m->n; i++) {
        y[i] = 0;
        for (int e = m->row_start[i]; e < m->row_start[i + 1]; e++)
            y[i] += m->val[e] * x[m->col[e]];
    }
}

static double dot(int n, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Number of eigenvalues above x of the tridiagonal matrix: signs of its Sturm sequence. */
static int count_above(int n, const double *diagonal, const double *beside, double x)
{
    int above = 0;
    double d = 1;
    for (int i = 0; i < n; i++) {
        double b = i > 0 ? beside[i - 1] : 0;
        d = diagonal[i] - x - b * b / d;
        if (d == 0)
            d = 1e-300;
        above += d > 0;
    }
    return above;
}

static double tridiagonal_max(int n, const double *diagonal, const double *beside)
{
    double low = diagonal[0], high = diagonal[0];
    for (int i = 0; i < n; i++) { /* Gershgorin */
        double radius = (i > 0 ? fabs(beside[i - 1]) : 0) + (i + 1 < n ? fabs(beside[i]) : 0);
        low = fmin(low, diagonal[i] - radius);
        high = fmax(high, diagonal[i] + radius);
    }
    for (int k = 0; k < 200; k++) {
        double middle = low + (high - low) / 2;
        if (middle <= low || middle >= high)
            break;
        if (count_above(n, diagonal, beside, middle) > 0)
            low = middle;
        else
            high = middle;
    }
    return high;
}

int graph_lambda_max(const struct graph_csr *m, double *out, struct dcr_err *err)
{
    int n = m->n, limit = n < MAX_STEPS ? n : MAX_STEPS, is_done = 0, rc = 0;
    double diagonal[MAX_STEPS], beside[MAX_STEPS], last = 0;
    double *basis = malloc((size_t)(limit + 1) * (size_t)n * sizeof *basis);
    if (!basis)
        return dcr_err_set(err, DCR_FAIL, "no memory for the eigenvalue of a graph of %d sensors", n);
    for (int i = 0; i < n; i++)
        basis[i] = rng_normal(1, RNG_TEST, (uint64_t)i); /* any direction with a part in every eigenvector */
    double norm = sqrt(dot(n, basis, basis));
    for (int i = 0; i < n; i++)
        basis[i] /= norm;
    for (int k = 0; k < limit && !is_done; k++) {
        const double *q = basis + (ptrdiff_t)k * n;
        double *next = basis + (ptrdiff_t)(k + 1) * n;
        multiply(m, q, next);
        diagonal[k] = dot(n, q, next);
        for (int pass = 0; pass < 2; pass++) /* once leaves rounding errors of the first pass */
            for (int j = 0; j <= k; j++) {
                const double *b = basis + (ptrdiff_t)j * n;
                double along = dot(n, b, next);
                for (int i = 0; i < n; i++)
                    next[i] -= along * b[i];
            }
        beside[k] = sqrt(dot(n, next, next));
        double now = tridiagonal_max(k + 1, diagonal, beside);
        /* The space is exhausted, or the value stands still; its error is quadratic in the residual. */
        is_done = k + 1 == n || beside[k] < 1e-14 || (k > 20 && k % 10 == 0 && fabs(now - last) <= 1e-15 * fabs(now));
        if (k % 10 == 0)
            last = now;
        *out = now;
        for (int i = 0; i < n && !is_done; i++)
            next[i] /= beside[k];
    }
    if (!is_done)
        rc = dcr_err_set(err, DCR_FAIL, "the largest eigenvalue of the graph's laplacian did not converge in %d steps",
                         MAX_STEPS);
    free(basis);
    return rc;
}
