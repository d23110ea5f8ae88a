/* option_table.c - see option_table.h. A new option is a row of options.def; only SPECIAL rows have code here. */
#include "trainer/option_table.h"

#include "lib/base/buf.h"
#include "lib/base/text.h"
#include "trainer/formats/formats.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- values ------------------------------------------------------------------------------------ */

/* wanted: "a number of steps" */
static int bad(const char *name, const char *text, const char *wanted, struct dcr_err *err)
{
    return dcr_err_set(err, DCR_FAIL, "--%s takes %s, not '%.60s'", name, wanted, text);
}

static int whole(const struct option_row *row, const char *text, int64_t *out, struct dcr_err *err)
{
    char *end, wanted[80];
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (end != text && !*end && !errno && v >= row->low && v <= row->high) {
        *out = v;
        return 0;
    }
    snprintf(wanted, sizeof wanted, "a whole number from %lld to %lld", (long long)row->low, (long long)row->high);
    return bad(row->name, text, wanted, err);
}

static int real_number(const struct option_row *row, const char *text, double *out, struct dcr_err *err)
{
    char *end, wanted[80] = "a number above 0";
    double v = strtod(text, &end);
    int is_in = row->kind == OPTION_POSITIVE ? v > 0 : v >= 0 && (!row->high || v <= (double)row->high);
    if (end != text && !*end && isfinite(v) && is_in) {
        *out = v;
        return 0;
    }
    if (row->kind == OPTION_REAL && row->high)
        snprintf(wanted, sizeof wanted, "a number from 0 to %lld", (long long)row->high);
    else if (row->kind == OPTION_REAL)
        snprintf(wanted, sizeof wanted, "a number, 0 or more");
    return bad(row->name, text, wanted, err);
}

static int place_of(const struct option_row *row, const char *text, int *out, struct dcr_err *err)
{
    char wanted[160] = "one of";
    for (int i = 0; row->words[i]; i++) {
        if (!strcmp(text, row->words[i])) {
            *out = i;
            return 0;
        }
        size_t n = strlen(wanted);
        snprintf(wanted + n, sizeof wanted - n, "%s %s", i ? "," : "", row->words[i]);
    }
    return bad(row->name, text, wanted, err);
}

/* ---- options with parsers of their own ----------------------------------------------------------- */

static int parse_start(struct options *o, const char *name, const char *text, struct dcr_err *err)
{
    o->has_start_time = dataset_parse_time(text, &o->start_s);
    return o->has_start_time ? 0 : bad(name, text, "a time (YYYY-MM-DD HH:MM)", err);
}

/* "100" steps, "100steps", "2epochs", "epoch" */
static int parse_checkpoint(struct options *o, const char *name, const char *text, struct dcr_err *err)
{
    char *end;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (end == text)
        n = 1;
    int is_epochs = !strcmp(end, "epoch") || !strcmp(end, "epochs");
    int is_steps = (end != text && !*end) || !strcmp(end, "steps") || !strcmp(end, "step");
    if (errno || n < 1 || n > INT_MAX || (!is_epochs && !is_steps))
        return bad(name, text, "a number of steps (100) or epochs (2epochs)", err);
    o->checkpoint_steps = is_steps ? n : 0;
    o->checkpoint_epochs = is_epochs ? (int)n : 0;
    return 0;
}

/* The next number of a list separated by commas. returns 0 at the end of the list, -1 when it is none; *at moves on */
static int next_number(const char **at, double *out)
{
    char *end;
    if (!**at)
        return 0;
    *out = strtod(*at, &end);
    if (end == *at || !isfinite(*out) || (*end && (*end != ',' || !end[1])))
        return -1;
    *at = *end ? end + 1 : end;
    return 1;
}

