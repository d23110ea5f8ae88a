/* template.c - see template.h. Parsing makes a flat list of pieces with the sections' ends resolved; rendering walks
 * it. Called by theme.c. Test: tests/unit/test_template.c */
#include "render/site/theme/template.h"

#include "render/write/escape.h"

#include <stdlib.h>
#include <string.h>

enum piece_kind {
    PIECE_TEXT,
    PIECE_VALUE,
    PIECE_PROSE,
    PIECE_URL,
    PIECE_RAW,
    PIECE_SECTION,
    PIECE_INVERSE,
    PIECE_END,
    PIECE_PARTIAL
};

struct piece {
    enum piece_kind kind;
    const char *text; /* literal text or name; borrows the template's copy */
    size_t len;
    int line;
    size_t end; /* of a section: index of its PIECE_END */
};

struct template
{
    char *name, *text;
    struct piece *pieces;
    size_t n, cap;
};

#define NAME_BYTES 128
#define DEPTH_MAX 24
#define PARTIALS_MAX 8

static int wrong(const struct template *t, int line, struct dcr_err *err, const char *what, const char *name,
                 size_t len)
{
    return dcr_err_set(err, DCR_FAIL, "theme template '%s' line %d: %s '%.*s'", t->name, line, what,
                       (int)(len > 80 ? 80 : len), name);
}

static int add_piece(struct template *t, struct piece p, struct dcr_err *err)
{
    if (t->n == t->cap) {
        size_t cap = t->cap ? 2 * t->cap : 64;
        struct piece *more = realloc(t->pieces, cap * sizeof *more);
        if (!more)
            return dcr_err_set(err, DCR_FATAL, "out of memory reading theme template '%s'", t->name);
        t->pieces = more;
        t->cap = cap;
    }
    t->pieces[t->n++] = p;
    return 0;
}

static int lines_in(const char *from, const char *to)
{
    int n = 0;
    for (; from < to; from++)
        n += *from == '\n';
    return n;
}

static int is_blank(const char *from, const char *to)
{
    for (; from < to; from++)
        if (*from != ' ' && *from != '\t')
            return 0;
    return 1;
}

/* A tag found in the text: [open, close) with its braces, name inside. */
struct tag {
    const char *open, *close, *name;
    size_t len;
    char sigil; /* # ^ / > ! % ~ { or 0 */
};

static int read_tag(const struct template *t, const char *open, int line, struct tag *tag, struct dcr_err *err)
{
    *tag = (struct tag){.open = open, .name = open + 2};
    const char *end;
    if (open[2] == '{') {
        tag->sigil = '{';
        tag->name++;
        end = strstr(tag->name, "}}}");
        tag->close = end ? end + 3 : NULL;
    } else {
        if (open[2] && strchr("#^/>!%~", open[2])) {
            tag->sigil = open[2];
            tag->name++;
        }
        end = strstr(tag->name, "}}");
        tag->close = end ? end + 2 : NULL;
    }
    if (!end)
        return wrong(t, line, err, "a tag is never closed:", open, strcspn(open, "\n"));
    const char *stop = end;
    while (tag->name < stop && (*tag->name == ' ' || *tag->name == '\n'))
        tag->name++;
    while (stop > tag->name && (stop[-1] == ' ' || stop[-1] == '\n'))
        stop--;
    tag->len = (size_t)(stop - tag->name);
    if (tag->sigil != '!' && (tag->len == 0 || tag->len >= NAME_BYTES))
        return wrong(t, line, err, "a tag has no name, or one that is too long:", open, (size_t)(tag->close - open));
    return 0;
}

static enum piece_kind kind_of(char sigil)
{
    switch (sigil) {
    case '{':
        return PIECE_RAW;
    case '%':
        return PIECE_URL;
    case '~':
        return PIECE_PROSE;
    case '#':
        return PIECE_SECTION;
    case '^':
        return PIECE_INVERSE;
    case '/':
        return PIECE_END;
    case '>':
        return PIECE_PARTIAL;
    default:
        return PIECE_VALUE;
    }
}

