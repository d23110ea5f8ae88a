/* backend_cases.c - see backend_cases.h. */
#include "tests/gpu/backend_exact.h"
#include "trainer/model/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct comm alone = {.n_ranks = 1, .host = "here"};

static int draw(uint64_t seed, uint64_t *at, int low, int high)
{
    return low + (int)rng_below(seed, RNG_TEST, (*at)++, (uint64_t)(high - low + 1));
}

struct backend_case backend_case_draw(uint64_t seed)
{
    uint64_t at = 0;
    struct backend_case c = {.n_sensors = draw(seed, &at, 2, 40),
                             .n_units = draw(seed, &at, 1, 40),
                             .n_layers = draw(seed, &at, 1, 3),
                             .n_in = draw(seed, &at, 1, 4),
                             .n_out = draw(seed, &at, 1, 4),
                             .d_in = draw(seed, &at, 1, 3),
                             .d_out = draw(seed, &at, 1, 2),
                             .k_hops = draw(seed, &at, 1, 4),
                             .filter = (enum graph_filter)draw(seed, &at, 0, 2),
                             .recursion = (enum dcrnn_recursion)draw(seed, &at, 0, 1),
                             .max_batch = draw(seed, &at, 1, 5),
                             .missing = draw(seed, &at, 0, 3) * 0.2,
                             .has_coins = draw(seed, &at, 0, 2) > 0,
                             .use_graph = draw(seed, &at, 0, 1),
                             .seed = seed};
    c.batch = draw(seed, &at, 1, c.max_batch);
    return c;
}

void backend_case_name(const struct backend_case *c, char *text, size_t size)
{
    static const char *const precisions[] = {"fp32", "tf32", "bf16"};
    snprintf(text, size, "N %d U %d layers %d T %d H %d Din %d Dout %d K %d %s %s B %d of %d %s%s%s, seed %llu",
             c->n_sensors, c->n_units, c->n_layers, c->n_in, c->n_out, c->d_in, c->d_out, c->k_hops,
             graph_filter_name(c->filter), dcrnn_recursion_name(c->recursion), c->batch, c->max_batch,
             precisions[c->precision], c->has_coins ? " coins" : "", c->use_graph ? " graph" : "",
             (unsigned long long)c->seed);
}

/* ---- back ends and data -------------------------------------------------------------------------------------------
 */

/* About six neighbours each, weights that are not symmetric; the last sensor may stand alone. */
int backend_case_supports(const struct backend_case *c, struct graph_supports *out, struct dcr_err *err)
{
    int n = c->n_sensors;
    double *dense = calloc((size_t)n * (size_t)n, sizeof *dense);
    struct graph_csr adjacency = {0};
    uint64_t at = 1000;
    if (!dense)
        abort();
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (i != j && rng_uniform(c->seed, RNG_TEST, at++) * n < 6 && (i < n - 1 || c->seed % 3))
                dense[i * n + j] = 0.1 + rng_uniform(c->seed, RNG_TEST, at++);
    dense[0 * n + n - 1] = 1; /* never without an edge */
    int rc = graph_csr_from_dense(n, dense, &adjacency, err);
    if (!rc)
        rc = graph_supports_build(&adjacency, c->filter, out, err);
    graph_csr_free(&adjacency);
    free(dense);
    return rc;
}

void backend_case_sizes(const struct backend_case *c, struct dcrnn_config *out)
{
    *out = dcrnn_config_default();
    out->n_sensors = c->n_sensors;
    out->n_units = c->n_units;
    out->n_layers = c->n_layers;
    out->n_in = c->n_in;
    out->n_out = c->n_out;
    out->d_in = c->d_in;
    out->d_out = c->d_out;
    out->k_hops = c->k_hops;
    out->recursion = c->recursion;
    out->max_batch = c->max_batch;
}

