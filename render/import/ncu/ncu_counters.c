/* ncu_counters.c - see ncu_counters.h. Names as in Nsight Compute's own sections for rooflines
 * (SpeedOfLight_RooflineChart.section and similar), with the same arithmetic. */
#include "render/import/ncu/ncu_counters.h"

#include <math.h>
#include <string.h>
#include <strings.h>

static const char format_letters[] = "dfh";
static const char *const op_names[NCU_N_OPS] = {"add", "mul", "fma"};
/* Operations of one thread instruction; those of FP16 work on two values at once (ncu: "hadd..._x2", "hfma..._x4"). */
static const double flop_of[NCU_N_PLAIN][NCU_N_OPS] = {{1, 1, 2}, {1, 1, 2}, {2, 2, 4}};
static const char *const sources[NCU_N_SOURCES] = {"fp64", "tf32", "bf16", "fp16", "fp8", "fp6", "fp4", "fp4_fp6"};
enum { BOTH = NCU_N_OPS - 1 };

/* ---- names and units ----------------------------------------------------------------------------------- */

enum dimension { PURE, PERCENT, TIME, BYTES, BYTES_A_SECOND, A_SECOND, A_CYCLE };

static const struct {
    const char *name;
    enum ncu_counter counter;
    enum dimension unit;
} others[] = {{"gpu__time_duration.sum", NCU_TIME, TIME},
              {"gpu__time_duration.avg", NCU_TIME, TIME},
              {"Duration", NCU_TIME, TIME},
              {"dram__bytes.sum", NCU_BYTES, BYTES},
              {"dram__bytes_read.sum", NCU_BYTES_READ, BYTES},
              {"dram__bytes_write.sum", NCU_BYTES_WRITTEN, BYTES},
              {"dram__bytes.sum.per_second", NCU_BYTES_PER_S, BYTES_A_SECOND},
              {"Memory Throughput", NCU_BYTES_PER_S, BYTES_A_SECOND},
              {"dram__bytes_read.sum.per_second", NCU_READ_PER_S, BYTES_A_SECOND},
              {"dram__bytes_write.sum.per_second", NCU_WRITTEN_PER_S, BYTES_A_SECOND},
              {"smsp__cycles_elapsed.avg.per_second", NCU_CYCLES_PER_S, A_SECOND},
              {"sm__cycles_elapsed.avg.per_second", NCU_CYCLES_PER_S, A_SECOND},
              {"SM Frequency", NCU_CYCLES_PER_S, A_SECOND},
              {"dram__cycles_elapsed.avg.per_second", NCU_MEMORY_CYCLES_PER_S, A_SECOND},
              {"DRAM Frequency", NCU_MEMORY_CYCLES_PER_S, A_SECOND},
              {"dram__bytes.sum.peak_sustained", NCU_BYTES_PEAK, A_CYCLE},
              {"dram__bytes.sum.pct_of_peak_sustained_elapsed", NCU_BYTES_PERCENT, PERCENT},
              {"dram__throughput.avg.pct_of_peak_sustained_elapsed", NCU_MEMORY_PERCENT, PERCENT},
              {"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", NCU_MEMORY_PERCENT, PERCENT},
              {"DRAM Throughput", NCU_MEMORY_PERCENT, PERCENT}};

/* Seconds in "second", "ms", "nsecond", and cycles in "cycle"; 0 = neither. n: its bytes */
static double time_unit(const char *unit, size_t n)
{
    static const struct {
        const char *name;
        double s;
    } units[] = {{"second", 1}, {"s", 1},       {"msecond", 1e-3},   {"ms", 1e-3},        {"usecond", 1e-6},
                 {"us", 1e-6},  {"usec", 1e-6}, {"\xce\xbcs", 1e-6}, {"\xc2\xb5s", 1e-6}, {"nsecond", 1e-9},
                 {"ns", 1e-9},  {"nsec", 1e-9}, {"msec", 1e-3},      {"sec", 1}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i].name) == n && memcmp(units[i].name, unit, n) == 0)
            return units[i].s;
    return 0;
}

