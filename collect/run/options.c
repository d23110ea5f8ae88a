/* options.c - see options.h. */
#include "collect/run/options.h"

#include "lib/base/nearest.h"

#include <stddef.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* packaging/completion.awk makes the shell completions from this text. */
const char options_usage[] =
    "usage: dccollect run [-o RUN.tar | --spool DIR] [options] -- PROGRAM [ARGUMENTS]\n"
    "       dccollect pack DIR -o RUN.tar [options]\n"
    "       dccollect calibrate [-o FILE]      (also under mpirun or srun)\n"
    "       dccollect verify RUN.tar...\n"
    "       dccollect ls [-l] RUN.tar...\n"
    "       dccollect export RUN.tar [-o FILE.json|FILE.csv] [--format chrome|csv]\n"
    "       dccollect anonymise RUN.tar ANONYMOUS.tar\n"
    "\n"
    "Options of run and pack:\n"
    "  -o, --output RUN.tar    the archive, compressed when its name ends in .tar.zst; run packs it when the program "
    "has "
    "ended\n"
    "      --traces all|rank0|none  whose full traces are packed (all); all summaries are\n"
    "      --adopt DIR         pack the program's own results from DIR (metrics.csv, steps-rank<r>.csv, program.json "
    "...); "
    "may be repeated\n"
    "      --calibration FILE  put what `dccollect calibrate` measured beside the run\n"
    "      --emulate-nodes     ranks of this host stand in for nodes, so that runs of 1, 2 and 4 ranks show how the "
    "program "
    "scales\n"
    "\n"
    "Options of pack:\n"
    "      --nodes N           number of nodes of a run that does not say\n"
    "\n"
    "Options of run:\n"
    "      --spool DIR         leave the evidence in DIR, for `dccollect pack` (one collector per rank)\n"
    "      --clock DIR         a folder that all hosts share, to compare their clocks when each host has its own "
    "spool\n"
    "      --label KEY=VALUE   keep a label with the run; may be repeated\n"
    "      --interval MS       sample every MS milliseconds (100)\n"
    "      --mpi auto|on|off   record MPI calls (auto, the default: when the program is linked with MPI)\n"
    "      --io on|off         record file I/O (on, the default)\n"
    "      --io-threshold US   calls on files of US microseconds and more are events, shorter ones are summed per file "
    "(100)\n"
    "      --cuda on|off       record what GPUs do, through CUPTI (on)\n"
    "      --python on|off     mark loading, forward, backward, optimizer and steps of PyTorch programs (on)\n"
    "      --counters on|off   count cycles, instructions and cache misses of the program (on)\n"
    "      --steps A:B         record the training steps A to B only\n"
    "      --delay S           start to record S seconds after the program starts\n"
    "      --duration S        record for S seconds\n"
    "      --capture-range cudaProfilerApi|nvtx:NAME  record between cudaProfilerStart and -Stop, or inside ranges "
    "called "
    "NAME\n"
    "      --max-mb N          shared memory for the newest events of a process in MB (8); at most 1 % of a host's "
    "memory for all\n"
    "      --keep ring|all|summary  what stays of the trace of a process: the newest events and all sums, all events, "
    "or "
    "the sums (ring)\n"
    "      --max-disk-mb N     disk for the trace of a process in MB (2048 with --keep ring, no limit with --keep "
    "all)\n"
    "      --sync-seconds S    every S seconds the newest events are written to the files too (5; 0: never)\n"
    "\n"
    "Options of calibrate:\n"
    "  -o, --output FILE       where the result goes (calibration.json); in a spool folder it is packed with the run\n"
    "\n"
    "Options of ls:\n"
    "  -l, --long              list every member\n"
    "\n"
    "Options of export:\n"
    "  -o, --output FILE       where the events go (standard output)\n"
    "      --format chrome|csv  JSON that Perfetto opens, or a table (by the name of FILE)\n"
    "\n"
    "`dccollect --help` and `dccollect --version` show this text and the version.\n"
    "The exit status of run is the program's own; 128+n when signal n ended it, 127 not found, 126 not executable, 125 "
    "when dccollect itself failed.\n";

