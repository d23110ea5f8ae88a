/* room.c - see room.h. */
#include "collect/guest/room.h"

#include "collect/guest/raw.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Space is reserved for so many blocks at most at a time. */
#define GROW_BLOCKS 32
#define MAX_INTERRUPTS 100
/* Written blocks are handed to the disk so many at a time, at the latest. */
#define FLUSH_BLOCKS 64u

int room_reserve(int fd, off_t offset, off_t n)
{
    /* The program's own signals interrupt these calls (a profiler's timer, say); that is no full disk. */
    int rc, tries = 0;
    do
        rc = fallocate(fd, 0, offset, n);
    while (rc != 0 && errno == EINTR && ++tries < MAX_INTERRUPTS);
    if (rc == 0)
        return 0;
    if (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINTR)
        return -1;
    static const char zeros[4096];
    for (off_t done = 0; done < n;) {
        ssize_t k = raw_pwrite(fd, zeros, sizeof zeros - (size_t)(done % (off_t)sizeof zeros), offset + done);
        if (k > 0)
            done += k;
        else if (k == 0 || errno != EINTR)
            return -1;
    }
    return 0;
}

/* Beyond RLIMIT_FSIZE the kernel would send SIGXFSZ, which ends the program: look before growing. */
int room_is_below_size_limit(uint64_t n_bytes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || n_bytes <= limit.rlim_cur;
}

int room_is_in_memory(int fd)
{
    enum { TMPFS = 0x01021994 };
    const unsigned long ramfs = 0x858458f6ul;
    struct statfs fs;
    return fstatfs(fd, &fs) == 0 && ((unsigned long)fs.f_type == TMPFS || (unsigned long)fs.f_type == ramfs);
}

static uint64_t flush_step(const struct process *p)
{
    uint64_t quarter = p->max_bytes / 4 / DCT_BLOCK_BYTES, step = quarter < FLUSH_BLOCKS ? quarter : FLUSH_BLOCKS;
    return step ? step : 1;
}

/* What is written belongs to the disk: it is asked to take the blocks behind the last few, and to give back the memory
 * of those asked for before. Neither waits for the disk. Blocks still mapped are left: the disk would take them out of
 * the page tables, to be faulted in again. */
static void plan_flush(struct process *p, struct room_work *work)
{
    uint64_t end = p->window[0].first;
    for (size_t k = 1; k < ROOM_WINDOWS && p->window[k].base; k++)
        end = p->window[k].first;
    if (p->is_in_memory || end < p->n_asked + flush_step(p))
        return;
    work->flushed = p->n_flushed;
    work->asked = p->n_asked;
    work->end = end;
    p->n_flushed = p->n_asked;
    p->n_asked = end;
}

/* The block is put into the page cache by one write instead of a page at a time by faults: on ext4 that takes a third
 * of the time. The space is reserved already; failing costs only time. Writing several blocks at once costs more: the
 * kernel then keeps larger pieces, and looks through a whole one at every first touch of a page. */
void room_work(const struct room_work *work)
{
    static char zeros[DCT_BLOCK_BYTES]; /* not const: one page of memory serves for all of it */
    if (work->fd < 0)
        return;
    if (work->end > work->asked) {
        off_t flushed = (off_t)(work->flushed * DCT_BLOCK_BYTES), asked = (off_t)(work->asked * DCT_BLOCK_BYTES);
        (void)posix_fadvise(work->fd, flushed, asked - flushed, POSIX_FADV_DONTNEED);
        (void)sync_file_range(work->fd, asked, (off_t)(work->end * DCT_BLOCK_BYTES) - asked, SYNC_FILE_RANGE_WRITE);
    }
    if (!room_is_below_size_limit((work->block + 1) * DCT_BLOCK_BYTES))
        return;
    ssize_t n = raw_pwrite(work->fd, zeros, sizeof zeros, (off_t)(work->block * DCT_BLOCK_BYTES));
    struct dct_file_header *h = __atomic_load_n(&dcc_process->header, __ATOMIC_ACQUIRE);
    if (h && n > 0) /* the kernel counts these bytes as written by the program */
        __atomic_fetch_add(&h->own_bytes, (uint64_t)n, __ATOMIC_RELAXED);
}

