/* pickle.c - see pickle.h. What the functions make is in pickle_numpy.c, the stack in
 * pickle_stack.c. */
#include "trainer/formats/pickle.h"

#include "trainer/formats/pickle_numpy.h"
#include "trainer/formats/pickle_stack.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ARENA ((size_t)64 << 20)
#define MAX_LINE 4096

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* The next n bytes, or NULL. */
static const char *take(struct pickle_machine *m, size_t n)
{
    const char *at = m->p.bytes + m->p.at;
    if (n > m->p.n - m->p.at)
        return NULL;
    m->p.at += n;
    return at;
}

/* A whole number of n bytes, the least significant first; is_short when the pickle ends. */
static uint64_t take_number(struct pickle_machine *m, size_t n, int *is_short)
{
    const unsigned char *b = (const unsigned char *)take(m, n);
    uint64_t v = 0;
    *is_short = !b;
    for (size_t i = 0; b && i < n; i++)
        v |= (uint64_t)b[i] << (8 * i);
    return v;
}

/* The rest of the line without its end, \n or \r\n; NULL when there is none. */
static const char *take_line(struct pickle_machine *m, size_t *n)
{
    const char *at = m->p.bytes + m->p.at, *end = memchr(at, '\n', m->p.n - m->p.at);
    if (!end)
        return NULL;
    m->p.at += (size_t)(end - at) + 1;
    *n = (size_t)(end - at);
    *n -= *n && at[*n - 1] == '\r';
    return at;
}

/* ---- opcodes ----------------------------------------------------------------------------------------------------- */

static int push_integer(struct pickle_machine *m, long long v, struct dcr_err *err)
{
    struct pickle_value *value = pickle_new(&m->p, PICKLE_INT);
    value->integer = v;
    return pickle_push(m, value, err);
}

static int push_text(struct pickle_machine *m, uint64_t n, int is_utf8, struct dcr_err *err)
{
    const char *bytes = n <= SIZE_MAX ? take(m, (size_t)n) : NULL;
    if (!bytes)
        return pickle_refuse(&m->p, "it ends in a text", err);
    struct pickle_value *v = pickle_new(&m->p, PICKLE_TEXT);
    v->bytes = bytes;
    v->n = (size_t)n;
    v->is_utf8 = is_utf8;
    return pickle_push(m, v, err);
}

/* Numbers and texts written as a line of text: protocol 0. */
static int push_line(struct pickle_machine *m, char op, struct dcr_err *err)
{
    size_t n = 0;
    const char *line = take_line(m, &n);
    char text[64] = "", *end = text;
    if (!line)
        return pickle_refuse(&m->p, "it ends in a line", err);
    if (op == 'S' || op == 'V') {
        struct pickle_value *v = pickle_unescape(&m->p, line, n, op == 'S', err);
        return v ? pickle_push(m, v, err) : DCR_FAIL;
    }
    snprintf(text, sizeof text, "%.*s", (int)(n < MAX_LINE ? n : 0), line);
    errno = 0;
    if (op == 'F') {
        struct pickle_value *v = pickle_new(&m->p, PICKLE_FLOAT);
        v->number = strtod(text, &end);
        return end == text || *end || n >= sizeof text ? pickle_refuse(&m->p, "no number where one is due", err)
                                                       : pickle_push(m, v, err);
    }
    long long v = strtoll(text, &end, 10);
    end += *end == 'L';
    if (end == text || *end || errno || n >= sizeof text)
        return pickle_refuse(&m->p, "no number where one is due", err);
    return op == 'p'   ? pickle_remember(m, v < 0 ? UINT64_MAX : (uint64_t)v, err)
           : op == 'g' ? pickle_recall(m, v < 0 ? UINT64_MAX : (uint64_t)v, err)
                       : push_integer(m, v, err);
}

static int push_sequence(struct pickle_machine *m, enum pickle_type type, size_t n, int has_mark, struct dcr_err *err)
{
    struct pickle_value *v = pickle_new(&m->p, type);
    if (n == SIZE_MAX)
        return pickle_refuse(&m->p, "its stack has no mark", err);
    int rc = 0;
    if (type == PICKLE_DICT)
        m->depth -= n;
    else
        rc = pickle_gather(m, v, n, err);
    m->depth -= has_mark && !rc;
    return rc ? rc : pickle_push(m, v, err);
}

/* Append the values above the mark (or the one on top) to the list or dictionary below. */
static int add_items(struct pickle_machine *m, enum pickle_type type, size_t n, int has_mark, struct dcr_err *err)
{
    const size_t below = (size_t)has_mark + 1;
    if (n == SIZE_MAX || m->depth < n + below)
        return pickle_refuse(&m->p, "its stack is empty", err);
    struct pickle_value *into = m->stack[m->depth - n - below];
    if (pickle_is_mark(into) || into->type != type)
        return pickle_refuse(&m->p, "it adds to what is no list or dictionary", err);
    int rc = 0;
    if (type == PICKLE_DICT)
        m->depth -= n;
    else
        rc = pickle_gather(m, into, n, err);
    m->depth -= has_mark && !rc;
    return rc;
}

