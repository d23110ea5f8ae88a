/* publish_guard.h - that neither a signal nor a kill leaves an unfinished folder behind. Inside publish.c only. */
#ifndef RENDER_SITE_PUBLISH_GUARD_H
#define RENDER_SITE_PUBLISH_GUARD_H

#include "lib/buf.h"
#include "render/site/publish.h"

/** publish_read_whole - append a file of at most max bytes to out. */
int publish_read_whole(const char *path, size_t max, struct dcr_buf *out, struct dcr_err *err) DCR_MUST_CHECK;

/** publish_hold_signals - from here on SIGINT, SIGTERM and SIGHUP are noted only; those that are ignored stay so. */
void publish_hold_signals(struct publish *p);
/** publish_stopped_by - the signal that came since, 0: none. */
int publish_stopped_by(void);
/** publish_release_signals - as before; one that came is raised again. Nothing when none were held. */
void publish_release_signals(const struct publish *p);

/** publish_whose - the text of PUBLISH_UNFINISHED: this host and its boot. */
int publish_whose(struct dcr_buf *out, struct dcr_err *err) DCR_MUST_CHECK;
/** publish_remove_leftovers - remove "<out>.<pid>.partial" of processes of this host that are gone. us: publish_whose
 */
void publish_remove_leftovers(const char *out, const char *us);

#endif
