/* surroundings.c - programs that give up their root or user before they name their first range, and those that fork
 * while another thread names it. */
#include "collect/guest/guest.h"
#include "collect/guest/io/early.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))
#define ALIAS(name) __asm__(#name)

EXPORTED int dcc_io_chroot(const char *path) ALIAS(chroot);
int dcc_io_chroot(const char *path)
{
    int (*next)(const char *) = NULL, saved_errno = errno; /* fakechroot has one of its own */
    if (early_is_over()) {
        dcc_guest_root_changes();
        *(void **)&next = dlsym(RTLD_NEXT, "chroot");
    }
    errno = saved_errno;
    return next ? next(path) : (int)early_syscall(SYS_chroot, path);
}

/* How long a thread sleeps that gives way, in ns; 0 everywhere but on emulated nodes (environment.c). MPI polls while a
 * rank waits. On a node that is a share of a core the polling uses the share up: when the message comes, the rank has
 * no time left until the next period. To give way is no help there, as no other thread wants the core. */
static long sleep_ns(void)
{
    static long kept = -1;
    if (kept < 0) {
        const char *text = getenv("DCC_YIELD_NS");
        long ns = text ? strtol(text, NULL, 10) : 0;
        kept = ns > 0 && ns < 1000000000 ? ns : 0;
    }
    return kept;
}

EXPORTED int dcc_io_sched_yield(void) ALIAS(sched_yield);
int dcc_io_sched_yield(void)
{
    struct timespec pause = {0};
    if (early_is_over()) {
        int saved_errno = errno;
        dcc_guest_yields(__builtin_return_address(0));
        pause.tv_nsec = sleep_ns();
        if (pause.tv_nsec > 0)
            nanosleep(&pause, NULL);
        errno = saved_errno;
    }
    return pause.tv_nsec > 0 ? 0 : (int)early_syscall(SYS_sched_yield);
}

/* Who becomes another user may not be able to make a trace any more: the C library's call stands between making it and
 * looking what became of it. The call reaches all threads, as a system call alone would not. */
#define OF_USER(NAME, PARAMS, ARGS)                                         \
    EXPORTED int dcc_io_##NAME(PARAMS) ALIAS(NAME);                         \
    int dcc_io_##NAME(PARAMS)                                               \
    {                                                                       \
        int (*next)(PARAMS), saved_errno = errno;                           \
        uid_t before = early_is_over() ? geteuid() : 0;                     \
        *(void **)&next = early_is_over() ? dlsym(RTLD_NEXT, #NAME) : NULL; \
        if (!next)                                                          \
            return -1;                                                      \
        int note = before == 0 ? dcc_guest_user_changes() : -1;             \
        errno = saved_errno;                                                \
        int rc = next(ARGS);                                                \
        saved_errno = errno;                                                \
        if (before == 0)                                                    \
            dcc_guest_user_changed(note, rc == 0 && geteuid() != before);   \
        errno = saved_errno;                                                \
        return rc;                                                          \
    }
#define P(...) __VA_ARGS__
OF_USER(setuid, P(uid_t user), P(user))
OF_USER(seteuid, P(uid_t user), P(user))
OF_USER(setreuid, P(uid_t real, uid_t user), P(real, user))
OF_USER(setresuid, P(uid_t real, uid_t user, uid_t saved), P(real, user, saved))
