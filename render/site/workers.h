/* workers.h - makes the pages of runs with as many processes as there are cores, because pages depend only on the
 * report. Inside render/site only. */
#ifndef RENDER_SITE_WORKERS_H
#define RENDER_SITE_WORKERS_H

#include "render/site/theme/inside.h"

/** page_runs - page_run for every run of the report; their effect on the site (its list of files, the data page's list)
 *  is the same, in the same order, as from one process. One process makes them if there are few runs, one core or a
 *  single file, whose pages must stay in memory.
 *  errors   sticky, as everywhere here; also when a process ends early. Test: tests/integration/render_same_bytes.sh */
void page_runs(struct site *s);

#endif
