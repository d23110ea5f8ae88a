/* naive_case.h - writes results of the naive model (dcrnn_naive.h) as a reference case: case.json and .npy files in the
 * layout that `dcrnn-train --verify` reads. The _f32 files hold the double results rounded to float32: exact for inputs
 * and weights, and far closer to a float32 computation than the limit of that precision. */
#ifndef TESTS_UNIT_NAIVE_CASE_H
#define TESTS_UNIT_NAIVE_CASE_H

#include "tests/unit/dcrnn_naive.h"

#include <errno.h>
#include <sys/stat.h>

static inline void naive_write_npy(const char *dir, const char *name, int n_dims, const int *dims, const double *values)
{
    for (int is_double = 0; is_double < 2; is_double++) {
        char path[1024], header[256], shape[128] = "";
        size_t n = 1, used = 0;
        for (int d = 0; d < n_dims; d++) {
            n *= (size_t)dims[d];
            used += (size_t)snprintf(shape + used, sizeof shape - used, "%d,%s", dims[d], d + 1 < n_dims ? " " : "");
        }
        /* magic, version 1.0, header length; data start at a multiple of 64 */
        int text = snprintf(header, sizeof header, "{'descr': '<f%d', 'fortran_order': False, 'shape': (%s), }",
                            is_double ? 8 : 4, shape);
        int length = (10 + text + 1 + 63) / 64 * 64 - 10;
        snprintf(path, sizeof path, "%s/%s_%s.npy", dir, name, is_double ? "f64" : "f32");
        FILE *f = fopen(path, "wb");
        if (!f)
            abort();
        fwrite("\x93NUMPY\x01\x00", 1, 8, f);
        fputc(length & 255, f);
        fputc(length >> 8, f);
        fprintf(f, "%-*s\n", length - 1, header);
        for (size_t i = 0; i < n; i++) {
            float single = (float)values[i];
            fwrite(is_double ? (const void *)&values[i] : &single, is_double ? 8 : 4, 1, f);
        }
        if (fclose(f))
            abort();
    }
}

static inline void naive_write_complex(const char *dir, const char *name, int n_dims, const int *dims,
                                       const cplx *values)
{
    size_t n = 1;
    for (int d = 0; d < n_dims; d++)
        n *= (size_t)dims[d];
    double *real_part = naive_array(n, sizeof *real_part);
    for (size_t i = 0; i < n; i++)
        real_part[i] = creal(values[i]);
    naive_write_npy(dir, name, n_dims, dims, real_part);
    free(real_part);
}

static inline void naive_write_tensors(const struct naive *m, const char *dir, const char *prefix, const double *block)
{
    for (int i = 0; i < m->n_tensors; i++) {
        const struct naive_tensor *t = &m->tensor[i];
        const int both[] = {t->rows, t->cols}, one[] = {t->cols};
        char name[64];
        snprintf(name, sizeof name, "%s_%s", prefix, t->name);
        naive_write_npy(dir, name, t->rank, t->rank == 1 ? one : both, block + t->offset);
    }
}

static inline void naive_write_json(const struct naive *m, const char *dir, double clip, int adam_steps)
{
    static const char *const filters[] = {"laplacian", "random_walk", "dual_random_walk"};
    char path[1024];
    snprintf(path, sizeof path, "%s/case.json", dir);
    FILE *f = fopen(path, "w");
    if (!f)
        abort();
    fprintf(f,
            "{\"N\": %d, \"U\": %d, \"layers\": %d, \"B\": %d, \"T\": %d, \"H\": %d, \"K\": %d, \"Din\": %d, \"Dout\": "
            "%d,\n",
            m->n, m->u, m->layers, m->b, m->t, m->h, m->k, m->d_in, m->d_out);
    fprintf(f, " \"filter\": \"%s\", \"recursion\": \"%s\", \"coins\": [", filters[m->filter],
            m->recursion == DCRNN_RESET ? "reset" : "published");
    for (int t = 0; t < m->h; t++)
        fprintf(f, "%s%d", t ? ", " : "", m->coins[t]);
    fprintf(
        f, "],\n \"mean\": %.17g, \"std\": %.17g, \"lr\": 0.01, \"eps\": 0.001, \"clip\": %.17g, \"adam_steps\": %d}\n",
        m->mean, m->std, clip, adam_steps);
    if (fclose(f))
        abort();
}

