/* options.c - see options.h. */
#include "collect/run/options.h"

#include "lib/base/fs.h"
#include "lib/archive/tar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Completions are made of it: packaging/completion.awk. */
const char options_usage[] =
    "usage: dccollect run [-o RUN.tar | --spool DIR] [options] -- PROGRAM [ARGUMENTS]\n"
    "       dccollect pack DIR -o RUN.tar [options]\n"
    "       dccollect calibrate [-o FILE] [--disk DIR]      (also under mpirun or srun)\n"
    "       dccollect verify RUN.tar...\n"
    "       dccollect ls [-l] RUN.tar...\n"
    "       dccollect export RUN.tar [-o FILE.json|FILE.csv] [--format chrome|csv]\n"
    "       dccollect anonymise RUN.tar ANONYMOUS.tar\n"
    "\n"
    "Options of run and pack:\n"
    "  -o, --output RUN.tar    the archive; run packs it when the program has ended\n"
    "      --zstd[=LEVEL]      compress it (1 to 19, 3 when not said); its name then ends in .zst\n"
    "      --traces all|rank0|none|sample:N  whose full traces are packed (all); every rank's summary is\n"
    "      --adopt DIR         pack the program's own results from DIR (metrics.csv, steps-rank<r>.csv, program.json "
    "...); "
    "may be repeated\n"
    "      --calibration FILE  put what `dccollect calibrate` measured beside the run\n"
    "      --emulate-nodes     ranks of this host stand in for nodes\n"
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
    "      --delay S           record from S seconds after the start on\n"
    "      --duration S        record for S seconds\n"
    "      --capture-range cudaProfilerApi|nvtx:NAME  record between cudaProfilerStart and -Stop, or inside ranges "
    "called "
    "NAME\n"
    "      --max-mb N          shared memory for the newest events of a process in MB (8); at most 1 % of the memory\n"
    "      --keep ring|all|summary  what stays of the trace of a process: the newest events and all sums, all events, "
    "or "
    "the sums (ring)\n"
    "      --max-disk-mb N     disk for the trace of a process in MB (2048 with --keep ring, no limit with --keep "
    "all)\n"
    "      --sync-seconds S    every S seconds what was recorded is forced to the disk (5; 0: never)\n"
    "\n"
    "Options of calibrate:\n"
    "  -o, --output FILE       where the result goes (calibration.json); in a spool folder it is packed with the run\n"
    "      --disk DIR          the folder whose file system is measured (that of FILE)\n"
    "\n"
    "Options of ls:\n"
    "  -l, --long              list every member\n"
    "\n"
    "Options of export:\n"
    "  -o, --output FILE       where the events go (standard output)\n"
    "      --format chrome|csv  JSON that Perfetto opens, or a table (by the name of FILE)\n"
    "\n"
    "`dccollect --help` and `dccollect --version` show this text and the version.\n"
    "The exit status of run is the program's own; 128+n when signal n ended it, 125 when dccollect itself failed.\n";

static int add(const char ***list, size_t *n, const char *text, struct dcr_err *err)
{
    const char **bigger = realloc((void *)*list, (*n + 1) * sizeof *bigger);
    if (!bigger)
        return dcr_err_set(err, DCR_FATAL, "out of memory");
    bigger[(*n)++] = text;
    *list = bigger;
    return DCR_OK;
}

static int number(const char *option, const char *text, int lo, int hi, int *out, struct dcr_err *err)
{
    char *end;
    long k = strtol(text, &end, 10);
    if (end == text || *end || k < lo || k > hi)
        return dcr_err_set(err, DCR_FAIL, "%s takes a whole number from %d to %d, not '%.60s'", option, lo, hi, text);
    *out = (int)k;
    return DCR_OK;
}

static int seconds(const char *option, const char *text, double *out, struct dcr_err *err)
{
    char *end;
    double s = strtod(text, &end);
    if (end == text || *end || !(s >= 0 && s <= 1e9))
        return dcr_err_set(err, DCR_FAIL, "%s takes seconds, as in %s 30, not '%.60s'", option, option, text);
    *out = s;
    return DCR_OK;
}

static int duration(const char *text, double *out, struct dcr_err *err)
{
    int rc = seconds("--duration", text, out, err);
    if (rc == 0 && *out <= 0)
        rc = dcr_err_set(err, DCR_FAIL, "--duration takes more than 0 seconds, not '%.60s'", text);
    return rc;
}

