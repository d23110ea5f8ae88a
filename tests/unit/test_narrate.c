/* test_narrate.c - numbers become sentences: claims, headlines, confidence, documents (render/narrate). */
#include "render/model/build.h"
#include "render/narrate/actions.h"
#include "render/narrate/exchange.h"
#include "render/narrate/claims.h"
#include "render/narrate/format.h"
#include "render/narrate/narrate.h"
#include "tests/unit/made_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdlib.h>

enum { MAX_RUNS = 8 };
struct fixture {
    struct report rep;
    struct run *runs[MAX_RUNS];
    int n;
};

static void tell(struct fixture *f)
{
    struct analyse_options o = made_options();
    struct dcr_err err = {0};
    assert_int_equal(analyse(&f->rep, f->runs, f->n, &o, &err), 0);
    narrate(&f->rep);
    assert_int_equal(narrate_documents(&f->rep, &err), 0);
}

static void release(struct fixture *f)
{
    report_free(&f->rep);
    for (int i = 0; i < f->n; i++)
        run_free(f->runs[i]);
}

static struct fixture strong(void)
{
    struct fixture f = {.n = 3};
    f.runs[0] = made_even_run(1, 64, 40, 80000000, 0, 0, 0);
    f.runs[1] = made_even_run(2, 64, 40, 42000000, 6000000, 0, 0);
    f.runs[2] = made_even_run(4, 64, 40, 21000000, 11000000, 0, 0);
    return f;
}

static void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' does not hold '%s'", text, part);
}

static void assert_lacks(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("'%.400s' holds '%s'", text, part);
}

static void test_headline(void **state)
{
    (void)state;
    struct fixture f = strong();
    tell(&f);
    assert_string_equal(
        f.rep.headline,
        "At 4 nodes 34 % of the step time is exposed gradient synchronisation (MPI all-reduce), up from 12 % at 2 "
        "nodes; it limits strong scaling beyond 2 nodes.");
    assert_contains(f.rep.support, "At 4 nodes that is 11.0 ms of 32.0 ms a step: 11.0 ms transfer and 0 ns waiting.");
    assert_contains(f.rep.support, "0 % at 1 node and 12 % at 2 nodes");
    assert_contains(f.rep.first_action, "--batch");
    assert_contains(f.rep.first_action, "at most 11.0 ms of 32.0 ms a step (1.52x)");
    assert_contains(f.rep.how_sure, "120 steps counted over 3 runs.");
    assert_contains(f.rep.how_sure, "Confidence is medium: there is one run per node count");
    assert_contains(f.rep.verdict, "Speed-up from 1 node to 4 nodes is 2.50x (efficiency 0.62).");
    assert_contains(f.rep.title, "on 1, 2 and 4 nodes");
    release(&f);
}

static void test_every_claim_is_ready(void **state)
{
    (void)state;
    struct fixture f = strong();
    tell(&f);
    assert_true(f.rep.n_claims >= 3);
    for (int i = 0; i < f.rep.n_claims; i++) {
        const struct claim *c = &f.rep.claims[i];
        size_t n = strlen(c->sentence);
        assert_true(n > 20 && c->sentence[n - 1] == '.');
        assert_true(c->n_numbers > 0);
        assert_true(strlen(c->confidence_because) > 0);
        assert_true(strlen(c->evidence) > 0);
        assert_true(strlen(c->action.generic) > 0);
        assert_true((c->run >= 0) != (c->series >= 0));
    }
    release(&f);
}

/* The largest gain comes first, whatever the order of classes. */
static void test_order_of_gain(void **state)
{
    (void)state;
    struct fixture f = {.n = 1};
    f.runs[0] = made_even_run(2, 64, 40, 20, 30, 35, 15);
    tell(&f);
    const struct run_result *r = &f.rep.runs[0];
    assert_int_equal(r->n_claims, 3);
    assert_int_equal(f.rep.claims[r->claims[0]].cls, CLASS_DATA);
    assert_int_equal(f.rep.claims[r->claims[1]].cls, CLASS_COMMUNICATION);
    assert_int_equal(f.rep.claims[r->claims[2]].cls, CLASS_IO);
    assert_contains(r->headline, "35 % of the step time (35 ns of 100 ns) is data loading");
    release(&f);
}

static void test_nothing_limits(void **state)
{
    (void)state;
    struct fixture f = {.n = 1};
    f.runs[0] = made_even_run(2, 64, 40, 79, 9, 9, 3);
    tell(&f);
    assert_int_equal(f.rep.runs[0].n_claims, 0);
    assert_contains(f.rep.headline, "no cause passes its threshold");
    assert_contains(f.rep.support, "The next limit would be Communication: 9.0 % of step time");
    release(&f);
}

/* The class that is said first is said first everywhere: headline, action, class table, list of actions. */
static void assert_one_story(const struct report *rep, enum cause_class cls, int last_run)
{
    const struct claim *order[64];
    int all[MAX_RUNS] = {0, 1, 2, 3, 4, 5, 6, 7};
    assert_true(rep->n_claims > 0 && rep->n_claims <= 64);
    assert_true(claims_in_order(rep, all, rep->n_runs, 1, order) > 0);
    assert_int_equal(order[0]->cls, cls);
    assert_ptr_equal(order[0], &rep->claims[rep->first_claim]);
    assert_string_equal(order[0]->sentence, rep->headline);
    assert_int_equal(rep->runs[last_run].classes[cls].verdict, VERDICT_LIMITS);
    const char *action = *order[0]->action.ours ? order[0]->action.ours : order[0]->action.generic;
    assert_contains(rep->first_action, action + 1);
}

/* What to do about communication depends on what the run did about it already. */
static void test_advice_knows_how_gradients_travelled(void **state)
{
    (void)state;
    struct run_result r = {.run = run_new("x.tar")};
    struct run_program *p = &((struct run *)r.run)->program;
    p->name = "dcrnn-train";
    assert_contains(action_for(&r, CLASS_COMMUNICATION).ours, "--allreduce-dtype bf16");
    p->allreduce_is_overlapped = 0;
    assert_contains(action_for(&r, CLASS_COMMUNICATION).ours, "leave --no-overlap out");
    p->allreduce_is_overlapped = 1;
    p->allreduce_dtype = "bf16";
    assert_null(strstr(action_for(&r, CLASS_COMMUNICATION).ours, "bf16"));
    p->name = "another";
    assert_string_equal(action_for(&r, CLASS_COMMUNICATION).ours, "");
    run_free((struct run *)r.run);
}

