/* json_values.h - the building blocks of report.json: the tables of render/metrics, and values beside them. What was
 * not measured is null, never 0. Schema: docs/report-json.md. Inside render/findings. Test:
 * tests/unit/test_narrate_runs.c */
#ifndef RENDER_WRITE_JSON_JSON_VALUES_H
#define RENDER_WRITE_JSON_JSON_VALUES_H

#include "render/metrics/registry/metrics.h"

#include <jansson.h>

/** value_set, value_add - add a key to an object, an element to a list; takes value. Without memory the program ends,
 * as in dcr_arena_alloc, so that no key is silently lost. */
void value_set(json_t *object, const char *key, json_t *value);
void value_add(json_t *list, json_t *value);
/** value_string - json_string_shown; null for NULL.
 *  returns  gives; NULL: no memory */
json_t *value_string(const char *s);
/** value_real, value_int, value_text - null if there is no value, if it is not finite, or if it is NULL or "". */
json_t *value_real(int has, double v);
json_t *value_int(int has, int64_t v);
json_t *value_text(const char *s);
/** value_reason - "no GPU was monitored"; null of REASON_NONE. */
json_t *value_reason(const struct reason *why);
/** value_phrase - the sentence; null of PHRASE_NONE. */
json_t *value_phrase(const struct phrase *p);
/** value_interval - {"lo", "hi"} or null. */
json_t *value_interval(struct interval i);
/** value_put - sets all keys of a table; value_object: of a new object.   subject  the subject of the table */
void value_put(json_t *o, const struct metrics *t, const void *subject);
json_t *value_object(const struct metrics *t, const void *subject);
/** value_parts - by key, null for parts that were not recorded.   part: shape (N_PARTS), ns; known: bit p of enum part
 *  p, as known_parts has it */
json_t *value_parts(const int64_t *part, unsigned known);
/** nodes_json - `nodes` of a run. (json_nodes.c) */
json_t *nodes_json(const struct run_result *r);
/** run_json - an entry of `runs`. (json_run.c) */
json_t *run_json(const struct run_result *r);
/** roofline_json - `kernel_roofline` of the report: kernels that a profiler counted. (json_roofline.c) */
json_t *roofline_json(const struct report *rep);
/** operator_roofline_json - `operator_roofline`: operators whose work follows from the shapes of their inputs. */
json_t *operator_roofline_json(const struct report *rep);

#endif
