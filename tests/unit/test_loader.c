/* test_loader.c - the batches are those of dataset_batch, bit for bit, whichever worker makes them and from any source;
 * failures arrive with their sentence; plans can be left in the middle. */
#include "trainer/data/loader.h"

#include "tests/unit/trainer_files.h"

#include <fcntl.h>

enum { N_ROWS = 120, N_SENSORS = 6, N_IN = 4, N_OUT = 3, GLOBAL = 10 };

static void make_data(struct dataset *d)
{
    struct dcr_err err = {0};
    assert_int_equal(dataset_alloc(d, N_ROWS, N_SENSORS, &err), 0);
    for (size_t row = 0; row < N_ROWS; row++) {
        d->time_of_day[row] = (float)row / 288.0f;
        for (size_t i = 0; i < N_SENSORS; i++)
            d->speed_mph[row * N_SENSORS + i] = (float)((row * 31 + i * 17) % 97) / 1.3f;
    }
    assert_int_equal(dataset_split(d, N_IN, N_OUT, &err), 0);
}

static uint32_t order[N_ROWS];

static struct loader_plan make_plan(const struct dataset *d, int rank, int n_ranks, int n_micro, uint64_t epoch)
{
    struct loader_plan p = {.order = order, .n = d->train.count, .global_batch = GLOBAL, .n_micro = n_micro};
    sampler_permute(5, epoch, order, d->train.count);
    sampler_share(GLOBAL, rank, n_ranks, &p.first, &p.share);
    p.n_steps = sampler_steps(d->train.count, GLOBAL);
    return p;
}

static struct loader *open_loader(const struct loader_config *c)
{
    struct dcr_err err = {0};
    struct loader *l = NULL;
    if (loader_open(&l, c, &err))
        fail_msg("%s", err.text);
    return l;
}

/* Batch k of the plan, made by dataset_batch. */
static void check_batch(const struct dataset *d, const struct loader_plan *p, size_t k, const struct loader_batch *b)
{
    uint32_t windows[GLOBAL];
    float x[N_IN * GLOBAL * N_SENSORS * 2], y_z[N_OUT * GLOBAL * N_SENSORS], y_mph[N_OUT * GLOBAL * N_SENSORS];
    size_t first, n, step = p->first_step + k / (size_t)p->n_micro;
    sampler_share(p->share, (int)(k % (size_t)p->n_micro), p->n_micro, &first, &n);
    for (size_t i = 0; i < n; i++)
        windows[i] = sampler_window(p->order, p->n, step * GLOBAL + p->first + first + i);
    dataset_batch(d, windows, n, x, y_z, y_mph);
    assert_int_equal(b->n, n);
    assert_memory_equal(b->x, x, N_IN * n * N_SENSORS * 2 * sizeof *x);
    assert_memory_equal(b->y_z, y_z, N_OUT * n * N_SENSORS * sizeof *y_z);
    assert_memory_equal(b->y_mph, y_mph, N_OUT * n * N_SENSORS * sizeof *y_mph);
}

static void check_plan(struct loader *l, const struct dataset *d, const struct loader_plan *p)
{
    struct dcr_err err = {0};
    struct loader_batch b;
    loader_start(l, p);
    for (size_t k = 0; k < (p->n_steps - p->first_step) * (size_t)p->n_micro; k++) {
        if (loader_next(l, &b, &err))
            fail_msg("%s", err.text);
        check_batch(d, p, k, &b);
    }
    assert_int_equal(loader_next(l, &b, &err), DCR_FAIL);
    assert_sentence(err, "no batch after step");
}

static void check_ways(const struct dataset *d, const struct window_store *store)
{
    for (int workers = 0; workers <= 3; workers++)
        for (int ahead = 0; ahead <= 4; ahead += 2) {
            struct loader_config c = {
                .data = d, .store = store, .max_windows = GLOBAL, .n_workers = workers, .n_ahead = ahead};
            struct loader *l = open_loader(&c);
            for (int ranks = 1; ranks <= 16; ranks *= 4) /* 16: some ranks have no window */
                for (int rank = 0; rank < ranks; rank += 3) {
                    struct loader_plan p = make_plan(d, rank, ranks, 1 + rank % 3, (uint64_t)rank);
                    check_plan(l, d, &p);
                    p.first_step = 3; /* a resumed epoch */
                    check_plan(l, d, &p);
                }
            loader_close(l);
        }
}