/* Sections nest: find for each its end. */
static int match_sections(struct template *t, struct dcr_err *err)
{
    size_t open[DEPTH_MAX], depth = 0;
    for (size_t i = 0; i < t->n; i++) {
        struct piece *p = &t->pieces[i];
        if (p->kind == PIECE_SECTION || p->kind == PIECE_INVERSE) {
            if (depth == DEPTH_MAX)
                return wrong(t, p->line, err, "sections are nested too deeply at", p->text, p->len);
            open[depth++] = i;
        } else if (p->kind == PIECE_END) {
            struct piece *begin = depth ? &t->pieces[open[depth - 1]] : NULL;
            if (!begin)
                return wrong(t, p->line, err, "no section is open at the end of", p->text, p->len);
            if (begin->len != p->len || memcmp(begin->text, p->text, p->len) != 0)
                return wrong(t, p->line, err, "this end does not match the section open here:", begin->text,
                             begin->len);
            begin->end = i;
            depth--;
        }
    }
    if (depth) {
        struct piece *p = &t->pieces[open[depth - 1]];
        return wrong(t, p->line, err, "this section is never closed:", p->text, p->len);
    }
    return 0;
}

static int cut(struct template *t, struct dcr_err *err)
{
    const char *at = t->text, *line_start = t->text;
    int line = 1, rc = 0;
    while (rc == 0) {
        const char *open = strstr(at, "{{");
        const char *text_end = open ? open : at + strlen(at);
        for (const char *s = at; s < text_end; s++)
            if (*s == '\n')
                line_start = s + 1;
        struct tag tag = {0};
        int tag_line = line + lines_in(at, text_end);
        const char *next = NULL;
        if (open) {
            if ((rc = read_tag(t, open, tag_line, &tag, err)))
                break;
            next = tag.close;
            const char *eol = tag.close + strcspn(tag.close, "\n");
            int is_alone = tag.sigil && strchr("#^/>!", tag.sigil) && line_start >= at && is_blank(line_start, open) &&
                           *eol == '\n' && is_blank(tag.close, eol);
            if (is_alone) {
                text_end = line_start;
                next = eol + 1;
            }
        }
        if (text_end > at)
            rc = add_piece(t, (struct piece){PIECE_TEXT, at, (size_t)(text_end - at), line, 0}, err);
        if (!open || rc)
            break;
        if (tag.sigil != '!')
            rc = add_piece(t, (struct piece){kind_of(tag.sigil), tag.name, tag.len, tag_line, 0}, err);
        line += lines_in(at, next);
        if (next > open && next[-1] == '\n')
            line_start = next;
        at = next;
    }
    return rc;
}

int template_parse(struct template **out, const char *name, const char *text, size_t len, struct dcr_err *err)
{
    *out = NULL;
    struct template *t = calloc(1, sizeof *t);
    if (t) {
        t->name = strdup(name);
        t->text = strndup(text, len);
    }
    int rc = 0;
    if (!t || !t->name || !t->text)
        rc = dcr_err_set(err, DCR_FATAL, "out of memory reading theme template '%s'", name);
    else if (strlen(t->text) != len)
        rc = dcr_err_set(err, DCR_FAIL, "theme template '%s' is not text: it holds a NUL byte; save it as UTF-8", name);
    if (rc == 0)
        rc = cut(t, err);
    if (rc == 0)
        rc = match_sections(t, err);
    if (rc) {
        template_free(t);
        return rc;
    }
    *out = t;
    return 0;
}

void template_free(struct template *t)
{
    if (!t)
        return;
    free(t->name);
    free(t->text);
    free(t->pieces);
    free(t);
}

/* ---- rendering ------------------------------------------------------------------------------------ */

struct rendering {
    const json_t *scope[DEPTH_MAX * PARTIALS_MAX];
    const json_t *list[DEPTH_MAX * PARTIALS_MAX]; /* the list of which the scope is an item, or NULL */
    size_t depth;
    int n_partials;
    const struct template_source *partials;
    struct dcr_buf *out;
    struct dcr_err *err;
};

static const json_t *look_up(const struct rendering *r, const char *name, size_t len)
{
    if (len == 1 && name[0] == '.')
        return r->scope[r->depth - 1];
    size_t first = 0;
    while (first < len && name[first] != '.')
        first++;
    const json_t *v = NULL;
    for (size_t i = r->depth; i-- > 0 && !v;)
        v = json_object_getn(r->scope[i], name, first);
    while (v && first < len) {
        size_t from = first + 1;
        first = from;
        while (first < len && name[first] != '.')
            first++;
        v = json_object_getn(v, name + from, first - from);
    }
    return v;
}

