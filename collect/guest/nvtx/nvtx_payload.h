/* nvtx_payload.h - NVTX's payload extension: structured data attached to ranges and marks. Kept raw, with the schemas
 * that the program registers as text, so that a reader can take them apart. */
#ifndef DCC_NVTX_PAYLOAD_H
#define DCC_NVTX_PAYLOAD_H

#include "collect/guest/nvtx/nvtx_abi.h"

/** nvtx_payload_bytes - items as they stand in the trace: struct dct_raw and bytes, each padded to whole slots.
 *  out      [DCT_MAX_RAW]; what does not fit is cut, and said in `kept`
 *  returns  bytes used, a multiple of a slot */
size_t nvtx_payload_bytes(const struct nvtxabi_item *items, size_t n, unsigned char *out);

#endif