static int parse_milestones(struct options *o, const char *name, const char *text, struct dcr_err *err)
{
    const int most = (int)(sizeof o->milestone / sizeof *o->milestone);
    const char *at = text;
    double v = 0, before = 0;
    int state;
    for (o->n_milestones = 0; (state = next_number(&at, &v)) > 0; before = v) {
        if (v <= before || v > INT_MAX || v != floor(v) || o->n_milestones == most)
            break;
        o->milestone[o->n_milestones++] = (int)v;
    }
    return state ? bad(name, text, "ascending epochs separated by commas, at most 16", err) : 0;
}

/* "2,1,1": as many shares as ranks, which are not known yet. */
static int parse_weights(struct options *o, const char *name, const char *text, struct dcr_err *err)
{
    const char *at = text;
    double v = 0, sum = 0;
    int state;
    for (o->n_rank_weights = 0; (state = next_number(&at, &v)) > 0; sum += v) {
        if (v < 0 || v > 1e9 || o->n_rank_weights == OPTIONS_MAX_WEIGHTS)
            break;
        o->rank_weights[o->n_rank_weights++] = v;
    }
    return state || !(sum > 0) ? bad(name, text, "a share for each rank, separated by commas, not all 0: 2,1,1", err)
                               : 0;
}

/* Below 2 a bad batch would end the run. */
static int parse_explode(struct options *o, const char *name, const char *text, struct dcr_err *err)
{
    char *end;
    double v = strtod(text, &end);
    if (end == text || *end || !isfinite(v) || (v != 0 && v < 2))
        return bad(name, text, "0 (never) or a number from 2 on", err);
    o->explode_factor = v;
    return 0;
}

/* ---- the table ---------------------------------------------------------------------------------- */

#define ANY .low = 0
#define RANGE(from, to) .low = (from), .high = (to)
#define ONE_OF(...)                \
    .words = (const char *const[]) \
    {                              \
        __VA_ARGS__, NULL          \
    }
#define NAME(id, text, ...) text,
#define TABLE(names)               \
    .words = (const char *const[]) \
    {                              \
        names(NAME) NULL           \
    }
#define TASK(what) .task = (what)
#define OWN(parser) .parse = (parser)

const struct option_row option_rows[OPTIONS_N] = {
#define SECTION(title) {.kind = OPTION_SECTION, .help = (title)},
#define OPTION(name_, argument_, KIND, field_, preset_, values, ranks_, help_) \
    {.name = (name_),                                                          \
     .argument = (argument_),                                                  \
     .kind = OPTION_##KIND,                                                    \
     .field = offsetof(struct options, field_),                                \
     .preset = (preset_),                                                      \
     values,                                                                   \
     .ranks = OPTION_##ranks_,                                                 \
     .help = (help_)},
#include "trainer/options.def"
#undef SECTION
#undef OPTION
};

