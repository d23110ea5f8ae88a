/* kernels_gpu.cu - every kernel of trainer/gpu by itself against plain loops in double, over random shapes.
 * gpu_test.cuh describes the output. */
#include "tests/gpu/reference_graph.cuh"

#ifdef DCRNN_EMULATED
#include "tests/gpu/emulator/emulator.h"
#endif

struct gpu_test gpu_test;

enum { SHAPES = 12 };
/* As defined in dcrnn-model.md section 12; bf16 keeps 8 bits of stored values. */
static const double limit_fp32 = 1e-5, limit_bf16 = 8e-3;

static double sigmoid_of(double x)
{
    return 1 / (1 + std::exp(-x));
}

/* Under the emulator every shape runs in another order of blocks and threads. */
static void order_by(int number)
{
#ifdef DCRNN_EMULATED
    emulator_settings.seed = (uint64_t)number;
#else
    (void)number;
#endif
}

/* A shape, and its batch in the layout of the kernels. */
struct shape {
    reference_graph g;
    int samples, width, rows, is_bf16;
    struct tiling tiling;
};

/* Odd draws do not fit into shared memory, so that both ways are taken. */
static void draw_shape(shape *s, int number)
{
    order_by(number);
    static const int widths[] = {8, 16, 24, 32, 40, 64, 96};
    draw_graph(&s->g, random_int(1, 45));
    s->samples = random_int(1, 5);
    s->width = widths[random_int(0, 6)];
    s->rows = s->samples * s->g.n;
    s->is_bf16 = number % 4 == 3;
    const struct limits l = {random_int(1, 40), number % 2 ? (size_t)16 : (size_t)48 * 1024};
    s->tiling = tiling_choose(&l, s->g.n, s->samples, s->width, s->is_bf16);
}

static double limit_of(const shape &s)
{
    return s.is_bf16 ? limit_bf16 : limit_fp32;
}

/* Errors are divided by the limit of their shape, so that one verdict is for both types. */
struct worst {
    double ratio = 0;

    void add(const error_sum &e, double limit)
    {
        ratio = std::fmax(ratio, e.value() / limit);
    }
};

static void conclude(const char *name, const worst &w)
{
    verdict(name, SHAPES, w.ratio);
}

/* Do all terms of z (rows, M, P) belong to the values x(row, column)? Padding and order included. */
template <typename X> static void check_terms(const shape &s, z_array &z, X x, worst *w, int n_terms)
{
    error_sum e;
    for (int r = 0; r < s.rows; r++)
        for (int m = 0; m < n_terms; m++)
            for (int c = 0; c < s.width; c++) {
                const int first = r / s.g.n * s.g.n;
                e.add((double)z.at(((size_t)r * (size_t)s.g.n_terms + (size_t)m) * (size_t)s.width + (size_t)c),
                      term_of(s.g, m, r % s.g.n, [&](int j) { return x(first + j, c); }));
            }
    w->add(e, limit_of(s));
}

/* Shared by gates and state. */
struct cell_inputs {
    int n_x, ld_x, has_pre, has_h;
    array<float> pre, pre_h, bias, x, w_x, h, act;

    explicit cell_inputs(const shape &s)
        : n_x(random_int(0, 1) * random_int(1, 9)), ld_x(12), has_pre(random_int(0, 1)), has_h(random_int(0, 2) > 0),
          pre((size_t)(s.rows * 3 * s.width)), pre_h((size_t)(s.rows * 2 * s.width)), bias((size_t)(3 * s.width)),
          x((size_t)(s.rows * ld_x)), w_x((size_t)(n_x * 3 * s.width)), h((size_t)(s.rows * s.width)),
          act((size_t)(s.rows * 3 * s.width))
    {
        array<float> *const all[] = {&pre, &pre_h, &bias, &x, &w_x, &h, &act};
        for (array<float> *a : all)
            a->fill_random();
    }
    double pre_activation(const shape &s, int row, int column)
    {
        const int ld = 3 * s.width;
        double sum = (double)bias[(size_t)column];
        if (has_pre)
            sum += (double)pre[(size_t)(row * ld + column)];
        for (int q = 0; q < n_x; q++)
            sum += (double)x[(size_t)(row * ld_x + q)] * (double)w_x[(size_t)(q * ld + column)];
        return sum;
    }
    double state(const shape &s, int row, int column)
    {
        return has_h ? (double)h[(size_t)(row * s.width + column)] : 0;
    }
};

