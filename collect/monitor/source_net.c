/* source_net.c - bytes through each network interface of the host (/proc/net/dev), and through each port of an
 * InfiniBand device, because interfaces do not count its traffic. An interface or port that carried no byte since boot
 * is left out. The counters are sums, so one reading a second is enough. */
#include "collect/record/procfs.h"
#include "collect/monitor/source.h"
#include "lib/archive/format.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_PORTS = 16, TYPE_INFINIBAND = 32 /* ARPHRD_INFINIBAND of linux/if_arp.h */ };

struct port {
    char name[64];      /* "mlx5_0/1" */
    char counters[512]; /* the folder of its counters */
    int is_infiniband;  /* not Ethernet */
};

struct net {
    char proc[300], sys[300];
    int fd;
    char text[64 << 10];
    struct port ports[MAX_PORTS];
    int n_ports;
    int has_sysfs; /* it shows the loopback interface, and so all of a network namespace */
};

/* ---- ports of InfiniBand devices ------------------------------------------------------------------------------- */

/* source: the kernel's Documentation/ABI/stable/sysfs-class-infiniband, port_xmit_data and port_rcv_data: octets
 * divided by 4. A counter of 32 bits stays at its largest value instead of wrapping.
 * returns  0, or -1 if the counter gives no number */
static int read_words(const struct port *p, const char *name, uint64_t *bytes)
{
    char path[600], text[64], *end;
    snprintf(path, sizeof path, "%s/%s", p->counters, name);
    if (procfs_read(path, text, sizeof text, NULL) <= 0)
        return -1;
    uint64_t words = strtoull(text, &end, 10);
    if (end == text || words == UINT32_MAX || words > UINT64_MAX / 4)
        return -1;
    *bytes = 4 * words;
    return 0;
}

static void add_ports_of(struct net *c, const char *device)
{
    char path[400], file[520], layer[32];
    snprintf(path, sizeof path, "%s/class/infiniband/%.60s/ports", c->sys, device);
    DIR *dir = opendir(path);
    for (const struct dirent *e; dir && (e = readdir(dir)) != NULL;) {
        struct port *p = &c->ports[c->n_ports];
        uint64_t bytes;
        if (*e->d_name == '.' || c->n_ports == MAX_PORTS)
            continue;
        snprintf(p->name, sizeof p->name, "%.50s/%.8s", device, e->d_name);
        snprintf(p->counters, sizeof p->counters, "%s/%.60s/counters", path, e->d_name);
        snprintf(file, sizeof file, "%s/%.60s/link_layer", path, e->d_name);
        p->is_infiniband = procfs_read(file, layer, sizeof layer, NULL) <= 0 || strncmp(layer, "Ethernet", 8) != 0;
        c->n_ports += read_words(p, "port_xmit_data", &bytes) == 0;
    }
    if (dir)
        closedir(dir);
}

static int compare_ports(const void *a, const void *b)
{
    return strcmp(((const struct port *)a)->name, ((const struct port *)b)->name);
}

static void find_ports(struct net *c)
{
    char path[400];
    snprintf(path, sizeof path, "%s/class/infiniband", c->sys);
    DIR *dir = opendir(path);
    for (const struct dirent *e; dir && (e = readdir(dir)) != NULL;)
        if (*e->d_name != '.')
            add_ports_of(c, e->d_name);
    if (dir)
        closedir(dir);
    qsort(c->ports, (size_t)c->n_ports, sizeof *c->ports, compare_ports);
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

static void put_row(struct dcr_buf *rows, const struct tick *now, const char *name, uint64_t received, uint64_t sent,
                    int is_on_wire)
{
    cell_time(rows, now);
    cell_int(rows, now->mono_ns);
    cell_text(rows, name);
    cell_unsigned(rows, received);
    cell_unsigned(rows, sent);
    cell_int(rows, is_on_wire);
    cell_end(rows);
}

static void put_port(struct dcr_buf *rows, const struct tick *now, const struct port *p)
{
    uint64_t received, sent;
    if (read_words(p, "port_rcv_data", &received) == 0 && read_words(p, "port_xmit_data", &sent) == 0 &&
        (received || sent))
        put_row(rows, now, p->name, received, sent, 1);
}

/* Does the interface count bytes that left the host and that no other row counts? Loopback, bridges, bonds and pairs
 * have no device. The port of an InfiniBand device also counts the bytes of IP over InfiniBand. An Ethernet port of
 * such a device counts only the bytes that bypass the interface. If sysfs does not show an interface, it belongs to the
 * network namespace of an emulated node, whose links all leave it. */
static int is_on_wire(const struct net *c, const char *interface)
{
    char path[400], type[32] = "";
    snprintf(path, sizeof path, "%s/class/net/%.31s", c->sys, interface);
    if (access(path, F_OK) != 0)
        return c->has_sysfs;
    snprintf(path, sizeof path, "%s/class/net/%.31s/device", c->sys, interface);
    if (access(path, F_OK) != 0)
        return 0;
    int is_counted = 0;
    for (int i = 0; i < c->n_ports; i++)
        is_counted |= c->ports[i].is_infiniband;
    snprintf(path, sizeof path, "%s/class/net/%.31s/type", c->sys, interface);
    return !is_counted || procfs_read(path, type, sizeof type, NULL) <= 0 || strtol(type, NULL, 10) != TYPE_INFINIBAND;
}

static int configure(void *ctx, const struct source_config *config, struct dcr_err *err)
{
    struct net *c = ctx;
    (void)err;
    c->fd = -1;
    snprintf(c->proc, sizeof c->proc, "%s/proc/net/dev", config->root ? config->root : "");
    snprintf(c->sys, sizeof c->sys, "%s/sys", config->root ? config->root : "");
    char loopback[320];
    snprintf(loopback, sizeof loopback, "%s/class/net/lo", c->sys);
    c->has_sysfs = access(loopback, F_OK) == 0;
    find_ports(c);
    return DCR_OK;
}

static void destroy(void *ctx)
{
    const struct net *c = ctx;
    if (c->fd >= 0)
        close(c->fd);
}

static int sample(void *ctx, const struct tick *now, struct dcr_buf *rows, struct outputs *out, struct dcr_err *err)
{
    struct net *c = ctx;
    (void)out;
    int rc = procfs_reread(&c->fd, c->proc, c->text, sizeof c->text, err);
    if (rc < 0)
        return rc;
    for (char *line = c->text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        char name[32];
        unsigned long long rx, tx;
        /* "  eth0: rx_bytes packets errs drop fifo frame compressed multicast tx_bytes ..." */
        if (sscanf(line, " %31[^: \n]: %llu %*u %*u %*u %*u %*u %*u %*u %llu", name, &rx, &tx) == 3 && rx + tx > 0)
            put_row(rows, now, name, rx, tx, is_on_wire(c, name));
    }
    for (int i = 0; i < c->n_ports; i++)
        put_port(rows, now, &c->ports[i]);
    return DCR_OK;
}

const struct source source_net = {
    "net", DCR_NET_MONITOR_COLUMNS(SOURCE_CELL), sizeof(struct net), configure, sample, destroy, NULL, 1000};
