/* drain.c - the thread, its start and end, and the rescue of a killed collector's segment. See drain.h. */
#include "collect/drain/drain_inside.h"

#include "collect/record/meta.h"
#include "collect/record/procfs.h"
#include "lib/base/fs.h"
#include "lib/base/mono.h"
#include "lib/base/thread.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SHORTEST_MS = 1 };

static uint32_t one_round(struct drain *d)
{
    drain_look_for_processes(d);
    uint32_t n = drain_write_blocks(d);
    drain_finish_dead(d);
    follow_free_list(&d->follows, 0);
    if (d->copy_ns && dcr_mono_ns() >= d->next_copy_ns) {
        drain_copy_all(d);
        d->next_copy_ns = dcr_mono_ns() + d->copy_ns;
    }
    return n;
}

/* A sixteenth of the blocks per round is a good pace. If there are more, the next round comes sooner. */
static int64_t next_pause(const struct drain *d, int64_t pause_ns, uint32_t n)
{
    uint32_t all = segment_of(d)->n_blocks;
    if (n > all / 16)
        pause_ns /= 4;
    else if (n < all / 64)
        pause_ns += pause_ns / 2;
    return pause_ns < SHORTEST_MS * DRAIN_MS        ? SHORTEST_MS * DRAIN_MS
           : pause_ns > DRAIN_LONGEST_MS * DRAIN_MS ? DRAIN_LONGEST_MS * DRAIN_MS
                                                    : pause_ns;
}

static void *work(void *arg)
{
    struct drain *d = arg;
    int64_t pause_ns = 2 * DRAIN_MS;
    while (!__atomic_load_n(&d->is_stopping, __ATOMIC_SEQ_CST)) {
        uint32_t n = one_round(d);
        pause_ns = next_pause(d, pause_ns, n);
        if (drain_sleep(d, n, pause_ns))
            pause_ns = SHORTEST_MS * DRAIN_MS;
    }
    return NULL;
}

static void release(struct drain *d, int is_removed)
{
    if (is_removed && *d->left)
        unlink(d->left);
    follow_free_list(&d->follows, 1);
    shared_close(&d->shared, is_removed);
    free(d->procs);
    free(d->parents);
    free(d->todo);
    free(d->polls);
    free(d);
}

static uint64_t pid_space(void)
{
    struct stat st;
    return stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
}

static struct drain *new_drain(const char *spool)
{
    struct drain *d = calloc(1, sizeof *d);
    if (!d)
        return NULL;
    d->shared.fd = -1;
    snprintf(d->spool, sizeof d->spool, "%s", spool);
    d->own_space = pid_space();
    return d;
}

static int make_tables(struct drain *d, struct dcr_err *err)
{
    const struct segment *s = segment_of(d);
    d->procs = calloc(s->n_processes, sizeof *d->procs);
    d->polls = calloc(s->n_processes, sizeof *d->polls);
    d->todo = calloc(s->n_blocks, sizeof *d->todo);
    d->n_entries = s->n_processes;
    return d->procs && d->polls && d->todo ? DCR_OK : dcr_err_set(err, DCR_FAIL, "out of memory");
}

int drain_start(struct drain **out, const char *spool, int64_t bytes, const struct bounds *bounds, int copy_s,
                struct dcr_err *err)
{
    *out = NULL;
    struct drain *d = new_drain(spool);
    if (!d)
        return dcr_err_set(err, DCR_FAIL, "out of memory");
    char host[256], line[700];
    meta_host_name(host, sizeof host);
    snprintf(d->left, sizeof d->left, "%s/" DRAIN_LEFT_PREFIX "%s-%ld", spool, host, (long)getpid());
    shared_sweep();
    int rc = shared_make(&d->shared, bytes, d->left, err);
    if (rc == 0)
        rc = make_tables(d, err);
    if (rc == 0) {
        snprintf(line, sizeof line, "%s %" PRIu64 "\n", d->shared.path, segment_of(d)->token);
        (void)!dcr_write_file(d->left, line, strlen(line), NULL);
        d->bounds = *bounds;
        d->n_entries = 0;
        d->copy_ns = (int64_t)copy_s * 1000 * DRAIN_MS;
        d->next_copy_ns = dcr_mono_ns() + d->copy_ns;
        d->is_threaded = thread_start(&d->thread, work, d) == 0;
        if (!d->is_threaded)
            rc = dcr_err_set(err, DCR_FAIL, "cannot start the thread that writes the traces");
    }
    if (rc)
        release(d, 1);
    else
        *out = d;
    return rc;
}

const char *drain_path(const struct drain *d)
{
    return d ? d->shared.path : NULL;
}

