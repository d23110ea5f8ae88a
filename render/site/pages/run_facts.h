/* run_facts.h - lists of a run's facts: an object each with name and value, or code where it is to be copied. A fact
 * that was not recorded says so. Inside render/site only. */
#ifndef RENDER_SITE_PAGES_RUN_FACTS_H
#define RENDER_SITE_PAGES_RUN_FACTS_H

#include "render/site/theme/inside.h"

/** run_facts_overview - nodes, steps, step time, throughput, when and by which command. Owned by the site. */
json_t *run_facts_overview(struct site *s, const struct run_result *r);
/** run_facts_communication - exposed, hidden, volume, bandwidth, the last rank; empty for a run of one rank, and
 * without steps. */
json_t *run_facts_communication(struct site *s, const struct run_result *r);
/** run_facts_program - program, model, versions and what else the archive has; unknown facts are left out. */
json_t *run_facts_program(struct site *s, const struct run *run);

#endif
