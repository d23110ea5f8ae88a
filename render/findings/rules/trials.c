/* trials.c - see trials.h. Options of dcrnn-train as in trainer/options.def, variables as in `make help`. */
#include "render/findings/rules/trials.h"

#include "lib/base/fs.h"
#include "render/metrics/series/differing.h"
#include "render/metrics/stats.h"

#include <math.h>
#include <string.h>

/* ---- the flight of the gradients ---------------------------------------------------------------------------- */

/* Number of messages of an all-reduce that wait for each other. Rabenseifner's algorithm (trainer/ranks/comm_mpi.c)
 * halves the exchanged data in each of log2 p rounds, and doubles it in as many rounds again. Ranks beyond a power of
 * two send their data in and get the result back. */
static double rounds(int n_ranks)
{
    int n = 0, rest = n_ranks;
    for (; rest > 1; rest /= 2)
        n += 2;
    return n_ranks & (n_ranks - 1) ? n + 2 : n;
}

/* Messages take processor time from the backward pass that runs beside them. By its operations, the rest of the pass
 * after the first bucket takes left_ratio of the pass. If the first bucket was under way for longer than that, messages
 * took the difference, all of it in the rest of the pass. */
static double spent(const struct flight *f)
{
    double more = f->hidden_ns - f->left_ratio * f->backward_ns;
    return f->is_overlapped && more > 0 && f->left_ratio < 1 ? more / (1 - f->left_ratio) : 0;
}

/* How much of a flight is hidden behind the rest of the backward pass. A round of messages ends when the last rank has
 * looked. If each of n ranks looks once per gap, at independent times, that takes n / (n + 1) of the gap. */
static double hidden(const struct flight *f, double whole_ns, double left_ns)
{
    double early = f->early_ratio * whole_ns, round = early / rounds(f->n_ranks), gap = left_ns / f->n_looks;
    double held = f->held_ns + f->core_share * gap; /* time between two looks, if the quota's pause lies between them */
    gap = gap > held ? gap : held;
    double part = round > 0 ? left_ns * round / (round + gap * f->n_ranks / (f->n_ranks + 1)) : 0;
    return part < early ? part : early;
}

/* The values rise or fall to one value. */
enum { ROUNDS_ENOUGH = 200 };

struct flown flight_now(const struct flight *f)
{
    struct flown n = {f->exposed_ns, f->exposed_ns, spent(f)};
    double left = f->left_ratio * (f->backward_ns - n.spent_ns) + n.spent_ns;
    for (int i = 0; i < ROUNDS_ENOUGH && f->is_overlapped; i++) /* a longer flight hides more */
        n.whole_ns = f->exposed_ns + hidden(f, n.whole_ns, left);
    return n;
}

struct flown flight_after(const struct flight *f, enum trial_kind change)
{
    struct flown now = flight_now(f), n = now;
    double hidden_now = now.whole_ns - now.exposed_ns, left = f->left_ratio * (f->backward_ns - now.spent_ns), part = 0;
    /* processor time of all bytes of a flight, from that of the hidden bytes */
    double of_all = hidden_now > 0 ? now.spent_ns * now.whole_ns / hidden_now : 0;
    n.whole_ns = now.whole_ns / (change == TRIAL_OVERLAP ? 1 : 2);
    /* The time beyond what the bytes take on the link is latency, which stays, and delay that grows with the rate.
     * Between none of it and all of it may stay; the forecast is the middle. */
    if (change == TRIAL_LINK && f->wire_ns > 0 && now.whole_ns > f->wire_ns)
        n.whole_ns += (now.whole_ns - f->wire_ns) / 4;
    for (int i = 0; i < ROUNDS_ENOUGH && (f->is_overlapped || change == TRIAL_OVERLAP); i++) {
        part = hidden(f, n.whole_ns, left + n.spent_ns);
        n.spent_ns = n.whole_ns > 0 ? of_all / (change == TRIAL_BF16 ? 2 : 1) * part / n.whole_ns : 0;
    }
    n.exposed_ns = n.whole_ns - part;
    return n;
}

