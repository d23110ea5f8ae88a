/* grad_sync_mpi.c - grad_sync.h over MPI: a non-blocking all-reduce per bucket, moved on by polling.
 *
 * Send and receive buffers are separate, because Open MPI 4.1 then uses the ring. For sums in place it uses a tree,
 * which moves twice the bytes. All-reduces are started in the order of the buckets on all ranks; they may end in any
 * order. */
#include "trainer/ranks/grad_sync.h"

#include "lib/base/mono.h"
#include "trainer/ranks/comm_mpi.h"
#include "trainer/mark.h"
#include "trainer/ranks/watchdog.h"

#include <stdlib.h>
#include <string.h>

#define POLL_NS 100000
#define MOST_PER_BUCKET ((size_t)1 << 28) /* MPI counts are int */
static const char what_buckets[] = "MPI_Iallreduce of gradients", what_tally[] = "MPI_Iallreduce of counts";

struct bucket {
    size_t first, n; /* gradients */
    uint64_t mark;
};

struct grad_sync {
    struct comm *c;
    struct grad_sync_config config;
    float *grads;
    size_t n;
    struct bucket *buckets; /* shape (n_buckets) */
    MPI_Request *requests;  /* shape (n_buckets + 1): the buckets', then the tally's */
    int *done;              /* shape (n_buckets + 1): room for MPI_Testsome */
    int n_buckets;
    void *out, *in; /* send and receive buffers; fp32 sends grads itself                  shapes: (n) of the dtype */
    MPI_Op add_bf16;

    /* of the step under way */
    double *tally;
    size_t n_tally;
    int has_sent_tally;
    int n_started, n_in_flight;                     /* buckets */
    int n_open;                                     /* requests, the tally's too */
    int64_t last_look_ns, busy_since_ns, flight_ns; /* flight_ns: the union so far */
};

static int is_alone(const struct grad_sync *r)
{
    return r->c->n_ranks == 1;
}

/* ---- bf16 -------------------------------------------------------------------------------------------------------- */

/* gcc makes vector code of loops of unknown length from here on only. */
#if defined __GNUC__ && !defined __clang__
#pragma GCC push_options
#pragma GCC optimize("O3")
#endif

static inline float widen(uint16_t v)
{
    uint32_t bits = (uint32_t)v << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* Half a unit in the last place is added, minus one if the bit before is even; the carry rounds. */
static inline uint16_t narrow(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    uint32_t nan = bits >> 16 | 0x40; /* rounding could turn the NaN into infinity */
    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? nan : rounded);
}

void bf16_pack(size_t n, const float *restrict in, uint16_t *restrict out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = narrow(in[i]);
}

void bf16_unpack(size_t n, const uint16_t *restrict in, float *restrict out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = widen(in[i]);
}

void bf16_add(size_t n, const uint16_t *restrict in, uint16_t *restrict sum)
{
    for (size_t i = 0; i < n; i++)
        sum[i] = narrow(widen(sum[i]) + widen(in[i]));
}

#if defined __GNUC__ && !defined __clang__
#pragma GCC pop_options
#endif

/* ---- layout ---------------------------------------------------------------------------------------------------- */

static size_t cut(size_t first, size_t end, size_t most, size_t *ends, size_t at)
{
    size_t n = end - first, pieces = n / most + (n % most != 0);
    for (size_t i = 1; ends && i <= pieces; i++)
        ends[at + i - 1] = first + n / pieces * i + n % pieces * i / pieces;
    return at + pieces;
}

size_t grad_sync_bounds(size_t n, size_t n_early, size_t most, size_t *ends)
{
    return cut(n_early, n, most, ends, cut(0, n_early, most, ends, 0));
}

static void add_bf16(void *in, void *sum, int *n, MPI_Datatype *type)
{
    (void)type;
    bf16_add((size_t)*n, in, sum);
}

