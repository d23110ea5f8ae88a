/* options.c - see options.h. */
#include "trainer/options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* X(enumerator, name, argument or NULL, help); a NULL name starts a section. One table for parser and help. */
#define OPTIONS(X)                                                                                                  \
    X(SECTION_DATA, NULL, NULL, "Data")                                                                             \
    X(OPT_DATA, "data", "FILE", "speeds, one row per 5 minutes, one column per sensor (else generated)")            \
    X(OPT_HEADER, "header", "WHEN", "is the first line a header: auto, yes, no (auto)")                             \
    X(OPT_SENSOR_IDS, "sensor-ids", "FILE", "names of the columns, for data without a header")                      \
    X(OPT_GRAPH, "graph", "FILE", "the sensors' road graph; needed with --data")                                    \
    X(OPT_GRAPH_FORMAT, "graph-format", "F", "auto, distances, weights, distance-matrix, weight-matrix (auto)")     \
    X(OPT_GRAPH_SUBSET, "graph-subset", NULL, "pass over sensors of the graph that the data lack")                  \
    X(OPT_SENSORS, "sensors", "N", "generated data: sensors (48)")                                                  \
    X(OPT_DAYS, "days", "N", "generated data: days (14)")                                                           \
    X(OPT_DATA_SEED, "data-seed", "N", "generated data: seed (1)")                                                  \
    X(OPT_WRITE_DATA, "write-data", "DIR", "write the generated speeds.csv and distances.csv, then end")            \
    X(SECTION_MODEL, NULL, NULL, "Model")                                                                           \
    X(OPT_UNITS, "units", "N", "hidden units per sensor and layer (32)")                                            \
    X(OPT_LAYERS, "layers", "N", "recurrent layers of encoder and decoder (2)")                                     \
    X(OPT_HOPS, "hops", "K", "diffusion steps per support (2)")                                                     \
    X(OPT_FILTER, "filter", "F", "dual_random_walk, random_walk, laplacian (dual_random_walk)")                     \
    X(OPT_RECURSION, "recursion", "R", "start of the second support: published, reset (published)")                 \
    X(OPT_INPUT, "input-steps", "N", "rows the model sees (12)")                                                    \
    X(OPT_FORECAST, "forecast-steps", "N", "rows it forecasts (12)")                                                \
    X(SECTION_TRAINING, NULL, NULL, "Training")                                                                     \
    X(OPT_BATCH, "batch", "N", "windows per step, all ranks together (64)")                                         \
    X(OPT_WEAK, "weak", NULL, "--batch is per rank: work grows with the ranks")                                     \
    X(OPT_EPOCHS, "epochs", "N", "end after N epochs (3)")                                                          \
    X(OPT_STEPS, "steps", "N", "end after N steps, if that comes first")                                            \
    X(OPT_LR, "lr", "X", "learning rate of Adam (0.01)")                                                            \
    X(OPT_MILESTONES, "lr-milestones", "LIST", "epochs after which the rate is cut to a tenth (20,30,40,50)")       \
    X(OPT_CLIP, "clip", "X", "largest gradient norm, 0 = no limit (5)")                                             \
    X(OPT_SAMPLING, "sampling-decay", "X", "scheduled sampling's tau in steps, 0 = always own predictions (2000)")  \
    X(OPT_SEED, "seed", "N", "of weights, order and coins (1)")                                                     \
    X(OPT_PATIENCE, "patience", "N", "end after N epochs without a better validation (off)")                        \
    X(OPT_VALIDATE, "validate-every", "N", "epochs between validations, 0 = at the end only (1)")                   \
    X(OPT_VALIDATION_WINDOWS, "validation-windows", "N", "validate on N windows spread over the split (all)")       \
    X(SECTION_RUN, NULL, NULL, "Run")                                                                               \
    X(OPT_OUT, "out", "DIR", "folder for metrics.csv, steps-rank<r>.csv, program.json, checkpoint.bin (dcrnn-out)") \
    X(OPT_CHECKPOINT, "checkpoint-every", "N", "steps between checkpoints; `2epochs` counts epochs (never)")        \
    X(OPT_RESUME, "resume", "FILE", "continue from a checkpoint")                                                   \
    X(OPT_THREADS, "threads", "N", "threads of each rank (1)")                                                      \
    X(OPT_PROGRESS, "progress", "N", "steps between progress lines on a terminal (10)")                             \
    X(OPT_BASELINE, "baseline", NULL, "score the last valid reading on validation and test split, then end")        \
    X(OPT_VERIFY, "verify", "DIR", "compare the model with a folder of reference vectors; exit status 0 or 1")      \
    X(OPT_GRADIENT, "gradient-to", "FILE", "write the first step's global gradient as text, then end")              \
    X(OPT_HELP, "help", NULL, "show this text")                                                                     \
    X(OPT_VERSION, "version", NULL, "show the version")

