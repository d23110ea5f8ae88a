/* test_kineto.c - Chrome traces as they come: schemas, odd values, damage; and the decimal numbers in them. */
#include "render/import/decimal.h"
#include "render/import/import.h"
#include "render/import/json_index.h"
#include "render/import/json_window.h"
#include "render/import/kineto.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

/* Bytes handed out a few at a time, as a pipe might. */
struct drip {
    const char *bytes;
    size_t len, pos, most;
};

static ssize_t drip_read(void *ctx, void *out, size_t n, struct dcr_err *err)
{
    (void)err;
    struct drip *d = ctx;
    size_t k = d->len - d->pos < n ? d->len - d->pos : n;
    k = k < d->most ? k : d->most;
    memcpy(out, d->bytes + d->pos, k);
    d->pos += k;
    return (ssize_t)k;
}

static struct run *run;
static struct dcr_err err;

static int import_bytes(const char *bytes, size_t n)
{
    run_free(run);
    run = run_new("t");
    err = (struct dcr_err){0};
    struct drip d = {bytes, n, 0, 7919};
    struct dcr_stream s = {drip_read, &d, "raw"};
    return import_foreign(run, "t.json", &s, &err);
}

static int import_text(const char *text)
{
    return import_bytes(text, strlen(text));
}

/* snprintf into what is large enough. */
static __attribute__((format(printf, 2, 3))) size_t sprint(char *out, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = vsnprintf(out, 4096, format, list);
    va_end(list);
    return (size_t)n;
}

static int forget(void **state)
{
    (void)state;
    run_free(run);
    run = NULL;
    return 0;
}

static const struct run_device *device(int i)
{
    assert_int_equal(run->n_traces, 1);
    assert_true(i < run->traces[0].n_devices);
    return &run->traces[0].devices[i];
}

#define KERNEL(start, dur)                                                                              \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":" start ",\"dur\":" dur \
    ",\"args\":{\"device\":0}}"

static int64_t scaled(const char *text, int scale)
{
    int64_t v = -12345;
    size_t n = strlen(text);
    char *copy = malloc(n); /* nothing behind it may be read */
    memcpy(copy, text, n);
    int rc = decimal_scaled(copy, copy + n, scale, &v);
    free(copy);
    return rc ? -12345 : v;
}

static void test_decimal(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } micro[] = {{"0", 0},
                 {"1", 1000},
                 {"1711964646543.183", 1711964646543183},
                 {"1623142623531625", 1623142623531625000},
                 {"0.001", 1},
                 {"0.0009", 0},
                 {"1.9999", 1999},
                 {"-2.5", -2500},
                 {"1e3", 1000000},
                 {"1.5E-3", 1},
                 {"25e-4", 2},
                 {"1.25e+2", 125000},
                 {"\"12.5\"", 12500},
                 {"\" 7 \"", 7000},
                 {"9223372036854775.807", INT64_MAX},
                 {"9223372036854775.808", -12345},
                 {"1e17", -12345},
                 {"1e-999999999", 0},
                 {"0e999999999", 0},
                 {".5", 500},
                 {"NaN", -12345},
                 {"Infinity", -12345},
                 {"", -12345},
                 {"-", -12345},
                 {"1x", -12345},
                 {"\"1", -12345},
                 {"1e", -12345},
                 {"null", -12345},
                 {"1.2.3", -12345},
                 {"9007199254740993", 9007199254740993000},
                 {"123456789012345678901e-9", 123456789012345}, /* more digits than an integer holds */
                 {"0.00001234567890123456789e5", 1234},
                 {"12345678901234567890123e-40", 0},
                 {"-1.23456789012345678901e-1", -123}};
    for (size_t i = 0; i < sizeof micro / sizeof *micro; i++)
        if (scaled(micro[i].text, 3) != micro[i].value)
            fail_msg("'%s' is %lld, not %lld", micro[i].text, (long long)scaled(micro[i].text, 3),
                     (long long)micro[i].value);
    assert_int_equal(scaled("7.9", 0), 7);
    assert_int_equal(scaled("0.151510500668043782", 9), 151510500);
}

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

static void test_array_and_bom(void **state)
{
    (void)state;
    assert_int_equal(import_text("\xef\xbb\xbf [" KERNEL("1", "2") ", " KERNEL("5", "2") "]"), 0);
    assert_int_equal(device(0)->value[DEV_BUSY], 4000);
    assert_int_equal(device(0)->value[DEV_SPAN], 6000);
}

