/* test_rules.c - numbers and thresholds: classes that limit, that are watched, and that are not judged. */
#include "render/read/recorder.h"
#include "render/metrics/calls.h"
#include "render/metrics/known.h"
#include "render/metrics/rule.h"
#include "tests/unit/made_rules.h"

#include "render/findings/actions.h"
#include "render/findings/shares.h"
#include "render/say/format.h"
#include "render/findings/narrate.h"

static void test_data(void **state)
{
    (void)state;
    struct thresholds t = thresholds_default();
    assert_int_equal(verdict_of(parts(0, 31, 0), CLASS_DATA, t), VERDICT_LIMITS);
    assert_int_equal(verdict_of(parts(25, 30, 0), CLASS_DATA, t), VERDICT_WATCH); /* above, not at, the threshold */
    assert_int_equal(verdict_of(parts(0, 10, 0), CLASS_DATA, t), VERDICT_FINE);
    t.data_limits = 0.05;
    assert_int_equal(verdict_of(parts(0, 10, 0), CLASS_DATA, t), VERDICT_LIMITS);
}

static void test_communication(void **state)
{
    (void)state;
    struct thresholds t = thresholds_default();
    assert_int_equal(verdict_of(parts(25, 0, 0), CLASS_COMMUNICATION, t), VERDICT_LIMITS);
    assert_int_equal(verdict_of(parts(15, 0, 20), CLASS_COMMUNICATION, t), VERDICT_WATCH);
    assert_int_equal(verdict_of(parts(5, 0, 0), CLASS_COMMUNICATION, t), VERDICT_FINE);
    assert_int_equal(verdict_of(parts(5, 0, 0), CLASS_IMBALANCE, t), VERDICT_FINE);
}

/* Steps of two ranks that are long by turns: transfer is 22 of 100, but nearly all of it is the other rank's time
 * (gain: 100 - 96). Levelling would save 18. */
static void test_late_by_turns(void **state)
{
    (void)state;
    struct run *r = made_run(2, 64), *runs[] = {r};
    for (int s = 0; s < 40; s++)
        for (int i = 0; i < 2; i++) {
            const int64_t part[N_CATEGORIES] = {[CAT_COMPUTE] = (s + i) % 2 ? 96 : 60, [CAT_COMM] = 22};
            made_step(r, run_rank_at(r, i), part);
        }
    struct report rep = {0};
    struct analyse_options o = made_options();
    assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
    const struct class_result *c = rep.runs[0].classes;
    assert_int_equal(c[CLASS_COMMUNICATION].share_ns, 22);
    assert_int_equal(c[CLASS_COMMUNICATION].gain_ns, 4);
    assert_int_equal(c[CLASS_COMMUNICATION].verdict, VERDICT_WATCH);
    assert_int_equal(c[CLASS_IMBALANCE].gain_ns, 18);
    report_free(&rep);
    run_free(r);
}

static void test_io(void **state)
{
    (void)state;
    struct thresholds t = thresholds_default();
    assert_int_equal(verdict_of(parts(0, 0, 11), CLASS_IO, t), VERDICT_LIMITS);
    assert_int_equal(verdict_of(parts(0, 0, 6), CLASS_IO, t), VERDICT_WATCH);
    assert_int_equal(verdict_of(parts(0, 0, 1), CLASS_IO, t), VERDICT_FINE);
    /* checkpoints between the steps count against the wall time */
    struct run *r = parts(0, 0, 0);
    for (int i = 0; i < 2; i++) {
        run_rank_at(r, i)->outside_ns[CAT_IO] = 1000;
        run_rank_at(r, i)->wall_ns = 5000;
    }
    assert_int_equal(verdict_of(r, CLASS_IO, t), VERDICT_LIMITS);
}

/* A share and the threshold beside it belong to the same quantity. */
static void test_what_was_judged(void **state)
{
    (void)state;
    struct run *r = parts(0, 0, 0), *runs[] = {r};
    for (int i = 0; i < 2; i++) {
        run_rank_at(r, i)->outside_ns[CAT_IO] = 1000;
        run_rank_at(r, i)->wall_ns = 5000;
    }
    struct report rep = {0};
    struct analyse_options o = made_options();
    assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
    const struct class_result *io = &rep.runs[0].classes[CLASS_IO], *compute = &rep.runs[0].classes[CLASS_COMPUTE];
    assert_int_equal(io->verdict, VERDICT_LIMITS);
    assert_string_equal(judged_share(io).text, "20 % of the run"); /* not 0 % of step time */
    assert_string_equal(judged_threshold(io).text, "10 %");
    assert_true(!compute->judged.by); /* the share itself */
    assert_string_equal(judged_share(compute).text, "100 %");
    assert_string_equal(judged_threshold(compute).text, "80 %");
    report_free(&rep);
    run_free(r);
}

/* A claim shows the threshold of the judged quantity, and its certainty: the share of transfer, whose interval contains
 * 20 %, was not compared. */
