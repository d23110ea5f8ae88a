/* page_changes.c - before and after (--baseline) by name: kernels, operators, MPI calls and files. See inside.h. */
#include "render/site/theme/inside.h"

#include "render/findings/changes_said.h"
#include "render/findings/rules/compare.h"
#include "render/say/format.h"
#include "render/say/say.h"

#include <math.h>
#include <string.h>

enum { NAMES_SHOWN = 12 }; /* the CSV has all */

/* Both means of a call, in the unit of the longer one, which is given once: "385 to 544 us". A dash for a side without
 * calls. */
static void add_means(struct site *s, json_t *t, const struct changed *c)
{
    double mean[N_SIDES], longest = 0;
    const char *text[N_SIDES];
    for (int side = 0; side < N_SIDES; side++) {
        mean[side] = c->n[side] ? (double)c->ns[side] / (double)c->n[side] : 0;
        longest = mean[side] > longest ? mean[side] : longest;
    }
    for (int side = 0; side < N_SIDES; side++)
        text[side] = c->n[side] ? site_text(s, "%s", fmt_time_beside(llround(mean[side]), llround(longest)).text)
                                : "\xe2\x80\x93";
    const char *unit = c->n[BEFORE] && c->n[AFTER] ? strrchr(text[BEFORE], ' ') : NULL;
    int shown = (int)(unit ? (size_t)(unit - text[BEFORE]) : strlen(text[BEFORE]));
    view_cell(s, t, site_text(s, "%.*s to %s", shown, text[BEFORE], text[AFTER]));
    view_exact(s, t, "before", c->n[BEFORE] > 0, mean[BEFORE], "ns");
    view_exact(s, t, "after", c->n[AFTER] > 0, mean[AFTER], "ns");
}

/* short_name  NULL: the table has no column for it */
static void add_row(struct site *s, json_t *t, const char *name, const char *short_name, const struct changed *c)
{
    view_row(s, t, name);
    if (short_name)
        view_cell(s, t, short_name);
    view_cell(s, t, site_text(s, "%s to %s", fmt_whole(c->n[BEFORE]).text, fmt_whole(c->n[AFTER]).text));
    view_exact(s, t, "before", true, (double)c->n[BEFORE], "");
    view_exact(s, t, "after", true, (double)c->n[AFTER], "");
    for (int side = 0; side < N_SIDES; side++)
        view_cell_time(s, t, true, c->ns[side]);
    view_cell_signed(s, t, c->ns[AFTER] - c->ns[BEFORE]);
    add_means(s, t, c);
    view_cell_signed(s, t, c->by_calls_ns);
    view_cell_signed(s, t, c->by_mean_ns);
}

/* The table of full names is written to files only. Its rows go under those of their short names, whose table has the
 * same columns once details are left out. */
static void unfold_kernels(struct site *s, json_t *t, const struct changes *c)
{
    const struct changed_table *of = &c->of[CHANGED_KERNELS];
    struct changed_table *names = dcr_arena_alloc(&s->arena, (size_t)of->n_rows * sizeof *names);
    struct changed all = of->all;
    all.by_calls_ns = all.by_mean_ns = 0;
    for (int i = 0; i < of->n_rows; i++) {
        names[i] = changed_full_names(&s->arena, c, &of->rows[i]);
        for (int k = 0; k < names[i].n_rows || k == 0; k++) {
            const struct changed *x = names[i].n_rows ? &names[i].rows[k] : &of->rows[i];
            all.by_calls_ns += x->by_calls_ns;
            all.by_mean_ns += x->by_mean_ns;
        }
    }
    json_t *full = view_table(s, TABLE(CHANGED_FULL)), *rows = json_object_get(full, "rows");
    view_unit_for_all(s, full);
    add_row(s, full, "sum of all rows", "", &all);
    for (int i = 0; i < of->n_rows; i++)
        for (int k = 0; k < names[i].n_rows || k == 0; k++) {
            const struct changed *x = names[i].n_rows ? &names[i].rows[k] : &of->rows[i];
            add_row(s, full, x->name, of->rows[i].name, x);
        }
    site_table(s, full, site_text(s, "changed-%s", changed_stem(CHANGED_FULL)), -1);
    view_text(s, t, "csv_in_full", json_string_value(json_object_get(full, "csv")));
    for (size_t i = 0, at = 1; i < (size_t)of->n_rows; i++) {
        view_unfold(s, t, i + 1, rows, at, (size_t)names[i].n_rows);
        at += names[i].n_rows ? (size_t)names[i].n_rows : 1;
    }
    json_decref(full);
}

