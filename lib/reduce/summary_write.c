/* summary_write.c - writes a struct summary as lines of JSON: docs/FORMAT.md, Summaries. */
#include "lib/reduce/summary.h"

#include "lib/reduce/summary_words.h"
#include "lib/base/text.h"

#include <inttypes.h>
#include <string.h>

static void put_foreign(struct dcr_buf *out, const char *text, size_t n)
{
    struct dcr_arena a = {0};
    text_json(out, text_clean(&a, dcr_arena_strndup(&a, text, n)));
    dcr_arena_release(&a);
}

static void put_number(struct dcr_buf *out, int64_t v)
{
    char digits[24], *p = digits + sizeof digits;
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    do
        *--p = (char)('0' + u % 10);
    while ((u /= 10) != 0);
    if (v < 0)
        *--p = '-';
    dcr_buf_add(out, p, (size_t)(digits + sizeof digits - p));
}

static void put_list(struct dcr_buf *out, const int64_t *v, size_t n)
{
    dcr_buf_putc(out, '[');
    for (size_t i = 0; i < n; i++) {
        if (i)
            dcr_buf_putc(out, ',');
        put_number(out, v[i]);
    }
    dcr_buf_putc(out, ']');
}

static void put_field(struct dcr_buf *out, const char *key, uint64_t v)
{
    dcr_buf_printf(out, ",\"%s\":", key);
    put_number(out, v > INT64_MAX ? INT64_MAX : (int64_t)v);
}

static void put_notes(struct dcr_buf *out, const char *notes)
{
    dcr_buf_puts(out, ",\"notes\":[");
    for (const char *end; *notes; notes = end + (*end != '\0')) {
        end = notes + strcspn(notes, "\n");
        put_foreign(out, notes, (size_t)(end - notes));
        if (*end)
            dcr_buf_putc(out, ',');
    }
    dcr_buf_putc(out, ']');
}

static void put_stretches(struct dcr_buf *out, const struct reduced *r)
{
    dcr_buf_puts(out, ",\"stretches\":[");
    for (size_t i = 0; i < r->n_stretches; i++) {
        const int64_t row[] = {r->stretches[i].from_ns, r->stretches[i].to_ns, r->stretches[i].phase};
        if (i)
            dcr_buf_putc(out, ',');
        put_list(out, row, sizeof row / sizeof *row);
    }
    dcr_buf_putc(out, ']');
}

