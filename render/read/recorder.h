/* recorder.h - the state of the collector's recorders and monitors, from the words that it writes into an archive
 * ("ok", "absent: ..."). Only this file reads these words. */
#ifndef RENDER_READ_RECORDER_H
#define RENDER_READ_RECORDER_H

#include "render/model/run.h"

/** recorder_of - the state that such a text gives.
 *  text  borrows; "" = the archive does not state it. Test: tests/unit/test_read_run.c */
struct recorder recorder_of(const char *text);

#endif