static void test_gates()
{
    worst w;
    for (int number = 0; number < SHAPES; number++) {
        shape s;
        draw_shape(&s, number);
        cell_inputs in(s);
        z_array z((size_t)(s.rows * s.g.n_terms * s.width), s.is_bf16);
        const bool has_pre_h = in.has_h;
        struct gates_args a = {};
        a.d = s.g.forward;
        a.width = s.width;
        a.pre = in.has_pre ? in.pre.device : nullptr;
        a.pre_h = has_pre_h ? in.pre_h.device : nullptr;
        a.bias = in.bias.device;
        a.x_terms = in.x.device;
        a.ld_x = in.ld_x;
        a.n_x = in.n_x;
        a.w_x = in.w_x.device;
        a.h = in.has_h ? in.h.device : nullptr;
        a.ld_h = (size_t)s.width;
        a.act = in.act.device;
        a.z = z.device();
        must(launch_gates(&a, &s.tiling, gpu_test.stream, &gpu_test.err));
        in.act.get();
        auto gate = [&](int row, int column) {
            double sum = in.pre_activation(s, row, column);
            return sigmoid_of(has_pre_h ? sum + (double)in.pre_h[(size_t)(row * 2 * s.width + column)] : sum);
        };
        error_sum e;
        for (int r = 0; r < s.rows; r++)
            for (int c = 0; c < 2 * s.width; c++)
                e.add((double)in.act[(size_t)(r * 3 * s.width + c)], gate(r, c));
        w.add(e, limit_fp32);
        if (!in.has_h)
            continue;
        z.get();
        check_terms(
            s, z, [&](int row, int c) { return gate(row, c) * in.state(s, row, c); }, &w, s.g.n_terms);
    }
    conclude("dcrnn_gates", w);
}

static void test_state()
{
    worst w;
    for (int number = 0; number < SHAPES; number++) {
        shape s;
        draw_shape(&s, number);
        cell_inputs in(s);
        z_array z((size_t)(s.rows * s.g.n_terms * s.width), s.is_bf16);
        array<float> h_new((size_t)(s.rows * s.width));
        const int wants_terms = random_int(0, 3) > 0;
        struct state_args a = {};
        a.d = s.g.forward;
        a.width = s.width;
        a.pre = in.has_pre ? in.pre.device : nullptr;
        a.bias = in.bias.device;
        a.x_terms = in.x.device;
        a.ld_x = in.ld_x;
        a.n_x = in.n_x;
        a.w_x = in.w_x.device;
        a.h = in.has_h ? in.h.device : nullptr;
        a.ld_h = (size_t)s.width;
        a.act = in.act.device;
        a.h_new = s.is_bf16 ? h_new.device : nullptr;
        a.z = z.device();
        a.wants_terms = wants_terms;
        must(launch_state(&a, &s.tiling, gpu_test.stream, &gpu_test.err));
        std::vector<float> u = in.act.host;
        in.act.get();
        z.get();
        auto candidate = [&](int row, int c) { return std::tanh(in.pre_activation(s, row, 2 * s.width + c)); };
        auto state = [&](int row, int c) {
            double keep = (double)u[(size_t)(row * 3 * s.width + s.width + c)];
            return keep * in.state(s, row, c) + (1 - keep) * candidate(row, c);
        };
        error_sum e, f;
        for (int r = 0; r < s.rows; r++)
            for (int c = 0; c < s.width; c++)
                e.add((double)in.act[(size_t)(r * 3 * s.width + 2 * s.width + c)], candidate(r, c));
        w.add(e, limit_fp32);
        check_terms(s, z, state, &w, wants_terms ? s.g.n_terms : 1);
        if (s.is_bf16) {
            h_new.get();
            for (int r = 0; r < s.rows; r++)
                for (int c = 0; c < s.width; c++)
                    f.add((double)h_new[(size_t)(r * s.width + c)], state(r, c));
            w.add(f, limit_fp32);
        }
    }
    conclude("dcrnn_state", w);
}

/* The adjoint diffusion of dz (rows, M, P) at a row and column. */
static double adjoint_at(const shape &s, array<float> &dz, int row, int c)
{
    const int first = row / s.g.n * s.g.n;
    return adjoint_of(s.g, row % s.g.n, [&](int m, int j) {
        return (double)dz[((size_t)(first + j) * (size_t)s.g.n_terms + (size_t)m) * (size_t)s.width + (size_t)c];
    });
}

