/* main.c - dcrnn-train: options, data, training; the only file of the trainer that prints errors and exits. */
#include "lib/base/text.h"
#include "trainer/tools/baseline.h"
#include "trainer/cpu/blas.h"
#include "trainer/ranks/comm.h"
#include "trainer/run/input.h"
#include "trainer/mark.h"
#include "trainer/options.h"
#include "trainer/ranks/refuse.h"
#include "trainer/simulate/simulate.h"
#include "trainer/ranks/stop.h"
#include "trainer/run/train.h"
#include "trainer/tools/verify.h"
#include "lib/base/outfile.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static int verify(const struct options *o, struct dcr_err *err)
{
    int n_failed = 0;
    int rc = verify_case(o->verify_dir, stdout, &n_failed, err);
    if (rc)
        return rc;
    /* the verdict is the output itself: no sentence on top of it */
    return n_failed ? DCR_END : 0;
}

static int write_data(const struct options *o, struct dcr_err *err)
{
    struct simulate_config c = {.seed = o->data_seed, .n_sensors = (size_t)o->sensors, .n_days = (size_t)o->days};
    struct dataset d = {0};
    struct sim_distances distances = {0};
    int rc = simulate_traffic(&c, &d, &distances, err);
    if (!rc)
        rc = simulate_write(o->write_data_dir, &d, &distances, err);
    if (!rc)
        text_print(stdout, "%s: speeds.csv (%s), distances.csv (%zu pairs)\n", o->write_data_dir, d.description,
                   distances.n);
    dataset_release(&d);
    sim_distances_release(&distances);
    return rc;
}

/* What is odd about the input, from the rank that read it. */
static void say_notes(const struct options *o, const struct input *in, const struct comm *c)
{
    if (c->rank)
        return;
    if (o->scenario.name && !o->scenario.choice.is_off && scenario_is_idle(&o->scenario.choice))
        text_print(
            stderr,
            "dcrnn-train: note: scenario '%s' has no bottleneck on %d rank%s; start it by `mpirun -n 2` or `mpirun "
            "-n 4`\n",
            o->scenario.name, c->n_ranks, c->n_ranks == 1 ? "" : "s");
    if (in->data.note[0])
        text_print(stderr, "dcrnn-train: note: '%s': %s\n", o->data, in->data.note);
    if (!dataset_n_valid(&in->data, in->data.val))
        fprintf(stderr, "dcrnn-train: note: every target of the validation split is missing: no epoch gets a score\n");
    if ((o->test || o->task == TASK_BASELINE) && !dataset_n_valid(&in->data, in->data.test))
        fprintf(stderr, "dcrnn-train: note: every target of the test split is missing: it has no score\n");
    if (in->n_graph_lines_passed_over)
        text_print(stderr, "dcrnn-train: note: %zu lines of '%s' name sensors that the data lack\n",
                   in->n_graph_lines_passed_over, o->graph);
    if (in->data.n_gaps)
        text_print(stderr, "dcrnn-train: note: %zu gaps in the time stamps of '%s'; windows run across them\n",
                   in->data.n_gaps, o->data);
}

static int baseline(const struct options *o, struct comm *c, struct dcr_err *err)
{
    struct input in = {0};
    struct loss_horizon sums[4096];
    int rc = input_load(&in, o, c, err);
    if (!rc)
        say_notes(o, &in, c);
    if (rc || c->rank)
        goto out;
    text_print(stdout, "%s\nMAE / RMSE / MAPE in mph, mph, %%; missing targets left out\n", in.data.description);
    for (int what = 0; what < N_BASELINES; what++)
        for (int is_test = 0; is_test < 2; is_test++) {
            rc = baseline_score((enum baseline)what, &in.data, is_test ? in.data.test : in.data.val, sums, err);
            if (rc)
                goto out;
            printf("%-18s  %-10s", baseline_name((enum baseline)what), is_test ? "test" : "validation");
            for (size_t i = 0, step[] = {3, 6, 12}; i < 3; i++)
                if (step[i] <= in.data.n_out)
                    printf("  %zu min %.3f / %.3f / %.2f", step[i] * DATASET_STEP_MINUTES, loss_mae(&sums[step[i] - 1]),
                           loss_rmse(&sums[step[i] - 1]), 100 * loss_mape(&sums[step[i] - 1]));
            printf("\n");
        }
out:
    input_release(&in);
    return rc;
}

