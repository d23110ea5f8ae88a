/* pickle.h - read a Python pickle of plain values and NumPy arrays, such as adj_mx.pkl, and nothing else.
 *
 * A pickle is a program for a small stack machine that may call any function of any Python module. This machine knows
 * the opcodes that lists, tuples, dictionaries, numbers, texts and arrays need, and five functions by name (those that
 * NumPy's arrays are made of); it calls nothing and refuses everything else. Protocols 0 to 5, of Python 2 and 3; also
 * protocol 0 with the line ends of Windows, which DCRNN's adj_mx.pkl had for a while (liyaguang/DCRNN, issue 36).
 * Dictionaries keep no content. Source: Lib/pickletools.py; numpy.ndarray.__reduce__. */
#ifndef TRAINER_FORMATS_PICKLE_H
#define TRAINER_FORMATS_PICKLE_H

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "trainer/formats/numpy.h"

#include <stddef.h>

enum pickle_type {
    PICKLE_NONE,
    PICKLE_INT, /* and booleans */
    PICKLE_FLOAT,
    PICKLE_TEXT, /* and bytes */
    PICKLE_LIST,
    PICKLE_TUPLE,
    PICKLE_DICT,
    PICKLE_FUNCTION, /* one of the five */
    PICKLE_DTYPE,
    PICKLE_ARRAY
};

struct pickle_value {
    enum pickle_type type;
    long long integer;           /* PICKLE_INT; which one of PICKLE_FUNCTION */
    double number;               /* PICKLE_FLOAT */
    const char *bytes;           /* PICKLE_TEXT; no NUL after it */
    size_t n;                    /* bytes of a text, items of a list or tuple */
    int is_utf8;                 /* PICKLE_TEXT of a Unicode string */
    struct pickle_value **items; /* PICKLE_LIST, PICKLE_TUPLE */
    size_t cap;
    struct npy_type type_of_items; /* PICKLE_DTYPE */
    /* PICKLE_ARRAY, complete when dtype is set: data has as many bytes as shape and type require */
    const struct pickle_value *shape, *dtype, *data;
    int is_fortran;
};

/** pickle_read - the value a pickle makes.
 *  bytes    borrows, as long as the value is used
 *  name     of the file, for messages
 *  arena    holds the value and its content: at most 64 MiB plus the size of the pickle
 *  errors   DCR_FAIL: what it would have to run, and where; cut off; not a pickle */
int pickle_read(const char *bytes, size_t n, const char *name, struct dcr_arena *arena, struct pickle_value **out,
                struct dcr_err *err) DCR_MUST_CHECK;

#endif
