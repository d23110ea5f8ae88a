/* test_host_work.c - steps of a host without a GPU: PyTorch's traces of both profilers become parts of steps. Numbers
 * by hand, in microseconds. */
#include "render/device/activity.h"

#include "tests/unit/kineto_text.h"

/* An event in the form of the older profiler, and in Kineto's. */
#define OLD(name, tid, ts, dur)                                                                  \
    "{\"name\": \"" name "\", \"ph\": \"X\", \"ts\": " #ts ", \"dur\": " #dur ", \"tid\": " #tid \
    ", \"pid\": \"CPU functions\", \"args\": {}}, "
#define NEW(cat, name, tid, ts, dur)                                                                                  \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":9,\"tid\":" #tid ",\"ts\":" #ts ",\"dur\":" #dur \
    ",\"args\":{}},"
#define END                                                                                                        \
    "{\"name\": \"aten::end\", \"ph\": \"X\", \"ts\": 99999, \"dur\": 1, \"tid\": 1, \"pid\": \"CPU functions\", " \
    "\"args\": {}}]"

static const struct step_record *step(int i)
{
    assert_true((size_t)i < run->traces[0].steps.n_steps);
    return &run->traces[0].steps.steps[i];
}

static void has_parts(int i, int64_t compute, int64_t comm, int64_t data, int64_t io, int64_t other, int64_t hidden)
{
    const int64_t *part = step(i)->part_ns;
    assert_int_equal(part[CAT_COMPUTE], 1000 * compute);
    assert_int_equal(part[CAT_COMM], 1000 * comm);
    assert_int_equal(part[CAT_DATA], 1000 * data);
    assert_int_equal(part[CAT_IO], 1000 * io);
    assert_int_equal(part[CAT_OTHER], 1000 * other);
    assert_int_equal(part[CAT_COPY], 0);
    assert_int_equal(step(i)->hidden_comm_ns, 1000 * hidden);
}

static int64_t phase(const char *name, int i)
{
    const struct reduced *s = &run->traces[0].steps;
    for (int k = 0; k < s->n_phases; k++)
        if (strcmp(s->phases[k].name, name) == 0 && !s->phases[k].is_whole)
            return s->phases[k].ns[i] / 1000;
    return -1;
}

/* A step of 1000: loading 100 with an operator in it, forward 200, backward 300 with a gap of 20. The backward pass
 * hides 150 of the 250 of a collective on another thread. Then the rest of 100, the optimiser 60, and a checkpoint
 * 80 with an operator in it. */
#define STEP(EVENT_RANGE, EVENT_OP)                                                               \
    EVENT_RANGE("ProfilerStep#4", 1, 0, 1000)                                                     \
    EVENT_RANGE("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 1, 0, 100)         \
    EVENT_OP("aten::stack", 1, 20, 30)                                                            \
    EVENT_RANGE("the whole step", 1, 0, 1000)                                                     \
    EVENT_RANGE("DistributedDataParallel.forward", 1, 110, 230)                                   \
    EVENT_OP("aten::linear", 1, 120, 200)                                                         \
    EVENT_OP("aten::addmm", 1, 130, 180)                                                          \
    EVENT_OP("autograd::engine::evaluate_function: AddmmBackward0", 1, 400, 100)                  \
    EVENT_OP("AddmmBackward0", 1, 410, 80)                                                        \
    EVENT_OP("aten::mm", 1, 420, 60)                                                              \
    EVENT_OP("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 1, 520, 180) \
    EVENT_OP("gloo:all_reduce", 2, 550, 250)                                                      \
    EVENT_RANGE("Optimizer.step#SGD.step", 1, 820, 70)                                            \
    EVENT_OP("aten::add_", 1, 825, 60)                                                            \
    EVENT_RANGE("save_checkpoint", 1, 900, 80)                                                    \
    EVENT_OP("aten::copy_", 1, 910, 10)

static void check_step(void)
{
    assert_int_equal(run->traces[0].n_devices, 0);
    has_parts(0, 200 + 280 + 60, 100, 100, 80, 180, 150);
    assert_int_equal(phase("forward and other operators", 0), 200);
    assert_int_equal(phase("backward operators", 0), 280);
    assert_int_equal(phase("optimizer operators", 0), 60);
    assert_int_equal(step(0)->n_collectives, 1);
    assert_int_equal(run->traces[0].steps.collectives[0].dur_ns, 250000);
    assert_int_equal(step(0)->step, 4);
}

