/* test_cores.c - the use of the cores: ranks that share them or wait for one, and the findings. */
#include "tests/unit/made_rules.h"
#include "render/say/say.h"
#include "render/metrics/cores.h"
#include "render/metrics/gain.h"
#include "render/metrics/rule.h"
#include "render/findings/actions.h"
#include "render/findings/claims.h"
#include "render/findings/narrate.h"

static const struct note *note_of_own_threads(const struct report *rep)
{
    for (int i = 0; i < rep->n_notes; i++)
        if (rep->notes[i].id == NOTE_OWN_THREADS)
            return &rep->notes[i];
    return NULL;
}

/* Waiting for a core before the first step does not count in the steps. */
static void test_start_up_is_left_out(void **state)
{
    (void)state;
    struct run *r = parts(25, 0, 0); /* 40 steps of 100 ns each, from 1000 on */
    struct run_rank *k = run_rank_at(r, 0);
    for (int i = 0; i < 40; i++)
        k->steps[i].start_ns = 1000 + 100 * i;
    struct run_reading delays[] = {{0, {0}, {-1}, -1, -1},
                                   {1000, {900}, {-1}, -1, -1},
                                   {3000, {1000}, {-1}, -1, -1},
                                   {5000, {1100}, {-1}, -1, -1}};
    k->delays = delays;
    k->n_delays = 4;
    k->run_delay_ns = 1100;
    k->process_seconds = 5e-6;
    assert_true(waiting_for_core(r, k) > 0.0499 && waiting_for_core(r, k) < 0.0501); /* 200 of 4000 */
    delays[2].run_delay_ns = 1080;
    k->n_warmup = 20;
    assert_true(waiting_for_core(r, k) > 0.0099 && waiting_for_core(r, k) < 0.0101); /* 20 of the last 2000 */
    k->n_warmup = 0;
    k->delays = &delays[1];
    k->n_delays = 3;
    delays[1].t_ns = 1100; /* a spawned rank is known only when it joins the others */
    assert_true(waiting_for_core(r, k) > 0.0522 && waiting_for_core(r, k) < 0.0525); /* 200 + 180 / 19 of 4000 */
    delays[1].t_ns = 1300;                                                           /* too late */
    assert_true(waiting_for_core(r, k) > 0.2199 && waiting_for_core(r, k) < 0.2201);
    k->n_delays = 0;
    assert_true(waiting_for_core(r, k) > 0.2199 && waiting_for_core(r, k) < 0.2201); /* of the whole run */
    k->run_delay_ns = -1;
    assert_true(waiting_for_core(r, k) < 0);
    run_free(r);
}

/* The first step starts the loader's workers, so it is left out, also where the use of cores is judged. */
static void test_warmup_is_left_out(void **state)
{
    (void)state;
    struct run *r = parts(25, 0, 0), *runs[] = {r};
    for (int i = 0; i < 2; i++) {
        r->ranks[i].steps[0].step_ns += 4900;
        r->ranks[i].steps[0].part_ns[CAT_COMPUTE] += 4900;
    }
    struct report rep = {0};
    struct analyse_options o = made_options();
    assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
    assert_int_equal(rep.runs[0].n_warmup, 1);
    assert_int_equal(r->ranks[0].n_warmup, 1);
    assert_int_equal(r->ranks[1].n_warmup, 1);
    report_free(&rep);
    run_free(r);
}

/* Two ranks on two cores wait for a core for a tenth of their steps. A neighbour caused it if another program ran
 * during the steps, even if it was short in the whole run. The ranks caused it if the program ran before the steps. */
