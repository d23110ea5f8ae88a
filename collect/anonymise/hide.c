/* hide.c - see hide.h. Test: tests/integration/collect_anonymise.sh */
#include "collect/anonymise/hide.h"

#include "lib/archive/format.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *const class_words[] = {
#define X(id, word) word,
    HIDE_CLASSES(X)
#undef X
};

static int is_one_of(const char *word, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(word, *list) == 0)
            return 1;
    return 0;
}

/* ---- the word for a name ------------------------------------------------------------------------ */

static const char *look_up(const json_t *table, const char *name)
{
    return json_string_value(json_object_get(table, name));
}

/* Names are bytes that may not be UTF-8. */
static void put(json_t **table, const char *name, const char *alias)
{
    if (!*table)
        *table = json_object();
    json_object_set_new_nocheck(*table, name, json_string(alias));
}

const char *hide_as(struct hide *h, enum hide_class c, const char *name)
{
    char alias[40];
    dcr_buf_clear(&h->key);
    dcr_buf_printf(&h->key, "%s %s", class_words[c], name);
    const char *key = dcr_buf_text(&h->key), *known = look_up(h->aliases, key);
    if (known)
        return known;
    snprintf(alias, sizeof alias, "%s-%d", class_words[c], ++h->n[c]);
    put(&h->aliases, key, alias);
    return look_up(h->aliases, key);
}

static void learn(struct hide *h, json_t **table, const char *name, const char *alias)
{
    static const char *const public[] = {
        "root", "user",  "localhost", "nobody", "node",       "step",    "data",      "copy",    "compute", "comm",
        "io",   "mpi",   "wait",      "epoch",  "validation", "forward", "backward",  "barrier", "none",    "rank",
        "all",  "train", "iteration", "batch",  "checkpoint", "program", "optimizer", "test",    NULL};
    size_t n = strlen(name);
    if (n < 2 || hide_is_number(name) || is_one_of(name, public) || look_up(*table, name))
        return;
    put(table, name, alias);
    h->longest = n > h->longest ? n : h->longest;
}

/* A trace keeps only as much of a host's name as fits into its header. */
static void learn_host(struct hide *h, const char *name)
{
    enum { ROOM = sizeof((struct dct_file_header *)0)->host - 1 };
    char shorter[ROOM + 1];
    const char *dot = strchr(name, '.'), *alias = hide_as(h, HIDE_HOST, name);
    char key[300];
    learn(h, &h->words, name, alias);
    if (strlen(name) > ROOM) {
        snprintf(shorter, sizeof shorter, "%.*s", ROOM, name);
        snprintf(key, sizeof key, "%s %s", class_words[HIDE_HOST], shorter);
        put(&h->aliases, key, alias);
        learn(h, &h->words, shorter, alias);
    }
    if (!dot || dot == name)
        return;
    char *first = dcr_arena_strndup(&h->arena, name, (size_t)(dot - name));
    learn(h, &h->words, first, alias);
    if (strchr(dot + 1, '.'))
        learn(h, &h->words, dot + 1, hide_as(h, HIDE_DOMAIN, dot + 1));
}

void hide_learn(struct hide *h, enum hide_class c, const char *name)
{
    if (!name || !*name)
        return;
    if (c == HIDE_HOST)
        learn_host(h, name);
    else
        learn(h, c == HIDE_USER ? &h->words : &h->told, name, hide_as(h, c, name));
}

static int is_word(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("_.-", c));
}

void hide_learn_homes(struct hide *h, const char *bytes, size_t n)
{
    static const char *const homes[] = {"/home/", "/users/", "/Users/"};
    const char *end = bytes + n;
    for (size_t i = 0; i < sizeof homes / sizeof *homes; i++) {
        size_t k = strlen(homes[i]), len = 0;
        for (const char *at = bytes; (at = memmem(at, (size_t)(end - at), homes[i], k)) != NULL; at += len) {
            at += k;
            for (len = 0; at + len < end && len < 64 && is_word(at[len]);)
                len++;
            if (len)
                hide_learn(h, HIDE_USER, dcr_arena_strndup(&h->arena, at, len));
        }
    }
}

/* ---- paths ---------------------------------------------------------------------------------------- */

