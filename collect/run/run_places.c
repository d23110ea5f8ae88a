/* run_places.c - the places of a recording: the spool, the folder of this rank, and the collector that samples the
 * host. See run_parts.h. */
#include "collect/run/run_parts.h"

#include "collect/pack/pack.h"
#include "collect/record/job.h"
#include "collect/record/linked.h"
#include "collect/record/meta.h"
#include "collect/record/spool_layout.h"
#include "lib/base/fs.h"
#include "lib/archive/member.h"
#include "lib/base/cores.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* -o RUN.tar: evidence is gathered in RUN.tar.spool beside it, so that a killed collector leaves something to pack.
 * Remains of an earlier killed run are not touched: the next free name is taken. */
static int make_own_spool(struct run *r, struct dcr_err *err)
{
    const char *base = r->output;
    int rc = dcr_resolve(r->o->output, r->output, sizeof r->output, err);
    if (rc)
        return rc;
    for (int i = 1; i < 1000; i++) {
        int k = i == 1 ? snprintf(r->spool, sizeof r->spool, "%s.spool", base)
                       : snprintf(r->spool, sizeof r->spool, "%s.spool-%d", base, i);
        if (k < 0 || (size_t)k >= sizeof r->spool)
            return dcr_err_set(err, DCR_FAIL, "the name '%.200s...' is too long; choose a shorter one", r->o->output);
        int is_made = mkdir(r->spool, 0777) == 0;
        if (!is_made && errno == ENOENT && pack_check_output(r->o->output, NULL) == 0) /* but its folder is there */
            return dcr_err_set(err, DCR_FAIL,
                               "cannot write '%s': no file can be created in its folder; choose another folder",
                               r->o->output);
        if (!is_made && errno != EEXIST)
            return dcr_err_file(err, DCR_FAIL, "cannot create folder '%s'", r->spool);
        /* The lock is held while this collector lives, so that no other one records into the same archive. */
        int lock = open(r->spool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
            close(lock);
            return dcr_err_set(err, DCR_FAIL, "another dccollect is recording for '%s' just now; choose another name",
                               r->o->output);
        }
        if (is_made) {
            r->is_own_spool = 1;
            return DCR_OK;
        }
        if (lock >= 0)
            close(lock);
    }
    return dcr_err_set(err, DCR_FAIL, "too many folders '%s.spool-*' are left from killed runs; pack or remove them",
                       r->o->output);
}

/* Does the spool hold a run that has ended? A collector in front of a launcher starts before its ranks, and they start
 * before it has ended. Ranks of one job may start one after another. */
static int holds_another_run(const struct run *r)
{
    char path[PATH_MAX + 64], **names = NULL;
    size_t n = 0;
    int is_rank = r->id.rank >= 0;
    snprintf(path, sizeof path, "%s/" SPOOL_LAUNCHER, r->spool);
    json_t *launcher = is_rank ? json_load_file(path, 0, NULL) : NULL;
    const char *state = json_string_value(json_object_get(launcher, "state"));
    int is_other = state && strcmp(state, SPOOL_ENDED) == 0;
    json_decref(launcher);
    if (is_other || dcr_list_dir(r->spool, &names, &n, NULL) != 0)
        return is_other;
    if (is_rank)
        is_other = job_is_another(r->spool, names, n, r->id.rank);
    for (size_t i = 0; i < n && !is_rank; i++)
        is_other |= strcmp(names[i], SPOOL_LAUNCHER) == 0 || dcr_name_number(names[i], strlen(names[i]), "rank") >= 0;
    dcr_free_names(names, n);
    return is_other;
}

/* Makes the empty file that says whose place this is, so that one of two simultaneous collectors is refused.
 * returns  1: made; 0: it is there already; DCR_FAIL */
static int claim(const char *folder, const char *name, struct dcr_err *err)
{
    char path[PATH_MAX + 400];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return errno == EEXIST ? 0 : dcr_err_file(err, DCR_FAIL, "cannot write '%s'", path);
    close(fd);
    return 1;
}

