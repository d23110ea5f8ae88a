/* bf16.h - bfloat16 on its way between ranks: the upper half of a float, rounded to nearest, ties to even. Nothing is
 * computed in it. Loops without branches, so that the compiler makes vector code of them. */
#ifndef TRAINER_RANKS_BF16_H
#define TRAINER_RANKS_BF16_H

#include <stddef.h>
#include <stdint.h>

/** bf16_pack - out[i] = in[i], rounded. Too large a number becomes infinite, NaN stays NaN.    shapes: (n)
 *  error  2^-8 of the value at most, as long as it is at least 2^-126 */
void bf16_pack(size_t n, const float *in, uint16_t *out);
/** bf16_unpack - out[i] = in[i], exactly.                                                        shapes: (n) */
void bf16_unpack(size_t n, const uint16_t *in, float *out);
/** bf16_add - sum[i] += in[i], added as floats, then rounded as bf16_pack does.                  shapes: (n) */
void bf16_add(size_t n, const uint16_t *in, uint16_t *sum);

#endif
