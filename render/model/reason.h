/* reason.h - why a value is missing: a code with typed slots. It has no words: those are in render/say/reasons.def, one
 * row for each reason, and render/say/say.h makes the text. */
#ifndef RENDER_MODEL_REASON_H
#define RENDER_MODEL_REASON_H

#include <stdint.h>

struct reason;

enum slot_kind {
    SLOT_NONE = 0,
    SLOT_COUNT,   /* a whole number; a template may give it a noun */
    SLOT_THINGS,  /* a count with a separate noun: "4 nodes", or "4 ranks" if a series counts ranks */
    SLOT_TIME,    /* ns; all times of a sentence are printed in the unit of the longest */
    SLOT_PERCENT, /* a ratio that reads as "34 %" */
    SLOT_RATIO,   /* "0.84" */
    SLOT_FACTOR,  /* "1.92x" */
    SLOT_NUMBER,
    SLOT_BYTES,
    SLOT_NAME, /* of a thing, or words of the evidence */
    SLOT_REASON,
};

/* The content of a slot in a sentence. Names and reasons are borrowed: they live as long as the phrase or reason that
 * has the slot. */
struct slot {
    enum slot_kind kind;
    const char *noun; /* of SLOT_THINGS, singular */
    union {
        int64_t count; /* also ns */
        double real;
        const char *name;
        const struct reason *reason;
    };
};

enum { SLOTS_MAX = 6 };

enum reason_code {
    REASON_NONE = 0, /* nothing is missing: the value holds */
#define R(code, mark, slots, clause) REASON_##code,
#include "render/say/reasons.def"
#undef R
    N_REASONS
};

/* The slots are in the order of the row in reasons.def. */
struct reason {
    enum reason_code code;
    struct slot slot[SLOTS_MAX];
};

/** REASON - a reason by its code without the prefix, and its slots: REASON(NODES_UNKNOWN), REASON(FEW, slot_count(n)).
 */
#define REASON(code_, ...) ((struct reason){.code = REASON_##code_, .slot = {__VA_ARGS__}})

static inline struct slot slot_count(int64_t n)
{
    return (struct slot){.kind = SLOT_COUNT, .count = n};
}
static inline struct slot slot_things(int64_t n, const char *noun)
{
    return (struct slot){.kind = SLOT_THINGS, .noun = noun, .count = n};
}
static inline struct slot slot_time(int64_t ns)
{
    return (struct slot){.kind = SLOT_TIME, .count = ns};
}
static inline struct slot slot_percent(double ratio)
{
    return (struct slot){.kind = SLOT_PERCENT, .real = ratio};
}
static inline struct slot slot_ratio(double ratio)
{
    return (struct slot){.kind = SLOT_RATIO, .real = ratio};
}
static inline struct slot slot_factor(double factor)
{
    return (struct slot){.kind = SLOT_FACTOR, .real = factor};
}
static inline struct slot slot_number(double value)
{
    return (struct slot){.kind = SLOT_NUMBER, .real = value};
}
static inline struct slot slot_bytes(double bytes)
{
    return (struct slot){.kind = SLOT_BYTES, .real = bytes};
}
static inline struct slot slot_name(const char *name)
{
    return (struct slot){.kind = SLOT_NAME, .name = name};
}
static inline struct slot slot_reason(const struct reason *why)
{
    return (struct slot){.kind = SLOT_REASON, .reason = why};
}

#endif
