/* uniform.c - an MPI program whose ranks spend the same share of their time in MPI from begin to end. In each turn one
 * rank sleeps outside MPI and the others wait for it in a barrier; with 2 ranks each spends half of its time there.
 *
 *   uniform TURNS [MS [named]]   turns of MS milliseconds (20); named: each turn is a numbered range "step", through
 *                                the collector's own entry points
 *   uniform late N               N all-reduces at once, then rank 1 is 2 s late to a barrier */
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int (*push)(const char *, const char *, const char *, uint64_t);
static int (*pop)(const char *);

static void find_names(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_NOW) : NULL;
    if (!library)
        return;
    *(void **)&push = dlsym(library, "dcc_range_push");
    *(void **)&pop = dlsym(library, "dcc_range_pop");
}

static void away(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static void one_late(long n, int rank)
{
    int one = 1, sum;
    for (long i = 0; i < n; i++)
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 1)
        away(2000);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int rank, size;
    int is_late = argc > 2 && strcmp(argv[1], "late") == 0;
    long n = argc > 1 ? strtol(argv[is_late ? 2 : 1], NULL, 10) : 100;
    long ms = argc > 2 && !is_late ? strtol(argv[2], NULL, 10) : 20;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 3)
        find_names();
    for (long i = 0; i < n && !is_late; i++) {
        if (push)
            push("uniform", "step", "step", (uint64_t)i);
        if (i % size == rank && ms > 0)
            away(ms);
        MPI_Barrier(MPI_COMM_WORLD);
        if (pop)
            pop("uniform");
    }
    if (is_late)
        one_late(n, rank);
    MPI_Finalize();
    return 0;
}
