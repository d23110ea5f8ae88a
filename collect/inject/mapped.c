/* mapped.c - see mapped.h. By system calls and in memory of its own: it runs before and after the program. */
#include "collect/inject/mapped.h"

#include "collect/inject/crc32c.h"
#include "collect/inject/file.h"
#include "collect/inject/kept.h"
#include "collect/inject/raw.h"
#include "collect/inject/room.h"
#include "collect/inject/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char list[128 << 10], piece[8192]; /* pages that are not needed are not touched */
static size_t used;
static unsigned n_left_out;
static unsigned long long adds_at_load;
static int is_begun;

/* "7f02-7f03 r-xp 00001000 08:01 2   /opt/lib/libx.so.1": executable mappings of files that are named so. The collector
 * looks closer. */
static void take_line(const char *line, size_t n)
{
    static size_t last; /* a library has often several such mappings, one behind the other */
    const char *rights = memchr(line, ' ', n), *path = memchr(line, '/', n);
    size_t len = path ? n - (size_t)(path - line) : 0;
    if (!used)
        last = 0;
    if (!path || path - rights < 5 || rights[3] != 'x' || !memmem(path, len, ".so", 3))
        return;
    if (used && used - last == len + 1 && memcmp(list + last, path, len) == 0)
        return;
    if (used + len + 1 > sizeof list - 64) {
        n_left_out++;
        return;
    }
    last = used;
    memcpy(list + used, path, len);
    list[used + len] = '\n';
    used += len + 1;
}

static void take_all(int maps)
{
    size_t have = 0;
    ssize_t k;
    used = 0;
    n_left_out = 0;
    while ((k = raw_read(maps, piece + have, sizeof piece - have)) > 0) {
        size_t from = 0;
        const char *end;
        have += (size_t)k;
        for (; (end = memchr(piece + from, '\n', have - from)) != NULL; from = (size_t)(end - piece) + 1)
            take_line(piece + from, (size_t)(end - piece) - from);
        have -= from;
        memmove(piece, piece + from, have);
        if (have == sizeof piece)
            have = 0; /* no path is that long */
    }
    if (n_left_out)
        used += (size_t)snprintf(list + used, sizeof list - used, DCR_LIBRARIES_LEFT_OUT "%u\n", n_left_out);
}

static void write_list(int folder)
{
    char name[80], of[16] = "none";
    int rank = file_rank();
    if (rank >= 0)
        snprintf(of, sizeof of, "%d", rank);
    snprintf(name, sizeof name, DCR_LIBRARIES_PREFIX "%s-%08x%zx.txt", of, dcc_crc32c(0, list, used), used);
    if (!room_is_below_size_limit(used))
        return;
    int fd = raw_openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0)
        return; /* another process had the same, or may write there */
    for (size_t done = 0; done < used;) {
        ssize_t k = raw_write(fd, list + done, used - done);
        if (k <= 0)
            break;
        done += (size_t)k;
    }
    raw_close(fd);
}

static void record(void)
{
    int saved_errno = errno;
    const char *spool = kept_env("DCC_SPOOL");
    uintptr_t before = spool_hide();
    int maps = raw_open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    int folder = maps >= 0 && spool ? kept_spool(spool) : -1;
    if (maps >= 0)
        take_all(maps);
    if (folder >= 0 && used)
        write_list(folder);
    if (folder >= 0)
        raw_close(folder);
    if (maps >= 0)
        raw_close(maps);
    spool_show(before);
    errno = saved_errno;
}

/* How many objects have been loaded so far: told with the first of them. */
static int take_adds(struct dl_phdr_info *info, size_t size, void *adds)
{
    if (size >= offsetof(struct dl_phdr_info, dlpi_adds) + sizeof info->dlpi_adds)
        *(unsigned long long *)adds = info->dlpi_adds;
    return 1;
}

void mapped_begin(void)
{
    dl_iterate_phdr(take_adds, &adds_at_load);
    is_begun = 1;
    record();
}

__attribute__((destructor)) static void at_exit(void)
{
    unsigned long long adds = adds_at_load;
    if (!is_begun)
        return;
    is_begun = 0;
    dl_iterate_phdr(take_adds, &adds);
    if (adds != adds_at_load)
        record();
}
