/* calls.h - shares of MPI calls and calls on files in the recorded time. */
#ifndef RENDER_METRICS_CALLS_H
#define RENDER_METRICS_CALLS_H

#include "render/metrics/report.h"

/** mpi_share - share of the recorded time inside MPI calls except MPI_Init and MPI_Finalize. */
struct mpi_share {
    int has;
    struct reason why;   /* when !has */
    int64_t ns, wall_ns; /* sums over the ranks */
    double ratio;
    const struct run_mpi_call *largest;
};
struct mpi_share mpi_share(const struct run *a);

/** is_mpi_moving - does the call with most time in MPI move data, and take more than comm_limits of the recorded time?
 *  Test: tests/unit/test_narrate.c */
int is_mpi_moving(const struct thresholds *t, const struct mpi_share *m);

/* Bytes of a call up to which its cost is that of the call, not of the bytes: of MPI, and of PyTorch's collectives,
 * whose Gloo took 0.7 ms for 8 kB and 4.9 ms for 2.5 MB between two ranks of one host. */
enum { SMALL_MESSAGE_BYTES = 8192, SMALL_COLLECTIVE_BYTES = 65536 };

/** small_messages - the MPI call in which at least half of the time in MPI passed, if its messages are many and small:
 *  at least 10 in a step of a rank, with at most SMALL_MESSAGE_BYTES each. Then the cost is that of calls, not of
 *  bytes. Barriers have no bytes. Without MPI calls, the same of the collectives of a step with SMALL_COLLECTIVE_BYTES.
 *  returns  call is NULL if no call is like that. Test: tests/unit/test_rules.c */
struct small_messages {
    const char *call; /* "MPI_Sendrecv", "collectives" */
    int64_t n, bytes; /* calls in a step of a rank, and bytes of a call; means of the whole recording */
};
struct small_messages small_messages(const struct run_result *r);

/** mpi_late - the late ranks of a run without steps, for which the others wait. They spend little time in MPI calls
 * while all others spend much, longer by over straggler_wait of the recorded time. They are the minority, and at most
 *  MPI_LATE_NAMED. Test: tests/unit/test_rules.c */
enum { MPI_LATE_NAMED = 4 };
struct mpi_late {
    int has, n, ranks[MPI_LATE_NAMED];
    int64_t least_ns, most_ns;               /* of the late ones, in MPI calls */
    int64_t others_least_ns, others_most_ns; /* of the others */
    int64_t waited_ns;                       /* mean of the others - mean of these */
};
struct mpi_late mpi_late(const struct thresholds *t, const struct run *a);

/** alone_in_calls - does the late rank, if there is one, work alone before the collectives in which the others wait for
 *  it? Before such a collective the others work for at most alone_others of its work. Its work alone must explain at
 *  least alone_wait of the waiting. All ranks must have called the same collectives equally often.
 *  source   docs/metrics.md#breakdown. Test: tests/unit/test_rules.c */
struct alone alone_in_calls(const struct thresholds *t, const struct run *a);

/** most_waited_call - the MPI call in which the other ranks together are longest beyond a late one.
 *  late         the number of that rank
 *  least_calls  calls that it makes less often are left out
 *  returns      NULL: the calls of ranks are not known, or none is longer. Test: tests/unit/test_narrate.c */
const char *most_waited_call(const struct run *a, int late, int64_t least_calls);

/** written_beyond - how many bytes a rank wrote more than any other rank. The kernel's totals are used, because they
 *  include calls that the recorder does not see.
 *  returns  0 if not known, if the rank wrote less than 10 MB, or if the difference is below half of what it wrote.
 *  Test: tests/unit/test_narrate.c */
int64_t written_beyond(const struct run *a, int rank);

/** late_in_files - calls on files of a rank that alone is late, if it spends more time in them than the mean of the
 * others by at least half of the waiting for it. Else 0, also when it has more time in them than the run lasted.
 *  Test: tests/unit/test_narrate.c */
int64_t late_in_files(const struct thresholds *t, const struct run *a);

/** file_time - share of the recorded time inside calls on files. Simultaneous calls of threads and processes of a rank
 *  each count, so a sum above the recorded time is not valid.
 *  source   docs/metrics.md#breakdown. Test: tests/unit/test_rules.c */
struct file_time {
    int has;
    struct reason why;                      /* when !has */
    int64_t ns, kind_ns[DCT_N_IO], wall_ns; /* sums over the ranks */
    double ratio;
    const struct run_file *largest; /* NULL: it is one of many, of which no names are known */
    int64_t largest_ns;
    const char *folder; /* of the files of one folder that take most of the time; folder_len characters of a name */
    int folder_len, n_in_folder;
    int64_t folder_ns;
};
struct file_time file_time(const struct run *a);

/** files_explained - compare the bytes in recorded calls on files with the kernel's totals of all ranks' processes. The
 *  rest are file calls that cannot be seen (fprintf; mmap is in neither), pipes, sockets, terminals and files that
 *  programs read at start. Bytes that the recorder wrote are not counted. Test: tests/unit/test_recorded.c */
struct files_explained {
    int has;
    struct reason why;          /* when !has */
    int64_t bytes[2], calls[2]; /* [DCT_IO_READ], [DCT_IO_WRITE]: the kernel's totals of bytes and system calls */
    int64_t recorded_bytes[2];  /* in recorded calls; -1 = not all calls are known */
    int64_t rest_bytes[2];      /* not in recorded calls; -1 = not known */
    struct reason rest_why;
};
struct files_explained files_explained(const struct run *a);

#endif
