/* summary_read.c - read a struct summary from untrusted lines of JSON: docs/FORMAT.md, Summaries. */
#include "lib/reduce/summary.h"

#include "lib/reduce/summary_words.h"
#include "lib/base/text.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TIME (INT64_MAX / 4)

struct reading {
    struct summary *out;
    struct dcr_arena *arena;
    size_t steps_cap, collectives_cap, observed_cap, names_cap;
    size_t n_steps_said;
    int is_headed, is_ended;
};

/* Reads a whole number in lo..hi; 0 when the value is something else. */
static int take(const json_t *v, int64_t lo, int64_t hi, int64_t *out)
{
    if (!json_is_integer(v) || json_integer_value(v) < lo || json_integer_value(v) > hi)
        return 0;
    *out = json_integer_value(v);
    return 1;
}

static int take_list(const json_t *list, size_t n, int64_t hi, int64_t *out)
{
    if (!json_is_array(list) || json_array_size(list) != n)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (!take(json_array_get(list, i), 0, hi, &out[i]))
            return 0;
    return 1;
}

static int take_field(const json_t *o, const char *key, uint64_t *out)
{
    int64_t v;
    if (!take(json_object_get(o, key), 0, INT64_MAX, &v))
        return 0;
    *out = (uint64_t)v;
    return 1;
}

static const char *take_text(struct reading *g, const json_t *v)
{
    return json_is_string(v) ? text_clean(g->arena, json_string_value(v)) : NULL;
}

static int category_of(const char *key)
{
    for (int c = 0; key && c < N_CATEGORIES; c++)
        if (strcmp(key, category_key((enum category)c)) == 0)
            return c;
    return -1;
}

static int take_phases(struct reading *g, const json_t *list)
{
    struct reduced *r = &g->out->steps;
    if (!json_is_array(list) || json_array_size(list) > RUN_MAX_PHASES)
        return 0;
    r->phases = dcr_arena_alloc(g->arena, RUN_MAX_PHASES * sizeof *r->phases);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *pair = json_array_get(list, i);
        const char *name = take_text(g, json_array_get(pair, 0));
        int c = category_of(json_string_value(json_array_get(pair, 1)));
        if (!name || c < 0)
            return 0;
        r->phases[r->n_phases++] = (struct run_phase){.name = name, .category = (enum category)c};
    }
    return 1;
}

/* Older collectors did not write them. */
static int take_stretches(struct reading *g, const json_t *list)
{
    struct reduced *r = &g->out->steps;
    size_t n = json_array_size(list);
    if (n > REDUCE_MAX_STRETCHES)
        return 0;
    r->stretches = dcr_arena_alloc(g->arena, (n ? n : 1) * sizeof *r->stretches);
    for (r->n_stretches = 0; r->n_stretches < n; r->n_stretches++) {
        int64_t v[3];
        if (!take_list(json_array_get(list, r->n_stretches), 3, MAX_TIME, v) || v[0] >= v[1] || v[2] >= r->n_phases)
            return 0;
        r->stretches[r->n_stretches] = (struct phase_stretch){v[0], v[1], (int)v[2]};
    }
    return 1;
}

static int take_notes(struct reading *g, const json_t *list)
{
    struct dcr_buf b = {.max = 1 << 20};
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *line = take_text(g, json_array_get(list, i));
        dcr_buf_printf(&b, "%s%s", i ? "\n" : "", line ? line : "");
    }
    g->out->notes = dcr_arena_strdup(g->arena, dcr_buf_text(&b));
    dcr_buf_release(&b);
    return json_is_array(list);
}

