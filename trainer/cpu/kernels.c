/* kernels.c - choose the kernels this CPU can run. */
#include "trainer/cpu/kernels.h"

#include <string.h>

#ifdef DCR_REAL_F64
static const struct kernels *const tables[] = {&kernels_portable};
static int can_run(const struct kernels *k)
{
    (void)k;
    return 1;
}
#elif defined(__x86_64__)
static const struct kernels *const tables[] = {&kernels_avx512, &kernels_avx2, &kernels_portable};
/* The compiler's CPUID functions also ask whether the system saves the wide registers. */
static int can_run(const struct kernels *k)
{
    if (k == &kernels_avx512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    if (k == &kernels_avx2)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    return 1;
}
#else
static const struct kernels *const tables[] = {&kernels_portable};
static int can_run(const struct kernels *k)
{
    (void)k;
    return 1;
}
#endif

int kernels_choose(const char *name, const struct kernels **out, struct dcr_err *err)
{
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        if (name && strcmp(name, tables[i]->name) != 0)
            continue;
        if (can_run(tables[i])) {
            *out = tables[i];
            return 0;
        }
        if (name)
            return dcr_err_set(err, DCR_FAIL, "kernels '%s' need instructions that this CPU does not have", name);
    }
    return dcr_err_set(err, DCR_FAIL, "unknown kernels '%s'; use avx512, avx2 or portable", name);
}
