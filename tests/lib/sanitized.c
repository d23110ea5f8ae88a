/* sanitized.c - linked into every program and unit test built with SANITIZE=1: options of the sanitizers, and the exit
 * status after a report, wherever the program is started. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef __has_feature /* gcc */
#define __has_feature(name) 0
#endif
#if defined __SANITIZE_ADDRESS__ || __has_feature(address_sanitizer)

const char *__asan_default_options(void);
const char *__ubsan_default_options(void);
int __lsan_is_turned_off(void);
void __ubsan_on_report(void);
void __ubsan_get_current_report_data(const char **kind, const char **message, const char **file, unsigned *line,
                                     unsigned *column, char **address);

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

/* ASan writes its reports to the path in ASAN_OPTIONS=log_path. UBSan only prints, and a script that expects a
 * failure may take the report for a refusal. So UBSan's reports are written to a file here. */
void __ubsan_on_report(void)
{
    const char *folder = getenv("SANITIZER_REPORTS");
    char path[4096];
    if (!folder || snprintf(path, sizeof path, "%s/ubsan.%ld", folder, (long)getpid()) >= (int)sizeof path)
        return;
    const char *kind = "", *message = "", *file = "";
    char *address = NULL;
    unsigned line = 0, column = 0;
    __ubsan_get_current_report_data(&kind, &message, &file, &line, &column, &address);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return;
    dprintf(fd, "%s:%u:%u: %s: %s\n", file, line, column, kind, message);
    close(fd);
}

#endif
