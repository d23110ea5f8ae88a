/* table_files.c - every table of the site as CSV, for calculations, and as LaTeX, for papers (table_tex.c); and the
 * list of such files. See inside.h. */
#include "render/site/theme/inside.h"

#include "render/site/theme/table_tex.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* RFC 4180. Spreadsheets read a leading = + - @ as a formula, so a quotation mark is put before foreign text. */
static void csv_text(struct dcr_buf *out, const char *text)
{
    bool is_number = *text && text[1] && text[1 + strspn(text + 1, "0123456789.")] == '\0';
    bool is_formula = *text && (strchr("=@", *text) || (strchr("+-", *text) && !is_number));
    if (!strpbrk(text, ",\"\n\r")) {
        dcr_buf_printf(out, "%s%s", is_formula ? "'" : "", text);
        return;
    }
    dcr_buf_puts(out, is_formula ? "\"'" : "\"");
    for (; *text; text++) {
        if (*text == '"')
            dcr_buf_putc(out, '"');
        dcr_buf_putc(out, *text);
    }
    dcr_buf_putc(out, '"');
}

/* One column of a table. The CSV has a column for each exact value of its cells, and one for texts in place of values.
 */
struct csv_column {
    const char *head;
    const json_t *names; /* the exact values of one of its cells; several values have names */
    bool is_text, is_mixed, has_notes;
};

static const json_t *cell_at(const json_t *rows, size_t row, size_t column)
{
    return json_array_get(json_object_get(json_array_get(rows, row), "cells"), column);
}

/* NULL: it has none */
static const char *number_of(const json_t *cell, size_t k)
{
    return json_string_value(json_object_get(json_array_get(json_object_get(cell, "exact"), k), "value"));
}

static const char *unit_of(const json_t *cell, size_t k)
{
    return text_of(json_array_get(json_object_get(cell, "exact"), k), "unit");
}

static bool has_number(const json_t *cell)
{
    for (size_t k = 0; k < json_array_size(json_object_get(cell, "exact")); k++)
        if (number_of(cell, k))
            return true;
    return false;
}

/* The reason of a missing value; the text of a cell with text in a column of numbers; "" for others. */
static const char *note_of(const json_t *cell, bool is_text)
{
    const char *note = json_string_value(json_object_get(cell, "note"));
    return note ? note : is_text || has_number(cell) ? "" : text_of(cell, "text");
}

/* "2 nodes, share": a head that several columns share is prefixed with the head before it. */
static const char *head_of(struct site *s, const json_t *heads, size_t i)
{
    const char *head = text_of(json_array_get(heads, i), "text");
    size_t same = 0;
    for (size_t k = 0; k < json_array_size(heads); k++)
        same += strcmp(text_of(json_array_get(heads, k), "text"), head) == 0;
    return same > 1 && i > 0 ? site_text(s, "%s, %s", text_of(json_array_get(heads, i - 1), "text"), head) : head;
}

static struct csv_column column_of(struct site *s, const json_t *heads, const json_t *rows, size_t i)
{
    bool is_number = json_is_true(json_object_get(json_array_get(heads, i + 1), "num"));
    struct csv_column c = {.head = head_of(s, heads, i + 1), .is_text = !is_number};
    for (size_t r = 0; r < json_array_size(rows) && !c.names; r++)
        if (json_array_size(json_object_get(cell_at(rows, r, i), "exact")))
            c.names = json_object_get(cell_at(rows, r, i), "exact");
    c.is_text &= !c.names;
    const json_t *first = NULL;
    for (size_t r = 0; r < json_array_size(rows); r++) {
        const json_t *cell = cell_at(rows, r, i);
        c.has_notes |= *note_of(cell, c.is_text) != '\0';
        if (!json_array_size(json_object_get(cell, "exact")))
            continue;
        first = first ? first : cell;
        c.is_mixed |= strcmp(unit_of(cell, 0), unit_of(first, 0)) != 0;
    }
    return c;
}

static size_t n_values(const struct csv_column *c)
{
    return json_array_size(c->names) > 1 ? json_array_size(c->names) : 1;
}

static void csv_head(struct site *s, const struct csv_column *c, struct dcr_buf *out)
{
    for (size_t k = 0; k < n_values(c); k++) {
        const json_t *exact = json_array_get(c->names, k);
        const char *name = text_of(exact, "name"), *unit = c->is_mixed ? "" : text_of(exact, "unit");
        bool is_said = strcasecmp(c->head, unit) == 0; /* "Bytes" */
        const char *of = *unit && !is_said ? site_text(s, " (%s)", unit) : "";
        dcr_buf_putc(out, ',');
        csv_text(out, site_text(s, "%s%s%s%s", c->head, *name ? ", " : "", name, of));
    }
    if (c->has_notes) {
        dcr_buf_putc(out, ',');
        csv_text(out, site_text(s, "%s, note", c->head));
    }
}

