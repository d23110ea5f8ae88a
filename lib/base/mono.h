/* mono.h - the one clock of everything recorded. A header only: the injected libraries link nothing of lib. */
#ifndef DCR_MONO_H
#define DCR_MONO_H

#include <stdint.h>
#include <time.h>

static inline int64_t dcr_clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/** dcr_mono_ns - CLOCK_MONOTONIC, in ns. */
static inline int64_t dcr_mono_ns(void)
{
    return dcr_clock_ns(CLOCK_MONOTONIC);
}

#endif
