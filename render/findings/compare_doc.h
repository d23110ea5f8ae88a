/* compare_doc.h - before and after, in sentences and as JSON. */
#ifndef RENDER_FINDINGS_COMPARE_DOC_H
#define RENDER_FINDINGS_COMPARE_DOC_H

#include "lib/buf.h"
#include "render/findings/rules/compare.h"

#include <jansson.h>

/** narrate_comparisons - sentences of rep->comparisons; the first becomes part of rep->verdict. */
void narrate_comparisons(struct report *rep);
/** comparisons_json - list; empty without a baseline. gives */
json_t *comparisons_json(const struct report *rep);

#endif