static void test_claim_of_what_was_judged(void **state)
{
    (void)state;
    struct run *b = made_run(2, 64), *runs[] = {made_even_run(1, 64, 40, 820, 0, 0, 0), b};
    for (int s = 0; s < 40; s++)
        for (int i = 0; i < 2; i++) {
            const int64_t ns[N_CATEGORIES] = {[CAT_COMPUTE] = 410, [CAT_COMM] = s % 2 ? 30 : 160};
            made_step(b, run_rank_at(b, i), ns);
        }
    struct report rep = {0};
    struct analyse_options o = made_options();
    assert_int_equal(analyse(&rep, runs, 2, &o, NULL), 0);
    narrate(&rep);
    const struct class_result *k = &rep.runs[1].classes[CLASS_COMMUNICATION];
    assert_int_equal(k->judged.by, JUDGED_LOST_TIME);
    assert_true(k->share_interval.lo < 0.2 && k->share_interval.hi > 0.2);
    const struct claim *c = &rep.claims[rep.runs[1].claims[0]];
    assert_int_equal(c->cls, CLASS_COMMUNICATION);
    assert_string_equal(c->threshold_name, "comm_loss");
    assert_true(c->threshold_ratio > 0.49 && c->threshold_ratio < 0.51);
    assert_int_equal(c->confidence, CONFIDENCE_HIGH);
    int has_number = 0;
    for (int i = 0; i < c->n_numbers; i++)
        has_number |= strstr(c->numbers[i].id, ".judged.ratio") && c->numbers[i].value > 0.5;
    assert_true(has_number);
    report_free(&rep);
    run_free(runs[0]);
    run_free(runs[1]);
}

/* Neither transfer nor waiting is above 20 %, together they are, and the interval of both has 20 % in it. */
static void test_sure_of_transfer_with_waiting(void **state)
{
    (void)state;
    struct run *r = made_run(2, 64), *runs[] = {r};
    for (int s = 0; s < 40; s++)
        for (int i = 0; i < 2; i++) {
            int64_t late = (s + i) % 2 ? 20 : 0, more = s / 2 % 2 ? 45 : -45;
            const int64_t ns[N_CATEGORIES] = {[CAT_COMPUTE] = 76 + more + late, [CAT_COMM] = 34 - late};
            made_step(r, run_rank_at(r, i), ns);
        }
    struct report rep = {0};
    struct analyse_options o = made_options();
    assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
    narrate(&rep);
    const struct class_result *k = &rep.runs[0].classes[CLASS_COMMUNICATION];
    assert_int_equal(k->judged.by, JUDGED_WITH_WAITING);
    assert_true(k->share_interval.hi < 0.2); /* of transfer alone, which was not compared */
    assert_true(rep.runs[0].comm_interval.lo < 0.2 && rep.runs[0].comm_interval.hi > 0.2);
    const struct claim *c = &rep.claims[rep.runs[0].claims[0]];
    assert_string_equal(c->threshold_name, "comm_limits");
    assert_int_equal(c->confidence, CONFIDENCE_MEDIUM);
    assert_non_null(strstr(c->confidence_because, "the share of communication"));
    report_free(&rep);
    run_free(r);
}

/* Ranks wait for each other in turn, for 20.0 ms because of computing and for 0.006 ms because of loading: the text has
 * the waiting of the breakdown. */
static void test_waiting_is_one_number(void **state)
{
    (void)state;
    enum { MS = 1000000 };
    for (int is_much = 0; is_much < 2; is_much++) {
        int64_t load = is_much ? 4 * MS : MS / 1000 * 12;
        struct run *r = made_run(2, 64), *runs[] = {r};
        const int64_t slow[N_CATEGORIES] = {[CAT_COMPUTE] = 100 * MS, [CAT_DATA] = MS + load, [CAT_COMM] = 2 * MS};
        const int64_t fast[N_CATEGORIES] = {[CAT_COMPUTE] = 60 * MS, [CAT_DATA] = MS, [CAT_COMM] = 42 * MS + load};
        for (int s = 0; s < 40; s++)
            for (int i = 0; i < 2; i++)
                made_step(r, run_rank_at(r, i), (s + i) % 2 ? slow : fast);
        struct report rep = {0};
        struct analyse_options o = made_options();
        assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
        const struct class_result *c = &rep.runs[0].classes[CLASS_IMBALANCE];
        const struct slot *waiting = found_of(c, is_much ? PHRASE_FOUND_WAITING_FOR : PHRASE_FOUND_WAITING);
        assert_int_equal(c->share_ns, 20 * MS);
        assert_int_equal(rep.runs[0].part_ns[PART_WAIT], 20 * MS + load / 2);
        assert_non_null(waiting);
        assert_int_equal(waiting[0].count, 20 * MS + load / 2);
        assert_true(!is_much || waiting[1].count == load / 2); /* for ranks that load */
        assert_non_null(found_of(c, PHRASE_FOUND_NO_LAST));
        report_free(&rep);
        run_free(r);
    }
}

static void test_compute_bound(void **state)
{
    (void)state;
    struct thresholds t = thresholds_default();
    assert_int_equal(verdict_of(parts(5, 5, 0), CLASS_COMPUTE, t), VERDICT_LIMITS);
    assert_int_equal(verdict_of(parts(25, 0, 0), CLASS_COMPUTE, t), VERDICT_FINE); /* something else limits */
}

/* A job of one rank whose collectives take a quarter of a step is judged. Without them there is no other rank. */
static void test_collectives_of_one_rank(void **state)
{
    (void)state;
    for (int comm = 0; comm <= 25; comm += 25) {
        struct run *r = made_run(1, 64), *runs[] = {r};
        const int64_t part[N_CATEGORIES] = {[CAT_COMPUTE] = 100 - comm, [CAT_COMM] = comm};
        for (int i = 0; i < 40; i++)
            made_step(r, run_rank_at(r, 0), part);
        struct report rep = {0};
        struct analyse_options o = made_options();
        assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
        const struct class_result *c = rep.runs[0].classes;
        assert_int_equal(c[CLASS_COMMUNICATION].verdict, comm ? VERDICT_LIMITS : VERDICT_NA);
        assert_int_equal(c[CLASS_COMMUNICATION].share_ns, comm);
        assert_int_equal(c[CLASS_IMBALANCE].verdict, VERDICT_NA);
        assert_true(comm ? found_of(&c[CLASS_COMMUNICATION], PHRASE_FOUND_ALONE) != NULL
                         : c[CLASS_COMMUNICATION].why.code == REASON_NO_PARTNER);
        report_free(&rep);
        run_free(r);
    }
}

