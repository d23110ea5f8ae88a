/* dcrnn_naive.h - a second, slow DCRNN for the tests: dense supports, plain loops, one sample at a time, complex
 * numbers. It shares only the names of enums with trainer/. Derivatives come from the complex step: f(p + ih) = f(p)
 * + ih f'(p) up to h^2. So Im f / h with h = 1e-30 is the derivative up to rounding, without a backward pass that
 * could be wrong. Source of the method: Squire and Trapp, "Using complex variables to estimate derivatives", SIAM
 * Review 40, 1998. */
#ifndef TESTS_UNIT_DCRNN_NAIVE_H
#define TESTS_UNIT_DCRNN_NAIVE_H

#include "trainer/model/dcrnn.h"
#include "trainer/model/rng.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef double complex cplx;

struct naive_tensor {
    char name[24];
    int rows, cols, rank;
    size_t offset;
};

struct naive {
    int n, u, layers, b, t, h, k, d_in, d_out; /* N, U, layers, B, T, H, K, Din, Dout */
    enum graph_filter filter;
    enum dcrnn_recursion recursion;
    int n_supports, terms;
    double mean, std;
    double *adjacency;       /* (N, N) */
    double *support[2];      /* (N, N) */
    double *x, *y_z, *y_raw; /* (T, B, N, Din), (H, B, N, Dout) twice */
    unsigned char *coins;    /* (H) */
    struct naive_tensor tensor[80];
    int n_tensors;
    size_t n_params;
    cplx *params;
    cplx *pred_z;               /* (H, B, N, Dout) */
    cplx *cell0[4], *enc_state; /* r, u, c, h of encoder layer 0 at t = 0 (B, N, U); (layers, B, N, U) */
    double *diffused0;          /* (B, N, Din, M) */
};

static inline void *naive_array(size_t n, size_t size)
{
    void *p = calloc(n + 1, size);
    if (!p)
        abort();
    return p;
}

/* ---- supports, dense ---- */

static inline void naive_random_walk(int n, const double *a, int reverse, double *s)
{
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int j = 0; j < n; j++)
            sum += reverse ? a[j * n + i] : a[i * n + j];
        for (int j = 0; j < n; j++)
            s[j * n + i] = sum == 0 ? 0 : (reverse ? a[j * n + i] : a[i * n + j]) / sum;
    }
}

/* Largest eigenvalue of a dense symmetric matrix by cyclic Jacobi rotations; m is destroyed. */
static inline double naive_lambda_max(int n, double *m)
{
    for (int sweep = 0; sweep < 60; sweep++)
        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++) {
                if (fabs(m[p * n + q]) < 1e-300)
                    continue;
                double theta = (m[q * n + q] - m[p * n + p]) / (2 * m[p * n + q]);
                double t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1));
                double c = 1 / sqrt(t * t + 1), s = t * c;
                for (int k = 0; k < n; k++) {
                    double kp = m[k * n + p], kq = m[k * n + q];
                    m[k * n + p] = c * kp - s * kq;
                    m[k * n + q] = s * kp + c * kq;
                }
                for (int k = 0; k < n; k++) {
                    double pk = m[p * n + k], qk = m[q * n + k];
                    m[p * n + k] = c * pk - s * qk;
                    m[q * n + k] = s * pk + c * qk;
                }
            }
    double largest = m[0];
    for (int i = 1; i < n; i++)
        largest = fmax(largest, m[i * n + i]);
    return largest;
}

static inline void naive_laplacian(int n, const double *a, double *s)
{
    double *degree = naive_array((size_t)n, sizeof *degree), *copy = naive_array((size_t)(n * n), sizeof *copy);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            degree[i] += fmax(a[i * n + j], a[j * n + i]);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double w = fmax(a[i * n + j], a[j * n + i]);
            s[i * n + j] = (i == j) - (w == 0 ? 0 : w / sqrt(degree[i]) / sqrt(degree[j]));
        }
    memcpy(copy, s, (size_t)(n * n) * sizeof *copy);
    double lambda = naive_lambda_max(n, copy);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            s[i * n + j] = 2 / lambda * s[i * n + j] - (i == j);
    free(degree);
    free(copy);
}

/* ---- life ---- */