/* ---- an option is a row ------------------------------------------------------------------------- */

enum kind { FLAG, TEXT, TEXTS, NUMBER, SECONDS, WORD };
enum { FOR_RUN = 1 << COMMAND_RUN, FOR_PACK = 1 << COMMAND_PACK, FOR_EXPORT = 1 << COMMAND_EXPORT };
enum { FOR_LS = 1 << COMMAND_LS, FOR_BOTH = FOR_RUN | FOR_PACK };

/* A word and its value; word NULL at the end. */
struct choice {
    const char *word;
    int value;
};

struct row {
    const char *name;
    int commands; /* commands that take the option: FOR_ ... */
    enum kind kind;
    size_t at;                                                                    /* of the field in struct options */
    int least, most;                                                              /* of NUMBER */
    const struct choice *words;                                                   /* of WORD */
    int (*check)(const struct options *o, const char *text, struct dcr_err *err); /* NULL: any text is valid */
};

static int check_label(const struct options *o, const char *text, struct dcr_err *err)
{
    if (!strchr(text, '=') || *text == '=')
        return dcr_err_set(err, DCR_FAIL, "--label takes KEY=VALUE, not '%.60s'", text);
    for (size_t i = 0; i < o->labels.n; i++)
        if (strncmp(o->labels.items[i], text, (size_t)(strchr(text, '=') + 1 - text)) == 0)
            return dcr_err_set(err, DCR_FAIL, "--label '%.60s' repeats the key of '%s'; give a key once", text,
                               o->labels.items[i]);
    const char *batch = strncmp(text, "global_batch=", 13) == 0 ? text + 13 : "1";
    long long samples = strtoll(batch, NULL, 10);
    if (strspn(batch, "0123456789") != strlen(batch) || samples < 1 || samples > INT32_MAX)
        return dcr_err_set(
            err, DCR_FAIL,
            "--label global_batch takes a whole number from 1, not '%.60s'; give the samples of a step over all ranks",
            batch);
    return DCR_OK;
}

static int check_duration(const struct options *o, const char *text, struct dcr_err *err)
{
    (void)o;
    if (strtod(text, NULL) > 0)
        return DCR_OK;
    return dcr_err_set(err, DCR_FAIL, "--duration takes more than 0 seconds, not '%.60s'", text);
}

/* "A:B", whole numbers, A <= B */
static int check_steps(const struct options *o, const char *text, struct dcr_err *err)
{
    char *middle, *end;
    (void)o;
    if (*text >= '0' && *text <= '9') {
        long long first = strtoll(text, &middle, 10);
        if (*middle == ':' && middle[1] >= '0' && middle[1] <= '9') {
            long long last = strtoll(middle + 1, &end, 10);
            if (*end == '\0' && first <= last)
                return DCR_OK;
        }
    }
    return dcr_err_set(err, DCR_FAIL, "--steps takes the first and the last step, as in --steps 10:20, not '%.60s'",
                       text);
}

static int check_capture(const struct options *o, const char *text, struct dcr_err *err)
{
    (void)o;
    if (strcmp(text, "cudaProfilerApi") == 0 || (strncmp(text, "nvtx:", 5) == 0 && text[5]))
        return DCR_OK;
    return dcr_err_set(err, DCR_FAIL,
                       "--capture-range takes cudaProfilerApi, or nvtx: and the name of a range, not '%.60s'", text);
}

static const struct choice on_off[] = {{"on", 1}, {"off", 0}, {NULL, 0}};
static const struct choice mpi[] = {{"auto", -1}, {"on", 1}, {"off", 0}, {NULL, 0}};
static const struct choice keep[] = {{"ring", KEEP_RING}, {"all", KEEP_ALL}, {"summary", KEEP_SUMMARY}, {NULL, 0}};
static const struct choice traces[] = {
    {"all", PACK_TRACES_ALL}, {"rank0", PACK_TRACES_RANK0}, {"none", PACK_TRACES_NONE}, {NULL, 0}};
static const struct choice formats[] = {{"chrome", EXPORT_CHROME}, {"csv", EXPORT_CSV}, {NULL, 0}};

