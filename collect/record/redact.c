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

/* ---- names ------------------------------------------------------------------------------------ */

/* Whether a name means that its value is secret: no; yes; yes except for switches and small numbers; yes if the value
 * is a pair. */
enum { NAME_OPEN = 0, NAME_SECRET, NAME_LIKELY, NAME_USER };

static int meaning_of(const char *name, size_t n)
{
    /* Endings of names, without signs: "--hf-token", "HF_TOKEN", "hfToken", PGPASSWORD. */
    static const char *const ends[] = {
        "password",   "passwd",    "passphrase", "sshpass",       "dbpass",     "userpass",    "userpwd",
        "pwd",        "token",     "secret",     "secrets",       "credential", "credentials", "jwt",
        "cookie",     "bearer",    "hmac",       "authorization", "signature",  "passin",      "passout",
        "apikey",     "accesskey", "secretkey",  "privatekey",    "authkey",    "sshkey",      "encryptionkey",
        "accountkey", "masterkey", "licensekey", "wandbkey",      "openaikey",  "hfkey",       "awskey",
        "sharedkey",  "signingkey"};
    static const char *const likely[] = {"pass", "auth", "pat", "sig", "pw", "sas", "tok", NULL};
    static const char *const likely_alone[] = {"key", "keys", NULL}, *const users[] = {"u", "user", "username", NULL};
    char plain[128];
    size_t k = 0, part = 0;
    /* PWD is the working folder, while "Pwd=" of a database is a password. */
    if ((n == 3 && strncmp(name, "PWD", n) == 0) || (n == 6 && strncmp(name, "OLDPWD", n) == 0))
        return NAME_OPEN;
    for (size_t i = n > sizeof plain ? n - sizeof plain : 0; i < n; i++)
        if (isalnum((unsigned char)name[i]))
            plain[k++] = name[i];
        else if (i + 1 < n)
            part = k;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (k >= strlen(ends[i]) && strncasecmp(plain + k - strlen(ends[i]), ends[i], strlen(ends[i])) == 0)
            return NAME_SECRET;
    if (is_one_of(plain + part, k - part, likely) || is_one_of(plain, k, likely_alone))
        return NAME_LIKELY;
    return is_one_of(plain + part, k - part, users) ? NAME_USER : NAME_OPEN;
}

int redact_is_secret_name(const char *name, size_t n)
{
    int meaning = meaning_of(name, n);
    return meaning == NAME_SECRET || meaning == NAME_LIKELY;
}

/* ---- values ----------------------------------------------------------------------------------- */

/* A number of few digits, or a switch, is never a secret. */
static int is_plain(const char *value, size_t n)
{
    static const char *const switches[] = {"on", "off", "true", "false", "yes", "no", "none", "auto", "null", NULL};
    size_t digits = 0;
    while (digits < n && strchr("0123456789.", value[digits]))
        digits++;
    return is_one_of(value, n, switches) || (digits == n && n <= 5 && (n <= 3 || memchr(value, '.', n)));
}

/* user:password, but neither 1000:1000 nor a URL */
static int is_pair(const char *value, size_t n)
{
    const char *colon = memchr(value, ':', n), *end = value + n;
    size_t digits = 0;
    while (digits < n && strchr("0123456789:", value[digits]))
        digits++;
    return colon && colon > value && colon + 1 < end && strncmp(colon, "://", 3) != 0 && digits < n;
}

static int is_secret_value(int meaning, const char *value, size_t n)
{
    return meaning == NAME_SECRET || (meaning == NAME_LIKELY && !is_plain(value, n)) ||
           (meaning == NAME_USER && is_pair(value, n));
}

/* Beginnings of tokens of well-known services, and their least length. */
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
            return strcspn(word + k, "/\\ ") + k >= n; /* not a path */
    }
    return 0;
}

static int is_name(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("_-.", c));
}

/* Length of a value: a quoted text with its quotes; else the text up to a blank, a quote that was open outside, or ; &
 * |. */
static size_t value_length(const char *at)
{
    if (*at == '\'' || *at == '"') {
        const char *end = strchr(at + 1, *at);
        return end ? (size_t)(end - at) + 1 : strlen(at);
    }
    return strcspn(at, " \t\r\n'\";&|");
}

