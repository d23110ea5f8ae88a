/* entry.h - entry points for programs that are built without NVTX's headers. Open the library in NVTX_INJECTION64_PATH
 * with dlopen and look these up with dlsym: the trace is the same as through NVTX. Any thread may call. */
#ifndef DCC_ENTRY_H
#define DCC_ENTRY_H

#include <stdint.h>

#define DCC_NO_PAYLOAD UINT64_MAX

/** dcc_range_push - open a range on this thread.
 *  domain, category  NULL or "" = none
 *  name              copied
 *  payload           a number kept with the range; DCC_NO_PAYLOAD = none
 *  returns  level of the new range within its domain, from 0; -2 when nothing is being recorded */
int dcc_range_push(const char *domain, const char *category, const char *name, uint64_t payload);
/** dcc_range_pop - close the innermost range of this thread and domain.
 *  returns  its level; -1 when none is open, -2 when nothing is being recorded */
int dcc_range_pop(const char *domain);

/** dcc_range_start - open a range of the process, for activity outside of the threads; arguments as above.
 *  returns  its number, for dcc_range_end; 0 when nothing is being recorded */
uint64_t dcc_range_start(const char *domain, const char *category, const char *name, uint64_t payload);
/** dcc_range_end - close it, from any thread. id 0 does nothing. */
void dcc_range_end(const char *domain, uint64_t id);

#endif
