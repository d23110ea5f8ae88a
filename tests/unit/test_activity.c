/* test_activity.c - turns operations of a device into exact sums: unions, differences, idle causes; and the sorter
 * below. */
#include "render/metrics/device_shares.h"
#include "render/device/activity.h"
#include "render/device/collectives.h"
#include "render/device/spill.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct device_op op(enum op_kind kind, const char *name, int64_t start, int64_t dur, int64_t correlation)
{
    return (struct device_op){.device = 0,
                              .start_ns = start,
                              .dur_ns = dur,
                              .kind = kind,
                              .name = name,
                              .name_len = strlen(name),
                              .correlation = correlation,
                              .blocks_per_sm = -1,
                              .occupancy_ratio = -1};
}

static struct reduced steps; /* of the last one */

static struct run_device *finish(struct activity *a, struct dcr_arena *arena, int want)
{
    struct run_device *d = NULL;
    struct dcr_err err = {0};
    int n = -1;
    assert_int_equal(activity_finish(a, arena, &d, &n, &steps, &err), 0);
    assert_int_equal(n, want);
    activity_free(a);
    return d;
}

/* Compute [0,100) and [150,250), comm [50,170), copy [90,130), [240,300), memset [400,410); given in no order.
 * Span [0,410); busy [0,300) + [400,410). */
static void add_example(struct activity *a)
{
    struct device_op ops[] = {
        op(OP_MEMSET, "Memset", 400, 10, 6), op(OP_COMPUTE, "gemm", 150, 100, 2),
        op(OP_MEMCPY, "HtoD", 240, 60, 5),   op(OP_COMPUTE, "ncclDevKernel_AllReduce", 50, 120, 3),
        op(OP_COMPUTE, "relu", 0, 100, 1),   op(OP_MEMCPY, "DtoH", 90, 40, 4)};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        assert_int_equal(activity_op(a, &ops[i]), 0);
}

static void check_example(const struct run_device *d)
{
    const int64_t *v = d->value;
    assert_int_equal(v[DEV_KERNELS], 3);
    assert_int_equal(v[DEV_COMM_KERNELS], 1);
    assert_int_equal(v[DEV_MEMCPYS], 2);
    assert_int_equal(v[DEV_MEMSETS], 1);
    assert_int_equal(v[DEV_SPAN], 410);
    assert_int_equal(v[DEV_BUSY], 310);
    assert_int_equal(v[DEV_IDLE], 100);
    assert_int_equal(v[DEV_COMPUTE], 200);
    assert_int_equal(v[DEV_COMM], 120);
    assert_int_equal(v[DEV_MEMCPY], 100);
    assert_int_equal(v[DEV_MEMSET], 10);
    assert_int_equal(v[DEV_OVERLAP], 50 + 20);
    assert_int_equal(v[DEV_EXPOSED_COMM], 50);
    assert_int_equal(v[DEV_EXPOSED_MEM], 50 + 10);
    assert_int_equal(v[DEV_SMALL_KERNELS], 3);
    assert_int_equal(v[DEV_KERNEL_SUM], 320);
    assert_true(fabs(device_overlap_ratio(d) - 70.0 / 120) < 1e-12);
    assert_int_equal(device_non_compute_ns(d), 50 + 50 + 10);
}

/* Without communication nothing could be hidden, which differs from 0 hidden. */
static void test_no_overlap(void **state)
{
    (void)state;
    struct run_device d = {.value = {[DEV_BUSY] = 100, [DEV_COMPUTE] = 100}};
    assert_true(device_overlap_ratio(&d) < 0);
    assert_int_equal(device_non_compute_ns(&d), 0);
}

static void test_unions(void **state)
{
    (void)state;
    struct dcr_arena arena = {0};
    struct activity *a = activity_new(0);
    add_example(a);
    struct run_device *d = finish(a, &arena, 1);
    check_example(d);
    assert_false(d->has_idle_causes); /* no calls of the runtime */
    assert_true(d->idle_why.code != REASON_NONE);
    assert_int_equal(d->n_names, 6);
    assert_string_equal(d->names[0].name, "ncclDevKernel_AllReduce");
    dcr_arena_release(&arena);
}

/* The time in which all threads together waited has a bound, however little of the time it covers. */
static void test_many_waits(void **state)
{
    (void)state;
    enum { THREADS = 64, CALLS = 20000 };
    struct dcr_arena arena = {0};
    struct activity *a = activity_new(0);
    struct device_op o = op(OP_COMPUTE, "k", 10 * CALLS, 10, 1);
    assert_int_equal(activity_op(a, &o), 0);
    activity_call(a, CALL_LAUNCH, 1, 0, 1);
    for (int i = 0; i < CALLS; i++)
        for (int t = 0; t < THREADS; t++)
            activity_call_of(a, 1, t, CALL_SYNC, -1, 10 * i, 5);
    struct run_device *d = finish(a, &arena, 1);
    assert_false(d->has_idle_causes);
    assert_int_equal(d->idle_why.code, REASON_TOO_MANY_HOST_RANGES);
    dcr_arena_release(&arena);
}

/* The same numbers through the temporary file. The bound is below one record, so that about every thousand records make
 * a run. */
