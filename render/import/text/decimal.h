/* decimal.h - decimal text of a JSON number as an exact integer. No floating point: 1711964646543.183 us has more
 * digits than a double can hold to the nanosecond. */
#ifndef RENDER_IMPORT_TEXT_DECIMAL_H
#define RENDER_IMPORT_TEXT_DECIMAL_H

#include <stdint.h>

/** decimal_scaled - the number at p times 10^scale as an integer.
 *  p, end   JSON number text; may be in quotes; "-", fraction and exponent as JSON has them. Bytes up to end are read
 *  scale    3: microseconds to nanoseconds; 9: seconds; 0: an integer
 *  out      digits finer than one unit are cut off (towards zero)
 *  returns  0; -1 for text, NaN or infinity, or when the value does not fit into 64 bits; out is then left alone */
int decimal_scaled(const char *p, const char *end, int scale, int64_t *out);

#endif
