/* test_dataset.c - reading speeds; windows, split, scaler and batches as defined in dcrnn-model.md section 6. */
#include "trainer/formats/formats.h"
#include "trainer/tools/baseline.h"

#include "tests/unit/trainer_files.h"

#include <math.h>

static int read_text(struct dataset *d, const char *text, struct dcr_err *err)
{
    return dataset_read(d, &(struct dataset_file){.path = scratch_file("t.csv", text)}, err);
}

static void expect_failure(const char *text, const char *part)
{
    struct dataset d;
    struct dcr_err err = {0};
    assert_int_equal(read_text(&d, text, &err), DCR_FAIL);
    assert_sentence(err, part);
}

static void reads_time_and_ids(void **state)
{
    (void)state;
    struct dataset d;
    struct dcr_err err = {0};
    assert_int_equal(
        read_text(&d, "timestamp,a,b\n2012-03-01 23:50,1,2.5\r\n2012-03-01T23:55:00,0,4\n\n2012-03-02 00:00,5,6", &err),
        0);
    assert_int_equal(d.n_rows, 3);
    assert_int_equal(d.n_sensors, 2);
    assert_string_equal(d.id[1], "b");
    assert_true(d.speed_mph[1] == 2.5f && d.speed_mph[2] == 0 && d.speed_mph[5] == 6);
    assert_float_equal(d.time_of_day[0], 1430.0 / 1440, 1e-7);
    assert_true(d.time_of_day[2] == 0);
    assert_int_equal(d.n_gaps, 0);
    dataset_release(&d);
}

static void header_rule(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t n_rows;
        const char *id0;
    } cases[] = {
        {"773869,767541\n60,61\n62,63\n", 2, "773869"}, /* sensor numbers are not speeds */
        {"71.1,66\n60,61\n", 2, "0"},                   /* first line is a reading */
        {"0,1,2\n60,61,62\n", 1, "0"},                  /* counted columns */
        {",x\n2018-01-01 00:00,50\n2018-01-01 00:10,50\n", 2, "x"},
        {"2018-01-01 00:00,50\n2018-01-01 00:05,51\n", 2, "0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dataset d;
        struct dcr_err err = {0};
        assert_int_equal(read_text(&d, cases[i].text, &err), 0);
        assert_int_equal(d.n_rows, cases[i].n_rows);
        assert_string_equal(d.id[0], cases[i].id0);
        assert_int_equal(d.n_gaps, i == 3);
        dataset_release(&d);
    }
}

static void header_and_ids_may_be_said(void **state)
{
    (void)state;
    struct dataset d;
    struct dcr_err err = {0};
    const char *data = scratch_file("plain.csv", "50,60\n51,61\n");
    assert_int_equal(dataset_read(&d,
                                  &(struct dataset_file){.path = data,
                                                         .header = DATASET_HEADER_NO,
                                                         .ids_path = scratch_file("ids.txt", "x9,y8\n")},
                                  &err),
                     0);
    assert_string_equal(d.id[0], "x9");
    dataset_release(&d);
    assert_int_equal(dataset_read(&d, &(struct dataset_file){.path = data, .header = DATASET_HEADER_YES}, &err), 0);
    assert_string_equal(d.id[1], "60");
    dataset_release(&d);
    assert_int_equal(dataset_read(&d,
                                  &(struct dataset_file){.path = data,
                                                         .header = DATASET_HEADER_NO,
                                                         .ids_path = scratch_file("ids.txt", "x9\n")},
                                  &err),
                     DCR_FAIL);
    assert_sentence(err, "is 1, but the data have 2 columns; give one id per column");
}

