/* test_narrate.c - numbers become sentences: claims, advice, confidence, documents of one run (render/findings); of
 * many runs: test_narrate_runs.c. */
#include "render/read/recorder.h"
#include "render/metrics/cores.h"
#include "render/findings/actions.h"
#include "render/findings/claims.h"
#include "render/findings/exchange.h"
#include "render/findings/run_said.h"
#include "render/findings/stepless.h"
#include "render/model/build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/told.h"

#include <stdlib.h>

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
    assert_int_equal(r->said.headline.id, PHRASE_DATA_LIMITS);
    assert_int_equal(percent_of(&r->said.headline.slot[0]), 35);
    const struct slot *part = assert_supports(&r->said, PHRASE_PART_OF_STEP);
    assert_true(part[0].count == 35 && part[1].count == 100);
    const struct slot *next = assert_supports(&r->said, PHRASE_OTHER_CAUSE);
    assert_string_equal(next[0].name, "communication");
    assert_int_equal(percent_of(&next[1]), 30);
    assert_string_equal(assert_says(r->judged, JUDGED_MAX, PHRASE_LIMITS_TOO)[0].name, "I/O");
    release(&f);
}

/* Kernels that are slower than they could be are a cause like any other. If they are already as good, nothing can be
 * saved. */
static void test_slow_kernels(void **state)
{
    (void)state;
    const double ratios[] = {0.4, 0.99};
    for (int beside = 0; beside < 2; beside++)
        for (int i = 0; i < 2; i++) {
            struct fixture f = {.n = 1};
            f.runs[0] = made_even_run(1, 64, 40, beside ? 65 : 97, 0, beside ? 35 : 3, 0);
            f.runs[0]->program.name = "dcrnn-train";
            f.runs[0]->program.kernels_best = "avx2";
            f.runs[0]->program.kernels_best_ratio = ratios[i];
            tell(&f);
            const struct run_result *r = &f.rep.runs[0];
            assert_int_equal(r->said.headline.id, i == 0    ? PHRASE_KERNELS_LIMIT
                                                  : !beside ? PHRASE_COMPUTE_LIMITS
                                                            : PHRASE_DATA_LIMITS);
            assert_int_equal(percent_of(&r->said.headline.slot[0]), !beside ? 97 : i == 0 ? 65 : 35);
            if (i == 0)
                assert_string_equal(assert_supports(&r->said, PHRASE_KERNELS_BEST)[0].name, "avx2");
            assert_int_equal(f.rep.first.is_first, i == 0 || beside);
            if (i == 0)
                assert_contains(f.rep.first_action, "--kernels=auto");
            const char *text = r->classes[CLASS_COMPUTE].text; /* the latter where memory is not judged */
            assert_int_equal(strstr(text, "compute-bound") || strstr(text, "Compute limits the run"), !beside);
            assert_int_equal(r->n_claims, beside && i == 0 ? 2 : 1);
            release(&f);
        }
}

static void test_nothing_limits(void **state)
{
    (void)state;
    struct fixture f = {.n = 1};
    f.runs[0] = made_even_run(2, 64, 40, 79, 9, 9, 3);
    tell(&f);
    assert_int_equal(f.rep.runs[0].n_claims, 0);
    assert_int_equal(f.rep.runs[0].said.headline.id, PHRASE_NOTHING_LIMITS);
    assert_int_equal(percent_of(&f.rep.runs[0].said.headline.slot[0]), 79);
    const struct slot *next = assert_supports(&f.rep.runs[0].said, PHRASE_NEXT_LIMIT);
    assert_string_equal(next[0].name, "transfer");
    assert_int_equal(percent_of(&next[1]), 9);
    assert_int_equal(percent_of(&next[2]), 20);
    release(&f);
    f.runs[0] = made_even_run(2, 64, 40, 790, 75, 99, 36); /* a class far from its threshold is not the next limit */
    tell(&f);
    assert_int_equal(f.rep.runs[0].n_claims, 0);
    assert_true(is_said(&f.rep.runs[0].said, PHRASE_NOTHING_NEAR));
    release(&f);
}

/* The advice on communication depends on what the run already does about it. */
static void test_advice_knows_how_gradients_travelled(void **state)
{
    (void)state;
    struct run_result r = {.run = run_new("x.tar")};
    struct report rep = {0};
    struct run_program *p = &((struct run *)r.run)->program;
    p->name = "dcrnn-train";
    assert_int_equal(action_for(&rep, &r, CLASS_COMMUNICATION).id, ADVICE_BF16);
    assert_contains(action_for(&rep, &r, CLASS_COMMUNICATION).ours, "--allreduce-dtype=bf16");
    p->allreduce_is_overlapped = 0;
    assert_int_equal(action_for(&rep, &r, CLASS_COMMUNICATION).id, ADVICE_OVERLAP);
    p->allreduce_is_overlapped = 1;
    p->allreduce_dtype = "bf16";
    assert_int_equal(action_for(&rep, &r, CLASS_COMMUNICATION).id, ADVICE_FEWER_RANKS);
    assert_null(strstr(action_for(&rep, &r, CLASS_COMMUNICATION).ours, "bf16"));
    r.n_ranks = r.n_nodes = 2; /* fewer ranks would be fewer nodes */
    assert_int_equal(action_for(&rep, &r, CLASS_COMMUNICATION).id, ADVICE_LARGER_BATCH);
    p->name = "another";
    assert_string_equal(action_for(&rep, &r, CLASS_COMMUNICATION).ours, "");
    report_free(&rep);
    run_free((struct run *)r.run);
}

