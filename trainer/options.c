/* options.c - see options.h. The rows are options.def: a new option is a row there, and only SPECIAL ones have code
 * here. */
#include "trainer/options.h"

#include "lib/base/buf.h"
#include "lib/base/hash.h"
#include "lib/base/nearest.h"
#include "lib/base/text.h"
#include "trainer/formats/formats.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum option_kind {
    OPTION_SECTION,  /* a title of --help */
    OPTION_TEXT,     /* const char *: any word */
    OPTION_FOLDER,   /* const char *: any word but "" */
    OPTION_WORD,     /* const char *: one of words; the first stands for NULL */
    OPTION_CHOICE,   /* int or enum: the place of one of words */
    OPTION_FLAG,     /* int: 1 */
    OPTION_INT,      /* int from low to high */
    OPTION_INT64,    /* int64_t, uint64_t or size_t from low to high */
    OPTION_REAL,     /* double, 0 or more; with a range up to high */
    OPTION_POSITIVE, /* double above 0 */
    OPTION_INSTEAD,  /* the task; with an argument also const char * */
    OPTION_SPECIAL,  /* it has a separate parser */
};

enum option_ranks { OPTION_EACH, OPTION_SAME, OPTION_GIVEN };

struct option_row {
    const char *name;     /* without dashes */
    const char *argument; /* NULL: it takes none */
    enum option_kind kind;
    size_t field;       /* offset in struct options */
    const char *preset; /* as a user would write it; NULL: the field starts as 0 */
    int64_t low, high;
    const char *const *words; /* NULL ends the list */
    enum options_task task;
    int (*parse)(struct options *o, const struct option_row *row, const char *text, struct dcr_err *err);
    enum option_ranks ranks;
    const char *help; /* of a section its title */
};

/* ---- values ------------------------------------------------------------------------------------ */

/* wanted: "a number of steps" */
static int bad(const struct option_row *row, const char *text, const char *wanted, struct dcr_err *err)
{
    return dcr_err_set(err, DCR_FAIL, "--%s takes %s, not '%.60s'", row->name, wanted, text);
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
    return bad(row, text, wanted, err);
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
    return bad(row, text, wanted, err);
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
    return bad(row, text, wanted, err);
}

/* ---- options with parsers of their own ----------------------------------------------------------- */

static int parse_start(struct options *o, const struct option_row *row, const char *text, struct dcr_err *err)
{
    o->has_start_time = dataset_parse_time(text, &o->start_s);
    return o->has_start_time ? 0 : bad(row, text, "a time (YYYY-MM-DD HH:MM)", err);
}

/* "100" steps, "100steps", "2epochs", "epoch" */
static int parse_checkpoint(struct options *o, const struct option_row *row, const char *text, struct dcr_err *err)
{
    char *end;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (end == text)
        n = 1;
    int is_epochs = !strcmp(end, "epoch") || !strcmp(end, "epochs");
    int is_steps = (end != text && !*end) || !strcmp(end, "steps") || !strcmp(end, "step");
    if (errno || n < 1 || n > INT_MAX || (!is_epochs && !is_steps))
        return bad(row, text, "a number of steps (100) or epochs (2epochs)", err);
    o->checkpoint_steps = is_steps ? n : 0;
    o->checkpoint_epochs = is_epochs ? (int)n : 0;
    return 0;
}

/* The next number of a list separated by commas. returns 0 at the end of the list, -1 when it is no number; *at moves
 * on */
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

static int parse_milestones(struct options *o, const struct option_row *row, const char *text, struct dcr_err *err)
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
    return state ? bad(row, text, "ascending epochs separated by commas, at most 16", err) : 0;
}

/* "2,1,1": one share per rank. The number of ranks is not known yet. */
static int parse_weights(struct options *o, const struct option_row *row, const char *text, struct dcr_err *err)
{
    const char *at = text;
    double v = 0, sum = 0;
    int state;
    for (o->n_rank_weights = 0; (state = next_number(&at, &v)) > 0; sum += v) {
        if (v < 0 || v > 1e9 || o->n_rank_weights == OPTIONS_MAX_WEIGHTS)
            break;
        o->rank_weights[o->n_rank_weights++] = v;
    }
    return state || !(sum > 0) ? bad(row, text, "a share for each rank, separated by commas, not all 0: 2,1,1", err)
                               : 0;
}

