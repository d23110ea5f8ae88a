/* clocks.h - the distance of a node's clock from that of rank 0's host, as its clock monitor measured it during the run
 * (lib/archive/clocks.h). Filled by render/read/monitors.c. */
#ifndef RENDER_MODEL_CLOCKS_H
#define RENDER_MODEL_CLOCKS_H

#include "lib/archive/clocks.h"

struct run;
struct run_node;

/** run_clock_of - the clock of the host; NULL when it was not measured (the reference, or a run on one host). */
const struct dcr_clock *run_clock_of(const struct run *r, const char *host);
/** run_node_ahead - seconds to add to times of the node to get times of the reference, near the time t_s of the node's
 *  clock; 0 for the reference itself. returns 0, or -1 when the node cannot be compared with others */
int run_node_ahead(const struct run *r, const struct run_node *n, double t_s, double *ahead_s);

#endif
