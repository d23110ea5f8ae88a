/* spans_watch.c - spans collected while runs are read, so that no native trace is read twice; see spans.h. */
#include "render/site/spans.h"

#include "lib/member.h"
#include "render/model/watch.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Of one run. */
struct collected {
    struct spans spans;
    uint32_t file;   /* being read */
    size_t counted;  /* of n_held */
    bool is_dropped; /* more than all runs together may hold */
    char member[4400];
};

/* Ranges that all runs hold, until their pages are made. */
static atomic_size_t n_held;

static void *begin(void)
{
    struct collected *c = calloc(1, sizeof *c);
    if (c)
        spans_start(&c->spans);
    return c;
}

static void hold(struct collected *c, size_t n)
{
    atomic_fetch_add(&n_held, n - c->counted);
    c->counted = n;
}

static void drop(struct collected *c)
{
    spans_release(&c->spans);
    hold(c, 0);
    c->is_dropped = true;
}

static void on_begin(void *ctx, const struct dct_info *info)
{
    struct collected *c = ctx;
    c->file = spans_trace(&c->spans, c->member, info);
}

static void on_event(void *ctx, const struct dct_event *e)
{
    struct collected *c = ctx;
    if (c->is_dropped)
        return;
    spans_event(&c->spans, c->file, e);
    if (c->spans.cap == c->counted)
        return;
    hold(c, c->spans.cap);
    if (atomic_load(&n_held) > SPANS_MAX)
        drop(c);
}

static void on_end(void *ctx, const struct dct_reader *r)
{
    struct collected *c = ctx;
    if (!c->is_dropped)
        spans_trace_end(&c->spans, c->file, r);
}

static int on_trace(void *watched, const char *member, struct dct_watch *w)
{
    struct collected *c = watched;
    int node, rank;
    if (c->is_dropped || strlen(member) >= sizeof c->member || dcr_role_of(member, &node, &rank) != DCR_ROLE_TRACE)
        return 0;
    memcpy(c->member, member, strlen(member) + 1);
    *w = (struct dct_watch){on_begin, on_event, on_end, c};
    return 1;
}

static void release(void *watched)
{
    drop(watched);
    free(watched);
}

const struct run_watch spans_watch = {begin, on_trace, release};

/* Were all traces that a timeline draws handed over? Not those of other tools, nor a member that the manifest calls
 * something else. */
static bool is_whole(const struct run *run)
{
    int node, rank;
    for (int i = 0; i < run->n_traces; i++)
        if (dcr_role_of(run->traces[i].file, &node, &rank) != DCR_ROLE_TRACE)
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
    if (!c || run->watch != &spans_watch || c->is_dropped || !is_whole(run))
        return false;
    *s = c->spans;
    spans_start(&c->spans);
    drop(c);
    spans_settle(s, run);
    return true;
}
