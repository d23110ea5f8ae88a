/* uniform.c - an MPI program whose ranks spend the same share of their time in MPI from begin to end. In each turn one
 * rank sleeps outside MPI and the others wait for it in a barrier; with 2 ranks each spends half of its time there.
 *
 *   uniform TURNS [MS [named]]   turns of MS milliseconds (20); named: each turn is a numbered range "step", through
 *                                the collector's own entry points
 *   uniform late N               N all-reduces at once, then rank 1 is 2 s late to a barrier
 *   uniform serial N MS [named]  N turns: all ranks work for MS milliseconds, rank 0 gathers, works alone, broadcasts
 *   uniform uneven N MS [named]  the same calls, but rank 0 works twice as long as the others before it gathers */
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

static void work(long ms)
{
    struct timespec t;
    long long until = 0, now = 0;
    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        now = t.tv_sec * 1000LL + t.tv_nsec / 1000000;
        until = until ? until : now + ms;
    } while (now < until);
}

static void gathering(long n, long ms, int is_serial, int rank)
{
    int one = 1, all[64];
    for (long i = 0; i < n; i++) {
        if (push)
            push("uniform", "step", "step", (uint64_t)i);
        work(rank == 0 && !is_serial ? 2 * ms : ms);
        MPI_Gather(&one, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (rank == 0 && is_serial)
            work(ms);
        MPI_Bcast(&one, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (pop)
            pop("uniform");
    }
}

int main(int argc, char **argv)
{
    int rank, size;
    int is_late = argc > 2 && strcmp(argv[1], "late") == 0, is_serial = argc > 3 && strcmp(argv[1], "serial") == 0;
    int is_gathering = is_serial || (argc > 3 && strcmp(argv[1], "uneven") == 0), is_named = argc > 3 + is_gathering;
    long n = argc > 1 ? strtol(argv[is_late || is_gathering ? 2 : 1], NULL, 10) : 100;
    long ms = argc > 2 && !is_late ? strtol(argv[is_gathering ? 3 : 2], NULL, 10) : 20;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (is_named)
        find_names();
    if (is_gathering)
        gathering(n, ms, is_serial, rank);
    for (long i = 0; i < n && !is_late && !is_gathering; i++) {
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
