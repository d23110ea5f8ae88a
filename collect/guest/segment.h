/* segment.h - the memory that the libraries in the program (collect/guest) share with the collector (collect/drain).
 *
 * The collector makes one segment of fixed size before the program starts. Every page is reserved, so a store never
 * fails. All processes that the program starts map it at load. They take blocks from it, fill them with events, and
 * mark them as full. The collector writes full blocks to disk and frees them. One table holds the names of all
 * processes. The collector also takes the blocks of a killed process, and dccollect pack those of a killed collector.
 *
 * Nothing here takes a lock. If a process is killed, or interrupted by a signal handler, at any point, the segment
 * stays usable for all others. Plain types only: the injected libraries include this header too. */
#ifndef DCC_SEGMENT_H
#define DCC_SEGMENT_H

#include "lib/archive/format.h"

#include <stdint.h>

#define SEGMENT_MAGIC 0x344745534343444cull /* "LDCCSEG4" */
#define SEGMENT_VARIABLE "DCC_SEGMENT"      /* the environment variable that names the file */
enum {
    SEGMENT_BLOCK_BYTES = 16384,
    SEGMENT_DOMAINS = 256, /* number 0: the default domain */
    SEGMENT_LOST = 64,     /* number of names of dropped events with sums in a process */
    SEGMENT_OVERFLOW = 1,  /* number of the name that stands for all names without room */
};
#define SEGMENT_SLOTS ((SEGMENT_BLOCK_BYTES - (uint32_t)sizeof(struct dct_block_header)) / DCT_SLOT_BYTES)

/* Names that do not fit into the table get numbers from here on, and are defined in front of their event
 * (spool_names.c). */
#define SEGMENT_INLINE_NAMES (1u << 18)
#define SEGMENT_LAST_NAME (1u << 20) /* readers take no higher number */

struct segment_name {
    uint32_t text_at, len; /* place in the texts, where it is NUL-terminated */
    uint32_t hash;
    uint32_t flags; /* WINDOW_NAME_*, set before it is published */
};

/* A definition by a process: kind DCT_CATEGORY, DCT_SCHEMA, DCT_THREAD or DCT_NOTE, with the fields of such a
 * definition; its text is a name. */
struct segment_said {
    uint32_t process; /* its serial number */
    uint32_t id;
    uint32_t name;
    uint16_t domain;
    uint16_t kind; /* stored last; 0: not complete yet */
};

/* Sums of dropped events, by name. */
struct segment_lost {
    uint64_t key; /* domain << 48 | kind << 40 | name; 0 = free */
    uint64_t category;
    uint64_t n, ns, bytes;
};

enum { PROCESS_FREE = 0, PROCESS_TAKEN = 1, PROCESS_LIVE = 2 };
struct segment_process {
    uint64_t state; /* PROCESS_*, and the process id << 8 */
    uint32_t serial;
    uint32_t parent;     /* serial number of the parent process; 0 = none */
    uint64_t pid_space;  /* inode of its process id namespace; 0 = not known */
    uint64_t files;      /* its block with sums of files: (number + 1) << 32 | slots given out; 0 = none yet */
    uint64_t has_exited; /* it reached exit() */
    uint64_t next_range_id;
    char file[40];                 /* set by the collector: name of its trace; "" = none yet */
    uint64_t positions;            /* blocks in it */
    uint32_t n_old, n_removed;     /* earlier pieces of it (collect/drain/pieces.h), and how many of them were
                                    * removed */
    struct dct_file_header header; /* the collector sets host, own_bytes and io */
    struct segment_lost lost[SEGMENT_LOST];
};

enum { SLEEPS_NOT = 0, SLEEPS_SHORTLY = 1, SLEEPS_LONG = 2 };

/* State of a block: 0 free; else (index of the process + 1) << 2, and one of these. */
enum { BLOCK_TAKEN = 1, BLOCK_FULL = 2 };

/* What a process reads when it is loaded. */
struct segment_begin {
    uint64_t magic;
    uint64_t bytes;   /* size of the segment */
    uint32_t has_tsc; /* the counter is invariant, and the kernel uses it as its clock */
};

struct segment {
    struct segment_begin begin;
    uint32_t n_blocks, n_processes, max_names, max_said;
    uint32_t table_mask; /* entries of the hash table - 1 */
    uint64_t text_bytes;
    uint64_t processes_at, states_at, names_at, table_at, domains_at, said_at, text_at, blocks_at; /* offsets from the
                                                                                                    * beginning */
    uint64_t token; /* the spool names it too, so that `dccollect pack` takes no other segment */
    char host[64];
    char left[4400]; /* path of that file in the spool; without it the segment is useless */
    /* From here on many processes write, so this begins on a new page. The collector keeps a copy of the part
     * before. */
    _Alignas(4096) uint32_t n_names;
    uint32_t n_said, next_serial, next_inline;
    uint64_t text_used;
    _Alignas(64)
        uint64_t n_freed; /* blocks ever freed by the collector: a thread without a block looks again when it changes */
    _Alignas(64) uint32_t n_refused; /* processes that could map only its first page */
    uint64_t dropped;                /* events of processes that found no entry */
    _Alignas(64) uint32_t sleeps;    /* SLEEPS_*: state of the collector; a process that begins to record ends a long
                                      * sleep */
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

/** segment_reserve - number of blocks, of n, that are reserved to keep the sums of steps correct (gap.h). It is a
 * sixteenth of a small segment, and less of a large one, so that each of 200 threads has two blocks in 8 MB. */
static inline uint32_t segment_reserve(uint32_t n)
{
    uint32_t small = n / 16 < 3 ? n / 16 : 3;
    return 1 + (n / 48 > small ? n / 48 : small);
}

/** segment_keep_earliest - updates incomplete_ns or unsummed_ns of a header, which program and collector write. */
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