static void broken_files_name_the_place(void **state)
{
    (void)state;
    struct dataset d;
    struct dcr_err err = {0};
    expect_failure("", "is empty");
    expect_failure("\n \n", "no rows");
    expect_failure("a,b\n", "no rows");
    expect_failure("a,b\n1,2\n3\n", "line 3 has 1 cell instead of 2");
    expect_failure("a,b\n1,2\n3,4,5\n", "line 3 has 3 cells instead of 2");
    expect_failure("a,b\n1,x\n", "line 2, column 2: 'x' is not a finite number; a missing reading is 0");
    expect_failure("a,b\n1,nan\n", "line 2, column 2: 'nan'");
    expect_failure("a,b\n1,inf\n", "line 2, column 2: 'inf'");
    expect_failure("a,b\n1,0x10\n", "'0x10'");
    expect_failure("a,b\n1,\n", "line 2, column 2 is empty");
    expect_failure("a,b\n1,-3\n", "-3 is not a speed");
    expect_failure("a,b\n1,3000\n", "3000 is not a speed");
    expect_failure("a,a\n1,2\n", "sensor id 'a' occurs twice");
    expect_failure("a,\n1,2\n", "sensor id '' of column 2 must have 1 to");
    expect_failure("timestamp;a;b\n2018-01-01 00:00;1;2\n", "line 1: its cells are separated by semicolons; make them");
    expect_failure("timestamp\n2018-01-01 00:00\n", "no sensor columns");
    expect_failure("timestamp,a\nyesterday,5\n", "'yesterday' is not a time stamp");
    expect_failure("timestamp,a\n2018-13-01 00:00,5\n", "is not a time stamp");
    expect_failure("timestamp,a\n2018-02-29 00:00,5\n", "is not a time stamp");
    expect_failure("timestamp,a\n2018-12-32 00:00,5\n", "is not a time stamp");
    expect_failure("timestamp,a\n2018-01-01 00:05,5\n2018-01-01 00:05,5\n",
                   "line 3: time '2018-01-01 00:05' is not later");
    assert_int_equal(dataset_read(&d, &(struct dataset_file){.path = scratch_path("absent")}, &err), DCR_FAIL);
    assert_sentence(err, "cannot read");
    assert_int_equal(dataset_read(&d, &(struct dataset_file){.path = scratch}, &err) < 0, 1);
}

static void split_counts_windows_as_published(void **state)
{
    (void)state;
    struct dataset d;
    struct dcr_err err = {0};
    assert_int_equal(dataset_alloc(&d, 34272, 1, &err), 0);
    for (size_t i = 0; i < d.n_rows; i++)
        d.speed_mph[i] = (float)(i % 60);
    assert_int_equal(dataset_split(&d, 12, 12, &err), 0);
    assert_int_equal(d.n_windows, 34249);
    assert_int_equal(d.train.count, 23974);
    assert_int_equal(d.val.first, 23974);
    assert_int_equal(d.val.count, 3425);
    assert_int_equal(d.test.count, 6850);
    /* rows 27411 to 34271, of which every 60th is missing */
    assert_int_equal(dataset_n_valid(&d, d.test), 6861 - 115);
    assert_int_equal(dataset_n_valid(&d, (struct window_range){48, 1}), 11);
    assert_int_equal(dataset_n_valid(&d, (struct window_range){0, 0}), 0);
    dataset_release(&d);
    assert_int_equal(dataset_alloc(&d, 20, 1, &err), 0);
    assert_int_equal(dataset_split(&d, 12, 12, &err), DCR_FAIL);
    dataset_release(&d);
    assert_int_equal(dataset_alloc(&d, 40, 1, &err), 0);
    for (size_t i = 0; i < d.n_rows; i++)
        d.speed_mph[i] = 50;
    assert_int_equal(dataset_split(&d, 12, 12, &err), DCR_FAIL);
    assert_sentence(err, "all training speeds are 50: there is nothing to learn");
    dataset_release(&d);
    assert_int_equal(dataset_alloc(&d, (size_t)1 << 33, 1, &err), DCR_FAIL);
    assert_sentence(err, "8589934592 rows of 1 sensors are more than this program handles");
}

/* The definition itself, written down naively. */
static void scaler_counts_interior_rows_often(void **state)
{
    (void)state;
    struct dataset d;
    struct dcr_err err = {0};
    assert_int_equal(dataset_alloc(&d, 40, 3, &err), 0);
    for (size_t i = 0; i < 120; i++)
        d.speed_mph[i] = i % 7 == 0 ? 0 : (float)(30 + i * i % 41);
    assert_int_equal(dataset_split(&d, 4, 3, &err), 0);
    double sum = 0, square = 0, n = 0;
    for (size_t w = 0; w < d.train.count; w++)
        for (size_t i = w * 3; i < (w + 4) * 3; i++) {
            sum += (double)d.speed_mph[i];
            square += (double)d.speed_mph[i] * (double)d.speed_mph[i];
            n++;
        }
    double mean = sum / n;
    assert_true(fabs(d.mean_mph - mean) < 1e-11);
    assert_true(fabs(d.std_mph - sqrt(square / n - mean * mean)) < 1e-9);
    dataset_release(&d);
}