/* Small messages are joined by the kind of their call: messages of two ranks, collectives, barriers, PyTorch's. */
static void test_small_messages(void **state)
{
    (void)state;
    static const struct {
        const char *call, *words;
        enum advice id;
        uint64_t bytes;
    } cases[] = {
        {"MPI_Sendrecv", "(MPI_Isend, MPI_Irecv)", ADVICE_SMALL_MESSAGES, 8000},
        {"MPI_Allreduce",
         "Call MPI_Allreduce less often, or join several values into one call. Overlap what remains with computing "
         "(MPI_Iallreduce)",
         ADVICE_FEWER_COLLECTIVES, 8000},
        {"MPI_Bcast", "(MPI_Ibcast)", ADVICE_FEWER_COLLECTIVES, 8000},
        {"MPI_Barrier", "Leave out each MPI_Barrier", ADVICE_FEWER_BARRIERS, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct report rep = {0};
        struct run *a = run_new("x.tar");
        struct run_result r = {.run = a, .n_ranks = 2, .n_steps = 5, .has_steps = 1};
        struct run_mpi_call call = {cases[i].call, {1000, cases[i].bytes, 100000000, 0}};
        const char *command = "./heat";
        a->command = &command;
        a->n_command = 1; /* PyTorch is started otherwise */
        a->mpi_calls = &call;
        a->n_mpi_calls = 1;
        const struct action advice = action_for(&rep, &r, CLASS_COMMUNICATION);
        assert_int_equal(advice.id, cases[i].id);
        assert_contains(advice.generic, cases[i].words);
        report_free(&rep);
        run_free(a);
    }
}

/* CPUs that exchange by Gloo are not told to cast gradients. Names of networks are for several hosts. */
static void test_exchange_of_cpus(void **state)
{
    (void)state;
    static const struct {
        int n_nodes, n_gpus;
        enum advice id;
    } cases[] = {{1, 0, ADVICE_COMMUNICATION_OF_CPUS_ON_HOST},
                 {2, 0, ADVICE_COMMUNICATION_OF_CPUS},
                 {1, 1, ADVICE_COMMUNICATION_ON_HOST}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct report rep = {0};
        struct run *a = made_even_run(2, 64, 40, 50, 50, 0, 0);
        struct phase_result phase = {.name = "all_reduce", .category = CAT_COMM, .spread = {.mean_ns = 50}};
        struct run_result r = {.run = a, .n_ranks = 2, .has_steps = 1, .phases = &phase, .n_phases = 1};
        a->program.name = "another";
        a->node_kind = NODES_MACHINES;
        for (int k = 0; k < 2; k++)
            run_rank_at(a, k)->is_by_hook = 1;
        a->nodes[0].n_gpus = cases[i].n_gpus;
        a->nodes_len = cases[i].n_nodes;
        const struct action advice = action_for(&rep, &r, CLASS_COMMUNICATION);
        assert_int_equal(advice.id, cases[i].id);
        assert_int_equal(strstr(advice.generic, "compress_hook") != NULL, cases[i].n_gpus);
        assert_int_equal(strstr(advice.generic, "GLOO_SOCKET_IFNAME") != NULL, cases[i].n_nodes == 2);
        r.accumulation.micro_batches = 2;
        assert_int_equal(action_for(&rep, &r, CLASS_COMMUNICATION).id, ADVICE_LAST_MICRO_BATCH);
        report_free(&rep);
        run_free(a);
    }
}

/* The collective with the most time is named, from any source, and decides the advice. */
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
    struct report rep = {0};
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
    assert_int_equal(action_for(&rep, &r, CLASS_COMMUNICATION).id, ADVICE_ALL_TO_ALL);
    struct phase_result phase = {.name = "ncclAllGather", .category = CAT_COMM, .spread = {.mean_ns = 5}};
    r.phases = &phase;
    r.n_phases = 1; /* in steps: closer to the step than calls of the whole run */
    assert_int_equal(exchange_of(&r).kind, EXCHANGE_ALL_GATHER);
    assert_int_equal(action_for(&rep, &r, CLASS_COMMUNICATION).id, ADVICE_ALL_GATHER);
    phase.name = "all_reduce"; /* of a step of several micro-batches */
    r.accumulation.micro_batches = 4;
    assert_int_equal(action_for(&rep, &r, CLASS_COMMUNICATION).id, ADVICE_LAST_MICRO_BATCH);
    phase.name = "ncclAllGather";
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
    report_free(&rep);
    run_free(a);
}

/* Without steps there is no statement about steps. */
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
    assert_int_equal(f.rep.runs[0].shared.said.id, PHRASE_CORE_AWAITED_IN_RUN);
    assert_int_equal(percent_of(f.rep.runs[0].shared.said.slot), 80);
    const struct said *said = &f.rep.runs[0].said;
    assert_finds(said, PHRASE_RUN_SHARES_CORES);
    assert_true(assert_supports(said, PHRASE_MPI_SHARE)[0].real == 0.25);
    const struct slot *largest = assert_supports(said, PHRASE_MPI_LARGEST);
    assert_string_equal(largest[0].name, "MPI_Allreduce");
    assert_true(largest[1].real == 1);
    release(&f);
    struct fixture g = {.n = 1}; /* 10 % without a core explain at most half of 25 % in MPI */
    a = g.runs[0] = made_run(2, 64);
    a->mpi_calls = calls;
    a->n_mpi_calls = 2;
    for (int k = 0; k < 2; k++)
        a->ranks[k].run_delay_ns = 1000000000, a->ranks[k].process_seconds = 10;
    tell(&g);
    assert_finds(&g.rep.runs[0].said, PHRASE_MPI_SHARE);
    assert_supports(&g.rep.runs[0].said, PHRASE_RUN_SHARES_CORES);
    release(&g);
}

/* Little time in MPI: the code outside of it is the subject, and if the ranks do not compute, what they wait for. */
static void test_little_time_in_mpi(void **state)
{
    (void)state;
    static const struct {
        int64_t mpi_ns, cpu_ns; /* of each of two ranks, in 10 s */
        int advice, is_at_rest;
    } c[] = {{200000000, 9000000000, ADVICE_OUTSIDE_MPI, 0},
             {200000000, 2000000000, ADVICE_FIND_WAITS, 1},
             {200000000, -1, ADVICE_OUTSIDE_MPI, 0}, /* not sampled */
             {7000000000, 2000000000, ADVICE_NOTHING_MPI, 0}};
    static const char *command[] = {"./solver"};
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct run_mpi_call calls[] = {{"MPI_Barrier", {9, 0, 2 * (uint64_t)c[i].mpi_ns, 0}}};
        struct fixture f = {.n = 1};
        struct run *a = f.runs[0] = made_run(2, 64);
        a->mpi_calls = calls;
        a->n_mpi_calls = 1;
        a->collector_version = "0.1.0";
        a->command = command;
        a->n_command = 1;
        for (int k = 0; k < 2; k++) {
            a->ranks[k].process_seconds = 10;
            a->ranks[k].mpi_ns = c[i].mpi_ns;
            a->ranks[k].cpu_ns = c[i].cpu_ns;
        }
        tell(&f);
        assert_int_equal(is_mostly_at_rest(a), c[i].is_at_rest);
        assert_finds(&f.rep.runs[0].said, PHRASE_MPI_SHARE);
        assert_int_equal(is_said(&f.rep.runs[0].said, PHRASE_RANKS_REST), c[i].is_at_rest);
        assert_int_equal(f.rep.runs[0].advised.id, c[i].advice);
        release(&f);
    }
}

