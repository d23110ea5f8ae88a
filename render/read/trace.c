/* trace.c - a native trace (.dct) as neutral events into the reducer. */
#include "render/read/members.h"

#include "lib/trace.h"

#include <string.h>

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

/* What the recorder saw without the program naming it, into the run's own tables. */
static void observe(struct run *r, const struct dct_event *e)
{
    struct dct_io once = {.n = 1, .bytes = e->bytes};
    once.ns = once.max_ns = (uint64_t)(e->end_ns - e->start_ns);
    if (e->kind == DCT_FILE) {
        for (int kind = 0; kind < DCT_N_IO; kind++)
            run_observe_file(r, e->name, kind, &e->io[kind]);
    } else if (e->kind == DCT_SPAN && strcmp(e->domain, DCT_DOMAIN_MPI) == 0) {
        /* A flight has the bytes of its call, which is counted by itself; its length is no time of the thread. */
        if (strcmp(e->category, DCT_IN_FLIGHT) == 0)
            once.n = once.ns = once.max_ns = 0;
        run_observe_mpi(r, e->name, &once);
    } else if (e->kind == DCT_SPAN && strcmp(e->domain, DCT_DOMAIN_IO) == 0) {
        int kind = strstr(e->name, "read") || strstr(e->name, "sendfile")           ? DCT_IO_READ
                   : strstr(e->name, "write") || strstr(e->name, "copy_file_range") ? DCT_IO_WRITE
                                                                                    : DCT_IO_OTHER;
        run_observe_file(r, e->file, kind, &once);
    }
}

/* A non-blocking operation under way. Only what all ranks do counts as communication beside the work: a receive may be
 * posted long before anybody sends. */
static int neutral_flight(const struct dct_event *in, struct event *out)
{
    if (strncmp(in->name, "MPI_I", 5) != 0 || strstr(in->name, "send") || strstr(in->name, "recv"))
        return 0;
    *out = (struct event){.track = in->track,
                          .kind = EVENT_PHASE,
                          .category = CAT_COMM,
                          .depth = 1,
                          .is_beside = 1,
                          .is_observed = 1,
                          .start_ns = in->start_ns,
                          .end_ns = in->end_ns,
                          .number = -1,
                          .name = in->name};
    return 1;
}

/* A range as a neutral event; 0 when it says nothing. */
static int neutral(const struct dct_event *in, struct event *out)
{
    if (in->kind == DCT_MARK || in->kind == DCT_FILE || in->is_open || in->start_ns < 0 || in->end_ns > RUN_MAX_TIME_NS)
        return 0;
    if (in->kind == DCT_SPAN && strcmp(in->category, DCT_IN_FLIGHT) == 0)
        return neutral_flight(in, out);
    enum event_kind kind = event_classify(in->category, in->name, &out->category);
    out->kind = kind;
    out->track = in->track;
    /* Process ranges lie beside the stack of the thread: never outermost. */
    out->depth = in->kind == DCT_PUSH || in->kind == DCT_SPAN ? in->depth : 1;
    out->is_beside = in->kind == DCT_START;
    out->is_observed = in->kind == DCT_SPAN;
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
        observe(r, &e);
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
    struct reduced best = {.n_steps = k->n_steps};
    if (reduce_finish(d, &r->arena, &best))
        run_take_steps(k, &best);
    if (reduce_overflow(d))
        run_add_gap(r, "%llu ranges of '%s' were not looked at: one step holds more than a million.",
                    (unsigned long long)reduce_overflow(d), s->name);
out:
    dct_close(t);
    reduce_free(d);
    return rc;
}
