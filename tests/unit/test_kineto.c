/* test_kineto.c - Chrome traces of many writers: schemas and odd values. */
#include "tests/unit/kineto_text.h"
#include "tests/unit/gaps.h"

static void test_schemas(void **state)
{
    (void)state;
    /* New and old names; keys in any order; the last of equal keys counts; device from args, else pid. */
    assert_int_equal(
        import_text(
            "{\"schemaVersion\": 1, \"traceEvents\": [\n"
            "{\"args\":{\"device\":3,\"x\":{\"device\":9}},\"dur\":2.5,\"ts\":10.001,\"name\":\"k\",\"cat\":"
            "\"kernel\",\"ph\":\"X\"},\n"
            "{\"ph\":\"X\",\"cat\":\"Kernel\",\"name\":\"rcclAllReduce\",\"pid\":3,\"ts\":20,\"dur\":1},\n"
            "{\"ph\":\"X\",\"cat\":\"Memcpy\",\"name\":\"c\",\"pid\":\"3\",\"ts\":1,\"ts\":30,\"dur\":1},\n"
            "{\"ph\":\"X\",\"cat\":\"gpu_memset\",\"name\":\"m\",\"pid\":5,\"ts\":1,\"args\":{\"device\":\"3\"}},\n"
            "{\"ph\":\"X\",\"cat\":\"gpu_user_annotation\",\"name\":\"nccl:x\",\"pid\":3,\"ts\":0,\"dur\":99},\n"
            "{\"ph\":\"i\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":3,\"ts\":500}\n"
            "],\"distributedInfo\":{\"rank\":2,\"world_size\":8},\"deviceProperties\":[{\"id\":3,\"name\":\"A100\"}]}"),
        0);
    const struct run_device *d = device(0);
    assert_int_equal(run->traces[0].n_devices, 1);
    assert_int_equal(d->device, 3);
    assert_string_equal(d->model, "A100");
    assert_int_equal(d->rank, 2);
    assert_int_equal(run->traces[0].world_size, 8);
    assert_int_equal(d->value[DEV_KERNELS], 2);
    assert_int_equal(d->value[DEV_COMM_KERNELS], 1);
    assert_int_equal(d->value[DEV_MEMCPYS], 1);
    assert_int_equal(d->value[DEV_MEMSETS], 1); /* no dur: an operation without length */
    assert_int_equal(d->value[DEV_SPAN], 31000 - 1000);
    assert_int_equal(d->value[DEV_BUSY], 2500 + 1000 + 1000);
    assert_int_equal(run->traces[0].n_events, 6);
}

/* Some lists of GPUs lack the one that was used. It has their model if they have one model. */
static void test_model_of_an_unlisted_gpu(void **state)
{
    (void)state;
#define ON_DEVICE_2(properties)                                                              \
    "{\"traceEvents\": [{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"ts\":1,\"dur\":2," \
    "\"args\":{\"device\":2}}],\"deviceProperties\":[" properties "]}"
    static const struct {
        const char *text, *model;
    } of[] = {{ON_DEVICE_2("{\"id\":0,\"name\":\"A\"}"), "A"},
              {ON_DEVICE_2("{\"id\":0,\"name\":\"A\"},{\"id\":1,\"name\":\"A\"}"), "A"},
              {ON_DEVICE_2("{\"id\":0,\"name\":\"A\"},{\"id\":1,\"name\":\"B\"}"), ""},
              {ON_DEVICE_2("{\"id\":0,\"name\":\"A\"},{\"id\":1}"), ""},
              {ON_DEVICE_2("{\"id\":0,\"name\":\"A\"},{\"id\":2,\"name\":\"B\"}"), "B"},
              {ON_DEVICE_2(""), ""}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        assert_int_equal(import_text(of[i].text), 0);
        assert_int_equal(device(0)->device, 2);
        assert_string_equal(device(0)->model, of[i].model);
    }
}

/* Ranges of counters, which PyTorch records in place of operations: sums by counter; FLOP by kernel, a fused operation
 * being two. */
