/* emulator.h - settings and counts for tests; see README.md. Not part of CUDA. */
#ifndef TESTS_GPU_EMULATOR_H
#define TESTS_GPU_EMULATOR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct emulator_settings {
    uint64_t seed;       /* order of work: 0 as given; 1 reversed; more: random with this seed */
    size_t memory_bytes; /* of a device */
    size_t shared_bytes; /* largest shared memory of a block */
    int n_processors, major, minor;
    int n_devices;
    int driver;        /* 0 = none, 13000 = 13.0 */
    int64_t fail_call; /* this call from now on, counted from 1, fails; 0 = none */
    int64_t fail_work; /* this kernel, copy or product from now on does not work; 0 = none */
    int slice;         /* slice of the GPU (MIG): another UUID at the same PCI address */
    int hangs;         /* the host never learns that work has ended */
};

/** emulator_settings - to be changed between calls. The symbol is visible in the emulated device library. */
extern __attribute__((visibility("default"))) struct emulator_settings emulator_settings;

struct emulator_counts {
    int64_t n_calls;                                   /* CUDA and cuBLAS functions called */
    int64_t n_kernels, n_products, n_copies, n_graphs; /* done, launched */
    int64_t n_live; /* allocations, streams, events, graphs and handles that are not released yet */
};
/** emulator_counts - counts since the process began. */
__attribute__((visibility("default"))) struct emulator_counts emulator_count(void);

#ifdef __cplusplus
}
#endif
#endif
