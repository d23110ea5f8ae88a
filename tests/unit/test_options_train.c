/* test_options_train.c - the command line of dcrnn-train. */
#include "trainer/options.h"

#include "tests/unit/trainer_files.h"

/* Words separated by spaces, as argv. */
static int parse(struct options *o, const char *line, struct dcr_err *err)
{
    static char text[512];
    static char *argv[32];
    int argc = 0;
    snprintf(text, sizeof text, "dcrnn-train %s", line);
    for (char *word = text; word && *word;) {
        argv[argc++] = word;
        word = strchr(word, ' ');
        if (word)
            *word++ = 0;
    }
    argv[argc] = NULL;
    return options_parse(o, argc, argv, err);
}

static void expect_failure(const char *line, const char *part)
{
    struct options o;
    struct dcr_err err = {0};
    assert_int_equal(parse(&o, line, &err), DCR_FAIL);
    assert_sentence(err, part);
}

static void defaults_train_on_generated_data(void **state)
{
    (void)state;
    struct options o;
    struct dcr_err err = {0};
    assert_int_equal(parse(&o, "", &err), 0);
    assert_int_equal(o.task, TASK_TRAIN);
    assert_null(o.data);
    assert_int_equal(o.batch, 64);
    assert_int_equal(o.threads, 1);
    assert_null(o.kernels);
    assert_int_equal(o.is_weak, 0);
    assert_true(o.lr == 0.01 && o.clip == 5);
    assert_true(!o.is_late && o.allreduce_dtype == ALLREDUCE_FP32 && o.n_rank_weights == 0);
    assert_true(o.bucket_bytes == 1 << 18 && o.comm_timeout == 300 && o.explode_factor == 10);
}

static void values_arrive(void **state)
{
    (void)state;
    struct options o;
    struct dcr_err err = {0};
    assert_int_equal(parse(&o,
                           "--data d.csv --graph=g.csv --graph-format distance-matrix --graph-subset --header no "
                           "--units 16 --filter laplacian --recursion reset --weak --lr 1e-3 --lr-milestones 2,5 "
                           "--checkpoint-every 3epochs --seed 9223372036854775807 --clip 0 --kernels avx2",
                           &err),
                     0);
    assert_string_equal(o.data, "d.csv");
    assert_string_equal(o.kernels, "avx2");
    assert_string_equal(o.graph, "g.csv");
    assert_int_equal(o.graph_format, GRAPH_DISTANCE_MATRIX);
    assert_int_equal(o.header, DATASET_HEADER_NO);
    assert_int_equal(o.filter, GRAPH_LAPLACIAN);
    assert_int_equal(o.recursion, DCRNN_RESET);
    assert_true(o.graph_subset && o.is_weak && o.lr == 1e-3 && o.clip == 0);
    assert_int_equal(o.n_milestones, 2);
    assert_int_equal(o.milestone[1], 5);
    assert_int_equal(o.checkpoint_epochs, 3);
    assert_int_equal(o.checkpoint_steps, 0);
    assert_true(o.seed == INT64_MAX);
    assert_int_equal(parse(&o, "--checkpoint-every 20", &err), 0);
    assert_int_equal(o.checkpoint_steps, 20);
    assert_int_equal(parse(&o,
                           "--rank-weights 2,0,1.5 --bucket-bytes 4096 --no-overlap --allreduce-dtype bf16 "
                           "--comm-timeout 0 --explode-factor 2.5",
                           &err),
                     0);
    assert_int_equal(o.n_rank_weights, 3);
    assert_true(o.rank_weights[0] == 2 && o.rank_weights[1] == 0 && o.rank_weights[2] == 1.5);
    assert_true(o.bucket_bytes == 4096 && o.is_late && o.allreduce_dtype == ALLREDUCE_BF16);
    assert_true(o.comm_timeout == 0 && o.explode_factor == 2.5);
    assert_int_equal(parse(&o, "--checkpoint-every epoch", &err), 0);
    assert_int_equal(o.checkpoint_epochs, 1);
}

static void tasks(void **state)
{
    (void)state;
    struct options o;
    struct dcr_err err = {0};
    assert_int_equal(parse(&o, "--help --no-such", &err), 0);
    assert_int_equal(o.task, TASK_HELP);
    assert_int_equal(parse(&o, "--verify case", &err), 0);
    assert_int_equal(o.task, TASK_VERIFY);
    assert_string_equal(o.verify_dir, "case");
    assert_int_equal(parse(&o, "--write-data d --days 2", &err), 0);
    assert_int_equal(o.task, TASK_WRITE_DATA);
}

