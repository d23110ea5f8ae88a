/* json_values.c - see json_values.h. */
#include "render/write/json/json_values.h"

#include "lib/base/json_string.h"
#include "render/say/say.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NULL means that memory ran out, because all other values become null or are cleaned. */
static void must(int rc)
{
    if (rc != 0)
        dcr_die_of_memory();
}

void value_set(json_t *object, const char *key, json_t *value)
{
    must(json_object_set_new(object, key, value));
}

void value_add(json_t *list, json_t *value)
{
    must(json_array_append_new(list, value));
}

json_t *value_real(int has, double v)
{
    return has && isfinite(v) ? json_real(v) : json_null();
}

json_t *value_int(int has, int64_t v)
{
    return has ? json_integer(v) : json_null();
}

json_t *value_string(const char *s)
{
    return s ? json_string_shown(s) : json_null();
}

json_t *value_text(const char *s)
{
    return s && *s ? value_string(s) : json_null();
}

json_t *value_reason(const struct reason *why)
{
    struct dcr_buf b = {0};
    say_put_clause(&b, why);
    json_t *v = value_text(dcr_buf_text(&b));
    dcr_buf_release(&b);
    return v;
}

json_t *value_phrase(const struct phrase *p)
{
    struct dcr_buf b = {0};
    say_put_phrases(&b, p, 1);
    json_t *v = value_text(dcr_buf_text(&b));
    dcr_buf_release(&b);
    return v;
}

json_t *value_interval(struct interval i)
{
    return i.has ? json_pack("{s:o, s:o}", "lo", value_real(1, i.lo), "hi", value_real(1, i.hi)) : json_null();
}

static json_t *known(const struct value *v)
{
    switch (v->kind) {
    case VALUE_WHOLE:
        return json_integer(v->whole);
    case VALUE_REAL:
        return json_real(v->real);
    case VALUE_FLAG:
        return json_boolean(v->whole);
    case VALUE_INTERVAL:
        return value_interval(v->interval);
    case VALUE_OBJECT:
        return json_object();
    default:
        return value_string(v->text);
    }
}

/* The object that contains a key, made if needed; NULL if it is null. */
static json_t *inside(json_t *o, const char *key)
{
    const char *dot = strchr(key, '.');
    char name[64];
    if (!dot)
        return o;
    snprintf(name, sizeof name, "%.*s", (int)(dot - key), key);
    if (!json_object_get(o, name))
        value_set(o, name, json_object());
    json_t *in = json_object_get(o, name);
    return json_is_object(in) ? in : NULL;
}

static const char *last(const char *key)
{
    const char *dot = strchr(key, '.');
    return dot ? dot + 1 : key;
}

/* The null itself says that a value was not measured. */
static json_t *why(const struct reason *r)
{
    return r->code == REASON_NOT_MEASURED ? json_null() : value_reason(r);
}

void value_put(json_t *o, const struct metrics *t, const void *subject)
{
    for (const struct metric *m = t->rows; m < t->rows + t->n; m++) {
        json_t *in = inside(o, *m->key || !m->because ? m->key : m->because);
        if (!in || (!*m->key && !m->because))
            continue;
        struct value v = m->of(subject);
        if (*m->key)
            value_set(in, last(m->key), value_is_known(&v) ? known(&v) : json_null());
        if (m->because)
            value_set(in, last(m->because), why(&v.why));
    }
}

json_t *value_object(const struct metrics *t, const void *subject)
{
    json_t *o = json_object();
    value_put(o, t, subject);
    return o;
}

json_t *value_parts(const int64_t *part, unsigned known)
{
    json_t *o = json_object();
    for (int p = 0; p < N_PARTS; p++)
        value_set(o, part_key((enum part)p), value_int(known >> p & 1, part[p]));
    return o;
}