static void batches_are_the_same_whoever_makes_them(void **state)
{
    (void)state;
    struct dataset d = {0};
    make_data(&d);
    check_ways(&d, NULL);
    dataset_release(&d);
}

static struct window_store *open_store(const struct dataset *d, const char *path, enum window_format format)
{
    struct dcr_err err = {0};
    struct window_store *s = NULL;
    if (window_store_write(path, d, format, 1, &err) || window_store_open(&s, path, d, 0, &err))
        fail_msg("%s", err.text);
    return s;
}

static void batches_from_files_are_those_from_memory(void **state)
{
    (void)state;
    struct dataset d = {0};
    make_data(&d);
    for (int f = 0; f < WINDOW_N_FORMATS; f++) {
        struct window_store *s = open_store(&d, scratch_path("w.bin"), (enum window_format)f);
        check_ways(&d, s);
        window_store_close(s);
    }
    dataset_release(&d);
}

/* A plan is left with finished batches, batches in progress, and one in use. */
static void a_plan_may_be_left(void **state)
{
    (void)state;
    struct dataset d = {0};
    struct dcr_err err = {0};
    make_data(&d);
    struct window_store *s = open_store(&d, scratch_path("w.bin"), WINDOW_FORMAT_TEXT);
    struct loader_config c = {.data = &d, .store = s, .max_windows = GLOBAL, .n_workers = 2, .n_ahead = 3};
    struct loader *l = open_loader(&c);
    for (size_t taken = 0; taken < 6; taken++) {
        struct loader_plan p = make_plan(&d, 0, 1, 1, taken);
        struct loader_batch b;
        loader_start(l, &p);
        for (size_t k = 0; k < taken; k++) {
            assert_int_equal(loader_next(l, &b, &err), 0);
            check_batch(&d, &p, k, &b);
        }
        p.n_steps = 0; /* nothing of `order` is read from here on */
        loader_start(l, &p);
        p = make_plan(&d, 0, 1, 1, 100 + taken);
        check_plan(l, &d, &p);
    }
    loader_close(l); /* and closing in the middle of the plan */
    struct loader_plan p = make_plan(&d, 0, 1, 1, 0);
    for (int i = 0; i < 20; i++) {
        l = open_loader(&c);
        loader_start(l, &p);
        loader_close(l);
    }
    window_store_close(s);
    dataset_release(&d);
}

static void a_held_batch_is_left_alone(void **state)
{
    (void)state;
    struct dataset d = {0};
    struct dcr_err err = {0};
    make_data(&d);
    struct loader_config c = {.data = &d, .max_windows = GLOBAL, .n_workers = 2, .n_ahead = 1};
    struct loader *l = open_loader(&c);
    struct loader_plan p = make_plan(&d, 0, 1, 1, 0);
    struct loader_batch b;
    loader_start(l, &p);
    assert_int_equal(loader_next(l, &b, &err), 0);
    usleep(20000); /* time enough to make all allowed batches; a test that something does not happen has to wait */
    check_batch(&d, &p, 0, &b);
    loader_close(l);
    dataset_release(&d);
}

/* Each batch is taken as soon as it is ready, after the previous one is given back. The caller never makes one and
 * never waits. */
static void what_is_ready_can_be_taken(void **state)
{
    (void)state;
    struct dataset d = {0};
    struct dcr_err err = {0};
    make_data(&d);
    for (int workers = 0; workers <= 2; workers++) {
        struct loader_config c = {.data = &d, .max_windows = GLOBAL, .n_workers = workers, .n_ahead = 2};
        struct loader *l = open_loader(&c);
        struct loader_plan p = make_plan(&d, 0, 1, 1, 0);
        struct loader_batch b;
        size_t n_ready = 0;
        loader_start(l, &p);
        for (size_t k = 0; k < p.n_steps; k++) {
            int is_ready = 0;
            for (int tries = 0; k % 2 && workers && !is_ready && tries < 5000; tries++) {
                is_ready = loader_take_ready(l, &b);
                if (!is_ready)
                    usleep(1000);
            }
            n_ready += is_ready != 0;
            if (!is_ready)
                assert_int_equal(loader_next(l, &b, &err), 0);
            check_batch(&d, &p, k, &b);
            if (!workers)
                assert_false(loader_take_ready(l, &b));
        }
        assert_int_equal(n_ready, workers ? p.n_steps / 2 : 0);
        assert_false(loader_take_ready(l, &b)); /* the plan is over */
        loader_close(l);
    }
    dataset_release(&d);
}

