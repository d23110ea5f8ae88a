/* device.c - names of columns and causes; see device.h. */
#include "render/model/foreign.h"

const char *device_column_name(enum device_column c)
{
    static const char *const names[] = {
#define X(id, name, unit) name,
        DEVICE_COLUMNS(X)
#undef X
    };
    return names[c];
}

const char *idle_cause_key(enum idle_cause c)
{
    static const char *const keys[] = {
#define X(id, key, meaning) key,
        IDLE_CAUSES(X)
#undef X
    };
    return keys[c];
}

const char *idle_cause_words(enum idle_cause c, enum idle_form form)
{
    static const char *const words[N_IDLE_CAUSES][N_IDLE_FORMS] = {
#define IDLE(id, column, beside, words, clause) [IDLE_##id] = {column, beside, words, clause},
#include "render/say/names.def"
    };
    return words[c][form];
}

const char *operator_kind_key(enum operator_kind k)
{
    static const char *const keys[] = {
#define X(id, key) key,
        OPERATOR_KINDS(X)
#undef X
    };
    return keys[k];
}