static void test_spilled(void **state)
{
    (void)state;
    enum { N = 20000 };
    struct dcr_arena arena = {0};
    struct activity *a = activity_new(1);
    for (int i = 0; i < N; i++) { /* back to front, 7 of each 10 ns busy, every second one overlapped by another */
        struct device_op o = op(OP_COMPUTE, "k", (int64_t)(N - i) * 10, 7, i);
        assert_int_equal(activity_op(a, &o), 0);
        if (i % 2 == 0) {
            o = op(OP_MEMCPY, "c", (int64_t)(N - i) * 10 + 5, 4, i);
            assert_int_equal(activity_op(a, &o), 0);
        }
        activity_call(a, CALL_LAUNCH, i, (int64_t)(N - i) * 10 - 1, 1);
    }
    struct run_device *d = finish(a, &arena, 1);
    assert_int_equal(d->value[DEV_KERNELS], N);
    assert_int_equal(d->value[DEV_COMPUTE], (int64_t)N * 7);
    assert_int_equal(d->value[DEV_MEMCPY], (int64_t)N / 2 * 4);
    assert_int_equal(d->value[DEV_EXPOSED_MEM], (int64_t)N / 2 * 2);
    assert_int_equal(d->value[DEV_SPAN], (int64_t)N * 10 - 10 + 9);
    assert_int_equal(d->n_launched, N + N / 2);
    assert_int_equal(d->idle_ns[IDLE_HOST], (int64_t)N / 2 * 3); /* launched 1 ns before: within gaps of 3, not of 1 */
    assert_int_equal(d->idle_ns[IDLE_LAUNCH], (int64_t)N / 2 - 1);
    dcr_arena_release(&arena);
}

/* Gaps: [10,20) with a data range over [12,15), launched at 14: 3 data, 7 host. [30,40) launched at 25 while the host
 * sat in a synchronise: sync. [50,60) launched before, next is a collective: peer. [70,80) launched before: launch gap.
 * [90,20090) launched before: other. [20100, 20110): the launch is not in the trace, short: launch gap. */
static void test_idle_causes(void **state)
{
    (void)state;
    struct dcr_arena arena = {0};
    struct activity *a = activity_new(0);
    static const struct {
        int64_t start, dur, launch;
        const char *name;
    } ops[] = {{0, 10, -5, "a"},  {20, 10, 14, "b"},         {40, 10, 25, "c"},          {60, 10, 45, "ncclKernel"},
               {80, 10, 65, "e"}, {20090, 10, 85, "longer"}, {20110, 10, INT64_MIN, "g"}};
    for (int i = 0; i < 7; i++) {
        struct device_op o = op(OP_COMPUTE, ops[i].name, ops[i].start, ops[i].dur, i);
        assert_int_equal(activity_op(a, &o), 0);
        if (ops[i].launch != INT64_MIN)
            activity_call(a, CALL_LAUNCH, i, ops[i].launch, 1);
    }
    activity_call(a, CALL_SYNC, -1, 30, 5);
    activity_range(a, HOST_DATA, 12, 3);
    struct run_device *d = finish(a, &arena, 1);
    /* Six launches, each begun before the next was launched. */
    assert_int_equal(d->queue.n, 12);
    assert_int_equal(d->queue.max, 1);
    assert_int_equal(d->queue.sum, 6);
    assert_int_equal(d->queue.median, 0);
    assert_int_equal(d->queue.p75, 1);
    assert_true(d->has_idle_causes);
    assert_int_equal(d->idle_ns[IDLE_DATA], 3);
    assert_int_equal(d->idle_ns[IDLE_HOST], 7);
    assert_int_equal(d->idle_ns[IDLE_SYNC], 10);
    assert_int_equal(d->idle_ns[IDLE_PEER], 10);
    assert_int_equal(d->idle_ns[IDLE_LAUNCH], 10 + 10);
    assert_int_equal(d->idle_ns[IDLE_OTHER], 20000);
    assert_int_equal(d->idle_ns[IDLE_IO], 0);
    assert_int_equal(d->value[DEV_IDLE], 20050);
    assert_int_equal(d->n_launched, 6);
    dcr_arena_release(&arena);
}

/* Two kernels of 0.5 and 0.75 blocks per SM: [0,100) and [50,150), span 200 by a copy at the end.
 * 50 x 0.5 + 50 x 1 + 50 x 0.75 = 112.5 of 200. Occupancy (0.2 x 100 + 0.6 x 100) / 200.
 * With steps [-200, 75) and [75, 120): 50 x 0.5 + 50 x 1 + 20 x 0.75 = 90 of 320. */
static void check_estimates(int has_steps)
{
    struct dcr_arena arena = {0};
    struct activity *a = activity_new(0);
    if (has_steps) {
        activity_step(a, 1, -200, 275);
        activity_step(a, 2, 75, 45);
    }
    struct device_op o = op(OP_COMPUTE, "volta_h884gemm", 0, 100, -1);
    o.blocks_per_sm = 0.5;
    o.occupancy_ratio = 0.2;
    assert_int_equal(activity_op(a, &o), 0);
    o = op(OP_COMPUTE, "sgemm", 50, 100, -1);
    o.blocks_per_sm = 0.75;
    o.occupancy_ratio = 0.6;
    assert_int_equal(activity_op(a, &o), 0);
    o = op(OP_MEMCPY, "c", 190, 10, -1);
    assert_int_equal(activity_op(a, &o), 0);
    struct run_device *d = finish(a, &arena, 1);
    assert_true(d->has_sm && d->has_occupancy);
    double sm = has_steps ? 90 / 320.0 : 0.5625;
    assert_true(d->sm_ratio > sm - 1e-6 && d->sm_ratio < sm + 1e-6);
    assert_true(d->occupancy_ratio > 0.399999 && d->occupancy_ratio < 0.400001);
    assert_int_equal(d->tensor_ns, 100);
    assert_int_equal(d->eligible_ns, 200);
    dcr_arena_release(&arena);
}