#define AT(field) offsetof(struct options, field)
static const struct row rows[] = {
    {"-o", FOR_BOTH | FOR_EXPORT, TEXT, AT(output), 0, 0, NULL, NULL},
    {"--output", FOR_BOTH | FOR_EXPORT, TEXT, AT(output), 0, 0, NULL, NULL},
    {"--adopt", FOR_BOTH, TEXTS, AT(adopt), 0, 0, NULL, NULL},
    {"--calibration", FOR_BOTH, TEXT, AT(calibration), 0, 0, NULL, NULL},
    {"--emulate-nodes", FOR_BOTH, FLAG, AT(emulate_nodes), 0, 0, NULL, NULL},
    {"--traces", FOR_BOTH, WORD, AT(traces), 0, 0, traces, NULL},
    {"--nodes", FOR_PACK, NUMBER, AT(n_nodes), 1, 1000000, NULL, NULL},
    {"--format", FOR_EXPORT, WORD, AT(format), 0, 0, formats, NULL},
    {"-l", FOR_LS, FLAG, AT(is_long), 0, 0, NULL, NULL},
    {"--long", FOR_LS, FLAG, AT(is_long), 0, 0, NULL, NULL},
    {"--spool", FOR_RUN, TEXT, AT(spool), 0, 0, NULL, NULL},
    {"--clock", FOR_RUN, TEXT, AT(clock), 0, 0, NULL, NULL},
    {"--label", FOR_RUN, TEXTS, AT(labels), 0, 0, NULL, check_label},
    {"--interval", FOR_RUN, NUMBER, AT(interval_ms), 1, 3600000, NULL, NULL},
    {"--mpi", FOR_RUN, WORD, AT(mpi), 0, 0, mpi, NULL},
    {"--io", FOR_RUN, WORD, AT(io), 0, 0, on_off, NULL},
    {"--io-threshold", FOR_RUN, NUMBER, AT(io_us), 1, 1000000, NULL, NULL},
    {"--cuda", FOR_RUN, WORD, AT(cuda), 0, 0, on_off, NULL},
    {"--python", FOR_RUN, WORD, AT(python), 0, 0, on_off, NULL},
    {"--counters", FOR_RUN, WORD, AT(counters), 0, 0, on_off, NULL},
    {"--steps", FOR_RUN, TEXT, AT(steps), 0, 0, NULL, check_steps},
    {"--delay", FOR_RUN, SECONDS, AT(delay_s), 0, 0, NULL, NULL},
    {"--duration", FOR_RUN, SECONDS, AT(duration_s), 0, 0, NULL, check_duration},
    {"--capture-range", FOR_RUN, TEXT, AT(capture_range), 0, 0, NULL, check_capture},
    {"--max-mb", FOR_RUN, NUMBER, AT(max_mb), 1, 1000000, NULL, NULL},
    {"--keep", FOR_RUN, WORD, AT(keep), 0, 0, keep, NULL},
    {"--max-disk-mb", FOR_RUN, NUMBER, AT(max_disk_mb), 1, 1000000000, NULL, NULL},
    {"--sync-seconds", FOR_RUN, NUMBER, AT(sync_s), 0, 86400, NULL, NULL},
};

static int add(struct option_list *list, const char *text, struct dcr_err *err)
{
    const char **bigger = realloc((void *)list->items, (list->n + 1) * sizeof *bigger);
    if (!bigger)
        return dcr_err_set(err, DCR_FATAL, "out of memory");
    bigger[list->n++] = text;
    list->items = bigger;
    return DCR_OK;
}

static int number(const struct row *r, const char *text, int *out, struct dcr_err *err)
{
    char *end;
    long k = strtol(text, &end, 10);
    if (end == text || *end || k < r->least || k > r->most)
        return dcr_err_set(err, DCR_FAIL, "%s takes a whole number from %d to %d, not '%.60s'", r->name, r->least,
                           r->most, text);
    *out = (int)k;
    return DCR_OK;
}

static int seconds(const struct row *r, const char *text, double *out, struct dcr_err *err)
{
    char *end;
    double s = strtod(text, &end);
    if (end == text || *end || !(s >= 0 && s <= 1e9))
        return dcr_err_set(err, DCR_FAIL, "%s takes seconds, as in %s 30, not '%.60s'", r->name, r->name, text);
    *out = s;
    return DCR_OK;
}