static int take_identity(struct reading *g, const json_t *o)
{
    struct summary *s = g->out;
    const json_t *trace = json_object_get(o, "trace");
    const char *host = take_text(g, json_object_get(o, "host")), *name = take_text(g, json_object_get(trace, "name"));
    const char *print = json_string_value(json_object_get(trace, "fingerprint"));
    int64_t rank, node, pid;
    if (!host || !name || !print || !take(json_object_get(o, "rank"), -1, INT32_MAX, &rank) ||
        !take(json_object_get(o, "node"), -1, INT32_MAX, &node) ||
        !take(json_object_get(o, "pid"), 0, UINT32_MAX, &pid) ||
        !take(json_object_get(o, "mono_ns"), INT64_MIN, INT64_MAX, &s->info.mono_ns) ||
        !take(json_object_get(o, "real_ns"), INT64_MIN, INT64_MAX, &s->info.real_ns) ||
        !take(json_object_get(trace, "size"), 0, INT64_MAX, &s->trace_bytes))
        return 0;
    s->info.rank = (int)rank;
    s->info.node = (int)node;
    s->info.pid = (uint32_t)pid;
    snprintf(s->info.host, sizeof s->info.host, "%s", host);
    s->trace_name = name;
    const json_t *ended = json_object_get(o, "ended_in"); /* absent: nothing was open, or the collector is older */
    s->ended_in = ended ? take_text(g, ended) : "";
    if (!s->ended_in)
        return 0;
    s->fingerprint = (uint32_t)strtoul(print, NULL, 16);
    return 1;
}

/* Fields that older collectors did not write are 0. */
static int take_recorded(const json_t *o, struct dct_info *info)
{
    const json_t *window = json_object_get(o, "window"), *incomplete = json_object_get(o, "incomplete_ns"),
                 *gpu = json_object_get(o, "dropped_gpu"), *own = json_object_get(o, "own_bytes"),
                 *io = json_object_get(o, "io"), *before = json_object_get(o, "blocks_before"),
                 *unsummed = json_object_get(o, "unsummed_ns"), *ended = json_object_get(o, "exit");
    int64_t v[5] = {0}, exit[2] = {0};
    if ((window && !take_list(window, 5, MAX_TIME, v)) ||
        (incomplete && !take(incomplete, 0, MAX_TIME, &info->incomplete_ns)) ||
        (unsummed && !take(unsummed, 0, MAX_TIME, &info->unsummed_ns)) ||
        (gpu && !take_field(o, "dropped_gpu", &info->n_dropped_gpu)) ||
        (before && !take(before, 0, MAX_TIME, &info->n_blocks_before)) ||
        (ended && (!take_list(ended, 2, MAX_TIME, exit) || exit[0] > 255)) ||
        (own && !take(own, 0, MAX_TIME, &info->own_bytes)) ||
        (io && !take_list(io, DCT_N_IO_TOTALS, MAX_TIME, info->io)))
        return 0;
    info->has_step_sums = unsummed != NULL;
    info->exit_status = (int)exit[0];
    info->exit_ns = exit[1];
    info->window =
        (struct dct_window){.first_ns = v[0], .last_ns = v[1], .closed_ns = v[2], .since_ns = v[3], .until_ns = v[4]};
    return 1;
}

/* Absent if all steps are there. */
static int take_seen(const json_t *list, uint64_t n_kept, struct steps_seen *out)
{
    int64_t v[3] = {0};
    if (list && (!take_list(list, 3, MAX_TIME, v) || v[0] < 2 || (uint64_t)v[1] < n_kept))
        return 0;
    *out = (struct steps_seen){.every = v[0], .n = v[1], .ns = v[2]};
    return 1;
}

