/* inside.h - interfaces between the parts of the emulator. */
#ifndef EMULATOR_INSIDE_H
#define EMULATOR_INSIDE_H

#include "tests/gpu/emulator/emulator.h"

#include <cuda_runtime.h>

#include <vector>

/* Also used by the stand-in for NCCL (tests/gpu/nccl), which is a separate library. */
#define EMULATOR_VISIBLE __attribute__((visibility("default")))

/** emulator_entered - called first in every CUDA function: counts it, and tells whether it is the one that must fail.
 * After a device failed while working, every later call fails. */
cudaError_t emulator_entered();
/** emulator_random - random number in 0 .. n - 1, from the seed. */
size_t emulator_random(size_t n);
/** emulator_die - for a mistake that fails on a device in some way: prints a message and aborts. */
[[noreturn]] void emulator_die(const char *format, ...) __attribute__((format(printf, 1, 2)));
extern emulator_counts emulator_counted;

/** emulator_order - 0 .. n - 1 in the order of the seed. */
void emulator_order(size_t n, std::vector<unsigned> *out);

/** emulator_run_kernel - runs all blocks now. blocks.cpp */
void emulator_run_kernel(const char *name, dim3 grid, dim3 block, size_t shared, const std::function<void()> &body);

/** emulator_enqueue - adds a piece of work to a stream, or a node of the graph being recorded. streams.cpp
 *  stream  nullptr: the default stream */
EMULATOR_VISIBLE cudaError_t emulator_enqueue(cudaStream_t stream, std::function<void()> work);
/** emulator_finish - the host waits for all work on the device. */
cudaError_t emulator_finish();
/** emulator_may_not_record - an error while any stream records: such calls would invalidate the recording. */
cudaError_t emulator_may_not_record();
/** emulator_stuck - the failure of work on the device, reported by every call from then on. */
extern cudaError_t emulator_stuck;

/** emulator_open_memory - allows or forbids access to the device's memory. memory.cpp */
void emulator_open_memory(bool is_open);
/** emulator_check_range - dies unless the bytes lie in one allocation of the device. */
EMULATOR_VISIBLE void emulator_check_range(const void *p, size_t bytes, const char *what);
/** emulator_is_device, emulator_is_pinned - the kind of memory that a pointer belongs to. */
bool emulator_is_device(const void *p);
bool emulator_is_pinned(const void *p);
/** emulator_name_address - names the nearest allocation, for a message. */
void emulator_name_address(const void *p, char *text, size_t size);

#endif
