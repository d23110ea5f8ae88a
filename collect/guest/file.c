/* file.c - see file.h. The lock, blocks and definitions; how the file begins is in file_start.c. */
#include "collect/guest/file.h"

#include "collect/guest/clock.h"
#include "collect/guest/crc32c.h"
#include "collect/guest/forks.h"
#include "collect/guest/kept.h"
#include "collect/guest/mapped.h"
#include "collect/guest/raw.h"
#include "collect/guest/room.h"
#include "collect/guest/window.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a thread needs: a block and the tables of its track. */
#define TRACK_BYTES (DCT_BLOCK_BYTES + (32u << 10))
#define FULL_NOTE DCR_STOP_NOTE "the trace lies in memory and has reached the limit (--max-mb)"
#define DISK_NOTE DCR_STOP_NOTE "the trace reached its limit on disk (--max-disk-mb)"
#define SIZE_NOTE DCR_STOP_NOTE "the trace reached the limit on the size of files (ulimit -f)"
#define FILE_NOTE \
    DCR_STOP_NOTE \
    "the program closed the trace's descriptor, and no other descriptor above the standard streams was free"
#define ROOM_NOTE DCR_STOP_NOTE "the spool's disk is full, or over its quota"

struct names dcc_names;
struct process *dcc_process;

static void forget_in_child(void)
{
    if (dcc_process)
        memset(dcc_process, 0, sizeof *dcc_process);
}

