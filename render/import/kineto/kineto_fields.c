/* kineto_fields.c - kineto_event: the fields of one event. See kineto_event.h. The inner loop of reading a trace: for
 * most events only the category is read. */
#include "render/import/text/decimal.h"
#include "render/import/text/json_window.h"
#include "render/import/kineto/kineto_event.h"

#include <string.h>

static const int is_little_endian = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

/* Eight digits at once, the first one in the lowest byte; 0 when one of them is none. source: D. Lemire, "Quickly
 * parsing eight digits" (2018) */
static inline int eight_digits(const char *p, uint64_t *out)
{
    const uint64_t high = UINT64_C(0xf0f0f0f0f0f0f0f0);
    uint64_t v;
    memcpy(&v, p, sizeof v);
    if (((v & high) | ((v + UINT64_C(0x0606060606060606)) & high) >> 4) != UINT64_C(0x3333333333333333))
        return 0;
    v = (v & UINT64_C(0x0f0f0f0f0f0f0f0f)) * 2561 >> 8;
    v = (v & UINT64_C(0x00ff00ff00ff00ff)) * 6553601 >> 16;
    *out = (v & UINT64_C(0x0000ffff0000ffff)) * 42949672960001 >> 32;
    return 1;
}

/* Microseconds as decimal text to nanoseconds; the usual form needs no call. The text ends in a zero byte at the
 * latest. returns  0; -1 when it is no number */
static inline int microseconds(const char *p, const char *end, int64_t *out)
{
    uint64_t v = 0, more;
    const char *q = p;
    if (is_little_endian && eight_digits(q, &v)) { /* times since 1970 are so long */
        q += 8;
        if (eight_digits(q, &more)) {
            v = v * 100000000 + more;
            q += 8;
        }
    }
    for (; (unsigned char)(*q - '0') <= 9; q++)
        v = 10 * v + (uint64_t)(*q - '0');
    if (q > p && (q - p <= 15 || (q - p == 16 && *p < '9'))) { /* fits into 64 bits as nanoseconds */
        const char *first = q;
        if (*q == '.') {
            for (q++; (unsigned char)(*q - '0') <= 9 && q - first <= 3; q++)
                v = 10 * v + (uint64_t)(*q - '0');
            first++;
        }
        if (*q == ',' || *q == '\n' || *q == ' ' || *q == '}' || *q == '\r') {
            static const uint64_t scale[] = {1000, 100, 10, 1};
            *out = (int64_t)(v * scale[q - first]);
            return 0;
        }
    }
    return decimal_scaled(p, end, 3, out);
}

static inline struct kineto_text text_of(const char *p, const char *after)
{
    return *p == '"' ? (struct kineto_text){p + 1, (size_t)(after - p) - 2} : (struct kineto_text){p, 0};
}

/* An event while it is read. Its times become numbers only when they are needed. */
struct reading {
    struct kineto_raw *e;
    const char *ts, *ts_end, *dur, *dur_end;
};

/* One letter; a writer that escapes all characters may write it as \u0058. */
static char phase(const char *p, size_t n)
{
    char plain[3];
    if (n == 1)
        return *p;
    return json_unescape(p, n, plain, sizeof plain) == 1 ? plain[0] : 0;
}

/* One value of the event itself. returns  1 when it is of a name that counts */
static inline int field(struct reading *r, const char *key, size_t n, const char *p, const char *after)
{
    struct kineto_raw *e = r->e;
    switch (n) {
    case 2:
        if (memcmp(key, "ph", 2) == 0)
            e->ph = *p == '"' ? phase(p + 1, (size_t)(after - p) - 2) : 0;
        else if (memcmp(key, "ts", 2) == 0) {
            r->ts = p;
            r->ts_end = after;
        } else
            return 0;
        return 1;
    case 3:
        if (memcmp(key, "cat", 3) == 0)
            e->cat = text_of(p, after);
        else if (memcmp(key, "dur", 3) == 0) {
            r->dur = p;
            r->dur_end = after;
        } else if (memcmp(key, "pid", 3) == 0) {
            e->pid = p;
            e->pid_end = after;
        } else if (memcmp(key, "tid", 3) == 0) {
            e->tid = p;
            e->tid_end = after;
        } else
            return 0;
        return 1;
    case 4:
        if (memcmp(key, "name", 4) == 0) {
            e->name = text_of(p, after);
        } else if (memcmp(key, "args", 4) == 0) {
            e->args = *p == '{' ? p : NULL;
            e->args_end = after;
        } else
            return 0;
        return 1;
    default:
        return 0;
    }
}

