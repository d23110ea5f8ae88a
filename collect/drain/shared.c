/* shared.c - see shared.h. */
#include "collect/drain/shared.h"

#include "collect/record/meta.h"
#include "collect/record/procfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define FOLDER "/dev/shm"
#define CLOCK_SOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"
enum { PAGE = 4096, LEAST_BYTES = 512 << 10 };

/* ---- size ------------------------------------------------------------------------------------- */

static int64_t number_in(const char *path)
{
    char text[64], *end;
    if (procfs_read(path, text, sizeof text, NULL) < 0)
        return 0;
    long long n = strtoll(text, &end, 10); /* "max" is not a number */
    return end != text && n > 0 ? n : 0;
}

static int64_t less(int64_t a, int64_t b)
{
    return b > 0 && b < a ? b : a;
}

/* The smallest limit of this control group, those around it (version 2 or 1), and the machine. */
static int64_t memory_limit(void)
{
    char text[4096], path[4400];
    uint64_t total_kb = 0;
    int64_t limit = INT64_MAX;
    if (procfs_read("/proc/meminfo", text, sizeof text, NULL) > 0 && procfs_field(text, "MemTotal", &total_kb) == 0)
        limit = (int64_t)total_kb * 1024;
    limit = less(limit, number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
    if (procfs_read("/proc/self/cgroup", text, sizeof text, NULL) < 0)
        return limit;
    char *group = strstr(text, "0::/");
    if (!group)
        return limit;
    group += 3;
    group[strcspn(group, "\n")] = '\0';
    for (char *end = group + strlen(group); end >= group; end--)
        if (*end == '/' || *end == '\0') {
            *end = '\0';
            snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.max", group);
            limit = less(limit, number_in(path));
        }
    return limit;
}

int64_t shared_bytes(int wanted_mb, int n_local, int n_below)
{
    int64_t wanted = ((int64_t)wanted_mb << 20) * n_below, most = memory_limit() / 100 / n_local;
    wanted = less(wanted, most);
    wanted = less(wanted, INT64_C(1) << 32);
    return (wanted < LEAST_BYTES ? LEAST_BYTES : wanted) / PAGE * PAGE;
}

/* ---- layout ----------------------------------------------------------------------------------- */

static uint64_t take(uint64_t *at, uint64_t n_bytes)
{
    uint64_t here = *at;
    *at = (here + n_bytes + 63) / 64 * 64;
    return here;
}

/* About a fifth is for tables, the rest for blocks. */
static void lay_out(struct segment *s, uint64_t bytes)
{
    uint64_t at = (sizeof *s + 63) / 64 * 64, mb16 = bytes / (64 << 10);
    s->begin.bytes = bytes;
    s->n_processes = (uint32_t)(mb16 < 8 ? 8 : mb16 > 512 ? 512 : mb16);
    s->max_names = 1024;
    while (s->max_names < bytes / 512 && s->max_names < SEGMENT_INLINE_NAMES)
        s->max_names *= 2;
    s->table_mask = 2 * s->max_names - 1;
    s->max_said = s->max_names / 4;
    s->text_bytes = (uint64_t)s->max_names * 48;
    s->processes_at = take(&at, s->n_processes * sizeof(struct segment_process));
    s->names_at = take(&at, s->max_names * sizeof(struct segment_name));
    s->table_at = take(&at, 2 * (uint64_t)s->max_names * sizeof(uint32_t));
    s->domains_at = take(&at, SEGMENT_DOMAINS * sizeof(uint32_t));
    s->said_at = take(&at, s->max_said * sizeof(struct segment_said));
    s->text_at = take(&at, s->text_bytes);
    s->states_at = take(&at, bytes / SEGMENT_BLOCK_BYTES * sizeof(uint32_t));
    s->blocks_at = (at + PAGE - 1) / PAGE * PAGE;
    s->n_blocks = (uint32_t)((bytes - s->blocks_at) / SEGMENT_BLOCK_BYTES);
}

/* The counter is invariant, and the kernel itself uses it as its clock. */
static int tsc_is_sound(void)
{
#if defined(__x86_64__)
    char name[32];
    unsigned a, b, c, d;
    const char *wish = getenv("DCC_CLOCK");
    return !(wish && strcmp(wish, "monotonic") == 0) && __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d >> 8 & 1) &&
           procfs_read(CLOCK_SOURCE, name, sizeof name, NULL) > 0 && strncmp(name, "tsc\n", 4) == 0;
#else
    return 0;
#endif
}

static void fill(struct segment *s, uint64_t bytes, uint64_t token, const char *left)
{
    static const char overflow[] = "(more names than the collector keeps)";
    lay_out(s, bytes);
    s->token = token;
    s->begin.has_tsc = (uint32_t)tsc_is_sound();
    meta_host_name(s->host, sizeof s->host);
    snprintf(s->left, sizeof s->left, "%s", left);
    /* There is no name 0. Name 1 stands for every name that finds no room. */
    s->n_names = 2;
    s->text_used = 1 + sizeof overflow;
    memcpy((char *)segment_at(s, s->text_at) + 1, overflow, sizeof overflow);
    segment_names(s)[SEGMENT_OVERFLOW] = (struct segment_name){.text_at = 1, .len = sizeof overflow - 1};
    __atomic_store_n(&s->begin.magic, SEGMENT_MAGIC, __ATOMIC_RELEASE);
}

/* ---- making the segment ----------------------------------------------------------------------- */

/* Reserves a file with all its pages, or none. */
static int reserve(struct shared *out, int64_t bytes)
{
    if (out->fd >= 0 && fallocate(out->fd, 0, 0, bytes) == 0)
        return 0;
    int why = errno;
    if (out->fd >= 0) {
        if (!out->is_nameless)
            unlink(out->path);
        close(out->fd);
    }
    out->fd = -1;
    errno = why;
    return -1;
}