/* Waiting for work in no known phase is no sign of unequal shares, unless no compute is named at all. */
static void test_late_in_no_phase(void **state)
{
    (void)state;
    for (int is_named = 0; is_named < 3; is_named++) { /* 2: and the late rank writes */
        struct fixture f = {.n = 1};
        f.runs[0] = made_run(2, 64);
        for (int i = 0; i < 2 && is_named == 2; i++) {
            run_rank_at(f.runs[0], i)->io[DCT_IO_READ_CALLS] = 9;
            run_rank_at(f.runs[0], i)->io[DCT_IO_WRITE_CHARS] = i == 0 ? 50000000 : 0;
        }
        for (int s = 0; s < 40; s++)
            for (int i = 0; i < 2; i++) {
                int64_t own = i == 0 ? 20000000 : 0;
                const int64_t part[N_CATEGORIES] = {[CAT_COMPUTE] = is_named ? 30000000 : 0,
                                                    [CAT_OTHER] = own + (is_named ? 0 : 30000000),
                                                    [CAT_COMM] = 20100000 - own};
                made_step(f.runs[0], run_rank_at(f.runs[0], i), part);
            }
        tell(&f);
        assert_int_equal(f.rep.runs[0].classes[CLASS_IMBALANCE].verdict, VERDICT_LIMITS);
        enum advice advice = action_for(&f.rep, &f.rep.runs[0], CLASS_IMBALANCE).id;
        assert_int_equal(advice == ADVICE_LATE_UNNAMED, is_named == 1);
        assert_int_equal(advice == ADVICE_LATE_WRITES, is_named == 2);
        assert_true(f.rep.runs[0].late_written == (is_named == 2 ? 50000000 : 0));
        release(&f);
    }
}

/* A late rank that writes much more than the others: its output may be in calls that are not recorded. */
static void test_late_rank_writes(void **state)
{
    (void)state;
    static const struct {
        int64_t late, other; /* bytes written */
        int is_named;
    } c[] = {{50000000, 1000000, 1}, {50000000, 40000000, 0}, {5000000, 0, 0}};
    for (size_t i = 0; i < sizeof c / sizeof *c; i++)
        for (int is_recorded = 0; is_recorded < 2; is_recorded++) {
            struct run_mpi_call calls[] = {{"MPI_Allreduce", {9, 0, 4400000000, 0}}};
            struct fixture f = {.n = 1};
            struct run *a = f.runs[0] = late_of_two(calls, 0);
            for (int k = 0; k < 2; k++) {
                a->ranks[k].io[DCT_IO_READ_CALLS] = is_recorded ? 9 : 0;
                a->ranks[k].io[DCT_IO_WRITE_CHARS] = k == 1 ? c[i].late : c[i].other;
            }
            tell(&f);
            int is_named = c[i].is_named && is_recorded;
            assert_true(f.rep.runs[0].late_written == (is_named ? c[i].late - c[i].other : 0));
            assert_int_equal(is_said(&f.rep.runs[0].said, PHRASE_LATE_WRITES), is_named);
            assert_int_equal(f.rep.claims[0].action.id, is_named ? ADVICE_LATE_WRITES : ADVICE_BALANCE_MPI);
            release(&f);
        }
}

/* Ranks 0 and 2 wait 3.6 s in MPI for rank 1, in a run of 10 s without steps. */
static struct run *late_of_three(struct run_mpi_call *calls)
{
    struct run *a = made_run(3, 64);
    a->mpi_calls = calls;
    a->n_mpi_calls = 1;
    a->collector_version = "0.1.0";
    for (int k = 0; k < 3; k++) {
        a->ranks[k].process_seconds = 10;
        a->ranks[k].mpi_ns = k == 1 ? 400000000 : 4000000000;
    }
    return a;
}

/* Calls on files explain the late rank if they take more than the others' mean by at least half of the waiting, and no
 * more than the run lasted. */
static void test_late_in_files(void **state)
{
    (void)state;
    static const int64_t of_late[] = {2200000000, 2400000000, 11000000000};
    for (int i = 0; i < 3; i++) {
        struct run_mpi_call calls[] = {{"MPI_Allreduce", {9, 0, 8400000000, 0}}};
        struct fixture f = {.n = 1};
        f.runs[0] = late_of_three(calls);
        f.runs[0]->ranks[0].file_ns = 1000000000; /* a mean of 0.5 s on ranks 0 and 2 */
        f.runs[0]->ranks[1].file_ns = of_late[i];
        tell(&f);
        assert_true(f.rep.runs[0].late_file_ns == (i == 1 ? 2400000000 : 0));
        if (i == 1)
            assert_int_equal(assert_supports(&f.rep.runs[0].said, PHRASE_LATE_IN_FILES)[0].count, 1);
        release(&f);
    }
}

/* The late rank is 2.2 s in MPI too, and the others wait 1.8 s for it. If that call moves data, it is the larger cost:
 * by its data, or by its number of calls if they move little. */
static void test_transfer_before_late(void **state)
{
    (void)state;
    static const uint64_t bytes[] = {0, 1 << 30, 9 * 8192};
    static const char *command[] = {"./solver"}; /* no training, so steps are not what it lacks */
    for (int moves = 0; moves < 3; moves++) {
        struct run_mpi_call calls[] = {{"MPI_Alltoall", {.n = 9, .ns = 10200000000, .bytes = bytes[moves]}}};
        struct fixture f = {.n = 1};
        f.runs[0] = late_of_three(calls);
        f.runs[0]->ranks[1].mpi_ns = 2200000000;
        f.runs[0]->command = command;
        f.runs[0]->n_command = 1;
        tell(&f);
        assert_int_equal(f.rep.n_claims, moves == 0);
        assert_finds(&f.rep.runs[0].said, moves ? PHRASE_MPI_SHARE : PHRASE_LATE_ONE);
        if (moves)
            assert_int_equal(f.rep.runs[0].advised.id, moves == 1 ? ADVICE_MPI_TRANSFER : ADVICE_MPI_MESSAGES);
        release(&f);
    }
}

/* A rank has a serial part if it works before a collective while the others have no work there. The report then does
 * not advise equal parts. Before a barrier it does not advise calls that do not block either. */
