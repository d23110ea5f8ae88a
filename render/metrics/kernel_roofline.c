/* kernel_roofline.c - see kernel_roofline.h. source: roofline model (Williams et al. 2009) */
#include "render/metrics/kernel_roofline.h"

static double quotient(double a, double b)
{
    return a >= 0 && b > 0 ? a / b : -1;
}

/* Below the ridge, memory is the lower roof; above it, operations are. A kernel without operations is below every
 * ridge. */
static void find_bound(const struct run_kernel_counts *k, const struct thresholds *t, struct kernel_roofline *r)
{
    int is_memory = k->flop == 0 || (r->ridge >= 0 && r->intensity < r->ridge);
    double ratio = is_memory ? r->bytes_ratio : r->flop_ratio;
    r->bound = BOUND_UNKNOWN;
    r->bound_why = k->flop_why.code              ? k->flop_why
                   : r->intensity_why.code       ? r->intensity_why
                   : k->ns < 0                   ? REASON(KERNEL_NOT_TIMED)
                   : k->peak_bytes_per_s <= 0    ? k->peak_bytes_why
                   : k->flop > 0 && r->ridge < 0 ? k->peak_flop_why
                   : ratio > 1 + t->peak_error   ? REASON(KERNEL_ABOVE_PEAK)
                                                 : REASON(NONE);
    if (!r->bound_why.code)
        r->bound = !(ratio > t->kernel_bound) ? BOUND_LATENCY : is_memory ? BOUND_MEMORY : BOUND_COMPUTE;
}

struct kernel_roofline kernel_roofline_of(const struct run_kernel_counts *k, const struct thresholds *t)
{
    double s = k->ns > 0 ? k->ns / 1e9 : -1;
    struct kernel_roofline r = {.intensity = quotient(k->flop, k->bytes),
                                .flop_per_s = quotient(k->flop, s),
                                .bytes_per_s = quotient(k->bytes, s),
                                .ridge = quotient(k->peak_flop_per_s, k->peak_bytes_per_s)};
    r.intensity_why = r.intensity >= 0    ? REASON(NONE)
                      : k->flop_why.code  ? k->flop_why
                      : k->bytes_why.code ? k->bytes_why
                                          : REASON(KERNEL_WITHOUT_TRAFFIC);
    r.flop_ratio = quotient(r.flop_per_s, k->peak_flop_per_s);
    r.bytes_ratio = quotient(r.bytes_per_s, k->peak_bytes_per_s);
    r.attainable_flop_per_s = -1;
    if (r.intensity >= 0 && r.ridge >= 0)
        r.attainable_flop_per_s = r.intensity < r.ridge ? r.intensity * k->peak_bytes_per_s : k->peak_flop_per_s;
    find_bound(k, t, &r);
    if (r.flop_ratio > 1 + t->peak_error)
        r.flop_ratio = -1;
    if (r.bytes_ratio > 1 + t->peak_error)
        r.bytes_ratio = -1;
    return r;
}

struct kernel_roofline operator_roofline_of(const struct run_kernel_counts *k, const struct thresholds *t)
{
    struct kernel_roofline r = kernel_roofline_of(k, t);
    r.bound = r.bound == BOUND_LATENCY ? BOUND_NEITHER : r.bound;
    return r;
}
