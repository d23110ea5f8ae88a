/* maps.c - see maps.h. */
#include "collect/guest/maps.h"

#include "collect/guest/raw.h"

#include <fcntl.h>
#include <string.h>

/* A number of that base, and the sign behind it is passed. */
static uint64_t take_number(const char **at, const char *end, unsigned base)
{
    uint64_t value = 0;
    for (; *at < end; ++*at) {
        char c = **at;
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                                : 16;
        if (digit >= base)
            break;
        value = value * base + digit;
    }
    if (*at < end)
        ++*at;
    return value;
}

/* "7f02-7f03 r-xp 00001000 08:01 2   /opt/lib/libx.so.1" */
static int take_line(const char *at, const char *end, struct mapping *m)
{
    *m = (struct mapping){.begin = (uintptr_t)take_number(&at, end, 16)};
    m->end = (uintptr_t)take_number(&at, end, 16);
    if (end - at < 5)
        return 0;
    m->may_write = at[1] == 'w';
    m->may_run = at[2] == 'x';
    at += 5;
    (void)take_number(&at, end, 16); /* offset */
    m->device = take_number(&at, end, 16) << 32;
    m->device |= take_number(&at, end, 16);
    m->inode = take_number(&at, end, 10);
    while (at < end && *at == ' ')
        at++;
    m->path = at < end ? at : NULL;
    m->path_length = (size_t)(end - at);
    return m->end > m->begin;
}

int maps_each(int (*take)(void *ctx, const struct mapping *m), void *ctx)
{
    char piece[4096];
    size_t have = 0;
    int is_long = 0, rc = 0;
    ssize_t k;
    int fd = raw_open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    while (rc == 0 && (k = raw_read(fd, piece + have, sizeof piece - have)) > 0) {
        size_t from = 0;
        const char *end;
        have += (size_t)k;
        for (; rc == 0 && (end = memchr(piece + from, '\n', have - from)) != NULL; from = (size_t)(end - piece) + 1) {
            struct mapping m;
            if (!is_long && take_line(piece + from, end, &m))
                rc = take(ctx, &m);
            is_long = 0;
        }
        have -= from;
        memmove(piece, piece + from, have);
        if (have == sizeof piece) {
            is_long = 1;
            have = 0;
        }
    }
    raw_close(fd);
    return rc;
}
