/* quick.h - how much of a long range of cases a test goes through.
 *
 * The plain build goes through all of them. Under a sanitizer, where they take ten times as long and look for faults of
 * memory instead of results, every `part`-th case is enough; LONG=1 (make test-long) asks for all there too. */
#ifndef DCR_TESTS_QUICK_H
#define DCR_TESTS_QUICK_H

#include <stdlib.h>

/** every - the step through a range of cases: 1 for all of them, or part.
 *
 *  part     which share of the cases is enough under a sanitizer: every part-th   unit: cases
 */
static inline size_t every(size_t part)
{
#ifdef __SANITIZE_ADDRESS__
    const char *all = getenv("LONG");
    return all && *all ? 1 : part;
#else
    (void)part;
    return 1;
#endif
}

#endif
