/* caveats.h - selects the caveats that a page shows in full, and their order.
 * Test: tests/unit/test_pages.c */
#ifndef RENDER_PAGES_CAVEATS_H
#define RENDER_PAGES_CAVEATS_H

#include "render/metrics/report.h"

struct caveat {
    const struct note *note; /* NULL: how the archive is incomplete */
    const char *text;        /* starts with the label of its run */
    int is_shown;            /* 0: folded away */
};
struct caveats {
    struct caveat *list; /* in the order they are shown */
    int n;
};

/** caveats_of - all caveats except those stated elsewhere, one for each kind; or all that concern a run (run >= 0: its
 * own and those of all). a        memory of the list and its texts */
struct caveats caveats_of(const struct report *rep, int run, struct dcr_arena *a);

/** gaps_of - what is missing in the runs, one for each kind. Gaps of runs that the answer is not about are folded. */
struct caveats gaps_of(const struct report *rep, struct dcr_arena *a);

/** is_note_told - on a page about all runs, do the finding and its certainty state this note already? */
int is_note_told(const struct report *rep, const struct note *n);

/** note_concerns - does a page about a run state this note? run < 0: a page about all of them. */
int note_concerns(const struct note *n, int run);

#endif