/* Below 2 a bad batch would end the run. */
static int parse_explode(struct options *o, const struct option_row *row, const char *text, struct dcr_err *err)
{
    char *end;
    double v = strtod(text, &end);
    if (end == text || *end || !isfinite(v) || (v != 0 && v < 2))
        return bad(row, text, "0 (never) or a number from 2 on", err);
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

static const struct option_row rows[OPTIONS_N] = {
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
#define FITS_INT64(field) \
    (sizeof((struct options *)NULL)->field == 8 && (IS(int64_t, field) || IS(uint64_t, field) || IS(size_t, field)))
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

/* Does the option choose a scenario or its form? */
static int is_scenario(const struct option_row *row)
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
            return bad(row, text, "the name of a folder", err);
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
    case OPTION_INT:
        rc = whole(row, text, &n, err);
        if (!rc)
            *(int *)field = (int)n;
        return rc;
    case OPTION_INT64:
        rc = whole(row, text, &n, err);
        if (!rc)
            memcpy(field, &n, sizeof n);
        return rc;
    default:
        return row->parse(o, row, text, err);
    }
}

/* The shortest form that gives the exact value. */
static void put_number(struct dcr_buf *out, double v)
{
    char text[40];
    snprintf(text, sizeof text, "%.15g", v);
    dcr_buf_printf(out, strtod(text, NULL) == v ? "%.15g" : "%.17g", v);
}

/* The value of the option in o, as JSON. Options for tasks other than training are left out. */
static void put_value(const struct options *o, const struct option_row *row, struct dcr_buf *out)
{
    const void *field = (const char *)o + row->field;
    const char *text = NULL;
    int64_t n;
    int place;
    switch (row->kind) {
    case OPTION_FLAG:
        dcr_buf_puts(out, *(const int *)field ? "true" : "false");
        return;
    case OPTION_INT:
        dcr_buf_printf(out, "%d", *(const int *)field);
        return;
    case OPTION_INT64:
        memcpy(&n, field, sizeof n);
        dcr_buf_printf(out, "%lld", (long long)n);
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
        text = o->given[row - rows] ? o->given[row - rows] : row->preset;
    }
    if (text)
        text_json(out, text);
    else
        dcr_buf_puts(out, "null");
}

/* ---- --help and program.json ---------------------------------------------------------------------- */

/* The default is in brackets. A flag is off by default, and a row without a default has words for it in its help. */
static void print_row(FILE *out, const struct option_row *row)
{
    char left[64];
    snprintf(left, sizeof left, "--%s%s%s", row->name, row->argument ? " " : "", row->argument ? row->argument : "");
    fprintf(out, "  %-23s  %s", left, row->help); /* two spaces end the argument: docs/man/options.awk */
    for (int i = 0; row->words && !strchr(row->argument, '|') && row->words[i]; i++)
        fprintf(out, "%s %s", i ? "," : ":", row->words[i]);
    fprintf(out, row->preset ? " (%s)\n" : "\n", row->preset);
}

void options_help(FILE *out)
{
    fputs("usage: [mpirun -n RANKS] dcrnn-train [OPTION...]\n"
          "Train a diffusion convolutional recurrent network on traffic speeds, data-parallel over MPI ranks.\n",
          out);
    for (const struct option_row *row = rows; row < rows + OPTIONS_N; row++)
        if (row->kind == OPTION_SECTION)
            fprintf(out, "\n%s:\n", row->help);
        else
            print_row(out, row);
    fputs("\nExit status: 0 done; 1 --verify failed, the training diverged or a rank was lost; 2 bad input or usage;\n"
          "143, 130 stopped by SIGTERM, SIGINT after a whole step.\n",
          out);
}

void options_json(const struct options *o, struct dcr_buf *out)
{
    const char *comma = "";
    dcr_buf_puts(out, "{");
    for (const struct option_row *row = rows; row < rows + OPTIONS_N; row++) {
        if (row->kind == OPTION_SECTION || row->kind == OPTION_INSTEAD)
            continue;
        dcr_buf_printf(out, "%s\n    \"%s\": ", comma, row->name);
        put_value(o, row, out);
        comma = ",";
    }
    dcr_buf_puts(out, "\n  }");
}