/* What other programs leave in JSON: NaN, nested values, escapes, null, numbers as text, events that are none. */
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
    assert_int_equal(run->traces[0].n_unusable, 2);
    assert_int_equal(d->value[DEV_SPAN], 9500);
    assert_int_equal(d->value[DEV_BUSY], 1500);
    assert_int_equal(d->value[DEV_KERNEL_SUM], 500);
}

/* Names of fields and kinds may be escaped too; one escape does not spoil the field behind it. */
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

/* What stands before the events may be longer than what the kind of a file is told by. */
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
    assert_int_equal(err.kind, DCR_ERR_NO_EVIDENCE); /* it may be anything: a program's own */
    free(text);
}

/* Times so far apart that their difference is no 64-bit integer: what does not fit to the first ones is left out. */
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
    assert_int_equal(import_text("{\"traceEvents\":[]}"), 0);
}

/* Cut at every byte: a sentence with the file and the place, never a crash and never a result. */
static void test_cut(void **state)
{
    (void)state;
    static const char text[] = "{\"schemaVersion\":1,\"deviceProperties\":[{\"id\":0}],\"traceEvents\":[" KERNEL(
        "1", "2") "," KERNEL("5.25", "2") "],\"traceName\":\"x\",\"n\":1}";
    for (size_t n = 20; n < sizeof text - 1; n++) {
        assert_int_equal(import_bytes(text, n), DCR_FAIL);
        assert_non_null(strstr(err.text, "t.json"));
        assert_non_null(strstr(err.text, "at byte"));
        assert_int_equal(run->n_traces, 0);
    }
    assert_int_equal(import_bytes(text, sizeof text - 1), 0);
}

/* A file that is the list of events itself may end behind any of them or inside one: the complete ones count, and the
 * missing end is said. */
static void test_list_without_end(void **state)
{
    (void)state;
    static const char one[] = "[" KERNEL("1", "2"), text[] = "[" KERNEL("1", "2") ",\n" KERNEL("5", "2") ",\n";
    for (size_t n = 20; n < sizeof text; n++) {
        int has_one = n >= sizeof one - 1, is_whole = n <= sizeof one + 1 || n >= sizeof text - 3;
        assert_int_equal(import_bytes(text, n), has_one ? 0 : DCR_FAIL);
        assert_int_equal(run->n_traces, has_one);
        if (!has_one) {
            assert_non_null(strstr(err.text, "in the middle of an event"));
            continue;
        }
        assert_int_equal(run->traces[0].devices[0].value[DEV_KERNELS], n < sizeof text - 3 ? 1 : 2);
        assert_int_equal(run->n_gaps, 1);
        assert_non_null(strstr(run->gaps[0], "'t.json' its list is not closed: the writer was stopped, or the file is "
                                             "cut; "));
        assert_non_null(strstr(run->gaps[0], n < sizeof text - 3 ? "1 event is there" : "2 events are there"));
        assert_int_equal(strstr(run->gaps[0], "without the last one, which is cut") == NULL, is_whole);
    }
    assert_int_equal(import_text("[" KERNEL("1", "2") "]"), 0);
    assert_int_equal(run->n_gaps, 0);
}

/* Two traces in one file: the second one is not left out unsaid. */
static void test_more_behind(void **state)
{
    (void)state;
    static const char *const one[] = {"{\"traceEvents\":[" KERNEL("1", "2") "]}", "[" KERNEL("1", "2") "]"};
    char text[1024];
    for (int i = 0; i < 2; i++) {
        sprint(text, "%s \r\n\n", one[i]);
        assert_int_equal(import_text(text), 0);
        sprint(text, "%s\n%s", one[i], one[0]);
        assert_int_equal(import_text(text), DCR_FAIL);
        assert_non_null(strstr(err.text, "there is more behind its end"));
        assert_int_equal(run->n_traces, 0);
    }
}

/* Cut inside an event at and around the place where the first window ends: there the bytes move when it turns out that
 * there are no more. What lay behind them in the old window would make the event whole, and another one. */
