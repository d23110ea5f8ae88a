/* spill.c - see spill.h. In memory: natural merge sort, since events of a stream come mostly in order, so that most
 * data are a few runs already. On disk: runs of one size are merged sixty-four at a time, so every record is written
 * log64(n / bound) times. */
#include "render/device/spill.h"

#include "lib/base/fs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_WAYS = 64, BUFFER_BYTES = 1 << 16, FIRST_RECORDS = 1024 };

/* One sorted stretch of the temporary file, and the part of it that is being read. */
struct spill_run {
    off_t at, end;
    int level;
    char *buffer;
    size_t filled, pos; /* bytes */
};

struct spill {
    size_t record, max_records;
    char *records, *other; /* `other`: the second half of the merge sort */
    size_t n, cap, next;
    uint64_t total;
    int fd;
    off_t file_end;
    struct spill_run *runs;
    int n_runs, runs_cap, n_written;
    int *heap, n_heap; /* runs by their first record */
    int first_open;    /* runs from here on are being merged */
    char *last;        /* the record handed out */
    int failed, sys;
};

struct spill *spill_new(size_t record_bytes, size_t max_bytes)
{
    struct spill *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->record = record_bytes;
    s->max_records = max_bytes / record_bytes > FIRST_RECORDS ? max_bytes / record_bytes : FIRST_RECORDS;
    s->fd = -1;
    return s;
}

static void fail(struct spill *s, int sys)
{
    s->failed = 1;
    s->sys = s->sys ? s->sys : sys;
}

static inline int is_after(const char *x, const char *y)
{
    struct spill_key a, b;
    memcpy(&a, x, sizeof a);
    memcpy(&b, y, sizeof b);
    return a.a != b.a ? a.a > b.a : a.b > b.b;
}

/* ---- in memory ------------------------------------------------------------------------------------- */

/* Where the sorted stretch that begins at `from` ends. */
static size_t stretch(const struct spill *s, size_t from)
{
    const char *p = s->records + from * s->record;
    size_t k = from + 1;
    for (; k < s->n && !is_after(p, p + s->record); k++)
        p += s->record;
    return k;
}

static void merge(const struct spill *s, const char *from, size_t a, size_t middle, size_t end, char *to)
{
    const char *x = from + a * s->record, *x_end = from + middle * s->record;
    const char *y = x_end, *y_end = from + end * s->record;
    char *out = to + a * s->record;
    while (x < x_end && y < y_end) {
        const char **least = is_after(x, y) ? &y : &x;
        memcpy(out, *least, s->record);
        *least += s->record;
        out += s->record;
    }
    memcpy(out, x, (size_t)(x_end - x));
    memcpy(out + (x_end - x), y, (size_t)(y_end - y));
}

/* Sorted stretches are merged pairwise until one is left. */
static int sort_memory(struct spill *s)
{
    size_t n_ends = 0, cap = 64, *ends = malloc(cap * sizeof *ends);
    for (size_t at = 0; ends && at < s->n; n_ends++) {
        if (n_ends == cap) {
            size_t *more = realloc(ends, 2 * cap * sizeof *ends);
            if (!more)
                free(ends);
            ends = more;
            cap *= 2;
        }
        if (ends)
            at = ends[n_ends] = stretch(s, at);
    }
    if (n_ends > 1 && !s->other)
        s->other = malloc(s->cap * s->record);
    if (!ends || (n_ends > 1 && !s->other)) {
        free(ends);
        return -1;
    }
    while (n_ends > 1) {
        size_t from = 0, k = 0;
        for (size_t i = 0; i < n_ends; i += 2) {
            size_t middle = ends[i], end = i + 1 < n_ends ? ends[i + 1] : middle;
            merge(s, s->records, from, middle, end, s->other);
            from = ends[k++] = end;
        }
        n_ends = k;
        char *swap = s->records;
        s->records = s->other;
        s->other = swap;
    }
    free(ends);
    return 0;
}

