/* kineto.c - see kineto.h. Walks over the file. kineto_fields.c reads one event, kineto_event.c adds it up. If a core
 * is free, a separate thread reads and the caller's thread adds. */
#include "render/import/kineto/kineto.h"

#include "lib/base/cores.h"
#include "lib/base/utf8.h"
#include "render/import/text/json_window.h"
#include "render/import/kineto/kineto_event.h"
#include "render/import/kineto/kineto_hand.h"
#include "render/import/kineto/kineto_header.h"
#include "render/model/device_peaks.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct walk {
    struct window w;
    struct kineto_sink sink;
    struct json_index *index;       /* of the window */
    struct kineto_hand *hand;       /* NULL: events are added at once; else they are handed over: */
    struct kineto_batch *batch;     /* being filled */
    struct kineto_stretch *stretch; /* of the window */
    int is_lent;                    /* events in the window have been handed over */
    int64_t n_indexed;              /* bytes */
    struct kineto_header header;
    const char *name;        /* of the file, for messages */
    int has_events, is_list; /* is_list: the file is the list of events itself */
    int is_unclosed, is_last_cut;
    int64_t n_taken;                                    /* events */
    int64_t n_damaged, damaged_bytes;                   /* places between events, and their size */
    int64_t n_searched;                                 /* bytes that were looked at for the end of damage */
    char why_rest[sizeof(((struct dcr_err *)0)->text)]; /* the rest could not be read; "" = it could */
    int64_t n_alien;                                    /* entries of the list that are no events */
    int rc;                                             /* what walk_apart returned */
    struct dcr_err err;
};

static int cut(struct walk *k, const char *where, struct dcr_err *err)
{
    return dcr_err_set(err, DCR_FAIL, "'%s' ends %s, at byte %lld: it was cut; write or copy it again", k->name, where,
                       (long long)window_offset(&k->w, k->w.end));
}

static int broken(struct walk *k, const char *p, const char *what, struct dcr_err *err)
{
    int rc = dcr_err_set(err, DCR_FAIL, "cannot read '%s': it is not JSON (byte %lld: %s); write or copy it again",
                         k->name, (long long)window_offset(&k->w, p), what);
    return k->has_events ? rc : dcr_err_mark(err, DCR_ERR_NO_TRACE, rc);
}

/* Hands the events over. They lie in the window, which is shared from now on. */
static void hand_over(struct walk *k)
{
    k->batch->index = k->index;
    k->batch = kineto_hand_on(k->hand);
    k->is_lent = 1;
}

/* Makes a window that may be written to: another one or, since two large windows are too much, this one after its
 * events were added up. */
static int leave(struct walk *k, struct dcr_err *err)
{
    k->is_lent = 0;
    if (k->w.cap > WINDOW_BYTES) {
        kineto_hand_wait(k->hand);
        return 0;
    }
    struct kineto_stretch *next = kineto_hand_stretch(k->hand);
    char *data = next->data ? next->data : malloc(WINDOW_BYTES + WINDOW_PAD);
    if (!data)
        return dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", k->name);
    next->data = NULL;
    k->stretch->data = window_move(&k->w, data);
    k->stretch = next;
    k->index = &next->index;
    k->index->end = NULL; /* the text it belonged to is gone */
    return 0;
}

/* Reads more bytes after the unit that begins at w.at. That unit is then read again. where NULL: the file may end here
 * (DCR_END). */
static int more(struct walk *k, const char *where, struct dcr_err *err)
{
    size_t cap = k->w.cap;
    if (k->batch && k->batch->n)
        hand_over(k);
    int rc = k->is_lent ? leave(k, err) : 0;
    rc = rc ? rc : window_more(&k->w, err);
    if (k->w.cap < cap)
        json_index_release(k->index);
    return rc == DCR_END && where ? cut(k, where, err) : rc;
}

