/* library.h - finds and opens the device library of device.h. Part of the program, plain C. */
#ifndef TRAINER_GPU_LIBRARY_H
#define TRAINER_GPU_LIBRARY_H

#include "trainer/gpu/device.h"

/** gpu_library_open - the table of the device library; opened once and kept. Looks at $DCRNN_CUDA_LIBRARY, else beside
 * the program in ../lib/dcreport, which is where it is built, installed and bundled.
 *  out      borrows, until the program ends
 *  errors   DCR_FAIL: not there (built without CUDA), cannot be loaded (which library is missing), of another version
 */
int gpu_library_open(const struct gpu_api **out, struct dcr_err *err) DCR_MUST_CHECK;

#endif