static void test_own_threads_wait(void **state)
{
    (void)state;
    static const struct {
        int64_t own_ns; /* of the 4000 ns of steps; the node is busy all the time */
        int cores, allowed, is_own;
        int64_t delay_ns; /* of each rank */
    } c[] = {{3920, 2, 2, 1, 400},
             {3840, 2, 2, 1, 400},
             {3500, 2, 2, 0, 400},
             {3920, 4, 2, 0, 400} /* may have been on their cores */};
    for (size_t t = 0; t < sizeof c / sizeof *c; t++) {
        struct run *r = parts(25, 0, 0), *runs[] = {r}; /* 40 steps of 100 ns each, from 1000 on */
        struct run_reading busy[] = {{0, {0}, {0}, -1, -1}, {1000, {0}, {1000}, -1, -1}, {5000, {0}, {5000}, -1, -1}},
                           used[] = {{0, {0}, {0}, -1, -1},
                                     {1000, {0}, {0}, -1, -1},
                                     {5000, {c[t].delay_ns}, {c[t].own_ns}, -1, -1}};
        r->nodes_len = 1;
        r->nodes[0].cores = c[t].cores;
        r->nodes[0].cores_allowed = c[t].allowed;
        r->nodes[0].cpu_percent = (struct sampled){.n = 10, .sum = 1000};
        r->nodes[0].monitor_seconds = 5e-6;
        r->nodes[0].busy = busy;
        r->nodes[0].n_busy = 3;
        r->program.loader_workers = 1;
        for (int i = 0; i < 2; i++) {
            struct run_rank *k = run_rank_at(r, i);
            for (int s = 0; s < 40; s++)
                k->steps[s].start_ns = 1000 + 100 * s;
            k->node = 0;
            k->delays = used;
            k->n_delays = 3;
            k->run_delay_ns = c[t].delay_ns;
            k->process_seconds = 5e-6;
            k->cpu_ns = c[t].own_ns;
        }
        struct report rep = {0};
        struct analyse_options o = made_options();
        assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
        const struct run_result *k = &rep.runs[0];
        assert_int_equal(k->shared.kind, c[t].is_own ? SHARED_NONE : SHARED_RUN_DELAY);
        assert_int_equal(k->classes[CLASS_SHARED].verdict, c[t].is_own ? VERDICT_WATCH : VERDICT_LIMITS);
        assert_int_equal(k->classes[CLASS_SHARED].gain_ns > 0, 0);
        if (c[t].is_own) {
            const struct phrase *own = k->shared.own;
            assert_int_equal(own[0].id, PHRASE_THREADS_WAITED);
            assert_string_equal(fmt_percent(own[0].slot[0].real).text, "10 %");
            assert_int_equal(own[1].id, t ? PHRASE_FOR_OTHERS_TOO : PHRASE_FOR_EACH_OTHER);
            assert_string_equal(fmt_percent(own[1].slot[0].real).text, t ? "4.0 %" : "2.0 %");
            assert_int_equal(own[2].id, PHRASE_WORKERS_SHARE);
            assert_int_equal(own[2].slot[3].count, 2);
            assert_int_equal(action_for(&rep, k, CLASS_DATA).id, t ? ADVICE_DATA : ADVICE_DATA_WITHOUT_CORES);
        } else {
            assert_int_equal(k->shared.own[0].id, PHRASE_NONE);
            assert_int_equal(action_for(&rep, k, CLASS_DATA).id, ADVICE_DATA);
        }
        /* What needs no cores comes first. */
        const char *advice = action_for(&rep, k, CLASS_DATA).generic;
        assert_ptr_equal(strstr(advice, "Make the data set's own code"), advice);
        report_free(&rep);
        run_free(r);
    }
    /* 1.95 cores used and twice 0.3 waited for: with 2.55 cores a step takes at least 2 / 2.55 of the time */
    struct run_reading waits[] = {{0, {0}, {0}, -1, -1}, {1000, {0}, {0}, -1, -1}, {5000, {1200}, {3900}, -1, -1}};
    struct run *r = parts(25, 0, 0), *runs[] = {r};
    for (int i = 0; i < 2; i++) {
        struct run_rank *k = run_rank_at(r, i);
        for (int s = 0; s < 40; s++)
            k->steps[s].start_ns = 1000 + 100 * s;
        k->delays = waits;
        k->n_delays = 3;
        k->steps[20].step_ns -= 40; /* so short can all be with a core for each thread */
        k->steps[20].part_ns[CAT_COMPUTE] -= 40;
        k->run_delay_ns = 1200;
        k->cpu_ns = 3900;
        k->process_seconds = 5e-6;
    }
    struct others o = {.cores = 2, .own = 1.95, .waiting = 0.6};
    assert_true(cores_missing(&o) > 1 - 2 / 2.55 - 1e-9 && cores_missing(&o) < 1 - 2 / 2.55 + 1e-9);
    o.cores = 3;
    assert_true(cores_missing(&o) <= 0);
    struct run_reading busy[] = {{0, {0}, {0}, -1, -1}, {1000, {0}, {1000}, -1, -1}, {5000, {0}, {5000}, -1, -1}};
    for (int i = 0; i < 2; i++) { /* a core each, on two nodes */
        r->nodes[i].cores = r->nodes[i].cores_allowed = 1;
        r->nodes[i].cpu_percent = (struct sampled){.n = 10, .sum = 1000};
        r->nodes[i].monitor_seconds = 5e-6;
        r->nodes[i].busy = busy;
        r->nodes[i].n_busy = 3;
    }
    static const struct {
        int is_torch, n_processes;
        int64_t delay_ns;    /* of each rank */
        const char *threads; /* OMP_NUM_THREADS */
        enum advice advice;
        enum phrase_id headline, remedy;
        int has_gain;
    } programs[] = {
        {0, 1, 1200, "1", ADVICE_CORE_FOR_HELPERS, PHRASE_OWN_THREADS_WAIT, PHRASE_HELPERS_FEWER, 1},
        {0, 1, 4000, "2", ADVICE_FEWER_THREADS, PHRASE_OWN_THREADS_WAIT, PHRASE_THREADS_FEWER, 0},
        {1, 3, 1200, "1", ADVICE_FEWER_WORKERS, PHRASE_OWN_THREADS_WAIT, PHRASE_LOADERS_FEWER, 0},
        {1, 1, 1200, "1", ADVICE_CORE_FOR_EXCHANGE, PHRASE_EXCHANGE_THREADS_WAIT, PHRASE_HELPERS_FEWER, 0},
        {1, 1, 1200, "2", ADVICE_CORE_FOR_EXCHANGE, PHRASE_OWN_THREADS_WAIT, PHRASE_HELPERS_FEWER,
         0}, /* communication limits */
        {1, 1, 4000, "2", ADVICE_FEWER_THREADS, PHRASE_OWN_THREADS_WAIT, PHRASE_THREADS_FEWER, 0},
        {1, 1, 4000, "", ADVICE_FEWER_THREADS, PHRASE_OWN_THREADS_WAIT, PHRASE_THREADS_FEWER, 0},
        {1, 1, 4000, "1", ADVICE_CORE_FOR_EXCHANGE, PHRASE_EXCHANGE_THREADS_WAIT, PHRASE_HELPERS_FEWER, 0},
    };
    r->program.threads = 0;
    r->program.name = "train";
    for (size_t t = 0; t < sizeof programs / sizeof *programs; t++) {
        for (int i = 0; i < 2; i++) {
            run_rank_at(r, i)->is_by_hook = programs[t].is_torch;
            run_rank_at(r, i)->most_processes = programs[t].n_processes;
            run_rank_at(r, i)->run_delay_ns = waits[2].run_delay_ns = programs[t].delay_ns;
        }
        struct run_pair setting = {"OMP_NUM_THREADS", programs[t].threads};
        r->environment = &setting;
        r->n_environment = 1;
        struct report rep = {0};
        struct analyse_options options = made_options();
        assert_int_equal(analyse(&rep, runs, 1, &options, NULL), 0);
        assert_int_equal(rep.runs[0].shared.kind, SHARED_OWN_THREADS);
        assert_int_equal(rep.runs[0].shared.said.id, programs[t].headline);
        assert_int_equal(note_of_own_threads(&rep)->said[2].id, programs[t].remedy);
        assert_int_equal(rep.runs[0].classes[CLASS_SHARED].verdict, VERDICT_LIMITS);
        assert_int_equal(action_for(&rep, &rep.runs[0], CLASS_SHARED).id, programs[t].advice);
        narrate(&rep);
        for (int i = 0; i < rep.n_claims; i++) /* what more cores save is no gain of fewer threads */
            if (rep.claims[i].cls == CLASS_SHARED) {
                assert_int_equal(rep.claims[i].has_gain, programs[t].has_gain);
                assert_int_equal(*rep.claims[i].gain_text != '\0', programs[t].has_gain);
            }
        report_free(&rep);
    }
    r->environment = NULL;
    r->n_environment = 0;
    run_free(r);
}

/* Ranks on nodes of `cores` cores, 4000 ns of steps: use and waiting of each rank in thousandths of a core, and the
 * number of cores that another program took on node `of`. */
