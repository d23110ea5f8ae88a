/* test_dataset_files.c - speeds in every format. The files of tests/data/readers hold the same 48 x 4 readings from
 * 2012-03-01 22:00 on, written by pandas, PyTables and NumPy (make.py there), and damaged ones. */
#include "trainer/formats/formats.h"

#include "tests/unit/trainer_files.h"

#include "lib/base/fs.h"

#define DATA "tests/data/readers/"
#define START_S (15400LL * 86400 + 22 * 3600) /* 2012-03-01 22:00 */

static struct dataset csv;
static const char *ids;

static int load_csv(void **state)
{
    struct dcr_err err = {0};
    static char path[512];
    if (scratch_make(state) || dataset_read(&csv, &(struct dataset_file){.path = DATA "speeds.csv"}, &err))
        return -1;
    snprintf(path, sizeof path, "%s", scratch_file("ids.txt", "773869,767541,767542,717447\n"));
    ids = path;
    return 0;
}

static int release_csv(void **state)
{
    dataset_release(&csv);
    return scratch_remove(state);
}

static void expect_same(struct dataset_file file)
{
    struct dataset d;
    struct dcr_err err = {0};
    if (dataset_read(&d, &file, &err))
        fail_msg("%s", err.text);
    assert_int_equal(d.n_rows, 48);
    assert_int_equal(d.n_sensors, 4);
    assert_memory_equal(d.speed_mph, csv.speed_mph, 48 * 4 * sizeof(float));
    assert_memory_equal(d.time_of_day, csv.time_of_day, 48 * sizeof(float));
    assert_memory_equal(d.id, csv.id, 4 * sizeof *d.id);
    assert_int_equal(d.n_gaps, 0);
    dataset_release(&d);
}

static void expect_failure(struct dataset_file file, const char *part)
{
    struct dataset d;
    struct dcr_err err = {0};
    assert_int_equal(dataset_read(&d, &file, &err), DCR_FAIL);
    assert_sentence(err, part);
    assert_null(d.speed_mph);
}

static void the_csv_is_what_make_py_wrote(void **state)
{
    (void)state;
    assert_int_equal(csv.n_rows, 48);
    assert_string_equal(csv.id[3], "717447");
    assert_true(csv.speed_mph[0] == 0 && csv.speed_mph[1] == 48.25f && csv.speed_mph[4] == 46.75f);
    assert_true(csv.time_of_day[0] == (float)(22 / 24.0) && csv.time_of_day[24] == 0);
    assert_int_equal(csv.week_slot[1], csv.week_slot[0] + 1);
    assert_string_equal(csv.note, "");
}

static void frames_of_pandas(void **state)
{
    (void)state;
    expect_same((struct dataset_file){.path = DATA "metr-la.h5"});
    expect_same((struct dataset_file){.path = DATA "pems-bay.h5"});     /* whole numbers as ids, NaN = missing */
    expect_same((struct dataset_file){.path = DATA "mixed.h5"});        /* blocks of float32 and float64, deflated */
    expect_same((struct dataset_file){.path = DATA "microseconds.h5"}); /* the unit of pandas 3 */
    expect_same((struct dataset_file){.path = DATA "bare.h5"});         /* no attributes */
    expect_same((struct dataset_file){.path = DATA "many-types.h5"});   /* one with 60 texts: there is room for one */
    expect_same((struct dataset_file){.path = DATA "bad-two-frames.h5", .key = "other"});
    expect_same((struct dataset_file){.path = DATA "metr-la.h5", .key = "/df"});
    expect_same((struct dataset_file){.path = DATA "numbered-rows.h5", .has_start = 1, .start_s = START_S});
}

static char bytes[1 << 16];

static size_t slurp(const char *path)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    assert_in_range(n, 100, sizeof bytes - 1);
    return n;
}

static const char *spill(size_t n)
{
    const char *path = scratch_path("damaged");
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
    return path;
}

