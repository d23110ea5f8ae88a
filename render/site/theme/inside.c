/* inside.c - see inside.h: sticky failure, JSON for templates, writing pages. */
#include "render/site/theme/inside.h"

#include "render/draw/scale.h"
#include "render/say/format.h"
#include "render/say/say.h"
#include "render/write/json/json_values.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void site_fail(struct site *s, int rc)
{
    if (rc && !s->rc)
        s->rc = rc;
}

static void out_of_memory(struct site *s)
{
    if (!s->rc)
        s->rc = dcr_err_set(s->err, DCR_FATAL, "out of memory making the site");
}

const char *site_text(struct site *s, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *text = dcr_arena_alloc(&s->arena, n > 0 ? (size_t)n + 1 : 1);
    if (n > 0)
        vsnprintf(text, (size_t)n + 1, fmt, again);
    va_end(again);
    return text;
}

const char *site_int(struct site *s, int64_t n)
{
    return site_text(s, "%s", fmt_whole(n).text);
}

void site_write(struct site *s, const char *path, const void *bytes, size_t n)
{
    if (!s->rc)
        site_fail(s, publish_add(&s->publish, path, bytes, n, s->err));
}

const char *node_words(struct site *s, int n)
{
    return n > 0 ? site_text(s, "%s", fmt_count(n, counted_word(s->rep->unit)).text) : "this run";
}

const char *node_title(struct site *s)
{
    return site_text(s, "%ss", say_capital(&s->arena, counted_word(s->rep->unit)));
}

json_t *view_object(struct site *s)
{
    json_t *v = json_object();
    if (!v)
        out_of_memory(s);
    return v;
}

json_t *view_list(struct site *s)
{
    json_t *v = json_array();
    if (!v)
        out_of_memory(s);
    return v;
}

void view_set(struct site *s, json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value))
        out_of_memory(s);
}

void view_add(struct site *s, json_t *list, json_t *value)
{
    if (json_array_append_new(list, value))
        out_of_memory(s);
}

void view_text(struct site *s, json_t *object, const char *key, const char *text)
{
    view_set(s, object, key, value_string(text));
}

void view_html(struct site *s, json_t *object, const char *key, struct dcr_buf *html)
{
    if (html->failed)
        out_of_memory(s);
    view_set(s, object, key, json_stringn(dcr_buf_text(html), html->failed ? 0 : html->len));
}

void view_flag(struct site *s, json_t *object, const char *key, bool value)
{
    view_set(s, object, key, json_boolean(value));
}

void view_set_list(struct site *s, json_t *object, const char *key, json_t *list)
{
    view_flag(s, object, site_text(s, "has_%s", key), json_array_size(list) > 0);
    view_set(s, object, key, list);
}

static void add_column(struct site *s, json_t *table, const char *marks, const char *title, size_t n)
{
    json_t *column = view_object(s);
    view_text(s, column, "text", site_text(s, "%.*s", (int)n, title));
    view_flag(s, column, "is_detail", marks[0] == '~');
    view_flag(s, column, "num", marks[marks[0] == '~'] == '#');
    view_add(s, json_object_get(table, "head"), column);
}

void view_column(struct site *s, json_t *table, const char *marks, const char *title)
{
    add_column(s, table, marks, title, strlen(title));
}

void view_columns(struct site *s, json_t *table, const char *columns)
{
    while (*columns) {
        size_t n = strcspn(columns, "|"), n_marks = columns[0] == '~';
        n_marks += columns[n_marks] == '#';
        add_column(s, table, columns, columns + n_marks, n - n_marks);
        columns += n + (columns[n] == '|');
    }
}

void view_caption(struct site *s, json_t *table, struct phrase sentence)
{
    const char *so_far = json_string_value(json_object_get(table, "caption"));
    if (sentence.id)
        view_text(s, table, "caption", site_text(s, "%s. %s", so_far, say_phrase(&s->arena, &sentence)));
}

