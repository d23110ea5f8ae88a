/* rule.c - functions that all rules share, for one line of the class table. See rules.h. */
#include "render/metrics/rule.h"

#include "lib/base/fs.h"
#include "lib/reduce/summary.h"
#include "render/metrics/calls.h"

#include <math.h>
#include <string.h>

double rule_share(const struct run_result *r, int64_t ns)
{
    return r->step.mean_ns > 0 ? (double)ns / (double)r->step.mean_ns : 0;
}

struct class_result *rule_begin(struct run_result *r, enum cause_class cls, int64_t ns, struct phrase rule,
                                const char *threshold_name, double threshold)
{
    struct class_result *c = &r->classes[cls];
    *c = (struct class_result){.cls = cls,
                               .verdict = VERDICT_FINE,
                               .has_share = 1,
                               .share_ns = ns,
                               .share_ratio = rule_share(r, ns),
                               .ruled = {rule},
                               .threshold_name = threshold_name,
                               .threshold_ratio = threshold,
                               .gain_ns = r->gain_ns[cls]};
    return c;
}

void rule_found(struct class_result *c, struct phrase p)
{
    phrase_put(c->found, SAID_MAX, p);
}

void rule_not_measured(struct run_result *r, enum cause_class cls, struct reason why)
{
    r->classes[cls] = (struct class_result){.cls = cls, .threshold_name = "", .threshold_ratio = -1, .why = why};
}

void rule_grade(struct class_result *c, double limits, double watch)
{
    c->verdict = c->share_ratio > limits ? VERDICT_LIMITS : c->share_ratio > watch ? VERDICT_WATCH : VERDICT_FINE;
}

double rule_mean(const struct sampled *s)
{
    return s->n ? s->sum / (double)s->n : NAN;
}

/* Time of loading in calls on files, per step. It counts as I/O, because it waits for a disk. */
int64_t files_in_loading(const struct run_result *r)
{
    int64_t sum = 0, n_steps = 0;
    for (int i = 0; i < r->n_phases; i++) {
        if (r->phases[i].category == CAT_DATA && dcr_ends_with(r->phases[i].name, REDUCE_FILES)) {
            sum += r->phases[i].spread.mean_ns;
            n_steps = r->phases[i].n_steps > n_steps ? r->phases[i].n_steps : n_steps;
        }
    }
    /* Calls below the recorder's threshold are only summed per file: on files whose longer reads were in loading they
     * are loading's too. One such read may be long by chance; in every second step it is how the run loads. */
    double events = 0, shorter = 0, data = (double)r->part_ns[PART_DATA], files = (double)sum;
    for (int i = 0; i < r->run->ranks_len; i++) {
        events += (double)r->run->ranks[i].loading_events_ns;
        shorter += (double)r->run->ranks[i].loading_short_ns;
    }
    if (events > 0 && 2 * n_steps >= r->n_counted)
        files += files * (shorter / events);
    return files < data ? (int64_t)files : r->part_ns[PART_DATA];
}

/* Negative numbers are not known. */
static enum files_used more_of(double read, double written)
{
    if (read < 0 || written < 0)
        return FILES_BOTH;
    const double mostly = 4; /* times the other: less is both */
    return read > mostly * written ? FILES_READ : written > mostly * read ? FILES_WRITTEN : FILES_BOTH;
}

/* A phase of the recorder is named after a call, that of a program after what it does. */
static int kind_of_phase(const char *name)
{
    if (strcasestr(name, "load") || strcasestr(name, "restore"))
        return DCT_IO_READ;
    if (strcasestr(name, "save") || strcasestr(name, "checkpoint") || strcasestr(name, "write") ||
        strcasestr(name, "dump"))
        return DCT_IO_WRITE;
    return summary_io_kind(name);
}

enum files_used files_used(const struct run_result *r)
{
    double ns[DCT_N_IO] = {[DCT_IO_READ] = (double)files_in_loading(r)};
    for (int i = 0; i < r->n_phases; i++) {
        if (r->phases[i].category == CAT_IO)
            ns[kind_of_phase(r->phases[i].name)] += (double)r->phases[i].spread.mean_ns;
    }
    if (ns[DCT_IO_READ] + ns[DCT_IO_WRITE] > ns[DCT_IO_OTHER])
        return more_of(ns[DCT_IO_READ], ns[DCT_IO_WRITE]);
    const struct files_explained e = files_explained(r->run);
    return more_of((double)e.recorded_bytes[DCT_IO_READ], (double)e.recorded_bytes[DCT_IO_WRITE]);
}

struct loading_elsewhere loading_elsewhere(const struct run *a)
{
    struct loading_elsewhere l = {0};
    for (int i = 0; i < a->ranks_len; i++) {
        const struct run_rank *k = &a->ranks[i];
        double between = (double)k->outside_ns[CAT_DATA], all = (double)k->loading_ranges_ns;
        l.between_ns += between;
        l.other_ns += all > between ? all - between : 0;
        l.wall_ns += (double)k->wall_ns;
    }
    return l;
}

const char *rule_last_counts(const struct straggler *s)
{
    return s->is_of_steps ? "steps" : "exchanges";
}
