/* loader.c - see loader.h.
 *
 * Batches of a plan are numbered from 0. Number k lives in slot k modulo the number of slots, n_ahead + 1; it may be
 * filled as soon as the batch that had the slot before was given back. Its windows are handed out in pieces to the
 * workers, or to loader_next itself when there are none. */
#include "trainer/data/loader.h"

#include "lib/base/thread.h"
#include "trainer/mark.h"
#include "trainer/model/rng.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---- order and shares ---------------------------------------------------------------------------- */

void sampler_permute(uint64_t seed, uint64_t epoch, uint32_t *windows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        windows[i] = (uint32_t)i;
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)rng_below(seed, RNG_SHUFFLE, epoch << 32 | (i - 1), i);
        uint32_t w = windows[i - 1];
        windows[i - 1] = windows[j];
        windows[j] = w;
    }
}

size_t sampler_steps(size_t n, size_t global_batch)
{
    return (n + global_batch - 1) / global_batch;
}

uint32_t sampler_window(const uint32_t *windows, size_t n, size_t k)
{
    return windows[k % n];
}

void sampler_share(size_t n, int rank, int n_ranks, size_t *first, size_t *count)
{
    size_t r = (size_t)rank, ranks = (size_t)n_ranks;
    *first = n * r / ranks;
    *count = n * (r + 1) / ranks - *first;
}

/* Rounding must not lose the last item. */
static size_t bound_at(size_t n, double part, double sum)
{
    return part < sum ? (size_t)((double)n * part / sum) : n;
}

void sampler_share_weighted(size_t n, const double *weights, int rank, int n_ranks, size_t *first, size_t *count)
{
    double sum = 0, before = 0, behind = 0;
    for (int r = 0; r < n_ranks; r++) {
        before = r == rank ? sum : before;
        sum += weights[r];
        behind = r == rank ? sum : behind;
    }
    *first = bound_at(n, before, sum);
    *count = bound_at(n, behind, sum) - *first;
}

/* ---- a loader ------------------------------------------------------------------------------------ */

/* One batch. The lock guards everything except the arrays, which belong to the thread that was given the windows. */
struct slot {
    size_t n, n_given, n_done; /* windows: of the batch, handed out, filled */
    uint32_t *windows;         /* (max_windows) */
    float *x, *y_z, *y_mph;
    size_t bad_place; /* of the first window that failed; n_done counts it too */
    int rc;
    struct dcr_err err;
};

/* A piece of a batch to be filled. */
struct piece {
    struct slot *slot;
    size_t first, n;
};

/* Data that a thread needs to fill windows. */
struct hand {
    struct loader *l;
    struct window_reader *reader; /* NULL: from memory */
    float *speed, *time;          /* one window; only with a reader */
};

struct loader {
    struct loader_config c;
    size_t n_slots;
    struct slot *slots;
    struct hand *hands; /* one a worker, or one for loader_next */
    size_t n_hands;
    pthread_t *threads;
    int n_threads; /* running */

    pthread_mutex_t lock;
    pthread_cond_t has_work, has_result;
    struct loader_plan plan;
    size_t n_batches; /* of the plan */
    size_t n_asked;   /* batches asked for */
    size_t filling;   /* number of the batch whose windows are being handed out */
    int is_prepared;  /* the windows of its slot are known */
    int n_busy;       /* pieces under way */
    int is_closing;
};

/* ---- filling ------------------------------------------------------------------------------------ */

static int fill_window(struct hand *h, struct slot *s, size_t place, struct dcr_err *err)
{
    const struct dataset *d = h->l->c.data;
    uint32_t w = s->windows[place];
    const float *speed = d->speed_mph + w * d->n_sensors, *time = d->time_of_day + w;
    if (h->reader) {
        int rc = window_reader_read(h->reader, w, h->speed, h->time, err);
        if (rc)
            return rc;
        speed = h->speed;
        time = h->time;
    }
    dataset_window(d, speed, time, place, s->n, s->x, s->y_z, s->y_mph);
    return 0;
}

/* The windows of batch number `k`. */
static void prepare(struct loader *l, struct slot *s, size_t k)
{
    const struct loader_plan *p = &l->plan;
    size_t step = p->first_step + k / (size_t)p->n_micro, first;
    sampler_share(p->share, (int)(k % (size_t)p->n_micro), p->n_micro, &first, &s->n);
    size_t place = step * p->global_batch + p->first + first;
    for (size_t i = 0; i < s->n; i++)
        s->windows[i] = sampler_window(p->order, p->n, place + i);
    s->n_given = s->n_done = 0;
    s->rc = 0;
}

