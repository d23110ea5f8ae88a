/* pages.h - the prose pages of a report: their sentences and tables, in order. A page computes nothing and knows no
 * format (render/doc, render/write). */
#ifndef RENDER_PAGES_PAGES_H
#define RENDER_PAGES_PAGES_H

#include "render/metrics/report.h"
#include "render/doc/doc.h"
#include "render/findings/checks.h"

/** page_of_analysis - the bottleneck analysis of all runs: BOTTLENECK_ANALYSIS.md. */
void page_of_analysis(const struct report *rep, struct doc *d);
/** page_of_summary - the whole report, short: bottleneck_summary.txt. */
void page_of_summary(const struct report *rep, struct doc *d);
/** page_of_profile - one run: profiling_report.txt. */
void page_of_profile(const struct report *rep, const struct run_result *run, struct doc *d);
/** page_of_checks - a table under a heading, with the report's verdict: --summary. */
void page_of_checks(const struct report *rep, const struct checks *c, struct doc *d);

/** documents_make - make rep->documents: BOTTLENECK_ANALYSIS.md, bottleneck_summary.txt, report.json and, per run,
 *  runs/<slug>/profiling_report.txt and runs/<slug>/profiling_analysis.json.
 *  errors   DCR_FATAL: no memory */
int documents_make(struct report *rep, struct dcr_err *err) DCR_MUST_CHECK;

#endif