/* Which kernels run on tensor cores, and which could, from the names that libraries give them. */
static void test_tensor_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int is_tensor, is_eligible;
    } cases[] = {
        {"nvjet_tst_192x192_64x4_2x1_v_bz_coopB_bias_TNN", 1, 1},
        {"void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<(int)128, cutlass::bfloat16_t>, (bool)0>", 1, 1},
        {"sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize64x128x32_g1_tensor16x8x8", 1, 1},
        {"igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt128x128x32_wt32x32x8", 1, 1},
        {"volta_sgemm_128x64_nn", 0, 1},
        {"void flash::flash_bwd_convert_dq_kernel<Flash_bwd_kernel_traits<64, cutlass::half_t>>(int)", 0, 0},
        {"void flash::flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits<64>, 8>(int)", 0, 0},
        {"void cudnn::cnn::wgrad_alg0_engine<float, 128, 6, 7, 3, 3, 5, false, 512>(int)", 0, 1},
        {"void fbgemm_gpu::permute_2D_data_kernel<false, int>(int)", 0, 0},
        {"std::enable_if<true && vllm::_typeConvert<c10::BFloat16>::exists, void>::type vllm::norm(int)", 0, 0},
        {"void moe::finalizeKernelVecLoad<moe::KernelParams<cutlass::bfloat16_t>>(int)", 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dcr_arena arena = {0};
        struct activity *a = activity_new(0);
        struct device_op o = op(OP_COMPUTE, cases[i].name, 0, 100, -1);
        assert_int_equal(activity_op(a, &o), 0);
        struct run_device *d = finish(a, &arena, 1);
        assert_int_equal(d->tensor_ns, 100 * cases[i].is_tensor);
        assert_int_equal(d->eligible_ns, 100 * cases[i].is_eligible);
        dcr_arena_release(&arena);
    }
}

/* Three steps of five launches, then a step of three, in which the recording ended. */
static void test_cut_step(void **state)
{
    (void)state;
    struct dcr_arena arena = {0};
    struct activity *a = activity_new(0);
    for (int i = 0; i < 4; i++) {
        activity_step(a, i, 100 * i, 100);
        for (int k = 0; k < (i < 3 ? 5 : 3); k++) {
            struct device_op o = op(OP_COMPUTE, "k", 100 * i + 10 * k + 5, 5, 10 * i + k);
            assert_int_equal(activity_op(a, &o), 0);
            activity_call(a, CALL_LAUNCH, 10 * i + k, 100 * i + 10 * k, 1);
        }
    }
    struct run_device *d = finish(a, &arena, 1);
    assert_int_equal(d->n_steps, 3);
    assert_int_equal(d->steps_ns, 300);
    assert_int_equal(d->is_last_step_cut, 1);
    assert_int_equal(d->value[DEV_KERNELS], 18);
    dcr_arena_release(&arena);
}

/* Steps of 100 ns, each with launches according to its letter: 'm' 5, 'M' 10 and, when marked, a run of the optimiser
 * at the end. The result: the remaining steps, and the accumulation. */
static struct accumulation accumulate(const char *kinds, int is_marked, int n_loads, int want_steps)
{
    struct dcr_arena arena = {0};
    struct activity *a = activity_new(0);
    int n = 0;
    for (int i = 0; kinds[i]; i++) {
        int launches = kinds[i] == 'M' ? 10 : kinds[i] == 'm' ? 5 : 2;
        activity_step(a, i, 100 * i, 100);
        for (int k = 0; k < n_loads; k++)
            activity_mark(a, MARK_LOADED, "load", 4, 100 * i + 3 * k, 0);
        for (int k = 0; k < n_loads; k++) { /* two parts of the model, one inside the other */
            activity_mark(a, MARK_FORWARD_PASS, "forward", 7, 100 * i + 3 * k + 1, 0);
            activity_mark(a, MARK_FORWARD_PASS, "DDP", 3, 100 * i + 3 * k + 1, 0);
            activity_mark(a, MARK_FORWARD_PASS, "DDP", 3, 100 * i + 3 * k + 2, 0);
        }
        for (int k = 0; k < launches; k++, n++) {
            struct device_op o = op(OP_COMPUTE, "k", 100 * i + 9 * k + 5, 5, n);
            assert_int_equal(activity_op(a, &o), 0);
            activity_call(a, CALL_LAUNCH, n, 100 * i + 9 * k, 1);
        }
        if (kinds[i] == 'M' && is_marked) {
            activity_mark(a, MARK_OPTIMIZER_RUN, "SGD", 3, 100 * i + 95, 0);
            activity_mark(a, MARK_OPTIMIZER_RUN, "SGD", 3, 100 * i + 95, 0); /* the same range on another track */
            activity_mark(a, MARK_OPTIMIZER_RUN, "EMA", 3, 100 * i + 97, 0); /* another optimiser */
        }
    }
    struct run_device *d = NULL;
    struct dcr_err err = {0};
    struct accumulation out;
    assert_int_equal(activity_finish(a, &arena, &d, &n, &steps, &err), 0);
    assert_int_equal(d->n_steps, want_steps);
    activity_accumulation(a, &out);
    activity_free(a);
    dcr_arena_release(&arena);
    return out;
}

