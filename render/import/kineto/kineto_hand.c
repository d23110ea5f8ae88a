/* kineto_hand.c - see kineto_hand.h. */
#include "render/import/kineto/kineto_hand.h"

#include <pthread.h>
#include <stdlib.h>

enum { BATCHES = 4 };

struct kineto_hand {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct kineto_batch batch[BATCHES]; /* the i-th of all is batch[i % BATCHES] */
    size_t n_full, n_done;              /* handed over; added up */
    int is_ended, is_taken;             /* is_taken: batch n_done is being added up */
    /* Used by the reader alone. It fills one batch while at most BATCHES - 1 wait, so these lie in the last BATCHES - 1
     * stretches. */
    struct kineto_stretch stretch[BATCHES];
    size_t n_stretches; /* asked for; the i-th is stretch[i % BATCHES] */
};

struct kineto_hand *kineto_hand_new(void)
{
    struct kineto_hand *h = calloc(1, sizeof *h);
    if (!h)
        return NULL;
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->changed, NULL);
    for (int i = 0; i < BATCHES; i++)
        if (!(h->batch[i].events = malloc(BATCH_EVENTS * sizeof *h->batch[i].events))) {
            kineto_hand_free(h);
            return NULL;
        }
    return h;
}

struct kineto_batch *kineto_hand_first(struct kineto_hand *h)
{
    return &h->batch[0];
}

struct kineto_batch *kineto_hand_on(struct kineto_hand *h)
{
    pthread_mutex_lock(&h->lock);
    h->n_full++;
    pthread_cond_broadcast(&h->changed);
    while (h->n_full - h->n_done == BATCHES)
        pthread_cond_wait(&h->changed, &h->lock);
    struct kineto_batch *next = &h->batch[h->n_full % BATCHES];
    pthread_mutex_unlock(&h->lock);
    next->n = 0;
    return next;
}

struct kineto_stretch *kineto_hand_stretch(struct kineto_hand *h)
{
    return &h->stretch[h->n_stretches++ % BATCHES];
}

void kineto_hand_wait(struct kineto_hand *h)
{
    pthread_mutex_lock(&h->lock);
    while (h->n_done < h->n_full)
        pthread_cond_wait(&h->changed, &h->lock);
    pthread_mutex_unlock(&h->lock);
}

void kineto_hand_end(struct kineto_hand *h)
{
    pthread_mutex_lock(&h->lock);
    h->n_full++;
    h->is_ended = 1;
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->lock);
}

const struct kineto_batch *kineto_hand_take(struct kineto_hand *h)
{
    pthread_mutex_lock(&h->lock);
    if (h->is_taken) {
        h->n_done++;
        pthread_cond_broadcast(&h->changed);
    }
    while (h->n_done == h->n_full && !h->is_ended)
        pthread_cond_wait(&h->changed, &h->lock);
    h->is_taken = h->n_done < h->n_full;
    const struct kineto_batch *b = h->is_taken ? &h->batch[h->n_done % BATCHES] : NULL;
    pthread_mutex_unlock(&h->lock);
    return b;
}

void kineto_hand_free(struct kineto_hand *h)
{
    if (!h)
        return;
    for (int i = 0; i < BATCHES; i++) {
        free(h->batch[i].events);
        free(h->stretch[i].data);
        json_index_release(&h->stretch[i].index);
    }
    pthread_cond_destroy(&h->changed);
    pthread_mutex_destroy(&h->lock);
    free(h);
}
