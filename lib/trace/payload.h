/* payload.h - NVTX's extended payloads for people: the bytes of a DCT_PAYLOAD_RAW by the schemas and enumerations that
 * the program registered (DCT_SCHEMA). Items without a schema stay hexadecimal. Called by lib/trace/trace.c.
 *
 * Texts of DCT_SCHEMA, as the writer makes them (collect/guest/nvtx/payload.c):
 *   schema ID 'NAME' size=N: FIELD TYPE@OFFSET[/FLAGS][*LENGTH], FIELD TYPE@OFFSET ...
 *   enum ID 'NAME' size=N: WORD=VALUE, WORD=VALUE ...
 * TYPE is NVTX's number of a predefined type, or the ID of an enumeration. */
#ifndef DCR_PAYLOAD_H
#define DCR_PAYLOAD_H

#include "lib/base/buf.h"

#include <stddef.h>
#include <stdint.h>

/* Text of the definition with that ID in the domain of the event, NULL when there is none. */
typedef const char *(*payload_schema_fn)(void *ctx, uint64_t id);

/** payload_put - append "FIELD=VALUE; FIELD=VALUE"; of an item without a schema "schema ID=HEX", cut ones end in "...".
 *  raw      borrows; n bytes: items of struct dct_raw, each with its kept bytes. May hold anything
 *  schema   called for every ID that occurs; its text may hold anything too */
void payload_put(struct dcr_buf *out, const void *raw, size_t n, payload_schema_fn schema, void *ctx);

#endif
