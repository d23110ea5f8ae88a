/* import.c - see import.h. Which parser a file is for, by its first bytes. */
#include "render/import/import.h"

#include "lib/base/utf8.h"
#include "render/import/text/gunzip.h"
#include "render/import/text/json_window.h"
#include "render/import/kineto/kineto.h"
#include "render/import/kineto/kineto_counters.h"
#include "render/import/kineto/kineto_header.h"
#include "render/import/no_evidence.h"
#include "render/import/nsys/nsys_file.h"
#include "render/import/text/parsers.h"
#include "render/device/watch.h"
#include "render/model/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct format {
    enum import_kind kind;
    const char *words;
    int (*is_it)(const char *head, size_t n);
    int (*read)(struct run *r, struct dcr_stream *s, struct dcr_err *err);
};

static const struct format formats[] = {
#define X(kind, name, words) {kind, words, name##_is, name##_read},
    IMPORT_FORMATS(X)
#undef X
};

static const char *words_of(int (*read)(struct run *r, struct dcr_stream *s, struct dcr_err *err))
{
    size_t i = 0;
    while (formats[i].read != read)
        i++;
    return formats[i].words;
}

/* The first byte that is no space and no byte-order mark. */
static const char *beginning(const char *head, size_t *n)
{
    size_t i = utf8_mark(head, *n);
    while (i < *n && (unsigned char)head[i] <= ' ')
        i++;
    *n -= i;
    return head + i;
}

static int holds(const char *head, size_t n, const char *word)
{
    return memmem(head, n, word, strlen(word)) != NULL;
}

/* An object or array that has near its beginning what only traces have. */
static int is_chrome_text(const char *head, size_t n)
{
    if (n && *head == '[')
        return holds(head, n, "\"ph\"");
    return n && *head == '{' &&
           (holds(head, n, "\"traceEvents\"") || holds(head, n, "\"schemaVersion\"") ||
            holds(head, n, "\"deviceProperties\""));
}

/* A large object may have its events after the part seen here. It is read as a trace; the reader reports if there are
 * none. */
enum { LARGE_BYTES = 60000 };

int chrome_is(const char *head, size_t n)
{
    if (is_chrome_text(head, n) || (n >= LARGE_BYTES && *head == '{'))
        return 1;
    if (!n || (*head != '{' && *head != '[') || !holds(head, n, "\\u"))
        return 0;
    char *plain = malloc(n + 1); /* names that are escaped, as JSON allows */
    int is_it = plain && is_chrome_text(plain, json_unescape(head, n, plain, n + 1));
    free(plain);
    return is_it;
}

/* Reads a trace and hands its single operations to a watcher. */
static int read_watched(struct foreign_trace *t, struct dcr_arena *arena, const struct run_watch *watch, void **watched,
                        struct dcr_stream *s, struct dcr_err *err)
{
    struct activity_watch w;
    *watched = watch ? watch->foreign(&w) : NULL;
    if (*watched)
        activity_watch(&w);
    int rc = kineto_read(t, arena, s, err);
    if (*watched)
        activity_watch(NULL);
    if (*watched && rc) {
        watch->foreign_free(*watched);
        *watched = NULL;
    }
    return rc;
}

int chrome_read(struct run *r, struct dcr_stream *s, struct dcr_err *err)
{
    struct foreign_trace t;
    int rc = kineto_read(&t, &r->arena, s, err);
    if (!rc) {
        run_add_trace(r, &t);
        kineto_tables(r, &t);
    }
    return rc;
}

void import_trace_add(struct run *r, struct trace_ahead *t)
{
    r->told.role = words_of(chrome_read);
    dcr_arena_take(&r->arena, &t->arena);
    if (t->watched && r->watched)
        r->watch->foreign_keep(r->watched, t->watched, t->trace.file);
    else if (t->watched)
        t->watch->foreign_free(t->watched);
    run_add_trace(r, &t->trace);
    kineto_tables(r, &t->trace);
    t->watched = NULL;
}

void import_job_of(struct import_job *out, const struct trace_ahead *t)
{
    out->rank = t->trace.rank;
    out->world_size = t->trace.world_size;
    out->is_end_unread = 0;
    if (!*out->model && t->trace.first_model && *t->trace.first_model)
        snprintf(out->model, sizeof out->model, "\"%s\"", t->trace.first_model); /* as JSON has it */
}

void import_trace_free(struct trace_ahead *t)
{
    if (t->watched)
        t->watch->foreign_free(t->watched);
    dcr_arena_release(&t->arena);
}

