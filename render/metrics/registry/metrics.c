/* metrics.c - see metrics.h. */
#include "render/metrics/registry/metrics.h"
#include "render/metrics/series/series.h"
#include "render/metrics/known.h"
#include "render/metrics/series/differing.h"

#include "render/metrics/calls.h"
#include "render/metrics/recorded.h"
#include "render/metrics/rule.h"
#include "render/metrics/steps.h"
#include "render/metrics/device_shares.h"
#include "render/say/say.h"

/* ---- what the rows of the tables are made of -------------------------------------------------------- */

static struct value missing(struct reason why)
{
    return (struct value){.kind = VALUE_TEXT, .why = why};
}

static struct value known_if(int has, struct value v)
{
    if (!has)
        v.why = REASON(NOT_MEASURED);
    return v;
}

/* Why it is missing, if it is and no other reason is known. */
static struct value because(struct value v, struct reason why)
{
    if (v.why.code == REASON_NOT_MEASURED && why.code)
        v.why = why;
    return v;
}

static struct value whole(int has, int64_t n)
{
    return known_if(has, (struct value){.kind = VALUE_WHOLE, .whole = n});
}

static struct value hidden(int has_steps, int is_unknown, int64_t ns)
{
    struct value v = whole(has_steps && !is_unknown, ns);
    if (has_steps && is_unknown)
        v.why = REASON(EVENTS_LOST);
    return v;
}

/* < 0: it is missing */
static struct value counted(int64_t n)
{
    return whole(n >= 0, n);
}

static struct value real(int has, double x)
{
    return known_if(has && isfinite(x), (struct value){.kind = VALUE_REAL, .real = x});
}

/* < 0: it is missing */
static struct value positive(double x)
{
    return real(x >= 0, x);
}

static struct value quotient(double part, double all)
{
    return real(all > 0, part / all);
}

static struct value flag(int is)
{
    return known_if(is >= 0, (struct value){.kind = VALUE_FLAG, .whole = is});
}

/* NULL: it is missing */
static struct value name(const char *s)
{
    return known_if(s != NULL, (struct value){.kind = VALUE_TEXT, .text = s});
}

/* "" is missing, too */
static struct value text(const char *s)
{
    return name(s && *s ? s : NULL);
}

static struct value interval(struct interval i)
{
    return known_if(i.has, (struct value){.kind = VALUE_INTERVAL, .interval = i});
}

static struct value object(int has)
{
    return known_if(has, (struct value){.kind = VALUE_OBJECT});
}

/* ---- steps ------------------------------------------------------------------------------------------ */

static struct value p99_of(const struct spread *s)
{
    return because(whole(s->p99_ns > 0, s->p99_ns), REASON(P99_FEW_VALUES, slot_count(SPREAD_P99_NEEDS)));
}

static struct value spread_value(const struct spread *s, enum spread_metric m)
{
    return spread_metrics.rows[m].of(s);
}

/* A summary keeps neither its shortest nor its longest step, and not always more than the mean. */
static struct value step_value(const struct run_result *r, enum spread_metric m)
{
    const struct run_summary *of = &r->run->summary;
    struct value v = spread_value(&r->step, m);
    const int is_kept[] = {[SPREAD_N] = 1,
                           [SPREAD_MEAN] = 1,
                           [SPREAD_MEDIAN] = of->p50_ns > 0,
                           [SPREAD_P95] = of->p95_ns > 0,
                           [SPREAD_P99] = r->step.p99_ns > 0,
                           [SPREAD_CV] = of->stdev_ns > 0,
                           [SPREAD_MAX_OVER_MEDIAN] = 0};
    if (r->step.n == 0)
        return known_if(0, v);
    if (!r->has_steps && !is_kept[m])
        v.why = m == SPREAD_P99 ? REASON(P99_NOT_KEPT) : REASON(NOT_MEASURED);
    return v;
}

static struct value point_step_value(const struct point_of *p, enum spread_metric m)
{
    return !p->is->step.n && p->is->n_runs == 1 ? step_value(&p->rep->runs[p->is->runs[0]], m)
                                                : spread_value(&p->is->step, m);
}