static inline void naive_tensor_add(struct naive *m, const char *prefix, const char *name, int rows, int cols, int rank)
{
    struct naive_tensor *t = &m->tensor[m->n_tensors++];
    snprintf(t->name, sizeof t->name, "%s_%s", prefix, name);
    t->rows = rows;
    t->cols = cols;
    t->rank = rank;
    t->offset = m->n_params;
    m->n_params += (size_t)(rows * cols);
}

static inline const struct naive_tensor *naive_find(const struct naive *m, const char *prefix, const char *name)
{
    char full[40];
    snprintf(full, sizeof full, "%s_%s", prefix, name);
    for (int i = 0; i < m->n_tensors; i++)
        if (strcmp(m->tensor[i].name, full) == 0)
            return &m->tensor[i];
    abort();
}

/* A number that float32 holds exactly, so that both precisions start from the same values. */
static inline double naive_number(uint64_t seed, uint64_t *index, double low, double high)
{
    return (double)(float)(low + (high - low) * rng_uniform(seed, RNG_TEST, (*index)++));
}

/* Allocate for the sizes already in m and draw everything from the seed. The last node is isolated when there are at
 * least three; about a fifth of the targets is missing. */
static inline void naive_fill(struct naive *m, uint64_t seed)
{
    uint64_t at = 0;
    size_t n = (size_t)m->n, nodes = (size_t)m->b * n, outs = (size_t)m->h * nodes * (size_t)m->d_out;
    m->n_supports = m->filter == GRAPH_DUAL_RANDOM_WALK ? 2 : 1;
    m->terms = 1 + m->n_supports * m->k;
    m->adjacency = naive_array(n * n, sizeof(double));
    int connected = m->n >= 3 ? m->n - 1 : m->n;
    for (int i = 0; i < connected; i++)
        for (int j = 0; j < connected; j++)
            if (i == j || j == (i + 1) % connected || rng_uniform(seed, RNG_TEST, at++) < 0.3)
                m->adjacency[i * m->n + j] = naive_number(seed, &at, 0.1, 1);
    for (int s = 0; s < m->n_supports; s++) {
        m->support[s] = naive_array(n * n, sizeof(double));
        if (m->filter == GRAPH_LAPLACIAN)
            naive_laplacian(m->n, m->adjacency, m->support[s]);
        else
            naive_random_walk(m->n, m->adjacency, s, m->support[s]);
    }
    size_t n_x = (size_t)m->t * nodes * (size_t)m->d_in;
    m->x = naive_array(n_x, sizeof(double));
    m->y_z = naive_array(outs, sizeof(double));
    m->y_raw = naive_array(outs, sizeof(double));
    m->coins = naive_array((size_t)m->h, 1);
    for (size_t i = 0; i < n_x; i++)
        m->x[i] = naive_number(seed, &at, -2, 2);
    m->mean = 54.5;
    m->std = 16;
    for (size_t i = 0; i < outs; i++) {
        double speed = (double)(int)naive_number(seed, &at, 20, 75);
        m->y_raw[i] = rng_uniform(seed, RNG_TEST, at++) < 0.2 ? 0 : speed;
        m->y_z[i] = (m->y_raw[i] - m->mean) / m->std;
    }
    for (int i = 0; i < m->h; i++)
        m->coins[i] = rng_uniform(seed, RNG_TEST, at++) < 0.5;
    for (int decoder = 0; decoder < 2; decoder++)
        for (int l = 0; l < m->layers; l++) {
            char prefix[16];
            snprintf(prefix, sizeof prefix, "%s%d", decoder ? "dec" : "enc", l);
            int rows = ((l ? m->u : decoder ? m->d_out : m->d_in) + m->u) * m->terms;
            naive_tensor_add(m, prefix, "W_ru", rows, 2 * m->u, 2);
            naive_tensor_add(m, prefix, "b_ru", 1, 2 * m->u, 1);
            naive_tensor_add(m, prefix, "W_c", rows, m->u, 2);
            naive_tensor_add(m, prefix, "b_c", 1, m->u, 1);
        }
    naive_tensor_add(m, "proj", "W", m->u, m->d_out, 2);
    naive_tensor_add(m, "proj", "b", 1, m->d_out, 1);
    m->params = naive_array(m->n_params, sizeof(cplx));
    for (size_t i = 0; i < m->n_params; i++)
        m->params[i] = naive_number(seed, &at, -0.4, 0.4);
    m->pred_z = naive_array(outs, sizeof(cplx));
    for (int i = 0; i < 4; i++)
        m->cell0[i] = naive_array(nodes * (size_t)m->u, sizeof(cplx));
    m->enc_state = naive_array((size_t)m->layers * nodes * (size_t)m->u, sizeof(cplx));
    m->diffused0 = naive_array(nodes * (size_t)(m->d_in * m->terms), sizeof(double));
}