/* An event that begins at p; as kineto_event. */
static const char *take_event(struct walk *k, const char *p, const char **wrong)
{
    struct kineto_raw one, *e = k->batch ? &k->batch->events[k->batch->n] : &one;
    const char *after = kineto_event(e, k->index, p, wrong);
    k->n_taken += after != NULL;
    if (after && k->batch)
        k->batch->n++;
    else if (after)
        kineto_add(&k->sink, e);
    return after;
}

/* The first byte of the next unit, after space and commas; where as in more. */
static int next_byte(struct walk *k, const char *where, char *out, struct dcr_err *err)
{
    for (;;) {
        k->w.at = json_space(k->w.at, k->w.end);
        if (k->w.at < k->w.end && *k->w.at == ',')
            k->w.at++;
        else if (k->w.at < k->w.end)
            break;
        else {
            int rc = more(k, where, err);
            if (rc)
                return rc;
        }
    }
    *out = *k->w.at;
    return 0;
}

/* Moves past a value of any size, without holding all of it in the window. */
static int skip_large(struct walk *k, struct dcr_err *err)
{
    int depth = 0, in_string = 0, is_escaped = 0, is_begun = 0;
    for (;; k->w.at++) {
        if (k->w.at >= k->w.end) {
            int rc = more(k, "in the middle of a value", err);
            if (rc)
                return rc;
        }
        char c = *k->w.at;
        if (in_string) {
            in_string = is_escaped || c != '"';
            is_escaped = !is_escaped && c == '\\';
            if (in_string || depth)
                continue;
            k->w.at++;
            return 0;
        }
        if (c == '"')
            in_string = 1;
        else if (c == '{' || c == '[')
            depth++;
        else if ((c == '}' || c == ']') && depth == 0)
            return 0; /* the end of the object around, after a number */
        else if (c == '}' || c == ']') {
            if (--depth == 0) {
                k->w.at++;
                return 0;
            }
        } else if (depth == 0 && is_begun && (c == ',' || (unsigned char)c <= ' '))
            return 0;
        is_begun = 1;
    }
}

/* Indexes what is new after the window moved, from an event's beginning. Its bytes also move when the stream has no
 * more. */
static int index_window(struct walk *k, int64_t *indexed_to, struct dcr_err *err)
{
    int64_t to = window_offset(&k->w, k->w.end);
    if (to == *indexed_to && k->index->end == k->w.end)
        return 0;
    if (json_index_make(k->index, k->w.at, k->w.end))
        return dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", k->name);
    *indexed_to = to;
    k->n_indexed += k->w.end - k->w.at;
    return 0;
}

/* Is [p, after) an event? An object inside of one has no "ph". */
static int is_event(struct walk *k, const char *p, const char *after)
{
    struct json_index index = {0};
    struct kineto_raw e;
    const char *wrong = NULL;
    k->n_searched += after - p;
    int is_it = memmem(p, (size_t)(after - p), "\"ph\"", 4) && json_index_make(&index, p, after) == 0 &&
                kineto_event(&e, &index, p, &wrong) == after && e.ph;
    json_index_release(&index);
    return is_it;
}

/* The event at w.at cannot be read. Moves to the next readable one and counts what lies between.
 *  returns  0: w.at is at that event; DCR_END: the file ended before one was found; DCR_FAIL: the stream failed */