static void test_cut_at_window(void **state)
{
    (void)state;
    enum { WINDOW = 1 << 18 };
    static const char one[] = KERNEL("1", "2") ",\n";
    static char text[WINDOW + 256];
    for (size_t len = WINDOW - 4; len <= WINDOW + 4; len++) {
        size_t n = (size_t)snprintf(text, sizeof text, "{\"traceEvents\":[");
        while (n < len) {
            size_t k = len - n < sizeof one - 1 ? len - n : sizeof one - 1;
            memcpy(text + n, one, k);
            n += k;
        }
        char where[32];
        snprintf(where, sizeof where, "at byte %zu:", len);
        assert_int_equal(import_bytes(text, len), DCR_FAIL);
        assert_non_null(strstr(err.text, where));
        assert_int_equal(run->n_traces, 0);
    }
    /* The window ends in an event (the rest of the file is longer than it), whose pieces move to its beginning. */
    for (size_t head = 0; head < 140; head += 7) {
        size_t n = (size_t)snprintf(text, sizeof text, "{\"x\":\"%.*s\",\"traceEvents\":[", (int)head,
                                    "0123456789012345678901234567890123456789012345678901234567890123456789"
                                    "0123456789012345678901234567890123456789012345678901234567890123456789");
        while (n < WINDOW) {
            size_t k = WINDOW - n < sizeof one - 1 ? WINDOW - n : sizeof one - 1;
            memcpy(text + n, one, k);
            n += k;
        }
        assert_int_equal(import_bytes(text, WINDOW), DCR_FAIL);
        assert_non_null(strstr(err.text, "at byte 262144:"));
        assert_int_equal(run->n_traces, 0);
    }
}

