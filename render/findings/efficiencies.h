/* efficiencies.h - the POP efficiencies of a run in words, the same in every document and page.
 * source: docs/metrics.md#pop. Test: tests/unit/test_narrate.c, test_pop.c */
#ifndef RENDER_FINDINGS_EFFICIENCIES_H
#define RENDER_FINDINGS_EFFICIENCIES_H

#include "lib/base/buf.h"
#include "render/metrics/report.h"

/** efficiencies_put - "0.41 = load balance 0.89 x communication efficiency 0.46", for GPUs with their three factors; or
 * the reason why there are none. */
void efficiencies_put(const struct run_result *r, struct dcr_buf *out);
/** efficiencies_has_host - is there a host side to state? Only runs on GPUs have one. */
int efficiencies_has_host(const struct run_result *r);
/** efficiencies_put_host - "0.83 = device offload: ..."; or why it is not known. */
void efficiencies_put_host(const struct run_result *r, struct dcr_buf *out);

#endif