static int push_function(struct pickle_machine *m, const char *module, size_t n_module, const char *name, size_t n_name,
                         struct dcr_err *err)
{
    struct pickle_value *v = pickle_function(&m->p, module, n_module, name, n_name, err);
    return v ? pickle_push(m, v, err) : DCR_FAIL;
}

/* Two lines; or, from protocol 4 on, the two texts on top. */
static int global(struct pickle_machine *m, int is_on_stack, struct dcr_err *err)
{
    size_t n_module = 0, n_name = 0;
    if (is_on_stack) {
        struct pickle_value *name = pickle_pop(m), *module = pickle_pop(m);
        if (!name || !module || name->type != PICKLE_TEXT || module->type != PICKLE_TEXT)
            return pickle_refuse(&m->p, "no function where one is due", err);
        return push_function(m, module->bytes, module->n, name->bytes, name->n, err);
    }
    const char *module = take_line(m, &n_module), *name = module ? take_line(m, &n_name) : NULL;
    if (!name)
        return pickle_refuse(&m->p, "it ends in a name", err);
    return push_function(m, module, n_module, name, n_name, err);
}

/* REDUCE: function and arguments become its result. BUILD: the state on top goes into the object below. */
static int call(struct pickle_machine *m, int is_build, struct dcr_err *err)
{
    struct pickle_value *argument = pickle_pop(m), *object = is_build ? pickle_top(m) : pickle_pop(m);
    if (!argument || !object || argument->type != PICKLE_TUPLE)
        return pickle_refuse(&m->p, "it calls without arguments", err);
    if (is_build)
        return pickle_build(&m->p, object, argument, err);
    struct pickle_value *v = pickle_reduce(&m->p, object, argument, err);
    return v ? pickle_push(m, v, err) : DCR_FAIL;
}

static int push_long(struct pickle_machine *m, struct dcr_err *err)
{
    int is_short = 0;
    uint64_t n = take_number(m, 1, &is_short);
    uint64_t bits = is_short || n > 8 ? 0 : take_number(m, (size_t)n, &is_short);
    if (is_short || n > 8)
        return pickle_refuse(&m->p, "a number of over 8 bytes", err);
    if (n && n < 8 && bits >> (8 * n - 1))
        bits |= ~(uint64_t)0 << (8 * n);
    return push_integer(m, (long long)bits, err);
}

static int push_double(struct pickle_machine *m, struct dcr_err *err)
{
    const unsigned char *b = (const unsigned char *)take(m, 8);
    uint64_t bits = 0;
    if (!b)
        return pickle_refuse(&m->p, "it ends in a number", err);
    for (int i = 0; i < 8; i++)
        bits = bits << 8 | b[i];
    struct pickle_value *v = pickle_new(&m->p, PICKLE_FLOAT);
    memcpy(&v->number, &bits, sizeof bits);
    return pickle_push(m, v, err);
}

enum action {
    UNKNOWN,
    INTEGER,  /* a number of n bytes */
    BYTES,    /* a length of n bytes, then as many */
    UNICODE,  /* the same, UTF-8 */
    STORE,    /* into the memo, at a number of n bytes */
    RECALL,   /* from there */
    PASS,     /* n bytes that change nothing: frames, the protocol's number */
    LINE,     /* an argument up to the end of the line */
    MARK,     /* push one */
    NONE,     /* push it */
    BOOLEAN,  /* n */
    LONG,     /* a length of one byte, then a number */
    DOUBLE,   /* 8 bytes, the most significant first */
    MEMOIZE,  /* store at the next place */
    SEQUENCE, /* the n values on top become one of a type */
    ADD,      /* they go into the one below */
    GLOBAL,   /* a function by its name; n: the name is on the stack */
    CALL      /* n: BUILD */
};
#define TO_MARK 255 /* n of SEQUENCE and ADD: all above the mark */

#define OP(action, n)          \
    {                          \
        action, n, PICKLE_NONE \
    }

