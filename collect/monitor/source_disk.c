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

enum { MAX_DEVICES = 256 };

struct disk {
    char file[320];
    int fd;
    char text[256 << 10];
    struct {
        char name[64];
        int is_whole;
    } known[MAX_DEVICES];
    int n_known;
    struct dcr_buf rows;
};

static int configure(void **ctx, const struct source_config *config, struct dcr_err *err)
{
    struct disk *c = calloc(1, sizeof *c);
    if (!c)
        return dcr_err_set(err, DCR_FAIL, "out of memory");
    c->fd = -1;
    snprintf(c->file, sizeof c->file, "%s/disk_monitor.csv", config->host_dir);
    *ctx = c;
    return DCR_OK;
}

static void destroy(void *ctx)
{
    struct disk *c = ctx;
    dcr_buf_release(&c->rows);
    if (c->fd >= 0)
        close(c->fd);
    free(c);
}

/* A partition has no folder in /sys/block. */
static int is_whole(struct disk *c, const char *name)
{
    for (int i = 0; i < c->n_known; i++)
        if (strcmp(c->known[i].name, name) == 0)
            return c->known[i].is_whole;
    char path[96];
    snprintf(path, sizeof path, "/sys/block/%s", name);
    int result = strncmp(name, "loop", 4) != 0 && strncmp(name, "ram", 3) != 0 && strncmp(name, "zram", 4) != 0 &&
                 access(path, F_OK) == 0;
    if (c->n_known < MAX_DEVICES) {
        snprintf(c->known[c->n_known].name, sizeof c->known[0].name, "%s", name);
        c->known[c->n_known++].is_whole = result;
    }
    return result;
}

static int sample(void *ctx, const struct tick *now, struct outputs *out, struct dcr_err *err)
{
    struct disk *c = ctx;
    int rc = procfs_reread(&c->fd, "/proc/diskstats", c->text, sizeof c->text, err);
    if (rc < 0)
        return rc;
    dcr_buf_clear(&c->rows);
    int n = 0;
    for (char *line = c->text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        char name[64];
        unsigned long long read, written;
        if (sscanf(line, " %*u %*u %63s %*u %*u %llu %*u %*u %*u %llu", name, &read, &written) != 3 ||
            !is_whole(c, name))
            continue;
        n++;
        cell_time(&c->rows, now);
        cell_int(&c->rows, now->mono_ns);
        cell_text(&c->rows, name);
        cell_unsigned(&c->rows, read * 512);
        cell_unsigned(&c->rows, written * 512);
        cell_end(&c->rows);
    }
    if (n == 0)
        return dcr_err_set(err, DCR_FAIL, "'/proc/diskstats' names no whole disk");
    return outputs_rows(out, c->file, DCR_DISK_MONITOR_COLUMNS(SOURCE_CELL), dcr_buf_text(&c->rows), c->rows.len, err);
}

const struct source source_disk = {"disk", 1, configure, sample, destroy, NULL, 1000};
