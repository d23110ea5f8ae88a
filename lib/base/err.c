/* err.c - see err.h. */
#include "lib/base/err.h"

#include "lib/base/utf8.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *dcr_clean_text(char *text)
{
    if (text)
        utf8_mask(text, strlen(text), 0);
    return text;
}

char *dcr_clean_line(char *text)
{
    if (text)
        utf8_mask(text, strlen(text), '?');
    return text;
}

/* Bytes of letters beyond ASCII count as parts of a word. */
static int is_word(char c)
{
    return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

/* An apostrophe within a word does not open a quote. */
static int is_quote(const char *text, const char *at, char open)
{
    if (*at != '\'')
        return *at == '`' || *at == '"';
    return open ? !is_word(at[1]) : at == text || !is_word(at[-1]);
}

/* Length of the part that says what is wrong: up to the last "; " outside of names and commands. */
static int length_of_fault(const char *text)
{
    const char *end = NULL;
    char open = 0;
    for (const char *at = text; *at; at++)
        if ((!open || *at == open) && is_quote(text, at, open))
            open = open ? 0 : *at;
        else if (!open && at[0] == ';' && at[1] == ' ' && at[2])
            end = at;
    return (int)(end ? (size_t)(end - text) : strlen(text));
}

void dcr_err_why(const struct dcr_err *err, char *out, size_t cap)
{
    snprintf(out, cap, "%.*s", length_of_fault(err->text), err->text);
}

/* "what is wrong. What to do", from "what is wrong; what to do". */
static void as_sentences(const char *text, char *out, size_t cap)
{
    const int n = length_of_fault(text);
    if (text[n])
        snprintf(out, cap, "%.*s. %c%s", n, text, toupper((unsigned char)text[n + 2]), text + n + 3);
    else
        snprintf(out, cap, "%s", text);
}

void dcr_err_sentences(const struct dcr_err *err, char *out, size_t cap)
{
    as_sentences(err->text, out, cap);
}

void dcr_say(const char *program, const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;
    va_start(ap, fmt);
    int rc = vasprintf(&text, fmt, ap);
    va_end(ap);
    if (rc < 0) {
        fprintf(stderr, "%s: out of memory.\n", program);
        return;
    }
    dcr_clean_text(text);
    size_t cap = strlen(text) + 1; /* "; " and ". " have the same length */
    char *said = malloc(cap);
    if (said)
        as_sentences(text, said, cap);
    const char *all = said ? said : text;
    const char *stop = *all && strchr(".?", all[strlen(all) - 1]) ? "" : ".";
    fprintf(stderr, "%s: %s%s\n", program, all, stop); /* one write: lines of several ranks do not mix */
    free(said);
    free(text);
}

void dcr_die_of_memory(void)
{
    fprintf(stderr, "%s: out of memory.\n", program_invocation_short_name);
    abort();
}

int dcr_err_set(struct dcr_err *err, int grade, const char *fmt, ...)
{
    if (err) {
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(err->text, sizeof err->text, fmt, ap);
        va_end(ap);
        dcr_clean_text(err->text);
        err->grade = grade;
        err->sys = 0;
        err->kind = DCR_ERR_ANY;
    }
    return grade;
}

int dcr_err_mark(struct dcr_err *err, enum dcr_err_kind kind, int grade)
{
    if (err)
        err->kind = kind;
    return grade;
}

/* more: advice for a sentence that has none, or "" */
static void set_sys(struct dcr_err *err, int grade, int sys, const char *more, const char *fmt, va_list ap)
    DCR_PRINTF(5, 0);
static void set_sys(struct dcr_err *err, int grade, int sys, const char *more, const char *fmt, va_list ap)
{
    int n = vsnprintf(err->text, sizeof err->text, fmt, ap);
    if (n >= 0 && (size_t)n < sizeof err->text) {
        char advice[sizeof err->text];
        n = length_of_fault(err->text);
        snprintf(advice, sizeof advice, "%s", err->text[n] ? err->text + n : more);
        snprintf(err->text + n, sizeof err->text - (size_t)n, ": %s%s", strerror(sys), advice);
    }
    dcr_clean_text(err->text);
    err->grade = grade;
    err->sys = sys;
    err->kind = DCR_ERR_ANY;
}

int dcr_err_sys(struct dcr_err *err, int grade, const char *fmt, ...)
{
    int sys = errno;
    if (err) {
        va_list ap;
        va_start(ap, fmt);
        set_sys(err, grade, sys, "", fmt, ap);
        va_end(ap);
    }
    return grade;
}

/* What the user of a file can do. */
static const char *advice_for(int sys)
{
    switch (sys) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
    case EISDIR:
    case EEXIST:
        return "; check the name";
    case ENAMETOOLONG:
        return "; give a shorter name";
    case EACCES:
    case EPERM:
        return "; check the permissions";
    case ENOSPC:
    case EDQUOT:
        return "; make room there, or name another place";
    case EFBIG:
        return "; raise the limit on the size of files (`ulimit -f`)";
    case EROFS:
        return "; name another place";
    case EMFILE:
    case ENFILE:
        return "; raise the limit on open files (`ulimit -n`)";
    case ENOMEM:
    case EAGAIN:
        return "; try again when other programs have ended";
    case EPIPE:
        return "; its reader has ended";
    case ETXTBSY:
        return "; try again when nothing writes it";
    case E2BIG:
        return "; give fewer or shorter arguments";
    case EIO:
    case ESTALE:
        return "; look for failures of the disk in the log of the kernel (`dmesg`)";
    default:
        return "; try again, or name another file";
    }
}

int dcr_err_file(struct dcr_err *err, int grade, const char *fmt, ...)
{
    int sys = errno;
    if (err) {
        va_list ap;
        va_start(ap, fmt);
        set_sys(err, grade, sys, advice_for(sys), fmt, ap);
        va_end(ap);
    }
    return grade;
}

int dcr_err_while(struct dcr_err *err, const char *fmt, ...)
{
    if (!err)
        return DCR_FAIL;
    char old[sizeof err->text];
    memcpy(old, err->text, sizeof old);
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n < sizeof err->text)
        snprintf(err->text + n, sizeof err->text - (size_t)n, ": %.*s", (int)(sizeof err->text - (size_t)n - 3), old);
    dcr_clean_text(err->text);
    return err->grade;
}

int dcr_err_advise(struct dcr_err *err, const char *fmt, ...)
{
    if (!err)
        return DCR_FAIL;
    size_t n = (size_t)length_of_fault(err->text);
    n += (size_t)snprintf(err->text + n, sizeof err->text - n, "; ");
    if (n < sizeof err->text) {
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(err->text + n, sizeof err->text - n, fmt, ap);
        va_end(ap);
    }
    dcr_clean_text(err->text);
    return err->grade;
}