/* The collective with most time is named, by whatever says it, and decides the advice. */
static void test_exchange(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum exchange kind;
    } known[] = {{"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", EXCHANGE_ALL_REDUCE},
                 {"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t", EXCHANGE_SEND_RECEIVE},
                 {"MPI_Reduce_scatter_block", EXCHANGE_REDUCE_SCATTER},
                 {"_allgather_base", EXCHANGE_ALL_GATHER},
                 {"MPI_Ialltoallv", EXCHANGE_ALL_TO_ALL},
                 {"all_to_all", EXCHANGE_ALL_TO_ALL},
                 {"MPI_Bcast", EXCHANGE_BROADCAST},
                 {"MPI_Reduce", EXCHANGE_REDUCE},
                 {"ncclDevKernel_Generic_1", EXCHANGE_UNKNOWN},
                 {"MPI_Waitall", EXCHANGE_UNKNOWN}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_int_equal(exchange_named(known[i].name), known[i].kind);
    struct run *a = run_new("x.tar");
    struct run_result r = {.run = a};
    assert_int_equal(exchange_of(&r).kind, EXCHANGE_UNKNOWN);
    a->program.name = "dcrnn-train";
    assert_int_equal(exchange_of(&r).kind, EXCHANGE_ALL_REDUCE);
    struct run_mpi_call calls[] = {
        {"MPI_Wait", {9, 0, 900, 0}}, {"MPI_Alltoall", {9, 0, 60, 0}}, {"MPI_Bcast", {9, 0, 40, 0}}};
    a->program.name = "another";
    a->mpi_calls = calls;
    a->n_mpi_calls = 3;
    assert_int_equal(exchange_of(&r).kind, EXCHANGE_ALL_TO_ALL);
    assert_true(exchange_of(&r).ratio == 0.6);
    assert_contains(action_for(&r, CLASS_COMMUNICATION).generic, "experts or tables");
    struct phase_result phase = {.name = "ncclAllGather", .category = CAT_COMM, .spread = {.mean_ns = 5}};
    r.phases = &phase;
    r.n_phases = 1; /* in steps: closer to the step than calls of the whole run */
    assert_int_equal(exchange_of(&r).kind, EXCHANGE_ALL_GATHER);
    assert_contains(action_for(&r, CLASS_COMMUNICATION).generic, "forward_prefetch");
    struct device_name kernel = {.name = "ncclKernel_SendRecv_RING", .kind = OP_COMM, .sum_ns = 5};
    struct run_device device = {.names = &kernel, .n_names = 1};
    struct host_operator ranges[] = {{.name = "nccl:all_to_all"}, {.name = "nccl:send"}};
    struct foreign_trace trace = {.devices = &device, .n_devices = 1};
    a->traces = &trace;
    a->n_traces = 1; /* NCCL's all-to-all is this kernel too */
    assert_int_equal(exchange_of(&r).kind, EXCHANGE_PAIRS);
    trace.operators = (struct host_operators){.list = ranges, .n_names = 1};
    assert_int_equal(exchange_of(&r).kind, EXCHANGE_ALL_TO_ALL);
    trace.operators = (struct host_operators){.list = ranges + 1, .n_names = 1};
    assert_int_equal(exchange_of(&r).kind, EXCHANGE_SEND_RECEIVE);
    run_free(a);
}

/* Without steps nothing is said of steps. */
static void test_without_steps(void **state)
{
    (void)state;
    struct fixture f = {.n = 1};
    struct run *a = f.runs[0] = made_run(2, 64);
    struct run_mpi_call calls[] = {{"MPI_Allreduce", {9, 0, 5000000000, 0}}, {"MPI_Init", {2, 0, 3000000000, 0}}};
    a->mpi_calls = calls;
    a->n_mpi_calls = 2;
    for (int k = 0; k < 2; k++)
        a->ranks[k].run_delay_ns = 8000000000, a->ranks[k].process_seconds = 10;
    tell(&f);
    assert_string_equal(f.rep.runs[0].shared.because, "a rank waited for a core for 80 % of its run");
    assert_contains(f.rep.runs[0].support,
                    "25 % of the time that their processes were watched in MPI calls but MPI_Init");
    assert_contains(f.rep.runs[0].support, "(5.00 s of 20.0 s, summed over the ranks), all of it in MPI_Allreduce");
    release(&f);
}

/* Without any named step it shows who is waited for: that is the claim. */
static void test_mpi_without_steps(void **state)
{
    (void)state;
    struct fixture f = {.n = 1};
    struct run *a = f.runs[0] = made_run(3, 64);
    struct run_mpi_call calls[] = {{"MPI_Allreduce", {9, 0, 8400000000, 0}}};
    a->mpi_calls = calls;
    a->n_mpi_calls = 1;
    a->collector_version = "0.1.0";
    for (int k = 0; k < 3; k++) {
        a->ranks[k].process_seconds = 10;
        a->ranks[k].mpi_ns = k == 1 ? 400000000 : 4000000000;
    }
    tell(&f);
    assert_int_equal(f.rep.n_claims, 1);
    assert_int_equal(f.rep.claims[0].cls, CLASS_IMBALANCE);
    assert_int_equal(f.rep.claims[0].confidence, CONFIDENCE_MEDIUM);
    assert_string_equal(f.rep.headline,
                        "At 3 nodes the other ranks wait for rank 1 in MPI: it spent 400 ms in its calls, the others "
                        "4.00 s, of 10.0 s that a rank was watched.");
    assert_contains(f.rep.support, "That is 3.60 s of waiting, 36 % of the time of each of the others.");
    assert_contains(f.rep.first_action, "Name the steps of the program with NVTX");
    release(&f);
    struct fixture g = {.n = 1};
    a = g.runs[0] = made_run(2, 64);
    a->mpi_calls = calls;
    a->n_mpi_calls = 1;
    a->collector_version = "0.1.0";
    for (int k = 0; k < 2; k++) {
        a->ranks[k].process_seconds = 10;
        a->ranks[k].mpi_ns = k == 1 ? 400000000 : 4000000000;
    }
    tell(&g);
    assert_string_equal(g.rep.headline,
                        "At 2 nodes rank 0 waits for rank 1 in MPI: rank 1 spent 400 ms in its calls, rank 0 4.00 s, "
                        "of 10.0 s that a rank was watched.");
    assert_contains(g.rep.support, "That is 3.60 s of waiting, 36 % of the time of rank 0.");
    release(&g);
}