static int take_head(struct reading *g, const json_t *o)
{
    struct summary *s = g->out;
    struct reduced *r = &s->steps;
    uint64_t torn, steps, wall, validation;
    int64_t version;
    const char *format = json_string_value(json_object_get(o, "format"));
    const json_t *categories = json_object_get(o, "categories");
    if (!format || strcmp(format, DCR_SUMMARY_FORMAT) != 0 ||
        !take(json_object_get(o, "version"), DCR_SUMMARY_VERSION, DCR_SUMMARY_VERSION, &version))
        return 0;
    for (size_t i = 0; i < N_CATEGORIES; i++)
        if (category_of(json_string_value(json_array_get(categories, i))) != (int)i)
            return 0;
    if (!take_identity(g, o) || !take_recorded(o, &s->info) || !take_notes(g, json_object_get(o, "notes")) ||
        !take_field(o, "events", &s->n_events) || !take_field(o, "mpi_calls", &s->n_mpi_calls) ||
        !take_field(o, "io_calls", &s->n_io_calls) || !take_field(o, "gpu_events", &s->n_gpu_events) ||
        !take_field(o, "dropped", &s->loss.n_dropped) ||
        (json_object_get(o, "dropped_known") && !take_field(o, "dropped_known", &s->n_dropped_known)) ||
        !take_field(o, "bad_blocks", &s->loss.n_bad_blocks) ||
        !take_field(o, "missing_blocks", &s->loss.n_missing_blocks) ||
        !take_field(o, "open_blocks", &s->loss.n_open_blocks) ||
        !take_field(o, "unmatched_pops", &s->loss.n_unmatched_pops) ||
        !take_field(o, "open_ranges", &s->loss.n_open_ranges) || !take_field(o, "torn", &torn) ||
        !take_field(o, "overflow", &s->n_overflow) || !take_field(o, "steps", &steps) ||
        !take_seen(json_object_get(o, "steps_seen"), steps, &r->seen) || !take_field(o, "wall_ns", &wall) ||
        wall > MAX_TIME || !take_field(o, "validation_ns", &validation) || validation > MAX_TIME ||
        !take_list(json_object_get(o, "outside_ns"), N_CATEGORIES, MAX_TIME, r->outside_ns) ||
        !take_phases(g, json_object_get(o, "phases")) || !take_stretches(g, json_object_get(o, "stretches")))
        return 0;
    s->loss.is_torn = torn != 0;
    r->is_by_hook = json_integer_value(json_object_get(o, "steps_by_hook")) == 1;
    r->is_hidden_unknown = json_integer_value(json_object_get(o, "hidden_unknown")) == 1;
    r->is_last_left_out = json_integer_value(json_object_get(o, "last_step_left_out")) == 1;
    g->n_steps_said = steps;
    r->wall_ns = (int64_t)wall;
    r->validation_ns = (int64_t)validation;
    g->is_headed = 1;
    return 1;
}

static int take_collective(struct reading *g, const json_t *row)
{
    struct reduced *r = &g->out->steps;
    int64_t v[N_CATEGORIES + 2];
    if (!take_list(row, N_CATEGORIES + 2, MAX_TIME, v) || r->n_collectives >= UINT32_MAX)
        return 0;
    r->collectives =
        arena_grow(g->arena, r->collectives, r->n_collectives, &g->collectives_cap, sizeof *r->collectives);
    struct collective *c = &r->collectives[r->n_collectives++];
    for (int i = 0; i < N_CATEGORIES + 2; i++) /* sums over many stay within 64 bits, as for steps */
        v[i] = v[i] < RUN_MAX_STEP_NS ? v[i] : RUN_MAX_STEP_NS;
    c->dur_ns = v[0];
    memcpy(c->since_ns, v + 1, sizeof c->since_ns);
    c->outside_ns = v[N_CATEGORIES + 1];
    return 1;
}