static void test_counters(void **state)
{
    (void)state;
#define OP_ "smsp__sass_thread_inst_executed_op_"
#define COUNTED(name, args)                                          \
    "{\"ph\":\"X\",\"cat\":\"cuda_profiler_range\",\"name\":\"" name \
    "\",\"pid\":0,\"tid\":0,\"ts\":5,\"dur\":7,\"args\":{" args "}}"
    assert_int_equal(
        import_text("[" COUNTED(
            "gemm",
            "\"" OP_ "ffma_pred_on.sum\": 100, \"" OP_ "fadd_pred_on.sum\": 3,"
            "\"sm__warps.avg\": 1.5, \"text\": \"x\"") "," COUNTED("relu",
                                                                   "\"" OP_ "hmul_pred_on.sum\": 1000, \"" OP_
                                                                   "imul_pred_on.sum\": 9") "," COUNTED("gemm",
                                                                                                        "\"" OP_
                                                                                                        "ffma_pred_"
                                                                                                        "on.sum\": "
                                                                                                        "50, "
                                                                                                        "\"sm__"
                                                                                                        "warps."
                                                                                                        "avg\": "
                                                                                                        "2.5") "]"),
        0);
    assert_int_equal(run->traces[0].n_devices, 0);
    assert_int_equal(run->traces[0].counters->n_ranges, 3);
    assert_int_equal(run->n_tables, 2);
    static const char *const counters[] = {OP_ "ffma_pred_on.sum", "2", "150", "75",
                                           OP_ "fadd_pred_on.sum", "1", "3",   "3",
                                           "sm__warps.avg",        "2", "n/a", "2"};
    static const char *const kernels[] = {"relu", "1", "2000", "2000", "gemm", "2", "303", "151.5"};
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
        assert_string_equal(run->tables[0].cells[i], counters[i]);
    assert_int_equal(run->tables[1].n_cells, 8);
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        assert_string_equal(run->tables[1].cells[i], kernels[i]);
    /* FP16 computes two values per instruction, as ncu counts it; the same work of whole multiprocessors is not
     * more. */
    assert_int_equal(
        import_text("[" COUNTED("half", "\"" OP_ "hadd_pred_on.sum\": 1, \"" OP_ "hmul_pred_on.sum\": 10,"
                                        "\"" OP_ "hfma_pred_on.sum\": 100, \"sm__sass_thread_inst_executed"
                                        "_op_hfma_pred_on.sum\": 100, \"" OP_ "hfma_pred_on.avg\": 100") "]"),
        0);
    assert_string_equal(run->tables[1].cells[2], "422");
    assert_int_equal(import_text("[" KERNEL("1", "2") "]"), 0);
    assert_int_equal(run->n_tables, 0);
}

/* Calls of an accelerator whose runtime has other names. A call with the correlation of an operation launched it.
 * Without any such id the gap is reported: there are calls, but without ids. */
static void test_other_runtime(void **state)
{
    (void)state;
#define CALL_AND_WORK(correlation)                                                                               \
    "[{\"ph\":\"X\",\"cat\":\"mtia_runtime\",\"name\":\"runFunction\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":5,"   \
    "\"args\":{" correlation "}},{\"ph\":\"X\",\"cat\":\"mtia_ccp_events\",\"name\":\"fc\",\"pid\":0,\"tid\":3," \
    "\"ts\":20,\"dur\":60,\"args\":{\"correlation\":1,"                                                          \
    "\"device\":0}}]"
    assert_int_equal(import_text(CALL_AND_WORK("\"correlation\":1")), 0);
    assert_int_equal(device(0)->n_launched, 1);
    assert_true(device(0)->has_idle_causes);
    assert_int_equal(import_text(CALL_AND_WORK("")), 0);
    assert_false(device(0)->has_idle_causes);
    assert_int_equal(device(0)->idle_why.code, REASON_NO_LAUNCH_OF_OPERATIONS);
}

static void test_array_and_bom(void **state)
{
    (void)state;
    assert_int_equal(import_text("\xef\xbb\xbf [" KERNEL("1", "2") ", " KERNEL("5", "2") "]"), 0);
    assert_int_equal(device(0)->value[DEV_BUSY], 4000);
    assert_int_equal(device(0)->value[DEV_SPAN], 6000);
}

