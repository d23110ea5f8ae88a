/* early.c - see early.h. */
#include "collect/guest/io/early.h"

#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

/* Weak, so that its address comes from the table that the loader fills. Before that it is 0. */
extern char **environ __attribute__((weak));

int early_is_over(void)
{
    return &environ != NULL;
}

long early_syscall(long number, ...)
{
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++) /* missing arguments are garbage, which the kernel ignores */
        a[i] = va_arg(list, long);
    va_end(list);
#if defined(__x86_64__)
    long rc;
    register long r10 __asm__("r10") = a[3], r8 __asm__("r8") = a[4], r9 __asm__("r9") = a[5];
    __asm__ volatile("syscall"
                     : "=a"(rc)
                     : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    if (rc >= 0 || rc < -4095)
        return rc;
    if (early_is_over())
        errno = (int)-rc;
    return -1;
#else
    return early_is_over() ? syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]) : -1;
#endif
}