static void stop_thread(struct drain *d)
{
    if (!d->is_threaded)
        return;
    __atomic_store_n(&d->is_stopping, 1, __ATOMIC_SEQ_CST);
    drain_wake(d);
    pthread_join(d->thread, NULL);
    d->is_threaded = 0;
}

void drain_look(struct drain *d)
{
    if (!d)
        return;
    stop_thread(d);
    (void)one_round(d);
}

/* returns  number of processes that still live, which keep the segment */
static uint32_t end(struct drain *d)
{
    uint32_t n_live = 0;
    stop_thread(d);
    d->is_ending = 1;
    (void)one_round(d);
    drain_copy_all(d);
    for (uint32_t i = 0; i < d->n_entries; i++)
        if (d->procs[i].serial) {
            n_live++;
            if (!d->procs[i].file)
                continue;
            tracefile_leave(d->procs[i].file);
            d->procs[i].file = NULL;
        }
    return n_live;
}

static void put_record(const struct drain *d, json_t *record)
{
    const struct segment *s = segment_of(d);
    json_t *o = json_object();
    json_object_set_new(o, "segment_bytes", json_integer((json_int_t)s->begin.bytes));
    json_object_set_new(o, "recorded", json_integer((json_int_t)d->n_processes));
    if (s->n_refused)
        json_object_set_new(o, "without_memory", json_integer(s->n_refused));
    if (s->dropped + d->n_lost_without_trace)
        json_object_set_new(o, "lost_without_trace", json_integer((json_int_t)(s->dropped + d->n_lost_without_trace)));
    if (d->n_lost)
        json_object_set_new(o, "lost", json_integer((json_int_t)d->n_lost));
    if (s->n_said > s->max_said)
        json_object_set_new(o, "unsaid", json_integer((json_int_t)(s->n_said - s->max_said)));
    if (*d->why)
        json_object_set_new(o, "why", json_string(d->why));
    json_object_set_new(record, "recorder", o);
}

void drain_stop(struct drain *d, int is_kept, json_t *record)
{
    if (!d)
        return;
    uint32_t n_live = end(d);
    if (record)
        put_record(d, record);
    release(d, n_live == 0 && !is_kept);
}

/* ---- the segment of a killed collector ---------------------------------------------------------- */

static int rescue_one(const char *spool, const char *name, struct dcr_err *err)
{
    char text[700], path[256];
    uint64_t token;
    struct drain *d = new_drain(spool);
    if (!d)
        return dcr_err_set(err, DCR_WARN, "out of memory taking what a killed collector left");
    snprintf(d->left, sizeof d->left, "%s/%s", spool, name);
    int is_named =
        procfs_read(d->left, text, sizeof text, NULL) > 0 && sscanf(text, "%255s %" SCNu64, path, &token) == 2;
    int rc = is_named ? shared_find(&d->shared, path, token, err) : DCR_END;
    if (rc != 0) {
        char here[300], host[256];
        meta_host_name(host, sizeof host);
        snprintf(here, sizeof here, DRAIN_LEFT_PREFIX "%s-", host);
        release(d, 0);
        if (rc == DCR_END && strncmp(name, here, strlen(here)) != 0)
            return dcr_err_set(err, DCR_WARN,
                               "the newest events of a collector that was killed on another host lie in the memory of "
                               "that host ('%s'); to have them, pack there",
                               name);
        return rc == DCR_END ? DCR_OK : DCR_WARN;
    }
    rc = make_tables(d, err);
    uint32_t n_live = rc == 0 ? end(d) : 1;
    release(d, n_live == 0);
    if (rc == 0 && n_live)
        rc = dcr_err_set(err, DCR_WARN, "%" PRIu32 " process%s of the run still record%s; pack again when %s ended",
                         n_live, n_live == 1 ? "" : "es", n_live == 1 ? "s" : "", n_live == 1 ? "it has" : "they have");
    return rc ? DCR_WARN : DCR_OK;
}

int drain_rescue(const char *spool, struct dcr_err *err)
{
    char **names = NULL;
    size_t n = 0;
    int rc = DCR_OK;
    if (dcr_list_dir(spool, &names, &n, NULL) != 0)
        return DCR_OK; /* the reader of the folder reports it */
    for (size_t i = 0; i < n; i++)
        if (strncmp(names[i], DRAIN_LEFT_PREFIX, strlen(DRAIN_LEFT_PREFIX)) == 0 &&
            rescue_one(spool, names[i], err) != 0)
            rc = DCR_WARN;
    dcr_free_names(names, n);
    return rc;
}
