/* laws.c - laws of scaling fitted to the points of a series, and their forecasts for the next node counts. Each
 * law is given with its residual, and each forecast with its interval or why it has none. Called by
 * findings/rules/analyse.c. */
#include "render/metrics/cores.h"
#include "render/metrics/series/series.h"
#include "render/metrics/fit.h"

#include <math.h>
#include <string.h>

/* Ratio of a point's node count to the reference's. */
static double size_of(const struct series *s, int i)
{
    return (double)s->points[i].n_nodes / s->points[0].n_nodes;
}

static struct law *law_add(struct series *s, enum law_id id, const char *name)
{
    struct law *l = &s->laws[s->n_laws++];
    *l = (struct law){.id = id, .name = name, .source = LAW_BY_FIT};
    return l;
}

static void set_parameter(struct law *l, enum law_parameter_id id, double value)
{
    l->parameters[l->n_parameters++] = (struct law_parameter){id, value};
}

/* Largest |fitted - measured| / measured. */
static double residual_of(const struct fit *f, const double (*x)[FIT_MAX_PARAMETERS], const double *y, int n)
{
    double most = 0, half;
    for (int i = 0; i < n; i++) {
        double e = fabs(fit_at(f, x[i], &half) - y[i]) / fabs(y[i]);
        most = y[i] != 0 && e > most ? e : most;
    }
    return most;
}

/* A law whose error at measured points is larger than this gives no forecast. */
static void judge(struct law *l)
{
    const double unfit = 0.25;
    l->has = l->residual_ratio <= unfit;
    if (!l->has)
        l->why = REASON(LAW_MISSES, slot_percent(l->residual_ratio));
}

/* The forecast of a law for a size: speed-up with its interval. */
struct guess {
    int has;
    double speedup, lo, hi;
};

/* T(n) / T(1) = s + (1 - s) / n, with both coefficients free. */
static void row_amdahl(double n, double x[FIT_MAX_PARAMETERS])
{
    x[0] = 1;
    x[1] = 1 / n;
}

static struct guess guess_amdahl(const struct fit *f, double n)
{
    double x[FIT_MAX_PARAMETERS], half;
    row_amdahl(n, x);
    double y = fit_at(f, x, &half);
    return (struct guess){y > 0 && half < y, 1 / y, 1 / (y + half), 1 / (y - half)};
}

/* n / S(n) - 1 = contention (n - 1) + coherency n (n - 1)   (Gunther). */
static void row_usl(double n, double x[FIT_MAX_PARAMETERS])
{
    x[0] = n - 1;
    x[1] = n * (n - 1);
}

static struct guess guess_usl(const struct fit *f, double n)
{
    double x[FIT_MAX_PARAMETERS], half;
    row_usl(n, x);
    double y = fit_at(f, x, &half);
    return (struct guess){half < 1 + y, n / (1 + y), n / (1 + y + half), n / (1 + y - half)};
}

enum { MAX_POINTS = 64 };

/* Measured speed-ups: n points, the reference among them. */
static int speedups(const struct series *s, double *size, double *speedup)
{
    int n = 0;
    for (int i = 0; i < s->n_points && n < MAX_POINTS; i++)
        if (s->points[i].speedup > 0) {
            size[n] = size_of(s, i);
            speedup[n++] = s->points[i].speedup;
        }
    return n;
}

/* Smaller differences are rounding, not evidence. */
static const double rounding = 1e-6;

static int is_share(double value)
{
    return value >= -rounding && value <= 1 + rounding;
}

/* A law that fits only with meaningless parameters is refused, because it cannot forecast what was not measured. */
static void refuse(struct law *l, struct reason why)
{
    l->has = 0;
    l->n_parameters = 0;
    l->why = why;
}

/* Why no law is fitted: at one of the points ranks waited for a core, which no law contains. REASON_NONE = laws may
 * be fitted */
static struct reason unreliable(const struct report *rep, const struct series *s)
{
    for (int i = 0; i < s->n_points; i++)
        for (int k = 0; k < s->points[i].n_runs; k++) {
            const struct run_result *r = &rep->runs[s->points[i].runs[k]];
            if (is_doubtful(r))
                return REASON(LAW_CORES_SHARED, slot_count(s->points[i].n_nodes), slot_name(counted_word(rep->unit)),
                              slot_name(r->shared.because));
        }
    return REASON(NONE);
}

