/* codelines.c - see codelines.h. */
#include "render/device/codelines.h"

#include "render/device/frames.h"
#include "render/device/optable.h"
#include "render/device/spill.h"
#include "render/model/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Stretches are looked up in any order, so they stay in memory. Time after this many stretches has no line. */
enum { STRETCHES_MAX = 1 << 20, NONE = -1, TEXT_BYTES = 512 };

struct frame_record {
    struct spill_key key; /* thread, start */
    int64_t end_ns;
    int32_t text; /* index of a text: "path:line\nfunction", or a module */
    int32_t is_module;
};

struct open_frame {
    int64_t end_ns;
    int32_t place, module; /* innermost open ones; NONE */
};

/* One line of one thread, without a gap. */
struct stretch {
    int64_t thread, from, to;
    uint32_t line; /* of lines */
};

struct code_log {
    struct dcr_arena arena;
    struct optable texts, lines; /* lines: a place and a module, "place\nfunction\nmodule" */
    struct spill *frames;
    struct open_frame *open;
    size_t n_open, open_cap;
    struct stretch *stretches; /* by thread, then time */
    size_t n, cap;
    int64_t now, busiest; /* busiest: the thread with most frames */
    int64_t *idle_ns;     /* of each line */
    int64_t asked_ns;
};

struct code_log *code_log_new(size_t max_bytes)
{
    struct code_log *l = calloc(1, sizeof *l);
    if (l && !(l->frames = spill_new(sizeof(struct frame_record), max_bytes))) {
        free(l);
        return NULL;
    }
    return l;
}

void code_log_free(struct code_log *l)
{
    if (!l)
        return;
    spill_free(l->frames);
    optable_release(&l->texts);
    optable_release(&l->lines);
    dcr_arena_release(&l->arena);
    free(l);
}

void code_log_add(struct code_log *l, int64_t thread, const char *name, size_t len, int64_t start_ns, int64_t end_ns)
{
    struct frame f;
    char text[TEXT_BYTES];
    enum frame_kind kind = end_ns > start_ns ? frame_of(name, len, &f) : FRAME_LIBRARY;
    int n = 0;
    if (kind == FRAME_MODULE)
        n = snprintf(text, sizeof text, "%.*s", (int)f.module_len, f.module);
    else if (kind == FRAME_OWN && f.path_len < sizeof text && f.function_len < sizeof text)
        n = snprintf(text, sizeof text, "%.*s:%.*s\n%.*s", (int)f.path_len, f.path, (int)f.line_len, f.line,
                     (int)f.function_len, f.function);
    if (n <= 0 || (size_t)n >= sizeof text)
        return;
    spill_add(l->frames,
              &(struct frame_record){.key = {thread, start_ns},
                                     .end_ns = end_ns,
                                     .text = (int32_t)optable_entry(&l->texts, 0, OP_COMPUTE, text, (size_t)n)->index,
                                     .is_module = kind == FRAME_MODULE});
}

/* ---- frames become stretches ------------------------------------------------------------------------------------ */

static uint32_t line_of(struct code_log *l, const struct open_frame *f)
{
    char text[2 * TEXT_BYTES];
    const char *module = f->module == NONE ? "" : l->texts.entries[f->module]->text;
    int n = snprintf(text, sizeof text, "%s\n%s", l->texts.entries[f->place]->text, module);
    return optable_entry(&l->lines, 0, OP_COMPUTE, text, (size_t)n)->index;
}

/* Advances the thread's time to `to` with the same frames open. */
static void pass(struct code_log *l, int64_t thread, int64_t to)
{
    const struct open_frame *top = l->n_open ? &l->open[l->n_open - 1] : NULL;
    if (top && top->place != NONE && to > l->now) {
        uint32_t line = line_of(l, top);
        struct stretch *last = l->n ? &l->stretches[l->n - 1] : NULL;
        if (last && last->thread == thread && last->to == l->now && last->line == line) {
            last->to = to;
        } else if (l->n < STRETCHES_MAX) {
            l->stretches = arena_grow(&l->arena, l->stretches, l->n, &l->cap, sizeof *l->stretches);
            l->stretches[l->n++] = (struct stretch){thread, l->now, to, line};
        }
    }
    l->now = to;
}

/* Closes the frames that end by `to`, the innermost first. */
static void close_until(struct code_log *l, int64_t thread, int64_t to)
{
    while (l->n_open && l->open[l->n_open - 1].end_ns <= to) {
        pass(l, thread, l->open[l->n_open - 1].end_ns);
        l->n_open--;
    }
}

