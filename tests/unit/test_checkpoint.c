/* test_checkpoint.c - a written checkpoint is read back to the bit; everything else is refused with a sentence. */
#include "trainer/run/checkpoint.h"
#include "trainer/model/dcrnn.h"
#include "trainer/model/graph.h"

#include "tests/unit/trainer_files.h"

#include <fcntl.h>
#include <sys/stat.h>

enum { N = 37 };

struct sample {
    struct checkpoint_key key;
    struct checkpoint_state state;
    float block[CHECKPOINT_N_TENSORS][N];
    float *tensors[CHECKPOINT_N_TENSORS];
};

static void fill(struct sample *s)
{
    memset(s, 0, sizeof *s);
    s->key = (struct checkpoint_key){.seed = 7, .n_params = N, .n_sensors = 5, .global_batch = 64};
    s->state = (struct checkpoint_state){.step = 12,
                                         .epoch = 1,
                                         .step_in_epoch = 3,
                                         .n_updates = 12,
                                         .n_ranks = 2,
                                         .best_val_mae = 1.0 / 3,
                                         .epoch_loss_sum = 2e5};
    for (int i = 0; i < CHECKPOINT_N_TENSORS; i++) {
        s->tensors[i] = s->block[i];
        for (int k = 0; k < N; k++)
            s->block[i][k] = (float)(i + 1) / (float)(k + 3);
    }
}

static void write_sample(const struct sample *s, const char *path)
{
    struct dcr_err err = {0};
    if (checkpoint_write(path, 1, &s->key, &s->state, s->tensors, &err))
        fail_msg("%s", err.text);
}

static void reads_back_the_same_bits(void **state)
{
    (void)state;
    struct sample a, b;
    struct dcr_err err = {0};
    struct stat st;
    const char *path = scratch_path("a.bin");
    fill(&a);
    fill(&b);
    memset(b.block, 0, sizeof b.block);
    memset(&b.state, 0, sizeof b.state);
    write_sample(&a, path);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, checkpoint_bytes(N));
    assert_int_equal(checkpoint_read(path, &b.key, &b.state, b.tensors, &err), 0);
    assert_memory_equal(a.block, b.block, sizeof a.block);
    assert_memory_equal(&a.state, &b.state, sizeof a.state);
    assert_int_not_equal(access(scratch_path("a.bin.partial"), F_OK), 0);
}

static void expect_refusal(const char *path, const char *part)
{
    struct sample s;
    struct dcr_err err = {0};
    fill(&s);
    memset(s.block, 0, sizeof s.block);
    assert_int_equal(checkpoint_read(path, &s.key, &s.state, s.tensors, &err), DCR_FAIL);
    assert_sentence(err, part);
    for (int k = 0; k < N; k++) /* nothing was returned */
        assert_true(s.block[0][k] == 0 && s.block[2][k] == 0);
}

/* A copy of the sample's file, cut to n bytes, with byte `at` changed. */
static const char *spoiled(size_t n, size_t at, unsigned char change)
{
    static unsigned char bytes[4096];
    struct sample s;
    fill(&s);
    write_sample(&s, scratch_path("whole.bin"));
    FILE *f = fopen(scratch_path("whole.bin"), "rb");
    assert_non_null(f);
    size_t whole = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    assert_int_equal(whole, checkpoint_bytes(N));
    bytes[at] ^= change;
    const char *path = scratch_path("spoiled.bin");
    f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n < whole ? n : whole, f), n < whole ? n : whole);
    fclose(f);
    return path;
}

/* Correct checksums but impossible counts: a negative step, more steps in the epoch than in total, no rank. */
static void impossible_counts_are_refused(void **state)
{
    (void)state;
    const struct checkpoint_state bad[] = {{.step = -1, .n_ranks = 1},
                                           {.step = 3, .epoch = -2, .n_ranks = 1},
                                           {.step = 3, .step_in_epoch = -3, .n_ranks = 1},
                                           {.step = 3, .step_in_epoch = 4, .n_ranks = 1},
                                           {.step = 3, .n_updates = INT64_MIN, .n_ranks = 1},
                                           {.step = 3, .epochs_since_best = -1, .n_ranks = 1},
                                           {.step = 3}};
    struct sample s;
    fill(&s);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        s.state = bad[i];
        write_sample(&s, scratch_path("impossible.bin"));
        expect_refusal(scratch_path("impossible.bin"), "impossible counts");
    }
}