static int take_step(struct reading *g, const json_t *row)
{
    struct reduced *r = &g->out->steps;
    struct step_record s = {.samples = -1};
    int64_t phases[RUN_MAX_PHASES], sum = 0;
    size_t cap = g->steps_cap;
    const json_t *calls = json_array_get(row, 7);
    if (json_array_size(row) != 8 || !take(json_array_get(row, 0), 0, INT64_MAX, &s.step) ||
        !take(json_array_get(row, 1), 0, MAX_TIME, &s.start_ns) ||
        !take(json_array_get(row, 2), 1, RUN_MAX_STEP_NS, &s.step_ns) ||
        !take_list(json_array_get(row, 3), N_CATEGORIES, RUN_MAX_STEP_NS, s.part_ns) ||
        !take(json_array_get(row, 4), 0, s.step_ns, &s.hidden_comm_ns) ||
        !take(json_array_get(row, 5), 0, INT64_MAX, &s.bytes) ||
        !take_list(json_array_get(row, 6), (size_t)r->n_phases, RUN_MAX_STEP_NS, phases) || !json_is_array(calls))
        return 0;
    for (int c = 0; c < N_CATEGORIES; c++)
        sum += s.part_ns[c];
    if (sum != s.step_ns)
        return 0;
    s.first_collective = (uint32_t)r->n_collectives;
    s.n_collectives = (uint32_t)json_array_size(calls);
    for (size_t i = 0; i < json_array_size(calls); i++)
        if (!take_collective(g, json_array_get(calls, i)))
            return 0;
    r->steps = arena_grow(g->arena, r->steps, r->n_steps, &g->steps_cap, sizeof *r->steps);
    for (int k = 0; k < r->n_phases; k++) {
        size_t phase_cap = cap;
        r->phases[k].ns = arena_grow(g->arena, r->phases[k].ns, r->n_steps, &phase_cap, sizeof *r->phases[k].ns);
        r->phases[k].ns[r->n_steps] = phases[k];
    }
    r->steps[r->n_steps++] = s;
    return 1;
}

static int take_observation(struct reading *g, const json_t *row, int is_mpi)
{
    struct summary *s = g->out;
    struct observation o = {.name = take_text(g, json_array_get(row, 0)), .kind = -1, .before_ns = -1};
    const char *kind = is_mpi ? NULL : json_string_value(json_array_get(row, 1));
    int64_t v[4];
    for (int k = 0; kind && k < DCT_N_IO; k++)
        if (strcmp(kind, io_kinds[k]) == 0)
            o.kind = k;
    if (!o.name || (!is_mpi && o.kind < 0))
        return 0;
    for (size_t i = 0; i < 4; i++)
        if (!take(json_array_get(row, i + (is_mpi ? 1 : 2)), 0, INT64_MAX, &v[i]))
            return 0;
    if (is_mpi && json_array_size(row) > 5 && !take(json_array_get(row, 5), 0, INT64_MAX, &o.before_ns))
        return 0;
    if (o.kind == DCT_IO_READ && json_array_size(row) > 6) { /* archives of older collectors lack these numbers */
        int64_t event_ns, loading_ns;
        if (!take(json_array_get(row, 6), 0, v[2], &event_ns) ||
            !take(json_array_get(row, 7), 0, event_ns, &loading_ns))
            return 0;
        o.event_ns = (uint64_t)event_ns;
        o.loading_ns = (uint64_t)loading_ns;
    } else if (o.kind == DCT_IO_READ) {
        s->is_loading_unknown = 1;
    }
    o.sum = (struct dct_io){(uint64_t)v[0], (uint64_t)v[1], (uint64_t)v[2], (uint64_t)v[3]};
    s->observed = arena_grow(g->arena, s->observed, s->n_observed, &g->observed_cap, sizeof *s->observed);
    s->observed[s->n_observed++] = o;
    return 1;
}

static int take_sketch(struct reading *g, const json_t *list, struct name_sum *n)
{
    size_t len = json_array_size(list);
    if (!json_is_array(list) || len > SKETCH_BUCKETS)
        return 0;
    n->sketch = dcr_arena_alloc(g->arena, (len ? len : 1) * sizeof *n->sketch);
    for (size_t i = 0; i < len; i++) {
        int64_t bucket, count;
        const json_t *pair = json_array_get(list, i);
        if (!take(json_array_get(pair, 0), i ? n->sketch[i - 1].bucket + 1 : 0, SKETCH_BUCKETS - 1, &bucket) ||
            !take(json_array_get(pair, 1), 1, INT64_MAX, &count))
            return 0;
        n->sketch[i] = (struct sketch_bucket_count){(int)bucket, (uint64_t)count};
    }
    n->n_sketch = (int)len;
    return 1;
}