static struct run *waiting_run(int n_nodes, int n_ranks, int cores, const int (*milli)[2], int of, double taken)
{
    static struct run_reading used[64][3], busy[64][3];
    struct run *r = made_run(n_nodes, 64);
    const int64_t part[N_CATEGORIES] = {[CAT_COMPUTE] = 100};
    for (int i = 0; i < n_nodes; i++) {
        double all = i == of ? taken : 0;
        struct run_node *n = run_node_at(r, i);
        for (int k = 0; k < n_ranks; k++)
            all += k % n_nodes == i ? milli[k][0] / 1000.0 : 0;
        n->cores = n->cores_allowed = cores;
        n->cpu_percent = (struct sampled){.n = 10, .sum = 1000 * all / cores};
        n->monitor_seconds = 5e-6;
        busy[i][0] = (struct run_reading){0, {0}, {0}, -1, -1};
        busy[i][1] = (struct run_reading){1000, {0}, {0}, -1, -1};
        busy[i][2] = (struct run_reading){5000, {0}, {(int64_t)(4000 * all / cores)}, -1, -1};
        n->busy = busy[i];
        n->n_busy = 3;
    }
    for (int i = 0; i < n_ranks; i++) {
        struct run_rank *k = run_rank_at(r, i);
        for (int s = 0; s < 40; s++) {
            made_step(r, k, part);
            k->steps[s].start_ns = 1000 + 100 * s;
        }
        k->rank = i;
        k->node = i % n_nodes;
        used[i][0] = (struct run_reading){0, {0}, {0}, -1, -1};
        used[i][1] = (struct run_reading){1000, {0}, {0}, -1, -1};
        used[i][2] = (struct run_reading){5000, {(int64_t)milli[i][1] * 4}, {(int64_t)milli[i][0] * 4}, -1, -1};
        k->delays = used[i];
        k->n_delays = 3;
        k->run_delay_ns = used[i][2].run_delay_ns;
        k->cpu_ns = used[i][2].cpu_ns;
        k->process_seconds = 5e-6;
    }
    r->n_ranks = n_ranks;
    return r;
}

/* The cause of the ranks' waiting, node by node, in cores, and with the cores on which a rank may run. */
static void test_waits_by_node(void **state)
{
    (void)state;
    static const struct {
        int n_nodes, n_ranks, cores, rank, milli[2], others[2]; /* use and waiting of this rank, and of each other
                                                                 * one */
        double taken;                                           /* on that rank's node */
        const char *cpus;
        enum shared_kind kind;
        enum phrase_id why;
        enum phrase_id own[2];
        int verdict;
    } c[] = {
        /* the whole job has 128 cores, its slowest node lacks 4 of 8 */
        {16, 16, 8, 5, {4000, 4000}, {7900, 0}, 4, "", SHARED_RUN_DELAY, PHRASE_CORE_AWAITED, {0}, VERDICT_LIMITS},
        /* 16 threads on 8 cores of one node: half a step there, 6 % of all */
        {16,
         16,
         8,
         5,
         {7950, 8000},
         {7900, 0},
         0,
         "",
         SHARED_OWN_THREADS,
         PHRASE_OWN_THREADS_WAIT,
         {0},
         VERDICT_LIMITS},
        {16,
         16,
         8,
         5,
         {7950, 100},
         {7900, 0},
         0,
         "",
         SHARED_NONE,
         0,
         {PHRASE_THREADS_WAITED, PHRASE_FOR_EACH_OTHER},
         VERDICT_WATCH},
        /* not less than half of the waiting threads, but too little to matter */
        {1,
         2,
         2,
         0,
         {960, 56},
         {960, 50},
         0.078,
         "",
         SHARED_NONE,
         0,
         {PHRASE_THREADS_WAITED, PHRASE_FOR_OTHERS_TOO},
         VERDICT_WATCH},
        /* half a core of 64, but on the core of a rank */
        {1, 8, 64, 3, {500, 500}, {1000, 0}, 0.5, "3", SHARED_RUN_DELAY, PHRASE_CORE_AWAITED, {0}, VERDICT_LIMITS},
        /* four threads on a core, of 64 */
        {1, 4, 64, 1, {1000, 3000}, {1000, 3000}, 0, "1", SHARED_BOUND, PHRASE_RANK_BOUND, {0}, VERDICT_LIMITS},
        {1, 4, 64, 1, {1000, 3000}, {1000, 3000}, 0, "", SHARED_RUN_DELAY, PHRASE_CORE_AWAITED, {0}, VERDICT_LIMITS},
        {1, 4, 64, 1, {1000, 3000}, {1000, 3000}, 32, "1", SHARED_BOUND, PHRASE_RANK_BOUND, {0}, VERDICT_LIMITS},
        /* a worker that waits now and then, on a node with cores left */
        {1,
         1,
         4,
         0,
         {1200, 60},
         {0, 0},
         0,
         "",
         SHARED_NONE,
         0,
         {PHRASE_THREADS_WAITED, PHRASE_FOR_EACH_OTHER},
         VERDICT_WATCH},
        /* 8 of 16 threads wait: no share of time */
        {1,
         1,
         8,
         0,
         {7950, 800},
         {0, 0},
         0,
         "",
         SHARED_NONE,
         0,
         {PHRASE_THREADS_WAITED, PHRASE_FOR_EACH_OTHER},
         VERDICT_WATCH},
        {1, 1, 8, 0, {7950, 8000}, {0, 0}, 0, "", SHARED_OWN_THREADS, PHRASE_OWN_THREADS_WAIT, {0}, VERDICT_LIMITS}};
    for (size_t t = 0; t < sizeof c / sizeof *c; t++) {
        int milli[16][2];
        for (int i = 0; i < c[t].n_ranks; i++)
            for (int k = 0; k < 2; k++)
                milli[i][k] = i == c[t].rank ? c[t].milli[k] : c[t].others[k];
        struct run *r = waiting_run(c[t].n_nodes, c[t].n_ranks, c[t].cores, (const int(*)[2])milli,
                                    c[t].rank % c[t].n_nodes, c[t].taken),
                   *runs[] = {r};
        r->ranks[c[t].rank].cpus_allowed = c[t].cpus;
        r->program.threads = 1;
        struct report rep = {0};
        struct analyse_options o = made_options();
        assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
        const struct class_result *k = &rep.runs[0].classes[CLASS_SHARED];
        assert_int_equal(rep.runs[0].shared.kind, c[t].kind);
        assert_int_equal(k->verdict, c[t].verdict);
        const struct shared *shared = &rep.runs[0].shared;
        assert_int_equal(shared->said.id, c[t].why);
        for (int i = 0; i < 2 && c[t].own[0]; i++)
            assert_int_equal(shared->own[i].id, c[t].own[i]);
        if (c[t].kind == SHARED_BOUND)
            assert_int_equal(action_for(&rep, &rep.runs[0], CLASS_SHARED).id, ADVICE_CORES_FOR_THREADS);
        const struct others here = others_at(r, c[t].rank % c[t].n_nodes); /* more cores must save enough to matter */
        assert_int_equal(note_of_own_threads(&rep) != NULL, shared->own[0].id && cores_missing(&here) > 0.05);
        if (t == sizeof c / sizeof *c - 1) {
            assert_int_equal(shared->own[0].id, PHRASE_THREADS_WAITING);
            assert_string_equal(fmt_number(shared->own[0].slot[0].real).text, "8.00");
        }
        report_free(&rep);
        run_free(r);
    }
}

/* A program with an unknown number of threads: more than one was ready on average, and one that makes no steps may have
 * waited. The cause leads if only one was ready, or if the program reports its threads. */
