/* wire.h - bytes that each node of a run sent and received, and bytes that its ranks gave to collectives. */
#ifndef RENDER_METRICS_WIRE_H
#define RENDER_METRICS_WIRE_H

#include "render/metrics/report.h"

/* Means per step. */
struct node_wire {
    int node;
    double sent_bytes, received_bytes; /* through all interfaces that leave the host, from any program */
    double given_bytes;                /* to collectives, by all ranks of the node */
};

/** wire_of_node - bytes on the wire of run.nodes[at].
 *  returns  1; 0 if its monitor does not cover the steps, no bytes of collectives are recorded, or nodes share a
 *           machine, so that no wire carries their traffic
 *  source   docs/metrics.md#bytes-on-the-wire. Test: tests/unit/test_wire.c */
int wire_of_node(const struct run_result *r, int at, struct node_wire *out);
/** wire_is_known - is wire_of_node known for every node? The report shows it only then. */
int wire_is_known(const struct run_result *r);

#endif