/* ---- on disk --------------------------------------------------------------------------------------- */

static int open_file(struct spill *s)
{
    if (s->fd < 0)
        s->fd = dcr_open_nameless(dcr_temporary_folder());
    return s->fd < 0 ? -1 : 0;
}

static int put(struct spill *s, const char *bytes, size_t n)
{
    while (n) {
        ssize_t k = pwrite(s->fd, bytes, n, s->file_end);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return -1;
        bytes += k;
        n -= (size_t)k;
        s->file_end += k;
    }
    return 0;
}

static struct spill_run *new_run(struct spill *s, int level)
{
    if (s->n_runs == s->runs_cap) {
        int cap = s->runs_cap ? 2 * s->runs_cap : MAX_WAYS;
        struct spill_run *more = realloc(s->runs, (size_t)cap * sizeof *more);
        if (!more)
            return NULL;
        s->runs = more;
        s->runs_cap = cap;
    }
    s->runs[s->n_runs] = (struct spill_run){.at = s->file_end, .level = level};
    return &s->runs[s->n_runs++];
}

/* The record at the head of a run, NULL at its end. */
static const char *head(struct spill *s, struct spill_run *r)
{
    if (r->pos < r->filled)
        return r->buffer + r->pos;
    size_t room = BUFFER_BYTES / s->record * s->record;
    size_t want = (size_t)(r->end - r->at) < room ? (size_t)(r->end - r->at) : room, got = 0;
    if (!want)
        return NULL;
    while (got < want) {
        ssize_t k = pread(s->fd, r->buffer + got, want - got, r->at + (off_t)got);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0) {
            fail(s, k < 0 ? errno : EIO);
            return NULL;
        }
        got += (size_t)k;
    }
    r->at += (off_t)want;
    r->filled = want;
    r->pos = 0;
    return r->buffer;
}

/* Earlier run first among equals, so that order of addition is kept. */
static int heap_after(struct spill *s, int x, int y)
{
    const char *a = s->runs[x].buffer + s->runs[x].pos, *b = s->runs[y].buffer + s->runs[y].pos;
    return is_after(a, b) || (!is_after(b, a) && x > y);
}

static void sift(struct spill *s, int i)
{
    for (int k; (k = 2 * i + 1) < s->n_heap; i = k) {
        if (k + 1 < s->n_heap && heap_after(s, s->heap[k], s->heap[k + 1]))
            k++;
        if (!heap_after(s, s->heap[i], s->heap[k]))
            return;
        int swap = s->heap[i];
        s->heap[i] = s->heap[k];
        s->heap[k] = swap;
    }
}

static int open_runs(struct spill *s, int first)
{
    s->first_open = first;
    s->n_heap = 0;
    free(s->heap);
    s->heap = malloc((size_t)(s->n_runs - first + 1) * sizeof *s->heap);
    if (!s->heap)
        return -1;
    for (int i = first; i < s->n_runs; i++) {
        struct spill_run *r = &s->runs[i];
        r->buffer = malloc(BUFFER_BYTES > s->record ? BUFFER_BYTES : s->record);
        if (!r->buffer)
            return -1;
        if (head(s, r))
            s->heap[s->n_heap++] = i;
    }
    for (int i = s->n_heap / 2; i-- > 0;)
        sift(s, i);
    return s->failed ? -1 : 0;
}

static void close_runs(struct spill *s)
{
    for (int i = s->first_open; i < s->n_runs; i++) {
        free(s->runs[i].buffer);
        s->runs[i].buffer = NULL;
    }
}

static const char *next_merged(struct spill *s)
{
    if (!s->n_heap)
        return NULL;
    struct spill_run *r = &s->runs[s->heap[0]];
    memcpy(s->last, r->buffer + r->pos, s->record);
    r->pos += s->record;
    if (!head(s, r))
        s->heap[0] = s->heap[--s->n_heap];
    sift(s, 0);
    return s->last;
}