/* why: the reason not to fit a law; REASON_NONE = fit it */
static struct fit fit_amdahl(struct series *s, struct reason why)
{
    double size[MAX_POINTS], speedup[MAX_POINTS], x[MAX_POINTS][FIT_MAX_PARAMETERS], y[MAX_POINTS];
    int n = speedups(s, size, speedup);
    struct law *l = law_add(s, LAW_AMDAHL, "Amdahl's law");
    struct fit none = {0};
    if (s->kind != SCALING_STRONG) {
        l->why = REASON(LAW_OF_STRONG_SCALING);
        return none;
    }
    if (why.code) {
        l->why = why;
        return none;
    }
    for (int i = 0; i < n; i++) {
        row_amdahl(size[i], x[i]);
        y[i] = 1 / speedup[i];
    }
    struct fit f = fit_linear((const double(*)[FIT_MAX_PARAMETERS])x, y, n, 2);
    if (!f.has || f.n_free < 1) {
        l->why = REASON(LAW_FEW_POINTS, slot_count(n), slot_count(3));
        return none;
    }
    double sum = f.parameter[0] + f.parameter[1], serial = sum > 0 ? f.parameter[0] / sum : INFINITY;
    l->residual_ratio = residual_of(&f, (const double(*)[FIT_MAX_PARAMETERS])x, y, n);
    set_parameter(l, LAW_SERIAL, serial < 0 ? 0 : serial > 1 ? 1 : serial);
    judge(l);
    if (!is_share(serial))
        refuse(l, serial < 0 ? REASON(LAW_SERIAL_BELOW_0, slot_percent(serial)) : REASON(LAW_SERIAL_ABOVE_1));
    return f;
}

static struct fit fit_usl(struct series *s, struct reason why)
{
    double size[MAX_POINTS], speedup[MAX_POINTS], x[MAX_POINTS][FIT_MAX_PARAMETERS], y[MAX_POINTS];
    int all = speedups(s, size, speedup), n = 0;
    struct law *l = law_add(s, LAW_USL, "Universal Scalability Law");
    struct fit none = {0};
    if (why.code) {
        l->why = why;
        return none;
    }
    for (int i = 0; i < all; i++)
        if (size[i] > 1) {
            row_usl(size[i], x[n]);
            y[n++] = size[i] / speedup[i] - 1;
        }
    struct fit f = fit_linear((const double(*)[FIT_MAX_PARAMETERS])x, y, n, 2);
    if (!f.has || f.n_free < 1) {
        l->why = REASON(LAW_FEW_POINTS_BESIDE_REFERENCE, slot_count(all), slot_count(4));
        return none;
    }
    for (int i = 0; i < all; i++) {
        double e = fabs(guess_usl(&f, size[i]).speedup / speedup[i] - 1);
        l->residual_ratio = e > l->residual_ratio ? e : l->residual_ratio;
    }
    set_parameter(l, LAW_CONTENTION, f.parameter[0]);
    set_parameter(l, LAW_COHERENCY, f.parameter[1]);
    if (f.parameter[1] > 0 && f.parameter[0] < 1)
        set_parameter(l, LAW_PEAK, sqrt((1 - f.parameter[0]) / f.parameter[1]) * s->points[0].n_nodes);
    judge(l);
    if (!is_share(f.parameter[0]))
        refuse(l, REASON(LAW_CONTENTION, slot_number(f.parameter[0])));
    else if (f.parameter[1] < -rounding)
        refuse(l, REASON(LAW_COHERENCY, slot_number(f.parameter[1])));
    return f;
}

/* Compute of a step goes with 1 / n in strong scaling and stays in weak scaling. */
static void fit_compute(const struct report *rep, struct series *s, struct reason why)
{
    double x[MAX_POINTS][FIT_MAX_PARAMETERS], y[MAX_POINTS];
    int n = 0;
    struct law *l = law_add(s, LAW_COMPUTE, s->kind == SCALING_WEAK ? "compute = c" : "compute = c / n");
    for (int i = 0; i < s->n_points && n < MAX_POINTS; i++)
        if (s->points[i].part_ns[PART_COMPUTE] > 0) {
            x[n][0] = s->kind == SCALING_WEAK ? 1 : 1 / size_of(s, i);
            x[n][1] = 0;
            y[n++] = (double)s->points[i].part_ns[PART_COMPUTE];
        }
    if (n < 2 || (s->kind != SCALING_STRONG && s->kind != SCALING_WEAK)) {
        l->why = REASON(LAW_COMPUTE_POINTS, slot_name(counted_word(rep->unit)));
        return;
    }
    if (why.code) {
        l->why = why;
        return;
    }
    struct fit f = fit_linear((const double(*)[FIT_MAX_PARAMETERS])x, y, n, 1);
    l->residual_ratio = residual_of(&f, (const double(*)[FIT_MAX_PARAMETERS])x, y, n);
    set_parameter(l, LAW_C, f.parameter[0]);
    judge(l);
}

/* The law by measurements of the network alone. It is not fitted to the points, so its residual is its error at them.
 */
static void take_all_reduce(const struct all_reduce *a, struct law *l, int last_ranks)
{
    const struct all_reduce_point *last = NULL; /* more than one point may have so many ranks */
    l->source = a->source;
    set_parameter(l, LAW_LATENCY, a->count * a->latency_ns);
    set_parameter(l, LAW_BANDWIDTH, a->busbw_gb_per_s > 0 ? a->bytes / a->busbw_gb_per_s : 0);
    for (int i = 0; i < a->n_points; i++) {
        const struct all_reduce_point *p = &a->points[i];
        if (a->source == LAW_BY_CALIBRATION && p->n_ranks == last_ranks && p->predicted_ns > 0)
            last = p;
        l->has |= p->has_residual;
        l->residual_ratio = p->has_residual && fabs(p->residual_ratio) > l->residual_ratio ? fabs(p->residual_ratio)
                                                                                           : l->residual_ratio;
    }
    if (last)
        set_parameter(l, LAW_CALIBRATED, (double)last->predicted_ns);
    if (!l->has)
        l->why = a->n_points ? a->points[a->n_points - 1].why : REASON(LAW_NO_TWO_RANKS);
}

