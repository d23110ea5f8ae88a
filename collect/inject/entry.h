/* entry.h - entry points for programs that are built without NVTX's headers: dlopen the library that
 * NVTX_INJECTION64_PATH names, dlsym these two, and the trace is the same as through NVTX. */
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

#endif
