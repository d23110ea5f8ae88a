/* options.c - see options.h. What a single option means is options_set.c. */
#include "trainer/options.h"

#include "trainer/options_set.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

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

/* getopt's verdict as a sentence; the option itself is the last word it looked at. It has not left a word of which
 * only the first letter was wrong, as "-batch". */
static int complain(int verdict, char *const *argv, const struct option *known, struct dcr_err *err)
{
    const char *word = argv[optind - 1], *next = argv[optind];
    if (verdict == '?' && next && next[0] == '-' && next[1] && next[1] == optopt && next[2])
        word = next;
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
        if (pass == PASS_SCENARIO && !options_is_scenario(id))
            continue;
        int rc = options_set(o, id, name, optarg, err);
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
