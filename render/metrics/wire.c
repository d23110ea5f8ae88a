/* wire.c - see wire.h. */
#include "render/metrics/wire.h"

#include "render/metrics/readings.h"

/* Readings within the steps. With fewer, one second of traffic outside of the steps would count too much. */
enum { LEAST_READINGS = 4 };

struct steps_here {
    struct reading_window window;
    int64_t n_steps; /* all steps, kept or not */
    int n_ranks;
};

static struct steps_here steps_on(const struct run *a, const struct run_node *n)
{
    struct steps_here here = {{INT64_MAX, INT64_MIN}, 0, 0};
    for (int i = 0; i < a->ranks_len; i++) {
        const struct run_rank *k = &a->ranks[i];
        struct reading_window w = window_of_steps(k);
        if (k->node != n->node || !k->n_steps)
            continue;
        here.window.from = w.from < here.window.from ? w.from : here.window.from;
        here.window.to = w.to > here.window.to ? w.to : here.window.to;
        int64_t n_steps = steps_of_all(k->steps, k->n_steps, &k->seen).n;
        here.n_steps = n_steps > here.n_steps ? n_steps : here.n_steps;
        here.n_ranks++;
    }
    return here;
}

/* A sum that gets smaller contains a counter that restarted. */
static int is_ascending(const struct run_node *n)
{
    for (int i = 1; i < n->n_wire; i++)
        if (n->wire[i].t_ns <= n->wire[i - 1].t_ns || n->wire[i].sent_bytes < n->wire[i - 1].sent_bytes ||
            n->wire[i].received_bytes < n->wire[i - 1].received_bytes)
            return 0;
    return 1;
}

/* The last reading may be missing. The rates so far are then taken for the rest. */
int wire_of_node(const struct run_result *r, int at, struct node_wire *out)
{
    const struct run *run = r->run;
    const struct run_node *n = &run->nodes[at];
    int has_links = run->node_kind == NODES_MACHINES || run->node_kind == NODES_SHARES;
    if (!r->has_steps || !(r->bytes_per_step > 0) || !has_links)
        return 0;
    const struct steps_here here = steps_on(run, n);
    int n_inside = 0;
    for (int i = 0; i < n->n_wire; i++)
        n_inside += n->wire[i].t_ns >= here.window.from && n->wire[i].t_ns <= here.window.to;
    if (!here.n_ranks || n_inside < LEAST_READINGS || !is_ascending(n) ||
        !readings_cover(n->wire, n->n_wire, here.window))
        return 0;
    int64_t last = n->wire[n->n_wire - 1].t_ns, from = here.window.from,
            to = here.window.to < last ? here.window.to : last;
    const struct run_reading a = reading_at(n->wire, n->n_wire, from), b = reading_at(n->wire, n->n_wire, to);
    double steps = (double)here.n_steps * (double)(to - from) / (double)(here.window.to - from);
    *out = (struct node_wire){.node = n->node,
                              .sent_bytes = (double)(b.sent_bytes - a.sent_bytes) / steps,
                              .received_bytes = (double)(b.received_bytes - a.received_bytes) / steps,
                              .given_bytes = r->bytes_per_step * here.n_ranks};
    return 1;
}

int wire_is_known(const struct run_result *r)
{
    struct node_wire any;
    for (int i = 0; i < r->run->nodes_len; i++)
        if (!wire_of_node(r, i, &any))
            return 0;
    return r->run->nodes_len > 1;
}