/* "Gbyte" of "byte": 1e9; 0 = it is another unit. */
static double scaled(const char *unit, size_t n, const char *base)
{
    static const char letters[] = "kMGTP";
    double factor = 1;
    size_t len = strlen(base);
    if (n == len + 1) {
        const char *at = strchr(letters, *unit == 'K' ? 'k' : *unit);
        factor = at ? pow(1e3, (double)(at - letters) + 1) : 0;
        unit++;
        n--;
    }
    return n == len && strncasecmp(unit, base, n) == 0 ? factor : 0;
}

/* From a unit of ncu to ours; 0 = it is of another dimension. */
static double factor_of(const char *unit, enum dimension d)
{
    size_t n = strcspn(unit, "/");
    const char *per = unit[n] ? unit + n + 1 : "";
    double seconds = time_unit(per, strlen(per)), bytes = scaled(unit, n, "byte");
    int is_per_cycle = strcmp(per, "cycle") == 0;
    switch (d) {
    case PERCENT:
        return strcmp(unit, "%") == 0 ? 1 : 0;
    case TIME:
        return *per ? 0 : time_unit(unit, n) * 1e9;
    case BYTES:
        return *per ? 0 : bytes;
    case BYTES_A_SECOND:
        return seconds > 0 ? bytes / seconds : 0;
    case A_SECOND:
        return seconds > 0 ? scaled(unit, n, "cycle") / seconds : *per ? 0 : scaled(unit, n, "hz");
    case A_CYCLE: /* for a derived metric, ncu omits the cycle or the whole unit */
        return *per && !is_per_cycle ? 0 : bytes > 0 ? bytes : n == 0 ? 1 : scaled(unit, n, "inst");
    case PURE:
        return *per || !strcmp(unit, "%") || time_unit(unit, n) > 0 || bytes > 0 ? 0 : 1;
    }
    return 0;
}

/* What follows the name of a counter of operations: how it is counted. returns  -1 for anything else */
static int form_of(const char *suffix, enum dimension *unit)
{
    static const struct {
        const char *suffix;
        int form;
        enum dimension unit;
    } forms[] = {{".sum", NCU_COUNT, PURE},
                 {".sum.per_cycle_elapsed", NCU_PER_CYCLE, A_CYCLE},
                 {".sum.peak_sustained", NCU_PEAK, A_CYCLE},
                 {".sum.pct_of_peak_sustained_elapsed", NCU_PERCENT, PERCENT}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strcmp(suffix, forms[i].suffix) == 0) {
            *unit = forms[i].unit;
            return forms[i].form;
        }
    return -1;
}

/* "sm__sass_thread_inst_executed_op_ffma_pred_on.sum", "derived__smsp__..._x2": a derived counter is per cycle and
 * times a number; derived ones of "sm__" are peaks. */
static int plain_counter(const char *name, const char *unit, double *factor)
{
    static const char stem[] = "sass_thread_inst_executed_op_", end[] = "_pred_on";
    int is_derived = strncmp(name, "derived__", 9) == 0, form, op = 0;
    enum dimension d = A_CYCLE;
    name += is_derived ? 9 : 0;
    int is_sm = strncmp(name, "sm__", 4) == 0;
    if (!is_sm && strncmp(name, "smsp__", 6) != 0)
        return -1;
    name += is_sm ? 4 : 6;
    if (strncmp(name, stem, sizeof stem - 1) != 0)
        return -1;
    name += sizeof stem - 1;
    const char *letter = *name ? strchr(format_letters, *name) : NULL;
    while (letter && op < NCU_N_OPS && strncmp(name + 1, op_names[op], 3) != 0)
        op++;
    if (!letter || op == NCU_N_OPS || strncmp(name + 4, end, sizeof end - 1) != 0)
        return -1;
    name += 4 + sizeof end - 1;
    double times = 1;
    if (is_derived) {
        form = is_sm ? NCU_PEAK : NCU_PER_CYCLE;
        times = strcmp(name, "_x2") == 0 ? 2 : strcmp(name, "_x4") == 0 ? 4 : 0;
    } else {
        form = form_of(name, &d);
    }
    double f = form >= 0 && times > 0 ? factor_of(unit, d) : 0;
    *factor = f / (times > 0 ? times : 1);
    int at = (int)(letter - format_letters);
    if (!(f > 0) || ((form == NCU_PEAK || form == NCU_PERCENT) && op != BOTH))
        return -1;
    return form == NCU_PEAK || form == NCU_PERCENT ? form + at : form + at * NCU_N_OPS + op;
}

