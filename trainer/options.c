/* options.c - see options.h. */
#include "trainer/options.h"

#include "trainer/data/dataset_time.h"
#include "trainer/option_list.h"
#include "trainer/option_value.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
        .accumulate = 1,
        .lr = 0.01,
        .clip = 5,
        .sampling_decay = 2000,
        .n_milestones = 4,
        .milestone = {20, 30, 40, 50},
        .seed = 1,
        .validate_every = 1,
        .n_ahead = 2,
        .is_pinned = -1,
        .windows_chunk = 24,
        .explode_factor = 10,
        .bucket_bytes = 1 << 18,
        .is_overlapped = 1,
        .comm_timeout = 300,
        .out = "dcrnn-out",
        .checkpoint_fsync = 1,
        .threads = 1,
        .use_cuda_graph = 1,
        .progress_steps = 10,
        .scenario.choice.seed = 1,
    };
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
        return option_bad(name, text, "a number of steps (100) or epochs (2epochs)", err);
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
            return option_bad(name, text, "ascending epochs separated by commas, at most 16", err);
        o->milestone[o->n_milestones++] = before = (int)v;
        at = *end ? end + 1 : end;
    }
    return 0;
}

/* Below 2 a bad batch would end the run. */
static int parse_explode(struct options *o, const char *name, const char *text, struct dcr_err *err)
{
    double v = 0;
    if (option_real(name, text, 1, &v, err) || (v > 0 && v < 2))
        return option_bad(name, text, "0 (never) or a number from 2 on", err);
    o->explode_factor = v;
    return 0;
}

/* "2,1,1": as many shares as ranks, which are not known yet. */
static int parse_weights(struct options *o, const char *name, const char *text, struct dcr_err *err)
{
    const char *at = text;
    double sum = 0;
    o->n_rank_weights = 0;
    while (*at) {
        char *end;
        double v = strtod(at, &end);
        if (end == at || !isfinite(v) || v < 0 || v > 1e9 || (*end && (*end != ',' || !end[1])) ||
            o->n_rank_weights == OPTIONS_MAX_WEIGHTS)
            break;
        sum += o->rank_weights[o->n_rank_weights++] = v;
        at = *end ? end + 1 : end;
    }
    if (*at || !(sum > 0))
        return option_bad(name, text, "a share for each rank, separated by commas, not all 0: 2,1,1", err);
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
        rc = option_choice(name, arg, headers, &choice, err);
        o->header = (enum dataset_header)choice;
        return rc;
    case OPT_SENSOR_IDS:
        o->sensor_ids = arg;
        return 0;
    case OPT_DATA_KEY:
        o->data_key = arg;
        return 0;
    case OPT_DATA_FEATURE:
        return option_int(name, arg, 0, 1000000, &o->data_feature, err);
    case OPT_START_TIME:
        o->has_start_time = dataset_parse_time(arg, &o->start_s);
        return o->has_start_time ? 0 : option_bad(name, arg, "a time (YYYY-MM-DD HH:MM)", err);
    case OPT_GRAPH:
        o->graph = arg;
        return 0;
    case OPT_GRAPH_FORMAT:
        rc = option_choice(name, arg, formats, &choice, err);
        o->graph_format = (enum graph_format)choice;
        return rc;
    case OPT_GRAPH_SUBSET:
        o->graph_subset = 1;
        return 0;
    case OPT_SENSORS:
        return option_int(name, arg, 3, 4096, &o->sensors, err); /* two have one distance: no scale for the kernel */
    case OPT_DAYS:
        return option_int(name, arg, 1, 366, &o->days, err);
    case OPT_DATA_SEED:
        return option_seed(name, arg, &o->data_seed, err);
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
        return option_int(name, arg, 1, 4096, &o->units, err);
    case OPT_LAYERS:
        return option_int(name, arg, 1, DCRNN_MAX_LAYERS, &o->layers, err);
    case OPT_HOPS:
        return option_int(name, arg, 1, DCRNN_MAX_K, &o->hops, err);
    case OPT_FILTER:
        rc = graph_filter_parse(arg, &o->filter, err);
        return rc ? dcr_err_while(err, "--%s", name) : 0;
    case OPT_RECURSION:
        rc = dcrnn_recursion_parse(arg, &o->recursion, err);
        return rc ? dcr_err_while(err, "--%s", name) : 0;
    case OPT_INPUT:
        return option_int(name, arg, 1, 4096, &o->input_steps, err);
    default:
        return option_int(name, arg, 1, 4096, &o->forecast_steps, err);
    }
}

