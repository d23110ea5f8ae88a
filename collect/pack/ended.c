/* ended.c - which rank below a launcher ended first, and how. Launchers end the other ranks when one fails, and their
 * own status does not name it. Facts: the status that a rank gave to exit() (its trace), the status that its parent
 * told by a link (collect/python), the time of an exception in it (a link too), and the samples of its processes.
 * Called by describe.c and judge.c. */
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

/* The number in a rank's link. returns 0 if the rank has no such link, or it holds no number */
static int64_t number_of_link(const struct pack *p, const char *link, int rank)
{
    char path[PATH_MAX], target[24];
    int n = snprintf(path, sizeof path, "%s/%s%d", p->request->spool, link, rank);
    ssize_t len = n > 0 && (size_t)n < sizeof path ? readlink(path, target, sizeof target - 1) : -1;
    if (len < 0)
        return 0;
    target[len] = '\0';
    char *end;
    long long number = strtoll(target, &end, 10);
    return end != target && !*end ? number : 0;
}

/* The status of a rank as the program that started it saw it: minus the number of a signal. returns 0: nobody told */
static int told_status(const struct pack *p, int rank)
{
    int64_t status = number_of_link(p, SPOOL_END_LINK, rank);
    return status > -NSIG && status < 256 ? (int)status : 0;
}

/* When an exception that nothing caught ended the program of a rank, before it let go of its connections. 0 = none did
 */
static int64_t raised_ns(const struct pack *p, int rank)
{
    int64_t t_ns = number_of_link(p, SPOOL_RAISED_LINK, rank);
    return t_ns > 0 ? t_ns : 0;
}

/* Python ends with status 1 after an exception. */
int pack_status_of(const struct pack *p, const struct pack_rank *r, int *is_known)
{
    int told = told_status(p, r->rank), is_well = pack_json_int(p->launcher, "exit_status", -1) == 0;
    int has_raised = raised_ns(p, r->rank) > 0;
    *is_known = told || is_well || r->exit_ns || has_raised;
    return told ? told : is_well ? 0 : r->exit_ns ? r->exit_status : has_raised;
}

int pack_may_be_cause(const struct pack *p, const struct pack_rank *r)
{
    return told_status(p, r->rank) || !r->exit_ns ||
           r->exit_status == (int)pack_json_int(p->launcher, "exit_status", -1);
}

/* ---- samples ---------------------------------------------------------------------------------------- */

#define X(name, unit) +1
enum { COLUMN_T = 1, COLUMN_PID = 3, COLUMN_PROCESSES = 21, N_COLUMNS = 0 DCR_PROCESS_MONITOR_COLUMNS(X) };
#undef X
_Static_assert(N_COLUMNS == 26, "the columns above may have moved");

/* The cell of a line that ends in a newline; 0 = the line has no such cell. */
static long long cell(const char *line, int column)
{
    const char *end = strchr(line, '\n');
    for (; column > 0 && line && line < end; column--) {
        line = memchr(line, ',', (size_t)(end - line));
        line = line ? line + 1 : NULL;
    }
    return line && line < end ? strtoll(line, NULL, 10) : 0;
}

/* Reads the whole lines at the begin or the end of a rank's samples. text: shape (n), gets a NUL behind the last line
 */
static void read_lines(const struct pack *p, int rank, int is_end, char *text, size_t n)
{
    char name[64];
    snprintf(name, sizeof name, "rank%d/process_monitor.csv", rank);
    const struct archive_member *m = pack_member_named(p, name);
    int fd = m && m->path ? open(m->path, O_RDONLY | O_CLOEXEC) : -1;
    off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0, from = is_end && size >= (off_t)n ? size - (off_t)n + 1 : 0;
    ssize_t got = fd >= 0 ? pread(fd, text, n - 1, from) : 0;
    text[got > 0 ? got : 0] = '\0';
    if (fd >= 0)
        close(fd);
    char *last = strrchr(text, '\n');
    text[last ? last - text + 1 : 0] = '\0';
    char *first = from ? strchr(text, '\n') : NULL; /* the line before it has no begin */
    if (first)
        memmove(text, first + 1, strlen(first));
}

long pack_process_of(const struct pack *p, int rank)
{
    char text[4096];
    read_lines(p, rank, 0, text, sizeof text);
    const char *header = strchr(text, '\n');
    return header && header[1] ? (long)cell(header + 1, COLUMN_PID) : 0;
}