/* The next windows to fill; called with the lock held. returns 0 when there is nothing to do now. */
static int claim(struct loader *l, struct piece *piece)
{
    while (l->filling < l->n_batches && l->filling < l->n_asked + (size_t)l->c.n_ahead) {
        struct slot *s = &l->slots[l->filling % l->n_slots];
        if (!l->is_prepared)
            prepare(l, s, l->filling);
        size_t left = s->n - s->n_given;
        /* two pieces a worker: few enough to cost nothing, and enough for workers to end together */
        size_t n = (s->n + 2 * l->n_hands - 1) / (2 * l->n_hands);
        *piece = (struct piece){s, s->n_given, n < left ? n : left};
        s->n_given += piece->n;
        l->is_prepared = s->n_given < s->n;
        l->filling += !l->is_prepared;
        if (piece->n) {
            l->n_busy++;
            return 1;
        }
        pthread_cond_broadcast(&l->has_result); /* a batch without windows is complete at once */
    }
    return 0;
}

/* Called without the lock. */
static void fill(struct hand *h, const struct piece *p, size_t *bad_place, int *rc, struct dcr_err *err)
{
    *rc = 0;
    for (size_t i = 0; i < p->n && !*rc; i++) {
        *rc = fill_window(h, p->slot, p->first + i, err);
        *bad_place = p->first + i;
    }
}

/* Called with the lock held. If several windows fail, the failure of the lowest place is reported, whichever came
 * first. */
static void put_back(struct loader *l, const struct piece *p, size_t bad_place, int rc, const struct dcr_err *err)
{
    struct slot *s = p->slot;
    if (rc && (!s->rc || bad_place < s->bad_place)) {
        s->rc = rc;
        s->bad_place = bad_place;
        s->err = *err;
    }
    s->n_done += p->n;
    l->n_busy--;
    if (s->n_done == s->n || l->n_busy == 0)
        pthread_cond_broadcast(&l->has_result);
}

static void fill_pieces(struct hand *h)
{
    struct loader *l = h->l;
    struct piece p;
    while (!l->is_closing && claim(l, &p)) {
        struct dcr_err err = {0};
        size_t bad_place = 0;
        int rc;
        pthread_mutex_unlock(&l->lock);
        if (l->c.n_workers) /* without workers it is the training loop's own time, which has a name */
            mark_push(MARK_DECODE, p.n);
        fill(h, &p, &bad_place, &rc, &err);
        if (l->c.n_workers)
            mark_pop();
        pthread_mutex_lock(&l->lock);
        put_back(l, &p, bad_place, rc, &err);
    }
}

static void *worker(void *arg)
{
    struct hand *h = arg;
    struct loader *l = h->l;
    pthread_mutex_lock(&l->lock);
    while (!l->is_closing) {
        fill_pieces(h);
        if (!l->is_closing)
            pthread_cond_wait(&l->has_work, &l->lock);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

/* ---- opening and closing ------------------------------------------------------------------------ */

static int slots_alloc(struct loader *l, struct dcr_err *err)
{
    const struct dataset *d = l->c.data;
    size_t per_row = l->c.max_windows * d->n_sensors;
    l->slots = calloc(l->n_slots, sizeof *l->slots);
    for (size_t i = 0; l->slots && i < l->n_slots; i++) {
        struct slot *s = &l->slots[i];
        s->windows = calloc(l->c.max_windows, sizeof *s->windows);
        s->x = l->c.alloc(d->n_in * per_row * DATASET_FEATURES * sizeof(float));
        s->y_z = l->c.alloc(d->n_out * per_row * sizeof(float));
        s->y_mph = l->c.alloc(d->n_out * per_row * sizeof(float));
        if (!s->windows || !s->x || !s->y_z || !s->y_mph)
            break;
        if (i + 1 == l->n_slots)
            return 0;
    }
    return dcr_err_set(err, DCR_FATAL, "out of memory for %zu batches of %zu windows; lower --prefetch", l->n_slots,
                       l->c.max_windows);
}

static int hands_alloc(struct loader *l, struct dcr_err *err)
{
    size_t rows = l->c.data->n_in + l->c.data->n_out;
    int rc = 0;
    l->hands = calloc(l->n_hands, sizeof *l->hands);
    l->threads = calloc(l->n_hands, sizeof *l->threads);
    if (!l->hands || !l->threads)
        return dcr_err_set(err, DCR_FATAL, "out of memory for %zu workers", l->n_hands);
    for (size_t i = 0; i < l->n_hands && !rc; i++) {
        struct hand *h = &l->hands[i];
        h->l = l;
        if (!l->c.store)
            continue;
        rc = window_reader_open(&h->reader, l->c.store, rows, err);
        h->speed = calloc(rows * l->c.data->n_sensors, sizeof *h->speed);
        h->time = calloc(rows, sizeof *h->time);
        if (!rc && (!h->speed || !h->time))
            rc = dcr_err_set(err, DCR_FATAL, "out of memory for %zu workers", l->n_hands);
    }
    return rc;
}

static int start_workers(struct loader *l, struct dcr_err *err)
{
    int rc = 0;
    while (!rc && l->n_threads < l->c.n_workers) {
        rc = thread_start(&l->threads[l->n_threads], worker, &l->hands[l->n_threads]);
        l->n_threads += !rc;
    }
    return rc ? dcr_err_set(err, DCR_FAIL, "cannot start all loader workers (%d): %s; lower --loader-workers",
                            l->c.n_workers, strerror(rc))
              : 0;
}

int loader_open(struct loader **out, const struct loader_config *c, struct dcr_err *err)
{
    struct loader *l = calloc(1, sizeof *l);
    if (!l)
        return dcr_err_set(err, DCR_FATAL, "out of memory");
    l->c = *c;
    if (!l->c.alloc) {
        l->c.alloc = malloc;
        l->c.free = free;
    }
    l->c.n_ahead = c->n_workers ? c->n_ahead : 0;
    l->n_slots = (size_t)l->c.n_ahead + 1;
    l->n_hands = c->n_workers ? (size_t)c->n_workers : 1;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->has_work, NULL);
    pthread_cond_init(&l->has_result, NULL);
    int rc = slots_alloc(l, err);
    if (!rc)
        rc = hands_alloc(l, err);
    if (!rc)
        rc = start_workers(l, err);
    if (rc)
        loader_close(l);
    else
        *out = l;
    return rc;
}

static void end_workers(struct loader *l)
{
    pthread_mutex_lock(&l->lock);
    l->is_closing = 1;
    pthread_cond_broadcast(&l->has_work);
    pthread_mutex_unlock(&l->lock);
    for (int i = 0; i < l->n_threads; i++)
        pthread_join(l->threads[i], NULL);
}

void loader_close(struct loader *l)
{
    if (!l)
        return;
    end_workers(l);
    for (size_t i = 0; l->slots && i < l->n_slots; i++) {
        struct slot *s = &l->slots[i];
        float *const arrays[] = {s->x, s->y_z, s->y_mph};
        free(s->windows);
        for (int k = 0; k < 3; k++)
            if (arrays[k])
                l->c.free(arrays[k]);
    }
    for (size_t i = 0; l->hands && i < l->n_hands; i++) {
        window_reader_close(l->hands[i].reader);
        free(l->hands[i].speed);
        free(l->hands[i].time);
    }
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->has_work);
    pthread_cond_destroy(&l->has_result);
    free(l->slots);
    free(l->hands);
    free(l->threads);
    free(l);
}

