/* gaps.c - training steps with a made-up clock: two runs record the same times, even if one of them loses events.
 *   gaps STEPS [FROM TO [BESIDE]]
 * With FROM and TO the collector, which is the parent, is stopped from step FROM on and goes on after step TO; three
 * times in between the program waits for it in the middle of a step. BESIDE: a process range in each step.
 * The steps have ranges of all categories, of none, and inside each other, calls of MPI and on a file, and a validation
 * after every tenth. Which and how many depends on the number of the step alone. */
#include "collect/guest/guest.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int (*push)(const char *, const char *, const char *, uint64_t);
static int (*pop)(const char *);
static uint64_t (*start)(const char *, const char *, const char *, uint64_t);
static void (*end)(const char *, uint64_t);
static void (*span)(enum dcc_span, const char *, int64_t, int64_t, uint64_t, uint64_t);
static int64_t (*now)(void);
static struct dct_io *(*file_of)(const char *, uint32_t *);
static uint32_t file; /* its number */

/* Each look at the clock is a microsecond after the previous one. */
int clock_gettime(clockid_t clock, struct timespec *t)
{
    static int64_t us;
    long rc = syscall(SYS_clock_gettime, clock, t);
    if (clock != CLOCK_MONOTONIC)
        return (int)rc;
    if (!us)
        us = (int64_t)t->tv_sec * 1000000 + t->tv_nsec / 1000;
    us++;
    t->tv_sec = us / 1000000;
    t->tv_nsec = us % 1000000 * 1000;
    return (int)rc;
}

static void range(const char *category, const char *name, uint64_t payload)
{
    push("gaps", category, name, payload);
}

static void call_mpi(const char *name, uint64_t bytes)
{
    int64_t begun = now();
    span(DCC_MPI_CALL, name, begun, now(), bytes, UINT64_C(0xffffffff) << 32);
}

static void call_file(const char *name, uint64_t bytes)
{
    int64_t begun = now();
    span(DCC_FILE_CALL, name, begun, now(), bytes, file);
}

/* A call on a file inside an MPI call. */
static void nested(void)
{
    int64_t begun = now();
    call_file("read", 4096);
    span(DCC_MPI_CALL, "MPI_Bcast", begun, now(), 64, UINT64_C(0xffffffff) << 32);
}

static void step(int i, int is_waiting)
{
    const struct timespec while_drained = {0, 100000000};
    range("step", "step", (uint64_t)i);
    range("data", "data_load", UINT64_MAX);
    for (int k = 0; k < 40 + i % 7; k++) {
        range("compute", "decode", UINT64_MAX);
        call_file(k % 3 ? "read" : "pread", 4096);
        pop("gaps");
    }
    pop("gaps");
    range("compute", "forward", UINT64_MAX);
    for (int k = 0; k < 200 + i % 13; k++) {
        range("", k % 2 ? "layer" : "norm", UINT64_MAX);
        range("compute", "matmul", UINT64_MAX);
        pop("gaps");
        pop("gaps");
    }
    if (is_waiting) {
        kill(getppid(), SIGCONT);
        nanosleep(&while_drained, NULL);
        kill(getppid(), SIGSTOP);
    }
    for (int k = 0; k < i % 5; k++)
        call_file("write", 100);
    pop("gaps");
    uint64_t id = start ? start("gaps", "comm", "bucket", UINT64_MAX) : 0;
    for (int k = 0; k < 20; k++) {
        range("comm", "all_reduce", 1000 + (uint64_t)k);
        call_mpi("MPI_Allreduce", 500);
        pop("gaps");
    }
    call_mpi("MPI_Barrier", 0);
    nested();
    if (id)
        end("gaps", id);
    range("compute", "optimizer", UINT64_MAX);
    pop("gaps");
    pop("gaps");
    if (i % 10 == 9) {
        range("validation", "validation", UINT64_MAX);
        range("compute", "forward", UINT64_MAX);
        pop("gaps");
        pop("gaps");
        range("io", "checkpoint", UINT64_MAX);
        pop("gaps");
    }
}

int main(int argc, char **argv)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_NOW) : NULL;
    int n = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 10, from = argc > 3 ? (int)strtol(argv[2], NULL, 10) : -1,
        to = argc > 3 ? (int)strtol(argv[3], NULL, 10) : -1;
    if (!library)
        return 2;
    *(void **)&push = dlsym(library, "dcc_range_push");
    *(void **)&pop = dlsym(library, "dcc_range_pop");
    *(void **)&span = dlsym(library, "dcc_guest_span");
    *(void **)&now = dlsym(library, "dcc_guest_now");
    *(void **)&file_of = dlsym(library, "dcc_guest_file");
    file_of("/data/windows.bin", &file);
    if (argc > 4) {
        *(void **)&start = dlsym(library, "dcc_range_start");
        *(void **)&end = dlsym(library, "dcc_range_end");
    }
    for (int i = 0; i < n; i++) {
        if (i == from)
            kill(getppid(), SIGSTOP);
        if (i % 25 == 0)
            range("", "epoch", UINT64_MAX);
        step(i, from >= 0 && i > from && i < to && (i - from) % ((to - from) / 4) == 0);
        if (i % 25 == 24)
            pop("gaps");
        if (i == to)
            kill(getppid(), SIGCONT);
    }
    return 0;
}
