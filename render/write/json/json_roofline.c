/* json_roofline.c - kernels and operators under their roofline in report.json: see json_values.h. */
#include "render/write/json/json_values.h"

json_t *roofline_json(const struct report *rep)
{
    json_t *list = json_array();
    for (int i = 0; i < rep->n_runs; i++)
        for (int n = 0; n < rep->runs[i].run->n_kernels; n++) {
            const struct run_kernel_counts *k = &rep->runs[i].run->kernels[n];
            struct kernel_of of = {k, kernel_roofline_of(k, &rep->thresholds)};
            json_t *o = value_object(&kernel_metrics, &of);
            value_set(o, "run", value_string(rep->runs[i].slug));
            value_add(list, o);
        }
    return list;
}

static json_t *operator_json(const struct report *rep, const struct run_kernel_counts *k)
{
    struct kernel_of of = {k, operator_roofline_of(k, &rep->thresholds)};
    json_t *o = value_object(&kernel_metrics, &of);
    json_object_del(o, "kernel");
    json_object_del(o, "formats");
    json_object_del(o, "flop_not_counted");
    value_set(o, "operator", value_string(k->kernel));
    value_set(o, "flop", value_int(k->flop >= 0, (int64_t)k->flop)); /* exact, where other numbers are rounded */
    value_set(o, "bytes", value_int(k->bytes >= 0, (int64_t)k->bytes));
    return o;
}

json_t *operator_roofline_json(const struct report *rep)
{
    json_t *list = json_array();
    for (int i = 0; i < rep->n_runs; i++)
        for (int n = 0; n < rep->runs[i].run->n_traces; n++) {
            const struct foreign_trace *t = &rep->runs[i].run->traces[n];
            for (int k = 0; k < t->n_work; k++) {
                json_t *o = operator_json(rep, &t->work[k]);
                value_set(o, "run", value_string(rep->runs[i].slug));
                value_set(o, "time_of", value_string(t->n_devices ? "GPU" : "host"));
                value_add(list, o);
            }
        }
    return list;
}