static int skip_damage(struct walk *k, struct dcr_err *err)
{
    enum { MOST_EVENT = 1 << 16, MOST_SEARCHED = 1 << 30 };
    const struct window *w = &k->w;
    int64_t from = window_offset(w, w->at);
    int rc = 0;
    if (k->batch && k->batch->n)
        hand_over(k);
    if (k->is_lent && (rc = leave(k, err)) != 0) /* the index of events that were handed over stays as it is */
        return rc;
    k->w.at++;
    for (;;) {
        const char *p = k->n_searched < MOST_SEARCHED ? memchr(w->at, '{', (size_t)(w->end - w->at)) : NULL;
        k->w.at = p ? p : w->end;
        const char *key = p ? json_space(p + 1, w->end) : w->end, *after = p ? json_skip(p, w->end) : NULL;
        k->n_searched += p ? (after ? after : w->end) - p : 0;
        if (after && *key == '"' && is_event(k, p, after))
            break;
        int is_short = !p || key == w->end || (*key == '"' && !after && w->end - p < MOST_EVENT);
        if (!is_short || (p && w->is_end))
            k->w.at++;
        else if ((rc = more(k, NULL, err)) != 0)
            break;
    }
    k->n_damaged++;
    k->damaged_bytes += window_offset(w, w->at) - from;
    return rc;
}

/* Reads to the ']' and past it. A list that is the whole file may lack it: a program that appends until it is killed
 * never writes one, and the format allows that. If it was killed inside an event, the complete ones count. A missing
 * end is kept for the report. source: Trace Event Format, "JSON Array Format" */
static int events(struct walk *k, struct dcr_err *err)
{
    enum { MOST_EVENT = 1 << 26 };
    int64_t indexed_to = -1;
    k->has_events = 1;
    for (;;) {
        char c;
        int rc = next_byte(k, k->is_list || k->n_taken ? NULL : "between two events", &c, err);
        if (rc == DCR_END) {
            k->is_unclosed = 1;
            return 0;
        }
        if (rc || (rc = index_window(k, &indexed_to, err)))
            return rc;
        if (c == ']') {
            k->w.at++;
            return 0;
        }
        const char *p = k->w.at, *wrong = NULL;
        const char *after = c == '{' ? take_event(k, p, &wrong) : json_skip(p, k->w.end);
        if ((wrong || after == p) && !k->n_taken)
            return wrong ? broken(k, wrong, "an event is not an object of names and values", err)
                         : broken(k, p, "an event is missing", err);
        int is_cut = 0;
        if (!after && !wrong && k->w.end - p < MOST_EVENT) {
            rc = more(k, k->n_taken ? NULL : "in the middle of an event", err);
            if (rc == 0)
                continue;
            if (rc != DCR_END)
                return rc;
            is_cut = 1; /* or the end of this event is damaged, and others follow */
        }
        if (wrong || after == p || !after) {
            const int64_t n = k->n_damaged, bytes = k->damaged_bytes;
            rc = skip_damage(k, err);
            k->is_unclosed = rc == DCR_END;
            if ((k->is_last_cut = is_cut && rc == DCR_END) != 0) {
                k->n_damaged = n;
                k->damaged_bytes = bytes;
            }
            if (rc)
                return rc == DCR_END ? 0 : rc;
            indexed_to = -1;
            continue;
        }
        k->w.at = after;
        k->n_alien += c != '{' && c != 'n'; /* null does not count */
        if (k->batch && k->batch->n == BATCH_EVENTS)
            hand_over(k);
    }
}

/* One "key": value of the top level, at w.at. */
static int member(struct walk *k, struct dcr_err *err)
{
    for (;;) {
        struct window *w = &k->w;
        int is_escaped = 0, rc;
        const char *key = w->at + 1, *end = json_string_end(key, w->end, &is_escaped), *p = end;
        if (p) {
            p = json_space(p + 1, w->end);
            if (p < w->end && *p != ':')
                return broken(k, p, "a ':' is missing", err);
            p = p < w->end ? json_space(p + 1, w->end) : p;
        }
        if (!p || p >= w->end) {
            if ((rc = more(k, "in the middle of a name", err)) != 0)
                return rc;
            continue;
        }
        size_t n = (size_t)(end - key);
        char plain[32];
        if (is_escaped) {
            n = json_unescape(key, n, plain, sizeof plain);
            key = plain;
        }
        if (json_text_is(key, n, "traceEvents") && *p == '[') {
            w->at = p + 1;
            return events(k, err);
        }
        if (json_text_is(key, n, "deviceProperties") || json_text_is(key, n, "distributedInfo")) {
            const char *after = json_skip(p, w->end);
            if (!after) {
                if ((rc = more(k, "in the middle of its header", err)) != 0)
                    return rc;
                continue;
            }
            kineto_header_take(&k->header, key, n, p, (size_t)(after - p));
            w->at = after;
            return 0;
        }
        w->at = p;
        return skip_large(k, err);
    }
}

