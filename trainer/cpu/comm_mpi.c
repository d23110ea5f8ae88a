/* comm_mpi.c - comm.h over MPI. Every MPI call goes through CHECK. */
#include "trainer/comm.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ABORT_STATUS 1
/* MPI counts are int; larger arrays go in pieces */
#define PIECE ((size_t)1 << 28)

static _Noreturn void fail(const struct comm *c, const char *call, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int n = 0;
    if (MPI_Error_string(code, text, &n) != MPI_SUCCESS)
        snprintf(text, sizeof text, "error %d", code);
    fprintf(stderr, "dcrnn-train: rank %d on %s: %s failed: %s\n", c->rank, c->host, call, text);
    MPI_Abort(MPI_COMM_WORLD, ABORT_STATUS);
    abort(); /* MPI_Abort may return when MPI itself is broken */
}

#define CHECK(c, call, name)      \
    do {                          \
        int code_ = (call);       \
        if (code_ != MPI_SUCCESS) \
            fail(c, name, code_); \
    } while (0)

void comm_open(struct comm *c, int *argc, char ***argv)
{
    memset(c, 0, sizeof *c);
    c->n_ranks = 1;
    if (gethostname(c->host, sizeof c->host - 1))
        snprintf(c->host, sizeof c->host, "unknown-host");
    CHECK(c, MPI_Init(argc, argv), "MPI_Init");
    CHECK(c, MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    CHECK(c, MPI_Comm_rank(MPI_COMM_WORLD, &c->rank), "MPI_Comm_rank");
    CHECK(c, MPI_Comm_size(MPI_COMM_WORLD, &c->n_ranks), "MPI_Comm_size");
}

void comm_close(struct comm *c)
{
    CHECK(c, MPI_Finalize(), "MPI_Finalize");
}

static void sum(struct comm *c, void *values, size_t n, size_t bytes_each, MPI_Datatype type, const char *what)
{
    if (c->n_ranks == 1)
        return;
    for (size_t done = 0; done < n; done += PIECE) {
        size_t piece = n - done < PIECE ? n - done : PIECE;
        char *at = (char *)values + done * bytes_each;
        CHECK(c, MPI_Allreduce(MPI_IN_PLACE, at, (int)piece, type, MPI_SUM, MPI_COMM_WORLD), what);
    }
}

void comm_sum_f32(struct comm *c, float *values, size_t n)
{
    sum(c, values, n, sizeof *values, MPI_FLOAT, "MPI_Allreduce of gradients");
}

void comm_sum_f64(struct comm *c, double *values, size_t n)
{
    sum(c, values, n, sizeof *values, MPI_DOUBLE, "MPI_Allreduce of counts");
}

void comm_broadcast(struct comm *c, void *bytes, size_t n)
{
    if (c->n_ranks == 1)
        return;
    for (size_t done = 0; done < n; done += PIECE) {
        size_t piece = n - done < PIECE ? n - done : PIECE;
        CHECK(c, MPI_Bcast((char *)bytes + done, (int)piece, MPI_BYTE, 0, MPI_COMM_WORLD), "MPI_Bcast");
    }
}

int comm_first_failure(struct comm *c, int rc, struct dcr_err *err)
{
    int first = rc ? c->rank : INT_MAX;
    struct dcr_err none = {0}, *e = err ? err : &none;
    if (c->n_ranks == 1)
        return rc;
    CHECK(c, MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD), "MPI_Allreduce of results");
    if (first == INT_MAX)
        return 0;
    CHECK(c, MPI_Bcast(&rc, 1, MPI_INT, first, MPI_COMM_WORLD), "MPI_Bcast of results");
    CHECK(c, MPI_Bcast(e, (int)sizeof *e, MPI_BYTE, first, MPI_COMM_WORLD), "MPI_Bcast of results");
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