static void test_wait_of_several(void **state)
{
    (void)state;
    static const struct {
        int milli[1][2], threads, leads;
    } c[] = {{{{900, 600}}, 0, 0}, {{{400, 600}}, 0, 1}, {{{900, 600}}, 2, 1}};
    for (size_t t = 0; t < sizeof c / sizeof *c; t++) {
        struct run *r = waiting_run(1, 1, 2, c[t].milli, 0, 1), *runs[] = {r};
        r->program.threads = c[t].threads;
        struct report rep = {0};
        struct analyse_options o = made_options();
        assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
        const struct class_result *k = &rep.runs[0].classes[CLASS_SHARED];
        assert_int_equal(rep.runs[0].shared.kind, c[t].leads ? SHARED_RUN_DELAY : SHARED_NONE);
        assert_int_equal(k->verdict, c[t].leads ? VERDICT_LIMITS : VERDICT_WATCH);
        const struct shared *shared = &rep.runs[0].shared;
        assert_int_equal(shared->said.id, c[t].leads ? PHRASE_CORE_AWAITED : PHRASE_NONE);
        assert_int_equal(shared->own[0].id, c[t].leads ? PHRASE_NONE : PHRASE_SOME_WAITED);
        if (!c[t].leads) {
            assert_string_equal(fmt_number(shared->own[0].slot[1].real).text, "0.900");
            assert_string_equal(fmt_number(shared->own[0].slot[2].real).text, "0.600");
        }
        assert_int_equal(rep.runs[0].shared.is_of_several, !c[t].leads);
        narrate(&rep);
        assert_string_equal(rep.confidence, c[t].leads ? "low" : "medium");
        report_free(&rep);
        run_free(r);
    }
}

/* A rank without steps must not turn the load of the whole run into that of its node. */
static void test_rank_without_steps(void **state)
{
    (void)state;
    const int milli[2][2] = {{1000, 0}, {1000, 0}};
    struct run *r = waiting_run(1, 2, 2, milli, -1, 0);
    r->nodes[0].cpu_percent.sum = 0; /* of the whole run */
    r->ranks[1].n_steps = 0;
    assert_true(others_at(r, 0).own > 1.99 && others_at(r, 0).own < 2.01);
    run_free(r);
}

/* Ranks that sleep inside compute: their processor time shows it, if it was read within the steps. */
static void test_waiting_in_compute(void **state)
{
    (void)state;
    static const struct {
        int used_milli, is_cuda, n_readings, is_waiting;
        int64_t unnamed; /* of 100: there is less compute than the limit */
    } c[] = {{50, 0, 41, 1, 5}, {900, 0, 41, 0, 5}, {50, 1, 41, 0, 5}, {50, 0, 2, 0, 5}, {50, 0, 41, 1, 30}};
    for (size_t t = 0; t < sizeof c / sizeof *c; t++) {
        const int64_t part[N_CATEGORIES] = {[CAT_COMPUTE] = 100 - c[t].unnamed, [CAT_OTHER] = c[t].unnamed};
        struct run *r = made_run(1, 64), *runs[] = {r};
        for (int s = 0; s < 40; s++)
            made_step(r, run_rank_at(r, 0), part);
        struct run_rank *k = run_rank_at(r, 0);
        static struct run_reading used[41]; /* the steps last from 1000 to 5000 */
        for (int i = 0; i < 41; i++)
            used[i] = (struct run_reading){c[t].n_readings == 2 ? 5000 * i : 900 + 105 * i,
                                           {0},
                                           {(int64_t)i * 105 * c[t].used_milli / 1000},
                                           -1,
                                           -1};
        for (int s = 0; s < 40; s++)
            k->steps[s].start_ns = 1000 + 100 * s;
        k->delays = used;
        k->n_delays = c[t].n_readings;
        k->run_delay_ns = k->cpu_ns = 0;
        k->process_seconds = 5e-6;
        r->program.backend = c[t].is_cuda ? "cuda" : "cpu";
        struct report rep = {0};
        struct analyse_options o = made_options();
        assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
        narrate(&rep);
        const struct run_result *q = &rep.runs[0];
        assert_int_equal(q->classes[CLASS_COMPUTE].verdict, c[t].unnamed == 5 ? VERDICT_LIMITS : VERDICT_FINE);
        assert_int_equal(action_for(&rep, q, CLASS_COMPUTE).id == ADVICE_FIND_WAITS_IN_COMPUTE, c[t].is_waiting);
        assert_int_equal(is_compute_waiting(q), c[t].is_waiting);
        assert_int_equal(rep.first.is_first, c[t].is_waiting);
        assert_int_equal(q->said.headline.id == PHRASE_RANKS_WAIT, c[t].is_waiting);
        assert_string_equal(rep.confidence, "medium");
        assert_string_equal(q->confidence_because, c[t].is_waiting
                                                       ? "what the ranks wait for was not recorded"
                                                       : "whether memory bandwidth limits the compute is not known");
        report_free(&rep);
        run_free(r);
    }
}

/* The readings of a rank that used so many thousandths of a core, whose 40 steps last from 1000 to 5000. */
static void read_within_steps(struct run_rank *rank, struct run_reading used[41], int used_milli)
{
    for (int i = 0; i < 41; i++)
        used[i] = (struct run_reading){900 + 105 * i, {0}, {(int64_t)i * 105 * used_milli / 1000}, -1, -1};
    for (size_t s = 0; s < rank->n_steps; s++)
        rank->steps[s].start_ns = 1000 + 100 * (int64_t)s;
    rank->delays = used;
    rank->n_delays = 41;
    rank->run_delay_ns = rank->cpu_ns = 0;
    rank->process_seconds = 5e-6;
}

/* A rank that sleeps in its compute makes the other one wait: it has no more to compute. */
static void test_late_rank_sleeps(void **state)
{
    (void)state;
    for (int is_asleep = 0; is_asleep < 2; is_asleep++) {
        static struct run_reading used[2][41];
        struct run *r = made_run(2, 64), *runs[] = {r};
        for (int k = 0; k < 2; k++) {
            const int64_t part[N_CATEGORIES] = {[CAT_COMPUTE] = k ? 95 : 25, [CAT_COMM] = k ? 5 : 75};
            for (int s = 0; s < 40; s++)
                made_step(r, run_rank_at(r, k), part);
            read_within_steps(run_rank_at(r, k), used[k], k && is_asleep ? 30 : 990);
        }
        struct report rep = {0};
        struct analyse_options o = made_options();
        assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
        narrate(&rep);
        const struct run_result *q = &rep.runs[0];
        assert_int_equal(q->late_used_ratio > 0, is_asleep);
        assert_int_equal(action_for(&rep, q, CLASS_IMBALANCE).id == ADVICE_LATE_WAITS, is_asleep);
        assert_int_equal(strstr(q->support, "100 % of the waiting comes from compute on the late rank, which used a "
                                            "core for at most 3.2 % of that time.") != NULL,
                         is_asleep);
        assert_int_equal(strstr(q->support, "longer compute") != NULL, !is_asleep);
        for (int i = 0; i < rep.n_claims; i++)
            if (rep.claims[i].cls == CLASS_IMBALANCE)
                assert_int_equal(is_advice_to_look(&rep.claims[i]), is_asleep);
        report_free(&rep);
        run_free(r);
    }
}

