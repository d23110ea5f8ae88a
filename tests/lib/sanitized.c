/* sanitized.c - linked into every program and unit test built with SANITIZE=1: options of the sanitizers, and the exit
 * status after a report, wherever the program is started. Reports of ASan and UBSan go where log_path of ASAN_OPTIONS
 * says. */
#include "tests/lib/under_asan.h"

#include <dlfcn.h>
#include <stddef.h>

#ifdef UNDER_ASAN

const char *__asan_default_options(void);
const char *__ubsan_default_options(void);
int __lsan_is_turned_off(void);

/* No program here exits with 86 otherwise. Under dccollect the recorder is preloaded before ASan, so the link order is
 * not verified. */
const char *__asan_default_options(void)
{
    return "detect_stack_use_after_return=1:exitcode=86:verify_asan_link_order=0";
}

const char *__ubsan_default_options(void)
{
    return "print_stacktrace=1:exitcode=86";
}

/* Open MPI leaks memory, mostly in modules that it has unloaded, which a suppression cannot name. */
int __lsan_is_turned_off(void)
{
    int (*initialized)(int *) = NULL;
    int has_joined = 0;
    *(void **)&initialized = dlsym(RTLD_DEFAULT, "MPI_Initialized");
    return initialized && initialized(&has_joined) == 0 && has_joined;
}

#endif