/* ---- what the training loop calls ---------------------------------------------------------------- */

void loader_start(struct loader *l, const struct loader_plan *plan)
{
    pthread_mutex_lock(&l->lock);
    l->n_batches = 0; /* drop everything of the old plan */
    while (l->n_busy)
        pthread_cond_wait(&l->has_result, &l->lock);
    l->plan = *plan;
    l->n_batches = plan->n_steps > plan->first_step ? (plan->n_steps - plan->first_step) * (size_t)plan->n_micro : 0;
    l->n_asked = l->filling = 0;
    l->is_prepared = 0;
    pthread_cond_broadcast(&l->has_work);
    pthread_mutex_unlock(&l->lock);
}

/* Is batch number k complete? Called with the lock held. */
static int is_there(const struct loader *l, size_t k)
{
    const struct slot *s = &l->slots[k % l->n_slots];
    return l->filling > k && s->n_done == s->n;
}

static struct loader_batch batch_of(const struct slot *s)
{
    return (struct loader_batch){.n = s->n, .x = s->x, .y_z = s->y_z, .y_mph = s->y_mph};
}

int loader_next(struct loader *l, struct loader_batch *batch, struct dcr_err *err)
{
    pthread_mutex_lock(&l->lock);
    if (l->n_asked >= l->n_batches) {
        pthread_mutex_unlock(&l->lock);
        return dcr_err_set(err, DCR_FAIL, "the epoch has no batch after step %zu", l->plan.n_steps);
    }
    size_t k = l->n_asked++;
    if (l->n_threads == 0)
        fill_pieces(&l->hands[0]);
    else
        pthread_cond_broadcast(&l->has_work);
    while (!is_there(l, k))
        pthread_cond_wait(&l->has_result, &l->lock);
    const struct slot *s = &l->slots[k % l->n_slots];
    int rc = s->rc;
    if (rc && err)
        *err = s->err;
    *batch = batch_of(s);
    pthread_mutex_unlock(&l->lock);
    return rc;
}

int loader_take_ready(struct loader *l, struct loader_batch *batch)
{
    pthread_mutex_lock(&l->lock);
    const size_t k = l->n_asked;
    const struct slot *s = &l->slots[k % l->n_slots];
    const int is_ready = k < l->n_batches && is_there(l, k) && !s->rc;
    if (is_ready) {
        l->n_asked++;
        *batch = batch_of(s);
        pthread_cond_broadcast(&l->has_work);
    }
    pthread_mutex_unlock(&l->lock);
    return is_ready;
}
