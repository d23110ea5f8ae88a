/* guest.h - functions of the injected library for the interposers (mpi/, io/, cudaprof/: loaded by LD_PRELOAD), so that
 * a process has one trace and one clock. */
#ifndef DCC_INJECT_GUEST_H
#define DCC_INJECT_GUEST_H

#include "lib/archive/format.h"

/* What an interval is: its domain, category and kind of payload (guest.c). */
enum dcc_span { DCC_MPI_CALL, DCC_MPI_IN_FLIGHT, DCC_FILE_CALL, DCC_N_SPANS };

/** dcc_guest_is_wanted - the collector's segment is mapped: this process may be recorded. */
int dcc_guest_is_wanted(void);
/** dcc_guest_is_wiped - the kernel zeroes marked memory in a forked child (MADV_WIPEONFORK, Linux 4.14). */
int dcc_guest_is_wiped(void);
/** dcc_guest_is_abandoned - see spool_is_abandoned. */
int dcc_guest_is_abandoned(uintptr_t busy);
/** dcc_guest_is_recording - this process has a trace. */
int dcc_guest_is_recording(void);
/** dcc_guest_part - cut a call that has just ended to its part inside the recording window; without a window it stays
 *  whole. Both times are 0 if the call was not timed.
 *  returns  0: the call lies outside the window */
int dcc_guest_part(int64_t *start_ns, int64_t *end_ns);
/** dcc_guest_begin_clock - call before the first dcc_guest_now: the rate of the counter is measured from here on. */
void dcc_guest_begin_clock(void);
/** dcc_guest_now - current time for events of the thread. */
int64_t dcc_guest_now(void);
/** dcc_guest_is_clock_system - dcc_guest_now always uses the system's CLOCK_MONOTONIC. */
int dcc_guest_is_clock_system(void);
/** dcc_guest_is_window_used - calls may lie outside of the recording window: use dcc_guest_part. */
int dcc_guest_is_window_used(void);
/** dcc_guest_span - puts a complete interval. Times are from dcc_guest_now. name may be reused after the call. */
void dcc_guest_span(enum dcc_span kind, const char *name, int64_t start_ns, int64_t end_ns, uint64_t bytes,
                    uint64_t payload);
/** dcc_guest_gpu - puts an activity of a GPU. kernel only for a kernel. Without room it counts as dropped. */
void dcc_guest_gpu(const char *name, int64_t start_ns, int64_t end_ns, uint64_t bytes, const struct dct_gpu *gpu,
                   const struct dct_kernel *kernel);
/** dcc_guest_lost - counts lost events as dropped. */
void dcc_guest_lost(uint64_t n);
/** dcc_guest_file - sums of a file in the trace (DCT_N_IO of them), for atomic adds; *name gets its number for
 * payloads.
 *  returns  NULL when nothing is being recorded */
struct dct_io *dcc_guest_file(const char *path, uint32_t *name);
/** dcc_guest_note - puts a sentence into the trace: why events are missing. */
void dcc_guest_note(const char *sentence);
/** dcc_guest_capture - cudaProfilerStart (1) and cudaProfilerStop (0). */
void dcc_guest_capture(int is_on);

#endif