static void test_gates_back()
{
    worst w;
    for (int number = 0; number < SHAPES; number++) {
        shape s;
        draw_shape(&s, number);
        const bool has_h = random_int(0, 3) > 0;
        const size_t n = (size_t)(s.rows * s.width);
        array<float> dz(n * (size_t)s.g.n_terms), h(n), act(3 * n), dh(n);
        z_array g(3 * n, s.is_bf16);
        array<float> *const all[] = {&dz, &h, &act, &dh};
        for (array<float> *a : all)
            a->fill_random();
        g.fill_random();
        struct gates_back_args a = {};
        a.d = s.g.back;
        a.width = s.width;
        a.dz = has_h ? dz.device : nullptr;
        a.h = has_h ? h.device : nullptr;
        a.ld_h = (size_t)s.width;
        a.act = act.device;
        a.dh = dh.device;
        a.g = g.device();
        must(launch_gates_back(&a, &s.tiling, gpu_test.stream, &gpu_test.err));
        std::vector<float> dh_in = dh.host;
        const float untouched = g.at(2 * (size_t)s.width);
        g.get();
        dh.get();
        error_sum e_r, e_u, e_h, e_other;
        for (int row = 0; row < s.rows; row++)
            for (int c = 0; c < s.width; c++) {
                const size_t at = (size_t)(row * s.width + c), wide = (size_t)(row * 3 * s.width + c);
                const size_t p = (size_t)s.width;
                double r = (double)act[wide], u = (double)act[wide + p], cand = (double)act[wide + 2 * p];
                double state = has_h ? (double)h[at] : 0, d = (double)dh_in[at];
                double d_rh = has_h ? adjoint_at(s, dz, row, c) : 0;
                e_r.add((double)g.at(wide), d_rh * state * r * (1 - r));
                e_u.add((double)g.at(wide + p), d * (state - cand) * u * (1 - u));
                e_h.add((double)dh[at], has_h ? d * u + d_rh * r : d);
            }
        e_other.add((double)g.at(2 * (size_t)s.width), (double)untouched); /* columns c belong to another kernel */
        w.add(e_r, limit_of(s));
        w.add(e_u, limit_of(s));
        w.add(e_h, limit_fp32);
        w.add(e_other, 1e-30);
    }
    conclude("dcrnn_gates_back", w);
}

static void test_state_back()
{
    worst w;
    for (int number = 0; number < SHAPES; number++) {
        shape s;
        draw_shape(&s, number);
        const bool has_dz = random_int(0, 3) > 0, has_base = random_int(0, 1), has_more = random_int(0, 1);
        const bool has_act = random_int(0, 3) > 0, is_in_place = has_base && random_int(0, 1);
        const size_t n = (size_t)(s.rows * s.width), p = (size_t)s.width;
        array<float> dz(n * (size_t)s.g.n_terms), base(n), more(n), act(3 * n), dh(n);
        z_array g(3 * n, s.is_bf16);
        array<float> *const all[] = {&dz, &base, &more, &act, &dh};
        for (array<float> *a : all)
            a->fill_random();
        struct state_back_args a = {};
        a.d = s.g.back;
        a.width = s.width;
        a.dz = has_dz ? dz.device : nullptr;
        a.base = !has_base ? nullptr : is_in_place ? dh.device : base.device;
        a.more = has_more ? more.device : nullptr;
        a.dh = dh.device;
        a.act = has_act ? act.device : nullptr;
        a.g = g.device();
        must(launch_state_back(&a, &s.tiling, gpu_test.stream, &gpu_test.err));
        std::vector<float> base_in = is_in_place ? dh.host : base.host;
        dh.get();
        if (has_act)
            g.get();
        error_sum e_h, e_c;
        for (int row = 0; row < s.rows; row++)
            for (int c = 0; c < s.width; c++) {
                const size_t at = (size_t)(row * s.width + c), wide = (size_t)(row * 3 * s.width + c);
                double d = (has_dz ? adjoint_at(s, dz, row, c) : 0) + (has_base ? (double)base_in[at] : 0) +
                           (has_more ? (double)more[at] : 0);
                double u = (double)act[wide + p], cand = (double)act[wide + 2 * p];
                e_h.add((double)dh[at], d);
                if (has_act)
                    e_c.add((double)g.at(wide + 2 * p), d * (1 - u) * (1 - cand * cand));
            }
        w.add(e_h, limit_fp32);
        w.add(e_c, limit_of(s));
    }
    conclude("dcrnn_state_back", w);
}

/* ---- few features
 * ---------------------------------------------------------------------------------------------------- */