/* JSON of other programs: NaN, nested values, escapes, null, numbers as text, elements that are not events. */
static void test_oddities(void **state)
{
    (void)state;
    assert_int_equal(import_text("{\"otherData\":{\"a\":[1,{\"b\":\"]}\\\"\"}],\"n\":NaN},\"x\":-Infinity,\"y\":\"z\","
                                 "\"traceEvents\":[null, 3,"
                                 "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"n\\u0063cl \\\"q\\\" "
                                 "\\ud83d\\ude00\",\"pid\":1,\"ts\":\"5\",\"dur\":\"1.5\","
                                 "\"args\":{\"v\":NaN,\"w\":[1,2,[3]],\"grid\":[1,1,1],\"text\":\"{\\\\\"}},"
                                 "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"late\",\"pid\":1,\"ts\":null,\"dur\":1},"
                                 "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"huge\",\"pid\":1,\"ts\":1e300,\"dur\":1},"
                                 "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"b\",\"pid\":1,\"ts\":-3,\"dur\":-1},"
                                 "{}]}\n"),
                     0);
    const struct run_device *d = device(0);
    assert_int_equal(d->device, 1);
    assert_int_equal(d->value[DEV_KERNELS], 2);
    assert_int_equal(d->value[DEV_COMM_KERNELS], 1);
    assert_int_equal(run->traces[0].n_unusable, 3); /* and the 3 */
    assert_int_equal(d->value[DEV_SPAN], 9500);
    assert_int_equal(d->value[DEV_BUSY], 1500);
    assert_int_equal(d->value[DEV_KERNEL_SUM], 500);
}

/* Steps whose numbers restart or run backward all count; steps that overlap another one are reported. */
static void test_steps_in_any_order(void **state)
{
    (void)state;
#define STEP(number, from, length)                                                                                    \
    "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#" number "\",\"pid\":1,\"tid\":1,\"ts\":" from \
    ",\"dur\":" length "}"
    assert_int_equal(
        import_text("[" STEP("1", "\"30\"", "10") "," STEP("2", "20", "\"10\"") "," STEP("3", "10", "10") "]"), 0);
    run_take_trace_steps(run);
    assert_int_equal(run->n_gaps, 0);
    assert_int_equal(run->ranks_len, 1);
    assert_int_equal(run->ranks[0].n_steps, 3);
    assert_true(run->ranks[0].is_renumbered);
    for (int i = 0; i < 3; i++)
        assert_int_equal(run->ranks[0].steps[i].step, i);
    assert_int_equal(import_text("[" STEP("1", "0", "15") "," STEP("2", "10", "15") "," STEP("3", "30", "-5") "]"), 0);
    run_take_trace_steps(run);
    assert_int_equal(run->ranks[0].n_steps, 1);
    assert_false(run->ranks[0].is_renumbered);
    assert_int_equal(run->traces[0].n_lost_steps[STEP_LOST_OVERLAP], 1);
    assert_int_equal(run->traces[0].n_lost_steps[STEP_LOST_TIME], 1);
    assert_int_equal(run->traces[0].n_backward, 1);
    assert_int_equal(run->n_gaps, 3);
}

/* Two ranks of one run, as the reader of a run leaves them. */
static void import_ranks(const char *first, const char *second)
{
    const char *const texts[] = {first, second};
    run_free(run);
    run = run_new("t");
    for (int k = 0; k < 2; k++) {
        struct drip d = {texts[k], strlen(texts[k]), 0, 7919};
        struct dcr_stream s = {drip_read, &d, "raw"};
        assert_int_equal(import_foreign(run, k ? "1.json" : "0.json", &s, &err), 0);
    }
    run_take_trace_steps(run);
    run_number_steps(run);
    assert_int_equal(run->ranks_len, 2);
}

/* If one rank's step numbers restart, they cannot match other ranks, so the steps of all ranks are numbered by order.
 */
static void test_steps_of_two_ranks(void **state)
{
    (void)state;
#define RANK(rank, steps) "{\"traceEvents\":[" steps "],\"distributedInfo\":{\"rank\":" rank ",\"world_size\":2}}"
#define THREE(first, second, third) STEP("1", first, "10") "," STEP("2", second, "10") "," STEP("3", third, "10")
    static const size_t n[] = {6, 3};
    import_ranks(RANK("0", THREE("10", "20", "30") "," THREE("40", "50", "60")), RANK("1", THREE("10", "20", "30")));
    for (int k = 0; k < 2; k++) {
        assert_int_equal(run->ranks[k].rank, k);
        assert_int_equal(run->ranks[k].is_renumbered, k == 0);
        assert_int_equal(run->ranks[k].n_steps, n[k]);
        for (size_t i = 0; i < n[k]; i++)
            assert_int_equal(run->ranks[k].steps[i].step, i);
    }
    /* numbers that ascend on every rank stay: the first one's recording began later */
    import_ranks(RANK("0", STEP("2", "10", "10") "," STEP("3", "20", "10")), RANK("1", THREE("10", "20", "30")));
    assert_int_equal(run->ranks[0].steps[0].step, 2);
    assert_int_equal(run->ranks[1].steps[0].step, 1);
}