static void a_worker_s_failure_arrives(void **state)
{
    (void)state;
    struct dataset d = {0};
    make_data(&d);
    const char *path = scratch_path("bad.bin");
    struct window_store *s = open_store(&d, path, WINDOW_FORMAT_RAW);
    window_store_close(s);
    int fd = open(path, O_RDWR); /* spoil row 30 of 120 raw rows at the end of the file */
    off_t row_bytes = (N_SENSORS + 1) * 4, at = lseek(fd, 0, SEEK_END) - (N_ROWS - 30) * row_bytes + 5;
    assert_int_equal(pwrite(fd, "\377", 1, at), 1);
    close(fd);
    struct dcr_err err = {0};
    assert_int_equal(window_store_open(&s, path, &d, 0, &err), 0);
    for (int workers = 0; workers <= 2; workers++) {
        struct loader_config c = {.data = &d, .store = s, .max_windows = GLOBAL, .n_workers = workers, .n_ahead = 2};
        struct loader *l = open_loader(&c);
        struct loader_plan p = make_plan(&d, 0, 1, 1, 0);
        struct loader_batch b;
        int n_bad = 0, n_good = 0;
        loader_start(l, &p);
        for (size_t k = 0; k < p.n_steps; k++) {
            int is_bad = 0;
            for (size_t i = 0; i < GLOBAL; i++) {
                uint32_t w = sampler_window(order, p.n, k * GLOBAL + i);
                is_bad |= w <= 30 && 30 < w + N_IN + N_OUT;
            }
            err.text[0] = 0;
            if (is_bad) { /* only loader_next reports failures */
                usleep(2000);
                assert_false(loader_take_ready(l, &b));
            }
            assert_int_equal(loader_next(l, &b, &err), is_bad ? DCR_FAIL : 0);
            if (is_bad) {
                assert_sentence(err, "chunk of row 30 does not match its checksum");
                assert_sentence(err, path);
            } else {
                check_batch(&d, &p, k, &b);
            }
            n_bad += is_bad;
            n_good += !is_bad;
        }
        assert_true(n_bad > 0 && n_good > 0);
        loader_close(l);
    }
    window_store_close(s);
    dataset_release(&d);
}

/* Memory of the back end: requested once, given back, never mixed with malloc's. */
static size_t n_live;
static void *counted_alloc(size_t bytes)
{
    char *p = malloc(bytes + 64);
    n_live++;
    return p ? p + 64 : NULL;
}
static void counted_free(void *p)
{
    n_live--;
    free((char *)p - 64);
}
static void *no_memory(size_t bytes)
{
    return n_live < 4 ? counted_alloc(bytes) : NULL;
}

static void buffers_are_the_back_end_s(void **state)
{
    (void)state;
    struct dataset d = {0};
    struct dcr_err err = {0};
    make_data(&d);
    struct loader_config c = {
        .data = &d, .max_windows = GLOBAL, .n_workers = 1, .n_ahead = 2, .alloc = counted_alloc, .free = counted_free};
    struct loader *l = open_loader(&c);
    assert_int_equal(n_live, 9);
    struct loader_plan p = make_plan(&d, 0, 1, 1, 0);
    check_plan(l, &d, &p);
    loader_close(l);
    assert_int_equal(n_live, 0);
    c.alloc = no_memory;
    l = NULL;
    assert_int_equal(loader_open(&l, &c, &err), DCR_FATAL);
    assert_sentence(err, "--prefetch");
    assert_null(l);
    assert_int_equal(n_live, 0);
    dataset_release(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_are_the_same_whoever_makes_them),
        cmocka_unit_test(batches_from_files_are_those_from_memory),
        cmocka_unit_test(a_plan_may_be_left),
        cmocka_unit_test(a_held_batch_is_left_alone),
        cmocka_unit_test(what_is_ready_can_be_taken),
        cmocka_unit_test(a_worker_s_failure_arrives),
        cmocka_unit_test(buffers_are_the_back_end_s),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
