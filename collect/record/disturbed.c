/* disturbed.c - see disturbed.h. */
#include "collect/record/disturbed.h"

#include <stdarg.h>
#include <stdio.h>

#define KEY "disturbed"
#define MAY_BE_MISSING 0.1
#define LEAST_OF_ONE 0.9

static void say(json_t *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(json_t *o, const char *fmt, ...)
{
    char line[200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    if (o && !json_object_get(o, KEY))
        json_object_set_new(o, KEY, json_string(line));
}

void disturbed_by_others(json_t *o, double had, double owed)
{
    if (owed > 0 && had < (1 - MAY_BE_MISSING) * owed)
        say(o, "other work had the cores for %.0f %% of the time", 100 * (1 - had / owed));
}

void disturbed_by_spread(json_t *o, double least)
{
    double median = json_number_value(json_object_get(o, "median"));
    double max = json_number_value(json_object_get(o, "max"));
    if (median > 0 && median < least * max)
        say(o, "half of the repetitions were slower than %.0f %% of the fastest", 100 * least);
}

void disturbed_below_one(json_t *one, json_t *all, int n_cores)
{
    double alone = json_number_value(json_object_get(one, "median"));
    double together = json_number_value(json_object_get(all, "median"));
    if (n_cores < 2 || !(together > 0) || together >= LEAST_OF_ONE * alone)
        return;
    say(one, "%d cores together did less than this one alone", n_cores);
    say(all, "%d cores together did less than one of them alone", n_cores);
}

int disturbed_list(const json_t *calibration, struct dcr_buf *out)
{
    static const struct {
        const char *part, *key, *words;
    } measured[] = {{"fma", "one_core", "arithmetic, one core"},
                    {"fma", "all_cores", "arithmetic, all cores"},
                    {"memory", "one_core", "memory, one core"},
                    {"memory", "all_cores", "memory, all cores"}};
    const json_t *nodes = json_object_get(calibration, "nodes"), *groups = json_object_get(calibration, "allreduce");
    int n = 0;
    for (size_t i = 0; i < json_array_size(nodes); i++) {
        const json_t *node = json_array_get(nodes, i);
        const char *host = json_string_value(json_object_get(node, "host"));
        if (json_object_get(node, "measured_on")) /* repeats another node, which is listed */
            continue;
        for (size_t k = 0; k < sizeof measured / sizeof *measured; k++) {
            const json_t *o = json_object_get(json_object_get(node, measured[k].part), measured[k].key);
            const char *why = json_string_value(json_object_get(o, KEY));
            if (why)
                dcr_buf_printf(out, "host %s, %s: %s\n", host ? host : "?", measured[k].words, why);
            n += why != NULL;
        }
    }
    for (size_t i = 0; i < json_array_size(groups); i++) {
        const json_t *o = json_array_get(groups, i);
        const char *why = json_string_value(json_object_get(o, KEY));
        if (why)
            dcr_buf_printf(out, "all-reduce of %d ranks: %s\n", (int)json_integer_value(json_object_get(o, "n_ranks")),
                           why);
        n += why != NULL;
    }
    return n;
}
