/* share.c - finds ranks that share a GPU by comparing hashes over all ranks. */
#include "trainer/gpu/share.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One boot id means one machine, whose name may differ between containers. */
static void machine_id(const struct comm *c, char *out, size_t n)
{
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (!f || !fgets(out, (int)n, f))
        snprintf(out, n, "%s", c->host);
    if (f)
        fclose(f);
}

/* FNV-1a; begin with HASH_START. */
static const uint64_t HASH_START = 14695981039346656037u;

static uint64_t hash(uint64_t h, const char *text)
{
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 1099511628211u;
    return h;
}

/* Every rank's hash: two numbers, each exact in a double. The caller frees it.               shape: (n_ranks, 2) */
static double *gather(struct comm *c, uint64_t h)
{
    double *table = calloc((size_t)c->n_ranks, 2 * sizeof *table);
    if (!table) { /* otherwise the others would wait in the sum */
        comm_abort(c, "out of memory for a table of the ranks");
        _exit(DCR_EXIT_INPUT);
    }
    table[2 * c->rank] = (double)(h >> 32);
    table[2 * c->rank + 1] = (double)(h & 0xffffffffu);
    comm_sum_f64(c, table, 2 * (size_t)c->n_ranks);
    return table;
}

/* Number of ranks with the hash of `rank`; other: the lowest of the others. */
static int count(const double *table, int n_ranks, int rank, int *other)
{
    int n = 0;
    *other = -1;
    for (int r = 0; r < n_ranks; r++) {
        if (memcmp(&table[2 * r], &table[2 * rank], 2 * sizeof *table) != 0)
            continue;
        n++;
        if (r != rank && *other < 0)
            *other = r;
    }
    return n;
}

/* The largest number of ranks with the same hash. */
static int count_most(const double *table, int n_ranks)
{
    int most = 1;
    for (int r = 0, unused; r < n_ranks; r++) {
        int n = count(table, n_ranks, r, &unused);
        most = n > most ? n : most;
    }
    return most;
}

int share_local_rank(struct comm *c)
{
    double *hosts = gather(c, hash(HASH_START, c->host));
    int unused, before = count(hosts, c->rank + 1, c->rank, &unused) - 1;
    free(hosts);
    return before;
}

int share_check(struct comm *c, const struct gpu_description *d, int may_share, int *most, struct dcr_err *err)
{
    char machine[128] = "";
    int other = -1, rc = 0;
    machine_id(c, machine, sizeof machine);
    const uint64_t start = hash(HASH_START, machine);
    double *devices = gather(c, hash(start, d->uuid)), *addresses = gather(c, hash(start, d->bus_id));
    *most = count_most(devices, c->n_ranks);
    if (count(devices, c->n_ranks, c->rank, &other) > 1 && !may_share)
        rc = dcr_err_set(err, DCR_FAIL,
                         "ranks %d and %d on %s share one GPU (%s, %s); start one rank per GPU, or add "
                         "--share-gpu to let ranks stand for nodes on it (emulated, for tests)",
                         c->rank, other, c->host, d->name, d->bus_id);
    rc = comm_first_failure(c, rc, err);
    if (!rc && count_most(addresses, c->n_ranks) > 1) {
        char host_id[64];
        snprintf(host_id, sizeof host_id, "dcrnn-train-rank-%d", c->rank);
        setenv("NCCL_HOSTID", host_id, 0);
    }
    free(devices);
    free(addresses);
    return rc;
}
