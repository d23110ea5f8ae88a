/* test_code_lines.c - lines of code: the owner of a frame, by names from real traces, and the line that a time belongs
 * to. */
#include "lib/base/arena.h"
#include "render/device/codelines.h"
#include "render/device/frames.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <string.h>

static void test_frames(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum frame_kind kind;
    } cases[] = {{"train_ddp.py(161): ddp_worker", FRAME_OWN},
                 {"transformers/models/bert/modeling_bert.py(364): forward", FRAME_OWN},
                 {"/home/me/model/net.py(7): <lambda>", FRAME_OWN},
                 {"torchlike/net.py(7): forward", FRAME_OWN},
                 {"profile.py(1): run", FRAME_OWN},
                 {"torch/nn/modules/module.py(1773): _wrapped_call_impl", FRAME_LIBRARY},
                 {"torchvision/models/resnet.py(166): forward", FRAME_LIBRARY},
                 {"contextlib.py(141): __exit__", FRAME_LIBRARY},
                 {"multiprocessing/queues.py(92): get", FRAME_LIBRARY},
                 {"/opt/venv/lib/python3.12/site-packages/thing/a.py(3): f", FRAME_LIBRARY},
                 {"/usr/lib/python3.11/threading.py(973): run", FRAME_LIBRARY},
                 {"<built-in method encode of str object at 0x7f7b6a88b8f0>", FRAME_LIBRARY},
                 {"<built-in function hasattr>", FRAME_LIBRARY},
                 {"<frozen importlib._bootstrap>(1165): _find_and_load", FRAME_LIBRARY},
                 {"<string>(2): __init__", FRAME_LIBRARY},
                 {"nn.Module: Linear_12", FRAME_MODULE},
                 {"aten::mm", FRAME_LIBRARY},
                 {"(1): f", FRAME_LIBRARY},
                 {"a.py(x): f", FRAME_LIBRARY},
                 {"a.py(12", FRAME_LIBRARY},
                 {"", FRAME_LIBRARY}};
    struct frame f;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        print_message("%s\n", cases[i].name);
        assert_int_equal(frame_of(cases[i].name, strlen(cases[i].name), &f), cases[i].kind);
    }
    assert_int_equal(frame_of("nn.Module: Linear_12", 20, &f), FRAME_MODULE);
    assert_int_equal(f.module_len, 6);
    assert_memory_equal(f.module, "Linear", 6);
    assert_int_equal(frame_of("a/b.py(12): main", 16, &f), FRAME_OWN);
    assert_true(f.path_len == 6 && f.line_len == 2 && memcmp(f.line, "12", 2) == 0 && f.function_len == 4);
}

static void add(struct code_log *l, int64_t thread, const char *name, int64_t from, int64_t to)
{
    code_log_add(l, thread, name, strlen(name), from, to);
}

static void is(const struct code_line *c, const char *place, const char *function, const char *module, int64_t ns)
{
    assert_string_equal(c->place, place);
    assert_string_equal(c->function, function);
    assert_string_equal(c->module, module);
    assert_int_equal(c->idle_ns, ns);
}

static void test_lines(void **state)
{
    (void)state;
    struct dcr_arena arena = {0};
    struct code_lines out;
    struct code_log *l = code_log_new(1 << 16);
    add(l, 1, "train.py(9): step", 20, 60); /* in any order */
    add(l, 1, "train.py(1): main", 0, 100);
    add(l, 1, "nn.Module: Net_0", 30, 50);
    add(l, 1, "torch/nn/modules/module.py(7): call", 31, 49); /* is skipped */
    add(l, 1, "net.py(5): forward", 40, 50);
    add(l, 2, "hook.py(3): hook", 70, 80);
    assert_int_equal(code_log_settle(l, NULL), 0);
    code_log_spend(l, 1, 10, 110);  /* 10 + 10 in main, then 10, 10, 10, 10, 40 and 10 without any */
    code_log_spend(l, 2, 60, 90);   /* the hook has 10 of it, and main of the busiest thread the rest */
    code_log_spend(l, 3, 200, 205); /* no line */
    assert_string_equal(code_log_line(l, code_log_at(l, 1, 45), &arena).place, "net.py:5");
    assert_string_equal(code_log_line(l, code_log_at(l, 3, 45), &arena).place, "net.py:5");
    assert_int_equal(code_log_at(l, 1, 100), -1);
    code_log_finish(l, &arena, &out);
    assert_int_equal(out.idle_ns, 100 + 30 + 5);
    assert_int_equal(out.known_ns, 90 + 30);
    assert_int_equal(out.n, 5);
    is(&out.list[0], "train.py:1", "main", "", 10 + 40 + 20);
    is(&out.list[1], "train.py:9", "step", "", 20);
    is(&out.list[2], "hook.py:3", "hook", "", 10);
    is(&out.list[3], "net.py:5", "forward", "Net", 10);
    is(&out.list[4], "train.py:9", "step", "Net", 10);
    code_log_free(l);
    dcr_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_frames), cmocka_unit_test(test_lines)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