static void test_both_forms(void **state)
{
    (void)state;
    assert_int_equal(import_text("[" STEP(OLD, OLD) END), 0);
    check_step();
#define RANGE(...) NEW("user_annotation", __VA_ARGS__)
#define OP(...) NEW("cpu_op", __VA_ARGS__)
    assert_int_equal(
        import_text("{\"schemaVersion\":1,\"distributedInfo\":{\"backend\":\"gloo\",\"rank\":1,\"world_size\":2},"
                    "\"traceEvents\":[" STEP(RANGE, OP) "null]}"),
        0);
    check_step();
    assert_int_equal(run->traces[0].rank, 1);
    /* A collective that the trace calls a range of the program is still a collective; the name of a range does not make
     * it an operator. */
    assert_int_equal(import_text("{\"traceEvents\":[" RANGE("ProfilerStep#1", 1, 0, 100)
                                     RANGE("nccl:all_reduce", 1, 10, 20) RANGE("MyBackward", 1, 50, 20)
                                         OP("aten::mm", 1, 80, 5) "null]}"),
                     0);
    has_parts(0, 5, 20, 0, 0, 75, 0);
}

/* The unnamed part of a step belongs to the line that ran: [100,120), [320,400), [700,820), [890,900) and [980,1000),
 * less the ends of ranges. These parts sum to the step's overhead. The cut step is in neither sum. */
static void test_lines_of_unnamed_time(void **state)
{
    (void)state;
#define FRAME(...) NEW("python_function", __VA_ARGS__)
    assert_int_equal(import_text("{\"traceEvents\":[" STEP(RANGE, OP) FRAME("train.py(3): main", 1, 0, 2000)
                                     FRAME("train.py(9): backward", 1, 300, 410) FRAME("torch/x.py(1): f", 1, 390, 10)
                                         FRAME("log.py(5): log", 1, 985, 10) "null]}"),
                     0);
    has_parts(0, 200 + 280 + 60, 100, 100, 80, 180, 150);
    const struct code_lines *c = &run->traces[0].code;
    assert_true(c->has_stacks && c->is_unnamed);
    assert_int_equal(c->idle_ns, 180000);
    assert_int_equal(c->known_ns, 180000);
    assert_int_equal(c->n, 3);
    assert_string_equal(c->list[0].place, "train.py:9");
    assert_string_equal(c->list[1].place, "train.py:3");
    assert_string_equal(c->list[2].place, "log.py:5");
    assert_int_equal(c->list[0].idle_ns + c->list[1].idle_ns + c->list[2].idle_ns, 180000);
    assert_int_equal(c->list[2].idle_ns, 10000);
}

/* An operator whose backward pass all-reduces counts without the collective, whichever thread runs it. A collective
 * that a long operator of another thread only happens to cover is hidden. */
static void test_nested(void **state)
{
    (void)state;
    assert_int_equal(import_text("[" OLD("ProfilerStep#1", 1, 0, 1000) OLD("SumBackward", 1, 100, 400)
                                     OLD("aten::contiguous", 1, 110, 20) OLD("c10d::allreduce_", 1, 140, 10)
                                         OLD("gloo:all_reduce", 2, 160, 300) OLD("aten::mm", 3, 200, 50) END),
                     0);
    /* Without the call [140,150) and the collective [160,460), in which another thread has an operator of 50. */
    has_parts(0, 400 - 10 - 300 + 50, 10 + 250, 0, 0, 600, 50);
    assert_int_equal(step(0)->n_collectives, 1); /* the call for it is not a second one */
    assert_int_equal(import_text("[" OLD("ProfilerStep#1", 1, 0, 1000) OLD("SumBackward", 1, 100, 400)
                                     OLD("gloo:all_reduce", 1, 160, 300) END),
                     0);
    has_parts(0, 100, 300, 0, 0, 600, 0);
    assert_int_equal(import_text("[" OLD("ProfilerStep#1", 1, 0, 1000) OLD("aten::mm", 1, 100, 400)
                                     OLD("gloo:all_reduce", 2, 160, 300) END),
                     0);
    has_parts(0, 400, 0, 0, 0, 600, 300);
    /* If an operator and a collective cross, the operator is whole. */
    assert_int_equal(import_text("[" OLD("ProfilerStep#1", 1, 0, 1000) OLD("aten::mm", 1, 100, 100)
                                     OLD("gloo:all_reduce", 1, 150, 300) END),
                     0);
    has_parts(0, 100, 250, 0, 0, 650, 50);
    /* Only calls exist, so they are the collectives. */
    assert_int_equal(import_text("[" OLD("ProfilerStep#1", 1, 0, 1000) OLD("c10d::allreduce_", 1, 100, 100)
                                     OLD("c10d::broadcast_", 1, 300, 50) END),
                     0);
    has_parts(0, 0, 150, 0, 0, 850, 0);
    assert_int_equal(step(0)->n_collectives, 2);
}

