/* option_table.h - the rows of options.def as a table, and what a single option does to struct options. Inside
 * options*.c and option_table.c only. */
#ifndef TRAINER_OPTION_TABLE_H
#define TRAINER_OPTION_TABLE_H

#include "trainer/options.h"

enum option_kind {
    OPTION_SECTION,  /* a title of --help */
    OPTION_TEXT,     /* const char *: any word */
    OPTION_FOLDER,   /* const char *: any word but "" */
    OPTION_WORD,     /* const char *: one of words; the first stands for NULL */
    OPTION_CHOICE,   /* int or enum: the place of one of words */
    OPTION_FLAG,     /* int: 1 */
    OPTION_INT,      /* int from low to high */
    OPTION_INT64,    /* int64_t from low to high */
    OPTION_SIZE,     /* size_t from low to high */
    OPTION_SEED,     /* uint64_t from low to high */
    OPTION_REAL,     /* double, 0 or more; with a range up to high */
    OPTION_POSITIVE, /* double above 0 */
    OPTION_INSTEAD,  /* the task; with an argument also const char * */
    OPTION_SPECIAL,  /* a parser of its own */
};

enum option_ranks { OPTION_EACH, OPTION_SAME, OPTION_GIVEN };

struct option_row {
    const char *name;     /* without dashes */
    const char *argument; /* NULL: it takes none */
    enum option_kind kind;
    size_t field;       /* offset in struct options */
    const char *preset; /* as a user would write it; NULL: the field starts as 0 */
    int64_t low, high;
    const char *const *words; /* NULL ends them */
    enum options_task task;
    int (*parse)(struct options *o, const char *name, const char *text, struct dcr_err *err);
    enum option_ranks ranks;
    const char *help; /* of a section its title */
};

extern const struct option_row option_rows[OPTIONS_N];

/** option_set - one option.
 *  text     its value; NULL where it takes none; borrows as long as o lives
 *  errors   DCR_FAIL: "--NAME takes ..., not 'text'" */
int option_set(struct options *o, const struct option_row *row, const char *text, struct dcr_err *err) DCR_MUST_CHECK;
/** option_presets - o as it is when no option is given. */
void option_presets(struct options *o);
/** option_is_scenario - does it say which scenario, and how? */
int option_is_scenario(const struct option_row *row);
/** option_value - the value that the option has in o, as JSON. No options that are done instead of a training. */
void option_value(const struct options *o, const struct option_row *row, struct dcr_buf *out);

#endif
