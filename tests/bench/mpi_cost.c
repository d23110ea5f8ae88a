/* mpi_cost.c - thread CPU time of one MPI call that moves nothing (a barrier of one rank, and a message to oneself),
 * mean over many. Run by tests/bench/collect.sh alone and under the collector. Prints two numbers: ns per call. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    enum { N = 300000 };
    int x = 1, y = 0;
    MPI_Init(&argc, &argv);
    double t0 = cpu_ns();
    for (int i = 0; i < N; i++)
        MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    double t1 = cpu_ns();
    for (int i = 0; i < N / 10; i++) {
        MPI_Request r;
        MPI_Irecv(&y, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &r);
        MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    printf("%.1f %.1f\n", (t1 - t0) / N, (cpu_ns() - t1) / (N / 10 * 3));
    MPI_Finalize();
    return 0;
}
