/* page_method.c - how the numbers are made, the words, the formulas, the files to take away, and how to cite them. */
#include "render/site/figures/figure.h"

#include "lib/base/utf8.h"
#include "render/say/format.h"
#include "render/site/theme/markdown.h"
#include "render/site/theme/script.h"
#include "render/write/escape.h"

#include <string.h>

/* "speedup" of tables/speedup.csv and of figures/speedup.png; its length in *n. */
static const char *stem_of(const json_t *v, size_t *n)
{
    const char *path = json_string_value(json_object_get(json_array_get(json_object_get(v, "forms"), 0), "path"));
    const char *slash = path ? strrchr(path, '/') : NULL;
    path = slash ? slash + 1 : path ? path : "";
    *n = strcspn(path, ".");
    return path;
}

/* A figure's table is listed just before it, so both share one line. NULL: they are no such pair. */
static json_t *with_table(struct site *s, const json_t *table, const json_t *figure)
{
    size_t n, n_figure;
    const char *stem = stem_of(table, &n), *of_figure = stem_of(figure, &n_figure);
    json_t *run = json_object_get(table, "run");
    if (!figure || n != n_figure || strncmp(stem, of_figure, n) || !json_equal(run, json_object_get(figure, "run")))
        return NULL;
    json_t *v = view_object(s), *forms = json_copy(json_object_get(figure, "forms"));
    json_array_extend(forms, json_object_get(table, "forms"));
    view_set(s, v, "title", json_incref(json_object_get(figure, "title")));
    view_set(s, v, "forms", forms);
    return v;
}

/* The files of one run, or of the whole site: those with forms in their own list. */
static json_t *files_of(struct site *s, int run)
{
    json_t *list = view_list(s);
    for (size_t i = 0; i < json_array_size(s->data_files); i++) {
        json_t *v = json_array_get(s->data_files, i), *both;
        if (json_integer_value(json_object_get(v, "run")) != run)
            continue;
        both = with_table(s, v, json_array_get(s->data_files, i + 1));
        view_add(s, list, both ? both : json_incref(v));
        i += both != NULL;
    }
    return list;
}

/* An id is letters, digits, dashes and underscores; a slug may have the dots of a file name. */
static const char *anchor_of(struct site *s, const char *slug)
{
    char *anchor = dcr_arena_strdup(&s->arena, site_text(s, "run-%s", slug));
    for (char *c = anchor; *c; c++)
        *c = *c == '.' ? '-' : *c;
    return anchor;
}

static json_t *groups(struct site *s)
{
    json_t *list = view_list(s);
    for (int run = -1; run < s->rep->n_runs; run++) {
        json_t *v = view_object(s), *files = files_of(s, run);
        view_text(s, v, "label", run < 0 ? "The whole report" : s->rep->runs[run].label);
        view_text(s, v, "anchor", run < 0 ? "all" : anchor_of(s, s->rep->runs[run].slug));
        view_set(s, v, "files", files);
        if (json_array_size(files))
            view_add(s, list, v);
        else
            json_decref(v);
    }
    return list;
}

/* Escapes BibTeX's special characters and leaves out characters that it cannot take. */
static void bib_text(struct dcr_buf *out, const char *text)
{
    while (*text) {
        char c[5];
        uint32_t code;
        text += utf8_next(text, c, &code);
        if (strchr("&%$#_", *c))
            dcr_buf_putc(out, '\\');
        if (!strchr("{}\\~^", *c))
            dcr_buf_puts(out, c);
    }
}

/* Year and date are those of the evidence, not of a clock. */
static const char *bibtex(struct site *s)
{
    const struct report *rep = s->rep;
    struct dcr_buf b = {0};
    dcr_buf_puts(&b, "@misc{dcreport,\n  title = {");
    bib_text(&b, rep->title);
    dcr_buf_puts(&b, ": performance report},\n");
    for (int i = 0; i < rep->n_runs; i++)
        if (rep->runs[i].run->ended_s > 0) { /* otherwise the date is unknown */
            dcr_buf_printf(&b, "  year = {%.4s},\n", s->date);
            break;
        }
    dcr_buf_puts(&b, "  howpublished = {dcreport " DCR_VERSION "},\n  note = {");
    for (int i = 0; i < s->n_cited; i++) {
        const struct cited *c = &s->cited[i];
        dcr_buf_puts(&b, i == 0 ? "archives:\n    " : c->run < 0 && c[-1].run >= 0 ? "; before:\n    " : ";\n    ");
        bib_text(&b, c->is.archive);
        if (*c->is.sha256)
            dcr_buf_printf(&b, " (%s SHA-256 %s)", c->is.sha256_of, c->is.sha256);
    }
    dcr_buf_puts(&b, "}\n}\n");
    const char *text = site_text(s, "%s", dcr_buf_text(&b));
    dcr_buf_release(&b);
    return text;
}