/* The share of a sentence is the one of the chart beside it, or both are said. */
static void test_share_with_and_without_waiting(void **state)
{
    (void)state;
    struct fixture f = {.n = 1};
    f.runs[0] = made_run(2, 64);
    for (int s = 0; s < 40; s++)
        for (int i = 0; i < 2; i++) { /* rank 0 loads for 60 of 100, rank 1 waits for it: 30 in the mean, and 30 */
            const int64_t part[N_CATEGORIES] = {[CAT_COMPUTE] = 30, [CAT_DATA] = i ? 0 : 60, [CAT_COMM] = i ? 70 : 10};
            made_step(f.runs[0], run_rank_at(f.runs[0], i), part);
        }
    tell(&f);
    const struct run_result *r = &f.rep.runs[0];
    assert_int_equal(r->part_ns[PART_DATA], 30);
    assert_int_equal(r->classes[CLASS_DATA].share_ns, 60);
    assert_int_equal(r->classes[CLASS_DATA].caused_ns, 30);
    assert_string_equal(r->headline,
                        "At 2 nodes 30 % of the step time (30 ns of 100 ns) is data loading, and 60 % with "
                        "the waiting that it causes on other ranks.");
    release(&f);
}

/* One slow step of few makes the mean: how the others were is said beside it. */
static void test_share_of_the_median_step(void **state)
{
    (void)state;
    struct fixture f = {.n = 1};
    f.runs[0] = made_run(1, 64);
    for (int s = 0; s < 5; s++) {
        const int64_t part[N_CATEGORIES] = {[CAT_COMPUTE] = 80, [CAT_DATA] = s == 4 ? 420 : 20};
        made_step(f.runs[0], run_rank_at(f.runs[0], 0), part);
    }
    tell(&f);
    assert_string_equal(
        f.rep.runs[0].headline,
        "At 1 node 56 % of the step time (100 ns of 180 ns) is data loading, 20 % of the median step (20 "
        "ns of 100 ns), seen in 5 steps, too few to conclude.");
    release(&f);
}

/* A title says what is known: a program that does not train is not called a training. */
static void test_titles(void **state)
{
    (void)state;
    static const char *command[] = {"/opt/bin/p", "-x"};
    struct host_operator ranges[] = {{.name = "backward"}};
    static const char *const titles[] = {"p on 1 node", "Training on 1 node", "Run on 1 node"};
    for (int i = 0; i < 3; i++) {
        struct fixture f = {.n = 1};
        f.runs[0] = made_even_run(1, 64, 40, 80, 0, 0, 0);
        f.runs[0]->program.name = "";
        f.runs[0]->command = command;
        f.runs[0]->n_command = i == 2 ? 0 : 2;
        f.runs[0]->ranges = (struct host_operators){.list = ranges, .n_names = i == 1, .n = i == 1};
        tell(&f);
        assert_string_equal(f.rep.title, titles[i]);
        release(&f);
    }
}

/* A quarter of the step without a name may hide anything: it is named first, and nothing is called done. */
static void test_unnamed_part(void **state)
{
    (void)state;
    struct fixture f = {.n = 1};
    f.runs[0] = made_run(1, 64);
    const int64_t part[N_CATEGORIES] = {[CAT_COMPUTE] = 75, [CAT_OTHER] = 25};
    for (int s = 0; s < 40; s++)
        made_step(f.runs[0], run_rank_at(f.runs[0], 0), part);
    tell(&f);
    assert_contains(f.rep.first_action,
                    "What to do first: Name what is in no named phase, 25 % of the step time (25 ns "
                    "of 100 ns): put NVTX ranges");
    assert_lacks(f.rep.first_action, "Nothing needs");
    assert_contains(f.rep.how_sure, "Confidence is high");
    release(&f);
    struct fixture g = {.n = 1};
    g.runs[0] = made_run(1, 64);
    const int64_t most[N_CATEGORIES] = {[CAT_COMPUTE] = 85, [CAT_OTHER] = 15};
    for (int s = 0; s < 40; s++)
        made_step(g.runs[0], run_rank_at(g.runs[0], 0), most);
    tell(&g);
    assert_contains(g.rep.first_action, "But first: Name what is in no named phase, 15 % of the step time");
    release(&g);
}

/* Of many runs that are no series the one with most to gain leads, whatever their order. */
static void test_ranking(void **state)
{
    (void)state;
    struct fixture f = {.n = 3};
    static const int64_t data[] = {35, 60, 45};
    static const char *const ids[] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++) {
        f.runs[i] = made_even_run(1, 64, 40, 100 - data[i], 0, data[i], 0);
        f.runs[i]->run_id = ids[i];
        f.runs[i]->n_nodes = 0;
        f.runs[i]->program.name = ids[i];
    }
    tell(&f);
    assert_contains(f.rep.headline, "Of 3 runs most is to be gained in 'b': In this run 60 % of the step time");
    assert_contains(f.rep.support,
                    "By what can be gained: 'b' (Data loading, 2.50x at most), 'c' (Data loading, 1.82x at "
                    "most), 'a' (Data loading, 1.54x at most). Most data loading: 'b', 60 % of a step.");
    assert_contains(f.rep.first_action, "this can save at most 60 ns of 100 ns");
    release(&f);
    struct fixture g = {.n = 3}; /* all compute, which nothing is known to make faster */
    for (int i = 0; i < 3; i++) {
        g.runs[i] = made_even_run(1, 64, 40, 100, 0, 0, 0);
        g.runs[i]->run_id = g.runs[i]->program.name = ids[i];
        g.runs[i]->n_nodes = 0;
    }
    tell(&g);
    assert_true(g.rep.runs[0].n_claims > 0);
    assert_contains(g.rep.headline, "Of 3 runs none has a cause whose removal is measured to bring anything; 'c': ");
    assert_lacks(g.rep.headline, "most is to be gained");
    release(&g);
}

/* Who was watched, or traced, without steps is not told to be watched again but to name them. */
static void test_how_steps_can_be_known(void **state)
{
    (void)state;
    static const struct {
        const char *collector, *trace;
        size_t n_marked;
        const char *because, *action;
        int64_t n_events;
    } c[] = {
        {"", NULL, 0, "no steps were recorded (no steps.csv, no trace)", "Let dccollect run watch the next run; it", 0},
        {"0.1.0", NULL, 0, "was watched and no steps were named (no NVTX", "Name the steps of the program with NVTX, ",
         0},
        {"", "nsys SQLite export", 0, "the traces mark no steps", "Mark the steps of the next run with NVTX, a range",
         0},
        {"", "Kineto trace", 0, "the traces mark no steps", "Mark the steps of the next run, the profiler's step()", 0},
        {"", "Kineto trace", 3, "", "Let dccollect run watch the next run; it", 0},
        {"", "Kineto trace", 0, "the traces mark no steps", "If the run used a GPU, record its work too", 9},
    };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct fixture f = {.n = 1};
        struct foreign_trace trace = {
            .file = "t", .kind = c[i].trace, .steps.n_steps = c[i].n_marked, .n_events = c[i].n_events};
        f.runs[0] = made_run(1, 64);
        f.runs[0]->collector_version = c[i].collector;
        f.runs[0]->traces = &trace;
        f.runs[0]->n_traces = c[i].trace != NULL;
        tell(&f);
        assert_contains(f.rep.runs[0].steps_because, c[i].because);
        assert_contains(f.rep.steps_action, c[i].action);
        assert_contains(f.rep.first_action, c[i].action);
        release(&f);
    }
}