struct backend *backend_case_open(const struct backend_case *c, int is_cuda)
{
    struct backend_config config = {.adam = adam_config_default(),
                                    .mean = CASE_MEAN,
                                    .std = CASE_STD,
                                    .precision = is_cuda ? c->precision : BACKEND_FP32};
    const struct backend_cuda_options options = {.device = -1, .use_graph = c->use_graph, .is_overlapped = 1};
    struct graph_supports supports = {0};
    struct backend *be = NULL;
    struct dcr_err err = {0};
    backend_case_sizes(c, &config.model);
    int rc = backend_case_supports(c, &supports, &err);
    if (!rc)
        rc = is_cuda ? backend_cuda_create(&be, &config, &supports, &options, &alone, &err)
                     : backend_cpu_create(&be, &config, &supports, &err);
    graph_supports_free(&supports);
    if (rc) {
        printf("# %s\n", err.text);
        return NULL;
    }
    be->init(be, c->seed);
    return be;
}

struct data {
    float *x, *truth_z, *raw;
    uint8_t *coins;
    size_t n_pred;
};

static float *take(struct backend *be, size_t n)
{
    float *p = be->host_alloc ? be->host_alloc((n + 1) * sizeof *p) : malloc((n + 1) * sizeof *p);
    if (!p)
        abort();
    return p;
}

/* Batch number `which` of n samples; in page-locked memory of be. */
static struct data make_data(const struct backend_case *c, struct backend *be, int n, uint64_t which)
{
    const uint64_t seed = c->seed * 1000 + which;
    size_t rows = (size_t)n * (size_t)c->n_sensors, n_x = (size_t)c->n_in * rows * (size_t)c->d_in;
    struct data d = {.n_pred = (size_t)c->n_out * rows * (size_t)c->d_out};
    d.x = take(be, n_x);
    d.truth_z = take(be, d.n_pred);
    d.raw = take(be, d.n_pred);
    d.coins = calloc((size_t)c->n_out, 1);
    if (!d.coins)
        abort();
    for (size_t i = 0; i < n_x; i++)
        d.x[i] = (float)(2 * rng_uniform(seed, RNG_TEST, i) - 1);
    for (size_t i = 0; i < d.n_pred; i++) {
        double value = 20 + 50 * rng_uniform(seed + 1, RNG_TEST, i);
        d.raw[i] = rng_uniform(seed + 2, RNG_TEST, i) < c->missing ? 0 : (float)value;
        d.truth_z[i] = (d.raw[i] - (float)CASE_MEAN) / (float)CASE_STD;
    }
    for (int t = 0; t < c->n_out; t++)
        d.coins[t] = rng_uniform(seed + 3, RNG_TEST, (uint64_t)t) < 0.5;
    return d;
}

static void free_data(struct backend *be, struct data *d)
{
    void (*give)(void *) = be->host_free ? be->host_free : free;
    give(d->x);
    give(d->truth_z);
    give(d->raw);
    free(d->coins);
}

static struct backend_batch batch_of(const struct backend_case *c, const struct data *d, int n)
{
    return (struct backend_batch){
        .n = n, .x = d->x, .truth_z = d->truth_z, .raw = d->raw, .coins = c->has_coins ? d->coins : NULL};
}

/* ---- comparing ----------------------------------------------------------------------------------------------------
 */

/* max |a - b| / max |b|; infinite when anything is not a number. */
static double error_of(size_t n, const float *a, const float *b)
{
    double difference = 0, size = 0;
    for (size_t i = 0; i < n; i++) {
        double d = fabs((double)a[i] - (double)b[i]);
        if (!isfinite(d))
            return INFINITY;
        difference = fmax(difference, d);
        size = fmax(size, fabs((double)b[i]));
    }
    return size > 0 ? difference / size : difference;
}

static int check(const struct backend_case *c, const char *what, double error, double limit)
{
    char name[256];
    if (error <= limit)
        return 0;
    backend_case_name(c, name, sizeof name);
    printf("# %s: error %.2e, at most %.0e is right: %s\n", what, error, limit, name);
    return 1;
}

static double relative(double a, double b)
{
    double d = fabs(a - b) / fmax(fabs(b), 1e-30);
    return a == b ? 0 : isfinite(d) ? d : INFINITY;
}