static json_t *versions(struct site *s)
{
    json_t *t = view_table(s, TABLE(VERSIONS));
    for (int i = 0; i < s->n_cited; i++) {
        const struct cited *c = &s->cited[i];
        view_row(s, t, c->is.archive);
        view_cell(s, t, c->run < 0 ? "before (baseline)" : s->rep->runs[c->run].label);
        view_cell_text(s, t, c->is.program);
        view_cell_text(s, t, c->is.backend);
        view_cell_text(s, t, c->is.collector);
        view_cell(s, t, c->is.sha256_of);
        view_cell_class(s, t, *c->is.sha256 ? c->is.sha256 : c->is.unhashed, "hash");
    }
    return t;
}

static int has_columns(const struct report *rep)
{
    for (int i = 0; i < rep->n_runs; i++)
        for (size_t k = 0; k < rep->runs[i].run->n_members; k++)
            if (rep->runs[i].run->members[k].columns_read)
                return 1;
    return 0;
}

/* Files that no packer listed: the kind of each was told by its content, which the reader may want to check. */
static json_t *inputs_table(struct site *s)
{
    int is_columns = has_columns(s->rep), n = 0;
    json_t *t = view_table(s, is_columns ? TABLE(INPUTS_WITH_COLUMNS) : TABLE(INPUTS));
    for (int i = 0; i < s->rep->n_runs; i++) {
        const struct run *run = s->rep->runs[i].run;
        for (size_t k = 0; !run->has_manifest && k < run->n_members; k++, n++) {
            const struct run_member *m = &run->members[k];
            view_row(s, t, m->name);
            view_cell(s, t, s->rep->runs[i].label);
            view_cell(s, t, m->role);
            if (is_columns)
                view_cell(s, t, m->columns_read ? m->columns_read : "");
            if (is_columns)
                view_cell(s, t, m->columns_unread ? m->columns_unread : "");
        }
    }
    if (n)
        return t;
    json_decref(t);
    return json_null();
}

static json_t *categories_table(struct site *s)
{
    json_t *t = view_table(s, TABLE(CATEGORIES_EXPLAINED));
#define X(id, key, name, covers) \
    view_row(s, t, name);        \
    view_cell(s, t, covers);
    RUN_CATEGORIES(X)
#undef X
    return t;
}

static json_t *thresholds_table(struct site *s)
{
    const struct thresholds *v = &s->rep->thresholds;
    json_t *t = view_table(s, TABLE(THRESHOLDS));
#define X(name, def, lo, hi, meaning)                                                                          \
    view_row(s, t, #name);                                                                                     \
    view_cell_class(s, t, site_text(s, "%g", v->name), v->name > (def) || v->name < (def) ? "v-watch" : NULL); \
    view_exact(s, t, "", true, v->name, "");                                                                   \
    view_cell_value(s, t, site_text(s, "%g", (double)(def)), true, (double)(def), "");                         \
    view_cell(s, t, meaning);
    THRESHOLDS(X)
#undef X
    return t;
}

static void set_document(struct site *s, json_t *data, const char *name, const char *markdown, const char *prefix)
{
    struct dcr_buf html = {0};
    if (!s->rc)
        site_fail(s, markdown_to_html(markdown, strlen(markdown), prefix, &html, s->err));
    view_html(s, data, name, &html);
    dcr_buf_release(&html);
}

void page_methodology(struct site *s)
{
    json_t *data = view_object(s), *t = versions(s);
    view_set(s, data, "categories", categories_table(s));
    view_set(s, data, "thresholds", thresholds_table(s));
    site_table(s, json_object_get(data, "thresholds"), "thresholds", -1);
    set_document(s, data, "glossary", document_glossary(), "words-");
    set_document(s, data, "formulas", document_metrics(), "formulas-");
    site_table(s, t, "versions", -1);
    view_set(s, data, "versions", t);
    json_t *inputs = inputs_table(s);
    if (json_is_object(inputs))
        site_table(s, inputs, "inputs", -1);
    view_set(s, data, "inputs", inputs);
    const char *bib = bibtex(s);
    site_write(s, "citation.bib", bib, strlen(bib));
    struct dcr_buf html = {0};
    html_text(&html, bib);
    view_html(s, data, "bibtex", &html);
    dcr_buf_release(&html);
    view_text(s, data, "version", DCR_VERSION);
    view_text(s, data, "left_out",
              s->rep->n_runs > FIGURE_RUN_FILES_MAX
                  ? site_text(s,
                              "Above %d runs, figures of single runs are on their pages only. A report on one run has "
                              "them as files.",
                              FIGURE_RUN_FILES_MAX)
                  : NULL);
    view_set(s, data, "groups", groups(s));
    site_page(s, "methodology", "methodology.html", site_text(s, "Method and data, %s", s->rep->title), "methodology",
              data);
}
