/* surroundings.c - programs that give up their environment or root before they name their first range. */
#include "collect/inject/guest.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))
#define ALIAS(name) __asm__(#name)

/* As the C library's. NVTX looks for its tool here at its first call: after clearenv() it is told what it would have
 * been told at the start. */
EXPORTED char *dcc_io_getenv(const char *name) ALIAS(getenv);
char *dcc_io_getenv(const char *name)
{
    static const char injection[] = "NVTX_INJECTION64_PATH";
    size_t n = strlen(name);
    for (char **e = environ; e && *e && n; e++)
        if (strncmp(*e, name, n) == 0 && (*e)[n] == '=')
            return *e + n + 1;
    return n == sizeof injection - 1 && memcmp(name, injection, n) == 0 ? (char *)dcc_guest_injection() : NULL;
}

EXPORTED int dcc_io_chroot(const char *path) ALIAS(chroot);
int dcc_io_chroot(const char *path)
{
    int saved_errno = errno;
    dcc_guest_root_changes();
    errno = saved_errno;
    return (int)syscall(SYS_chroot, path);
}