/* An unreadable duration is reported like an unreadable time; quoted numbers can be read. */
static void test_durations(void **state)
{
    (void)state;
    static const char *const bad[] = {"\"abc\"", "true",         "null",     "[3]",       "\"1e30\"",
                                      "1e30",    "\"10.0.125\"", "10.0.125", "{\"a\":1}", "\"\""};
    static const char call[] = "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":0,\"tid\":7,\"ts\":9,\"dur\":%s}";
    char text[2048];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int n = snprintf(text, sizeof text, "[" KERNEL("1", "\"2\"") "," KERNEL("5", "%s") ",", bad[i]);
        n += snprintf(text + n, sizeof text - (size_t)n, call, "cuda_runtime", "cudaMalloc", bad[i]);
        text[n++] = ',';
        n += snprintf(text + n, sizeof text - (size_t)n, call, "cpu_op", "aten::add", bad[i]);
        snprintf(text + n, sizeof text - (size_t)n, "]");
        assert_int_equal(import_text(text), 0);
        assert_int_equal(run->traces[0].n_unusable, 3);
        assert_int_equal(device(0)->value[DEV_KERNELS], 1);
        assert_int_equal(device(0)->value[DEV_BUSY], 2000);
        assert_int_equal(run->traces[0].n_mallocs, 0);
        assert_int_equal(run->traces[0].operators.n, 0);
        assert_int_equal(run->n_gaps, 1);
        assert_gap(run, 0, PHRASE_TRACE_UNTIMED);
    }
    assert_int_equal(import_text("[" KERNEL("1", "\" 2.5 \"") "]"), 0);
    assert_int_equal(run->traces[0].n_unusable, 0);
    assert_int_equal(device(0)->value[DEV_BUSY], 2500);
}

/* Names of fields and kinds may be escaped too; one escape must not spoil the field after it. */
static void test_escaped_names(void **state)
{
    (void)state;
    assert_int_equal(
        import_text("[{\"p\\u0068\":\"X\",\"c\\u0061t\":\"kern\\u0065l\",\"n\\u0061me\":\"R\\u0043cl\",\"pid\":0,"
                    "\"t\\u0073\":40,\"d\\u0075r\":2,\"args\":{\"d\\u0065vice\":3,\"a long name with an \\n escape in "
                    "it\":1}},"
                    "{\"ph\":\"X\",\"cat\":\"cpu\\u005fop\",\"name\":\"x\",\"pid\":0,\"ts\":1,\"dur\":99}]"),
        0);
    assert_int_equal(device(0)->device, 3);
    assert_int_equal(device(0)->value[DEV_COMM_KERNELS], 1);
    assert_int_equal(device(0)->value[DEV_SPAN], 2000);
    assert_int_equal(import_text("{\"t\\u0072aceEvents\":[{\"p\\u0068\":\"\\u0058\",\"cat\":\"kernel\",\"name\":\"k\","
                                 "\"pid\":0,\"ts\":1,\"dur\":2}]}"),
                     0);
    assert_int_equal(device(0)->value[DEV_SPAN], 2000);
}

/* The text before the events may be longer than the part that identifies a file. */
static void test_late_events(void **state)
{
    (void)state;
    size_t n = 100000;
    char *text = malloc(n + 4096);
    memcpy(text, "{\"x\":\"", 6);
    memset(text + 6, 'x', n);
    snprintf(text + 6 + n, 4000, "%s", "\",\"traceEvents\":[" KERNEL("1", "2") "]}");
    assert_int_equal(import_text(text), 0);
    assert_int_equal(device(0)->value[DEV_BUSY], 2000);
    snprintf(text + 6 + n, 4000, "\"}");
    assert_int_equal(import_text(text), DCR_FAIL);
    assert_non_null(strstr(err.text, "without traceEvents"));
    assert_int_equal(err.kind, DCR_ERR_NO_EVIDENCE); /* it may be any program's file */
    free(text);
}