static void test_serial_part(void **state)
{
    (void)state;
    static const char *const names[] = {"MPI_Bcast", "MPI_Barrier"};
    for (int i = 0; i < 4; i++) {
        int n = 2 + i / 2, is_barrier = i % 2;
        struct run_mpi_call calls[] = {{names[is_barrier], {9, 0, 8400000000, 0}}};
        struct fixture f = {.n = 1};
        struct run *a = f.runs[0] = n == 2 ? late_of_two(calls, 0) : late_of_three(calls);
        for (int k = 0; k < n; k++)
            run_observe_before(
                a, &a->ranks[k],
                &(struct run_rank_call){names[is_barrier], 9, a->ranks[k].mpi_ns, k == 1 ? 3500000000 : 1000});
        tell(&f);
        const struct said *said = &f.rep.runs[0].said;
        assert_finds(said, n == 2 ? PHRASE_LATE_ALONE_OF_TWO : PHRASE_LATE_ALONE);
        assert_int_equal(said->headline.slot[0].count, 1);
        assert_true(said->headline.slot[1].real == 0.35);
        assert_string_equal(assert_supports(said, PHRASE_ALONE_BEFORE)[1].name, names[is_barrier]);
        assert_int_equal(f.rep.claims[0].action.id, is_barrier ? ADVICE_ALONE_BARRIER : ADVICE_ALONE_MPI);
        release(&f);
    }
}

/* The report says for which share of a step a rank works alone. This is the rank's own work, not the mean waiting. A
 * run without steps and a series say the same number. */
static void test_serial_part_in_steps(void **state)
{
    (void)state;
    for (int n = 2; n <= 3; n++) {
        struct fixture f = {.n = 2};
        f.runs[0] = made_even_run(1, 64, 40, 80000000, 0, 0, 0);
        f.runs[1] = made_run(n, 64);
        for (int s = 0; s < 40; s++)
            for (int k = 0; k < n; k++) {
                int64_t compute = k == 1 ? 60000000 : 0;
                const int64_t part[N_CATEGORIES] = {[CAT_COMPUTE] = compute, [CAT_COMM] = 80000000 - compute};
                made_step(f.runs[1], run_rank_at(f.runs[1], k), part);
            }
        for (int k = 0; k < n; k++) { /* a barrier before the first step does not count, however long it took */
            run_observe_before(
                f.runs[1], &f.runs[1]->ranks[k],
                &(struct run_rank_call){n == 2 ? "MPI_Barrier" : "MPI_Bcast", 40, k == 1 ? 1000 : 800000, 0});
            if (n == 3)
                run_observe_before(f.runs[1], &f.runs[1]->ranks[k],
                                   &(struct run_rank_call){"MPI_Barrier", 1, k == 1 ? 1000 : 90000000, 0});
        }
        tell(&f);
        assert_int_equal(f.rep.claims[f.rep.runs[1].claims[0]].action.id, n == 2 ? ADVICE_ALONE_BARRIER : ADVICE_ALONE);
        assert_contains(f.rep.first_action, "With the serial part spread over all ranks");
        const struct said *said = &f.rep.runs[1].said;
        assert_finds(said, n == 2 ? PHRASE_LATE_ALONE_OF_TWO : PHRASE_LATE_ALONE);
        assert_int_equal(said->headline.slot[0].count, 1);
        assert_int_equal(percent_of(&said->headline.slot[1]), 75);
        assert_string_equal(said->headline.slot[2].name, "a step");
        const struct slot *waiting = assert_supports(said, PHRASE_ALONE_CAUSES);
        assert_int_equal(percent_of(&waiting[2]), n == 2 ? 38 : 50);
        said = &f.rep.series[0].said;
        assert_finds(said, PHRASE_SCALING_SERIAL);
        assert_int_equal(percent_of(&said->headline.slot[1]), 75);
        release(&f);
    }
}

/* Without any named step it shows which rank the others wait for, and that is the claim. */
static void test_mpi_without_steps(void **state)
{
    (void)state;
    struct fixture f = {.n = 1};
    struct run_mpi_call calls[] = {{"MPI_Allreduce", {9, 0, 8400000000, 0}}};
    f.runs[0] = late_of_three(calls);
    tell(&f);
    assert_int_equal(f.rep.n_claims, 1);
    assert_int_equal(f.rep.claims[0].cls, CLASS_IMBALANCE);
    assert_int_equal(f.rep.claims[0].confidence, CONFIDENCE_MEDIUM);
    assert_finds(&f.rep.runs[0].said, PHRASE_LATE_ONE);
    assert_finds(&f.rep.claims[0].said, PHRASE_LATE_ONE);
    assert_int_equal(f.rep.claims[0].said.headline.slot[0].count, 1);
    assert_true(f.rep.claims[0].said.headline.slot[1].real == 0.36);
    const struct slot *s = assert_supports(&f.rep.runs[0].said, PHRASE_LATE_WAITED);
    assert_true(s[0].count == 3600000000 && s[1].count == 10000000000);
    s = assert_supports(&f.rep.runs[0].said, PHRASE_LATE_IN_MPI);
    assert_true(s[0].count == 400000000 && s[1].count == 4000000000);
    assert_int_equal(f.rep.claims[0].action.id, ADVICE_BALANCE_MPI);
    assert_contains(f.rep.first_action, f.rep.steps_action); /* it may be a training */
    release(&f);
    struct fixture g = {.n = 1};
    g.runs[0] = late_of_two(calls, 0);
    tell(&g);
    assert_finds(&g.rep.runs[0].said, PHRASE_LATE_OF_TWO);
    assert_int_equal(g.rep.runs[0].said.headline.slot[0].count, 0);
    assert_int_equal(g.rep.runs[0].said.headline.slot[1].count, 1);
    assert_true(g.rep.runs[0].said.headline.slot[2].real == 0.36);
    assert_supports(&g.rep.runs[0].said, PHRASE_LATE_IN_MPI_OF_TWO);
    release(&g);
    struct fixture h = {.n = 1}; /* ranks that wait for a core wait in MPI too: that is reported, and no rank is
                                  * blamed */
    h.runs[0] = late_of_two(calls, 3200000000);
    tell(&h);
    assert_finds(&h.rep.runs[0].said, PHRASE_RUN_SHARES_CORES);
    assert_supports(&h.rep.runs[0].said, PHRASE_CORES_DOUBT);
    assert_supports(&h.rep.runs[0].said, PHRASE_LATE_OF_TWO);
    assert_int_equal(h.rep.n_claims, 1);
    assert_int_equal(h.rep.claims[0].cls, CLASS_SHARED);
    assert_int_equal(h.rep.claims[0].action.id, ADVICE_IDLE_CORES);
    assert_int_equal(h.rep.first_claim, 0);
    release(&h);
    struct fixture i = {.n = 1}; /* but waiting for cores for 10 % of the time does not explain waits of 36 % */
    i.runs[0] = late_of_two(calls, 1000000000);
    tell(&i);
    assert_int_equal(i.rep.n_claims, 2);
    assert_int_equal(i.rep.claims[0].cls, CLASS_IMBALANCE);
    assert_int_equal(i.rep.claims[1].cls, CLASS_SHARED);
    assert_finds(&i.rep.runs[0].said, PHRASE_LATE_OF_TWO);
    assert_supports(&i.rep.runs[0].said, PHRASE_RUN_SHARES_CORES);
    release(&i);
}

