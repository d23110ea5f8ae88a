/* source_net.c - bytes through each network interface of the host: /proc/net/dev. Interfaces that never carried a
 * byte since boot are left out. Only sums are told: one look a second is enough. */
#include "collect/record/procfs.h"
#include "collect/monitor/source.h"
#include "lib/archive/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct net {
    char file[320], header[256];
    int fd;
    char text[64 << 10];
    struct dcr_buf rows;
};

static int configure(void **ctx, const struct source_config *config, struct dcr_err *err)
{
    struct net *c = calloc(1, sizeof *c);
    if (!c)
        return dcr_err_set(err, DCR_FAIL, "no memory");
    c->fd = -1;
    snprintf(c->file, sizeof c->file, "%s/net_monitor.csv", config->host_dir);
    source_header(c->header, sizeof c->header, DCR_NET_MONITOR_COLUMNS(SOURCE_CELL));
    *ctx = c;
    return DCR_OK;
}

static void destroy(void *ctx)
{
    struct net *c = ctx;
    dcr_buf_release(&c->rows);
    if (c->fd >= 0)
        close(c->fd);
    free(c);
}

static int sample(void *ctx, const struct tick *now, struct outputs *out, struct dcr_err *err)
{
    struct net *c = ctx;
    int rc = procfs_reread(&c->fd, "/proc/net/dev", c->text, sizeof c->text, err);
    if (rc < 0)
        return rc;
    dcr_buf_clear(&c->rows);
    for (char *line = c->text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        char name[32];
        unsigned long long rx, tx;
        /* "  eth0: rx_bytes packets errs drop fifo frame compressed multicast tx_bytes ..." */
        if (sscanf(line, " %31[^: \n]: %llu %*u %*u %*u %*u %*u %*u %*u %llu", name, &rx, &tx) != 3 || rx + tx == 0)
            continue;
        cell_time(&c->rows, now);
        cell_int(&c->rows, now->mono_ns);
        cell_text(&c->rows, name);
        cell_unsigned(&c->rows, rx);
        cell_unsigned(&c->rows, tx);
        cell_end(&c->rows);
    }
    return outputs_rows(out, c->file, c->header, dcr_buf_text(&c->rows), c->rows.len, err);
}

const struct source source_net = {"net", 1, configure, sample, destroy, NULL, 1000};
