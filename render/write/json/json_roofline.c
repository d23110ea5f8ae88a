/* json_roofline.c - kernels under their roofline in report.json: see json_values.h. */
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
