/* test_simulate.c - generated traffic: same seed same bits, plausible vehicles, files that read back the same. */
#include "trainer/formats/formats.h"
#include "trainer/simulate/simulate.h"

#include "tests/unit/quick.h"
#include "tests/unit/trainer_files.h"

#include <math.h>

static void generate(size_t n_sensors, size_t n_days, uint64_t seed, struct dataset *d, struct sim_distances *m)
{
    struct simulate_config c = {seed, n_sensors, n_days};
    struct dcr_err err = {0};
    if (simulate_traffic(&c, d, m, &err))
        fail_msg("%s", err.text);
}

static void release(struct dataset *d, struct sim_distances *m)
{
    dataset_release(d);
    sim_distances_release(m);
}

static void a_seed_is_a_data_set(void **state)
{
    (void)state;
    struct dataset a, b, c;
    struct sim_distances ma, mb, mc;
    generate(12, 1, 5, &a, &ma);
    generate(12, 1, 5, &b, &mb);
    generate(12, 1, 6, &c, &mc);
    assert_int_equal(a.n_rows, 288);
    assert_non_null(strstr(a.description, "12 sensors, 1 day, seed 5"));
    assert_memory_equal(a.speed_mph, b.speed_mph, 288 * 12 * sizeof(float));
    assert_int_equal(ma.n, mb.n);
    assert_memory_equal(ma.metres, mb.metres, ma.n * sizeof(double));
    assert_int_not_equal(memcmp(a.speed_mph, c.speed_mph, 288 * 12 * sizeof(float)), 0);
    release(&a, &ma);
    release(&b, &mb);
    release(&c, &mc);
}

static void speeds_are_speeds(void **state)
{
    (void)state;
    struct dataset d;
    struct sim_distances m;
    generate(48, 3, 1, &d, &m);
    size_t n_missing = 0, n = d.n_rows * d.n_sensors;
    for (size_t i = 0; i < n; i++) {
        float v = d.speed_mph[i];
        n_missing += v == 0;
        if (v != 0 && !(v >= 1 && v <= 85))
            fail_msg("speed %g", (double)v);
    }
    /* outages exist but are rare */
    assert_in_range(n_missing, n / 200, n / 10);
    release(&d, &m);
}

/* Share of valid readings under 40 mph in a range of hours. */
static double slow_share(const struct dataset *d, size_t day0, size_t day1, int hour0, int hour1)
{
    double slow = 0, valid = 0;
    for (size_t day = day0; day < day1; day++)
        for (size_t row = day * 288 + (size_t)hour0 * 12; row < day * 288 + (size_t)hour1 * 12; row++)
            for (size_t i = 0; i < d->n_sensors; i++) {
                float v = d->speed_mph[row * d->n_sensors + i];
                valid += v != 0;
                slow += v != 0 && v < 40;
            }
    return slow / valid;
}

static void rush_hours_congest_on_working_days(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        struct dataset d;
        struct sim_distances m;
        generate(48, 7, seed, &d, &m);
        double morning = slow_share(&d, 0, 5, 7, 10), night = slow_share(&d, 0, 5, 1, 5);
        double weekend = slow_share(&d, 5, 7, 7, 10), noon = slow_share(&d, 0, 5, 12, 14);
        assert_true(morning > 0.08 && morning < 0.6);
        assert_true(night < 0.02 && weekend < morning / 4 && noon < morning / 2);
        release(&d, &m);
    }
}

/* A queue grows against the driving direction: where two sensors of one link congest, the upstream one is later. The
 * sensors of a link are numbered in driving order. */
static void queues_grow_backwards(void **state)
{
    (void)state;
    struct dataset d;
    struct sim_distances m;
    struct sim_network net;
    struct dcr_err err = {0};
    generate(96, 3, 2, &d, &m);
    assert_int_equal(sim_network_build(&net, 96, 2, &err), 0);
    int backwards = 0, forwards = 0;
    for (size_t i = 0; i + 1 < 96; i++) {
        if (net.sensors[i].link != net.sensors[i + 1].link)
            continue;
        for (size_t day = 0; day < 3; day++) {
            long first[2] = {-1, -1};
            for (size_t row = day * 288 + 72; row < day * 288 + 120; row++)
                for (size_t k = 0; k < 2; k++) {
                    float v = d.speed_mph[row * 96 + i + k];
                    if (first[k] < 0 && v != 0 && v < 35)
                        first[k] = (long)row;
                }
            if (first[0] >= 0 && first[1] >= 0 && first[0] != first[1]) {
                backwards += first[0] > first[1];
                forwards += first[0] < first[1];
            }
        }
    }
    assert_true(backwards + forwards >= 10);
    assert_true(backwards > 3 * forwards);
    sim_network_release(&net);
    release(&d, &m);
}

