/* ended.c - which rank below a launcher ended first, and how. Launchers end the other ranks when one fails, and their
 * own status does not name it. Facts: the status that a rank gave to exit() (its trace), the status that its parent
 * told by a link (collect/python), and the samples of its processes. Called by describe.c and judge.c. */
#include "collect/pack/parts.h"

#include "collect/record/spool_layout.h"
#include "lib/archive/format.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The status of a rank as the program that started it saw it: minus the number of a signal. returns 0: nobody told */
static int told_status(const struct pack *p, int rank)
{
    char path[PATH_MAX], target[16];
    int n = snprintf(path, sizeof path, "%s/" SPOOL_END_LINK "%d", p->request->spool, rank);
    ssize_t len = n > 0 && (size_t)n < sizeof path ? readlink(path, target, sizeof target - 1) : -1;
    if (len < 0)
        return 0;
    target[len] = '\0';
    char *end;
    long status = strtol(target, &end, 10);
    return end != target && !*end && status > -NSIG && status < 256 ? (int)status : 0;
}

/* A program that starts its ranks itself may have recorded too, and then has the trace of rank 0. */
static int has_exited(const struct pack *p, const struct pack_rank *r)
{
    return r->exit_ns && r->first_pid != (long)pack_json_int(p->launcher, "pid", -1);
}

int pack_status_of(const struct pack *p, const struct pack_rank *r, int *is_known)
{
    int told = told_status(p, r->rank);
    *is_known = told || has_exited(p, r) || pack_json_int(p->launcher, "exit_status", -1) == 0;
    return told ? told : has_exited(p, r) ? r->exit_status : 0;
}

int pack_may_be_cause(const struct pack *p, const struct pack_rank *r)
{
    return told_status(p, r->rank) || !has_exited(p, r) ||
           r->exit_status == (int)pack_json_int(p->launcher, "exit_status", -1);
}

/* ---- who was first ---------------------------------------------------------------------------------- */

struct end {
    int64_t exit_ns;         /* 0 = it did not call exit() */
    int64_t seen_ns, ran_ns; /* the last two samples; at the last one it may have ended, but not been waited for */
};

/* The times of the last two rows of the rank's samples; 0 = there is none. */
static void read_samples(const struct pack *p, int rank, struct end *e)
{
    char name[64], tail[4096];
    snprintf(name, sizeof name, "rank%d/process_monitor.csv", rank);
    const struct archive_member *m = pack_member_named(p, name);
    int fd = m && m->path ? open(m->path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    off_t size = lseek(fd, 0, SEEK_END), from = size >= (off_t)sizeof tail ? size - (off_t)sizeof tail + 1 : 0;
    ssize_t n = pread(fd, tail, sizeof tail - 1, from);
    close(fd);
    tail[n > 0 ? n : 0] = '\0';
    for (char *line = tail, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        long long t_ns = 0;
        if (sscanf(line, "%*[^,\n],%lld", &t_ns) != 1 || t_ns <= 0)
            continue;
        e->ran_ns = e->seen_ns;
        e->seen_ns = t_ns;
    }
}

/* Samples are taken of all ranks at once. So a rank without a row had ended at the time of another rank's row. */
static int is_before(const struct end *a, const struct end *b)
{
    if (a->exit_ns && b->exit_ns)
        return a->exit_ns < b->exit_ns;
    if (a->exit_ns)
        return a->exit_ns <= b->ran_ns;
    return a->seen_ns && a->seen_ns < b->ran_ns;
}

/* A rank that ended well is not the one that failed, and the others may have gone on without it. */
static int ended_well(const struct pack *p, const struct pack_rank *r)
{
    return has_exited(p, r) && r->exit_status == 0;
}

static int is_first(const struct pack *p, const struct end *ends, size_t i)
{
    int n_later = 0;
    for (size_t k = 0; k < p->n_ranks; k++) {
        if (k == i || ended_well(p, &p->ranks[k]))
            continue;
        if (!is_before(&ends[i], &ends[k]))
            return 0;
        n_later++;
    }
    return n_later > 0;
}

/* Clocks of several hosts cannot be compared to the millisecond. */
static int is_on_one_host(const struct pack *p)
{
    for (size_t i = 1; i < p->n_ranks; i++)
        if (strcmp(p->ranks[i].first_host, p->ranks[0].first_host) != 0)
            return 0;
    return 1;
}

const struct pack_rank *pack_first_to_end(const struct pack *p)
{
    const struct pack_rank *first = NULL;
    if (!is_on_one_host(p))
        return NULL;
    struct end *ends = calloc(p->n_ranks ? p->n_ranks : 1, sizeof *ends);
    for (size_t i = 0; ends && i < p->n_ranks; i++) {
        ends[i].exit_ns = has_exited(p, &p->ranks[i]) ? p->ranks[i].exit_ns : 0;
        read_samples(p, p->ranks[i].rank, &ends[i]);
    }
    for (size_t i = 0; ends && i < p->n_ranks && !first; i++)
        if (!ended_well(p, &p->ranks[i]) && is_first(p, ends, i))
            first = &p->ranks[i];
    free(ends);
    return first;
}