/* Only space may follow: a second trace after the first one would be left out without a word. */
static int end_of_file(struct walk *k, struct dcr_err *err)
{
    char c;
    int rc = next_byte(k, NULL, &c, err);
    if (rc)
        return rc == DCR_END ? 0 : rc;
    return broken(k, k->w.at, "there is more after its end,", err);
}

static int walk_top(struct walk *k, struct dcr_err *err)
{
    char c;
    k->w.at += utf8_mark(k->w.data, k->w.len);
    int rc = next_byte(k, "before anything", &c, err);
    if (rc)
        return rc;
    if (c == '[') {
        k->w.at++;
        k->is_list = 1;
        rc = events(k, err);
        return rc || k->is_unclosed ? rc : end_of_file(k, err);
    }
    if (c != '{')
        return broken(k, k->w.at, "neither an object nor an array", err);
    for (k->w.at++; !(rc = next_byte(k, "before its closing brace", &c, err));) {
        if (c == '}') {
            k->w.at++;
            rc = end_of_file(k, err);
            break;
        }
        if (c != '"')
            return broken(k, k->w.at, "a name is missing", err);
        if ((rc = member(k, err)) != 0 || k->is_unclosed)
            return rc;
    }
    if (!rc && !k->has_events)
        return dcr_err_mark(
            err, DCR_ERR_NO_TRACE,
            dcr_err_set(err, DCR_FAIL,
                        "'%s' is JSON without traceEvents; export the trace by the profiler's export_chrome_trace",
                        k->name));
    return rc;
}

/* Reads the whole file. If its rest cannot be read, the events before it count, and the rest is counted in bytes. If no
 * bytes are left, or the stream itself fails, the reason is kept as a sentence. */
static int walk_file(struct walk *k, struct dcr_err *err)
{
    struct dcr_err why = {0};
    int rc = walk_top(k, &why);
    if (rc == DCR_FAIL && k->n_taken) {
        int64_t from = window_offset(&k->w, k->w.at);
        do
            k->w.at = k->w.end;
        while ((rc = more(k, NULL, &why)) == 0);
        int64_t n = window_offset(&k->w, k->w.end) - from;
        k->n_damaged += rc == DCR_END && n > 0;
        k->damaged_bytes += rc == DCR_END ? n : 0;
        if (rc == DCR_FAIL || n == 0)
            dcr_err_why(&why, k->why_rest, sizeof k->why_rest);
        rc = rc == DCR_FATAL ? rc : 0;
    }
    if (rc && err)
        *err = why;
    return rc;
}

static void *walk_apart(void *ctx)
{
    struct walk *k = ctx;
    k->rc = walk_file(k, &k->err);
    k->batch->index = k->index;
    kineto_hand_end(k->hand);
    return NULL;
}

static enum kineto_way way;
static _Thread_local int64_t work;

int64_t kineto_work(void)
{
    return work;
}

void kineto_way(enum kineto_way w)
{
    way = w;
}

/* Is it worth a thread, and is there a core for it? To be ended by dcr_cores_work(-1). */
static int goes_apart(const struct walk *k)
{
    if (k->w.is_end || way == KINETO_ALONE)
        return 0;
    if (way == KINETO_AS_CORES)
        return dcr_cores_spare();
    dcr_cores_work(1);
    return 1;
}

/* Reads the whole file, apart from adding up if a core is free. The caller's thread adds, because a watcher
 * (render/device/watch.h) belongs to a thread. The result is the same. */