/* Times so far apart that their difference exceeds a 64-bit integer: events that do not fit with the first ones are
 * left out. */
static void test_far_apart(void **state)
{
    (void)state;
    assert_int_equal(import_text("[" KERNEL("-9007199254740993", "1") "," KERNEL("9007199254740995",
                                                                                 "1") "," KERNEL("-5", "10") "]"),
                     0);
    assert_int_equal(run->traces[0].n_unusable, 1);
    assert_int_equal(device(0)->value[DEV_KERNELS], 2);
    assert_int_equal(device(0)->value[DEV_SPAN], 9007199254740998000);
    assert_int_equal(device(0)->value[DEV_BUSY], 11000);
}

static void test_nothing_on_a_gpu(void **state)
{
    (void)state;
    assert_int_equal(
        import_text(
            "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"ts\":5,\"dur\":1}]}"),
        0);
    assert_int_equal(run->n_traces, 1);
    assert_int_equal(run->traces[0].n_devices, 0);
    assert_int_equal(import_text("{\"traceEvents\":[]}"), DCR_FAIL);
    assert_string_equal(err.text, "'t.json' is a trace without events; profile some steps and export it again");
}

/* An event larger than the window, and more events than fit into it. */
static void test_window(void **state)
{
    (void)state;
    enum { LARGE = 700000, N = 8000 };
    char *text = malloc(LARGE + N * 200), *p = text;
    p += snprintf(p, 400, "[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"ts\":0,\"dur\":1,\"args\":{\"stack\":\"");
    memset(p, 'x', LARGE);
    p += LARGE;
    p += snprintf(p, 400, "\",\"device\":0}}");
    for (int i = 1; i < N; i++)
        p += snprintf(p, 400, ",\n" KERNEL("%d.5", "0.25"), i);
    p += snprintf(p, 400, "]");
    assert_int_equal(import_bytes(text, (size_t)(p - text)), 0);
    assert_int_equal(device(0)->value[DEV_KERNELS], N);
    assert_int_equal(device(0)->value[DEV_BUSY], 1000 + (N - 1) * 250);
    free(text);
}

#define HOST(cat, name, start, dur) \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":1,\"tid\":2,\"ts\":" start ",\"dur\":" dur "}"
#define MICRO(start) HOST("cpu_op", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", start, "1")

/* Two steps of PyTorch, each with three batches loaded and one run of the optimiser. */
static void test_accumulated_gradients(void **state)
{
    (void)state;
    assert_int_equal(
        import_text(
            "[" HOST("user_annotation", "ProfilerStep#3", "0", "100") "," MICRO("1") "," MICRO("21") "," MICRO("41") "," HOST(
                "user_annotation", "Optimizer.step#AdamW.step", "90",
                "5") "," HOST("user_annotation", "ProfilerStep#4", "100",
                              "100") "," MICRO("101") "," MICRO("121") "," MICRO("141") "," HOST("user_annotation",
                                                                                                 "Optimizer.step#AdamW."
                                                                                                 "step",
                                                                                                 "190",
                                                                                                 "5") "," KERNEL("150",
                                                                                                                 "9") "]"),
        0);
    assert_int_equal(run->traces[0].accumulation.micro_batches, 3);
    assert_int_equal(run->traces[0].accumulation.steps_between, 0);
}

/* Ranges of the program with names of steps are steps if PyTorch's profiler marked none. */
static void test_named_steps(void **state)
{
    (void)state;
    static const char named[] = HOST("user_annotation", "step[3/8]", "0", "100") "," HOST(
        "user_annotation", "batch 1", "10", "20") "," HOST("user_annotation", "step[4/8]", "100", "100");
    static const char profiled[] = "," HOST("user_annotation", "ProfilerStep#9", "150", "40");
    char text[1024];
    for (int with_profiler = 0; with_profiler < 2; with_profiler++) {
        snprintf(text, sizeof text, "[%s%s," KERNEL("20", "9") "," KERNEL("160", "9") "]", named,
                 with_profiler ? profiled : "");
        assert_int_equal(import_text(text), 0);
        assert_int_equal(run->traces[0].steps.n_steps, with_profiler ? 1 : 2);
        assert_int_equal(run->traces[0].steps.steps[0].step, with_profiler ? 9 : 3);
    }
    assert_int_equal(import_text("[" HOST("cpu_op", "step 1", "0", "100") "," KERNEL("20", "9") "]"), 0);
    assert_int_equal(run->traces[0].steps.n_steps, 0); /* an operator */
}

