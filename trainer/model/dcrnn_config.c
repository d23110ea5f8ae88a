/* dcrnn_config.c - the parts of dcrnn.h that do not depend on the precision: names, defaults, operation counts. */
#include "trainer/model/dcrnn.h"

#include <string.h>

static const char *const recursion_names[] = {
#define X(id, text) text,
    DCRNN_RECURSIONS(X)
#undef X
};

const char *dcrnn_recursion_name(enum dcrnn_recursion r)
{
    return recursion_names[r];
}

int dcrnn_recursion_parse(const char *text, enum dcrnn_recursion *out, struct dcr_err *err)
{
    for (int r = DCRNN_PUBLISHED; r <= DCRNN_RESET; r++)
        if (strcmp(text, recursion_names[r]) == 0) {
            *out = (enum dcrnn_recursion)r;
            return 0;
        }
    return dcr_err_set(err, DCR_FAIL, "unknown recursion '%s'; use published or reset", text);
}

struct dcrnn_config dcrnn_config_default(void)
{
    return (struct dcrnn_config){
        .n_sensors = 207,
        .n_units = 64,
        .n_layers = 2,
        .n_in = 12,
        .n_out = 12,
        .d_in = 2,
        .d_out = 1,
        .k_hops = 2,
        .recursion = DCRNN_PUBLISHED,
        .max_batch = 64,
        .n_threads = 1,
    };
}

struct dcrnn_count dcrnn_count_step(const struct dcrnn_config *c, int n_supports, int64_t nnz, int n_batch)
{
    double rows = (double)n_batch * c->n_sensors, units = c->n_units, layers = c->n_layers;
    double terms = 1.0 + n_supports * c->k_hops;
    double in_encoder = (c->d_in + units) + (layers - 1) * 2 * units; /* sum of I over the layers */
    double in_decoder = (c->d_out + units) + (layers - 1) * 2 * units;
    double in_all = in_encoder * c->n_in + in_decoder * c->n_out; /* over layers and steps */
    /* Per column of input, each of two convolutions multiplies every support K times and applies 2 a - b K-1 times. */
    double per_support_nnz = n_supports ? (double)nnz / n_supports : 0;
    double dense = 2 * rows * terms * 3 * units * in_all;
    double sparse = 2 * (double)n_supports * c->k_hops * 2 * per_support_nnz * in_all * n_batch;
    double update = 2 * (double)n_supports * (c->k_hops - 1) * 2 * rows * in_all;
    double projection = 2 * rows * units * c->d_out * c->n_out;
    double n_params =
        (in_encoder + in_decoder) * terms * 3 * units + 2 * layers * 3 * units + units * c->d_out + c->d_out;
    return (struct dcrnn_count){
        .dense_flop = 3 * dense,
        .sparse_flop = 2 * sparse,
        .update_flop = 2 * update,
        .projection_flop = 3 * projection,
        .forward_flop = dense + sparse + update + projection,
        .params_bytes = 4 * n_params,
    };
}
