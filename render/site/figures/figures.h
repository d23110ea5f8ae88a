/* figures.h - from results to figures: which numbers each picture shows, and in which words its alternative says them.
 */
#ifndef RENDER_SITE_FIGURES_FIGURES_H
#define RENDER_SITE_FIGURES_FIGURES_H

#include "render/site/figures/figure.h"

/** series_steps - the mean step at each node count by part, with the ideal marked, for the partial figure.html; null:
 * no steps are known.  suffix  "" for the only or first series, else "-2", ...: part of file names and anchors */
json_t *series_steps(struct site *s, const struct series *series, const char *suffix);
/** series_figures - the other figures of a series: speed-up, loss waterfall; those whose numbers are missing are left
 * out.  returns gives a list for the partial figure.html */
json_t *series_figures(struct site *s, const struct series *series, const char *suffix);

/** run_figures_* - figures of one run's page; null when there is nothing to draw. */
json_t *run_figure_breakdown(struct site *s, const struct run_result *r);
json_t *run_figure_ranks(struct site *s, const struct run_result *r);
json_t *run_figure_heat(struct site *s, const struct run_result *r);
json_t *run_figure_steps(struct site *s, const struct run_result *r);
json_t *run_figure_monitors(struct site *s, const struct run_result *r);
/** monitors_absent - which monitors a run has no samples of, and why; NULL: all are there. */
const char *monitors_absent(struct site *s, const struct run *run);
json_t *run_figure_losses(struct site *s, const struct run_result *r);

/** run_picture - write the composed profiling_analysis.png of a run: breakdown, ranks, steps, monitors. */
void run_picture(struct site *s, const struct run_result *r, const char *path);

/** node_words - "4 nodes", "1 node", or GPUs where the runs scale over those; "unknown node count" for 0. */
const char *node_words(struct site *s, int n);

/** view_keys - the three figures that come first: of several node counts throughput, speed-up and what limits, of one
 * step time, throughput and what limits. Those that are not known are left out. */
json_t *view_keys(struct site *s, const struct series *series);
/** view_run_keys - step time, throughput and what limits, of one run. */
json_t *view_run_keys(struct site *s, const struct run_result *r);
/** series_unreliable - "; unreliable: at 2 nodes 2 ranks share 1 core" behind the caption of what rests on the points
 * of a series; "" where all can be relied on. */
const char *series_unreliable(struct site *s, const struct series *series);
/** node_title - the same as the title of a column: "Nodes" or "GPUs". */
const char *node_title(struct site *s);

#endif
