/* publish_guard.h - that neither a signal nor a kill leaves an unfinished folder behind. Inside publish.c only. */
#ifndef RENDER_SITE_PUBLISH_GUARD_H
#define RENDER_SITE_PUBLISH_GUARD_H

#include "lib/buf.h"
#include "render/site/publish.h"

/** publish_read_whole - append a file of at most max bytes to out. */
int publish_read_whole(const char *path, size_t max, struct dcr_buf *out, struct dcr_err *err) DCR_MUST_CHECK;

/** publish_hold_signals - from here on signals that end a program are noted only; those that are ignored stay so. */
void publish_hold_signals(struct publish *p);
/** publish_stopped_by - the signal that came since, 0: none. */
int publish_stopped_by(void);
/** publish_release_signals - as before; one that came is raised again. Nothing when none were held. */
void publish_release_signals(const struct publish *p);

/** publish_claim - make p->partial and lock it, with descriptors kept back for its removal.
 *  errors  DCR_FAIL, and nothing is made */
int publish_claim(struct publish *p, struct dcr_err *err) DCR_MUST_CHECK;
/** publish_unlock - others may remove p->partial from now on. */
void publish_unlock(struct publish *p);
/** publish_remove - a partial folder, or the former site under its name: last what says what it is, so that another one
 *  can go on where this one is killed. */
int publish_remove(struct publish *p, struct dcr_err *err) DCR_MUST_CHECK;
/* Behind "<out>.<number>": the name of the site to be replaced for a moment, where two names cannot be exchanged. */
#define PUBLISH_ASIDE ".partial.old.partial"
/** publish_remove_leftovers - remove "<out>.<number>.partial" that nobody is making; exists: does out? */
void publish_remove_leftovers(const char *out, bool exists);

#endif