json_t *view_table(struct site *s, const struct table_said *is)
{
    json_t *table = view_object(s);
    view_text(s, table, "caption", say_caption(&s->arena, is));
    view_set(s, table, "head", view_list(s));
    view_columns(s, table, say_columns(&s->arena, is));
    view_set(s, table, "rows", view_list(s));
    view_set(s, table, "csv", json_null());
    view_set(s, table, "tex", json_null());
    view_set(s, table, "csv_in_full", json_null());
    view_flag(s, table, "unfolds", false);
    view_flag(s, table, "is_empty", false);
    view_flag(s, table, "is_one_unit", false);
    view_set(s, table, "without", json_null());
    view_set(s, table, "shortened", json_null());
    view_set(s, table, "narrowed", json_null());
    view_set_list(s, table, "legend", view_list(s));
    return table;
}

json_t *view_row(struct site *s, json_t *table, const char *heading)
{
    json_t *row = view_object(s), *cells = view_list(s);
    view_text(s, row, "heading", heading);
    view_set(s, row, "href", json_null());
    view_set(s, row, "fragment", json_null());
    view_set(s, row, "inside", json_null());
    view_set(s, row, "cells", cells);
    view_add(s, json_object_get(table, "rows"), row);
    return cells;
}

static json_t *add_cell(struct site *s, json_t *table, const char *text)
{
    json_t *rows = json_object_get(table, "rows");
    json_t *cells = json_object_get(json_array_get(rows, json_array_size(rows) - 1), "cells");
    json_t *column = json_array_get(json_object_get(table, "head"), json_array_size(cells) + 1);
    json_t *cell = view_object(s);
    view_text(s, cell, "text", text);
    view_set(s, cell, "class", json_null());
    view_set(s, cell, "tip", json_null());
    view_set(s, cell, "remark", json_null());
    view_set(s, cell, "mark", json_null());
    view_set(s, cell, "note", json_null());
    view_set(s, cell, "value", json_null());
    view_set(s, cell, "exact", view_list(s));
    view_flag(s, cell, "num", json_is_true(json_object_get(column, "num")));
    view_add(s, cells, cell);
    return cell;
}

void view_cell(struct site *s, json_t *table, const char *text)
{
    add_cell(s, table, text);
}

void view_exact(struct site *s, json_t *table, const char *name, bool has, double value, const char *unit)
{
    json_t *rows = json_object_get(table, "rows");
    json_t *cells = json_object_get(json_array_get(rows, json_array_size(rows) - 1), "cells");
    json_t *cell = json_array_get(cells, json_array_size(cells) - 1), *exact = view_object(s);
    const char *digits = NULL; /* a text keeps all digits, since templates print numbers as they are */
    if (has && isfinite(value))
        digits = site_text(s, fabs(value) < 9e15 && value == trunc(value) ? "%.0f" : "%.9g", value + 0.0);
    view_text(s, exact, "name", name);
    view_text(s, exact, "value", digits);
    view_text(s, exact, "unit", unit);
    view_add(s, json_object_get(cell, "exact"), exact);
    view_text(s, cell, "value", json_array_size(json_object_get(cell, "exact")) == 1 ? digits : NULL);
}

void view_cell_missing(struct site *s, json_t *table, const struct reason *why, const char *unit)
{
    json_t *cell = add_cell(s, table, "\xe2\x80\x93");
    bool is_said = why->code && why->code != REASON_NOT_MEASURED; /* the dash alone says NOT_MEASURED */
    view_text(s, cell, "mark", is_said ? say_row(why->code)->mark : NULL);
    view_text(s, cell, "note", is_said ? say_clause(&s->arena, why) : "");
    if (unit)
        view_exact(s, table, "", false, 0, unit);
}

void view_cell_text(struct site *s, json_t *table, const char *text)
{
    if (*text)
        view_cell(s, table, text);
    else
        view_cell_missing(s, table, &REASON(NOT_RECORDED), NULL);
}

void view_cell_value(struct site *s, json_t *table, const char *text, bool has, double value, const char *unit)
{
    if (!has && !text) {
        view_cell_missing(s, table, &REASON(NONE), unit);
        return;
    }
    view_cell(s, table, text);
    view_exact(s, table, "", has, value, unit);
}

void view_cell_time(struct site *s, json_t *table, bool has, int64_t ns)
{
    view_cell_value(s, table, has ? fmt_time(ns).text : NULL, has, (double)ns, "ns");
}