static void test_imbalance(void **state)
{
    (void)state;
    struct run *r = made_run(4, 64);
    const int64_t fast[N_CATEGORIES] = {[CAT_COMPUTE] = 60, [CAT_COMM] = 42};
    const int64_t slow[N_CATEGORIES] = {[CAT_COMPUTE] = 100, [CAT_COMM] = 2};
    for (int s = 0; s < 40; s++)
        for (int i = 0; i < 4; i++)
            made_step(r, run_rank_at(r, i), i == 2 ? slow : fast);
    struct run *runs[] = {r};
    struct report rep = {0};
    struct analyse_options o = made_options();
    assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
    assert_int_equal(rep.runs[0].classes[CLASS_IMBALANCE].verdict, VERDICT_LIMITS);
    assert_int_equal(rep.runs[0].classes[CLASS_COMMUNICATION].verdict, VERDICT_FINE);
    assert_int_equal(rep.runs[0].straggler.rank, 2);
    report_free(&rep);
    run_free(r);
}

/* Two ranks, of which rank 1 is last in every exchange: it stands out, whatever the cost. Once named, it is not
 * fine. */
static void test_always_last(void **state)
{
    (void)state;
    for (int wait = 4; wait <= 8; wait += 4) {
        struct run *r = made_run(2, 64), *runs[] = {r};
        const int64_t a[N_CATEGORIES] = {[CAT_COMPUTE] = 90 - wait, [CAT_COMM] = 10 + wait},
                      b[N_CATEGORIES] = {[CAT_COMPUTE] = 90, [CAT_COMM] = 10};
        for (int i = 0; i < 40; i++) {
            made_step(r, run_rank_at(r, 0), a);
            made_step(r, run_rank_at(r, 1), b);
        }
        struct report rep = {0};
        struct analyse_options o = made_options();
        assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
        const struct class_result *w = &rep.runs[0].classes[CLASS_IMBALANCE];
        const struct slot *last = found_of(w, PHRASE_STRAGGLER_LAST), *cost = found_of(w, PHRASE_FOUND_LAST_COSTS);
        assert_non_null(last);
        assert_true(last[0].count == 1 && last[1].real >= 1);
        assert_true(wait == 4 ? cost && cost[0].count == 4 : !cost);
        assert_int_equal(w->verdict, wait == 4 ? VERDICT_FINE : VERDICT_WATCH);
        report_free(&rep);
        run_free(r);
    }
}

/* With the recorder of calls on files on, no I/O is measured, in steps or at all; without it this is unknown. */
static void test_io_recorded(void **state)
{
    (void)state;
    static const struct {
        const char *status;
        int64_t outside_ns;
        enum verdict verdict;
    } c[] = {{"", 0, VERDICT_NA},
             {"nothing recorded because switched off (--io off)", 0, VERDICT_NA},
             {"ok", 0, VERDICT_FINE},
             {"ok", 50, VERDICT_FINE}};
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct run *r = made_even_run(1, 64, 40, 100000, 0, 0, 0), *runs[] = {r};
        struct run_file file = {.name = "log", .sum[DCT_IO_WRITE] = {.n = 3, .bytes = 9, .ns = 27480}};
        r->io = recorder_of(c[i].status);
        r->files = &file;
        r->n_files = strcmp(c[i].status, "ok") == 0;
        r->ranks[0].outside_ns[CAT_IO] = c[i].outside_ns;
        struct report rep = {0};
        struct analyse_options o = made_options();
        assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
        const struct class_result *k = &rep.runs[0].classes[CLASS_IO];
        assert_int_equal(k->verdict, c[i].verdict);
        assert_int_equal(k->has_share, c[i].verdict == VERDICT_FINE);
        assert_int_equal(k->share_ns, 0);
        assert_int_equal(is_part_known(&rep.runs[0], PART_IO), c[i].verdict == VERDICT_FINE);
        assert_int_equal(k->why.code, c[i].verdict == VERDICT_NA ? REASON_NO_WRITES : REASON_NONE);
        const struct slot *all = found_of(k, PHRASE_FOUND_FILES_ALL),
                          *between = found_of(k, PHRASE_FOUND_FILES_BETWEEN);
        assert_int_equal(found_of(k, PHRASE_FOUND_NO_FILES) != NULL, c[i].verdict == VERDICT_FINE);
        assert_true(c[i].verdict == VERDICT_FINE ? all && all[0].count == 27480 : !all);
        assert_true(c[i].outside_ns ? between && between[0].count == 50 : !between);
        report_free(&rep);
        r->n_files = 0;
        run_free(r);
    }
}

/* By the kernel's count the ranks wrote more than the recorded calls: if much, I/O is not zero; if little, it is. MPI
 * also writes through sockets. */