static int walk(struct walk *k, struct json_index *own, struct dcr_err *err)
{
    pthread_t reader;
    const struct kineto_batch *b;
    int is_apart = goes_apart(k);
    k->index = own;
    k->sink.index = own;
    k->hand = is_apart ? kineto_hand_new() : NULL;
    if (k->hand) {
        k->batch = kineto_hand_first(k->hand);
        k->stretch = kineto_hand_stretch(k->hand);
        k->index = &k->stretch->index;
        if (pthread_create(&reader, NULL, walk_apart, k) != 0) {
            kineto_hand_free(k->hand);
            k->hand = NULL;
            k->batch = NULL;
            k->index = own;
        }
    }
    int rc = 0;
    if (!k->hand) {
        rc = walk_file(k, err);
    } else {
        while ((b = kineto_hand_take(k->hand)) != NULL) {
            k->sink.index = b->index;
            for (size_t i = 0; i < b->n; i++)
                kineto_add(&k->sink, &b->events[i]);
        }
        pthread_join(reader, NULL);
        rc = k->rc;
        if (rc && err)
            *err = k->err;
        kineto_hand_free(k->hand);
    }
    if (is_apart)
        dcr_cores_work(-1);
    return rc;
}

int kineto_read(struct foreign_trace *out, struct dcr_arena *arena, struct dcr_stream *s, struct dcr_err *err)
{
    struct walk k = {.name = s->name, .header = {.rank = -1, .world_size = -1}};
    struct json_index index = {0};
    *out = (struct foreign_trace){.file = s->name, .kind = FOREIGN_KINETO, .rank = -1, .world_size = -1};
    k.sink.activity = activity_new(0);
    k.sink.pairs = kineto_pairs_new();
    k.sink.trace = out;
    k.sink.arena = arena;
    int rc = !k.sink.activity || !k.sink.pairs ? dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", s->name)
                                               : window_open(&k.w, s, err);
    if (rc || (rc = walk(&k, &index, err)))
        goto out;
    if (out->n_events == 0) {
        rc = dcr_err_set(err, DCR_FAIL, "'%s' is a trace without events; profile some steps and export it again",
                         s->name);
        goto out;
    }
    rc = activity_finish(k.sink.activity, arena, &out->devices, &out->n_devices, &out->steps, err);
    rc = rc ? rc : activity_operators(k.sink.activity, arena, &out->operators, err);
    activity_code(k.sink.activity, arena, &out->code);
    activity_work(k.sink.activity, arena, &out->work, &out->n_work);
    activity_accumulation(k.sink.activity, &out->accumulation);
    activity_lost_steps(k.sink.activity, out->n_lost_steps);
    activity_steps_known(k.sink.activity, &out->is_by_optimizer, &out->is_last_step_cut);
    if (out->n_devices == 0)
        activity_host_memory(k.sink.activity, &out->host_memory);
    out->n_unusable += k.n_alien;
    out->n_unclosed = k.is_unclosed ? k.n_taken : 0;
    out->is_last_cut = k.is_last_cut;
    out->n_damaged = k.n_damaged;
    out->damaged_bytes = k.damaged_bytes;
    out->why_rest = *k.why_rest ? dcr_arena_strdup(arena, k.why_rest) : NULL;
    out->n_unpaired += kineto_pairs_open(k.sink.pairs);
    out->rank = k.header.rank;
    out->is_rank_by_name = k.is_list;
    if (k.is_list)
        out->rank = kineto_rank_named(s->name);
    out->world_size = k.header.world_size;
    kineto_header_name(&k.header, out, arena);
    device_peaks_add(out);
out:
    work = k.w.n_copied + k.n_indexed;
    kineto_header_release(&k.header);
    json_index_release(&index);
    window_close(&k.w);
    kineto_pairs_free(k.sink.pairs);
    activity_free(k.sink.activity);
    return rc;
}
