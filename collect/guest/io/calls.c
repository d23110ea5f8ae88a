/* calls.c - the C library's calls on files, interposed. Reading by mmap, io_uring and aio are not seen. Of stdio only
 * calls that move blocks are seen (fopen, fread, fwrite, fflush, fclose), because its system calls are made inside the
 * C library.
 *
 * Functions are looked up at load. Earlier calls by another library's constructor or IFUNC resolver go straight to the
 * kernel. */
#include "collect/guest/io/files.h"
#include "collect/guest/near.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* stdio calls of fewer bytes are counted and not timed: mostly they copy into a buffer. */
#define STDIO_TIMED_BYTES 4096u
/* Own names for these functions, so that fortified or redirected declarations of the headers do not interfere. */
#define ALIAS(name) __asm__(#name)

/* ---- before load ------------------------------------------------------------------------------- */

/* The resolver of another library's IFUNC runs while the loader still relocates. The loader relocates that library
 * before this one. The resolver may ask for a variable or open a file, which calls the functions here, while addresses
 * of other objects are not valid yet. */

/* Weak, so that its address comes from the table that the loader fills. Before that it is 0. */
extern char **environ __attribute__((weak));

static int early_is_over(void)
{
    return &environ != NULL;
}

/* As syscall(), with at most six arguments, without calling other functions. errno is set when possible. */
static long early_syscall(long number, ...)
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

/* ---- blocks ------------------------------------------------------------------------------------ */

