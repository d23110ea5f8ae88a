/* talp.c - DLB's TALP report: POP efficiencies per region, of MPI, OpenMP and GPUs, as TALP computed them. */
#include "render/import/text/parsers.h"

#include "lib/base/buf.h"
#include "render/model/talp.h"
#include "render/import/text/json.h"

#include <stdio.h>
#include <string.h>

int talp_is(const char *head, size_t n)
{
    return n && *head == '{' && memmem(head, n, "\"dlbVersion\"", 12) != NULL;
}

/* What the file contains, found before its table is made. */
struct found {
    int has[N_TALP]; /* some region has it */
    int has_times, has_cpus, has_instructions;
    int n_regions, n_off, n_impossible;
    char impossible[160]; /* the first of these */
};

/* Is v a share, above 1 by no more than rounding? */
static int is_efficiency(double v)
{
    return v >= 0 && v <= 1.005;
}

static const json_t *first_of(const json_t *region, const char *key, const char *older)
{
    const json_t *v = json_object_get(region, key);
    return v ? v : json_object_get(region, older);
}

/* v: shape (N_TALP), -1 = not in the file, or no efficiency */
static void efficiencies_of(const json_t *region, double *v)
{
    const json_t *gpus = json_object_get(region, "numGpus");
    for (int e = 0; e < N_TALP; e++) {
        const json_t *x = json_object_get(region, talp_key((enum talp_efficiency)e));
        v[e] = json_is_number(x) && is_efficiency(json_number_value(x)) ? json_number_value(x) : -1;
    }
    talp_clean(v, json_is_number(gpus) ? json_number_value(gpus) : -1);
}

/* Parallel efficiency by the times of a region, -1 if it does not give them. */
static double by_times(const json_t *region)
{
    static const char *const lost[] = {"mpiTime", "ompLoadImbalanceTime", "ompSchedulingTime", "ompSerializationTime",
                                       "gpuRuntimeTime"};
    double useful = json_number_or(region, "usefulTime", -1), all = useful;
    if (!json_object_get(region, lost[0]) || !(useful > 0))
        return -1;
    for (size_t i = 0; i < sizeof lost / sizeof *lost; i++) {
        double t = json_number_or(region, lost[i], 0);
        all += t > 0 ? t : 0;
    }
    return useful / all;
}

static double positive_or(const json_t *region, const char *key, double otherwise)
{
    double v = json_number_or(region, key, otherwise);
    return v > 0 ? v : otherwise;
}

static void count_impossible(struct found *f, const char *region, const char *key, double v)
{
    if (f->n_impossible++ == 0)
        snprintf(f->impossible, sizeof f->impossible, "'%.48s' is %.6g in '%.48s'", key, v, region);
}

/* Finds impossible numbers of a region: values that are no share, or no time. */
static void look_for_impossible(struct found *f, const char *name, const json_t *region)
{
    static const char *const times[][2] = {{"elapsedTime", "ElapsedTime"}, {"usefulTime", "UsefulTime"}};
    for (int e = 0; e < N_TALP; e++) {
        const char *key = talp_key((enum talp_efficiency)e);
        const json_t *x = json_object_get(region, key);
        if (json_is_number(x) && !is_efficiency(json_number_value(x)))
            count_impossible(f, name, key, json_number_value(x));
    }
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        const json_t *x = first_of(region, times[i][0], times[i][1]);
        if (json_is_number(x) && json_number_value(x) < 0)
            count_impossible(f, name, times[i][0], json_number_value(x));
    }
}

static void look_at_region(struct found *f, const char *name, const json_t *region)
{
    double v[N_TALP];
    efficiencies_of(region, v);
    look_for_impossible(f, name, region);
    for (int e = 0; e < N_TALP; e++)
        f->has[e] |= v[e] >= 0;
    f->has_times |= by_times(region) >= 0;
    f->has_cpus |= positive_or(region, "numCpus", -1) > 0;
    f->has_instructions |= positive_or(region, "instructions", -1) > 0;
    f->n_regions++;
    f->n_off += !talp_agrees(v, TALP_PARALLEL);
}

static void add_ratio(struct run *r, struct foreign_table *t, double ratio)
{
    table_add(r, t, ratio >= 0 ? "%.2f" : "n/a", ratio);
}

static void add_seconds(struct run *r, struct foreign_table *t, const json_t *ns)
{
    int is_time = json_is_number(ns) && json_number_value(ns) >= 0;
    table_add(r, t, is_time ? "%.4g" : "n/a", json_number_value(ns) / 1e9);
}

static void add_count(struct run *r, struct foreign_table *t, double n)
{
    table_add(r, t, n > 0 ? "%.15g" : "n/a", n);
}

static void add_region(struct run *r, struct foreign_table *t, const struct found *f, const char *name,
                       const json_t *region)
{
    double v[N_TALP];
    efficiencies_of(region, v);
    table_add(r, t, "%s", name);
    const json_t *elapsed = first_of(region, "elapsedTime", "ElapsedTime"),
                 *useful = first_of(region, "usefulTime", "UsefulTime");
    add_seconds(r, t, elapsed);
    add_seconds(r, t, useful);
    for (int e = 0; e < N_TALP; e++) {
        if (f->has[e] || e == TALP_PARALLEL)
            add_ratio(r, t, v[e]);
        if (e == TALP_PARALLEL)
            add_ratio(r, t, talp_product(v, TALP_PARALLEL));
        if (e == TALP_PARALLEL && f->has_times)
            add_ratio(r, t, by_times(region));
    }
    if (f->has_cpus)
        add_count(r, t, positive_or(region, "numCpus", -1));
    if (f->has_instructions)
        add_count(r, t, positive_or(region, "instructions", -1));
}

