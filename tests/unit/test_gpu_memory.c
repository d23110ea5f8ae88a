/* test_gpu_memory.c - the meaning of a share of a GPU's memory, by hand. */
#include "tests/unit/made_rules.h"

#include "render/metrics/gpu_memory.h"

static void test_states(void **state)
{
    (void)state;
    static const struct {
        double share;
        int grows;
        enum memory_state is;
    } cases[] = {{0.499, 0, MEMORY_ROOM},        {0.50, 0, MEMORY_FINE},        {0.849, 1, MEMORY_FINE},
                 {0.85, 0, MEMORY_BY_DESIGN},    {0.90, 1, MEMORY_BY_DESIGN},   {0.901, 1, MEMORY_GROWS},
                 {0.928, 0, MEMORY_BY_DESIGN},   {0.928, -1, MEMORY_BY_DESIGN}, {0.95, 0, MEMORY_BY_DESIGN},
                 {0.951, 0, MEMORY_NEARLY_FULL}, {0.98, 1, MEMORY_NEARLY_FULL}, {0.981, 0, MEMORY_RISK}};
    struct thresholds t = thresholds_default();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(gpu_memory_state(&t, cases[i].share, cases[i].grows), cases[i].is);
    t.gpu_memory_warn = 0.92; /* from the file of thresholds */
    assert_int_equal(gpu_memory_state(&t, 0.928, 0), MEMORY_NEARLY_FULL);
    assert_true(gpu_memory_grows(0.011, 100));
    assert_false(gpu_memory_grows(0.009, 100));
}

/* A run of steps of 100 ms whose monitor took `points` samples of 1000 MB, a second apart. The later half ends in
 * `last`, after rising by `slope` MB a second. */
static struct run *monitored(double used, double slope, int points, double busy)
{
    struct run *r = made_even_run(1, 64, 40, 100000000, 0, 0, 0);
    struct run_node *n = run_node_at(r, 0);
    n->gpus = dcr_arena_alloc(&r->arena, sizeof *n->gpus);
    n->n_gpus = 1;
    for (int i = 0; i < points; i++) {
        sampled_add(r, &n->gpus->memory_used_mb, i, used - slope * (points - 1 - i));
        sampled_add(r, &n->gpus->memory_total_mb, i, 1000);
        sampled_add(r, &n->gpus->utilization_percent, i, busy);
    }
    return r;
}

/* The note on memory whose second sentence is `meaning`; NULL = none. share: in the form of the first sentence. */
static void check(struct run *r, enum memory_state is, int grows, const char *share, enum phrase_id meaning,
                  enum phrase_id more)
{
    struct report rep = {0};
    struct analyse_options o = made_options();
    assert_int_equal(analyse(&rep, &r, 1, &o, NULL), 0);
    const struct run_result *x = rep.runs;
    int found = share == NULL;
    assert_int_equal(x->n_memory, 1);
    assert_int_equal(x->memory->state, is);
    assert_int_equal(x->memory->grows, grows);
    assert_int_equal(x->memory->grows < 0, x->memory->grows_why.code != REASON_NONE);
    for (int i = 0; i < x->n_notes; i++) {
        const struct phrase *said = x->notes[i].said;
        if (said->id != PHRASE_MEMORY_PEAK)
            continue;
        assert_non_null(share);
        assert_string_equal(said[0].slot[1].name, share);
        assert_int_equal(said[1].id, meaning);
        assert_int_equal(said[2].id, more);
        assert_int_equal(x->notes[i].is_memory_scarce, is > MEMORY_BY_DESIGN);
        found = 1;
    }
    assert_true(found);
    report_free(&rep);
    run_free(r);
}

