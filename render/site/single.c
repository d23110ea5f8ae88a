/* single.c - see single.h. Called by site.c. */
#include "render/site/single.h"

#include "lib/base/fs.h"
#include "lib/base/stream.h"
#include "render/write/escape.h"
#include "render/site/theme/theme.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EMBED_MAX ((size_t)1 << 20)
#define PLACE "<!--pages-->"

bool single_link(const char *page, const char *link, struct dcr_buf *out)
{
    const char *slash = strrchr(page, '/');
    char path[PATH_MAX];
    size_t file = strcspn(link, "#");
    if (strchr(link, ':') || link[0] == '/')
        return false;
    int n = file == 0
                ? snprintf(path, sizeof path, "%s", page)
                : snprintf(path, sizeof path, "%.*s%.*s", slash ? (int)(slash - page) + 1 : 0, page, (int)file, link);
    if (n < 0 || (size_t)n >= sizeof path)
        return false;
    const char *part[64];
    int depth = 0;
    char *save = NULL;
    for (char *p = strtok_r(path, "/", &save); p; p = strtok_r(NULL, "/", &save)) {
        if (!strcmp(p, "."))
            continue;
        if (!strcmp(p, "..")) {
            if (depth == 0)
                return false;
            depth--;
        } else if (depth < 64) {
            part[depth++] = p;
        }
    }
    for (int i = 0; i < depth; i++)
        dcr_buf_printf(out, "%s%s", i ? "/" : "", part[i]);
    dcr_buf_puts(out, link + file);
    return true;
}

static const struct kept *page_at(const struct site *s, const char *path, size_t n)
{
    for (const struct kept *k = s->kept; k; k = k->next)
        if (strlen(k->path) == n && !strncmp(k->path, path, n))
            return k;
    return NULL;
}

static const char *type_of(const char *path)
{
    static const char *const types[][2] = {{".png", "image/png"},
                                           {".svg", "image/svg+xml"},
                                           {".pdf", "application/pdf"},
                                           {".csv", "text/csv"},
                                           {".json", "application/json"}};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof types / sizeof types[0]; i++)
        if (!strcmp(dot, types[i][0]))
            return types[i][1];
    return "text/plain";
}

/* PNG pictures are large, and the pages contain the drawings already, so their links are left out, with their words. */
static bool is_left_out(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && !strcmp(dot, ".png");
}

/* Every file is included once, at its first link; further links point there. A file that is too large becomes words. */
static void put_file(struct site *s, const char *path, struct dcr_buf *out)
{
    const json_t *there = json_object_get(s->embedded, path);
    if (json_is_integer(there)) {
        dcr_buf_printf(out, " href=\"#file%d\"", (int)json_integer_value(there));
        return;
    }
    if (there)
        return;
    char full[PATH_MAX];
    struct dcr_buf bytes = {0};
    int n = snprintf(full, sizeof full, "%s/%s", s->publish.partial, path);
    int fd = n > 0 && (size_t)n < sizeof full ? open(full, O_RDONLY | O_CLOEXEC) : -1;
    bool is_read = false;
    if (fd >= 0) {
        struct dcr_stream in = dcr_stream_fd(&fd, path);
        is_read = dcr_stream_slurp(&in, &bytes, EMBED_MAX, NULL) == 0;
        close(fd);
    }
    int number = (int)json_object_size(s->embedded) + 1;
    view_set(s, s->embedded, path, is_read ? json_integer(number) : json_false());
    if (is_read) {
        const char *slash = strrchr(path, '/');
        dcr_buf_printf(out, " id=\"file%d\" download=\"", number);
        html_text(out, slash ? slash + 1 : path);
        dcr_buf_printf(out, "\" href=\"data:%s;base64,", type_of(path));
        base64_add(out, bytes.data, bytes.len);
        dcr_buf_putc(out, '"');
    }
    dcr_buf_release(&bytes);
}

static void put_link(struct site *s, const char *page, const char *link, struct dcr_buf *out)
{
    struct dcr_buf target = {0};
    if (!single_link(page, link, &target)) {
        dcr_buf_printf(out, " href=\"%s\"", link);
    } else {
        const char *to = dcr_buf_text(&target);
        size_t n = strcspn(to, "#");
        const struct kept *k = page_at(s, to, n);
        if (k)
            dcr_buf_printf(out, " href=\"#%s%s%s\"", k->anchor, to[n] ? "-" : "", to[n] ? to + n + 1 : "");
        else if (!to[n])
            put_file(s, to, out); /* else: words without a link */
    }
    dcr_buf_release(&target);
}

