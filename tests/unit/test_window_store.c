/* test_window_store.c - a store gives the data set back to the bit, for every way of reading; everything else is
 * refused with a sentence. */
#include "trainer/data/window_store.h"

#include "lib/base/hash.h"
#include "tests/unit/trainer_files.h"

#include <fcntl.h>
#include <sys/stat.h>

enum { N_IN = 5, N_OUT = 3, N_ROWS_READ = N_IN + N_OUT };

/* Speeds that six digits cannot hold, and missing ones. */
static void make_data(struct dataset *d, size_t n_rows, size_t n_sensors)
{
    struct dcr_err err = {0};
    assert_int_equal(dataset_alloc(d, n_rows, n_sensors, &err), 0);
    for (size_t row = 0; row < n_rows; row++) {
        d->time_of_day[row] = (float)(row % 288) / 288.0f;
        for (size_t i = 0; i < n_sensors; i++)
            d->speed_mph[row * n_sensors + i] =
                (row * 7 + i) % 11 ? 30 + (float)((row * 31 + i * 17) % 997) / 30.3f : 0;
    }
    assert_int_equal(dataset_split(d, N_IN, N_OUT, &err), 0);
}

static const char *write_store(const char *name, const struct dataset *d, enum window_format format, size_t chunk)
{
    struct dcr_err err = {0};
    const char *path = scratch_path(name);
    if (window_store_write(path, d, format, chunk, &err))
        fail_msg("%s", err.text);
    return path;
}

static void check_windows(const struct dataset *d, const char *path, int is_cold)
{
    struct dcr_err err = {0};
    struct window_store *s = NULL;
    struct window_reader *r = NULL;
    float *speed = calloc(N_ROWS_READ * d->n_sensors, sizeof *speed), time[N_ROWS_READ];
    assert_non_null(speed);
    if (window_store_open(&s, path, d, is_cold, &err) || window_reader_open(&r, s, N_ROWS_READ, &err))
        fail_msg("%s", err.text);
    for (size_t w = 0; w < d->n_windows; w++) {
        if (window_reader_read(r, (uint32_t)w, speed, time, &err))
            fail_msg("%s", err.text);
        assert_memory_equal(speed, d->speed_mph + w * d->n_sensors, N_ROWS_READ * d->n_sensors * sizeof *speed);
        assert_memory_equal(time, d->time_of_day + w, sizeof time);
    }
    assert_int_equal(window_reader_read(r, (uint32_t)d->n_windows, speed, time, &err), DCR_FAIL);
    assert_sentence(err, "no window");
    window_reader_close(r);
    window_store_close(s);
    free(speed);
}

static void every_window_comes_back_to_the_bit(void **state)
{
    (void)state;
    for (size_t n_sensors = 1; n_sensors < 700; n_sensors = n_sensors * 5 + 1) {
        struct dataset d = {0};
        make_data(&d, 60, n_sensors);
        for (int f = 0; f < WINDOW_N_FORMATS; f++)
            for (size_t chunk = 1; chunk < 100; chunk = 3 * chunk + 1) { /* to more than there are rows */
                check_windows(&d, write_store("w.bin", &d, (enum window_format)f, chunk), 0);
                assert_int_not_equal(access(scratch_path("w.bin.partial"), F_OK), 0);
            }
        dataset_release(&d);
    }
}

/* The scratch folder may be on a file system in memory, where no read can bypass a cache. */
static void cold_reads_give_the_same(void **state)
{
    (void)state;
    struct dataset d = {0};
    struct dcr_err err = {0};
    struct window_store *s = NULL;
    make_data(&d, 60, 207);
    for (int f = 0; f < WINDOW_N_FORMATS; f++) {
        const char *path = write_store("cold.bin", &d, (enum window_format)f, 7);
        if (window_store_open(&s, path, &d, 1, &err)) {
            assert_sentence(err, "are on a file system in memory");
            dataset_release(&d);
            skip();
        }
        print_message("cold reads by %s\n", window_store_way(s));
        assert_string_not_equal(window_store_way(s), "page cache");
        window_store_close(s);
        check_windows(&d, path, 1);
    }
    dataset_release(&d);
}

static void a_store_in_memory_cannot_be_cold(void **state)
{
    (void)state;
    struct dataset d = {0};
    struct dcr_err err = {0};
    struct window_store *s = NULL;
    const char *path = "/dev/shm/dcr-unit-windows.bin";
    make_data(&d, 40, 4);
    if (window_store_write(path, &d, WINDOW_FORMAT_RAW, 1, &err)) {
        dataset_release(&d);
        skip();
    }
    assert_int_equal(window_store_open(&s, path, &d, 1, &err), DCR_FAIL);
    assert_sentence(err, "are on a file system in memory");
    assert_null(s);
    unlink(path);
    dataset_release(&d);
}

static void expect_refusal(const char *path, const struct dataset *d, const char *part)
{
    struct dcr_err err = {0};
    struct window_store *s = NULL;
    assert_int_equal(window_store_open(&s, path, d, 0, &err), DCR_FAIL);
    assert_null(s);
    assert_sentence(err, part);
    assert_sentence(err, path);
}

static unsigned char file_bytes[1 << 20];
static size_t slurp(const char *path)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(file_bytes, 1, sizeof file_bytes, f);
    fclose(f);
    assert_true(n < sizeof file_bytes);
    return n;
}
static const char *spill(size_t n)
{
    const char *path = scratch_path("spoiled.bin");
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(file_bytes, 1, n, f), n);
    fclose(f);
    return path;
}

