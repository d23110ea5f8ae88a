/* summary_names.h - the table of names of a summary while a trace is read. Called by summary.c only. */
#ifndef DCR_SUMMARY_NAMES_H
#define DCR_SUMMARY_NAMES_H

#include "lib/reduce/summary.h"

struct name_table;
/** names_new - gives; free with names_free. */
struct name_table *names_new(enum summary_names keep);
/** names_add - counts one event; DCT_FILE is skipped. Its texts are borrowed until names_finish.
 *  place    place of events of this kind, domain, category and name: 0 the first time, then the value of the last
 *           call */
void names_add(struct name_table *t, const struct dct_event *e, uint32_t *place);
/** names_add_dropped - adds sums of dropped events. Times without inner ranges and times covered become unknown,
 * because the single events are missing. */
void names_add_dropped(struct name_table *t, const struct dct_dropped *d);
/** names_looks - how many tracks were searched to find those of the events so far, for tests. */
uint64_t names_looks(const struct name_table *t);
/** names_finish - writes the names into arrays of the arena, sorted. */
void names_finish(struct name_table *t, struct dcr_arena *a, struct name_sum **names, size_t *n);
void names_free(struct name_table *t);

#endif