static void csv_cell(const struct csv_column *c, const json_t *cell, struct dcr_buf *out)
{
    if (c->is_text) {
        dcr_buf_putc(out, ',');
        csv_text(out, json_is_string(json_object_get(cell, "note")) ? "" : text_of(cell, "text"));
    }
    for (size_t k = 0; k < n_values(c) && !c->is_text; k++) {
        const char *number = number_of(cell, k);
        dcr_buf_printf(out, ",%s", number ? number : "");
    }
    if (c->has_notes) {
        dcr_buf_putc(out, ',');
        csv_text(out, note_of(cell, c->is_text));
    }
}

/* Columns of numbers hold only numbers, of one unit, which the head names; a cell without a number is empty. If the
 * rows have different units, a column "Unit" names them. */
static void write_csv(struct site *s, const json_t *table, struct dcr_buf *out)
{
    const json_t *head = json_object_get(table, "head"), *rows = json_object_get(table, "rows");
    size_t n = json_array_size(head), mixed = n;
    if (n == 0)
        return;
    struct csv_column *columns = dcr_arena_alloc(&s->arena, n * sizeof *columns);
    for (size_t i = 1; i < n; i++) {
        columns[i] = column_of(s, head, rows, i - 1);
        mixed = columns[i].is_mixed && mixed == n ? i : mixed;
    }
    csv_text(out, text_of(json_array_get(head, 0), "text"));
    if (mixed < n)
        dcr_buf_puts(out, ",Unit");
    for (size_t i = 1; i < n; i++)
        csv_head(s, &columns[i], out);
    dcr_buf_puts(out, "\n");
    for (size_t r = 0; r < json_array_size(rows); r++) {
        csv_text(out, text_of(json_array_get(rows, r), "heading"));
        const char *unit = "";
        for (size_t i = mixed; i < n && !*unit; i++)
            unit = columns[i].is_mixed ? unit_of(cell_at(rows, r, i - 1), 0) : "";
        if (mixed < n) {
            dcr_buf_putc(out, ',');
            csv_text(out, unit);
        }
        for (size_t i = 1; i < n; i++)
            csv_cell(&columns[i], cell_at(rows, r, i - 1), out);
        dcr_buf_puts(out, "\n");
    }
}

void site_data_file(struct site *s, const char *title, const char *forms, int run)
{
    json_t *v = view_object(s), *list = view_list(s);
    view_text(s, v, "title", title);
    while (*forms) {
        size_t name = strcspn(forms, "|"), path = strcspn(forms + name + 1, "|");
        json_t *form = view_object(s);
        view_text(s, form, "name", site_text(s, "%.*s", (int)name, forms));
        view_text(s, form, "path", site_text(s, "%.*s", (int)path, forms + name + 1));
        view_add(s, list, form);
        forms += name + 1 + path;
        forms += *forms == '|';
    }
    view_set(s, v, "forms", list);
    view_set(s, v, "run", json_integer(run));
    view_add(s, s->data_files, v);
}

void site_table(struct site *s, json_t *table, const char *stem, int run)
{
    if (s->rc || !json_is_object(table))
        return;
    view_in_one_unit(s, table);
    const char *slug = run >= 0 ? s->rep->runs[run].slug : NULL;
    const char *at = slug ? site_text(s, "runs/%s/", slug) : "",
               *label = slug ? site_text(s, "%s-%s", slug, stem) : stem;
    static const char *const names[] = {"csv", "tex"};
    const char *path[2] = {"", ""};
    for (int i = 0; i < 2; i++) {
        struct dcr_buf out = {0};
        const char *from = site_text(s, "tables/%s.%s", stem, names[i]);
        path[i] = site_text(s, "%s%s", at, from);
        if (i == 0)
            write_csv(s, table, &out);
        else {
            view_pruned(s, table);
            table_tex(table, label, s->sources, &out);
        }
        if (out.failed)
            site_fail(s, dcr_err_set(s->err, DCR_FATAL, "out of memory making a table"));
        site_write(s, path[i], dcr_buf_text(&out), out.len);
        dcr_buf_release(&out);
        view_text(s, table, names[i], from);
    }
    view_narrow(s, table);
    site_data_file(s, text_of(table, "caption"), site_text(s, "CSV|%s|LaTeX|%s", path[0], path[1]), run);
}
