/* mapped.c - see mapped.h. By system calls and in memory of its own: it runs before and after the program. */
#include "collect/guest/mapped.h"

#include "collect/guest/crc32c.h"
#include "collect/guest/file.h"
#include "collect/guest/kept.h"
#include "collect/guest/maps.h"
#include "collect/guest/raw.h"
#include "collect/guest/room.h"
#include "collect/guest/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST_LISTS = 64 }; /* of a rank */

static char list[128 << 10]; /* pages that are not needed are not touched */
static size_t used, last;    /* last: where its last line begins */
static unsigned n_left_out;
static long loaded_in; /* the process that was loaded, no child forked from it; 0: nothing is recorded */

/* Executable mappings of files that are named so. The collector looks closer. */
static int take_mapping(void *ctx, const struct mapping *m)
{
    const char *path = m->path;
    size_t len = m->path_length;
    (void)ctx;
    if (!m->may_run || !path || *path != '/' || !memmem(path, len, ".so", 3))
        return 0;
    /* A library has often several such mappings, one behind the other. */
    if (used && used - last == len + 1 && memcmp(list + last, path, len) == 0)
        return 0;
    if (used + len + 1 > sizeof list - 64) {
        n_left_out++;
        return 0;
    }
    last = used;
    memcpy(list + used, path, len);
    list[used + len] = '\n';
    used += len + 1;
    return 0;
}

static int take_all(void)
{
    used = 0;
    n_left_out = 0;
    if (maps_each(take_mapping, NULL) < 0)
        return -1;
    if (n_left_out)
        used += (size_t)snprintf(list + used, sizeof list - used, DCR_LIBRARIES_LEFT_OUT "%u\n", n_left_out);
    return used ? 0 : -1;
}

/* Of the rank, in the spool; MOST_LISTS when it cannot be read. */
static int count_lists(int folder, const char *begin)
{
    char entries[4096];
    int n = 0, fd = raw_openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    long k = -1;
    while (fd >= 0 && (k = syscall(SYS_getdents64, fd, entries, sizeof entries)) > 0)
        for (long at = 0; at < k;) {
            struct dirent64 head;
            memcpy(&head, entries + at, offsetof(struct dirent64, d_name));
            n += strncmp(entries + at + offsetof(struct dirent64, d_name), begin, strlen(begin)) == 0;
            at += head.d_reclen;
        }
    if (fd >= 0)
        raw_close(fd);
    return k < 0 ? MOST_LISTS : n;
}

static void write_list(int folder)
{
    char begin[40], name[80], of[16] = "none";
    int rank = file_rank();
    if (rank >= 0)
        snprintf(of, sizeof of, "%d", rank);
    snprintf(begin, sizeof begin, DCR_LIBRARIES_PREFIX "%s-", of);
    for (int is_again = 0; is_again < 2; is_again++) {
        snprintf(name, sizeof name, "%s%08x%zx.txt", begin, dcc_crc32c(0, list, used), used);
        if (syscall(SYS_faccessat, folder, name, F_OK) == 0)
            return; /* another process had the same */
        if (is_again || count_lists(folder, begin) < MOST_LISTS)
            break;
        /* Programs that make a library for each process are cut, and that is a list too. */
        used = (size_t)snprintf(list, sizeof list, DCR_LIBRARIES_LEFT_OUT "1\n");
    }
    if (!room_is_below_size_limit(used))
        return;
    int fd = raw_openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0)
        return;
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
    int folder = spool && take_all() == 0 ? kept_spool(spool) : -1;
    if (folder >= 0) {
        write_list(folder);
        raw_close(folder);
    }
    spool_show(before);
    errno = saved_errno;
}

void mapped_begin(void)
{
    loaded_in = syscall(SYS_getpid);
    record();
}

/* Not by dl_iterate_phdr(), whose lock another thread may hold for long: the list of before is written only once. */
__attribute__((destructor)) static void at_exit(void)
{
    if (loaded_in && loaded_in == syscall(SYS_getpid))
        record();
    loaded_in = 0;
}
