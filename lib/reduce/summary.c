/* summary.c - see summary.h. Turns a trace into a struct summary; its text is made by summary_write.c and read by
 * summary_read.c. */
#include "lib/reduce/summary.h"

#include "lib/base/hash.h"
#include "lib/reduce/reduce_inside.h"
#include "lib/reduce/summary_names.h"
#include "lib/base/text.h"
#include "lib/trace/trace_beside.h"
#include "lib/trace/trace_end.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* ---- the sketch ------------------------------------------------------------------------------- */

int sketch_bucket(int64_t ns)
{
    uint64_t v = ns < 0 ? 0 : (uint64_t)ns;
    if (v < 1u << SKETCH_SUB_BITS)
        return (int)v;
    int power = 63 - __builtin_clzll(v);
    int sub = (int)(v >> (power - SKETCH_SUB_BITS)) & ((1 << SKETCH_SUB_BITS) - 1);
    return ((power - SKETCH_SUB_BITS + 1) << SKETCH_SUB_BITS) + sub;
}

uint64_t sketch_low(int bucket)
{
    if (bucket < 1 << SKETCH_SUB_BITS)
        return (uint64_t)bucket;
    int power = (bucket >> SKETCH_SUB_BITS) + SKETCH_SUB_BITS - 1;
    if (power > 63)
        return UINT64_MAX;
    uint64_t sub = (uint64_t)bucket & ((1u << SKETCH_SUB_BITS) - 1);
    return (UINT64_C(1) << power) + (sub << (power - SKETCH_SUB_BITS));
}

/* ---- what was observed ------------------------------------------------------------------------ */

/* A summary while its trace is read. */
struct making {
    struct summary *out;
    struct dcr_arena *arena;
    struct name_table *names;
    struct reducer *reducer;
    const struct summary_listener *listener; /* NULL: none */
    struct known_range *known;
    size_t cap;
    struct dcr_map index_of; /* of an observation */
    struct {
        int has;          /* a first collective or MPI_Init was seen */
        int is_unknown;   /* several threads call collectives, or times are impossible */
        uint32_t track;   /* of the thread that calls them */
        int64_t since_ns; /* end of the last one */
        int64_t mpi_ns;   /* in other calls of MPI since then */
    } last;
};

/* The observation of that name and kind, made at the first call. */
static struct observation *find(struct making *t, const char *name, int kind)
{
    uint32_t at, n = (uint32_t)t->out->n_observed;
    uint64_t key = dcr_map_text((uint64_t)(kind + 1), name);
    for (; dcr_map_get(&t->index_of, key, &at); key++)
        if (t->out->observed[at].kind == kind && strcmp(t->out->observed[at].name, name) == 0)
            return &t->out->observed[at];
    dcr_map_set(&t->index_of, key, n);
    t->out->observed = arena_grow(t->arena, t->out->observed, n, &t->cap, sizeof *t->out->observed);
    t->out->observed[n] = (struct observation){.name = dcr_arena_strdup(t->arena, name), .kind = kind, .before_ns = -1};
    return &t->out->observed[t->out->n_observed++];
}

/* returns the observation of that name and kind, NULL when there is none */
static struct observation *observe(struct making *t, const char *name, int kind, const struct dct_io *calls)
{
    if (kind >= 0 && calls->n == 0)
        return NULL;
    struct observation *o = find(t, name, kind);
    struct dct_io *sum = &o->sum;
    sum->n = reduce_plus(sum->n, calls->n);
    sum->bytes = reduce_plus(sum->bytes, calls->bytes);
    sum->ns = reduce_plus(sum->ns, calls->ns);
    uint64_t max = reduce_plus(calls->max_ns, 0);
    sum->max_ns = max > sum->max_ns ? max : sum->max_ns;
    return o;
}

