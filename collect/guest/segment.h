/* segment.h - the memory that the libraries in the program (collect/guest) share with the collector (collect/drain).
 *
 * The collector makes one segment before the program starts, of fixed size, with every page reserved: a store into it
 * never fails. All processes that the program starts map it at load. They take blocks from it, fill them with events,
 * and mark them as full; the collector writes full blocks to disk and makes them free again. Names lie in one table for
 * all processes. The collector also takes what a killed process left, and dccollect pack what a killed collector left.
 *
 * Nothing here takes a lock. A process may be killed, or interrupted by a signal handler, at any point: the segment
 * stays usable for all others. Plain types only: this header is also included by the libraries. */
#ifndef DCC_SEGMENT_H
#define DCC_SEGMENT_H

#include "lib/archive/format.h"

#include <stdint.h>

#define SEGMENT_MAGIC 0x344745534343444cull /* "LDCCSEG4" */
#define SEGMENT_VARIABLE "DCC_SEGMENT"      /* the environment variable that names the file */
enum {
    SEGMENT_BLOCK_BYTES = 16384,
    SEGMENT_DOMAINS = 256, /* number 0: the default domain */
    SEGMENT_LOST = 64,     /* names of dropped events that a process keeps sums of */
    SEGMENT_OVERFLOW = 1,  /* number of the name that serves for all that find no room */
};
#define SEGMENT_SLOTS ((SEGMENT_BLOCK_BYTES - (uint32_t)sizeof(struct dct_block_header)) / DCT_SLOT_BYTES)

/* Names beyond the table get numbers of their own from here on, and stand in front of their event (spool_names.c). */
#define SEGMENT_INLINE_NAMES (1u << 18)
#define SEGMENT_LAST_NAME (1u << 20) /* readers take no higher number */

struct segment_name {
    uint32_t text_at, len; /* in the texts; NUL-terminated there */
    uint32_t hash;
    uint32_t flags; /* WINDOW_NAME_*, set before it is published */
};

/* Something that a process said once: kind DCT_CATEGORY, DCT_SCHEMA, DCT_THREAD or DCT_NOTE, with the fields of such a
 * definition; its text is a name. */
struct segment_said {
    uint32_t process; /* its serial number */
    uint32_t id;
    uint32_t name;
    uint16_t domain;
    uint16_t kind; /* stored last; 0: not said yet */
};

/* Sums of events that were dropped, by name. */
struct segment_lost {
    uint64_t key; /* domain << 48 | kind << 40 | name; 0 = free */
    uint64_t category;
    uint64_t n, ns, bytes;
};

enum { PROCESS_FREE = 0, PROCESS_TAKEN = 1, PROCESS_LIVE = 2 };
struct segment_process {
    uint64_t state; /* PROCESS_*, and the process id << 8 */
    uint32_t serial;
    uint32_t parent;     /* serial number of the process that this one was forked from; 0 = none */
    uint64_t pid_space;  /* inode of its process id namespace; 0 = not known */
    uint64_t files;      /* block of its sums of files: (number + 1) << 32 | slots given out; 0 = none yet */
    uint64_t has_exited; /* it came to exit() */
    uint64_t next_range_id;
    char file[40];                 /* of the collector: name of its trace; "" = none yet */
    uint64_t positions;            /* blocks in it */
    uint32_t n_old, n_removed;     /* earlier pieces of it (collect/drain/pieces.h), and how many of them are gone */
    struct dct_file_header header; /* host, own_bytes and io are the collector's */
    struct segment_lost lost[SEGMENT_LOST];
};

enum { SLEEPS_NOT = 0, SLEEPS_SHORTLY = 1, SLEEPS_LONG = 2 };

/* Who has a block: 0 nobody; else (index of the process + 1) << 2, and what it does with it. */
enum { BLOCK_TAKEN = 1, BLOCK_FULL = 2 };

struct segment {
    uint64_t magic;
    uint64_t bytes; /* of all of it */
    uint32_t n_blocks, n_processes, max_names, max_said;
    uint32_t table_mask; /* entries of the hash table - 1 */
    uint32_t has_tsc;    /* the kernel's clock is the time stamp counter, and the counter is invariant */
    uint64_t text_bytes;
    uint64_t processes_at, states_at, names_at, table_at, domains_at, said_at, text_at, blocks_at; /* from the begin */
    uint64_t token; /* the spool names it too, so that `dccollect pack` takes no other segment */
    char host[64];
    char left[4400]; /* path of that file in the spool: when it is gone, nobody needs the segment any more */
    /* From here on written by many, and on pages of their own: the collector keeps a copy of what stands before. */
    _Alignas(4096) uint32_t n_names;
    uint32_t n_said, next_serial, next_inline;
    uint64_t text_used;
    _Alignas(64)
        uint64_t n_freed; /* blocks that the collector made free, ever: who found none looks again when it changes */
    _Alignas(64) uint32_t n_loaded; /* processes that mapped it at load */
    uint32_t n_refused;             /* that could map only its first page */
    uint64_t dropped;               /* events of processes that found no entry */
    _Alignas(64) uint32_t sleeps;   /* SLEEPS_*: the collector; who begins to record ends a long sleep */
};

static inline void *segment_at(const struct segment *s, uint64_t at)
{
    return (char *)(uintptr_t)s + at;
}

static inline struct segment_process *segment_process(const struct segment *s, uint32_t i)
{
    return (struct segment_process *)segment_at(s, s->processes_at) + i;
}

static inline uint32_t *segment_states(const struct segment *s)
{
    return segment_at(s, s->states_at);
}

static inline struct segment_name *segment_names(const struct segment *s)
{
    return segment_at(s, s->names_at);
}

static inline const char *segment_text(const struct segment *s, uint32_t name)
{
    return (const char *)segment_at(s, s->text_at) + segment_names(s)[name].text_at;
}

static inline uint32_t *segment_domains(const struct segment *s)
{
    return segment_at(s, s->domains_at);
}

static inline struct segment_said *segment_said(const struct segment *s)
{
    return segment_at(s, s->said_at);
}

/** segment_reserve - of n blocks, how many only keep the sums of steps right (gap.h): a sixteenth of a small segment,
 * and of a large one fewer, so that each of 200 threads has two blocks in 8 MB. */
static inline uint32_t segment_reserve(uint32_t n)
{
    uint32_t small = n / 16 < 3 ? n / 16 : 3;
    return 1 + (n / 48 > small ? n / 48 : small);
}

/** segment_keep_earliest - incomplete_ns or unsummed_ns of a header, which program and collector write. */
static inline void segment_keep_earliest(int64_t *earliest, int64_t ns)
{
    int64_t known = __atomic_load_n(earliest, __ATOMIC_RELAXED);
    while (ns > 0 && (!known || ns < known) &&
           !__atomic_compare_exchange_n(earliest, &known, ns, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

static inline struct dct_block_header *segment_block(const struct segment *s, uint32_t i)
{
    return segment_at(s, s->blocks_at + (uint64_t)i * SEGMENT_BLOCK_BYTES);
}

#endif