/* ---- who was first ---------------------------------------------------------------------------------- */

struct end {
    int64_t raised_ns; /* an exception reached the top of its program; 0 = none */
    int64_t exit_ns;   /* the end of its exit(); 0 = it did not call it */
    int64_t seen_ns;   /* last sample of any of its processes */
    int64_t ran_ns;    /* it still ran at this sample: a later one has all of its processes too */
};

/* The last sample may be of a process that has ended and was not waited for. When a rank was killed, samples of its
 * children may follow. */
static void read_samples(const struct pack *p, int rank, struct end *e)
{
    char text[4096];
    long long most = 0;
    int64_t whole_ns = 0;
    read_lines(p, rank, 1, text, sizeof text);
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        long long t_ns = cell(line, COLUMN_T), n = cell(line, COLUMN_PROCESSES);
        if (t_ns <= 0) /* the header */
            continue;
        e->seen_ns = t_ns;
        if (n < most)
            continue;
        most = n;
        e->ran_ns = whole_ns;
        whole_ns = t_ns;
    }
}

/* Samples are taken of all ranks at once. So a rank without a row had ended at the time of another rank's row. Two
 * exits within a tenth of a second do not tell which rank failed because of the other. Two exceptions do: a rank closes
 * its connections only after its exception, so the others fail later. If all failed alike, exceptions tell nothing. */
static int is_before(const struct end *a, const struct end *b)
{
    const int64_t clearly_ns = 100000000, alike_ns = 1000000;
    if (a->raised_ns && b->raised_ns)
        return b->raised_ns - a->raised_ns > alike_ns;
    if (b->raised_ns && b->raised_ns < a->seen_ns)
        return 0;
    if (a->raised_ns && a->raised_ns <= b->ran_ns)
        return 1;
    if (a->exit_ns && b->exit_ns)
        return a->exit_ns + clearly_ns < b->exit_ns;
    if (a->exit_ns)
        return a->exit_ns <= b->ran_ns;
    return a->seen_ns && a->seen_ns < b->ran_ns;
}

/* A rank that ended well is not the one that failed, and the others may have gone on without it. */
static int ended_well(const struct pack_rank *r)
{
    return pack_json_int(r->record, "exit_status", -1) == 0;
}

static int is_first(const struct pack *p, const struct end *ends, size_t i)
{
    int n_later = 0;
    for (size_t k = 0; k < p->n_ranks; k++) {
        if (k == i || ended_well(&p->ranks[k]))
            continue;
        if (!is_before(&ends[i], &ends[k]))
            return 0;
        n_later++;
    }
    return n_later > 0;
}

/* Times of several hosts cannot be compared to the millisecond. */
static int is_on_one_host(const struct pack *p)
{
    for (size_t i = 0; i < p->n_ranks; i++)
        if (!*p->ranks[i].host || strcmp(p->ranks[i].host, p->ranks[0].host) != 0)
            return 0;
    return 1;
}

/* Another rank gave the launcher's status to exit(), and nothing is known of the first one: it may have ended well. */
static int is_doubtful(const struct pack *p, const struct pack_rank *first)
{
    const int status = (int)pack_json_int(p->launcher, "exit_status", -1);
    if (json_object_get(first->record, "exit_status") || pack_json_int(first->record, "signal", 0))
        return 0;
    for (size_t i = 0; i < p->n_ranks; i++)
        if (&p->ranks[i] != first && p->ranks[i].exit_ns && status > 0 && p->ranks[i].exit_status == status)
            return 1;
    return 0;
}

const struct pack_rank *pack_first_to_end(const struct pack *p)
{
    const struct pack_rank *first = NULL;
    struct end *ends = is_on_one_host(p) ? calloc(p->n_ranks ? p->n_ranks : 1, sizeof *ends) : NULL;
    for (size_t i = 0; ends && i < p->n_ranks; i++) {
        ends[i].raised_ns = raised_ns(p, p->ranks[i].rank);
        ends[i].exit_ns = p->ranks[i].exit_ns;
        read_samples(p, p->ranks[i].rank, &ends[i]);
    }
    for (size_t i = 0; ends && i < p->n_ranks && !first; i++)
        if (!ended_well(&p->ranks[i]) && is_first(p, ends, i))
            first = &p->ranks[i];
    free(ends);
    return first && !is_doubtful(p, first) ? first : NULL;
}
