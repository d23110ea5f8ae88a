/* frame.c - what surrounds every page (navigation, archives, policy), and the page put into it. See inside.h. */
#include "render/site/theme/inside.h"

#include "lib/base/utf8.h"
#include "render/site/theme/script.h"
#include "render/say/format.h"
#include "render/say/say.h"

#include <string.h>

/* Longest title in a tab, in a list of results, and in one place of the navigation. The page itself has the whole
 * title. */
#define TITLE_LETTERS 70
#define NAV_LETTERS 36

/* Long names are shortened in the middle, because their ends tell them apart more often. */
static const char *shortened(struct site *s, const char *text, int most)
{
    int n = 0, at = 0, tail = most * 2 / 5, head = most - tail - 1;
    struct dcr_buf out = {0};
    char c[5];
    uint32_t code;
    for (const char *rest = text; *rest; n++)
        rest += utf8_next(rest, c, &code);
    if (n <= most)
        return text;
    for (const char *rest = text; *rest; at++) {
        rest += utf8_next(rest, c, &code);
        if (at < head || at >= n - tail)
            dcr_buf_puts(&out, c);
        else if (at == head)
            dcr_buf_puts(&out, "\xe2\x80\xa6");
    }
    const char *kept = site_text(s, "%s", dcr_buf_text(&out));
    dcr_buf_release(&out);
    return kept;
}

static void add_entry(struct site *s, json_t *nav, const char *text, const char *href, bool is_here)
{
    json_t *entry = view_object(s);
    view_text(s, entry, "text", text);
    view_text(s, entry, "href", href);
    view_flag(s, entry, "here", is_here);
    view_add(s, nav, entry);
}

/* Up to this many runs are named in the navigation; further ones are only in the index's table. */
#define NAV_RUNS_MAX 8

bool has_scaling(const struct site *s)
{
    for (int i = 0; i < s->rep->n_series; i++)
        if (s->rep->series[i].n_points > 1)
            return true;
    return false;
}

static json_t *navigation(struct site *s, const char *root, const char *here)
{
    json_t *nav = view_list(s);
    add_entry(s, nav, "Report", site_text(s, "%sindex.html", root), !strcmp(here, "index"));
    for (int i = 0; i < s->rep->n_runs && s->rep->n_runs <= NAV_RUNS_MAX; i++) {
        const struct run_result *r = &s->rep->runs[i];
        add_entry(s, nav, shortened(s, r->label, NAV_LETTERS), site_text(s, "%sruns/%s/index.html", root, r->slug),
                  !strcmp(here, r->slug));
    }
    if (has_scaling(s))
        add_entry(s, nav, "Scaling", site_text(s, "%sscaling.html", root), !strcmp(here, "scaling"));
    if (s->rep->n_comparisons || s->rep->changes)
        add_entry(s, nav, "Before and after", site_text(s, "%scompare.html", root), !strcmp(here, "compare"));
    add_entry(s, nav, "Method and data", site_text(s, "%smethodology.html", root), !strcmp(here, "methodology"));
    return nav;
}

static json_t *archives(struct site *s)
{
    json_t *list = view_list(s);
    for (int i = 0; i < s->n_cited; i++) {
        const struct cited *c = &s->cited[i];
        json_t *a = view_object(s);
        view_text(s, a, "name", c->is.archive);
        view_text(s, a, "which", c->which);
        view_text(s, a, "sha256", c->is.sha256);
        view_text(s, a, "sha256_of", c->is.sha256_of);
        view_add(s, list, a);
    }
    return list;
}

/* With more archives than this, the line under a page gives their number; the list that it opens has their names. */
#define NAMED_MAX 4

static const char *made_from(struct site *s)
{
    const char *names[NAMED_MAX];
    if (s->n_cited > NAMED_MAX)
        return site_text(s, "%s", fmt_count(s->n_cited, "input").text);
    for (int i = 0; i < s->n_cited; i++)
        names[i] = s->cited[i].which ? site_text(s, "%s (%s)", s->cited[i].is.archive, s->cited[i].which)
                                     : s->cited[i].is.archive;
    return say_list(&s->arena, names, s->n_cited);
}

json_t *view_frame(struct site *s, const char *root, const char *title, const char *here, enum page_kind kind)
{
    json_t *frame = view_object(s);
    view_text(s, frame, "root", root);
    view_text(s, frame, "title", shortened(s, title, TITLE_LETTERS));
    view_text(s, frame, "site_title", s->rep->title);
    view_text(s, frame, "description",
              s->rep->verdict && s->rep->verdict[0] ? s->rep->verdict : site_text(s, "Performance report: %s", title));
    view_text(s, frame, "here", here);
    view_text(s, frame, "version", DCR_VERSION);
    view_text(s, frame, "csp", theme_csp(s->theme, kind));
    view_set(s, frame, "script", json_string(script_site()));
    view_set(s, frame, "script2", kind == PAGE_TIMELINE ? json_string(script_timeline()) : json_null());
    view_set(s, frame, "style", json_string(theme_style(s->theme)));
    view_set(s, frame, "nav", navigation(s, root, here));
    view_set(s, frame, "archives", archives(s));
    view_text(s, frame, "made_from", made_from(s));
    return frame;
}

/* Keeps a page's content for the single file, if one is wanted. */
static void keep(struct site *s, const char *path, const char *title, struct dcr_buf *content)
{
    if (!s->single_file || s->rc)
        return;
    struct kept *k = dcr_arena_alloc(&s->arena, sizeof *k), **end = &s->kept;
    int number = 1;
    for (; *end; end = &(*end)->next)
        number++;
    *k = (struct kept){NULL,
                       path,
                       title,
                       site_text(s, "page%d", number),
                       dcr_arena_strndup(&s->arena, dcr_buf_text(content), content->len),
                       content->len};
    *end = k;
}

void site_page(struct site *s, const char *template_name, const char *path, const char *title, const char *here,
               json_t *data)
{
    struct dcr_buf content = {0}, page = {0};
    const char *root = strncmp(path, "runs/", 5) ? "" : "../../";
    view_text(s, data, "root", root);
    if (!s->rc)
        site_fail(s, theme_render(s->theme, template_name, data, &content, s->err));
    bool is_timeline = !strcmp(template_name, "timeline");
    if (!is_timeline)
        keep(s, path, title, &content);
    json_t *frame = view_frame(s, root, title, here, is_timeline ? PAGE_TIMELINE : PAGE_PLAIN);
    view_html(s, frame, "content", &content);
    if (!s->rc)
        site_fail(s, theme_render(s->theme, "frame", frame, &page, s->err));
    site_write(s, path, dcr_buf_text(&page), page.len);
    json_decref(frame);
    json_decref(data);
    dcr_buf_release(&content);
    dcr_buf_release(&page);
}
