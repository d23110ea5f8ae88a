/* backend_cases.h - compares the CUDA back end with the CPU's. The same cases run under the emulator in the unit suite
 * and on a device in the gpu suite. Each returns the number of failed comparisons, after a line on stdout for each. */
#ifndef TESTS_GPU_BACKEND_CASES_H
#define TESTS_GPU_BACKEND_CASES_H

#include "trainer/model/backend.h"

struct backend_case {
    int n_sensors, n_units, n_layers, n_in, n_out, d_in, d_out, k_hops;
    enum graph_filter filter;
    enum dcrnn_recursion recursion;
    int max_batch, batch;
    double missing; /* share of the targets */
    int has_coins;
    enum backend_precision precision;
    int use_graph;
    uint64_t seed;
};

/** backend_case_draw - draws a small shape from a seed; over the seeds every choice of the model occurs. */
struct backend_case backend_case_draw(uint64_t seed);
/** backend_case_name - "N 7 U 12 ...". text holds at least 200. */
void backend_case_name(const struct backend_case *c, char *text, size_t size);

/** backend_case_pieces - predictions, loss, gradient, evaluation, parameters after updates, call by call. */
int backend_case_pieces(const struct backend_case *c);
/** backend_case_steps - whole steps of several micro-batches of unequal size, some of them empty, prefetched or not:
 * tallies, norms, parameters, moments; and a step that is not finite changes nothing. */
int backend_case_steps(const struct backend_case *c, int n_steps);
/** backend_case_precision - how far `precision` is from fp32: predictions and gradient, as in dcrnn-model.md
 * section 12. returns 1 when the back end cannot be had */
int backend_case_precision(const struct backend_case *c, double *prediction_error, double *gradient_error);

/** backend_case_open - a back end with the case's sizes, data-independent. is_cuda: which. NULL: sentence on stdout. */
struct backend *backend_case_open(const struct backend_case *c, int is_cuda);

/** backend_case_sizes, backend_case_supports - of the model and its graph. */
void backend_case_sizes(const struct backend_case *c, struct dcrnn_config *out);
int backend_case_supports(const struct backend_case *c, struct graph_supports *out, struct dcr_err *err) DCR_MUST_CHECK;
#define CASE_MEAN 54.5
#define CASE_STD 16.0

/* Largest error of a tensor, as dcrnn-model.md section 12 defines it, in fp32. If the CPU itself is as far from double
 * precision (many terms, few significant ones), twice the CPU's distance is allowed too. */
#define CASE_LIMIT 1e-5
/* The same for parameters and moments after several updates, each of which divides by a square root of small
 * numbers. */
#define CASE_STEPS_LIMIT 1e-4

#endif