/* ---- parts of a step: what was not recorded is missing, not 0 --------------------------------------- */

static struct value part_ns(const struct run_result *r, const int64_t *ns, enum part p)
{
    const struct class_result *c = &r->classes[class_of_part(p)];
    return because(whole(is_part_known(r, p), ns[p]), c->verdict == VERDICT_NA ? c->why : REASON(NOT_MEASURED));
}

static struct value share_of_step(const struct run_result *r, struct value ns)
{
    struct value v = quotient((double)ns.whole, (double)r->step.mean_ns);
    return !r->has_steps ? missing(r->steps_why) : value_is_known(&ns) ? v : ns;
}

static struct value part_share(const struct run_result *r, enum part p)
{
    return share_of_step(r, part_ns(r, r->part_ns, p));
}

/* Transfer and waiting. */
static struct value communication_share(const struct run_result *r)
{
    struct value transfer = part_ns(r, r->part_ns, PART_TRANSFER);
    return share_of_step(r, !value_is_known(&transfer) && r->comm_ns == 0 ? transfer : whole(1, r->comm_ns));
}

/* ---- efficiencies of POP ---------------------------------------------------------------------------- */

static struct value of_gpus(const struct pop *p, double ratio)
{
    return because(real(p->has && p->is_of_gpus, ratio),
                   p->is_of_gpus ? REASON(NONE) : REASON(STEPS_NOT_OF_GPU_TRACES));
}

static struct value pop_metric_of(const struct pop *p, enum pop_metric m)
{
    return pop_metrics.rows[m].of(p);
}

static struct value pop_value(const struct run_result *r, enum pop_metric m)
{
    return r->has_steps ? because(pop_metric_of(&r->pop, m), r->pop_why) : missing(r->steps_why);
}

/* ---- GPUs and losses of the recorder ---------------------------------------------------------------- */

/* Mean over the monitored GPUs; without any, of the traces. */
static struct value gpu_utilization(const struct run_result *r)
{
    const struct run *run = r->run;
    double sum = 0;
    int n = 0;
    for (int i = 0; i < run->nodes_len; i++)
        for (int k = 0; k < run->nodes[i].n_gpus; k++) {
            const struct sampled *s = &run->nodes[i].gpus[k].utilization_percent;
            sum += s->n ? s->sum / (double)s->n / 100 : 0;
            n += s->n > 0;
        }
    return because(real(1, n ? sum / n : traced_utilization(run)),
                   run->n_traces ? REASON(NO_GPU_MONITORED_NOR_STEPS) : REASON(NO_GPU_MONITORED));
}

/* The largest share over the monitored GPUs. */
static struct value gpu_memory(const struct run *run)
{
    double most = NAN;
    int n = 0, n_used = 0;
    for (int i = 0; i < run->nodes_len; i++)
        for (int k = 0; k < run->nodes[i].n_gpus; k++, n++) {
            const struct run_gpu *g = &run->nodes[i].gpus[k];
            n_used += g->memory_used_mb.n > 0;
            if (g->memory_used_mb.n && g->memory_total_mb.n && g->memory_total_mb.max > 0)
                most = fmax(most, g->memory_used_mb.max / g->memory_total_mb.max);
        }
    return because(real(1, most), n_used ? REASON(GPU_MONITOR_NO_TOTAL)
                                  : n    ? REASON(GPU_MONITOR_NO_MEMORY)
                                         : REASON(NO_GPU_MONITORED));
}

static struct value dropped(const struct run *run)
{
    int64_t n = 0;
    for (int i = 0; i < run->ranks_len; i++)
        n += (int64_t)run->ranks[i].n_dropped;
    return because(whole(run->ranks_len > 0, n), REASON(NO_RANK_RECORDED));
}

/* ---- GPUs of traces --------------------------------------------------------------------------------- */

static struct value of_span(const struct run_device *d, int64_t ns)
{
    return quotient((double)ns, (double)d->value[DEV_SPAN]);
}

static struct value of_communication(const struct run_device *d, int64_t ns)
{
    return d->value[DEV_COMM_KERNELS] && d->value[DEV_SPAN] > 0 ? of_span(d, ns)
                                                                : missing(REASON(NO_COMMUNICATION_KERNEL));
}