static void batch_lays_out_time_outermost(void **state)
{
    (void)state;
    struct dataset d;
    struct dcr_err err = {0};
    assert_int_equal(dataset_alloc(&d, 30, 2, &err), 0);
    for (size_t i = 0; i < 60; i++)
        d.speed_mph[i] = i == 13 ? 0 : (float)(i + 1);
    for (size_t i = 0; i < 30; i++)
        d.time_of_day[i] = (float)i / 32;
    assert_int_equal(dataset_split(&d, 2, 3, &err), 0);
    const uint32_t windows[2] = {4, 1};
    float x[2 * 2 * 2 * 2], y_z[3 * 2 * 2], y[3 * 2 * 2];
    dataset_batch(&d, windows, 2, x, y_z, y);
    /* x[t=1][b=0][sensor 1] is row 5, sensor 1 */
    assert_true(x[((1 * 2 + 0) * 2 + 1) * 2] == dataset_scale(&d, 12));
    assert_true(x[((1 * 2 + 0) * 2 + 1) * 2 + 1] == 5.0f / 32);
    /* y[t=0][b=0][sensor 1] is row 6, sensor 1: the missing one, masked by the raw reading */
    assert_true(y[1] == 0 && y_z[1] == dataset_scale(&d, 0));
    assert_true(y[(2 * 2 + 1) * 2] == 11); /* t=2, b=1: row 5, sensor 0 */
    assert_int_equal(loss_count_valid(y, 12), 11);
    dataset_release(&d);
}

static void real_data_have_the_published_baseline(void **state)
{
    (void)state;
    struct dataset d;
    struct dcr_err err = {0};
    struct loss_horizon sums[12];
    assert_int_equal(dataset_read(&d, &(struct dataset_file){.path = traffic_file("metr-la-10x34272.csv")}, &err), 0);
    assert_int_equal(d.n_rows, 34272);
    assert_string_equal(d.id[0], "773869");
    assert_true(d.time_of_day[0] == 0 && d.time_of_day[34271] == (float)(287.0 / 288));
    assert_int_equal(dataset_split(&d, 12, 12, &err), 0);
    assert_int_equal(baseline_score(BASELINE_LAST_VALID, &d, d.test, sums, &err), 0);
    assert_true(fabs(loss_mae(&sums[2]) - 3.358) < 5e-4);
    assert_true(fabs(loss_mae(&sums[5]) - 3.983) < 5e-4);
    assert_true(fabs(loss_mae(&sums[11]) - 5.052) < 5e-4);
    assert_true(fabs(loss_rmse(&sums[11]) - 9.565) < 5e-4);
    assert_true(fabs(loss_mape(&sums[11]) - 0.1324) < 5e-5);
    assert_int_equal(baseline_score(BASELINE_LAST_READING, &d, d.test, sums, &err), 0);
    assert_true(fabs(loss_mae(&sums[2]) - 3.835) < 5e-4);
    assert_true(fabs(loss_mae(&sums[11]) - 6.352) < 5e-4);
    assert_int_equal(baseline_score(BASELINE_WEEKLY_AVERAGE, &d, d.test, sums, &err), 0);
    assert_true(fabs(loss_mae(&sums[2]) - 3.766) < 5e-4);
    assert_true(fabs(loss_mae(&sums[5]) - 3.767) < 5e-4);
    assert_true(fabs(loss_mae(&sums[11]) - 3.766) < 5e-4);
    assert_true(fabs(loss_rmse(&sums[11]) - 6.815) < 5e-4);
    assert_true(fabs(loss_mape(&sums[2]) - 0.1054) < 5e-5);
    dataset_release(&d);
}

static void every_published_file_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t n_rows, n_sensors;
        const char *id1;
    } files[] = {{"metr-la-207x2016.csv", 2016, 207, "767541"}, {"pemsd7-m-228x2016.csv", 2016, 228, "1"}};
    for (size_t i = 0; i < 2; i++) {
        struct dataset d;
        struct dcr_err err = {0};
        assert_int_equal(dataset_read(&d, &(struct dataset_file){.path = traffic_file(files[i].name)}, &err), 0);
        assert_int_equal(d.n_rows, files[i].n_rows);
        assert_int_equal(d.n_sensors, files[i].n_sensors);
        assert_string_equal(d.id[1], files[i].id1);
        dataset_release(&d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_time_and_ids),
        cmocka_unit_test(header_rule),
        cmocka_unit_test(header_and_ids_may_be_said),
        cmocka_unit_test(broken_files_name_the_place),
        cmocka_unit_test(split_counts_windows_as_published),
        cmocka_unit_test(scaler_counts_interior_rows_often),
        cmocka_unit_test(batch_lays_out_time_outermost),
        cmocka_unit_test(real_data_have_the_published_baseline),
        cmocka_unit_test(every_published_file_is_read),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
