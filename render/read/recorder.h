/* recorder.h - what the collector says of its recorders and monitors, in the words that it writes into an archive
 * ("ok", "absent: ..."). The only place that reads these. */
#ifndef RENDER_READ_RECORDER_H
#define RENDER_READ_RECORDER_H

#include "render/model/run.h"

/** recorder_of - what such a text says.
 *  text  borrows; "" = the archive does not say. Test: tests/unit/test_read_run.c */
struct recorder recorder_of(const char *text);

#endif