enum option_id {
    OPT_BASE = 255,
#define X(id, name, argument, help) id,
    OPTIONS(X)
#undef X
};

static const struct {
    int id;
    const char *name, *argument, *help;
} table[] = {
#define X(id, name, argument, help) {id, name, argument, help},
    OPTIONS(X)
#undef X
};
#define N_TABLE (sizeof table / sizeof *table)

void options_help(FILE *out)
{
    fputs("Usage: [mpirun -n RANKS] dcrnn-train [OPTION...]\n"
          "Train a diffusion convolutional recurrent network on traffic speeds, data-parallel over MPI ranks.\n",
          out);
    for (size_t i = 0; i < N_TABLE; i++) {
        if (!table[i].name) {
            fprintf(out, "\n%s:\n", table[i].help);
            continue;
        }
        char left[64];
        snprintf(left, sizeof left, "--%s%s%s", table[i].name, table[i].argument ? " " : "",
                 table[i].argument ? table[i].argument : "");
        fprintf(out, "  %-24s %s\n", left, table[i].help);
    }
    fputs(
        "\nExit status: 0 done; 1 --verify failed or the training diverged; 2 bad input or usage; 143, 130 stopped by\n"
        "SIGTERM, SIGINT after a whole step.\n",
        out);
}

static struct options defaults(void)
{
    return (struct options){
        .sensors = 48,
        .days = 14,
        .data_seed = 1,
        .units = 32,
        .layers = 2,
        .hops = 2,
        .input_steps = 12,
        .forecast_steps = 12,
        .filter = GRAPH_DUAL_RANDOM_WALK,
        .recursion = DCRNN_PUBLISHED,
        .batch = 64,
        .epochs = 3,
        .lr = 0.01,
        .clip = 5,
        .sampling_decay = 2000,
        .n_milestones = 4,
        .milestone = {20, 30, 40, 50},
        .seed = 1,
        .validate_every = 1,
        .out = "dcrnn-out",
        .threads = 1,
        .progress_steps = 10,
    };
}

static int bad(const char *name, const char *text, const char *wanted, struct dcr_err *err)
{
    return dcr_err_set(err, DCR_FAIL, "--%s takes %s, not '%.60s'", name, wanted, text);
}

static int parse_i64(const char *name, const char *text, int64_t low, int64_t high, int64_t *out, struct dcr_err *err)
{
    char *end, wanted[80];
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (end != text && !*end && !errno && v >= low && v <= high) {
        *out = v;
        return 0;
    }
    snprintf(wanted, sizeof wanted, "a whole number from %lld to %lld", (long long)low, (long long)high);
    return bad(name, text, wanted, err);
}

static int parse_int(const char *name, const char *text, int low, int high, int *out, struct dcr_err *err)
{
    int64_t v = 0;
    int rc = parse_i64(name, text, low, high, &v, err);
    if (!rc)
        *out = (int)v;
    return rc;
}

static int parse_seed(const char *name, const char *text, uint64_t *out, struct dcr_err *err)
{
    int64_t v = 0;
    int rc = parse_i64(name, text, 0, INT64_MAX, &v, err);
    if (!rc)
        *out = (uint64_t)v;
    return rc;
}

static int parse_real(const char *name, const char *text, int may_be_zero, double *out, struct dcr_err *err)
{
    char *end;
    double v = strtod(text, &end);
    if (end == text || *end || !isfinite(v) || v < 0 || (v == 0 && !may_be_zero))
        return bad(name, text, may_be_zero ? "a number, 0 or more" : "a number above 0", err);
    *out = v;
    return 0;
}

