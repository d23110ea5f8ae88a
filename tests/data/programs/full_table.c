/* full_table.c - a program that closes its standard output while its table of descriptors is full. Writes to standard
 * output must then fail, as without a recorder.
 *   full_table first    before the program names its first range
 *   full_table again    after it, when the recorder's own descriptor was closed too
 *   full_table closed   standard output is closed, and higher descriptors are free
 * Exits with 0 if every write fails with EBADF, 1 if a write reaches a file, 2 if the test cannot be made. */
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MOST = 4096, EVENTS = 20000 }; /* events: more than a block of the trace holds */

static int (*push)(const char *, const char *, const char *, uint64_t);
static int (*pop)(const char *);

static void name_ranges(int n)
{
    for (int i = 0; i < n; i++) {
        push("full", NULL, "work", UINT64_MAX);
        pop("full");
    }
}

static int is_gone(int fd)
{
    return write(fd, "text of the program\n", 20) < 0 && errno == EBADF;
}

static void fill_table(void)
{
    struct rlimit three = {.rlim_cur = 3, .rlim_max = 3};
    for (int fd = 3; fd < MOST; fd++)
        close(fd);
    if (setrlimit(RLIMIT_NOFILE, &three) != 0)
        _exit(2);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "", *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_NOW) : NULL;
    if (!library)
        return 2;
    *(void **)&push = dlsym(library, "dcc_range_push");
    *(void **)&pop = dlsym(library, "dcc_range_pop");
    if (!push || !pop)
        return 2;
    if (strcmp(how, "again") == 0)
        name_ranges(1);
    if (strcmp(how, "closed") != 0)
        fill_table();
    close(1);
    if (strcmp(how, "first") == 0)
        close(2); /* the recorder opens a folder before it opens its file */
    name_ranges(EVENTS);
    _exit(is_gone(1) && (strcmp(how, "first") != 0 || is_gone(2)) ? 0 : 1);
}