/* ---- the command line ------------------------------------------------------------------------------ */

/* Checks that need the whole command line. */
static int check(const struct options *o, struct dcr_err *err)
{
    if (o->data && !o->graph)
        return dcr_err_set(err, DCR_FAIL,
                           "--data needs --graph: a distance list, an edge list or a matrix of its sensors");
    if (!o->data && (o->graph || o->sensor_ids || o->data_key || o->has_start_time))
        return dcr_err_set(err, DCR_FAIL, "--%s needs --data: generated data bring their own",
                           o->graph        ? "graph"
                           : o->sensor_ids ? "sensor-ids"
                           : o->data_key   ? "data-key"
                                           : "start-time");
    if (o->data && o->task == TASK_WRITE_DATA)
        return dcr_err_set(err, DCR_FAIL, "--write-data writes generated data; leave --data out");
    if (o->kernels && o->is_cuda)
        return dcr_err_set(err, DCR_FAIL, "--kernels applies to the CPU only; leave it out with --backend cuda");
    if (o->precision != BACKEND_FP32 && !o->is_cuda)
        return dcr_err_set(err, DCR_FAIL, "--precision tf32 and bf16 need --backend cuda; the CPU computes in fp32");
    if (o->may_share_gpu && !o->is_cuda)
        return dcr_err_set(err, DCR_FAIL, "--share-gpu needs --backend cuda; leave it out on the CPU");
    if (o->pinned == PINNED_YES && !o->is_cuda)
        return dcr_err_set(err, DCR_FAIL, "--pinned yes needs --backend cuda: the CPU needs no copies");
    if (!o->scenario.name && (o->scenario.choice.is_off || o->task == TASK_SHOW_SCENARIO))
        return dcr_err_set(err, DCR_FAIL, "--%s needs --scenario",
                           o->scenario.choice.is_off ? "knob off" : "show-scenario");
    if (o->cold && !o->stage_windows)
        return dcr_err_set(err, DCR_FAIL,
                           "--cold needs --stage-windows: only windows in a file are read from the disk");
    if (o->sensor_ids && o->header == DATASET_HEADER_YES)
        return dcr_err_set(err, DCR_FAIL, "--sensor-ids is for data without a header; leave --header yes out");
    return 0;
}

/* getopt's result as a sentence. The option is the last word it looked at. It has not passed a word of which only the
 * first letter was wrong, such as "-batch". */
static int complain(int verdict, char *const *argv, const struct option *known, struct dcr_err *err)
{
    const char *word = argv[optind - 1], *next = argv[optind];
    if (verdict == '?' && next && next[0] == '-' && next[1] && next[1] == optopt && next[2])
        word = next;
    if (verdict == ':')
        return dcr_err_set(err, DCR_FAIL, "option '%s' needs a value; see `dcrnn-train --help`", word);
    if (!strncmp(word, "--", 2))
        for (const struct option *k = known; k->name; k++) {
            size_t n = strlen(k->name);
            if (!strncmp(word + 2, k->name, n) && word[2 + n] == '=')
                return dcr_err_set(err, DCR_FAIL, "--%s takes no value; see `dcrnn-train --help`", k->name);
        }
    const char *near = nearest_option(word, known);
    if (near)
        return dcr_err_set(err, DCR_FAIL, "unknown option '%.60s'; did you mean --%s?", word, near);
    return dcr_err_set(err, DCR_FAIL, "unknown option '%.60s'; see `dcrnn-train --help`", word);
}

/* The options of a scenario come first, so one pass over the command line looks only for the scenario. */
enum pass { PASS_SCENARIO, PASS_ALL };