/* Each tensor is compared by itself, so that large ones do not hide small ones. */
static int check_blocks(const struct backend_case *c, const char *what, const struct backend *table, const float *a,
                        const float *b, double limit)
{
    double worst = 0;
    char text[96] = "";
    for (int i = 0; i < table->n_tensors; i++) {
        const struct dcrnn_tensor *t = &table->tensors[i];
        double error = error_of((size_t)t->rows * (size_t)t->cols, a + t->offset, b + t->offset);
        if (error > worst) {
            worst = error;
            snprintf(text, sizeof text, "%s of %s", what, t->name);
        }
    }
    return check(c, text, worst, limit);
}

static int compare_evaluation(const struct backend_case *c, struct backend *cpu, struct backend *gpu,
                              const struct data *d)
{
    const struct backend_batch batch = {.n = c->batch, .x = d->x, .raw = d->raw};
    struct loss_horizon *a = calloc((size_t)c->n_out, sizeof *a), *b = calloc((size_t)c->n_out, sizeof *b);
    int failed = 0;
    if (!a || !b)
        abort();
    for (int twice = 0; twice < 2; twice++) { /* the second time from a recorded graph, sums added up */
        gpu->evaluate(gpu, &batch, a);
        cpu->evaluate(cpu, &batch, b);
    }
    for (int t = 0; t < c->n_out; t++) {
        failed += check(c, "count of an evaluation", relative(a[t].n_valid, b[t].n_valid), 0);
        failed += check(c, "absolute error of an evaluation", relative(a[t].abs, b[t].abs), CASE_LIMIT);
        failed += check(c, "squared error of an evaluation", relative(a[t].square, b[t].square), CASE_LIMIT);
        failed += check(c, "relative error of an evaluation", relative(a[t].relative, b[t].relative), 1e-5);
    }
    failed += check(c, "predictions of an evaluation",
                    error_of(d->n_pred, gpu->predictions(gpu), cpu->predictions(cpu)), CASE_LIMIT);
    free(a);
    free(b);
    return failed;
}

static int compare_loss(const struct backend_case *c, struct backend *cpu, struct backend *gpu)
{
    double a = -1, b = -2;
    int64_t n_a = -1, n_b = -2;
    gpu->loss(gpu, &a, &n_a);
    cpu->loss(cpu, &b, &n_b);
    return check(c, "valid targets", (double)llabs(n_a - n_b), 0) +
           check(c, "sum of errors", relative(a, b), CASE_LIMIT);
}

/* Distance of a from exact, as error_of. */
static double distance(size_t n, const float *a, const double *exact, double scale)
{
    double difference = 0, size = 0;
    for (size_t i = 0; i < n; i++) {
        double d = fabs((double)a[i] - scale * exact[i]);
        if (!isfinite(d))
            return INFINITY;
        difference = fmax(difference, d);
        size = fmax(size, fabs(scale * exact[i]));
    }
    return size > 0 ? difference / size : difference;
}

/* Equal enough, or both about equally far from the exact values. */
static int check_close(const struct backend_case *c, const char *what, size_t n, const float *gpu, const float *cpu,
                       const double *exact, double scale)
{
    double error = error_of(n, gpu, cpu);
    if (error > CASE_LIMIT && distance(n, gpu, exact, scale) <= 2 * distance(n, cpu, exact, scale))
        return 0;
    return check(c, what, error, CASE_LIMIT);
}

struct pair {
    const struct backend_case *c;
    struct backend *gpu, *cpu;
    struct data data;
    double *pred, *grads; /* exact */
};

