/* verify_case.c - see verify_case.h: the arrays of a case, and how far ours are from them. */
#include "trainer/tools/verify_case.h"

#include <math.h>
#include <stdio.h>

static int array_path(const struct verify *v, const char *name, const char *precision, char *path, size_t n)
{
    return snprintf(path, n, "%s/%s_%s.npy", v->dir, name, precision) < (int)n ? 0 : -1;
}

int verify_has(const struct verify *v, const char *name, const char *precision)
{
    char path[4096];
    FILE *f = array_path(v, name, precision, path, sizeof path) == 0 ? fopen(path, "rb") : NULL;
    if (f)
        fclose(f);
    return f != NULL;
}

static void shape_text(const int *shape, char *out, size_t n)
{
    size_t used = 0;
    out[0] = '\0';
    for (int d = 0; shape[d]; d++) {
        int wrote = snprintf(out + used, n - used, "%s%d", d ? ", " : "", shape[d]);
        if (wrote < 0 || (size_t)wrote >= n - used)
            return;
        used += (size_t)wrote;
    }
}

int verify_read(const struct verify *v, const char *name, const char *precision, const int *shape, struct npy *out,
                struct dcr_err *err)
{
    char path[4096], expected[128];
    if (array_path(v, name, precision, path, sizeof path))
        return dcr_err_set(err, DCR_FAIL, "the name of the case folder is too long");
    int rc = npy_read(path, NULL, out, err), n_dims = 0, is_same = 1;
    if (rc)
        return rc;
    for (; shape[n_dims]; n_dims++)
        is_same = is_same && n_dims < out->n_dims && out->dim[n_dims] == (size_t)shape[n_dims];
    if (is_same && n_dims == out->n_dims)
        return 0;
    npy_free(out);
    shape_text(shape, expected, sizeof expected);
    return dcr_err_set(err, DCR_FAIL, "'%s' does not have the shape (%s) that case.json says", path, expected);
}

/* max|a-b| / max|b|; 0 when both are all zero; NaN when either holds one. Source: the design's section on reference
 * vectors. */
static double relative_error(size_t n, const double *a, const double *b)
{
    double difference = 0, size = 0;
    for (size_t i = 0; i < n; i++) {
        if (isnan(a[i]) || isnan(b[i]) || isinf(a[i]) || isinf(b[i]))
            return NAN;
        difference = fmax(difference, fabs(a[i] - b[i]));
        size = fmax(size, fabs(b[i]));
    }
    return difference == 0 ? 0 : difference / size;
}

void verify_judge(struct verify *v, const char *name, const char *precision, double error, double limit)
{
    double ratio = isnan(error) ? INFINITY : error / limit;
    fprintf(v->out, "%s_%s %.2e\n", name, precision, error);
    v->n_compared++;
    v->n_failed += !(error < limit);
    if (v->n_compared == 1 || ratio > v->worst_ratio) {
        v->worst_ratio = ratio;
        v->worst_error = error;
        snprintf(v->worst_name, sizeof v->worst_name, "%s_%s", name, precision);
    }
}

int verify_compare(struct verify *v, const char *name, const char *precision, const int *shape, const double *ours,
                   double limit, struct dcr_err *err)
{
    struct npy theirs = {0};
    int rc = verify_read(v, name, precision, shape, &theirs, err);
    if (rc == 0)
        verify_judge(v, name, precision, relative_error(theirs.n, ours, theirs.values), limit);
    npy_free(&theirs);
    return rc;
}