static int make_buckets(struct grad_sync *r, struct dcr_err *err)
{
    size_t most = r->config.bucket_bytes / sizeof(float);
    most = most < 1 ? 1 : most < MOST_PER_BUCKET ? most : MOST_PER_BUCKET;
    size_t n_early = r->config.is_overlapped ? r->config.n_early : 0;
    size_t n = r->config.dtype == ALLREDUCE_NONE ? 0 : grad_sync_bounds(r->n, n_early, most, NULL);
    size_t *ends = calloc(n + 1, sizeof *ends);
    r->buckets = calloc(n + 1, sizeof *r->buckets);
    r->requests = calloc(n + 1, sizeof *r->requests);
    r->done = calloc(n + 1, sizeof *r->done);
    if (!ends || !r->buckets || !r->requests || !r->done) {
        free(ends);
        return dcr_err_set(err, DCR_FATAL, "out of memory for %zu buckets; raise --bucket-bytes", n);
    }
    if (n)
        grad_sync_bounds(r->n, n_early, most, ends);
    for (size_t i = 0; i < n; i++)
        r->buckets[i] = (struct bucket){.first = i ? ends[i - 1] : 0, .n = ends[i] - (i ? ends[i - 1] : 0)};
    for (size_t i = 0; i <= n; i++)
        r->requests[i] = MPI_REQUEST_NULL;
    r->n_buckets = (int)n;
    free(ends);
    return 0;
}

int grad_sync_open(struct grad_sync **out, struct comm *c, const struct grad_sync_config *config, float *grads,
                   size_t n, struct dcr_err *err)
{
    struct grad_sync *r = calloc(1, sizeof *r);
    size_t each = allreduce_dtype_bytes(config->dtype);
    int rc = 0;
    if (!r)
        return dcr_err_set(err, DCR_FATAL, "out of memory");
    *r = (struct grad_sync){.c = c, .config = *config, .grads = grads, .n = n, .add_bf16 = MPI_OP_NULL};
    if (!is_alone(r)) {
        rc = make_buckets(r, err);
        r->in = calloc(n + 1, each + 1);
        r->out = config->dtype == ALLREDUCE_BF16 ? calloc(n + 1, each) : NULL;
        if (!rc && (!r->in || (config->dtype == ALLREDUCE_BF16 && !r->out)))
            rc = dcr_err_set(err, DCR_FATAL, "out of memory for the sum of %zu gradients", n);
        if (!rc && config->dtype == ALLREDUCE_BF16)
            COMM_CHECK(c, MPI_Op_create(add_bf16, 1, &r->add_bf16), "MPI_Op_create");
    }
    if (rc) {
        grad_sync_close(r);
        return rc;
    }
    *out = r;
    return 0;
}

void grad_sync_close(struct grad_sync *r)
{
    if (!r)
        return;
    if (r->add_bf16 != MPI_OP_NULL)
        COMM_CHECK(r->c, MPI_Op_free(&r->add_bf16), "MPI_Op_free");
    free(r->buckets);
    free(r->requests);
    free(r->done);
    free(r->in);
    free(r->out);
    free(r);
}

size_t grad_sync_bytes(const struct grad_sync *r, size_t n_tally)
{
    return is_alone(r) ? 0 : r->n * allreduce_dtype_bytes(r->config.dtype) + n_tally * sizeof(double);
}

/* ---- a bucket's way --------------------------------------------------------------------------------------------- */

static void set_out(struct grad_sync *r, int index)
{
    struct bucket *b = &r->buckets[index];
    const float *from = r->grads + b->first;
    MPI_Request *request = &r->requests[index];
    b->mark = mark_start(MARK_ALL_REDUCE_BUCKET, b->n * allreduce_dtype_bytes(r->config.dtype));
    if (r->n_in_flight++ == 0)
        r->busy_since_ns = dcr_mono_ns();
    r->n_open++;
    if (r->config.dtype == ALLREDUCE_BF16) {
        uint16_t *out = (uint16_t *)r->out + b->first, *in = (uint16_t *)r->in + b->first;
        bf16_pack(b->n, from, out);
        COMM_CHECK(r->c, MPI_Iallreduce(out, in, (int)b->n, MPI_UINT16_T, r->add_bf16, MPI_COMM_WORLD, request),
                   what_buckets);
    } else {
        COMM_CHECK(
            r->c,
            MPI_Iallreduce(from, (float *)r->in + b->first, (int)b->n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, request),
            what_buckets);
    }
}