/* Nothing marks steps, so a step lasts from one end of the optimiser to the next. */
static void test_by_optimizer(void **state)
{
    (void)state;
    assert_int_equal(import_text("[" OLD("aten::mm", 1, 10, 20) OLD("Optimizer.step#Adam.step", 1, 40, 10)
                                     OLD("aten::mm", 1, 60, 20) OLD("Optimizer.step#Adam.step", 1, 100, 10)
                                         OLD("aten::mm", 1, 120, 60) OLD("Optimizer.step#Adam.step", 1, 190, 10) END),
                     0);
    assert_int_equal(run->traces[0].steps.n_steps, 2);
    assert_true(run->traces[0].is_by_optimizer);
    assert_int_equal(step(0)->start_ns, 50000);
    has_parts(0, 20, 0, 0, 0, 40, 0);
    has_parts(1, 60, 0, 0, 0, 30, 0);
    assert_int_equal(import_text("[" OLD("Optimizer.step#Adam.step", 1, 40, 10) END), 0);
    assert_int_equal(run->traces[0].steps.n_steps, 0);
    assert_false(run->traces[0].is_by_optimizer);
}

/* The last step has no operators: the profiler stopped in it. */
static void test_cut(void **state)
{
    (void)state;
    assert_int_equal(import_text("[" OLD("ProfilerStep#1", 1, 0, 100) OLD("aten::mm", 1, 10, 20)
                                     OLD("ProfilerStep#2", 1, 100, 100) OLD("aten::mm", 1, 110, 20)
                                         OLD("ProfilerStep#3", 1, 200, 7) END),
                     0);
    assert_int_equal(run->traces[0].steps.n_steps, 2);
    assert_true(run->traces[0].is_last_step_cut);
    assert_false(run->traces[0].is_by_optimizer);
}

/* Names of ranges that are files, and others that are not. */
static void test_files(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int is_files;
    } of[] = {{"checkpoint", 1}, {"save", 1},     {"Save model", 1}, {"load_checkpoint", 1}, {"torch.load", 1},
              {"load batch", 0}, {"saved_by", 0}, {"workload", 0},   {"epoch.save()", 1},    {"validation", 0}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "[%s{\"name\": \"%s\", \"ph\": \"X\", \"ts\": 10, \"dur\": 50, \"tid\": 1, \"pid\": "
                 "\"CPU functions\", \"args\": {}}, " END,
                 OLD("ProfilerStep#1", 1, 0, 100), of[i].name);
        assert_int_equal(import_text(text), 0);
        has_parts(0, 0, 0, 0, of[i].is_files ? 50 : 0, of[i].is_files ? 50 : 100, 0);
    }
}

static void test_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum host_name is;
    } of[] = {{"aten::mm", HOST_NAME_OPERATOR},
              {"torch::autograd::AccumulateGrad", HOST_NAME_OPERATOR},
              {"AddmmBackward0", HOST_NAME_BACKWARD},
              {"Backward", HOST_NAME_RANGE},
              {"Backward pass", HOST_NAME_RANGE},
              {"my Backward", HOST_NAME_RANGE},
              {"gloo:all_reduce", HOST_NAME_COMM},
              {"mpi:barrier", HOST_NAME_COMM},
              {"c10d::send", HOST_NAME_COMM_CALL},
              {"Optimizer.step#SGD.step", HOST_NAME_OPTIMIZER},
              {"torch.distributed.ddp.reducer::copy_bucket_to_grad", HOST_NAME_RANGE},
              {"autograd::engine::evaluate_function: PowBackward0", HOST_NAME_BACKWARD}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        assert_int_equal(host_name_of(of[i].name, strlen(of[i].name), 0), of[i].is);
    assert_int_equal(host_name_of("aten::mm", 8, 1), HOST_NAME_RANGE);
}

static const char *common(const char *name)
{
    static char out[2][256];
    static int turn;
    char *to = out[turn = !turn];
    to[host_name_common(name, host_name_without_attributes(name, strlen(name)), to)] = '\0';
    return to;
}

