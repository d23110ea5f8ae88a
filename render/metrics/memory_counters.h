/* memory_counters.h - memory traffic and stalls by counters of the hardware, for programs that do not report their
 * traffic. */
#ifndef RENDER_METRICS_MEMORY_COUNTERS_H
#define RENDER_METRICS_MEMORY_COUNTERS_H

#include "render/metrics/report.h"

/** missed_gb_per_s - what misses of the last-level cache read from memory, all ranks together: misses * 64 bytes /
 * time. The time is that from the first step's start to the last step's end, or of the run without steps. It is a lower
 * bound, because written lines and most prefetched ones are not counted.
 *  returns  REASON_NONE, or why it is not known: Linux counts misses of the last level as "cache-misses" on Intel's
 *           processors only, on AMD's those of the second level and on Arm's of the first.
 *  source   Linux, arch/x86/events/intel/core.c (LONGEST_LAT_CACHE.MISS), arch/x86/events/amd/core.c,
 *           drivers/perf/arm_pmuv3.c; Intel SDM volume 3, "Last Level Cache Misses". Test: tests/unit/test_roofline.c
 */
struct reason missed_gb_per_s(const struct run *a, double *out);

/** controllers_gb_per_s - what the memory controllers of the ranks' machines read and wrote in the same time, for all
 *  programs on them.
 *  returns  GB/s of all machines together, -1 = not counted on all of them. Test: tests/unit/test_roofline.c */
double controllers_gb_per_s(const struct run *a);

/** counters_by_phase - gives (arena). Test: tests/unit/test_roofline.c */
struct counted_phases counters_by_phase(struct dcr_arena *arena, const struct run *a);

#endif