static int one_of(const char *option, const char *text, const char *const *words, const int *values, size_t n, int *out,
                  struct dcr_err *err)
{
    char list[64] = "";
    for (size_t i = 0; i < n; i++) {
        if (strcmp(text, words[i]) == 0) {
            *out = values[i];
            return DCR_OK;
        }
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : " or ", words[i]);
    }
    return dcr_err_set(err, DCR_FAIL, "%s takes %s, not '%.60s'", option, list, text);
}

static int parse_traces(struct options *o, const char *text, struct dcr_err *err)
{
    static const char *const words[] = {"all", "rank0", "none"};
    static const enum pack_traces which[] = {PACK_TRACES_ALL, PACK_TRACES_RANK0, PACK_TRACES_NONE};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(text, words[i]) == 0) {
            o->traces = which[i];
            return DCR_OK;
        }
    if (strncmp(text, "sample:", 7) != 0)
        return dcr_err_set(err, DCR_FAIL, "--traces takes all, rank0, none or sample:N, not '%.60s'", text);
    o->traces = PACK_TRACES_SAMPLE;
    if (number("--traces", text + 7, 1, 65536, &o->n_sample, NULL) == 0)
        return DCR_OK;
    return dcr_err_set(err, DCR_FAIL, "--traces sample:N takes a whole number from 1 to 65536, not '%.60s'", text);
}

