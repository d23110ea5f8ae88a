/* stepranges.c - see stepranges.h. */
#include "render/device/stepranges.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Maximum number of open ranges, since every operation visits all of them. Programs nest only a few by hand. */
enum { MAX_OPEN = 256 };

struct range_record {
    struct spill_key key; /* start, -end: the longest of those that begin together comes first */
    uint32_t name;        /* index */
};
struct launched_record {
    struct spill_key key; /* launch, start */
    int64_t end_ns;
};
/* What one range did in its step. */
struct piece_record {
    struct spill_key key; /* name << 32 | step, start on the GPU */
    int64_t gpu_end_ns;
    int64_t host_ns; /* without time covered by an earlier range of the same name */
};

struct open_range {
    int64_t end_ns; /* on the host */
    int64_t gpu_start_ns, gpu_end_ns;
    int64_t host_ns;
    uint32_t name, step;
    int has_gpu;
};

struct per_name {
    int64_t until_ns; /* end of the host's ranges of this name so far */
    int64_t sum_ns;   /* host time in steps */
    int32_t phase;    /* its index in the result, -1 = none */
    int order;        /* of its first range in a step, from 1; 0 = in none */
};

struct step_ranges {
    struct optable names;
    struct spill *ranges, *launched, *pieces;
    struct per_name *of;
    int n_seen;
    struct open_range open[MAX_OPEN];
    int n_open, is_crowded;
};

struct step_ranges *step_ranges_new(size_t max_bytes)
{
    struct step_ranges *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->ranges = spill_new(sizeof(struct range_record), max_bytes);
    s->launched = spill_new(sizeof(struct launched_record), max_bytes);
    s->pieces = spill_new(sizeof(struct piece_record), max_bytes);
    if (!s->ranges || !s->launched || !s->pieces) {
        step_ranges_free(s);
        return NULL;
    }
    return s;
}

void step_ranges_free(struct step_ranges *s)
{
    if (!s)
        return;
    spill_free(s->ranges);
    spill_free(s->launched);
    spill_free(s->pieces);
    optable_release(&s->names);
    free(s);
}

void step_ranges_add(struct step_ranges *s, const char *name, size_t len, int64_t start_ns, int64_t dur_ns)
{
    int64_t end;
    if (dur_ns < 0 || __builtin_add_overflow(start_ns, dur_ns, &end) || start_ns < -RUN_MAX_TIME_NS ||
        end > RUN_MAX_TIME_NS)
        return;
    struct name_entry *e = optable_entry(&s->names, 0, OP_MEMSET, name, len); /* any kind that no name changes */
    spill_add(s->ranges, &(struct range_record){{start_ns, -end}, e->index});
}

void step_ranges_launch(struct step_ranges *s, int64_t launch_ns, int64_t start_ns, int64_t end_ns)
{
    spill_add(s->launched, &(struct launched_record){{launch_ns, start_ns}, end_ns});
}

/* ---- which operations were launched in which range ------------------------------------------------------ */

static void close_range(struct step_ranges *s, int at)
{
    const struct open_range *x = &s->open[at];
    struct piece_record p = {
        .key = {(int64_t)x->name << 32 | x->step, x->gpu_start_ns}, .gpu_end_ns = x->gpu_end_ns, .host_ns = x->host_ns};
    if (!x->has_gpu)
        p.key.b = p.gpu_end_ns = INT64_MIN;
    spill_add(s->pieces, &p);
    s->open[at] = s->open[--s->n_open];
}

static void close_until(struct step_ranges *s, int64_t t)
{
    for (int i = s->n_open; i-- > 0;)
        if (s->open[i].end_ns <= t)
            close_range(s, i);
}