/* Does the file begin as collect/export/export_chrome.c writes it? Such an export of our archive has too little left to
 * be analysed. */
static int is_export(const struct gunzip *g)
{
    size_t n;
    const char *head = gunzip_head(g, &n);
    enum { BEGINNING = 256 };
    return holds(head, n < BEGINNING ? n : BEGINNING, "\"args\":{\"labels\":\"dccollect export\"}");
}

static const struct format *format_of(const struct gunzip *g)
{
    size_t n;
    const char *head = gunzip_head(g, &n);
    head = beginning(head, &n);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i].is_it(head, n))
            return &formats[i];
    return NULL;
}

/* The value of "key": where it begins, and *end after it; NULL when there is none. If the value goes on after the head,
 * the part in the head. */
static const char *value_of(const char *at, const char **end, const char *key)
{
    const char *p = at ? memmem(at, (size_t)(*end - at), key, strlen(key)) : NULL;
    p = p ? json_space(p + strlen(key), *end) : NULL;
    if (!p || p >= *end || *p != ':')
        return NULL;
    p = json_space(p + 1, *end);
    const char *after = json_skip(p, *end);
    *end = after ? after : *end;
    return p;
}

/* The number after "key" in [at, end); -1 when there is none. */
static int64_t number_of(const char *at, const char *end, const char *key)
{
    const char *p = at ? memmem(at, (size_t)(end - at), key, strlen(key)) : NULL;
    if (!p)
        return -1;
    p += strlen(key);
    p += strspn(p, " :\t\n\r"); /* a zero byte follows the head */
    char *behind;
    long long v = strtoll(p, &behind, 10);
    return behind > p && behind < end && v >= 0 ? v : -1;
}

/* value_of, of the last `key` that has an object or array as its value. */
static const char *last_value(const char *text, const char **end, const char *key)
{
    const char *found = NULL;
    for (const char *p = text; (p = memmem(p, (size_t)(*end - p), key, strlen(key))) != NULL; p++) {
        const char *v = json_space(p + strlen(key), *end);
        v = v < *end && *v == ':' ? json_space(v + 1, *end) : *end;
        found = v < *end && (*v == '{' || *v == '[') ? p : found;
    }
    return value_of(found, end, key);
}

void import_job_end(struct import_job *out, const char *bytes, size_t n)
{
    char *text = out->is_trace && out->rank < 0 ? calloc(1, n + WINDOW_PAD) : NULL;
    if (!text)
        return;
    memcpy(text, bytes, n);
    const char *end = text + n, *end_on = end, *at = last_value(text, &end, "\"distributedInfo\"");
    const char *on = *out->model ? NULL : last_value(text, &end_on, "\"deviceProperties\"");
    if (on && (on = value_of(on, &end_on, "\"name\"")) != NULL)
        snprintf(out->model, sizeof out->model, "%.*s", (int)(end_on - on), on);
    out->rank = number_of(at, end, "\"rank\"");
    out->world_size = number_of(at, end, "\"world_size\"");
    free(text);
}

/* Reads what a compressed trace says at its end. All of it must be decompressed for that, so large traces are skipped.
 */
static void read_to_end(struct import_job *out, struct gunzip *g)
{
    enum { MOST = 64 << 20 };
    struct dcr_stream s = gunzip_stream(g);
    char *tail = malloc(2 * (size_t)IMPORT_END_BYTES);
    size_t n = 0, all = 0;
    ssize_t k = tail ? 1 : 0;
    while (tail && all <= MOST && (k = s.read(s.ctx, tail + n, 2 * (size_t)IMPORT_END_BYTES - n, NULL)) > 0) {
        n += (size_t)k;
        all += (size_t)k;
        if (n == 2 * (size_t)IMPORT_END_BYTES) {
            memcpy(tail, tail + IMPORT_END_BYTES, IMPORT_END_BYTES);
            n = IMPORT_END_BYTES;
        }
    }
    if (tail && k == 0)
        import_job_end(out, tail, n);
    out->is_end_unread = tail && k > 0;
    free(tail);
}

void import_job_recorded(struct import_job *out, int fd)
{
    if (!nsys_file_recorded(fd, &out->begin_ns, &out->end_ns))
        out->begin_ns = out->end_ns = 0;
}