static void other_frames_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *path, *key, *part;
    } cases[] = {
        {DATA "bad-table.h5", NULL, "format for tables; save it in fixed format"},
        {DATA "bad-zone.h5", NULL, "a zone (America/Los_Angeles)"},
        {DATA "bad-blosc.h5", NULL, "is compressed by 'blosc'"},
        {DATA "bad-two-frames.h5", NULL, "holds 2 frames: df, other; say which one by --data-key"},
        {DATA "metr-la.h5", "speed", "has no frame 'speed'; its keys: df"},
        {DATA "bad-texts.h5", NULL, "'axis0' is not an array of numbers or of texts of fixed width"},
        {DATA "bad-order.h5", NULL, "row 2: time '2012-03-01 22:00' is not later than the row before"},
        {DATA "bad-series.h5", NULL, "is a series of pandas"},
        {DATA "bad-speeds.h5", NULL, "row 1, column 2: 482.5 is not a speed"},
        {DATA "bad-levels.h5", NULL, "several levels"},
        {DATA "bad-twice.h5", NULL, "sensor id '773869' occurs twice"},
        {DATA "bad-items.h5", NULL, "column '999999' of a block is not among the frame's columns"},
        {DATA "bad-shape.h5", NULL, "'block0_values' is 40 x 4, but there are 48 times and 4 columns"},
        {DATA "bad-narrow.h5", NULL, "'block0_values' is 48 x 3"},
        {DATA "bad-kind.h5", NULL, "named by 'float' and not by times"},
        {DATA "bad-nat.h5", NULL, "row 1: -9223372036854775808 is not a time"},
        {DATA "bad-claims.h5", NULL, "the values of 'axis1' are not all in the file"},
        {DATA "bad-plain.h5", NULL, "no frame of pandas; its keys: speed"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_failure((struct dataset_file){.path = cases[i].path, .key = cases[i].key}, cases[i].part);
}

/* The members of a group stand in its table by name; each entry of 40 bytes has the address of the member. */
static void parts_of_frames_are_checked(void **state)
{
    (void)state;
    static const char axis0_shape[] = "\1\1\1\0\0\0\0\0\4";
    enum { AXIS0, AXIS1, ITEMS, VALUES };
    size_t n = slurp(DATA "metr-la.h5");
    char *name = memmem(bytes, n, "axis0", 6), *shape = memmem(bytes, n, axis0_shape, sizeof axis0_shape - 1);
    char *table = memmem(bytes, n, "SNOD\1\0\4", 7), *of[4];
    assert_true(name && shape && table);
    for (int i = 0; i < 4; i++)
        of[i] = table + 16 + 40 * (size_t)i;
    const struct {
        char *at;
        const char *from;
        size_t n;
        const char *part;
    } cases[] = {{name, "axisX", 5, "the frame has no 'axis0'"},
                 {shape + 8, "", 1, "'axis0' has 0 x 1 values: none, or more than"},
                 {of[AXIS0], of[VALUES], 8, "sensor ids must be texts or whole numbers"},
                 {of[VALUES], of[AXIS0], 8, "'block0_values' is not a table of numbers"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(cases[i].at, cases[i].from, cases[i].n);
        expect_failure((struct dataset_file){.path = spill(n)}, cases[i].part);
        slurp(DATA "metr-la.h5");
    }
    n = slurp(DATA "mixed.h5");
    char *second = memmem(bytes, n, "block1_values", 14);
    assert_non_null(second);
    second[12] = 'z';
    expect_failure((struct dataset_file){.path = spill(n)}, "no block holds the column '773869'");
}

/* Refused with a sentence; or, if only unneeded parts are missing (a zip's directory), the same readings. */
static int is_refused_or_same(struct dataset_file file)
{
    struct dataset d;
    struct dcr_err err = {0};
    if (dataset_read(&d, &file, &err)) {
        assert_in_range(strlen(err.text), 20, sizeof err.text);
        return 1;
    }
    assert_int_equal(d.n_rows, 48);
    assert_memory_equal(d.speed_mph, csv.speed_mph, 48 * 4 * sizeof(float));
    dataset_release(&d);
    return 0;
}

static const struct {
    const char *path;
    int feature;
} whole[] = {{DATA "metr-la.h5", 0},
             {DATA "mixed.h5", 0},
             {DATA "speeds.npy", 0},
             {DATA "stored.npz", 0},
             {DATA "pems04.npz", 2}};

static void files_cut_off_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        size_t n = slurp(whole[i].path), n_refused = 0;
        for (size_t k = 1; k < 32; k++)
            n_refused += (size_t)is_refused_or_same(
                (struct dataset_file){.path = spill(n * k / 32), .feature = whole[i].feature});
        assert_in_range(n_refused, 25, 31);
    }
}

