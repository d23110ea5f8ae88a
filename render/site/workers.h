/* workers.h - the pages of runs, made by as many processes as there are cores: they depend on nothing but the report.
 * Inside render/site only. */
#ifndef RENDER_SITE_WORKERS_H
#define RENDER_SITE_WORKERS_H

#include "render/site/theme/inside.h"

/** page_runs - page_run for every run of the report; what they leave in the site (its list of files, the data page's
 *  list) is the same, in the same order, as from one process. With few runs, one core or a single file wanted, whose
 *  pages must be kept in memory, one process makes them.
 *  errors   sticky, as everywhere here; also when a process ends before its time. Test:
 * tests/integration/render_same_bytes.sh
 */
void page_runs(struct site *s);

#endif