static void put_head(struct dcr_buf *out, const struct summary *s)
{
    const struct reduced *r = &s->steps;
    const struct dct_loss *l = &s->loss;
    dcr_buf_printf(out, "{\"format\":\"%s\",\"version\":%d,\"trace\":{\"name\":", DCR_SUMMARY_FORMAT,
                   DCR_SUMMARY_VERSION);
    put_foreign(out, s->trace_name, strlen(s->trace_name));
    put_field(out, "size", (uint64_t)s->trace_bytes);
    dcr_buf_printf(out, ",\"fingerprint\":\"%08" PRIx32 "\"},\"rank\":%d,\"node\":%d,\"pid\":%" PRIu32 ",\"host\":",
                   s->fingerprint, s->info.rank, s->info.node, s->info.pid);
    put_foreign(out, s->info.host, strlen(s->info.host));
    dcr_buf_printf(out, ",\"mono_ns\":%" PRId64 ",\"real_ns\":%" PRId64, s->info.mono_ns, s->info.real_ns);
    put_field(out, "events", s->n_events);
    put_field(out, "mpi_calls", s->n_mpi_calls);
    put_field(out, "io_calls", s->n_io_calls);
    put_field(out, "gpu_events", s->n_gpu_events);
    put_field(out, "dropped", l->n_dropped);
    if (s->n_dropped_known)
        put_field(out, "dropped_known", s->n_dropped_known);
    if (s->info.n_dropped_gpu)
        put_field(out, "dropped_gpu", s->info.n_dropped_gpu);
    if (s->info.n_blocks_before)
        put_field(out, "blocks_before", (uint64_t)s->info.n_blocks_before);
    if (s->info.incomplete_ns)
        put_field(out, "incomplete_ns", (uint64_t)s->info.incomplete_ns);
    if (s->info.has_step_sums && (s->info.incomplete_ns || l->n_dropped))
        put_field(out, "unsummed_ns", (uint64_t)s->info.unsummed_ns);
    if (s->info.window.until_ns) {
        const struct dct_window *w = &s->info.window;
        const int64_t times[] = {w->first_ns, w->last_ns, w->closed_ns, w->since_ns, w->until_ns};
        dcr_buf_puts(out, ",\"window\":");
        put_list(out, times, sizeof times / sizeof *times);
    }
    if (s->info.exit_ns) {
        const int64_t ended[] = {s->info.exit_status, s->info.exit_ns};
        dcr_buf_puts(out, ",\"exit\":");
        put_list(out, ended, sizeof ended / sizeof *ended);
    }
    put_field(out, "own_bytes", (uint64_t)s->info.own_bytes);
    dcr_buf_puts(out, ",\"io\":");
    put_list(out, s->info.io, DCT_N_IO_TOTALS);
    put_field(out, "bad_blocks", l->n_bad_blocks);
    put_field(out, "missing_blocks", l->n_missing_blocks);
    put_field(out, "open_blocks", l->n_open_blocks);
    put_field(out, "unmatched_pops", l->n_unmatched_pops);
    put_field(out, "open_ranges", l->n_open_ranges);
    put_field(out, "torn", (uint64_t)(l->is_torn != 0));
    put_field(out, "overflow", s->n_overflow);
    put_notes(out, s->notes);
    if (*s->ended_in) {
        dcr_buf_puts(out, ",\"ended_in\":");
        put_foreign(out, s->ended_in, strlen(s->ended_in));
    }
    put_field(out, "steps", r->n_steps);
    if (r->seen.every) {
        const int64_t seen[] = {r->seen.every, r->seen.n, r->seen.ns};
        dcr_buf_puts(out, ",\"steps_seen\":");
        put_list(out, seen, sizeof seen / sizeof *seen);
    }
    if (r->is_by_hook)
        put_field(out, "steps_by_hook", 1);
    if (r->is_last_left_out)
        put_field(out, "last_step_left_out", 1);
    if (r->is_hidden_unknown)
        put_field(out, "hidden_unknown", 1);
    put_field(out, "wall_ns", (uint64_t)r->wall_ns);
    put_field(out, "validation_ns", (uint64_t)r->validation_ns);
    dcr_buf_puts(out, ",\"categories\":[");
    for (int c = 0; c < N_CATEGORIES; c++)
        dcr_buf_printf(out, "%s\"%s\"", c ? "," : "", category_key((enum category)c));
    dcr_buf_puts(out, "],\"outside_ns\":");
    put_list(out, r->outside_ns, N_CATEGORIES);
    dcr_buf_puts(out, ",\"phases\":[");
    for (int i = 0; i < r->n_phases; i++) {
        dcr_buf_puts(out, i ? ",[" : "[");
        text_json(out, r->phases[i].name);
        dcr_buf_printf(out, ",\"%s\"]", category_key(r->phases[i].category));
    }
    dcr_buf_putc(out, ']');
    if (r->n_stretches)
        put_stretches(out, r);
    dcr_buf_puts(out, "}\n");
}