/* Lib/pickletools.py has them all. What is not named here is UNKNOWN. */
static const struct opcode {
    enum action action;
    unsigned char n;
    enum pickle_type type;
} opcodes[256] = {
    /* clang-format off */
    ['K'] = OP(INTEGER, 1), ['M'] = OP(INTEGER, 2), ['J'] = OP(INTEGER, 4), [0x8a] = OP(LONG, 0), ['G'] = OP(DOUBLE, 0),
    [0x88] = OP(BOOLEAN, 1), [0x89] = OP(BOOLEAN, 0), ['N'] = OP(NONE, 0),
    ['U'] = OP(BYTES, 1), ['C'] = OP(BYTES, 1), ['T'] = OP(BYTES, 4), ['B'] = OP(BYTES, 4), [0x8e] = OP(BYTES, 8),
    [0x96] = OP(BYTES, 8), [0x8c] = OP(UNICODE, 1), ['X'] = OP(UNICODE, 4), [0x8d] = OP(UNICODE, 8),
    ['q'] = OP(STORE, 1), ['r'] = OP(STORE, 4), [0x94] = OP(MEMOIZE, 0), ['h'] = OP(RECALL, 1), ['j'] = OP(RECALL, 4),
    [0x80] = OP(PASS, 1), [0x95] = OP(PASS, 8),
    ['I'] = OP(LINE, 0), ['L'] = OP(LINE, 0), ['F'] = OP(LINE, 0), ['S'] = OP(LINE, 0), ['V'] = OP(LINE, 0),
    ['p'] = OP(LINE, 0), ['g'] = OP(LINE, 0),
    ['('] = OP(MARK, 0),
    [']'] = {SEQUENCE, 0, PICKLE_LIST}, ['}'] = {SEQUENCE, 0, PICKLE_DICT}, [')'] = {SEQUENCE, 0, PICKLE_TUPLE},
    [0x85] = {SEQUENCE, 1, PICKLE_TUPLE}, [0x86] = {SEQUENCE, 2, PICKLE_TUPLE}, [0x87] = {SEQUENCE, 3, PICKLE_TUPLE},
    ['l'] = {SEQUENCE, TO_MARK, PICKLE_LIST}, ['d'] = {SEQUENCE, TO_MARK, PICKLE_DICT},
    ['t'] = {SEQUENCE, TO_MARK, PICKLE_TUPLE},
    ['a'] = {ADD, 1, PICKLE_LIST}, ['s'] = {ADD, 2, PICKLE_DICT}, ['e'] = {ADD, TO_MARK, PICKLE_LIST},
    ['u'] = {ADD, TO_MARK, PICKLE_DICT},
    ['c'] = OP(GLOBAL, 0), [0x93] = OP(GLOBAL, 1), ['R'] = OP(CALL, 0), ['b'] = OP(CALL, 1),
    /* clang-format on */
};

/* Those with a number of n bytes behind them. */
static int step_counted(struct pickle_machine *m, const struct opcode *op, struct dcr_err *err)
{
    int is_short = 0;
    uint64_t v = take_number(m, op->n, &is_short);
    if (is_short)
        return pickle_refuse(&m->p, "it ends in the middle", err);
    switch (op->action) {
    case INTEGER: /* of these, only that of 4 bytes has a sign */
        return push_integer(m, op->n == 4 ? (int32_t)(uint32_t)v : (long long)v, err);
    case BYTES:
    case UNICODE:
        return push_text(m, v, op->action == UNICODE, err);
    case STORE:
        return pickle_remember(m, v, err);
    case RECALL:
        return pickle_recall(m, v, err);
    default:
        return 0;
    }
}

static int step(struct pickle_machine *m, unsigned char code, struct dcr_err *err)
{
    const struct opcode *op = &opcodes[code];
    const int has_mark = op->n == TO_MARK;
    char why[80];
    switch (op->action) {
    case LINE:
        return push_line(m, (char)code, err);
    case MARK:
        return pickle_push_mark(m, err);
    case NONE:
        return pickle_push(m, pickle_new(&m->p, PICKLE_NONE), err);
    case BOOLEAN:
        return push_integer(m, op->n, err);
    case LONG:
        return push_long(m, err);
    case DOUBLE:
        return push_double(m, err);
    case MEMOIZE:
        return pickle_remember(m, m->n_memo, err);
    case SEQUENCE:
        return push_sequence(m, op->type, has_mark ? pickle_above_mark(m) : op->n, has_mark, err);
    case ADD:
        return add_items(m, op->type, has_mark ? pickle_above_mark(m) : op->n, has_mark, err);
    case GLOBAL:
        return global(m, op->n, err);
    case CALL:
        return call(m, op->n, err);
    case UNKNOWN:
        snprintf(why, sizeof why, "opcode 0x%02x is not needed for arrays and not known here", code);
        return pickle_refuse(&m->p, why, err);
    default:
        return step_counted(m, op, err);
    }
}

int pickle_read(const char *bytes, size_t n, const char *name, struct dcr_arena *arena, struct pickle_value **out,
                struct dcr_err *err)
{
    struct pickle_machine m = {.p = {.bytes = bytes, .n = n, .name = name, .arena = arena}};
    int rc = 0;
    *out = NULL;
    while (!rc && m.p.at < n && bytes[m.p.at] != '.') {
        unsigned char op = (unsigned char)bytes[m.p.at++];
        rc = step(&m, op, err);
        if (!rc && arena->total_bytes > MAX_ARENA + n)
            rc = pickle_refuse(&m.p, "it makes more objects than a graph has", err);
    }
    if (!rc && m.p.at == n)
        rc = pickle_refuse(&m.p, "it ends before it is complete", err);
    if (!rc && !(*out = pickle_pop(&m)))
        rc = pickle_refuse(&m.p, "it makes nothing", err);
    free(m.stack);
    free(m.memo);
    return rc;
}