static int take_name(struct reading *g, const json_t *o)
{
    struct summary *s = g->out;
    struct name_sum n = {.name = take_text(g, json_object_get(o, "name")),
                         .domain = take_text(g, json_object_get(o, "domain")),
                         .category = take_text(g, json_object_get(o, "category")),
                         .self_ns = -1,
                         .union_ns = -1};
    const char *kind = json_string_value(json_object_get(o, "kind"));
    for (size_t i = 0; kind && i < sizeof name_kinds / sizeof *name_kinds; i++)
        if (strcmp(kind, name_kinds[i].text) == 0)
            n.kind = name_kinds[i].kind;
    if (!n.name || !n.domain || !n.category || !n.kind || !take_field(o, "n", &n.n) || s->n_names >= SUMMARY_MAX_NAMES)
        return 0;
    if (n.kind == DCT_MARK)
        n.union_ns = 0;
    else if (!take(json_object_get(o, "sum_ns"), 0, INT64_MAX, &n.sum_ns) ||
             !take(json_object_get(o, "min_ns"), 0, INT64_MAX, &n.min_ns) ||
             !take(json_object_get(o, "max_ns"), n.min_ns, INT64_MAX, &n.max_ns) ||
             (json_object_get(o, "self_ns") && !take(json_object_get(o, "self_ns"), 0, INT64_MAX, &n.self_ns)) ||
             (!json_is_null(json_object_get(o, "union_ns")) &&
              !take(json_object_get(o, "union_ns"), 0, INT64_MAX, &n.union_ns)) ||
             (n.kind == DCT_SPAN && !take_field(o, "bytes", &n.bytes)) ||
             !take_sketch(g, json_object_get(o, "sketch"), &n))
        return 0;
    s->names = arena_grow(g->arena, s->names, s->n_names, &g->names_cap, sizeof *s->names);
    s->names[s->n_names++] = n;
    return 1;
}

static int take_line(struct reading *g, const json_t *o)
{
    if (!g->is_headed)
        return take_head(g, o);
    if (g->is_ended)
        return 0;
    if (json_object_get(o, "step"))
        return take_step(g, json_object_get(o, "step"));
    if (json_object_get(o, "mpi"))
        return take_observation(g, json_object_get(o, "mpi"), 1);
    if (json_object_get(o, "file"))
        return take_observation(g, json_object_get(o, "file"), 0);
    if (json_object_get(o, "name"))
        return take_name(g, o);
    g->is_ended = json_is_true(json_object_get(o, "end"));
    return json_is_object(o); /* lines that a later writer adds are skipped */
}

int summary_read(struct summary *out, struct dcr_arena *a, struct dcr_stream *s, struct dcr_err *err)
{
    struct reading g = {.out = out, .arena = a};
    struct dcr_lines lines = {.s = s};
    struct dcr_buf line = {0};
    size_t n = 0;
    int rc;
    *out = (struct summary){.notes = "", .trace_name = "", .ended_in = ""};
    while ((rc = dcr_next_line(&lines, &line, err)) == DCR_OK) {
        json_error_t why;
        n++;
        json_t *o = json_loadb(dcr_buf_text(&line), line.len, JSON_REJECT_DUPLICATES, &why);
        if (!o)
            rc = dcr_err_set(err, DCR_FAIL, "cannot use '%s': line %zu is not JSON: %s; pack the run again", s->name, n,
                             why.text);
        else if (!take_line(&g, o))
            rc = dcr_err_set(err, DCR_FAIL,
                             n == 1
                                 ? "cannot use '%s': line %zu does not begin a summary of version 1; pack the run again"
                                 : "cannot use '%s': line %zu is not what a summary holds; pack the run again",
                             s->name, n);
        json_decref(o);
        if (rc)
            break;
    }
    if (rc == DCR_END)
        rc = g.is_ended && g.out->steps.n_steps == g.n_steps_said
                 ? DCR_OK
                 : dcr_err_set(err, DCR_FAIL, "cannot use '%s': it ends early, in line %zu; pack the run again",
                               s->name, n);
    dcr_buf_release(&line);
    return rc;
}
