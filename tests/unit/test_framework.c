/* test_framework.c - the framework whose options advice names: PyTorch's for programs that are or may be PyTorch's,
 * otherwise none. */
#include "render/findings/rules/analyse.h"
#include "render/model/build.h"
#include "render/findings/actions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>

static const char *const torch_words[] = {"torch", "num_workers", "DistributedSampler", ".item()", ".to("};

static int names_torch(const char *text)
{
    for (size_t i = 0; i < sizeof torch_words / sizeof *torch_words; i++)
        if (strcasestr(text, torch_words[i]))
            return 1;
    return 0;
}

static void check(struct run *run, int want)
{
    struct run_result r = {.run = run, .has_steps = 1};
    struct report rep = {0};
    int n = 0;
    assert_int_equal(run_may_be_torch(run), want);
    for (int c = 0; c < N_CLASSES; c++)
        if (c != CLASS_SHARED) {
            struct action a = action_for(&rep, &r, (enum cause_class)c);
            assert_true(strlen(a.generic) > 0);
            assert_string_equal(a.ours, "");
            n += names_torch(a.generic);
        }
    assert_true(want ? n >= 3 : n == 0);
    report_free(&rep);
}

static void test_commands(void **state)
{
    (void)state;
    static const struct {
        const char *word[4];
        int n, want;
    } c[] = {{{0}, 0, 1},
             {{"mpirun", "-n", "2", "./solver"}, 4, 0},
             {{"mpirun", "-n", "2", "python3"}, 4, 1},
             {{"./train.py"}, 1, 1},
             {{"torchrun", "x"}, 2, 1},
             {{"bash", "job.sh"}, 2, 1},
             {{"./job.sh"}, 1, 1},
             {{"./crash"}, 1, 0}, /* it ends with sh too */
             {{"/opt/x/lammps", "-in", "file"}, 3, 0}};
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct run *run = run_new("t");
        const char *words[4];
        memcpy(words, c[i].word, sizeof words);
        run->command = words;
        run->n_command = c[i].n;
        check(run, c[i].want);
        run_free(run);
    }
}

static void test_traces(void **state)
{
    (void)state;
    static const struct {
        enum foreign_kind kind;
        const char *kernel, *operator;
        int want;
    } c[] = {{FOREIGN_NSYS_SQLITE, "par_ranged2d_kernel", NULL, 0},
             {FOREIGN_NSYS_SQLITE, "void at::native::vectorized_elementwise_kernel<4>", NULL, 1},
             {FOREIGN_NSYS_SQLITE, "gemm", "aten::mm", 1},
             {FOREIGN_KINETO, "volta_sgemm_64x64_tn", NULL, 1}, /* nothing identifies it: the format is PyTorch's */
             {FOREIGN_KINETO, "gemm", "aten::mm", 1},
             {FOREIGN_KINETO, "fusion_12", "XlaModule", 0}};
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct run *run = run_new("t");
        struct device_name name = {.name = c[i].kernel};
        struct host_operator op = {.name = c[i].operator};
        struct run_device d = {.names = &name, .n_names = 1};
        struct foreign_trace t = {
            .kind = c[i].kind, .devices = &d, .n_devices = 1, .operators = {&op, c[i].operator!= NULL, 1}};
        run->traces = &t;
        run->n_traces = 1;
        check(run, c[i].want);
        run_free(run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_commands), cmocka_unit_test(test_traces)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
