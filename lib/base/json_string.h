/* json_string.h - JSON strings from text of the system, an archive or a program. jansson takes valid UTF-8 only. */
#ifndef DCR_JSON_STRING_H
#define DCR_JSON_STRING_H

#include "lib/base/stream.h"

#include <jansson.h>

/** json_string_shown - text cleaned by utf8_clean, so that any bytes make a string. Invalid UTF-8 and characters that
 * are not to be shown, line feeds too, become U+FFFD.
 *  returns  gives; NULL: no memory. Test: tests/unit/test_lib.c */
json_t *json_string_shown(const char *bytes);
/** json_string_kept - keeps valid UTF-8 unchanged, for a record of the original text; else json_string_shown. */
json_t *json_string_kept(const char *bytes);

/** json_read - parses a whole stream of at most 256 MiB.
 *  returns  gives an object; NULL with DCR_FAIL: not JSON, not an object, or the stream fails */
json_t *json_read(struct dcr_stream *s, struct dcr_err *err);

#endif
