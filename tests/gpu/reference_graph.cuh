/* reference_graph.cuh - a random graph, its copy on the device, and diffusion by its definition, in double: dense
 * polynomials P_m of the supports, terms P_m X and their adjoint sum_m P_m^T Q_m. */
#ifndef TESTS_GPU_REFERENCE_GRAPH_CUH
#define TESTS_GPU_REFERENCE_GRAPH_CUH

#include "tests/gpu/gpu_test.cuh"

#include <memory>

struct reference_graph {
    int n, n_supports, k_hops, n_terms, is_published;
    std::vector<std::vector<double>> p; /* P_m, (n, n) each */
    struct diffusion forward, back;
    std::vector<std::unique_ptr<array<int>>> starts;
    std::vector<std::unique_ptr<array<edge>>> edges;

    double term(int m, int row, int col) const
    {
        return p[(size_t)m][(size_t)(row * n + col)];
    }
};

static inline std::vector<double> dense_product(int n, const std::vector<double> &a, const std::vector<double> &b)
{
    std::vector<double> c((size_t)(n * n), 0);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n && a[(size_t)(i * n + k)] != 0; j++)
                c[(size_t)(i * n + j)] += a[(size_t)(i * n + k)] * b[(size_t)(k * n + j)];
    return c;
}

static inline void put_rows(reference_graph *g, const std::vector<double> &s, bool is_transposed, diffusion *d,
                            int which)
{
    std::vector<int> start = {0};
    std::vector<edge> all;
    for (int i = 0; i < g->n; i++) {
        for (int j = 0; j < g->n; j++) {
            double v = is_transposed ? s[(size_t)(j * g->n + i)] : s[(size_t)(i * g->n + j)];
            if (v != 0)
                all.push_back({j, (float)v});
        }
        start.push_back((int)all.size());
    }
    g->starts.emplace_back(new array<int>(start.size()));
    g->starts.back()->host = start;
    g->starts.back()->put();
    g->edges.emplace_back(new array<edge>(all.size()));
    g->edges.back()->host = all;
    g->edges.back()->put();
    d->row_start[which] = g->starts.back()->device;
    d->edges[which] = g->edges.back()->device;
}

/* Rows of about four entries that sum to at most 1, some empty. */
static inline std::vector<double> random_support(int n)
{
    std::vector<double> s((size_t)(n * n), 0);
    for (int i = 0; i < n; i++)
        for (int k = random_int(0, 7); k > 0; k--)
            s[(size_t)(i * n + random_int(0, n - 1))] = 0.05 + 0.1 * (double)(float)(random_float() + 1);
    for (double &v : s)
        v = (double)(float)v;
    return s;
}

static inline void draw_graph(reference_graph *g, int n)
{
    g->n = n;
    g->n_supports = random_int(1, 2);
    g->k_hops = random_int(1, 4);
    g->is_published = random_int(0, 1);
    g->n_terms = 1 + g->n_supports * g->k_hops;
    g->forward = {};
    g->forward.n_sensors = n;
    g->forward.n_supports = g->n_supports;
    g->forward.k_hops = g->k_hops;
    g->forward.n_terms = g->n_terms;
    g->forward.is_published = g->is_published;
    g->back = g->forward;
    std::vector<double> one((size_t)(n * n), 0);
    for (int i = 0; i < n; i++)
        one[(size_t)(i * n + i)] = 1;
    g->p = {one};
    std::vector<double> start = one;
    for (int s = 0; s < g->n_supports; s++) {
        std::vector<double> support = random_support(n), before = start, last = dense_product(n, support, start);
        put_rows(g, support, false, &g->forward, s);
        put_rows(g, support, true, &g->back, s);
        g->p.push_back(last);
        for (int k = 2; k <= g->k_hops; k++) {
            std::vector<double> next = dense_product(n, support, last);
            for (size_t i = 0; i < next.size(); i++)
                next[i] = 2 * next[i] - before[i];
            before = last;
            last = next;
            g->p.push_back(last);
        }
        if (g->is_published) /* the next support starts from a_(K-1) of this one */
            start = before;
    }
}

/* Term m of values x(sensor) at a sensor. */
template <typename X> static inline double term_of(const reference_graph &g, int m, int sensor, X x)
{
    double sum = 0;
    for (int j = 0; j < g.n; j++)
        if (g.term(m, sensor, j) != 0)
            sum += g.term(m, sensor, j) * x(j);
    return sum;
}

/* The adjoint: sum_m sum_j P_m[j][sensor] q(m, j). */
template <typename Q> static inline double adjoint_of(const reference_graph &g, int sensor, Q q)
{
    double sum = 0;
    for (int m = 0; m < g.n_terms; m++)
        for (int j = 0; j < g.n; j++)
            if (g.term(m, j, sensor) != 0)
                sum += g.term(m, j, sensor) * q(m, j);
    return sum;
}

#endif