static void distances_are_one_way(void **state)
{
    (void)state;
    struct sim_network net;
    struct sim_distances m;
    struct graph_csr a = {0};
    struct dcr_err err = {0};
    assert_int_equal(sim_network_build(&net, 48, 1, &err), 0);
    assert_int_equal(sim_network_distances(&net, &m, &err), 0);
    int n_one_way = 0, n_self = 0;
    double d[48][48];
    for (int i = 0; i < 48; i++)
        for (int j = 0; j < 48; j++)
            d[i][j] = INFINITY;
    for (size_t k = 0; k < m.n; k++) {
        assert_true(m.metres[k] <= SIMULATE_DISTANCE_M);
        d[m.from[k]][m.to[k]] = m.metres[k];
    }
    for (int i = 0; i < 48; i++)
        for (int j = 0; j < 48; j++) {
            n_self += i == j && d[i][j] == 0;
            n_one_way += isfinite(d[i][j]) && !isfinite(d[j][i]);
            for (int k = 0; k < 48; k++) /* no way is longer than one by a third sensor */
                if (d[i][k] + d[k][j] + 0.2 < d[i][j] && d[i][k] + d[k][j] < SIMULATE_DISTANCE_M)
                    fail_msg("%d to %d by %d", i, j, k);
        }
    assert_int_equal(n_self, 48);
    assert_true(n_one_way > 48);
    assert_int_equal(simulate_adjacency(&m, 48, &a, &err), 0);
    assert_in_range(graph_csr_nnz(&a), 96, 48 * 12);
    graph_csr_free(&a);
    sim_distances_release(&m);
    sim_network_release(&net);
}

static void any_number_of_sensors(void **state)
{
    (void)state;
    const size_t sizes[] = {2, 3, 7, 10, 49, 325}; /* the last takes longest */
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes - (every(2) - 1); i++) {
        struct dataset d;
        struct sim_distances m;
        generate(sizes[i], 1, 3, &d, &m);
        assert_int_equal(d.n_sensors, sizes[i]);
        release(&d, &m);
    }
    struct simulate_config bad[] = {{1, 1, 1}, {1, 5000, 1}, {1, 10, 0}, {1, 10, 400}};
    for (size_t i = 0; i < 4; i++) {
        struct dataset d;
        struct sim_distances m;
        struct dcr_err err = {0};
        assert_int_equal(simulate_traffic(&bad[i], &d, &m, &err), DCR_FAIL);
        assert_sentence(err, "a simulation takes ");
    }
}

/* Few sensors may lie out of reach of each other: then every distance is 0, and no graph can be made of them. */
static void sensors_have_neighbours(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 6000; seed += every(20))
        for (size_t n = 2; n <= 9; n++) {
            struct sim_network net;
            struct sim_distances m;
            struct graph_csr a = {0};
            struct dcr_err err = {0};
            assert_int_equal(sim_network_build(&net, n, seed, &err), 0);
            assert_int_equal(sim_network_distances(&net, &m, &err), 0);
            if (simulate_adjacency(&m, n, &a, &err))
                fail_msg("%zu sensors of seed %llu: %s", n, (unsigned long long)seed, err.text);
            graph_csr_free(&a);
            sim_distances_release(&m);
            sim_network_release(&net);
        }
}

static void files_say_the_same_again(void **state)
{
    (void)state;
    struct dataset d, back;
    struct sim_distances m;
    struct graph_csr a = {0}, b = {0};
    struct dcr_err err = {0};
    generate(10, 33, 4, &d, &m);
    const char *dir = scratch_path("data");
    if (simulate_write(dir, &d, &m, &err))
        fail_msg("%s", err.text);
    if (dataset_read(&back, &(struct dataset_file){.path = scratch_path("data/speeds.csv")}, &err))
        fail_msg("%s", err.text);
    assert_int_equal(back.n_rows, d.n_rows);
    assert_int_equal(back.n_gaps, 0); /* over the end of January too */
    assert_memory_equal(back.speed_mph, d.speed_mph, d.n_rows * d.n_sensors * sizeof(float));
    assert_memory_equal(back.time_of_day, d.time_of_day, d.n_rows * sizeof(float));
    assert_memory_equal(back.id, d.id, d.n_sensors * sizeof *d.id);
    struct graph_file f = {scratch_path("data/distances.csv"), GRAPH_AUTO, 0};
    assert_int_equal(graph_read(&f, &back, &a, NULL, &err), 0);
    assert_int_equal(simulate_adjacency(&m, 10, &b, &err), 0);
    assert_int_equal(graph_csr_nnz(&a), graph_csr_nnz(&b));
    assert_memory_equal(a.val, b.val, (size_t)graph_csr_nnz(&a) * sizeof(double));
    assert_int_equal(simulate_write(scratch_path("data/speeds.csv"), &d, &m, &err), DCR_FAIL);
    graph_csr_free(&a);
    graph_csr_free(&b);
    dataset_release(&back);
    release(&d, &m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seed_is_a_data_set),
        cmocka_unit_test(speeds_are_speeds),
        cmocka_unit_test(rush_hours_congest_on_working_days),
        cmocka_unit_test(queues_grow_backwards),
        cmocka_unit_test(distances_are_one_way),
        cmocka_unit_test(any_number_of_sensors),
        cmocka_unit_test(sensors_have_neighbours),
        cmocka_unit_test(files_say_the_same_again),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