/* ---- what is known of a run ---------------------------------------------------------------------------------- */

static const struct node_share *node_of(const struct run *a)
{
    static const struct node_share none = {0};
    return a->nodes_len > 0 ? &a->nodes[0].share : &none;
}

static int64_t backward_ns(const struct run_result *r)
{
    for (int i = 0; i < r->n_phases; i++)
        if (r->phases[i].category == CAT_COMPUTE && strcmp(r->phases[i].name, "backward") == 0)
            return r->phases[i].spread.median_ns;
    return 0;
}

static int64_t median_transfer(struct report *rep, const struct run_result *r)
{
    int64_t *ns = dcr_arena_alloc(&rep->arena, ((size_t)r->n_counted + 1) * sizeof *ns);
    for (int64_t i = 0; i < r->n_counted; i++)
        ns[i] = r->step_part_ns[i][PART_TRANSFER] / r->n_rank_results;
    return spread_of(ns, (size_t)r->n_counted).median_ns;
}

/* returns  why nothing can be forecast; REASON_NONE: it can, out is filled */
static struct reason flight_of(struct report *rep, const struct run_result *r, struct flight *out)
{
    const struct run_program *p = &r->run->program;
    const struct node_share *e = node_of(r->run);
    /* in each of two phases a rank sends, and receives, all bytes except its own part */
    double bits = 8 * r->bytes_per_step * 2 * (r->n_rank_results - 1) / r->n_rank_results;
    double share = e->cores > 0 && e->cores < 1 ? e->cores : 1;
    *out = (struct flight){.exposed_ns = (double)median_transfer(rep, r),
                           .hidden_ns = (double)r->hidden_comm_ns,
                           .backward_ns = (double)backward_ns(r),
                           .early_ratio = p->allreduce_early_ratio,
                           .left_ratio = p->backward_left_ratio,
                           .held_ns = 1e3 * (double)e->period_us * (1 - share),
                           .core_share = share,
                           .wire_ns = e->link_bit_per_s > 0 ? 1e9 * bits / (double)e->link_bit_per_s : 0,
                           .n_looks = (int)p->backward_left_looks,
                           .n_ranks = r->n_rank_results,
                           .is_overlapped = p->allreduce_is_overlapped == 1};
    if (strcmp(p->backend, "cpu") != 0)
        return REASON(FLIGHT_ON_GPUS);
    if (r->shared.kind == SHARED_OVERSUBSCRIBED)
        return REASON(FLIGHT_CORES_SHARED);
    if (out->early_ratio < 0 || out->left_ratio < 0 || out->n_looks < 1)
        return REASON(FLIGHT_UNTOLD);
    return out->backward_ns > 0 ? REASON(NONE) : REASON(FLIGHT_NO_BACKWARD);
}

/* ---- the command ------------------------------------------------------------------------------------------------ */

enum { NO_CHANGE = -1 };

/* A word that a shell, make and ARGS pass on unchanged. */
static int is_plain(const char *word)
{
    return *word && word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./=,:+@%-")] == 0;
}

/* Is the word `--name` or `--name=value`? 1: yes; -1: it may be an abbreviation of it. */
static int is_option(const char *word, const char *name)
{
    if (strncmp(word, "--", 2) != 0)
        return 0;
    size_t n = strcspn(word + 2, "="), len = strlen(name);
    return n == 0 || n > len || strncmp(word + 2, name, n) != 0 ? 0 : n == len ? 1 : -1;
}

/* The run's own options, taken apart. */
struct typed {
    const char *args, *data, *graph;
};