static void test_micro_batches(void **state)
{
    (void)state;
    /* A step is a micro-batch, and the optimiser runs in every third. The last one has half the size but is whole. */
    struct accumulation x = accumulate("mmMmmMm", 1, 1, 7);
    assert_int_equal(x.micro_batches, 3);
    assert_int_equal(x.steps_between, 3);
    assert_string_equal(x.by, "batches loaded");
    assert_int_equal(accumulate("mMm", 1, 1, 3).micro_batches, 0); /* one run of the optimiser gives no distance */
    assert_int_equal(accumulate("MmMm", 1, 1, 4).micro_batches, 2);
    assert_int_equal(accumulate("MmmMM", 1, 1, 5).micro_batches, 0);   /* no pattern */
    assert_int_equal(accumulate("mmmmMmM", 1, 1, 7).micro_batches, 0); /* four before the first contradict two apart */
    assert_int_equal(accumulate("mmMmmMs", 1, 1, 6).micro_batches, 3); /* smaller than a micro-batch: cut */
    /* Without marks, sizes that occur repeatedly are whole, and nothing is known about the optimiser. */
    x = accumulate("mmMmmMm", 0, 0, 7);
    assert_int_equal(x.micro_batches, 0);
    assert_int_equal(x.why.code, REASON_BATCHES_NO_OPTIMISER);
    accumulate("MMMm", 0, 0, 3);
    accumulate("mMMm", 0, 0, 3); /* one such step may be the cut beginning of the recording */
    /* A step holds four micro-batches; or one. */
    x = accumulate("MMM", 1, 4, 3);
    assert_int_equal(x.micro_batches, 4);
    assert_int_equal(x.steps_between, 0);
    assert_int_equal(accumulate("MMM", 1, 1, 3).micro_batches, 1);
    assert_int_equal(accumulate("MMM", 1, 0, 3).micro_batches, 0);
}

static void test_mark_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int mark;
    } names[] = {{"Optimizer.step#SGD.step", MARK_OPTIMIZER_RUN},
                 {"Optimizer.zero_grad#SGD.zero_grad", -1},
                 {"optimizer", MARK_OPTIMIZER_RUN},
                 {"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", MARK_LOADED},
                 {"DistributedDataParallel.forward", MARK_FORWARD_PASS},
                 {"Backward", MARK_BACKWARD_PASS},
                 {"backward_hook", -1},
                 {"aten::mm", -1},
                 {"", -1}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(step_mark_of(names[i].name, strlen(names[i].name)), names[i].mark);
}

/* No GPU: ranges of the host, and the time that none of them covers. */
static void test_host_alone(void **state)
{
    (void)state;
    struct dcr_arena arena = {0};
    struct activity *a = activity_new(0);
    activity_step(a, 4, 100, 100);
    activity_step(a, 5, 200, 50);
    activity_range(a, HOST_DATA, 190, 20);
    activity_range(a, HOST_IO, 240, 100);
    (void)finish(a, &arena, 0);
    assert_int_equal(steps.n_steps, 2);
    assert_int_equal(steps.steps[0].part_ns[CAT_DATA], 10);
    assert_int_equal(steps.steps[0].part_ns[CAT_OTHER], 90);
    assert_int_equal(steps.steps[1].part_ns[CAT_DATA], 10);
    assert_int_equal(steps.steps[1].part_ns[CAT_IO], 10);
    assert_int_equal(steps.steps[1].part_ns[CAT_OTHER], 30);
    dcr_arena_release(&arena);
}

static void test_estimates(void **state)
{
    (void)state;
    check_estimates(0);
    check_estimates(1);
}

/* Zero, negative and far too long durations; several devices. */
static void test_odd_operations(void **state)
{
    (void)state;
    struct dcr_arena arena = {0};
    struct activity *a = activity_new(0);
    struct device_op o = op(OP_COMPUTE, "zero", 100, 0, -1);
    assert_int_equal(activity_op(a, &o), 0);
    o = op(OP_COMPUTE, "negative", 100, -40, -1);
    assert_int_equal(activity_op(a, &o), 0);
    o = op(OP_COMPUTE, "kernel", 110, 10, -1);
    assert_int_equal(activity_op(a, &o), 0);
    o = op(OP_COMPUTE, "beyond", INT64_MAX - 5, 10, -1);
    assert_int_equal(activity_op(a, &o), -1);
    o = op(OP_COMPUTE, "RCCL_kernel", 5, 10, -1);
    o.device = -3;
    assert_int_equal(activity_op(a, &o), 0);
    struct run_device *d = finish(a, &arena, 2);
    assert_int_equal(d[0].device, -3);
    assert_int_equal(d[0].value[DEV_COMM_KERNELS], 1);
    assert_int_equal(d[1].value[DEV_KERNELS], 3);
    assert_int_equal(d[1].value[DEV_SPAN], 20);
    assert_int_equal(d[1].value[DEV_BUSY], 10);
    assert_int_equal(d[1].value[DEV_KERNEL_SUM], -30);
    dcr_arena_release(&arena);
}

/* A device whose operations all end before they begin covers no time, not a negative one. */
static void test_nothing_but_negative(void **state)
{
    (void)state;
    struct dcr_arena arena = {0};
    struct activity *a = activity_new(0);
    struct device_op o = op(OP_MEMCPY, "HtoD", 100, -9, -1);
    assert_int_equal(activity_op(a, &o), 0);
    struct run_device *d = finish(a, &arena, 1);
    assert_int_equal(d->value[DEV_SPAN], 0);
    assert_int_equal(d->value[DEV_IDLE], 0);
    dcr_arena_release(&arena);
}