static struct value in_steps(const struct run_device *d, int64_t n)
{
    return because(whole(d->n_steps > 0, n), REASON(NO_STEPS_MARKED));
}

static struct value memory_share(const struct run_device *d)
{
    const struct device_memory *m = &d->memory;
    int64_t peak = m->peak_reserved > m->peak_allocated ? m->peak_reserved : m->peak_allocated;
    return because(quotient((double)peak, (double)d->memory_total_bytes), REASON(NO_MEMORY_SIZE));
}

/* ---- where numbers are from ------------------------------------------------------------------------- */

static const char *node_kind_key(enum node_kind k)
{
    static const char *const keys[] = {"unknown", "machines", "one-kernel", "emulated", "emulated"};
    return keys[k];
}

static const char *gpu_driver(const struct run *run)
{
    for (int i = 0; i < run->nodes_len; i++)
        if (run->nodes[i].gpu_driver && *run->nodes[i].gpu_driver)
            return run->nodes[i].gpu_driver;
    return "";
}

/* ---- the tables -------------------------------------------------------------------------------------- */

#define TABLE spread
#define ROWS "render/metrics/registry/spread.def"
#define OF const struct spread *s
#include "render/metrics/registry/table.inc"

#define TABLE pop
#define ROWS "render/metrics/registry/pop.def"
#define OF const struct pop *p
#include "render/metrics/registry/table.inc"

#define TABLE run
#define ROWS "render/metrics/registry/run.def"
#define OF const struct run_result *r
#include "render/metrics/registry/table.inc"

#define TABLE provenance
#define ROWS "render/metrics/registry/provenance.def"
#define OF const struct run *a
#include "render/metrics/registry/table.inc"

#define TABLE recorded
#define ROWS "render/metrics/registry/recorded.def"
#define OF const struct recorded *part
#include "render/metrics/registry/table.inc"

#define TABLE recording
#define ROWS "render/metrics/registry/recording.def"
#define OF const struct recording_cost *c
#include "render/metrics/registry/table.inc"

#define TABLE file_time
#define ROWS "render/metrics/registry/file_time.def"
#define OF const struct file_time *f
#include "render/metrics/registry/table.inc"

#define TABLE rank
#define ROWS "render/metrics/registry/rank.def"
#define OF const struct rank_of *k
#include "render/metrics/registry/table.inc"

#define TABLE phase
#define ROWS "render/metrics/registry/phase.def"
#define OF const struct phase_of *p
#include "render/metrics/registry/table.inc"

#define TABLE cause
#define ROWS "render/metrics/registry/cause.def"
#define OF const struct cause_of *c
#include "render/metrics/registry/table.inc"

#define TABLE point
#define ROWS "render/metrics/registry/point.def"
#define OF const struct point_of *p
#include "render/metrics/registry/table.inc"

#define TABLE gpu_memory
#define ROWS "render/metrics/registry/gpu_memory.def"
#define OF const struct gpu_memory *m
#include "render/metrics/registry/table.inc"

#define TABLE kernel
#define ROWS "render/metrics/registry/kernel.def"
#define OF const struct kernel_of *k
#include "render/metrics/registry/table.inc"

#define TABLE device
#define ROWS "render/metrics/registry/device.def"
#define OF const struct run_device *d
#include "render/metrics/registry/table.inc"

#define TABLE collective
#define ROWS "render/metrics/registry/collective.def"
#define OF const struct device_collective *c
#include "render/metrics/registry/table.inc"

#define TABLE operation
#define ROWS "render/metrics/registry/operation.def"
#define OF const struct device_name *n
#include "render/metrics/registry/table.inc"

#define TABLE calls
#define ROWS "render/metrics/registry/calls.def"
#define OF const struct calls_of *c
#include "render/metrics/registry/table.inc"

const struct metrics *const metric_tables[N_METRIC_TABLES] = {
#define X(name) &name##_metrics,
    METRIC_TABLES(X)
#undef X
};

struct value metric_value(const struct metrics *t, int id, const void *subject)
{
    struct value v = t->rows[id].of(subject);
    v.unit = t->rows[id].unit;
    return v;
}