/* Two ranks with a core each that load for 90 of 100 ns. Whose processor time is little waits, and its workers need no
 * core. */
static void test_waiting_in_loading(void **state)
{
    (void)state;
    static const struct {
        int used_milli, n_processes, compute;
        int is_waiting, n_workers, asks_cores;
    } c[] = {{50, 1, 10, 1, 9, 0}, {50, 3, 10, 1, 0, 0},  {50, 1, 1, 1, 0, 0},  {900, 1, 10, 0, 0, 1},
             {50, 1, 13, 1, 7, 0}, {700, 1, 70, 0, 0, 0}, {990, 1, 70, 0, 0, 1}};
    for (size_t t = 0; t < sizeof c / sizeof *c; t++) {
        const int64_t part[N_CATEGORIES] = {[CAT_COMPUTE] = c[t].compute, [CAT_DATA] = 100 - c[t].compute};
        static struct run_reading used[2][41]; /* the steps last from 1000 to 5000 */
        struct run *r = made_run(2, 64), *runs[] = {r};
        for (int k = 0; k < 2; k++) {
            struct run_rank *rank = run_rank_at(r, k);
            r->nodes[k].cores = 1;
            for (int s = 0; s < 40; s++)
                made_step(r, rank, part);
            read_within_steps(rank, used[k], c[t].used_milli);
            rank->most_processes = c[t].n_processes;
            rank->cpus_allowed = "0";
        }
        struct report rep = {0};
        struct analyse_options o = made_options();
        assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
        narrate(&rep);
        const struct run_result *q = &rep.runs[0];
        struct action a = action_for(&rep, q, CLASS_DATA);
        assert_int_equal(q->loading.is_waiting, c[t].is_waiting);
        assert_int_equal(q->loading.n_workers, c[t].n_workers);
        assert_int_equal(a.id == ADVICE_DATA_WAITS, c[t].is_waiting);
        assert_int_equal(a.is_short_of_cores, c[t].asks_cores);
        assert_int_equal(gain_basis_of(q, CLASS_DATA), c[t].is_waiting ? GAIN_BOUND : GAIN_ESTIMATE);
        if (c[t].is_waiting) /* an upper bound is not what the change saves */
            assert_non_null(strstr(rep.first.expected, "at best instead of 100 ns"));
        if (c[t].n_workers == 9)
            assert_non_null(strstr(a.generic, "Hiding all loading takes 9 workers for each rank"));
        report_free(&rep);
        run_free(r);
    }
}

/* PyTorch's workers that sleep keep a rank waiting, although all processes of the rank together are on cores for most
 * of the step. It is different if they compute, if the process of the steps is busy, or if loading is short. */
static void test_loaders_sleep(void **state)
{
    (void)state;
    static const struct {
        int used_milli, own_milli, n_processes, compute, is_torch, is_waiting;
    } c[] = {{900, 300, 9, 30, 1, 1},                           /* 0.6 cores for 8 workers */
             {900, 300, 9, 30, 0, 0}, {1900, 300, 3, 30, 1, 0}, /* 2 workers that compute */
             {900, 800, 9, 30, 1, 0},                           /* idle for 20 of 70 ns of loading */
             {900, 300, 9, 75, 1, 0}, {900, 900, 1, 30, 1, 0}};
    for (size_t t = 0; t < sizeof c / sizeof *c; t++) {
        const int64_t part[N_CATEGORIES] = {[CAT_COMPUTE] = c[t].compute, [CAT_DATA] = 100 - c[t].compute};
        static struct run_reading used[2][41]; /* the steps last from 1000 to 5000 */
        struct run *r = made_run(2, 64), *runs[] = {r};
        static const char *solver[] = {"./solver"};
        r->command = c[t].is_torch ? NULL : solver;
        r->n_command = !c[t].is_torch;
        for (int k = 0; k < 2; k++) {
            struct run_rank *rank = run_rank_at(r, k);
            for (int s = 0; s < 40; s++)
                made_step(r, rank, part);
            read_within_steps(rank, used[k], c[t].used_milli);
            for (int i = 0; i < 41; i++)
                used[k][i].own_ns = (int64_t)i * 105 * c[t].own_milli / 1000;
            rank->step_pid = rank->monitor_pid = 7;
            rank->most_processes = c[t].n_processes;
        }
        struct report rep = {0};
        struct analyse_options o = made_options();
        assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
        narrate(&rep);
        const struct run_result *q = &rep.runs[0];
        assert_int_equal(q->loading.is_waiting, c[t].is_waiting);
        assert_int_equal(q->loading.is_of_workers, c[t].is_waiting);
        int computes = c[t].n_processes == 3; /* 1.6 cores for 2 workers */
        assert_true(fabs(q->loading.workers_cores - (computes ? 1.6 : 0)) < 0.05);
        assert_int_equal(action_for(&rep, q, CLASS_DATA).id == ADVICE_DATA_COMPUTES, computes);
        assert_int_equal(strstr(q->classes[CLASS_DATA].text, "The loader's workers compute") != NULL, computes);
        assert_int_equal(action_for(&rep, q, CLASS_DATA).id == ADVICE_DATA_WAITS, c[t].is_waiting);
        if (c[t].is_waiting)
            assert_string_equal(
                q->classes[CLASS_DATA].text,
                "Loading takes 70 ns of a step. On average, a worker of the loader needed a core for at most 7.5 % of "
                "the time.");
        report_free(&rep);
        run_free(r);
    }
}

