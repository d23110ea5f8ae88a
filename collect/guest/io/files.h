/* files.h - maps descriptors to files, and sums up their calls. Called by io/calls.c.
 *
 * Regular files are followed; pipes, sockets, devices, /proc, /sys and /dev are not. A process leaves no trace if it
 * moved less than FILES_QUIET_BYTES, made no long call and was not recorded for another reason. The many small
 * helpers of a job (shells, cat) would only be noise. All of this is in memory that is zeroed in a forked child. */
#ifndef DCC_IO_FILES_H
#define DCC_IO_FILES_H

#include "collect/guest/clock.h"
#include "collect/guest/guest.h"
#include "collect/guest/window.h"
#include "lib/archive/format.h"

#include <stddef.h>
#include <stdint.h>

#define FILES_QUIET_BYTES (1u << 20)
#define FILES_MAX 4096u
#define FILES_OVERFLOW "(more files than the collector keeps)"

#define FILES_DESCRIPTORS 65536u
#define FILES_PATH_BYTES (1u << 20)
enum { FD_UNKNOWN = 0, FD_NOT_FOLLOWED = 1, FD_FIRST_FILE = 2 };

struct file {
    struct dct_io *sums;           /* in the trace, once there is one */
    struct dct_io early[DCT_N_IO]; /* before there is a trace */
    const char *path;              /* stored last */
    uint32_t hash, name;           /* name: the path's number in the trace */
    uint32_t is_taken;             /* a thread is about to set sums */
};

/* The data that every call reads. */
struct descriptor {
    struct dct_io *sums; /* sums of its file, once files_of has found them */
    uint16_t what;       /* FD_*, or FD_FIRST_FILE + index */
};

/* There is no lock, because a thread may be killed, interrupted or left by siglongjmp() anywhere. Two threads that open
 * the same new file at the same time may use two entries. The collector calls no function that is interposed here. */
struct files {
    struct descriptor fd[FILES_DESCRIPTORS];
    pid_t pid;                    /* process of these descriptors; 0: a forked child that has not used them yet */
    uint16_t slot[2 * FILES_MAX]; /* index + 1, open addressing by path */
    struct file file[FILES_MAX];
    uint32_t n_files;
    uint64_t early_bytes;
    size_t path_used;
    char paths[FILES_PATH_BYTES];
};

extern struct files *files;        /* NULL: no call was observed yet */
extern int64_t files_threshold_ns; /* set at load */

/** files_begin - call at load. returns 0, or -1 when nothing is to be observed in this process */
int files_begin(void);
/** files_is_on - is this call to be observed? */
int files_is_on(void);
/** files_of - the file of a descriptor; NULL: not followed. Keeps errno. */
struct file *files_of(int fd);
/** files_known - the same without a look-up: NULL if files_of was never called for it. */
struct file *files_known(int fd);
/** files_forget - the descriptors from..to get a new meaning from now on. */
void files_forget(unsigned from, unsigned to);

/** files_count - one call of kind DCT_IO_*, from start_ns to end_ns: a span when it took longer than the threshold
 *  (DCC_IO_US), else part of the file's sums. end_ns 0: not timed. Keeps errno. */
void files_count(struct file *f, int kind, const char *call, int64_t start_ns, int64_t end_ns, uint64_t bytes);

/** files_add - adds to sums that several threads use. Each addition is one instruction, so a signal handler may
 * interrupt between them. */
static inline void files_add(struct dct_io *io, uint64_t n, uint64_t bytes, uint64_t ns, uint64_t max_ns)
{
    __atomic_fetch_add(&io->n, n, __ATOMIC_RELAXED);
    __atomic_fetch_add(&io->bytes, bytes, __ATOMIC_RELAXED);
    __atomic_fetch_add(&io->ns, ns, __ATOMIC_RELAXED);
    uint64_t known = __atomic_load_n(&io->max_ns, __ATOMIC_RELAXED);
    while (max_ns > known &&
           !__atomic_compare_exchange_n(&io->max_ns, &known, max_ns, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

/* The usual call has a file with sums in the trace and takes a short time. It reads little memory, because a system
 * call may have emptied the processor's page table cache. */

/** files_usual - the file of a descriptor whose sums are known, without reading the file's entry. NULL: use files_is_on
 * and files_of. */
static inline struct file *files_usual(int fd, struct dct_io **sums)
{
    struct files *all = __atomic_load_n(&files, __ATOMIC_ACQUIRE);
    *sums = NULL;
    if (!all || (unsigned)fd >= FILES_DESCRIPTORS)
        return NULL;
    *sums = __atomic_load_n(&all->fd[fd].sums, __ATOMIC_ACQUIRE);
    uint16_t what = __atomic_load_n(&all->fd[fd].what, __ATOMIC_RELAXED);
    return *sums && what >= FD_FIRST_FILE ? &all->file[what - FD_FIRST_FILE] : NULL;
}

static inline int64_t files_time(void)
{
    return clock_has_tsc ? dcc_guest_now() : dcr_mono_ns();
}

/** files_done - as files_count, for a call that was timed. sums: from files_usual. */
static inline void files_done(struct file *f, struct dct_io *sums, int kind, const char *call, int64_t start_ns,
                              int64_t end_ns, uint64_t bytes)
{
    int64_t ns = end_ns - start_ns;
    if (__builtin_expect(sums && ns < files_threshold_ns && !dcc_window_is_used, 1))
        files_add(&sums[kind], 1, bytes, (uint64_t)ns, (uint64_t)ns);
    else
        files_count(f, kind, call, start_ns, end_ns, bytes);
}

#endif
