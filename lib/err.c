/* err.c - see err.h. */
#include "lib/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

char *dcr_clean_text(char *text)
{
    for (unsigned char *c = (unsigned char *)text; c && *c; c++) {
        if ((*c < 0x20 && *c != '\n' && *c != '\t') || *c == 0x7f)
            *c = '?';
        else if (c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0) /* U+0080 .. U+009F: some terminals obey them */
            c[0] = c[1] = '?';
    }
    return text;
}

char *dcr_clean_line(char *text)
{
    for (char *c = dcr_clean_text(text); c && *c; c++)
        if (*c == '\n' || *c == '\t')
            *c = '?';
    return text;
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
