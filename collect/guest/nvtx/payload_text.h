/* payload_text.h - turns a program's definitions for its NVTX payloads into text for the trace. lib/trace/payload.c
 * reads it. */
#ifndef DCC_PAYLOAD_TEXT_H
#define DCC_PAYLOAD_TEXT_H

#include "collect/guest/nvtx/nvtx_abi.h"

/* Room for the text of a definition; the trace keeps no longer ones. */
enum { PAYLOAD_TEXT = 2000 };

/** payload_text_of - the text of a schema in the trace: name, type and offset of each entry, /flags after it if there
 * are any: "schema 7 'x' size=16: a 5@0, b 20@8". Entries without room are left out whole, marked by ", ...".
 *  out      [n], n at least 400 */
void payload_text_of(const struct nvtxabi_schema *s, uint64_t id, char *out, size_t n);
/** payload_text_of_enum - the same for an enumeration: "enum 7 'x' size=4: a=0, b=1". */
void payload_text_of_enum(const struct nvtxabi_enum *e, uint64_t id, char *out, size_t n);

#endif
