/* packed.cu - where each parameter stands in the packed weights; layouts in model.cuh. Called by model.cu; the copying
 * is launch_pack's. */
#include "trainer/gpu/model.cuh"

#include <cstdlib>

void packed_place(struct gpu *g)
{
    const size_t p = (size_t)g->width, depth = p * (size_t)g->n_terms;
    size_t at = 0;
    /* Every part begins where vectors of 16 bytes may, in either type. */
    auto place = [&](size_t n) {
        size_t here = at;
        at = (at + n + 7) / 8 * 8;
        return here;
    };
    for (int d = 0; d < 2; d++)
        for (int l = 0; l < g->c.n_layers; l++) {
            struct packed_cell *w = &g->at[d][l];
            const size_t n_x = l > 0 ? depth : (size_t)g->n_x[d];
            w->x = place((n_x + 1) * 3 * p);
            w->b = w->x + n_x * 3 * p;
            w->ru = place(depth * 2 * p);
            w->c = place(depth * p);
        }
    g->proj = place((size_t)g->c.d_out * (p + 1));
    g->n_packed = at;
}

/* One convolution's rows i * M + m of the parameter block, with i counted from i0, to rows m * width + i of `to`, whose
 * columns from `column` on are groups of P, one for each of `gates` groups of U. */
static void map_rows(const struct gpu *g, int *to, int ld, int column, int width, int i0, int n_i, size_t from,
                     int gates)
{
    const int units = g->c.n_units;
    for (int i = 0; i < n_i; i++)
        for (int m = 0; m < g->n_terms; m++)
            for (int k = 0; k < gates; k++)
                for (int o = 0; o < units; o++)
                    to[(size_t)(m * width + i) * (size_t)ld + (size_t)(column + k * g->width + o)] =
                        (int)(from + (size_t)((i0 + i) * g->n_terms + m) * (size_t)(gates * units) +
                              (size_t)(k * units + o));
}

static void map_cell(const struct gpu *g, int *map, int d, int l)
{
    const struct packed_cell *w = &g->at[d][l];
    const struct gpu_tensors *from = &g->c.at[d][l];
    const int p = g->width, units = g->c.n_units, n_f = l > 0 ? units : d ? g->c.d_out : g->c.d_in;
    const int width_x = l > 0 ? p : n_f; /* terms of a narrow input stand close */
    map_rows(g, map + w->x, 3 * p, 0, width_x, 0, n_f, from->w_ru, 2);
    map_rows(g, map + w->x, 3 * p, 2 * p, width_x, 0, n_f, from->w_c, 1);
    map_rows(g, map + w->ru, 2 * p, 0, p, n_f, units, from->w_ru, 2);
    map_rows(g, map + w->c, p, 0, p, n_f, units, from->w_c, 1);
    for (int o = 0; o < units; o++) {
        map[w->b + (size_t)o] = (int)(from->b_ru + (size_t)o);
        map[w->b + (size_t)(p + o)] = (int)(from->b_ru + (size_t)(units + o));
        map[w->b + (size_t)(2 * p + o)] = (int)(from->b_c + (size_t)o);
    }
}

int packed_fill_map(struct gpu *g, struct dcr_err *err)
{
    int *map = (int *)std::malloc(g->n_packed * sizeof *map);
    if (!map)
        return dcr_err_set(err, DCR_FATAL, "no memory for a table of %zu weights", g->n_packed);
    for (size_t i = 0; i < g->n_packed; i++)
        map[i] = -1;
    for (int d = 0; d < 2; d++)
        for (int l = 0; l < g->c.n_layers; l++)
            map_cell(g, map, d, l);
    for (int o = 0; o < g->c.d_out; o++) {
        int *row = map + g->proj + (size_t)(o * (g->width + 1));
        for (int i = 0; i < g->c.n_units; i++)
            row[i] = (int)(g->c.proj_w + (size_t)(i * g->c.d_out + o));
        row[g->width] = (int)(g->c.proj_b + (size_t)o);
    }
    int rc = CUDA_CHECK(cudaMemcpy(g->map, map, g->n_packed * sizeof *map, cudaMemcpyHostToDevice), err);
    std::free(map);
    return rc;
}