/* Paths of every machine of this kind. /usr/local and /opt belong to the site. */
static int is_of_system(const char *path)
{
    static const char *const dirs[] = {"/usr/lib",  "/usr/lib32", "/usr/lib64",   "/usr/libexec", "/usr/bin",
                                       "/usr/sbin", "/usr/share", "/usr/include", "/lib",         "/lib64",
                                       "/bin",      "/sbin",      "/proc",        "/sys"};
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
        size_t n = strlen(dirs[i]);
        if (strncmp(path, dirs[i], n) == 0 && (path[n] == '/' || !path[n]))
            return !strstr(path, "/../");
    }
    return 0;
}

static void hide_words(struct hide *h, const char *text, size_t n, int is_sentence, struct dcr_buf *out);

/* A short ending, which tells the kind of a file and is not a name. */
static const char *ending_of(const struct hide *h, const char *part)
{
    const char *dot = strrchr(part, '.');
    if (!dot || dot == part || strlen(dot + 1) > 4 || look_up(h->words, dot + 1) || look_up(h->told, dot + 1))
        return "";
    for (const char *c = dot + 1; *c; c++)
        if (!isalnum((unsigned char)*c))
            return "";
    return dot;
}

int hide_is_program(const char *word)
{
    static const char *const programs[] = {"mpirun", "mpiexec", "srun", "torchrun",    "sh",         "bash",
                                           "env",    "numactl", "none", "dcrnn-train", "(redacted)", NULL};
    return is_one_of(word, programs) || (strncmp(word, "python", 6) == 0 && !word[6 + strspn(word + 6, "0123456789.")]);
}

static void hide_part(struct hide *h, const char *part, struct dcr_buf *out)
{
    const char *known = look_up(h->words, part);
    if (strcmp(part, ".") == 0 || strcmp(part, "..") == 0 || hide_is_program(part)) {
        dcr_buf_puts(out, part);
        return;
    }
    dcr_buf_puts(out, known ? known : hide_as(h, HIDE_PATH, part));
    if (!known)
        dcr_buf_puts(out, ending_of(h, part));
}

void hide_path(struct hide *h, const char *path, struct dcr_buf *out)
{
    if (is_of_system(path)) {
        hide_words(h, path, strlen(path), 0, out);
        return;
    }
    for (const char *end; *path; path = end) {
        size_t slashes = strspn(path, "/");
        dcr_buf_add(out, path, slashes);
        path += slashes;
        end = path + strcspn(path, "/");
        if (end > path)
            hide_part(h, dcr_arena_strndup(&h->arena, path, (size_t)(end - path)), out);
    }
}

/* ---- text ------------------------------------------------------------------------------------------ */

/* Length of the network address at the beginning of text. It is 0 if the text begins with something else, or with an
 * address that every machine has (127.0.0.1). */
static size_t address_length(const char *text)
{
    size_t n = strspn(text, "0123456789."), n_dots = 0, n_colons = 0, n_digits = 0;
    for (size_t i = 0; i < n; i++)
        n_dots += text[i] == '.';
    if (n_dots == 3 && n <= 15 && text[n - 1] != '.' && !isalpha((unsigned char)text[n]) && !strstr(text, ".."))
        return strncmp(text, "127.", 4) == 0 || strncmp(text, "0.0.0.0", 7) == 0 ? 0 : n;
    n = strspn(text, "0123456789abcdefABCDEF:");
    for (size_t i = 0; i < n; i++) {
        n_colons += text[i] == ':';
        n_digits += isdigit((unsigned char)text[i]) != 0;
    }
    int is_short = n_colons >= 2 && n_digits && memmem(text, n, "::", 2) && n > 3;
    return (is_short || n_colons == 7 || (n_colons == 5 && n == 17)) && !isalnum((unsigned char)text[n]) ? n : 0;
}

/* "user@host", "git@server:project", "https://server/x". */
static size_t url_length(const char *text)
{
    static const char ends[] = " \t\n'\"()[]<>|,;`";
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+._-");
    if (n && isalpha((unsigned char)*text) &&
        (strncmp(text + n, "://", 3) == 0 || (text[n] == '@' && isalpha((unsigned char)text[n + 1]))))
        return strcspn(text, ends);
    return 0;
}

static const char *word_for(const struct hide *h, const char *word, int is_sentence)
{
    const char *alias = look_up(h->words, word);
    return alias || !is_sentence ? alias : look_up(h->told, word);
}