void view_cell_signed(struct site *s, json_t *table, int64_t ns)
{
    view_cell_value(s, table, fmt_signed(fmt_time(ns), (double)ns).text, true, (double)ns, "ns");
}

void view_cell_percent(struct site *s, json_t *table, bool has, double ratio)
{
    view_cell_value(s, table, has ? fmt_percent(ratio).text : NULL, has, ratio, "ratio");
}

void view_cell_count(struct site *s, json_t *table, bool has, int64_t n)
{
    view_cell_value(s, table, has ? site_int(s, n) : NULL, has, (double)n, "");
}

void view_cell_bytes(struct site *s, json_t *table, bool has, double bytes)
{
    view_cell_value(s, table, has ? fmt_bytes(bytes).text : NULL, has, bytes, "bytes");
}

static const char *words_of(struct site *s, const struct value *v)
{
    double x = value_number(v);
    switch (v->unit) {
    case UNIT_COUNT:
        return site_int(s, v->whole);
    case UNIT_NUMBER:
        return site_text(s, "%s", fmt_number(x).text);
    case UNIT_FACTOR:
        return site_text(s, "%s", fmt_x(x).text);
    case UNIT_RATIO:
        return site_text(s, "%s", fmt_percent(x).text);
    case UNIT_NS:
        return site_text(s, "%s", fmt_time(llround(x)).text);
    case UNIT_BYTES:
        return site_text(s, "%s", fmt_bytes(x).text);
    default:
        return v->text;
    }
}

void view_metrics(struct site *s, json_t *table, const struct metrics *of, const void *subject, const int *ids)
{
    static const char *const units[] = {
#define X(id, word) word,
        VALUE_UNITS(X)
#undef X
    };
    for (; *ids >= 0; ids++) {
        struct value v = metric_value(of, *ids, subject);
        double x = value_number(&v);
        const char *unit = v.unit == UNIT_NONE ? NULL : units[v.unit];
        if (!value_is_known(&v)) {
            view_cell_missing(s, table, &v.why, unit);
            continue;
        }
        view_cell(s, table, words_of(s, &v));
        if (unit)
            view_exact(s, table, "", true, v.unit == UNIT_NS ? round(x) : x, unit);
    }
}

void view_cell_said(struct site *s, json_t *table, const char *text, const char *number)
{
    json_t *cell = add_cell(s, table, text);
    if (!number || !json_is_true(json_object_get(cell, "num")))
        return;
    json_t *exact = view_object(s);
    view_text(s, exact, "value", number);
    view_add(s, json_object_get(cell, "exact"), exact);
}

void view_cell_interval(struct site *s, json_t *table, const char *text, struct interval i, const char *unit)
{
    if (!text) {
        view_cell_no_interval(s, table, &REASON(NONE), unit);
        return;
    }
    view_cell(s, table, text);
    view_exact(s, table, "from", i.has, i.lo, unit);
    view_exact(s, table, "to", i.has, i.hi, unit);
}

void view_cell_no_interval(struct site *s, json_t *table, const struct reason *why, const char *unit)
{
    view_cell_missing(s, table, why, NULL);
    view_exact(s, table, "from", false, 0, unit);
    view_exact(s, table, "to", false, 0, unit);
}

void view_cell_sub(struct site *s, json_t *table, const char *text, const char *remark)
{
    view_text(s, add_cell(s, table, text), "remark", remark);
}

void view_cell_class(struct site *s, json_t *table, const char *text, const char *class_name)
{
    view_text(s, add_cell(s, table, text), "class", class_name);
}

void view_tip(struct site *s, json_t *table, const char *text)
{
    const json_t *rows = json_object_get(table, "rows");
    const json_t *cells = json_object_get(json_array_get(rows, json_array_size(rows) - 1), "cells");
    if (text && *text)
        view_text(s, json_array_get(cells, json_array_size(cells) - 1), "tip", text);
}

/* ---- units and tooltips ------------------------------------------------------------------------------------------ */

static bool is_missing(const json_t *cell)
{
    return json_is_string(json_object_get(cell, "note"));
}