/* Two operations that begin at the same time end a gap: their order in the file does not matter. Neither does the order
 * of two devices with equally many operations, one of which has the steps. */
static void test_order_in_the_file(void **state)
{
    (void)state;
    for (int turned = 0; turned <= 1; turned++) {
        struct dcr_arena arena = {0};
        struct activity *a = activity_new(0);
        struct device_op ops[] = {op(OP_COMPUTE, "gemm", 0, 10, -1), op(OP_COMPUTE, "relu", 40, 10, -1),
                                  op(OP_COMPUTE, "ncclDevKernel_AllReduce", 40, 20, -1),
                                  op(OP_COMPUTE, "launched", 70, 10, 1)};
        struct device_op others[4];
        memcpy(others, ops, sizeof others);
        for (int i = 0; i < 4; i++)
            others[i].device = 1;
        for (int i = 0; i < 4; i++) {
            assert_int_equal(activity_op(a, turned ? &others[3 - i] : &ops[i]), 0);
            assert_int_equal(activity_op(a, turned ? &ops[3 - i] : &others[i]), 0);
        }
        activity_call(a, CALL_LAUNCH, 1, 60, 1);
        activity_step(a, 0, 0, 100);
        struct run_device *d = finish(a, &arena, 2);
        assert_int_equal(d[0].idle_ns[IDLE_LAUNCH], 40);
        assert_int_equal(d[0].idle_ns[IDLE_PEER], 0);
        assert_int_equal(d[0].n_steps, 1);
        assert_int_equal(d[1].n_steps, 0);
        dcr_arena_release(&arena);
    }
}

static void test_nothing(void **state)
{
    (void)state;
    struct dcr_arena arena = {0};
    finish(activity_new(0), &arena, 0);
    dcr_arena_release(&arena);
}

/* Steps [0,100) and [100,200) on the host. A kernel launched at 90 runs over [95,120): the first step lasts to 120 and
 * the second begins there. Data range [130,150), a kernel in [140,160): 10 of data. A collective in [155,170) beside
 * it: 10 exposed, 5 hidden. The first step comes again on another track. */
static void test_steps(void **state)
{
    (void)state;
    struct dcr_arena arena = {0};
    struct activity *a = activity_new(0);
    struct device_op o = op(OP_COMPUTE, "a", 95, 25, 1);
    assert_int_equal(activity_op(a, &o), 0);
    o = op(OP_COMPUTE, "b", 140, 20, 2);
    assert_int_equal(activity_op(a, &o), 0);
    o = op(OP_COMPUTE, "ncclKernel", 155, 15, -1);
    assert_int_equal(activity_op(a, &o), 0);
    activity_call(a, CALL_LAUNCH, 1, 90, 1);
    activity_range(a, HOST_DATA, 130, 20);
    o = op(OP_MEMCPY, "Memcpy DtoH (Device -> Pageable)", 172, 1, 3);
    assert_int_equal(activity_op(a, &o), 0);
    activity_call(a, CALL_LAUNCH, 3, 171, 1);
    activity_call(a, CALL_SYNC, -1, 173, 2);
    activity_call(a, CALL_SYNC, -1, 250, 2); /* after the steps */
    activity_call(a, CALL_MALLOC, -1, 5, 2);
    activity_call(a, CALL_OTHER, -1, 115, 10); /* over the border of the steps: 5 in each */
    activity_call(a, CALL_OTHER, -1, 117, 2);  /* on another thread meanwhile */
    activity_memory(a, 0, 10, 100, 400);
    activity_memory(a, 0, 190, 200, 500); /* not in order */
    activity_memory(a, 0, 110, 300, 500);
    activity_step(a, 8, 100, 100);
    activity_step(a, 7, 0, 100);
    activity_step(a, 7, 1, 98);
    struct run_device *d = finish(a, &arena, 1);
    assert_int_equal(steps.n_steps, 2);
    const struct step_record *s = steps.steps;
    assert_int_equal(s[0].step, 7);
    assert_int_equal(s[0].step_ns, 120);
    assert_int_equal(s[0].part_ns[CAT_COMPUTE], 25);
    assert_int_equal(s[0].part_ns[CAT_OTHER], 95);
    assert_int_equal(s[1].start_ns, 120);
    assert_int_equal(s[1].step_ns, 80);
    assert_int_equal(s[1].part_ns[CAT_COMPUTE], 20);
    assert_int_equal(s[1].part_ns[CAT_COMM], 10);
    assert_int_equal(s[1].hidden_comm_ns, 5);
    assert_int_equal(s[1].part_ns[CAT_DATA], 10);
    assert_int_equal(s[1].part_ns[CAT_COPY], 1);
    assert_int_equal(s[1].part_ns[CAT_OTHER], 39);
    assert_int_equal(s[0].runtime_ns, 2 + 1 + 5); /* [5,7) [90,91) [115,120) */
    assert_int_equal(s[1].runtime_ns, 5 + 1 + 2); /* [120,125) [171,172) [173,175) */
    assert_int_equal(steps.n_gpus, 1);
    assert_true(steps.has_runtime);
    assert_int_equal(s[1].n_collectives, 1);
    assert_int_equal(steps.collectives[0].dur_ns, 15);
    assert_int_equal(d->steps_ns, 200);
    assert_int_equal(d->steps_kernel_ns, 25 + 30);
    assert_int_equal(d->steps_busy_ns, 25 + 30 + 1);
    /* [0,95) before a, launched at 90; [120,140) queued, 10 of it data; [170,172) launched inside; [173,200) sync */
    assert_int_equal(d->steps_idle_ns[IDLE_HOST], 95 + 2);
    assert_int_equal(d->steps_idle_ns[IDLE_DATA], 10);
    assert_int_equal(d->steps_idle_ns[IDLE_LAUNCH], 10);
    assert_int_equal(d->steps_idle_ns[IDLE_SYNC], 27);
    assert_int_equal(d->steps_lead_ns, 95);
    assert_int_equal(d->idle_ns[IDLE_HOST], 2); /* over the span, which begins with a */
    assert_int_equal(d->n_syncs, 1);
    assert_int_equal(d->n_mallocs, 1);
    assert_int_equal(d->n_frees, 0);
    assert_int_equal(d->n_to_host, 1);
    assert_int_equal(d->memory.n, 3);
    assert_int_equal(d->memory.peak_allocated, 300);
    assert_int_equal(d->memory.last_allocated - d->memory.first_allocated, 100);
    dcr_arena_release(&arena);
}