/* Ranges that a program names as loading or writing count as such in the steps too, framed or plain; operators and
 * other names do not. */
static void test_named_loading(void **state)
{
    (void)state;
    static const struct {
        const char *cat, *name;
        enum category category;
        int64_t ns;
    } c[] = {{"user_annotation", "## data_load ##", CAT_DATA, 30000},
             {"user_annotation", "dataloader", CAT_DATA, 30000},
             {"user_annotation", "checkpoint", CAT_IO, 30000},
             {"cpu_op", "## data_load ##", CAT_DATA, 30000},
             {"cpu_op", "data_load", CAT_DATA, 0},
             {"user_annotation", "decode", CAT_DATA, 0}};
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "[" HOST("user_annotation", "ProfilerStep#1", "0", "100") "," HOST("%s", "%s", "10",
                                                                                    "30") "," KERNEL("50", "9") "]",
                 c[i].cat, c[i].name);
        assert_int_equal(import_text(text), 0);
        assert_int_equal(run->traces[0].steps.n_steps, 1);
        assert_int_equal(run->traces[0].steps.steps[0].part_ns[c[i].category], c[i].ns);
    }
}

/* Threads by process and thread, as numbers or names; annotations of the GPU do not belong to the host. */
static void test_host_operators(void **state)
{
    (void)state;
    assert_int_equal(
        import_text(
            "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":1,\"tid\":2,\"ts\":12,\"dur\":3},"
            "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"fwd\",\"pid\":1,\"tid\":2,\"ts\":10,\"dur\":10},"
            "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":2,\"tid\":1,\"ts\":12,\"dur\":1.5},"
            "{\"ph\":\"X\",\"cat\":\"Operator\",\"name\":\"aten::mm\",\"pid\":\"1\",\"tid\":\"main\",\"ts\":1},"
            "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"no time\",\"pid\":1,\"tid\":2,\"dur\":4},"
            "{\"ph\":\"X\",\"cat\":\"gpu_user_annotation\",\"name\":\"fwd\",\"pid\":1,\"tid\":2,\"ts\":10,"
            "\"dur\":5}]"),
        0);
    const struct host_operators *o = &run->traces[0].operators;
    assert_int_equal(o->n, 4);
    assert_int_equal(o->n_names, 2);
    assert_string_equal(o->list[0].name, "fwd");
    assert_int_equal(o->list[0].kind, OPERATOR_RANGE);
    assert_int_equal(o->list[0].self_ns, 7000);
    assert_int_equal(o->list[1].n, 3);
    assert_int_equal(o->list[1].self_ns, 4500);
    assert_int_equal(o->list[1].min_ns, 0);
}

#define AT(ph, thread, ts, more) "{\"ph\":\"" ph "\",\"pid\":1,\"tid\":" thread ",\"ts\":" ts more "}"

/* Beginnings and ends nest on their thread; arguments of the end come last; arrows and counters are not operations. */
static void test_pairs(void **state)
{
    (void)state;
    assert_int_equal(
        import_text(
            "[" AT("B", "1", "10",
                   ",\"cat\":\"cpu_op\",\"name\":\"outer\"") "," AT("B", "\"x\"", "12",
                                                                    ",\"cat\":\"kernel\",\"name\":\"ncclA\",\"args\":{"
                                                                    "\"device\":9,\"stream\":7}") "," AT("B",
                                                                                                         "1", "15", ",\"cat\":\"cpu_op\",\"name\":\"inner\"") "," AT("s", "1", "16", ",\"cat\":\"kernel\",\"name\":\"k\",\"id\":1") "," AT("f", "1", "17", ",\"cat\":\"kernel\",\"name\":\"k\",\"id\":1,\"bp\":\"e\"") "," AT("C", "1", "17", ",\"cat\":\"kernel\",\"name\":\"k\",\"args\":{\"v\":1}") "," AT("E", "1", "18", "") "," AT("E",
                                                                                                                                                                                                                                                                                                                                                                                                                                         "\"x\"", "20.5", ",\"args\":{\"device\":3}") "," AT("E",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                             "1", "30", ",\"cat\":\"kernel\"") "," AT("B",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                      "1",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                      "40",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                      ",\"cat\":\"kernel\",\"name\":\"k\",\"args\":{\"device\":3}") "," AT("E",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                           "1",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                           "41",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                           "") "]"),
        0);
    const struct run_device *d = device(0);
    assert_int_equal(run->traces[0].n_devices, 1);
    assert_int_equal(d->device, 3);
    assert_int_equal(d->value[DEV_KERNELS], 2);
    assert_int_equal(d->value[DEV_COMM], 8500);
    assert_int_equal(d->value[DEV_COMPUTE], 1000);
    const struct host_operators *o = &run->traces[0].operators;
    assert_int_equal(o->n, 2);
    assert_string_equal(o->list[0].name, "outer");
    assert_int_equal(o->list[0].total_ns, 20000);
    assert_int_equal(o->list[0].self_ns, 17000);
    assert_int_equal(run->traces[0].n_unpaired, 0);
    assert_int_equal(run->n_gaps, 0);
}