/* --check-data: what training would refuse once it has read its input, without other ranks. */
static int check_data(const struct options *o)
{
    struct comm alone = {.n_ranks = 1};
    struct input in = {0};
    struct graph_supports supports = {0};
    struct dcr_err err = {0};
    int rc = input_load(&in, o, &alone, &err);
    if (!rc)
        rc = graph_supports_build(&in.adjacency, o->filter, &supports, &err);
    if (rc)
        fprintf(stderr, "dcrnn-train: %s\n", err.text);
    graph_supports_free(&supports);
    input_release(&in);
    return rc ? DCR_EXIT_INPUT : DCR_EXIT_OK;
}

static void say_done(const struct options *o, const struct train_result *r)
{
    printf("%s %lld step%s, %lld whole epoch%s", r->signal ? "stopped after" : "done:", (long long)r->steps,
           r->steps == 1 ? "" : "s", (long long)r->epochs, r->epochs == 1 ? "" : "s");
    if (isfinite(r->median_step_s))
        printf(", median step %.4f s", r->median_step_s);
    if (r->has_validation) {
        printf(", validation MAE %.3f mph", loss_mae(&r->val_total));
        for (size_t i = 0; i < 3; i++)
            if (isfinite(r->val_mae[i]))
                printf(", %s min %.3f", (const char *[]){"15", "30", "60"}[i], r->val_mae[i]);
    }
    if (r->has_test)
        printf("; test MAE of epoch %lld: %.3f / %.3f / %.3f mph", (long long)r->test_epoch, r->test_mae[0],
               r->test_mae[1], r->test_mae[2]);
    text_print(stdout, "; tables in %s\n", o->out);
}

static int train(const struct options *o, struct comm *c, int *status, struct dcr_err *err)
{
    struct input in = {0};
    struct train_result result = {0};
    int rc = input_load(&in, o, c, err);
    if (rc)
        goto out;
    say_notes(o, &in, c);
    stop_watch(); /* until here nothing is lost when a signal ends the program, also while it waits for a pipe */
    rc = train_run(o, &in, c, &result, err);
    if (!rc && c->rank == 0 && !o->gradient_to)
        say_done(o, &result);
    *status = result.has_diverged ? DCR_EXIT_CHECK : rc ? DCR_EXIT_INPUT : result.signal ? 128 + result.signal : 0;
out:
    input_release(&in);
    return rc;
}

/* Tasks that need no other ranks. */
static int alone(const struct options *o, struct dcr_err *err)
{
    switch (o->task) {
    case TASK_HELP:
        options_help(stdout);
        return 0;
    case TASK_VERSION:
        printf("dcrnn-train %s\n", DCR_VERSION);
        return 0;
    case TASK_VERIFY:
        return verify(o, err);
    case TASK_SHOW_SCENARIO:
        return scenario_show(&o->scenario.choice, stdout, err);
    default:
        return write_data(o, err);
    }
}

int main(int argc, char **argv)
{
    struct options o;
    struct comm c;
    struct dcr_err err = {0};
    int status = DCR_EXIT_INPUT;
    dcr_hold_standard_streams();
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is a write that fails, and can be said */
    int rc = options_parse(&o, argc, argv, &err);
    if (rc) {
        refuse(err.text);
        return DCR_EXIT_INPUT;
    }
    if (o.is_check)
        return o.is_data_check ? check_data(&o) : DCR_EXIT_OK;
    if (o.task != TASK_TRAIN && o.task != TASK_BASELINE) {
        rc = alone(&o, &err);
        if (rc < 0)
            fprintf(stderr, "dcrnn-train: %s\n", err.text);
        return rc < 0 || fflush(stdout) ? DCR_EXIT_INPUT : rc == DCR_END ? DCR_EXIT_CHECK : DCR_EXIT_OK;
    }
    refuse_none();
    /* elsewhere rank 0 works alone, for as long as it takes, while the others wait */
    comm_open(&c, &argc, &argv, o.task == TASK_TRAIN ? o.comm_timeout : 0);
    mark_open();
    rc = options_alike(&o, &c, &err);
    if (!rc) {
        blas_set_threads(1); /* the model's own workers share the samples: --threads */
        if (o.task == TASK_BASELINE) {
            rc = baseline(&o, &c, &err);
            status = rc ? DCR_EXIT_INPUT : DCR_EXIT_OK;
        } else {
            rc = train(&o, &c, &status, &err);
        }
    }
    /* every rank has the same sentence; one of them says it */
    if (rc && c.rank == 0)
        fprintf(stderr, "dcrnn-train: %s\n", err.text);
    comm_close(&c);
    return status;
}
