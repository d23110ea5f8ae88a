/* figures.h - makes figures from results: the numbers of each picture, and the words of its text alternative. */
#ifndef RENDER_SITE_FIGURES_FIGURES_H
#define RENDER_SITE_FIGURES_FIGURES_H

#include "render/site/figures/figure.h"

/** series_steps - the mean step at each node count by part, with the ideal marked, for the partial figure.html; null:
 * no steps are known.  suffix  "" for the only or first series, else "-2", ...: part of file names and anchors */
json_t *series_steps(struct site *s, const struct series *series, const char *suffix);
/** series_figures - the other figures of a series: speed-up, loss waterfall; those whose numbers are missing are left
 * out.  returns gives a list for the partial figure.html */
json_t *series_figures(struct site *s, const struct series *series, const char *suffix);

/** run_figure_stepless - the figure of a run without steps: bandwidth by size of a benchmark's log, time of a GPU, time
 * of ranks in MPI calls, else its monitors if there is nothing else.  run   the run that the files belong to: index
 * into report.runs, -1: of the site.   null: none of them */
json_t *run_figure_stepless(struct site *s, const struct run_result *r, int run);

/** run_is_monitored_only - nothing but samples of monitors is known of the run. */
bool run_is_monitored_only(const struct run_result *r);

/* With many ranks these are shown: those with the least, the median and the largest value, each with its word. */
enum { RANKS_SHOWN = 16 };
struct rank_shown {
    size_t at;        /* index into the ranks */
    const char *word; /* "slowest"; NULL where all are shown */
};
/** ranks_to_show - all of at most RANKS_SHOWN, else the three with the most, the median and the least value, in that
 * order. value   by which they are ordered, shape (n).   least, most   their words.   returns  borrows; shape
 * (*n_shown) */
const struct rank_shown *ranks_to_show(struct site *s, const double *value, size_t n, const char *least,
                                       const char *most, size_t *n_shown);
/** rank_own_ns - time of a mean step outside communication. */
double rank_own_ns(const struct rank_result *q);
/** run_figure_spread - own work of all ranks, in ascending order; null for RANKS_SHOWN ranks or fewer. */
json_t *run_figure_spread(struct site *s, const struct run_result *r);
/** view_keep_ranks - the same ranks of a table with a row for each rank, after its CSV was written. */
void view_keep_ranks(struct site *s, json_t *table, const struct rank_shown *shown, size_t n_shown);

/** run_figures_* - figures of one run's page; null when there is nothing to draw. */
json_t *run_figure_breakdown(struct site *s, const struct run_result *r);
json_t *run_figure_ranks(struct site *s, const struct run_result *r);
json_t *run_figure_heat(struct site *s, const struct run_result *r);
json_t *run_figure_steps(struct site *s, const struct run_result *r);
json_t *run_figure_monitors(struct site *s, const struct run_result *r, int run);
/** monitors_absent - which monitors a run has no samples of, and why; NULL: all are there. */
const char *monitors_absent(struct site *s, const struct run *run);
json_t *run_figure_losses(struct site *s, const struct run_result *r);

/** run_picture - write the composed profiling_analysis.png of a run: breakdown, ranks, steps, monitors. */
void run_picture(struct site *s, const struct run_result *r, const char *path);

/** view_keys - the three figures that come first: for several node counts throughput, speed-up and what limits, for one
 *  node count step time, throughput and what limits. Unknown ones are left out. */
json_t *view_keys(struct site *s, const struct series *series);
/** view_run_keys - step time, throughput and what limits, for one run. */
json_t *view_run_keys(struct site *s, const struct run_result *r);
/** series_unreliable - adds to the caption of a table about the points of a series why they are unreliable; nothing if
 *  all are reliable. */
void series_unreliable(struct site *s, json_t *table, const struct series *series);

#endif
