/* decimal.c - see decimal.h. */
#include "render/import/text/decimal.h"

static inline int digit(char c)
{
    return (unsigned char)(c - '0') <= 9;
}

/* value * 10 + d; 1 when that does not fit. */
static inline int push(int64_t *v, int d)
{
    return __builtin_mul_overflow(*v, 10, v) || __builtin_add_overflow(*v, d, v);
}

/* [-+]digits, clamped: no mantissa of a sane length can use more than 10^5. */
static const char *exponent(const char *p, const char *end, int *out)
{
    int e = 0, is_negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    if (p >= end || !digit(*p))
        return 0;
    for (; p < end && digit(*p); p++)
        e = e < 100000 ? 10 * e + (*p - '0') : e;
    *out = is_negative ? -e : e;
    return p;
}

/* Where the number ends, and its exponent; NULL when it is none. */
static const char *shape(const char *p, const char *end, int *exp10)
{
    const char *first = p;
    *exp10 = 0;
    while (p < end && digit(*p))
        p++;
    int n = p > first;
    if (p < end && *p == '.') {
        p++;
        for (first = p; p < end && digit(*p); p++)
            n = 1;
    }
    if (!n)
        return 0;
    return p < end && (*p == 'e' || *p == 'E') ? exponent(p + 1, end, exp10) : p;
}

int decimal_scaled(const char *p, const char *end, int scale, int64_t *out)
{
    int exp10, is_quoted = p < end && *p == '"';
    p += is_quoted;
    while (is_quoted && p < end && *p == ' ')
        p++;
    int is_negative = p < end && *p == '-';
    if (p < end && (*p == '-' || (*p == '+' && is_quoted)))
        p++;
    const char *stop = shape(p, end, &exp10);
    if (!stop)
        return -1;
    if (is_quoted) {
        while (stop < end && *stop == ' ')
            stop++;
        if (stop >= end || *stop != '"')
            return -1;
    } else if (stop < end && *stop != ',' && *stop != '}' && *stop != ']' && (unsigned char)*stop > ' ') {
        return -1;
    }
    /* Digits before the (moved) decimal point are the result; those after it are finer than one unit. */
    int64_t v = 0;
    int kept = scale + exp10;
    for (const char *q = p; q < end && digit(*q); q++)
        kept = kept < INT32_MAX ? kept + 1 : kept;
    for (; p < end && kept > 0 && (digit(*p) || *p == '.'); p++) {
        if (*p == '.')
            continue;
        kept--;
        if (push(&v, *p - '0'))
            return -1;
    }
    for (; kept > 0 && v != 0; kept--)
        if (push(&v, 0))
            return -1;
    *out = is_negative ? -v : v;
    return 0;
}
