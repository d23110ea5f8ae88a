/* trace.c - a native trace (.dct) as neutral events into the reducer. */
#include "render/read/members.h"

#include "lib/trace.h"
#include "render/model/reduce.h"

static int64_t payload_int(const struct dct_event *e)
{
    switch (e->payload_type) {
    case DCT_PAYLOAD_U64:
        return e->payload <= INT64_MAX ? (int64_t)e->payload : -1;
    case DCT_PAYLOAD_I64:
        return (int64_t)e->payload;
    default:
        return -1;
    }
}

/* A range as a neutral event; 0 when it says nothing. */
static int neutral(const struct dct_event *in, struct event *out)
{
    if (in->kind == DCT_MARK || in->is_open || in->start_ns < 0 || in->end_ns > RUN_MAX_TIME_NS)
        return 0;
    enum event_kind kind = event_classify(in->category, in->name, &out->category);
    out->kind = kind;
    out->track = in->track;
    /* Process ranges and complete spans lie beside the stack of the thread: never outermost. */
    out->depth = in->kind == DCT_PUSH ? in->depth : 1;
    out->start_ns = in->start_ns;
    out->end_ns = in->end_ns;
    int64_t payload = payload_int(in);
    out->name = in->name;
    out->number = kind == EVENT_STEP ? payload : -1;
    out->bytes = in->kind == DCT_SPAN && in->bytes <= INT64_MAX ? (int64_t)in->bytes : payload > 0 ? payload : 0;
    return kind != EVENT_NONE || out->depth == 0;
}

int trace_read(struct run *r, int rank, struct dcr_stream *s, struct dcr_err *err)
{
    struct dct_reader *t = NULL;
    struct dct_info info;
    struct dct_event e;
    struct reducer *d = reduce_new();
    int rc = dct_open(&t, s, &info, err);
    if (rc)
        goto out;
    while ((rc = dct_next(t, &e, err)) == 0) {
        struct event n;
        if (neutral(&e, &n))
            reduce_event(d, &n);
    }
    if (rc != DCR_END)
        goto out;
    rc = 0;
    struct run_rank *k = run_rank_at(r, rank >= 0 ? rank : info.rank >= 0 ? info.rank : 0);
    if (!k) {
        rc = dcr_err_set(err, DCR_FAIL, "cannot use '%s': its rank %d is out of range", s->name, info.rank);
        goto out;
    }
    struct dct_loss loss;
    dct_get_loss(t, &loss);
    k->n_dropped += loss.n_dropped;
    k->n_bad_blocks += loss.n_bad_blocks;
    k->n_unmatched += loss.n_unmatched_pops;
    k->n_open += loss.n_open_ranges;
    k->is_torn |= loss.is_torn;
    if (*dct_notes(t))
        k->trace_notes = run_text(r, dct_notes(t));
    if (k->node < 0 && info.node >= 0)
        k->node = info.node;
    reduce_finish(d, &r->arena, k);
    if (reduce_overflow(d))
        run_add_gap(r, "%llu ranges of '%s' were not looked at: one step holds more than a million.",
                    (unsigned long long)reduce_overflow(d), s->name);
out:
    dct_close(t);
    reduce_free(d);
    return rc;
}
