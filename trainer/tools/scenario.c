/* scenario.c - see scenario.h: the table of scenarios, and the options of one run. */
#include "trainer/tools/scenario.h"

#include "trainer/model/rng.h"

#include <stdlib.h>
#include <string.h>

/* The numbers of ranks for which an answer is known. */
enum { RANKS_1, RANKS_2, RANKS_4, N_RANKS };
static const int n_ranks_of[N_RANKS] = {1, 2, 4};

struct range {
    int low, high; /* both included */
};

struct scenario {
    const char *name, *why;
    int needs_gpu;
    /* drawn by the seed; batches are multiples of four, so that 2 and 4 ranks have equal shares */
    struct range sensors, batch, units;
    const char *common, *on, *off; /* options of both runs, and with the knob on and off */
    int first_weight; /* with the knob on, rank 0 has this many times the windows of any other; 0: equal numbers */
    const char *answer[N_RANKS]; /* the class of report.json, `shared` may come first; NULL: no answer is expected */
    /* step time that the knob saves, percent of the step with the knob on; high 0: no claim */
    struct range gain[N_RANKS];
};

static const struct scenario scenarios[] = {
    {.name = "communication",
     .why = "Many units at a handful of sensors: the gradient is large for the few operations that make it, and it "
            "travels in hundreds of small messages.",
     .sensors = {3, 5},
     .batch = {4, 4},
     .units = {260, 320},
     .common = "--days 1 --layers 1 --hops 1 --filter random_walk --input-steps 1 --forecast-steps 1",
     .on = "--bucket-bytes 4096",
     .off = "--allreduce-dtype none",
     .answer = {NULL, "communication", "shared communication"},
     .gain = {{-15, 15}, {15, 90}}},
    {.name = "compute",
     .why = "Data are in memory and few bytes travel; the products are computed by the plain kernels instead of the "
            "best that this processor can run.",
     .sensors = {40, 60},
     .batch = {8, 16},
     .units = {16, 24},
     .common = "--days 2 --layers 1",
     .on = "--kernels portable",
     .off = "",
     .answer = {"compute", "compute", "shared compute"},
     .gain = {{20, 95}, {20, 95}}},
    {.name = "data",
     .why = "Every window of two hours is cut out of a day of deflated text, by the training loop itself: it waits for "
            "its own decoding.",
     .sensors = {80, 120},
     .batch = {12, 20},
     .units = {16, 16},
     .common = "--days 2 --layers 1 --hops 1 --filter random_walk",
     .on = "--stage-windows --windows-format text --windows-chunk 288",
     .off = "",
     .answer = {"data", "data", "shared data"},
     .gain = {{30, 90}, {30, 90}}},
    {.name = "healthy",
     .why = "A worker reads ahead what the step computes on, checkpoints are rare, and few bytes travel: nothing is "
            "left to gain but faster computing.",
     .sensors = {40, 60},
     .batch = {8, 16},
     .units = {16, 24},
     .common = "--days 2 --layers 1",
     .on = "--stage-windows --loader-workers 1 --prefetch 4 --checkpoint-every 50",
     .off = "",
     .answer = {"compute", "compute", "shared compute"},
     .gain = {{-10, 10}, {-15, 15}}},
    {.name = "host",
     .why = "A small model on a GPU: every step is hundreds of tiny kernels that the host launches one by one, where "
            "one graph would do.",
     .needs_gpu = 1,
     .sensors = {16, 32},
     .batch = {4, 8},
     .units = {16, 32},
     .common = "--backend cuda --share-gpu --days 2",
     .on = "--cuda-graph no",
     .off = "--cuda-graph yes",
     .answer = {"host"},
     .gain = {{20, 95}}},
    {.name = "imbalance",
     .why =
         "The first rank computes three times as many windows as any other, and the others wait for it in every step.",
     .sensors = {40, 60},
     .batch = {16, 24},
     .units = {16, 24},
     .common = "--days 2 --layers 1",
     .on = "",
     .off = "",
     .first_weight = 3,
     .answer = {"compute", "imbalance", "shared imbalance"},
     .gain = {{-15, 15}, {20, 60}}},
    {.name = "io",
     .why = "Every window is read from the disk past the page cache when it is needed, and after every step the loop "
            "waits until a checkpoint is on the disk.",
     .sensors = {6, 10},
     .batch = {56, 72},
     .units = {56, 72},
     .common = "--days 4 --layers 1 --hops 1 --filter random_walk --input-steps 3 --forecast-steps 3",
     .on = "--stage-windows --windows-chunk 288 --cold --checkpoint-every 1",
     .off = "",
     .answer = {"io", "io", "shared io"},
     .gain = {{20, 90}}},
    {.name = "memory",
     .why = "A step of many tiny parts reads all weights and adds to all gradients once per part; at a handful of "
            "sensors hardly anything is computed with them.",
     .sensors = {3, 5},
     .batch = {12, 12},
     .units = {448, 576},
     .common = "--days 1 --weak --allreduce-dtype bf16 --layers 1 --hops 1 --filter random_walk --input-steps 1 "
               "--forecast-steps 1",
     .on = "--accumulate 12",
     .off = "",
     .answer = {"memory", "memory", "shared memory"},
     .gain = {{40, 90}, {40, 90}}},
};
enum { N_SCENARIOS = sizeof scenarios / sizeof *scenarios };

