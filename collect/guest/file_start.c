/* file_start.c - see file.h. How a trace begins: whose it is, where it lies, its header; and who may begin one. */
#include "collect/guest/file.h"

#include "collect/guest/clock.h"
#include "collect/guest/kept.h"
#include "collect/guest/raw.h"
#include "collect/guest/room.h"
#include "collect/guest/window.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEFAULT_MAX_MB 64

int file_rank(void)
{
    /* As collect/rank.c has them: torchrun's own rank first, PyTorch's names by themselves last. A batch script has a
     * SLURM_PROCID too, which is that of no rank. */
    static const struct {
        const char *rank, *only_with;
    } variables[] = {
        {"RANK", "TORCHELASTIC_RUN_ID"},   {"OMPI_COMM_WORLD_RANK", NULL}, {"PMIX_RANK", NULL}, {"PMI_RANK", NULL},
        {"SLURM_PROCID", "SLURM_STEP_ID"}, {"RANK", "WORLD_SIZE"}};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *text = kept_env(variables[i].rank);
        if (!text || !*text || (variables[i].only_with && !kept_env(variables[i].only_with)))
            continue;
        char *end;
        long rank = strtol(text, &end, 10);
        if (*end == '\0' && rank >= 0 && rank < INT_MAX)
            return (int)rank;
    }
    return -1;
}

/* In whose folder the trace lies: a program without ranks is rank 0. */
static int rank_or_0(void)
{
    int rank = file_rank();
    return rank < 0 ? 0 : rank;
}

static uint64_t bytes_of_environment(const char *name, uint64_t default_mb)
{
    const char *text = kept_env(name);
    char *end;
    long n = text ? strtol(text, &end, 10) : 0;
    return (uint64_t)(n > 0 && n < (1l << 40) && *end == '\0' ? (uint64_t)n : default_mb) << 20;
}

/* A forked child inherits names that its own file does not define yet. */
static void define_all(struct process *p)
{
    struct names *n = &dcc_names;
    for (uint32_t i = 1; i < n->n_names; i++)
        n->name[i].generation = file_define(p, DCT_STRING, 0, i, n->name[i].text, n->name[i].len);
    for (uint32_t d = 1; d < n->n_domains; d++) {
        const struct name *text = &n->name[n->domain[d].name];
        n->domain[d].generation = file_define(p, DCT_DOMAIN, d, 0, text->text, text->len);
    }
    for (uint32_t i = 0; i < n->n_categories; i++) {
        const struct category *c = &n->category[i];
        const struct name *text = &n->name[c->name];
        file_define(p, DCT_CATEGORY, c->domain, c->id, text->text, text->len);
    }
    for (uint32_t i = 0; i < n->n_schemas; i++)
        file_define(p, DCT_SCHEMA, n->schema[i].domain, n->schema[i].id, n->schema[i].text, n->schema[i].len);
}

/* No descriptor is free: mknod creates an empty trace without one, so that the archive says that a process is missing.
 */
static void leave_empty(const char *spool, int rank)
{
    char path[PATH_MAX];
    struct stat st;
    snprintf(path, sizeof path, "%.4000s/rank%d", spool, rank);
    (void)mkdirat(AT_FDCWD, path, 0777);
    for (int attempt = 0; attempt < 1000; attempt++) {
        char suffix[16] = "";
        if (attempt)
            snprintf(suffix, sizeof suffix, "-%d", attempt);
        snprintf(path, sizeof path, "%.4000s/rank%d/trace-%ld%s.dct", spool, rank, (long)getpid(), suffix);
        if (syscall(SYS_mknodat, AT_FDCWD, path, S_IFREG | 0666, 0) == 0 || errno != EEXIST)
            return;
        if (stat(path, &st) == 0 && st.st_size == 0) /* an empty trace is already there */
            return;
    }
}

/* <spool>/rank<r>/trace-<pid>.dct; -<n> is appended when the name is taken: exec keeps the pid, and so may a
 * process of another container. */