/* Variants of one kind of call get one name; distinctions between different things stay. */
static void test_common_names(void **state)
{
    (void)state;
    static const char *const same[][2] = {
        {"aten::copy_, op_id = 998952", "aten::copy_"},
        {"aten::add, seq = 12, op_id = 5", "aten::add"},
        {"aten::mm, seq = 3, op_id = 4, sizes = [[2, 3], [3, 4]], input_op_ids = [(1,0)]", "aten::mm"},
        {"FSDP::pre_forward (blocks.9._checkpoint_wrapped_module)",
         "FSDP::pre_forward (blocks.*._checkpoint_wrapped_module)"},
        {"model.layers.31", "model.layers.*"},
        {"model.layers.3.mlp.experts.7.w1", "model.layers.*.mlp.experts.*.w1"},
        {"free 0x7f12ab34", "free 0x*"},
        {", op_id = 3", ", op_id = 3"}};
    static const char *const apart[][2] = {{"aten::add", "aten::add_"},
                                           {"aten::conv1d", "aten::conv2d"},
                                           {"layer1", "layer2"},
                                           {"layer1.conv", "layer2.conv"},
                                           {"Conv2d_1a_3x3", "Conv2d_2a_3x3"},
                                           {"v1.5", "v1.6"},
                                           {"2.15.0", "2.16.0"},
                                           {"gemm_1000x1000", "gemm_1000x2000"},
                                           {"Optimizer.step#SGD.step", "Optimizer.step#Adam.step"},
                                           {"block.3x3", "block.5x5"}};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        assert_string_equal(common(same[i][0]), same[i][1]);
    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++)
        assert_string_not_equal(common(apart[i][0]), common(apart[i][1]));
}

/* Steps of all numbers are one name, and so are batches and epochs. */
static void test_names_of_steps(void **state)
{
    (void)state;
    static const struct {
        const char *name, *word;
        enum step_name is;
        int64_t number;
    } of[] = {{"ProfilerStep#4", "ProfilerStep", STEP_NAME_STEP, 4},
              {"ProfilerStep#10", "ProfilerStep", STEP_NAME_STEP, 10},
              {"ProfilerStep", "ProfilerStep", STEP_NAME_STEP, -1},
              {"ProfilerStepper", NULL, STEP_NAME_NONE, -1},
              {"iter_12", "iter", STEP_NAME_STEP, 12},
              {"step 7/100", "step", STEP_NAME_STEP, 7},
              {"epoch 3 step 12", "step", STEP_NAME_STEP, 12},
              {"batch 7", "batch", STEP_NAME_BATCH, 7},
              {"epoch 3", "epoch", STEP_NAME_EPOCH, -1},
              {"step_size 3", NULL, STEP_NAME_NONE, -1},
              {"Optimizer.step#SGD.step", NULL, STEP_NAME_NONE, -1},
              {"iteration 1 of a name with more letters than any step of a training has", NULL, STEP_NAME_NONE, -1},
              {"", NULL, STEP_NAME_NONE, -1}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const char *word;
        int64_t number;
        assert_int_equal(host_step_of(of[i].name, strlen(of[i].name), &word, &number), of[i].is);
        assert_int_equal(number, of[i].number);
        assert_true(of[i].word ? strcmp(word, of[i].word) == 0 : word == NULL);
        assert_int_equal(host_step_is_profilers(word), i < 3);
    }
}

static void is_operator(int at, const char *name, enum operator_kind kind, int64_t n, int64_t self_us)
{
    const struct host_operator *o = &run->traces[0].operators.list[at];
    assert_string_equal(o->name, name);
    assert_int_equal(o->kind, kind);
    assert_int_equal(o->n, n);
    assert_int_equal(o->self_ns, 1000 * self_us);
}

/* Steps come after all operators and ranges, however long they are. Nothing is lost: the self times sum to the time of
 * the thread. An operator with the name of a step is none, unless it is the profiler's. */
static void test_operators_and_steps(void **state)
{
    (void)state;
    assert_int_equal(import_text("{\"traceEvents\":[" OP("ProfilerStep#4", 1, 0, 100) OP("ProfilerStep#5", 1, 100, 200)
                                     RANGE("iter_1", 1, 10, 50) RANGE("iter_2", 1, 110, 60) RANGE("batch 1", 1, 20, 30)
                                         RANGE("batch 2", 1, 115, 40) OP("aten::mm", 1, 25, 5) OP("aten::mm", 1, 130, 6)
                                             OP("step 3", 1, 120, 7) "null]}"),
                     0);
    assert_int_equal(run->traces[0].operators.n_names, 5);
    is_operator(0, "batch", OPERATOR_RANGE, 2, 30 + 40 - 11 - 7);
    is_operator(1, "aten::mm", OPERATOR_OP, 2, 11);
    is_operator(2, "step 3", OPERATOR_OP, 1, 7);
    is_operator(3, "ProfilerStep", OPERATOR_STEP, 2, 300 - 50 - 60);
    is_operator(4, "iter", OPERATOR_STEP, 2, 20 + 20);
    assert_int_equal(run->traces[0].steps.n_steps, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_forms),
        cmocka_unit_test(test_lines_of_unnamed_time),
        cmocka_unit_test(test_nested),
        cmocka_unit_test(test_by_optimizer),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_common_names),
        cmocka_unit_test(test_names_of_steps),
        cmocka_unit_test(test_operators_and_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