static json_t *cell_of(const json_t *rows, size_t row, size_t column)
{
    return json_array_get(json_object_get(json_array_get(rows, row), "cells"), column);
}

static bool is_plain_time(const json_t *cell, int64_t *ns)
{
    const json_t *exact = json_object_get(cell, "exact"), *first = json_array_get(exact, 0);
    const char *unit = json_string_value(json_object_get(first, "unit")),
               *value = json_string_value(json_object_get(first, "value")),
               *text = json_string_value(json_object_get(cell, "text"));
    if (json_array_size(exact) != 1 || !unit || !value || !text || strcmp(unit, "ns") != 0)
        return false;
    *ns = strtoll(value, NULL, 10);
    return strcmp(text + (*text == '+'), fmt_time(*ns).text) == 0;
}

/* The time that decides the unit of some columns: the longest. If more than a third of the times would then print as "<
 * 0.01", the next smaller unit is used, unless the longest would get five digits in it. */
static int64_t measure_of(const json_t *rows, size_t column, size_t end)
{
    int64_t longest = 0, ns;
    size_t n = 0, n_lost = 0;
    for (size_t r = 0; r < json_array_size(rows); r++)
        for (size_t i = column; i < end; i++)
            if (is_plain_time(cell_of(rows, r, i), &ns) && llabs(ns) > longest)
                longest = llabs(ns);
    for (size_t r = 0; r < json_array_size(rows); r++)
        for (size_t i = column; i < end; i++)
            if (is_plain_time(cell_of(rows, r, i), &ns) && ns != 0) {
                const struct fmt f = fmt_time_beside(ns, longest);
                n++;
                n_lost += *f.text == '<' || *f.text == '>';
            }
    double in_unit = (double)longest;
    while (in_unit >= 999.5)
        in_unit /= 1000;
    return 3 * n_lost > n && in_unit < 9.995 && longest > 999 ? longest / 1000 : longest;
}

void view_in_one_unit(struct site *s, json_t *table)
{
    json_t *rows = json_object_get(table, "rows");
    size_t n_columns = json_array_size(json_object_get(table, "head"));
    bool is_one = json_is_true(json_object_get(table, "is_one_unit"));
    int64_t longest = is_one && n_columns > 1 ? measure_of(rows, 0, n_columns - 1) : 0;
    for (size_t i = 0; i + 1 < n_columns; i++) {
        int64_t ns;
        longest = is_one ? longest : measure_of(rows, i, i + 1);
        for (size_t r = 0; r < json_array_size(rows); r++) {
            json_t *cell = cell_of(rows, r, i);
            if (!is_plain_time(cell, &ns))
                continue;
            struct fmt alone = fmt_time(ns), beside = fmt_time_beside(ns, longest);
            if (strcmp(alone.text, beside.text) == 0)
                continue;
            const char *sign = *json_string_value(json_object_get(cell, "text")) == '+' ? "+" : "";
            view_text(s, cell, "text", site_text(s, "%s%s", *beside.text == '<' ? "" : sign, beside.text));
            view_text(s, cell, "tip", site_text(s, "%s%s", sign, alone.text));
        }
    }
}

void view_unit_for_all(struct site *s, json_t *table)
{
    view_flag(s, table, "is_one_unit", true);
}

static size_t column_called(const json_t *head, const char *name)
{
    for (size_t i = 1; i < json_array_size(head); i++)
        if (strcmp(json_string_value(json_object_get(json_array_get(head, i), "text")), name) == 0)
            return i;
    return 0;
}

void view_threshold_tips(struct site *s, json_t *table)
{
    json_t *head = json_object_get(table, "head"), *rows = json_object_get(table, "rows");
    size_t verdict = column_called(head, "Verdict"), threshold = column_called(head, "Threshold");
    if (!verdict || !threshold)
        return;
    for (size_t r = 0; r < json_array_size(rows); r++) {
        const json_t *cell = cell_of(rows, r, threshold - 1);
        if (!is_missing(cell) && json_is_null(json_object_get(cell_of(rows, r, verdict - 1), "tip")))
            view_text(s, cell_of(rows, r, verdict - 1), "tip",
                      site_text(s, "threshold %s", json_string_value(json_object_get(cell, "text"))));
        json_array_remove(json_object_get(json_array_get(rows, r), "cells"), threshold - 1);
    }
    json_array_remove(head, threshold);
}

