/* devices.h - GPUs on a run's page. Inside render/site only. */
#ifndef RENDER_SITE_PAGES_DEVICES_H
#define RENDER_SITE_PAGES_DEVICES_H

#include "render/site/theme/inside.h"

/** view_devices - the tables on GPUs from foreign traces; an empty list when there are none.
 *  returns  gives a list of tables (view_table) */
json_t *view_devices(struct site *s, int run);
/** page_devices - runs/<slug>/devices.html: the findings on GPUs, and all these tables.
 *  tables  of view_devices; borrows */
void page_devices(struct site *s, int run, json_t *tables);
/** view_evidence - tables of other tools' files, shown as they are, and what follows from counters; empty when there
 *  are none. gives a list of tables */
json_t *view_evidence(struct site *s, int run);
/** view_roofline - kernels that a profiler counted, under the roofline of their GPU. gives a table (page_roofline.c) */
json_t *view_roofline(struct site *s, const struct run *r);
/** view_work - operators of a trace by the shapes of their inputs, under the same roofline; n_work is not 0. gives */
json_t *view_work(struct site *s, const struct foreign_trace *t);

#endif