int summary_io_kind(const char *name)
{
    return strstr(name, "read") || strstr(name, "sendfile")           ? DCT_IO_READ
           : strstr(name, "write") || strstr(name, "copy_file_range") ? DCT_IO_WRITE
                                                                      : DCT_IO_OTHER;
}

/* For dropped calls the file is unknown. */
#define DROPPED_FILES "(calls that were dropped)"

static uint32_t number_of(const struct making *t, const struct observation *o)
{
    return (uint32_t)(o - t->out->observed) + 1;
}

/* Counts calls of a span's kind.
 * returns  if they read from a file: the number of the observation that counts them, from 1; else 0 */
static uint32_t count_calls(struct making *t, const char *domain, const char *category, const char *name,
                            const char *file, struct dct_io calls)
{
    if (strcmp(domain, DCT_DOMAIN_MPI) == 0) {
        /* A flight carries the bytes of its call, which is counted separately. Its length is not time of the thread. */
        if (strcmp(category, DCT_IN_FLIGHT) == 0)
            calls.n = calls.ns = calls.max_ns = 0;
        observe(t, name, -1, &calls);
        return 0;
    }
    struct observation *o = strcmp(domain, DCT_DOMAIN_IO) == 0 ? observe(t, file, summary_io_kind(name), &calls) : NULL;
    if (!o)
        return 0;
    o->event_ns = reduce_plus(o->event_ns, calls.ns);
    return o->kind == DCT_IO_READ ? number_of(t, o) : 0;
}

int summary_is_collective(const char *name)
{
    static const char *const calls[] = {"MPI_Allg",   "MPI_Allr",   "MPI_Allt",   "MPI_Barrier", "MPI_Bcast",
                                        "MPI_Exscan", "MPI_Gather", "MPI_Reduce", "MPI_Scan",    "MPI_Scatter"};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strncmp(name, calls[i], strlen(calls[i])) == 0)
            return strcmp(name, "MPI_Reduce_local") != 0;
    return 0;
}

/* Adds the time before a collective. Messages between two ranks do not count, because a rank waits for others there. */
static void count_before(struct making *t, const struct dct_event *e)
{
    int is_first = !t->last.has, is_frame = strncmp(e->name, "MPI_Init", 8) == 0,
        is_one = summary_is_collective(e->name);
    int is_possible = e->start_ns >= 0 && e->end_ns <= RUN_MAX_TIME_NS;
    if (!is_possible || (!is_first && e->track != t->last.track)) {
        t->last.is_unknown |= !is_possible || is_one;
        return;
    }
    int64_t ns = e->end_ns - e->start_ns;
    if (!is_one && !is_frame) { /* calls of damaged traces may lie in each other, so their sum needs a limit */
        t->last.mpi_ns = ns < RUN_MAX_TIME_NS - t->last.mpi_ns ? t->last.mpi_ns + ns : RUN_MAX_TIME_NS;
        return;
    }
    int64_t own = is_first || is_frame ? 0 : e->start_ns - t->last.since_ns - t->last.mpi_ns;
    if (is_one) {
        struct observation *o = find(t, e->name, -1);
        int64_t before = o->before_ns > 0 ? o->before_ns : 0;
        o->before_ns = own > 0 && before < INT64_MAX - own ? before + own : before;
    }
    t->last.has = 1;
    t->last.track = e->track;
    t->last.since_ns = e->end_ns;
    t->last.mpi_ns = 0;
}

/* If calls were lost, it is not known after which one a collective came. */
static void forget_before(struct making *t)
{
    const struct dct_loss *l = &t->out->loss;
    int is_lost = t->out->n_dropped_known || l->n_dropped || l->n_bad_blocks || l->n_missing_blocks || l->is_torn;
    for (size_t i = 0; i < t->out->n_observed && (t->last.is_unknown || is_lost); i++)
        t->out->observed[i].before_ns = -1;
}

