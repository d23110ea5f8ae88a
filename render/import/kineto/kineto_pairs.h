/* kineto_pairs.h - events of a Chrome trace that come as a begin ("B") and an end ("E"): pairs on their thread, the
 * last begun ends first, whatever the ends are called. A pair becomes one complete event. Inside render/import only.
 * source: the Trace Event Format, "Duration Events". Test: tests/unit/test_kineto.c */
#ifndef RENDER_IMPORT_KINETO_KINETO_PAIRS_H
#define RENDER_IMPORT_KINETO_KINETO_PAIRS_H

#include <stddef.h>
#include <stdint.h>

struct kineto_text {
    const char *p;
    size_t n;
};

/* An event as it lies in the window: escaped as it is. */
struct kineto_raw {
    struct kineto_text cat, name;
    char ph;
    int has_ts;
    int64_t ts_ns, dur_ns;
    const char *pid, *pid_end, *tid, *tid_end, *args, *args_end; /* NULL = none */
};

struct kineto_pairs;

/** kineto_pairs_new - gives; free with kineto_pairs_free. NULL: out of memory */
struct kineto_pairs *kineto_pairs_new(void);
/** kineto_pairs_begin - keep a copy of e on its thread.
 *  returns  0; -1 when it is not kept: too many are open, it is too large, or there is no memory */
int kineto_pairs_begin(struct kineto_pairs *p, int64_t thread, const struct kineto_raw *e);
/** kineto_pairs_end - the innermost open one of the thread ends.
 *  out      the complete event: names and categories of the begin, arguments of both, those of the end last; borrows
 *           until the next call and as long as e
 *  returns  0; -1 when nothing is open there */
int kineto_pairs_end(struct kineto_pairs *p, int64_t thread, const struct kineto_raw *e, struct kineto_raw *out);
/** kineto_pairs_open - begun and not ended. */
int64_t kineto_pairs_open(const struct kineto_pairs *p);
void kineto_pairs_free(struct kineto_pairs *p);

#endif