/* Steps that are left out are counted by reason; ranges that are not steps, and duplicates, are not counted. */
static void test_lost_steps(void **state)
{
    (void)state;
    struct dcr_arena arena = {0};
    struct activity *a = activity_new(0);
    struct run_device *d;
    int n;
    int64_t lost[N_STEP_LOSSES];
    struct device_op o = op(OP_COMPUTE, "a", 10, 380, 1);
    assert_int_equal(activity_op(a, &o), 0);
    activity_call(a, CALL_LAUNCH, 1, 5, 1);
    activity_step(a, 0, 0, 100);
    activity_step(a, 0, 1, 100); /* on another track */
    activity_step(a, 1, 99, 50); /* over the one before */
    activity_step(a, 2, 20, 30); /* inside another one */
    activity_step(a, 3, 200, -100);
    activity_step(a, 4, 200, 0);
    activity_step(a, 5, INT64_MAX - 5, 10);
    activity_step(a, 6, 200, INT64_MAX / 1048576 + 1);
    activity_step(a, 7, 300, 50); /* the GPU works for step 0 until 390 */
    activity_step(a, 8, 380, 50);
    activity_named_step(a, STEP_NAME_STEP, 9, 400, -1); /* beside ranges with surer names it is not a step */
    assert_int_equal(activity_finish(a, &arena, &d, &n, &steps, NULL), 0);
    activity_lost_steps(a, lost);
    activity_free(a);
    assert_int_equal(steps.n_steps, 2);
    assert_int_equal(steps.steps[1].step, 8);
    assert_int_equal(lost[STEP_LOST_TIME], 4);
    assert_int_equal(lost[STEP_LOST_OVERLAP], 2);
    assert_int_equal(lost[STEP_LOST_COVERED], 1);
    assert_int_equal(lost[STEP_LOST_MANY], 0);
    dcr_arena_release(&arena);
}

/* One step [0,100). The device runs [10,30), [50,60), [61,70), [80,90). The host waits in [20,31) and launches at 45:
 * [30,50) is idle behind that call. What it waits for in [59,62) is followed by an operation that was launched before,
 * and the call in [75,76) lies in a gap that it did not begin. */
static void test_behind_sync(void **state)
{
    (void)state;
    static const int64_t ops[][3] = {{10, 20, 5}, {50, 10, 45}, {61, 9, 46}, {80, 10, 78}}; /* start, length, launch */
    struct dcr_arena arena = {0};
    struct activity *a = activity_new(0);
    for (int i = 0; i < 4; i++) {
        struct device_op o = op(OP_COMPUTE, "a", ops[i][0], ops[i][1], i + 1);
        assert_int_equal(activity_op(a, &o), 0);
        activity_call(a, CALL_LAUNCH, i + 1, ops[i][2], 1);
    }
    activity_call(a, CALL_SYNC, -1, 20, 11);
    activity_call(a, CALL_SYNC, -1, 59, 3);
    activity_call(a, CALL_SYNC, -1, 75, 1);
    activity_step(a, 0, 0, 100);
    struct run_device *d = finish(a, &arena, 1);
    assert_int_equal(d->n_syncs, 3);
    assert_int_equal(d->steps_behind_sync_ns, 20);
    dcr_arena_release(&arena);
}

/* The device runs [0,10), [30,40), [60,70) and nothing in between. The second is launched at 25, the third at 35. Both
 * were held back by a wait of another thread of the same process that ended then. Waits of another process, or of a
 * thread that still waits, do not count. [40,60) was launched before, and its host did not sit in a call: the thread
 * that launched it was free. */
