/* graph_text.h - road graphs as comma separated text: lists of pairs and matrices. Called by graph_read.c. */
#ifndef TRAINER_FORMATS_GRAPH_TEXT_H
#define TRAINER_FORMATS_GRAPH_TEXT_H

#include "trainer/formats/graph_pairs.h"

int graph_text(struct graph_pairs *p, struct dcr_err *err) DCR_MUST_CHECK;

#endif
