/* devices.h - what foreign traces say of GPUs, for report.json. */
#ifndef RENDER_NARRATE_DEVICES_H
#define RENDER_NARRATE_DEVICES_H

#include "render/analyse/report.h"

#include <jansson.h>

/** devices_json - one object per run, file and device, in that order. gives; json_decref. */
json_t *devices_json(const struct report *rep);
/** operators_json - one object per run and trace: operators and ranges of the host. gives; json_decref. */
json_t *operators_json(const struct report *rep);
/** evidence_json - tables of other tools' files, one object each. gives; json_decref. */
json_t *evidence_json(const struct report *rep);

/** device_headline - what GPU traces without steps say; NULL when there are none. */
const char *device_headline(struct report *rep, const struct run *r);
/** device_action - what to do about the idle time of GPU traces without steps, and how to get steps; NULL when there
 * are none. */
const char *device_action(struct report *rep, const struct run_result *r);

#endif