static inline void naive_release(struct naive *m)
{
    free(m->adjacency);
    free(m->support[0]);
    free(m->support[1]);
    free(m->x);
    free(m->y_z);
    free(m->y_raw);
    free(m->coins);
    free(m->params);
    free(m->pred_z);
    for (int i = 0; i < 4; i++)
        free(m->cell0[i]);
    free(m->enc_state);
    free(m->diffused0);
    memset(m, 0, sizeof *m);
}

/* ---- forward, one sample ---- */

/* z: (M, N, width), term 0 given. */
static inline void naive_diffuse(const struct naive *m, int width, cplx *z)
{
    size_t one = (size_t)(m->n * width);
    const cplx *start = z;
    cplx *out = z + one;
    for (int s = 0; s < m->n_supports; s++) {
        const cplx *before = NULL, *last = start;
        for (int k = 1; k <= m->k; k++) {
            for (int i = 0; i < m->n; i++)
                for (int f = 0; f < width; f++) {
                    cplx sum = 0;
                    for (int j = 0; j < m->n; j++)
                        sum += m->support[s][i * m->n + j] * last[j * width + f];
                    out[i * width + f] = k == 1 ? sum : 2 * sum - before[i * width + f];
                }
            before = last;
            last = out;
            out += one;
        }
        if (m->recursion == DCRNN_PUBLISHED)
            start = before; /* a_(K-1) */
    }
}

/* G(X)[n][o] = b[o] + sum_i sum_m Z_m[n][i] W[i M + m][o] for X = [a, c] joined along features. */
static inline void naive_convolve(const struct naive *m, int wa, const cplx *a, int wc, const cplx *c, int outs,
                                  const cplx *w, const cplx *b, cplx *y)
{
    int width = wa + wc;
    cplx *z = naive_array((size_t)(m->terms * m->n * width), sizeof *z);
    for (int i = 0; i < m->n; i++)
        for (int f = 0; f < width; f++)
            z[i * width + f] = f < wa ? a[i * wa + f] : c[i * wc + f - wa];
    naive_diffuse(m, width, z);
    for (int i = 0; i < m->n; i++)
        for (int o = 0; o < outs; o++) {
            cplx sum = b[o];
            for (int f = 0; f < width; f++)
                for (int term = 0; term < m->terms; term++)
                    sum += z[(term * m->n + i) * width + f] * w[(f * m->terms + term) * outs + o];
            y[i * outs + o] = sum;
        }
    free(z);
}

/* h is replaced by the new state; keep, unless NULL, gets r, u, c, h of this sample. */
static inline void naive_cell(const struct naive *m, const char *prefix, int width, const cplx *x, cplx *h, cplx **keep)
{
    int u = m->u, n = m->n;
    cplx *ru = naive_array((size_t)(n * 2 * u), sizeof *ru), *rh = naive_array((size_t)(n * u), sizeof *rh),
         *c = naive_array((size_t)(n * u), sizeof *c);
    naive_convolve(m, width, x, u, h, 2 * u, m->params + naive_find(m, prefix, "W_ru")->offset,
                   m->params + naive_find(m, prefix, "b_ru")->offset, ru);
    for (int i = 0; i < n * 2 * u; i++)
        ru[i] = 1 / (1 + cexp(-ru[i]));
    for (int i = 0; i < n; i++)
        for (int j = 0; j < u; j++)
            rh[i * u + j] = ru[i * 2 * u + j] * h[i * u + j];
    naive_convolve(m, width, x, u, rh, u, m->params + naive_find(m, prefix, "W_c")->offset,
                   m->params + naive_find(m, prefix, "b_c")->offset, c);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < u; j++) {
            cplx gate = ru[i * 2 * u + u + j], candidate = ctanh(c[i * u + j]);
            h[i * u + j] = gate * h[i * u + j] + (1 - gate) * candidate;
            if (keep) {
                keep[0][i * u + j] = ru[i * 2 * u + j];
                keep[1][i * u + j] = gate;
                keep[2][i * u + j] = candidate;
                keep[3][i * u + j] = h[i * u + j];
            }
        }
    free(ru);
    free(rh);
    free(c);
}

