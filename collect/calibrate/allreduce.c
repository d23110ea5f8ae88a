/* allreduce.c - time of sums over ranks, for several sizes. See calibrate.h. */
#include "collect/calibrate/calibrate.h"

#include "collect/record/disturbed.h"
#include "collect/record/procfs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_BYTES = 16 << 20, MIN_REPEATS = 3, MAX_REPEATS = 200 };
#define SECONDS_EACH 0.1
#define TOO_LONG_S 0.25 /* for one all-reduce: larger ones are left out */

void allreduce_wait(MPI_Comm comm)
{
    MPI_Request request;
    int is_done = 0;
    MPI_Ibarrier(comm, &request);
    for (;;) {
        MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
        if (is_done)
            return;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

/* One all-reduce. Its time is that of the slowest rank, known at rank 0 after a reduction. */
static double once(MPI_Comm comm, const float *in, float *out, int n)
{
    MPI_Barrier(comm);
    double began = measured_now();
    MPI_Allreduce(in, out, n, MPI_FLOAT, MPI_SUM, comm);
    return measured_now() - began;
}

static json_t *measure_size(MPI_Comm comm, int64_t bytes, const float *in, float *out, double *fastest_s)
{
    double own[MAX_REPEATS], all[MAX_REPEATS];
    int rank, n = (int)(bytes / (int64_t)sizeof *in);
    MPI_Comm_rank(comm, &rank);
    (void)once(comm, in, out, n);
    double pilot = once(comm, in, out, n);
    int repeats = pilot > 0 ? (int)fmin(SECONDS_EACH / pilot, MAX_REPEATS) : MAX_REPEATS;
    repeats = repeats < MIN_REPEATS ? MIN_REPEATS : repeats > MAX_REPEATS ? MAX_REPEATS : repeats;
    MPI_Bcast(&repeats, 1, MPI_INT, 0, comm);
    for (int i = 0; i < repeats; i++)
        own[i] = once(comm, in, out, n);
    MPI_Reduce(own, all, repeats, MPI_DOUBLE, MPI_MAX, 0, comm);
    if (rank != 0)
        return NULL;
    *fastest_s = measured_median(all, repeats);
    json_t *o = json_object();
    json_object_set_new(o, "bytes", json_integer(bytes));
    json_object_set_new(o, "n", json_integer(repeats));
    json_object_set_new(o, "median_ns", json_integer((json_int_t)(*fastest_s * 1e9 + 0.5)));
    json_object_set_new(o, "min_ns", json_integer((json_int_t)(all[0] * 1e9 + 0.5)));
    json_object_set_new(o, "max_ns", json_integer((json_int_t)(all[repeats - 1] * 1e9 + 0.5)));
    return o;
}

/* Seconds in which this thread was ready to run while another had its core; -1 where the kernel does not count them.
 * Time on the core is no measure here, because some MPI libraries sleep while they wait. */
static double waited_for_core(void)
{
    char text[128], *end;
    if (procfs_read("/proc/thread-self/schedstat", text, sizeof text, NULL) <= 0)
        return -1;
    (void)strtoull(text, &end, 10); /* on a core */
    return (double)strtoull(end, NULL, 10) * 1e-9;
}

/* Two cases are not reported as disturbed. Shared cores are part of the measurement and already reported. Under a quota
 * below one core, the kernel counts throttled time as waiting. */
static void judge(MPI_Comm comm, json_t *o, double waited_s, double wall_s, int is_sharing_cores)
{
    struct cgroup_cpu c;
    cgroup_cpu_find(&c);
    if (c.quota_cores > 0 && c.quota_cores < 1)
        waited_s = 0;
    double share = waited_s > 0 && wall_s > 0 ? waited_s / wall_s : 0, most = 0;
    MPI_Reduce(&share, &most, 1, MPI_DOUBLE, MPI_MAX, 0, comm);
    if (o && !is_sharing_cores)
        disturbed_by_others(o, 1 - most, 1);
}

static json_t *measure_group(MPI_Comm comm, int n_ranks, int n_nodes, int is_sharing_cores, const float *in, float *out)
{
    json_t *points = json_array();
    double best = 0, began = measured_now(), waited = waited_for_core();
    int rank;
    MPI_Comm_rank(comm, &rank);
    for (int64_t bytes = sizeof *in; bytes <= MAX_BYTES; bytes *= 4) {
        double s = 0;
        json_t *point = measure_size(comm, bytes, in, out, &s);
        json_array_append_new(points, point); /* NULL except at rank 0, where alone it is appended */
        if (s > 0 && (double)bytes / s > best)
            best = (double)bytes / s;
        MPI_Bcast(&s, 1, MPI_DOUBLE, 0, comm);
        if (s > TOO_LONG_S)
            break;
    }
    waited = waited < 0 ? 0 : waited_for_core() - waited;
    json_t *o = rank == 0 ? json_object() : NULL;
    judge(comm, o, waited, measured_now() - began, is_sharing_cores);
    if (rank != 0) {
        json_decref(points);
        return NULL;
    }
    json_object_set_new(o, "n_ranks", json_integer(n_ranks));
    json_object_set_new(o, "n_nodes", json_integer(n_nodes));
    json_object_set_new(o, "ranks_share_cores", json_boolean(is_sharing_cores));
    json_object_set_new(o, "latency_ns", json_incref(json_object_get(json_array_get(points, 0), "median_ns")));
    json_object_set_new(o, "algbw_gb_per_s", measured_value(best * 1e-9));
    json_object_set_new(o, "busbw_gb_per_s", measured_value(best * 1e-9 * 2 * (n_ranks - 1) / n_ranks));
    json_object_set_new(o, "points", points);
    return o;
}

/* Number of nodes of the first n ranks, and whether one of them has more ranks than cores. */
static int nodes_of_first(const int *node, const int *cores, int n, int *is_sharing_cores)
{
    int n_nodes = 0;
    *is_sharing_cores = 0;
    for (int i = 0; i < n; i++) {
        int n_same = 0, is_new = 1;
        for (int k = 0; k < n; k++)
            n_same += node[k] == node[i];
        for (int k = 0; k < i && is_new; k++)
            is_new = node[k] != node[i];
        n_nodes += is_new;
        *is_sharing_cores |= n_same > cores[i];
    }
    return n_nodes;
}

json_t *allreduce_measure(const int *node, const int *cores)
{
    int rank, world;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    float *in = malloc(MAX_BYTES), *out = malloc(MAX_BYTES);
    json_t *list = rank == 0 ? json_array() : NULL;
    if (!in || !out)
        MPI_Abort(MPI_COMM_WORLD, DCR_EXIT_INPUT);
    for (int i = 0; i < (int)(MAX_BYTES / sizeof *in); i++)
        in[i] = 1;
    memset(out, 0, MAX_BYTES);
    /* 2, 4, 8 ... ranks, and all of them. */
    for (int n = 2; n <= world; n = n == world ? world + 1 : 2 * n < world ? 2 * n : world) {
        MPI_Comm comm;
        MPI_Comm_split(MPI_COMM_WORLD, rank < n ? 0 : MPI_UNDEFINED, rank, &comm);
        if (comm != MPI_COMM_NULL) {
            int is_sharing_cores, n_nodes = nodes_of_first(node, cores, n, &is_sharing_cores);
            json_t *group = measure_group(comm, n, n_nodes, is_sharing_cores, in, out);
            if (group)
                json_array_append_new(list, group);
            MPI_Comm_free(&comm);
        }
        allreduce_wait(MPI_COMM_WORLD);
    }
    free(in);
    free(out);
    return list;
}
