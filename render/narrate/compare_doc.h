/* compare_doc.h - before and after, in sentences, as a Markdown section, as plain text and as JSON. */
#ifndef RENDER_NARRATE_COMPARE_DOC_H
#define RENDER_NARRATE_COMPARE_DOC_H

#include "lib/buf.h"
#include "render/analyse/compare.h"

#include <jansson.h>

/** narrate_comparisons - sentences of rep->comparisons; the first becomes part of rep->verdict. */
void narrate_comparisons(struct report *rep);
/** put_comparisons_md - a section, nothing without a baseline. */
void put_comparisons_md(const struct report *rep, struct dcr_buf *out);
/** comparisons_json - list; empty without a baseline. gives */
json_t *comparisons_json(const struct report *rep);

#endif