/* Puts "https://me:hunter2@host/" without the part before the @. returns the length of text used */
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

/* Length of the text between a name and its value: =, :, the closing quote of the name before them, blanks around.
 *  returns  0 if no value follows the name */
static size_t sign_length(const char *at, int *is_header)
{
    size_t n = *at == '"' || *at == '\'' ? 1 : 0, blanks = strspn(at + n, " \t");
    *is_header = at[n + blanks] == ':';
    if (*is_header ? !at[n + blanks + 1] || at[n + blanks + 1] == '/' : at[n + blanks] != '=')
        return 0;
    size_t end = n + blanks + 1;
    return end + (*is_header || blanks ? strspn(at + end, " \t") : 0); /* "TOKEN= ./x" sets an empty value */
}

/* Length of a value in NAME=value, --name=value, "Authorization: Bearer x", {"name": "value"}. If an option is a
 * separate word, the next word is its value, whatever it holds. */
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
            if (((is_option || meaning == NAME_USER) && !is_secret_value(meaning, at, value)))
                continue;
            dcr_buf_puts(out, REDACTED);
            at += value;
        } else if (is_option && *at == '\0') {
            return meaning;
        } else if (is_option && (*at == ' ' || *at == '\t')) {
            while (*at == ' ' || *at == '\t')
                dcr_buf_putc(out, *at++);
            if (strncmp(at, "--", 2) != 0 && *at && is_secret_value(meaning, at, value_length(at))) {
                dcr_buf_puts(out, REDACTED);
                at += value_length(at);
            }
        }
    }
    return 0;
}

/* ---- words ------------------------------------------------------------------------------------ */

/* Programs that take a login in their options, like `mysql -pPASSWORD`, by the beginnings of their names. */
static int takes_login(const char *word, size_t n)
{
    static const char *const programs[] = {
        "mysql", "mariadb",         "mongo",     "ldap",  "sshpass",  "curl",    "wget",   "psql",   "cqlsh",  "sqlcmd",
        "bcp",   "redis-cli",       "smbclient", "lftp",  "ipmitool", "openssl", "docker", "podman", "skopeo", "wandb",
        "aws",   "huggingface-cli", "zip",       "unzip", "7z",       "http",    "https"};
    enum { FAMILIES = 4 }; /* mysqldump, mongosh */
    const char *slash = memrchr(word, '/', n);
    if (slash) {
        n -= (size_t)(slash + 1 - word);
        word = slash + 1;
    }
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        size_t k = strlen(programs[i]);
        if (n >= k && strncmp(word, programs[i], k) == 0 && !memchr(word, '.', n) && (n == k || i < FAMILIES))
            return 1;
    }
    return 0;
}

/* Length of a text up to the end of the first program that takes logins; n if it names no such program. The value of an
 * option does not count as a program. */
static size_t until_login(const char *text, size_t n, int is_value)
{
    static const char signs[] = " \t\r\n;&|()`'\"";
    for (size_t i = 0, k; i < n; i += k ? k : 1) {
        k = strcspn(text + i, signs);
        if (k && !is_value && takes_login(text + i, k))
            return i + k;
        if (k)
            is_value = text[i] == '-' && !memchr(text + i, '=', k);
        else if (strchr("\n;&|()`", text[i]))
            is_value = 0;
    }
    return n;
}

void redact_word(struct redact_line *line, const char *word, struct dcr_buf *out)
{
    struct dcr_buf begin = {0};
    size_t n = strlen(word), shown = until_login(word, n, line->is_value);
    int is_program = !line->is_value && takes_login(word, n) && !strpbrk(word, " \t\n");
    if (line->hides_rest || (is_secret_value(line->meaning, word, n) && strncmp(word, "--", 2) != 0)) {
        dcr_buf_puts(out, REDACTED);
        line->meaning = line->is_value = 0;
        return;
    }
    dcr_buf_add(&begin, word, shown);
    line->meaning = redact_text(dcr_buf_text(&begin), out);
    if (shown < n)
        dcr_buf_puts(out, " " REDACTED);
    dcr_buf_release(&begin);
    line->is_value = word[0] == '-' && !strchr(word, '=');
    line->hides_rest = is_program;
}
