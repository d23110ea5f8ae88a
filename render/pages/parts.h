/* parts.h - parts that several pages share. Inside render/pages. */
#ifndef RENDER_PAGES_PARTS_H
#define RENDER_PAGES_PARTS_H

#include "render/metrics/report.h"
#include "render/doc/doc.h"
#include "render/say/tables.h"

/** finding_of_answer - the finding of the whole report; NULL: its headline is composed in another way. */
const struct said *finding_of_answer(const struct report *rep);
/** section_of_lead, section_of_why - the first sentences that support the headline, and the others under a heading.
 *  level  of the heading */
void section_of_lead(const struct report *rep, struct doc *d, int level);
void section_of_why(const struct report *rep, struct doc *d, int level);
/** section_of_action, section_of_certainty - what to do first, and how sure that is, each under a heading. */
void section_of_action(const struct report *rep, struct doc *d, int level);
void section_of_certainty(const struct report *rep, struct doc *d, int level);
/** list_of_sure - its items, below a heading. */
void list_of_sure(const struct phrase sure[N_SURE_ITEMS][SAID_MAX], int is_comparison, struct doc *d);
/** paragraphs_of_comparison - what the answer of the report does not state already. */
void paragraphs_of_comparison(const struct report *rep, const struct comparison *c, struct doc *d);
/** section_of_answer - the headline and all sections above. */
void section_of_answer(const struct report *rep, struct doc *d, int level);
/** section_of_notes - caveats and gaps that concern a run; run < 0: all of the report. */
void section_of_notes(const struct report *rep, int run, struct doc *d);
/** paragraphs_of_run - the statements on a run, under a heading that names it: headline, support, what was ruled out,
 *  and how sure that is. */
void paragraphs_of_run(const struct run_result *r, struct doc *d);
/** paragraph_of_phrases - sentences; those of PHRASE_NONE are left out.
 *  p  shape (n) */
void paragraph_of_phrases(struct doc *d, const struct phrase *p, int n);
/** heading_of - a heading with these words. */
void heading_of(struct doc *d, int level, struct phrase words);
/** table_of - a table with the heads of its row, below a heading with its caption.   level  0: no heading */
void table_of(struct doc *d, int level, const struct table_said *is);
/** phrase_of_counted - the steps that a run is judged by. r->warmup_because follows it. */
struct phrase phrase_of_counted(const struct run_result *r);
/** is_part_of_any - is the part known in any of the runs from..to-1? If not, its row is left out, and the part is named
 *  below. */
int is_part_of_any(const struct report *rep, int from, int to, enum part p);
/** paragraph_of_missing - "Without any value: I/O and copies."; nothing if n is 0.
 *  names  shape (n) */
void paragraph_of_missing(struct doc *d, const char *const *names, int n);
/** phrase_of_confidence - how reliable the headline of a run is. */
struct phrase phrase_of_confidence(const struct run_result *r);
/** section_of_processes, section_of_calls, section_of_hosts - parts of the profile of a run. Calls: MPI calls and calls
 *  on files of all ranks in the recorded part, the longest first. (profile_host.c) */
void section_of_processes(const struct run *run, struct doc *d);
void section_of_calls(const struct run *run, struct doc *d);
void section_of_hosts(const struct run *run, struct doc *d);
/** section_of_scaling - series of node counts in the bottleneck analysis, under a heading. (analysis_scaling.c) */
void section_of_scaling(const struct report *rep, struct doc *d);
/** paragraph_of_reason - the reason why something is missing, as a sentence. */
void paragraph_of_reason(struct doc *d, const struct reason *why);
/** text_of_clause - the same as a clause into the open block. */
void text_of_clause(struct doc *d, const struct reason *why);
/* The marks of missing values in a table. Zero it before use. */
struct marks {
    char used[16];
};
/** cell_without - a cell without a value: a dash with the mark of the reason. */
void cell_without(struct doc *d, struct marks *m, const struct reason *why);
/** mark_reason - the mark of a reason after the text of the cell. */
void mark_reason(struct doc *d, struct marks *m, const struct reason *why);
/** paragraph_of_marks - below the table, what its marks mean; nothing if there are none. */
void paragraph_of_marks(struct doc *d, const struct marks *m);
/** paragraphs_of_efficiency - "Parallel efficiency 0.41 = load balance 0.89 x ...", and that of the hosts of GPUs;
 *  unknown values are left out. */
void paragraphs_of_efficiency(const struct run_result *r, struct doc *d);

#endif