/* What is predicted to bring most is said first; to measure again brings nothing, and is said in the same sentence. */
static void test_largest_gain_first(void **state)
{
    (void)state;
    struct fixture f = {.n = 1};
    f.runs[0] = made_even_run(1, 64, 40, 40000000, 0, 50000000, 0);
    f.runs[0]->ranks[0].run_delay_ns = 1000000000, f.runs[0]->ranks[0].process_seconds = 10;
    tell(&f);
    assert_contains(f.rep.headline, "a rank waited for a core for 10 % of the time of its steps; behind that, ");
    assert_int_equal(f.rep.claims[f.rep.first_claim].cls, CLASS_DATA);
    assert_null(strstr(f.rep.first_action, "What to do first: Measure"));
    assert_contains(f.rep.first_action, "; this can save at most 50.0 ms of 90.0 ms a step (2.25x); and, since shared "
                                        "cores make every verdict unreliable, measure while nothing else runs");
    release(&f);
}

/* The usual local series: compute that does not shrink because the ranks have no cores of their own. */
static void test_too_few_cores_is_one_story(void **state)
{
    (void)state;
    struct fixture f = {.n = 2};
    f.runs[0] = made_even_run(1, 64, 40, 80000000, 0, 0, 0);
    f.runs[1] = made_even_run(4, 64, 40, 40000000, 1000000, 0, 0);
    for (int i = 0; i < 2; i++)
        f.runs[i]->program.name = "another";
    for (int k = 0; k < 4; k++)
        f.runs[1]->ranks[k].run_delay_ns = 8000000000, f.runs[1]->ranks[k].process_seconds = 10;
    tell(&f);
    assert_string_equal(
        f.rep.headline,
        "At 4 nodes a rank waited for a core for 80 % of the time of its steps; behind that, compute takes "
        "40.0 ms a step where ideal strong scaling from 1 node leaves 20.0 ms.");
    assert_one_story(&f.rep, CLASS_SHARED, 1);
    assert_int_equal(f.rep.runs[1].classes[CLASS_COMPUTE].verdict, VERDICT_LIMITS);
    assert_null(strstr(f.rep.runs[1].classes[CLASS_COMPUTE].text, "healthy"));
    assert_contains(f.rep.first_action, "; that would measure at least 20.0 ms instead of 41.0 ms a step.");
    assert_string_equal(f.rep.runs[1].classes[CLASS_SHARED].text,
                        "a rank waited for a core for 80 % of the time of its steps");
    release(&f);
}

/* Where the reference was held back as well, what its cores cost is unknown and not shown as 0. */
static void test_no_gain_against_a_held_back_reference(void **state)
{
    (void)state;
    struct fixture f = strong();
    for (int i = 0; i < 3; i++)
        f.runs[i]->ranks[0].run_delay_ns = 5000000000, f.runs[i]->ranks[0].process_seconds = 10;
    tell(&f);
    assert_one_story(&f.rep, CLASS_SHARED, 2);
    assert_lacks(f.rep.first_action, "can save");
    assert_int_equal(f.rep.claims[f.rep.first_claim].has_gain, 0);
    assert_contains(f.rep.series[0].beyond_text, "no trend follows");
    assert_contains(f.rep.series[0].scaling_text, "the efficiency 0.62 (unreliable).");
    assert_contains(f.rep.series[0].scaling_text, "The reference is 1 node, where a rank waited for a core");
    release(&f);
    f = strong(); /* the reference alone: its speed-ups are marked too */
    f.runs[0]->ranks[0].run_delay_ns = 5000000000, f.runs[0]->ranks[0].process_seconds = 10;
    tell(&f);
    assert_contains(f.rep.verdict, "(efficiency 0.62; unreliable: at the reference, 1 node, a rank waited for a core");
    assert_string_equal(f.rep.series[0].points[2].unreliable,
                        "at the reference, 1 node, a rank waited for a core for 50 % of the time of its steps");
    release(&f);
}

/* Who computes on every core is not told to use more of them; stand-ins for nodes have no others. */
static void test_no_core_left(void **state)
{
    (void)state;
    for (int cores = 2; cores <= 4; cores += 2) {
        struct fixture f = {.n = 1};
        f.runs[0] = made_even_run(2, 64, 40, 95, 5, 0, 0);
        f.runs[0]->node_kind = NODES_EMULATED;
        f.runs[0]->program.threads = 1;
        for (int i = 0; i < 2; i++)
            f.runs[0]->nodes[i].cores = f.runs[0]->nodes[i].cores_allowed = cores;
        tell(&f);
        assert_int_equal(cores_unused(&f.rep.runs[0]), cores - 2);
        assert_contains(f.rep.first_action, cores == 2 ? "every core of this one computes already" : "--threads");
        release(&f);
    }
}

/* Four nodes on one kernel with a quarter of a core each need one core together: its two are enough. */
static void test_quotas_leave_room(void **state)
{
    (void)state;
    struct fixture f = {.n = 1};
    f.runs[0] = made_even_run(4, 64, 40, 70, 15, 9, 3);
    f.runs[0]->node_kind = NODES_ONE_KERNEL;
    for (int k = 0; k < 4; k++) {
        f.runs[0]->nodes[k].cores = f.runs[0]->nodes[k].cores_allowed = 2;
        f.runs[0]->nodes[k].cores_quota = 0.25;
    }
    tell(&f);
    assert_string_equal(f.rep.runs[0].shared.id, "");
    release(&f);
    f.n = 1;
    memset(&f.rep, 0, sizeof f.rep);
    f.runs[0] = made_even_run(4, 64, 40, 70, 15, 9, 3);
    f.runs[0]->node_kind = NODES_ONE_KERNEL;
    for (int k = 0; k < 4; k++) {
        f.runs[0]->nodes[k].cores = f.runs[0]->nodes[k].cores_allowed = 2;
        f.runs[0]->nodes[k].cores_quota = 0.75;
    }
    tell(&f);
    assert_string_equal(f.rep.runs[0].shared.id, "oversubscribed");
    release(&f);
}