static void foreign_and_damaged_files_are_refused(void **state)
{
    (void)state;
    struct dataset d = {0}, other = {0}, larger = {0};
    make_data(&d, 40, 4);
    make_data(&other, 40, 4);
    make_data(&larger, 41, 4);
    other.speed_mph[17] += 1;
    const char *path = write_store("whole.bin", &d, WINDOW_FORMAT_TEXT, 3);
    size_t n = slurp(path);
    expect_refusal(path, &other, "damaged or of other data");
    expect_refusal(path, &larger, "damaged or of other data");
    expect_refusal(scratch_path("absent.bin"), &d, "No such file");
    expect_refusal(scratch_file("empty.bin", ""), &d, "damaged or of other data");
    expect_refusal(scratch_file("text.bin", "timestamp,1,2,3\n2018-01-01 00:00:00,1,2,3,4,5,6,7,8,9,10\n"), &d,
                   "damaged or of other data");
    enum { N_INDEX = 16 + 15 * 8 + 14 * 4 }; /* header, offsets, checksums */
    expect_refusal(spill(n - 1), &d, "damaged or of other data");
    for (size_t cut = 0; cut < N_INDEX; cut += 5)
        expect_refusal(spill(cut), &d, "damaged or of other data");
    for (size_t at = 0; at < N_INDEX; at++) {
        file_bytes[at] ^= 0x40;
        const char *bad = spill(n);
        file_bytes[at] ^= 0x40;
        expect_refusal(bad, &d, "damaged or of other data");
    }
    /* a checksum that matches offsets in disorder */
    const uint64_t late = n - 1;
    memcpy(file_bytes + 16 + 3 * sizeof late, &late, sizeof late);
    uint32_t crc = dcr_crc32c(0, d.speed_mph, d.n_rows * d.n_sensors * sizeof *d.speed_mph);
    crc = dcr_crc32c(crc, d.time_of_day, d.n_rows * sizeof *d.time_of_day);
    crc = dcr_crc32c(dcr_crc32c(crc, file_bytes, 12), file_bytes + 16, N_INDEX - 16);
    memcpy(file_bytes + 12, &crc, sizeof crc);
    expect_refusal(spill(n), &d, "damaged or of other data");
    dataset_release(&d);
    dataset_release(&other);
    dataset_release(&larger);
}

static void a_damaged_record_is_named(void **state)
{
    (void)state;
    struct dataset d = {0};
    make_data(&d, 40, 4);
    for (int f = 0; f < WINDOW_N_FORMATS; f++) {
        struct dcr_err err = {0};
        struct window_store *s = NULL;
        struct window_reader *r = NULL;
        float speed[N_ROWS_READ * 4], time[N_ROWS_READ];
        size_t n = slurp(write_store("whole.bin", &d, (enum window_format)f, 1));
        file_bytes[n - 3] ^= 1; /* in the last row */
        const char *bad = spill(n);
        if (window_store_open(&s, bad, &d, 0, &err) || window_reader_open(&r, s, N_ROWS_READ, &err))
            fail_msg("%s", err.text);
        assert_int_equal(window_reader_read(r, (uint32_t)d.n_windows - 2, speed, time, &err), 0);
        assert_int_equal(window_reader_read(r, (uint32_t)d.n_windows - 1, speed, time, &err), DCR_FAIL);
        assert_sentence(err, "the chunk of row 39 does not match its checksum");
        assert_sentence(err, bad);
        assert_int_equal(truncate(bad, (off_t)n - 10), 0); /* while a run reads it */
        assert_int_equal(window_reader_read(r, (uint32_t)d.n_windows - 1, speed, time, &err), DCR_FAIL);
        assert_sentence(err, "became shorter");
        window_reader_close(r);
        window_store_close(s);
    }
    dataset_release(&d);
}

static void a_failed_write_leaves_what_was_there(void **state)
{
    (void)state;
    struct dataset d = {0};
    struct dcr_err err = {0};
    make_data(&d, 40, 4);
    const struct dataset huge = {.n_rows = 1 << 30, .n_sensors = 65536};
    assert_int_equal(window_store_write(scratch_path("huge.bin"), &huge, WINDOW_FORMAT_TEXT, 1 << 30, &err), DCR_FAIL);
    assert_sentence(err, "lower --windows-chunk");
    assert_int_equal(window_store_write(scratch_path("nowhere/w.bin"), &d, WINDOW_FORMAT_RAW, 1, &err), DCR_FAIL);
    assert_sentence(err, "nowhere/w.bin");
    if (access("/dev/full", W_OK) == 0) {
        /* the partial is a link to a full device: the last flush fails */
        assert_int_equal(symlink("/dev/full", scratch_path("full.bin.partial")), 0);
        assert_int_equal(window_store_write(scratch_path("full.bin"), &d, WINDOW_FORMAT_RAW, 1, &err), DCR_FAIL);
        assert_sentence(err, "full.bin");
        assert_int_not_equal(access(scratch_path("full.bin"), F_OK), 0);
        struct stat st;
        assert_int_not_equal(lstat(scratch_path("full.bin.partial"), &st), 0);
    }
    dataset_release(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_window_comes_back_to_the_bit), cmocka_unit_test(cold_reads_give_the_same),
        cmocka_unit_test(a_store_in_memory_cannot_be_cold),   cmocka_unit_test(foreign_and_damaged_files_are_refused),
        cmocka_unit_test(a_damaged_record_is_named),          cmocka_unit_test(a_failed_write_leaves_what_was_there),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