/* Make sure that block number p->n_blocks is allocated on disk. */
static int grow(struct process *p)
{
    if (p->n_blocks < p->n_reserved)
        return 0;
    uint64_t more = p->n_reserved < GROW_BLOCKS ? p->n_reserved : GROW_BLOCKS;
    uint64_t max_blocks = p->max_bytes / DCT_BLOCK_BYTES;
    if ((p->is_in_memory && p->n_reserved + more > max_blocks) ||
        (p->max_disk_bytes && (p->n_reserved + more) * DCT_BLOCK_BYTES > p->max_disk_bytes))
        more = 1;
    for (; more; more = more > 1 ? 1 : 0) {
        if (room_is_below_size_limit((p->n_reserved + more) * DCT_BLOCK_BYTES) &&
            room_reserve(p->fd, (off_t)(p->n_reserved * DCT_BLOCK_BYTES), (off_t)(more * DCT_BLOCK_BYTES)) == 0) {
            p->n_reserved += more;
            return 0;
        }
    }
    return -1;
}

/* ---- mappings --------------------------------------------------------------------------------- */

static uint64_t bits(uint32_t from, uint32_t to)
{
    return (to < 64 ? UINT64_C(1) << to : 0) - (UINT64_C(1) << from);
}

static char *block_of(const struct window_of_file *w, uint32_t i)
{
    return w->base + (size_t)i * DCT_BLOCK_BYTES;
}

/* What is closed goes at once; blocks still open go one by one when they are given back. */
static void retire(struct window_of_file *w)
{
    for (uint32_t from = 0, to; w->base && from < w->n; from = to + 1) {
        for (to = from; to < w->n && !(w->is_open >> to & 1); to++)
            ;
        if (to > from)
            munmap(block_of(w, from), (size_t)(to - from) * DCT_BLOCK_BYTES);
    }
    w->base = NULL;
}

/* A window reaches beyond what is reserved, but no block of it is handed out before it is. */
static int open_window(struct process *p)
{
    uint64_t step = flush_step(p) / ROOM_WINDOWS, n = step < ROOM_WINDOW_BLOCKS ? step : ROOM_WINDOW_BLOCKS;
    void *base = MAP_FAILED;
    off_t at = (off_t)(p->n_blocks * DCT_BLOCK_BYTES);
    for (n = n ? n : 1; base == MAP_FAILED && n; n = n > 1 ? 1 : 0) {
        base = mmap(NULL, n * DCT_BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, p->fd, at);
        if (base != MAP_FAILED)
            break;
    }
    if (base == MAP_FAILED)
        return -1;
    retire(&p->window[ROOM_WINDOWS - 1]);
    memmove(&p->window[1], &p->window[0], (ROOM_WINDOWS - 1) * sizeof p->window[0]);
    p->window[0] =
        (struct window_of_file){.base = base, .first = p->n_blocks, .n = (uint32_t)n, .is_open = bits(0, (uint32_t)n)};
    return 0;
}

struct dct_block_header *room_next_block(struct process *p, struct room_work *work)
{
    struct window_of_file *w = &p->window[0];
    *work = (struct room_work){.fd = -1};
    if (grow(p) != 0)
        return NULL;
    if ((!w->base || p->n_blocks - w->first >= w->n) && open_window(p) != 0)
        return NULL;
    plan_flush(p, work);
    work->fd = p->fd;
    work->block = p->n_blocks++;
    return (struct dct_block_header *)(void *)block_of(w, (uint32_t)(work->block - w->first));
}

void room_give_back(struct process *p, struct dct_block_header *b)
{
    for (size_t k = 0; k < ROOM_WINDOWS; k++) {
        struct window_of_file *w = &p->window[k];
        size_t at = (size_t)((uintptr_t)b - (uintptr_t)w->base) / DCT_BLOCK_BYTES;
        if (w->base && (uintptr_t)b >= (uintptr_t)w->base && at < w->n) {
            w->is_open &= ~(UINT64_C(1) << at);
            return;
        }
    }
    munmap(b, DCT_BLOCK_BYTES);
}