/* One slow rank: the waiting is named, with the rank, and not the network. */
static void test_slow_rank_limits_scaling(void **state)
{
    (void)state;
    struct fixture f = {.n = 2};
    f.runs[0] = made_even_run(1, 64, 40, 80000000, 0, 0, 0);
    f.runs[1] = made_run(4, 64);
    for (int s = 0; s < 40; s++)
        for (int i = 0; i < 4; i++) {
            int64_t compute = i == 2 ? 40000000 : 20000000;
            int64_t part[N_CATEGORIES] = {[CAT_COMPUTE] = compute, [CAT_COMM] = 41000000 - compute};
            made_step(f.runs[1], run_rank_at(f.runs[1], i), part);
        }
    tell(&f);
    assert_string_equal(f.rep.headline,
                        "At 4 nodes 37 % of the step time is waiting for rank 2 in gradient synchronisation "
                        "(MPI all-reduce), up from 0 % at 1 node; it limits strong scaling beyond 1 node.");
    assert_one_story(&f.rep, CLASS_IMBALANCE, 1);
    release(&f);
}

/* A headline that has the speed-up is not followed by the speed-up again. */
static void test_scaling_is_good(void **state)
{
    (void)state;
    struct fixture f = {.n = 2};
    f.runs[0] = made_even_run(1, 64, 40, 80000000, 0, 0, 0);
    f.runs[1] = made_even_run(4, 64, 40, 20000000, 500000, 0, 0);
    tell(&f);
    assert_string_equal(f.rep.headline, "Scaling is good up to 4 nodes: speed-up 3.90x, efficiency 0.98.");
    assert_contains(f.rep.verdict, "efficiency 0.98. At 4 nodes the step is compute-bound");
    assert_contains(f.rep.support, "80.0 ms a step at 1 node and 20.0 ms at 4 nodes");
    release(&f);
}

/* The interval in "how sure" is of the cause that is named. */
static void test_file_writes_limit_scaling(void **state)
{
    (void)state;
    struct fixture f = {.n = 2};
    f.runs[0] = made_even_run(1, 64, 40, 80000000, 0, 0, 20000000);
    f.runs[1] = made_even_run(4, 64, 40, 20000000, 500000, 0, 20000000);
    tell(&f);
    assert_string_equal(f.rep.headline,
                        "At 4 nodes writing files takes 20.0 ms a step where ideal strong scaling from 1 "
                        "node leaves 5.00 ms; it limits strong scaling beyond 1 node.");
    assert_contains(f.rep.support, "Writing files took 20.0 ms a step at 1 node and 20.0 ms at 4 nodes.");
    assert_contains(f.rep.how_sure, "interval of I/O at 4 nodes: 49.4 % of step time");
    assert_one_story(&f.rep, CLASS_IO, 1);
    release(&f);
}

/* Repetitions are counted among equal configurations only; those are called by what tells them apart, else by number.
 */
static void test_labels(void **state)
{
    (void)state;
    static const char *const hash[] = {"a", "b", "a"};
    static const char *const id[] = {"1", "2", "3"};
    static const char *const label[2][3] = {
        {"2 nodes, configuration 1 (run 1 of 2)", "2 nodes, configuration 2", "2 nodes, configuration 1 (run 2 of 2)"},
        {"2 nodes, batch 64 (run 1 of 2)", "2 nodes, batch 32", "2 nodes, batch 64 (run 2 of 2)"}};
    for (int has_batch = 0; has_batch < 2; has_batch++) {
        struct fixture f = {.n = 3};
        for (int i = 0; i < 3; i++) {
            f.runs[i] = made_even_run(2, i == 1 && has_batch ? 32 : 64, 40, 70, 15, 9, 3);
            f.runs[i]->run_id = id[i];
            f.runs[i]->config_hash = hash[i];
        }
        tell(&f);
        for (int i = 0; i < 3; i++)
            assert_string_equal(f.rep.runs[i].label, label[has_batch][i]);
        release(&f);
    }
}

/* Configurations by the options in which their commands differ, when these tell all of them apart. */
static void test_labels_by_options(void **state)
{
    (void)state;
    static const char *words[3][5] = {{"train", "--hidden", "64", "-o", "a"},
                                      {"train", "--hidden=32", "--no-overlap", "-o", "b"},
                                      {"train", "--hidden", "64", "-o", "c"}};
    static const char *const label[] = {"2 nodes, --hidden 64 (run 1 of 2)", "2 nodes, --hidden 32, --no-overlap",
                                        "2 nodes, --hidden 64 (run 2 of 2)"};
    struct fixture f = {.n = 3};
    for (int i = 0; i < 3; i++) {
        f.runs[i] = made_even_run(2, 64, 40, 70, 15, 9, 3);
        f.runs[i]->run_id = i == 0 ? "1" : i == 1 ? "2" : "3";
        f.runs[i]->config_hash = i == 1 ? "b" : "a";
        f.runs[i]->command = words[i];
        f.runs[i]->n_command = 5;
    }
    tell(&f);
    for (int i = 0; i < 3; i++)
        assert_string_equal(f.rep.runs[i].label, label[i]);
    release(&f);
}

/* Of what models say of themselves only what differs; runs, series and the headline are called by it. */
static void test_labels_by_model(void **state)
{
    (void)state;
    static const char *const model[] = {"DCRNN, 2 + 2 layers of 32 units, K = 2, laplacian (generated), 2 in, 1 out",
                                        "DCRNN, 2 + 2 layers of 16 units, K = 2, laplacian (generated), 2 in, 1 out"};
    static const char *const id[] = {"0", "1", "2", "3"};
    static const char *const label[] = {"1 node, 32 units", "1 node, 16 units", "2 nodes, 32 units",
                                        "2 nodes, 16 units"};
    struct fixture f = {.n = 4};
    for (int i = 0; i < 4; i++) {
        f.runs[i] = made_even_run(1 + i / 2, 64, 40, 70000000, 15000000, 9000000, 3000000);
        f.runs[i]->run_id = id[i];
        f.runs[i]->config_hash = i % 2 ? "b" : "a";
        f.runs[i]->program.model = model[i % 2];
    }
    tell(&f);
    for (int i = 0; i < 4; i++)
        assert_string_equal(f.rep.runs[i].label, label[i]);
    assert_int_equal(f.rep.n_series, 2);
    assert_contains(f.rep.series[0].label, ", 32 units");
    assert_contains(f.rep.series[1].label, ", 16 units");
    assert_contains(f.rep.headline, ", 32 units (strong scaling): ");
    static const char *const others[] = {"resnet50", "DCRNN, 2 + 2 layers of 32 units, K = 3"};
    assert_string_equal(model_words(&f.rep, "vit", others, 1), "vit");
    assert_string_equal(model_words(&f.rep, "DCRNN, 2 + 2 layers of 32 units, K = 2", others + 1, 1), "K = 2");
    assert_string_equal(model_words(&f.rep, others[1], others + 1, 1), "");
    release(&f);
}

