/* pack_mixed.c - does the spool hold processes of one run only? Two runs that were given one folder cannot be told
 * apart afterwards; that it is so can, by what their launchers called them, by how many ranks they had, and by traces
 * that are older than the collector of their rank. */
#include "collect/pack/parts.h"

#include "collect/record/job.h"
#include "lib/base/json_string.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static void say(struct pack *p, const char *what)
{
    pack_reason(p, "the spool holds processes of more than one run: %s; give each run a folder of its own", what);
    if (!json_object_get(p->metadata, "several_runs"))
        json_object_set_new(p->metadata, "several_runs", json_string_kept(what));
}

static void compare_ranks(struct pack *p)
{
    const struct pack_rank *first = NULL;
    char what[200];
    for (size_t i = 0; i < p->n_ranks; i++) {
        const struct pack_rank *r = &p->ranks[i];
        const json_t *job = json_object_get(r->record, "job");
        json_int_t size = json_integer_value(json_object_get(r->record, "world_size"));
        if (!job && size <= 0)
            continue;
        if (!first) {
            first = r;
            continue;
        }
        json_int_t first_size = json_integer_value(json_object_get(first->record, "world_size"));
        if (job_are_two(job, json_object_get(first->record, "job")))
            snprintf(what, sizeof what, "ranks %d and %d are of two jobs", first->rank, r->rank);
        else if (size > 0 && first_size > 0 && size != first_size)
            snprintf(what, sizeof what, "rank %d was one of %lld, rank %d one of %lld", first->rank,
                     (long long)first_size, r->rank, (long long)size);
        else
            continue;
        say(p, what);
        return;
    }
}

static void compare_traces(struct pack *p)
{
    char what[PATH_MAX + 100];
    for (size_t i = 0; i < p->n_ranks; i++) {
        const struct pack_rank *r = &p->ranks[i];
        const json_t *record = p->launcher ? p->launcher : r->record;
        json_int_t mono_ns = json_integer_value(json_object_get(record, "started_ns"));
        double started = json_number_value(json_object_get(record, "started"));
        if (!r->first_trace || mono_ns <= 0 || !(started > 0 && started < 9e9) ||
            strncmp(r->first_host, pack_json_text(record, "host"), sizeof r->first_host - 1) != 0)
            continue;
        /* By both clocks: the calendar may be set, and a program may have a monotonic clock of its own (time
         * namespace). */
        if (r->first_mono_ns >= mono_ns || r->first_real_ns >= (int64_t)(started * 1e9))
            continue;
        snprintf(what, sizeof what, "the process of '%.4000s' began %.1f s before the collector of this run",
                 r->first_trace, (double)(mono_ns - r->first_mono_ns) / 1e9);
        say(p, what);
        return;
    }
}

void pack_check_mixed(struct pack *p)
{
    compare_ranks(p);
    compare_traces(p);
}