/* Calls on files are a cause without any named step, like waiting in MPI; the larger of the two comes first. */
static void test_files_without_steps(void **state)
{
    (void)state;
    struct run_mpi_call calls[] = {{"MPI_Allreduce", {9, 0, 4400000000, 0}}};
    struct run_file files[] = {
        {"/d/big", {[DCT_IO_WRITE] = {15, 0, 3000000000, 0}, [DCT_IO_OTHER] = {15, 0, 5600000000, 0}}}};
    for (int with_late = 0; with_late < 3; with_late++) { /* 2: and more ranks than cores */
        struct fixture f = {.n = 1};
        struct run *a = f.runs[0] = made_run(2, 64);
        a->collector_version = "0.1.0";
        a->files = files;
        a->n_files = 1;
        a->mpi_calls = calls;
        a->n_mpi_calls = with_late > 0;
        for (int k = 0; k < 2; k++) {
            a->ranks[k].process_seconds = 10;
            a->ranks[k].mpi_ns = !with_late ? 0 : k == 1 ? 400000000 : 4000000000;
            a->ranks[k].run_delay_ns = with_late == 2 ? 3200000000 : 0;
        }
        tell(&f);
        const struct claim *c = f.rep.claims;
        const struct said *said = &f.rep.runs[0].said;
        const struct claim *files_claim = &c[with_late == 2];
        assert_int_equal(f.rep.n_claims, 1 + (with_late > 0));
        assert_finds(&files_claim->said, PHRASE_FILES_SHARE);
        assert_true(files_claim->said.headline.slot[0].real == 0.43);
        assert_int_equal(files_claim->cls, CLASS_IO);
        assert_int_equal(files_claim->action.id, ADVICE_SYNC_LESS);
        assert_int_equal(assert_supports(&files_claim->said, PHRASE_FILES_OTHER)[0].real * 1000, 651);
        assert_string_equal(assert_supports(&files_claim->said, PHRASE_FILES_IN_ONE)[0].name, "big");
        const struct slot *times = assert_supports(&files_claim->said, PHRASE_FILES_TIMES);
        assert_true(times[0].count == 8600000000 && times[1].count == 20000000000);
        if (with_late == 2) {
            assert_finds(said, PHRASE_RUN_SHARES_CORES);
            assert_int_equal(c[0].cls, CLASS_SHARED);
            assert_int_equal(c[0].action.id, ADVICE_IDLE_CORES);
            assert_supports(said, PHRASE_FILES_SHARE);
            assert_supports(said, PHRASE_LATE_OF_TWO);
        } else {
            assert_finds(said, PHRASE_FILES_SHARE);
            assert_int_equal(c[0].confidence, CONFIDENCE_MEDIUM);
        }
        if (with_late == 1) {
            assert_int_equal(c[1].cls, CLASS_IMBALANCE);
            assert_finds(&c[1].said, PHRASE_LATE_OF_TWO);
        }
        release(&f);
    }
}

/* The share in a sentence is the one of the chart beside it, or both are given. */
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
    assert_int_equal(percent_of(&r->said.headline.slot[0]), 60);
    const struct slot *split = assert_supports(&r->said, PHRASE_LOADING_AND_WAITING);
    assert_true(split[0].count == 30 && split[1].count == 30);
    assert_contains(action_for(&f.rep, r, CLASS_DATA).check, "With the waiting it causes, the share is 60 % now.");
    release(&f);
}

/* One slow step of few dominates the mean, so the other steps are described beside it. */
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
    const struct run_result *r = &f.rep.runs[0];
    assert_int_equal(percent_of(&r->said.headline.slot[0]), 56);
    assert_int_equal(percent_of(&assert_supports(&r->said, PHRASE_SHARE_OF_MEDIAN)[0]), 20);
    assert_int_equal(r->confidence, CONFIDENCE_LOW);
    assert_contains(r->confidence_because, "5 steps were counted");
    release(&f);
}

/* A title states only known facts: a program that does not train is not called a training. */
static void test_titles(void **state)
{
    (void)state;
    static const char *command[] = {"/opt/bin/p", "-x"}, *torch[] = {"/usr/bin/torchrun", "dir/train.py"};
    struct host_operator ranges[] = {{.name = "backward"}};
    static const char *const titles[] = {"p on 1 node", "Training on 1 node", "Run on 1 node", "train.py on 1 node"};
    for (int i = 0; i < 4; i++) {
        struct fixture f = {.n = 1};
        f.runs[0] = made_even_run(1, 64, 40, 80, 0, 0, 0);
        f.runs[0]->program.name = "";
        f.runs[0]->command = i == 3 ? torch : command;
        f.runs[0]->n_command = i == 1 || i == 2 ? 0 : 2;
        f.runs[0]->ranges = (struct host_operators){.list = ranges, .n_names = i & 1, .n = i & 1};
        tell(&f);
        assert_string_equal(f.rep.title, titles[i]);
        release(&f);
    }
}

/* A quarter of the step without a name may hide anything. It is named first, and the work does not count as done. */
static void test_unnamed_part(void **state)
{
    (void)state;
    struct fixture f = {.n = 1};
    f.runs[0] = made_run(1, 64);
    const int64_t part[N_CATEGORIES] = {[CAT_COMPUTE] = 75, [CAT_OTHER] = 25};
    for (int s = 0; s < 40; s++)
        made_step(f.runs[0], run_rank_at(f.runs[0], 0), part);
    tell(&f);
    struct advised rest = advice_for_unnamed(&f.rep.runs[0]);
    assert_int_equal(rest.id, ADVICE_NAME_REST);
    assert_true(rest.slot[0].real == 0.25 && rest.slot[1].count == 25);
    assert_contains(f.rep.first_action, action_for_unnamed(&f.rep, &f.rep.runs[0]));
    assert_lacks(f.rep.first_action, "Nothing needs");
    assert_string_equal(f.rep.confidence, "high");
    assert_int_equal(f.rep.sure[SURE_DOUBT][0].id, PHRASE_NONE);
    release(&f);
    struct fixture g = {.n = 1};
    g.runs[0] = made_run(1, 64);
    const int64_t most[N_CATEGORIES] = {[CAT_COMPUTE] = 85, [CAT_OTHER] = 15};
    for (int s = 0; s < 40; s++)
        made_step(g.runs[0], run_rank_at(g.runs[0], 0), most);
    tell(&g);
    assert_contains(g.rep.first_action, action_for_unnamed(&g.rep, &g.rep.runs[0]));
    assert_true(advice_for_unnamed(&g.rep.runs[0]).slot[0].real == 0.15);
    /* time without a name in which the GPU waits for its host has a cause */
    g.rep.runs[0].classes[CLASS_HOST].share_ns = g.rep.runs[0].part_ns[PART_OTHER];
    assert_contains(action_for_unnamed(&g.rep, &g.rep.runs[0]), "CUDA graphs");
    release(&g);
}

