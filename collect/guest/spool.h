/* spool.h - events of this process, by thread ("track"), into blocks of the shared segment. Format of the blocks:
 * lib/archive/format.h, docs/FORMAT.md.
 *
 * Every event goes: track = spool_enter(); spool_put_*(track, ...); spool_leave(track). Between enter and leave the
 * thread is marked busy, so that an event of a signal handler that interrupts us is counted as dropped instead of
 * tearing the slot. No lock, no allocation, no file; no system call but the clock (vDSO), and gettid() for the first
 * event of a thread.
 *
 * The library is a guest: nothing here exits, prints or waits. When no block is free, a range, mark or span is dropped
 * whole: it is counted, and its time goes into the sums of its name. Recording goes on when there is room again. */
#ifndef DCC_SPOOL_H
#define DCC_SPOOL_H

#include "lib/archive/format.h"

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

struct spool_track;

/** spool_begin - at load. */
void spool_begin(void);
/** spool_forget_others - in a forked child: the parent's other threads are not here. */
void spool_forget_others(void);

/** spool_enter - this thread's track, ready for events.
 *  returns  NULL when the event must be dropped (it is counted) */
struct spool_track *spool_enter(void);
/** spool_enter_to_end - the same for the end of a range: without a track nothing is counted, since its begin was. */
struct spool_track *spool_enter_to_end(void);
void spool_leave(struct spool_track *t);

/** spool_is_wanted - the collector's segment is mapped. */
int spool_is_wanted(void);

/* Numbers for texts. Text is copied; a pointer alone is never trusted to mean the same text again. */
uint32_t spool_name(struct spool_track *t, const char *text);
uint32_t spool_name_wide(struct spool_track *t, const wchar_t *text);
/** spool_registered - number of a handle that spool_register gave, 0 for anything else. */
uint32_t spool_registered(struct spool_track *t, const void *handle);
const void *spool_register(const char *text);
const void *spool_register_wide(const wchar_t *text);
/** spool_domain - handle of the domain of that name; the same name gives the same handle. NULL = default domain. */
const void *spool_domain(const char *name);
const void *spool_domain_wide(const wchar_t *name);
/** spool_domain_of - number behind a handle that spool_domain gave; 0 for NULL and anything else. */
uint32_t spool_domain_of(struct spool_track *t, const void *handle);
/** spool_domain_by_text - the same by name, for our own entry points. */
uint32_t spool_domain_by_text(struct spool_track *t, const char *text);
/** spool_category - name a category of a domain. */
void spool_category(const void *domain, uint32_t category, const char *name);
/** spool_category_by_text - number of a category known by its text only (our own entry points). */
uint32_t spool_category_by_text(struct spool_track *t, uint32_t domain, const char *text);
/** spool_is_in_flight - did spool_category_by_text give that number for DCT_IN_FLIGHT? */
int spool_is_in_flight(uint32_t category);
void spool_thread_name(uint32_t tid, const char *name);

/* Events. attr may be NULL. push returns the level of the new range, pop that of the closed one (-1: none open). */
int spool_put_push(struct spool_track *t, uint32_t domain, uint32_t name, const struct dct_attr *attr);
int spool_put_pop(struct spool_track *t, uint32_t domain, int64_t t_ns);
uint64_t spool_put_start(struct spool_track *t, uint32_t domain, uint32_t name, const struct dct_attr *attr);
void spool_put_end(struct spool_track *t, uint32_t domain, uint64_t id, int64_t t_ns);
void spool_put_mark(struct spool_track *t, uint32_t domain, uint32_t name, const struct dct_attr *attr);

/* attr of a raw payload: the bytes that stand behind it (struct dct_raw and items), attr->payload of them. */
int spool_put_push_raw(struct spool_track *t, uint32_t domain, uint32_t name, const struct dct_attr *attr,
                       const void *raw);
uint64_t spool_put_start_raw(struct spool_track *t, uint32_t domain, uint32_t name, const struct dct_attr *attr,
                             const void *raw);
/* What comes with the end of a range; attr NULL: nothing. */
int spool_put_pop_raw(struct spool_track *t, uint32_t domain, int64_t t_ns, const struct dct_attr *attr,
                      const void *raw);
void spool_put_end_raw(struct spool_track *t, uint32_t domain, uint64_t id, int64_t t_ns, const struct dct_attr *attr,
                       const void *raw);
void spool_put_mark_raw(struct spool_track *t, uint32_t domain, uint32_t name, const struct dct_attr *attr,
                        const void *raw);
/** spool_put_span - a complete interval; attr may be NULL. */
void spool_put_span(struct spool_track *t, uint32_t domain, uint32_t name, int64_t start_ns, int64_t end_ns,
                    uint64_t bytes, const struct dct_attr *attr);
/** spool_put_gpu - what a GPU did; kernel only of a kernel. Taken when it began inside the window. */
void spool_put_gpu(struct spool_track *t, uint32_t domain, uint32_t name, int64_t start_ns, int64_t end_ns,
                   uint64_t bytes, const struct dct_gpu *gpu, const struct dct_kernel *kernel);
/** spool_lost - count n GPU events that CUPTI lost. */
void spool_lost(uint64_t n);
/** spool_schema - a payload schema of that number, described by text. */
void spool_schema(struct spool_track *t, uint32_t domain, uint32_t schema, const char *text);
/** spool_note - a sentence for people, once per process. Quiet when nothing is recorded. */
void spool_note(const char *sentence);
/** spool_is_abandoned - a thread marked itself as being inside with the stack pointer `busy`; has a signal handler
 * since left that code by siglongjmp()? */
int spool_is_abandoned(uintptr_t busy);
/** spool_is_recording - the process has events in the segment, so that it has a trace. */
int spool_is_recording(void);
/** spool_file - sums for the file of that name (DCT_FILE), in the segment itself: to be added to with atomic adds, also
 *  by several threads. Starts the trace when there is none. returns  NULL when nothing is recorded, or without room */
struct dct_io *spool_file(const char *path, uint32_t *name);

/** spool_now_ns - time on the track of this thread; spool_track_now the same where the track is at hand. */
int64_t spool_now_ns(void);
int64_t spool_track_now(struct spool_track *t);

/** spool_wide_to_utf8 - convert at most n - 1 bytes; unpaired surrogates and values beyond Unicode become U+FFFD. */
void spool_wide_to_utf8(const wchar_t *in, char *out, size_t n);

#endif