static void wrong_words_get_a_sentence(void **state)
{
    (void)state;
    expect_failure("--no-such", "unknown option '--no-such'; see `dcrnn-train --help`");
    expect_failure("--epochs 3 -batch 3", "unknown option '-batch'");
    expect_failure("--epochs 3 -b", "unknown option '-b'");
    expect_failure("extra", "unexpected argument 'extra'");
    expect_failure("--batch", "option '--batch' needs a value");
    expect_failure("--weak=3", "--weak takes no value");
    expect_failure("--batch 0", "--batch takes a whole number from 1 to");
    expect_failure("--batch 12x", "not '12x'");
    expect_failure("--steps -1", "--steps takes");
    expect_failure("--lr 0", "--lr takes a number above 0");
    expect_failure("--lr nan", "--lr takes a number above 0");
    expect_failure("--header maybe", "one of auto, yes, no, not 'maybe'");
    expect_failure("--graph-format x", "one of auto, distances, weights, distance-matrix, weight-matrix");
    expect_failure("--filter x", "--filter");
    expect_failure("--kernels sse", "one of auto, avx512, avx2, portable, not 'sse'");
    expect_failure("--kernels avx2 --backend cuda", "--kernels applies to the CPU only");
    expect_failure("--recursion x", "--recursion");
    expect_failure("--precision bf16", "--precision tf32 and bf16 need --backend cuda");
    expect_failure("--share-gpu", "--share-gpu needs --backend cuda; leave it out on the CPU");
    expect_failure("--data d --graph g --sensor-ids i --header yes", "--sensor-ids is for data without a header");
    expect_failure("--lr-milestones 5,2", "ascending epochs");
    expect_failure("--lr-milestones 5;2", "ascending epochs");
    expect_failure("--lr-milestones 1,",
                   "--lr-milestones takes ascending epochs separated by commas, at most 16, not '1,'");
    expect_failure("--lr-milestones ,1", "ascending epochs");
    expect_failure("--lr-milestones 1,,2", "ascending epochs");
    expect_failure("--lr-milestones ,", "ascending epochs");
    expect_failure("--lr-milestones 1.5", "ascending epochs");
    expect_failure("--lr-milestones 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", "at most 16");
    expect_failure("--checkpoint-every never", "steps (100) or epochs (2epochs)");
    expect_failure("--data d.csv", "--data needs --graph");
    expect_failure("--graph g.csv", "--graph needs --data");
    expect_failure("--data d --graph g --write-data x", "leave --data out");
    expect_failure("--sensors 1", "--sensors takes");
    expect_failure("--seed -4", "--seed takes");
    expect_failure("--rank-weights 1,,2", "a share for each rank");
    expect_failure("--rank-weights 1,-2", "a share for each rank");
    expect_failure("--rank-weights 1,2,", "a share for each rank");
    expect_failure("--rank-weights 1,", "not all 0: 2,1,1, not '1,'");
    expect_failure("--rank-weights ,1", "a share for each rank");
    expect_failure("--rank-weights 0,0", "a share for each rank");
    expect_failure("--rank-weights 1;2", "a share for each rank");
    expect_failure("--rank-weights nan", "a share for each rank");
    expect_failure("--bucket-bytes 3", "--bucket-bytes takes a whole number from 4");
    expect_failure("--allreduce-dtype fp16", "one of fp32, bf16, none, not 'fp16'");
    expect_failure("--comm-timeout -1", "--comm-timeout takes");
    expect_failure("--comm-timeout 1e10", "a number from 0 to 31536000, not '1e10'");
    expect_failure("--clip -1", "--clip takes a number, 0 or more, not '-1'");
    expect_failure("--out=", "--out takes the name of a folder");
    expect_failure("--explode-factor 1.5", "0 (never) or a number from 2 on");
    expect_failure("--seed 99999999999999999999", "--seed takes");
}

