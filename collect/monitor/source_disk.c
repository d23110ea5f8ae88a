/* source_disk.c - bytes read from and written to each whole block device of the host: /proc/diskstats, in sectors of
 * 512 bytes whatever the device says (kernel, Documentation/admin-guide/iostats.rst). Loop and memory devices are left
 * out, because their bytes are counted on the device below or never reach a disk. The counters are sums, so one reading
 * a second is enough. */
#include "collect/record/procfs.h"
#include "collect/monitor/source.h"
#include "lib/archive/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct disk {
    int fd;
    char text[256 << 10];
};

static int configure(void *ctx, const struct source_config *config, struct dcr_err *err)
{
    (void)config;
    (void)err;
    ((struct disk *)ctx)->fd = -1;
    return DCR_OK;
}

static void destroy(void *ctx)
{
    const struct disk *c = ctx;
    if (c->fd >= 0)
        close(c->fd);
}

/* A partition has no folder in /sys/block. */
static int is_whole(const char *name)
{
    char path[96];
    snprintf(path, sizeof path, "/sys/block/%s", name);
    return strncmp(name, "loop", 4) != 0 && strncmp(name, "ram", 3) != 0 && strncmp(name, "zram", 4) != 0 &&
           access(path, F_OK) == 0;
}

static int sample(void *ctx, const struct tick *now, struct dcr_buf *rows, struct outputs *out, struct dcr_err *err)
{
    struct disk *c = ctx;
    (void)out;
    int rc = procfs_reread(&c->fd, "/proc/diskstats", c->text, sizeof c->text, err);
    if (rc < 0)
        return rc;
    for (char *line = c->text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        char name[64];
        unsigned long long read, written;
        if (sscanf(line, " %*u %*u %63s %*u %*u %llu %*u %*u %*u %llu", name, &read, &written) != 3 || !is_whole(name))
            continue;
        cell_time(rows, now);
        cell_int(rows, now->mono_ns);
        cell_text(rows, name);
        cell_unsigned(rows, read * 512);
        cell_unsigned(rows, written * 512);
        cell_end(rows);
    }
    return rows->len ? DCR_OK : dcr_err_set(err, DCR_FAIL, "'/proc/diskstats' names no whole disk");
}

const struct source source_disk = {
    "disk", DCR_DISK_MONITOR_COLUMNS(SOURCE_CELL), sizeof(struct disk), configure, sample, destroy, NULL, 1000};