__attribute__((constructor)) static void at_load(void)
{
    void *p = mmap(NULL, sizeof *dcc_process, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return;
    /* Kernels before 4.14 do not know the advice: a fork handler then does the same for fork(), if not for clone(). */
    if (madvise(p, sizeof *dcc_process, MADV_WIPEONFORK) != 0 && pthread_atfork(NULL, NULL, forget_in_child) != 0) {
        munmap(p, sizeof *dcc_process);
        return;
    }
    dcc_process = p;
    dcc_process->pid = getpid();
    kept_begin();
    const char *spool = getenv("DCC_SPOOL");
    if (spool && *spool) {
        clock_begin();
        window_begin();
        forks_begin();
        mapped_begin();
    }
}

struct process *file_process(void)
{
    return dcc_process;
}

/* ---- lock ------------------------------------------------------------------------------------- */

/* A thread may be cancelled in open(), pwrite() and others, and a signal handler may leave by siglongjmp(). With the
 * lock held, neither would release it, so both are blocked here. Signals that report our own errors are not blocked. */
void file_begin_guard(struct guard *g)
{
    static const int ours[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    sigset_t others;
    sigfillset(&others);
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        sigdelset(&others, ours[i]);
    pthread_sigmask(SIG_BLOCK, &others, &g->signals);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &g->cancel_state);
}

void file_end_guard(const struct guard *g)
{
    pthread_setcancelstate(g->cancel_state, NULL);
    pthread_sigmask(SIG_SETMASK, &g->signals, NULL);
}

int file_try_lock(struct process *p)
{
    struct guard g;
    file_begin_guard(&g);
    int failed = pthread_mutex_trylock(&p->lock);
    if (failed)
        file_end_guard(&g);
    else
        p->holder = g;
    return failed;
}

void file_lock(struct process *p)
{
    struct guard g;
    file_begin_guard(&g);
    pthread_mutex_lock(&p->lock);
    p->holder = g;
}

void file_unlock(struct process *p)
{
    struct guard g = p->holder;
    pthread_mutex_unlock(&p->lock);
    file_end_guard(&g);
}

static int is_ours(const struct process *p, int fd)
{
    struct stat st;
    return fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == p->device && st.st_ino == p->inode;
}

/* The program may have closed our descriptor (closefrom) and reused the number for a file of its own, which must be
 * neither written nor closed. The path may name another file by now. returns  0 with errno if the trace is not open */
static int fd_is_ours(struct process *p)
{
    if (is_ours(p, p->fd))
        return 1;
    int fd = kept_move_high(raw_open(p->path, O_RDWR | O_CLOEXEC));
    if (is_ours(p, fd)) {
        p->fd = fd;
        return 1;
    }
    if (fd >= 0) {
        raw_close(fd);
        errno = ENOENT;
    }
    p->fd = -1;
    return 0;
}

/* ---- memory ----------------------------------------------------------------------------------- */

int file_begin_track(struct process *p)
{
    file_lock(p);
    int fits = p->n_tracks == 0 || (p->n_tracks + 1) * TRACK_BYTES + dcc_names.text_used <= p->max_bytes;
    p->n_tracks += fits ? 1 : 0;
    file_unlock(p);
    return fits ? 0 : -1;
}

void file_end_track(struct process *p)
{
    file_lock(p);
    p->n_tracks--;
    file_unlock(p);
}

/* ---- blocks ----------------------------------------------------------------------------------- */

void file_incomplete(struct process *p, int64_t since_ns)
{
    struct dct_file_header *h = __atomic_load_n(&p->header, __ATOMIC_ACQUIRE);
    int64_t known = h ? __atomic_load_n(&h->incomplete_ns, __ATOMIC_RELAXED) : 0;
    if (since_ns == INT64_MAX && known == 0)
        since_ns = clock_system_ns();
    while (h && since_ns > 0 && (known == 0 || since_ns < known) &&
           !__atomic_compare_exchange_n(&h->incomplete_ns, &known, since_ns, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

static void stop(struct process *p)
{
    p->state = FILE_OFF;
    file_incomplete(p, INT64_MAX);
}

/* Why what comes from now on is dropped and counted. */
static void say_stop(struct process *p, const char *note)
{
    if (p->definitions && p->definitions->used_slots + 8 < FILE_SLOTS)
        file_define(p, DCT_NOTE, 0, 0, note, (uint32_t)strlen(note));
}

/* May the file have a further block? */
static int is_allowed(struct process *p)
{
    uint64_t bytes = (p->n_blocks + 1) * DCT_BLOCK_BYTES;
    int is_full = p->is_in_memory && bytes > p->max_bytes, is_over = p->max_disk_bytes && bytes > p->max_disk_bytes;
    if ((!is_full && !is_over) || p->n_blocks <= 2)
        return 1;
    say_stop(p, is_full ? FULL_NOTE : DISK_NOTE);
    return 0;
}

static struct dct_block_header *map_block(struct process *p, struct room_work *work)
{
    if (!is_allowed(p))
        return NULL;
    int has_fd = fd_is_ours(p);
    struct dct_block_header *b = has_fd ? room_next_block(p, work) : NULL;
    int why = errno;
    if (!has_fd && (why == EMFILE || why == ENFILE))
        say_stop(p, FILE_NOTE);
    else if (!b && !room_is_below_size_limit((p->n_blocks + 1) * DCT_BLOCK_BYTES))
        say_stop(p, SIZE_NOTE);
    else if (!b && (why == ENOSPC || why == EDQUOT))
        say_stop(p, ROOM_NOTE);
    return b;
}

static struct dct_block_header *map_block_at_once(struct process *p)
{
    struct room_work work;
    struct dct_block_header *b = map_block(p, &work);
    if (b)
        room_work(&work);
    return b;
}

void file_seal(struct dct_block_header *b)
{
    b->crc32c = dcc_crc32c(0, b + 1, (size_t)b->used_slots * DCT_SLOT_BYTES);
    __atomic_store_n(&b->state, DCT_BLOCK_SEALED, __ATOMIC_RELEASE);
}

void file_close_block(struct process *p, struct dct_block_header *b)
{
    if (!b)
        return;
    file_seal(b);
    pthread_mutex_lock(&p->lock);
    room_give_back(p, b);
    pthread_mutex_unlock(&p->lock);
}

static void begin_block(struct dct_block_header *b, uint32_t track, uint64_t seq)
{
    b->state = DCT_BLOCK_OPEN;
    b->track = track;
    b->seq = seq;
    __atomic_store_n(&b->magic, DCT_BLOCK_MAGIC, __ATOMIC_RELEASE);
}

int file_next_definitions(struct process *p)
{
    struct dct_block_header *b = map_block_at_once(p);
    if (!b)
        return -1;
    if (p->definitions) {
        file_seal(p->definitions);
        room_give_back(p, p->definitions);
    }
    begin_block(b, 0, p->definition_seq++);
    p->definitions = b;
    p->generation++;
    return 0;
}

uint32_t file_define(struct process *p, int kind, uint32_t domain, uint32_t name, const char *text, uint32_t len)
{
    if (p->state == FILE_OFF || !p->definitions)
        return 0;
    uint32_t n_text = (len + DCT_SLOT_BYTES - 1) / DCT_SLOT_BYTES;
    if (p->definitions->used_slots + 1 + n_text > FILE_SLOTS && file_next_definitions(p) != 0) {
        stop(p);
        return 0;
    }
    struct dct_block_header *b = p->definitions;
    b->state = DCT_BLOCK_OPEN; /* it may have been sealed at exit() and be used by a later destructor */
    struct dct_slot *s = (struct dct_slot *)(b + 1) + b->used_slots;
    s[0] = (struct dct_slot){.kind = (uint8_t)kind, .n_extra = (uint8_t)n_text, .domain = (uint16_t)domain};
    s[0].name = name;
    s[0].t_ns = (int64_t)len;
    if (n_text) {
        memset(&s[n_text], 0, sizeof *s);
        memcpy(s + 1, text, len);
    }
    __atomic_store_n(&b->used_slots, b->used_slots + 1 + n_text, __ATOMIC_RELEASE);
    return p->generation;
}

struct dct_slot *file_process_slots(struct process *p, uint32_t n)
{
    if (p->state != FILE_RECORDING)
        return NULL;
    if (!p->of_process || p->of_process->used_slots + n > FILE_SLOTS) {
        struct dct_block_header *b = map_block_at_once(p);
        if (!b) {
            stop(p);
            return NULL;
        }
        begin_block(b, DCT_TRACK_PROCESS, p->of_process_seq++);
        p->of_process = b;
    }
    return (struct dct_slot *)(p->of_process + 1) + p->of_process->used_slots;
}

void file_process_slots_done(struct process *p, uint32_t n)
{
    __atomic_store_n(&p->of_process->used_slots, p->of_process->used_slots + n, __ATOMIC_RELEASE);
}

struct dct_block_header *file_new_block(struct process *p, uint32_t track, uint64_t seq, uint64_t dropped,
                                        uint32_t *generation, uint64_t *epoch)
{
    int saved_errno = errno;
    struct dct_block_header *b = NULL;
    struct room_work work;
    pthread_mutex_lock(&p->lock);
    if (p->state == FILE_RECORDING) {
        b = map_block(p, &work);
        if (!b)
            stop(p);
    }
    *generation = p->generation;
    *epoch = p->epoch;
    pthread_mutex_unlock(&p->lock);
    if (b) {
        if (is_ours(p, work.fd)) /* looked at again: another thread of the program may have closed it just now */
            room_work(&work);
        b->dropped = dropped;
        begin_block(b, track, seq);
    }
    errno = saved_errno;
    return b;
}

/* The kernel's totals of what the process read and wrote. stdio flushes its buffers later, so those bytes are missing.
 */
static void keep_io_totals(struct dct_file_header *h)
{
    static const char *const names[DCT_N_IO_TOTALS] = {
#define X(id, kernel, column) [id] = kernel ": ",
        DCT_IO_TOTALS(X)
#undef X
    };
    char text[512];
    int fd = raw_open("/proc/self/io", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : raw_read(fd, text, sizeof text - 1);
    if (fd >= 0)
        raw_close(fd);
    if (n <= 0)
        return;
    text[n] = '\0';
    for (int i = 0; i < DCT_N_IO_TOTALS; i++) {
        const char *at = strstr(text, names[i]);
        h->io[i] = at ? strtoull(at + strlen(names[i]), NULL, 10) : 0;
    }
}

/* At exit() the definitions get their checksum and the space reserved ahead goes back. Threads that still run keep
 * their blocks open, which readers accept; a later event simply goes on. */
__attribute__((destructor)) static void at_exit(void)
{
    struct process *p = dcc_process;
    if (!p || !p->header || file_try_lock(p) != 0)
        return;
    keep_io_totals(p->header);
    if (p->state != FILE_RECORDING) {
        file_unlock(p);
        return;
    }
    file_seal(p->definitions);
    if (fd_is_ours(p) && ftruncate(p->fd, (off_t)(p->n_blocks * DCT_BLOCK_BYTES)) == 0)
        p->n_reserved = p->n_blocks;
    file_unlock(p);
}