/* Values of a zip are checked by their CRC. */
static void a_flipped_bit_in_a_zip_is_noticed(void **state)
{
    (void)state;
    for (size_t i = 3; i < 5; i++) {
        size_t n = slurp(whole[i].path);
        for (size_t at = i == 3 ? 600 : 150; at < (i == 3 ? 1000 : 400); at += 37) {
            bytes[at] ^= 4;
            assert_int_equal(is_refused_or_same((struct dataset_file){.path = spill(n), .feature = whole[i].feature}),
                             1);
            bytes[at] ^= 4;
        }
    }
}

static void arrays_of_numpy(void **state)
{
    (void)state;
    struct dataset_file file = {.ids_path = ids, .has_start = 1, .start_s = START_S};
    file.path = DATA "speeds.npy";
    expect_same(file);
    file.path = DATA "speeds-f4-fortran.npy";
    expect_same(file);
    file.path = DATA "stored.npz"; /* other arrays besides data */
    expect_same(file);
    file.path = DATA "bad-several.npz";
    file.key = "b";
    expect_same(file);
    file.path = DATA "pems04.npz"; /* flow, occupancy, speed; NaN = missing */
    file.key = "data";
    file.feature = 2;
    expect_same(file);
}

static void windows_are_laid_back(void **state)
{
    (void)state;
    expect_same((struct dataset_file){.path = DATA "windows", .ids_path = ids});
    expect_same((struct dataset_file){.path = DATA "windows/", .ids_path = ids});
    expect_failure((struct dataset_file){.path = DATA "windows/train.npz"}, "give the folder that holds train.npz");
    expect_failure((struct dataset_file){.path = scratch}, "train.npz");
}

static void copy(const char *from, const char *to)
{
    char command[700];
    snprintf(command, sizeof command, "cp '%s' '%s'", from, to);
    assert_int_equal(system(command), 0);
}

/* Two files are swapped, so the copies of a row no longer agree. */
static void windows_that_disagree_are_refused(void **state)
{
    (void)state;
    assert_int_equal(dcr_mkdirs(scratch_path("w"), NULL), 0);
    copy(DATA "windows/train.npz", scratch_path("w/train.npz"));
    copy(DATA "windows/test.npz", scratch_path("w/val.npz"));
    copy(DATA "windows/val.npz", scratch_path("w/test.npz"));
    expect_failure((struct dataset_file){.path = scratch_path("w")}, "disagree");
    copy(DATA "stored.npz", scratch_path("w/test.npz"));
    copy(DATA "windows/val.npz", scratch_path("w/val.npz"));
    expect_failure((struct dataset_file){.path = scratch_path("w")}, "has no arrays x and y");
}

