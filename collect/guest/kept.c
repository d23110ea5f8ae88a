/* kept.c - see kept.h. */
#include "collect/guest/kept.h"

#include "collect/guest/raw.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define HIGH_FD 700
enum { ROOM = 16384 };

static char room[ROOM]; /* NAME=value, NUL, ... */
static size_t used;
static int held_fd = -1;
static dev_t held_device;
static ino_t held_inode;

static const char *find(const char *name, size_t len)
{
    for (size_t at = 0; at < used; at += strlen(room + at) + 1)
        if (strncmp(room + at, name, len) == 0 && room[at + len] == '=')
            return room + at + len + 1;
    return NULL;
}

void kept_begin(void)
{
    static const char *const names[] = {"DCC_SPOOL",
                                        "DCC_MAX_MB",
                                        "DCC_MAX_DISK_MB",
                                        "DCC_CHAIN_NVTX",
                                        "NVTX_INJECTION64_PATH",
                                        "TORCHELASTIC_RUN_ID",
                                        "RANK",
                                        "WORLD_SIZE",
                                        "OMPI_COMM_WORLD_RANK",
                                        "PMIX_RANK",
                                        "PMI_RANK",
                                        "SLURM_PROCID",
                                        "SLURM_STEP_ID"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        size_t n = strlen(names[i]), len = value ? strlen(value) : 0;
        if (!value || used + n + len + 2 > sizeof room)
            continue;
        memcpy(room + used, names[i], n);
        room[used + n] = '=';
        memcpy(room + used + n + 1, value, len + 1);
        used += n + len + 2;
    }
}

/* Is a variable that was there at load there still? */
static int is_any_left(void)
{
    for (size_t at = 0; at < used; at += strlen(room + at) + 1) {
        size_t n = (size_t)(strchr(room + at, '=') - (room + at)) + 1;
        for (char **e = environ; e && *e; e++)
            if (strncmp(*e, room + at, n) == 0)
                return 1;
    }
    return 0;
}

const char *kept_env(const char *name)
{
    const char *value = getenv(name);
    return value || is_any_left() ? value : find(name, strlen(name));
}

int kept_move_high(int fd)
{
    int high = fd < 0 ? -1 : raw_dup_from(fd, HIGH_FD);
    struct rlimit limit;
    if (fd >= 0 && high < 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur > (rlim_t)fd + 1 &&
        limit.rlim_cur <= HIGH_FD)
        high = raw_dup_from(fd, (int)limit.rlim_cur - 1); /* the last one, if it is free */
    if (high < 0)
        return fd;
    raw_close(fd);
    return high;
}

void kept_hold_spool(void)
{
    const char *spool = kept_env("DCC_SPOOL");
    struct stat st;
    int fd = spool && held_fd < 0 ? kept_move_high(raw_open(spool, O_PATH | O_DIRECTORY | O_CLOEXEC)) : -1;
    if (fd < 0 || fstat(fd, &st) != 0)
        return;
    held_device = st.st_dev;
    held_inode = st.st_ino;
    held_fd = fd;
}

int kept_spool(const char *spool)
{
    struct stat st;
    /* The program may have closed it, and the number may mean a file of its own by now. */
    if (held_fd >= 0 && fstat(held_fd, &st) == 0 && st.st_dev == held_device && st.st_ino == held_inode)
        return raw_dup_from(held_fd, STDERR_FILENO + 1);
    return raw_open(spool, O_PATH | O_DIRECTORY | O_CLOEXEC);
}
