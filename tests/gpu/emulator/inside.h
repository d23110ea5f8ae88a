/* inside.h - what the parts of the emulator know of each other. */
#ifndef EMULATOR_INSIDE_H
#define EMULATOR_INSIDE_H

#include "tests/gpu/emulator/emulator.h"

#include <cuda_runtime.h>

#include <vector>

/* Also used by the stand-in for NCCL (tests/gpu/nccl), which is a library of its own. */
#define EMULATOR_VISIBLE __attribute__((visibility("default")))

/** emulator_entered - first in every CUDA function: counts it, and says whether it is the one that is to fail. A device
 *  that failed while working fails every later call. */
cudaError_t emulator_entered();
/** emulator_random - 0 .. n - 1, from the seed. */
size_t emulator_random(size_t n);
/** emulator_die - a mistake that a device would punish somehow: message and abort. */
[[noreturn]] void emulator_die(const char *format, ...) __attribute__((format(printf, 1, 2)));
extern emulator_counts emulator_counted;

/** emulator_order - 0 .. n - 1 in the order that the seed says. */
void emulator_order(size_t n, std::vector<unsigned> *out);

/** emulator_run_kernel - all blocks, now. blocks.cpp */
void emulator_run_kernel(const char *name, dim3 grid, dim3 block, size_t shared, const std::function<void()> &body);

/** emulator_enqueue - a piece of work on a stream, or a node of the graph being recorded. streams.cpp
 *  stream  nullptr: the default stream */
EMULATOR_VISIBLE cudaError_t emulator_enqueue(cudaStream_t stream, std::function<void()> work);
/** emulator_finish - the host waits for everything on the device. */
cudaError_t emulator_finish();
/** emulator_may_not_record - an error while any stream records: such calls would invalidate the recording. */
cudaError_t emulator_may_not_record();
/** emulator_stuck - the failure of work on the device, reported by every call from then on. */
extern cudaError_t emulator_stuck;

/** emulator_open_memory - let the device's memory be touched, or not. memory.cpp */
void emulator_open_memory(bool is_open);
/** emulator_check_range - dies unless the bytes lie in one allocation of the device. */
EMULATOR_VISIBLE void emulator_check_range(const void *p, size_t bytes, const char *what);
/** emulator_is_device, emulator_is_pinned - what a pointer belongs to. */
bool emulator_is_device(const void *p);
bool emulator_is_pinned(const void *p);
/** emulator_name_address - for a message: which allocation is nearest. */
void emulator_name_address(const void *p, char *text, size_t size);

#endif
