/* main.c - dcrnn-train: options, data, training, exit status. ranks/ and gpu/ print failures inside MPI or on a device
 * and end the run. */
#include "lib/base/outfile.h"
#include "lib/base/text.h"
#include "trainer/mark.h"
#include "trainer/options.h"
#include "trainer/ranks/comm.h"
#include "trainer/ranks/stop.h"
#include "trainer/run/train.h"
#include "trainer/simulate/simulate.h"
#include "trainer/tools/baseline.h"
#include "trainer/tools/verify.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

/* ---- what needs no other ranks --------------------------------------------------------------------- */

static int verify(const struct options *o, struct dcr_err *err)
{
    int n_failed = 0;
    int rc = verify_case(o->verify_dir, stdout, &n_failed, err);
    return rc || !n_failed ? rc : DCR_END; /* the output itself is the verdict, so no sentence is added */
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
        text_print(stdout, "%s: speeds.csv (%s), distances.csv (%zu pair%s)\n", o->write_data_dir, d.description,
                   distances.n, plural(distances.n));
    dataset_release(&d);
    sim_distances_release(&distances);
    return rc;
}

/* --check-data: checks that training would only make after it has read its input. */
static int check_data(const struct options *o, struct dcr_err *err)
{
    struct comm alone = {.n_ranks = 1};
    struct input in = {0};
    struct graph_supports supports = {0};
    int rc = input_load(&in, o, &alone, err);
    if (!rc)
        rc = graph_supports_build(&in.adjacency, o->filter, &supports, err);
    graph_supports_free(&supports);
    input_release(&in);
    return rc;
}

static int is_alone(const struct options *o)
{
    return o->is_check || (o->task != TASK_TRAIN && o->task != TASK_BASELINE);
}

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
    case TASK_WRITE_DATA:
        return write_data(o, err);
    default: /* a training that is only checked */
        return o->is_data_check ? check_data(o, err) : 0;
    }
}

/* ---- what all ranks do together -------------------------------------------------------------------- */

/* Remarks on the input, from the rank that read it. */
static void say_notes(const struct options *o, const struct input *in, const struct comm *c)
{
    const struct dataset *d = &in->data;
    const size_t n_lines = in->n_graph_lines_passed_over;
    if (c->rank)
        return;
    if (o->scenario.name && !o->scenario.choice.is_off && scenario_lacks_bottleneck(&o->scenario.choice))
        dcr_say("dcrnn-train",
                "note: scenario '%s' has no bottleneck on %d rank%s; start it by `mpirun -n 2` or `mpirun "
                "-n 4`",
                o->scenario.name, c->n_ranks, plural((size_t)c->n_ranks));
    if (d->note[0])
        dcr_say("dcrnn-train", "note: '%s': %s", o->data, d->note);
    if (!dataset_n_valid(d, d->val))
        dcr_say("dcrnn-train", "note: every target of the validation split is missing: no epoch gets a score");
    if ((o->test || o->task == TASK_BASELINE) && !dataset_n_valid(d, d->test))
        dcr_say("dcrnn-train", "note: every target of the test split is missing: it has no score");
    if (n_lines)
        dcr_say("dcrnn-train", "note: %zu line%s of '%s' name%s sensors that the data lack", n_lines, plural(n_lines),
                o->graph, n_lines == 1 ? "s" : "");
    if (d->n_gaps)
        dcr_say("dcrnn-train", "note: %zu gap%s in the time stamps of '%s'; windows run across gaps", d->n_gaps,
                plural(d->n_gaps), o->data);
}

static void say_done(const struct options *o, const struct train_result *r)
{
    printf("%s %lld step%s, %lld whole epoch%s", r->signal ? "stopped after" : "done:", (long long)r->steps,
           plural((size_t)r->steps), (long long)r->epochs, plural((size_t)r->epochs));
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

static int together(const struct options *o, struct comm *c, struct train_result *result, struct dcr_err *err)
{
    struct input in = {0};
    int rc = options_alike(o, c, err);
    if (rc)
        return rc;
    rc = input_load(&in, o, c, err);
    if (rc)
        return rc;
    say_notes(o, &in, c);
    if (o->task == TASK_TRAIN) {
        stop_watch(); /* until here a signal that ends the program loses nothing, even while it waits for a pipe */
        rc = train_run(o, &in, c, result, err);
        if (!rc && c->rank == 0 && !o->gradient_to)
            say_done(o, result);
    } else {
        if (c->rank == 0)
            rc = baseline_print(&in.data, stdout, err);
        rc = comm_first_failure(c, rc, err);
    }
    input_release(&in);
    return rc;
}

int main(int argc, char **argv)
{
    struct options o;
    struct comm c;
    struct train_result result = {0};
    struct dcr_err err = {0};
    dcr_hold_standard_streams();
    signal(SIGXFSZ, SIG_IGN); /* a file at its size limit then gives a failed write, which can be reported */
    int rc = options_parse(&o, argc, argv, &err);
    if (rc) {
        refuse(err.text);
        return DCR_EXIT_INPUT;
    }
    if (is_alone(&o)) {
        rc = alone(&o, &err);
        if (rc < 0)
            dcr_say("dcrnn-train", "%s", err.text);
        return rc < 0 || fflush(stdout) ? DCR_EXIT_INPUT : rc == DCR_END ? DCR_EXIT_CHECK : DCR_EXIT_OK;
    }
    refuse_none();
    /* in other tasks rank 0 works alone for as long as it takes, while the others wait */
    comm_open(&c, &argc, &argv, o.task == TASK_TRAIN ? o.comm_timeout : 0);
    mark_open();
    rc = together(&o, &c, &result, &err);
    if (rc && c.rank == 0) /* every rank has the same sentence; one of them prints it */
        dcr_say("dcrnn-train", "%s", err.text);
    comm_close(&c);
    return result.has_diverged ? DCR_EXIT_CHECK : rc ? DCR_EXIT_INPUT : result.signal ? 128 + result.signal : 0;
}
