/* redact.c - see redact.h. */
#include "collect/redact.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static int is_one_of(const char *word, size_t n, const char *const *list)
{
    for (; *list; list++)
        if (strlen(*list) == n && strncasecmp(word, *list, n) == 0)
            return 1;
    return 0;
}

/* PGPASSWORD, MYTOKEN: capitals do not show where a part ends. */
static int ends_in_secret(const char *word, size_t n)
{
    static const char *const ends[] = {"password", "passwd", "passphrase", "token", "secret", "apikey", "pwd", NULL};
    for (const char *const *end = ends; *end; end++)
        if (n >= strlen(*end) && strncasecmp(word + n - strlen(*end), *end, strlen(*end)) == 0)
            return 1;
    return 0;
}

/* The name in parts, "hf-token" or "hfToken": one of them says it. A key is one when it stands alone or a part before
 * it says what it opens. */
int redact_is_secret_name(const char *name, size_t n)
{
    static const char *const words[] = {
        "pass",   "sshpass",   "pwd",     "secrets", "credential",    "credentials", "jwt",       "cookie",
        "bearer", "passin",    "passout", "auth",    "authorization", "accesskey",   "secretkey", "privatekey",
        "pat",    "signature", "sig",     "hmac",    "dbpass",        "userpass",    NULL};
    /* Short or of many meanings: --pin-memory, --tok-dim, --access-mode are none. */
    static const char *const last[] = {"tok", "pw", "sas", "access", NULL};
    static const char *const alone[] = {"key", "keys", "pin", NULL};
    static const char *const opens[] = {"api",        "access",  "private", "secret",  "auth",  "ssh",
                                        "encryption", "account", "master",  "license", "wandb", "openai",
                                        "hf",         "aws",     "shared",  "signing", NULL};
    size_t n_parts = 0;
    int is_after_opener = 0;
    /* The working folder; "Pwd=" of a database is none. */
    if ((n == 3 && strncmp(name, "PWD", n) == 0) || (n == 6 && strncmp(name, "OLDPWD", n) == 0))
        return 0;
    for (size_t i = 0; i < n;) {
        while (i < n && !isalnum((unsigned char)name[i]))
            i++;
        size_t from = i;
        while (i < n && isalnum((unsigned char)name[i]) &&
               !(i > from && isupper((unsigned char)name[i]) && islower((unsigned char)name[i - 1])))
            i++;
        if (i == from)
            break;
        int is_key = is_one_of(name + from, i - from, (const char *const[]){"key", "keys", NULL});
        int is_last = i == n;
        if (is_one_of(name + from, i - from, words) || ends_in_secret(name + from, i - from) ||
            (is_key && is_after_opener) || (is_last && is_one_of(name + from, i - from, last)) ||
            (is_last && n_parts == 0 && is_one_of(name + from, i - from, alone)))
            return 1;
        is_after_opener = is_one_of(name + from, i - from, opens);
        n_parts++;
    }
    return 0;
}

/* How tokens of well-known services begin, and how long they are at least. */
static int is_token(const char *word, size_t n)
{
    static const struct {
        const char *begin;
        size_t least;
    } known[] = {{"ghp_", 20}, {"gho_", 20}, {"ghs_", 20},  {"ghu_", 20},  {"github_pat_", 20}, {"glpat-", 16},
                 {"hf_", 20},  {"sk-", 20},  {"xoxb-", 16}, {"xoxp-", 16}, {"AKIA", 20},        {"ASIA", 20},
                 {"AIza", 30}, {"eyJ", 40},  {"npm_", 20},  {"pypi-", 20}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t k = strlen(known[i].begin);
        if (n >= known[i].least && strncmp(word, known[i].begin, k) == 0)
            return strcspn(word + k, "/\\ ") + k >= n; /* no path */
    }
    return 0;
}

static int is_name(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("_-.", c));
}

/* Length of a value: a quoted text with its quotes, else up to a blank, a quote that was open outside, or ; & |. */
static size_t value_length(const char *at)
{
    if (*at == '\'' || *at == '"') {
        const char *end = strchr(at + 1, *at);
        return end ? (size_t)(end - at) + 1 : strlen(at);
    }
    return strcspn(at, " \t\r\n'\";&|");
}

/* "https://me:hunter2@host/" without what stands before the @. returns how much of the text was taken */
static size_t put_url(const char *at, struct dcr_buf *out)
{
    size_t host = strcspn(at + 3, "/?# \t\n'\"");
    const char *sign = memrchr(at + 3, '@', host);
    dcr_buf_puts(out, "://");
    if (!sign)
        return 3;
    dcr_buf_puts(out, REDACTED "@");
    return (size_t)(sign - at) + 1;
}

/* What stands between a name and its value: =, :, the quote that ends the name before them, blanks around.
 * returns 0 when there is none of it */
static size_t sign_length(const char *at, int *is_header)
{
    size_t n = *at == '"' || *at == '\'' ? 1 : 0, blanks = strspn(at + n, " \t");
    *is_header = at[n + blanks] == ':';
    if (*is_header ? !at[n + blanks + 1] || at[n + blanks + 1] == '/' : at[n + blanks] != '=')
        return 0;
    size_t end = n + blanks + 1;
    return end + (*is_header || blanks ? strspn(at + end, " \t") : 0); /* "TOKEN= ./x" sets nothing */
}

/* Of NAME=value, --name=value, "Authorization: Bearer x", {"name": "value"}. An option that is a word of its own is
 * followed by nothing but its value, whatever that holds. */
static size_t assigned_length(const char *at, int is_header, int is_word)
{
    if (is_word)
        return strlen(at);
    return is_header && *at != '"' && *at != '\'' ? strcspn(at, "\r\n'\"") : value_length(at);
}

int redact_text(const char *text, struct dcr_buf *out)
{
    for (const char *at = text; *at;) {
        if (strncmp(at, "://", 3) == 0) {
            at += put_url(at, out);
            continue;
        }
        if (!is_name(*at)) {
            dcr_buf_putc(out, *at++);
            continue;
        }
        size_t n = 0;
        while (is_name(at[n]))
            n++;
        int is_option = at[0] == '-', is_secret = redact_is_secret_name(at, n), is_header, is_first = at == text;
        if (is_token(at, n)) {
            dcr_buf_puts(out, REDACTED);
            at += n;
            continue;
        }
        dcr_buf_add(out, at, n);
        at += n;
        if (!is_secret)
            continue;
        size_t sign = sign_length(at, &is_header);
        if (sign) {
            dcr_buf_add(out, at, sign);
            at += sign;
            dcr_buf_puts(out, REDACTED);
            at += assigned_length(at, is_header, is_option && is_first && !is_header);
        } else if (is_option && *at == '\0') {
            return 1;
        } else if (is_option && (*at == ' ' || *at == '\t')) {
            while (*at == ' ' || *at == '\t')
                dcr_buf_putc(out, *at++);
            if (strncmp(at, "--", 2) != 0 && *at) {
                dcr_buf_puts(out, REDACTED);
                at += value_length(at);
            }
        }
    }
    return 0;
}
