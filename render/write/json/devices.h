/* devices.h - what foreign traces say of GPUs: findings, and the lists of report.json. */
#ifndef RENDER_WRITE_JSON_DEVICES_H
#define RENDER_WRITE_JSON_DEVICES_H

#include "render/findings/stepless.h"

#include <jansson.h>

/** devices_json - one object per run, file and device, in that order. gives; json_decref. */
json_t *devices_json(const struct report *rep);
/** operators_json - one object per run and trace: operators and ranges of the host. gives; json_decref. */
json_t *operators_json(const struct report *rep);
/** evidence_json - tables of other tools' files, one object each. gives; json_decref. */
json_t *evidence_json(const struct report *rep);

/** say_devices - what GPU traces without steps say.   returns 0: there are none, and out is unchanged */
int say_devices(const struct report *rep, const struct run *r, struct said *out);
/** advise_devices - what to do about the idle time of GPU traces without steps; nothing for a trace of so few kernels
 *  that it shows no loop. How steps are marked is said of trainings alone.   returns 0: there are none */
int advise_devices(struct report *rep, const struct run_result *r, struct stepless_advice *out);

#endif
