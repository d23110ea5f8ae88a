/* fs.c - see fs.h. */
#include "lib/base/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

int dcr_mkdirs(const char *path, struct dcr_err *err)
{
    if (mkdir(path, 0777) == 0) /* most often only the last one is missing */
        return DCR_OK;
    char *p = strdup(path);
    if (!p)
        return dcr_err_file(err, DCR_FATAL, "cannot create folder '%s'", path);
    int rc = 0;
    for (char *slash = p + 1;; slash++) {
        slash = strchr(slash, '/');
        if (slash)
            *slash = '\0';
        if (*p && mkdir(p, 0777) != 0 && errno != EEXIST) {
            rc = dcr_err_file(err, DCR_FAIL, "cannot create folder '%s'", p);
            break;
        }
        if (!slash)
            break;
        *slash = '/';
    }
    struct stat st;
    if (rc == 0 && (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)))
        rc = dcr_err_set(err, DCR_FAIL,
                         "cannot create folder '%s': a file of that name is in the way; choose another name", path);
    free(p);
    return rc;
}

int dcr_write_all(int fd, const void *bytes, size_t n)
{
    const char *at = bytes;
    while (n) {
        ssize_t k = write(fd, at, n);
        if (k < 0) {
            if (errno == EINTR)
                continue;
            return -1;
        }
        at += k;
        n -= (size_t)k;
    }
    return 0;
}

static int is_at(int fd, const char *path)
{
    struct stat opened, named;
    return fstat(fd, &opened) == 0 && stat(path, &named) == 0 && opened.st_dev == named.st_dev &&
           opened.st_ino == named.st_ino;
}

int dcr_check_is_file(const struct stat *st, const char *path, struct dcr_err *err)
{
    if (S_ISREG(st->st_mode) || S_ISDIR(st->st_mode))
        return DCR_OK;
    return dcr_err_set(err, DCR_FAIL, "cannot use '%s': it is a %s; write its content to a file and pass that file",
                       path, S_ISFIFO(st->st_mode) ? "pipe" : "device or socket");
}

int dcr_open_file(const char *what, const char *path, int *fd, struct dcr_err *err)
{
    struct stat st;
    *fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (*fd < 0 || fstat(*fd, &st) != 0) {
        int rc = dcr_err_file(err, DCR_FAIL, "cannot read %s '%s'", what, path);
        if (*fd >= 0)
            close(*fd);
        return rc;
    }
    int rc = dcr_check_is_file(&st, path, err);
    if (rc)
        close(*fd);
    return rc;
}

int dcr_open_partial(const char *path, const char *partial, int *fd, struct dcr_err *err)
{
    enum { MOST_TRIES = 100 }; /* is_at never holds on file systems without stable inode numbers */
    for (int tries = 1;; tries++) {
        *fd = open(partial, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
        if (*fd < 0)
            return dcr_err_file(err, DCR_FAIL, "cannot write '%s'", path);
        int is_busy = flock(*fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        if (!is_busy && (is_at(*fd, partial) || tries == MOST_TRIES))
            break;
        close(*fd);
        if (is_busy)
            return dcr_err_set(err, DCR_FAIL,
                               "cannot write '%s': another process is writing it; try again when that has ended", path);
        /* Between open and flock another process gave the partial file its final name. */
    }
    if (ftruncate(*fd, 0) == 0 || errno == EINVAL) /* EINVAL: not a plain file */
        return DCR_OK;
    int rc = dcr_err_file(err, DCR_FAIL, "cannot write '%s'", path);
    close(*fd);
    return rc;
}

/* Network file systems report failed writes at close. Closing a copy is enough, and the lock stays. */
static int has_arrived(int fd)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return copy >= 0 && close(copy) == 0;
}

int dcr_commit_file(int fd, const char *partial, const char *path, struct dcr_err *err)
{
    struct stat st;
    if (!has_arrived(fd))
        return dcr_err_file(err, DCR_FAIL, "cannot write '%s'", path);
    if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
        return dcr_err_set(err, DCR_FAIL, "cannot write '%s': it exists and is not a file; choose another name", path);
    if (rename(partial, path) != 0)
        return dcr_err_sys(err, DCR_FAIL, "cannot rename '%s' to '%s'", partial, path);
    (void)flock(fd, LOCK_UN); /* not by close: a child forked by another thread may hold a copy of the descriptor */
    return DCR_OK;
}

int dcr_sync_folder(const char *path, struct dcr_err *err)
{
    char folder[PATH_MAX];
    if (dcr_folder_of(path, folder, sizeof folder) != 0)
        return dcr_err_set(err, DCR_FAIL, "the name '%.200s...' is too long; choose a shorter one", path);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) /* EACCES: the folder may be writable but not readable */
        return errno == EACCES ? DCR_OK : dcr_err_sys(err, DCR_FAIL, "cannot sync the folder of '%s'", path);
    int rc = fsync(fd) == 0 || errno == EINVAL || errno == EROFS || errno == ENOTSUP
                 ? DCR_OK
                 : dcr_err_sys(err, DCR_FAIL, "cannot sync the folder of '%s'", path);
    close(fd);
    return rc;
}

int dcr_write_file(const char *path, const void *bytes, size_t n, struct dcr_err *err)
{
    char *partial = NULL;
    if (asprintf(&partial, "%s.partial", path) < 0)
        return dcr_err_set(err, DCR_FATAL, "out of memory writing '%s'", path);
    int fd, rc = dcr_open_partial(path, partial, &fd, err);
    if (rc)
        goto out;
    if (dcr_write_all(fd, bytes, n) != 0)
        rc = dcr_err_file(err, DCR_FAIL, "cannot write '%s'", path);
    if (rc == 0)
        rc = dcr_commit_file(fd, partial, path, err);
    if (rc)
        unlink(partial);
    close(fd);
out:
    free(partial);
    return rc;
}

