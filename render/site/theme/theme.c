/* theme.c - see theme.h. */
#include "render/site/theme/theme.h"

#include "lib/base/fs.h"
#include "lib/base/hash.h"
#include "lib/base/stream.h"
#include "render/write/escape.h"
#include "render/site/theme/script.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define TEMPLATES_MAX 64
#define THEME_FILE_BYTES ((size_t)4 << 20)

struct theme {
    char *dir;
    char *fallback; /* the default theme, for files that dir lacks; NULL when none was found */
    struct dcr_buf style;
    char csp[N_PAGE_KINDS][448];
    struct {
        char *name;
        struct template *template;
    } known[TEMPLATES_MAX];
    int n_known;
};

static int read_from(const char *dir, const char *name, struct dcr_buf *out, struct dcr_err *err)
{
    char *path = NULL;
    if (asprintf(&path, "%s/%s", dir, name) < 0)
        return dcr_err_set(err, DCR_FATAL, "out of memory reading theme file '%s'", name);
    int fd, rc = dcr_open_file("theme file", path, &fd, err);
    if (!rc) {
        struct dcr_stream s = dcr_stream_fd(&fd, path);
        rc = dcr_stream_slurp(&s, out, THEME_FILE_BYTES, err);
        close(fd);
    }
    free(path);
    return rc;
}

static bool has_file(const char *dir, const char *name)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", dir, name);
    return n > 0 && (size_t)n < sizeof path && access(path, F_OK) == 0;
}

/* The theme's own file, else the default theme's. */
static int read_file(const struct theme *t, const char *name, struct dcr_buf *out, struct dcr_err *err)
{
    bool is_missing = t->fallback && !has_file(t->dir, name) && has_file(t->dir, ".");
    return read_from(is_missing ? t->fallback : t->dir, name, out, err);
}

static int has_style(const char *dir)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/style.css", dir);
    return n > 0 && (size_t)n < sizeof path && access(path, R_OK) == 0;
}

static int find_default(char *out, size_t n, struct dcr_err *err)
{
    static const char *const places[] = {"../share/dcreport/themes/default", "themes/default", "../themes/default",
                                         "../../themes/default", "../../../themes/default"};
    char exe[PATH_MAX];
    int rc = dcr_exe_dir(exe, sizeof exe, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        int len = snprintf(out, n, "%s/%s", exe, places[i]);
        if (len > 0 && (size_t)len < n && has_style(out))
            return 0;
    }
    return dcr_err_set(
        err, DCR_FAIL,
        "the default theme is neither in '%s/../share/dcreport/themes' nor in a themes folder up to three "
        "levels above '%s'; give its folder with --theme DIR",
        exe, exe);
}