static void test_broken(void **state)
{
    (void)state;
    static const char *const texts[] = {"{\"traceEvents\":[{\"ph\" \"X\"}]}", "{\"traceEvents\":[{ph:1}]}",
                                        "{\"schemaVersion\" 1}", "{\"schemaVersion\":1, traceEvents:[]}",
                                        "{\"traceEvents\":[{\"ts\":}]}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(import_text(texts[i]), DCR_FAIL);
        assert_non_null(strstr(err.text, "not well-formed JSON"));
        /* What has a list of events is a trace, however broken. */
        assert_int_equal(err.kind, strstr(texts[i], "\"traceEvents\"") ? DCR_ERR_ANY : DCR_ERR_NO_TRACE);
    }
    assert_int_equal(import_text("{\"schemaVersion\":1}"), DCR_FAIL);
    assert_int_equal(import_text("{\"a\":1}"), DCR_END);
    assert_int_equal(import_text(""), DCR_END);
    assert_int_equal(import_text("[[-1, 1]]"), DCR_END);
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

/* Threads by process and thread, as numbers or names; annotations of the GPU are none of the host. */
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

/* Beginnings and ends nest on their thread; arguments of the end come last; arrows and counters are no operations. */
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

/* Ends of another thread, an end too many, beginnings that stay open: counted, said, and nothing else is lost. */
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
    assert_non_null(strstr(run->gaps[0], "4 events have no partner"));
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

/* Two processes on one AMD device in no order, one event twice, a negative duration; an MTIA device without args. */
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

/* PyTorch's raw memory timeline: 100 of parameters, 400 of activations on top, then gone; kind 99 is not known. */
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

static size_t gzip(char *out, size_t cap, const char *text)
{
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (unsigned char *)(uintptr_t)text;
    z.avail_in = (uInt)strlen(text);
    z.next_out = (unsigned char *)out;
    z.avail_out = (uInt)cap;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t n = z.total_out;
    deflateEnd(&z);
    return n;
}

/* Two members and padding; cut at every byte of both; other bytes behind them. */
static void test_gzip(void **state)
{
    (void)state;
    char bytes[4096] = {0};
    size_t n = gzip(bytes, 2000, "{\"traceEvents\":[" KERNEL("1", "2"));
    size_t all = n + gzip(bytes + n, 2000, "," KERNEL("5", "2") "]}");
    assert_int_equal(import_bytes(bytes, all), 0);
    assert_int_equal(device(0)->value[DEV_KERNELS], 2);
    assert_int_equal(import_bytes(bytes, all + 512), 0);
    for (size_t k = 3; k < all; k++) {
        assert_int_equal(import_bytes(bytes, k), DCR_FAIL);
        assert_string_not_equal(err.text, "");
    }
    bytes[all] = 'x';
    assert_int_equal(import_bytes(bytes, all + 1), DCR_FAIL);
    bytes[all] = 0;
    bytes[n + 20] ^= 0x55;
    assert_int_equal(import_bytes(bytes, all), DCR_FAIL);
    n = gzip(bytes, 2000, "[" KERNEL("1", "2") ",{\"ph\":");
    assert_int_equal(import_bytes(bytes, n), 0);
    assert_int_equal(run->n_gaps, 1);
    assert_non_null(strstr(run->gaps[0], "its list is not closed"));
    assert_int_equal(import_bytes(bytes, n - 1), DCR_FAIL);
}

/* More than is looked at first: whole, cut at some places, broken JSON behind which bytes are left. */
static void test_large_gzip(void **state)
{
    (void)state;
    enum { N = 20000, CAP = 1 << 21 };
    char *text = malloc(CAP), *bytes = malloc(CAP);
    size_t len = 1;
    assert_non_null(text);
    assert_non_null(bytes);
    text[0] = '[';
    for (int i = 0; i < N; i++)
        len += (size_t)snprintf(text + len, CAP - len,
                                "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k%d\",\"pid\":0,\"ts\":%d,\"dur\":2},",
                                i % 97, 3 * i);
    memcpy(text + len - 1, "]", 2);
    size_t n = gzip(bytes, CAP, text);
    assert_int_equal(import_bytes(bytes, n), 0);
    assert_int_equal(device(0)->value[DEV_KERNELS], N);
    assert_int_equal(device(0)->value[DEV_BUSY], 2000 * (int64_t)N);
    for (size_t k = 1; k < 8; k++) {
        assert_int_equal(import_bytes(bytes, n * k / 8), DCR_FAIL);
        assert_non_null(strstr(err.text, "is cut in the middle of its gzip data"));
    }
    assert_int_equal(import_bytes(text, len - 9), 0); /* inside the last event, far behind the first window */
    assert_int_equal(device(0)->value[DEV_KERNELS], N - 1);
    assert_int_equal(run->n_gaps, 1);
    text[200] = '\\';
    text[201] = '"';
    memcpy(text + 100, "}{\"x\" 5", 8);
    n = gzip(bytes, CAP, text);
    assert_int_equal(import_bytes(bytes, n), DCR_FAIL);
    free(text);
    free(bytes);
}

static void test_unescape(void **state)
{
    (void)state;
    char out[16];
    assert_int_equal(json_unescape("a\\n\\u00e9", 9, out, sizeof out), 4);
    assert_string_equal(out, "a\n\xc3\xa9");
    json_unescape("\\ud800x\\", 8, out, sizeof out);
    assert_string_equal(out, "?x?");
    json_unescape("\\u0000", 6, out, sizeof out);
    assert_string_equal(out, "?");
    assert_int_equal(json_unescape("0123456789abcdefgh", 18, out, sizeof out), 15);
}

/* Bits by the rule itself, a byte at a time: what the three ways of making the index must all find. */
static void check_index(const struct json_index *x, const char *text, size_t n)
{
    int in_string = 0, is_escaped = 0;
    for (size_t i = 0; i < n; i++) {
        int is_quote = text[i] == '"' && !is_escaped;
        int is_bracket = !in_string && strchr("{}[]", text[i]) != NULL;
        assert_int_equal(x->quotes[i / 64] >> i % 64 & 1, is_quote);
        assert_int_equal(x->brackets[i / 64] >> i % 64 & 1, is_bracket);
        in_string ^= is_quote;
        is_escaped = text[i] == '\\' && !is_escaped;
    }
}

static void test_index(void **state)
{
    (void)state;
    static const char letters[] = "\"\"\\\\{}[],: ab";
    enum { LONGEST = 400 };
    struct json_index x = {0};
    uint32_t seed = 7;
    for (size_t n = 0; n < LONGEST; n++) {
        char *text = calloc(1, n + WINDOW_PAD); /* nothing behind the pad may be read */
        for (size_t i = 0; i < n; i++)
            text[i] = letters[((seed = seed * 1664525u + 1013904223u) >> 20) % (sizeof letters - 1)];
        for (int way = 0; way < 3; way++) {
            json_index_way(way);
            assert_int_equal(json_index_make(&x, text, text + n), 0);
            check_index(&x, text, n);
            assert_true(json_index_quote(&x, text + n) >= text + n);
        }
        free(text);
    }
    json_index_way(0);
    static const char nested[WINDOW_PAD + 64] = "{\"a}\\\"\":[{},{\"b\":[1]}]} {";
    assert_int_equal(json_index_make(&x, nested, nested + strlen(nested)), 0);
    assert_string_equal(json_index_close(&x, nested), " {");
    assert_null(json_index_close(&x, nested + strlen(nested) - 1));
    json_index_release(&x);
}

enum { TINY_EVENTS = 200000 };

/* Some windows of text: kernels, pairs that reach across, a value larger than a window, thousands of tiny events, some
 * of them in the large window, a header behind them. */
static char *large_trace(size_t *len)
{
    enum { LONG = 600000 };
    char *text = malloc(4 << 20), *p = text;
    p += sprint(
        p, "{\"traceEvents\":[{\"ph\":\"B\",\"cat\":\"cpu_op\",\"name\":\"a\\u0041\",\"pid\":1,\"tid\":1,\"ts\":5}");
    for (int i = 0; i < 6000; i++) {
        p += sprint(
            p,
            ",\n "
            "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k%d\\n\",\"pid\":0,\"tid\":7,\"ts\":%d.%d,\"dur\":%d,\"args\":"
            "{\"device\":%d,\"stream\":7,\"correlation\":%d}}",
            i % 13, 1000 + 20 * i, i % 1000, i % 17, i % 2, i);
        if (i == 3000) {
            p += sprint(p, ",{\"ph\":\"X\",\"x\":\"");
            memset(p, 'y', LONG);
            p += LONG;
            p += sprint(p, "\"}");
            for (int k = 0; k < TINY_EVENTS / 2; k++)
                p += sprint(p, ",{}");
        }
    }
    for (int i = 0; i < TINY_EVENTS / 2; i++)
        p += sprint(p, ",{}");
    p += sprint(p, ",{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":900000}],\"distributedInfo\":{\"rank\":3}}");
    *len = (size_t)(p - text);
    return text;
}

