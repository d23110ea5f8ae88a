/* caveats.h - which caveats a page shows in full, and in which order.
 * Test: tests/unit/test_pages.c */
#ifndef RENDER_PAGES_CAVEATS_H
#define RENDER_PAGES_CAVEATS_H

#include "render/metrics/report.h"

struct caveat {
    const struct note *note; /* NULL: how the archive is incomplete */
    const char *text;        /* with the label of its run in front */
    int is_shown;            /* 0: folded away */
};
struct caveats {
    struct caveat *list; /* in the order they are shown */
    int n;
};

/** caveats_of - all caveats, or those that concern a run (run >= 0: its own and those of all).
 *  a        memory of the list and its texts */
struct caveats caveats_of(const struct report *rep, int run, struct dcr_arena *a);

/** note_concerns - does a page about a run say this note? run < 0: a page about all of them. */
int note_concerns(const struct note *n, int run);

#endif
