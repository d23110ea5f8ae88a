/* rank.c - see rank.h. */
#include "lib/archive/rank.h"

#include "lib/archive/member.h"
#include "lib/archive/format.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int number(const char *text)
{
    if (!text || !*text)
        return -1;
    char *end;
    long k = strtol(text, &end, 10);
    return *end == '\0' && k >= 0 && k < INT_MAX ? (int)k : -1;
}

/* The value of a variable, or NULL. block NULL: of this process's own environment */
static const char *get(const char *name, const char *block, unsigned long n)
{
    size_t len = strlen(name);
    if (!block)
        return getenv(name);
    for (unsigned long at = 0; at < n; at += strlen(block + at) + 1)
        if (strncmp(block + at, name, len) == 0 && block[at + len] == '=')
            return block + at + len + 1;
    return NULL;
}

/* Uses the variables of Open MPI, PMIx, PMI or Slurm. SLURM_PROCID counts only inside a job step, because the batch
 * script has it too. */
struct rank_identity rank_of_block(const char *environ_block, unsigned long n)
{
    static const struct {
        const char *rank, *local, *size, *only_with;
    } launchers[] = {
        /* torchrun comes first: a launcher may have started it only once per node, so its count is the finer one. */
        {"RANK", "LOCAL_RANK", "WORLD_SIZE", "TORCHELASTIC_RUN_ID"},
        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE", NULL},
        {"PMIX_RANK", "PMIX_LOCAL_RANK", "PMIX_SIZE", NULL},
        {"PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE", NULL}, /* mpiexec of MPICH and Intel MPI */
        {"PMI_RANK", "PMI_LOCAL_RANK", "PMI_SIZE", NULL},  /* PALS, Cray's */
        {"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS", "SLURM_STEP_ID"},
        {"RANK", "LOCAL_RANK", "WORLD_SIZE", "WORLD_SIZE"}, /* PyTorch's names, set by whatever started it */
    };
    struct rank_identity id = {-1, -1, -1};
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        if (launchers[i].only_with && !get(launchers[i].only_with, environ_block, n))
            continue;
        int rank = number(get(launchers[i].rank, environ_block, n));
        /* srun --mpi=pmix sets PMIX_RANK alone. Other launchers' variables supply the rest if they give the same
         * rank. */
        if (rank < 0 || (id.rank >= 0 && rank != id.rank))
            continue;
        id.rank = rank;
        if (id.local_rank < 0)
            id.local_rank = number(get(launchers[i].local, environ_block, n));
        if (id.world_size <= 0)
            id.world_size = number(get(launchers[i].size, environ_block, n));
    }
    if (id.world_size == 0)
        id.world_size = -1;
    return id;
}

int rank_by_link(const char *spool, long pid)
{
    char path[PATH_MAX], target[16];
    int n = snprintf(path, sizeof path, "%s/" DCR_RANK_LINK "%ld", spool, pid);
    ssize_t len = n > 0 && (size_t)n < sizeof path ? readlink(path, target, sizeof target - 1) : -1;
    if (len < 0)
        return -1;
    target[len] = '\0';
    int rank = number(target);
    return rank <= DCR_MAX_RANK ? rank : -1;
}

struct rank_identity rank_of_self(void)
{
    return rank_of_block(NULL, 0);
}

static int put_job(struct rank_job *out, const char *key, const char *name)
{
    if (!name || !*name)
        return 0;
    out->key = key;
    snprintf(out->name, sizeof out->name, "%s", name);
    return 1;
}

int rank_jobs_of_self(struct rank_job out[RANK_JOB_NAMES])
{
    const char *torch = getenv("TORCHELASTIC_RUN_ID"), *slurm = getenv("SLURM_JOB_ID");
    int n = 0;
    if (torch && strcmp(torch, "none") != 0) /* torchrun's default name */
        n += put_job(&out[n], "torchrun", torch);
    if (!torch) /* a launcher may have started torchrun on each node separately */
        n += put_job(&out[n], "pmix", getenv("PMIX_NAMESPACE"));
    if (!getenv("SLURM_HET_SIZE") && !getenv("SLURM_PACK_SIZE"))
        n += put_job(&out[n], "slurm", slurm);
    return n;
}