static void test_input()
{
    worst w;
    for (int number = 0; number < SHAPES; number++) {
        shape s;
        draw_shape(&s, number);
        const int f = random_int(1, 3), ld = s.g.n_terms * f + random_int(0, 3);
        array<float> x((size_t)(s.rows * f)), z((size_t)(s.rows * ld));
        x.fill_random();
        z.put();
        must(launch_input(&s.g.forward, s.samples, f, x.device, z.device, ld, gpu_test.stream, &gpu_test.err));
        z.get();
        error_sum e;
        for (int r = 0; r < s.rows; r++)
            for (int m = 0; m < s.g.n_terms; m++)
                for (int i = 0; i < f; i++) {
                    const int first = r / s.g.n * s.g.n;
                    e.add((double)z[(size_t)(r * ld + m * f + i)],
                          term_of(s.g, m, r % s.g.n, [&](int j) { return (double)x[(size_t)((first + j) * f + i)]; }));
                }
        w.add(e, limit_fp32);
    }
    conclude("dcrnn_input", w);
}

static void test_project()
{
    worst w;
    for (int number = 0; number < SHAPES; number++) {
        shape s;
        draw_shape(&s, number);
        const int f = random_int(1, 3), ld = s.g.n_terms * f, has_truth = random_int(0, 1),
                  is_last = random_int(0, 3) == 0;
        const size_t p = (size_t)s.width, n_y = (size_t)(s.rows * f);
        array<float> h((size_t)s.rows * p), weights((size_t)f * (p + 1)), y(n_y), truth(n_y), z((size_t)(s.rows * ld));
        array<uint8_t> coin(1);
        coin[0] = (uint8_t)random_int(0, 1);
        coin.put();
        array<float> *const all[] = {&h, &weights, &truth};
        for (array<float> *a : all)
            a->fill_random();
        struct project_args a = {};
        a.d = s.g.forward;
        a.n_samples = s.samples;
        a.width = s.width;
        a.n_out = f;
        a.h = h.device;
        a.ld_h = p;
        a.w = weights.device;
        a.y = y.device;
        a.truth = has_truth ? truth.device : nullptr;
        a.coin = coin.device;
        a.z = is_last ? nullptr : z.device;
        a.ld_z = ld;
        must(launch_project(&a, gpu_test.stream, &gpu_test.err));
        y.get();
        auto forecast = [&](int row, int o) {
            double sum = (double)weights[(size_t)o * (p + 1) + p];
            for (size_t i = 0; i < p; i++)
                sum += (double)h[(size_t)row * p + i] * (double)weights[(size_t)o * (p + 1) + i];
            return sum;
        };
        auto fed = [&](int row, int o) {
            return has_truth && coin[0] ? (double)truth[(size_t)(row * f + o)] : forecast(row, o);
        };
        error_sum e, e_z;
        for (int r = 0; r < s.rows; r++)
            for (int o = 0; o < f; o++)
                e.add((double)y[(size_t)(r * f + o)], forecast(r, o));
        w.add(e, limit_fp32);
        if (is_last)
            continue;
        z.get();
        for (int r = 0; r < s.rows; r++)
            for (int m = 0; m < s.g.n_terms; m++)
                for (int o = 0; o < f; o++) {
                    const int first = r / s.g.n * s.g.n;
                    e_z.add((double)z[(size_t)(r * ld + m * f + o)],
                            term_of(s.g, m, r % s.g.n, [&](int j) { return fed(first + j, o); }));
                }
        w.add(e_z, limit_fp32);
    }
    conclude("dcrnn_project", w);
}

static void test_narrow_back()
{
    worst w;
    for (int number = 0; number < SHAPES; number++) {
        shape s;
        draw_shape(&s, number);
        const int n_x = random_int(1, 9), ld = n_x + random_int(0, 3), n = 3 * s.width;
        z_array g((size_t)(s.rows * n), s.is_bf16);
        array<float> weights((size_t)(n_x * n)), dz((size_t)(s.rows * ld));
        g.fill_random();
        weights.fill_random();
        must(launch_narrow_back(s.rows, s.width, n_x, g.device(), s.is_bf16, weights.device, dz.device, ld,
                                gpu_test.stream, &gpu_test.err));
        dz.get();
        error_sum e;
        for (int r = 0; r < s.rows; r++)
            for (int q = 0; q < n_x; q++) {
                double sum = 0;
                for (int i = 0; i < n; i++)
                    sum += (double)g.at((size_t)(r * n + i)) * (double)weights[(size_t)(q * n + i)];
                e.add((double)dz[(size_t)(r * ld + q)], sum);
            }
        w.add(e, limit_fp32);
    }
    conclude("dcrnn_narrow_back", w);
}

