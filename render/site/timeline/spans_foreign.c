/* spans_foreign.c - spans from traces of other tools: read only for the spans, or collected while the trace is read for
 * its numbers; see spans.h. Test: tests/unit/test_timeline.c */
#include "render/site/timeline/spans_inside.h"

#include "render/device/watch.h"
#include "render/import/import.h"
#include "render/model/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct lane {
    enum track_kind kind;
    int64_t device, stream; /* thread: 0 and any number */
    size_t track;
};

struct foreign {
    struct spans *spans;
    uint32_t file;
    struct lane lane[SPAN_FOREIGN_TRACKS];
    size_t n_lanes, last;
    int n_threads;
};

/* The track of a stream or thread; false: there are too many tracks to look at. */
static bool lane_of(struct foreign *f, enum track_kind kind, int64_t device, int64_t stream, size_t *track)
{
    char name[64];
    const struct lane *l = &f->lane[f->last];
    if (f->last < f->n_lanes && l->kind == kind && l->device == device && l->stream == stream) {
        *track = l->track;
        return true;
    }
    for (f->last = 0; f->last < f->n_lanes; f->last++) {
        l = &f->lane[f->last];
        if (l->kind == kind && l->device == device && l->stream == stream) {
            *track = l->track;
            return true;
        }
    }
    if (f->n_lanes == SPAN_FOREIGN_TRACKS) {
        f->spans->n_trackless++;
        return false;
    }
    /* New ids follow those of the existing tracks, so the ids of one file differ. */
    *track = spans_track(f->spans, 0, -1, f->file, (uint32_t)f->n_lanes, true);
    struct span_track *t = &f->spans->tracks[*track];
    t->kind = kind;
    t->device = device;
    t->stream = kind == TRACK_HOST ? f->n_threads : stream;
    if (kind == TRACK_HOST)
        snprintf(name, sizeof name, "host %d", ++f->n_threads);
    else
        snprintf(name, sizeof name, "GPU %lld stream %lld", (long long)device, (long long)stream);
    t->name = dcr_arena_strdup(&f->spans->arena, name);
    f->lane[f->n_lanes++] = (struct lane){kind, device, stream, *track};
    return true;
}

static bool is_drawable(int64_t start_ns, int64_t dur_ns, int64_t *end_ns)
{
    return dur_ns >= 0 && start_ns > -RUN_MAX_TIME_NS && !__builtin_add_overflow(start_ns, dur_ns, end_ns) &&
           *end_ns < RUN_MAX_TIME_NS;
}

static void on_op(void *ctx, const struct device_op *op, enum op_kind kind, const char *name)
{
    struct foreign *f = ctx;
    int64_t end_ns;
    size_t track;
    if (!is_drawable(op->start_ns, op->dur_ns, &end_ns) || !lane_of(f, TRACK_STREAM, op->device, op->stream, &track))
        return;
    f->spans->n_device_ops++;
    static const char gpu[] = "GPU", comm[] = "comm", compute[] = "compute", copy[] = "copy";
    spans_add_stable(f->spans, track, 0, gpu,
                     kind == OP_COMM      ? comm
                     : kind == OP_COMPUTE ? compute
                                          : copy,
                     name, op->start_ns, end_ns, op->in_bytes > 0 ? (uint64_t)op->in_bytes : 0);
}

static void on_host(void *ctx, int64_t thread, const char *name, size_t len, int64_t start_ns, int64_t dur_ns)
{
    static const char step[] = "ProfilerStep";
    struct foreign *f = ctx;
    int64_t end_ns;
    size_t track;
    char text[256];
    if (!is_drawable(start_ns, dur_ns, &end_ns) || !lane_of(f, TRACK_HOST, 0, thread, &track))
        return;
    len = strnlen(name, len < sizeof text ? len : sizeof text - 1);
    memcpy(text, name, len);
    text[len] = '\0';
    bool is_step = strncmp(text, step, sizeof step - 1) == 0;
    uint64_t number = is_step && text[sizeof step - 1] == '#' ? strtoull(text + sizeof step, NULL, 10) : 0;
    spans_add(f->spans, track, 0, "", is_step ? "step" : "", is_step ? step : text, start_ns, end_ns, number);
}

static int trace_of(const struct run *run, const char *file)
{
    for (int i = 0; i < run->n_traces; i++)
        if (strcmp(run->traces[i].file, file) == 0)
            return i;
    return -1;
}

bool spans_knows(const struct run *run, const char *file)
{
    return trace_of(run, file) >= 0;
}

/* Tracks of the file belong to the trace's rank, or else to its place among the traces. */
static void rank_of(const struct run *run, int at, int *rank, int *node)
{
    int64_t said = run->traces[at].rank;
    *rank = said >= 0 && said <= RUN_MAX_RANK ? (int)said : at;
    *node = -1;
    for (int i = 0; i < run->ranks_len; i++)
        *node = run->ranks[i].rank == *rank ? run->ranks[i].node : *node;
}

/* ---- while somebody else reads --------------------------------------------------------------------------- */

/* Spans of one file, collected by any thread. They become part of their run's when the trace has been read. */
struct foreign_spans {
    struct foreign foreign;
    struct spans spans;
    struct spans_share share;
    bool is_shared, is_dropped; /* of the limit for all runs together */
};

/* Is it worth going on? The drawing of a file depends only on the file. Whether other runs leave room for it only
 * decides if it is read again. */