static void put_step(struct dcr_buf *out, const struct reduced *r, size_t i)
{
    const struct step_record *s = &r->steps[i];
    const int64_t head[] = {s->step, s->start_ns, s->step_ns};
    dcr_buf_puts(out, "{\"step\":[");
    for (int k = 0; k < 3; k++) {
        put_number(out, head[k]);
        dcr_buf_putc(out, ',');
    }
    put_list(out, s->part_ns, N_CATEGORIES);
    dcr_buf_putc(out, ',');
    put_number(out, s->hidden_comm_ns);
    dcr_buf_putc(out, ',');
    put_number(out, s->bytes);
    dcr_buf_puts(out, ",[");
    for (int k = 0; k < r->n_phases; k++) {
        if (k)
            dcr_buf_putc(out, ',');
        put_number(out, r->phases[k].ns[i]);
    }
    dcr_buf_puts(out, "],[");
    for (size_t k = s->first_collective; k < s->first_collective + s->n_collectives; k++) {
        const struct collective *c = &r->collectives[k];
        int64_t row[N_CATEGORIES + 2] = {c->dur_ns};
        memcpy(row + 1, c->since_ns, sizeof c->since_ns);
        row[N_CATEGORIES + 1] = c->outside_ns;
        if (k > s->first_collective)
            dcr_buf_putc(out, ',');
        put_list(out, row, N_CATEGORIES + 2);
    }
    dcr_buf_puts(out, "]]}\n");
}

static void put_observation(struct dcr_buf *out, const struct observation *o)
{
    dcr_buf_puts(out, o->kind < 0 ? "{\"mpi\":[" : "{\"file\":[");
    put_foreign(out, o->name, strlen(o->name));
    if (o->kind >= 0)
        dcr_buf_printf(out, ",\"%s\"", io_kinds[o->kind]);
    const uint64_t v[] = {o->sum.n, o->sum.bytes, o->sum.ns, o->sum.max_ns, o->event_ns, o->loading_ns};
    for (int i = 0; i < (o->kind == DCT_IO_READ ? 6 : 4); i++) {
        dcr_buf_putc(out, ',');
        put_number(out, (int64_t)v[i]);
    }
    if (o->kind < 0 && o->before_ns >= 0) {
        dcr_buf_putc(out, ',');
        put_number(out, o->before_ns);
    }
    dcr_buf_puts(out, "]}\n");
}

static void put_name(struct dcr_buf *out, const struct name_sum *n)
{
    const char *kind = "range";
    for (size_t i = 0; i < sizeof name_kinds / sizeof *name_kinds; i++)
        if (name_kinds[i].kind == n->kind)
            kind = name_kinds[i].text;
    dcr_buf_puts(out, "{\"name\":");
    text_json(out, n->name);
    dcr_buf_puts(out, ",\"domain\":");
    text_json(out, n->domain);
    dcr_buf_puts(out, ",\"category\":");
    text_json(out, n->category);
    dcr_buf_printf(out, ",\"kind\":\"%s\"", kind);
    put_field(out, "n", n->n);
    if (n->kind != DCT_MARK) {
        put_field(out, "sum_ns", (uint64_t)n->sum_ns);
        put_field(out, "min_ns", (uint64_t)n->min_ns);
        put_field(out, "max_ns", (uint64_t)n->max_ns);
        if (n->self_ns >= 0)
            put_field(out, "self_ns", (uint64_t)n->self_ns);
        if (n->union_ns >= 0)
            put_field(out, "union_ns", (uint64_t)n->union_ns);
        else
            dcr_buf_puts(out, ",\"union_ns\":null");
        if (n->kind == DCT_SPAN)
            put_field(out, "bytes", n->bytes);
        dcr_buf_puts(out, ",\"sketch\":[");
        for (int i = 0; i < n->n_sketch; i++) {
            const int64_t pair[] = {n->sketch[i].bucket, (int64_t)n->sketch[i].n};
            if (i)
                dcr_buf_putc(out, ',');
            put_list(out, pair, 2);
        }
        dcr_buf_putc(out, ']');
    }
    dcr_buf_puts(out, "}\n");
}

void summary_write(const struct summary *s, struct dcr_buf *out)
{
    put_head(out, s);
    for (size_t i = 0; i < s->steps.n_steps; i++)
        put_step(out, &s->steps, i);
    for (size_t i = 0; i < s->n_observed; i++)
        put_observation(out, &s->observed[i]);
    for (size_t i = 0; i < s->n_names; i++)
        put_name(out, &s->names[i]);
    dcr_buf_puts(out, "{\"end\":true}\n");
}
