/* publish_guard.c - see publish_guard.h. Called by publish.c. Test: tests/unit/test_publish.c */
#include "render/site/publish/publish_guard.h"

#include "lib/base/fs.h"
#include "lib/base/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

int publish_read_whole(const char *path, size_t max, struct dcr_buf *out, struct dcr_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return dcr_err_file(err, DCR_FAIL, "cannot read '%s'", path);
    struct dcr_stream s = dcr_stream_fd(&fd, path);
    int rc = dcr_stream_slurp(&s, out, max, err);
    close(fd);
    return rc;
}

/* ---- signals: held back until the next file --------------------------------------------------------- */

static const int held[PUBLISH_SIGNALS] = {SIGINT, SIGTERM, SIGHUP, SIGXCPU};
static volatile sig_atomic_t came;

static void note_signal(int number)
{
    came = number;
}

void publish_hold_signals(struct publish *p)
{
    struct sigaction act = {.sa_handler = note_signal, .sa_flags = SA_RESTART};
    sigemptyset(&act.sa_mask);
    came = 0;
    for (size_t i = 0; i < sizeof held / sizeof *held; i++) {
        sigaction(held[i], NULL, &p->before[i]);
        if (p->before[i].sa_handler != SIG_IGN) /* nohup */
            sigaction(held[i], &act, NULL);
    }
    p->holds_signals = true;
}

void publish_release_signals(const struct publish *p)
{
    if (!p->holds_signals)
        return;
    for (size_t i = 0; i < sizeof held / sizeof *held; i++)
        sigaction(held[i], &p->before[i], NULL);
    if (came)
        raise(came);
    came = 0;
}

int publish_stopped_by(void)
{
    return came;
}

/* ---- the partial folder ------------------------------------------------------------------------------ */

static char *joined(const char *folder, const char *name)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

/* Lock the mark of a partial folder, a new one (O_CREAT) or another process's. returns  a descriptor; -1 with errno
 * EWOULDBLOCK (another process holds the lock) or ENOENT (there is no mark, or it was just removed) */
static int lock_of(const char *folder, int flags)
{
    struct stat st;
    char *path = joined(folder, PUBLISH_UNFINISHED);
    int fd = path ? open(path, flags | O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666) : -1;
    free(path);
    if (fd < 0)
        return -1;
    int is_held = flock(fd, LOCK_EX | LOCK_NB) != 0 && (errno == EWOULDBLOCK || !(flags & O_CREAT));
    if (is_held || fstat(fd, &st) != 0 || st.st_nlink == 0) {
        close(fd);
        errno = is_held ? EWOULDBLOCK : ENOENT;
        return -1;
    }
    return fd;
}

static void release_spare(struct publish *p)
{
    while (p->n_spare)
        close(p->spare[--p->n_spare]);
}

int publish_claim(struct publish *p, struct dcr_err *err)
{
    enum { TRIES = 100 };
    char folder[PATH_MAX];
    dcr_folder_of(p->out, folder, sizeof folder);
    for (; p->n_spare < PUBLISH_DEPTH; p->n_spare++)
        if ((p->spare[p->n_spare] = open("/", O_PATH | O_CLOEXEC)) < 0) {
            int rc = dcr_err_file(err, DCR_FAIL, "cannot write '%s'", p->out);
            release_spare(p);
            return rc;
        }
    for (long i = 0; i < TRIES; i++) { /* a process on another host may have the same number */
        char *partial = NULL;
        if (asprintf(&partial, "%s.%ld.partial", p->out, (long)getpid() + i) < 0)
            break;
        int is_made = mkdir(partial, 0777) == 0;
        p->lock = is_made ? lock_of(partial, O_CREAT | O_EXCL) : -1;
        if (p->lock >= 0) {
            p->partial = partial;
            return 0;
        }
        int is_taken = errno == EEXIST || errno == ENOENT || errno == EWOULDBLOCK, sys = errno;
        if (is_made)
            rmdir(partial);
        errno = sys;
        int rc = is_taken && i + 1 < TRIES ? 0 : dcr_err_file(err, DCR_FAIL, "cannot write into folder '%s'", folder);
        free(partial);
        if (rc) {
            release_spare(p);
            return rc;
        }
    }
    release_spare(p);
    return dcr_err_set(err, DCR_FATAL, "out of memory");
}

void publish_unlock(struct publish *p)
{
    release_spare(p);
    close(p->lock);
}

static int remove_folder(const char *path, struct dcr_err *err)
{
    static const char *const last[] = {PUBLISH_MARKER, PUBLISH_UNFINISHED};
    char **names = NULL;
    size_t n = 0;
    int rc = dcr_list_dir(path, &names, &n, err);
    for (size_t i = 0; !rc && i < n; i++) {
        char *inner = strcmp(names[i], last[0]) && strcmp(names[i], last[1]) ? joined(path, names[i]) : NULL;
        rc = inner ? dcr_remove_tree(inner, err) : 0;
        free(inner);
    }
    dcr_free_names(names, n);
    return rc && access(path, F_OK) == 0 ? rc : dcr_remove_tree(path, err); /* another process may have removed it */
}

int publish_remove(struct publish *p, struct dcr_err *err)
{
    release_spare(p);
    return remove_folder(p->partial, err);
}

/* ---- what a killed dcreport left --------------------------------------------------------------------- */

/* Is the name "<base>.<number>.partial", or, if the site exists, that of a former site that was moved aside? */
static bool is_partial(const char *name, const char *base, bool exists)
{
    size_t n = strlen(base);
    if (strncmp(name, base, n) != 0 || name[n] != '.')
        return false;
    const char *end = name + n + 1 + strspn(name + n + 1, "0123456789");
    return end > name + n + 1 && (strcmp(end, ".partial") == 0 || (exists && strcmp(end, PUBLISH_ASIDE) == 0));
}

/* A failure here does not prevent the report: the folder stays, and its name shows what it is. */
static void remove_leftover(const char *path)
{
    struct dcr_err ignored;
    int lock = lock_of(path, 0), is_free = lock >= 0;
    if (lock < 0 && errno == ENOENT && rmdir(path) != 0) { /* not an empty new folder: is it a former site? */
        char *marker = joined(path, PUBLISH_MARKER);
        is_free = marker && access(marker, F_OK) == 0;
        free(marker);
    }
    if (is_free && remove_folder(path, &ignored))
        errno = 0;
    if (lock >= 0)
        close(lock);
}

void publish_remove_leftovers(const char *out, bool exists)
{
    char **names = NULL;
    size_t n = 0;
    struct dcr_err ignored;
    const char *base = strrchr(out, '/') + 1;
    char *parent = strndup(out, (size_t)(base - out));
    if (parent && dcr_list_dir(parent, &names, &n, &ignored) == 0)
        for (size_t i = 0; i < n; i++) {
            char *path = is_partial(names[i], base, exists) ? joined(parent, names[i]) : NULL;
            if (path)
                remove_leftover(path);
            free(path);
        }
    dcr_free_names(names, n);
    free(parent);
}