static int put_value(const struct template *t, struct rendering *r, const struct piece *p)
{
    const json_t *v = look_up(r, p->text, p->len);
    if (!v)
        return wrong(t, p->line, r->err, "nothing is called", p->text, p->len);
    if (json_is_null(v))
        return 0;
    if (json_is_integer(v)) {
        dcr_buf_printf(r->out, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
        return 0;
    }
    if (!json_is_string(v))
        return wrong(t, p->line, r->err, "this is no text; open it with # :", p->text, p->len);
    const char *text = json_string_value(v);
    if (p->kind == PIECE_RAW)
        dcr_buf_puts(r->out, text);
    else if (p->kind == PIECE_URL)
        html_url(r->out, text);
    else if (p->kind == PIECE_PROSE)
        html_prose(r->out, text);
    else
        html_text(r->out, text);
    return 0;
}

static int shows(const json_t *v)
{
    switch (json_typeof(v)) {
    case JSON_ARRAY:
        return json_array_size(v) > 0;
    case JSON_STRING:
        return json_string_length(v) > 0;
    case JSON_NULL:
    case JSON_FALSE:
        return 0;
    default:
        return 1;
    }
}

static int render_range(const struct template *t, struct rendering *r, size_t from, size_t to);

static int render_with(const struct template *t, struct rendering *r, const json_t *item, const json_t *list,
                       size_t from, size_t to)
{
    if (r->depth == sizeof r->scope / sizeof r->scope[0])
        return wrong(t, t->pieces[from].line, r->err, "sections are nested too deeply in", t->name, strlen(t->name));
    r->list[r->depth] = list;
    r->scope[r->depth++] = item;
    int rc = render_range(t, r, from, to);
    r->depth--;
    return rc;
}

static int render_section(const struct template *t, struct rendering *r, size_t i)
{
    const struct piece *p = &t->pieces[i];
    const json_t *v = look_up(r, p->text, p->len);
    if (!v)
        return wrong(t, p->line, r->err, "nothing is called", p->text, p->len);
    if (p->kind == PIECE_INVERSE)
        return shows(v) ? 0 : render_range(t, r, i + 1, p->end);
    if (!shows(v))
        return 0;
    if (!json_is_array(v))
        return json_is_object(v) ? render_with(t, r, v, NULL, i + 1, p->end) : render_range(t, r, i + 1, p->end);
    /* A list inside itself shows nothing new, and 20 nested ones would practically never end. */
    for (size_t k = 0; k < r->depth; k++)
        if (r->list[k] == v)
            return wrong(t, p->line, r->err, "this list is already open:", p->text, p->len);
    int rc = 0;
    for (size_t k = 0; k < json_array_size(v) && rc == 0; k++)
        rc = render_with(t, r, json_array_get(v, k), v, i + 1, p->end);
    return rc;
}

static int render_partial(const struct template *t, struct rendering *r, const struct piece *p)
{
    char name[NAME_BYTES + 8];
    snprintf(name, sizeof name, "%.*s", (int)p->len, p->text);
    if (!r->partials)
        return wrong(t, p->line, r->err, "there are no partials here:", name, strlen(name));
    if (r->n_partials == PARTIALS_MAX)
        return wrong(t, p->line, r->err, "partials are nested too deeply at", name, strlen(name));
    const struct template *inner = r->partials->find(r->partials->ctx, name, r->err);
    if (!inner)
        return dcr_err_while(r->err, "theme template '%s' line %d", t->name, p->line);
    r->n_partials++;
    int rc = render_range(inner, r, 0, inner->n);
    r->n_partials--;
    return rc;
}

static int render_range(const struct template *t, struct rendering *r, size_t from, size_t to)
{
    int rc = 0;
    for (size_t i = from; i < to && rc == 0; i++) {
        const struct piece *p = &t->pieces[i];
        switch (p->kind) {
        case PIECE_TEXT:
            dcr_buf_add(r->out, p->text, p->len);
            break;
        case PIECE_VALUE:
        case PIECE_PROSE:
        case PIECE_URL:
        case PIECE_RAW:
            rc = put_value(t, r, p);
            break;
        case PIECE_SECTION:
        case PIECE_INVERSE:
            rc = render_section(t, r, i);
            i = p->end;
            break;
        case PIECE_PARTIAL:
            rc = render_partial(t, r, p);
            break;
        case PIECE_END:
            break;
        }
    }
    return rc;
}

int template_render(const struct template *t, const json_t *data, const struct template_source *partials,
                    struct dcr_buf *out, struct dcr_err *err)
{
    struct rendering r = {.scope = {data}, .depth = 1, .partials = partials, .out = out, .err = err};
    int rc = render_range(t, &r, 0, t->n);
    if (rc == 0 && out->failed)
        rc = dcr_err_set(err, DCR_FATAL, "out of memory filling theme template '%s'", t->name);
    return rc;
}