/* A region is an object with an elapsed time; what is around it differs between versions of DLB. With a table, the
 * region is added to it. Without one, it is only looked at. */
static void walk(struct run *r, struct foreign_table *t, struct found *f, const char *name, const json_t *v, int depth)
{
    const char *key;
    json_t *inner;
    if (!json_is_object(v) || depth > 6)
        return;
    if (!first_of(v, "elapsedTime", "ElapsedTime")) {
        json_object_foreach((json_t *)(uintptr_t)v, key, inner) walk(r, t, f, key, inner, depth + 1);
    } else if (t) {
        add_region(r, t, f, name, v);
    } else {
        look_at_region(f, name, v);
    }
}

/* The caption is the same for every file, except for the regions whose product is another number. */
static char *caption_of(struct run *r, const struct found *f)
{
    struct dcr_buf b = {0};
    dcr_buf_puts(&b, "efficiencies of its regions as DLB computed them (POP accepts 0.8 and above)");
    if (f->n_off)
        dcr_buf_printf(&b,
                       "; in %d of %d regions MPI x OpenMP x device offload differs from the parallel efficiency by "
                       "more than rounding, as DLB does not measure them against the same time",
                       f->n_off, f->n_regions);
    char *text = dcr_arena_strdup(&r->arena, dcr_buf_text(&b));
    dcr_buf_release(&b);
    return text;
}

static char *columns_of(struct run *r, const struct found *f)
{
    struct dcr_buf b = {0};
    dcr_buf_puts(&b, "Region|#Elapsed, s|#Useful, s");
    for (int e = 0; e < N_TALP; e++) {
        if (f->has[e] || e == TALP_PARALLEL)
            dcr_buf_printf(&b, "|#%s", talp_title((enum talp_efficiency)e));
        if (e == TALP_PARALLEL)
            dcr_buf_printf(&b, "|#Product of its factors%s", f->has_times ? "|#" TALP_BY_TIMES : "");
    }
    dcr_buf_printf(&b, "%s%s", f->has_cpus ? "|#CPUs" : "", f->has_instructions ? "|#Instructions" : "");
    char *text = dcr_arena_strdup(&r->arena, dcr_buf_text(&b));
    dcr_buf_release(&b);
    return text;
}

/* A region in the form of later versions. Only MPI was measured then, so its efficiency is the parallel one. */
static json_t *renamed(json_t *region, const json_t *raw)
{
    static const char *const names[][2] = {{"communicationEfficiency", "mpiCommunicationEfficiency"},
                                           {"loadBalance", "mpiLoadBalance"},
                                           {"lbIn", "mpiLoadBalanceIn"},
                                           {"lbOut", "mpiLoadBalanceOut"},
                                           {"parallelEfficiency", "mpiParallelEfficiency"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        json_object_set(region, names[i][1], json_object_get(region, names[i][0]));
    if (raw) {
        json_object_set(region, "numCpus", json_object_get(raw, "numCpus"));
        json_object_set(region, "instructions", json_object_get(raw, "instructions"));
        json_object_set(region, "usefulTime", json_object_get(raw, "usefulCpuTotal"));
    }
    return region;
}

/* DLB before 3.5 wrote lists of regions with their names, efficiencies under "popMetrics", times and counts under
 * "popRaw", and the processes of each. An object of regions replaces all that. source: DLB 3.4, talp_output.c */
static void modernise(json_t *o)
{
    json_t *list = json_object_get(o, "popMetrics"), *region;
    size_t i;
    if (!json_is_array(list))
        return;
    json_t *raw = json_object(), *regions = json_object();
    json_array_foreach(json_object_get(o, "popRaw"), i, region)
    {
        const char *name = json_string_value(json_object_get(region, "name"));
        if (name)
            json_object_set(raw, name, region);
    }
    json_array_foreach(list, i, region)
    {
        const char *name = json_string_value(json_object_get(region, "name"));
        if (name)
            json_object_set(regions, name, renamed(region, json_object_get(raw, name)));
    }
    json_object_clear(o);
    json_object_set_new(o, "popMetrics", regions);
    json_decref(raw);
}

int talp_read(struct run *r, struct dcr_stream *s, struct dcr_err *err)
{
    json_t *o = json_slurp(s, err);
    if (!o)
        return DCR_FAIL;
    struct found f = {0};
    int rc = 0;
    modernise(o);
    walk(r, NULL, &f, "", o, 0);
    if (f.n_regions)
        walk(r, run_add_table(r, s->name, FOREIGN_TALP, caption_of(r, &f), columns_of(r, &f)), &f, "", o, 0);
    else
        rc = dcr_err_set(err, DCR_FAIL, "'%s' is a TALP report without regions; run TALP with its monitoring regions",
                         s->name);
    if (f.n_impossible)
        run_add_gap(r, PHRASE(TALP_IMPOSSIBLE, slot_count(f.n_impossible), slot_name(s->name)),
                    PHRASE(TALP_FIRST, slot_name(f.impossible)), PHRASE(TALP_LIMITS));
    json_decref(o);
    return rc;
}