/* Advice for runs without steps that were already watched or traced is to name steps, not to watch again. */
static void test_how_steps_can_be_known(void **state)
{
    (void)state;
    static const struct {
        const char *collector;
        enum foreign_kind trace;
        size_t n_marked;
        enum reason_code why;
        enum advice advice;
        int64_t n_events;
    } c[] = {
        {"", FOREIGN_UNKNOWN, 0, REASON_NO_STEPS, ADVICE_WATCH_NEXT_RUN, 0},
        {"0.1.0", FOREIGN_UNKNOWN, 0, REASON_STEPS_NOT_NAMED, ADVICE_NAME_STEPS, 0},
        {"", FOREIGN_NSYS_SQLITE, 0, REASON_TRACES_WITHOUT_STEPS, ADVICE_MARK_RANGES, 0},
        {"", FOREIGN_KINETO, 0, REASON_TRACES_WITHOUT_STEPS, ADVICE_MARK_STEPS, 0},
        {"", FOREIGN_KINETO, 3, REASON_TRACES_WITHOUT_STEPS, ADVICE_WATCH_NEXT_RUN, 0},
        {"", FOREIGN_KINETO, 0, REASON_TRACES_WITHOUT_STEPS, ADVICE_TRACE_GPU_IF_ANY, 9},
    };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct fixture f = {.n = 1};
        struct foreign_trace trace = {
            .file = "t", .kind = c[i].trace, .steps.n_steps = c[i].n_marked, .n_events = c[i].n_events};
        f.runs[0] = made_run(1, 64);
        f.runs[0]->collector_version = c[i].collector;
        f.runs[0]->traces = &trace;
        f.runs[0]->n_traces = c[i].trace != FOREIGN_UNKNOWN;
        tell(&f);
        assert_int_equal(f.rep.runs[0].steps_why.code, c[i].why);
        const struct run_result *r = &f.rep.runs[0];
        assert_int_equal(r->advised.id, c[i].advice);
        assert_string_equal(r->stepless_advice, advice_words(&f.rep, r->run, &r->advised));
        assert_contains(f.rep.first_action, r->stepless_advice);
        assert_string_equal(f.rep.next_action, r->stepless_advice);
        release(&f);
    }
}

/* A run made by hand may have counts without a table. */
static void test_counts_without_tables(void **state)
{
    (void)state;
    struct fixture f = {.n = 2};
    struct foreign_trace trace = {.file = "t", .kind = FOREIGN_NSYS_SQLITE, .n_devices = 2, .n_events = 9};
    for (int i = 0; i < 2; i++) {
        struct run *r = f.runs[i] = i ? made_even_run(2, 64, 40, 80000000, 0, 0, 0) : made_run(1, 64);
        for (int k = 0; k < r->nodes_len; k++)
            r->nodes[k].n_gpus = r->nodes[k].n_net = r->nodes[k].n_disk = r->nodes[k].n_busy = 3;
        r->n_mpi_calls = r->n_files = r->ranges.n_names = 4;
        r->n_epochs = 5;
        r->traces = &trace;
        r->n_traces = 1;
    }
    tell(&f);
    assert_finds(&f.rep.series[0].said, PHRASE_SCALING_UNKNOWN);
    assert_int_equal(assert_supports(&f.rep.series[0].said, PHRASE_SPEEDUP_UNKNOWN)[0].reason->code,
                     f.rep.series[0].speedup_why.code);
    release(&f);
}

/* Ranges with other names are reported, with names to use; a window that never opened is not the program's fault. */
static void test_why_no_steps(void **state)
{
    (void)state;
    struct host_operator ranges[] = {{.name = "load", .n = 40}, {.name = "train_batch", .n = 80}};
    for (int is_window = 0; is_window < 2; is_window++) {
        struct fixture f = {.n = 1};
        struct run *r = f.runs[0] = made_run(1, 64);
        r->collector_version = "0.1.0";
        if (is_window) {
            r->has_window = 1;
            r->nvtx =
                recorder_of("nothing recorded because the window never opened: the program marked none of the steps "
                            "of --steps 1000:1020");
        } else {
            r->ranges = (struct host_operators){.n = 120, .list = ranges, .n_names = 2};
        }
        tell(&f);
        const struct reason *why = &f.rep.runs[0].steps_why;
        assert_int_equal(why->code, is_window ? REASON_WINDOW_EMPTY : REASON_NO_RANGE_IS_STEP);
        if (is_window)
            assert_string_equal(why->slot[0].name, "the window never opened: the program marked none of the steps of "
                                                   "--steps 1000:1020");
        else
            assert_string_equal(why->slot[1].name, "train_batch");
        assert_int_equal(f.rep.runs[0].advised.id, is_window ? ADVICE_WIDER_WINDOW : ADVICE_RENAME_RANGE);
        release(&f);
    }
}

/* The advice with the largest predicted gain comes first. Measuring again gains nothing, and is in the same
 * sentence. */
static void test_largest_gain_first(void **state)
{
    (void)state;
    struct fixture f = {.n = 1};
    f.runs[0] = made_even_run(1, 64, 40, 40000000, 0, 50000000, 0);
    f.runs[0]->ranks[0].run_delay_ns = 1000000000, f.runs[0]->ranks[0].process_seconds = 10;
    tell(&f);
    assert_int_equal(f.rep.runs[0].said.headline.id, PHRASE_DATA_LIMITS);
    assert_string_equal(assert_says(f.rep.runs[0].judged, JUDGED_MAX, PHRASE_LIMITS_TOO)[0].name, "shared cores");
    assert_int_equal(f.rep.claims[f.rep.runs[0].claims[1]].cls, CLASS_SHARED);
    /* beside an answer about another cause, such as that of a series, both limit */
    const struct said other = {0};
    const struct phrase too = limits_too(&f.rep, &f.rep.runs[0], CLASS_IO, &other);
    assert_string_equal(too.slot[0].name, "data loading and shared cores");
    assert_int_equal(f.rep.claims[f.rep.first_claim].cls, CLASS_DATA);
    assert_null(strstr(f.rep.first_action, "Do first: Measure"));
    assert_contains(f.rep.first_action, "about 40.0 ms instead of 90.0 ms (2.25x, estimate)");
    assert_false(is_said(&f.rep.claims[f.rep.first_claim].said, PHRASE_CORES_LEFT));
    release(&f);
}