/* The field has the type that its kind writes. */
#define IS(type, field) _Generic(((struct options *)NULL)->field, type : 1, default : 0)
#define FITS_TEXT(field) IS(const char *, field)
#define FITS_FOLDER(field) IS(const char *, field)
#define FITS_WORD(field) IS(const char *, field)
#define FITS_CHOICE(field) (sizeof((struct options *)NULL)->field == sizeof(int))
#define FITS_FLAG(field) IS(int, field)
#define FITS_INT(field) IS(int, field)
#define FITS_INT64(field) IS(int64_t, field)
#define FITS_SIZE(field) IS(size_t, field)
#define FITS_SEED(field) IS(uint64_t, field)
#define FITS_REAL(field) IS(double, field)
#define FITS_POSITIVE(field) IS(double, field)
#define FITS_INSTEAD(field) (IS(const char *, field) || IS(enum options_task, field))
#define FITS_SPECIAL(field) 1
#define SECTION(title)
#define OPTION(name, argument, KIND, field, preset, values, ranks, help) \
    _Static_assert(FITS_##KIND(field), "the field of --" name " is of another type");
#include "trainer/options.def"
#undef SECTION
#undef OPTION

int option_is_scenario(const struct option_row *row)
{
    return row->task == TASK_SHOW_SCENARIO ||
           row->field - offsetof(struct options, scenario) < sizeof(struct options_scenario);
}

static int set(struct options *o, const struct option_row *row, const char *text, struct dcr_err *err)
{
    void *field = (char *)o + row->field;
    int64_t n = 0;
    int place = 0, rc = 0;
    switch (row->kind) {
    case OPTION_FOLDER:
        if (!*text)
            return bad(row->name, text, "the name of a folder", err);
        /* fallthrough */
    case OPTION_TEXT:
        *(const char **)field = text;
        return 0;
    case OPTION_WORD:
        rc = place_of(row, text, &place, err);
        if (!rc)
            *(const char **)field = place ? row->words[place] : NULL;
        return rc;
    case OPTION_CHOICE:
        rc = place_of(row, text, &place, err);
        if (!rc)
            memcpy(field, &place, sizeof place);
        return rc;
    case OPTION_FLAG:
        *(int *)field = 1;
        return 0;
    case OPTION_REAL:
    case OPTION_POSITIVE:
        return real_number(row, text, field, err);
    case OPTION_INSTEAD:
        o->task = row->task;
        if (row->argument)
            *(const char **)field = text;
        return 0;
    case OPTION_SPECIAL:
        return row->parse(o, row->name, text, err);
    default:
        break;
    }
    rc = whole(row, text, &n, err);
    if (rc)
        return rc;
    if (row->kind == OPTION_INT)
        *(int *)field = (int)n;
    else if (row->kind == OPTION_INT64)
        *(int64_t *)field = n;
    else if (row->kind == OPTION_SIZE)
        *(size_t *)field = (size_t)n;
    else
        *(uint64_t *)field = (uint64_t)n;
    return 0;
}

int option_set(struct options *o, const struct option_row *row, const char *text, struct dcr_err *err)
{
    int rc = set(o, row, text, err);
    if (!rc)
        o->given[row - option_rows] = text ? text : "";
    return rc;
}

void option_presets(struct options *o)
{
    memset(o, 0, sizeof *o);
    for (const struct option_row *row = option_rows; row < option_rows + OPTIONS_N; row++)
        if (row->preset && set(o, row, row->preset, NULL))
            abort(); /* a row whose default it would refuse: tests/unit/test_options_train.c */
}

/* As short as says it exactly. */
static void put_number(struct dcr_buf *out, double v)
{
    char text[40];
    snprintf(text, sizeof text, "%.15g", v);
    dcr_buf_printf(out, strtod(text, NULL) == v ? "%.15g" : "%.17g", v);
}

void option_value(const struct options *o, const struct option_row *row, struct dcr_buf *out)
{
    const void *field = (const char *)o + row->field;
    const char *text = NULL;
    int place = 0;
    switch (row->kind) {
    case OPTION_FLAG:
        dcr_buf_puts(out, *(const int *)field ? "true" : "false");
        return;
    case OPTION_INT:
        dcr_buf_printf(out, "%d", *(const int *)field);
        return;
    case OPTION_INT64:
        dcr_buf_printf(out, "%lld", (long long)*(const int64_t *)field);
        return;
    case OPTION_SIZE:
        dcr_buf_printf(out, "%zu", *(const size_t *)field);
        return;
    case OPTION_SEED:
        dcr_buf_printf(out, "%llu", (unsigned long long)*(const uint64_t *)field);
        return;
    case OPTION_REAL:
    case OPTION_POSITIVE:
        put_number(out, *(const double *)field);
        return;
    case OPTION_CHOICE:
        memcpy(&place, field, sizeof place);
        text = row->words[place];
        break;
    case OPTION_WORD:
        text = *(const char *const *)field ? *(const char *const *)field : row->words[0];
        break;
    case OPTION_TEXT:
    case OPTION_FOLDER:
        text = *(const char *const *)field;
        break;
    default: /* SPECIAL: as it was written */
        text = o->given[row - option_rows] ? o->given[row - option_rows] : row->preset;
    }
    if (text)
        text_json(out, text);
    else
        dcr_buf_puts(out, "null");
}
