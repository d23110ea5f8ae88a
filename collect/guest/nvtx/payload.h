/* payload.h - structured data that NVTX's payload extension attaches to ranges and marks, in the form of the trace: the
 * data stay raw, and the program's definitions become text. lib/trace/payload.c reads both. */
#ifndef DCC_PAYLOAD_H
#define DCC_PAYLOAD_H

#include "collect/guest/nvtx/nvtx_abi.h"

/* Room for the text of a definition; the trace keeps no longer ones. */
enum { PAYLOAD_TEXT = 2000 };

/** payload_text_of - the text of a schema in the trace: name, type and offset of each entry, /flags after it if there
 * are any: "schema 7 'x' size=16: a 5@0, b 20@8". Entries without room are left out whole, marked by ", ...".
 *  out      [n], n at least 400 */
void payload_text_of(const struct nvtxabi_schema *s, uint64_t id, char *out, size_t n);
/** payload_text_of_enum - the same for an enumeration: "enum 7 'x' size=4: a=0, b=1". */
void payload_text_of_enum(const struct nvtxabi_enum *e, uint64_t id, char *out, size_t n);
/** payload_bytes - items as struct dct_raw and bytes, each padded to whole slots.
 *  out      [DCT_MAX_RAW]; what does not fit is cut, as `kept` tells
 *  returns  bytes used, a multiple of a slot */
size_t payload_bytes(const struct nvtxabi_item *items, size_t n, unsigned char *out);

#endif
