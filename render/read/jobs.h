/* jobs.h - traces that lie in one folder and are not of one job. Inside render/read. */
#ifndef RENDER_READ_JOBS_H
#define RENDER_READ_JOBS_H

#include "render/read/inputs.h"

/** jobs_split - the Chrome traces of a folder that cannot be one of each rank of one run become runs of their own, each
 *  rank set of one folder one: appended to x, and taken out of the input, which may be left without names. By what
 *  their beginnings say (distributedInfo, deviceProperties); other files stay together. Traces that may be one run are
 * left alone. Test: tests/integration/render_devices.sh */
void jobs_split(struct inputs *x, size_t input);

#endif
