/* json.h - reading JSON that someone else wrote: every value is checked for type and range. Test:
 * tests/unit/test_read_run.c */
#ifndef RENDER_IMPORT_TEXT_JSON_H
#define RENDER_IMPORT_TEXT_JSON_H

#include "lib/base/stream.h"
#include "render/model/build.h"

#include <jansson.h>

/** json_slurp - the whole stream as one JSON value (objects must not repeat a key). gives; json_decref. */
json_t *json_slurp(struct dcr_stream *s, struct dcr_err *err);
/** json_text - member key as clean text, "" when absent or not a string. */
const char *json_text(struct run *r, const json_t *object, const char *key);
/** json_int - member key, or absent when it is missing, not a whole number (2.0 is one), or outside lo..hi. */
int64_t json_int(const json_t *object, const char *key, int64_t lo, int64_t hi, int64_t absent);
/** json_number_or - as json_int, for finite reals >= 0. */
double json_number_or(const json_t *object, const char *key, double absent);

#endif
