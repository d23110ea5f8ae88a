/* input.c - the data set and the road graph of a run: input_load of train.h. */
#include "trainer/run/train.h"

#include "lib/base/hash.h"
#include "trainer/simulate/simulate.h"

#include <stdlib.h>
#include <string.h>

static int read_files(struct input *in, const struct options *o, struct dcr_err *err)
{
    struct dataset_file data = {o->data,         o->header,         o->sensor_ids, o->data_key,
                                o->data_feature, o->has_start_time, o->start_s};
    struct graph_file graph = {o->graph, o->graph_format, o->graph_subset};
    int rc = dataset_read(&in->data, &data, err);
    if (!rc)
        rc = graph_read(&graph, &in->data, &in->adjacency, &in->n_graph_lines_passed_over, err);
    return rc;
}

static int generate(struct input *in, const struct options *o, struct dcr_err *err)
{
    struct simulate_config c = {.seed = o->data_seed, .n_sensors = (size_t)o->sensors, .n_days = (size_t)o->days};
    struct sim_distances distances = {0};
    int rc = simulate_traffic(&c, &in->data, &distances, err);
    if (!rc)
        rc = simulate_adjacency(&distances, c.n_sensors, &in->adjacency, err);
    sim_distances_release(&distances);
    return rc;
}

/* Pointers in the struct stay those of each rank; everything else is sent. */
static int share(struct input *in, struct comm *c, struct dcr_err *err)
{
    struct dataset *d = &in->data, head = *d;
    struct graph_csr *a = &in->adjacency;
    int nnz = c->rank == 0 ? graph_csr_nnz(a) : 0, rc = 0;
    comm_broadcast(c, &head, sizeof head);
    comm_broadcast(c, &nnz, sizeof nnz);
    if (c->rank) {
        rc = dataset_alloc(d, head.n_rows, head.n_sensors, err);
        a->n = (int)head.n_sensors;
        a->row_start = calloc(head.n_sensors + 1, sizeof *a->row_start);
        a->col = calloc((size_t)nnz, sizeof *a->col);
        a->val = calloc((size_t)nnz, sizeof *a->val);
        if (!rc && (!a->row_start || !a->col || !a->val))
            rc = dcr_err_set(err, DCR_FATAL, "out of memory for a graph of %d edges", nnz);
    }
    rc = comm_first_failure(c, rc, err);
    if (rc)
        return rc;
    head.speed_mph = d->speed_mph;
    head.time_of_day = d->time_of_day;
    head.week_slot = d->week_slot;
    head.id = d->id;
    *d = head;
    comm_broadcast(c, d->speed_mph, d->n_rows * d->n_sensors * sizeof *d->speed_mph);
    comm_broadcast(c, d->time_of_day, d->n_rows * sizeof *d->time_of_day);
    comm_broadcast(c, d->week_slot, d->n_rows * sizeof *d->week_slot);
    comm_broadcast(c, d->id, d->n_sensors * sizeof *d->id);
    comm_broadcast(c, a->row_start, (d->n_sensors + 1) * sizeof *a->row_start);
    comm_broadcast(c, a->col, (size_t)nnz * sizeof *a->col);
    comm_broadcast(c, a->val, (size_t)nnz * sizeof *a->val);
    return 0;
}

int input_load(struct input *in, const struct options *o, struct comm *c, struct dcr_err *err)
{
    struct dataset *d = &in->data;
    int rc = 0;
    memset(in, 0, sizeof *in);
    if (c->rank == 0) {
        rc = o->data ? read_files(in, o, err) : generate(in, o, err);
        if (!rc)
            rc = dataset_split(d, (size_t)o->input_steps, (size_t)o->forecast_steps, err);
        if (rc && o->data)
            dcr_err_while(err, "cannot use these data");
    }
    rc = comm_first_failure(c, rc, err);
    if (!rc)
        rc = share(in, c, err);
    if (rc) {
        input_release(in);
        return rc;
    }
    in->crc = dcr_crc32c(0, d->speed_mph, d->n_rows * d->n_sensors * sizeof *d->speed_mph);
    in->crc = dcr_crc32c(in->crc, d->time_of_day, d->n_rows * sizeof *d->time_of_day);
    in->crc = dcr_crc32c(in->crc, in->adjacency.col, (size_t)graph_csr_nnz(&in->adjacency) * sizeof(int));
    in->crc = dcr_crc32c(in->crc, in->adjacency.val, (size_t)graph_csr_nnz(&in->adjacency) * sizeof(double));
    return 0;
}

void input_release(struct input *in)
{
    dataset_release(&in->data);
    graph_csr_free(&in->adjacency);
    memset(in, 0, sizeof *in);
}