/* The configuration that scales leads, wherever it stands; a summary's steps are of the runs that have one. */
static void test_what_leads(void **state)
{
    (void)state;
    static const char *const id[] = {"0", "1", "2"};
    struct fixture f = {.n = 3};
    for (int i = 0; i < 3; i++) {
        f.runs[i] = made_even_run(1 + i / 2, 64, 40, 70000000, 15000000, 9000000, 3000000);
        f.runs[i]->run_id = id[i];
        f.runs[i]->config_hash = f.runs[i]->program.model = i == 0 ? "a" : "b";
    }
    tell(&f);
    assert_int_equal(f.rep.n_series, 2);
    assert_int_equal(f.rep.first_series, 1);
    release(&f);
    struct fixture g = {.n = 3};
    for (int i = 0; i < 3; i++) {
        g.runs[i] = made_run(1 + i, 64);
        g.runs[i]->run_id = id[i];
        g.runs[i]->summary.n_steps = i == 0 ? 0 : 50;
        g.runs[i]->summary.mean_ns = i == 0 ? 0 : 70000000;
    }
    tell(&g);
    assert_contains(g.rep.how_sure, "100 steps in 2 runs, of which only means and spreads were kept");
    release(&g);
}

/* What the option would overrule is not overruled, and said. */
static void test_unused_nodes(void **state)
{
    (void)state;
    struct analyse_options o = made_options();
    struct fixture f = {.n = 1};
    f.runs[0] = made_even_run(2, 64, 40, 70, 15, 9, 3);
    o.nodes = 8;
    assert_int_equal(analyse(&f.rep, f.runs, 1, &o, NULL), 0);
    assert_int_equal(f.rep.runs[0].n_nodes, 2);
    int found = 0;
    for (int i = 0; i < f.rep.n_notes; i++)
        found += strcmp(f.rep.notes[i].id, "nodes-option") == 0 && strstr(f.rep.notes[i].text, "--nodes 8 is not used");
    assert_int_equal(found, 1);
    release(&f);
}

/* Steps without a single named phase: nothing is ruled out, and no time is shown as if it had been measured as none. */
static void test_unnamed_steps(void **state)
{
    (void)state;
    struct fixture f = {.n = 1};
    f.runs[0] = made_run(2, 64);
    int64_t part[N_CATEGORIES] = {[CAT_OTHER] = 30000000};
    for (int s = 0; s < 40; s++)
        for (int i = 0; i < 2; i++)
            made_step(f.runs[0], run_rank_at(f.runs[0], i), part);
    tell(&f);
    const struct run_result *r = &f.rep.runs[0];
    for (int c = 0; c < N_CLASSES; c++)
        if (c != CLASS_OVERHEAD && c != CLASS_SHARED) {
            assert_int_equal(r->classes[c].verdict, VERDICT_NA);
            assert_contains(r->classes[c].text, "n/a because");
        }
    assert_false(r->pop.has);
    assert_contains(r->headline, "100 % of the step time (30.0 ms of 30.0 ms) is in no named phase");
    release(&f);
}

/* Where ranks with cores of their own waited too, it is not only the ranks that are too many; unless nobody says how
 * many threads they had. */
static void test_neighbours(void **state)
{
    (void)state;
    for (int threads = 0; threads <= 1; threads++) {
        struct fixture f = {.n = 2};
        f.runs[0] = made_even_run(1, 64, 40, 80000000, 0, 0, 0);
        f.runs[1] = made_even_run(16, 64, 40, 40000000, 1000000, 0, 0);
        f.runs[1]->node_kind = NODES_EMULATED;
        for (int i = 0; i < 2; i++) {
            f.runs[i]->ranks[0].run_delay_ns = i ? 0 : 5000000000;
            f.runs[i]->ranks[0].process_seconds = 10;
            f.runs[i]->program.threads = threads;
        }
        tell(&f);
        assert_string_equal(f.rep.runs[1].shared.because, threads
                                                              ? "16 ranks share 8 cores, which something else uses too"
                                                              : "16 ranks share 8 cores");
        release(&f);
    }
}

/* Oversubscribed ranks: the network is never blamed without saying so, and confidence is low. */
static void test_shared_cores(void **state)
{
    (void)state;
    struct fixture f = strong();
    for (int i = 0; i < 3; i++) {
        f.runs[i]->node_kind = NODES_EMULATED;
        for (int k = 0; k < f.runs[i]->nodes_len; k++)
            f.runs[i]->nodes[k].cores = f.runs[i]->nodes[k].cores_allowed = 2;
    }
    tell(&f);
    assert_contains(f.rep.headline, "At 4 nodes 4 ranks share 2 cores; behind that, 34 % of the step time is exposed");
    assert_contains(f.rep.how_sure, "Confidence is low: at 4 nodes 4 ranks share 2 cores");
    assert_contains(f.rep.first_action, "Give every rank cores of its own (no more ranks times --threads than cores)");
    assert_one_story(&f.rep, CLASS_SHARED, 2);
    assert_string_equal(f.rep.notes[0].id, "emulated");
    assert_string_equal(f.rep.notes[1].id, "oversubscribed");
    assert_contains(f.rep.node_label, "emulated");
    release(&f);
}

/* What other programs took of the cores is said, and what a step would take while they go on and without them. */
static void test_other_programs(void **state)
{
    (void)state;
    struct fixture f = {.n = 1};
    struct run *r = f.runs[0] = made_run(4, 64);
    r->node_kind = NODES_EMULATED;
    for (int s = 0; s < 40; s++)
        for (int i = 0; i < 4; i++) { /* undisturbed a rank loads for 20 ms and computes for 10; transfer 10 */
            const int64_t ms = 1000000, k = s == 0 ? 1 : 2;
            const int64_t part[N_CATEGORIES] = {
                [CAT_COMPUTE] = 10 * k * ms, [CAT_DATA] = 20 * k * ms, [CAT_COMM] = (70 - 30 * k) * ms};
            made_step(r, run_rank_at(r, i), part);
        }
    for (int i = 0; i < 4; i++) { /* 6.5 of 8 cores busy, 6 of them may be others': half a core of two */
        r->nodes[i].cores_allowed = 2;
        r->nodes[i].cpu_percent = (struct sampled){.n = 10, .sum = 812.5};
        r->nodes[i].monitor_seconds = 10;
        r->ranks[i].cpu_ns = 0;
    }
    tell(&f);
    assert_contains(f.rep.runs[0].support,
                    "Other programs took 0.500 of the 2 cores meanwhile (the nodes' CPU monitors, less the CPU time of "
                    "the ranks). By the shortest that each part of a step took, a step of ranks with cores of their "
                    "own lasts 53.3 ms instead of 70.0 ms while those programs go on, and 40.0 ms without them.");
    assert_contains(f.rep.first_action, "this can save at most 16.7 ms of 70.0 ms a step");
    release(&f);
}

