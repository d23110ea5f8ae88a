/* files.c - see files.h. */
#include "collect/guest/io/files.h"

#include "collect/guest/names.h"
#include "collect/guest/near.h"
#include "collect/guest/process.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define N_SLOTS (2 * FILES_MAX)
#define DEFAULT_THRESHOLD_US 100

struct files *files;
NEAR int64_t files_threshold_ns;

NEAR static int is_wanted;

static void forget_in_child(void)
{
    if (files)
        memset(files, 0, sizeof *files);
}

/* Reads a whole number below 10^9; 0 if the text is not one. It replaces strtol(), whose tables would cost a page
 * fault. */
static int64_t number_of(const char *text)
{
    int64_t n = 0;
    for (; text && *text >= '0' && *text <= '9' && n < 1000000000; text++)
        n = 10 * n + (*text - '0');
    return text && !*text && n < 1000000000 ? n : 0;
}

int files_begin(void)
{
    const char *text = getenv("DCC_IO_US");
    int64_t us = number_of(text);
    /* mpirun and similar launchers read their own configuration, but only the ranks of a job are of interest. */
    int is_launcher = getenv("DCC_RANKS_ONLY") && process_rank_at_load < 0;
    if (!dcc_guest_is_wanted() || (text && strcmp(text, "off") == 0) || is_launcher ||
        (!process_is_wiped && pthread_atfork(NULL, NULL, forget_in_child) != 0))
        return -1;
    files_threshold_ns = 1000 * (us > 0 ? us : DEFAULT_THRESHOLD_US);
    is_wanted = 1;
    return 0;
}

/* Memory is made at the first call, since most small programs make none. Kernels before 4.14 do not zero it in a
 * child. */