/* ---- long tables ------------------------------------------------------------------------------------------------ */

void view_keep_rows(struct site *s, json_t *table, const size_t *row, size_t n)
{
    json_t *rows = json_object_get(table, "rows"), *kept = view_list(s);
    size_t n_all = json_array_size(rows);
    for (size_t i = 0; i < n; i++)
        if (row[i] < n_all)
            view_add(s, kept, json_incref(json_array_get(rows, row[i])));
    size_t n_kept = json_array_size(kept);
    view_set(s, table, "rows", kept);
    view_text(s, table, "shortened",
              say_phrase(&s->arena, &PHRASE(ROWS_SHOWN, slot_count((int64_t)n_kept), slot_count((int64_t)n_all))));
}

static void remove_column(json_t *head, json_t *rows, size_t column)
{
    json_array_remove(head, column);
    for (size_t r = 0; r < json_array_size(rows); r++)
        json_array_remove(json_object_get(json_array_get(rows, r), "cells"), column - 1);
}

/* Is a value missing for the reason of this mark, in a cell or in the text below the table? */
static bool is_mark_used(const json_t *table, const char *mark)
{
    const json_t *rows = json_object_get(table, "rows");
    const char *without = json_string_value(json_object_get(table, "without"));
    char named[16];
    snprintf(named, sizeof named, "(%s)", mark);
    if (without && strstr(without, named))
        return true;
    for (size_t r = 0; r < json_array_size(rows); r++) {
        const json_t *cells = json_object_get(json_array_get(rows, r), "cells");
        for (size_t i = 0; i < json_array_size(cells); i++) {
            const char *of_cell = json_string_value(json_object_get(json_array_get(cells, i), "mark"));
            if (of_cell && strcmp(of_cell, mark) == 0)
                return true;
        }
    }
    return false;
}

/* Number of columns of a table that a page shows. */
#define COLUMNS_SHOWN 7

void view_narrow(struct site *s, json_t *table)
{
    json_t *head = json_object_get(table, "head"), *rows = json_object_get(table, "rows");
    int n_dropped = 0;
    for (size_t i = json_array_size(head); i-- > 1 && json_array_size(head) > COLUMNS_SHOWN;) {
        if (!json_is_true(json_object_get(json_array_get(head, i), "is_detail")))
            continue;
        remove_column(head, rows, i);
        n_dropped++;
    }
    if (!n_dropped)
        return;
    view_text(s, table, "narrowed", say_phrase(&s->arena, &PHRASE(COLUMNS_LEFT, slot_count(n_dropped))));
    json_t *legend = json_object_get(table, "legend");
    for (size_t i = json_array_size(legend); i-- > 0;)
        if (!is_mark_used(table, json_string_value(json_object_get(json_array_get(legend, i), "sign"))))
            json_array_remove(legend, i);
    view_flag(s, table, "has_legend", json_array_size(legend) > 0);
}

void view_shorten(struct site *s, json_t *table, size_t most)
{
    size_t n = json_array_size(json_object_get(table, "rows"));
    if (!json_is_object(table) || n <= most + 2)
        return;
    size_t *row = dcr_arena_alloc(&s->arena, most * sizeof *row);
    for (size_t i = 0; i < most; i++)
        row[i] = i;
    view_keep_rows(s, table, row, most);
}

void view_unfold(struct site *s, json_t *table, size_t row, const json_t *from, size_t at, size_t n)
{
    json_t *shown = json_array_get(json_object_get(table, "rows"), row);
    if (!shown || n == 0)
        return;
    json_t *inside = view_object(s), *rows = view_list(s);
    for (size_t i = at; i < at + n; i++) {
        json_t *one = json_incref(json_array_get(from, i));
        view_flag(s, one, "is_one_of_several", n > 1);
        view_add(s, rows, one);
    }
    view_set(s, inside, "rows_inside", rows);
    view_text(s, inside, "count", n > 1 ? site_text(s, "%s", fmt_count((int64_t)n, "name").text) : NULL);
    view_set(s, shown, "inside", inside);
    view_flag(s, table, "unfolds", true);
    view_set(s, table, "span", json_integer((json_int_t)json_array_size(json_object_get(table, "head"))));
}