static json_t *names_table(struct site *s, const struct changes *c, enum changed_kind kind)
{
    static const enum table_id tables[N_CHANGED_KINDS] = {[CHANGED_KERNELS] = TABLE_CHANGED_KERNELS,
                                                          [CHANGED_OPERATORS] = TABLE_CHANGED_OPERATORS,
                                                          [CHANGED_MPI] = TABLE_CHANGED_MPI,
                                                          [CHANGED_FILES] = TABLE_CHANGED_FILES};
    const struct changed_table *of = &c->of[kind];
    json_t *t = view_table(s, &(struct table_said){.id = tables[kind]});
    view_unit_for_all(s, t);
    add_row(s, t, "sum of all rows", NULL, &of->all);
    for (int i = 0; i < of->n_rows; i++)
        add_row(s, t, of->rows[i].name, NULL, &of->rows[i]);
    site_table(s, t, site_text(s, "changed-%s", changed_stem(kind)), -1);
    view_shorten(s, t, NAMES_SHOWN);
    if (kind == CHANGED_KERNELS)
        unfold_kernels(s, t, c);
    return t;
}

/* Kernel time differs from busy time, and neither is the duration of the program. */
static json_t *gpus_table(struct site *s, const struct changes *c)
{
    static const struct {
        const char *name;
        enum device_column column;
    } rows[] = {{"kernels, summed", DEV_KERNEL_SUM},
                {"busy", DEV_BUSY},
                {"idle", DEV_IDLE},
                {"communication that no kernel hides", DEV_EXPOSED_COMM},
                {"copies that no kernel hides", DEV_EXPOSED_MEM},
                {"length of the trace, once per GPU", DEV_SPAN}};
    if (!c->gpu[DEV_SPAN][BEFORE] || !c->gpu[DEV_SPAN][AFTER])
        return json_null();
    json_t *t =
        view_table(s, TABLE(CHANGED_GPUS, slot_things(c->n_gpus[BEFORE], "GPU"), slot_things(c->n_gpus[AFTER], "GPU")));
    view_unit_for_all(s, t);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int64_t *ns = c->gpu[rows[i].column];
        view_row(s, t, rows[i].name);
        view_cell_time(s, t, true, ns[BEFORE]);
        view_cell_time(s, t, true, ns[AFTER]);
        view_cell_signed(s, t, ns[AFTER] - ns[BEFORE]);
    }
    if (s->rep->n_comparisons == 1) { /* less time of kernels is not a shorter step */
        const struct compared *step = &s->rep->comparisons[0].step;
        view_row(s, t, "a step, mean over ranks and steps");
        view_cell_time(s, t, true, step->before_ns);
        view_cell_time(s, t, true, step->after_ns);
        view_cell_signed(s, t, step->after_ns - step->before_ns);
    }
    site_table(s, t, "changed-gpus", -1);
    return t;
}

/* A comparison of steps alone says why. */
static json_t *view_no_changes(struct site *s)
{
    const struct phrase why = said_no_changes(s->rep);
    if (why.id == PHRASE_NONE)
        return json_null();
    json_t *v = view_object(s), *paragraphs = view_list(s), *p = view_object(s);
    view_text(s, p, "text", say_phrase(&s->arena, &why));
    view_add(s, paragraphs, p);
    view_text(s, v, "headline", NULL);
    view_set_list(s, v, "paragraphs", paragraphs);
    view_set(s, v, "gpus", json_null());
    view_set_list(s, v, "tables", view_list(s));
    return v;
}

json_t *view_changes(struct site *s)
{
    const struct changes *c = s->rep->changes;
    if (!c)
        return view_no_changes(s);
    json_t *v = view_object(s), *tables = view_list(s);
    bool is_answer = !c->has_steps; /* otherwise the steps are the answer */
    view_text(s, v, "headline", is_answer ? say_title(&s->arena, &c->said) : NULL);
    json_t *paragraphs = view_list(s);
    enum { LEAD = 2, PARAGRAPH = 3 }; /* sentences under the headline, and in what follows */
    view_text(s, v, "lead", is_answer ? say_phrases(&s->arena, c->said.support, LEAD) : NULL);
    for (int i = is_answer ? LEAD : 0, n = PARAGRAPH; i < SAID_MAX && c->said.support[i].id != PHRASE_NONE; i += n) {
        json_t *p = view_object(s);
        view_text(s, p, "text", say_phrases(&s->arena, c->said.support + i, SAID_MAX - i < n ? SAID_MAX - i : n));
        view_add(s, paragraphs, p);
    }
    view_set_list(s, v, "paragraphs", paragraphs);
    view_set(s, v, "gpus", gpus_table(s, c));
    for (enum changed_kind k = 0; k < N_CHANGED_KINDS; k++) {
        const struct changed *all = &c->of[k].all;
        if (!c->of[k].n_rows || k == CHANGED_FULL)
            continue;
        json_t *one = view_object(s), *table = names_table(s, c, k);
        view_text(s, one, "title",
                  site_text(s, "%s: %s before, %s after", json_string_value(json_object_get(table, "caption")),
                            fmt_time(all->ns[BEFORE]).text, fmt_time(all->ns[AFTER]).text));
        if (json_is_true(json_object_get(table, "unfolds"))) {
            view_caption(s, table, PHRASE(CAPTION_UNFOLDS));
            view_caption(s, table, PHRASE(CAPTION_UNFOLDS_ALONE));
        }
        view_set(s, one, "table", table);
        view_add(s, tables, one);
    }
    view_set_list(s, v, "tables", tables);
    return v;
}
