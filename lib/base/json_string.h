/* json_string.h - JSON of what the system, an archive or a program says. jansson takes valid UTF-8 only. */
#ifndef DCR_JSON_STRING_H
#define DCR_JSON_STRING_H

#include "lib/base/stream.h"

#include <jansson.h>

/** json_string_shown - text by utf8_clean, so that any bytes make a string: what is no UTF-8, and what is not to be
 *  shown, line feeds too, becomes U+FFFD.
 *  returns  gives; NULL: no memory. Test: tests/unit/test_lib.c */
json_t *json_string_shown(const char *bytes);
/** json_string_kept - valid UTF-8 as it is, for a record that is to say what there was; else json_string_shown. */
json_t *json_string_kept(const char *bytes);

/** json_read - all of a stream, at most 256 MiB.
 *  returns  gives an object; NULL with DCR_FAIL: no JSON, another kind of value, or the stream fails */
json_t *json_read(struct dcr_stream *s, struct dcr_err *err);

#endif
