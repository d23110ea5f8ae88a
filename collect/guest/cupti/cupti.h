/* cupti.h - GPU activity through CUPTI: cupti.c finds the library and manages buffers, convert.c turns its records into
 * ours. Loaded by CUDA itself (CUDA_INJECTION64_PATH) when the program first uses the device. */
#ifndef DCC_CUPTI_H
#define DCC_CUPTI_H

#include "collect/guest/cupti/cupti_abi.h"

/* The functions of the CUPTI that was found. */
struct cupti {
#define X(field, symbol, arguments) int(*field) arguments;
    CUPTIABI_FUNCTIONS(X) CUPTIABI_OPTIONAL(X)
#undef X
};

/* Relates CUPTI's clock to ours by two looks at both. Other times lie on the line through these points. */
struct cupti_clock {
    int64_t cupti_ns[2], mono_ns[2]; /* the earlier and the later look */
};
/** cupti_clock_look - reads both clocks now, the best of several tries. The later look becomes the earlier one, and the
 * new look the later one. */
void cupti_clock_look(struct cupti_clock *c, const struct cupti *library);
/** cupti_clock_mono - CUPTI's time on the clock of the trace. */
int64_t cupti_clock_mono(const struct cupti_clock *c, uint64_t cupti_ns);

/** convert_record - puts one record into the trace. Kinds that were not requested are skipped. */
void convert_record(const struct cuptiabi_record *record, const struct cupti *library, const struct cupti_clock *c);

#endif