static int set_training(struct options *o, int id, const char *name, const char *arg, struct dcr_err *err)
{
    switch (id) {
    case OPT_BATCH:
        return option_int(name, arg, 1, 1 << 20, &o->batch, err);
    case OPT_WEAK:
        o->is_weak = 1;
        return 0;
    case OPT_ACCUMULATE:
        return option_int(name, arg, 1, 1 << 20, &o->accumulate, err);
    case OPT_EPOCHS:
        return option_int(name, arg, 1, 1000000, &o->epochs, err);
    case OPT_STEPS:
        return option_i64(name, arg, 1, INT64_MAX, &o->steps, err);
    case OPT_LR:
        return option_real(name, arg, 0, &o->lr, err);
    case OPT_MILESTONES:
        return parse_milestones(o, name, arg, err);
    case OPT_CLIP:
        return option_real(name, arg, 1, &o->clip, err);
    case OPT_SAMPLING:
        return option_real(name, arg, 1, &o->sampling_decay, err);
    case OPT_SEED:
        return option_seed(name, arg, &o->seed, err);
    case OPT_PATIENCE:
        return option_int(name, arg, 0, 1000000, &o->patience, err);
    case OPT_VALIDATE:
        return option_int(name, arg, 0, 1000000, &o->validate_every, err);
    case OPT_TEST:
        o->test = 1;
        return 0;
    case OPT_EXPLODE:
        return parse_explode(o, name, arg, err);
    default:
        return option_int(name, arg, 0, INT_MAX, &o->validation_windows, err);
    }
}

static int set_device(struct options *o, int id, const char *name, const char *arg, struct dcr_err *err)
{
    static const char *const backends[] = {"cpu", "cuda", NULL};
    static const char *const kernels[] = {"auto", "avx512", "avx2", "portable", NULL};
    static const char *const precisions[] = {"fp32", "tf32", "bf16", NULL}; /* as enum backend_precision */
    static const char *const answers[] = {"no", "yes", NULL};
    int choice = 0, rc = 0;
    switch (id) {
    case OPT_BACKEND:
        return option_choice(name, arg, backends, &o->is_cuda, err);
    case OPT_KERNELS:
        rc = option_choice(name, arg, kernels, &choice, err);
        o->kernels = choice ? kernels[choice] : NULL;
        return rc;
    case OPT_PRECISION:
        rc = option_choice(name, arg, precisions, &choice, err);
        o->precision = (enum backend_precision)choice;
        return rc;
    case OPT_SHARE_GPU:
        o->may_share_gpu = 1;
        return 0;
    default:
        return option_choice(name, arg, answers, &o->use_cuda_graph, err);
    }
}

static int set_loading(struct options *o, int id, const char *name, const char *arg, struct dcr_err *err)
{
    static const char *const formats[] = {
#define X(format, text) text,
        WINDOW_FORMATS(X)
#undef X
            NULL};
    static const char *const answers[] = {"no", "yes", NULL};
    int choice = 0, rc = 0;
    switch (id) {
    case OPT_PINNED:
        return option_choice(name, arg, answers, &o->is_pinned, err);
    case OPT_WORKERS:
        return option_int(name, arg, 0, 1024, &o->loader_workers, err);
    case OPT_PREFETCH:
        return option_int(name, arg, 0, 1024, &o->n_ahead, err);
    case OPT_WINDOWS:
        o->windows = arg;
        return 0;
    case OPT_STAGE:
        o->stage_windows = 1;
        return 0;
    case OPT_WINDOWS_FORMAT:
        rc = option_choice(name, arg, formats, &choice, err);
        o->windows_format = (enum window_format)choice;
        return rc;
    case OPT_WINDOWS_CHUNK:
        return option_int(name, arg, 1, 1000000, &o->windows_chunk, err);
    case OPT_COLD:
        o->cold = 1;
        return 0;
    default:
        o->windows = arg;
        o->task = TASK_WRITE_WINDOWS;
        return 0;
    }
}

