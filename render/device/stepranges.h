/* stepranges.h - the named ranges of the host inside steps (annotations of a framework, NVTX). They say how long each
 * took on the host, and on the GPUs from the start of the first operation launched inside to the end of the last.
 *
 * Ranges and operations come in any order and are sorted through temporary files when there are many: memory grows with
 * steps and RUN_MAX_PHASES names, not with events. Inside render/device only.
 * source: docs/metrics.md#phases. Test: tests/unit/test_step_ranges.c */
#ifndef RENDER_DEVICE_STEPRANGES_H
#define RENDER_DEVICE_STEPRANGES_H

#include "render/device/steps.h"

struct step_ranges;

/** step_ranges_new - max_bytes: of ranges in memory. gives; free with step_ranges_free. NULL: out of memory */
struct step_ranges *step_ranges_new(size_t max_bytes);
/** step_ranges_add - one range; it belongs to the step in which it begins, and is cut where that step ends on the host.
 */
void step_ranges_add(struct step_ranges *s, const char *name, size_t len, int64_t start_ns, int64_t dur_ns);
/** step_ranges_launch - an operation of any device, launched by any thread. */
void step_ranges_launch(struct step_ranges *s, int64_t launch_ns, int64_t start_ns, int64_t end_ns);
/** step_ranges_finish - the phases of the steps that device_steps_finish wrote.
 *  steps     settled, and unchanged since then
 *  no_gpu    why launches are unknown; REASON_NONE = they were given
 *  out       phases and n_phases are written: at most RUN_MAX_PHASES, those with most time, in order of appearance
 *  errors    DCR_FATAL: no memory or no temporary file */
int step_ranges_finish(struct step_ranges *s, const struct device_steps *steps, enum reason_code no_gpu,
                       struct dcr_arena *arena, struct reduced *out, struct dcr_err *err) DCR_MUST_CHECK;
void step_ranges_free(struct step_ranges *s);

/** step_range_category - the category of a range by its name: "## forward ##", "Optimizer.step#Adam.step",
 *  "enumerate(DataLoader)#...", "nccl:all_reduce", and the names of native traces.
 *  returns  N_CATEGORIES when the name does not tell */
enum category step_range_category(const char *name);

#endif