static void open_range(struct step_ranges *s, const struct device_steps *steps, const struct range_record *r)
{
    int64_t start = r->key.a, end = -r->key.b;
    long step = device_steps_index(steps, start);
    if (step < 0)
        return;
    const struct device_step *x = &steps->list[step];
    struct per_name *n = &s->of[r->name];
    end = end < x->host_end_ns ? end : x->host_end_ns;
    n->order = n->order ? n->order : ++s->n_seen;
    int64_t from = start > n->until_ns ? start : n->until_ns, host = end > from ? end - from : 0;
    n->sum_ns += host; /* the stretches do not overlap */
    n->until_ns = end > n->until_ns ? end : n->until_ns;
    if (s->n_open == MAX_OPEN) {
        s->is_crowded = 1;
        close_range(s, 0);
    }
    s->open[s->n_open++] = (struct open_range){.end_ns = end, .host_ns = host, .name = r->name, .step = (uint32_t)step};
}

/* Adds an operation launched while these ranges are open. An operation before the step, or too long after it, has
 * another clock. */
static void take_launched(struct step_ranges *s, const struct device_steps *steps, const struct launched_record *op)
{
    for (int i = 0; i < s->n_open; i++) {
        struct open_range *x = &s->open[i];
        int64_t begin = steps->list[x->step].host_start_ns;
        int64_t from = op->key.b > begin ? op->key.b : begin, to = op->end_ns > from ? op->end_ns : from;
        if (from - begin > RUN_MAX_STEP_NS || to - begin > RUN_MAX_STEP_NS)
            continue;
        x->gpu_start_ns = x->has_gpu && x->gpu_start_ns < from ? x->gpu_start_ns : from;
        x->gpu_end_ns = x->has_gpu && x->gpu_end_ns > to ? x->gpu_end_ns : to;
        x->has_gpu = 1;
    }
}

/* Walks through both in order of time; ranges come before the operations launched in them. */
static int meet(struct step_ranges *s, const struct device_steps *steps, struct dcr_err *err)
{
    int rc = spill_sort(s->ranges, err);
    if (rc || (rc = spill_sort(s->launched, err)))
        return rc;
    const struct range_record *r = spill_next(s->ranges);
    const struct launched_record *op = spill_next(s->launched);
    while (r) {
        int is_range = !op || r->key.a <= op->key.a;
        close_until(s, is_range ? r->key.a : op->key.a);
        if (is_range) {
            open_range(s, steps, r);
            r = spill_next(s->ranges);
        } else {
            take_launched(s, steps, op);
            op = spill_next(s->launched);
        }
    }
    for (; op && s->n_open; op = spill_next(s->launched)) {
        close_until(s, op->key.a);
        take_launched(s, steps, op);
    }
    close_until(s, INT64_MAX);
    if (spill_failed(s->ranges) || spill_failed(s->launched))
        return dcr_err_set(err, DCR_FATAL, "cannot read back the temporary file of a trace");
    return spill_sort(s->pieces, err);
}

/* ---- the result ----------------------------------------------------------------------------------------- */

enum category step_range_category(const char *name)
{
    static const struct {
        const char *prefix;
        enum category category;
    } known[] = {{"enumerate(DataLoader)", CAT_DATA},
                 {"Optimizer.", CAT_COMPUTE},
                 {"DistributedDataParallel.forward", CAT_COMPUTE},
                 {"nccl:", CAT_COMM},
                 {"gloo:", CAT_COMM},
                 {"mpi:", CAT_COMM}};
    char word[64];
    enum category c;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strncmp(name, known[i].prefix, strlen(known[i].prefix)) == 0)
            return known[i].category;
    size_t n = strlen(name);
    int is_framed = n > 6 && strncmp(name, "## ", 3) == 0 && strcmp(name + n - 3, " ##") == 0;
    snprintf(word, sizeof word, "%.*s", is_framed ? (int)(n - 6) : (int)n, is_framed ? name + 3 : name);
    return event_classify("", word, &c) == EVENT_PHASE ? c : N_CATEGORIES;
}

/* Longest first; equal ones as they came. */
static int is_longer(const struct per_name *x, const struct per_name *y)
{
    return x->sum_ns != y->sum_ns ? x->sum_ns > y->sum_ns : x->order < y->order;
}

