/* table_files.c - every table of the site as CSV, for those who calculate, and as LaTeX, for those who write
 * (table_tex.c); and the list of such files. See inside.h. */
#include "render/site/inside.h"

#include "render/site/table_tex.h"

#include <string.h>

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* RFC 4180. A spreadsheet takes a leading = + - @ for a formula: numbers may begin so, foreign text must not. */
static void csv_field(struct dcr_buf *out, const char *text, bool is_number)
{
    bool is_amount = (*text == '+' || *text == '-') && text[1] >= '0' && text[1] <= '9' && !strpbrk(text + 1, "=+-*/(");
    if (!is_number && !is_amount && *text && strchr("=+-@", *text))
        dcr_buf_putc(out, '\'');
    if (!strpbrk(text, ",\"\n\r")) {
        dcr_buf_puts(out, text);
        return;
    }
    dcr_buf_putc(out, '"');
    for (; *text; text++) {
        if (*text == '"')
            dcr_buf_putc(out, '"');
        dcr_buf_putc(out, *text);
    }
    dcr_buf_putc(out, '"');
}

/* The unit of a column's exact values; "" when it has none. */
static const char *unit_of_column(const json_t *rows, size_t column)
{
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *cell = json_array_get(json_object_get(json_array_get(rows, i), "cells"), column);
        if (*text_of(cell, "value"))
            return text_of(cell, "unit");
    }
    return "";
}

static bool is_plain_number(const char *text)
{
    size_t digits = strspn(text, "+-0123456789.,");
    return digits > 0 && text[digits] == '\0' && strpbrk(text, "0123456789");
}

static void write_csv(const json_t *table, struct dcr_buf *out)
{
    const json_t *head = json_object_get(table, "head"), *rows = json_object_get(table, "rows");
    for (size_t i = 0; i < json_array_size(head); i++) {
        const char *unit = i ? unit_of_column(rows, i - 1) : "";
        if (i)
            dcr_buf_putc(out, ',');
        csv_field(out, text_of(json_array_get(head, i), "text"), false);
        if (*unit)
            dcr_buf_printf(out, " (%s)", unit);
    }
    dcr_buf_puts(out, "\n");
    for (size_t r = 0; r < json_array_size(rows); r++) {
        const json_t *row = json_array_get(rows, r), *cells = json_object_get(row, "cells");
        csv_field(out, text_of(row, "heading"), is_plain_number(text_of(row, "heading")));
        for (size_t i = 0; i < json_array_size(cells); i++) {
            const json_t *cell = json_array_get(cells, i);
            const char *value = text_of(cell, "value"), *text = text_of(cell, "text");
            dcr_buf_putc(out, ',');
            csv_field(out, *value ? value : text, *value || is_plain_number(text));
        }
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
            write_csv(table, &out);
        else
            table_tex(table, label, s->sources, &out);
        if (out.failed)
            site_fail(s, dcr_err_set(s->err, DCR_FATAL, "out of memory making a table"));
        site_write(s, path[i], dcr_buf_text(&out), out.len);
        dcr_buf_release(&out);
        view_text(s, table, names[i], from);
    }
    site_data_file(s, text_of(table, "caption"), site_text(s, "CSV|%s|LaTeX|%s", path[0], path[1]), run);
}