static void test_top_back()
{
    worst w;
    for (int number = 0; number < SHAPES; number++) {
        shape s;
        draw_shape(&s, number);
        const int f = random_int(1, 3), ld = s.g.n_terms * f, has_dz = random_int(0, 2) > 0,
                  has_base = random_int(0, 1);
        const size_t p = (size_t)s.width, n = (size_t)s.rows * p;
        array<float> dz((size_t)(s.rows * ld)), dy((size_t)(s.rows * f)), weights((size_t)f * (p + 1)), base(n), dh(n),
            act(3 * n);
        array<uint8_t> coin(1);
        z_array g(3 * n, s.is_bf16);
        coin[0] = (uint8_t)random_int(0, 1);
        coin.put();
        array<float> *const all[] = {&dz, &dy, &weights, &base, &act};
        for (array<float> *a : all)
            a->fill_random();
        struct top_back_args a = {};
        a.d = s.g.back;
        a.n_samples = s.samples;
        a.width = s.width;
        a.n_out = f;
        a.dz = has_dz ? dz.device : nullptr;
        a.ld_z = ld;
        a.coin = coin.device;
        a.dy = dy.device;
        a.w = weights.device;
        a.base = has_base ? base.device : nullptr;
        a.dh = dh.device;
        a.act = act.device;
        a.g = g.device();
        a.is_bf16 = s.is_bf16;
        must(launch_top_back(&a, gpu_test.stream, &gpu_test.err));
        std::vector<float> dy_in = dy.host;
        dy.get();
        dh.get();
        g.get();
        error_sum e_y, e_h, e_c;
        for (int r = 0; r < s.rows; r++) {
            const int first = r / s.g.n * s.g.n;
            std::vector<double> own((size_t)f);
            for (int o = 0; o < f; o++) {
                own[(size_t)o] = (double)dy_in[(size_t)(r * f + o)];
                if (has_dz && !coin[0])
                    own[(size_t)o] += adjoint_of(s.g, r % s.g.n, [&](int m, int j) {
                        return (double)dz[(size_t)((first + j) * ld + m * f + o)];
                    });
                e_y.add((double)dy[(size_t)(r * f + o)], own[(size_t)o]);
            }
            for (size_t c = 0; c < p; c++) {
                const size_t at = (size_t)r * p + c, wide = (size_t)r * 3 * p + c;
                double d = has_base ? (double)base[at] : 0, u = (double)act[wide + p], cand = (double)act[wide + 2 * p];
                for (int o = 0; o < f; o++)
                    d += own[(size_t)o] * (double)weights[(size_t)o * (p + 1) + c];
                e_h.add((double)dh[at], d);
                e_c.add((double)g.at(wide + 2 * p), d * (1 - u) * (1 - cand * cand));
            }
        }
        w.add(e_y, limit_fp32);
        w.add(e_h, limit_fp32);
        w.add(e_c, limit_of(s));
    }
    conclude("dcrnn_top_back", w);
}

/* ---- sums
 * --------------------------------------------------------------------------------------------------------------- */