const char *dcr_temporary_folder(void)
{
    const char *folder = getenv("TMPDIR");
    return folder && *folder ? folder : "/tmp";
}

/* For file systems without nameless files: creates a named file and removes its name at once. */
int dcr_open_nameless(const char *folder)
{
    char path[PATH_MAX];
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    int n = snprintf(path, sizeof path, "%s/.dcreport-XXXXXX", folder);
    if (n < 0 || (size_t)n >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

/* Removes the entry `name` of the folder `at`, whatever it is. */
static int remove_at(int at, const char *name, const char *shown, struct dcr_err *err)
{
    if (unlinkat(at, name, 0) == 0 || errno == ENOENT) /* ENOENT: another process removed it */
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return dcr_err_sys(err, DCR_FAIL, "cannot remove '%s'", shown);
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return 0;
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return dcr_err_sys(err, DCR_FAIL, "cannot remove '%s'", shown);
    }
    int rc = 0;
    for (struct dirent *e; rc == 0 && (e = readdir(dir));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        char *inner = NULL;
        if (asprintf(&inner, "%s/%s", shown, e->d_name) < 0) {
            rc = dcr_err_set(err, DCR_FATAL, "out of memory removing '%s'", shown);
            break;
        }
        rc = remove_at(dirfd(dir), e->d_name, inner, err);
        free(inner);
    }
    closedir(dir);
    if (rc == 0 && unlinkat(at, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
        rc = dcr_err_sys(err, DCR_FAIL, "cannot remove '%s'", shown);
    return rc;
}

int dcr_remove_tree(const char *path, struct dcr_err *err)
{
    static const char *const never[] = {"", "/", ".", ".."};
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        if (strcmp(path, never[i]) == 0)
            return dcr_err_set(err, DCR_FAIL, "refusing to remove '%s'", path);
    return remove_at(AT_FDCWD, path, path, err);
}

static int is_entry(const struct dirent *e)
{
    return strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

int dcr_list_dir(const char *path, char ***names, size_t *n, struct dcr_err *err)
{
    struct dirent **list;
    int found = scandir(path, &list, is_entry, by_bytes);
    if (found < 0)
        return dcr_err_file(err, errno == ENOMEM ? DCR_FATAL : DCR_FAIL, "cannot list folder '%s'", path);
    char **copy = calloc((size_t)found + 1, sizeof *copy);
    int is_whole = copy != NULL;
    for (int i = 0; i < found; i++) {
        if (copy)
            is_whole &= (copy[i] = strdup(list[i]->d_name)) != NULL;
        free(list[i]);
    }
    free(list);
    if (!is_whole) {
        dcr_free_names(copy, copy ? (size_t)found : 0);
        return dcr_err_set(err, DCR_FATAL, "out of memory listing '%s'", path);
    }
    *names = copy;
    *n = (size_t)found;
    return DCR_OK;
}

void dcr_free_names(char **names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(names[i]);
    free(names);
}

int dcr_ends_with(const char *name, const char *ending)
{
    size_t n = strlen(name), k = strlen(ending);
    return n >= k && strcmp(name + n - k, ending) == 0;
}

const char *dcr_last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int dcr_folder_of(const char *path, char *out, size_t n)
{
    const char *slash = strrchr(path, '/');
    int k = slash ? snprintf(out, n, "%.*s", slash == path ? 1 : (int)(slash - path), path) : snprintf(out, n, ".");
    return k < 0 || (size_t)k >= n ? -1 : 0;
}

int dcr_exe_dir(char *out, size_t n, struct dcr_err *err)
{
    ssize_t k = readlink("/proc/self/exe", out, n);
    if (k <= 0 || (size_t)k >= n)
        return dcr_err_sys(err, DCR_FAIL, "cannot find the program's own folder");
    out[k] = '\0';
    char *slash = strrchr(out, '/');
    if (slash)
        *slash = '\0';
    return 0;
}

int dcr_absolute(const char *path, char *out, size_t n, struct dcr_err *err)
{
    char here[PATH_MAX] = "";
    if (path[0] != '/' && !getcwd(here, sizeof here))
        return dcr_err_sys(err, DCR_FAIL, "cannot tell the current folder");
    int k = snprintf(out, n, "%s%s%s", here, path[0] == '/' ? "" : "/", path);
    if (k < 0 || (size_t)k >= n)
        return dcr_err_set(err, DCR_FAIL, "the name '%.200s...' is too long; choose a shorter one", path);
    return DCR_OK;
}

int dcr_resolve(const char *path, char *out, size_t n, struct dcr_err *err)
{
    char whole[PATH_MAX], folder[PATH_MAX];
    int rc = dcr_absolute(path, whole, sizeof whole, err);
    char *base = strrchr(whole, '/');
    if (rc)
        return rc;
    if (base == whole || !base[1] || strcmp(base, "/.") == 0 || strcmp(base, "/..") == 0) {
        snprintf(out, n, "%s", whole);
        return DCR_OK;
    }
    *base = '\0';
    if (!realpath(whole, folder))
        return dcr_err_file(err, DCR_FAIL, "cannot write '%s'", path);
    int k = snprintf(out, n, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder, base + 1);
    return k < 0 || (size_t)k >= n
               ? dcr_err_set(err, DCR_FAIL, "the name '%.200s...' is too long; choose a shorter one", path)
               : DCR_OK;
}
