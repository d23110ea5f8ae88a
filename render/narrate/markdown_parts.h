/* markdown_parts.h - what the files of BOTTLENECK_ANALYSIS.md share. Inside render/narrate. */
#ifndef RENDER_NARRATE_MARKDOWN_PARTS_H
#define RENDER_NARRATE_MARKDOWN_PARTS_H

#include "lib/buf.h"
#include "render/analyse/report.h"

/** md_escaped - text into Markdown: characters that could begin markup get a backslash (CommonMark 0.30, section 2.4).
 */
void md_escaped(struct dcr_buf *out, const char *text);
/** md_paragraph - a paragraph of one sentence or more; nothing when there is none. */
void md_paragraph(struct dcr_buf *out, const char *text);
/** md_reason - "n/a because ...", escaped; md_clause: without these words. */
void md_reason(struct dcr_buf *out, const struct reason *why);
void md_clause(struct dcr_buf *out, const struct reason *why);
/** md_scaling - the section about series of node counts. (markdown_scaling.c) */
void md_scaling(const struct report *rep, struct dcr_buf *out);

#endif
