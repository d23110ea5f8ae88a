/* node_share.c - see node_share.h. Bounds: docs/FORMAT.md. */
#include "collect/record/node_share.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The kernel takes periods of 1 ms to 1 s. */
int node_share_of_environment(json_t **out, struct dcr_err *err)
{
    const char *text = getenv(NODE_SHARE_VARIABLE);
    double cores = 0;
    long long period_us = 0, link_bit_per_s = 0;
    int is_default = 0, n = 0;
    *out = NULL;
    if (!text || !*text)
        return DCR_OK;
    int is_whole = sscanf(text, "cores=%lf period_us=%lld link_bit_per_s=%lld default=%d%n", &cores, &period_us,
                          &link_bit_per_s, &is_default, &n) == 4 &&
                   !text[n];
    if (!is_whole || !((cores >= 0.001 && cores <= 65536) || fpclassify(cores) == FP_ZERO) || period_us < 1000 ||
        period_us > 1000000 || link_bit_per_s < 0 || link_bit_per_s > 1000000000000000 || is_default >> 1)
        return dcr_err_set(err, DCR_FAIL,
                           NODE_SHARE_VARIABLE " is '%.200s', and not what collect/nodes sets, as 'cores=0.25 "
                                               "period_us=4000 link_bit_per_s=50000000 default=1'; unset the variable "
                                               "outside an emulated node",
                           text);
    *out = json_pack("{s:f, s:I, s:I, s:b}", "cores", cores, "period_us", (json_int_t)period_us, "link_bit_per_s",
                     (json_int_t)link_bit_per_s, "is_default", is_default);
    return *out ? DCR_OK : dcr_err_set(err, DCR_FATAL, "out of memory");
}

/* "50 Mbit/s", decimal as links are sold; three digits as in the report. */
static void rate_words(double bit_per_s, char *out, size_t n)
{
    static const char *const units[] = {"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"};
    size_t u = 0;
    for (; bit_per_s >= 999.5 && u + 1 < sizeof units / sizeof *units; u++)
        bit_per_s /= 1000;
    snprintf(out, n, "%.3g %s", bit_per_s, units[u]);
}

void node_share_words(const json_t *share, int n_nodes, char *out, size_t n)
{
    const json_t *cores = json_object_get(share, "cores"), *link = json_object_get(share, "link_bit_per_s");
    char rate[40];
    out[0] = '\0';
    if (!json_is_number(cores) || !json_is_integer(link))
        return;
    double c = json_number_value(cores);
    rate_words((double)json_integer_value(link), rate, sizeof rate);
    const char *unit = c > 1 ? "cores" : "core", *each = n_nodes == 1 ? "" : " each";
    char part[40] = "cores shared";
    if (c > 0)
        snprintf(part, sizeof part, "%.4g %s", c, unit);
    if (json_integer_value(link))
        snprintf(out, n, "%s, %s%s", part, rate, each);
    else
        snprintf(out, n, "%s%s, %s not shaped", part, c > 0 ? each : "", n_nodes == 1 ? "link" : "links");
}