static void test_whose_sync(void **state)
{
    (void)state;
    static const struct {
        int64_t process, thread, from, ns, behind_ns, sync_ns;
    } calls[] = {{1, 1, 5, 15, 20, 0},  {1, 2, 5, 15, 20, 0}, {1, 2, 5, 25, 0, 0}, {2, 9, 5, 15, 0, 0},
                 {1, 1, 45, 10, 0, 20}, {1, 2, 45, 10, 0, 0}, {2, 9, 45, 10, 0, 0}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct dcr_arena arena = {0};
        struct activity *a = activity_new(0);
        for (int k = 0; k < 3; k++) {
            struct device_op o = op(OP_COMPUTE, "a", 30 * k, 10, k + 1);
            assert_int_equal(activity_op(a, &o), 0);
            activity_call_of(a, 1, 1, CALL_LAUNCH, k + 1, k == 0 ? -5 : 15 + 10 * k, 1);
        }
        activity_call_of(a, calls[i].process, calls[i].thread, CALL_SYNC, -1, calls[i].from, calls[i].ns);
        activity_step(a, 0, 0, 100);
        struct run_device *d = finish(a, &arena, 1);
        assert_int_equal(d->n_syncs, 1);
        assert_int_equal(d->steps_behind_sync_ns, calls[i].behind_ns);
        assert_int_equal(d->idle_ns[IDLE_SYNC], calls[i].sync_ns);
        int64_t sum = 0;
        for (int c = 0; c < N_IDLE_CAUSES; c++)
            sum += d->idle_ns[c];
        assert_int_equal(sum, d->value[DEV_IDLE]);
        dcr_arena_release(&arena);
    }
}

/* 8 ranks gather 1000 bytes each: S is the whole output, 8000 bytes in 400 ns are 20 GB/s, on the bus 17.5. */
static void test_collectives(void **state)
{
    (void)state;
    struct dcr_arena arena = {0};
    struct activity *a = activity_new(0);
    struct device_op o = op(OP_COMPUTE, "ncclDevKernel_AllGather", 0, 500, -1);
    o.collective = "_allgather_base";
    o.in_bytes = 1000;
    o.out_bytes = 8000;
    o.group_size = 8;
    assert_int_equal(activity_op(a, &o), 0);
    o.start_ns = 1000;
    o.dur_ns = 400;
    assert_int_equal(activity_op(a, &o), 0);
    struct run_device *d = finish(a, &arena, 1);
    assert_int_equal(d->n_collectives, 1);
    const struct device_collective *c = d->collectives;
    assert_int_equal(c->bytes, 8000);
    assert_int_equal(c->n, 2);
    assert_int_equal(c->sum_ns, 900);
    assert_true(c->algbw_gb_s > 19.999 && c->algbw_gb_s < 20.001);
    assert_true(c->busbw_gb_s > 17.499 && c->busbw_gb_s < 17.501);
    assert_true(collective_bus_factor("allreduce", 16) > 1.874999 && collective_bus_factor("allreduce", 16) < 1.875001);
    assert_true(collective_bus_factor("reduce_scatter", 4) > 0.749999 &&
                collective_bus_factor("all_to_all", 4) < 0.750001);
    assert_true(collective_bus_factor("broadcast", 4) == 1 && collective_bus_factor("allreduce", 0) == 1);
    dcr_arena_release(&arena);
}

struct record {
    struct spill_key key;
    int64_t order;
};

/* Equal keys keep their order, in memory and through more runs than are merged at once. */
/* Steps [0,100), [100,200) ... with peaks 100, 130, 160, 190: 30 bytes more per step; before it 50 were held. */
static void test_memory(void **state)
{
    (void)state;
    struct dcr_arena arena = {0};
    struct activity *a = activity_new(0);
    struct device_op o = op(OP_COMPUTE, "a", 0, 400, 1);
    o.device = 3;
    assert_int_equal(activity_op(a, &o), 0);
    for (int i = 3; i >= 0; i--) {
        activity_step(a, i, 100 * i, 100);
        activity_memory_change(a, 3, 100 * i + 20, 50 + 30 * i);
        activity_memory_change(a, 3, 100 * i + 80, -50 - 30 * i);
    }
    activity_memory_change(a, 3, 500, -50);       /* before the first step */
    activity_memory_change(a, 3, 400, INT64_MAX); /* an impossible value */
    activity_memory(a, 3, 400, 1, 1);             /* this device has changes */
    struct run_device *d = finish(a, &arena, 1);
    const struct device_memory *m = &d->memory;
    assert_int_equal(m->n, 9);
    assert_true(m->is_driver);
    assert_int_equal(m->first_allocated, 50);
    assert_int_equal(m->last_allocated, 0);
    assert_int_equal(m->peak_allocated, 190);
    assert_int_equal(m->peak_reserved, -1);
    assert_int_equal(m->n_step_peaks, 4);
    assert_true(m->has_growth);
    assert_true(fabs(m->growth_bytes_per_step - 30) < 1e-9);
    assert_int_equal(m->n_points, 9);
    assert_int_equal(m->points[0].t_ns, 0);
    assert_int_equal(m->points[0].allocated, 100);
    assert_int_equal(m->points[6].allocated, 190);
    assert_int_equal(m->points[8].allocated, 0);
    dcr_arena_release(&arena);
}

static void check_operator(const struct host_operators *o, const char *name, int64_t n, int64_t total, int64_t self)
{
    for (int i = 0; i < o->n_names; i++)
        if (strcmp(o->list[i].name, name) == 0) {
            assert_int_equal(o->list[i].n, n);
            assert_int_equal(o->list[i].total_ns, total);
            assert_int_equal(o->list[i].self_ns, self);
            return;
        }
    fail_msg("no '%s'", name);
}

/* On thread 1: step [0,100) with linear [10,60), in it addmm [10,40) and addmm [45,55) with zero [45,45); on thread 2
 * step [0,50); crossing on thread 3: a [0,10), b [5,20). On thread 4 two records of one call, aten::detach_
 * [0,10) and detach_ [2,8), with empty [3,5) inside, and detach_ [20,24) alone. The k-th copy lies 1000 k later; given
 * from the end. */