/* Counts the calls that the recorder observed and the ranges that the program named. returns  as count_calls */
static uint32_t count(struct making *t, const struct dct_event *e)
{
    if (e->kind == DCT_FILE) {
        for (int kind = 0; kind < DCT_N_IO; kind++) {
            observe(t, e->name, kind, &e->io[kind]);
            t->out->n_io_calls += e->io[kind].n;
        }
        return 0;
    }
    if (e->kind != DCT_SPAN) {
        t->out->n_events++;
        return 0;
    }
    if (strcmp(e->domain, DCT_DOMAIN_MPI) != 0)
        t->out->n_io_calls++;
    else if (strcmp(e->category, DCT_IN_FLIGHT) != 0) {
        t->out->n_mpi_calls++;
        count_before(t, e);
    }
    uint64_t ns = (uint64_t)(e->end_ns - e->start_ns);
    return count_calls(t, e->domain, e->category, e->name, e->file, (struct dct_io){1, e->bytes, ns, ns});
}

static void take_dropped(void *ctx, const struct dct_dropped *d)
{
    struct making *t = ctx;
    if (d->kind < DCT_PUSH || d->kind > DCT_SPAN || d->kind == DCT_POP || d->kind == DCT_END)
        return;
    t->out->n_dropped_known = reduce_plus(t->out->n_dropped_known, d->n);
    if (d->kind == DCT_SPAN)
        count_calls(t, d->domain, d->category, d->name, DROPPED_FILES, (struct dct_io){d->n, d->bytes, d->ns, 0});
    names_add_dropped(t->names, d);
}

/* Number from 1 of the observation for reading in dropped calls, whose sums take_dropped adds; 0: g is not such a
 * call. */
static uint32_t dropped_file(struct making *t, const struct dct_event *g)
{
    int is_read = strcmp(g->domain, DCT_DOMAIN_IO) == 0 && summary_io_kind(g->name) == DCT_IO_READ;
    return is_read ? number_of(t, find(t, DROPPED_FILES, DCT_IO_READ)) : 0;
}

static void say_loading(struct summary *out)
{
    for (size_t i = 0; i < out->steps.n_loading && i < out->n_observed; i++) {
        struct observation *o = &out->observed[i];
        uint64_t ns = (uint64_t)out->steps.loading_ns[i];
        o->loading_ns = ns < o->event_ns ? ns : o->event_ns;
    }
}

/* ---- neutral events --------------------------------------------------------------------------- */

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

/* A non-blocking operation in flight. Only operations of all ranks count as communication beside the work, because a
 * receive may be posted long before anybody sends. */
static int neutral_flight(const struct dct_event *in, struct event *out)
{
    if (strncmp(in->name, "MPI_I", 5) != 0 || strstr(in->name, "send") || strstr(in->name, "recv"))
        return 0;
    *out = (struct event){.track = in->track,
                          .kind = EVENT_PHASE,
                          .category = CAT_COMM,
                          .depth = 1,
                          .is_beside = 1,
                          .maker = EVENT_BY_RECORDER,
                          .start_ns = in->start_ns,
                          .end_ns = in->end_ns,
                          .number = -1,
                          .name = in->name};
    return 1;
}

/* What is known about a name: the result of event_classify and where the name is counted. The reader gives equal texts
 * at equal addresses until it is closed, and a program has few names. So one look-up by address is enough, without
 * comparing texts. */
enum { KNOWN_RANGES = 1024 };
struct known_range {
    const char *domain, *category, *name; /* name NULL = empty */
    int kind;
    uint32_t place; /* set by names_add */
    enum event_kind means;
    enum category is;
    int is_batch; /* of struct event */
    enum event_maker maker;
    const char *counted; /* the name under which such ranges are summed: "step" for "step 12" */
};

