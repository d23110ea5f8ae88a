/* say.c - see say.h. */
#include "render/say/say.h"

#include "lib/base/fs.h"
#include "render/say/facts.h"
#include "render/say/format.h"
#include "render/say/tables.h"

#include <stdlib.h>
#include <string.h>

/* The words in which the rows of reasons.def declare their slots. */
#define SLOTS(...)  \
    {               \
        __VA_ARGS__ \
    }
#define NO_SLOTS \
    {            \
        {        \
            0    \
        }        \
    }
#define COUNT(name_)             \
    {                            \
        SLOT_COUNT, #name_, NULL \
    }
#define THINGS(name_, noun_)       \
    {                              \
        SLOT_THINGS, #name_, noun_ \
    }
#define TIME(name_)             \
    {                           \
        SLOT_TIME, #name_, NULL \
    }
#define PERCENT(name_)             \
    {                              \
        SLOT_PERCENT, #name_, NULL \
    }
#define RATIO(name_)             \
    {                            \
        SLOT_RATIO, #name_, NULL \
    }
#define FACTOR(name_)             \
    {                             \
        SLOT_FACTOR, #name_, NULL \
    }
#define NUMBER(name_)             \
    {                             \
        SLOT_NUMBER, #name_, NULL \
    }
#define BYTES(name_)             \
    {                            \
        SLOT_BYTES, #name_, NULL \
    }
#define NAME(name_, sample_)       \
    {                              \
        SLOT_NAME, #name_, sample_ \
    }
#define WHY(name_)                \
    {                             \
        SLOT_REASON, #name_, NULL \
    }

static const struct reason_row table[N_REASONS] = {
    [REASON_NONE] = {"NONE", "", NO_SLOTS, ""},
#define R(code, mark, slots, clause) [REASON_##code] = {#code, mark, slots, clause},
#include "render/say/reasons.def"
#undef R
};

static const struct phrase_row phrases[N_PHRASES] = {
    [PHRASE_NONE] = {"NONE", NO_SLOTS, ""},
#define P(id, slots, text) [PHRASE_##id] = {#id, slots, text},
#include "render/say/phrases.def"
#include "render/say/notes.def"
#include "render/say/causes.def"
#undef P
};

/* Rows of notes.def follow those of phrases.def, and rows of causes.def those. */
enum {
    FIRST_NOTE = 1
#define P(id, slots, text) +1
#include "render/say/phrases.def"
    ,
    FIRST_CAUSE = FIRST_NOTE
#include "render/say/notes.def"
#undef P
};

static const struct advice_row advices[N_ADVICES] = {
    [ADVICE_NONE] = {"NONE", NO_SLOTS, {"", "", "", ""}},
#define A(id, slots, ours, torch, plain, check) [ADVICE_##id] = {#id, slots, {ours, torch, plain, check}},
#include "render/say/advice.def"
#undef A
};

static const struct table_row tables[N_TABLES] = {
#define T(id, slots, caption, columns) [TABLE_##id] = {#id, slots, caption, columns},
#include "render/say/tables.def"
#undef T
};

static const struct fact_row facts[N_FACTS] = {
#define F(id, slots, name, text) [FACT_##id] = {#id, slots, name, text},
#include "render/say/facts.def"
#undef F
};

/* The forms of a row of names.def, for the phrasebook. */
static const struct {
    const char *id, *forms[5];
} names[] = {
#define CAUSE(id, title, inside, time, limits, share) {#id, {title, inside, time, limits, share}},
#define LOST(id, title, counts) {"LOST_" #id, {title, counts}},
#define IDLE(id, column, beside, words, clause) {"IDLE_" #id, {column, beside, words, clause}},
#include "render/say/names.def"
};