static void test_slurm_on_one_kernel(void **state)
{
    (void)state;
    struct fixture f = strong();
    for (int i = 0; i < 3; i++) {
        f.runs[i]->node_kind = NODES_ONE_KERNEL;
        f.runs[i]->scheduler = "slurm";
    }
    f.runs[2]->nodes[0].throttled_ns = 3000000000;
    f.runs[2]->nodes[0].monitor_seconds = 10;
    tell(&f);
    assert_string_equal(f.rep.node_label, "four Slurm nodes on one kernel");
    assert_contains(f.rep.headline, "a CPU quota held a node back for 30 % of the run");
    release(&f);
}

static void test_confidence(void **state)
{
    (void)state;
    struct report rep = {.thresholds = thresholds_default()};
    struct run *run = made_run(2, 64);
    struct run_result r = {.run = run, .n_counted = 100, .shared = {"", "", -1, "", 0}};
    const char *why;
    assert_int_equal(confidence_of(&rep, &r, (struct interval){1, 0.3, 0.4}, 0.2, &why), CONFIDENCE_HIGH);
    assert_int_equal(confidence_of(&rep, &r, (struct interval){1, 0.15, 0.4}, 0.2, &why), CONFIDENCE_MEDIUM);
    assert_contains(why, "includes the threshold");
    r.n_counted = 10;
    assert_int_equal(confidence_of(&rep, &r, (struct interval){1, 0.3, 0.4}, 0.2, &why), CONFIDENCE_LOW);
    assert_contains(why, "too few to conclude");
    r.n_counted = 100;
    run->ranks[0].n_dropped = 1;
    assert_int_equal(confidence_of(&rep, &r, (struct interval){1, 0.3, 0.4}, 0.2, &why), CONFIDENCE_LOW);
    run->ranks[0].n_dropped = 0;
    struct note clocks = {NOTE_CAVEAT, 0, "clocks", ""};
    rep.runs = &r;
    rep.notes = &clocks;
    rep.n_notes = 1;
    assert_int_equal(confidence_of(&rep, &r, (struct interval){1, 0.3, 0.4}, 0.2, &why), CONFIDENCE_LOW);
    assert_string_equal(why, "a GPU ran below its clock");
    rep.n_notes = 0;
    struct run_result two[2] = {r, r};
    int of_point[2] = {0, 1};
    struct series_point point = {.runs = of_point, .n_runs = 2, .step.mean_ns = 100};
    struct series series = {.points = &point, .n_points = 1};
    two[0].step.mean_ns = 90, two[1].step.mean_ns = 110;
    rep.runs = two, rep.series = &series;
    assert_int_equal(confidence_of(&rep, &two[0], (struct interval){1, 0.3, 0.4}, 0.2, &why), CONFIDENCE_LOW);
    assert_string_equal(why, "its 2 repetitions differ by 20 %");
    rep.runs = NULL, rep.series = NULL;
    run->node_kind = NODES_EMULATED;
    assert_int_equal(confidence_of(&rep, &r, (struct interval){1, 0.3, 0.4}, 0.2, &why), CONFIDENCE_MEDIUM);
    /* Files that hold means and spreads only, and traces without steps. */
    struct run_result of_file = {.run = run, .shared = {.id = ""}};
    run->summary = (struct run_summary){.n_steps = 100, .clock_max_mhz = 1500, .clock_mean_mhz = 1200};
    assert_int_equal(confidence_without_steps(&rep, &of_file, &why), CONFIDENCE_LOW);
    assert_string_equal(why, "the SM clock was 80 % of its highest in the mean");
    run->summary.clock_mean_mhz = 1490;
    assert_int_equal(confidence_without_steps(&rep, &of_file, &why), CONFIDENCE_MEDIUM);
    run->summary.n_steps = 20;
    assert_int_equal(confidence_without_steps(&rep, &of_file, &why), CONFIDENCE_LOW);
    run->summary.n_steps = 0;
    run->n_traces = 1;
    assert_int_equal(confidence_without_steps(&rep, &of_file, &why), CONFIDENCE_LOW);
    assert_contains(why, "no steps are marked");
    run->n_traces = 0;
    report_free(&rep);
    run_free(run);
}

static void test_slower_with_more_nodes(void **state)
{
    (void)state;
    struct fixture f = {.n = 2};
    f.runs[0] = made_even_run(4, 64, 40, 20000000, 20000000, 0, 0);
    f.runs[1] = made_even_run(8, 64, 40, 10000000, 40000000, 0, 0);
    tell(&f);
    assert_contains(f.rep.series[0].scaling_text,
                    "8 nodes are slower than 4 nodes: 1,280 against 1,600 samples per second.");
    release(&f);
}

static const struct document *document(const struct report *rep, const char *path)
{
    for (int i = 0; i < rep->n_documents; i++)
        if (strcmp(rep->documents[i].path, path) == 0)
            return &rep->documents[i];
    fail_msg("no document '%s'", path);
    return NULL;
}

static void test_no_document_shows_what_it_does_not_know(void **state)
{
    (void)state;
    struct fixture f = strong();
    f.runs[3] = made_run(2, -1); /* no steps, no batch, no anything */
    f.runs[3]->run_id = "bare";
    f.n = 4;
    tell(&f);
    assert_contains(f.rep.headline, "At 4 nodes 34 %"); /* the bare run does not spoil the series of the others */
    for (int i = 0; i < f.rep.n_documents; i++) {
        assert_int_equal(strlen(f.rep.documents[i].bytes), f.rep.documents[i].len);
        assert_lacks(f.rep.documents[i].bytes, "(null)");
        assert_lacks(f.rep.documents[i].bytes, "nan ");
        assert_lacks(f.rep.documents[i].bytes, "nan,");
        assert_lacks(f.rep.documents[i].bytes, "nanx");
        assert_lacks(f.rep.documents[i].bytes, "inf ");
        assert_lacks(f.rep.documents[i].bytes, "-0 ");
    }
    release(&f);
}

static void test_markdown_escapes(void **state)
{
    (void)state;
    struct fixture f = {.n = 1};
    f.runs[0] = made_even_run(2, 64, 40, 70, 15, 9, 3);
    f.runs[0]->nodes[0].host = "<script>|*b*|[x](y)";
    f.runs[0]->program.model = "<img src=x>";
    tell(&f);
    const char *md = document(&f.rep, "BOTTLENECK_ANALYSIS.md")->bytes;
    assert_contains(md, "\\<script\\>\\|\\*b\\*\\|\\[x\\](y)");
    assert_lacks(md, " <script>");
    assert_lacks(md, " <img");
    release(&f);
}