static void damage_is_noticed_everywhere(void **state)
{
    (void)state;
    size_t whole = checkpoint_bytes(N);
    for (size_t at = 200; at < whole; at += 13) /* state, tensors and checksum */
        expect_refusal(spoiled(whole, at, 0x10), "has the wrong checksum");
    for (size_t n = 250; n < whole; n += 97)
        expect_refusal(spoiled(n, 0, 0), "of its");
    expect_refusal(spoiled(whole, 0, 0x20), "is not a checkpoint");
    expect_refusal(spoiled(100, 0, 0), "is not a checkpoint");
    expect_refusal(spoiled(0, 0, 0), "is not a checkpoint");
    expect_refusal(spoiled(whole, 12, 0x40), "format version");
    expect_refusal(spoiled(whole, 8, 0x05), "other byte order");
    expect_refusal(spoiled(whole, 17, 0x05), "of its");
    const size_t low = whole & -whole; /* bits of the file's size, which is at byte 16 */
    expect_refusal(spoiled(whole - low, 16, (unsigned char)low), "size does not fit its number of parameters");
    expect_refusal(scratch_path("absent"), "cannot read checkpoint");
    expect_refusal(scratch, "is not a file");
}

static void another_run_is_named(void **state)
{
    (void)state;
    struct sample s;
    struct dcr_err err = {0};
    const char *path = scratch_path("b.bin");
    fill(&s);
    write_sample(&s, path);
    s.key.global_batch = 32;
    assert_int_equal(checkpoint_read(path, &s.key, &s.state, s.tensors, &err), DCR_FAIL);
    assert_sentence(err, "the global batch differs (there 64, here 32)");
    s.key.global_batch = 64;
    const int64_t filter = s.key.filter, recursion = s.key.recursion;
    s.key.filter = filter == GRAPH_LAPLACIAN ? GRAPH_RANDOM_WALK : GRAPH_LAPLACIAN;
    assert_int_equal(checkpoint_read(path, &s.key, &s.state, s.tensors, &err), DCR_FAIL);
    assert_sentence(err, s.key.filter == GRAPH_LAPLACIAN ? ", here laplacian)" : "(there laplacian, here random_walk)");
    s.key.filter = filter;
    s.key.recursion = recursion == DCRNN_RESET ? DCRNN_PUBLISHED : DCRNN_RESET;
    assert_int_equal(checkpoint_read(path, &s.key, &s.state, s.tensors, &err), DCR_FAIL);
    assert_sentence(err, s.key.recursion == DCRNN_RESET ? ", here reset)" : "(there reset, here published)");
    s.key.recursion = recursion;
    s.key.data_crc = 9;
    assert_int_equal(checkpoint_read(path, &s.key, &s.state, s.tensors, &err), DCR_FAIL);
    assert_sentence(err, "the speeds or the graph differs");
}

static void a_failed_write_keeps_the_old_file(void **state)
{
    (void)state;
    struct sample s;
    struct dcr_err err = {0};
    fill(&s);
    assert_int_equal(checkpoint_write(scratch_path("no/folder.bin"), 1, &s.key, &s.state, s.tensors, &err), DCR_FAIL);
    assert_sentence(err, "writing the checkpoint: cannot write");
    /* a disk that is full: the old file stays whole */
    if (access("/dev/full", W_OK)) {
        print_message("skipped: no /dev/full\n");
        skip();
    }
    const char *path = scratch_path("c.bin");
    write_sample(&s, path);
    assert_int_equal(symlink("/dev/full", scratch_path("c.bin.partial")), 0);
    s.state.step = 99;
    assert_int_equal(checkpoint_write(path, 1, &s.key, &s.state, s.tensors, &err), DCR_FAIL);
    assert_sentence(err, "No space left");
    assert_int_equal(checkpoint_read(path, &s.key, &s.state, s.tensors, &err), 0);
    assert_int_equal(s.state.step, 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_back_the_same_bits),          cmocka_unit_test(damage_is_noticed_everywhere),
        cmocka_unit_test(impossible_counts_are_refused),     cmocka_unit_test(another_run_is_named),
        cmocka_unit_test(a_failed_write_keeps_the_old_file),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