/* Transfer between p ranks: latency log2 p + bandwidth 2 (p - 1) / p. Waiting for late ranks is left out, because it is
 * no property of the network. The law is that of a calibration or a log of nccl-tests, if there is one; else it is
 * fitted to the points. Two points give both terms and no residual. */
static void fit_all_reduce(struct series *s, struct reason why)
{
    double x[MAX_POINTS][FIT_MAX_PARAMETERS], y[MAX_POINTS];
    int n = 0;
    struct law *l = law_add(s, LAW_ALL_REDUCE, "transfer = a log2 p + b 2 (p - 1) / p");
    if (s->all_reduce.source) {
        take_all_reduce(&s->all_reduce, l, s->points[s->n_points - 1].n_ranks);
        return;
    }
    if (why.code) {
        l->why = why;
        return;
    }
    for (int i = 0; i < s->n_points && n < MAX_POINTS; i++) {
        const struct series_point *p = &s->points[i];
        int64_t ns = p->part_ns[PART_TRANSFER];
        if (p->n_ranks < 2 || ns <= 0)
            continue;
        x[n][0] = log2(p->n_ranks);
        x[n][1] = 2.0 * (p->n_ranks - 1) / p->n_ranks;
        y[n++] = (double)ns;
    }
    struct fit f = fit_linear((const double(*)[FIT_MAX_PARAMETERS])x, y, n, 2);
    if (!f.has || f.n_free < 1) {
        l->why = REASON(LAW_FEW_TRANSFERS, slot_count(n));
        return;
    }
    if (f.parameter[0] < 0 || f.parameter[1] < 0) {
        l->why = REASON(LAW_NEGATIVE_TERM);
        return;
    }
    l->residual_ratio = residual_of(&f, (const double(*)[FIT_MAX_PARAMETERS])x, y, n);
    set_parameter(l, LAW_LATENCY, f.parameter[0]);
    set_parameter(l, LAW_BANDWIDTH, f.parameter[1]);
    judge(l);
}

static void extrapolate(struct report *rep, struct series *s, const struct fit *amdahl, const struct fit *usl,
                        int is_shared)
{
    const int widest = 4; /* a wider interval is of no use */
    const struct law *a = &s->laws[0], *u = &s->laws[1];
    s->extrapolated_by = LAW_NONE;
    s->extrapolation_why = REASON(NONE);
    if (is_shared) {
        s->extrapolation_why = REASON(NO_TREND_CORES_SHARED);
        return;
    }
    int is_usl = u->has && (!a->has || u->residual_ratio < a->residual_ratio);
    if (!a->has && !u->has) {
        int is_unfit = amdahl->has || usl->has;
        s->extrapolation_why = is_unfit ? REASON(NO_LAW_FITS) : REASON(TREND_FEW_POINTS, slot_count(s->n_points));
        return;
    }
    double last = size_of(s, s->n_points - 1);
    for (int k = 0; k < SERIES_AHEAD; k++) {
        double n = last * (2 << k);
        struct guess g = is_usl ? guess_usl(usl, n) : guess_amdahl(amdahl, n);
        if (!g.has || g.hi > widest * g.lo)
            break;
        s->ahead[s->n_ahead++] =
            (struct extrapolation){(int)lround(n * s->points[0].n_nodes), g.speedup, g.speedup / n, {1, g.lo, g.hi}};
    }
    if (s->n_ahead)
        s->extrapolated_by = is_usl ? u->id : a->id;
    else
        s->extrapolation_why = REASON(TREND_TOO_WIDE, slot_name(counted_word(rep->unit)), slot_count(widest));
}

void laws(struct report *rep, struct series *s)
{
    s->laws = dcr_arena_alloc(&rep->arena, SERIES_MAX_LAWS * sizeof *s->laws);
    s->extrapolated_by = LAW_NONE;
    s->all_reduce = (struct all_reduce){.text = ""};
    if (s->n_points < 2 || s->points[0].n_nodes < 1)
        return;
    struct reason why = unreliable(rep, s);
    struct fit amdahl = fit_amdahl(s, why), usl = fit_usl(s, why);
    const struct reason parts = s->losses_why.code == REASON_HOST_MAY_ENQUEUE ? s->losses_why : why;
    fit_compute(rep, s, parts);
    all_reduce(rep, s, why.code != REASON_NONE);
    struct reason reduces = parts;
    for (int i = 0; i < s->n_points && !reduces.code; i++)
        if (!is_transfer_collective(rep, &s->points[i]))
            reduces = REASON(REDUCE_NOT_APART);
    fit_all_reduce(s, reduces);
    extrapolate(rep, s, &amdahl, &usl, why.code != REASON_NONE);
}
