/* guest.h - functions of the recorder for the libraries beside it (cupti/, cudaprof/) and for the interposers (mpi/,
 * io/), so that a process has one trace and one clock. Each is where the code for it is. */
#ifndef DCC_INJECT_GUEST_H
#define DCC_INJECT_GUEST_H

#include "lib/archive/format.h"

#define EXPORTED __attribute__((visibility("default")))

/* What an interval is: its domain, category and kind of payload (spool_events.c). */
enum dcc_span { DCC_MPI_CALL, DCC_MPI_IN_FLIGHT, DCC_FILE_CALL, DCC_N_SPANS };

/** dcc_guest_is_wanted - the collector's segment is mapped: this process may be recorded. */
int dcc_guest_is_wanted(void);
/** dcc_guest_is_recording - this process has a trace. */
int dcc_guest_is_recording(void);
/** dcc_guest_now - current time for events of the thread. */
int64_t dcc_guest_now(void);
/** dcc_guest_span - puts a complete interval. Times are from dcc_guest_now. name may be reused after the call. */
void dcc_guest_span(enum dcc_span kind, const char *name, int64_t start_ns, int64_t end_ns, uint64_t bytes,
                    uint64_t payload);
/** dcc_guest_gpu - puts an activity of a GPU. kernel only for a kernel. It is recorded if it began inside the window.
 * Without room it counts as dropped. */
void dcc_guest_gpu(const char *name, int64_t start_ns, int64_t end_ns, uint64_t bytes, const struct dct_gpu *gpu,
                   const struct dct_kernel *kernel);
/** dcc_guest_lost - counts n events that CUPTI lost as dropped. */
void dcc_guest_lost(uint64_t n);
/** dcc_guest_file - sums of a file in the trace (DCT_N_IO of them), for atomic adds; *name gets its number for
 *  payloads. It starts the trace of a process that has none yet.
 *  returns  NULL if nothing is recorded, or if the segment is full */
struct dct_io *dcc_guest_file(const char *path, uint32_t *name);
/** dcc_guest_note - puts a sentence for people into the trace: why events are missing. */
void dcc_guest_note(const char *sentence);
/** dcc_guest_capture - cudaProfilerStart (1) and cudaProfilerStop (0). */
void dcc_guest_capture(int is_on);

#endif
