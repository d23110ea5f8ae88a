/* io_calls.c - calls on files with known bytes, in the current folder:
 *   io_calls calls       each call once or a few times, on a file with the call's name
 *   io_calls quiet       little I/O: leaves no trace
 *   io_calls fork        parent and child write, then both read
 *   io_calls handler N   a signal handler writes while the program writes; N calls each way are counted exactly
 *   io_calls threads N   8 threads of N writes of 10 bytes to one file
 * errno is checked where it must be kept. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char block[1 << 20];

static void expect(int is_right, const char *what)
{
    if (!is_right) {
        fprintf(stderr, "io_calls: %s: %s\n", what, strerror(errno));
        _exit(3);
    }
}

static void calls(void)
{
    struct iovec v[2] = {{block, 100}, {block, 200}};
    int fd = open("written", O_CREAT | O_RDWR | O_TRUNC, 0644);
    expect(fd >= 0 && write(fd, block, sizeof block) == (ssize_t)sizeof block, "write");
    expect(pwrite(fd, block, 1000, 5) == 1000 && writev(fd, v, 2) == 300, "pwrite, writev");
    expect(fsync(fd) == 0 && fdatasync(fd) == 0, "fsync");
    expect(close(fd) == 0, "close");
    fd = openat(AT_FDCWD, "written", O_RDONLY);
    expect(read(fd, block, 4096) == 4096 && pread(fd, block, 100, 0) == 100 && readv(fd, v, 2) == 300, "read");
    int copy = creat("copied", 0644), pipes[2];
    expect(copy_file_range(fd, &(off_t){0}, copy, NULL, 5000, 0) == 5000, "copy_file_range");
    expect(pipe(pipes) == 0 && sendfile(pipes[1], fd, &(off_t){0}, 6000) == 6000, "sendfile");
    expect(write(pipes[1], block, 77) == 77, "a pipe");
    close(copy);
    close(fd);
    errno = 0;
    expect(read(fd, block, 1) == -1 && errno == EBADF, "a closed descriptor");
    errno = EILSEQ; /* a successful call must leave it alone */
    fd = open("written", O_RDONLY);
    expect(errno == EILSEQ && read(fd, block, 10) == 10 && errno == EILSEQ, "errno after success");
    expect(dup2(fd, 50) == 50, "dup2");
    close(fd);
    expect(read(50, block, 10) == 10, "read from a copy");
    close(50);
    FILE *f = fopen("streamed", "w+");
    expect(f && fwrite(block, 1, 100, f) == 100 && fwrite(block, 10, 1000, f) == 1000 && fflush(f) == 0, "fwrite");
    rewind(f);
    expect(fread(block, 1, 8192, f) == 8192 && fclose(f) == 0, "fread");
    fd = open("/proc/self/stat", O_RDONLY); /* a file that is not recorded */
    expect(read(fd, block, 10) == 10, "/proc");
    close(fd);
}

static void write_once(const char *name, size_t n)
{
    int fd = open(name, O_CREAT | O_WRONLY | O_APPEND, 0644);
    expect(fd >= 0 && write(fd, block, n) == (ssize_t)n && close(fd) == 0, name);
}

static void forked(void)
{
    write_once("before", sizeof block);
    int fd = open("both", O_CREAT | O_RDWR | O_TRUNC, 0644);
    expect(write(fd, block, sizeof block) == (ssize_t)sizeof block, "both");
    pid_t child = fork();
    expect(write(fd, block, child ? 111 : 222) > 0, "after fork");
    if (child == 0) {
        write_once("child", sizeof block);
        exit(0);
    }
    expect(waitpid(child, NULL, 0) == child, "wait");
}

static int handled_fd;
static volatile long n_handled;
static void handler(int signal)
{
    (void)signal;
    int kept = errno;
    n_handled += write(handled_fd, block, 1) == 1;
    errno = kept;
}

static void with_handler(long n)
{
    struct sigaction a = {.sa_handler = handler, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    int fd = open("plain", O_CREAT | O_WRONLY | O_TRUNC, 0644);
    handled_fd = open("handled", O_CREAT | O_WRONLY | O_TRUNC, 0644);
    expect(write(fd, block, sizeof block) == (ssize_t)sizeof block, "plain");
    sigaction(SIGALRM, &a, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (long i = 0; i < n; i++)
        expect(pwrite(fd, block, 1, i) == 1, "plain");
    setitimer(ITIMER_REAL, &never, NULL);
    printf("%ld\n", n_handled);
}

static int shared_fd;
static void *write_many(void *arg)
{
    for (long i = 0; i < *(long *)arg; i++)
        expect(write(shared_fd, block, 10) == 10, "shared");
    return NULL;
}

static void with_threads(long n)
{
    pthread_t t[8];
    shared_fd = open("shared", O_CREAT | O_WRONLY | O_TRUNC | O_APPEND, 0644);
    for (int i = 0; i < 8; i++)
        pthread_create(&t[i], NULL, write_many, &n);
    for (int i = 0; i < 8; i++)
        pthread_join(t[i], NULL);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "calls";
    long n = argc > 2 ? strtol(argv[2], NULL, 10) : 1000;
    if (strcmp(what, "calls") == 0)
        calls();
    else if (strcmp(what, "quiet") == 0)
        write_once("quiet", 1000);
    else if (strcmp(what, "fork") == 0)
        forked();
    else if (strcmp(what, "handler") == 0)
        with_handler(n);
    else if (strcmp(what, "threads") == 0)
        with_threads(n);
    else
        return 2;
    return 0;
}