int code_log_settle(struct code_log *l, struct dcr_err *err)
{
    const struct frame_record *r;
    int64_t thread = 0, n = 0, most = 0;
    int rc = spill_sort(l->frames, err);
    if (rc)
        return rc;
    while ((r = spill_next(l->frames)) != NULL) {
        if (r->key.a != thread) {
            close_until(l, thread, INT64_MAX);
            n = 0;
        }
        thread = r->key.a;
        close_until(l, thread, r->key.b);
        pass(l, thread, r->key.b);
        l->open = arena_grow(&l->arena, l->open, l->n_open, &l->open_cap, sizeof *l->open);
        const struct open_frame around =
            l->n_open ? l->open[l->n_open - 1] : (struct open_frame){INT64_MAX, NONE, NONE};
        l->open[l->n_open++] =
            (struct open_frame){r->end_ns < around.end_ns ? r->end_ns : around.end_ns,
                                r->is_module ? around.place : r->text, r->is_module ? r->text : around.module};
        if (++n > most) {
            most = n;
            l->busiest = thread;
        }
    }
    close_until(l, thread, INT64_MAX);
    l->idle_ns = dcr_arena_alloc(&l->arena, (l->lines.n + 1) * sizeof *l->idle_ns);
    return spill_failed(l->frames) ? dcr_err_set(err, DCR_FATAL, "cannot read back the temporary file of a trace") : 0;
}

/* ---- looking up ------------------------------------------------------------------------------------------------- */

/* The first stretch of the thread that ends after t. If the thread has none, the index is another thread's, or l->n. */
static size_t first_behind(const struct code_log *l, int64_t thread, int64_t t)
{
    size_t lo = 0, hi = l->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        const struct stretch *s = &l->stretches[mid];
        if (s->thread < thread || (s->thread == thread && s->to <= t))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Adds [from, to) to the lines of the thread. The busiest thread gets the parts without a line; what is left has no
 * line. */
static void spend(struct code_log *l, int64_t thread, int64_t from, int64_t to, int is_last)
{
    for (size_t i = first_behind(l, thread, from); from < to; i++) {
        const struct stretch *s = i < l->n && l->stretches[i].thread == thread ? &l->stretches[i] : NULL;
        int64_t begin = s && s->from < to ? s->from : to, end = s && s->to < to ? s->to : to;
        if (!is_last && from < begin)
            spend(l, l->busiest, from, begin, 1);
        from = begin > from ? begin : from;
        if (s && from < end)
            l->idle_ns[s->line] += end - from;
        from = end;
    }
}

int64_t code_log_busiest(const struct code_log *l)
{
    return l->busiest;
}

void code_log_spend(struct code_log *l, int64_t thread, int64_t from, int64_t to)
{
    l->asked_ns += to > from ? to - from : 0;
    spend(l, thread, from, to, thread == l->busiest);
}

int64_t code_log_at(struct code_log *l, int64_t thread, int64_t t_ns)
{
    size_t i = first_behind(l, thread, t_ns);
    if (i < l->n && l->stretches[i].thread == thread && l->stretches[i].from <= t_ns)
        return l->stretches[i].line;
    return thread == l->busiest ? NONE : code_log_at(l, l->busiest, t_ns);
}

struct code_line code_log_line(const struct code_log *l, int64_t at, struct dcr_arena *arena)
{
    char *text = dcr_arena_strdup(arena, l->lines.entries[at]->text), *function = strchr(text, '\n'),
         *module = function ? strchr(function + 1, '\n') : NULL;
    if (!module) /* lines beyond the limit share one */
        return (struct code_line){.place = text_clean(arena, text), .function = "", .module = ""};
    *function = *module = '\0';
    return (struct code_line){.place = text_clean(arena, text),
                              .function = text_clean(arena, function + 1),
                              .module = text_clean(arena, module + 1),
                              .idle_ns = l->idle_ns[at]};
}

static int compare(const void *a, const void *b)
{
    const struct code_line *x = a, *y = b;
    if (x->idle_ns != y->idle_ns)
        return x->idle_ns > y->idle_ns ? -1 : 1;
    int c = strcmp(x->place, y->place);
    c = c ? c : strcmp(x->function, y->function);
    return c ? c : strcmp(x->module, y->module);
}

void code_log_finish(struct code_log *l, struct dcr_arena *arena, struct code_lines *out)
{
    *out = (struct code_lines){.has_stacks = 1, .idle_ns = l->asked_ns};
    out->list = dcr_arena_alloc(arena, (l->lines.n + 1) * sizeof *out->list);
    for (size_t i = 0; i < l->lines.n; i++)
        if (l->idle_ns[i] > 0) {
            out->list[out->n++] = code_log_line(l, (int64_t)i, arena);
            out->known_ns += l->idle_ns[i];
        }
    if (out->n > 1)
        qsort(out->list, (size_t)out->n, sizeof *out->list, compare);
}
