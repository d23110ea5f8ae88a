/* nodes.c - assigns ranks to nodes and describes each node. */
#include "collect/pack/parts.h"

#include "collect/record/node_share.h"
#include "lib/base/cores.h"
#include "lib/base/json_string.h"

#include <stdio.h>
#include <string.h>

/* ---- nodes ------------------------------------------------------------------------------------- */

static int node_of_earlier_rank(const struct pack *p, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(p->ranks[k].host, p->ranks[i].host) == 0)
            return p->ranks[k].node;
    return -1;
}

/* Numbers hosts in the order of their lowest rank. With emulation every rank is a node, and a host's monitors stay with
 * its first rank. */
void pack_assign_nodes(struct pack *p)
{
    const json_t *record = pack_first_record(p);
    p->is_emulated = p->request->emulate_nodes || json_is_true(json_object_get(record, "emulate_nodes"));
    for (size_t i = 0; i < p->n_ranks; i++) {
        int node = p->is_emulated ? -1 : node_of_earlier_rank(p, i);
        p->ranks[i].node = node >= 0 ? node : p->n_nodes++;
        struct pack_host *host = pack_host_named(p, p->ranks[i].host);
        if (host && host->node < 0)
            host->node = p->ranks[i].node;
    }
    for (size_t i = 0; i < p->n_hosts; i++) /* a sampled host whose ranks left nothing */
        if (p->hosts[i].node < 0)
            p->hosts[i].node = p->n_nodes++;
    for (size_t i = 0; i < p->n_members; i++) {
        struct archive_member *m = &p->members[i];
        if (m->rank >= 0 && p->is_spool)
            m->node = pack_rank_at(p, m->rank)->node;
        if (!m->host)
            continue;
        const char *slash = strchr(m->name, '/');
        size_t n = strlen(slash) + 24;
        char *name = dcr_arena_alloc(&p->arena, n);
        m->node = pack_host_named(p, m->host)->node;
        snprintf(name, n, "node%d%s", m->node, slash);
        m->name = name;
    }
}

/* Each rank may be bound to a different core, so the node's cores are those of all its ranks. */
static void put_allowed_cores(const struct pack *p, int node, json_t *o)
{
    unsigned char set[DCR_MAX_CPUS] = {0};
    int n = 0;
    for (size_t i = 0; i < p->n_ranks; i++)
        if (p->ranks[i].node == node)
            dcr_add_cpus(set, pack_json_text(p->ranks[i].record, "cpus_allowed"));
    for (size_t i = 0; i < sizeof set; i++)
        n += set[i];
    if (n)
        json_object_set_new(o, "cores_allowed", json_integer(n));
}

/* The state of a node's monitors if no collector recorded it. node -1: there are no monitors. */
static void put_monitors(const struct pack *p, json_t *o, int node, const char *why)
{
    static const struct {
        const char *name;
        enum dcr_role role;
    } kinds[] = {{"cpu", DCR_ROLE_CPU_MONITOR},
                 {"memory", DCR_ROLE_MEMORY_MONITOR},
                 {"disk", DCR_ROLE_DISK_MONITOR},
                 {"net", DCR_ROLE_NET_MONITOR},
                 {"gpu", DCR_ROLE_GPU_MONITOR}};
    json_t *monitors = json_object();
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char line[160];
        int is_there = 0;
        for (size_t k = 0; k < p->n_members && node >= 0; k++)
            is_there |= p->members[k].role == kinds[i].role && p->members[k].node == node;
        snprintf(line, sizeof line, "%s: %s", is_there ? "partial" : "absent", why);
        json_object_set_new(monitors, kinds[i].name, json_string_kept(line));
    }
    json_object_set_new(o, "monitors", monitors);
}

/* A rank on the host of a collector in front of mpirun runs in that collector's node. */
static json_t *share_of_rank(const struct pack *p, const struct pack_rank *r)
{
    json_t *share = json_object_get(r->record, "emulated");
    if (!share && p->launcher && strcmp(pack_json_text(p->launcher, "host"), r->host) == 0)
        share = json_object_get(p->launcher, "emulated");
    return share;
}

int pack_check_emulation(const struct pack *p, struct dcr_err *err)
{
    for (size_t i = 0; i < p->n_ranks && p->request->emulate_nodes; i++)
        if (share_of_rank(p, &p->ranks[i]))
            return dcr_err_set(
                err, DCR_FAIL,
                "cannot pack '%s' with --emulate-nodes: rank %d ran in an emulated node (" NODE_SHARE_VARIABLE
                "); leave the option out",
                p->request->spool, p->ranks[i].rank);
    return DCR_OK;
}

json_t *pack_node_object(struct pack *p, int node)
{
    const struct pack_rank *first = NULL;
    struct pack_host *host = NULL;
    for (size_t i = 0; i < p->n_ranks && !first; i++)
        if (p->ranks[i].node == node)
            first = &p->ranks[i];
    for (size_t i = 0; i < p->n_hosts; i++)
        if (first ? strcmp(p->hosts[i].name, first->host) == 0 : p->hosts[i].node == node)
            host = &p->hosts[i];
    json_t *o = json_object();
    json_object_set_new(o, "node", json_integer(node));
    if (host && host->facts)
        json_object_update(o, host->facts);
    if (host)
        json_object_set_new(o, "host", json_string_kept(host->name));
    else if (first && *first->host)
        json_object_set_new(o, "host", json_string_kept(first->host));
    if (!*pack_json_text(o, "boot_id") && first && *pack_json_text(first->record, "boot_id"))
        json_object_set_new(o, "boot_id", json_string(pack_json_text(first->record, "boot_id")));
    put_allowed_cores(p, node, o);
    for (size_t i = 0; i < p->n_ranks && !json_object_get(o, "emulated"); i++)
        if (p->ranks[i].node == node && share_of_rank(p, &p->ranks[i]))
            json_object_set(o, "emulated", share_of_rank(p, &p->ranks[i]));
    if (host && host->node != node)
        put_monitors(p, o, -1,
                     "this is an emulated node, and the monitors of its host are with the first node of the host");
    else if (!host || !host->facts)
        put_monitors(p, o, node, "no collector sampled this host");
    else if (!json_object_get(o, "monitors"))
        put_monitors(p, o, node, "the collector of this host was killed before it could report");
    return o;
}

const char *pack_node_kind(const struct pack *p, const json_t *nodes)
{
    size_t n = json_array_size(nodes), n_equal = 0;
    for (size_t i = 0; i < n; i++)
        if (p->is_emulated || json_object_get(json_array_get(nodes, i), "emulated"))
            return "emulated";
    for (size_t i = 0; i < n; i++) {
        const char *id = pack_json_text(json_array_get(nodes, i), "boot_id");
        if (!*id)
            return "unknown";
        for (size_t k = 0; k < i; k++)
            n_equal += strcmp(id, pack_json_text(json_array_get(nodes, k), "boot_id")) == 0;
    }
    return n == 0 ? "unknown" : n_equal ? "one-kernel" : "machines";
}
