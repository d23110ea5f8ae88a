/* json_lists.h - lists of report.json: devices, operators, tables of other tools, comparisons. */
#ifndef RENDER_WRITE_JSON_JSON_LISTS_H
#define RENDER_WRITE_JSON_JSON_LISTS_H

#include "render/metrics/report.h"

#include <jansson.h>

/** devices_json - one object per run, file and device, in that order. gives; json_decref. */
json_t *devices_json(const struct report *rep);
/** operators_json - one object per run and trace: operators and ranges of the host. gives; json_decref. */
json_t *operators_json(const struct report *rep);
/** code_lines_json - one object per trace with Python stacks: the lines that kept its GPUs waiting. gives; json_decref.
 */
json_t *code_lines_json(const struct report *rep);
/** evidence_json - tables of other tools' files, one object each. gives; json_decref. */
json_t *evidence_json(const struct report *rep);

/** comparisons_json - list; empty without a baseline. gives */
json_t *comparisons_json(const struct report *rep);
/** changes_json - before and after by name; null without. gives */
json_t *changes_json(const struct report *rep);

#endif
