/* err.c - see err.h. */
#include "lib/base/err.h"

#include "lib/base/utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
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

void dcr_err_why(const struct dcr_err *err, char *out, size_t cap)
{
    const char *advice = strrchr(err->text, ';');
    snprintf(out, cap, "%.*s", (int)(advice ? (size_t)(advice - err->text) : strlen(err->text)), err->text);
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

int dcr_err_sys(struct dcr_err *err, int grade, const char *fmt, ...)
{
    int sys = errno;
    if (err) {
        va_list ap;
        va_start(ap, fmt);
        int n = vsnprintf(err->text, sizeof err->text, fmt, ap);
        va_end(ap);
        if (n >= 0 && (size_t)n < sizeof err->text)
            snprintf(err->text + n, sizeof err->text - (size_t)n, ": %s", strerror(sys));
        dcr_clean_text(err->text);
        err->grade = grade;
        err->sys = sys;
        err->kind = DCR_ERR_ANY;
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