/* REASON_NONE = all of it can be typed; else why not. */
static struct reason take_apart(struct report *rep, const struct run *a, int change, struct typed *out)
{
    enum { OUT, DATA, GRAPH, DTYPE, NO_OVERLAP, N };
    static const char *const names[N] = {"out", "data", "graph", "allreduce-dtype", "no-overlap"};
    const char *value[N] = {NULL, "", "", NULL, NULL}, *args = "";
    int first = launched_word(a);
    if (a->n_command == 0 || strcmp(dcr_last_part(a->command[first]), "dcrnn-train") != 0)
        return REASON(TRIAL_NO_COMMAND);
    for (int i = first + 1; i < a->n_command; i++) {
        const char *word = a->command[i], *equals = strchr(word, '=');
        int which = N;
        for (int k = 0; k < N; k++) {
            int is = is_option(word, names[k]);
            if (is < 0)
                return REASON(TRIAL_ABBREVIATED, slot_name(word));
            which = is ? k : which;
        }
        int is_dropped = which == OUT || which == DATA || which == GRAPH || (which == DTYPE && change == TRIAL_BF16) ||
                         (which == NO_OVERLAP && change == TRIAL_OVERLAP);
        if (!is_dropped) {
            if (!is_plain(word))
                return REASON(TRIAL_ODD_WORD, slot_name(word));
            args = report_text(rep, "%s%s%s", args, *args ? " " : "", word);
        } else if (which != NO_OVERLAP) {
            value[which] = equals ? equals + 1 : ++i < a->n_command ? a->command[i] : "";
        }
    }
    if (change == TRIAL_BF16)
        args = report_text(rep, "%s%s--allreduce-dtype bf16", args, *args ? " " : "");
    *out = (struct typed){args, value[DATA], value[GRAPH]};
    for (int k = DATA; k <= GRAPH; k++)
        if (*value[k] && !is_plain(value[k]))
            return REASON(TRIAL_ODD_PATH, slot_name(value[k]));
    return REASON(NONE);
}

/* "100mbit", as tc and NODE_NET understand it. */
static const char *rate_text(struct report *rep, int64_t bit_per_s)
{
    long long r = (long long)bit_per_s;
    return r == 0             ? "none"
           : r % 1000000 == 0 ? report_text(rep, "%lldmbit", r / 1000000)
           : r % 1000 == 0    ? report_text(rep, "%lldkbit", r / 1000)
                              : report_text(rep, "%lldbit", r);
}

/* Are the nodes processes of one host, not named network namespaces? */
static int is_of_ranks(const struct run *a)
{
    for (int i = 1; i < a->nodes_len; i++)
        if (strcmp(a->nodes[i].host, a->nodes[0].host) != 0)
            return 0;
    return a->node_kind == NODES_EMULATED;
}

/* REASON_NONE and the command, or why it cannot be typed. key: the same for runs that were started by equal commands.
 */
static struct reason command_of(struct report *rep, const struct run_result *r, int change, const char **command,
                                const char **key)
{
    const struct run *a = r->run;
    const struct node_share *e = node_of(a);
    int64_t rate = e->link_bit_per_s * (change == TRIAL_LINK ? 2 : 1);
    struct typed t = {"", "", ""};
    *command = *key = "";
    if ((a->node_kind != NODES_SHARES && !is_of_ranks(a)) || r->n_nodes != r->n_ranks)
        return REASON(TRIAL_NOT_OF_COLLECT);
    struct reason why = take_apart(rep, a, change, &t);
    if (why.code)
        return why;
    const char *nodes = "";
    const char *cpu = e->cores > 0 ? report_text(rep, "%.6g", e->cores) : "none";
    if (a->node_kind == NODES_EMULATED)
        nodes = " EMULATE=ranks";
    else if (!e->is_default)
        nodes = report_text(rep, " NODE_CPU=%s NODE_NET=%s", cpu, rate_text(rep, rate));
    else if (change == TRIAL_LINK)
        nodes = report_text(rep, " NODE_NET=%s", rate_text(rep, rate));
    *command = report_text(rep, "make collect NODES=%d%s%s%s%s%s ARGS=\"%s\"", r->n_nodes, nodes,
                           *t.data ? " DATA=" : "", t.data, *t.graph ? " GRAPH=" : "", t.graph, t.args);
    *key = report_text(rep, "%d|%s|%lld|%s|%s|%s", r->n_nodes, a->node_kind == NODES_SHARES ? cpu : "ranks",
                       (long long)rate, t.data, t.graph, t.args);
    return REASON(NONE);
}