static void arrive(struct grad_sync *r, int index)
{
    struct bucket *b = &r->buckets[index];
    float *to = r->grads + b->first;
    if (--r->n_in_flight == 0)
        r->flight_ns += dcr_mono_ns() - r->busy_since_ns;
    mark_end(b->mark);
    if (r->config.dtype == ALLREDUCE_BF16)
        bf16_unpack(b->n, (const uint16_t *)r->in + b->first, to);
    else
        memcpy(to, (const float *)r->in + b->first, b->n * sizeof *to);
}

/* Moves messages on and handles arrived ones. Returns whether any arrived. */
static int look(struct grad_sync *r)
{
    int n = 0;
    if (r->n_open == 0)
        return 0;
    COMM_CHECK(r->c, MPI_Testsome(r->n_buckets + 1, r->requests, &n, r->done, MPI_STATUSES_IGNORE), what_buckets);
    for (int i = 0; i < n; i++) {
        r->n_open--;
        if (r->done[i] < r->n_buckets)
            arrive(r, r->done[i]);
    }
    return n > 0;
}

/* ---- grad_sync.h ------------------------------------------------------------------------------------------------ */

void grad_sync_begin(struct grad_sync *r, double *tally, size_t n_tally)
{
    r->tally = tally;
    r->n_tally = n_tally;
    r->n_started = r->n_in_flight = r->n_open = 0;
    r->flight_ns = 0;
    r->last_look_ns = dcr_mono_ns();
    r->has_sent_tally = 0;
}

/* The tally is sent just before the first bucket. Sent alone, it would be under way during half a backward pass, and a
 * few bytes would look like hidden communication. */
static void send_tally(struct grad_sync *r)
{
    if (r->has_sent_tally)
        return;
    r->has_sent_tally = 1;
    r->n_open++;
    COMM_CHECK(r->c,
               MPI_Iallreduce(MPI_IN_PLACE, r->tally, (int)r->n_tally, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD,
                              &r->requests[r->n_buckets]),
               what_tally);
}

void grad_sync_ready(void *ctx, size_t n_final)
{
    struct grad_sync *r = ctx;
    int is_started = 0;
    if (is_alone(r) || !r->config.is_overlapped)
        return;
    while (r->n_started < r->n_buckets && r->buckets[r->n_started].first + r->buckets[r->n_started].n <= n_final) {
        send_tally(r);
        set_out(r, r->n_started++);
        is_started = 1;
    }
    int64_t now = dcr_mono_ns();
    if (!is_started && now - r->last_look_ns < POLL_NS)
        return;
    r->last_look_ns = now;
    look(r);
}

void grad_sync_finish(struct grad_sync *r, struct grad_sync_stats *stats)
{
    int64_t since = dcr_mono_ns();
    unsigned n_looks = 0;
    watchdog_begin(what_buckets);
    if (!is_alone(r)) {
        send_tally(r);
        while (r->n_started < r->n_buckets)
            set_out(r, r->n_started++);
    }
    while (r->n_open > 0)
        if (!look(r))
            comm_mpi_pause(&n_looks);
    watchdog_end();
    *stats = (struct grad_sync_stats){.exposed_ns = is_alone(r) ? 0 : dcr_mono_ns() - since,
                                      .in_flight_ns = r->flight_ns,
                                      .bytes = grad_sync_bytes(r, r->n_tally),
                                      .n_buckets = r->n_buckets};
}
