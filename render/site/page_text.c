/* page_text.c - pages that are read, not looked at: the analysis document and the method. */
#include "render/site/inside.h"

#include "render/pages/pages.h"
#include "render/site/markdown.h"
#include "render/site/script.h"
#include "render/write/html.h"

#include <string.h>

void page_analysis(struct site *s)
{
    json_t *data = view_object(s);
    struct dcr_buf html = {0};
    struct doc d = {0};
    page_of_analysis(s->rep, &d);
    write_html(&d, &html);
    doc_release(&d);
    view_html(s, data, "html", &html);
    view_text(s, data, "source", "BOTTLENECK_ANALYSIS.md");
    view_flag(s, data, "is_reference", false);
    dcr_buf_release(&html);
    site_page(s, "document", "analysis.html", site_text(s, "Analysis, %s", s->rep->title), "analysis", data);
}

static json_t *categories_table(struct site *s)
{
    json_t *t = view_table(s, "Where an instant of a step goes", "Category|What it covers");
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
    json_t *t = view_table(s, "Thresholds of this report", "Name|#Here|#Default|Meaning");
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

void page_methodology(struct site *s)
{
    json_t *data = view_object(s);
    view_set(s, data, "categories", categories_table(s));
    view_set(s, data, "thresholds", thresholds_table(s));
    site_table(s, json_object_get(data, "thresholds"), "thresholds", -1);
    site_page(s, "methodology", "methodology.html", site_text(s, "Method, %s", s->rep->title), "methodology", data);
}

static void page_document(struct site *s, const char *markdown, const char *path, const char *title, const char *here)
{
    json_t *data = view_object(s);
    struct dcr_buf html = {0};
    if (!s->rc)
        site_fail(s, markdown_to_html(markdown, strlen(markdown), &html, s->err));
    view_html(s, data, "html", &html);
    view_set(s, data, "source", json_null());
    view_flag(s, data, "is_reference", true);
    dcr_buf_release(&html);
    site_page(s, "document", path, site_text(s, "%s, %s", title, s->rep->title), here, data);
}

void page_reference(struct site *s)
{
    page_document(s, document_metrics(), "formulas.html", "Formulas", "methodology");
    page_document(s, document_glossary(), "glossary.html", "Glossary", "methodology");
}
