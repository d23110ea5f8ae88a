/* lttng_events.h - two tracepoints, declared in the form that LTTng-UST needs: included by event_cost.c, and again by
 * LTTng. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER dcr_bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "tests/bench/collector/lttng_events.h"
#if !defined(DCR_LTTNG_EVENTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define DCR_LTTNG_EVENTS_H
#include <lttng/tracepoint.h>
LTTNG_UST_TRACEPOINT_EVENT(dcr_bench, push, LTTNG_UST_TP_ARGS(const char *, name),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_string(name, name)))
LTTNG_UST_TRACEPOINT_EVENT(dcr_bench, pop, LTTNG_UST_TP_ARGS(int, level),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, level, level)))
#endif
#include <lttng/tracepoint-event.h>