/* Ends on another thread, an extra end, beginnings that stay open: they are counted and reported, and nothing else is
 * lost. */
static void test_unpaired(void **state)
{
    (void)state;
    assert_int_equal(
        import_text("[" AT("E", "1", "1", "") "," AT("B", "2", "5", ",\"cat\":\"kernel\",\"name\":\"k\"") "," AT(
            "E", "3", "6", "") "," KERNEL("5", "2") "," AT("B", "2", "7", ",\"name\":\"z\"") "]"),
        0);
    assert_int_equal(device(0)->value[DEV_KERNELS], 1);
    assert_int_equal(run->traces[0].n_unpaired, 4);
    assert_int_equal(run->n_gaps, 1);
    assert_int_equal(assert_gap(run, 0, PHRASE_TRACE_UNPAIRED)[0].count, 4);
    char *many = malloc(100000 * 40), *p = many; /* more open ones than are kept, on as many threads */
    *p++ = '[';
    for (int i = 0; i < 70000; i++)
        p += snprintf(p, 40, "{\"ph\":\"B\",\"tid\":%d,\"ts\":%d},", i, i);
    p[-1] = ']';
    *p = '\0';
    assert_int_equal(import_text(many), 0);
    assert_int_equal(run->traces[0].n_unpaired, 70000);
    free(many);
}

#define OP(cat, name, pid, ts, dur, args)                                                                          \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":" pid ",\"tid\":1,\"ts\":" ts ",\"dur\":" dur \
    ",\"args\":{" args "}}"

/* Two processes on one AMD device in random order, one event twice, a negative duration; an MTIA device without
 * args. */
static void test_other_devices(void **state)
{
    (void)state;
    assert_int_equal(
        import_text(
            "[" OP("kernel", "Cijk", "71", "100.5", "10", "\"device\":2,\"correlation\":5") "," OP("gpu_memcpy", "CopyDeviceToHost", "72", "50", "55", "\"device\":2") "," OP(
                "hip_runtime", "hipLaunchKernel", "71", "90", "2",
                "\"correlation\":5") "," OP("kernel", "RCCLx", "72", "108", "4.25",
                                            "\"device\":2") "," OP("kernel", "RCCLx", "72", "108", "4.25",
                                                                   "\"device\":2") "," OP("gpu_"
                                                                                          "memset",
                                                                                          "Memset", "71", "40", "-3",
                                                                                          "\"device"
                                                                                          "\":2") "," OP("mtia_"
                                                                                                         "ccp_"
                                                                                                         "event"
                                                                                                         "s",
                                                                                                         "fbgem"
                                                                                                         "m",
                                                                                                         "9", "1",
                                                                                                         "200",
                                                                                                         "\"x\""
                                                                                                         ":{"
                                                                                                         "\"dev"
                                                                                                         "ice\""
                                                                                                         ":2}") "," OP("mtia_runtime",
                                                                                                                       "launch",
                                                                                                                       "9",
                                                                                                                       "0",
                                                                                                                       "1",
                                                                                                                       "") "]"),
        0);
    assert_int_equal(run->traces[0].n_devices, 2);
    assert_int_equal(run->n_gaps, 1);
    assert_int_equal(assert_gap(run, 0, PHRASE_TRACE_NEGATIVE)[0].count, 1);
    static const int64_t want[2][N_DEVICE_COLUMNS] = {
        /* [100.5,110.5) compute, [50,105) copy, [108,112.25) twice, nothing at 40; span [40,112.25) */
        {3, 2, 1, 1, 72250, 62250, 10000, 10000, 4250, 55000, 0, 2500, 1750, 50500, 3, 18500},
        {1, 0, 0, 0, 200000, 200000, 0, 200000, 0, 0, 0, 0, 0, 0, 0, 200000}};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(device(i)->device, i ? 9 : 2);
        for (int c = 0; c < N_DEVICE_COLUMNS; c++)
            if (device(i)->value[c] != want[i][c])
                fail_msg("device %d, %s: %lld instead of %lld", i, device_column_name((enum device_column)c),
                         (long long)device(i)->value[c], (long long)want[i][c]);
    }
    assert_int_equal(device(0)->n_launched, 1);
    assert_int_equal(run->traces[0].n_calls, 2);
}

