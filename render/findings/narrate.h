/* narrate.h - numbers become sentences, sentences become documents. */
#ifndef RENDER_FINDINGS_NARRATE_H
#define RENDER_FINDINGS_NARRATE_H

#include "lib/base/buf.h"
#include "render/metrics/report.h"
#include "render/say/format.h"

/** narrate - fill claims, headlines and texts of an analysed report. */
void narrate(struct report *rep);

/** claim_class_name - run_class_name of its run, or class_words in a table. */
const char *claim_class_name(const struct report *rep, const struct claim *c);
/** claims_in_order - what to act on, most urgent first, in the same order in every document and page: the claim of
 *  rep->first_action, shared resources, then by predicted gain; each class once. A healthy compute-bound run is
 *  included only if there is nothing else.
 *  runs      indices of the runs whose claims are wanted; shape (n_runs)
 *  is_whole  claims about series too
 *  out       borrows; shape (n_claims)
 *  returns   how many */
int claims_in_order(const struct report *rep, const int *runs, int n_runs, int is_whole, const struct claim **out);

/** claim_basis - "Counted: 39 steps (1 to 39) of 4 ranks. Data loading: 34 % of a step, threshold data_limits 30 %. It
 *  shows most on rank 2, in steps 7, 31 and 8.": the basis of a claim; nothing for a claim without steps. Test:
 *  tests/unit/test_grounds.c */
void claim_basis(const struct report *rep, const struct claim *c, struct dcr_buf *out);

/** is_series_told - does the top of the report state the headline and support of series `index`? Then its section omits
 *  them. */
int is_series_told(const struct report *rep, int index);

/** exchange_of_gain - what such a saving does without: "transfer", or "any exchange between ranks" if it saves more
 *  than transfer. */
const char *exchange_of_gain(struct dcr_arena *a, const struct run_result *r, int64_t gain_ns);
/** narrate_law - the parameters of a law in words, with units: "serial share 12 %", "c 84.7 ms"; "" without any. */
void narrate_law(const struct law *l, struct dcr_buf *out);

/** all_reduces_words - the all-reduces of a step at a point: "4 of 250 kB", "1 of 1.00 MB (assumed)"; "–": not known.
 */
struct fmt all_reduces_words(const struct all_reduce_point *p);

/* The single documents; each appends to out. */
/* docs/report-json.md is their schema. */
void narrate_report_json(const struct report *rep, struct dcr_buf *out);
void narrate_profiling_analysis_json(const struct report *rep, const struct run_result *run, struct dcr_buf *out);

#endif