static int set_scenario(struct options *o, int id, const char *name, const char *arg, struct dcr_err *err)
{
    static const char *const states[] = {"on", "off", NULL};
    switch (id) {
    case OPT_SCENARIO:
        o->scenario.name = arg;
        return 0;
    case OPT_SCENARIO_SEED:
        return option_seed(name, arg, &o->scenario.choice.seed, err);
    case OPT_KNOB:
        return option_choice(name, arg, states, &o->scenario.choice.is_off, err);
    default:
        o->task = TASK_SHOW_SCENARIO;
        return 0;
    }
}

static int set_ranks(struct options *o, int id, const char *name, const char *arg, struct dcr_err *err)
{
    static const char *const dtypes[] = {
#define X(id, text, bytes, what) text,
        ALLREDUCE_DTYPES(X)
#undef X
            NULL};
    int64_t n = 0;
    int choice = 0, rc = 0;
    switch (id) {
    case OPT_RANK_WEIGHTS:
        return parse_weights(o, name, arg, err);
    case OPT_BUCKET:
        rc = option_i64(name, arg, 4, (int64_t)1 << 40, &n, err);
        o->bucket_bytes = rc ? o->bucket_bytes : (size_t)n;
        return rc;
    case OPT_NO_OVERLAP:
        o->is_overlapped = 0;
        return 0;
    case OPT_DTYPE:
        rc = option_choice(name, arg, dtypes, &choice, err);
        o->allreduce_dtype = (enum allreduce_dtype)choice;
        return rc;
    default:
        return option_real(name, arg, 1, &o->comm_timeout, err);
    }
}