static void test_monitor(void **state)
{
    (void)state;
    check(monitored(928, 0, 40, 80), MEMORY_BY_DESIGN, 0, "93 %", PHRASE_MEMORY_BY_DESIGN, PHRASE_MEMORY_STEADY);
    /* 1 % of 1000 MB in 100 steps of 100 ms is 1 MB/s */
    check(monitored(928, 1.1, 40, 80), MEMORY_GROWS, 1, "93 %", PHRASE_MEMORY_GROWS, PHRASE_MEMORY_FIND_KEPT);
    check(monitored(928, 0.9, 40, 80), MEMORY_BY_DESIGN, 0, "93 %", PHRASE_MEMORY_BY_DESIGN, PHRASE_MEMORY_STEADY);
    check(monitored(928, 1.1, 18, 80), MEMORY_BY_DESIGN, -1, "93 %", PHRASE_MEMORY_BY_DESIGN,
          PHRASE_MEMORY_GROWTH_UNKNOWN);
    check(monitored(953, 0, 40, 80), MEMORY_NEARLY_FULL, 0, "95.3 %", PHRASE_MEMORY_LITTLE_LEFT,
          PHRASE_MEMORY_SMALLER_BATCH);
    check(monitored(902, 0, 40, 80), MEMORY_BY_DESIGN, 0, "90.2 %", PHRASE_MEMORY_BY_DESIGN,
          PHRASE_MEMORY_STEADY); /* not "90 %", which is a threshold */
    check(monitored(990, 0, 40, 80), MEMORY_RISK, 0, "99 %", PHRASE_MEMORY_ENDS_RUN, PHRASE_MEMORY_SMALLER_BATCH);
    check(monitored(490, 0, 40, 80), MEMORY_ROOM, 0, "49 %", PHRASE_MEMORY_HAS_ROOM, PHRASE_NONE);
    check(monitored(600, 0, 40, 80), MEMORY_FINE, 0, NULL, PHRASE_NONE, PHRASE_NONE);
    check(monitored(100, 0, 40, 0), MEMORY_UNKNOWN, -1, NULL, PHRASE_NONE,
          PHRASE_NONE); /* not the run's, because nothing ran on it */
}

/* The fullest GPU limits the batch. */
static void test_fullest(void **state)
{
    (void)state;
    struct run *r = monitored(400, 0, 40, 80);
    struct run_node *n = r->nodes;
    struct run_gpu *two = dcr_arena_alloc(&r->arena, 2 * sizeof *two);
    two[0] = two[1] = *n->gpus;
    two[1].gpu_id = 1;
    two[1].memory_used_mb.max = 960;
    n->gpus = two;
    n->n_gpus = 2;
    struct report rep = {0};
    struct analyse_options o = made_options();
    assert_int_equal(analyse(&rep, &r, 1, &o, NULL), 0);
    int n_said = 0;
    for (int i = 0; i < rep.runs->n_notes; i++)
        if (rep.runs->notes[i].said->id == PHRASE_MEMORY_PEAK) {
            n_said++;
            assert_string_equal(rep.runs->notes[i].said->slot[0].name, "GPU 1 of node 0");
            assert_string_equal(rep.runs->notes[i].said->slot[1].name, "96 %");
        }
    assert_int_equal(n_said, 1);
    report_free(&rep);
    run_free(r);
}

/* Single allocations are a lower bound and do not show the free room; the allocator's own events do. */
static void test_trace(void **state)
{
    (void)state;
    for (int is_driver = 0; is_driver < 2; is_driver++) {
        struct run *r = made_even_run(1, 64, 40, 100, 0, 0, 0);
        struct run_device d = {.model = "", .memory_total_bytes = 100};
        struct foreign_trace f = {.file = "t.json", .devices = &d, .n_devices = 1};
        d.file = "t.json";
        d.memory = (struct device_memory){.n = 4, .is_driver = is_driver, .peak_allocated = 40, .peak_reserved = -1};
        r->traces = &f;
        r->n_traces = 1;
        check(r, is_driver ? MEMORY_UNKNOWN : MEMORY_ROOM, -1, is_driver ? NULL : "40 %", PHRASE_MEMORY_HAS_ROOM,
              PHRASE_NONE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_states), cmocka_unit_test(test_monitor),
                                       cmocka_unit_test(test_fullest), cmocka_unit_test(test_trace)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
