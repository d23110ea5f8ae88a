/* comm_mpi.c - comm.h over MPI. Every wait is a non-blocking call and a loop, because a blocking call would keep its
 * core from others on machines with more ranks than cores. */
#include "trainer/ranks/comm_mpi.h"

#include "trainer/ranks/stop.h"
#include "trainer/ranks/watchdog.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ABORT_STATUS 1
/* MPI counts are int; larger arrays go in pieces */
#define PIECE ((size_t)1 << 28)
#define JOIN_S 60.0

/* ---- the end of all ranks ------------------------------------------------------------------------------------ */

static void sleep_ms(int ms)
{
    const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    nanosleep(&t, NULL);
}

/* Many ranks notice one failure: the rank that failed, those whose messages to it fail, and those that wait. Only one
 * of them should print it. Ranks take turns in their order, and the launcher ends the others with SIGTERM before their
 * turn comes. A rank that is being ended gives the launcher time to do it. */
static void wait_for_my_turn(const struct comm *c, int first_ms)
{
    const int each_ms = 1500, last = 20, kill_ms = 8000;
    int turn = c->rank < last ? c->rank : last;
    for (int ms = 0; ms < first_ms + turn * each_ms && !stop_signal(); ms += 10)
        sleep_ms(10);
    if (stop_signal())
        sleep_ms(kill_ms);
}

static _Noreturn void end_all_ranks(void)
{
    fflush(stderr);
    alarm(10); /* MPI_Abort itself may hang in the failure; then this process ends, and the launcher notices */
    MPI_Abort(MPI_COMM_WORLD, ABORT_STATUS);
    abort(); /* MPI_Abort may return when MPI itself is broken */
}

void comm_mpi_fail(const struct comm *c, const char *call, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int n = 0;
    if (MPI_Error_string(code, text, &n) != MPI_SUCCESS)
        snprintf(text, sizeof text, "error %d", code);
    if (c->n_ranks > 1)
        wait_for_my_turn(c, 1000); /* when a rank died, the launcher knows the reason best and prints it */
    dcr_say("dcrnn-train", "rank %d on %s: %s failed: %s", c->rank, c->host, call, text);
    end_all_ranks();
}

void comm_abort(const struct comm *c, const char *sentence)
{
    if (c->n_ranks == 1)
        return;
    wait_for_my_turn(c, 0);
    if (strncmp(sentence, "rank ", strlen("rank ")) == 0)
        dcr_say("dcrnn-train", "%s", sentence);
    else
        dcr_say("dcrnn-train", "rank %d on %s: %s", c->rank, c->host, sentence);
    end_all_ranks();
}

static void stuck(void *ctx, const char *call, double waited_s)
{
    const struct comm *c = ctx;
    wait_for_my_turn(c, 0);
    dcr_say("dcrnn-train",
            "rank %d on %s: %s has waited %.0f s for another rank; look for a lost rank, or raise --comm-timeout",
            c->rank, c->host, call, waited_s);
    end_all_ranks();
}

/* MPI_Abort may not be called before MPI_Init has returned. */
static void stuck_joining(void *ctx, const char *call, double waited_s)
{
    const struct comm *c = ctx;
    dcr_say("dcrnn-train",
            "a rank on %s: %s has waited %.0f s for the other ranks; look for a lost rank, or raise --comm-timeout",
            c->host, call, waited_s);
    fflush(stderr);
    _exit(ABORT_STATUS);
}

/* ---- waiting --------------------------------------------------------------------------------------------------- */

void comm_mpi_pause(unsigned *n_looks)
{
    const unsigned n_eager = 16; /* a few microseconds */
    if (++*n_looks > n_eager)
        sched_yield();
}

void comm_mpi_wait(const struct comm *c, MPI_Request *request, const char *call)
{
    unsigned n_looks = 0;
    int is_done = 0;
    watchdog_begin(call);
    for (;;) {
        COMM_CHECK(c, MPI_Test(request, &is_done, MPI_STATUS_IGNORE), call);
        if (is_done)
            break;
        comm_mpi_pause(&n_looks);
    }
    watchdog_end();
}

/* ---- comm.h ---------------------------------------------------------------------------------------------------- */

static void watch(struct comm *c, double patience_s, void (*on_stuck)(void *, const char *, double))
{
    const struct watchdog_config w = {.patience_s = patience_s, .on_stuck = on_stuck, .ctx = c};
    struct dcr_err err = {0};
    if (watchdog_open(&w, &err)) {
        dcr_say("dcrnn-train", "%s: %s", c->host, err.text);
        _exit(ABORT_STATUS);
    }
}