static int set_run(struct options *o, int id, const char *name, const char *arg, struct dcr_err *err)
{
    static const char *const no_yes[] = {"no", "yes", NULL};
    switch (id) {
    case OPT_OUT:
        o->out = arg;
        return *arg ? 0 : option_bad(name, arg, "the name of a folder", err);
    case OPT_CHECKPOINT:
        return parse_checkpoint(o, name, arg, err);
    case OPT_FSYNC:
        return option_choice(name, arg, no_yes, &o->checkpoint_fsync, err);
    case OPT_RESUME:
        o->resume = arg;
        return 0;
    case OPT_THREADS:
        return option_int(name, arg, 1, 1024, &o->threads, err);
    case OPT_BACKEND:
    case OPT_KERNELS:
    case OPT_PRECISION:
    case OPT_CUDA_GRAPH:
    case OPT_SHARE_GPU:
        return set_device(o, id, name, arg, err);
    case OPT_PROGRESS:
        return option_int(name, arg, 1, 1000000, &o->progress_steps, err);
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
    case OPT_CHECK:
        o->is_check = 1;
        return 0;
    case OPT_CHECK_DATA:
        o->is_check = o->is_data_check = 1;
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
    if (!o->data && (o->graph || o->sensor_ids || o->data_key || o->has_start_time))
        return dcr_err_set(err, DCR_FAIL, "--%s needs --data: generated data bring their own",
                           o->graph        ? "graph"
                           : o->sensor_ids ? "sensor-ids"
                           : o->data_key   ? "data-key"
                                           : "start-time");
    if (o->data && o->task == TASK_WRITE_DATA)
        return dcr_err_set(err, DCR_FAIL, "--write-data writes generated data; leave --data out");
    if (o->kernels && o->is_cuda)
        return dcr_err_set(err, DCR_FAIL, "--kernels are the CPU's; leave it out with --backend cuda");
    if (o->precision != BACKEND_FP32 && !o->is_cuda)
        return dcr_err_set(err, DCR_FAIL, "--precision tf32 and bf16 need --backend cuda; the CPU computes in fp32");
    if (o->may_share_gpu && !o->is_cuda)
        return dcr_err_set(err, DCR_FAIL, "--share-gpu needs --backend cuda");
    if (o->is_pinned > 0 && !o->is_cuda)
        return dcr_err_set(err, DCR_FAIL, "--pinned yes needs --backend cuda: nothing is copied to the CPU");
    if (o->windows && o->stage_windows)
        return dcr_err_set(err, DCR_FAIL, "--stage-windows writes a file of its own; leave out --%s",
                           o->task == TASK_WRITE_WINDOWS ? "stage-windows" : "windows");
    if (!o->scenario.name && (o->scenario.choice.is_off || o->task == TASK_SHOW_SCENARIO))
        return dcr_err_set(err, DCR_FAIL, "--%s needs --scenario",
                           o->scenario.choice.is_off ? "knob off" : "show-scenario");
    if (o->cold && !o->windows && !o->stage_windows)
        return dcr_err_set(err, DCR_FAIL, "--cold needs --windows or --stage-windows: memory is never cold");
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

/* Which words a pass over the command line looks at: a scenario has to be known before what it says can be used. */
enum pass { PASS_SCENARIO, PASS_ALL };

static int parse_words(struct options *o, enum pass pass, int argc, char **argv, struct dcr_err *err)
{
    struct option known[N_TABLE + 1] = {0};
    size_t n = 0;
    for (size_t i = 0; i < N_TABLE; i++)
        if (table[i].name)
            known[n++] =
                (struct option){table[i].name, table[i].argument ? required_argument : no_argument, NULL, table[i].id};
    optind = 0; /* so that a second pass starts anew */
    for (int id, index = 0; (id = getopt_long(argc, argv, ":", known, &index)) != -1;) {
        if (pass == PASS_SCENARIO && (id == OPT_HELP || id == OPT_VERSION))
            return 0;
        if (id == '?' || id == ':') {
            if (pass == PASS_SCENARIO)
                return 0; /* the other pass complains */
            return complain(id, argv, known, err);
        }
        const char *name = known[index].name;
        int is_scenario = id == OPT_SCENARIO || id == OPT_SCENARIO_SEED || id == OPT_KNOB || id == OPT_SHOW_SCENARIO;
        if (pass == PASS_SCENARIO && !is_scenario)
            continue;
        int rc = is_scenario             ? set_scenario(o, id, name, optarg, err)
                 : id < SECTION_MODEL    ? set_data(o, id, name, optarg, err)
                 : id < SECTION_TRAINING ? set_model(o, id, name, optarg, err)
                 : id < SECTION_LOADING  ? set_training(o, id, name, optarg, err)
                 : id < SECTION_RANKS    ? set_loading(o, id, name, optarg, err)
                 : id < SECTION_RUN      ? set_ranks(o, id, name, optarg, err)
                                         : set_run(o, id, name, optarg, err);
        if (rc)
            return rc;
        if (o->task == TASK_HELP || o->task == TASK_VERSION)
            return 0;
    }
    if (optind < argc)
        return dcr_err_set(err, DCR_FAIL, "unexpected argument '%.60s'; see --help", argv[optind]);
    return 0;
}

/* The scenario's options, as if they stood in front of those of the command line. */
static int parse_scenario(struct options *o, struct dcr_err *err)
{
    struct options_scenario *s = &o->scenario;
    char *words[SCENARIO_MAX_WORDS + 2] = {(char *)(uintptr_t) "scenario"}; /* getopt permutes words, not letters */
    int n_words = 0;
    s->choice.n_ranks = scenario_launched_ranks();
    int rc = scenario_read(&s->file, s->name, err);
    if (!rc)
        rc = scenario_words(&s->file, &s->choice, s->text, sizeof s->text, words + 1, &n_words, err);
    if (!rc) {
        const char *name = s->name;
        const struct scenario_choice before = s->choice;
        enum options_task task = o->task;
        rc = parse_words(o, PASS_ALL, n_words + 1, words, err);
        if (rc)
            return dcr_err_while(err, "scenario '%s'", s->file.path);
        if (o->task != task || s->name != name || s->choice.seed != before.seed || s->choice.is_off != before.is_off)
            rc = dcr_err_set(err, DCR_FAIL, "scenario '%s' may hold options of a training run only", s->file.path);
    }
    return rc;
}

/* --check-options and --check-data are asked for a training. */
static int check_trains(const struct options *o, struct dcr_err *err)
{
    static const char *const tasks[] = {[TASK_HELP] = "help",
                                        [TASK_VERSION] = "version",
                                        [TASK_VERIFY] = "verify",
                                        [TASK_BASELINE] = "baseline",
                                        [TASK_WRITE_DATA] = "write-data",
                                        [TASK_WRITE_WINDOWS] = "write-windows",
                                        [TASK_SHOW_SCENARIO] = "show-scenario"};
    if (o->is_check && o->task != TASK_TRAIN)
        return dcr_err_set(err, DCR_FAIL, "--%s trains nothing; leave it out", tasks[o->task]);
    return 0;
}

int options_parse(struct options *o, int argc, char **argv, struct dcr_err *err)
{
    *o = defaults();
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
