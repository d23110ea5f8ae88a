/* graph_pickle.c - the road graph as DCRNN publishes it: adj_mx.pkl, a Python pickle of [sensor ids, index of each id,
 * matrix of weights]. Read without running anything of it: pickle.h. Called by graph_read.c. */
#include "trainer/formats/graph_pairs.h"

#include "lib/base/stream.h"
#include "lib/base/buf.h"
#include "trainer/formats/file_kind.h"
#include "trainer/formats/pickle.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_BYTES ((size_t)1 << 30)

/* Adds to the sentence what its owner can do. Python runs what the file holds, so this is no advice for everybody's. */
static int advise(const char *path, struct dcr_err *err)
{
    char why[400] = "";
    if (err)
        snprintf(why, sizeof why, "%.399s", err->text);
    return dcr_err_set(err, DCR_FAIL,
                       "%s; if you trust who made it: python3 -c \"import pickle, numpy; numpy.save('adj.npy', "
                       "pickle.load(open('%.99s', 'rb'), encoding='latin1')[2])\", then --graph adj.npy --graph-format "
                       "weight-matrix",
                       why, file_base_name(path));
}

/* An id is a text or a number. */
static int id_of(const struct pickle_value *v, char *out, size_t n)
{
    if (v->type == PICKLE_INT)
        snprintf(out, n, "%lld", v->integer);
    else if (v->type == PICKLE_TEXT && v->n < n && !memchr(v->bytes, 0, v->n))
        snprintf(out, n, "%.*s", (int)v->n, v->bytes);
    else
        return -1;
    return 0;
}

/* Where each row of the matrix stands among the sensors of the data; -1: not there. */
static int find_sensors(struct graph_pairs *p, const struct pickle_value *ids, int *sensor, struct dcr_err *err)
{
    char id[DATASET_ID_BYTES], place[600];
    unsigned char *is_taken = calloc(p->d->n_sensors, 1);
    int rc = is_taken ? 0 : dcr_err_set(err, DCR_FATAL, "out of memory for %zu sensors", p->d->n_sensors);
    for (size_t i = 0; !rc && i < ids->n; i++) {
        snprintf(place, sizeof place, "'%.500s' sensor %zu", p->file->path, i + 1);
        sensor[i] = -1;
        if (id_of(ids->items[i], id, sizeof id))
            rc = dcr_err_set(err, DCR_FAIL, "%s has an id that is no text of up to %d characters", place,
                             DATASET_ID_BYTES - 1);
        else if ((rc = graph_pairs_find(p, id, place, &sensor[i], err)) == DCR_END) {
            p->n_unknown++;
            rc = 0;
        } else if (!rc && is_taken[sensor[i]]++) {
            rc = dcr_err_set(err, DCR_FAIL, "%s: id '%s' occurs twice", place, id);
        }
    }
    free(is_taken);
    return rc;
}

static int add_matrix(struct graph_pairs *p, const struct pickle_value *ids, const struct pickle_value *matrix,
                      struct dcr_err *err)
{
    const size_t n = ids->n;
    const struct npy_type *type = &matrix->dtype->type_of_items;
    const unsigned char *raw = (const unsigned char *)matrix->data->bytes;
    int *sensor = calloc(n, sizeof *sensor);
    int rc = sensor ? find_sensors(p, ids, sensor, err) : dcr_err_set(err, DCR_FATAL, "out of memory");
    for (size_t k = 0; !rc && k < n * n; k++) {
        size_t i = matrix->is_fortran ? k % n : k / n, j = matrix->is_fortran ? k / n : k % n;
        if (sensor[i] >= 0 && sensor[j] >= 0)
            rc = graph_pairs_add_cell(p, sensor[i], sensor[j], npy_number(type, raw + k * type->item_bytes), err);
    }
    free(sensor);
    return rc;
}

/* [ids, index, matrix] */
static int add_published(struct graph_pairs *p, const struct pickle_value *all, struct dcr_err *err)
{
    const struct pickle_value *ids, *matrix;
    const char *wrong = NULL;
    if ((all->type != PICKLE_LIST && all->type != PICKLE_TUPLE) || all->n != 3)
        wrong = "three parts";
    else if (ids = all->items[0], (ids->type != PICKLE_LIST && ids->type != PICKLE_TUPLE) || !ids->n)
        wrong = "sensor ids in the first place";
    else if (matrix = all->items[2], matrix->type != PICKLE_ARRAY || !matrix->dtype)
        wrong = "a matrix in the third place";
    else if (matrix->shape->n != 2 || matrix->shape->items[0]->integer != (long long)ids->n ||
             matrix->shape->items[1]->integer != (long long)ids->n)
        wrong = "a row and a column for each sensor id";
    else
        return add_matrix(p, ids, matrix, err);
    return dcr_err_set(err, DCR_FAIL,
                       "'%s' is a pickle, but not of [sensor ids, index, matrix]: it lacks %s; write its matrix with "
                       "numpy.save and give that (docs/data.md)",
                       p->file->path, wrong);
}

int graph_pickle(struct graph_pairs *p, struct dcr_err *err)
{
    const char *path = p->file->path;
    struct dcr_buf bytes = {.max = MAX_BYTES};
    struct dcr_arena arena = {0};
    struct pickle_value *all = NULL;
    if (p->file->format != GRAPH_AUTO && p->file->format != GRAPH_WEIGHT_MATRIX)
        return dcr_err_set(err, DCR_FAIL, "'%s' is a pickle of weights: leave --graph-format out", path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return dcr_err_sys(err, DCR_FAIL, "cannot open '%s'", path);
    struct dcr_stream s = dcr_stream_fd(&fd, path);
    int rc = dcr_stream_slurp(&s, &bytes, MAX_BYTES, err);
    close(fd);
    if (!rc && pickle_read(bytes.data, bytes.len, path, &arena, &all, err))
        rc = advise(path, err);
    if (!rc)
        rc = add_published(p, all, err);
    dcr_arena_release(&arena);
    dcr_buf_release(&bytes);
    return rc;
}