static void test_outer_and_gather()
{
    worst w;
    for (int number = 0; number < SHAPES; number++) {
        order_by(number);
        const int rows = random_int(1, 400), n_j = random_int(0, 40), n_o = random_int(1, 300),
                  is_bf16 = number % 4 == 3;
        const int ones_j = n_j == 0 || random_int(0, 1), ones_o = random_int(0, 1), chunks = random_int(1, 40);
        const int ld_j = n_j + random_int(0, 3), ld_o = n_o + random_int(0, 3);
        const size_t n = (size_t)(n_j + ones_j) * (size_t)(n_o + ones_o);
        array<float> narrow((size_t)(rows * ld_j)), out(n * (size_t)chunks), grads(n + 5);
        array<int> map(n);
        z_array wide((size_t)(rows * ld_o), is_bf16);
        narrow.fill_random();
        wide.fill_random();
        grads.fill_random();
        for (size_t i = 0; i < n; i++) /* backwards, with holes */
            map[i] = random_int(0, 9) ? (int)(n - 1 - i) : -1;
        map.put();
        struct outer_args a = {};
        a.n_rows = (size_t)rows;
        a.n_chunks = chunks;
        a.narrow = narrow.device;
        a.ld_narrow = ld_j;
        a.n_narrow = n_j;
        a.has_ones = ones_j;
        a.wide = wide.device();
        a.ld_wide = ld_o;
        a.n_wide = n_o;
        a.wide_has_ones = ones_o;
        a.is_bf16 = is_bf16;
        a.out = out.device;
        must(launch_outer(&a, gpu_test.stream, &gpu_test.err));
        must(launch_gather(n, chunks, n, out.device, map.device, grads.device, gpu_test.stream, &gpu_test.err));
        std::vector<double> expected(grads.host.begin(), grads.host.end());
        for (int j = 0; j < n_j + ones_j; j++)
            for (int o = 0; o < n_o + ones_o; o++) {
                const int to = map[(size_t)j * (size_t)(n_o + ones_o) + (size_t)o];
                for (int r = 0; r < rows && to >= 0; r++)
                    expected[(size_t)to] += (j < n_j ? (double)narrow[(size_t)(r * ld_j + j)] : 1) *
                                            (o < n_o ? (double)wide.at((size_t)(r * ld_o + o)) : 1);
            }
        grads.get();
        error_sum e;
        for (size_t i = 0; i < grads.host.size(); i++)
            e.add((double)grads[i], expected[i]);
        w.add(e, limit_fp32);
    }
    conclude("dcrnn_outer, dcrnn_gather", w);
}

static void test_loss()
{
    worst w;
    for (int number = 0; number < SHAPES; number++) {
        order_by(number);
        const int n_out = random_int(1, 6), n_tally = random_int(2, GPU_MAX_TALLY);
        const size_t n = (size_t)(number == 0 ? 0 : random_int(1, 3000)), all = n * (size_t)n_out;
        const float mean = 54.5f, std = 16;
        array<float> pred(all), raw(all), d_pred(all);
        array<double> partial((size_t)n_out * LOSS_BLOCKS * 4);
        array<char> answer(sizeof(struct answer) + (size_t)n_out * 32), orders(sizeof(struct orders));
        struct answer *theirs = (struct answer *)answer.host.data();
        struct orders *told = (struct orders *)orders.host.data();
        pred.fill_random();
        for (size_t i = 0; i < all; i++)
            raw[i] = random_int(0, 3) ? 45 + 20 * random_float() : 0;
        raw.put();
        std::memset(answer.host.data(), 0, answer.host.size());
        std::memset(orders.host.data(), 0, orders.host.size());
        theirs->tally[0] = 100;
        theirs->tally[1] = 7;
        for (int i = 2; i < n_tally; i++)
            told->tally[i] = i * 1.5;
        answer.put();
        orders.put();
        struct loss_args a = {};
        a.n_out = n_out;
        a.n_each = n;
        a.pred_z = pred.device;
        a.raw = raw.device;
        a.mean = mean;
        a.std = std;
        a.d_pred = number % 3 ? d_pred.device : nullptr;
        a.partial = partial.device;
        a.answer = (struct answer *)answer.device;
        a.orders = (struct orders *)orders.device;
        a.is_first = random_int(0, 1);
        a.is_last = random_int(0, 1);
        a.n_tally = n_tally;
        must(launch_loss(&a, gpu_test.stream, &gpu_test.err));
        answer.get();
        double total = a.is_first ? 0 : 100, count = a.is_first ? 0 : 7;
        error_sum e, e_d, e_t;
        for (int t = 0; t < n_out; t++) {
            double sums[4] = {0, 0, 0, 0};
            for (size_t i = (size_t)t * n; i < (size_t)(t + 1) * n; i++)
                if (raw[i] != 0) {
                    double error = std::fabs((double)pred[i] * (double)std + (double)mean - (double)raw[i]);
                    sums[0] += error;
                    sums[1] += error * error;
                    sums[2] += error / (double)raw[i];
                    sums[3] += 1;
                }
            for (int k = 0; k < 4; k++)
                e.add(theirs->horizons[t][k], sums[k]);
            total += sums[0];
            count += sums[3];
        }
        w.add(e, limit_fp32);
        e_t.add(theirs->tally[0], total);
        w.add(e_t, limit_fp32);
        w.ratio = theirs->tally[1] == count ? w.ratio : INFINITY;
        for (int i = 2; i < n_tally; i++)
            w.ratio = theirs->tally[i] == (a.is_last ? i * 1.5 : 0) ? w.ratio : INFINITY;
        if (!a.d_pred)
            continue;
        d_pred.get();
        for (size_t i = 0; i < all; i++) {
            double error = (double)pred[i] * (double)std + (double)mean - (double)raw[i];
            if (std::fabs(error) > 1e-3) /* nearer to 0 the sign is a matter of rounding */
                e_d.add((double)d_pred[i], raw[i] == 0 ? 0 : error > 0 ? (double)std : -(double)std);
        }
        w.add(e_d, limit_fp32);
    }
    conclude("dcrnn_loss", w);
}