static inline struct known_range *known_of(struct known_range *known, const struct dct_event *e)
{
    uintptr_t at = (uintptr_t)e->name ^ (uintptr_t)e->category >> 3;
    struct known_range *k = &known[(at ^ at >> 4 ^ at >> 10) % KNOWN_RANGES];
    if (k->name != e->name || k->category != e->category || k->domain != e->domain || k->kind != e->kind) {
        *k = (struct known_range){.domain = e->domain, .category = e->category, .name = e->name, .kind = e->kind};
        k->means = event_classify(e->category, e->name, &k->is);
        const char *step = k->means == EVENT_STEP ? event_numbered_step(e->name) : NULL;
        k->counted = step ? step : e->name;
        k->maker = strcmp(e->domain, DCT_DOMAIN_PYTORCH) == 0 ? EVENT_BY_HOOK : EVENT_BY_PROGRAM;
        k->is_batch = step && strcasecmp(e->category, "step") != 0 && strcmp(step, "batch") == 0;
    }
    return k;
}

/* Makes a neutral event of a range; 0 when the range means nothing. */
static inline int neutral(const struct known_range *known, const struct dct_event *in, struct event *out)
{
    if (in->kind == DCT_MARK || in->kind == DCT_FILE || in->is_open || in->start_ns < 0 || in->end_ns > RUN_MAX_TIME_NS)
        return 0;
    if (in->kind == DCT_SPAN && strcmp(in->category, DCT_IN_FLIGHT) == 0)
        return neutral_flight(in, out);
    enum event_kind kind = known->means;
    /* Process ranges lie outside the stack of the thread, so they are never outermost. */
    int depth = in->kind == DCT_PUSH || in->kind == DCT_SPAN ? in->depth : 1;
    if (kind == EVENT_NONE && depth > 0)
        return 0;
    out->kind = kind;
    out->category = known->is;
    out->is_batch = known->is_batch;
    out->is_sum = 0;
    out->track = in->track;
    out->depth = depth;
    out->is_beside = in->kind == DCT_START;
    out->maker = in->kind == DCT_SPAN ? EVENT_BY_RECORDER : known->maker;
    out->start_ns = in->start_ns;
    out->end_ns = in->end_ns;
    int64_t payload = payload_int(in);
    out->name = in->name;
    out->number = kind == EVENT_STEP || kind == EVENT_BATCH || kind == EVENT_EXCHANGE ? payload : -1;
    out->is_beside |= kind == EVENT_EXCHANGE && strcmp(in->name, "hidden") == 0;
    out->bytes = in->kind == DCT_SPAN && in->bytes <= INT64_MAX ? (int64_t)in->bytes : payload > 0 ? payload : 0;
    return 1;
}

/* Takes dropped ranges as if they had been one range, so that the sums of steps include all events. */
static void take_gap(void *ctx, const struct dct_event *g)
{
    struct making *t = ctx;
    struct event e;
    if (!neutral(known_of(t->known, g), g, &e) || e.kind == EVENT_STEP || e.kind == EVENT_BATCH)
        return; /* the recorder writes each step range, so its sum is not needed */
    e.is_sum = 1;
    e.file = g->kind == DCT_SPAN ? dropped_file(t, g) : 0;
    reduce_event(t->reducer, &e);
}

int summary_of_trace(struct summary *out, struct dcr_arena *a, struct dcr_stream *s, struct dcr_err *err)
{
    return summary_of_trace_with_gpu(out, a, s, SUMMARY_NAMES, NULL, NULL, err);
}

static void take_gpu(void *ctx, const struct dct_gpu_event *e)
{
    struct making *t = ctx;
    t->out->n_gpu_events++;
    if (t->listener)
        t->listener->gpu(t->listener->ctx, e);
}

