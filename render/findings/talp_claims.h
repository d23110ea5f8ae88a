/* talp_claims.h - findings from TALP's reports of a run. Inside render/findings. Test: tests/unit/test_talp.c */
#ifndef RENDER_FINDINGS_TALP_CLAIMS_H
#define RENDER_FINDINGS_TALP_CLAIMS_H

#include "render/findings/stepless.h"

/** talp_tell - the report with the lowest parallel efficiency of its host leads. If all hosts are efficient enough, a
 * region or the GPUs of a report lead that are not and cost something. todo      what to do, by the innermost of the
 * lowest factors, with its cost returns   0: there is no report, and nothing is written */
int talp_tell(struct report *rep, const struct run *r, struct said *out, struct stepless_advice *todo);

#endif
