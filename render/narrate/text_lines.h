/* text_lines.h - what the plain-text documents are made of. Inside render/narrate. */
#ifndef RENDER_NARRATE_TEXT_LINES_H
#define RENDER_NARRATE_TEXT_LINES_H

#include "lib/buf.h"
#include "render/analyse/report.h"

/** text_wrapped - a paragraph wrapped at 96 columns, each line indented; nothing for "". */
void text_wrapped(struct dcr_buf *out, const char *indent, const char *text);
/** text_reason - the same of "n/a because ...". */
void text_reason(struct dcr_buf *out, const char *indent, const struct reason *why);
/** text_title - a line, underlined; text_section: the same with '-', behind an empty line. */
void text_title(struct dcr_buf *out, const char *text, char under);
void text_section(struct dcr_buf *out, const char *text);
/** text_notes - caveats and gaps that concern a run; run < 0: all of the report. */
void text_notes(const struct report *rep, int run, struct dcr_buf *out);
/** text_confidence - how far the headline of a run may be trusted. */
void text_confidence(const struct run_result *r, const char *indent, struct dcr_buf *out);

#endif