/* A rank whose child computes beside it: the processor time is the parent's alone only if the monitor confirms it. */
static void test_forked_child_computes(void **state)
{
    (void)state;
    static const char memory[] = "whether memory bandwidth limits the compute is not known";
    static const char several[] = "which of a rank's processes used the processor was not recorded";
    const struct {
        int64_t step_pid, monitor_pid;
        int n_processes, own_milli, is_waiting;
        const char *unsure; /* medium in total: the memory is not judged here, and nothing else is in doubt */
    } c[] = {{7, 7, 2, 20, 1, "what the ranks wait for was not recorded"},
             {7, 7, 2, 990, 0, memory},
             {7, 3, 2, 10, 0, memory}, /* a shell in front of it, which is idle */
             {7, 3, 3, 10, 0, several},
             {7, 0, 0, -1, 0, memory}, /* an older collector */
             {7, 7, 1, -1, 0, memory}};
    for (size_t t = 0; t < sizeof c / sizeof *c; t++) {
        const int64_t part[N_CATEGORIES] = {[CAT_COMPUTE] = 100};
        struct run *r = made_run(1, 64), *runs[] = {r};
        struct run_rank *k = run_rank_at(r, 0);
        static struct run_reading used[41]; /* the steps last from 1000 to 5000 */
        for (int s = 0; s < 40; s++) {
            made_step(r, k, part);
            k->steps[s].start_ns = 1000 + 100 * s;
        }
        for (int i = 0; i < 41; i++)
            used[i] = (struct run_reading){900 + 105 * i,
                                           {0},
                                           {(int64_t)i * 105},
                                           c[t].own_milli < 0 ? -1 : (int64_t)i * 105 * c[t].own_milli / 1000,
                                           -1};
        k->delays = used;
        k->n_delays = 41;
        k->run_delay_ns = k->cpu_ns = 0;
        k->process_seconds = 5e-6;
        k->step_pid = c[t].step_pid;
        k->monitor_pid = c[t].monitor_pid;
        k->most_processes = c[t].n_processes;
        struct report rep = {0};
        struct analyse_options o = made_options();
        assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
        narrate(&rep);
        assert_int_equal(is_compute_waiting(&rep.runs[0]), c[t].is_waiting);
        const struct said *said = &rep.runs[0].said;
        assert_int_equal(said->headline.id, c[t].is_waiting ? PHRASE_PROCESS_WAITS : PHRASE_COMPUTE_LIMITS);
        if (c[t].is_waiting) {
            assert_string_equal(fmt_percent(said->headline.slot[0].real).text, "2.0 %");
            assert_int_equal(said->support[1].id, PHRASE_CHILDREN_COMPUTE);
            assert_string_equal(fmt_percent(said->support[1].slot[0].real).text, "98 %");
        }
        assert_string_equal(rep.confidence, "medium");
        if (!strstr(rep.how_sure, c[t].unsure))
            fail_msg("case %zu: %s", t, rep.how_sure);
        report_free(&rep);
        run_free(r);
    }
}

/* Two emulated nodes of a quarter core that always have work, for 4000 ns: the time used, the time stopped by the
 * quota, and the time waited for a core of each. */
static struct run *on_shares(int64_t used_ns, int64_t stopped_ns, int64_t delay_ns, int is_stop_known)
{
    struct run *r = parts(25, 0, 0); /* 40 steps of 100 ns */
    static struct run_reading delays[2], busy[2];
    r->node_kind = NODES_SHARES;
    for (int i = 0; i < 2; i++) {
        struct run_rank *k = run_rank_at(r, i);
        for (int s = 0; s < 40; s++)
            k->steps[s].start_ns = 1000 + 100 * s;
        delays[0] = (struct run_reading){.t_ns = 1000, .own_ns = -1};
        delays[1] = (struct run_reading){.t_ns = 5000, .run_delay_ns = delay_ns, .cpu_ns = used_ns, .own_ns = -1};
        busy[0] = (struct run_reading){.t_ns = 1000, .run_delay_ns = is_stop_known ? 0 : -1};
        busy[1] = (struct run_reading){.t_ns = 5000, .run_delay_ns = is_stop_known ? stopped_ns : -1};
        k->delays = delays;
        k->n_delays = 2;
        k->run_delay_ns = delay_ns;
        k->cpu_ns = used_ns;
        k->process_seconds = 4e-6;
        r->nodes[i].share.cores = r->nodes[i].cores_quota = 0.25;
        r->nodes[i].busy = busy;
        r->nodes[i].n_busy = 2;
    }
    return r;
}

static double waited_on_share(int64_t used_ns, int64_t stopped_ns, int64_t delay_ns, int is_stop_known)
{
    struct run *r = on_shares(used_ns, stopped_ns, delay_ns, is_stop_known);
    assert_true(node_speed(r, &r->ranks[0]) > 0.2499 && node_speed(r, &r->ranks[0]) < 0.2501);
    double waited = waiting_for_core(r, &r->ranks[0]);
    struct ready p = ready_of(r, &r->ranks[0]);
    assert_true(p.used > 0.9999 * (double)used_ns / 1000 && p.used < 1.0001 * (double)used_ns / 1000);
    run_free(r);
    return waited;
}

/* The kernel counts the time in which a quota stopped a thread as waiting for a core, but it is not. */
static void test_quota_is_no_wait(void **state)
{
    (void)state;
    assert_true(waited_on_share(1000, 3000, 3000, 1) <= 0);
    assert_true(waited_on_share(1000, 2000, 3000, 1) <= 0); /* a core came late, but the share was used up */
    assert_true(waited_on_share(1000, 0, 3000, 0) <= 0);
    /* a neighbour took half of the available time, so half was lost, less the collector's share */
    double lost = waited_on_share(500, 1500, 3500, 1);
    assert_true(lost > 0.4599 && lost < 0.4601);
    lost = waited_on_share(500, 3400, 3500, 1); /* at most the time that it was ready and not stopped */
    assert_true(lost > 0.0249 && lost < 0.0251);
    assert_true(waited_on_share(200, 100, 120, 1) <= 0); /* mostly blocked: it waits for a message */
}

/* Other virtual machines limit emulated nodes only if that left a node less than its share. Of two cores they took 8 %,
 * which is 8 % of a core for each of two nodes. */
static void test_steal_from_shares(void **state)
{
    (void)state;
    static const struct {
        int64_t used_ns, stopped_ns, delay_ns;
        double steal_percent;
        enum shared_kind is;
    } c[] = {
        {990, 2690, 2690, 8, SHARED_NONE},      /* the share used up */
        {900, 2780, 2780, 8, SHARED_STEAL},     /* a tenth of it not had */
        {500, 1500, 3500, 8, SHARED_RUN_DELAY}, /* half of it not had, for a program beside it */
        {400, 1200, 1200, 8, SHARED_NONE},      /* mostly without work */
        {1000, 3000, 3000, 12, SHARED_NONE}, /* the time taken was not theirs: they ran or were stopped all the time */
        {-1, 2780, 2780, 8, SHARED_STEAL}};  /* the ranks were not watched */
    for (size_t t = 0; t < sizeof c / sizeof *c; t++) {
        struct run *r = on_shares(c[t].used_ns, c[t].stopped_ns, c[t].delay_ns, 1);
        for (int i = 0; i < 2; i++) {
            r->nodes[i].cores = 2;
            r->nodes[i].steal_percent = (struct sampled){.n = 10, .sum = 10 * c[t].steal_percent};
            if (c[t].used_ns < 0)
                r->ranks[i].run_delay_ns = -1;
        }
        struct report rep = {0};
        struct analyse_options o = made_options();
        assert_int_equal(analyse(&rep, &r, 1, &o, NULL), 0);
        if (rep.runs[0].shared.kind != c[t].is)
            fail_msg("case %zu: kind %d, missed %g", t, rep.runs[0].shared.kind, missed_with_steal(r, &r->ranks[0]));
        report_free(&rep);
        run_free(r);
    }
}

