/* redact_command.c - see redact.h. Secrets that only the program before them tells: `curl -u me:x`, `mysql -px`. */
#include "collect/record/redact.h"

#include <string.h>

enum { MAX_WORD = 4096, MAX_NESTING = 3 };

enum {
    IS_WRAPPER = 1,    /* its first word that is no option begins another command */
    IS_POSITIONAL = 2, /* behind the subcommand all words that are no options are secret */
    IS_LONG = 4,       /* its options are long behind one dash: short ones stand alone */
};

/* What of a program's own options is secret. */
struct redact_program {
    const char *names;      /* each between blanks */
    const char *secret;     /* short options whose value is one, in the same word or the next */
    const char *glued;      /* those whose value stands in the same word only */
    const char *valued;     /* the other short options that take a value */
    const char *subcommand; /* only behind this word */
    unsigned flags;
};

static const struct redact_program programs[] = {
    {" curl ", "uUEb", "", "AcCdDeFhHKmoPQrtTwxXyYz", NULL, 0},
    {" sshpass ", "p", "", "fdP", NULL, IS_WRAPPER},
    {" mysql mysqldump mysqladmin mysqlimport mysqlshow mysqlcheck mysqlslap mysqlpump mysqlbinlog mariadb "
     "mariadb-dump mariadb-admin mariadb-binlog ",
     "", "p", "uhPDSe", NULL, 0},
    {" mongo mongosh mongodump mongorestore mongoexport mongoimport ", "p", "", "udchfo", NULL, 0},
    {" cqlsh ", "p", "", "uekf", NULL, 0},
    {" sqlcmd bcp ", "P", "", "SUdQioe", NULL, 0},
    {" ipmitool ", "P", "", "IHULp", NULL, 0},
    {" redis-cli ", "a", "", "hpnsi", NULL, 0},
    {" ldapsearch ldapmodify ldapadd ldapdelete ldapwhoami ldappasswd ", "w", "", "DHbfpy", NULL, 0},
    {" smbclient ", "U", "", "LIpWc", NULL, 0},
    {" http https xh ", "a", "", "op", NULL, 0},
    {" lftp ", "u", "", "pec", NULL, 0},
    {" zip unzip ", "P", "", "bdnitx", NULL, 0},
    {" 7z 7za 7zr ", "", "p", "aimorstuvwxy", NULL, 0},
    {" openssl ", "kK", "", "", NULL, IS_LONG},
    {" docker podman nerdctl skopeo crane helm oras ", "p", "", "u", "login", 0},
    {" wandb ", "", "", "", "login", IS_POSITIONAL},
    {" aws ", "", "", "", "configure", IS_POSITIONAL},
};

static const struct redact_program *program_of(const char *word, size_t n)
{
    const char *slash = memrchr(word, '/', n);
    if (slash) {
        n -= (size_t)(slash + 1 - word);
        word = slash + 1;
    }
    for (size_t i = 0; n && i < sizeof programs / sizeof *programs; i++)
        for (const char *at = programs[i].names; at[1]; at = strchr(at + 1, ' '))
            if (strncmp(at + 1, word, n) == 0 && at[1 + n] == ' ')
                return &programs[i];
    return NULL;
}

/* user:password, but neither 1000:1000 nor a URL */
static int is_pair(const char *text)
{
    const char *colon = strchr(text, ':');
    return colon && colon > text && colon[1] && strncmp(colon, "://", 3) != 0 && text[strspn(text, "0123456789:")];
}

static int is_user_option(const char *name, size_t n)
{
    static const char *const names[] = {"-u", "--user", "--proxy-user", "--username", "--http-user"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == n && strncmp(name, names[i], n) == 0)
            return 1;
    return 0;
}

/* -sSu me:x, -sSume:x. returns how much of the word stays, its length when all of it */
static size_t short_options(struct redact_line *line, const char *word, size_t n)
{
    const struct redact_program *p = line->program;
    if ((p->subcommand && !line->is_behind_subcommand) || (p->flags & IS_LONG && n > 2))
        return n;
    for (size_t i = 1; i < n; i++) {
        int is_last = i + 1 == n, is_secret = strchr(p->secret, word[i]) != NULL;
        if (is_secret && is_last)
            line->next = REDACT_NEXT_SECRET;
        if (is_secret || strchr(p->glued, word[i]))
            return i + 1;
        if (strchr(p->valued, word[i])) {
            line->next = is_last ? REDACT_NEXT_VALUE : REDACT_NEXT_ANY;
            return n;
        }
    }
    return n;
}

