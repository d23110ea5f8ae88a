/* network.h - measurements of the network alone: times of all-reduces over message sizes, of a calibration or of logs
 * of nccl-tests. Inside render/metrics. Test: tests/unit/test_all_reduce.c */
#ifndef RENDER_METRICS_SERIES_NETWORK_H
#define RENDER_METRICS_SERIES_NETWORK_H

#include "render/metrics/report.h"

enum { MAX_CURVES = 64 };
/* Times of all-reduces over message sizes between so many ranks. */
struct curve {
    int n_ranks;
    const struct run_allreduce_point *points; /* ascending bytes */
    int n_points, is_across;                  /* between nodes */
};
struct curves {
    struct curve list[MAX_CURVES];
    int n;
    const char *of;        /* the archive, the log: in prose */
    struct reason refused; /* why the first one is missing in the list; REASON_NONE: none is */
};

/* Where the ranks of a run meet. */
enum network { NETWORK_ANY /* unknown */, NETWORK_INSIDE /* one machine */, NETWORK_BETWEEN /* nodes */ };

/** network_of - which network the ranks of a point meet in. */
enum network network_of(const struct report *rep, const struct series_point *p);
/** network_calibrated - all-reduces measured alone on this network, from the archive of the series with the most rank
 *  counts, on a tie from that of the largest point. Points are borrowed from its run. */
struct curves network_calibrated(struct report *rep, const struct series *s, enum network net);
/** network_nccl_tested - the same from logs of nccl-tests, anywhere in the input. */
struct curves network_nccl_tested(struct report *rep, enum network net);

#endif
