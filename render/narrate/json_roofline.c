/* json_roofline.c - kernels under their roofline in report.json: see json_values.h. */
#include "render/narrate/json_values.h"

#include "render/analyse/kernel_roofline.h"

static void put(json_t *o, const char *key, double v)
{
    value_set(o, key, value_real(v >= 0, v));
}

static json_t *kernel(const struct run_kernel_counts *k, const struct thresholds *t)
{
    struct kernel_roofline x = kernel_roofline_of(k, t);
    json_t *o = json_object();
    value_set(o, "file", value_string(k->file));
    value_set(o, "kernel", value_string(k->kernel));
    value_set(o, "n", json_integer(k->n));
    value_set(o, "time_ns", value_int(k->ns >= 0, (int64_t)(k->ns + 0.5)));
    put(o, "flop", k->flop);
    value_set(o, "flop_because", value_reason(&k->flop_why));
    value_set(o, "flop_not_counted", value_text(k->missing));
    value_set(o, "formats", value_text(k->counted));
    value_set(o, "format", value_text(k->format));
    put(o, "bytes", k->bytes);
    value_set(o, "bytes_because", value_reason(&k->bytes_why));
    put(o, "intensity_flop_per_byte", x.intensity);
    value_set(o, "intensity_because", value_reason(&x.intensity_why));
    put(o, "flop_per_s", x.flop_per_s);
    put(o, "bytes_per_s", x.bytes_per_s);
    int has_flop = k->peak_flop_per_s > 0, has_bytes = k->peak_bytes_per_s > 0;
    value_set(o, "peak_flop_per_s", value_real(has_flop, k->peak_flop_per_s));
    value_set(o, "peak_flop_source", value_text(k->peak_flop_source));
    value_set(o, "peak_flop_because", value_reason(&k->peak_flop_why));
    value_set(o, "peak_bytes_per_s", value_real(has_bytes, k->peak_bytes_per_s));
    value_set(o, "peak_bytes_source", value_text(k->peak_bytes_source));
    value_set(o, "peak_bytes_because", value_reason(&k->peak_bytes_why));
    put(o, "peak_flop_ratio", x.flop_ratio);
    put(o, "peak_bytes_ratio", x.bytes_ratio);
    put(o, "ridge_flop_per_byte", x.ridge);
    put(o, "attainable_flop_per_s", x.attainable_flop_per_s);
    value_set(o, "bound", value_text(roof_bound_key(x.bound)));
    value_set(o, "bound_because", value_reason(&x.bound_why));
    return o;
}

json_t *roofline_json(const struct report *rep)
{
    json_t *list = json_array();
    for (int i = 0; i < rep->n_runs; i++)
        for (int k = 0; k < rep->runs[i].run->n_kernels; k++) {
            json_t *o = kernel(&rep->runs[i].run->kernels[k], &rep->thresholds);
            value_set(o, "run", value_string(rep->runs[i].slug));
            value_add(list, o);
        }
    return list;
}
