/* bench_kernels.cu - each kernel and product of a cell by itself, at the shape of METR-LA: time, and necessary bytes or
 * operations per second. A person reads the numbers; it is not a test. Data may fit into the second-level cache: as in
 * a step, a kernel finds some results of the previous one there, so GB/s may exceed the memory's rate.
 *   bench_kernels [SENSORS [BATCH [UNITS]]] */
#include "tests/gpu/gpu_test.cuh"

#include <algorithm>

struct gpu_test gpu_test;

enum { RUNS = 50, M = 5, K = 2 };

struct sizes {
    int n, samples, width;
    size_t rows;
};

static cudaEvent_t begin_event, end_event;

/* Median of RUNS, in microseconds. */
template <typename F> static double time_of(F f)
{
    std::vector<float> ms(RUNS);
    f();
    f();
    for (float &one : ms) {
        must_cuda(cudaEventRecord(begin_event, gpu_test.stream));
        f();
        must_cuda(cudaEventRecord(end_event, gpu_test.stream));
        must_cuda(cudaEventSynchronize(end_event));
        must_cuda(cudaEventElapsedTime(&one, begin_event, end_event));
    }
    std::sort(ms.begin(), ms.end());
    return 1e3 * (double)ms[RUNS / 2];
}

static void say_bytes(const char *name, double us, double bytes)
{
    std::printf("%-34s %9.1f us %9.1f MB %9.0f GB/s\n", name, us, bytes / 1e6, bytes / us / 1e3);
}

static void say_flop(const char *name, double us, double flop, double bytes)
{
    std::printf("%-34s %9.1f us %9.2f GFLOP %7.1f TFLOP/s, %.0f GB/s\n", name, us, flop / 1e9, flop / us / 1e6,
                bytes / us / 1e3);
}

/* Every sensor itself and seven others. */
static struct diffusion make_graph(int n, array<int> *start, array<edge> *edges)
{
    for (int i = 0; i <= n; i++)
        (*start)[(size_t)i] = 8 * i;
    for (int i = 0; i < 8 * n; i++)
        (*edges)[(size_t)i] = {(i / 8 + i % 8 * 17) % n, 0.125f};
    start->put();
    edges->put();
    struct diffusion d = {};
    d.n_sensors = n;
    d.n_supports = 2;
    d.k_hops = K;
    d.n_terms = M;
    d.is_published = 1;
    d.row_start[0] = d.row_start[1] = start->device;
    d.edges[0] = d.edges[1] = edges->device;
    return d;
}

template <typename Z>
static void bench_cell(const sizes &s, const struct limits &l, const struct diffusion &d, const char *type)
{
    const size_t u = s.rows * (size_t)s.width;
    const bool is_bf16 = sizeof(Z) == 2;
    array<float> pre(3 * u), pre_h(2 * u), bias((size_t)(3 * s.width)), h(u), act(3 * u), dh(u), dz(M * u), h_new(u);
    array<Z> z(M * u), g(3 * u);
    array<float> *const all[] = {&pre, &pre_h, &bias, &h, &act, &dh, &dz};
    for (array<float> *a : all)
        a->fill_random();
    const struct tiling t = tiling_choose(&l, s.n, s.samples, s.width, is_bf16);
    std::printf("%s: %d columns and %d threads a block, %zu bytes of shared memory\n", type, t.columns, t.threads,
                t.shared_bytes);
    const double f = 4.0 * (double)u, zb = (double)sizeof(Z) * (double)u; /* bytes of a state, of a term */
    struct gates_args ga = {};
    ga.d = d;
    ga.width = s.width;
    ga.pre = pre.device;
    ga.pre_h = pre_h.device;
    ga.bias = bias.device;
    ga.h = h.device;
    ga.ld_h = (size_t)s.width;
    ga.act = act.device;
    ga.z = z.device;
    say_bytes("dcrnn_gates", time_of([&]() { must(launch_gates(&ga, &t, gpu_test.stream, &gpu_test.err)); }),
              7 * f + M * zb);
    struct state_args sa = {};
    sa.d = d;
    sa.width = s.width;
    sa.pre = pre.device;
    sa.bias = bias.device;
    sa.h = h.device;
    sa.ld_h = (size_t)s.width;
    sa.act = act.device;
    sa.h_new = is_bf16 ? h_new.device : nullptr;
    sa.z = z.device;
    sa.wants_terms = 1;
    say_bytes("dcrnn_state", time_of([&]() { must(launch_state(&sa, &t, gpu_test.stream, &gpu_test.err)); }),
              (is_bf16 ? 5 : 4) * f + M * zb);
    struct gates_back_args gb = {};
    gb.d = d;
    gb.width = s.width;
    gb.dz = dz.device;
    gb.h = h.device;
    gb.ld_h = (size_t)s.width;
    gb.act = act.device;
    gb.dh = dh.device;
    gb.g = g.device;
    say_bytes("dcrnn_gates_back", time_of([&]() { must(launch_gates_back(&gb, &t, gpu_test.stream, &gpu_test.err)); }),
              (M + 6) * f + 2 * zb);
    struct state_back_args sb = {};
    sb.d = d;
    sb.width = s.width;
    sb.dz = dz.device;
    sb.base = sb.dh = dh.device;
    sb.act = act.device;
    sb.g = g.device;
    say_bytes("dcrnn_state_back", time_of([&]() { must(launch_state_back(&sb, &t, gpu_test.stream, &gpu_test.err)); }),
              (M + 4) * f + zb);
}