/* "sm__ops_path_tensor_src_fp16_dst_fp32.sum". It includes sparse and other operations. */
static int tensor_counter(const char *name, const char *unit, double *factor)
{
    static const char stem[] = "sm__ops_path_tensor_src_", pipe[] = "sm__inst_executed_pipe_tensor",
                      cycles[] = "sm__pipe_tensor";
    if (strncmp(name, pipe, sizeof pipe - 1) == 0 || strncmp(name, cycles, sizeof cycles - 1) == 0) {
        *factor = 1;
        return strstr(name, ".peak") ? -1 : NCU_TENSOR_USED;
    }
    if (strncmp(name, stem, sizeof stem - 1) != 0)
        return -1;
    name += sizeof stem - 1;
    size_t n = strcspn(name, ".");
    const char *result = memmem(name, n, "_dst_", 5);
    size_t len = result ? (size_t)(result - name) : n;
    enum dimension d;
    int form = form_of(name + n, &d);
    *factor = form == NCU_COUNT || form == NCU_PER_CYCLE ? factor_of(form == NCU_COUNT ? unit : "", d) : 0;
    if (!(*factor > 0) || memmem(name, n, "sparsity", 8))
        return -1;
    for (int i = 0; i < NCU_N_SOURCES; i++)
        if (strlen(sources[i]) == len && memcmp(sources[i], name, len) == 0)
            return (form == NCU_COUNT ? NCU_TENSOR_COUNT : NCU_TENSOR_PER_CYCLE) + 2 * i + (result != NULL);
    return -1;
}

double ncu_flop_of(const char *name)
{
    double factor;
    int c = plain_counter(name, "inst", &factor), at = c - NCU_COUNT;
    return c >= NCU_COUNT && at < NCU_N_PLAIN * NCU_N_OPS ? flop_of[at / NCU_N_OPS][at % NCU_N_OPS] : 0;
}

int ncu_counter_of(const char *name, const char *unit, double *factor)
{
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(name, others[i].name) == 0)
            return (*factor = factor_of(unit, others[i].unit)) > 0 ? (int)others[i].counter : -1;
    int c = plain_counter(name, unit, factor);
    return c >= 0 ? c : tensor_counter(name, unit, factor);
}

/* ---- one launch ---------------------------------------------------------------------------------------- */

void ncu_launch_clear(struct ncu_launch *l)
{
    for (int c = 0; c < NCU_N_COUNTERS; c++)
        l->v[c] = NAN;
}

static int is_share(int c)
{
    return (c >= NCU_PERCENT && c < NCU_PERCENT + NCU_N_PLAIN) || c == NCU_BYTES_PERCENT || c == NCU_MEMORY_PERCENT;
}

int ncu_launch_take(struct ncu_launch *l, int c, double value)
{
    enum { MOST_PERCENT = 110 }; /* counters of one metric come from several passes */
    int is_tensor = c >= NCU_TENSOR_COUNT && c <= NCU_TENSOR_USED;
    if (!isfinite(value) || value < 0 || (is_share(c) && value > MOST_PERCENT))
        return 0;
    if (isnan(l->v[c]))
        l->v[c] = value;
    else if (is_tensor)
        l->v[c] += value;
    return 1;
}

int ncu_launch_is_empty(const struct ncu_launch *l)
{
    for (int c = 0; c < NCU_N_COUNTERS; c++)
        if (!isnan(l->v[c]) && (c < NCU_TENSOR_USED || (c >= NCU_BYTES && c <= NCU_WRITTEN_PER_S)))
            return 0;
    return 1;
}

/* The count, or else its rate times the launch. */
static double amount(const struct ncu_launch *l, int count, int rate, double times)
{
    return isnan(l->v[count]) ? l->v[rate] * times : l->v[count];
}