/* Four ranks on two cores load for 20 and compute for 10 when undisturbed, else compute for 80. Without loading the
 * cores are free for computing. */
static void test_gain_beyond_its_cause(void **state)
{
    (void)state;
    struct fixture f = {.n = 1};
    struct run *r = f.runs[0] = made_run(4, 64);
    r->node_kind = NODES_EMULATED;
    for (int i = 0; i < 4; i++)
        r->nodes[i].cores_allowed = 2;
    for (int s = 0; s < 40; s++)
        for (int i = 0; i < 4; i++) {
            const int64_t part[N_CATEGORIES] = {
                [CAT_COMPUTE] = s == 0 ? 10 : 80, [CAT_DATA] = 20, [CAT_COMM] = s == 0 ? 80 : 10};
            made_step(r, run_rank_at(r, i), part);
        }
    tell(&f);
    const struct run_result *k = &f.rep.runs[0];
    assert_true(k->gain_ns[CLASS_DATA] > k->classes[CLASS_DATA].share_ns);
    int n_said = 0;
    for (int i = 0; i < k->n_claims; i++)
        n_said += f.rep.claims[k->claims[i]].cls == CLASS_DATA &&
                  is_said(&f.rep.claims[k->claims[i]].said, PHRASE_CORES_LEFT);
    assert_int_equal(n_said, 1);
    release(&f);
}

/* A run that computes on every core gets no advice to use more of them; stand-ins for nodes have no others. */
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
        assert_int_equal(action_for(&f.rep, &f.rep.runs[0], CLASS_COMPUTE).id,
                         cores == 2 ? ADVICE_LARGER_MACHINE : ADVICE_COMPUTE);
        assert_contains(f.rep.first_action, action_for(&f.rep, &f.rep.runs[0], CLASS_COMPUTE).ours);
        release(&f);
    }
}

/* More cores and more nodes are one advice, which is given once for all runs. */
static void test_more_cores_once(void **state)
{
    (void)state;
    struct fixture f = {.n = 2};
    const struct claim *order[64];
    const int all[] = {0, 1};
    for (int i = 0; i < 2; i++) {
        f.runs[i] = made_even_run(i + 1, 64, 40, i ? 50000000 : 100000000, 10000, 0, 0);
        f.runs[i]->node_kind = NODES_EMULATED;
        f.runs[i]->program.threads = 1;
        for (int k = 0; k <= i; k++)
            f.runs[i]->nodes[k].cores = f.runs[i]->nodes[k].cores_allowed = 2;
    }
    tell(&f);
    assert_int_equal(action_for(&f.rep, &f.rep.runs[0], CLASS_COMPUTE).id, ADVICE_COMPUTE);
    assert_int_equal(action_for(&f.rep, &f.rep.runs[1], CLASS_COMPUTE).id, ADVICE_LARGER_MACHINE);
    assert_int_equal(claims_in_order(&f.rep, all, 2, 1, order), 1);
    assert_int_equal(order[0]->run, 1); /* the larger run comes first */
    release(&f);
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
    assert_int_equal(f.rep.runs[0].shared.kind, SHARED_NONE);
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
    assert_int_equal(f.rep.runs[0].shared.kind, SHARED_OVERSUBSCRIBED);
    release(&f);
}

/* Steps without a single named phase: no cause is ruled out, and no missing time is shown as a measured zero. */
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
            assert_true(r->classes[c].why.code != REASON_NONE);
        }
    assert_false(r->pop.has);
    assert_int_equal(r->said.headline.id, PHRASE_UNNAMED_MOST);
    assert_int_equal(percent_of(&r->said.headline.slot[0]), 100);
    assert_int_equal(assert_supports(&r->said, PHRASE_STEP_TIME)[0].count, 30000000);
    release(&f);
}

/* The report gives the share of the cores that other programs took, and the time of a step with and without them. */
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
    for (int i = 0; i < 4; i++) { /* 6.5 of 8 cores busy, up to 6 of them by others: half a core of two */
        r->nodes[i].cores_allowed = 2;
        r->nodes[i].cpu_percent = (struct sampled){.n = 10, .sum = 812.5};
        r->nodes[i].monitor_seconds = 10;
        r->ranks[i].cpu_ns = 0;
    }
    tell(&f);
    assert_int_equal(percent_of(&assert_supports(&f.rep.runs[0].said, PHRASE_OTHER_PROGRAMS)[0]),
                     25); /* 0.5 of 2 cores */
    const struct slot *cores = assert_supports(&f.rep.runs[0].said, PHRASE_CORE_EACH_BESIDE);
    assert_true(cores[0].count > 53300000 && cores[0].count < 53400000);
    assert_int_equal(cores[1].count, 70000000);
    assert_contains(f.rep.first_action, "about 53.3 ms instead of 70.0 ms (1.31x, estimate)");
    release(&f);
}