static void test_update_and_pack()
{
    worst w;
    for (int number = 0; number < SHAPES; number++) {
        order_by(number);
        const size_t n = (size_t)random_int(1, 5000), n_packed = (size_t)random_int(1, 3000);
        array<float> params(n), grads(n), m(n), v(n), packed(n_packed);
        array<bf16> packed_bf16(n_packed);
        array<int> map(n_packed);
        array<double> partial(NORM_BLOCKS);
        array<char> answer(sizeof(struct answer)), orders(sizeof(struct orders));
        struct answer *theirs = (struct answer *)answer.host.data();
        struct orders *told = (struct orders *)orders.host.data();
        array<float> *const all[] = {&params, &grads, &m, &v};
        for (array<float> *a : all)
            a->fill_random();
        for (float &one : v.host)
            one = std::fabs(one);
        v.put();
        const bool is_bad = number == 1, is_scaled = random_int(0, 1), is_clipped = random_int(0, 1);
        if (is_bad) {
            grads[n / 2] = NAN;
            grads.put();
        }
        std::memset(answer.host.data(), 0, answer.host.size());
        std::memset(orders.host.data(), 0, orders.host.size());
        theirs->tally[1] = number == 2 ? 0 : 250;
        told->clip = is_clipped ? 0.01f : 0;
        told->rate = 0.02f;
        told->root = 3.5f;
        answer.put();
        orders.put();
        struct update_args a = {};
        a.n = n;
        a.orders = (struct orders *)orders.device;
        a.answer = (struct answer *)answer.device;
        a.params = params.device;
        a.grads = grads.device;
        a.m = m.device;
        a.v = v.device;
        a.beta1 = 0.9f;
        a.rest1 = 0.1f;
        a.beta2 = 0.999f;
        a.rest2 = 0.001f;
        a.eps = 1e-3f;
        a.is_scaled = is_scaled;
        a.partial = partial.device;
        must(launch_update(&a, gpu_test.stream, &gpu_test.err));
        for (size_t i = 0; i < n_packed; i++)
            map[i] = random_int(0, 5) ? (int)(random_bits() % n) : -1;
        map.put();
        must(launch_pack(n_packed, map.device, params.device, packed.device, packed_bf16.device, gpu_test.stream,
                         &gpu_test.err));
        std::vector<float> p_in = params.host, m_in = m.host, v_in = v.host;
        answer.get();
        params.get();
        m.get();
        v.get();
        packed.get();
        packed_bf16.get();
        const double scale = is_scaled ? 1 : theirs->tally[1] > 0 ? 1 / theirs->tally[1] : 0;
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += scale * (double)grads[i] * scale * (double)grads[i];
        const double norm = std::sqrt(sum), clip = (double)told->clip;
        const double factor = clip > 0 && clip / (norm + 1e-6) < 1 ? clip / (norm + 1e-6) : 1;
        error_sum e_n, e_p, e_m, e_v;
        if (!is_bad)
            e_n.add(theirs->norm, norm);
        for (size_t i = 0; i < n; i++) {
            const double g = (double)grads[i] * scale * factor;
            const double m1 = is_bad ? (double)m_in[i] : 0.9 * (double)m_in[i] + 0.1 * g;
            const double v1 = is_bad ? (double)v_in[i] : 0.999 * (double)v_in[i] + 0.001 * g * g;
            e_m.add((double)m[i], m1);
            e_v.add((double)v[i], v1);
            e_p.add((double)params[i],
                    is_bad ? (double)p_in[i] : (double)p_in[i] - 0.02 * m1 / (std::sqrt(v1) * 3.5 + 1e-3));
        }
        w.add(e_n, limit_fp32);
        w.add(e_m, is_bad ? 1e-30 : limit_fp32);
        w.add(e_v, is_bad ? 1e-30 : limit_fp32);
        w.add(e_p, is_bad ? 1e-30 : limit_fp32);
        w.ratio = (theirs->is_updated != 0) == !is_bad ? w.ratio : INFINITY;
        for (size_t i = 0; i < n_packed; i++) {
            const float expected = map[i] < 0 ? 0 : params[(size_t)map[i]];
            unsigned u = (unsigned)packed_bf16[i].bits << 16;
            float rounded;
            std::memcpy(&rounded, &u, sizeof rounded);
            w.ratio = packed[i] == expected && rounded == round_bf16(expected) ? w.ratio : INFINITY;
        }
    }
    conclude("dcrnn_norm, dcrnn_adam, dcrnn_pack", w);
}