static void test_io_unseen(void **state)
{
    (void)state;
    static struct run_mpi_call sent = {.name = "MPI_Allreduce"};
    static const struct {
        int64_t written, sent;
        double seconds; /* 0: how long the ranks ran is not known */
        enum verdict verdict;
    } cases[] = {{3000000000, 0, 10, VERDICT_NA},
                 {20000000, 0, 10, VERDICT_FINE},
                 {3000000000, 1000000000, 10, VERDICT_FINE},
                 {3000000000, INT64_MAX / 2 + 1, 10, VERDICT_FINE}, /* of a damaged trace */
                 {20000000, 0, 0, VERDICT_FINE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run *r = parts(0, 0, 0), *runs[] = {r};
        r->io = recorder_of("ok");
        for (int k = 0; k < 2; k++) {
            struct run_rank *rank = run_rank_at(r, k);
            rank->process_seconds = cases[i].seconds;
            rank->io[DCT_IO_READ_CALLS] = rank->io[DCT_IO_WRITE_CALLS] = 10;
            rank->io[DCT_IO_WRITE_CHARS] = cases[i].written / 2;
        }
        r->mpi_calls = &sent;
        r->n_mpi_calls = cases[i].sent > 0;
        sent.sum = (struct dct_io){.n = 1, .bytes = (uint64_t)cases[i].sent};
        struct report rep = {0};
        struct analyse_options o = made_options();
        assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
        narrate(&rep);
        const struct run_result *k = &rep.runs[0];
        assert_int_equal(k->classes[CLASS_IO].verdict, cases[i].verdict);
        assert_int_equal(is_part_known(k, PART_IO), cases[i].verdict != VERDICT_NA);
        if (cases[i].sent) /* messages through sockets are not files */
            assert_null(found_of(&k->classes[CLASS_IO], PHRASE_FOUND_FILES_UNSEEN));
        if (cases[i].verdict == VERDICT_NA) {
            assert_int_equal(k->classes[CLASS_IO].why.code, REASON_FILES_UNSEEN);
            assert_true(k->classes[CLASS_IO].why.slot[0].real > 2.99e9 &&
                        k->classes[CLASS_IO].why.slot[0].real < 3.01e9);
            assert_non_null(strstr(unrecorded_in_compute(&rep, k), "I/O")); /* it may be in what is called compute */
        }
        r->n_mpi_calls = 0;
        r->mpi_calls = NULL;
        report_free(&rep);
        run_free(r);
    }
}

/* Calls too short to be events are known only as a sum: if a rank has much of it, I/O is not ruled out. */
static void test_io_short(void **state)
{
    (void)state;
    static const struct {
        int64_t short_ns, loading_ns;
        enum verdict verdict;
    } cases[] = {{100048000, 0, VERDICT_NA}, /* 1200 of a step of 10000, and what a program makes when it starts */
                 {100016000, 0, VERDICT_FINE},
                 {100048000, 40000, VERDICT_FINE}, /* loading has its part of them */
                 {0, 0, VERDICT_FINE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run *r = made_even_run(2, 64, 40, 10000, 0, 0, 0), *runs[] = {r};
        r->io = recorder_of("ok");
        r->ranks[1].file_ns = cases[i].short_ns;
        r->ranks[1].file_short_ns = cases[i].short_ns;
        r->ranks[1].loading_short_ns = cases[i].loading_ns;
        struct report rep = {0};
        struct analyse_options o = made_options();
        assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
        const struct class_result *k = &rep.runs[0].classes[CLASS_IO];
        assert_int_equal(k->verdict, cases[i].verdict);
        if (k->verdict == VERDICT_NA) {
            assert_int_equal(k->why.code, REASON_FILES_SHORT);
            assert_int_equal(k->why.slot[0].count, 1200);
            assert_int_equal(k->why.slot[1].count, 1);
        }
        report_free(&rep);
        run_free(r);
    }
}

/* What steps do with files is told by their phases; where those do not tell, by the bytes of all recorded calls. */
static void test_files_used(void **state)
{
    (void)state;
    static const struct {
        const char *phase;
        enum category category;
        uint64_t read_bytes, written_bytes;
        enum files_used used;
    } cases[] = {{"read", CAT_IO, 0, 0, FILES_READ},          {"pwrite64", CAT_IO, 9, 0, FILES_WRITTEN},
                 {"checkpoint", CAT_IO, 9, 0, FILES_WRITTEN}, {"data_load: files", CAT_DATA, 0, 9, FILES_READ},
                 {"close", CAT_IO, 9, 1, FILES_READ},         {"close", CAT_IO, 1, 9, FILES_WRITTEN},
                 {"close", CAT_IO, 5, 4, FILES_BOTH},         {"close", CAT_IO, 0, 0, FILES_BOTH}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t is_loading = cases[i].category == CAT_DATA, ns[40];
        struct run *r = made_even_run(1, 64, 40, 40, 0, is_loading ? 60 : 0, is_loading ? 0 : 60), *runs[] = {r};
        struct run_phase phase = {.name = cases[i].phase, .category = cases[i].category, .ns = ns};
        struct run_file file = {.name = "x",
                                .sum[DCT_IO_READ] = {.n = 1, .bytes = cases[i].read_bytes},
                                .sum[DCT_IO_WRITE] = {.n = 1, .bytes = cases[i].written_bytes}};
        for (int s = 0; s < 40; s++)
            ns[s] = 60;
        r->ranks[0].phases = &phase;
        r->ranks[0].n_phases = 1;
        r->files = &file;
        r->n_files = 1;
        struct report rep = {0};
        struct analyse_options o = made_options();
        assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
        assert_int_equal(files_used(&rep.runs[0]), cases[i].used);
        assert_int_equal(rep.runs[0].classes[CLASS_IO].verdict, VERDICT_LIMITS);
        assert_int_equal(action_for(&rep, &rep.runs[0], CLASS_IO).id,
                         cases[i].used == FILES_READ ? ADVICE_READ_FILES : ADVICE_CHECKPOINTS);
        report_free(&rep);
        r->n_files = 0;
        r->ranks[0].n_phases = 0;
        run_free(r);
    }
}

/* 20 of 60 of loading are calls on files: they count as I/O, in time and in what their removal saves. */
static void test_files_in_loading(void **state)
{
    (void)state;
    struct run *r = made_even_run(1, 64, 40, 40, 0, 60, 0), *runs[] = {r};
    struct run_phase phases[] = {{.name = "data_load", .category = CAT_DATA},
                                 {.name = "data_load: files", .category = CAT_DATA}};
    int64_t ns[2][40];
    for (int i = 0; i < 40; i++) {
        ns[0][i] = 40;
        ns[1][i] = 20;
    }
    for (int i = 0; i < 2; i++)
        phases[i].ns = ns[i];
    r->ranks[0].phases = phases;
    r->ranks[0].n_phases = 2;
    struct report rep = {0};
    struct analyse_options o = made_options();
    assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
    const struct run_result *k = &rep.runs[0];
    assert_int_equal(k->part_ns[PART_DATA], 60); /* the breakdown does not change */
    assert_int_equal(k->classes[CLASS_DATA].share_ns, 40);
    assert_int_equal(k->classes[CLASS_DATA].gain_ns, 40);
    assert_int_equal(k->classes[CLASS_IO].share_ns, 20);
    assert_int_equal(k->classes[CLASS_IO].gain_ns, 20);
    assert_int_equal(k->classes[CLASS_IO].verdict, VERDICT_LIMITS);
    report_free(&rep);
    /* For two of time in calls that are events there is one in shorter ones on the same files: 20 + 10 a step. */
    r->ranks[0].loading_events_ns = 800;
    r->ranks[0].loading_short_ns = 400;
    rep = (struct report){0};
    assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
    assert_int_equal(rep.runs[0].classes[CLASS_IO].share_ns, 30);
    assert_int_equal(rep.runs[0].classes[CLASS_DATA].share_ns, 30);
    report_free(&rep);
    /* Never more than all of loading. */
    r->ranks[0].loading_short_ns = 8000;
    rep = (struct report){0};
    assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
    assert_int_equal(rep.runs[0].classes[CLASS_IO].share_ns, 60);
    assert_int_equal(rep.runs[0].classes[CLASS_DATA].share_ns, 0);
    report_free(&rep);
    run_free(r);
}

/* Time outside the steps' own thread does not count as unrecorded, and a loader that never rests is a finding. */
static void test_outside_the_steps(void **state)
{
    (void)state;
    struct run *r = made_run(2, 64);
    const int64_t part[N_CATEGORIES] = {[CAT_COMPUTE] = 40, [CAT_OTHER] = 60};
    for (int s = 0; s < 40; s++)
        for (int i = 0; i < 2; i++)
            made_step(r, run_rank_at(r, i), part);
    const struct dct_io calls = {.n = 87, .ns = 5};
    run_observe_mpi(r, "MPI_Send", &calls);
    run_observe_mpi(r, "MPI_Init", &calls);
    for (int i = 0; i < 2; i++)
        r->ranks[i].loading_ranges_ns = 3800;
    struct run *runs[] = {r};
    struct report rep = {0};
    struct analyse_options o = made_options();
    assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
    const struct run_result *k = &rep.runs[0];
    const struct reason *loading = &k->classes[CLASS_DATA].why, *exchange = &k->classes[CLASS_COMMUNICATION].why;
    assert_int_equal(loading->code, REASON_LOADING_ELSEWHERE);
    assert_true(loading->slot[0].count == 7600 && loading->slot[1].real > 0.949 && loading->slot[1].real < 0.951);
    assert_int_equal(exchange->code, REASON_COMMUNICATION_OUTSIDE);
    assert_int_equal(exchange->slot[0].count, 87);
    int found = 0;
    for (int i = 0; i < k->n_notes; i++)
        found |= k->notes[i].said[0].id == PHRASE_LOADING_ELSEWHERE;
    assert_true(found);
    report_free(&rep);
    for (int i = 0; i < 2; i++)
        r->ranks[i].outside_ns[CAT_DATA] = 3600;
    r->ranks[1].n_step_processes = 2;
    r->ranks[1].source = STEPS_TRACE;
    rep = (struct report){0};
    assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
    assert_int_equal(rep.runs[0].classes[CLASS_DATA].why.code, REASON_LOADING_BETWEEN_STEPS);
    assert_true(rep.runs[0].classes[CLASS_DATA].why.slot[0].real > 0.899 &&
                rep.runs[0].classes[CLASS_DATA].why.slot[0].real < 0.901);
    found = 0;
    for (int i = 0; i < rep.n_notes; i++)
        found |= rep.notes[i].id == NOTE_STEP_PROCESSES;
    assert_true(found);
    report_free(&rep);
    run_free(r);
}

/* Rank 0 writes checkpoints and always comes last: that is I/O, not imbalance. */
static void test_late_by_writing(void **state)
{
    (void)state;
    struct run *r = made_run(2, 64);
    const int64_t writer[N_CATEGORIES] = {[CAT_COMPUTE] = 60, [CAT_IO] = 40, [CAT_COMM] = 2};
    const int64_t other[N_CATEGORIES] = {[CAT_COMPUTE] = 60, [CAT_COMM] = 42};
    for (int s = 0; s < 40; s++)
        for (int i = 0; i < 2; i++)
            made_step(r, run_rank_at(r, i), i == 0 ? writer : other);
    struct run *runs[] = {r};
    struct report rep = {0};
    struct analyse_options o = made_options();
    assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
    assert_int_equal(rep.runs[0].classes[CLASS_IO].verdict, VERDICT_LIMITS);
    assert_int_equal(rep.runs[0].classes[CLASS_IO].share_ns, 40); /* 20 of its own, 20 of waiting */
    assert_int_equal(rep.runs[0].classes[CLASS_IO].gain_ns, 40);
    assert_int_equal(rep.runs[0].classes[CLASS_IMBALANCE].verdict, VERDICT_FINE);
    assert_int_equal(rep.runs[0].straggler.rank, 0);
    report_free(&rep);
    run_free(r);
}

/* No class exceeds its own threshold: the largest gain is named if it matters. */
static void test_largest_gain(void **state)
{
    (void)state;
    struct thresholds t = thresholds_default();
    assert_int_equal(verdict_of(parts(15, 0, 0), CLASS_COMMUNICATION, t), VERDICT_LIMITS);
    assert_int_equal(verdict_of(parts(15, 20, 0), CLASS_DATA, t), VERDICT_LIMITS);
    assert_int_equal(verdict_of(parts(15, 20, 0), CLASS_COMMUNICATION, t), VERDICT_WATCH); /* one only */
    assert_int_equal(verdict_of(parts(10, 0, 0), CLASS_COMMUNICATION, t), VERDICT_FINE);
    t.gain_limits = 0.5;
    assert_int_equal(verdict_of(parts(15, 0, 0), CLASS_COMMUNICATION, t), VERDICT_WATCH);
}

/* The gain of compute is that of better kernels on the run's own batches, as timed by the program; no other gain is
 * known. */
static void test_kernels(void **state)
{
    (void)state;
    const double ratios[] = {0.625, -1, 1.5, 0};
    const int64_t gains[] = {37, 0, 0, 0}; /* of 100 ns of compute */
    for (size_t i = 0; i < sizeof ratios / sizeof *ratios; i++) {
        struct run *r = parts(0, 0, 0), *runs[] = {r};
        r->program.kernels_best = "avx2";
        r->program.kernels_best_ratio = ratios[i];
        struct report rep = {0};
        struct analyse_options o = made_options();
        assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
        assert_int_equal(rep.runs[0].classes[CLASS_COMPUTE].verdict, VERDICT_LIMITS);
        assert_int_equal(rep.runs[0].classes[CLASS_COMPUTE].gain_ns, gains[i]);
        const struct class_result *compute = &rep.runs[0].classes[CLASS_COMPUTE];
        const struct slot *time = found_of(compute, PHRASE_FOUND_COMPUTE);
        assert_true(time && time[0].count == 100);
        assert_int_equal(found_of(compute, PHRASE_FOUND_COMPUTE_UNTOLD) != NULL, gains[i] == 0);
        report_free(&rep);
        run_free(r);
    }
}

/* Loading limits, and better kernels would save more of the step than that: both are named, this first. */
static void test_kernels_beside_another_cause(void **state)
{
    (void)state;
    const double ratios[] = {0.25, 0.9};
    for (size_t i = 0; i < sizeof ratios / sizeof *ratios; i++) {
        struct run *r = made_even_run(1, 64, 40, 65, 0, 35, 0), *runs[] = {r};
        r->program.kernels_best = "avx2";
        r->program.kernels_best_ratio = ratios[i];
        struct report rep = {0};
        struct analyse_options o = made_options();
        assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
        const struct class_result *k = rep.runs[0].classes;
        assert_int_equal(k[CLASS_DATA].verdict, VERDICT_LIMITS);
        assert_int_equal(k[CLASS_COMPUTE].verdict, i == 0 ? VERDICT_LIMITS : VERDICT_FINE);
        if (i == 0) {
            assert_int_equal(k[CLASS_COMPUTE].gain_ns, 48); /* 65 x 0.75 */
            assert_string_equal(k[CLASS_COMPUTE].threshold_name, "gain_limits");
        }
        report_free(&rep);
        run_free(r);
    }
}

/* A GPU waits for the host three quarters of the steps. The ranks' own steps have that time, or, if the trace belongs
 * to another job, have not. */
static void test_host(void **state)
{
    (void)state;
    for (int is_other_job = 0; is_other_job < 2; is_other_job++) {
        struct run *r = made_run(1, 64);
        int64_t part[N_CATEGORIES] = {
            [CAT_COMPUTE] = is_other_job ? 100000 : 40000, [CAT_OTHER] = is_other_job ? 100 : 60000};
        struct run_device d = {.file = "t.json",
                               .model = "",
                               .has_idle_causes = 1,
                               .n_steps = 40,
                               .steps_ns = 100,
                               .steps_busy_ns = 25,
                               .steps_kernel_ns = 25,
                               .steps_idle_ns = {[IDLE_HOST] = 75}};
        struct foreign_trace t = {.file = "t.json", .devices = &d, .n_devices = 1};
        for (int i = 0; i < 40; i++)
            made_step(r, run_rank_at(r, 0), part);
        r->traces = &t;
        r->n_traces = 1;
        struct run *runs[] = {r};
        struct report rep = {0};
        struct analyse_options o = made_options();
        assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
        const struct class_result *host = &rep.runs[0].classes[CLASS_HOST];
        assert_int_equal(host->verdict, is_other_job ? VERDICT_WATCH : VERDICT_LIMITS);
        assert_string_equal(judged_share(host).text, "25 % utilisation"); /* beside the threshold of that */
        assert_string_equal(judged_threshold(host).text, "70 %");
        r->n_traces = 0;
        report_free(&rep);
        run_free(r);
    }
}

static void test_never_judged(void **state)
{
    (void)state;
    struct thresholds t = thresholds_default();
    assert_int_equal(verdict_of(parts(0, 0, 0), CLASS_MEMORY, t), VERDICT_NA);
    assert_int_equal(verdict_of(parts(0, 0, 0), CLASS_HOST, t), VERDICT_NA);
    assert_int_equal(verdict_of(parts(0, 0, 0), CLASS_COPY, t), VERDICT_NA);
}

/* Communication at 18 % is below its threshold but explains nearly all of the loss. */
static void test_growing_communication(void **state)
{
    (void)state;
    struct run *runs[] = {made_even_run(1, 64, 40, 820, 0, 0, 0), made_even_run(2, 64, 40, 410, 90, 0, 0)};
    struct report rep = {0};
    struct analyse_options o = made_options();
    assert_int_equal(analyse(&rep, runs, 2, &o, NULL), 0);
    assert_int_equal(rep.runs[1].classes[CLASS_COMMUNICATION].verdict, VERDICT_LIMITS);
    report_free(&rep);
    run_free(runs[0]);
    run_free(runs[1]);
}

static void test_mpi_share(void **state)
{
    (void)state;
    struct run *r = parts(0, 0, 0);
    struct run_mpi_call calls[] = {{"MPI_Init", {2, 0, 9000000000, 0}},
                                   {"MPI_Allreduce", {80, 0, 4000000000, 0}},
                                   {"MPI_Bcast", {2, 0, 1000000000, 0}}};
    r->mpi_calls = calls;
    r->n_mpi_calls = 3;
    r->ranks[0].process_seconds = 10;
    assert_false(mpi_share(r).has); /* of rank 1 it is unknown */
    r->ranks[1].process_seconds = 10;
    struct mpi_share m = mpi_share(r);
    assert_true(m.has);
    assert_int_equal(m.ns, 5000000000);
    assert_true(m.ratio > 0.2499 && m.ratio < 0.2501);
    assert_string_equal(m.largest->name, "MPI_Allreduce");
    run_free(r);
}

/* Two ranks of 10 steps: 300 calls a step with 96 bytes each take 8 of 9 s in MPI. Few calls, large messages, calls
 * without bytes and a small share are no small messages. */
static void test_small_messages(void **state)
{
    (void)state;
    struct run *r = parts(0, 0, 0);
    struct run_result k = {.run = r, .n_ranks = 2, .n_steps = 10};
    struct run_mpi_call calls[] = {{"MPI_Init", {2, 0, 20000000000, 0}},
                                   {"MPI_Sendrecv", {6000, 576000, 8000000000, 0}},
                                   {"MPI_Allreduce", {20, 160, 1000000000, 0}}};
    r->mpi_calls = calls;
    r->n_mpi_calls = 3;
    struct small_messages m = small_messages(&k);
    assert_string_equal(m.call, "MPI_Sendrecv");
    assert_int_equal(m.n, 300);
    assert_int_equal(m.bytes, 96);
    calls[1].sum.bytes = 6000 * 8193;
    assert_null(small_messages(&k).call);
    calls[1].sum.bytes = 0;
    assert_null(small_messages(&k).call);
    calls[1].sum = (struct dct_io){0, 576000, 8000000000, 0}; /* a damaged archive */
    assert_null(small_messages(&k).call);
    calls[1].sum = (struct dct_io){199, 576, 8000000000, 0};
    assert_null(small_messages(&k).call);
    calls[1] = (struct run_mpi_call){"MPI_Barrier", {6000, 0, 8000000000, 0}};
    m = small_messages(&k);
    assert_true(m.call && m.n == 300 && m.bytes == 0);
    calls[1].name = "MPI_Sendrecv";
    calls[1].sum = (struct dct_io){6000, 576000, 900000000, 0};
    calls[2].sum.ns = 1000000000;
    assert_null(small_messages(&k).call);
    k.n_steps = 0;
    assert_null(small_messages(&k).call);
    r->n_mpi_calls = 0;
    assert_null(small_messages(&k).call);
    k.collectives_per_step = 300; /* PyTorch's, which are no MPI calls */
    k.bytes_per_step = 300 * 8192;
    m = small_messages(&k);
    assert_true(m.call && m.n == 300 && m.bytes == 8192);
    k.bytes_per_step = 300.0 * 65537;
    assert_null(small_messages(&k).call);
    k.collectives_per_step = 9;
    k.bytes_per_step = 9 * 8192;
    assert_null(small_messages(&k).call);
    run_free(r);
}

/* Reading 1.0 s, writing 1.5 s and syncing 2.5 s of 2 x 10 s; more than all that time is several callers at once. */
static void test_file_time(void **state)
{
    (void)state;
    struct run *r = parts(0, 0, 0);
    struct run_file files[] = {
        {"/d/model", {[DCT_IO_WRITE] = {9, 0, 1500000000, 0}, [DCT_IO_OTHER] = {9, 0, 2500000000, 0}}},
        {"/d/data", {[DCT_IO_READ] = {9, 0, 1000000000, 0}}}};
    assert_int_equal(file_time(r).why.code, REASON_NO_FILE_TIMED);
    r->files = files;
    r->n_files = 2;
    r->ranks[0].process_seconds = 10;
    assert_false(file_time(r).has); /* of rank 1 it is unknown */
    r->ranks[1].process_seconds = 10;
    struct file_time f = file_time(r);
    assert_true(f.has);
    assert_int_equal(f.ns, 5000000000);
    assert_int_equal(f.kind_ns[DCT_IO_OTHER], 2500000000);
    assert_int_equal(f.wall_ns, 20000000000);
    assert_true(f.ratio > 0.2499 && f.ratio < 0.2501);
    assert_string_equal(f.largest->name, "/d/model");
    assert_int_equal(f.largest_ns, 4000000000);
    assert_int_equal(f.n_in_folder, 2);
    assert_int_equal(f.folder_ns, 5000000000);
    assert_int_equal(f.folder_len, 2); /* "/d" */
    r->has_window = 1;                 /* from a recorder that does not report the part: test_recorded.c */
    assert_int_equal(file_time(r).why.code, REASON_WINDOW_UNKNOWN);
    r->has_window = 0;
    files[1].sum[DCT_IO_READ].ns = 17000000000;
    f = file_time(r);
    assert_false(f.has);
    assert_true(f.ratio == 0 && f.why.code == REASON_FILES_AT_ONCE);
    run_free(r);
}

/* The rank that others wait for spends little time in MPI while the others spend much. */
static void test_mpi_late(void **state)
{
    (void)state;
    static const struct {
        int64_t ms[4];
        int has, first, n;
        int64_t waited_ms;
    } c[] = {{{4000, 4200, 400, 3800}, 1, 2, 1, 3600}, /* 4.0 s on average for the others, 0.4 s */
             {{4000, 4100, 4000, 3900}, 0, 0, 0, 0},   /* little more than the others: 0.1 s of 10 */
             {{4000, 500, 500, 500}, 0, 0, 0, 0},      /* one waits for many: nobody is late */
             {{4000, 4200, 400, 0}, 0, 0, 0, 0}};      /* of one rank nothing was recorded */
    struct thresholds t = thresholds_default();
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct run *r = made_run(4, 64);
        for (int k = 0; k < 4; k++) {
            r->ranks[k].process_seconds = 10;
            r->ranks[k].mpi_ns = c[i].ms[k] * 1000000;
        }
        struct mpi_late l = mpi_late(&t, r);
        assert_int_equal(l.has, c[i].has);
        if (l.has) {
            assert_int_equal(l.n, c[i].n);
            assert_int_equal(l.ranks[0], c[i].first);
            assert_int_equal(l.waited_ns, c[i].waited_ms * 1000000);
            assert_int_equal(l.others_most_ns, 4200000000);
        }
        run_free(r);
    }
}

/* Rank 0 works for 3.6 s before its broadcasts and 0.2 s before barriers, and the others wait for it there. If they
 * work before them too, or took part in other collectives, or waited elsewhere, it may have more work than they have.
 */
static void test_alone_in_calls(void **state)
{
    (void)state;
    static const struct {
        int64_t others_ms, wait_ms;
        uint64_t n_others;
        int has;
    } c[] = {{0, 3500, 300, 1},    {180, 3500, 300, 1}, {190, 3500, 300, 0},
             {1000, 3500, 300, 0}, {0, 2500, 300, 0},   {0, 3500, 299, 0}};
    struct thresholds t = thresholds_default();
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct run *r = made_run(3, 64);
        for (int k = 0; k < 3; k++) {
            struct run_rank_call barrier = {"MPI_Barrier", 300, k ? 100000000 : 0, k ? 0 : 200000000},
                                 bcast = {"MPI_Bcast", k ? c[i].n_others : 300, k ? c[i].wait_ms * 1000000 : 0,
                                          k ? c[i].others_ms * 1000000 : 3600000000},
                                 gather = {"MPI_Gather", 300, 400000000, 5000000000};
            r->ranks[k].process_seconds = 10;
            r->ranks[k].mpi_ns = k ? 4000000000 : 400000000;
            run_observe_before(r, &r->ranks[k], &gather);
            run_observe_before(r, &r->ranks[k], &bcast);
            run_observe_before(r, &r->ranks[k], &barrier);
        }
        struct alone a = alone_in_calls(&t, r);
        assert_int_equal(a.has, c[i].has);
        if (a.has) {
            assert_true(a.rank == 0 && a.own_ns == 3800000000 && a.call_ns == 3600000000 &&
                        a.others_ns == c[i].others_ms * 1000000);
            assert_string_equal(a.call, "MPI_Bcast");
        }
        run_free(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_data),
        cmocka_unit_test(test_communication),
        cmocka_unit_test(test_late_by_turns),
        cmocka_unit_test(test_io),
        cmocka_unit_test(test_what_was_judged),
        cmocka_unit_test(test_claim_of_what_was_judged),
        cmocka_unit_test(test_sure_of_transfer_with_waiting),
        cmocka_unit_test(test_waiting_is_one_number),
        cmocka_unit_test(test_compute_bound),
        cmocka_unit_test(test_collectives_of_one_rank),
        cmocka_unit_test(test_imbalance),
        cmocka_unit_test(test_always_last),
        cmocka_unit_test(test_io_recorded),
        cmocka_unit_test(test_late_by_writing),
        cmocka_unit_test(test_io_unseen),
        cmocka_unit_test(test_io_short),
        cmocka_unit_test(test_files_used),
        cmocka_unit_test(test_files_in_loading),
        cmocka_unit_test(test_outside_the_steps),
        cmocka_unit_test(test_largest_gain),
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_kernels_beside_another_cause),
        cmocka_unit_test(test_host),
        cmocka_unit_test(test_never_judged),
        cmocka_unit_test(test_growing_communication),
        cmocka_unit_test(test_mpi_share),
        cmocka_unit_test(test_small_messages),
        cmocka_unit_test(test_file_time),
        cmocka_unit_test(test_mpi_late),
        cmocka_unit_test(test_alone_in_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
