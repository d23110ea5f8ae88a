/* backend_exact.c - see backend_exact.h. Only in this file `real` means double. */
#define DCR_REAL_F64
#include "tests/gpu/backend_exact.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double *as_double(const float *from, size_t n)
{
    double *to = calloc(n + 1, sizeof *to);
    if (!to)
        abort();
    for (size_t i = 0; i < n && from; i++)
        to[i] = (double)from[i];
    return to;
}

void backend_exact(const struct backend_case *c, const float *params, size_t n_params, const struct backend_batch *b,
                   double *pred, double *grads)
{
    struct graph_supports supports = {0};
    struct dcr_err err = {0};
    struct dcrnn_config config;
    struct dcrnn *model = NULL;
    const size_t rows = (size_t)b->n * (size_t)c->n_sensors, n_y = (size_t)c->n_out * rows * (size_t)c->d_out;
    backend_case_sizes(c, &config);
    if (backend_case_supports(c, &supports, &err) || dcrnn_create(&model, &config, &supports, &err) ||
        dcrnn_n_params(model) != n_params) {
        printf("# the model in double precision: %s\n", err.text);
        abort();
    }
    double *p = as_double(params, n_params), *x = as_double(b->x, (size_t)c->n_in * rows * (size_t)c->d_in);
    double *truth = as_double(b->truth_z, n_y), *raw = as_double(b->raw, n_y), *d_pred = as_double(NULL, n_y);
    memcpy(dcrnn_params(model), p, n_params * sizeof *p);
    memset(dcrnn_grads(model), 0, n_params * sizeof *p);
    dcrnn_forward(model, b->n, x, truth, b->coins, 1, pred);
    loss_gradient(pred, raw, n_y, CASE_MEAN, CASE_STD, 1, d_pred);
    dcrnn_backward(model, d_pred, NULL);
    memcpy(grads, dcrnn_grads(model), n_params * sizeof *grads);
    free(p);
    free(x);
    free(truth);
    free(raw);
    free(d_pred);
    dcrnn_free(model);
    graph_supports_free(&supports);
}