/* Forward, loss, backward of the same batch from the same parameters; n_added: how often the gradient was added. */
static int compare_passes(struct pair *p, int n_added)
{
    const struct backend_case *c = p->c;
    const struct backend_batch batch = batch_of(c, &p->data, c->batch);
    int failed = 0;
    backend_exact(c, p->cpu->params, p->cpu->n_params, &batch, p->pred, p->grads);
    p->gpu->forward(p->gpu, &batch);
    p->cpu->forward(p->cpu, &batch);
    failed += check_close(c, "predictions", p->data.n_pred, p->gpu->predictions(p->gpu), p->cpu->predictions(p->cpu),
                          p->pred, 1);
    failed += compare_loss(c, p->cpu, p->gpu);
    p->gpu->backward(p->gpu, n_added == 1, NULL);
    p->cpu->backward(p->cpu, n_added == 1, NULL);
    for (int i = 0; i < p->cpu->n_tensors; i++) {
        const struct dcrnn_tensor *t = &p->cpu->tensors[i];
        char what[96];
        snprintf(what, sizeof what, "gradient of %s", t->name);
        failed += check_close(c, what, (size_t)t->rows * (size_t)t->cols, p->gpu->grads + t->offset,
                              p->cpu->grads + t->offset, p->grads + t->offset, n_added);
    }
    return failed;
}

/* Both start from the same gradient and parameters, so that only the update is compared. */
static int compare_update(struct pair *p, double clip)
{
    const size_t bytes = p->cpu->n_params * sizeof(float);
    memcpy(p->gpu->grads, p->cpu->grads, bytes);
    double a = p->gpu->update(p->gpu, 0.01, clip), b = p->cpu->update(p->cpu, 0.01, clip);
    int failed = check(p->c, "norm", relative(a, b), 1e-12) +
                 check_blocks(p->c, "parameters", p->cpu, p->gpu->params, p->cpu->params, 1e-6);
    p->gpu->fetch(p->gpu);
    failed += check_blocks(p->c, "first moment", p->cpu, p->gpu->adam_m, p->cpu->adam_m, 1e-6);
    failed += check_blocks(p->c, "second moment", p->cpu, p->gpu->adam_v, p->cpu->adam_v, 1e-6);
    memcpy(p->gpu->params, p->cpu->params, bytes);
    p->gpu->store(p->gpu);
    return failed;
}

int backend_case_pieces(const struct backend_case *c)
{
    struct pair p = {.c = c, .gpu = backend_case_open(c, 1), .cpu = backend_case_open(c, 0)};
    int failed = !p.gpu || !p.cpu;
    if (!failed) {
        p.data = make_data(c, p.gpu, c->batch, 0);
        p.pred = calloc(p.data.n_pred, sizeof *p.pred);
        p.grads = calloc(p.cpu->n_params, sizeof *p.grads);
        if (!p.pred || !p.grads)
            abort();
        failed += check_blocks(c, "initial values", p.cpu, p.gpu->params, p.cpu->params, 0);
        failed += compare_passes(&p, 1);
        failed += compare_passes(&p, 2);
        failed += compare_update(&p, 5);
        failed += compare_passes(&p, 1);
        failed += compare_update(&p, 0); /* no clipping */
        failed += compare_evaluation(c, p.cpu, p.gpu, &p.data);
        free_data(p.gpu, &p.data);
        free(p.pred);
        free(p.grads);
    }
    if (p.gpu)
        p.gpu->free(p.gpu);
    if (p.cpu)
        p.cpu->free(p.cpu);
    return failed;
}

/* ---- whole steps --------------------------------------------------------------------------------------------------
 */

enum { MICRO = 3, N_TALLY = 5 };

struct steps {
    const struct backend_case *c;
    struct backend *cpu, *gpu;
    int n_micro;
    int sizes[MICRO];
    struct data data[MICRO];
    char entered[16];                 /* first letters of the phases, in order; 'm' is the call of meanwhile */
    const struct backend_batch *next; /* to be prefetched at the same time */
};

static void enters(void *ctx, enum mark_range phase)
{
    struct steps *s = ctx;
    size_t n = strlen(s->entered);
    if (n + 1 < sizeof s->entered)
        s->entered[n] = phase == MARK_H2D          ? 'h'
                        : phase == MARK_FORWARD    ? 'f'
                        : phase == MARK_BACKWARD   ? 'b'
                        : phase == MARK_ALL_REDUCE ? 'a'
                        : phase == MARK_OPTIMIZER  ? 'o'
                                                   : '?';
}