/* The value at a path such as "series.0.points.2.step.mean_ns"; lists by index, runs by slug. NULL when there is none.
 */
static const json_t *at_path(const json_t *root, const char *path)
{
    char step[128];
    while (root && *path) {
        size_t n = strcspn(path, ".");
        snprintf(step, sizeof step, "%.*s", (int)n, path);
        path += n + (path[n] == '.');
        if (!json_is_array(root)) {
            root = json_object_get(root, step);
            continue;
        }
        const json_t *found =
            step[0] >= '0' && step[0] <= '9' && !step[1] ? json_array_get(root, (size_t)strtoul(step, NULL, 10)) : NULL;
        for (size_t i = 0; !found && i < json_array_size(root); i++) {
            const char *slug = json_string_value(json_object_get(json_array_get(root, i), "slug"));
            if (slug && strcmp(slug, step) == 0)
                found = json_array_get(root, i);
        }
        root = found;
    }
    return root;
}

/* report.json is JSON, and its sums are the promised ones. */
static void test_report_json(void **state)
{
    (void)state;
    struct fixture f = strong();
    tell(&f);
    const struct document *d = document(&f.rep, "report.json");
    json_t *root = json_loadb(d->bytes, d->len, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    assert_string_equal(json_string_value(json_object_get(root, "format")), "dcreport-report");
    assert_int_equal(json_integer_value(json_object_get(root, "version")), 1);
    const json_t *runs = json_object_get(root, "runs");
    assert_int_equal(json_array_size(runs), 3);
    for (size_t i = 0; i < 3; i++) {
        json_t *run = json_array_get(runs, i), *part;
        const char *key;
        int64_t sum = 0;
        json_object_foreach(json_object_get(run, "parts_ns"), key, part) sum += json_integer_value(part);
        assert_int_equal(sum, json_integer_value(json_object_get(json_object_get(run, "step"), "mean_ns")));
        json_t *classes = json_object_get(run, "classes");
        assert_int_equal(json_object_size(classes), N_CLASSES);
        assert_true(json_is_null(json_object_get(json_object_get(classes, "memory"), "share_ratio")));
    }
    const json_t *losses = json_object_get(json_array_get(json_object_get(root, "series"), 0), "losses");
    assert_int_equal(json_array_size(losses), 3);
    for (size_t i = 0; i < 3; i++) {
        json_t *loss = json_array_get(losses, i), *part;
        const char *key;
        int64_t sum = 0;
        json_object_foreach(json_object_get(loss, "parts_ns"), key, part) sum += json_integer_value(part);
        assert_int_equal(sum, json_integer_value(json_object_get(loss, "loss_ns")));
    }
    /* every number of a claim is in the tree under its id */
    const json_t *claims = json_object_get(root, "claims");
    assert_true(json_array_size(claims) >= 3);
    for (size_t i = 0; i < json_array_size(claims); i++) {
        const json_t *numbers = json_object_get(json_array_get(claims, i), "numbers");
        assert_true(json_array_size(numbers) > 0);
        for (size_t k = 0; k < json_array_size(numbers); k++) {
            const json_t *number = json_array_get(numbers, k);
            const char *id = json_string_value(json_object_get(number, "id"));
            const json_t *v = at_path(root, id);
            if (!v || !json_is_number(v))
                fail_msg("report.json has no number '%s'", id);
            double want = json_number_value(v), got = json_number_value(json_object_get(number, "value"));
            assert_true(got - want <= 1e-6 * want + 1e-9 && want - got <= 1e-6 * want + 1e-9);
        }
    }
    json_decref(root);
    document(&f.rep, "runs/4node-made-4/profiling_analysis.json");
    document(&f.rep, "runs/4node-made-4/profiling_report.txt");
    document(&f.rep, "bottleneck_summary.txt");
    release(&f);
}

/* The sentence, the table and the summary print the same share and the same time. */
static void test_one_number_one_text(void **state)
{
    (void)state;
    struct fixture f = strong();
    tell(&f);
    const struct run_result *r = &f.rep.runs[2];
    const char *time = fmt_time(r->step.mean_ns).text;
    assert_string_equal(time, "32.0 ms");
    assert_contains(r->headline, "32.0 ms");
    assert_contains(document(&f.rep, "bottleneck_summary.txt")->bytes, "32.0 ms");
    assert_contains(document(&f.rep, "BOTTLENECK_ANALYSIS.md")->bytes, "| 4 | 4 | 1 | 32.0 ms |");
    assert_contains(document(&f.rep, "runs/4node-made-4/profiling_report.txt")->bytes, "mean 32.0 ms");
    release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headline),
        cmocka_unit_test(test_every_claim_is_ready),
        cmocka_unit_test(test_order_of_gain),
        cmocka_unit_test(test_nothing_limits),
        cmocka_unit_test(test_shared_cores),
        cmocka_unit_test(test_other_programs),
        cmocka_unit_test(test_advice_knows_how_gradients_travelled),
        cmocka_unit_test(test_exchange),
        cmocka_unit_test(test_without_steps),
        cmocka_unit_test(test_mpi_without_steps),
        cmocka_unit_test(test_share_with_and_without_waiting),
        cmocka_unit_test(test_share_of_the_median_step),
        cmocka_unit_test(test_titles),
        cmocka_unit_test(test_unnamed_part),
        cmocka_unit_test(test_ranking),
        cmocka_unit_test(test_how_steps_can_be_known),
        cmocka_unit_test(test_neighbours),
        cmocka_unit_test(test_too_few_cores_is_one_story),
        cmocka_unit_test(test_largest_gain_first),
        cmocka_unit_test(test_no_gain_against_a_held_back_reference),
        cmocka_unit_test(test_no_core_left),
        cmocka_unit_test(test_quotas_leave_room),
        cmocka_unit_test(test_slow_rank_limits_scaling),
        cmocka_unit_test(test_scaling_is_good),
        cmocka_unit_test(test_file_writes_limit_scaling),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_labels_by_options),
        cmocka_unit_test(test_labels_by_model),
        cmocka_unit_test(test_what_leads),
        cmocka_unit_test(test_unused_nodes),
        cmocka_unit_test(test_unnamed_steps),
        cmocka_unit_test(test_slurm_on_one_kernel),
        cmocka_unit_test(test_confidence),
        cmocka_unit_test(test_slower_with_more_nodes),
        cmocka_unit_test(test_no_document_shows_what_it_does_not_know),
        cmocka_unit_test(test_markdown_escapes),
        cmocka_unit_test(test_report_json),
        cmocka_unit_test(test_one_number_one_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