static void bench_products(const sizes &s, enum gpu_precision precision, const char *type)
{
    struct products p = {};
    array<char> workspace((size_t)32 << 20);
    must(products_open(&p, precision, gpu_test.stream, workspace.device, workspace.host.size(), &gpu_test.err));
    const int depth = M * s.width, n_steps = 12;
    const size_t rows = s.rows, all = rows * n_steps, each = precision == GPU_BF16 ? 2 : 4;
    array<char> z(all * (size_t)depth * each), g(all * 3 * (size_t)s.width * each),
        w((size_t)depth * 3 * (size_t)s.width * each);
    array<float> out(all * (size_t)depth);
    must_cuda(cudaMemsetAsync(z.device, 0, z.host.size(), gpu_test.stream));
    must_cuda(cudaMemsetAsync(g.device, 0, g.host.size(), gpu_test.stream));
    must_cuda(cudaMemsetAsync(w.device, 0, w.host.size(), gpu_test.stream));
    auto forward = [&](const char *name, size_t r, int n) {
        double us = time_of([&]() {
            must(product_forward(&p, r, n, depth, z.device, depth, w.device, n, out.device, n, 0, &gpu_test.err));
        });
        say_flop(name, us, 2.0 * (double)r * n * depth, (double)r * (double)each * depth + 4.0 * (double)r * n);
    };
    auto back = [&](const char *name, size_t r, int k) {
        double us = time_of([&]() {
            must(product_back(&p, r, depth, k, g.device, 3 * s.width, w.device, k, out.device, depth, &gpu_test.err));
        });
        say_flop(name, us, 2.0 * (double)r * k * depth, (double)r * (double)each * k + 4.0 * (double)r * depth);
    };
    std::printf("products, %s\n", type);
    forward("state's terms to gates", rows, 2 * s.width);
    forward("terms of r * h to candidate", rows, s.width);
    forward("input's terms, a step", rows, 3 * s.width);
    forward("input's terms, 12 steps", all, 3 * s.width);
    back("candidate to terms of r * h", rows, s.width);
    back("gates to state's terms", rows, 2 * s.width);
    back("all to input's terms, a step", rows, 3 * s.width);
    back("all to input's terms, 12 steps", all, 3 * s.width);
    for (size_t parts : {8, 24, 48, 96}) {
        char name[64];
        const size_t rows_each = (all / parts + 7) / 8 * 8;
        double us = time_of([&]() {
            must(product_parts(&p, all, rows_each, depth, 2 * s.width, z.device, depth, g.device, 3 * s.width,
                               out.device, &gpu_test.err));
        });
        std::snprintf(name, sizeof name, "weights of a state, %zu parts", parts);
        say_flop(name, us, 2.0 * (double)all * 2 * s.width * depth,
                 (double)all * (double)each * (depth + 2.0 * s.width));
    }
    products_close(&p);
}

int main(int argc, char **argv)
{
    sizes s = {argc > 1 ? (int)std::strtol(argv[1], nullptr, 10) : 207,
               argc > 2 ? (int)std::strtol(argv[2], nullptr, 10) : 64,
               argc > 3 ? (int)std::strtol(argv[3], nullptr, 10) : 64, 0};
    if (s.n < 1 || s.samples < 1 || s.width < 8 || s.width % 8) {
        std::fprintf(stderr, "usage: bench_kernels [SENSORS [BATCH [UNITS]]]; units in eights\n");
        return 2;
    }
    gpu_test_open(1);
#ifdef DCRNN_EMULATED
    std::printf("skipped: the device is emulated, its durations say nothing\n");
    return EXIT_SKIPPED;
#endif
    struct cudaDeviceProp device;
    must_cuda(cudaGetDeviceProperties(&device, 0));
    must_cuda(cudaEventCreateWithFlags(&begin_event, cudaEventDefault));
    must_cuda(cudaEventCreateWithFlags(&end_event, cudaEventDefault));
    s.rows = (size_t)s.n * (size_t)s.samples;
    std::printf("%s: %d sensors, batch %d, %d units, %d supports of %d edges; median of %d runs\n", device.name, s.n,
                s.samples, s.width, 2, 8 * s.n, RUNS);
    {
        array<int> start((size_t)s.n + 1);
        array<edge> edges((size_t)(8 * s.n));
        const struct diffusion d = make_graph(s.n, &start, &edges);
        const struct limits l = {device.multiProcessorCount, device.sharedMemPerBlockOptin};
        bench_cell<float>(s, l, d, "kernels, fp32 terms");
        bench_cell<bf16>(s, l, d, "kernels, bf16 terms");
        bench_products(s, GPU_FP32, "fp32");
        bench_products(s, GPU_TF32, "tf32");
        bench_products(s, GPU_BF16, "bf16");
    }
    must_cuda(cudaEventDestroy(begin_event));
    must_cuda(cudaEventDestroy(end_event));
    return gpu_test_close();
}