/* "A:B", whole numbers, A <= B */
static int check_steps(const char *text, struct dcr_err *err)
{
    char *middle, *end;
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

static int check_capture(const char *text, struct dcr_err *err)
{
    if (strcmp(text, "cudaProfilerApi") == 0 || (strncmp(text, "nvtx:", 5) == 0 && text[5]))
        return DCR_OK;
    return dcr_err_set(err, DCR_FAIL,
                       "--capture-range takes cudaProfilerApi, or nvtx: and the name of a range, not '%.60s'", text);
}

/* "--name=value" or "--name value". returns NULL when argv[*i] is another option */
static const char *value_of(const char *name, char **argv, int argc, int *i, int *is_missing)
{
    size_t n = strlen(name);
    if (strncmp(argv[*i], name, n) != 0)
        return NULL;
    if (argv[*i][n] == '=' && n > 2)
        return argv[*i] + n + 1;
    if (argv[*i][n])
        return NULL;
    if (*i + 1 >= argc || strcmp(argv[*i + 1], "--") == 0) {
        *is_missing = 1;
        return NULL;
    }
    return argv[++*i];
}

/* What of a run is recorded. returns 1 when the option is one of these and was taken */
static int parse_recording(struct options *o, int argc, char **argv, int *i, int *is_missing, struct dcr_err *err)
{
    static const char *const mpi[] = {"auto", "on", "off"}, *const io[] = {"on", "off"},
                             *const keep[] = {"ring", "all", "summary"};
    static const int mpi_values[] = {-1, 1, 0}, io_values[] = {1, 0}, keeps[] = {KEEP_RING, KEEP_ALL, KEEP_SUMMARY};
    const char *v;
    int rc;
    if ((v = value_of("--mpi", argv, argc, i, is_missing)) != NULL)
        rc = one_of("--mpi", v, mpi, mpi_values, 3, &o->mpi, err);
    else if ((v = value_of("--io", argv, argc, i, is_missing)) != NULL)
        rc = one_of("--io", v, io, io_values, 2, &o->io, err);
    else if ((v = value_of("--cuda", argv, argc, i, is_missing)) != NULL)
        rc = one_of("--cuda", v, io, io_values, 2, &o->cuda, err);
    else if ((v = value_of("--python", argv, argc, i, is_missing)) != NULL)
        rc = one_of("--python", v, io, io_values, 2, &o->python, err);
    else if ((v = value_of("--counters", argv, argc, i, is_missing)) != NULL)
        rc = one_of("--counters", v, io, io_values, 2, &o->counters, err);
    else if ((v = value_of("--io-threshold", argv, argc, i, is_missing)) != NULL)
        rc = number("--io-threshold", v, 1, 1000000, &o->io_us, err);
    else if ((v = value_of("--max-mb", argv, argc, i, is_missing)) != NULL)
        rc = number("--max-mb", v, 1, 1000000, &o->max_mb, err);
    else if ((v = value_of("--keep", argv, argc, i, is_missing)) != NULL)
        rc = one_of("--keep", v, keep, keeps, 3, &o->keep, err);
    else if ((v = value_of("--max-disk-mb", argv, argc, i, is_missing)) != NULL)
        rc = number("--max-disk-mb", v, 1, 1000000000, &o->max_disk_mb, err);
    else if ((v = value_of("--sync-seconds", argv, argc, i, is_missing)) != NULL)
        rc = number("--sync-seconds", v, 0, 86400, &o->sync_s, err);
    else if ((v = value_of("--steps", argv, argc, i, is_missing)) != NULL)
        rc = check_steps(o->steps = v, err);
    else if ((v = value_of("--delay", argv, argc, i, is_missing)) != NULL)
        rc = seconds("--delay", v, &o->delay_s, err);
    else if ((v = value_of("--duration", argv, argc, i, is_missing)) != NULL)
        rc = duration(v, &o->duration_s, err);
    else if ((v = value_of("--capture-range", argv, argc, i, is_missing)) != NULL)
        rc = check_capture(o->capture_range = v, err);
    else
        return 0;
    return rc ? rc : 1;
}

static int parse_option(struct options *o, int argc, char **argv, int *i, struct dcr_err *err)
{
    const char *v;
    const char *option = argv[*i];
    int is_missing = 0;
    int for_run = o->command == COMMAND_RUN, for_pack = o->command == COMMAND_PACK;
    int for_export = o->command == COMMAND_EXPORT;
    if ((for_run || for_pack || for_export) && ((v = value_of("-o", argv, argc, i, &is_missing)) != NULL ||
                                                (v = value_of("--output", argv, argc, i, &is_missing)) != NULL)) {
        o->output = v;
        return DCR_OK;
    }
    if ((for_run || for_pack) && (v = value_of("--adopt", argv, argc, i, &is_missing)) != NULL)
        return add(&o->adopt, &o->n_adopt, v, err);
    if ((for_run || for_pack) && (v = value_of("--calibration", argv, argc, i, &is_missing)) != NULL) {
        o->calibration = v;
        return DCR_OK;
    }
    if ((for_run || for_pack) && strcmp(option, "--emulate-nodes") == 0) {
        o->emulate_nodes = 1;
        return DCR_OK;
    }
    if ((for_run || for_pack) && (strcmp(option, "--zstd") == 0 || strncmp(option, "--zstd=", 7) == 0)) {
        o->zstd_level = DCR_ZSTD_LEVEL_DEFAULT;
        return option[6] ? number("--zstd", option + 7, DCR_ZSTD_LEVEL_MIN, DCR_ZSTD_LEVEL_MAX, &o->zstd_level, err)
                         : DCR_OK;
    }
    if ((for_run || for_pack) && (v = value_of("--traces", argv, argc, i, &is_missing)) != NULL)
        return parse_traces(o, v, err);
    if (for_export && (v = value_of("--format", argv, argc, i, &is_missing)) != NULL) {
        static const char *const formats[] = {"chrome", "csv"};
        static const int values[] = {EXPORT_CHROME, EXPORT_CSV};
        int format = EXPORT_BY_NAME;
        int rc = one_of("--format", v, formats, values, 2, &format, err);
        o->format = (enum export_format)format;
        return rc;
    }
    if (o->command == COMMAND_LS && (strcmp(option, "-l") == 0 || strcmp(option, "--long") == 0)) {
        o->is_long = 1;
        return DCR_OK;
    }
    if (for_run && (v = value_of("--spool", argv, argc, i, &is_missing)) != NULL) {
        o->spool = v;
        return DCR_OK;
    }
    if (for_run && (v = value_of("--clock", argv, argc, i, &is_missing)) != NULL) {
        o->clock = v;
        return DCR_OK;
    }
    if (for_run && (v = value_of("--label", argv, argc, i, &is_missing)) != NULL) {
        if (!strchr(v, '=') || *v == '=')
            return dcr_err_set(err, DCR_FAIL, "--label takes KEY=VALUE, not '%.60s'", v);
        for (size_t k = 0; k < o->n_labels; k++)
            if (strncmp(o->labels[k], v, (size_t)(strchr(v, '=') + 1 - v)) == 0)
                return dcr_err_set(err, DCR_FAIL, "--label '%.60s' repeats the key of '%s'; give a key once", v,
                                   o->labels[k]);
        return add(&o->labels, &o->n_labels, v, err);
    }
    if (for_run && (v = value_of("--interval", argv, argc, i, &is_missing)) != NULL)
        return number("--interval", v, 1, 3600000, &o->interval_ms, err);
    int taken = for_run ? parse_recording(o, argc, argv, i, &is_missing, err) : 0;
    if (taken)
        return taken < 0 ? taken : DCR_OK;
    if (for_pack && (v = value_of("--nodes", argv, argc, i, &is_missing)) != NULL)
        return number("--nodes", v, 1, 1000000, &o->n_nodes, err);
    if (is_missing)
        return dcr_err_set(err, DCR_FAIL, "option '%s' needs a value; see `dccollect --help`", option);
    return dcr_err_set(err, DCR_FAIL, "unknown option '%s'; %s", option,
                       !for_run && (access(option, F_OK) == 0 || (option[1] != '-' && strchr(option, '.')))
                           ? "put the name of a file behind `--`"
                           : "see `dccollect --help`");
}

static int parse_command(struct options *o, const char *word, struct dcr_err *err)
{
    static const struct {
        const char *word;
        enum command command;
    } words[] = {
        {"run", COMMAND_RUN}, {"calibrate", COMMAND_CALIBRATE}, {"pack", COMMAND_PACK}, {"verify", COMMAND_VERIFY},
        {"ls", COMMAND_LS},   {"export", COMMAND_EXPORT},       {"help", COMMAND_HELP}, {"--help", COMMAND_HELP},
        {"-h", COMMAND_HELP}, {"--version", COMMAND_VERSION}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i].word) == 0) {
            o->command = words[i].command;
            return DCR_OK;
        }
    return dcr_err_set(err, DCR_FAIL,
                       "unknown command '%s'; the commands are run, calibrate, pack, verify, ls, export and anonymise",
                       word);
}