static void meanwhile(void *ctx)
{
    struct steps *s = ctx;
    size_t n = strlen(s->entered);
    if (n + 1 < sizeof s->entered)
        s->entered[n] = 'm';
    if (s->next)
        s->gpu->prefetch(s->gpu, s->next);
}

static double step_on_gpu(struct steps *s, double lr, double clip, double *tally, int *failed)
{
    struct backend_batch batch[MICRO];
    struct backend_step step = {.norm = -1};
    for (int i = 0; i < s->n_micro; i++)
        batch[i] = batch_of(s->c, &s->data[i], s->sizes[i]);
    for (int i = 0; i < s->n_micro; i++) {
        struct dcr_err err = {0};
        memset(s->entered, 0, sizeof s->entered);
        s->next = s->c->seed % 2 && i + 1 < s->n_micro ? &batch[i + 1] : NULL;
        step = (struct backend_step){.batch = &batch[i],
                                     .is_first = i == 0,
                                     .is_last = i == s->n_micro - 1,
                                     .lr = lr,
                                     .clip = clip,
                                     .tally = tally,
                                     .n_tally = N_TALLY,
                                     .enters = enters,
                                     .meanwhile = meanwhile,
                                     .ctx = s,
                                     .norm = -1};
        for (int k = 0; k < MARK_N_RANGES; k++)
            step.ns[k] = -1;
        if (s->gpu->whole_step(s->gpu, &step, &err)) {
            printf("# %s\n", err.text);
            ++*failed;
        }
        const char *want = step.is_last ? "fmbo" : "fmb", *got = s->entered + 2 * (s->entered[1] == 'h');
        *failed += check(s->c, "phases in order, the next batch taken in the first", strcmp(got, want) != 0, 0);
        for (int k = 0; k < MARK_N_RANGES; k++)
            *failed += check(s->c, "a time of a step that was not set", step.ns[k] < 0, 0);
    }
    return step.norm;
}

static double step_on_cpu(struct steps *s, double lr, double clip, double *tally)
{
    tally[0] = tally[1] = 0;
    for (int i = 0; i < s->n_micro; i++) {
        const struct backend_batch batch = batch_of(s->c, &s->data[i], s->sizes[i]);
        double sum = 0;
        int64_t n_valid = 0;
        s->cpu->forward(s->cpu, &batch);
        s->cpu->loss(s->cpu, &sum, &n_valid);
        s->cpu->backward(s->cpu, i == 0, NULL);
        tally[0] += sum;
        tally[1] += (double)n_valid;
    }
    const float scale = tally[1] > 0 ? (float)(1 / tally[1]) : 0;
    for (size_t i = 0; i < s->cpu->n_params; i++)
        s->cpu->grads[i] *= scale;
    return s->cpu->update(s->cpu, lr, clip);
}

static int compare_step(struct steps *s, int number)
{
    double a[N_TALLY] = {-1, -1, 1, 2, 4.5}, b[N_TALLY] = {-1, -1, 1, 2, 4.5};
    int failed = 0;
    const double clip = number % 2 ? 0.05 : 5, lr = 0.01;
    s->n_micro = number % MICRO + 1;
    for (int i = 0; i < s->n_micro; i++) {
        uint64_t which = (uint64_t)(number * MICRO + i);
        s->sizes[i] = which % 4 == 3 ? 0 : (int)(which % (uint64_t)s->c->max_batch) + 1;
        s->data[i] = make_data(s->c, s->gpu, s->sizes[i], which);
    }
    double norm_a = step_on_gpu(s, lr, clip, a, &failed), norm_b = step_on_cpu(s, lr, clip, b);
    failed += check(s->c, "norm of a step", relative(norm_a, norm_b), CASE_LIMIT);
    failed += check(s->c, "sum of errors of a step", relative(a[0], b[0]), CASE_LIMIT);
    for (int i = 1; i < N_TALLY; i++)
        failed += check(s->c, "tally of a step", relative(a[i], b[i]), 0);
    failed += check(s->c, "updates counted", (double)llabs(s->gpu->step - s->cpu->step), 0);
    for (int i = 0; i < s->n_micro; i++)
        free_data(s->gpu, &s->data[i]);
    return failed;
}

