/* compare_doc.h - before and after, in sentences. */
#ifndef RENDER_FINDINGS_COMPARE_DOC_H
#define RENDER_FINDINGS_COMPARE_DOC_H

#include "render/findings/rules/compare.h"

/** narrate_comparisons - sentences of rep->comparisons; the first becomes part of rep->verdict. */
void narrate_comparisons(struct report *rep);

#endif
