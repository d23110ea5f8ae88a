/* node_share.h - the share of this machine that an emulated node has. The script that makes the node sets it in
 * DCREPORT_NODE for everything that runs in the node. */
#ifndef COLLECT_NODE_SHARE_H
#define COLLECT_NODE_SHARE_H

#include "lib/base/err.h"

#include <jansson.h>

#define NODE_SHARE_VARIABLE "DCREPORT_NODE"

/** node_share_of_environment - the object "emulated" of docs/FORMAT.md, from DCREPORT_NODE, for instance
 *  "cores=0.25 period_us=4000 link_bit_per_s=50000000 default=1".
 *  out      gives; NULL on failure, or when the variable is unset or empty: this host is not an emulated node
 *  errors   DCR_FAIL: the text has another form, or a number is out of bounds. Test: tests/unit/test_meta.c */
int node_share_of_environment(json_t **out, struct dcr_err *err) DCR_MUST_CHECK;

/** node_share_words - "0.25 core, 50 Mbit/s each", for one node without "each".
 *  share    "emulated" of a node; NULL or malformed: an empty text */
void node_share_words(const json_t *share, int n_nodes, char *out, size_t n);

#endif