static int parse_words(struct options *o, enum pass pass, int argc, char **argv, struct dcr_err *err)
{
    struct option known[OPTIONS_N + 1] = {0};
    const int first = 256; /* greater than all letters */
    size_t n = 0;
    for (int i = 0; i < OPTIONS_N; i++)
        if (rows[i].name)
            known[n++] =
                (struct option){rows[i].name, rows[i].argument ? required_argument : no_argument, NULL, first + i};
    optind = 0; /* so that a second pass starts anew */
    for (int id; (id = getopt_long(argc, argv, ":", known, NULL)) != -1;) {
        if (id == '?' || id == ':')
            return pass == PASS_SCENARIO ? 0 : complain(id, argv, known, err); /* the other pass complains */
        const struct option_row *row = &rows[id - first];
        int is_last = row->task == TASK_HELP || row->task == TASK_VERSION;
        if (pass == PASS_SCENARIO && is_last)
            return 0;
        if (pass == PASS_SCENARIO && !is_scenario(row))
            continue;
        int rc = set(o, row, optarg, err);
        o->given[row - rows] = optarg ? optarg : "";
        if (rc || is_last)
            return rc;
    }
    if (optind < argc)
        return dcr_err_set(err, DCR_FAIL, "unexpected argument '%.60s'; see `dcrnn-train --help`", argv[optind]);
    return 0;
}

/* The scenario's options, as if they preceded those of the command line. */
static int parse_scenario(struct options *o, struct dcr_err *err)
{
    struct options_scenario *s = &o->scenario;
    char *words[SCENARIO_MAX_WORDS + 2] = {(char *)(uintptr_t) "scenario"}; /* getopt permutes words, not letters */
    int n_words = 0;
    s->choice.n_ranks = scenario_launched_ranks();
    int rc = scenario_named(s->name, &s->choice.scenario, err);
    if (!rc)
        rc = scenario_words(&s->choice, s->text, words + 1, &n_words, err);
    return rc ? rc : parse_words(o, PASS_ALL, n_words + 1, words, err);
}

/* --check-options and --check-data need a training. */
static int check_trains(struct options *o, struct dcr_err *err)
{
    o->is_check |= o->is_data_check;
    for (const struct option_row *row = rows; o->is_check && row < rows + OPTIONS_N; row++)
        if (row->kind == OPTION_INSTEAD && row->task == o->task)
            return dcr_err_set(err, DCR_FAIL, "only a training can be checked; leave --%s out", row->name);
    return 0;
}

int options_parse(struct options *o, int argc, char **argv, struct dcr_err *err)
{
    memset(o, 0, sizeof *o);
    for (const struct option_row *row = rows; row < rows + OPTIONS_N; row++)
        if (row->preset && set(o, row, row->preset, NULL))
            abort(); /* a row with a default that its parser refuses: tests/unit/test_options_train.c */
    int rc = parse_words(o, PASS_SCENARIO, argc, argv, err);
    if (!rc && o->scenario.name)
        rc = parse_scenario(o, err);
    if (!rc)
        rc = parse_words(o, PASS_ALL, argc, argv, err);
    if (!rc)
        rc = check_trains(o, err);
    if (rc || o->task == TASK_HELP || o->task == TASK_VERSION)
        return rc;
    return check(o, err);
}

/* ---- alike on all ranks -------------------------------------------------------------------------- */

/* A number that is the same for equal values. */
static uint32_t fingerprint_of(const struct options *o, const struct option_row *row)
{
    struct dcr_buf text = {0};
    if (row->ranks == OPTION_EACH)
        return 0;
    if (row->ranks == OPTION_GIVEN)
        return o->given[row - rows] != NULL;
    if (row->kind == OPTION_INSTEAD)
        return o->task == row->task;
    put_value(o, row, &text);
    uint32_t print = dcr_crc32c(0, text.data, text.len);
    dcr_buf_release(&text);
    return print;
}

int options_alike(const struct options *o, struct comm *c, struct dcr_err *err)
{
    uint32_t mine[OPTIONS_N], first[OPTIONS_N];
    int rc = 0;
    for (int i = 0; i < OPTIONS_N; i++)
        mine[i] = fingerprint_of(o, &rows[i]);
    memcpy(first, mine, sizeof first);
    comm_broadcast(c, first, sizeof first);
    for (int i = 0; i < OPTIONS_N && !rc; i++)
        if (mine[i] != first[i])
            rc = dcr_err_set(err, DCR_FAIL, "rank %d on %s was started with another --%s than rank 0; start all alike",
                             c->rank, c->host, rows[i].name);
    return comm_first_failure(c, rc, err);
}
