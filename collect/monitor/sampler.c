/* sampler.c - see sampler.h. */
#include "collect/monitor/sampler.h"

#include "lib/base/thread.h"
#include "lib/base/json_string.h"
#include "lib/base/mono.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_SOURCES = 16, IDLE_MS = 30000 };

struct slot {
    const struct source *source;
    void *ctx;                            /* NULL: it is absent */
    int64_t due_ns, gap_ns, least_gap_ns; /* time of the next sample, and the gap since the last one */
    long n_samples, n_failed, n_partial;
    char reason[512]; /* the first problem */
};

struct sampler {
    struct slot slots[MAX_SOURCES];
    int n;
    struct outputs *out;
    int64_t interval_ns;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    int is_stopping;
};

struct tick sampler_now(void)
{
    return (struct tick){.mono_ns = dcr_mono_ns(), .real_ms = dcr_clock_ns(CLOCK_REALTIME) / 1000000};
}

static void sample_one(struct sampler *s, struct slot *slot, int is_last)
{
    struct dcr_err err = {0};
    struct tick now = sampler_now();
    now.is_last = is_last;
    int rc = source_sample(slot->source, slot->ctx, &now, s->out, &err);
    if (rc == DCR_END)
        return;
    slot->n_samples++;
    slot->n_failed += rc < DCR_WARN;
    slot->n_partial += rc == DCR_WARN;
    if (rc < 0 && !slot->reason[0])
        snprintf(slot->reason, sizeof slot->reason, "%.500s", err.text);
}

/* Samples the sources that are due. A source with nothing new is asked less and less often, so that neither a waiting
 * program nor its host is woken. returns when something is due next */
static int64_t sample_due(struct sampler *s, int is_last)
{
    const int64_t idle_ns = (int64_t)IDLE_MS * 1000000;
    int64_t next = INT64_MAX;
    for (int i = 0; i < s->n; i++) {
        struct slot *slot = &s->slots[i];
        if (!slot->ctx)
            continue;
        if (is_last || slot->due_ns <= dcr_mono_ns()) {
            sample_one(s, slot, is_last);
            int is_idle = slot->source->is_idle && slot->source->is_idle(slot->ctx);
            slot->gap_ns = is_idle ? 2 * slot->gap_ns : 0;
            slot->gap_ns = slot->gap_ns < idle_ns ? slot->gap_ns : idle_ns;
            slot->gap_ns = slot->gap_ns > slot->least_gap_ns ? slot->gap_ns : slot->least_gap_ns;
            /* Missed instants are skipped, so that sources sampled together stay together. */
            int64_t now = dcr_mono_ns(), passed = now > slot->due_ns ? (now - slot->due_ns) / s->interval_ns : 0;
            slot->due_ns += passed * s->interval_ns + slot->gap_ns / s->interval_ns * s->interval_ns;
        }
        next = slot->due_ns < next ? slot->due_ns : next;
    }
    return next;
}

static void *thread_main(void *arg)
{
    struct sampler *s = arg;
    pthread_mutex_lock(&s->lock);
    while (!s->is_stopping) {
        pthread_mutex_unlock(&s->lock);
        int64_t next_ns = sample_due(s, 0);
        struct timespec next = {.tv_sec = next_ns / 1000000000, .tv_nsec = next_ns % 1000000000};
        pthread_mutex_lock(&s->lock);
        while (!s->is_stopping && pthread_cond_timedwait(&s->wake, &s->lock, &next) != ETIMEDOUT)
            ;
    }
    pthread_mutex_unlock(&s->lock);
    sample_due(s, 1);
    return NULL;
}

static void configure_all(struct sampler *s, const struct source_config *config)
{
    int64_t from_ns = dcr_mono_ns();
    for (const struct source *const *p = source_all(); *p && s->n < MAX_SOURCES; p++) {
        if ((*p)->header && !config->host_dir)
            continue;
        struct slot *slot = &s->slots[s->n++];
        struct dcr_err err = {0};
        slot->source = *p;
        slot->due_ns = from_ns;
        slot->gap_ns = slot->least_gap_ns = (int64_t)(*p)->least_gap_ms * 1000000 > s->interval_ns
                                                ? (int64_t)(*p)->least_gap_ms * 1000000
                                                : s->interval_ns;
        slot->ctx = source_configure(*p, config, &err);
        if (!slot->ctx)
            snprintf(slot->reason, sizeof slot->reason, "%.500s", err.text);
    }
}

static void release(struct sampler *s)
{
    for (int i = 0; i < s->n; i++)
        if (s->slots[i].ctx)
            source_destroy(s->slots[i].source, s->slots[i].ctx);
    outputs_close(s->out);
    free(s);
}

int sampler_start(struct sampler **out, const char *spool, const struct source_config *config, int interval_ms,
                  struct dcr_err *err)
{
    struct sampler *s = calloc(1, sizeof *s);
    *out = NULL;
    if (!s || (s->out = outputs_open(spool, config->host_dir)) == NULL) {
        free(s);
        return dcr_err_set(err, DCR_FAIL, "out of memory");
    }
    s->interval_ns = (int64_t)interval_ms * 1000000;
    configure_all(s, config);
    thread_condition(&s->wake);
    pthread_mutex_init(&s->lock, NULL);
    int failed = thread_start(&s->thread, thread_main, s);
    if (failed) {
        release(s);
        errno = failed;
        return dcr_err_sys(err, DCR_FAIL, "cannot start the sampling thread");
    }
    *out = s;
    return DCR_OK;
}

static void describe(const struct slot *slot, char *out, size_t n)
{
    if (!slot->ctx || (slot->n_failed && slot->n_failed == slot->n_samples))
        snprintf(out, n, "absent: %s", slot->reason);
    else if (slot->n_failed)
        snprintf(out, n, "partial: %ld of %ld samples failed, first because: %s", slot->n_failed, slot->n_samples,
                 slot->reason);
    else if (slot->n_partial)
        snprintf(out, n, "partial: cells are empty in %ld of %ld samples, first because: %s", slot->n_partial,
                 slot->n_samples, slot->reason);
    else
        snprintf(out, n, "ok");
}

void sampler_stop(struct sampler *s, json_t *monitors)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->is_stopping = 1;
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    for (int i = 0; monitors && i < s->n; i++) {
        char text[700];
        describe(&s->slots[i], text, sizeof text);
        json_object_set_new(monitors, s->slots[i].source->name, json_string_kept(text));
    }
    pthread_cond_destroy(&s->wake);
    pthread_mutex_destroy(&s->lock);
    release(s);
}