/* Read in one thread and in two: the same numbers, the same failures. */
static void test_apart(void **state)
{
    (void)state;
    size_t n;
    char *text = large_trace(&n);
    const size_t ends[] = {n, n - 1, n - 30000, 300000, 280000, 262144};
    for (size_t k = 0; k <= sizeof ends / sizeof *ends; k++) {
        size_t end = k < sizeof ends / sizeof *ends ? ends[k] : n;
        if (k == sizeof ends / sizeof *ends)
            memcpy(strstr(text + n - 40000, ",{},{}"), ",{a:1}", 6);
        kineto_way(KINETO_ALONE);
        int rc = import_bytes(text, end);
        int64_t work = kineto_work();
        struct dcr_err why = err;
        struct run *alone = run;
        run = NULL;
        kineto_way(KINETO_APART);
        assert_int_equal(import_bytes(text, end), rc);
        assert_int_equal(rc, k == 0 ? 0 : DCR_FAIL);
        assert_string_equal(err.text, why.text);
        assert_int_equal(run->n_traces, alone->n_traces);
        assert_in_range(work, end, 3 * n); /* no byte is moved or indexed for each batch of events */
        assert_in_range(kineto_work(), end, 3 * n);
        if (rc == 0) {
            const struct foreign_trace *x = &alone->traces[0], *y = &run->traces[0];
            assert_int_equal(x->n_events, 6003 + TINY_EVENTS);
            assert_int_equal(y->n_events, 6003 + TINY_EVENTS);
            assert_int_equal(y->rank, 3);
            assert_int_equal(x->n_devices, 2);
            assert_int_equal(y->n_devices, 2);
            for (int i = 0; i < 2; i++)
                assert_memory_equal(x->devices[i].value, y->devices[i].value, sizeof x->devices[i].value);
            assert_int_equal(y->operators.n, 1);
            assert_string_equal(y->operators.list[0].name, "aA");
            assert_int_equal(y->operators.list[0].total_ns, 899995000);
        }
        run_free(alone);
    }
    kineto_way(KINETO_AS_CORES);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_index),
        cmocka_unit_test_teardown(test_apart, forget),
        cmocka_unit_test(test_decimal),
        cmocka_unit_test_teardown(test_schemas, forget),
        cmocka_unit_test_teardown(test_array_and_bom, forget),
        cmocka_unit_test_teardown(test_oddities, forget),
        cmocka_unit_test_teardown(test_escaped_names, forget),
        cmocka_unit_test_teardown(test_late_events, forget),
        cmocka_unit_test_teardown(test_far_apart, forget),
        cmocka_unit_test_teardown(test_nothing_on_a_gpu, forget),
        cmocka_unit_test_teardown(test_cut, forget),
        cmocka_unit_test_teardown(test_list_without_end, forget),
        cmocka_unit_test_teardown(test_more_behind, forget),
        cmocka_unit_test_teardown(test_cut_at_window, forget),
        cmocka_unit_test_teardown(test_broken, forget),
        cmocka_unit_test_teardown(test_window, forget),
        cmocka_unit_test_teardown(test_accumulated_gradients, forget),
        cmocka_unit_test_teardown(test_host_operators, forget),
        cmocka_unit_test_teardown(test_pairs, forget),
        cmocka_unit_test_teardown(test_unpaired, forget),
        cmocka_unit_test_teardown(test_other_devices, forget),
        cmocka_unit_test_teardown(test_memory_timeline, forget),
        cmocka_unit_test_teardown(test_gzip, forget),
        cmocka_unit_test_teardown(test_large_gzip, forget),
        cmocka_unit_test(test_unescape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