/* Rewrites one attribute that names something on its page or elsewhere; returns its length, 0: none begins here. */
static size_t put_attribute(struct site *s, const char *page, const char *anchor, const char *at, struct dcr_buf *out)
{
    static const char *const names[] = {" href=\"", " id=\"",   " aria-labelledby=\"",
                                        " for=\"",  " list=\"", " aria-label=\""};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t n = strlen(names[i]);
        if (strncmp(at, names[i], n))
            continue;
        size_t len = strcspn(at + n, "\"");
        if (i == 5) { /* landmarks of all pages need different names */
            dcr_buf_printf(out, "%s%.*s%s%s\"", names[i], (int)len, at + n, anchor ? ", " : "", anchor ? anchor : "");
        } else if (i > 0) {
            if (anchor)
                dcr_buf_printf(out, "%s%s-%.*s\"", names[i], anchor, (int)len, at + n);
            else
                dcr_buf_add(out, at, n + len + 1);
        } else {
            const char *link = site_text(s, "%.*s", (int)len, at + n);
            if (!anchor && link[0] == '#') /* a link of the frame itself */
                dcr_buf_add(out, at, n + len + 1);
            else
                put_link(s, page, link, out);
        }
        return n + len + 1;
    }
    return 0;
}

/* Length of a link that is left out, with the space after it, or of the list entry that begins with it; 0: none begins
 * here. */
static size_t left_out(const char *at)
{
    static const char *const kinds[][2] = {{"<li><a href=\"", "</li>"}, {"<a href=\"", "</a>"}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        size_t from = strlen(kinds[i][0]);
        if (strncmp(at, kinds[i][0], from))
            continue;
        const char *end = strstr(at + from, kinds[i][1]);
        char path[PATH_MAX];
        int n = snprintf(path, sizeof path, "%.*s", (int)strcspn(at + from, "\"#"), at + from);
        if (!end || n < 0 || (size_t)n >= sizeof path || !is_left_out(path))
            return 0;
        end += strlen(kinds[i][1]);
        return (size_t)(end - at) + (*end == ' ' || *end == '\n');
    }
    return 0;
}

/* Only inside tags, because a sentence may contain the words of an attribute. */
static void rewrite(struct site *s, const char *page, const char *anchor, const char *html, struct dcr_buf *out)
{
    bool is_tag = false;
    for (const char *at = html; *at;) {
        static const char *const whole[][2] = {{"<style>", "</style>"}, {"<script>", "</script>"}};
        for (size_t i = 0; i < 2; i++) {
            const char *end = !strncmp(at, whole[i][0], strlen(whole[i][0])) ? strstr(at, whole[i][1]) : NULL;
            if (end) {
                dcr_buf_add(out, at, (size_t)(end - at));
                at = end;
            }
        }
        size_t n = is_tag && *at == ' ' ? put_attribute(s, page, anchor, at, out) : is_tag ? 0 : left_out(at);
        if (n == 0) {
            is_tag = *at == '<' ? true : *at == '>' ? false : is_tag;
            dcr_buf_putc(out, *at);
            n = 1;
        }
        at += n;
    }
}

void single_write(struct site *s)
{
    if (!s->single_file || s->rc)
        return;
    struct dcr_buf frame = {0}, document = {0};
    s->embedded = view_object(s);
    json_t *data = view_frame(s, "", s->rep->title, "index", PAGE_PLAIN);
    view_set(s, data, "content", json_string(PLACE));
    site_fail(s, theme_render(s->theme, "frame", data, &frame, s->err));
    json_decref(data);
    struct dcr_buf turned = {0};
    rewrite(s, "index.html", NULL, dcr_buf_text(&frame), &turned);
    const char *text = dcr_buf_text(&turned), *place = strstr(text, PLACE);
    if (!s->rc && !place)
        site_fail(s,
                  dcr_err_set(
                      s->err, DCR_FAIL,
                      "theme template 'frame.html' does not show {{{content}}}; add that, or leave --single-file out"));
    if (!s->rc) {
        dcr_buf_add(&document, text, (size_t)(place - text));
        for (const struct kept *k = s->kept; k; k = k->next) {
            dcr_buf_printf(&document, "<div class=\"page\" id=\"%s\">\n", k->anchor);
            rewrite(s, k->path, k->anchor, k->content, &document);
            dcr_buf_puts(&document, "</div>\n");
        }
        dcr_buf_puts(&document, place + strlen(PLACE));
        if (frame.failed || turned.failed || document.failed)
            site_fail(s, dcr_err_set(s->err, DCR_FATAL, "out of memory making '%s'", s->single_file));
        else
            site_fail(s, dcr_write_file(s->single_file, document.data, document.len, s->err));
    }
    json_decref(s->embedded);
    dcr_buf_release(&frame);
    dcr_buf_release(&turned);
    dcr_buf_release(&document);
}
