/* redact.c - see redact.h. */
#include "collect/record/redact.h"

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

/* What a name says of its value: nothing; a secret; one unless it is a switch or a small number (--sig-figs 3,
 * --auth none); as an option, one only if it looks like one (--file-access seq, --max-tok 512; -pin on). */
enum { NAME_OPEN = 0, NAME_SECRET, NAME_LIKELY, NAME_PERHAPS, NAME_PIN };

/* The name in parts, "hf-token" or "hfToken": one of them says it. A key is one when it stands alone or a part before
 * it says what it opens. */
static int meaning_of(const char *name, size_t n)
{
    static const char *const words[] = {
        "sshpass",   "pwd",        "secrets", "credential", "credentials", "jwt",       "cookie",
        "bearer",    "passin",     "passout", "accesskey",  "hmac",        "secretkey", "authorization",
        "signature", "privatekey", "dbpass",  "userpass",   NULL};
    static const char *const likely[] = {"pass", "auth", "pat", "sig", NULL};
    /* Short or of many meanings: --pin-memory, --tok-dim, --access-mode are none. */
    static const char *const likely_last[] = {"pw", "sas", NULL}, *const perhaps_last[] = {"tok", "access", NULL};
    static const char *const keys[] = {"key", "keys", NULL}, *const pin[] = {"pin", NULL};
    static const char *const opens[] = {"api",        "access",  "private", "secret",  "auth",  "ssh",
                                        "encryption", "account", "master",  "license", "wandb", "openai",
                                        "hf",         "aws",     "shared",  "signing", NULL};
    size_t n_parts = 0;
    int is_after_opener = 0, meaning = NAME_OPEN;
    /* The working folder; "Pwd=" of a database is none. */
    if ((n == 3 && strncmp(name, "PWD", n) == 0) || (n == 6 && strncmp(name, "OLDPWD", n) == 0))
        return NAME_OPEN;
    for (size_t i = 0; i < n;) {
        while (i < n && !isalnum((unsigned char)name[i]))
            i++;
        size_t from = i;
        while (i < n && isalnum((unsigned char)name[i]) &&
               !(i > from && isupper((unsigned char)name[i]) && islower((unsigned char)name[i - 1])))
            i++;
        if (i == from)
            break;
        const char *part = name + from;
        size_t k = i - from;
        int is_key = is_one_of(part, k, keys);
        int is_last = i == n, is_only = is_last && n_parts == 0;
        if (is_one_of(part, k, words) || ends_in_secret(part, k) || (is_key && is_after_opener))
            return NAME_SECRET;
        if (is_one_of(part, k, likely) || (is_last && is_one_of(part, k, likely_last)) || (is_only && is_key))
            meaning = NAME_LIKELY;
        else if (is_last && is_one_of(part, k, perhaps_last) && !meaning)
            meaning = is_after_opener ? NAME_LIKELY : NAME_PERHAPS;
        else if (is_only && is_one_of(part, k, pin))
            meaning = NAME_PIN;
        is_after_opener = is_one_of(part, k, opens);
        n_parts++;
    }
    return meaning;
}

int redact_is_secret_name(const char *name, size_t n)
{
    return meaning_of(name, n) != NAME_OPEN;
}

/* A number of few digits, or a switch: no secret is one. */
static int is_plain(const char *value, size_t n)
{
    static const char *const switches[] = {"on", "off", "true", "false", "yes", "no", "none", "auto", "null", NULL};
    size_t digits = 0;
    while (digits < n && strchr("0123456789.", value[digits]))
        digits++;
    return is_one_of(value, n, switches) || (digits == n && n <= 5 && (n <= 3 || memchr(value, '.', n)));
}

/* Is the value of an option with such a name a secret? */
static int is_secret_value(int meaning, const char *value, size_t n)
{
    size_t digits = 0, letters = 0;
    if (n >= 2 && (*value == '\'' || *value == '"') && value[n - 1] == *value) {
        value++;
        n -= 2;
    }
    for (size_t i = 0; i < n; i++) {
        digits += isdigit((unsigned char)value[i]) != 0;
        letters += isalpha((unsigned char)value[i]) != 0;
    }
    switch (meaning) {
    case NAME_LIKELY:
        return !is_plain(value, n);
    case NAME_PERHAPS:
        return (n >= 4 && digits && letters) || (n >= 16 && digits + letters == n); /* no word is as long */
    case NAME_PIN:
        return n >= 4 && n <= 8 && digits == n;
    default:
        return 1;
    }
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

/* Does the value of NAME=, --NAME= or --NAME stay? A variable's name is not doubted. */
static int stays(int meaning, int is_option, const char *value, size_t n)
{
    return is_option && !is_secret_value(meaning, value, n);
}

int redact_is_secret_value(int meaning, const char *value)
{
    return meaning && is_secret_value(meaning, value, strlen(value));
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
        int is_option = at[0] == '-', meaning = meaning_of(at, n), is_header, is_first = at == text;
        if (is_token(at, n)) {
            dcr_buf_puts(out, REDACTED);
            at += n;
            continue;
        }
        dcr_buf_add(out, at, n);
        at += n;
        if (!meaning)
            continue;
        size_t sign = sign_length(at, &is_header);
        if (sign) {
            dcr_buf_add(out, at, sign);
            at += sign;
            size_t value = assigned_length(at, is_header, is_option && is_first && !is_header);
            if (stays(meaning, is_option, at, value))
                continue;
            dcr_buf_puts(out, REDACTED);
            at += value;
        } else if (is_option && *at == '\0') {
            return meaning;
        } else if (is_option && (*at == ' ' || *at == '\t')) {
            while (*at == ' ' || *at == '\t')
                dcr_buf_putc(out, *at++);
            if (strncmp(at, "--", 2) != 0 && *at && !stays(meaning, 1, at, value_length(at))) {
                dcr_buf_puts(out, REDACTED);
                at += value_length(at);
            }
        }
    }
    return 0;
}
