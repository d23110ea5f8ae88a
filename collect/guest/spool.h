/* spool.h - writes events of this process, by thread ("track"), into blocks of the shared segment. Format of the
 * blocks: lib/archive/format.h, docs/FORMAT.md.
 *
 * Every event takes three calls: track = hot_enter(); spool_put_*(track, ...); hot_leave(). hot.h has these and faster
 * forms of others. Between enter and leave the thread is marked busy, so that an event of an interrupting signal
 * handler is counted as dropped instead of tearing the slot. There is no lock, no allocation and no file; the only
 * system calls are the clock (vDSO), and gettid() for the first event of a thread.
 *
 * The library is a guest: nothing here exits, prints or waits. When no block is free, a range, mark or span is dropped
 * as a whole: it is counted, and its time goes into the sums of its name. Recording goes on when there is room
 * again. */
#ifndef DCC_SPOOL_H
#define DCC_SPOOL_H

#include "lib/archive/format.h"

#include <stddef.h>
#include <stdint.h>

struct spool_track;

/** spool_begin - call at load: of the first 32 keys of a process, none needs memory from malloc(). */
void spool_begin(void);
/** spool_forget_others - call in a forked child, which does not have the parent's other threads. */
void spool_forget_others(void);

/* Numbers for texts. Text is copied, because a pointer may point to another text later. */
/** spool_registered - number of a handle from spool_register, 0 for any other pointer. */
uint32_t spool_registered(const void *handle);
const void *spool_register(const char *text);
/** spool_domain - handle of the domain with that name; the same name gives the same handle. NULL = default domain. */
const void *spool_domain(const char *name);
/** spool_domain_of - number of a handle from spool_domain; 0 for NULL and any other pointer. */
uint32_t spool_domain_of(const void *handle);
/** spool_domain_by_text - the same by name, for our own entry points. */
uint32_t spool_domain_by_text(struct spool_track *t, const char *text);
/** spool_category_by_text - number of a category known by its text only (our own entry points). */
uint32_t spool_category_by_text(struct spool_track *t, uint32_t domain, const char *text);
/** spool_say - defines what a number means in this process. Does nothing when nothing is recorded.
 *  kind  DCT_CATEGORY or DCT_SCHEMA, of a domain; DCT_THREAD; or DCT_NOTE, a sentence for people, without a number */
void spool_say(int kind, const void *domain, uint32_t id, const char *text);

/* Events. attr may be NULL. raw: the bytes of a raw payload (struct dct_raw and items), attr->payload of them, which
 * follow attr; NULL: none. push returns the level of the new range, pop that of the closed one (-1: none open). */
int spool_put_push(struct spool_track *t, uint32_t domain, uint32_t name, const struct dct_attr *attr, const void *raw);
int spool_put_pop(struct spool_track *t, uint32_t domain, int64_t t_ns, const struct dct_attr *attr, const void *raw);
uint64_t spool_put_start(struct spool_track *t, uint32_t domain, uint32_t name, const struct dct_attr *attr,
                         const void *raw);
void spool_put_end(struct spool_track *t, uint32_t domain, uint64_t id, int64_t t_ns, const struct dct_attr *attr,
                   const void *raw);
void spool_put_mark(struct spool_track *t, uint32_t domain, uint32_t name, const struct dct_attr *attr,
                    const void *raw);

#endif