static void odd_arrays_are_refused(void **state)
{
    (void)state;
    static const struct {
        struct scratch_array array;
        const char *part;
    } cases[] = {{{"data.npy", "|u1', 'shape': (2, 2, 2, 2)", 16, 1}, "has the shape (2, 2, 2, 2); speeds need"},
                 {{"data.npy", "|u1', 'shape': (0, 4)", 0, 0}, "has the shape (0, 4): there are no speeds in it"},
                 {{"data.txt", "|u1', 'shape': (4, 4)", 16, 1}, "its member 'data.txt' is not a NumPy array"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_failure((struct dataset_file){.path = scratch_npz("odd.npz", &cases[i].array, 1)}, cases[i].part);
    expect_failure((struct dataset_file){.path = scratch_npz("odd.npz", NULL, 0)}, "holds no array");
}

/* Windows of 2 + 1 steps of 3 sensors; then one array is replaced. */
static void odd_windows_are_refused(void **state)
{
    (void)state;
    static const struct scratch_array x = {"x.npy", "|u1', 'shape': (4, 2, 3, 1)", 24, 1};
    static const struct scratch_array y = {"y.npy", "|u1', 'shape': (4, 1, 3, 1)", 12, 1};
    static const struct {
        const char *file;
        struct scratch_array array;
        const char *part;
    } cases[] = {
        {"train", {"x.npy", "|u1', 'shape': (4, 2, 3)", 24, 1}, "windows need (windows, steps, sensors"},
        {"train", {"y.npy", "|u1', 'shape': (3, 1, 3, 1)", 9, 1}, "does not match the arrays before: 3 sensors"},
        {"val", {"y.npy", "|u1', 'shape': (4, 2, 3, 1)", 24, 1}, "windows of 2 + 2 steps, the files before 2 + 1"},
        {"train", {"x_offsets.npy", "|u1', 'shape': (2,)", 2, 0}, "x_offsets are not neighbouring rows"},
        {"train", {"x.npy", "|u1', 'shape': (4, 2, 3, 2)", 48, 2}, "feature 1 of row 1 is 2 and no time of day"}};
    assert_int_equal(dcr_mkdirs(scratch_path("odd"), NULL), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static const char *const files[] = {"train", "val", "test"};
        for (size_t k = 0; k < 3; k++) {
            char name[40];
            int is_odd = !strcmp(cases[i].file, files[k]), is_x = !strcmp(cases[i].array.name, "x.npy");
            const struct scratch_array arrays[] = {is_odd && is_x ? cases[i].array : x,
                                                   is_odd && cases[i].array.name[0] == 'y' ? cases[i].array : y,
                                                   cases[i].array};
            snprintf(name, sizeof name, "odd/%s.npz", files[k]);
            scratch_npz(name, arrays, is_odd && !strncmp(cases[i].array.name, "x_", 2) ? 3 : 2);
        }
        expect_failure((struct dataset_file){.path = scratch_path("odd")}, cases[i].part);
    }
}

static void wishes_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    expect_failure((struct dataset_file){.path = DATA "speeds.csv", .key = "df"}, "leave --data-key out");
    expect_failure((struct dataset_file){.path = DATA "metr-la.h5", .feature = 1}, "leave --data-feature out");
    expect_failure((struct dataset_file){.path = DATA "metr-la.h5", .header = DATASET_HEADER_YES},
                   "leave --header out");
    expect_failure((struct dataset_file){.path = DATA "metr-la.h5", .has_start = 1}, "leave --start-time out");
    expect_failure((struct dataset_file){.path = DATA "speeds.csv", .has_start = 1}, "leave --start-time out");
    expect_failure((struct dataset_file){.path = DATA "metr-la.h5", .ids_path = ids}, "names its sensors");
    expect_failure((struct dataset_file){.path = DATA "pems04.npz"}, "400 is not a speed");
    expect_failure((struct dataset_file){.path = DATA "pems04.npz"}, "--data-feature chooses another");
    expect_failure((struct dataset_file){.path = DATA "pems04.npz", .feature = 3}, "no feature 3");
    expect_failure((struct dataset_file){.path = DATA "pems04.npz", .key = "x"}, "has no array 'x'; it has data (48");
    expect_failure((struct dataset_file){.path = DATA "bad-several.npz"}, "by --data-key NAME");
    expect_failure((struct dataset_file){.path = DATA "adj_mx.pkl"}, "Python pickle");
    expect_failure(
        (struct dataset_file){.path = scratch_file("p", "version https://git-lfs.github.com/spec/v1\noid x\n")},
        "Git LFS pointer");
}

static void assumed_times_are_noted(void **state)
{
    (void)state;
    struct dataset d;
    struct dcr_err err = {0};
    assert_int_equal(dataset_read(&d, &(struct dataset_file){.path = DATA "pems04.npz", .feature = 2}, &err), 0);
    assert_non_null(strstr(d.note, "feature 2 of 3 taken as the speed; no times: the first row is taken as midnight"));
    assert_true(d.time_of_day[0] == 0 && d.is_numbered);
    dataset_release(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_csv_is_what_make_py_wrote),
        cmocka_unit_test(frames_of_pandas),
        cmocka_unit_test(other_frames_are_refused),
        cmocka_unit_test(parts_of_frames_are_checked),
        cmocka_unit_test(files_cut_off_are_refused),
        cmocka_unit_test(a_flipped_bit_in_a_zip_is_noticed),
        cmocka_unit_test(arrays_of_numpy),
        cmocka_unit_test(windows_are_laid_back),
        cmocka_unit_test(windows_that_disagree_are_refused),
        cmocka_unit_test(odd_arrays_are_refused),
        cmocka_unit_test(odd_windows_are_refused),
        cmocka_unit_test(wishes_that_do_not_fit_are_refused),
        cmocka_unit_test(assumed_times_are_noted),
    };
    return cmocka_run_group_tests(tests, load_csv, release_csv);
}