/* The names with most time in steps, in order of appearance. returns  number of names */
static int choose(struct step_ranges *s, uint32_t *chosen)
{
    int n = 0;
    for (size_t i = 0; i < s->names.n; i++) {
        s->of[i].phase = -1;
        if (!s->of[i].order || strcmp(s->names.entries[i]->text, OPTABLE_OTHER) == 0)
            continue;
        int at = n < RUN_MAX_PHASES ? n++ : is_longer(&s->of[i], &s->of[chosen[n - 1]]) ? n - 1 : -1;
        for (; at > 0 && is_longer(&s->of[i], &s->of[chosen[at - 1]]); at--)
            chosen[at] = chosen[at - 1];
        if (at >= 0)
            chosen[at] = (uint32_t)i;
    }
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && s->of[chosen[k]].order < s->of[chosen[k - 1]].order; k--) {
            uint32_t swap = chosen[k];
            chosen[k] = chosen[k - 1];
            chosen[k - 1] = swap;
        }
    for (int i = 0; i < n; i++)
        s->of[chosen[i]].phase = i;
    return n;
}

/* Pieces are sorted by name, step and start on the GPU. Adds their union. */
static int add_pieces(struct step_ranges *s, const size_t *row, struct run_phase *phases, struct dcr_err *err)
{
    const struct piece_record *p;
    int64_t key = -1, until = 0;
    while ((p = spill_next(s->pieces)) != NULL) {
        int phase = s->of[p->key.a >> 32].phase;
        size_t at = row[(size_t)(p->key.a & 0xffffffff)];
        if (phase < 0 || at == SIZE_MAX)
            continue;
        phases[phase].ns[at] += p->host_ns;
        if (p->gpu_end_ns == INT64_MIN)
            continue;
        int64_t from = p->key.a == key && until > p->key.b ? until : p->key.b;
        if (p->gpu_end_ns > from)
            phases[phase].gpu_ns[at] += p->gpu_end_ns - from;
        until = p->key.a == key && until > p->gpu_end_ns ? until : p->gpu_end_ns;
        key = p->key.a;
        phases[phase].gpu_why = REASON_NONE;
    }
    return spill_failed(s->pieces) ? dcr_err_set(err, DCR_FATAL, "cannot read back the temporary file of a trace") : 0;
}

int step_ranges_finish(struct step_ranges *s, const struct device_steps *steps, enum reason_code no_gpu,
                       struct dcr_arena *arena, struct reduced *out, struct dcr_err *err)
{
    uint32_t chosen[RUN_MAX_PHASES];
    size_t n_rows = 0;
    s->of = dcr_arena_alloc(&s->names.arena, (s->names.n + 1) * sizeof *s->of);
    for (size_t i = 0; i < s->names.n; i++)
        s->of[i].until_ns = INT64_MIN;
    int rc = meet(s, steps, err);
    if (rc)
        return rc;
    int n = choose(s, chosen);
    size_t *row = dcr_arena_alloc(&s->names.arena, (steps->n + 1) * sizeof *row);
    for (size_t i = 0; i < steps->n; i++)
        row[i] = device_step_counts(&steps->list[i]) ? n_rows++ : SIZE_MAX;
    out->phases = dcr_arena_alloc(arena, ((size_t)n + 1) * sizeof *out->phases);
    out->n_phases = n;
    for (int i = 0; i < n; i++) {
        const char *name = text_clean(arena, s->names.entries[chosen[i]]->text);
        out->phases[i] = (struct run_phase){.name = name,
                                            .category = step_range_category(name),
                                            .ns = dcr_arena_alloc(arena, (n_rows + 1) * sizeof(int64_t)),
                                            .gpu_ns = dcr_arena_alloc(arena, (n_rows + 1) * sizeof(int64_t)),
                                            .gpu_why = REASON_NOTHING_LAUNCHED,
                                            .is_whole = 1};
    }
    rc = add_pieces(s, row, out->phases, err);
    for (int i = 0; i < n && (no_gpu || s->is_crowded); i++) {
        out->phases[i].gpu_ns = NULL;
        out->phases[i].gpu_why = (int)(no_gpu ? no_gpu : REASON_RANGES_AT_ONCE);
    }
    for (int i = 0; i < n; i++)
        if (out->phases[i].gpu_why)
            out->phases[i].gpu_ns = NULL;
    return rc;
}
