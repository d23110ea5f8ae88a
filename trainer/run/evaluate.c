/* evaluate.c - see evaluate.h. */
#include "trainer/run/evaluate.h"

#include "trainer/data/loader.h"

#include <stdlib.h>
#include <string.h>

int batch_room_alloc(struct batch_room *r, const struct dataset *d, size_t max_windows, struct dcr_err *err)
{
    size_t per_row = max_windows * d->n_sensors;
    r->max_windows = max_windows;
    r->windows = calloc(max_windows, sizeof *r->windows);
    r->x = calloc(d->n_in * per_row * DATASET_FEATURES, sizeof *r->x);
    r->y_z = calloc(d->n_out * per_row, sizeof *r->y_z);
    r->y_mph = calloc(d->n_out * per_row, sizeof *r->y_mph);
    if (r->windows && r->x && r->y_z && r->y_mph)
        return 0;
    batch_room_release(r);
    return dcr_err_set(err, DCR_FATAL, "out of memory for batches of %zu windows", max_windows);
}

void batch_room_release(struct batch_room *r)
{
    free(r->windows);
    free(r->x);
    free(r->y_z);
    free(r->y_mph);
    memset(r, 0, sizeof *r);
}

static size_t n_evaluated(struct window_range range, size_t n_windows)
{
    return n_windows && n_windows < range.count ? n_windows : range.count;
}

size_t evaluate_count(struct window_range range, size_t n_windows, const struct comm *c)
{
    size_t first, count;
    sampler_share(n_evaluated(range, n_windows), c->rank, c->n_ranks, &first, &count);
    return count;
}

int evaluate_model(struct backend *be, const struct dataset *d, struct window_range range, size_t n_windows,
                   struct batch_room *room, struct comm *c, int (*stop)(void), struct loss_horizon *sums)
{
    size_t n = n_evaluated(range, n_windows), first, count;
    double n_stopped = 0;
    memset(sums, 0, d->n_out * sizeof *sums);
    sampler_share(n, c->rank, c->n_ranks, &first, &count);
    for (size_t done = 0; done < count; done += room->max_windows) {
        if (stop && stop()) {
            n_stopped = 1;
            break;
        }
        size_t b = count - done < room->max_windows ? count - done : room->max_windows;
        for (size_t i = 0; i < b; i++)
            room->windows[i] = (uint32_t)(range.first + (first + done + i) * range.count / n);
        dataset_batch(d, room->windows, b, room->x, NULL, room->y_mph);
        be->evaluate(be, &(struct backend_batch){.n = (int)b, .x = room->x, .raw = room->y_mph}, sums);
    }
    comm_sum_f64(c, (double *)sums, d->n_out * sizeof *sums / sizeof(double));
    comm_sum_f64(c, &n_stopped, 1);
    return n_stopped == 0;
}

struct loss_horizon evaluate_total(const struct loss_horizon *sums, size_t n_out)
{
    struct loss_horizon all = {0};
    for (size_t t = 0; t < n_out; t++) {
        all.abs += sums[t].abs;
        all.square += sums[t].square;
        all.relative += sums[t].relative;
        all.n_valid += sums[t].n_valid;
    }
    return all;
}
