/* cupti.h - GPU activity through CUPTI: cupti.c finds the library and hands over buffers, convert.c turns its records
 * into ours. Loaded by CUDA itself (CUDA_INJECTION64_PATH) when the program first uses the device. */
#ifndef DCC_CUPTI_H
#define DCC_CUPTI_H

#include "collect/guest/cupti/cupti_abi.h"

/* The functions of the CUPTI that was found. */
struct cupti {
#define X(field, symbol, arguments) int(*field) arguments;
    CUPTIABI_FUNCTIONS(X) CUPTIABI_OPTIONAL(X)
#undef X
};

/* CUPTI's clock against ours: two looks at both, times between and beyond are on the line through them. */
struct cupti_clock {
    int64_t cupti_ns[2], mono_ns[2]; /* the earlier and the later look */
};
/** cupti_clock_look - at both clocks now; the best of several tries. Replaces the later look, which becomes the
 * earlier. */
void cupti_clock_look(struct cupti_clock *c, const struct cupti *library);
/** cupti_clock_mono - CUPTI's time on the clock of the trace. */
int64_t cupti_clock_mono(const struct cupti_clock *c, uint64_t cupti_ns);

/** convert_record - one record into the trace. Kinds that nobody asked for are passed over. */
void convert_record(const struct cuptiabi_record *record, const struct cupti *library, const struct cupti_clock *c);

#endif