static int begin_files(void)
{
    int saved_errno = errno;
    struct files *mine, *none = NULL;
    mine = mmap(NULL, sizeof *files, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    int is_mapped = mine != MAP_FAILED;
    /* If a sandbox came after load, nothing would forget them in a child. */
    int is_forgotten = is_mapped && (madvise(mine, sizeof *mine, MADV_WIPEONFORK) == 0 || !process_is_wiped);
    int is_first =
        is_forgotten && __atomic_compare_exchange_n(&files, &none, mine, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    if (is_mapped && !is_first)
        munmap(mine, sizeof *mine);
    clock_begin();
    errno = saved_errno;
    if (!is_forgotten)
        is_wanted = 0;
    return is_forgotten;
}

int files_is_on(void)
{
    return is_wanted && (__atomic_load_n(&files, __ATOMIC_ACQUIRE) || begin_files());
}

/* ---- descriptor -> file ------------------------------------------------------------------------ */

/* An entry with that path that is not in the table yet. returns FILES_MAX: no room */
static uint32_t new_file(const char *path, uint32_t bytes, uint32_t hash)
{
    if (__atomic_load_n(&files->n_files, __ATOMIC_RELAXED) + 1 >= FILES_MAX ||
        __atomic_load_n(&files->path_used, __ATOMIC_RELAXED) + bytes > FILES_PATH_BYTES - sizeof FILES_OVERFLOW)
        return FILES_MAX;
    size_t at = __atomic_fetch_add(&files->path_used, bytes, __ATOMIC_RELAXED);
    uint32_t i = __atomic_fetch_add(&files->n_files, 1, __ATOMIC_RELAXED);
    if (i >= FILES_MAX || at + bytes > FILES_PATH_BYTES)
        return FILES_MAX;
    files->file[i].hash = hash;
    __atomic_store_n(&files->file[i].path, memcpy(files->paths + at, path, bytes), __ATOMIC_RELEASE);
    return i;
}

/* Index of the file of that name, made when it is new. Files that find no room share the last entry. */
static uint32_t file_of_path(const char *path)
{
    uint32_t len, hash = names_hash(path, PATH_MAX, &len), mine = FILES_MAX;
    for (uint32_t i = hash % N_SLOTS;; i = (i + 1) % N_SLOTS) { /* at most half of the slots are ever used */
        uint16_t known = __atomic_load_n(&files->slot[i], __ATOMIC_ACQUIRE);
        if (!known) {
            if (mine == FILES_MAX && (mine = new_file(path, len + 1, hash)) == FILES_MAX) {
                __atomic_store_n(&files->file[FILES_MAX - 1].path, FILES_OVERFLOW, __ATOMIC_RELEASE);
                return FILES_MAX - 1;
            }
            if (__atomic_compare_exchange_n(&files->slot[i], &known, (uint16_t)(mine + 1), 0, __ATOMIC_ACQ_REL,
                                            __ATOMIC_ACQUIRE))
                return mine;
        }
        const struct file *f = &files->file[known - 1];
        if (f->hash == hash && strcmp(f->path, path) == 0)
            return known - 1u;
    }
}

static int begins_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static uint16_t look_up(int fd)
{
    char link[32], path[PATH_MAX];
    struct stat st;
    /* A child of vfork() shares its parent's memory, but not its descriptors: its files must not enter this table. */
    pid_t pid = getpid(), nobody = 0;
    if (__atomic_compare_exchange_n(&files->pid, &nobody, pid, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        nobody = pid;
    if (nobody != pid)
        return FD_UNKNOWN;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return FD_NOT_FOLLOWED;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n <= 0)
        return FD_NOT_FOLLOWED;
    path[n] = '\0';
    if (path[0] != '/' || begins_with(path, "/proc/") || begins_with(path, "/sys/") || begins_with(path, "/dev/"))
        return FD_NOT_FOLLOWED;
    return (uint16_t)(FD_FIRST_FILE + file_of_path(path));
}

struct file *files_known(int fd)
{
    struct files *all = __atomic_load_n(&files, __ATOMIC_ACQUIRE);
    if (!all || (unsigned)fd >= FILES_DESCRIPTORS)
        return NULL;
    uint16_t what = __atomic_load_n(&all->fd[fd].what, __ATOMIC_RELAXED);
    return what >= FD_FIRST_FILE ? &all->file[what - FD_FIRST_FILE] : NULL;
}

struct file *files_of(int fd)
{
    if ((unsigned)fd >= FILES_DESCRIPTORS)
        return NULL;
    struct descriptor *d = &files->fd[fd];
    if (__atomic_load_n(&d->what, __ATOMIC_RELAXED) == FD_UNKNOWN) {
        int saved_errno = errno;
        __atomic_store_n(&d->what, look_up(fd), __ATOMIC_RELAXED);
        errno = saved_errno;
    }
    struct file *f = files_known(fd);
    if (f)
        __atomic_store_n(&d->sums, __atomic_load_n(&f->sums, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
    return f;
}

void files_forget(unsigned from, unsigned to)
{
    struct files *all = __atomic_load_n(&files, __ATOMIC_ACQUIRE);
    for (unsigned fd = from; all && fd <= to && fd < FILES_DESCRIPTORS; fd++) {
        struct descriptor *d = &all->fd[fd];
        if (!__atomic_load_n(&d->what, __ATOMIC_RELAXED))
            continue;
        __atomic_store_n(&d->sums, NULL, __ATOMIC_RELAXED);
        __atomic_store_n(&d->what, FD_UNKNOWN, __ATOMIC_RELAXED);
    }
}

/* ---- sums -------------------------------------------------------------------------------------- */

/* Moves sums from before the trace began into it. Threads that still add to the early sums are caught by the next call,
 * or at exit. */
static void move_early(struct file *f)
{
    for (int kind = 0; kind < DCT_N_IO; kind++) {
        struct dct_io *e = &f->early[kind];
        uint64_t n = __atomic_exchange_n(&e->n, 0, __ATOMIC_RELAXED);
        uint64_t bytes = __atomic_exchange_n(&e->bytes, 0, __ATOMIC_RELAXED);
        uint64_t ns = __atomic_exchange_n(&e->ns, 0, __ATOMIC_RELAXED);
        if (n | bytes | ns)
            files_add(&f->sums[kind], n, bytes, ns, __atomic_load_n(&e->max_ns, __ATOMIC_RELAXED));
    }
}

/* is_last: do not wait for a thread that left this code by siglongjmp(). */
static void bring_into_trace(struct file *f, int is_last)
{
    if (!__atomic_load_n(&f->sums, __ATOMIC_ACQUIRE)) {
        if (__atomic_exchange_n(&f->is_taken, 1, __ATOMIC_ACQ_REL) && !is_last)
            return; /* another thread is working on it; meanwhile calls are added to early */
        struct dct_io *sums = dcc_guest_file(f->path, &f->name);
        __atomic_store_n(&f->sums, sums, __ATOMIC_RELEASE);
        if (!sums) /* no room now, but perhaps later */
            __atomic_store_n(&f->is_taken, 0, __ATOMIC_RELEASE);
    }
    if (f->sums)
        move_early(f);
}

static int is_due(const struct file *f, int is_long, uint64_t bytes)
{
    if (__atomic_load_n(&f->sums, __ATOMIC_RELAXED))
        return 0;
    return is_long || dcc_guest_is_recording() ||
           __atomic_add_fetch(&files->early_bytes, bytes, __ATOMIC_RELAXED) >= FILES_QUIET_BYTES;
}

void files_count(struct file *f, int kind, const char *call, int64_t start_ns, int64_t end_ns, uint64_t bytes)
{
    if (dcc_window_is_used && !(end_ns ? window_part(&start_ns, &end_ns) : window_is_open(dcc_guest_now())))
        return;
    int64_t ns = end_ns ? end_ns - start_ns : 0;
    int is_long = ns >= files_threshold_ns, saved_errno = errno;
    if (is_due(f, is_long, bytes))
        bring_into_trace(f, 0);
    struct dct_io *sums = __atomic_load_n(&f->sums, __ATOMIC_ACQUIRE);
    if (is_long && sums)
        dcc_guest_span(DCC_FILE_CALL, call, start_ns, end_ns, bytes, f->name);
    else
        files_add(sums ? &sums[kind] : &f->early[kind], 1, bytes, (uint64_t)ns, (uint64_t)ns);
    errno = saved_errno;
}

/* If the trace began after the last call on a file, the early sums are moved here. */
__attribute__((destructor)) static void at_exit(void)
{
    if (!files || !dcc_guest_is_recording())
        return;
    for (uint32_t i = 0; i < FILES_MAX; i++)
        if (files->file[i].path)
            bring_into_trace(&files->file[i], 1);
}