static int make_file(struct shared *out, int64_t bytes, uint64_t token)
{
    snprintf(out->path, sizeof out->path, FOLDER "/dccollect-%ld-%ld-%08lx", (long)getuid(), (long)getpid(),
             (unsigned long)(token & 0xffffffff));
    out->is_nameless = 0;
    out->fd = open(out->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (reserve(out, bytes) == 0)
        return 0;
    out->is_nameless = 1;
    out->fd = memfd_create("dccollect", MFD_CLOEXEC);
    snprintf(out->path, sizeof out->path, "/proc/%ld/fd/%d", (long)getpid(), out->fd);
    return reserve(out, bytes);
}

/* The pages before n_names become private copies, each detached from the file by a store. */
static int own_header(struct shared *s)
{
    enum { N = offsetof(struct segment, n_names) };
    volatile char *head = mmap(s->segment, N, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE, s->fd, 0);
    if (head == MAP_FAILED)
        return -1;
    for (size_t i = 0; i < N; i += PAGE)
        head[i] = head[i];
    return 0;
}

int shared_make(struct shared *out, int64_t bytes, const char *left, struct dcr_err *err)
{
    uint64_t token = 0;
    *out = (struct shared){.fd = -1};
    if (getrandom(&token, sizeof token, 0) != (ssize_t)sizeof token)
        return dcr_err_sys(err, DCR_FAIL, "no random number for the name of the shared memory");
    int64_t wanted = bytes;
    while (make_file(out, bytes, token) != 0 && bytes > LEAST_BYTES)
        bytes = bytes / 2 < LEAST_BYTES ? LEAST_BYTES : bytes / 2 / PAGE * PAGE;
    if (out->fd < 0)
        return dcr_err_sys(err, DCR_FAIL,
                           "cannot get %lld KB to %lld KB of shared memory, neither in " FOLDER " nor without a name",
                           (long long)LEAST_BYTES / 1024, (long long)wanted / 1024);
    /* Another collector that sweeps (shared_sweep) may hold the lock for a moment. */
    for (int i = 0; i < 1000 && flock(out->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; i++)
        usleep(1000);
    void *all = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, out->fd, 0);
    if (all == MAP_FAILED) {
        int rc = dcr_err_sys(err, DCR_FAIL, "cannot map %lld KB of shared memory", (long long)bytes / 1024);
        shared_close(out, 1);
        return rc;
    }
    out->segment = all;
    out->bytes = (size_t)bytes;
    fill(all, (uint64_t)bytes, token, left);
    if (own_header(out) == 0)
        return DCR_OK;
    dcr_err_sys(err, DCR_FAIL, "cannot map the header of the shared memory");
    shared_close(out, 1);
    return DCR_FAIL;
}

/* Checks that everything the drain relies on lies inside the segment. */
static int is_sound(const struct segment *s, uint64_t bytes)
{
    struct segment same;
    memset(&same, 0, sizeof same); /* also what lies between its members */
    if (bytes < LEAST_BYTES || s->begin.magic != SEGMENT_MAGIC || s->begin.bytes != bytes)
        return 0;
    lay_out(&same, bytes);
    return memcmp(&s->n_blocks, &same.n_blocks, offsetof(struct segment, token) - offsetof(struct segment, n_blocks)) ==
           0;
}

int shared_find(struct shared *out, const char *path, uint64_t token, struct dcr_err *err)
{
    struct stat st = {0};
    *out = (struct shared){.fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)};
    snprintf(out->path, sizeof out->path, "%s", path);
    if (out->fd < 0)
        return errno == ENOENT ? DCR_END : dcr_err_file(err, DCR_FAIL, "cannot open '%s'", path);
    if (flock(out->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        shared_close(out, 0);
        return dcr_err_set(err, DCR_FAIL,
                           "a collector still records through '%s'; pack again when the program has ended", path);
    }
    void *all = fstat(out->fd, &st) != 0 || st.st_size < LEAST_BYTES || st.st_uid != geteuid()
                    ? MAP_FAILED
                    : mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, out->fd, 0);
    out->segment = all == MAP_FAILED ? NULL : all;
    out->bytes = (size_t)st.st_size;
    if (!out->segment || own_header(out) != 0 || !is_sound(out->segment, out->bytes) || out->segment->token != token) {
        shared_close(out, 0);
        return dcr_err_set(err, DCR_FAIL, "'%s' is not the shared memory that the spool names", path);
    }
    return DCR_OK;
}

void shared_sweep(void)
{
    char begin[64], path[400];
    const struct dirent *e;
    DIR *d = opendir(FOLDER);
    snprintf(begin, sizeof begin, "dccollect-%ld-", (long)getuid());
    while (d && (e = readdir(d)) != NULL) {
        static struct segment head;
        if (strncmp(e->d_name, begin, strlen(begin)) != 0)
            continue;
        snprintf(path, sizeof path, FOLDER "/%s", e->d_name);
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && pread(fd, &head, sizeof head, 0) == (ssize_t)sizeof head &&
            head.begin.magic == SEGMENT_MAGIC && memchr(head.left, '\0', sizeof head.left) &&
            access(head.left, F_OK) != 0 && errno == ENOENT)
            unlink(path);
        if (fd >= 0)
            close(fd);
    }
    if (d)
        closedir(d);
}

void shared_close(struct shared *s, int is_removed)
{
    if (s->segment)
        munmap(s->segment, s->bytes);
    if (s->fd >= 0 && is_removed && !s->is_nameless)
        unlink(s->path);
    if (s->fd >= 0)
        close(s->fd);
    *s = (struct shared){.fd = -1};
}
