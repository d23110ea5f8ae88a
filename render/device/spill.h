/* spill.h - sort more records than memory should hold: add them in any order, then read them back in order. Up to a
 * bound they stay in memory; beyond it sorted runs go to a temporary file without a name, which are merged while
 * reading. Knows nothing of traces. Used by render/device. */
#ifndef RENDER_DEVICE_SPILL_H
#define RENDER_DEVICE_SPILL_H

#include "lib/base/err.h"

#include <stddef.h>
#include <stdint.h>

/* Every record begins with this; records are ordered by a, then b, then the order in which they were added. */
struct spill_key {
    int64_t a, b;
};

struct spill;

/** spill_new - record_bytes: size of a record, key included; max_bytes: what may be held in memory before a run is
 *  written (sorting takes as much again). gives; free with spill_free. */
struct spill *spill_new(size_t record_bytes, size_t max_bytes);
/** spill_add - keep a copy. Failure (disk full, no memory) is sticky and reported by spill_sort. */
void spill_add(struct spill *s, const void *record);
/** spill_count - records added. */
uint64_t spill_count(const struct spill *s);
/** spill_sort - no more is added; reading may begin.
 *  errors   DCR_FATAL: no memory, or the temporary file (in TMPDIR, else /tmp) could not be written */
int spill_sort(struct spill *s, struct dcr_err *err) DCR_MUST_CHECK;
/** spill_next - the next record in order, NULL at the end or when the temporary file cannot be read (spill_failed).
 *  returns  borrows until the next call */
const void *spill_next(struct spill *s);
/** spill_failed - 1 when spill_next ended early. */
int spill_failed(const struct spill *s);
/** spill_runs - runs written to the temporary file so far; 0 = all in memory. */
int spill_runs(const struct spill *s);
void spill_free(struct spill *s);

#endif
