/* value.h - a number of the report with its unit, or why there is none. The tables of render/metrics/registry/metrics.h
 * give its subject and its name in files. */
#ifndef RENDER_MODEL_VALUE_H
#define RENDER_MODEL_VALUE_H

#include "render/model/reason.h"

#include <math.h>
#include <stdint.h>

/* A 95 % interval; has == 0: too few steps. */
struct interval {
    int has;
    double lo, hi;
};

/* X(id, word in the heads of CSV columns) */
#define VALUE_UNITS(X)                              \
    X(NONE, "") /* a text, a flag, an object */     \
    X(COUNT, "")                                    \
    X(NUMBER, "")      /* its key names its unit */ \
    X(FACTOR, "ratio") /* "1.92x" */                \
    X(RATIO, "ratio")  /* "34 %" */                 \
    X(NS, "ns")                                     \
    X(BYTES, "bytes")
enum value_unit {
#define X(id, word) UNIT_##id,
    VALUE_UNITS(X)
#undef X
};

enum value_kind {
    VALUE_WHOLE = 0,
    VALUE_REAL,
    VALUE_TEXT,
    VALUE_FLAG, /* whole: 0 or 1 */
    VALUE_INTERVAL,
    VALUE_OBJECT /* has members, which are missing if it is missing */
};
struct value {
    enum value_kind kind;
    enum value_unit unit;
    struct reason why; /* REASON_NONE: it is known. NOT_MEASURED: it is missing, and the reason is unknown */
    union {
        int64_t whole;
        double real;
        const char *text; /* borrowed */
        struct interval interval;
    };
};

/** value_is_known - is it known? If not, `why` gives the reason. */
static inline int value_is_known(const struct value *v)
{
    return v->why.code == REASON_NONE;
}
/** value_number - NAN if it is missing or no number. */
static inline double value_number(const struct value *v)
{
    return !value_is_known(v) ? NAN : v->kind == VALUE_WHOLE ? (double)v->whole : v->kind == VALUE_REAL ? v->real : NAN;
}

#endif
