/* verify_run.c - compute one reference case in one precision and compare every array of the folder. The Makefile
 * compiles it twice; verify.c calls both. */
#include "trainer/formats/numpy.h"
#include "trainer/model/adam.h"
#include "trainer/model/gconv.h"
#include "trainer/model/loss.h"
#include "trainer/tools/verify.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef DCR_REAL_F64
#define LIMIT VERIFY_LIMIT_F64
#define verify_run verify_run_f64
#else
#define LIMIT VERIFY_LIMIT_F32
#define verify_run verify_run_f32
#endif

/* A shape for messages and checks: dimensions, ended by 0. */
#define SHAPE(...)     \
    (const int[])      \
    {                  \
        __VA_ARGS__, 0 \
    }

/* ---- arrays of the case ---------------------------------------------------------------------------- */

static int array_path(const struct verify *v, const char *name, const char *precision, char *path, size_t n)
{
    return snprintf(path, n, "%s/%s_%s.npy", v->dir, name, precision) < (int)n ? 0 : -1;
}

/* Does NAME exist in this precision? */
static int has(const struct verify *v, const char *name)
{
    char path[4096];
    FILE *f = array_path(v, name, REAL_NAME, path, sizeof path) == 0 ? fopen(path, "rb") : NULL;
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

/* NAME_PRECISION.npy of the case, which must have the given shape. out gives; npy_free. */
static int read_array(const struct verify *v, const char *name, const char *precision, const int *shape,
                      struct npy *out, struct dcr_err *err)
{
    char path[4096], expected[128];
    if (array_path(v, name, precision, path, sizeof path))
        return dcr_err_set(err, DCR_FAIL, "the name '%.200s...' is too long; choose a shorter one", v->dir);
    int rc = npy_read(path, NULL, out, err), n_dims = 0, is_same = 1;
    if (rc)
        return rc;
    for (; shape[n_dims]; n_dims++)
        is_same = is_same && n_dims < out->n_dims && out->dim[n_dims] == (size_t)shape[n_dims];
    if (is_same && n_dims == out->n_dims)
        return 0;
    npy_free(out);
    shape_text(shape, expected, sizeof expected);
    return dcr_err_set(err, DCR_FAIL, "'%s' does not have the shape (%s) that case.json says; write the vectors again",
                       path, expected);
}

/* max|a-b| / max|b|; 0 when both are all zero; NaN when either holds one. */
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

/* Print and judge the error of one quantity. A large one is a failure of the case, not of the program. */
static void judge(struct verify *v, const char *name, double error)
{
    double ratio = isnan(error) ? INFINITY : error / LIMIT;
    fprintf(v->out, "%s_%s %.2e\n", name, REAL_NAME, error);
    v->n_compared++;
    v->n_failed += !(error < LIMIT);
    if (v->n_compared == 1 || ratio > v->worst_ratio) {
        v->worst_ratio = ratio;
        v->worst_error = error;
        snprintf(v->worst_name, sizeof v->worst_name, "%s_%s", name, REAL_NAME);
    }
}

/* Compares ours with NAME of the case. */
static int compare_wide(struct verify *v, const char *name, const int *shape, const double *ours, struct dcr_err *err)
{
    struct npy theirs = {0};
    int rc = read_array(v, name, REAL_NAME, shape, &theirs, err);
    if (rc == 0)
        judge(v, name, relative_error(theirs.n, ours, theirs.values));
    npy_free(&theirs);
    return rc;
}

/* ---- the run --------------------------------------------------------------------------------------- */

/* Buffers of one run; freed together. */
struct run {
    struct verify *v;
    struct graph_supports supports;
    struct dcrnn *model;
    real *x, *y_z, *y_raw, *pred_z, *d_pred, *adam_m, *adam_v, *scratch;
    double *wide; /* any of the quantities, widened for comparison */
    size_t n_pred;
};

static size_t product(const int *shape)
{
    size_t n = 1;
    for (int d = 0; shape[d]; d++)
        n *= (size_t)shape[d];
    return n;
}

static int compare(struct run *r, const char *name, const int *shape, const real *ours, struct dcr_err *err)
{
    size_t n = product(shape);
    for (size_t i = 0; i < n; i++)
        r->wide[i] = (double)ours[i];
    return compare_wide(r->v, name, shape, r->wide, err);
}

/* An input that is not finite may affect no result (for example a target that is never fed), but still fails the case.
 */
static int read_into(struct run *r, const char *name, const int *shape, real *out, struct dcr_err *err)
{
    struct npy a = {0};
    int is_finite = 1, rc = read_array(r->v, name, REAL_NAME, shape, &a, err);
    for (size_t i = 0; rc == 0 && i < a.n; i++) {
        out[i] = (real)a.values[i];
        is_finite = is_finite && isfinite(out[i]);
    }
    npy_free(&a);
    if (!is_finite)
        judge(r->v, name, NAN);
    return rc;
}

/* All tensors of a flat block as PREFIX_NAME: read into the parameters (ours NULL), or compared. */
static int each_tensor(struct run *r, const char *prefix, const real *ours, struct dcr_err *err)
{
    int n = 0, rc = 0;
    const struct dcrnn_tensor *t = dcrnn_tensors(r->model, &n);
    for (int i = 0; rc == 0 && i < n; i++, t++) {
        char name[40];
        int matrix[] = {t->rows, t->cols, 0}, vector[] = {t->cols, 0};
        const int *shape = t->rank == 1 ? vector : matrix;
        snprintf(name, sizeof name, "%s_%s", prefix, t->name);
        if (ours)
            rc = compare(r, name, shape, ours + t->offset, err);
        else
            rc = read_into(r, name, shape, dcrnn_params(r->model) + t->offset, err);
    }
    return rc;
}

/* The graph is stored once, in double precision. */
static int read_graph(struct run *r, struct dcr_err *err)
{
    struct npy dense = {0};
    struct graph_csr adjacency = {0};
    int n = r->v->model.n_sensors;
    int rc = read_array(r->v, "adj", "f64", SHAPE(n, n), &dense, err);
    if (rc == 0)
        rc = graph_csr_from_dense(n, dense.values, &adjacency, err);
    if (rc == 0)
        rc = graph_supports_build(&adjacency, r->v->filter, &r->supports, err);
    graph_csr_free(&adjacency);
    npy_free(&dense);
    return rc;
}

static int compare_supports(struct run *r, struct dcr_err *err)
{
    const struct verify *v = r->v;
    int n = v->model.n_sensors, rc = 0;
    for (int s = 0; rc == 0 && s < r->supports.n; s++) {
        char name[24];
        snprintf(name, sizeof name, "support%d", s);
        graph_csr_to_dense(&r->supports.support[s], r->wide);
        for (size_t i = 0; i < (size_t)n * (size_t)n; i++)
            r->wide[i] = (double)(real)r->wide[i];
        rc = compare_wide(r->v, name, SHAPE(n, n), r->wide, err);
    }
    return rc;
}

/* The diffusion terms of x[0] alone, in the file's order (B, N, Din, M). */
static int compare_diffusion(struct run *r, struct dcr_err *err)
{
    const struct dcrnn_config *c = &r->v->model;
    const struct kernels *kernels = NULL;
    struct gconv g = {0};
    int rc = kernels_choose(NULL, &kernels, err);
    if (rc == 0)
        rc = gconv_init(&g, &r->supports, c->k_hops, c->recursion, kernels, err);
    if (rc)
        goto out;
    int rows = c->max_batch * c->n_sensors, d_in = c->d_in, terms = g.n_terms;
    for (int i = 0; i < rows; i++)
        memcpy(r->scratch + (ptrdiff_t)i * terms * d_in, r->x + (ptrdiff_t)i * d_in, (size_t)d_in * sizeof(real));
    gconv_diffuse(&g, c->max_batch, d_in, r->scratch, terms * d_in, d_in);
    for (int i = 0; i < rows; i++)
        for (int f = 0; f < d_in; f++)
            for (int m = 0; m < terms; m++)
                r->wide[((ptrdiff_t)i * d_in + f) * terms + m] =
                    (double)r->scratch[((ptrdiff_t)i * terms + m) * d_in + f];
    rc = compare_wide(r->v, "diffused0", SHAPE(c->max_batch, c->n_sensors, d_in, terms), r->wide, err);
out:
    gconv_release(&g);
    return rc;
}

static int compare_states(struct run *r, struct dcr_err *err)
{
    static const char *const names[] = {
        [DCRNN_PEEK_R] = "cell0_r", [DCRNN_PEEK_U] = "cell0_u", [DCRNN_PEEK_C] = "cell0_c", [DCRNN_PEEK_H] = "cell0_h"};
    const struct dcrnn_config *c = &r->v->model;
    const int *shape = SHAPE(c->max_batch, c->n_sensors, c->n_units);
    int rc = 0;
    for (int what = DCRNN_PEEK_R; rc == 0 && what <= DCRNN_PEEK_H; what++) {
        dcrnn_peek(r->model, (enum dcrnn_peek_what)what, 0, 0, 0, r->scratch);
        rc = compare(r, names[what], shape, r->scratch, err);
    }
    for (int l = 0; rc == 0 && l < c->n_layers; l++)
        dcrnn_peek(r->model, DCRNN_PEEK_H, 0, l, c->n_in - 1, r->scratch + (size_t)l * product(shape));
    if (rc == 0)
        rc = compare(r, "enc_state", SHAPE(c->n_layers, c->max_batch, c->n_sensors, c->n_units), r->scratch, err);
    return rc;
}

/* One training step on the case's batch; every array of it that the folder has is compared. */
static int step(struct run *r, int number, double *loss, double *norm, struct dcr_err *err)
{
    struct verify *v = r->v;
    const struct dcrnn_config *c = &v->model;
    struct adam_config adam = adam_config_default();
    size_t n = dcrnn_n_params(r->model);
    real *grads = dcrnn_grads(r->model);
    int64_t n_valid = 0;
    char prefix[16], probe[24];
    int rc = 0;
    adam.eps = v->eps;
    dcrnn_forward(r->model, c->max_batch, r->x, r->y_z, v->coins, 1, r->pred_z);
    double sum = loss_sum(r->pred_z, r->y_raw, r->n_pred, v->mean, v->std, &n_valid);
    double scale = n_valid ? 1 / (double)n_valid : 0;
    *loss = sum * scale;
    loss_gradient(r->pred_z, r->y_raw, r->n_pred, v->mean, v->std, scale, r->d_pred);
    memset(grads, 0, n * sizeof(real));
    dcrnn_backward(r->model, r->d_pred, NULL);
    *norm = adam_norm(grads, n);
    if (number == 1) {
        rc = compare_states(r, err);
        if (rc == 0)
            rc = compare(r, "pred_z", SHAPE(c->n_out, c->max_batch, c->n_sensors, c->d_out), r->pred_z, err);
        if (rc == 0)
            rc = each_tensor(r, "g", grads, err);
    }
    adam_step(&adam, number, v->lr, adam_clip_factor(*norm, v->clip), n, grads, r->adam_m, r->adam_v,
              dcrnn_params(r->model));
    /* The first update is always stored; of the later ones the layout keeps some. */
    snprintf(prefix, sizeof prefix, "p%d", number);
    snprintf(probe, sizeof probe, "p%d_proj_W", number);
    if (rc == 0 && (number == 1 || has(v, probe)))
        rc = each_tensor(r, prefix, dcrnn_params(r->model), err);
    return rc;
}

static real *array(size_t n)
{
    return calloc(n + 1, sizeof(real));
}

static int prepare(struct run *r, struct dcr_err *err)
{
    struct verify *v = r->v;
    const struct dcrnn_config *c = &v->model;
    int rc = dcrnn_create(&r->model, c, &r->supports, err);
    if (rc)
        return rc;
    size_t rows = (size_t)c->max_batch * (size_t)c->n_sensors, n = dcrnn_n_params(r->model);
    size_t n_terms = 1 + (size_t)r->supports.n * (size_t)c->k_hops;
    size_t n_states = (size_t)c->n_layers * rows * (size_t)c->n_units;
    size_t n_diffused = rows * (size_t)c->d_in * n_terms, n_graph = (size_t)c->n_sensors * (size_t)c->n_sensors;
    r->n_pred = (size_t)c->n_out * rows * (size_t)c->d_out;
    r->x = array((size_t)c->n_in * rows * (size_t)c->d_in);
    r->y_z = array(r->n_pred);
    r->y_raw = array(r->n_pred);
    r->pred_z = array(r->n_pred);
    r->d_pred = array(r->n_pred);
    r->adam_m = array(n);
    r->adam_v = array(n);
    r->scratch = array(n_states + n_diffused);
    r->wide = calloc(n + r->n_pred + n_states + n_diffused + n_graph, sizeof(double)); /* at least the largest */
    if (!r->x || !r->y_z || !r->y_raw || !r->pred_z || !r->d_pred || !r->adam_m || !r->adam_v || !r->scratch ||
        !r->wide)
        return dcr_err_set(err, DCR_FAIL, "out of memory for the case '%s'", v->dir);
    rc = read_into(r, "x", SHAPE(c->n_in, c->max_batch, c->n_sensors, c->d_in), r->x, err);
    if (rc == 0)
        rc = read_into(r, "y_z", SHAPE(c->n_out, c->max_batch, c->n_sensors, c->d_out), r->y_z, err);
    if (rc == 0)
        rc = read_into(r, "y_raw", SHAPE(c->n_out, c->max_batch, c->n_sensors, c->d_out), r->y_raw, err);
    if (rc == 0)
        rc = each_tensor(r, "p0", NULL, err);
    return rc;
}

int verify_run(struct verify *v, struct dcr_err *err)
{
    struct run r = {.v = v};
    double *loss = calloc((size_t)v->adam_steps, sizeof *loss), *norm = calloc((size_t)v->adam_steps, sizeof *norm);
    int rc = loss && norm ? 0 : dcr_err_set(err, DCR_FAIL, "out of memory for %d steps", v->adam_steps);
    if (rc == 0)
        rc = read_graph(&r, err);
    if (rc == 0)
        rc = prepare(&r, err);
    if (rc == 0)
        rc = compare_supports(&r, err);
    if (rc == 0)
        rc = compare_diffusion(&r, err);
    for (int s = 1; rc == 0 && s <= v->adam_steps; s++)
        rc = step(&r, s, &loss[s - 1], &norm[s - 1], err);
    if (rc == 0)
        rc = compare_wide(v, "loss", SHAPE(v->adam_steps), loss, err);
    if (rc == 0)
        rc = compare_wide(v, "grad_norm", SHAPE(v->adam_steps), norm, err);
    dcrnn_free(r.model);
    graph_supports_free(&r.supports);
    free(r.x);
    free(r.y_z);
    free(r.y_raw);
    free(r.pred_z);
    free(r.d_pred);
    free(r.adam_m);
    free(r.adam_v);
    free(r.scratch);
    free(r.wide);
    free(loss);
    free(norm);
    return rc;
}