/* A function of the C library: the pointer to it, and our function of that name. PARAMS and ARGS are in parentheses. */
#define INTERPOSED(TYPE, NAME, PARAMS)     \
    NEAR static TYPE(*next_##NAME) PARAMS; \
    EXPORTED TYPE dcc_io_##NAME PARAMS ALIAS(NAME);
/* Two functions with the same parameters. */
#define BOTH(ROW, NAME, SAME, ...) ROW(NAME, __VA_ARGS__) ROW(SAME, __VA_ARGS__)

/* Aligns a function so that it lies on one page of memory. */
#define ON_ONE_PAGE __attribute__((aligned(512)))

/* NAME PARAMS: TYPE of the result, KIND of I/O on descriptor FD; before load the system call is used. */
#define ON_FILE(NAME, TYPE, PARAMS, ARGS, KIND, FD, SYSTEM)                                     \
    INTERPOSED(TYPE, NAME, PARAMS)                                                              \
    ON_ONE_PAGE TYPE dcc_io_##NAME PARAMS                                                       \
    {                                                                                           \
        struct dct_io *sums;                                                                    \
        struct file *f = files_usual(FD, &sums);                                                \
        if (__builtin_expect(!f, 0)) {                                                          \
            if (!next_##NAME)                                                                   \
                return (TYPE)early_syscall SYSTEM;                                              \
            f = files_is_on() ? files_of(FD) : NULL;                                            \
            if (!f)                                                                             \
                return next_##NAME ARGS;                                                        \
        }                                                                                       \
        int64_t start = files_time();                                                           \
        TYPE result = next_##NAME ARGS;                                                         \
        files_done(f, sums, KIND, #NAME, start, files_time(), bytes_of(KIND, (ssize_t)result)); \
        return result;                                                                          \
    }

static uint64_t bytes_of(int kind, ssize_t result)
{
    return kind != DCT_IO_OTHER && result > 0 ? (uint64_t)result : 0;
}

#define HALVES(at) (long)(at), 0l

ON_FILE(read, ssize_t, (int fd, void *b, size_t n), (fd, b, n), DCT_IO_READ, fd, (SYS_read, fd, b, n))
ON_FILE(__read_chk, ssize_t, (int fd, void *b, size_t n, size_t size), (fd, b, n, size), DCT_IO_READ, fd,
        (SYS_read, fd, b, n < size ? n : size))
ON_FILE(readv, ssize_t, (int fd, const struct iovec *v, int n), (fd, v, n), DCT_IO_READ, fd, (SYS_readv, fd, v, n))
BOTH(ON_FILE, pread, pread64, ssize_t, (int fd, void *b, size_t n, off_t at), (fd, b, n, at), DCT_IO_READ, fd,
     (SYS_pread64, fd, b, n, at))
BOTH(ON_FILE, __pread_chk, __pread64_chk, ssize_t, (int fd, void *b, size_t n, off_t at, size_t size),
     (fd, b, n, at, size), DCT_IO_READ, fd, (SYS_pread64, fd, b, n < size ? n : size, at))
BOTH(ON_FILE, preadv, preadv64, ssize_t, (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at), DCT_IO_READ,
     fd, (SYS_preadv, fd, v, n, HALVES(at)))
ON_FILE(write, ssize_t, (int fd, const void *b, size_t n), (fd, b, n), DCT_IO_WRITE, fd, (SYS_write, fd, b, n))
ON_FILE(writev, ssize_t, (int fd, const struct iovec *v, int n), (fd, v, n), DCT_IO_WRITE, fd, (SYS_writev, fd, v, n))
BOTH(ON_FILE, pwrite, pwrite64, ssize_t, (int fd, const void *b, size_t n, off_t at), (fd, b, n, at), DCT_IO_WRITE, fd,
     (SYS_pwrite64, fd, b, n, at))
BOTH(ON_FILE, pwritev, pwritev64, ssize_t, (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at),
     DCT_IO_WRITE, fd, (SYS_pwritev, fd, v, n, HALVES(at)))
ON_FILE(fsync, int, (int fd), (fd), DCT_IO_OTHER, fd, (SYS_fsync, fd))
ON_FILE(fdatasync, int, (int fd), (fd), DCT_IO_OTHER, fd, (SYS_fdatasync, fd))
ON_FILE(sync_file_range, int, (int fd, off_t at, off_t n, unsigned flags), (fd, at, n, flags), DCT_IO_OTHER, fd,
        (SYS_sync_file_range, fd, at, n, flags))
/* Counts for the file that is read; the other side is mostly a socket. */
BOTH(ON_FILE, sendfile, sendfile64, ssize_t, (int to, int fd, off_t *at, size_t n), (to, fd, at, n), DCT_IO_READ, fd,
     (SYS_sendfile, to, fd, at, n))
/* Time and bytes count for the file that is written. The file that is read has the same bytes and is not counted. */
ON_FILE(copy_file_range, ssize_t, (int from, off_t *at, int fd, off_t *to, size_t n, unsigned flags),
        (from, at, fd, to, n, flags), DCT_IO_WRITE, fd, (SYS_copy_file_range, from, at, fd, to, n, flags))

/* ---- opening ----------------------------------------------------------------------------------- */

#define OPENING(NAME, PARAMS, ARGS, DECLARED, MODE, SYSTEM) \
    NEAR static int(*next_##NAME) PARAMS;                   \
    EXPORTED int dcc_io_##NAME DECLARED ALIAS(NAME);        \
    int dcc_io_##NAME DECLARED                              \
    {                                                       \
        MODE;                                               \
        if (!next_##NAME)                                   \
            return (int)early_syscall SYSTEM;               \
        if (!files_is_on())                                 \
            return next_##NAME ARGS;                        \
        int64_t start = files_time();                       \
        int fd = next_##NAME ARGS;                          \
        opened(fd, #NAME, start);                           \
        return fd;                                          \
    }

static void opened(int fd, const char *call, int64_t start)
{
    if (fd < 0)
        return;
    int64_t end = files_time();
    files_forget((unsigned)fd, (unsigned)fd); /* an earlier close may not have been seen */
    struct file *f = files_of(fd);
    if (f)
        files_count(f, DCT_IO_OTHER, call, start, end, 0);
}

#define MODE_OF(flags)                                      \
    mode_t mode = 0;                                        \
    if ((flags) & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))) { \
        va_list list;                                       \
        va_start(list, flags);                              \
        mode = va_arg(list, mode_t);                        \
        va_end(list);                                       \
    }
BOTH(OPENING, open, open64, (const char *path, int flags, mode_t mode), (path, flags, mode),
     (const char *path, int flags, ...), MODE_OF(flags), (SYS_openat, AT_FDCWD, path, flags, mode))
BOTH(OPENING, openat, openat64, (int dir, const char *path, int flags, mode_t mode), (dir, path, flags, mode),
     (int dir, const char *path, int flags, ...), MODE_OF(flags), (SYS_openat, dir, path, flags, mode))
BOTH(OPENING, creat, creat64, (const char *path, mode_t mode), (path, mode), (const char *path, mode_t mode), ,
     (SYS_openat, AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode))
BOTH(OPENING, __open_2, __open64_2, (const char *path, int flags), (path, flags), (const char *path, int flags), ,
     (SYS_openat, AT_FDCWD, path, flags))
BOTH(OPENING, __openat_2, __openat64_2, (int dir, const char *path, int flags), (dir, path, flags),
     (int dir, const char *path, int flags), , (SYS_openat, dir, path, flags))

/* ---- closing ----------------------------------------------------------------------------------- */

INTERPOSED(int, close, (int fd))
int dcc_io_close(int fd)
{
    if (!next_close)
        return (int)early_syscall(SYS_close, fd);
    struct file *f = files_known(fd);
    files_forget((unsigned)fd,
                 (unsigned)fd); /* before the call, because afterwards another thread may get the number */
    if (!f)
        return next_close(fd);
    int64_t start = files_time();
    int result = next_close(fd);
    files_count(f, DCT_IO_OTHER, "close", start, files_time(), 0);
    return result;
}

/* Calls that change the file of a descriptor. */
#define CHANGING(NAME, PARAMS, ARGS, FROM, TO, SYSTEM)  \
    INTERPOSED(int, NAME, PARAMS)                       \
    int dcc_io_##NAME PARAMS                            \
    {                                                   \
        files_forget((unsigned)(FROM), (unsigned)(TO)); \
        if (!next_##NAME)                               \
            return (int)early_syscall SYSTEM;           \
        return next_##NAME ARGS;                        \
    }
CHANGING(dup2, (int from, int to), (from, to), to, to, (SYS_dup2, from, to))
CHANGING(dup3, (int from, int to, int flags), (from, to, flags), to, to, (SYS_dup3, from, to, flags))
CHANGING(close_range, (unsigned first, unsigned last, int flags), (first, last, flags), first, last,
         (SYS_close_range, first, last, flags))

INTERPOSED(void, closefrom, (int first))
void dcc_io_closefrom(int first)
{
    files_forget(first < 0 ? 0 : (unsigned)first, UINT32_MAX);
    if (next_closefrom)
        next_closefrom(first);
    else
        early_syscall(SYS_close_range, first, ~0u, 0);
}

/* ---- stdio ------------------------------------------------------------------------------------- */

/* Only the C library can make a stream, so before load these look it up at once. While the loader relocates, no look-up
 * is possible, and they fail. */
static void *find(const char *name)
{
    return early_is_over() ? dlsym(RTLD_NEXT, name) : NULL;
}
#define HAVE(NAME) (next_##NAME ? (void)0 : (void)(*(void **)&next_##NAME = find(#NAME)))

#define STREAM_OPENING(NAME, PARAMS, ARGS)                    \
    INTERPOSED(FILE *, NAME, PARAMS)                          \
    FILE *dcc_io_##NAME PARAMS                                \
    {                                                         \
        HAVE(NAME);                                           \
        if (!next_##NAME)                                     \
            return NULL;                                      \
        if (!files_is_on())                                   \
            return next_##NAME ARGS;                          \
        int64_t start = files_time();                         \
        FILE *stream = next_##NAME ARGS;                      \
        opened(stream ? fileno(stream) : -1, "fopen", start); \
        return stream;                                        \
    }
BOTH(STREAM_OPENING, fopen, fopen64, (const char *path, const char *mode), (path, mode))
BOTH(STREAM_OPENING, freopen, freopen64, (const char *path, const char *mode, FILE *old), (path, mode, old))

/* Items of a stream: bytes as passed, time if the call did more than copy. */
#define ON_STREAM(NAME, PARAMS, ARGS, KIND, CALL)                                     \
    INTERPOSED(size_t, NAME, PARAMS)                                                  \
    size_t dcc_io_##NAME PARAMS                                                       \
    {                                                                                 \
        HAVE(NAME);                                                                   \
        if (!next_##NAME)                                                             \
            return 0;                                                                 \
        struct file *f = files_is_on() ? files_of(fileno(stream)) : NULL;             \
        if (!f)                                                                       \
            return next_##NAME ARGS;                                                  \
        int is_timed = size * n >= STDIO_TIMED_BYTES;                                 \
        int64_t start = is_timed ? files_time() : 0;                                  \
        size_t result = next_##NAME ARGS;                                             \
        files_count(f, KIND, CALL, start, is_timed ? files_time() : 0, size *result); \
        return result;                                                                \
    }
BOTH(ON_STREAM, fread, fread_unlocked, (void *b, size_t size, size_t n, FILE *stream), (b, size, n, stream),
     DCT_IO_READ, "fread")
BOTH(ON_STREAM, __fread_chk, __fread_unlocked_chk, (void *b, size_t room, size_t size, size_t n, FILE *stream),
     (b, room, size, n, stream), DCT_IO_READ, "fread")
BOTH(ON_STREAM, fwrite, fwrite_unlocked, (const void *b, size_t size, size_t n, FILE *stream), (b, size, n, stream),
     DCT_IO_WRITE, "fwrite")

INTERPOSED(int, fflush, (FILE * stream))
int dcc_io_fflush(FILE *stream)
{
    HAVE(fflush);
    if (!next_fflush)
        return EOF;
    struct file *f = stream && files_is_on() ? files_of(fileno(stream)) : NULL;
    if (!f)
        return next_fflush(stream);
    int64_t start = files_time();
    int result = next_fflush(stream);
    files_count(f, DCT_IO_OTHER, "fflush", start, files_time(), 0);
    return result;
}

INTERPOSED(int, fclose, (FILE * stream))
int dcc_io_fclose(FILE *stream)
{
    HAVE(fclose);
    if (!next_fclose)
        return EOF;
    int fd = stream && files ? fileno(stream) : -1;
    struct file *f = files_known(fd);
    files_forget((unsigned)fd, (unsigned)fd);
    if (!f)
        return next_fclose(stream);
    int64_t start = files_time();
    int result = next_fclose(stream);
    files_count(f, DCT_IO_OTHER, "fclose", start, files_time(), 0);
    return result;
}

/* ---- load -------------------------------------------------------------------------------------- */

/* clang-format would rearrange these lists with each change. */
/* clang-format off */
#define EACH_FUNCTION(X)                                                                                          \
    X(read) X(readv) X(pread) X(pread64) X(preadv) X(preadv64) X(__read_chk) X(__pread_chk) X(__pread64_chk)      \
    X(write) X(writev) X(pwrite) X(pwrite64) X(pwritev) X(pwritev64) X(fsync) X(fdatasync) X(sync_file_range)     \
    X(sendfile) X(sendfile64) X(copy_file_range) X(open) X(open64) X(openat) X(openat64) X(creat) X(creat64)      \
    X(__open_2) X(__open64_2) X(__openat_2) X(__openat64_2) X(close) X(dup2) X(dup3) X(close_range) X(closefrom)  \
    X(fopen) X(fopen64) X(freopen) X(freopen64) X(fread) X(fread_unlocked) X(__fread_chk) X(__fread_unlocked_chk) \
    X(fwrite) X(fwrite_unlocked) X(fflush) X(fclose)
/* clang-format on */

__attribute__((constructor)) static void at_load(void)
{
    int saved_errno = errno;
#define X(NAME) HAVE(NAME);
    EACH_FUNCTION(X)
#undef X
    int ignored = files_begin();
    (void)ignored;
    errno = saved_errno;
}