int summary_of_trace_with_gpu(struct summary *out, struct dcr_arena *a, struct dcr_stream *s, enum summary_names keep,
                              const struct summary_listener *listener, const struct dct_watch *watch,
                              struct dcr_err *err)
{
    struct dct_reader *r = NULL;
    struct dct_event e;
    struct known_range known[KNOWN_RANGES] = {{0}};
    struct making t = {.out = out, .arena = a, .listener = listener, .known = known};
    const char *ended_in = "";
    int ended_depth = -1;
    *out = (struct summary){.notes = "", .trace_name = "", .ended_in = ""};
    int rc = dct_open(&r, s, &out->info, err);
    if (rc)
        return rc;
    if (watch)
        watch->begin(watch->ctx, &out->info);
    dct_listen(r, (struct dct_listener){take_gpu, take_dropped, take_gap, &t});
    t.names = names_new(keep);
    t.reducer = reduce_new();
    struct dct_beside *beside = watch ? dct_beside_start(r, watch) : NULL;
    const struct dct_watch *here = beside ? NULL : watch;
    int is_enough = 0;
    uint32_t n_pieces = 0;
    while ((rc = dct_next(r, &e, err)) == 0) {
        struct event n;
        if (out->info.n_pieces != n_pieces) { /* a later piece may report later losses */
            reduce_until(t.reducer, dct_recorded_until(&out->info));
            n_pieces = out->info.n_pieces;
        }
        if (here && !is_enough)
            is_enough = here->event(here->ctx, &e);
        uint32_t file = count(&t, &e);
        struct known_range *k = known_of(known, &e);
        if (neutral(k, &e, &n)) {
            n.file = file;
            reduce_event(t.reducer, &n);
            if (listener && n.kind == EVENT_PHASE)
                listener->phase(listener->ctx, &n);
        }
        e.name = k->counted;
        if (e.is_open && e.kind == DCT_PUSH && e.depth > ended_depth) {
            ended_depth = e.depth;
            ended_in = e.name;
        }
        names_add(t.names, &e, &k->place);
    }
    if (here)
        here->end(here->ctx, r);
    if (rc == DCR_END) {
        rc = DCR_OK;
        dct_get_loss(r, &out->loss);
        if (*dct_notes(r))
            out->notes = dcr_arena_strdup(a, dct_notes(r));
        out->ended_in = text_clean(a, ended_in);
        reduce_finish(t.reducer, a, &out->steps);
        out->steps.is_hidden_unknown |= out->info.n_dropped_beside > 0;
        say_loading(out);
        forget_before(&t);
        out->n_overflow = reduce_overflow(t.reducer);
        names_finish(t.names, a, &out->names, &out->n_names);
    }
    dct_beside_end(beside);
    names_free(t.names);
    dcr_map_release(&t.index_of);
    reduce_free(t.reducer);
    dct_close(r);
    return rc;
}

/* ---- has the trace changed? ------------------------------------------------------------------- */

int summary_fingerprint(int fd, int64_t *size, uint32_t *crc)
{
    enum { HEADER_BYTES = 128 }; /* as in the first version, so that all versions have the same fingerprint */
    struct dct_file_header h;
    *crc = 0;
    *size = dct_used_bytes(fd);
    if (*size < 0 || pread(fd, &h, sizeof h, 0) != (ssize_t)sizeof h || h.magic != DCT_MAGIC || h.block_bytes < 4096 ||
        h.block_bytes > 16u << 20)
        return DCR_FAIL;
    *crc = dcr_crc32c(0, &h, HEADER_BYTES);
    unsigned char *block = malloc(h.block_bytes);
    for (off_t at = h.block_bytes; block && at < *size; at += h.block_bytes) {
        struct dct_block_header b = {0};
        ssize_t n = pread(fd, &b, sizeof b, at);
        *crc = dcr_crc32c(*crc, &b, n > 0 ? (size_t)n : 0);
        if (b.magic == DCT_BLOCK_MAGIC && b.state == DCT_BLOCK_OPEN && (n = pread(fd, block, h.block_bytes, at)) > 0)
            *crc = dcr_crc32c(*crc, block, (size_t)n);
    }
    free(block);
    return block ? DCR_OK : DCR_FATAL;
}