/* Hides known names in one run of letters, digits and "_.-". At each part of it, the longest known name is tried
 * first. */
static void hide_words(struct hide *h, const char *text, size_t n, int is_sentence, struct dcr_buf *out)
{
    char word[256];
    for (size_t i = 0; i < n;) {
        const char *alias = NULL;
        int is_start = i == 0 || !isalnum((unsigned char)text[i - 1]);
        size_t most = n - i < h->longest ? n - i : h->longest;
        for (size_t k = is_start && most < sizeof word ? most : 0; k > 0 && !alias; k--) {
            if (i + k < n && isalnum((unsigned char)text[i + k]))
                continue;
            memcpy(word, text + i, k);
            word[k] = '\0';
            alias = word_for(h, word, is_sentence);
            if (alias) {
                dcr_buf_puts(out, alias);
                i += k;
                k = 1;
            }
        }
        if (!alias)
            dcr_buf_putc(out, text[i++]);
    }
}

/* 'x' in a sentence: a file, folder or option. returns the length of text used, 0: no quote */
static size_t hide_quoted(struct hide *h, const char *text, struct dcr_buf *out)
{
    static const char *const known[] = {"program.json", DCR_METADATA, DCR_METADATA_TEXT, DCR_MANIFEST, NULL};
    const char *end = *text == '\'' ? strchr(text + 1, '\'') : NULL;
    if (!end || end == text + 1 || isalnum((unsigned char)end[1]))
        return 0;
    const char *name = dcr_arena_strndup(&h->arena, text + 1, (size_t)(end - text - 1));
    dcr_buf_putc(out, '\'');
    if (json_object_get(h->members, name) || is_one_of(name, known))
        dcr_buf_puts(out, name);
    else if (*name == '-')
        hide_sentence(h, name, out);
    else
        hide_path(h, name, out);
    dcr_buf_putc(out, '\'');
    return (size_t)(end - text) + 1;
}

static void hide_text(struct hide *h, const char *text, int is_sentence, struct dcr_buf *out)
{
    static const char path_ends[] = " \t\n'\"()[]<>|,;:`=";
    for (const char *at = text; *at;) {
        int is_start = at == text || !is_word(at[-1]);
        size_t n = is_start && is_sentence ? hide_quoted(h, at, out) : 0;
        if (n) {
            at += n;
            continue;
        }
        if (is_start && at[0] == '/' && (is_word(at[1]) || at[1] == '~') && (at == text || at[-1] != '/')) {
            n = strcspn(at, path_ends);
            hide_path(h, dcr_arena_strndup(&h->arena, at, n), out);
        } else if (is_start && ((n = url_length(at)) != 0 || (n = address_length(at)) != 0)) {
            dcr_buf_puts(out, hide_as(h, HIDE_ADDRESS, dcr_arena_strndup(&h->arena, at, n)));
        } else if (is_word(*at)) {
            for (n = 0; is_word(at[n]);)
                n++;
            hide_words(h, at, n, is_sentence, out);
        } else {
            n = 1;
            dcr_buf_putc(out, *at);
        }
        at += n;
    }
}

void hide_name(struct hide *h, const char *name, struct dcr_buf *out)
{
    if (name[0] == '/' && is_word(name[1])) /* a file name, which may hold any character */
        hide_path(h, name, out);
    else
        hide_text(h, name, 0, out);
}

void hide_sentence(struct hide *h, const char *sentence, struct dcr_buf *out)
{
    hide_text(h, sentence, 1, out);
}

int hide_is_number(const char *text)
{
    static const char *const numbers[] = {"nan", "NaN", "inf", "Inf", "-inf", "-nan", NULL};
    if (is_one_of(text, numbers))
        return 1;
    char *end;
    if (strtod(text, &end), *text && !*end && !isspace((unsigned char)*text))
        return 1;
    size_t n = strspn(text, "0123456789+-.:, TZ%");
    return !text[n] && text[strcspn(text, "0123456789")] && !address_length(text);
}

void hide_release(struct hide *h)
{
    json_decref(h->aliases);
    json_decref(h->words);
    json_decref(h->told);
    dcr_buf_release(&h->key);
    dcr_arena_release(&h->arena);
    *h = (struct hide){0};
}
