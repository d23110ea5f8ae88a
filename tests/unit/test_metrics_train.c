/* test_metrics_train.c - the trainer's tables: columns, empty cells, and the rows that a resumed run keeps. */
#include "trainer/run/metrics.h"

#include "lib/base/csv.h"
#include "tests/unit/trainer_files.h"

#include <fcntl.h>
#include <sys/stat.h>

static void add_steps(struct metrics *m, int64_t from, int64_t to)
{
    struct dcr_err err = {0};
    for (int64_t i = from; i < to; i++) {
        struct step_row row = {.epoch = 1 + i / 3, .step = i, .samples = 8, .loss = 2.5, .has_in_flight = i > 0};
        row.times.start_ns = 1000 + i;
        row.times.ns[MARK_ALL_REDUCE_BUCKET] = 9;
        row.times.ns[MARK_STEP] = 77;
        assert_int_equal(metrics_add_step(m, &row, &err), 0);
    }
}

static void add_epoch(struct metrics *m, int64_t epoch, int has_validation)
{
    struct dcr_err err = {0};
    struct loss_horizon val[3] = {[2] = {.abs = 6, .square = 20, .n_valid = 4}};
    struct epoch_row row = {.epoch = epoch,
                            .train_loss = 3,
                            .has_validation = has_validation,
                            .val_total = {.abs = 10, .square = 64, .n_valid = 4},
                            .val = val,
                            .n_out = 3,
                            .epoch_ns = 2000000000,
                            .n_samples = 100,
                            .learning_rate = 0.01};
    row.times.ns[MARK_STEP] = 500000000;
    assert_int_equal(metrics_add_epoch(m, &row, &err), 0);
}

/* Cell of a row (from 0) as text. */
static const char *cell(const char *path, int row, const char *column)
{
    static char text[4][64];
    static int k;
    struct dcr_csv *c = NULL;
    struct dcr_err err = {0};
    int fd = open(path, O_RDONLY);
    struct dcr_stream s = dcr_stream_fd(&fd, path);
    assert_int_equal(dcr_csv_open(&c, &s, &err), 0);
    assert_true(dcr_csv_column(c, column) >= 0);
    k = (k + 1) % 4;
    snprintf(text[k], sizeof text[k], "none");
    for (int i = 0; i <= row; i++) {
        int rc = dcr_csv_next(c, &err);
        if (rc == DCR_END)
            break;
        assert_int_equal(rc, 0);
        if (i == row)
            snprintf(text[k], sizeof text[k], "%s", dcr_csv_text(c, dcr_csv_column(c, column)));
    }
    dcr_csv_close(c);
    close(fd);
    return text[k];
}

static void rows_have_the_agreed_columns(void **state)
{
    (void)state;
    struct metrics m;
    struct dcr_err err = {0};
    const char *dir = scratch_path("run");
    if (metrics_open(&m, dir, 0, 0, 0, &err))
        fail_msg("%s", err.text);
    add_steps(&m, 0, 2);
    add_epoch(&m, 1, 1);
    add_epoch(&m, 2, 0);
    /* every row is in the file before the next is made */
    const char *epochs = scratch_path("run/metrics.csv"), *steps = scratch_path("run/steps-rank0.csv");
    assert_string_equal(cell(steps, 1, "step"), "1");
    assert_string_equal(cell(steps, 1, "h2d_ns"), "");
    assert_string_equal(cell(steps, 1, "step_ns"), "77");
    assert_string_equal(cell(steps, 1, "loss"), "2.5");
    assert_string_equal(cell(steps, 0, "allreduce_inflight_ns"), "");
    assert_string_equal(cell(steps, 1, "allreduce_inflight_ns"), "9");
    assert_string_equal(cell(epochs, 0, "val_mae"), "2.5");
    assert_string_equal(cell(epochs, 0, "val_rmse"), "4");
    assert_string_equal(cell(epochs, 0, "val_mae_15min"), "1.5");
    assert_string_equal(cell(epochs, 0, "val_mae_60min"), "");
    assert_string_equal(cell(epochs, 0, "gpu_util_avg"), "");
    assert_string_equal(cell(epochs, 0, "throughput_samples_per_sec"), "200");
    assert_string_equal(cell(epochs, 0, "epoch_time_sec"), "2");
    assert_string_equal(cell(epochs, 1, "val_mae"), "");
    assert_string_equal(cell(epochs, 1, "validation_time_sec"), "");
    assert_string_equal(cell(epochs, 1, "learning_rate"), "0.01");
    assert_int_equal(metrics_close(&m, &err), 0);
}

static void a_resumed_run_replaces_later_rows(void **state)
{
    (void)state;
    struct metrics m;
    struct dcr_err err = {0};
    const char *dir = scratch_path("again");
    assert_int_equal(metrics_open(&m, dir, 0, 0, 0, &err), 0);
    add_steps(&m, 0, 5);
    add_epoch(&m, 1, 1);
    add_epoch(&m, 2, 0);
    fputs("2,5,0,99", m.steps); /* killed in the middle of a row */
    assert_int_equal(metrics_close(&m, &err), 0);
    assert_int_equal(metrics_open(&m, dir, 0, 1, 4, &err), 0);
    add_steps(&m, 4, 6);
    add_epoch(&m, 2, 1);
    assert_int_equal(metrics_close(&m, &err), 0);
    const char *epochs = scratch_path("again/metrics.csv"), *steps = scratch_path("again/steps-rank0.csv");
    assert_string_equal(cell(steps, 3, "step"), "3");
    assert_string_equal(cell(steps, 4, "step"), "4");
    assert_string_equal(cell(steps, 5, "step"), "5");
    assert_string_equal(cell(steps, 6, "step"), "none");
    assert_string_equal(cell(epochs, 1, "val_mae"), "2.5");
    assert_string_equal(cell(epochs, 2, "epoch"), "none");
    /* a new run begins new tables */
    assert_int_equal(metrics_open(&m, dir, 0, 0, 0, &err), 0);
    assert_int_equal(metrics_close(&m, &err), 0);
    assert_string_equal(cell(steps, 0, "step"), "none");
}

static void foreign_tables_are_left_alone(void **state)
{
    (void)state;
    struct metrics m;
    struct dcr_err err = {0};
    assert_int_equal(mkdir(scratch_path("other"), 0777), 0);
    scratch_file("other/steps-rank0.csv", "a,b\n1,2\n");
    assert_int_equal(metrics_open(&m, scratch_path("other"), 0, 1, 4, &err), DCR_FAIL);
    assert_sentence(err, "is not a table of this version of the program");
    assert_int_equal(metrics_close(&m, &err), 0);
    scratch_file("a-file", "x");
    assert_int_equal(metrics_open(&m, scratch_path("a-file"), 0, 0, 0, &err), DCR_FAIL);
    assert_int_equal(metrics_close(&m, &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_have_the_agreed_columns),
        cmocka_unit_test(a_resumed_run_replaces_later_rows),
        cmocka_unit_test(foreign_tables_are_left_alone),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