static void test_confidence(void **state)
{
    (void)state;
    struct report rep = {.thresholds = thresholds_default()};
    struct run *run = made_run(2, 64);
    struct run_result r = {.run = run, .n_counted = 100, .shared = {.because = "", .run_ratio = -1}};
    const char *why;
    assert_int_equal(confidence_of(&rep, &r, (struct interval){1, 0.3, 0.4}, 0.2, &why), CONFIDENCE_HIGH);
    assert_int_equal(confidence_of(&rep, &r, (struct interval){1, 0.15, 0.4}, 0.2, &why), CONFIDENCE_MEDIUM);
    assert_contains(why, "includes the threshold");
    r.n_counted = 10;
    assert_int_equal(confidence_of(&rep, &r, (struct interval){1, 0.3, 0.4}, 0.2, &why), CONFIDENCE_LOW);
    assert_contains(why, "10 steps were counted");
    r.n_counted = 100;
    run->ranks[0].n_dropped = 1;
    assert_int_equal(confidence_of(&rep, &r, (struct interval){1, 0.3, 0.4}, 0.2, &why), CONFIDENCE_LOW);
    run->ranks[0].n_dropped = 0;
    struct note clocks = {.kind = NOTE_CAVEAT, .id = NOTE_CLOCKS};
    rep.runs = &r;
    rep.notes = &clocks;
    rep.n_notes = 1;
    assert_int_equal(confidence_of(&rep, &r, (struct interval){1, 0.3, 0.4}, 0.2, &why), CONFIDENCE_LOW);
    assert_string_equal(why, "a GPU was throttled");
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
    struct run_result of_file = {.run = run};
    run->summary = (struct run_summary){.n_steps = 100, .clock_max_mhz = 1500, .clock_mean_mhz = 1200};
    assert_int_equal(confidence_without_steps(&rep, &of_file, &why), CONFIDENCE_LOW);
    assert_string_equal(why, "the SM clock was 80 % of its highest on average");
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

/* The late rank of a stencil is late by a range whose name is no known phase. The report names it, and the advice is
 * about it. Its messages are no collectives, so it waits least in them. */
static void test_own_range_is_named(void **state)
{
    (void)state;
    struct fixture f = {.n = 1};
    struct run *r = f.runs[0] = made_run(2, 0);
    r->program.name = "heat";
    for (int s = 0; s < 40; s++)
        for (int i = 0; i < 2; i++) {
            const int64_t part[N_CATEGORIES] = {
                [CAT_COMPUTE] = 28000000, [CAT_COMM] = i ? 13000000 : 67000000, [CAT_OTHER] = i ? 55000000 : 1000000};
            made_step(r, run_rank_at(r, i), part);
            run_rank_at(r, i)->steps[s].n_collectives = 0;
        }
    for (int i = 0; i < 2; i++) {
        struct run_rank *k = run_rank_at(r, i);
        k->source = STEPS_TRACE;
        k->bare_step_ns = 40 * 1000000;
        k->own_ranges = dcr_arena_alloc(&r->arena, sizeof *k->own_ranges);
        k->own_ranges[0] = (struct run_own_range){"load_forcing", 40LL * 54000000, 40LL * 54000000};
        k->own_self_ns = i * 40LL * 54000000;
        k->n_own_ranges = i;
    }
    tell(&f);
    const struct run_result *k = &f.rep.runs[0];
    assert_int_equal(assert_supports(&k->said, PHRASE_STRAGGLER_WAITS_LEAST)[0].count, 1);
    const struct slot *waited = assert_supports(&k->said, PHRASE_WAITED_FOR_RANGE);
    assert_true(waited[0].real == 1 && waited[2].count == 1);
    assert_string_equal(waited[1].name, "load_forcing");
    const struct slot *longer = assert_supports(&k->said, PHRASE_LONGER_RANGE);
    assert_true(longer[2].count == 54000000 && longer[3].count == 0);
    const struct action a = action_for(&f.rep, k, CLASS_IMBALANCE);
    assert_int_equal(a.id, ADVICE_LATE_RANGE);
    assert_string_equal(a.generic, "Share the work of 'load_forcing' among the ranks, or make it cheaper");
    assert_string_equal(k->unnamed_range.name, "load_forcing"); /* 27 of 28 on average */
    assert_string_equal(
        action_for_unnamed(&f.rep, k),
        "Rename 'load_forcing' (27.0 ms a step) to the phase it belongs to: data_load, forward, backward, "
        "all_reduce, optimizer or checkpoint");
    release(&f);
}

/* Two ranks are late by turns. Nothing on the page speaks of one late rank then. */
static void test_late_by_turns(void **state)
{
    (void)state;
    struct fixture f = {.n = 1};
    struct run *r = f.runs[0] = made_run(2, 0);
    r->program.name = "heat";
    for (int s = 0; s < 40; s++)
        for (int i = 0; i < 2; i++) {
            const int64_t work = (s + i) % 2 ? 70000000 : 30000000;
            const int64_t part[N_CATEGORIES] = {[CAT_COMPUTE] = work, [CAT_COMM] = 80000000 - work};
            made_step(r, run_rank_at(r, i), part);
        }
    tell(&f);
    const struct run_result *k = &f.rep.runs[0];
    assert_int_equal(k->classes[CLASS_IMBALANCE].verdict, VERDICT_LIMITS);
    const struct action a = action_for(&f.rep, k, CLASS_IMBALANCE);
    assert_int_equal(a.id, ADVICE_UNEVEN_STEPS);
    assert_contains(a.check, "Waiting for other ranks should fall below");
    assert_lacks(document(&f.rep, "BOTTLENECK_ANALYSIS.md")->bytes, "the late rank");
    release(&f);
}

/* If nothing would change, there is no forecast. */
static void test_measured_alike(void **state)
{
    (void)state;
    struct report rep = {0};
    struct claim c = {.cls = CLASS_SHARED, .is_measuring = 1, .step_ns = 20200000};
    c.gain_ns = 10000;
    assert_string_equal(claim_gain_text(&rep, &c), "");
    c.gain_ns = 10200000;
    assert_string_equal(claim_gain_text(&rep, &c), "should bring a step from 20.2 ms to about 10.0 ms (estimate)");
    c.gain_basis = GAIN_BOUND;
    assert_string_equal(claim_gain_text(&rep, &c), "can bring a step from 20.2 ms to 10.0 ms at best");
    c.is_measuring = 0;
    assert_string_equal(claim_gain_text(&rep, &c), "up to 10.2 ms of 20.2 ms a step (2.02x)");
    report_free(&rep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_of_gain),
        cmocka_unit_test(test_slow_kernels),
        cmocka_unit_test(test_nothing_limits),
        cmocka_unit_test(test_other_programs),
        cmocka_unit_test(test_advice_knows_how_gradients_travelled),
        cmocka_unit_test(test_small_messages),
        cmocka_unit_test(test_exchange_of_cpus),
        cmocka_unit_test(test_exchange),
        cmocka_unit_test(test_without_steps),
        cmocka_unit_test(test_little_time_in_mpi),
        cmocka_unit_test(test_late_in_no_phase),
        cmocka_unit_test(test_late_rank_writes),
        cmocka_unit_test(test_late_in_files),
        cmocka_unit_test(test_transfer_before_late),
        cmocka_unit_test(test_serial_part),
        cmocka_unit_test(test_serial_part_in_steps),
        cmocka_unit_test(test_mpi_without_steps),
        cmocka_unit_test(test_files_without_steps),
        cmocka_unit_test(test_share_with_and_without_waiting),
        cmocka_unit_test(test_share_of_the_median_step),
        cmocka_unit_test(test_titles),
        cmocka_unit_test(test_unnamed_part),
        cmocka_unit_test(test_how_steps_can_be_known),
        cmocka_unit_test(test_counts_without_tables),
        cmocka_unit_test(test_why_no_steps),
        cmocka_unit_test(test_largest_gain_first),
        cmocka_unit_test(test_gain_beyond_its_cause),
        cmocka_unit_test(test_no_core_left),
        cmocka_unit_test(test_more_cores_once),
        cmocka_unit_test(test_quotas_leave_room),
        cmocka_unit_test(test_unnamed_steps),
        cmocka_unit_test(test_confidence),
        cmocka_unit_test(test_own_range_is_named),
        cmocka_unit_test(test_late_by_turns),
        cmocka_unit_test(test_measured_alike),
        cmocka_unit_test(test_markdown_escapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