static int create_file(const char *spool, int rank, char path[PATH_MAX])
{
    char name[64];
    int folder = kept_spool(spool), fd = -1;
    snprintf(name, sizeof name, "rank%d", rank);
    int is_there = folder >= 0 && (mkdirat(folder, name, 0777) == 0 || errno == EEXIST);
    for (int attempt = 0; is_there && fd < 0 && attempt < 1000; attempt++) {
        char suffix[16] = "";
        if (attempt)
            snprintf(suffix, sizeof suffix, "-%d", attempt);
        snprintf(name, sizeof name, "rank%d/trace-%ld%s.dct", rank, (long)getpid(), suffix);
        int n = snprintf(path, PATH_MAX, "%s/%s", spool, name);
        if (n < 0 || n >= PATH_MAX)
            break;
        fd = raw_openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    if (fd < 0 && (errno == EMFILE || errno == ENFILE))
        leave_empty(spool, rank);
    if (folder >= 0)
        raw_close(folder);
    return kept_move_high(fd);
}

static int write_header(struct process *p, int rank)
{
    if (!room_is_below_size_limit(2 * DCT_BLOCK_BYTES) || room_reserve(p->fd, 0, 2 * (off_t)DCT_BLOCK_BYTES) != 0)
        return -1;
    void *page = mmap(NULL, sizeof *p->header, PROT_READ | PROT_WRITE, MAP_SHARED, p->fd, 0);
    if (page == MAP_FAILED)
        return -1;
    p->n_blocks = 1;
    p->n_reserved = 2;
    struct dct_file_header *h = page;
    h->version = DCT_VERSION;
    h->block_bytes = DCT_BLOCK_BYTES;
    h->rank = rank;
    h->node = -1;
    h->pid = (uint32_t)getpid();
    gethostname(h->host, sizeof h->host - 1);
    h->mono_ns = dcr_clock_ns(CLOCK_MONOTONIC);
    h->real_ns = dcr_clock_ns(CLOCK_REALTIME);
    __atomic_store_n(&h->magic, DCT_MAGIC, __ATOMIC_RELEASE);
    /* From here on drops are counted in the file; those of signal handlers during all this were not. */
    __atomic_store_n(&p->header, h, __ATOMIC_RELEASE);
    uint64_t early = __atomic_exchange_n(&p->dropped_early, 0, __ATOMIC_ACQ_REL);
    __atomic_fetch_add(&h->dropped, early, __ATOMIC_RELAXED);
    if (early)
        file_incomplete(p, h->mono_ns);
    window_tell();
    return 0;
}

/* Of names: it is reserved ahead, which a limit on the address space (ulimit -v) counts as if it were used. */
static size_t text_bytes(const struct process *p)
{
    struct rlimit limit;
    uint64_t most = p->max_bytes / 2;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur / 16 < most)
        most = limit.rlim_cur / 16;
    return (size_t)most;
}

static int start_locked(struct process *p)
{
    const char *spool = kept_env("DCC_SPOOL");
    p->max_bytes = bytes_of_environment("DCC_MAX_MB", DEFAULT_MAX_MB);
    p->max_disk_bytes = bytes_of_environment("DCC_MAX_DISK_MB", 0);
    if (!spool || !*spool || names_init(&dcc_names, text_bytes(p)) != 0)
        return -1;
    int rank = rank_or_0();
    struct stat st;
    __atomic_store_n(&p->pid, getpid(), __ATOMIC_RELAXED);
    p->fd = create_file(spool, rank, p->path);
    if (p->fd < 0 || fstat(p->fd, &st) != 0)
        return -1;
    p->device = st.st_dev;
    p->inode = st.st_ino;
    p->is_in_memory = room_is_in_memory(p->fd);
    if (write_header(p, rank) != 0 || file_next_definitions(p) != 0)
        return -1;
    p->next_range_id = 1;
    define_all(p);
    if (p->state == FILE_OFF)
        return -1;
    __atomic_store_n(&p->epoch, ((uint64_t)getpid() << 32) + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&p->state, FILE_RECORDING, __ATOMIC_RELEASE);
    return 0;
}

int file_is_of_this_process(const struct process *p)
{
    return __atomic_load_n(&p->pid, __ATOMIC_RELAXED) == getpid();
}

int file_start(struct process *p)
{
    if (__atomic_load_n(&p->state, __ATOMIC_ACQUIRE) == FILE_FRESH) {
        int saved_errno = errno;
        pid_t of = __atomic_load_n(&p->pid, __ATOMIC_RELAXED);
        if (of && of != getpid())
            return 0; /* begun here, the parent's ranges would stand under the child's number */
        file_lock(p);
        if (p->state == FILE_FRESH && start_locked(p) != 0)
            __atomic_store_n(&p->state, FILE_OFF, __ATOMIC_RELEASE);
        file_unlock(p);
        errno = saved_errno;
    }
    return __atomic_load_n(&p->state, __ATOMIC_ACQUIRE) == FILE_RECORDING;
}

int file_open_user_note(void)
{
    const char *spool = kept_env("DCC_SPOOL");
    int folder = spool && *spool ? kept_spool(spool) : -1;
    if (folder < 0)
        return -1;
    /* Root opens it in a folder that others may write into. */
    int fd = raw_openat(folder, DCR_USER_NOTE_FILE, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
                        0666);
    raw_close(folder);
    return fd;
}

int file_folder_is_writable(const struct process *p)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(p->path, '/'), *spool = kept_env("DCC_SPOOL");
    if (slash && file_is_of_this_process(p))
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - p->path), p->path);
    else
        snprintf(folder, sizeof folder, "%s/rank%d", spool ? spool : "", rank_or_0());
    if (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) == 0)
        return 1;
    /* Of its rank nobody has made one yet. */
    return errno == ENOENT && spool && faccessat(AT_FDCWD, spool, W_OK | X_OK, AT_EACCESS) == 0;
}