void comm_open(struct comm *c, int *argc, char ***argv, double patience_s)
{
    int level;
    memset(c, 0, sizeof *c);
    c->n_ranks = 1;
    if (gethostname(c->host, sizeof c->host - 1))
        snprintf(c->host, sizeof c->host, "unknown-host");
    watch(c, patience_s > 0 && patience_s < JOIN_S ? JOIN_S : patience_s, stuck_joining);
    /* Without a launcher, Open MPI forks a daemon that could start more ranks and outlives the program. This program
     * needs no more ranks. With a launcher the setting is not read. */
    setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
    /* Rabenseifner's algorithm (3) sends the fewest bytes, in both directions at once. By default Open MPI 4.1 gathers
     * the sum of 2 or 3 ranks at one of them and then sends it back, which takes twice the time on 2 nodes. */
    setenv("OMPI_MCA_coll_libnbc_iallreduce_algorithm", "3", 0);
    watchdog_begin("MPI_Init");
    /* The watchdog's thread calls only MPI_Abort. */
    COMM_CHECK(c, MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &level), "MPI_Init");
    watchdog_end();
    watchdog_close();
    COMM_CHECK(c, MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    COMM_CHECK(c, MPI_Comm_rank(MPI_COMM_WORLD, &c->rank), "MPI_Comm_rank");
    COMM_CHECK(c, MPI_Comm_size(MPI_COMM_WORLD, &c->n_ranks), "MPI_Comm_size");
    if (c->n_ranks > 1)
        watch(c, patience_s, stuck);
}

void comm_close(struct comm *c)
{
    MPI_Request all;
    if (c->n_ranks > 1) { /* MPI_Finalize also waits, but does not offer its core */
        COMM_CHECK(c, MPI_Ibarrier(MPI_COMM_WORLD, &all), "MPI_Ibarrier at the end");
        comm_mpi_wait(c, &all, "MPI_Ibarrier at the end");
    }
    watchdog_begin("MPI_Finalize");
    COMM_CHECK(c, MPI_Finalize(), "MPI_Finalize");
    watchdog_end();
    watchdog_close();
}

static void all_reduce(struct comm *c, void *values, int n, MPI_Datatype type, MPI_Op op, const char *what)
{
    MPI_Request r;
    COMM_CHECK(c, MPI_Iallreduce(MPI_IN_PLACE, values, n, type, op, MPI_COMM_WORLD, &r), what);
    comm_mpi_wait(c, &r, what);
}

static void broadcast(struct comm *c, void *values, int n, MPI_Datatype type, int root, const char *what)
{
    MPI_Request r;
    COMM_CHECK(c, MPI_Ibcast(values, n, type, root, MPI_COMM_WORLD, &r), what);
    comm_mpi_wait(c, &r, what);
}

void comm_sum_f64(struct comm *c, double *values, size_t n)
{
    for (size_t done = 0; c->n_ranks > 1 && done < n; done += PIECE) {
        size_t piece = n - done < PIECE ? n - done : PIECE;
        all_reduce(c, values + done, (int)piece, MPI_DOUBLE, MPI_SUM, "MPI_Iallreduce of counts");
    }
}

void comm_broadcast(struct comm *c, void *bytes, size_t n)
{
    for (size_t done = 0; c->n_ranks > 1 && done < n; done += PIECE) {
        size_t piece = n - done < PIECE ? n - done : PIECE;
        broadcast(c, (char *)bytes + done, (int)piece, MPI_BYTE, 0, "MPI_Ibcast");
    }
}

int comm_first_failure(struct comm *c, int rc, struct dcr_err *err)
{
    int first = rc ? c->rank : INT_MAX;
    struct dcr_err none = {0}, *e = err ? err : &none;
    if (c->n_ranks == 1)
        return rc;
    all_reduce(c, &first, 1, MPI_INT, MPI_MIN, "MPI_Iallreduce of results");
    if (first == INT_MAX)
        return 0;
    broadcast(c, &rc, 1, MPI_INT, first, "MPI_Ibcast of results");
    broadcast(c, e, (int)sizeof *e, MPI_BYTE, first, "MPI_Ibcast of results");
    return rc;
}

const char *comm_library(void)
{
    static char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int n = 0;
    if (MPI_Get_library_version(text, &n) != MPI_SUCCESS)
        return "unknown";
    text[strcspn(text, ",\n")] = 0;
    return text;
}

static const struct {
    const char *name;
    size_t bytes;
} dtypes[] = {
#define X(id, name, bytes, text) {name, bytes},
    ALLREDUCE_DTYPES(X)
#undef X
};

const char *allreduce_dtype_name(enum allreduce_dtype t)
{
    return dtypes[t].name;
}

size_t allreduce_dtype_bytes(enum allreduce_dtype t)
{
    return dtypes[t].bytes;
}