int run_choose_places(struct run *r, struct dcr_err *err)
{
    int rc;
    if (r->id.rank > DCR_MAX_RANK)
        return dcr_err_set(err, DCR_FAIL,
                           "the launcher's variables say that this is rank %d; more than %d ranks cannot be told apart",
                           r->id.rank, DCR_MAX_RANK + 1);
    if (r->o->output && r->id.world_size > 1)
        return dcr_err_set(err, DCR_FAIL,
                           "each of %d ranks would write '%s'; use --spool DIR here, then `dccollect pack DIR -o %s`",
                           r->id.world_size, r->o->output, r->o->output);
    if (r->o->spool) {
        rc = dcr_absolute(r->o->spool, r->spool, sizeof r->spool, err);
        char real[PATH_MAX];
        if (rc == 0)
            rc = dcr_mkdirs(r->spool, err);
        if (rc == 0 && realpath(r->spool, real))
            memcpy(r->spool, real, strlen(real) + 1);
    } else {
        rc = make_own_spool(r, err);
    }
    if (rc)
        return rc;
    r->spool_fd = open(r->spool, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int is_taken = holds_another_run(r); /* checked before this run has files there */
    char host[256];
    meta_host_name(host, sizeof host);
    snprintf(r->host_dir, sizeof r->host_dir, SPOOL_HOST_PREFIX "%s", host);
    if (r->id.rank >= 0) {
        snprintf(r->record_dir, sizeof r->record_dir, "%s/rank%d", r->spool, r->id.rank);
        r->record_name = SPOOL_RANK;
        rc = is_taken ? DCR_OK : dcr_mkdirs(r->record_dir, err);
        if (rc)
            return rc;
    } else {
        snprintf(r->record_dir, sizeof r->record_dir, "%s", r->spool);
        r->record_name = SPOOL_LAUNCHER;
    }
    rc = is_taken ? 0 : claim(r->record_dir, r->record_name, err);
    r->has_claimed = rc > 0;
    if (rc == 0)
        return dcr_err_set(err, DCR_FAIL,
                           "the spool '%s' already holds a run; give another folder, or pack and remove it",
                           r->o->spool);
    return rc < 0 ? rc : DCR_OK;
}

/* Local rank 0 claims the host. If the local rank is unknown, the first collector to create host.json does. */
int run_claim_host(struct run *r, struct dcr_err *err)
{
    char folder[PATH_MAX + 320];
    if (r->id.local_rank > 0)
        return DCR_OK;
    snprintf(folder, sizeof folder, "%s/%s", r->spool, r->host_dir);
    int rc = dcr_mkdirs(folder, err);
    if (rc == 0)
        rc = claim(folder, SPOOL_HOST, err);
    r->is_host_sampled = rc > 0;
    return rc < 0 ? rc : DCR_OK;
}

int run_n_local(const struct run *r)
{
    static const char *const variables[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "LOCAL_WORLD_SIZE",
                                            "SLURM_NTASKS_PER_NODE"};
    for (size_t i = 0; r->id.world_size > 1 && i < sizeof variables / sizeof *variables; i++) {
        const char *text = getenv(variables[i]);
        long n = text ? strtol(text, NULL, 10) : 0;
        if (n > 0 && n <= r->id.world_size)
            return (int)n;
    }
    return r->id.world_size > 1 ? r->id.world_size : 1;
}

int run_n_below(const struct run *r)
{
    int n = dcr_cores(), n_ranks;
    if (!linked_is_launcher(r->o->program[0]))
        return 1;
    n = n < 4 ? 4 : n;
    n_ranks = linked_n_ranks(r->o->program, r->o->n_program);
    return n_ranks && n_ranks < n ? n_ranks : n;
}

int run_is_in_memory(const struct run *r)
{
    struct statfs fs;
    return statfs(r->spool, &fs) == 0 && (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC);
}