/* The runs from `first` on, all of one level, become one of the next. */
static int merge_runs(struct spill *s, int first)
{
    off_t at = s->file_end;
    char *out = malloc(BUFFER_BYTES + s->record);
    size_t n = 0;
    int rc = !out || open_runs(s, first) ? -1 : 0;
    const char *r;
    while (!rc && (r = next_merged(s)) != NULL) {
        memcpy(out + n, r, s->record);
        n += s->record;
        if (n >= BUFFER_BYTES) {
            rc = put(s, out, n);
            n = 0;
        }
    }
    rc = rc || s->failed || put(s, out, n) ? -1 : 0;
    free(out);
    close_runs(s);
    int level = s->runs[first].level;
    s->n_runs = first + 1;
    s->runs[first] = (struct spill_run){.at = at, .end = s->file_end, .level = level + 1};
    return rc;
}

static int is_full_level(const struct spill *s)
{
    return s->n_runs >= MAX_WAYS && s->runs[s->n_runs - MAX_WAYS].level == s->runs[s->n_runs - 1].level;
}

static void write_run(struct spill *s)
{
    if (!s->last)
        s->last = malloc(s->record);
    errno = 0;
    struct spill_run *r = NULL;
    if (!s->last || sort_memory(s) || open_file(s) || !(r = new_run(s, 0)) || put(s, s->records, s->n * s->record)) {
        fail(s, errno ? errno : ENOMEM);
        return;
    }
    r->end = s->file_end;
    s->n = 0;
    s->n_written++;
    while (is_full_level(s))
        if (merge_runs(s, s->n_runs - MAX_WAYS)) {
            fail(s, errno);
            return;
        }
}

/* ---- both ------------------------------------------------------------------------------------------ */

void spill_add(struct spill *s, const void *record)
{
    if (s->failed)
        return;
    if (s->n == s->max_records) {
        write_run(s);
        if (s->failed)
            return;
    }
    if (s->n == s->cap) {
        size_t cap = s->cap ? 2 * s->cap : FIRST_RECORDS;
        cap = cap < s->max_records ? cap : s->max_records;
        char *more = realloc(s->records, cap * s->record);
        if (!more) {
            fail(s, ENOMEM);
            return;
        }
        s->records = more;
        s->cap = cap;
    }
    memcpy(s->records + s->n++ * s->record, record, s->record);
    s->total++;
}

uint64_t spill_count(const struct spill *s)
{
    return s->total;
}

int spill_sort(struct spill *s, struct dcr_err *err)
{
    if (!s->failed && s->n_runs && s->n)
        write_run(s);
    else if (!s->failed && !s->n_runs && sort_memory(s))
        fail(s, ENOMEM);
    free(s->other);
    s->other = NULL;
    if (!s->failed && s->n_runs) {
        free(s->records);
        s->records = NULL;
        if (open_runs(s, 0))
            fail(s, errno ? errno : ENOMEM);
    }
    if (!s->failed)
        return 0;
    errno = s->sys;
    return dcr_err_sys(err, DCR_FATAL,
                       "cannot sort the events of a trace through a temporary file; point TMPDIR at a disk with room");
}

const void *spill_next(struct spill *s)
{
    if (s->failed)
        return NULL;
    if (s->n_runs)
        return next_merged(s);
    return s->next < s->n ? s->records + s->next++ * s->record : NULL;
}

int spill_failed(const struct spill *s)
{
    return s->failed;
}

int spill_runs(const struct spill *s)
{
    return s->n_written;
}

void spill_free(struct spill *s)
{
    if (!s)
        return;
    if (s->runs)
        close_runs(s);
    if (s->fd >= 0)
        close(s->fd);
    free(s->records);
    free(s->other);
    free(s->runs);
    free(s->heap);
    free(s->last);
    free(s);
}
