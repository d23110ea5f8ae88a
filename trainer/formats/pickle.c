/* pickle.c - see pickle.h: the stack machine that runs a pickle, the five functions it knows, and its opcodes. */
#include "trainer/formats/pickle.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ARENA ((size_t)64 << 20)
#define MAX_MEMO ((size_t)1 << 20)
#define MAX_LINE 4096

struct machine {
    const char *bytes, *name;
    size_t n, at;
    struct dcr_arena *arena; /* also of everything below */
    struct pickle_value **stack, **memo;
    size_t depth, cap_stack, n_memo, cap_memo;
};

static struct pickle_value the_mark; /* on the stack */

/* A sentence with the file and the place. returns DCR_FAIL */
static int refuse(const struct machine *m, const char *why, struct dcr_err *err)
{
    return dcr_err_set(err, DCR_FAIL, "cannot read '%s': byte %zu: %s", m->name, m->at, why);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* The next n bytes, or NULL. */
static const char *take(struct machine *m, uint64_t n)
{
    const char *at = m->bytes + m->at;
    if (n > m->n - m->at)
        return NULL;
    m->at += (size_t)n;
    return at;
}

/* A whole number of n bytes, the least significant first; is_short when the pickle ends. */
static uint64_t take_number(struct machine *m, size_t n, int *is_short)
{
    const unsigned char *b = (const unsigned char *)take(m, n);
    uint64_t v = 0;
    *is_short = !b;
    for (size_t i = 0; b && i < n; i++)
        v |= (uint64_t)b[i] << (8 * i);
    return v;
}

/* The rest of the line without its end, \n or \r\n; NULL if the file ends before. */
static const char *take_line(struct machine *m, size_t *n)
{
    const char *at = m->bytes + m->at, *end = memchr(at, '\n', m->n - m->at);
    if (!end)
        return NULL;
    m->at += (size_t)(end - at) + 1;
    *n = (size_t)(end - at);
    *n -= *n && at[*n - 1] == '\r';
    return at;
}

/* ---- stack and memo ---------------------------------------------------------------------------------------------- */

static struct pickle_value *new_value(struct machine *m, enum pickle_type type)
{
    struct pickle_value *v = dcr_arena_alloc(m->arena, sizeof *v);
    v->type = type;
    return v;
}

/* returns 0 */
static int push(struct machine *m, struct pickle_value *v)
{
    m->stack = arena_grow(m->arena, m->stack, m->depth, &m->cap_stack, sizeof *m->stack);
    m->stack[m->depth++] = v;
    return 0;
}

static int push_integer(struct machine *m, long long v)
{
    struct pickle_value *value = new_value(m, PICKLE_INT);
    value->integer = v;
    return push(m, value);
}

/* The value on top of the stack; NULL if the stack is empty or has a mark there. */
static struct pickle_value *top(const struct machine *m)
{
    struct pickle_value *v = m->depth ? m->stack[m->depth - 1] : NULL;
    return v == &the_mark ? NULL : v;
}

static struct pickle_value *pop(struct machine *m)
{
    struct pickle_value *v = top(m);
    m->depth -= v != NULL;
    return v;
}

/* Number of values above the last mark; SIZE_MAX without one. */
static size_t above_mark(const struct machine *m)
{
    for (size_t i = m->depth; i-- > 0;)
        if (m->stack[i] == &the_mark)
            return m->depth - 1 - i;
    return SIZE_MAX;
}

/* Stores the value on top in the memo. */
static int remember(struct machine *m, uint64_t index, struct dcr_err *err)
{
    if (index >= MAX_MEMO || !top(m))
        return refuse(m, "it remembers nothing, or too much", err);
    if (index >= m->cap_memo) {
        const size_t cap = 2 * (size_t)index + 64;
        struct pickle_value **memo = dcr_arena_alloc(m->arena, cap * sizeof *memo);
        if (m->n_memo)
            memcpy(memo, m->memo, m->n_memo * sizeof *memo);
        m->memo = memo;
        m->cap_memo = cap;
    }
    m->memo[index] = top(m);
    m->n_memo = index >= m->n_memo ? (size_t)index + 1 : m->n_memo;
    return 0;
}

static int recall(struct machine *m, uint64_t index, struct dcr_err *err)
{
    return index < m->cap_memo && m->memo[index] ? push(m, m->memo[index])
                                                 : refuse(m, "it recalls a value that it never stored", err);
}

/* The n values on top become items of a list or tuple, after its present ones; dictionaries keep no content. */
static int gather(struct machine *m, struct pickle_value *into, size_t n, int has_mark, struct dcr_err *err)
{
    if (n > m->depth)
        return refuse(m, "its stack is empty", err);
    for (size_t i = m->depth - n; i < m->depth; i++) {
        if (m->stack[i] == &the_mark)
            return refuse(m, "its stack is in disorder", err);
        if (into->type == PICKLE_DICT)
            continue;
        into->items = arena_grow(m->arena, into->items, into->n, &into->cap, sizeof *into->items);
        into->items[into->n++] = m->stack[i];
    }
    m->depth -= n + (size_t)has_mark;
    return 0;
}

/* ---- the functions of NumPy's arrays ----------------------------------------------------------------------------- */

enum function { RECONSTRUCT, NDARRAY, DTYPE, FROM_BUFFER, ENCODE };

/* NumPy 2 renamed numpy.core to numpy._core. */
static const struct {
    enum function function;
    const char *module, *name;
} functions[] = {
    {RECONSTRUCT, "numpy.core.multiarray", "_reconstruct"},
    {RECONSTRUCT, "numpy._core.multiarray", "_reconstruct"},
    {NDARRAY, "numpy", "ndarray"},
    {DTYPE, "numpy", "dtype"},
    {FROM_BUFFER, "numpy.core.numeric", "_frombuffer"},
    {FROM_BUFFER, "numpy._core.numeric", "_frombuffer"},
    {ENCODE, "_codecs", "encode"},
};

static int is_text(const char *bytes, size_t n, const char *text)
{
    return n == strlen(text) && !memcmp(bytes, text, n);
}

static int push_function(struct machine *m, const char *module, size_t n_module, const char *name, size_t n_name,
                         struct dcr_err *err)
{
    char why[160];
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (is_text(module, n_module, functions[i].module) && is_text(name, n_name, functions[i].name)) {
            struct pickle_value *v = new_value(m, PICKLE_FUNCTION);
            v->integer = functions[i].function;
            return push(m, v);
        }
    snprintf(why, sizeof why, "it wants to run %.*s.%.*s, which no array needs", n_module < 60 ? (int)n_module : 60,
             module, n_name < 60 ? (int)n_name : 60, name);
    return refuse(m, why, err);
}

/* Item k of a list or tuple, if it is of that type. */
static const struct pickle_value *item(const struct pickle_value *v, size_t k, enum pickle_type type)
{
    return k < v->n && v->items[k]->type == type ? v->items[k] : NULL;
}

/* One or two numbers as the shape, and as many bytes as they require. */
static int complete_array(struct pickle_value *array, const struct pickle_value *shape,
                          const struct pickle_value *dtype, const struct pickle_value *data, int is_fortran)
{
    if (!shape || !dtype || !data || !dtype->type_of_items.kind || shape->n < 1 || shape->n > 2)
        return -1;
    size_t n = dtype->type_of_items.item_bytes;
    for (size_t i = 0; i < shape->n; i++) {
        const struct pickle_value *dim = item(shape, i, PICKLE_INT);
        if (!dim || dim->integer < 0 || dim->integer > INT32_MAX)
            return -1;
        if (dim->integer && n > SIZE_MAX / (size_t)dim->integer)
            return -1;
        n *= (size_t)dim->integer;
    }
    if (n != data->n)
        return -1;
    array->shape = shape;
    array->dtype = dtype;
    array->data = data;
    array->is_fortran = is_fortran;
    return 0;
}

/* The characters up to U+00FF of a Unicode text as bytes of Latin-1, as Python 3 stores bytes in protocols 0 to 2. */
static struct pickle_value *encode_latin1(struct machine *m, const struct pickle_value *text)
{
    struct pickle_value *v = new_value(m, PICKLE_TEXT);
    unsigned char *out = dcr_arena_alloc(m->arena, text->n + 1);
    const unsigned char *in = (const unsigned char *)text->bytes;
    v->bytes = (const char *)out;
    for (size_t i = 0; i < text->n; i++) {
        unsigned c = in[i];
        if (text->is_utf8 && c >= 0x80) {
            if ((c != 0xc2 && c != 0xc3) || i + 1 == text->n || (in[i + 1] & 0xc0) != 0x80)
                return NULL;
            c = (c & 3) << 6 | (in[++i] & 0x3f);
        }
        out[v->n++] = (unsigned char)c;
    }
    return v;
}

/* The result of function(arguments); NULL when the arguments do not fit. */
static struct pickle_value *reduce(struct machine *m, const struct pickle_value *function,
                                   const struct pickle_value *arguments)
{
    struct pickle_value *v = NULL;
    const struct pickle_value *text = item(arguments, 0, PICKLE_TEXT);
    if (function->type != PICKLE_FUNCTION)
        return NULL;
    if (function->integer == RECONSTRUCT)
        return new_value(m, PICKLE_ARRAY); /* empty until BUILD */
    if (function->integer == DTYPE && text) {
        v = new_value(m, PICKLE_DTYPE);
        v->type_of_items = npy_type_parse(text->bytes, text->n);
    } else if (function->integer == ENCODE && text && item(arguments, 1, PICKLE_TEXT) &&
               is_text(arguments->items[1]->bytes, arguments->items[1]->n, "latin1")) {
        v = encode_latin1(m, text);
    } else if (function->integer == FROM_BUFFER && text) {
        const struct pickle_value *order = item(arguments, 3, PICKLE_TEXT);
        v = new_value(m, PICKLE_ARRAY);
        if (!order || complete_array(v, item(arguments, 2, PICKLE_TUPLE), item(arguments, 1, PICKLE_DTYPE), text,
                                     is_text(order->bytes, order->n, "F")))
            v = NULL;
    }
    return v;
}

/* Completes an array or its type by the state that NumPy stores: (3, byte order, ...) for a type, (1, shape, type,
 * is_fortran, data) for an array. returns 0, or -1: it is neither */
static int build(struct pickle_value *object, const struct pickle_value *state)
{
    const struct pickle_value *order = item(state, 1, PICKLE_TEXT), *is_fortran = item(state, 3, PICKLE_INT);
    if (object->type == PICKLE_DTYPE && order && order->n == 1) {
        object->type_of_items.is_big_endian = order->bytes[0] == '>';
        return strchr("<>|=", order->bytes[0]) ? 0 : -1;
    }
    if (object->type == PICKLE_ARRAY && is_fortran)
        return complete_array(object, item(state, 1, PICKLE_TUPLE), item(state, 2, PICKLE_DTYPE),
                              item(state, 4, PICKLE_TEXT), is_fortran->integer != 0);
    return -1;
}

/* ---- lines of protocol 0 ----------------------------------------------------------------------------------------- */

/* n hexadecimal digits, or -1. */
static int hex(const char *text, const char *end, int n)
{
    int v = 0;
    if (end - text < n)
        return -1;
    for (int i = 0; i < n; i++) {
        const char *digits = "0123456789abcdef", *at = text[i] ? strchr(digits, text[i] | 0x20) : NULL;
        if (!at)
            return -1;
        v = v * 16 + (int)(at - digits);
    }
    return v;
}

/* The text after a backslash, as one byte; *text moves past it. -1: not an escape, or beyond U+00FF. */
static int escape(const char **text, const char *end, int is_quoted)
{
    static const char names[] = "\\\\''\"\"n\nr\rt\t";
    const char *t = *text;
    if (t == end)
        return -1;
    if (*t == (is_quoted ? 'x' : 'u')) {
        int n = is_quoted ? 2 : 4, v = hex(t + 1, end, n);
        *text = t + 1 + n;
        return v <= 0xff ? v : -1;
    }
    for (const char *k = names; is_quoted && *k; k += 2)
        if (*t == *k) {
            *text = t + 1;
            return k[1];
        }
    return -1;
}

/* 'quoted' with Python's escapes, or raw-unicode-escape. */
static int push_escaped(struct machine *m, const char *line, size_t n, int is_quoted, struct dcr_err *err)
{
    struct pickle_value *v = new_value(m, PICKLE_TEXT);
    char *out = dcr_arena_alloc(m->arena, n + 1);
    const char *end = line + n;
    int is_bad = 0;
    if (is_quoted) {
        is_bad = n < 2 || line[0] != end[-1] || (line[0] != '\'' && line[0] != '"');
        line += !is_bad;
        end -= !is_bad;
    }
    v->bytes = out;
    while (!is_bad && line < end) {
        int c = (unsigned char)*line++;
        if (c == '\\')
            c = escape(&line, end, is_quoted);
        is_bad = c < 0;
        out[v->n++] = (char)c;
    }
    return is_bad ? refuse(m, "a text that cannot be read", err) : push(m, v);
}

/* Numbers and texts written as a line of text. */
static int push_line(struct machine *m, char op, struct dcr_err *err)
{
    size_t n = 0;
    const char *line = take_line(m, &n);
    char text[64] = "", *end = text;
    if (!line)
        return refuse(m, "it ends in the middle", err);
    if (op == 'S' || op == 'V')
        return push_escaped(m, line, n, op == 'S', err);
    snprintf(text, sizeof text, "%.*s", (int)(n < MAX_LINE ? n : 0), line);
    errno = 0;
    const double real = op == 'F' ? strtod(text, &end) : 0;
    const long long v = op == 'F' ? 0 : strtoll(text, &end, 10);
    end += op != 'F' && *end == 'L';
    if (end == text || *end || (op != 'F' && errno) || n >= sizeof text)
        return refuse(m, "no number where one is due", err);
    if (op == 'F') {
        struct pickle_value *value = new_value(m, PICKLE_FLOAT);
        value->number = real;
        return push(m, value);
    }
    return op == 'p'   ? remember(m, v < 0 ? UINT64_MAX : (uint64_t)v, err)
           : op == 'g' ? recall(m, v < 0 ? UINT64_MAX : (uint64_t)v, err)
                       : push_integer(m, v);
}

/* ---- opcodes ----------------------------------------------------------------------------------------------------- */

static int push_text(struct machine *m, uint64_t n, int is_utf8, struct dcr_err *err)
{
    const char *bytes = take(m, n);
    if (!bytes)
        return refuse(m, "it ends in the middle", err);
    struct pickle_value *v = new_value(m, PICKLE_TEXT);
    v->bytes = bytes;
    v->n = (size_t)n;
    v->is_utf8 = is_utf8;
    return push(m, v);
}

static int push_sequence(struct machine *m, enum pickle_type type, size_t n, int has_mark, struct dcr_err *err)
{
    if (n == SIZE_MAX)
        return refuse(m, "its stack has no mark", err);
    struct pickle_value *v = new_value(m, type);
    int rc = gather(m, v, n, has_mark, err);
    return rc ? rc : push(m, v);
}

/* Appends the values above the mark (or the ones on top) to the list or dictionary below. */
static int add_items(struct machine *m, enum pickle_type type, size_t n, int has_mark, struct dcr_err *err)
{
    const size_t below = (size_t)has_mark + 1;
    if (n == SIZE_MAX || m->depth < n + below)
        return refuse(m, "its stack is empty", err);
    struct pickle_value *into = m->stack[m->depth - n - below];
    if (into == &the_mark || into->type != type)
        return refuse(m, "it adds to what is no list or dictionary", err);
    return gather(m, into, n, has_mark, err);
}

/* Two lines; or, from protocol 4 on, the two texts on top. */
static int global(struct machine *m, int is_on_stack, struct dcr_err *err)
{
    size_t n_module = 0, n_name = 0;
    if (is_on_stack) {
        struct pickle_value *name = pop(m), *module = pop(m);
        if (!name || !module || name->type != PICKLE_TEXT || module->type != PICKLE_TEXT)
            return refuse(m, "no function where one is due", err);
        return push_function(m, module->bytes, module->n, name->bytes, name->n, err);
    }
    const char *module = take_line(m, &n_module), *name = module ? take_line(m, &n_name) : NULL;
    if (!name)
        return refuse(m, "it ends in the middle", err);
    return push_function(m, module, n_module, name, n_name, err);
}

/* REDUCE: replaces function and arguments by their result. BUILD: puts the state on top into the object below. */
static int call(struct machine *m, int is_build, struct dcr_err *err)
{
    struct pickle_value *argument = pop(m), *object = is_build ? top(m) : pop(m), *v;
    if (!argument || !object || argument->type != PICKLE_TUPLE)
        return refuse(m, "it calls without arguments", err);
    if (is_build && !build(object, argument))
        return 0;
    if (!is_build && (v = reduce(m, object, argument)))
        return push(m, v);
    return refuse(m, "an array or type that is not read here", err);
}

static int push_long(struct machine *m, struct dcr_err *err)
{
    int is_short = 0;
    uint64_t n = take_number(m, 1, &is_short);
    uint64_t bits = is_short || n > 8 ? 0 : take_number(m, (size_t)n, &is_short);
    if (is_short || n > 8)
        return refuse(m, "a number of over 8 bytes", err);
    if (n && n < 8 && bits >> (8 * n - 1))
        bits |= ~(uint64_t)0 << (8 * n);
    return push_integer(m, (long long)bits);
}

static int push_double(struct machine *m, struct dcr_err *err)
{
    static const struct npy_type big_double = {'f', 8, 1};
    const char *raw = take(m, 8);
    if (!raw)
        return refuse(m, "it ends in the middle", err);
    struct pickle_value *v = new_value(m, PICKLE_FLOAT);
    v->number = npy_number(&big_double, (const unsigned char *)raw);
    return push(m, v);
}

enum action {
    UNKNOWN,
    INTEGER,  /* a number of n bytes */
    BYTES,    /* a length of n bytes, then that many bytes */
    UNICODE,  /* the same, UTF-8 */
    STORE,    /* store in the memo, at a number of n bytes */
    RECALL,   /* recall from the memo */
    PASS,     /* n bytes without effect: frames, the protocol's number */
    LINE,     /* an argument up to the end of the line */
    MARK,     /* push one */
    NONE,     /* push it */
    BOOLEAN,  /* n */
    LONG,     /* a length of one byte, then a number */
    DOUBLE,   /* 8 bytes, the most significant first */
    MEMOIZE,  /* store at the next place */
    SEQUENCE, /* the n values on top become one of a type */
    ADD,      /* add them to the one below */
    GLOBAL,   /* a function by its name; n: the name is on the stack */
    CALL      /* n: BUILD */
};
#define TO_MARK 255 /* n of SEQUENCE and ADD: all above the mark */

#define OP(action, n)          \
    {                          \
        action, n, PICKLE_NONE \
    }

/* Lib/pickletools.py lists all. Opcodes not named here are UNKNOWN. */
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

/* Opcodes followed by a number of n bytes. */
static int step_counted(struct machine *m, const struct opcode *op, struct dcr_err *err)
{
    int is_short = 0;
    uint64_t v = take_number(m, op->n, &is_short);
    if (is_short)
        return refuse(m, "it ends in the middle", err);
    switch (op->action) {
    case INTEGER: /* of these, only the number of 4 bytes has a sign */
        return push_integer(m, op->n == 4 ? (int32_t)(uint32_t)v : (long long)v);
    case BYTES:
    case UNICODE:
        return push_text(m, v, op->action == UNICODE, err);
    case STORE:
        return remember(m, v, err);
    case RECALL:
        return recall(m, v, err);
    default:
        return 0;
    }
}

static int step(struct machine *m, unsigned char code, struct dcr_err *err)
{
    const struct opcode *op = &opcodes[code];
    const int has_mark = op->n == TO_MARK;
    char why[80];
    switch (op->action) {
    case LINE:
        return push_line(m, (char)code, err);
    case MARK:
        return push(m, &the_mark);
    case NONE:
        return push(m, new_value(m, PICKLE_NONE));
    case BOOLEAN:
        return push_integer(m, op->n);
    case LONG:
        return push_long(m, err);
    case DOUBLE:
        return push_double(m, err);
    case MEMOIZE:
        return remember(m, m->n_memo, err);
    case SEQUENCE:
        return push_sequence(m, op->type, has_mark ? above_mark(m) : op->n, has_mark, err);
    case ADD:
        return add_items(m, op->type, has_mark ? above_mark(m) : op->n, has_mark, err);
    case GLOBAL:
        return global(m, op->n, err);
    case CALL:
        return call(m, op->n, err);
    case UNKNOWN:
        snprintf(why, sizeof why, "opcode 0x%02x is not needed for arrays and not known here", code);
        return refuse(m, why, err);
    default:
        return step_counted(m, op, err);
    }
}

int pickle_read(const char *bytes, size_t n, const char *name, struct dcr_arena *arena, struct pickle_value **out,
                struct dcr_err *err)
{
    struct machine m = {.bytes = bytes, .n = n, .name = name, .arena = arena};
    int rc = 0;
    *out = NULL;
    while (!rc && m.at < n && bytes[m.at] != '.') {
        unsigned char op = (unsigned char)bytes[m.at++];
        rc = step(&m, op, err);
        if (!rc && arena->total_bytes > MAX_ARENA + n)
            rc = refuse(&m, "it makes more objects than a graph has", err);
    }
    if (!rc && m.at == n)
        rc = refuse(&m, "it ends before it is complete", err);
    if (!rc && !(*out = pop(&m)))
        rc = refuse(&m, "it makes nothing", err);
    return rc;
}
