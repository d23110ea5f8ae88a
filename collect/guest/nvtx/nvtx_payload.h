/* nvtx_payload.h - NVTX's payload extension: structured data attached to ranges and marks. Payloads are kept raw and
 * the program's schemas as text, so that a reader can decode them. */
#ifndef DCC_NVTX_PAYLOAD_H
#define DCC_NVTX_PAYLOAD_H

#include "collect/guest/nvtx/nvtx_abi.h"

/** nvtx_payload_bytes - items in the form of the trace: struct dct_raw and bytes, each padded to whole slots.
 *  out      [DCT_MAX_RAW]; what does not fit is cut, as `kept` tells
 *  returns  bytes used, a multiple of a slot */
size_t nvtx_payload_bytes(const struct nvtxabi_item *items, size_t n, unsigned char *out);

#endif