int scenario_named(const char *name, const struct scenario **out, struct dcr_err *err)
{
    char known[200] = "";
    size_t len = 0;
    for (int i = 0; i < N_SCENARIOS; i++) {
        if (strcmp(name, scenarios[i].name) == 0) {
            *out = &scenarios[i];
            return 0;
        }
        len += (size_t)snprintf(known + len, sizeof known - len, "%s%s", i ? ", " : "", scenarios[i].name);
    }
    return dcr_err_set(err, DCR_FAIL, "unknown scenario '%.60s'; use one of %s", name, known);
}

/* Each size that is not fixed uses the next number of the seed. */
static int draw(uint64_t seed, struct range r, int by, uint64_t *index)
{
    return r.low == r.high
               ? r.low
               : r.low + by * (int)rng_below(seed, RNG_SCENARIO, (*index)++, (uint64_t)((r.high - r.low) / by + 1));
}

/* The options as one line, a space in front of each word. text: (SCENARIO_TEXT) */
static int options_line(const struct scenario_choice *c, int is_off, char *text, struct dcr_err *err)
{
    const struct scenario *s = c->scenario;
    uint64_t index = 0;
    if (c->n_ranks > SCENARIO_MAX_RANKS)
        return dcr_err_set(err, DCR_FAIL, "scenario '%s' runs on at most %d ranks; start fewer", s->name,
                           SCENARIO_MAX_RANKS);
    int sensors = draw(c->seed, s->sensors, 1, &index), batch = draw(c->seed, s->batch, 4, &index),
        units = draw(c->seed, s->units, 1, &index);
    size_t len =
        (size_t)snprintf(text, SCENARIO_TEXT,
                         " %s --sensors %d --batch %d --units %d --data-seed %llu --seed %llu --epochs 1000 "
                         "--steps 60 --validate-every 0 --validation-windows 8",
                         s->common, sensors, batch, units, (unsigned long long)c->seed, (unsigned long long)c->seed);
    const char *knob = is_off ? s->off : s->on;
    if (*knob)
        len += (size_t)snprintf(text + len, SCENARIO_TEXT - len, " %s", knob);
    if (s->first_weight && !is_off && c->n_ranks > 1) {
        len += (size_t)snprintf(text + len, SCENARIO_TEXT - len, " --rank-weights %d", s->first_weight);
        for (int i = 1; i < c->n_ranks; i++, len += 2)
            memcpy(text + len, ",1", 3);
    }
    return 0;
}

int scenario_words(const struct scenario_choice *c, char *text, char **words, int *n_words, struct dcr_err *err)
{
    int rc = options_line(c, c->is_off, text, err);
    *n_words = 0;
    if (rc)
        return rc;
    for (char *rest = text, *word; (word = strtok_r(rest, " ", &rest));)
        words[(*n_words)++] = word;
    return 0;
}

int scenario_launched_ranks(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = getenv(names[i]);
        int n = text ? (int)strtol(text, NULL, 10) : 0;
        if (n > 0)
            return n;
    }
    return 1;
}

int scenario_lacks_bottleneck(const struct scenario_choice *c)
{
    int is_idle = 0, saves_elsewhere = 0;
    for (int i = 0; i < N_RANKS; i++) {
        const struct range *gain = &c->scenario->gain[i];
        if (n_ranks_of[i] == c->n_ranks)
            is_idle = gain->high && gain->low <= 0;
        else
            saves_elsewhere |= gain->low > 0;
    }
    return is_idle && saves_elsewhere;
}

int scenario_show(const struct scenario_choice *c, FILE *out, struct dcr_err *err)
{
    const struct scenario *s = c->scenario;
    char on[SCENARIO_TEXT], off[SCENARIO_TEXT];
    int rc = options_line(c, 0, on, err);
    if (!rc)
        rc = options_line(c, 1, off, err);
    if (rc)
        return rc;
    fprintf(out, "scenario: %s\nseed: %llu\nwhy: %s\n%son:%s\noff:%s\n", s->name, (unsigned long long)c->seed, s->why,
            s->needs_gpu ? "needs: gpu\n" : "", on, off);
    if (scenario_lacks_bottleneck(c))
        fprintf(out, "note: on %d rank%s the knob saves nothing; start it by `mpirun -n 2` or `mpirun -n 4`\n",
                c->n_ranks, c->n_ranks == 1 ? "" : "s");
    fprintf(out,
            "note: class N: the class that the report of N ranks has to name; gain N: percent of the step that the "
            "knob saves\n");
    for (int i = 0; i < N_RANKS; i++)
        if (s->answer[i])
            fprintf(out, "class %d: %s\n", n_ranks_of[i], s->answer[i]);
    for (int i = 0; i < N_RANKS; i++)
        if (s->gain[i].high)
            fprintf(out, "gain %d: %d..%d\n", n_ranks_of[i], s->gain[i].low, s->gain[i].high);
    return 0;
}