static inline void naive_write_inputs(struct naive *m, const char *dir)
{
    char name[24];
    const int square[] = {m->n, m->n}, x[] = {m->t, m->b, m->n, m->d_in}, y[] = {m->h, m->b, m->n, m->d_out};
    const int diffused[] = {m->b, m->n, m->d_in, m->terms};
    naive_write_npy(dir, "adj", 2, square, m->adjacency);
    for (int s = 0; s < m->n_supports; s++) {
        snprintf(name, sizeof name, "support%d", s);
        naive_write_npy(dir, name, 2, square, m->support[s]);
    }
    naive_write_npy(dir, "x", 4, x, m->x);
    naive_write_npy(dir, "y_z", 4, y, m->y_z);
    naive_write_npy(dir, "y_raw", 4, y, m->y_raw);
    cplx *z = naive_array((size_t)(m->terms * m->n * m->d_in), sizeof *z);
    for (int b = 0; b < m->b; b++) {
        for (int i = 0; i < m->n * m->d_in; i++)
            z[i] = m->x[b * m->n * m->d_in + i];
        naive_diffuse(m, m->d_in, z);
        for (int term = 0; term < m->terms; term++)
            for (int i = 0; i < m->n * m->d_in; i++)
                m->diffused0[(b * m->n * m->d_in + i) * m->terms + term] = creal(z[term * m->n * m->d_in + i]);
    }
    free(z);
    naive_write_npy(dir, "diffused0", 4, diffused, m->diffused0);
}

/* One optimiser step on the case's batch. g, moments and p are plain doubles; m->params follows p. */
static inline void naive_step(struct naive *m, int step, double clip, double *p, double *g, double *mean,
                              double *square)
{
    double norm = 0;
    for (size_t i = 0; i < m->n_params; i++)
        norm += g[i] * g[i];
    double factor = fmin(1, clip / (sqrt(norm) + 1e-6));
    for (size_t i = 0; i < m->n_params; i++) {
        double gi = g[i] * factor;
        mean[i] = 0.9 * mean[i] + 0.1 * gi;
        square[i] = 0.999 * square[i] + 0.001 * gi * gi;
        p[i] -= 0.01 * (mean[i] / (1 - pow(0.9, step))) / (sqrt(square[i] / (1 - pow(0.999, step))) + 1e-3);
        m->params[i] = p[i];
    }
}

/* The whole case into dir, which is made. adam_steps is 1 or more; p1 and the last update are kept. */
static inline void naive_write_case(struct naive *m, const char *dir, double clip, int adam_steps)
{
    static const char *const gates[] = {"cell0_r", "cell0_u", "cell0_c", "cell0_h"};
    const int state[] = {m->b, m->n, m->u}, states[] = {m->layers, m->b, m->n, m->u}, steps[] = {adam_steps};
    const int y[] = {m->h, m->b, m->n, m->d_out};
    size_t n = m->n_params;
    double *p = naive_array(n, sizeof *p), *g = naive_array(n, sizeof *g), *mean = naive_array(n, sizeof *mean);
    double *square = naive_array(n, sizeof *square);
    double *loss = naive_array((size_t)adam_steps, sizeof *loss), *norm = naive_array((size_t)adam_steps, sizeof *norm);
    if (mkdir(dir, 0777) && errno != EEXIST)
        abort();
    naive_write_json(m, dir, clip, adam_steps);
    naive_write_inputs(m, dir);
    for (size_t i = 0; i < n; i++)
        p[i] = creal(m->params[i]);
    naive_write_tensors(m, dir, "p0", p);
    for (int step = 1; step <= adam_steps; step++) {
        for (size_t i = 0; i < n; i++) {
            g[i] = naive_derivative(m, i);
            norm[step - 1] += g[i] * g[i];
        }
        norm[step - 1] = sqrt(norm[step - 1]);
        loss[step - 1] = creal(naive_loss(m));
        if (step == 1) {
            naive_write_tensors(m, dir, "g", g);
            naive_write_complex(dir, "pred_z", 4, y, m->pred_z);
            naive_write_complex(dir, "enc_state", 4, states, m->enc_state);
            for (int i = 0; i < 4; i++)
                naive_write_complex(dir, gates[i], 3, state, m->cell0[i]);
        }
        naive_step(m, step, clip, p, g, mean, square);
        char prefix[16];
        snprintf(prefix, sizeof prefix, "p%d", step);
        if (step == 1 || step == adam_steps)
            naive_write_tensors(m, dir, prefix, p);
    }
    naive_write_npy(dir, "loss", 1, steps, loss);
    naive_write_npy(dir, "grad_norm", 1, steps, norm);
    double *all[] = {p, g, mean, square, loss, norm};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
}

#endif
