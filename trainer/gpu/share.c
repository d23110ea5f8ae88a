/* share.c - see share.h. */
#include "trainer/gpu/share.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One kernel, one machine: its name may differ between containers. */
static void machine_id(const struct comm *c, char *out, size_t n)
{
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (!f || !fgets(out, (int)n, f))
        snprintf(out, n, "%s", c->host);
    if (f)
        fclose(f);
}

/* FNV-1a */
static uint64_t hash(uint64_t h, const char *text)
{
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 1099511628211u;
    return h;
}

/* Who has what: two numbers a rank, each exact in a double.                                       shape: (n_ranks, 2)
 */
static double *gather(struct comm *c, const char *bus_id)
{
    double *table = calloc((size_t)c->n_ranks, 2 * sizeof *table);
    char machine[128] = "";
    if (!table) { /* the others would wait in the sum */
        comm_abort(c, "no memory for a table of the ranks");
        return NULL;
    }
    machine_id(c, machine, sizeof machine);
    uint64_t h = hash(hash(14695981039346656037u, machine), bus_id);
    table[2 * c->rank] = (double)(h >> 32);
    table[2 * c->rank + 1] = (double)(h & 0xffffffffu);
    comm_sum_f64(c, table, 2 * (size_t)c->n_ranks);
    return table;
}

/* Ranks on the device of `rank`; other: the lowest of them besides itself. */
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

int share_check(struct comm *c, const char *bus_id, const char *device, int may_share, int *most, struct dcr_err *err)
{
    int other = -1, rc = 0;
    double *table = gather(c, bus_id);
    *most = 1;
    rc = comm_first_failure(c, table ? 0 : dcr_err_set(err, DCR_FATAL, "no memory for a table of %d ranks", c->n_ranks),
                            err);
    if (rc) {
        free(table);
        return rc;
    }
    for (int r = 0, unused; r < c->n_ranks; r++) {
        int n = count(table, c->n_ranks, r, &unused);
        *most = n > *most ? n : *most;
    }
    if (count(table, c->n_ranks, c->rank, &other) > 1 && !may_share)
        rc = dcr_err_set(err, DCR_FAIL,
                         "ranks %d and %d on %s have one GPU together (%s, %s); start one rank per GPU, or add "
                         "--share-gpu to let ranks stand for nodes on it (emulated, for tests)",
                         c->rank, other, c->host, device, bus_id);
    free(table);
    rc = comm_first_failure(c, rc, err);
    if (!rc && *most > 1) {
        char host_id[64];
        snprintf(host_id, sizeof host_id, "dcrnn-train-rank-%d", c->rank);
        setenv("NCCL_HOSTID", host_id, 0);
    }
    return rc;
}