/* From their quotas and the kind of nodes: the speed of the nodes, an equal quota, or a different one. */
static void test_quotas(void **state)
{
    (void)state;
    static const struct {
        double share, quota, last;
        enum quota is;
        int is_cause, is_doubtful;
    } c[] = {{0.25, 0.25, 0.25, QUOTA_OF_NODES, 0, 0},
             {0.25, 0, 0, QUOTA_OF_NODES, 0, 0},
             {0.25, 0.2502, 0.25, QUOTA_OF_NODES, 0, 0},
             {0.25, 0.125, 0.125, QUOTA_EQUAL, 1, 0},
             {0.25, 0.25, 0.1, QUOTA_UNEQUAL, 1, 1},
             {0, 0.5, 0.5, QUOTA_EQUAL, 1, 0},
             {0, 0.5, 0.25, QUOTA_UNEQUAL, 1, 1},
             {0, 0.5, 0, QUOTA_UNEQUAL, 1, 1},
             {0, 0, 0, QUOTA_UNEQUAL, 1, 1}};
    for (size_t t = 0; t < sizeof c / sizeof *c; t++) {
        struct run *r = parts(25, 0, 0);
        struct report rep = {0};
        struct analyse_options o = made_options();
        r->node_kind = c[t].share > 0 ? NODES_SHARES : NODES_MACHINES;
        for (int i = 0; i < 2; i++) {
            r->nodes[i].share.cores = c[t].share;
            r->nodes[i].cores_quota = i ? c[t].last : c[t].quota;
            r->nodes[i].throttled_ns = 1000000000;
            r->nodes[i].monitor_seconds = 4;
        }
        assert_int_equal(analyse(&rep, &r, 1, &o, NULL), 0);
        assert_int_equal(quota_of(&rep, 0), c[t].is);
        assert_int_equal(rep.runs[0].shared.kind != SHARED_NONE, c[t].is_cause);
        assert_int_equal(is_doubtful(&rep.runs[0]), c[t].is_doubtful);
        report_free(&rep);
        run_free(r);
    }
}

static void test_shared_resources(void **state)
{
    (void)state;
    struct thresholds t = thresholds_default();
    struct run *r = parts(25, 0, 0);
    r->node_kind = NODES_EMULATED; /* both ranks on one host with one core */
    run_node_at(r, 0)->cores_allowed = 1;
    assert_int_equal(verdict_of(r, CLASS_SHARED, t), VERDICT_LIMITS);
    assert_int_equal(verdict_of(parts(25, 0, 0), CLASS_SHARED, t), VERDICT_FINE);
    r = parts(25, 0, 0);
    r->node_kind = NODES_EMULATED; /* bound to a core each: the machine's ranks have two */
    for (int i = 0; i < 2; i++) {
        run_node_at(r, i)->cores_allowed = 1;
        run_rank_at(r, i)->cpus_allowed = i ? "1" : "0";
    }
    assert_int_equal(verdict_of(r, CLASS_SHARED, t), VERDICT_FINE);
    r = parts(25, 0, 0);
    r->nodes[1].throttled_ns = 1000000000;
    r->nodes[1].monitor_seconds = 4;
    assert_true(has_note(r, NOTE_THROTTLED, NOTE_CAVEAT));
    r = parts(25, 0, 0);
    r->ranks[1].run_delay_ns = 1000000000;
    r->ranks[1].process_seconds = 4;
    assert_true(has_note(r, NOTE_RUN_DELAY, NOTE_CAVEAT));
    r = parts(25, 0, 0);
    sampled_add(r, &r->nodes[0].steal_percent, 0, 20);
    assert_true(has_note(r, NOTE_STEAL, NOTE_CAVEAT));
    assert_false(has_note(parts(25, 0, 0), NOTE_OVERSUBSCRIBED, NOTE_CAVEAT));
}

/* A healthy run with noise: two ranks on two cores, each with a loader worker, are late in turn while their threads
 * wait for a core. That is compute and not imbalance. It is imbalance if they wait for each other longer than for a
 * core, if one rank is always late, or if none waited for a core. */
static void test_late_by_turns_without_a_core(void **state)
{
    (void)state;
    static const struct {
        int64_t late_ns, delay_ns; /* of a step of 100 ns; of each rank in 40 steps */
        int is_one, is_imbalance;
    } c[] = {{30, 650, 0, 0}, {30, 0, 0, 1}, {60, 350, 0, 1}, {30, 650, 1, 1}};
    for (size_t t = 0; t < sizeof c / sizeof *c; t++) {
        const int64_t late = c[t].late_ns, wall = 40 * (105 + late);
        const int64_t first[N_CATEGORIES] = {[CAT_COMPUTE] = 100 + late, [CAT_COMM] = 5},
                      other[N_CATEGORIES] = {[CAT_COMPUTE] = 100, [CAT_COMM] = 5 + late};
        struct run_reading busy[] = {{0, {0}, {0}, -1, -1},
                                     {1000, {0}, {1000}, -1, -1},
                                     {1000 + wall, {0}, {1000 + wall}, -1, -1}},
                           used[] = {{0, {0}, {0}, -1, -1},
                                     {1000, {0}, {0}, -1, -1},
                                     {1000 + wall, {c[t].delay_ns}, {wall * 98 / 100}, -1, -1}};
        struct run *r = made_run(2, 64), *runs[] = {r};
        r->nodes_len = 1;
        r->nodes[0].cores = r->nodes[0].cores_allowed = 2;
        r->nodes[0].cpu_percent = (struct sampled){.n = 10, .sum = 1000};
        r->nodes[0].monitor_seconds = (double)(1000 + wall) / 1e9;
        r->nodes[0].busy = busy;
        r->nodes[0].n_busy = 3;
        r->program.loader_workers = r->program.threads = 1;
        for (int i = 0; i < 2; i++) {
            struct run_rank *k = run_rank_at(r, i);
            for (int s = 0; s < 40; s++) {
                made_step(r, k, (c[t].is_one ? i : (s + i) % 2) ? first : other);
                k->steps[s].start_ns = 1000 + (105 + late) * s;
            }
            k->node = 0;
            k->delays = used;
            k->n_delays = 3;
            k->run_delay_ns = c[t].delay_ns;
            k->cpu_ns = wall * 98 / 100;
            k->process_seconds = r->nodes[0].monitor_seconds;
        }
        struct report rep = {0};
        struct analyse_options o = made_options();
        assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
        const struct run_result *k = &rep.runs[0];
        assert_int_equal(k->shared.kind, SHARED_NONE); /* so little that it is watched */
        assert_int_equal(k->shared.own[0].id != PHRASE_NONE, c[t].delay_ns > 0);
        assert_int_equal(k->classes[CLASS_IMBALANCE].verdict, c[t].is_imbalance ? VERDICT_LIMITS : VERDICT_WATCH);
        assert_int_equal(k->classes[CLASS_COMPUTE].verdict == VERDICT_LIMITS, !c[t].is_imbalance);
        if (!c[t].is_imbalance)
            assert_non_null(found_of(&k->classes[CLASS_IMBALANCE], PHRASE_FOUND_MAY_BE_CORES));
        report_free(&rep);
        run_free(r);
    }
}