static inline void naive_sample(struct naive *m, int b)
{
    int n = m->n, u = m->u, d_out = m->d_out;
    size_t state = (size_t)(n * u);
    cplx *h = naive_array((size_t)m->layers * state, sizeof *h);
    cplx *in = naive_array((size_t)(n * (m->d_in + d_out)), sizeof *in);
    char prefix[16];
    for (int t = 0; t < m->t; t++)
        for (int l = 0; l < m->layers; l++) {
            cplx *keep[4];
            for (int i = 0; i < 4; i++)
                keep[i] = m->cell0[i] + (size_t)b * state;
            for (int i = 0; i < n * m->d_in; i++)
                in[i] = m->x[(t * m->b + b) * n * m->d_in + i];
            snprintf(prefix, sizeof prefix, "enc%d", l);
            naive_cell(m, prefix, l ? u : m->d_in, l ? h + (size_t)(l - 1) * state : in, h + (size_t)l * state,
                       t == 0 && l == 0 ? keep : NULL);
        }
    for (int l = 0; l < m->layers; l++)
        memcpy(m->enc_state + ((size_t)(l * m->b + b)) * state, h + (size_t)l * state, state * sizeof *h);
    memset(in, 0, (size_t)(n * d_out) * sizeof *in);
    const cplx *w = m->params + naive_find(m, "proj", "W")->offset,
               *bias = m->params + naive_find(m, "proj", "b")->offset;
    for (int t = 0; t < m->h; t++) {
        for (int l = 0; l < m->layers; l++) {
            snprintf(prefix, sizeof prefix, "dec%d", l);
            naive_cell(m, prefix, l ? u : d_out, l ? h + (size_t)(l - 1) * state : in, h + (size_t)l * state, NULL);
        }
        const cplx *top = h + (size_t)(m->layers - 1) * state;
        size_t at = (size_t)((t * m->b + b) * n * d_out);
        for (int i = 0; i < n; i++)
            for (int o = 0; o < d_out; o++) {
                cplx y = bias[o];
                for (int j = 0; j < u; j++)
                    y += top[i * u + j] * w[j * d_out + o];
                m->pred_z[at + (size_t)(i * d_out + o)] = y;
                in[i * d_out + o] = m->coins[t] ? m->y_z[at + (size_t)(i * d_out + o)] : y;
            }
    }
    free(in);
    free(h);
}

/* Predictions of all samples, and the loss: masked MAE in mph. |e| is continued analytically by the sign of its real
 * part. */
static inline cplx naive_loss(struct naive *m)
{
    cplx sum = 0;
    double n_valid = 0;
    for (int b = 0; b < m->b; b++)
        naive_sample(m, b);
    for (size_t i = 0; i < (size_t)(m->h * m->b * m->n * m->d_out); i++)
        if (m->y_raw[i] != 0) {
            cplx e = m->pred_z[i] * m->std + m->mean - m->y_raw[i];
            sum += creal(e) > 0 ? e : creal(e) < 0 ? -e : 0;
            n_valid++;
        }
    return n_valid > 0 ? sum / n_valid : 0;
}

/* d loss / d params[i]; the state of m afterwards is that of the perturbed run. */
static inline double naive_derivative(struct naive *m, size_t i)
{
    const double step = 1e-30;
    cplx was = m->params[i];
    m->params[i] = was + step * I;
    double d = cimag(naive_loss(m)) / step;
    m->params[i] = was;
    return d;
}

/* max|a-b| / max|b|, 0 if both are all zero. */
static inline double naive_error(size_t n, const double *a, const double *b)
{
    double difference = 0, size = 0;
    for (size_t i = 0; i < n; i++) {
        if (!(fabs(a[i] - b[i]) <= 1e300))
            return NAN;
        difference = fmax(difference, fabs(a[i] - b[i]));
        size = fmax(size, fabs(b[i]));
    }
    return difference == 0 ? 0 : difference / size;
}

#endif
