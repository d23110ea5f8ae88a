/* quick.h - which cases of a long loop a test tries.
 *
 * The plain build tries all of them. Under a sanitizer a case takes ten times as long and only memory errors matter, so
 * every `part`-th case is enough; with LONG=1 (make test-long) all cases are tried there too. */
#ifndef DCR_TESTS_QUICK_H
#define DCR_TESTS_QUICK_H

#include "tests/lib/under_asan.h"

#include <stdlib.h>

/** every - the increment of the loop: 1 for all cases, or part.
 *
 *  part     under a sanitizer every part-th case is enough                        unit: cases
 */
static inline size_t every(size_t part)
{
#ifdef UNDER_ASAN
    const char *all = getenv("LONG");
    return all && *all ? 1 : part;
#else
    (void)part;
    return 1;
#endif
}

#endif
