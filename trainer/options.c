/* options.c - see options.h. The rows are options.def, what one of them does is option_table.c. */
#include "trainer/options.h"

#include "lib/base/buf.h"
#include "lib/base/text.h"
#include "trainer/option_table.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

/* ---- --help and program.json ---------------------------------------------------------------------- */

/* " (48)"; a flag is off, and what is not set has its words in the row. */
static void print_row(FILE *out, const struct option_row *row)
{
    char left[64];
    snprintf(left, sizeof left, "--%s%s%s", row->name, row->argument ? " " : "", row->argument ? row->argument : "");
    fprintf(out, "  %-24s %s", left, row->help);
    for (int i = 0; row->words && !strchr(row->argument, '|') && row->words[i]; i++)
        fprintf(out, "%s %s", i ? "," : ":", row->words[i]);
    fprintf(out, row->preset ? " (%s)\n" : "\n", row->preset);
}

void options_help(FILE *out)
{
    fputs("Usage: [mpirun -n RANKS] dcrnn-train [OPTION...]\n"
          "Train a diffusion convolutional recurrent network on traffic speeds, data-parallel over MPI ranks.\n",
          out);
    for (const struct option_row *row = option_rows; row < option_rows + OPTIONS_N; row++)
        if (row->kind == OPTION_SECTION)
            fprintf(out, "\n%s:\n", row->help);
        else
            print_row(out, row);
    fputs(
        "\nExit status: 0 done; 1 --verify failed or the training diverged; 2 bad input or usage; 143, 130 stopped by\n"
        "SIGTERM, SIGINT after a whole step.\n",
        out);
}

void options_json(const struct options *o, struct dcr_buf *out)
{
    const char *comma = "";
    dcr_buf_puts(out, "{");
    for (const struct option_row *row = option_rows; row < option_rows + OPTIONS_N; row++) {
        if (row->kind == OPTION_SECTION || row->kind == OPTION_INSTEAD)
            continue;
        dcr_buf_printf(out, "%s\n    \"%s\": ", comma, row->name);
        option_value(o, row, out);
        comma = ",";
    }
    dcr_buf_puts(out, "\n  }");
}

/* ---- the command line ------------------------------------------------------------------------------ */

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
    if (o->pinned == PINNED_YES && !o->is_cuda)
        return dcr_err_set(err, DCR_FAIL, "--pinned yes needs --backend cuda: nothing is copied to the CPU");
    if (!o->scenario.name && (o->scenario.choice.is_off || o->task == TASK_SHOW_SCENARIO))
        return dcr_err_set(err, DCR_FAIL, "--%s needs --scenario",
                           o->scenario.choice.is_off ? "knob off" : "show-scenario");
    if (o->cold && !o->stage_windows)
        return dcr_err_set(err, DCR_FAIL, "--cold needs --stage-windows: memory is never cold");
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
    struct option known[OPTIONS_N + 1] = {0};
    const int first = 256; /* behind all letters */
    size_t n = 0;
    for (int i = 0; i < OPTIONS_N; i++)
        if (option_rows[i].name)
            known[n++] = (struct option){option_rows[i].name, option_rows[i].argument ? required_argument : no_argument,
                                         NULL, first + i};
    optind = 0; /* so that a second pass starts anew */
    for (int id; (id = getopt_long(argc, argv, ":", known, NULL)) != -1;) {
        if (id == '?' || id == ':')
            return pass == PASS_SCENARIO ? 0 : complain(id, argv, known, err); /* the other pass complains */
        const struct option_row *row = &option_rows[id - first];
        int is_last = row->task == TASK_HELP || row->task == TASK_VERSION;
        if (pass == PASS_SCENARIO && is_last)
            return 0;
        if (pass == PASS_SCENARIO && !option_is_scenario(row))
            continue;
        int rc = option_set(o, row, optarg, err);
        if (rc || is_last)
            return rc;
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
    int rc = scenario_named(s->name, &s->choice.scenario, err);
    if (!rc)
        rc = scenario_words(&s->choice, s->text, words + 1, &n_words, err);
    return rc ? rc : parse_words(o, PASS_ALL, n_words + 1, words, err);
}

/* --check-options and --check-data are asked for a training. */
static int check_trains(struct options *o, struct dcr_err *err)
{
    o->is_check |= o->is_data_check;
    for (const struct option_row *row = option_rows; o->is_check && row < option_rows + OPTIONS_N; row++)
        if (row->kind == OPTION_INSTEAD && row->task == o->task)
            return dcr_err_set(err, DCR_FAIL, "--%s trains nothing; leave it out", row->name);
    return 0;
}

int options_parse(struct options *o, int argc, char **argv, struct dcr_err *err)
{
    option_presets(o);
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