/* ---- which changes ---------------------------------------------------------------------------------------------- */

static int is_possible(const struct run_result *r, enum trial_kind k)
{
    const struct run_program *p = &r->run->program;
    switch (k) {
    case TRIAL_OVERLAP:
        return p->allreduce_is_overlapped == 0 && strcmp(p->allreduce_dtype, "none") != 0;
    case TRIAL_BF16:
        return strcmp(p->allreduce_dtype, "fp32") == 0;
    default:
        return node_of(r->run)->link_bit_per_s > 0;
    }
}

static void add_trial(struct report *rep, struct run_result *r, enum trial_kind k)
{
    struct trial t = {.kind = k};
    struct flight f;
    t.why = command_of(rep, r, (int)k, &t.command, &t.key);
    t.forecast_why = flight_of(rep, r, &f);
    if (!t.forecast_why.code) {
        struct flown now = flight_now(&f), then = flight_after(&f, k);
        double step = (double)r->step.median_ns + then.exposed_ns - now.exposed_ns + then.spent_ns - now.spent_ns;
        t.step_ns = llround(step);
        t.has_forecast = t.step_ns > 0;
        t.is_less_spent = k == TRIAL_BF16 && 5 * (now.spent_ns - then.spent_ns) > (double)r->step.median_ns - step;
        t.is_over_half = k != TRIAL_OVERLAP && f.is_overlapped && now.exposed_ns > 2 * then.exposed_ns;
    }
    r->trials[r->n_trials++] = t;
}

void trials(struct report *rep)
{
    for (int i = 0; i < rep->n_runs; i++) {
        struct run_result *r = &rep->runs[i];
        r->trial_key = r->command_again = "";
        if (strcmp(r->run->program.name, "dcrnn-train") != 0 || !r->has_steps || r->n_rank_results < 2)
            continue;
        (void)command_of(rep, r, NO_CHANGE, &r->command_again, &r->trial_key);
        for (int k = 0; k < N_TRIALS; k++)
            if (is_possible(r, (enum trial_kind)k))
                add_trial(rep, r, (enum trial_kind)k);
    }
}

enum trial_kind trial_first(const struct run_program *p)
{
    return p->allreduce_is_overlapped == 0           ? TRIAL_OVERLAP
           : strcmp(p->allreduce_dtype, "bf16") != 0 ? TRIAL_BF16
                                                     : TRIAL_LINK;
}

const struct trial *trial_advised(const struct run_result *r)
{
    enum trial_kind kind = trial_first(&r->run->program);
    for (int i = 0; i < r->n_trials; i++)
        if (r->trials[i].kind == kind)
            return kind != TRIAL_LINK || *r->trials[i].command ? &r->trials[i] : NULL;
    return NULL;
}

const char *trial_on_cluster(struct report *rep, const struct run_result *r, const char *counts)
{
    struct typed t = {"", "", ""};
    if (strcmp(r->run->program.name, "dcrnn-train") != 0 || take_apart(rep, r->run, NO_CHANGE, &t).code)
        return "";
    return report_text(rep, "slurm/submit --nodes \"%s\"%s%s%s%s%s%s", counts, *t.data ? " --data " : "", t.data,
                       *t.graph ? " --graph " : "", t.graph, *t.args ? " -- " : "", t.args);
}

const char *trial_key_word(enum trial_kind k)
{
    static const char *const words[N_TRIALS] = {
        [TRIAL_OVERLAP] = "overlap", [TRIAL_BF16] = "bf16", [TRIAL_LINK] = "link"};
    return words[k];
}