/* A duration that cannot be read leaves a complete event without a time; a missing one is 0. */
static void take_times(struct reading *r)
{
    struct kineto_raw *e = r->e;
    e->has_ts = r->ts && microseconds(r->ts, r->ts_end, &e->ts_ns) == 0;
    if (r->dur && microseconds(r->dur, r->dur_end, &e->dur_ns)) {
        e->dur_ns = 0;
        e->has_ts &= e->ph != 'X';
    }
}

/* Four bytes as a number, as they lie in memory of this kind. */
#define FOUR(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

/* The place after the field whose name begins at key, if it is written in the usual way; NULL when it must be read with
 * more care. Most events have only such fields. */
static inline const char *plain_field(struct reading *r, const struct json_index *x, const char *key)
{
    struct kineto_raw *e = r->e;
    uint32_t four;
    const char *p = key + 4, *after;
    if (!is_little_endian || x->end - key < 16)
        return NULL;
    memcpy(&four, key, sizeof four);
    switch (four) {
    case FOUR('p', 'h', '"', ':'):
        p += *p == ' ';
        if (p[0] != '"' || p[2] != '"' || p[1] == '"' || p[1] == '\\')
            return NULL;
        e->ph = p[1];
        return p + 3;
    case FOUR('t', 's', '"', ':'):
        p += *p == ' ';
        break;
    case FOUR('c', 'a', 't', '"'):
    case FOUR('d', 'u', 'r', '"'):
    case FOUR('p', 'i', 'd', '"'):
    case FOUR('t', 'i', 'd', '"'):
        if (*p++ != ':')
            return NULL;
        p += *p == ' ';
        break;
    case FOUR('n', 'a', 'm', 'e'):
    case FOUR('a', 'r', 'g', 's'):
        if (p[0] != '"' || p[1] != ':')
            return NULL;
        p += 2;
        p += *p == ' ';
        break;
    default:
        return NULL;
    }
    if ((unsigned char)*p <= ' ' || !(after = json_index_value(x, p)) || after == p)
        return NULL;
    switch (four) {
    case FOUR('t', 's', '"', ':'):
        r->ts = p;
        r->ts_end = after;
        break;
    case FOUR('c', 'a', 't', '"'):
        e->cat = text_of(p, after);
        break;
    case FOUR('d', 'u', 'r', '"'):
        r->dur = p;
        r->dur_end = after;
        break;
    case FOUR('p', 'i', 'd', '"'):
        e->pid = p;
        e->pid_end = after;
        break;
    case FOUR('t', 'i', 'd', '"'):
        e->tid = p;
        e->tid_end = after;
        break;
    case FOUR('n', 'a', 'm', 'e'):
        e->name = text_of(p, after);
        break;
    default:
        e->args = *p == '{' ? p : NULL;
        e->args_end = after;
        break;
    }
    return after;
}

const char *kineto_event(struct kineto_raw *e, const struct json_index *x, const char *p, const char **wrong)
{
    const char *end = x->end;
    struct reading r;
    r.e = e;
    e->name = e->cat = (struct kineto_text){"", 0}; /* set one by one, because the whole struct is large */
    e->ph = 0;
    e->ts_ns = e->dur_ns = 0;
    e->has_ts = 0;
    e->pid = e->pid_end = e->tid = e->tid_end = e->args = e->args_end = NULL;
    r.ts = r.dur = NULL;
    for (p++;;) {
        p += *p == ',';
        p = json_margin(p, end);
        if (p >= end)
            return NULL;
        if (*p == ',')
            continue;
        if (*p == '}')
            break;
        if (*p != '"') {
            *wrong = p;
            return NULL;
        }
        const char *key = p + 1, *behind = plain_field(&r, x, key);
        if (behind) {
            p = behind;
            continue;
        }
        const char *key_end = json_index_quote(x, key);
        if (key_end >= end)
            return NULL;
        p = json_space(key_end + 1, end);
        if (p < end && *p != ':') {
            *wrong = p;
            return NULL;
        }
        p = p < end ? json_space(p + 1, end) : p;
        const char *after = p < end ? json_index_value(x, p) : NULL;
        if (!after)
            return NULL;
        if (after == p) {
            *wrong = p;
            return NULL;
        }
        size_t n = (size_t)(key_end - key);
        if (!field(&r, key, n, p, after) && memchr(key, '\\', n)) {
            char plain[16];
            field(&r, plain, json_unescape(key, n, plain, sizeof plain), p, after);
        }
        p = after;
    }
    if (strchr("XBEiI", e->ph))
        take_times(&r);
    return p + 1;
}