/* returns how much of the word stays before what is secret in it, its length when nothing is */
static size_t option(struct redact_line *line, const char *word, size_t n)
{
    const char *sign = memchr(word, '=', n);
    size_t name = sign ? (size_t)(sign - word) : n;
    if (is_user_option(word, name) && (sign || !line->program || word[1] == '-')) {
        if (sign)
            return is_pair(sign + 1) ? name + 1 : n;
        line->next = REDACT_NEXT_PAIR;
        return n;
    }
    return line->program && word[1] != '-' ? short_options(line, word, n) : n;
}

/* A word that is neither an option nor the value of one. returns 1 when it is secret */
static int positional(struct redact_line *line, const char *word, size_t n)
{
    const struct redact_program *p = program_of(word, n);
    if (p) {
        *line = (struct redact_line){.program = p};
    } else if (line->program && line->program->flags & IS_WRAPPER) {
        line->program = NULL;
    } else if (line->program && line->program->subcommand && !line->is_behind_subcommand) {
        line->is_behind_subcommand = strcmp(line->program->subcommand, word) == 0;
    } else {
        return line->program && line->is_behind_subcommand && line->program->flags & IS_POSITIONAL;
    }
    return 0;
}

/* The word as the shell hands it on; what does not fit is cut. returns its length */
static size_t unquoted(const char *raw, size_t n, char out[MAX_WORD])
{
    size_t used = 0;
    for (size_t i = 0; i < n && used + 1 < MAX_WORD; i++)
        if (raw[i] != '\'' && raw[i] != '"' && raw[i] != '\\')
            out[used++] = raw[i];
    out[used] = '\0';
    return used;
}

static void put_text(const char *text, size_t n, int nesting, struct dcr_buf *out);

static void put_word(struct redact_line *line, const char *raw, size_t n_raw, int nesting, struct dcr_buf *out)
{
    char word[MAX_WORD];
    size_t n = unquoted(raw, n_raw, word), kept = n;
    int next = line->next;
    line->next = REDACT_NEXT_ANY;
    if (next == REDACT_NEXT_SECRET || (next == REDACT_NEXT_PAIR && is_pair(word)))
        kept = 0;
    else if (next != REDACT_NEXT_VALUE && word[0] == '-' && n > 1)
        kept = option(line, word, n);
    else if (next == REDACT_NEXT_ANY && positional(line, word, n))
        kept = 0;
    if (kept < n || (n_raw && !n && next == REDACT_NEXT_SECRET)) {
        dcr_buf_add(out, word, kept);
        dcr_buf_puts(out, REDACTED);
        return;
    }
    int is_text = nesting < MAX_NESTING && n_raw > 1 && strpbrk(word, " \t\n");
    if (is_text && (raw[0] == '\'' || raw[0] == '"') && raw[n_raw - 1] == raw[0]) {
        dcr_buf_putc(out, raw[0]);
        put_text(raw + 1, n_raw - 2, nesting + 1, out);
        dcr_buf_putc(out, raw[0]);
    } else {
        dcr_buf_add(out, raw, n_raw);
    }
}

/* Up to a blank or a sign that ends a command, both outside quotes. */
static size_t word_length(const char *text, size_t n)
{
    char quote = '\0';
    size_t i = 0;
    for (; i < n; i++) {
        if (text[i] == '\\' && quote != '\'' && i + 1 < n)
            i++;
        else if (quote)
            quote = text[i] == quote ? '\0' : quote;
        else if (text[i] == '\'' || text[i] == '"')
            quote = text[i];
        else if (strchr(" \t\r\n;&|()`", text[i]))
            break;
    }
    return i;
}

/* What a shell would read: several commands. */
static void put_text(const char *text, size_t n, int nesting, struct dcr_buf *out)
{
    struct redact_line line = {0};
    for (size_t i = 0; i < n;) {
        size_t word = word_length(text + i, n - i);
        if (word) {
            put_word(&line, text + i, word, nesting, out);
            i += word;
            continue;
        }
        if (strchr("\n;&|()`", text[i]))
            line = (struct redact_line){0};
        dcr_buf_putc(out, text[i++]);
    }
}

void redact_word(struct redact_line *line, const char *word, struct dcr_buf *out)
{
    struct dcr_buf clean = {0};
    size_t n = strlen(word);
    int is_secret = redact_is_secret_value(line->meaning, word);
    line->meaning = 0;
    if (is_secret && strncmp(word, "--", 2) != 0) {
        line->next = REDACT_NEXT_ANY;
        dcr_buf_puts(out, REDACTED);
        return;
    }
    if (strpbrk(word, " \t\n") && line->next != REDACT_NEXT_SECRET && line->next != REDACT_NEXT_PAIR) {
        line->next = REDACT_NEXT_ANY;
        put_text(word, n, 0, &clean);
    } else {
        put_word(line, word, n, MAX_NESTING, &clean);
    }
    line->meaning = redact_text(dcr_buf_text(&clean), out);
    dcr_buf_release(&clean);
}