/* Advice that needs more cores than the recorded host has says so. Ranks that may use only some of many cores are no
 * reason to say so. */
static void test_advice_counts_the_cores(void **state)
{
    (void)state;
    static const struct {
        enum node_kind kind;
        int ranks, cores, allowed;
        enum cause_class cls;
        const char *says;
    } c[] = {
        {NODES_EMULATED, 4, 2, 2, CLASS_SHARED, "That needs 4 cores, and the recorded host has 2"},
        {NODES_EMULATED, 4, 64, 2, CLASS_SHARED, NULL},
        {NODES_EMULATED, 2, 2, 2, CLASS_DATA, "That needs 4 cores, and the recorded host has 2"},
        {NODES_EMULATED, 1, 2, 2, CLASS_DATA, NULL},
        {NODES_MACHINES, 2, 1, 1, CLASS_DATA, "That needs 2 cores a node, and a recorded node has 1"},
        {NODES_MACHINES, 2, 8, 8, CLASS_DATA, NULL},
        {NODES_EMULATED, 4, 2, 2, CLASS_IO, NULL},
        {NODES_EMULATED, 4, 0, 0, CLASS_DATA, NULL},
    };
    for (size_t t = 0; t < sizeof c / sizeof *c; t++) {
        struct run *r = made_even_run(c[t].ranks, 64, 40, 50, 10, 40, 0), *runs[] = {r};
        r->node_kind = c[t].kind;
        for (int i = 0; i < r->nodes_len; i++) {
            r->nodes[i].cores = c[t].cores;
            r->nodes[i].cores_allowed = c[t].allowed;
        }
        struct report rep = {0};
        struct analyse_options o = made_options();
        assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
        struct action a = action_for(&rep, &rep.runs[0], c[t].cls);
        if (c[t].says)
            assert_true(strstr(a.ours, c[t].says) && strstr(a.generic, c[t].says));
        else
            assert_null(strstr(a.generic, "needs"));
        report_free(&rep);
        run_free(r);
    }
}

/* Ranks of one host share its cores: two ranks on two cores have one each, and no use of a second thread. */
static void test_advice_counts_the_threads(void **state)
{
    (void)state;
    static const struct {
        int ranks, cores, told; /* told: threads of a rank */
        const char *variable, *cpus;
        int each, threads;
        enum advice advice;
    } c[] = {
        {2, 2, 0, "1", "", 1, 1, ADVICE_COMPUTE_ON_HOST},    {2, 8, 0, "1", "", 4, 1, ADVICE_COMPUTE_WITH_THREADS},
        {2, 8, 0, "4,2", "", 4, 4, ADVICE_COMPUTE_ON_HOST},  {2, 9, 0, "4", "", 4, 4, ADVICE_COMPUTE_ON_HOST},
        {2, 8, 0, NULL, "", 4, 0, ADVICE_COMPUTE_ON_HOST},   {2, 8, 0, "all", "", 4, 0, ADVICE_COMPUTE_ON_HOST},
        {2, 8, 4, "1", "", 4, 4, ADVICE_COMPUTE_ON_HOST},    {2, 8, 0, "1", "3", 1, 1, ADVICE_COMPUTE_ON_HOST},
        {2, 8, 0, "1", "0-2", 1, 1, ADVICE_COMPUTE_ON_HOST}, {2, 0, 0, "1", "", 0, 1, ADVICE_COMPUTE_ON_HOST},
    };
    for (size_t t = 0; t < sizeof c / sizeof *c; t++) {
        struct run *r = made_even_run(c[t].ranks, 64, 40, 95, 5, 0, 0), *runs[] = {r};
        struct run_pair setting = {"OMP_NUM_THREADS", c[t].variable};
        r->node_kind = NODES_MACHINES;
        r->nodes_len = 1;
        r->nodes[0].cores = r->nodes[0].cores_allowed = c[t].cores;
        r->program.threads = c[t].told;
        r->environment = &setting;
        r->n_environment = c[t].variable != NULL;
        for (int i = 0; i < c[t].ranks; i++) {
            run_rank_at(r, i)->node = 0;
            run_rank_at(r, i)->is_by_hook = 1;
            run_rank_at(r, i)->cpus_allowed = c[t].cpus;
        }
        struct report rep = {0};
        struct analyse_options o = made_options();
        assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
        assert_int_equal(cores_each(&rep.runs[0]), c[t].each);
        assert_int_equal(threads_told(r), c[t].threads);
        assert_int_equal(action_for(&rep, &rep.runs[0], CLASS_COMPUTE).id, c[t].advice);
        rep.runs[0].processor.has = 1; /* the cores that a rank used or waited for tell it too */
        rep.runs[0].processor.own_ready = 1;
        int is_short = c[t].each > 1 && c[t].threads < c[t].each;
        assert_int_equal(action_for(&rep, &rep.runs[0], CLASS_COMPUTE).id,
                         is_short ? ADVICE_COMPUTE_WITH_THREADS : ADVICE_COMPUTE_ON_HOST);
        report_free(&rep);
        r->environment = NULL;
        r->n_environment = 0;
        run_free(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_warmup_is_left_out),
        cmocka_unit_test(test_start_up_is_left_out),
        cmocka_unit_test(test_own_threads_wait),
        cmocka_unit_test(test_waits_by_node),
        cmocka_unit_test(test_rank_without_steps),
        cmocka_unit_test(test_quota_is_no_wait),
        cmocka_unit_test(test_steal_from_shares),
        cmocka_unit_test(test_quotas),
        cmocka_unit_test(test_shared_resources),
        cmocka_unit_test(test_waiting_in_compute),
        cmocka_unit_test(test_late_rank_sleeps),
        cmocka_unit_test(test_waiting_in_loading),
        cmocka_unit_test(test_loaders_sleep),
        cmocka_unit_test(test_forked_child_computes),
        cmocka_unit_test(test_late_by_turns_without_a_core),
        cmocka_unit_test(test_advice_counts_the_cores),
        cmocka_unit_test(test_advice_counts_the_threads),
        cmocka_unit_test(test_wait_of_several),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