static int hex_value(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* 'sha256-...' of a text, as a policy names it. */
static int source_of(const char *text, size_t n, char out[64], struct dcr_err *err)
{
    char hex[DCR_SHA256_HEX];
    struct dcr_buf base64 = {0};
    unsigned char digest[32];
    struct dcr_sha256 *h = dcr_sha256_new();
    if (!h)
        return dcr_err_set(err, DCR_FATAL, "out of memory");
    dcr_sha256_add(h, text, n);
    dcr_sha256_finish(h, hex);
    for (size_t i = 0; i < sizeof digest; i++)
        digest[i] = (unsigned char)(hex_value(hex[2 * i]) << 4 | hex_value(hex[2 * i + 1]));
    base64_add(&base64, digest, sizeof digest);
    snprintf(out, 64, "'sha256-%s'", dcr_buf_text(&base64));
    dcr_buf_release(&base64);
    return 0;
}

static int set_csp(struct theme *t, struct dcr_err *err)
{
    char style[64], site[64], timeline[64];
    int rc = source_of(dcr_buf_text(&t->style), t->style.len, style, err);
    if (rc == 0)
        rc = source_of(script_site(), strlen(script_site()), site, err);
    if (rc == 0)
        rc = source_of(script_timeline(), strlen(script_timeline()), timeline, err);
    if (rc)
        return rc;
    /* No script of ours connects. Tools that read robots.txt from within a page (Lighthouse) may, if the page is
     * served. */
    static const char frame[] = "default-src 'none'; style-src %s; script-src %s%s%s%s; img-src 'self' file: data:; "
                                "connect-src 'self'; base-uri 'none'; form-action 'none'";
    snprintf(t->csp[PAGE_PLAIN], sizeof t->csp[0], frame, style, site, "", "", "");
    snprintf(t->csp[PAGE_TIMELINE], sizeof t->csp[0], frame, style, site, " ", timeline, " 'strict-dynamic'");
    return 0;
}

/* "paper" is the theme of that name beside the default one, unless there is such a folder here. */
static const char *named_theme(const char *dir, const char *fallback, char *out, size_t n)
{
    int len = snprintf(out, n, "%s/../%s", fallback, dir);
    bool is_name = !strchr(dir, '/') && !has_file(dir, ".") && len > 0 && (size_t)len < n;
    return is_name && has_file(out, ".") ? out : dir;
}

static int read_style(struct theme *t, struct dcr_err *err)
{
    int rc = read_file(t, "style.css", &t->style, err);
    if (rc == 0 && has_file(t->dir, "more.css"))
        rc = read_from(t->dir, "more.css", &t->style, err);
    if (rc)
        return rc;
    /* Browsers turn CR LF into LF before they hash, and end the element at the first end tag. */
    if (strchr(dcr_buf_text(&t->style), '\r') || strlen(dcr_buf_text(&t->style)) != t->style.len)
        return dcr_err_set(
            err, DCR_FAIL,
            "theme file '%s/style.css' must be text with plain line feeds; save it as UTF-8 with Unix line ends",
            t->dir);
    if (strstr(dcr_buf_text(&t->style), "</"))
        return dcr_err_set(err, DCR_FAIL,
                           "theme file '%s/style.css' holds '</', which would end it in a page; leave that out",
                           t->dir);
    return 0;
}

/* "`default`, `paper`": the themes beside the default one. */
static void add_names(struct dcr_buf *out, const char *fallback)
{
    char beside[PATH_MAX], path[PATH_MAX];
    char **names = NULL;
    size_t n = 0, n_themes = 0;
    int len = snprintf(beside, sizeof beside, "%s/..", fallback);
    if (len < 0 || (size_t)len >= sizeof beside || dcr_list_dir(beside, &names, &n, NULL))
        return;
    for (size_t i = 0; i < n; i++) {
        len = snprintf(path, sizeof path, "%s/%s", beside, names[i]);
        if (len < 0 || (size_t)len >= sizeof path || !(has_file(path, "style.css") || has_file(path, "more.css")))
            continue;
        dcr_buf_printf(out, "%s`%s`", n_themes++ ? ", " : "", names[i]);
    }
    dcr_free_names(names, n);
}

/* A page of a report has the name of its template. A template is a part of a page, except for the frame. */
static bool is_whole_page(const char *dir, const char *name)
{
    struct dcr_buf text = {0};
    struct dcr_err ignored;
    bool is_page = dcr_ends_with(name, ".html") && strcmp(name, "frame.html") != 0 &&
                   read_from(dir, name, &text, &ignored) == 0 &&
                   strncasecmp(dcr_buf_text(&text), "<!doctype", strlen("<!doctype")) == 0;
    dcr_buf_release(&text);
    return is_page;
}

/* A folder that replaces no template, or a finished site, was named by mistake and is no theme. */
static int check_theme(const struct theme *t, struct dcr_err *err)
{
    char **names = NULL;
    size_t n = 0;
    struct dcr_buf known = {0};
    const char *page = NULL;
    bool is_theme = !t->fallback || strcmp(t->dir, t->fallback) == 0;
    if (is_theme)
        return 0;
    add_names(&known, t->fallback);
    int rc = has_file(t->dir, ".")
                 ? dcr_list_dir(t->dir, &names, &n, err)
                 : dcr_err_set(err, DCR_FAIL, "unknown theme '%s'; --theme takes a folder, or one of %s", t->dir,
                               dcr_buf_text(&known));
    for (size_t i = 0; rc == 0 && i < n; i++) {
        if (strcmp(names[i], "data.html") == 0 || strcmp(names[i], "document.html") == 0)
            rc = dcr_err_set(err, DCR_FAIL,
                             "theme '%s': no page uses '%s' any more; its content is in 'methodology.html'", t->dir,
                             names[i]);
        is_theme |= strcmp(names[i], "more.css") == 0 || has_file(t->fallback, names[i]);
        if (!page && has_file(t->fallback, names[i]) && is_whole_page(t->dir, names[i]))
            page = names[i];
    }
    if (rc == 0 && page)
        rc = dcr_err_set(err, DCR_FAIL,
                         "'%s' is not a theme: its '%s' is a whole page, as of a finished report, and not a template; "
                         "--theme takes a folder of templates, or one of %s",
                         t->dir, page, dcr_buf_text(&known));
    else if (rc == 0 && !is_theme)
        rc = dcr_err_set(err, DCR_FAIL,
                         "'%s' is not a theme: it holds neither a style.css or more.css nor a template of the default "
                         "theme ('%s'); --theme takes such a folder, or one of %s",
                         t->dir, t->fallback, dcr_buf_text(&known));
    dcr_buf_release(&known);
    dcr_free_names(names, n);
    return rc;
}

int theme_open(struct theme **out, const char *dir, struct dcr_err *err)
{
    char found[PATH_MAX], named[PATH_MAX];
    *out = NULL;
    bool is_default = !dir || !dir[0];
    int rc = find_default(found, sizeof found, is_default ? err : NULL);
    if (rc && is_default)
        return rc;
    struct theme *t = calloc(1, sizeof *t);
    if (t && rc == 0)
        t->fallback = strdup(found);
    if (t)
        t->dir = strdup(is_default ? found : rc == 0 ? named_theme(dir, found, named, sizeof named) : dir);
    if (!t || !t->dir || (rc == 0 && !t->fallback)) {
        theme_close(t);
        return dcr_err_set(err, DCR_FATAL, "out of memory");
    }
    rc = check_theme(t, err);
    if (rc == 0)
        rc = read_style(t, err);
    if (rc == 0)
        rc = set_csp(t, err);
    if (rc) {
        theme_close(t);
        return rc;
    }
    *out = t;
    return 0;
}

void theme_close(struct theme *t)
{
    if (!t)
        return;
    for (int i = 0; i < t->n_known; i++) {
        free(t->known[i].name);
        template_free(t->known[i].template);
    }
    dcr_buf_release(&t->style);
    free(t->dir);
    free(t->fallback);
    free(t);
}

const char *theme_style(const struct theme *t)
{
    return t->style.data ? t->style.data : "";
}

const char *theme_csp(const struct theme *t, enum page_kind kind)
{
    return t->csp[kind];
}

static const struct template *find_template(void *ctx, const char *name, struct dcr_err *err)
{
    struct theme *t = ctx;
    for (int i = 0; i < t->n_known; i++)
        if (!strcmp(t->known[i].name, name))
            return t->known[i].template;
    struct dcr_buf text = {0};
    char file[128];
    struct template *template = NULL;
    char *copy = NULL;
    int n = snprintf(file, sizeof file, "%s.html", name);
    if (n < 0 || (size_t)n >= sizeof file || strchr(name, '/') || t->n_known == TEMPLATES_MAX) {
        dcr_err_set(err, DCR_FAIL, "'%s' cannot be the name of a theme template", name);
        goto out;
    }
    if (read_file(t, file, &text, err))
        goto out;
    if (template_parse(&template, file, dcr_buf_text(&text), text.len, err))
        goto out;
    copy = strdup(name);
    if (!copy) {
        template_free(template);
        template = NULL;
        dcr_err_set(err, DCR_FATAL, "out of memory");
        goto out;
    }
    t->known[t->n_known].name = copy;
    t->known[t->n_known++].template = template;
out:
    dcr_buf_release(&text);
    return template;
}

int theme_render(struct theme *t, const char *name, const json_t *data, struct dcr_buf *out, struct dcr_err *err)
{
    const struct template *template = find_template(t, name, err);
    if (!template)
        return err ? err->grade : DCR_FAIL;
    struct template_source partials = {find_template, t};
    return template_render(template, data, &partials, out, err);
}