static void add_operators(struct activity *a, int copies)
{
    static const struct {
        int thread, start, dur;
        const char *name;
    } x[] = {{3, 5, 15, "b"},      {3, 0, 10, "a"},       {1, 45, -7, "zero"},  {1, 45, 10, "addmm"},
             {1, 10, 30, "addmm"}, {1, 10, 50, "linear"}, {2, 0, 50, "step"},   {1, 0, 100, "step"},
             {4, 3, 2, "empty"},   {4, 20, 4, "detach_"}, {4, 2, 6, "detach_"}, {4, 0, 10, "aten::detach_"}};
    for (int k = copies; k-- > 0;)
        for (size_t i = 0; i < sizeof x / sizeof *x; i++)
            activity_operator(a, x[i].thread, OPERATOR_OP, x[i].name, strlen(x[i].name), 1000 * k + x[i].start,
                              x[i].dur);
}

static void test_operators(void **state)
{
    (void)state;
    for (int copies = 1; copies <= 10001; copies += 10000) { /* in memory, and through the temporary file */
        struct dcr_arena arena = {0};
        struct activity *a = activity_new(1 << 16);
        struct host_operators o;
        add_operators(a, copies);
        assert_int_equal(activity_operators(a, &arena, &o, NULL), 0);
        assert_int_equal(o.n, 11 * copies);
        assert_int_equal(o.n_names, 9);
        check_operator(&o, "step", 2 * copies, 150 * copies, 100 * copies);
        check_operator(&o, "linear", copies, 50 * copies, 10 * copies);
        check_operator(&o, "addmm", 2 * copies, 40 * copies, 40 * copies);
        check_operator(&o, "zero", copies, 0, 0);
        check_operator(&o, "a", copies, 10 * copies, 5 * copies);
        check_operator(&o, "b", copies, 15 * copies, 15 * copies);
        check_operator(&o, "aten::detach_", copies, 10 * copies, 8 * copies);
        check_operator(&o, "detach_", copies, 4 * copies, 4 * copies);
        check_operator(&o, "empty", copies, 2 * copies, 2 * copies);
        assert_string_equal(o.list[0].name, "step");
        activity_free(a);
        dcr_arena_release(&arena);
    }
    struct activity *none = activity_new(0);
    struct host_operators o = {.n = 5};
    assert_int_equal(activity_operators(none, NULL, &o, NULL), 0);
    assert_int_equal(o.n, 0);
    activity_free(none);
}

static void test_spill_order(void **state)
{
    (void)state;
    for (int n = 0; n < 200000; n = n ? n * 14 : 1) {
        struct spill *s = spill_new(sizeof(struct record), 1);
        struct dcr_err err = {0};
        uint64_t x = 1;
        for (int i = 0; i < n; i++) {
            x = x * 6364136223846793005u + 1442695040888963407u;
            spill_add(s, &(struct record){{(int64_t)(x >> 60), (int64_t)(x >> 40 & 15) - 8}, i});
        }
        assert_int_equal(spill_sort(s, &err), 0);
        assert_int_equal(spill_runs(s) > 64, n > 100000);
        struct record last = {{INT64_MIN, 0}, 0};
        const struct record *r;
        int k = 0;
        for (; (r = spill_next(s)) != NULL; k++) {
            if (k) {
                assert_true(last.key.a < r->key.a || (last.key.a == r->key.a && last.key.b <= r->key.b));
                assert_true(last.key.a != r->key.a || last.key.b != r->key.b || last.order < r->order);
            }
            last = *r;
        }
        assert_int_equal(k, n);
        assert_false(spill_failed(s));
        spill_free(s);
    }
}

static void test_spill_without_disk(void **state)
{
    (void)state;
    struct dcr_err err = {0};
    struct spill *s = spill_new(sizeof(struct record), 1);
    char *before = getenv("TMPDIR") ? strdup(getenv("TMPDIR")) : NULL;
    setenv("TMPDIR", "/dev/null/nothing", 1);
    for (int i = 0; i < 5000; i++)
        spill_add(s, &(struct record){{i, 0}, i});
    assert_int_equal(spill_sort(s, &err), DCR_FATAL);
    assert_non_null(strstr(err.text, "TMPDIR"));
    assert_null(spill_next(s));
    spill_free(s);
    if (before)
        setenv("TMPDIR", before, 1);
    else
        unsetenv("TMPDIR");
    free(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unions),
        cmocka_unit_test(test_no_overlap),
        cmocka_unit_test(test_many_waits),
        cmocka_unit_test(test_spilled),
        cmocka_unit_test(test_idle_causes),
        cmocka_unit_test(test_estimates),
        cmocka_unit_test(test_tensor_names),
        cmocka_unit_test(test_cut_step),
        cmocka_unit_test(test_host_alone),
        cmocka_unit_test(test_micro_batches),
        cmocka_unit_test(test_mark_names),
        cmocka_unit_test(test_odd_operations),
        cmocka_unit_test(test_nothing_but_negative),
        cmocka_unit_test(test_order_in_the_file),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_lost_steps),
        cmocka_unit_test(test_behind_sync),
        cmocka_unit_test(test_whose_sync),
        cmocka_unit_test(test_collectives),
        cmocka_unit_test(test_operators),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_spill_order),
        cmocka_unit_test(test_spill_without_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