static bool goes_on(struct foreign_spans *f)
{
    if (f->is_dropped)
        return false;
    if (!f->spans.blocks && f->spans.n > SPANS_IN_FULL)
        spans_join(&f->spans);
    if (!f->is_shared || spans_hold(&f->share, f->spans.cap))
        return true;
    spans_release(&f->spans);
    spans_hold(&f->share, 0);
    f->is_dropped = true;
    return false;
}

static void watch_op(void *ctx, const struct device_op *op, enum op_kind kind, const char *name)
{
    struct foreign_spans *f = ctx;
    if (goes_on(f))
        on_op(&f->foreign, op, kind, name);
}

static void watch_host(void *ctx, int64_t thread, const char *name, size_t len, int64_t start_ns, int64_t dur_ns)
{
    struct foreign_spans *f = ctx;
    if (goes_on(f))
        on_host(&f->foreign, thread, name, len, start_ns, dur_ns);
}

void *spans_foreign_begin(struct activity_watch *w)
{
    struct foreign_spans *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    spans_start(&f->spans);
    f->is_shared = true;
    f->foreign.spans = &f->spans;
    f->foreign.file = spans_trace(&f->spans, NULL, NULL);
    *w = (struct activity_watch){f, watch_op, watch_host, 1};
    return f;
}

void spans_foreign_free(void *foreign)
{
    struct foreign_spans *f = foreign;
    spans_release(&f->spans);
    spans_hold(&f->share, 0);
    free(f);
}

/* Merges as if the ranges of the file had been added one by one. So far, sums of names cover only joined ranges. */
static void merge(struct spans *s, const struct spans *from, uint32_t file)
{
    size_t *track = dcr_arena_alloc(&s->arena, (from->n_tracks + 1) * sizeof *track);
    for (size_t i = 0; i < from->n_tracks; i++) {
        const struct span_track *t = &from->tracks[i];
        track[i] = spans_track(s, 0, -1, file, t->id, true);
        s->tracks[track[i]].kind = t->kind;
        s->tracks[track[i]].device = t->device;
        s->tracks[track[i]].stream = t->stream;
        s->tracks[track[i]].name = dcr_arena_strdup(&s->arena, t->name);
    }
    for (size_t i = 0; i < from->n; i++) {
        const struct span *p = &from->span[i];
        if (p->name & SPAN_BLOCK) {
            spans_add_block(s, track[p->row >> 6], p);
            continue;
        }
        const struct span_name *k = &from->names[p->name];
        spans_add_stable(s, track[p->row >> 6], 0, k->domain, k->category, k->name, p->start_ns,
                         p->start_ns + p->dur_ns, p->bytes);
    }
    spans_forget(s);
    for (size_t i = 0; i < from->n_names; i++) {
        const struct span_name *k = &from->names[i];
        if (k->count == 0)
            continue;
        uint32_t at = spans_name(s, k->domain, k->category, k->name);
        struct span_name *to = &s->names[at];
        to->count += k->count;
        to->total_ns += k->total_ns;
        if (k->joined_ns > to->joined_ns) {
            to->joined_ns = k->joined_ns;
            to->joined_file = file;
        }
    }
    s->n_device_ops += from->n_device_ops;
    s->n_trackless += from->n_trackless;
}

bool spans_foreign_keep(struct spans *s, void *foreign, const char *file)
{
    struct foreign_spans *f = foreign;
    bool is_whole = goes_on(f);
    spans_forget(&f->spans); /* names that belonged to the importer */
    spans_join_end(&f->spans);
    s->joined_ns = f->spans.joined_ns > s->joined_ns ? f->spans.joined_ns : s->joined_ns;
    if (is_whole && s->n_files == 0) { /* the first one needs no copy */
        spans_release(s);
        *s = f->spans;
        spans_start(&f->spans);
    } else if (is_whole) {
        merge(s, &f->spans, spans_trace(s, NULL, NULL));
    }
    if (is_whole)
        s->files[s->n_files - 1].foreign = dcr_arena_strdup(&s->arena, file);
    spans_foreign_free(f);
    return is_whole;
}

int spans_read_foreign(struct spans *s, const struct run *run, struct dcr_stream *in, struct dcr_err *err)
{
    struct activity_watch w;
    if (!spans_knows(run, in->name))
        return 0;
    struct run *scratch = run_new(in->name);
    struct foreign_spans *f = spans_foreign_begin(&w);
    if (!f || !scratch)
        abort(); /* as the arena does */
    f->is_shared = false;
    w.is_beside = 0;
    activity_watch(&w);
    struct dcr_err why = {0};
    int rc = import_foreign(scratch, in->name, in, &why);
    activity_watch(NULL);
    run_free(scratch);
    if (rc) /* the error was reported when the run was read */
        spans_foreign_free(f);
    else
        spans_foreign_keep(s, f, in->name);
    if (rc == DCR_FATAL && err)
        *err = why;
    return rc == DCR_FATAL ? rc : 0;
}

void spans_foreign_place(struct spans *s, const struct run *run)
{
    for (uint32_t f = 0; f < s->n_files; f++) {
        int rank, node, at = s->files[f].foreign ? trace_of(run, s->files[f].foreign) : -1;
        if (at < 0)
            continue;
        rank_of(run, at, &rank, &node);
        for (size_t i = 0; i < s->n_tracks; i++)
            if (s->tracks[i].file == f) {
                s->tracks[i].rank = rank;
                s->tracks[i].node = node;
            }
    }
}
