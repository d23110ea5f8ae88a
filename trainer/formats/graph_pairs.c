/* graph_pairs.c - see graph_pairs.h. */
#include "trainer/formats/graph_pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sensors sorted by id, to look them up by halving. */
struct graph_sensor {
    const char *id;
    int sensor;
};

static int by_id(const void *a, const void *b)
{
    return strcmp(((const struct graph_sensor *)a)->id, ((const struct graph_sensor *)b)->id);
}

int graph_pairs_begin(struct graph_pairs *p, const struct graph_file *file, const struct dataset *d,
                      struct dcr_err *err)
{
    memset(p, 0, sizeof *p);
    p->file = file;
    p->d = d;
    p->index = calloc(d->n_sensors, sizeof *p->index);
    p->is_named = calloc(d->n_sensors, 1);
    if (!p->index || !p->is_named)
        return dcr_err_set(err, DCR_FATAL, "out of memory for %zu sensors", d->n_sensors);
    for (size_t i = 0; i < d->n_sensors; i++)
        p->index[i] = (struct graph_sensor){d->id[i], (int)i};
    qsort(p->index, d->n_sensors, sizeof *p->index, by_id);
    return 0;
}

void graph_pairs_release(struct graph_pairs *p)
{
    free(p->index);
    free(p->is_named);
    free(p->pair);
    memset(p, 0, sizeof *p);
}

int graph_pairs_find(struct graph_pairs *p, const char *id, const char *place, int *sensor, struct dcr_err *err)
{
    struct graph_sensor key = {.id = id};
    const struct graph_sensor *hit = bsearch(&key, p->index, p->d->n_sensors, sizeof *p->index, by_id);
    if (hit) {
        *sensor = hit->sensor;
        p->is_named[hit->sensor] = 1;
        return 0;
    }
    if (p->file->is_subset)
        return DCR_END;
    return dcr_err_set(err, DCR_FAIL, "%s: sensor '%.40s' is not in the data%s", place, id,
                       p->d->is_numbered ? ", which name no sensors; --sensor-ids FILE names them"
                                         : "; --graph-subset passes such lines over");
}

int graph_pairs_add(struct graph_pairs *p, int from, int to, double value, size_t line, struct dcr_err *err)
{
    if (p->n == p->cap) {
        size_t cap = p->cap ? 2 * p->cap : 1024;
        struct graph_pair *grown = realloc(p->pair, cap * sizeof *grown);
        if (!grown)
            return dcr_err_set(err, DCR_FATAL, "out of memory for %zu pairs of sensors", cap);
        p->pair = grown;
        p->cap = cap;
    }
    p->pair[p->n++] = (struct graph_pair){from, to, value, line};
    return 0;
}

int graph_pairs_add_cell(struct graph_pairs *p, int from, int to, double value, struct dcr_err *err)
{
    if (isnan(value) || (!p->is_distance && (value < 0 || isinf(value))))
        return dcr_err_set(err, DCR_FAIL, "'%s' row %d, column %d: %g is no %s", p->file->path, from + 1, to + 1, value,
                           p->is_distance ? "distance" : "weight");
    if (p->is_distance ? value < 0 || isinf(value) : value == 0)
        return 0;
    return graph_pairs_add(p, from, to, value, 0, err);
}

void graph_pairs_name_all(struct graph_pairs *p)
{
    memset(p->is_named, 1, p->d->n_sensors);
}

/* By row and column, the earlier line first. */
static int by_place(const void *a, const void *b)
{
    const struct graph_pair *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

/* Sorted, and each pair once: a list may repeat a pair, but not with another value. */
static int sort_pairs(struct graph_pairs *p, struct dcr_err *err)
{
    size_t n = 0;
    if (p->n)
        qsort(p->pair, p->n, sizeof *p->pair, by_place);
    for (size_t k = 0; k < p->n; k++) {
        const struct graph_pair *now = &p->pair[k], *before = n ? &p->pair[n - 1] : NULL;
        if (!before || before->from != now->from || before->to != now->to)
            p->pair[n++] = *now;
        else if (before->value != now->value)
            return dcr_err_set(err, DCR_FAIL, "'%s' line %zu: the pair %s,%s came before with another value (%g)",
                               p->file->path, now->line, p->d->id[now->from], p->d->id[now->to], before->value);
    }
    p->n = n;
    return 0;
}

/* A file that leaves a sensor out is nearly always the wrong file. */
static int check_whole(const struct graph_pairs *p, struct dcr_err *err)
{
    const char *path = p->file->path;
    double largest = 0;
    for (size_t k = 0; k < p->n; k++)
        largest = fmax(largest, p->pair[k].value);
    for (size_t i = 0; i < p->d->n_sensors; i++)
        if (!p->is_named[i])
            return dcr_err_set(err, DCR_FAIL, "'%s' never names sensor '%s' of the data", path, p->d->id[i]);
    if (p->is_distance && p->d->n_sensors > 1 && largest <= 1)
        return dcr_err_set(err, DCR_FAIL,
                           "'%s': no distance exceeds 1 metre; if these are weights, say --graph-format weights", path);
    if (largest <= 0)
        return dcr_err_set(err, DCR_FAIL, "'%s' joins no two sensors", path);
    return 0;
}

int graph_pairs_adjacency(struct graph_pairs *p, struct graph_csr *out, struct dcr_err *err)
{
    const int n_sensors = (int)p->d->n_sensors;
    int rc = sort_pairs(p, err);
    if (!rc)
        rc = check_whole(p, err);
    if (rc)
        return rc;
    int *from = calloc(p->n, sizeof *from), *to = calloc(p->n, sizeof *to);
    double *value = calloc(p->n, sizeof *value);
    if (!from || !to || !value)
        rc = dcr_err_set(err, DCR_FATAL, "out of memory for %zu pairs of sensors", p->n);
    for (size_t k = 0; !rc && k < p->n; k++) {
        from[k] = p->pair[k].from;
        to[k] = p->pair[k].to;
        value[k] = p->pair[k].value;
    }
    if (!rc) {
        rc = p->is_distance ? graph_from_distances(n_sensors, (int64_t)p->n, from, to, value, out, err)
                            : graph_csr_from_triplets(n_sensors, (int64_t)p->n, from, to, value, out, err);
        if (rc)
            dcr_err_while(err, "'%s'", p->file->path);
    }
    free(from);
    free(to);
    free(value);
    return rc;
}
