/* talp_claims.h - what TALP's reports of a run say. Inside render/narrate. Test: tests/unit/test_talp.c */
#ifndef RENDER_NARRATE_TALP_CLAIMS_H
#define RENDER_NARRATE_TALP_CLAIMS_H

#include "render/analyse/report.h"

/** talp_headline - of several reports the one with the lowest parallel efficiency of its host leads; where all are
 *            enough, a region, or the GPUs of one, that are not and cost something; "" there is no report.
 *  support   what else there is to say of it, the other reports, and how two of one program scale; unchanged if nothing
 *  returns   gives; lives as long as the report */
const char *talp_headline(struct report *rep, const struct run *r, const char **support);

/** talp_action - what to do (is_first as in struct to_do), by the innermost of the lowest factors, with what it costs;
 * NULL: no report, or it has no factor. */
const char *talp_action(struct report *rep, const struct run *r, int *is_first);

#endif