static int word(const struct row *r, const char *text, int *out, struct dcr_err *err)
{
    char list[64] = "";
    for (const struct choice *c = r->words; c->word; c++) {
        if (strcmp(text, c->word) == 0) {
            *out = c->value;
            return DCR_OK;
        }
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", c == r->words ? "" : c[1].word ? ", " : " or ", c->word);
    }
    return dcr_err_set(err, DCR_FAIL, "%s takes %s, not '%.60s'", r->name, list, text);
}

static int take(struct options *o, const struct row *r, const char *text, struct dcr_err *err)
{
    void *field = (char *)o + r->at;
    int rc = DCR_OK;
    switch (r->kind) {
    case FLAG:
        *(int *)field = 1;
        return DCR_OK;
    case NUMBER:
        return number(r, text, field, err);
    case WORD:
        return word(r, text, field, err);
    case SECONDS:
        rc = seconds(r, text, field, err);
        return rc == 0 && r->check ? r->check(o, text, err) : rc;
    case TEXT:
        *(const char **)field = text;
        return r->check ? r->check(o, text, err) : DCR_OK;
    case TEXTS:
        rc = r->check ? r->check(o, text, err) : DCR_OK;
        return rc ? rc : add(field, text, err);
    }
    return rc;
}

/* Is the word this option, alone or as "--name=value"? Only long names take a value after '='. */
static int is_option(const struct row *r, const struct options *o, const char *text)
{
    size_t n = strlen(r->name);
    return r->commands >> o->command & 1 && strncmp(text, r->name, n) == 0 &&
           (!text[n] || (text[n] == '=' && n > 2 && r->kind != FLAG));
}

static int parse_option(struct options *o, int argc, char **argv, int *i, struct dcr_err *err)
{
    const char *option = argv[*i], *equals = strchr(option, '=');
    for (const struct row *r = rows; r < rows + sizeof rows / sizeof *rows; r++) {
        if (!is_option(r, o, option))
            continue;
        if (r->kind == FLAG || option[strlen(r->name)])
            return take(o, r, equals ? equals + 1 : "", err);
        if (*i + 1 >= argc || strcmp(argv[*i + 1], "--") == 0)
            return dcr_err_set(err, DCR_FAIL, "option '%s' needs a value; see `dccollect --help`", option);
        return take(o, r, argv[++*i], err);
    }
    int is_file = o->command != COMMAND_RUN && (access(option, F_OK) == 0 || (option[1] != '-' && strchr(option, '.')));
    if (is_file)
        return dcr_err_set(err, DCR_FAIL, "unknown option '%s'; put the name of a file after `--`", option);
    struct nearest near = nearest_begin(option);
    for (const struct row *r = rows; r < rows + sizeof rows / sizeof *rows; r++)
        if (r->commands >> o->command & 1)
            nearest_try(&near, r->name);
    if (near.name)
        return dcr_err_set(err, DCR_FAIL, "unknown option '%s'; did you mean %s?", option, near.name);
    return dcr_err_set(err, DCR_FAIL, "unknown option '%s'; see `dccollect --help`", option);
}

/* ---- the command line --------------------------------------------------------------------------- */

static int parse_command(struct options *o, const char *word, struct dcr_err *err)
{
    static const char *const words[] = {
        [COMMAND_HELP] = "help",     [COMMAND_VERSION] = "--version",   [COMMAND_RUN] = "run",
        [COMMAND_PACK] = "pack",     [COMMAND_VERIFY] = "verify",       [COMMAND_LS] = "ls",
        [COMMAND_EXPORT] = "export", [COMMAND_ANONYMISE] = "anonymise", [COMMAND_CALIBRATE] = "calibrate"};
    if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0)
        return DCR_OK; /* COMMAND_HELP */
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i]) == 0) {
            o->command = (enum command)i;
            return DCR_OK;
        }
    return dcr_err_set(err, DCR_FAIL,
                       "unknown command '%s'; the commands are run, calibrate, pack, verify, ls, export and anonymise",
                       word);
}

