/* calls.c - the C library's calls on files, interposed. Reading by mmap, io_uring and aio are not seen. Of stdio only
 * calls that move blocks are seen (fopen, fread, fwrite, fflush, fclose), because its system calls are made inside the
 * C library.
 *
 * Functions are looked up at load. Earlier calls by another library's constructor or IFUNC resolver go straight to the
 * kernel. */
#include "collect/guest/io/early.h"
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

#define P(...) __VA_ARGS__
/* stdio calls of fewer bytes are counted and not timed: mostly they copy into a buffer. */
#define STDIO_TIMED_BYTES 4096u
/* Own names for these functions, so that fortified or redirected declarations of the headers do not interfere. */
#define ALIAS(name) __asm__(#name)

/* Aligns a function so that it lies on one page of memory. */
#define ON_ONE_PAGE __attribute__((aligned(512)))

/* NAME(PARAMS): TYPE of the result, KIND of I/O on descriptor FD; before load the system call is used. */
#define ON_FILE(TYPE, NAME, PARAMS, ARGS, KIND, FD, SYSTEM)                                     \
    NEAR static TYPE (*next_##NAME)(PARAMS);                                                    \
    EXPORTED ON_ONE_PAGE TYPE dcc_io_##NAME(PARAMS) ALIAS(NAME);                                \
    TYPE dcc_io_##NAME(PARAMS)                                                                  \
    {                                                                                           \
        struct dct_io *sums;                                                                    \
        struct file *f = files_usual(FD, &sums);                                                \
        if (__builtin_expect(!f, 0)) {                                                          \
            if (!next_##NAME)                                                                   \
                return (TYPE)early_syscall(SYSTEM);                                             \
            f = files_is_on() ? files_of(FD) : NULL;                                            \
            if (!f)                                                                             \
                return next_##NAME(ARGS);                                                       \
        }                                                                                       \
        int64_t start = files_time();                                                           \
        TYPE result = next_##NAME(ARGS);                                                        \
        files_done(f, sums, KIND, #NAME, start, files_time(), bytes_of(KIND, (ssize_t)result)); \
        return result;                                                                          \
    }

static uint64_t bytes_of(int kind, ssize_t result)
{
    return kind != DCT_IO_OTHER && result > 0 ? (uint64_t)result : 0;
}

#define VECTOR P(int fd, const struct iovec *v, int n)
#define HALVES(at) (long)(at), 0l

ON_FILE(ssize_t, read, P(int fd, void *b, size_t n), P(fd, b, n), DCT_IO_READ, fd, P(SYS_read, fd, b, n))
ON_FILE(ssize_t, readv, VECTOR, P(fd, v, n), DCT_IO_READ, fd, P(SYS_readv, fd, v, n))
ON_FILE(ssize_t, pread, P(int fd, void *b, size_t n, off_t at), P(fd, b, n, at), DCT_IO_READ, fd,
        P(SYS_pread64, fd, b, n, at))
ON_FILE(ssize_t, pread64, P(int fd, void *b, size_t n, off_t at), P(fd, b, n, at), DCT_IO_READ, fd,
        P(SYS_pread64, fd, b, n, at))
ON_FILE(ssize_t, preadv, P(VECTOR, off_t at), P(fd, v, n, at), DCT_IO_READ, fd, P(SYS_preadv, fd, v, n, HALVES(at)))
ON_FILE(ssize_t, preadv64, P(VECTOR, off_t at), P(fd, v, n, at), DCT_IO_READ, fd, P(SYS_preadv, fd, v, n, HALVES(at)))
ON_FILE(ssize_t, __read_chk, P(int fd, void *b, size_t n, size_t size), P(fd, b, n, size), DCT_IO_READ, fd,
        P(SYS_read, fd, b, n < size ? n : size))
ON_FILE(ssize_t, __pread_chk, P(int fd, void *b, size_t n, off_t at, size_t size), P(fd, b, n, at, size), DCT_IO_READ,
        fd, P(SYS_pread64, fd, b, n < size ? n : size, at))
ON_FILE(ssize_t, __pread64_chk, P(int fd, void *b, size_t n, off_t at, size_t size), P(fd, b, n, at, size), DCT_IO_READ,
        fd, P(SYS_pread64, fd, b, n < size ? n : size, at))
ON_FILE(ssize_t, write, P(int fd, const void *b, size_t n), P(fd, b, n), DCT_IO_WRITE, fd, P(SYS_write, fd, b, n))
ON_FILE(ssize_t, writev, VECTOR, P(fd, v, n), DCT_IO_WRITE, fd, P(SYS_writev, fd, v, n))
ON_FILE(ssize_t, pwrite, P(int fd, const void *b, size_t n, off_t at), P(fd, b, n, at), DCT_IO_WRITE, fd,
        P(SYS_pwrite64, fd, b, n, at))
ON_FILE(ssize_t, pwrite64, P(int fd, const void *b, size_t n, off_t at), P(fd, b, n, at), DCT_IO_WRITE, fd,
        P(SYS_pwrite64, fd, b, n, at))
ON_FILE(ssize_t, pwritev, P(VECTOR, off_t at), P(fd, v, n, at), DCT_IO_WRITE, fd, P(SYS_pwritev, fd, v, n, HALVES(at)))
ON_FILE(ssize_t, pwritev64, P(VECTOR, off_t at), P(fd, v, n, at), DCT_IO_WRITE, fd,
        P(SYS_pwritev, fd, v, n, HALVES(at)))
ON_FILE(int, fsync, P(int fd), P(fd), DCT_IO_OTHER, fd, P(SYS_fsync, fd))
ON_FILE(int, fdatasync, P(int fd), P(fd), DCT_IO_OTHER, fd, P(SYS_fdatasync, fd))
ON_FILE(int, sync_file_range, P(int fd, off_t at, off_t n, unsigned flags), P(fd, at, n, flags), DCT_IO_OTHER, fd,
        P(SYS_sync_file_range, fd, at, n, flags))
/* Counts for the file that is read; the other side is mostly a socket. */
ON_FILE(ssize_t, sendfile, P(int to, int fd, off_t *at, size_t n), P(to, fd, at, n), DCT_IO_READ, fd,
        P(SYS_sendfile, to, fd, at, n))
ON_FILE(ssize_t, sendfile64, P(int to, int fd, off_t *at, size_t n), P(to, fd, at, n), DCT_IO_READ, fd,
        P(SYS_sendfile, to, fd, at, n))
/* Time and bytes count for the file that is written. The file that is read has the same bytes and is not counted. */
ON_FILE(ssize_t, copy_file_range, P(int from, off_t *at, int fd, off_t *to, size_t n, unsigned flags),
        P(from, at, fd, to, n, flags), DCT_IO_WRITE, fd, P(SYS_copy_file_range, from, at, fd, to, n, flags))

/* ---- opening ----------------------------------------------------------------------------------- */

#define OPENING(NAME, PARAMS, ARGS, DECLARED, MODE, SYSTEM) \
    NEAR static int (*next_##NAME)(PARAMS);                 \
    EXPORTED int dcc_io_##NAME(DECLARED) ALIAS(NAME);       \
    int dcc_io_##NAME(DECLARED)                             \
    {                                                       \
        MODE;                                               \
        if (!next_##NAME)                                   \
            return (int)early_syscall(SYSTEM);              \
        if (!files_is_on())                                 \
            return next_##NAME(ARGS);                       \
        int64_t start = files_time();                       \
        int fd = next_##NAME(ARGS);                         \
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
OPENING(open, P(const char *path, int flags, mode_t mode), P(path, flags, mode), P(const char *path, int flags, ...),
        MODE_OF(flags), P(SYS_openat, AT_FDCWD, path, flags, mode))
OPENING(open64, P(const char *path, int flags, mode_t mode), P(path, flags, mode), P(const char *path, int flags, ...),
        MODE_OF(flags), P(SYS_openat, AT_FDCWD, path, flags, mode))
OPENING(openat, P(int dir, const char *path, int flags, mode_t mode), P(dir, path, flags, mode),
        P(int dir, const char *path, int flags, ...), MODE_OF(flags), P(SYS_openat, dir, path, flags, mode))
OPENING(openat64, P(int dir, const char *path, int flags, mode_t mode), P(dir, path, flags, mode),
        P(int dir, const char *path, int flags, ...), MODE_OF(flags), P(SYS_openat, dir, path, flags, mode))
#define PLAIN(PARAMS) P(PARAMS), P(PARAMS)
OPENING(creat, P(const char *path, mode_t mode), P(path, mode), P(const char *path, mode_t mode), ,
        P(SYS_openat, AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode))
OPENING(creat64, P(const char *path, mode_t mode), P(path, mode), P(const char *path, mode_t mode), ,
        P(SYS_openat, AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode))
OPENING(__open_2, P(const char *path, int flags), P(path, flags), P(const char *path, int flags), ,
        P(SYS_openat, AT_FDCWD, path, flags))
OPENING(__open64_2, P(const char *path, int flags), P(path, flags), P(const char *path, int flags), ,
        P(SYS_openat, AT_FDCWD, path, flags))
OPENING(__openat_2, P(int dir, const char *path, int flags), P(dir, path, flags),
        P(int dir, const char *path, int flags), , P(SYS_openat, dir, path, flags))
OPENING(__openat64_2, P(int dir, const char *path, int flags), P(dir, path, flags),
        P(int dir, const char *path, int flags), , P(SYS_openat, dir, path, flags))

/* ---- closing ----------------------------------------------------------------------------------- */

NEAR static int (*next_close)(int);
EXPORTED int dcc_io_close(int fd) ALIAS(close);
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
    NEAR static int (*next_##NAME)(PARAMS);             \
    EXPORTED int dcc_io_##NAME(PARAMS) ALIAS(NAME);     \
    int dcc_io_##NAME(PARAMS)                           \
    {                                                   \
        files_forget((unsigned)(FROM), (unsigned)(TO)); \
        if (!next_##NAME)                               \
            return (int)early_syscall(SYSTEM);          \
        return next_##NAME(ARGS);                       \
    }
CHANGING(dup2, P(int from, int to), P(from, to), to, to, P(SYS_dup2, from, to))
CHANGING(dup3, P(int from, int to, int flags), P(from, to, flags), to, to, P(SYS_dup3, from, to, flags))
CHANGING(close_range, P(unsigned first, unsigned last, int flags), P(first, last, flags), first, last,
         P(SYS_close_range, first, last, flags))

NEAR static void (*next_closefrom)(int);
EXPORTED void dcc_io_closefrom(int first) ALIAS(closefrom);
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
    NEAR static FILE *(*next_##NAME)(PARAMS);                 \
    EXPORTED FILE *dcc_io_##NAME(PARAMS) ALIAS(NAME);         \
    FILE *dcc_io_##NAME(PARAMS)                               \
    {                                                         \
        HAVE(NAME);                                           \
        if (!next_##NAME)                                     \
            return NULL;                                      \
        if (!files_is_on())                                   \
            return next_##NAME(ARGS);                         \
        int64_t start = files_time();                         \
        FILE *stream = next_##NAME(ARGS);                     \
        opened(stream ? fileno(stream) : -1, "fopen", start); \
        return stream;                                        \
    }
STREAM_OPENING(fopen, P(const char *path, const char *mode), P(path, mode))
STREAM_OPENING(fopen64, P(const char *path, const char *mode), P(path, mode))
STREAM_OPENING(freopen, P(const char *path, const char *mode, FILE *old), P(path, mode, old))
STREAM_OPENING(freopen64, P(const char *path, const char *mode, FILE *old), P(path, mode, old))

/* Items of a stream: bytes as passed, time if the call did more than copy. */
#define ON_STREAM(NAME, PARAMS, ARGS, KIND, SIZE)                                     \
    NEAR static size_t (*next_##NAME)(PARAMS);                                        \
    EXPORTED size_t dcc_io_##NAME(PARAMS) ALIAS(NAME);                                \
    size_t dcc_io_##NAME(PARAMS)                                                      \
    {                                                                                 \
        HAVE(NAME);                                                                   \
        if (!next_##NAME)                                                             \
            return 0;                                                                 \
        struct file *f = files_is_on() ? files_of(fileno(stream)) : NULL;             \
        if (!f)                                                                       \
            return next_##NAME(ARGS);                                                 \
        int is_timed = size * n >= STDIO_TIMED_BYTES;                                 \
        int64_t start = is_timed ? files_time() : 0;                                  \
        size_t result = next_##NAME(ARGS);                                            \
        files_count(f, KIND, SIZE, start, is_timed ? files_time() : 0, size *result); \
        return result;                                                                \
    }
ON_STREAM(fread, P(void *b, size_t size, size_t n, FILE *stream), P(b, size, n, stream), DCT_IO_READ, "fread")
ON_STREAM(fread_unlocked, P(void *b, size_t size, size_t n, FILE *stream), P(b, size, n, stream), DCT_IO_READ, "fread")
ON_STREAM(__fread_chk, P(void *b, size_t room, size_t size, size_t n, FILE *stream), P(b, room, size, n, stream),
          DCT_IO_READ, "fread")
ON_STREAM(__fread_unlocked_chk, P(void *b, size_t room, size_t size, size_t n, FILE *stream),
          P(b, room, size, n, stream), DCT_IO_READ, "fread")
ON_STREAM(fwrite, P(const void *b, size_t size, size_t n, FILE *stream), P(b, size, n, stream), DCT_IO_WRITE, "fwrite")
ON_STREAM(fwrite_unlocked, P(const void *b, size_t size, size_t n, FILE *stream), P(b, size, n, stream), DCT_IO_WRITE,
          "fwrite")

NEAR static int (*next_fflush)(FILE *);
EXPORTED int dcc_io_fflush(FILE *stream) ALIAS(fflush);
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

NEAR static int (*next_fclose)(FILE *);
EXPORTED int dcc_io_fclose(FILE *stream) ALIAS(fclose);
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
