/* probe.c - times one small batch with the best kernels and with those of the run. */
#include "trainer/tools/probe.h"

#include "lib/base/mono.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROBE_ROUNDS = 12, PROBE_LEAST = 3 };
static const int64_t probe_ns = 1000000000; /* long steps are timed fewer times */

/* Readings that are never zero, because zeros count as missing. */
static void fill(float *x, size_t n, float around)
{
    for (size_t i = 0; i < n; i++)
        x[i] = around + (float)(i % 7) * 0.25f;
}

static int64_t one_batch_ns(struct backend *be, const struct backend_batch *batch)
{
    double sum = 0;
    int64_t n_valid = 0, since = dcr_mono_ns();
    be->forward(be, batch);
    be->loss(be, &sum, &n_valid);
    be->backward(be, 1, NULL);
    (void)be->update(be, 0, 0); /* with a learning rate of 0 the weights keep their values, but are written */
    return dcr_mono_ns() - since;
}

int probe_kernels(struct probe *out, const struct backend_config *config, const struct graph_supports *supports,
                  struct dcr_err *err)
{
    *out = (struct probe){0};
    const struct dcrnn_config *m = &config->model;
    if (!m->kernels)
        return 0;
    struct backend_config best_config = *config;
    best_config.model.kernels = NULL;
    struct backend *run = NULL, *best = NULL;
    size_t rows = (size_t)m->max_batch * (size_t)m->n_sensors;
    size_t n_in = rows * (size_t)(m->n_in * m->d_in), n_out = rows * (size_t)(m->n_out * m->d_out);
    float *x = malloc((n_in + 2 * n_out) * sizeof *x);
    int rc = x ? 0 : dcr_err_set(err, DCR_FAIL, "out of memory comparing kernels");
    if (!rc)
        rc = backend_cpu_create(&best, &best_config, supports, err);
    if (!rc)
        rc = backend_cpu_create(&run, config, supports, err);
    if (rc || strcmp(best->kernels, run->kernels) == 0)
        goto out;
    fill(x, n_in, -0.75f);
    fill(x + n_in, n_out, -0.75f);
    fill(x + n_in + n_out, n_out, 40);
    const struct backend_batch batch = {
        .n = m->max_batch, .x = x, .truth_z = x + n_in, .raw = x + n_in + n_out, .coins = NULL};
    run->init(run, 1);
    best->init(best, 1);
    int64_t least[2] = {INT64_MAX, INT64_MAX};
    int64_t until = dcr_mono_ns() + probe_ns;
    for (int i = 0; i < 2 * PROBE_LEAST || (i < 2 * PROBE_ROUNDS && dcr_mono_ns() < until); i++) {
        int64_t ns = one_batch_ns(i % 2 ? best : run, &batch);
        if (i >= 2 && ns < least[i % 2]) /* the first run of each uses fresh memory */
            least[i % 2] = ns;
    }
    snprintf(out->best, sizeof out->best, "%s", best->kernels);
    out->ratio = least[0] > 0 ? (double)least[1] / (double)least[0] : 1;
out:
    if (best)
        best->free(best);
    if (run)
        run->free(run);
    free(x);
    return rc;
}