/* PyTorch's raw memory timeline: 100 of parameters, 400 of activations on top, then gone; kind 99 is unknown. */
static void test_memory_timeline(void **state)
{
    (void)state;
    static const char text[] = "[[-1, 1, 100, 0], [5, 2, 400, 4], [6,3,-400,4], [7, 3, 20, 99]]";
    assert_int_equal(import_text(text), 0);
    assert_int_equal(run->n_tables, 1);
    const struct foreign_table *t = &run->tables[0];
    static const char *const parameters[] = {"parameters", "100", "100", "100"};
    static const char *const activations[] = {"activations", "400", "400", "0"};
    static const char *const unknown[] = {"not known", "0", "20", "20"}, *const all[] = {"all", "500", "500", "120"};
    assert_int_equal(t->n_cells, 9 * 4);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(t->cells[i], parameters[i]);
        assert_string_equal(t->cells[4 * 4 + i], activations[i]);
        assert_string_equal(t->cells[7 * 4 + i], unknown[i]);
        assert_string_equal(t->cells[8 * 4 + i], all[i]);
    }
    for (size_t n = 19; n < sizeof text - 1; n++) {
        assert_int_equal(import_bytes(text, n), DCR_FAIL);
        assert_non_null(strstr(err.text, "it was cut"));
        assert_int_equal(run->n_tables, 0);
    }
    char wrong[600] = "[[-1, 1, 100, 0], [5, oops";
    memset(wrong + strlen(wrong), ' ', sizeof wrong - 1 - strlen(wrong));
    assert_int_equal(import_text(wrong), DCR_FAIL);
    assert_non_null(strstr(err.text, "at byte 18"));
    assert_int_equal(import_text("[[1,1,9223372036854775807,0],[1,1,9223372036854775807,0]]"), DCR_FAIL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_counters, forget),
        cmocka_unit_test_teardown(test_other_runtime, forget),
        cmocka_unit_test_teardown(test_schemas, forget),
        cmocka_unit_test_teardown(test_model_of_an_unlisted_gpu, forget),
        cmocka_unit_test_teardown(test_array_and_bom, forget),
        cmocka_unit_test_teardown(test_oddities, forget),
        cmocka_unit_test_teardown(test_durations, forget),
        cmocka_unit_test_teardown(test_steps_in_any_order, forget),
        cmocka_unit_test_teardown(test_steps_of_two_ranks, forget),
        cmocka_unit_test_teardown(test_escaped_names, forget),
        cmocka_unit_test_teardown(test_late_events, forget),
        cmocka_unit_test_teardown(test_far_apart, forget),
        cmocka_unit_test_teardown(test_nothing_on_a_gpu, forget),
        cmocka_unit_test_teardown(test_window, forget),
        cmocka_unit_test_teardown(test_accumulated_gradients, forget),
        cmocka_unit_test_teardown(test_named_steps, forget),
        cmocka_unit_test_teardown(test_named_loading, forget),
        cmocka_unit_test_teardown(test_host_operators, forget),
        cmocka_unit_test_teardown(test_pairs, forget),
        cmocka_unit_test_teardown(test_unpaired, forget),
        cmocka_unit_test_teardown(test_other_devices, forget),
        cmocka_unit_test_teardown(test_memory_timeline, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
