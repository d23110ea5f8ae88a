/* publish_guard.h - makes sure that neither a signal nor a kill leaves an unfinished folder. Inside publish.c only. */
#ifndef RENDER_SITE_PUBLISH_PUBLISH_GUARD_H
#define RENDER_SITE_PUBLISH_PUBLISH_GUARD_H

#include "lib/base/buf.h"
#include "render/site/publish/publish.h"

/** publish_read_whole - append a file of at most max bytes to out. */
int publish_read_whole(const char *path, size_t max, struct dcr_buf *out, struct dcr_err *err) DCR_MUST_CHECK;

/** publish_hold_signals - only note signals that would end the program; ignored signals stay ignored. */
void publish_hold_signals(struct publish *p);
/** publish_stopped_by - the signal that came since, 0: none. */
int publish_stopped_by(void);
/** publish_release_signals - as before; one that came is raised again. Nothing when none were held. */
void publish_release_signals(const struct publish *p);

/** publish_claim - make p->partial, lock it, and reserve descriptors for its removal.
 *  errors  DCR_FAIL, and nothing is made */
int publish_claim(struct publish *p, struct dcr_err *err) DCR_MUST_CHECK;
/** publish_unlock - release the lock: other processes may remove p->partial from now on. */
void publish_unlock(struct publish *p);
/** publish_remove - remove p->partial, an unfinished or a former site. Its marker files go last, so that another
 * process can continue if this one is killed. */
int publish_remove(struct publish *p, struct dcr_err *err) DCR_MUST_CHECK;
/* Suffix after "<out>.<number>": name of the former site during a swap, if two names cannot be exchanged at once. */
#define PUBLISH_ASIDE ".partial.old.partial"
/** publish_remove_leftovers - remove every "<out>.<number>.partial" without a lock. exists: is there an out? */
void publish_remove_leftovers(const char *out, bool exists);

#endif
