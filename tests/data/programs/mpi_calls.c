/* mpi_calls.c - MPI calls with known bytes, peers and communicators, for two ranks; then as told:
 *   mpi_calls [abort | edge | many N]
 * abort: rank 0 calls MPI_Abort(7). edge: calls with neighbours that do not exist. many: N requests in flight. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 100 };
static double a[2 * N], b[2 * N];
static int rank, other;

static void point_to_point(void)
{
    MPI_Request r[2], one;
    MPI_Status s;
    int i;
    if (rank == 0) {
        MPI_Send(a, N, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(b, 2 * N, MPI_DOUBLE, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(b, N, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, &s);
        MPI_Send(a, N / 2, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD); /* fits into the receiver's buffers */
    }
    MPI_Sendrecv(a, 10, MPI_INT, other, 3, b, 10, MPI_INT, other, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Irecv(b, 2 * N, MPI_DOUBLE, other, 4, MPI_COMM_WORLD, &r[0]);
    MPI_Isend(a, N, MPI_DOUBLE, other, 4, MPI_COMM_WORLD, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    MPI_Irecv(b, N, MPI_DOUBLE, other, 5, MPI_COMM_WORLD, &r[0]);
    MPI_Issend(a, N, MPI_DOUBLE, other, 5, MPI_COMM_WORLD, &r[1]);
    MPI_Waitany(2, r, &i, MPI_STATUS_IGNORE);
    MPI_Waitany(2, r, &i, MPI_STATUS_IGNORE);
    MPI_Recv_init(b, N, MPI_DOUBLE, other, 6, MPI_COMM_WORLD, &one);
    for (int k = 0; k < 2; k++) {
        MPI_Start(&one);
        MPI_Send(a, N, MPI_DOUBLE, other, 6, MPI_COMM_WORLD);
        MPI_Wait(&one, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&one);
}

/* Rank 1 has no right and rank 0 no left neighbour. */
static void at_the_edge(void)
{
    int left = rank == 0 ? MPI_PROC_NULL : other, right = rank == 1 ? MPI_PROC_NULL : other;
    MPI_Request r[2], one;
    MPI_Sendrecv(a, N, MPI_DOUBLE, right, 7, b, N, MPI_DOUBLE, left, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(a, N, MPI_DOUBLE, left, 8, right, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(a, N, MPI_DOUBLE, MPI_PROC_NULL, 9, MPI_COMM_WORLD);
    MPI_Recv(b, N, MPI_DOUBLE, MPI_PROC_NULL, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Irecv(b, N, MPI_DOUBLE, MPI_PROC_NULL, 9, MPI_COMM_WORLD, &r[0]);
    MPI_Isend(a, N, MPI_DOUBLE, MPI_PROC_NULL, 9, MPI_COMM_WORLD, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    MPI_Send_init(a, N, MPI_DOUBLE, MPI_PROC_NULL, 9, MPI_COMM_WORLD, &one);
    MPI_Start(&one);
    MPI_Wait(&one, MPI_STATUS_IGNORE);
    MPI_Request_free(&one);
}

static void collectives(void)
{
    int counts[2] = {1, 3}, displs[2] = {0, 1};
    MPI_Comm alone;
    MPI_Request r;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Bcast(a, N, MPI_FLOAT, 1, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, a, N, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce(a, b, N, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Allgather(a, 5, MPI_INT, b, 5, MPI_INT, MPI_COMM_WORLD);
    MPI_Alltoall(a, 5, MPI_INT, b, 5, MPI_INT, MPI_COMM_WORLD);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, counts, displs, MPI_INT, MPI_COMM_WORLD);
    MPI_Alltoallv(a, counts, displs, MPI_INT, b, (int[]){counts[rank], counts[rank]}, (int[]){0, 3}, MPI_INT,
                  MPI_COMM_WORLD);
    MPI_Reduce_scatter(a, b, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Gather(a, rank ? 4 : 4, MPI_INT, b, 4, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Scatter(a, 4, MPI_INT, rank ? b : MPI_IN_PLACE, 4, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Iallreduce(a, b, N, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &r);
    int flag = 0;
    while (!flag)
        MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
    MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &alone);
    MPI_Allreduce(a, b, 1, MPI_DOUBLE, MPI_SUM, alone);
    MPI_Comm_free(&alone);
}

static void many(int n)
{
    MPI_Request *r = malloc((size_t)n * 2 * sizeof *r);
    int *x = calloc((size_t)n * 2, sizeof *x);
    for (int i = 0; i < n; i++) {
        MPI_Irecv(&x[n + i], 1, MPI_INT, other, i % 30000, MPI_COMM_WORLD, &r[n + i]);
        MPI_Isend(&x[i], 1, MPI_INT, other, i % 30000, MPI_COMM_WORLD, &r[i]);
    }
    MPI_Waitall(2 * n, r, MPI_STATUSES_IGNORE);
    free(r);
    free(x);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    point_to_point();
    collectives();
    if (strcmp(what, "many") == 0)
        many((int)strtol(argv[2], NULL, 10));
    if (strcmp(what, "edge") == 0)
        at_the_edge();
    if (strcmp(what, "abort") == 0) {
        puts("about to abort");
        fflush(stdout);
        MPI_Barrier(MPI_COMM_WORLD); /* both have reported before one ends them */
        if (rank == 0) {
            sleep(1); /* mpirun passes on the output of both, but may drop unread output when it kills them */
            MPI_Abort(MPI_COMM_WORLD, 7);
        }
        sleep(20);
    }
    MPI_Finalize();
    puts("done");
    return 0;
}
