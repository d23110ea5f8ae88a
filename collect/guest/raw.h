/* raw.h - the recorder's own calls on files, straight to the kernel: a library that the program preloads to watch or
 * count its open() and write() is not to see ours. No points of cancellation. errno as the C library sets it. */
#ifndef DCC_INJECT_RAW_H
#define DCC_INJECT_RAW_H

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static inline int raw_close(int fd)
{
    return (int)syscall(SYS_close, fd);
}

/* A copy of the descriptor with a number of at least `least`, closed by exec. */
static inline int raw_dup_from(int fd, int least)
{
    return (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, least);
}

/* Never returns the number of a standard stream. If the program has closed one and writes to it, the output would land
 * in our file. Fails with EMFILE if no higher number is free. */
static inline int raw_openat(int folder, const char *path, int flags, mode_t mode)
{
    int fd = (int)syscall(SYS_openat, folder, path, flags, mode);
    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    int above = raw_dup_from(fd, STDERR_FILENO + 1);
    raw_close(fd);
    if (above < 0)
        errno = EMFILE;
    return above;
}

static inline int raw_open(const char *path, int flags)
{
    return raw_openat(AT_FDCWD, path, flags, 0);
}

static inline ssize_t raw_read(int fd, void *out, size_t n)
{
    return (ssize_t)syscall(SYS_read, fd, out, n);
}

static inline ssize_t raw_write(int fd, const void *bytes, size_t n)
{
    return (ssize_t)syscall(SYS_write, fd, bytes, n);
}

static inline ssize_t raw_pwrite(int fd, const void *bytes, size_t n, off_t at)
{
    return (ssize_t)syscall(SYS_pwrite64, fd, bytes, n, at);
}

#endif
