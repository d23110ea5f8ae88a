/* wire.h - bytes that left and reached each node of a run, beside those that its ranks gave to collectives. */
#ifndef RENDER_METRICS_WIRE_H
#define RENDER_METRICS_WIRE_H

#include "render/metrics/report.h"

/* Of one step, in the mean. */
struct node_wire {
    int node;
    double sent_bytes, received_bytes; /* through all interfaces that leave the host, whoever sent them */
    double given_bytes;                /* all ranks of the node into collectives */
};

/** wire_of_node - of run.nodes[at].
 *  returns  1; 0 where its monitor does not cover the steps, no bytes of collectives are recorded, or nodes share a
 *           machine, whose traffic is on no wire
 *  source   docs/metrics.md#bytes-on-the-wire. Test: tests/unit/test_wire.c */
int wire_of_node(const struct run_result *r, int at, struct node_wire *out);
/** wire_is_known - of every node of the run: only then is something said of it. */
int wire_is_known(const struct run_result *r);

#endif