static const char *help(void)
{
    static char text[16384];
    FILE *f = fopen(scratch_path("help"), "w+");
    assert_non_null(f);
    options_help(f);
    rewind(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    return text;
}

static void lines_of_help_fit(void **state)
{
    (void)state;
    assert_non_null(strstr(help(), "Exit status"));
    for (const char *line = help(); line;) {
        const char *end = strchr(line, '\n');
        size_t n = end ? (size_t)(end - line) : strlen(line);
        if (n > 120)
            fail_msg("%zu characters: %.*s", n, (int)n, line);
        line = end ? end + 1 : NULL;
    }
}

static const struct {
    const char *name, *argument, *kind;
} options[] = {
#define SECTION(title)
#define OPTION(name_, argument_, KIND, ...) {name_, argument_, #KIND},
#include "trainer/options.def"
#undef SECTION
#undef OPTION
};

static void every_option_is_told_of_everywhere(void **state)
{
    (void)state;
    struct options o;
    struct dcr_err err = {0};
    struct dcr_buf json = {0};
    assert_int_equal(parse(&o, "", &err), 0);
    options_json(&o, &json);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        char left[64], key[64];
        snprintf(left, sizeof left, "  --%s %s", options[i].name, options[i].argument ? options[i].argument : "");
        snprintf(key, sizeof key, "\"%s\": ", options[i].name);
        if (!strstr(help(), left))
            fail_msg("--help lacks --%s", options[i].name);
        if ((strstr(dcr_buf_text(&json), key) != NULL) == !strcmp(options[i].kind, "INSTEAD"))
            fail_msg("program.json has --%s, or lacks it", options[i].name);
    }
    dcr_buf_release(&json);
}

static void values_of_all_kinds_are_written(void **state)
{
    (void)state;
    static const char *const expected[] = {"\"data\": null",
                                           "\"units\": 7",
                                           "\"lr\": 0.1,",
                                           "\"filter\": \"laplacian\"",
                                           "\"weak\": true",
                                           "\"test\": false",
                                           "\"seed\": 9223372036854775807",
                                           "\"pinned\": \"no\"",
                                           "\"kernels\": \"auto\"",
                                           "\"lr-milestones\": \"20,30,40,50\"",
                                           "\"rank-weights\": null",
                                           "\"checkpoint-every\": \"2epochs\"",
                                           "\"out\": \"a\\\"b\"",
                                           "\"knob\": \"on\""};
    struct options o;
    struct dcr_err err = {0};
    struct dcr_buf json = {0};
    assert_int_equal(parse(&o,
                           "--units 7 --lr 1e-1 --filter laplacian --weak --seed 9223372036854775807 --pinned no "
                           "--checkpoint-every 2epochs --out a\"b",
                           &err),
                     0);
    options_json(&o, &json);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        if (!strstr(dcr_buf_text(&json), expected[i]))
            fail_msg("%s is not in %s", expected[i], dcr_buf_text(&json));
    dcr_buf_release(&json);
}

static void a_training_can_be_looked_at_only(void **state)
{
    (void)state;
    struct options o;
    struct dcr_err err = {0};
    assert_int_equal(parse(&o, "--check-options --units 16", &err), 0);
    assert_true(o.is_check && o.task == TASK_TRAIN);
    assert_int_equal(parse(&o, "--units 16", &err), 0);
    assert_false(o.is_check);
    expect_failure("--check-options --layers 0", "--layers takes a whole number from 1 to 8, not '0'");
    expect_failure("--pinned yes", "--pinned yes needs --backend cuda");
    expect_failure("--check-options --data d.csv", "--data needs --graph");
    assert_int_equal(parse(&o, "--check-data --units 16", &err), 0);
    assert_true(o.is_check && o.is_data_check && o.task == TASK_TRAIN);
    expect_failure("--check-data --baseline", "only a training can be checked; leave --baseline out");
    expect_failure("--check-options --help", "only a training can be checked; leave --help out");
    expect_failure("--baseline --check-options", "only a training can be checked; leave --baseline out");
    expect_failure("--check-options --write-data w", "only a training can be checked; leave --write-data out");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_train_on_generated_data),
        cmocka_unit_test(values_arrive),
        cmocka_unit_test(tasks),
        cmocka_unit_test(wrong_words_get_a_sentence),
        cmocka_unit_test(lines_of_help_fit),
        cmocka_unit_test(every_option_is_told_of_everywhere),
        cmocka_unit_test(values_of_all_kinds_are_written),
        cmocka_unit_test(a_training_can_be_looked_at_only),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