const char *say_mark(const char *mark)
{
    static const char *const words[][2] = {{"G", "no GPU"},
                                           {"O", "one rank"},
                                           {"S", "missing cores"},
                                           {"R", "not recorded"},
                                           {"C", "no usable calibration"},
                                           {"F", "too few measurements"},
                                           {"H", "hidden by other work"},
                                           {"L", "events were lost"},
                                           {"N", "does not apply"},
                                           {"X", "numbers disagree"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(words[i][0], mark) == 0)
            return words[i][1];
    return "";
}

const struct reason_row *say_row(enum reason_code code)
{
    return &table[code];
}

void say_put_clause(struct dcr_buf *out, const struct reason *why)
{
    say_fill(out, table[why->code].clause, table[why->code].slots, why->slot);
}

/* A value too small for its digits is printed as a limit: "< 0.1 %". Words of a limit before it are left out then:
 * "at most < 0.1 %" becomes "less than 0.1 %". After "below" the sign is left out instead. */
static void put_value(struct dcr_buf *out, struct fmt value)
{
    static const char *const limits[] = {"at most ", "up to ", "about "};
    const char *text = value.text, *said = dcr_buf_text(out);
    int is_small = strncmp(text, "< ", 2) == 0;
    for (size_t i = 0; i < sizeof limits / sizeof *limits && is_small; i++)
        if (dcr_ends_with(said, limits[i])) {
            out->len -= strlen(limits[i]);
            dcr_buf_printf(out, "less than %s", text + 2);
            return;
        }
    dcr_buf_puts(out, is_small && dcr_ends_with(said, "below ") ? text + 2 : text);
}

/* longest_ns: the longest time of the sentence, which decides the unit. */
static void put_slot(struct dcr_buf *out, const struct slot *s, int64_t longest_ns)
{
    switch (s->kind) {
    case SLOT_COUNT:
        dcr_buf_printf(out, "%lld", (long long)s->count);
        break;
    case SLOT_THINGS:
        dcr_buf_puts(out, fmt_count(s->count, s->noun).text);
        break;
    case SLOT_TIME:
        put_value(out, fmt_time_beside(s->count, longest_ns));
        break;
    case SLOT_PERCENT:
        put_value(out, fmt_percent(s->real));
        break;
    case SLOT_RATIO:
        dcr_buf_puts(out, fmt_ratio(s->real).text);
        break;
    case SLOT_FACTOR:
        dcr_buf_puts(out, fmt_x(s->real).text);
        break;
    case SLOT_NUMBER:
        dcr_buf_puts(out, fmt_number(s->real).text);
        break;
    case SLOT_BYTES:
        dcr_buf_puts(out, fmt_bytes(s->real).text);
        break;
    case SLOT_NAME:
        dcr_buf_puts(out, s->name);
        break;
    case SLOT_REASON:
        say_put_clause(out, s->reason);
        break;
    case SLOT_NONE:
        break;
    }
}

/* The index of the slot that begins at `at`; -1 = there is none of this name. */
static int slot_called(const struct slot_row *rows, const char *at, size_t len)
{
    for (int i = 0; i < SLOTS_MAX && rows[i].name; i++)
        if (strlen(rows[i].name) == len && memcmp(rows[i].name, at, len) == 0)
            return i;
    return -1;
}

static int64_t longest_time(const struct slot *slots)
{
    int64_t most = 0;
    for (int i = 0; i < SLOTS_MAX; i++)
        if (slots[i].kind == SLOT_TIME && llabs(slots[i].count) > most)
            most = llabs(slots[i].count);
    return most;
}

void say_fill(struct dcr_buf *out, const char *text, const struct slot_row *rows, const struct slot *slots)
{
    int64_t longest_ns = longest_time(slots);
    for (const char *open; (open = strchr(text, '{')) != NULL;) {
        const char *name = open + 1, *end = name + strcspn(name, "}"), *name_end = name + strcspn(name, ":|}");
        dcr_buf_add(out, text, (size_t)(open - text));
        text = *end ? end + 1 : end;
        int i = slot_called(rows, name, (size_t)(name_end - name));
        if (i < 0 || !*end || slots[i].kind != rows[i].kind ||
            (*name_end != '}' && rows[i].kind != SLOT_COUNT && rows[i].kind != SLOT_THINGS)) {
            dcr_buf_add(out, open, (size_t)(text - open));
            continue;
        }
        const char *word = name_end + 1, *word_end = word + strcspn(word, "|}"); /* of a count */
        switch (*name_end) {
        case ':':
            dcr_buf_puts(out, fmt_whole(slots[i].count).text);
            if (word < word_end)
                dcr_buf_printf(out, " %.*s%s", (int)(word_end - word), word, slots[i].count == 1 ? "" : "s");
            break;
        case '|':
            if (slots[i].count != 1) {
                word = word_end + (*word_end == '|');
                word_end = end;
            }
            dcr_buf_add(out, word, (size_t)(word_end - word));
            break;
        default:
            put_slot(out, &slots[i], longest_ns);
        }
    }
    dcr_buf_puts(out, text);
}

static const char *in_arena(struct dcr_arena *a, struct dcr_buf *b)
{
    const char *text = dcr_arena_strndup(a, dcr_buf_text(b), b->failed ? 0 : b->len);
    dcr_buf_release(b);
    return text;
}

const char *say_clause(struct dcr_arena *a, const struct reason *why)
{
    struct dcr_buf b = {0};
    say_put_clause(&b, why);
    return in_arena(a, &b);
}

const struct phrase_row *say_phrase_row(enum phrase_id id)
{
    return &phrases[id];
}

void say_put_phrases(struct dcr_buf *out, const struct phrase *p, int n)
{
    for (int i = 0; i < n; i++)
        if (p[i].id != PHRASE_NONE) {
            dcr_buf_puts(out, out->len ? " " : "");
            say_fill(out, phrases[p[i].id].text, phrases[p[i].id].slots, p[i].slot);
        }
}

const char *say_phrases(struct dcr_arena *a, const struct phrase *p, int n)
{
    struct dcr_buf b = {0};
    say_put_phrases(&b, p, n);
    return in_arena(a, &b);
}

const char *say_phrase(struct dcr_arena *a, const struct phrase *p)
{
    return say_phrases(a, p, 1);
}

/* Headlines begin with a small letter if other words may precede them. */
static void begin_large(struct dcr_buf *b, size_t at)
{
    if (!b->failed && at < b->len && b->data[at] >= 'a' && b->data[at] <= 'z')
        b->data[at] = (char)(b->data[at] - 'a' + 'A');
}

const char *say_capital(struct dcr_arena *a, const char *words)
{
    struct dcr_buf b = {0};
    dcr_buf_puts(&b, words);
    begin_large(&b, 0);
    return in_arena(a, &b);
}

const char *say_because(struct dcr_arena *a, const struct reason *why)
{
    struct dcr_buf b = {0};
    if (why->code == REASON_NONE)
        return "";
    say_put_clause(&b, why);
    begin_large(&b, 0);
    dcr_buf_putc(&b, '.');
    return in_arena(a, &b);
}

static void put_title(struct dcr_buf *out, const struct said *s)
{
    const struct phrase_row *row = &phrases[s->headline.id];
    if (s->where.kind != SLOT_NONE) {
        dcr_buf_puts(out, s->is_on ? "On " : "");
        put_slot(out, &s->where, 0);
        dcr_buf_puts(out, s->is_on ? ", " : ": ");
    }
    say_fill(out, row->text, row->slots, s->headline.slot);
    if (s->where.kind == SLOT_NONE) /* names keep their letters */
        begin_large(out, 0);
}

const char *say_title(struct dcr_arena *a, const struct said *s)
{
    struct dcr_buf b = {0};
    if (s->headline.id == PHRASE_NONE)
        return "";
    put_title(&b, s);
    return in_arena(a, &b);
}

const char *say_headline(struct dcr_arena *a, const struct said *s)
{
    struct dcr_buf b = {0};
    if (s->headline.id == PHRASE_NONE)
        return "";
    put_title(&b, s);
    dcr_buf_putc(&b, '.');
    return in_arena(a, &b);
}

/* Headlines of findings are sentences too. Words of the evidence may end with a full stop or not. */
static const char *sentences(struct dcr_arena *a, const struct phrase *p, int n, int is_first_large)
{
    struct dcr_buf b = {0};
    for (int i = 0; i < n; i++) {
        if (p[i].id == PHRASE_NONE)
            continue;
        dcr_buf_puts(&b, b.len ? " " : "");
        size_t at = b.len;
        say_fill(&b, phrases[p[i].id].text, phrases[p[i].id].slots, p[i].slot);
        if (at || is_first_large)
            begin_large(&b, at);
        dcr_buf_puts(&b, b.len && b.data[b.len - 1] == '.' ? "" : ".");
    }
    return in_arena(a, &b);
}

const char *say_support(struct dcr_arena *a, const struct said *s)
{
    return sentences(a, s->support, SAID_MAX, 1);
}

const char *say_sentences(struct dcr_arena *a, const struct phrase *p, int n)
{
    return sentences(a, p, n, 1);
}

const char *say_note(struct dcr_arena *a, const struct phrase *p, int n)
{
    return sentences(a, p, n, 0);
}

const struct advice_row *say_advice_row(enum advice id)
{
    return &advices[id];
}

const char *say_advice(struct dcr_arena *a, const struct advised *x, enum advice_part part)
{
    struct dcr_buf b = {0};
    const struct advice_row *row = &advices[x->id];
    const char *text = row->text[part];
    if (part == ADVICE_PLAIN && !*text)
        text = row->text[ADVICE_TORCH];
    if (!*text)
        return "";
    say_fill(&b, text, row->slots, x->slot);
    return in_arena(a, &b);
}

static const char *filled(struct dcr_arena *a, const char *text, const struct slot_row *rows, const struct slot *slots)
{
    struct dcr_buf b = {0};
    say_fill(&b, text, rows, slots);
    return in_arena(a, &b);
}

const struct table_row *say_table_row(enum table_id id)
{
    return &tables[id];
}

const char *say_caption(struct dcr_arena *a, const struct table_said *t)
{
    return filled(a, tables[t->id].caption, tables[t->id].slots, t->slot);
}

const char *say_columns(struct dcr_arena *a, const struct table_said *t)
{
    return filled(a, tables[t->id].columns, tables[t->id].slots, t->slot);
}

const struct fact_row *say_fact_row(enum fact_id id)
{
    return &facts[id];
}

const char *say_fact_name(struct dcr_arena *a, const struct fact *f)
{
    return filled(a, facts[f->id].name, facts[f->id].slots, f->slot);
}

const char *say_fact(struct dcr_arena *a, const struct fact *f)
{
    return filled(a, facts[f->id].text, facts[f->id].slots, f->slot);
}

const char *say_finding(const struct said *s)
{
    return s->headline.id == PHRASE_NONE ? "" : phrases[s->headline.id].id;
}

static const char *joined(struct dcr_arena *a, const char *const *items, int n, const char *last)
{
    struct dcr_buf b = {0};
    for (int i = 0; i < n; i++)
        dcr_buf_printf(&b, "%s%s", i == 0 ? "" : i == n - 1 ? last : ", ", items[i]);
    return in_arena(a, &b);
}

const char *say_list(struct dcr_arena *a, const char *const *items, int n)
{
    return joined(a, items, n, " and ");
}

const char *say_either(struct dcr_arena *a, const char *const *items, int n)
{
    return joined(a, items, n, " or ");
}

/* Sample values of a row: counts differ from each other, or all are 1. */
static void put_samples(const struct slot_row *rows, int are_one, struct slot *out)
{
    static const int64_t counts[SLOTS_MAX] = {3, 4, 8, 16, 64, 128};
    static const struct reason inner = {.code = REASON_NO_LAUNCHES};
    for (int i = 0; i < SLOTS_MAX && rows[i].name; i++) {
        const struct slot of_kind[] = {[SLOT_COUNT] = slot_count(are_one ? 1 : counts[i]),
                                       [SLOT_THINGS] = slot_things(are_one ? 1 : counts[i], rows[i].sample),
                                       [SLOT_TIME] = slot_time(46000000 * (i + 1)),
                                       [SLOT_PERCENT] = slot_percent(0.34),
                                       [SLOT_RATIO] = slot_ratio(1.43),
                                       [SLOT_FACTOR] = slot_factor(1.92),
                                       [SLOT_NUMBER] = slot_number(12.3),
                                       [SLOT_BYTES] = slot_bytes(1.2e6),
                                       [SLOT_NAME] = slot_name(rows[i].sample),
                                       [SLOT_REASON] = slot_reason(&inner)};
        out[i] = of_kind[rows[i].kind];
    }
}

static int has_plural(const char *text, const struct slot_row *rows)
{
    for (int i = 0; i < SLOTS_MAX && rows[i].name; i++)
        if (rows[i].kind == SLOT_THINGS)
            return 1;
    while ((text = strchr(text, '{')) != NULL) {
        text += strcspn(text, ":|}");
        if ((*text == ':' && text[1] != '}') || *text == '|')
            return 1;
    }
    return 0;
}

static void put_phrase_samples(struct dcr_buf *out, const struct phrase_row *row)
{
    for (int are_one = 0; are_one <= has_plural(row->text, row->slots); are_one++) {
        struct slot samples[SLOTS_MAX] = {0};
        put_samples(row->slots, are_one, samples);
        dcr_buf_printf(out, "%s: ", row->id);
        say_fill(out, row->text, row->slots, samples);
        dcr_buf_putc(out, '\n');
    }
}

static void put_advice_samples(struct dcr_buf *out, const struct advice_row *row)
{
    static const char *const who[N_ADVICE_PARTS] = {"dcrnn-train", "generic", "not PyTorch", "check"};
    struct slot samples[SLOTS_MAX] = {0};
    put_samples(row->slots, 0, samples);
    for (int part = 0; part < N_ADVICE_PARTS; part++)
        if (*row->text[part]) {
            dcr_buf_printf(out, "%s (%s): ", row->id, who[part]);
            say_fill(out, row->text[part], row->slots, samples);
            dcr_buf_putc(out, '\n');
        }
}

static void put_table_samples(struct dcr_buf *out, const struct table_row *row)
{
    struct slot samples[SLOTS_MAX] = {0};
    put_samples(row->slots, 0, samples);
    dcr_buf_printf(out, "%s: ", row->id);
    say_fill(out, row->caption, row->slots, samples);
    dcr_buf_puts(out, "\n   ");
    struct dcr_buf heads = {0};
    say_fill(&heads, row->columns, row->slots, samples);
    for (const char *at = dcr_buf_text(&heads); *at;) { /* without their marks */
        at += strspn(at, "~#");
        size_t n = strcspn(at, "|");
        dcr_buf_printf(out, " %.*s%s", (int)n, at, at[n] ? ";" : "");
        at += n + (at[n] == '|');
    }
    dcr_buf_release(&heads);
    dcr_buf_putc(out, '\n');
}

static void put_reason_samples(struct dcr_buf *out, enum reason_code code)
{
    const struct reason_row *row = &table[code];
    for (int are_one = 0; are_one <= has_plural(row->clause, row->slots); are_one++) {
        struct reason sample = {.code = code};
        put_samples(row->slots, are_one, sample.slot);
        dcr_buf_printf(out, "%-2s %s: ", row->mark, row->id);
        say_put_clause(out, &sample);
        dcr_buf_putc(out, '\n');
    }
}

void say_phrasebook(struct dcr_buf *out)
{
    dcr_buf_puts(out, "Phrases: the sentences of findings\n\n");
    for (int id = PHRASE_NONE + 1; id < FIRST_NOTE; id++)
        put_phrase_samples(out, &phrases[id]);
    dcr_buf_puts(out, "\nNotes: what to mind and what is missing\n\n");
    for (int id = FIRST_NOTE; id < FIRST_CAUSE; id++)
        put_phrase_samples(out, &phrases[id]);
    dcr_buf_puts(out, "\nCauses: how they are judged, and what was found\n\n");
    for (int id = FIRST_CAUSE; id < N_PHRASES; id++)
        put_phrase_samples(out, &phrases[id]);
    dcr_buf_puts(out, "\nAdvice: what to do, for whom, and how to check it\n\n");
    for (int id = ADVICE_NONE + 1; id < N_ADVICES; id++)
        put_advice_samples(out, &advices[id]);
    dcr_buf_puts(out, "\nReasons: why a value is missing, and its mark in tables\n\n");
    for (int code = REASON_NONE + 1; code < N_REASONS; code++)
        put_reason_samples(out, (enum reason_code)code);
    dcr_buf_puts(out, "\nFacts: names, and values or remarks\n\n");
    for (int id = 0; id < N_FACTS; id++) {
        const struct fact_row *row = &facts[id];
        struct slot samples[SLOTS_MAX] = {0};
        put_samples(row->slots, 0, samples);
        dcr_buf_printf(out, "%s: ", row->id);
        say_fill(out, row->name, row->slots, samples);
        dcr_buf_puts(out, *row->text ? ": " : "");
        say_fill(out, row->text, row->slots, samples);
        dcr_buf_putc(out, '\n');
    }
    dcr_buf_puts(out, "\nNames: what causes are called\n\n");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        dcr_buf_printf(out, "%s: ", names[i].id);
        for (int k = 0; k < 5 && names[i].forms[k]; k++)
            dcr_buf_printf(out, "%s%s", k ? "; " : "", names[i].forms[k]);
        dcr_buf_putc(out, '\n');
    }
    dcr_buf_puts(out, "\nTables: their captions, and the heads of their columns\n\n");
    for (int id = 0; id < N_TABLES; id++)
        put_table_samples(out, &tables[id]);
}