/* ---- products: does the order of operands say what the header says?
 * ----------------------------------------------------- */

static void test_products(enum gpu_precision precision, const char *name, double limit)
{
    worst w;
    struct products p = {};
    array<char> workspace((size_t)4 << 20);
    must(products_open(&p, precision, gpu_test.stream, workspace.device, workspace.host.size(), &gpu_test.err));
    for (int number = 0; number < SHAPES; number++) {
        order_by(number);
        const size_t rows = (size_t)random_int(1, 60);
        const int n = 8 * random_int(1, 5), k = 8 * random_int(1, 6), add = random_int(0, 1), is_bf16 = p.is_bf16;
        const int ld_a = k + 8 * random_int(0, 1), ld_b = n + 8 * random_int(0, 1), ld_c = n + 8 * random_int(0, 1);
        const size_t each = (size_t)random_int(1, 25), parts = (rows + each - 1) / each;
        z_array a(rows * (size_t)ld_a, is_bf16), b((size_t)(k * ld_b), is_bf16), d(rows * (size_t)ld_b, is_bf16);
        array<float> c(rows * (size_t)ld_c), back(rows * (size_t)ld_a), sums(parts * (size_t)(k * n));
        a.fill_random();
        b.fill_random();
        c.fill_random();
        d.fill_random();
        must(product_forward(&p, rows, n, k, a.device(), ld_a, b.device(), ld_b, c.device, ld_c, add, &gpu_test.err));
        must(product_back(&p, rows, k, n, d.device(), ld_b, b.device(), ld_b, back.device, ld_a, &gpu_test.err));
        must(product_parts(&p, rows, each, k, n, a.device(), ld_a, d.device(), ld_b, sums.device, &gpu_test.err));
        std::vector<float> c_in = c.host;
        c.get();
        back.get();
        sums.get();
        error_sum e_c, e_b, e_s;
        for (size_t r = 0; r < rows; r++)
            for (int j = 0; j < n; j++) {
                double sum = add ? (double)c_in[r * (size_t)ld_c + (size_t)j] : 0;
                for (int i = 0; i < k; i++)
                    sum += (double)a.at(r * (size_t)ld_a + (size_t)i) * (double)b.at((size_t)(i * ld_b + j));
                e_c.add((double)c[r * (size_t)ld_c + (size_t)j], sum);
            }
        for (size_t r = 0; r < rows; r++)
            for (int i = 0; i < k; i++) {
                double sum = 0;
                for (int j = 0; j < n; j++)
                    sum += (double)d.at(r * (size_t)ld_b + (size_t)j) * (double)b.at((size_t)(i * ld_b + j));
                e_b.add((double)back[r * (size_t)ld_a + (size_t)i], sum);
            }
        for (size_t part = 0; part < parts; part++)
            for (int i = 0; i < k; i++)
                for (int j = 0; j < n; j++) {
                    double sum = 0;
                    for (size_t r = part * each; r < rows && r < (part + 1) * each; r++)
                        sum += (double)a.at(r * (size_t)ld_a + (size_t)i) * (double)d.at(r * (size_t)ld_b + (size_t)j);
                    e_s.add((double)sums[(part * (size_t)k + (size_t)i) * (size_t)n + (size_t)j], sum);
                }
        w.add(e_c, limit);
        w.add(e_b, limit);
        w.add(e_s, limit);
    }
    must_cuda(cudaStreamSynchronize(gpu_test.stream));
    products_close(&p);
    conclude(name, w);
}

int main()
{
    gpu_test_open(2026);
    test_gates();
    test_state();
    test_gates_back();
    test_state_back();
    test_input();
    test_project();
    test_narrow_back();
    test_top_back();
    test_outer_and_gather();
    test_loss();
    test_update_and_pack();
    test_products(GPU_FP32, "products, fp32", limit_fp32);
    test_products(GPU_TF32, "products, tf32", 2e-3);       /* 2^-11 of each factor */
    test_products(GPU_BF16, "products, bf16", limit_fp32); /* their inputs are bf16 already: only sums round */
    return gpu_test_close();
}