/* A NaN in the inputs, then a step that must not be affected. */
static int compare_divergence(struct steps *s)
{
    double tally[N_TALLY] = {0};
    int failed = 0;
    s->n_micro = 1;
    s->sizes[0] = 1;
    s->data[0] = make_data(s->c, s->gpu, 1, 77);
    s->gpu->fetch(s->gpu);
    float *before = take(s->cpu, s->gpu->n_params);
    memcpy(before, s->gpu->params, s->gpu->n_params * sizeof *before);
    s->data[0].x[0] = NAN;
    s->data[0].raw[0] = 50;
    int64_t count = s->gpu->step;
    double norm = step_on_gpu(s, 0.01, 5, tally, &failed);
    s->gpu->fetch(s->gpu);
    failed += check(s->c, "norm of a step with a NaN", isfinite(norm) ? 1 : 0, 0);
    failed += check(s->c, "updates after a NaN", (double)(s->gpu->step - count), 0);
    failed += check_blocks(s->c, "parameters after a NaN", s->cpu, s->gpu->params, before, 0);
    free(before);
    free_data(s->gpu, &s->data[0]);
    return failed + compare_step(s, 1);
}

/* Moments and parameters go to the host and back, as in a checkpoint. */
static void fetch_and_store(struct backend *be)
{
    be->fetch(be);
    float *m = take(be, be->n_params);
    memcpy(m, be->adam_m, be->n_params * sizeof *m);
    memset(be->adam_m, 0, be->n_params * sizeof *m);
    be->store(be);
    memcpy(be->adam_m, m, be->n_params * sizeof *m);
    be->store(be);
    (be->host_free ? be->host_free : free)(m);
}

int backend_case_steps(const struct backend_case *c, int n_steps)
{
    struct steps s = {.c = c, .gpu = backend_case_open(c, 1), .cpu = backend_case_open(c, 0)};
    int failed = !s.gpu || !s.cpu;
    for (int number = 0; number < n_steps && !failed; number++) {
        failed += compare_step(&s, number);
        if (number == n_steps / 2)
            fetch_and_store(s.gpu);
    }
    if (!failed)
        failed += compare_divergence(&s);
    if (s.gpu && s.cpu) {
        s.gpu->fetch(s.gpu);
        failed += check_blocks(c, "parameters after steps", s.cpu, s.gpu->params, s.cpu->params, CASE_STEPS_LIMIT);
        failed += check_blocks(c, "first moments after steps", s.cpu, s.gpu->adam_m, s.cpu->adam_m, CASE_STEPS_LIMIT);
        failed += check_blocks(c, "second moments after steps", s.cpu, s.gpu->adam_v, s.cpu->adam_v,
                               2 * CASE_STEPS_LIMIT); /* squares */
    }
    if (s.gpu)
        s.gpu->free(s.gpu);
    if (s.cpu)
        s.cpu->free(s.cpu);
    return failed;
}

int backend_case_precision(const struct backend_case *c, double *prediction_error, double *gradient_error)
{
    struct backend_case exact = *c;
    exact.precision = BACKEND_FP32;
    struct backend *a = backend_case_open(c, 1), *b = backend_case_open(&exact, 1);
    int failed = !a || !b;
    if (!failed) {
        struct data d = make_data(c, a, c->batch, 0);
        const struct backend_batch batch = batch_of(c, &d, c->batch);
        a->forward(a, &batch);
        b->forward(b, &batch);
        *prediction_error = error_of(d.n_pred, a->predictions(a), b->predictions(b));
        a->backward(a, 1, NULL);
        b->backward(b, 1, NULL);
        *gradient_error = error_of(a->n_params, a->grads, b->grads);
        free_data(a, &d);
    }
    if (a)
        a->free(a);
    if (b)
        b->free(b);
    return failed;
}