enum import_kind import_job(struct dcr_stream *s, struct import_job *out)
{
    struct gunzip *g = NULL;
    *out = (struct import_job){.rank = -1, .world_size = -1};
    if (gunzip_open(&g, s, NULL))
        return IMPORT_NONE;
    const struct format *f = format_of(g);
    size_t n;
    const char *head = gunzip_head(g, &n), *end = head + n;
    head = beginning(head, &n);
    out->is_trace = f && f->read == chrome_read && is_chrome_text(head, n);
    const char *text = out->is_trace ? head : NULL, *end_on = end; /* events have names and ranks too */
    const char *at = value_of(text, &end, "\"distributedInfo\"");
    const char *on = value_of(text, &end_on, "\"deviceProperties\"");
    if (on && (on = value_of(on, &end_on, "\"name\"")) != NULL)
        snprintf(out->model, sizeof out->model, "%.*s", (int)(end_on - on), on);
    out->rank = number_of(at, end, "\"rank\"");
    out->world_size = number_of(at, end, "\"world_size\"");
    out->is_nsys = f && f->read == nsys_sqlite_read && !gunzip_is_compressed(g);
    int is_list = out->is_trace && n && *head == '[';
    if (is_list)
        out->rank = kineto_rank_named(s->name);
    else if (out->is_trace && out->rank < 0 && gunzip_is_compressed(g))
        read_to_end(out, g);
    gunzip_close(g);
    return f ? f->kind : IMPORT_NONE;
}

enum import_kind import_kind(struct dcr_stream *s)
{
    struct gunzip *g = NULL;
    int rc = gunzip_open(&g, s, NULL);
    if (rc)
        return rc == DCR_FAIL ? IMPORT_PART : IMPORT_NONE;
    const struct format *f = format_of(g);
    enum import_kind kind = f ? f->kind : gunzip_is_failed(g) ? IMPORT_PART : IMPORT_NONE;
    gunzip_close(g);
    return kind;
}

/* Marks a file that was not understood and is plainly no evidence. */
static void mark_none(const struct gunzip *g, const char *name, int rc, struct dcr_err *err)
{
    size_t n;
    const char *head = gunzip_head(g, &n);
    int is_unknown = rc == DCR_END || (rc == DCR_FAIL && err && err->kind == DCR_ERR_NO_TRACE);
    if (is_unknown && !gunzip_is_compressed(g) && is_no_evidence(head, n, n < GUNZIP_HEAD_BYTES, name))
        dcr_err_mark(err, DCR_ERR_NO_EVIDENCE, rc);
}

int import_trace_ahead(struct trace_ahead *t, const struct run_watch *watch, const char *name, struct dcr_stream *s,
                       struct dcr_err *err)
{
    struct gunzip *g = NULL;
    struct dcr_stream named = {s->read, s->ctx, name};
    int rc = gunzip_open(&g, &named, NULL);
    if (rc)
        return DCR_END; /* import_foreign reports what is wrong */
    const struct format *f = format_of(g);
    struct dcr_stream plain = gunzip_stream(g);
    t->watch = watch;
    rc = f && f->read == chrome_read && !is_export(g)
             ? read_watched(&t->trace, &t->arena, watch, &t->watched, &plain, err)
             : DCR_END;
    mark_none(g, name, rc, err);
    gunzip_close(g);
    return rc;
}

/* Reads a file into the run. For a trace in any format, its single operations also go to a watcher. */
static int read_beside(const struct format *f, struct run *r, struct dcr_stream *s, struct dcr_err *err)
{
    struct activity_watch w;
    int n_before = r->n_traces;
    void *watched = r->watched ? r->watch->foreign(&w) : NULL;
    if (watched)
        activity_watch(&w);
    r->told.role = f->words;
    int rc = f->read(r, s, err);
    if (watched)
        activity_watch(NULL);
    if (watched && rc == 0 && r->n_traces == n_before + 1)
        r->watch->foreign_keep(r->watched, watched, r->traces[n_before].file);
    else if (watched)
        r->watch->foreign_free(watched);
    return rc;
}

int import_foreign(struct run *r, const char *name, struct dcr_stream *s, struct dcr_err *err)
{
    struct gunzip *g = NULL;
    struct dcr_stream named = {s->read, s->ctx, name};
    int rc = gunzip_open(&g, &named, err);
    if (rc)
        return rc;
    const struct format *f = format_of(g);
    if (f && f->read == chrome_read && is_export(g)) {
        gunzip_close(g);
        return dcr_err_set(err, DCR_FAIL, "'%s' was exported from an archive by dccollect; give the archive itself",
                           name);
    }
    struct dcr_stream plain = gunzip_stream(g);
    rc = f ? read_beside(f, r, &plain, err) : gunzip_is_failed(g) ? DCR_FAIL : DCR_END;
    mark_none(g, plain.name, rc, err);
    gunzip_close(g);
    return rc;
}