/* --zstd without an ending that says so gives the name its ending. */
static int name_output(struct options *o, struct dcr_err *err)
{
    if (!o->zstd_level || !o->output || dcr_ends_with(o->output, ".zst"))
        return DCR_OK;
    if (asprintf(&o->zstd_output, "%s.zst", o->output) < 0) {
        o->zstd_output = NULL;
        return dcr_err_set(err, DCR_FATAL, "out of memory");
    }
    o->output = o->zstd_output;
    return DCR_OK;
}

/* A folder called "-x" is said as "./-x", so that the commands we print can be given to a shell. */
static int name_spool(struct options *o, const char *name, struct dcr_err *err)
{
    o->spool = name;
    if (!name || name[0] != '-')
        return DCR_OK;
    if (asprintf(&o->dashed_spool, "./%s", name) < 0) {
        o->dashed_spool = NULL;
        return dcr_err_set(err, DCR_FATAL, "out of memory");
    }
    o->spool = o->dashed_spool;
    return DCR_OK;
}

/* More names than one, or none: an option behind `--` is a name too. */
static int not_one(const struct options *o, const char *usage, struct dcr_err *err)
{
    for (int i = 0; i < o->n_program; i++)
        if (strcmp(o->program[i], "-o") == 0)
            return dcr_err_set(err, DCR_FAIL, "'-o' stands behind `--`, where it is a name; put options before `--`");
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
        return name_spool(o, o->spool, err) ? DCR_FATAL : name_output(o, err);
    case COMMAND_PACK:
        if (o->n_program != 1)
            return not_one(o, "not one folder to pack; name one: `dccollect pack DIR -o RUN.tar`", err);
        if (name_spool(o, o->program[0], err))
            return DCR_FATAL;
        if (!o->output)
            return dcr_err_set(err, DCR_FAIL, "no archive to write; name it: `dccollect pack %s -o RUN.tar`", o->spool);
        return name_output(o, err);
    case COMMAND_EXPORT:
        if (o->n_program != 1)
            return not_one(o, "not one archive to export; name one: `dccollect export RUN.tar -o events.json`", err);
        return DCR_OK;
    case COMMAND_VERIFY:
    case COMMAND_LS:
        if (!o->n_program)
            return dcr_err_set(err, DCR_FAIL, "no archive given; name one or more, as in `dccollect verify RUN.tar`");
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
    /* Words without a dash are the program (run stops at the first: the rest is the program's), or folders and
     * archives, which are moved to the front of what is left. */
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
    free((void *)o->adopt);
    free((void *)o->labels);
    free(o->zstd_output);
    free(o->dashed_spool);
    *o = (struct options){0};
}