static int parse_choice(const char *name, const char *text, const char *const *names, int *out, struct dcr_err *err)
{
    char wanted[160] = "one of";
    for (int i = 0; names[i]; i++) {
        if (!strcmp(text, names[i])) {
            *out = i;
            return 0;
        }
        size_t n = strlen(wanted);
        snprintf(wanted + n, sizeof wanted - n, "%s %s", i ? "," : "", names[i]);
    }
    return bad(name, text, wanted, err);
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

static int parse_milestones(struct options *o, const char *name, const char *text, struct dcr_err *err)
{
    const int max = (int)(sizeof o->milestone / sizeof *o->milestone);
    const char *at = text;
    o->n_milestones = 0;
    for (int before = 0; *at;) {
        char *end;
        long v = strtol(at, &end, 10);
        if (end == at || v <= before || v > INT_MAX || (*end && *end != ',') || o->n_milestones == max)
            return bad(name, text, "ascending epochs separated by commas, at most 16", err);
        o->milestone[o->n_milestones++] = before = (int)v;
        at = *end ? end + 1 : end;
    }
    return 0;
}

static int set_data(struct options *o, int id, const char *name, const char *arg, struct dcr_err *err)
{
    static const char *const headers[] = {"auto", "yes", "no", NULL};
    static const char *const formats[] = {
#define X(format, text) text,
        GRAPH_FORMATS(X)
#undef X
            NULL};
    int choice = 0, rc = 0;
    switch (id) {
    case OPT_DATA:
        o->data = arg;
        return 0;
    case OPT_HEADER:
        rc = parse_choice(name, arg, headers, &choice, err);
        o->header = (enum dataset_header)choice;
        return rc;
    case OPT_SENSOR_IDS:
        o->sensor_ids = arg;
        return 0;
    case OPT_GRAPH:
        o->graph = arg;
        return 0;
    case OPT_GRAPH_FORMAT:
        rc = parse_choice(name, arg, formats, &choice, err);
        o->graph_format = (enum graph_format)choice;
        return rc;
    case OPT_GRAPH_SUBSET:
        o->graph_subset = 1;
        return 0;
    case OPT_SENSORS:
        return parse_int(name, arg, 3, 4096, &o->sensors, err); /* two have one distance: no scale for the kernel */
    case OPT_DAYS:
        return parse_int(name, arg, 1, 366, &o->days, err);
    case OPT_DATA_SEED:
        return parse_seed(name, arg, &o->data_seed, err);
    default:
        o->write_data_dir = arg;
        o->task = TASK_WRITE_DATA;
        return 0;
    }
}

static int set_model(struct options *o, int id, const char *name, const char *arg, struct dcr_err *err)
{
    int rc;
    switch (id) {
    case OPT_UNITS:
        return parse_int(name, arg, 1, 4096, &o->units, err);
    case OPT_LAYERS:
        return parse_int(name, arg, 1, DCRNN_MAX_LAYERS, &o->layers, err);
    case OPT_HOPS:
        return parse_int(name, arg, 1, DCRNN_MAX_K, &o->hops, err);
    case OPT_FILTER:
        rc = graph_filter_parse(arg, &o->filter, err);
        return rc ? dcr_err_while(err, "--%s", name) : 0;
    case OPT_RECURSION:
        rc = dcrnn_recursion_parse(arg, &o->recursion, err);
        return rc ? dcr_err_while(err, "--%s", name) : 0;
    case OPT_INPUT:
        return parse_int(name, arg, 1, 4096, &o->input_steps, err);
    default:
        return parse_int(name, arg, 1, 4096, &o->forecast_steps, err);
    }
}

static int set_training(struct options *o, int id, const char *name, const char *arg, struct dcr_err *err)
{
    switch (id) {
    case OPT_BATCH:
        return parse_int(name, arg, 1, 1 << 20, &o->batch, err);
    case OPT_WEAK:
        o->is_weak = 1;
        return 0;
    case OPT_EPOCHS:
        return parse_int(name, arg, 1, 1000000, &o->epochs, err);
    case OPT_STEPS:
        return parse_i64(name, arg, 1, INT64_MAX, &o->steps, err);
    case OPT_LR:
        return parse_real(name, arg, 0, &o->lr, err);
    case OPT_MILESTONES:
        return parse_milestones(o, name, arg, err);
    case OPT_CLIP:
        return parse_real(name, arg, 1, &o->clip, err);
    case OPT_SAMPLING:
        return parse_real(name, arg, 1, &o->sampling_decay, err);
    case OPT_SEED:
        return parse_seed(name, arg, &o->seed, err);
    case OPT_PATIENCE:
        return parse_int(name, arg, 0, 1000000, &o->patience, err);
    case OPT_VALIDATE:
        return parse_int(name, arg, 0, 1000000, &o->validate_every, err);
    default:
        return parse_int(name, arg, 0, INT_MAX, &o->validation_windows, err);
    }
}

static int set_run(struct options *o, int id, const char *name, const char *arg, struct dcr_err *err)
{
    switch (id) {
    case OPT_OUT:
        o->out = arg;
        return *arg ? 0 : bad(name, arg, "the name of a folder", err);
    case OPT_CHECKPOINT:
        return parse_checkpoint(o, name, arg, err);
    case OPT_RESUME:
        o->resume = arg;
        return 0;
    case OPT_THREADS:
        return parse_int(name, arg, 1, 1024, &o->threads, err);
    case OPT_PROGRESS:
        return parse_int(name, arg, 1, 1000000, &o->progress_steps, err);
    case OPT_BASELINE:
        o->task = TASK_BASELINE;
        return 0;
    case OPT_VERIFY:
        o->task = TASK_VERIFY;
        o->verify_dir = arg;
        return 0;
    case OPT_GRADIENT:
        o->gradient_to = arg;
        return 0;
    case OPT_HELP:
        o->task = TASK_HELP;
        return 0;
    default:
        o->task = TASK_VERSION;
        return 0;
    }
}

/* What only the whole command line can be blamed for. */
static int check(const struct options *o, struct dcr_err *err)
{
    if (o->data && !o->graph)
        return dcr_err_set(err, DCR_FAIL,
                           "--data needs --graph: a distance list, an edge list or a matrix of its sensors");
    if (!o->data && (o->graph || o->sensor_ids))
        return dcr_err_set(err, DCR_FAIL, "--%s needs --data: generated data bring their own",
                           o->graph ? "graph" : "sensor-ids");
    if (o->data && o->task == TASK_WRITE_DATA)
        return dcr_err_set(err, DCR_FAIL, "--write-data writes generated data; leave --data out");
    if (o->sensor_ids && o->header == DATASET_HEADER_YES)
        return dcr_err_set(err, DCR_FAIL, "--sensor-ids is for data without a header; leave --header yes out");
    return 0;
}

/* getopt's verdict as a sentence; the option itself is the last word it looked at. */
static int complain(int verdict, char *const *argv, const struct option *known, struct dcr_err *err)
{
    const char *word = argv[optind - 1];
    if (verdict == ':')
        return dcr_err_set(err, DCR_FAIL, "%s needs a value; see --help", word);
    if (!strncmp(word, "--", 2))
        for (const struct option *k = known; k->name; k++) {
            size_t n = strlen(k->name);
            if (!strncmp(word + 2, k->name, n) && word[2 + n] == '=')
                return dcr_err_set(err, DCR_FAIL, "--%s takes no value; see --help", k->name);
        }
    return dcr_err_set(err, DCR_FAIL, "unknown option '%.60s'; see --help", word);
}

int options_parse(struct options *o, int argc, char **argv, struct dcr_err *err)
{
    struct option known[N_TABLE + 1] = {0};
    size_t n = 0;
    for (size_t i = 0; i < N_TABLE; i++)
        if (table[i].name)
            known[n++] =
                (struct option){table[i].name, table[i].argument ? required_argument : no_argument, NULL, table[i].id};
    *o = defaults();
    optind = 0; /* so that a second call starts anew */
    for (int id, index = 0; (id = getopt_long(argc, argv, ":", known, &index)) != -1;) {
        if (id == '?' || id == ':')
            return complain(id, argv, known, err);
        const char *name = known[index].name;
        int rc = id < SECTION_MODEL      ? set_data(o, id, name, optarg, err)
                 : id < SECTION_TRAINING ? set_model(o, id, name, optarg, err)
                 : id < SECTION_RUN      ? set_training(o, id, name, optarg, err)
                                         : set_run(o, id, name, optarg, err);
        if (rc)
            return rc;
        if (o->task == TASK_HELP || o->task == TASK_VERSION)
            return 0;
    }
    if (optind < argc)
        return dcr_err_set(err, DCR_FAIL, "unexpected argument '%.60s'; see --help", argv[optind]);
    return check(o, err);
}