/* Not exactly one name was given. An option after `--` counts as a name too. */
static int not_one(const struct options *o, const char *usage, struct dcr_err *err)
{
    for (int i = 0; i < o->n_program; i++)
        if (strcmp(o->program[i], "-o") == 0)
            return dcr_err_set(err, DCR_FAIL,
                               "'-o' stands after `--` and is read as a file name; put options before `--`");
    return dcr_err_set(err, DCR_FAIL, "%s", usage);
}

static int check(struct options *o, struct dcr_err *err)
{
    switch (o->command) {
    case COMMAND_RUN:
        if (!o->n_program)
            return dcr_err_set(err, DCR_FAIL, "no program to run; write `dccollect run -o RUN.tar -- PROGRAM`");
        if (!o->output && !o->spool)
            return dcr_err_set(err, DCR_FAIL, "no place for the evidence; add -o RUN.tar, or --spool DIR");
        return DCR_OK;
    case COMMAND_PACK:
        if (o->n_program != 1)
            return not_one(o, "not one folder to pack; name one: `dccollect pack DIR -o RUN.tar`", err);
        o->spool = o->program[0];
        if (!o->output)
            return dcr_err_set(err, DCR_FAIL, "no archive to write; name it: `dccollect pack %s%s -o RUN.tar`",
                               o->spool[0] == '-' ? "./" : "", o->spool);
        return DCR_OK;
    case COMMAND_EXPORT:
        if (o->n_program != 1)
            return not_one(o, "not one archive to export; name one: `dccollect export RUN.tar -o events.json`", err);
        return DCR_OK;
    case COMMAND_ANONYMISE:
        if (o->n_program != 2)
            return dcr_err_set(err, DCR_FAIL,
                               "anonymise takes two names; write `dccollect anonymise RUN.tar ANONYMOUS.tar`");
        return DCR_OK;
    case COMMAND_VERIFY:
    case COMMAND_LS:
        if (!o->n_program)
            return dcr_err_set(err, DCR_FAIL, "no archive given; name one or more, as in `dccollect %s RUN.tar`",
                               o->command == COMMAND_LS ? "ls" : "verify");
        return DCR_OK;
    default:
        return DCR_OK;
    }
}

int options_parse(struct options *o, int argc, char **argv, struct dcr_err *err)
{
    *o = (struct options){.interval_ms = 100,
                          .mpi = -1,
                          .io = 1,
                          .cuda = 1,
                          .python = 1,
                          .counters = 1,
                          .io_us = 100,
                          .max_mb = 8,
                          .sync_s = 5};
    if (argc < 2)
        return dcr_err_set(err, DCR_FAIL, "no command; see `dccollect --help`");
    int rc = parse_command(o, argv[1], err);
    if (rc || o->command == COMMAND_HELP || o->command == COMMAND_VERSION)
        return rc;
    int i = 2, n_words = 0;
    if (o->command == COMMAND_CALIBRATE) { /* its own program reads its options */
        o->program = argv + 2;
        o->n_program = argc - 2;
        return DCR_OK;
    }
    /* Words without a dash are the program (run stops at the first, since the rest belongs to the program), or folders
     * and archives, which are moved to the front of the remaining words. */
    for (; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            o->command = COMMAND_HELP;
            return DCR_OK;
        }
        if (strcmp(argv[i], "--") == 0) {
            i++;
            break;
        }
        if (argv[i][0] == '-' && argv[i][1]) {
            rc = parse_option(o, argc, argv, &i, err);
            if (rc)
                return rc;
        } else if (o->command == COMMAND_RUN) {
            break;
        } else {
            argv[2 + n_words++] = argv[i];
        }
    }
    if (o->command == COMMAND_RUN) {
        o->program = argv + i;
        o->n_program = argc - i;
    } else {
        for (; i < argc; i++)
            argv[2 + n_words++] = argv[i];
        o->program = argv + 2;
        o->n_program = n_words;
    }
    return check(o, err);
}

void options_release(struct options *o)
{
    free((void *)o->adopt.items);
    free((void *)o->labels.items);
    *o = (struct options){0};
}
