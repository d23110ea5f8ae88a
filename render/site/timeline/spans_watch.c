/* spans_watch.c - spans collected while runs are read, so that no trace is read twice; see spans.h. */
#include "render/site/timeline/spans_inside.h"

#include "lib/archive/member.h"
#include "render/model/watch.h"

#include <stdlib.h>
#include <string.h>

/* Spans collected for one run. */
struct collected {
    struct spans spans;
    uint32_t file; /* being read */
    struct dct_leave_out leave_out;
    struct spans_share share;
    int n_foreign;   /* traces of other tools in spans */
    bool is_dropped; /* more than all runs together may hold */
    char member[4400];
};

static void *begin(void)
{
    struct collected *c = calloc(1, sizeof *c);
    if (c)
        spans_start(&c->spans);
    return c;
}

static void drop(struct collected *c)
{
    spans_release(&c->spans);
    spans_hold(&c->share, 0);
    c->is_dropped = true;
}

static void on_begin(void *ctx, const struct dct_info *info)
{
    struct collected *c = ctx;
    c->file = spans_trace(&c->spans, c->member, info);
    c->leave_out = (struct dct_leave_out){.latest_ns = RUN_MAX_TIME_NS};
}

static int on_event(void *ctx, const struct dct_event *e)
{
    struct collected *c = ctx;
    if (c->is_dropped)
        return 1;
    if (spans_leaves_out(&c->spans, c->file, e))
        return 0;
    spans_event(&c->spans, c->file, e);
    if (!spans_hold(&c->share, c->spans.cap)) {
        drop(c);
        return 1;
    }
    c->leave_out.shorter_ns = spans_may_leave_out(&c->spans, c->file, &c->leave_out.track);
    return 0;
}

static void on_end(void *ctx, struct dct_reader *r)
{
    struct collected *c = ctx;
    if (c->is_dropped)
        return;
    c->spans.n_left_out += c->leave_out.n;
    spans_trace_end(&c->spans, c->file, r);
}

static int on_trace(void *watched, const char *member, struct dct_watch *w)
{
    struct collected *c = watched;
    int node, rank;
    if (c->is_dropped || strlen(member) >= sizeof c->member || dcr_role_of(member, &node, &rank) != DCR_ROLE_TRACE)
        return 0;
    memcpy(c->member, member, strlen(member) + 1);
    *w = (struct dct_watch){on_begin, on_event, on_end, c, &c->leave_out};
    return 1;
}

static void release(void *watched)
{
    drop(watched);
    free(watched);
}

static void keep_foreign(void *watched, void *foreign, const char *file)
{
    struct collected *c = watched;
    if (c->is_dropped)
        spans_foreign_free(foreign);
    else if (!spans_foreign_keep(&c->spans, foreign, file) || !spans_hold(&c->share, c->spans.cap))
        drop(c);
    else
        c->n_foreign++;
}

const struct run_watch spans_watch = {.begin = begin,
                                      .trace = on_trace,
                                      .free = release,
                                      .foreign = spans_foreign_begin,
                                      .foreign_keep = keep_foreign,
                                      .foreign_free = spans_foreign_free};

/* Were all traces handed over? A trace that the manifest lists with another role was not. */
static bool is_whole(const struct run *run, int n_foreign)
{
    int node, rank;
    for (int i = 0; i < run->n_traces; i++)
        n_foreign -= dcr_role_of(run->traces[i].file, &node, &rank) != DCR_ROLE_TRACE;
    if (n_foreign != 0)
        return false;
    for (size_t i = 0; i < run->n_members; i++)
        if (dcr_role_of(run->members[i].name, &node, &rank) == DCR_ROLE_TRACE &&
            strcmp(run->members[i].role, "trace") != 0)
            return false;
    return true;
}

bool spans_take(struct spans *s, const struct run *run)
{
    struct collected *c = run->watched;
    if (!c || run->watch != &spans_watch || c->is_dropped || !is_whole(run, c->n_foreign))
        return false;
    *s = c->spans;
    spans_start(&c->spans);
    drop(c);
    spans_settle(s, run);
    return true;
}