static double tensor_flop(const struct ncu_launch *l, double cycles)
{
    double sum = NAN;
    for (int i = 0; i < NCU_N_SOURCES; i++) {
        double all = amount(l, NCU_TENSOR_COUNT + 2 * i, NCU_TENSOR_PER_CYCLE + 2 * i, cycles);
        double by_result = amount(l, NCU_TENSOR_COUNT + 2 * i + 1, NCU_TENSOR_PER_CYCLE + 2 * i + 1, cycles);
        double v = fmax(all, by_result); /* if one is missing, the other */
        sum = isnan(v) ? sum : isnan(sum) ? v : sum + v;
    }
    return sum;
}

static double bytes_of(const struct ncu_launch *l, double seconds)
{
    double all = amount(l, NCU_BYTES, NCU_BYTES_PER_S, seconds);
    return !isnan(all) ? all
                       : amount(l, NCU_BYTES_READ, NCU_READ_PER_S, seconds) +
                             amount(l, NCU_BYTES_WRITTEN, NCU_WRITTEN_PER_S, seconds);
}

/* ---- all of them --------------------------------------------------------------------------------------- */

/* Shares have two decimals, so dividing by less than 1 % would be too coarse. */
static const double least_percent = 1;

static void add_peaks(struct ncu_sums *s, const struct ncu_launch *l, double ns, double bytes, const double *both)
{
    double peak = l->v[NCU_BYTES_PEAK] * l->v[NCU_MEMORY_CYCLES_PER_S], percent = l->v[NCU_BYTES_PERCENT];
    enum ncu_from from = NCU_FROM_PEAK;
    if (isnan(peak)) {
        from = isnan(percent) ? NCU_FROM_BUSY : NCU_FROM_SHARE;
        percent = isnan(percent) ? l->v[NCU_MEMORY_PERCENT] : percent;
        peak = percent >= least_percent && bytes > 0 ? bytes / ns * 1e9 / (percent / 100) : NAN;
    }
    if (peak > 0) {
        s->peak_bytes += peak * ns;
        s->peak_bytes_ns += ns;
        s->peak_bytes_from = from > s->peak_bytes_from ? from : s->peak_bytes_from;
    }
    for (int f = 0; f < NCU_N_PLAIN; f++) {
        peak = l->v[NCU_PEAK + f] * flop_of[f][BOTH] * l->v[NCU_CYCLES_PER_S];
        percent = l->v[NCU_PERCENT + f];
        from = NCU_FROM_PEAK;
        if (isnan(peak) && percent >= least_percent && both[f] > 0) {
            from = NCU_FROM_SHARE;
            peak = both[f] / ns * 1e9 / (percent / 100);
        }
        if (!(peak > 0))
            continue;
        s->peak_flop[f] += peak * ns;
        s->peak_flop_ns[f] += ns;
        s->peak_flop_from[f] = from > s->peak_flop_from[f] ? from : s->peak_flop_from[f];
    }
}

void ncu_sums_add(struct ncu_sums *s, const struct ncu_launch *l)
{
    double ns = l->v[NCU_TIME], seconds = ns / 1e9, cycles = l->v[NCU_CYCLES_PER_S] * seconds, both[NCU_N_PLAIN];
    double tensor = tensor_flop(l, cycles), bytes = bytes_of(l, seconds);
    s->n++;
    if (ns > 0) {
        s->n_time++;
        s->ns += ns;
    }
    if (!isnan(bytes)) {
        s->n_bytes++;
        s->bytes += bytes;
    }
    for (int f = 0; f < NCU_N_PLAIN; f++) {
        int n_ops = 0;
        double flop = 0;
        for (int op = 0; op < NCU_N_OPS; op++) {
            int at = f * NCU_N_OPS + op;
            double v = amount(l, NCU_COUNT + at, NCU_PER_CYCLE + at, cycles) * flop_of[f][op];
            n_ops += !isnan(v);
            flop += isnan(v) ? 0 : v;
            s->n_partial[f][op] += isnan(v);
            both[f] = v; /* the last one */
        }
        s->n_format[f] += n_ops > 0;
        s->flop[f] += flop;
    }
    if (!isnan(tensor)) {
        s->n_format[NCU_TENSOR]++;
        s->flop[NCU_TENSOR] += tensor;
    } else {
        s->n_hidden_tensor += l->v[NCU_TENSOR_USED] > 0;
    }
    if (ns > 0)
        add_peaks(s, l, ns, bytes, both);
}