/* ---- tables without empty rows and columns ---------------------------------------------------------------------- */

void view_row_empty(struct site *s, json_t *table)
{
    json_t *rows = json_object_get(table, "rows");
    view_flag(s, json_array_get(rows, json_array_size(rows) - 1), "is_empty", true);
}

void view_row_told(struct site *s, json_t *table)
{
    json_t *rows = json_object_get(table, "rows");
    view_row_empty(s, table);
    view_flag(s, json_array_get(rows, json_array_size(rows) - 1), "is_told", true);
}

static bool is_told(const json_t *rows, size_t row)
{
    return json_is_true(json_object_get(json_array_get(rows, row), "is_told"));
}

static bool is_empty_row(const json_t *rows, size_t row)
{
    const json_t *all = json_array_get(rows, row), *cells = json_object_get(all, "cells");
    if (json_is_true(json_object_get(all, "is_empty")))
        return true;
    for (size_t i = 0; i < json_array_size(cells); i++)
        if (!is_missing(json_array_get(cells, i)))
            return false;
    return json_array_size(cells) > 0;
}

static bool is_empty_column(const json_t *rows, size_t column)
{
    for (size_t r = 0; r < json_array_size(rows); r++)
        if (!is_missing(cell_of(rows, r, column)))
            return false;
    return json_array_size(rows) > 0;
}

/* "Occupancy (R), Tensor cores (N)": with the mark of its first cell. */
static void add_without(struct dcr_buf *out, const char *name, const json_t *cell)
{
    const char *mark = json_string_value(json_object_get(cell, "mark"));
    dcr_buf_printf(out, "%s%s", out->len ? ", " : "", name);
    if (mark)
        dcr_buf_printf(out, " (%s)", mark);
}

static void explain(struct site *s, json_t *table, const char *mark)
{
    json_t *legend = json_object_get(table, "legend"), *v;
    for (size_t i = 0; i < json_array_size(legend); i++)
        if (strcmp(json_string_value(json_object_get(json_array_get(legend, i), "sign")), mark) == 0)
            return;
    v = view_object(s);
    view_text(s, v, "sign", mark);
    view_text(s, v, "words", say_mark(mark));
    view_add(s, legend, v);
    view_flag(s, table, "has_legend", true);
}

void view_pruned(struct site *s, json_t *table)
{
    json_t *head = json_object_get(table, "head"), *rows = json_object_get(table, "rows");
    struct dcr_buf without = {0};
    size_t n_empty = 0;
    for (size_t r = 0; r < json_array_size(rows); r++)
        n_empty += is_empty_row(rows, r);
    bool is_empty = n_empty && n_empty == json_array_size(rows);
    view_flag(s, table, "is_empty", is_empty);
    for (size_t r = 0; r < json_array_size(rows); r++)
        for (size_t i = 1; i < json_array_size(head); i++) {
            const char *mark = json_string_value(json_object_get(cell_of(rows, r, i - 1), "mark"));
            if (mark && !is_told(rows, r))
                explain(s, table, mark);
        }
    for (size_t i = json_array_size(head); i-- > 1 && !is_empty;)
        if (is_empty_column(rows, i - 1)) {
            add_without(&without, json_string_value(json_object_get(json_array_get(head, i), "text")),
                        cell_of(rows, 0, i - 1));
            remove_column(head, rows, i);
        }
    for (size_t r = json_array_size(rows); r-- > 0 && !is_empty;)
        if (is_empty_row(rows, r)) {
            if (!is_told(rows, r))
                add_without(&without, json_string_value(json_object_get(json_array_get(rows, r), "heading")),
                            cell_of(rows, r, 0));
            json_array_remove(rows, r);
        }
    if (without.len)
        view_text(s, table, "without", site_text(s, "%s", dcr_buf_text(&without)));
    dcr_buf_release(&without);
}
