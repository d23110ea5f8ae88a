/* tracefile_open.c - see tracefile.h. Begins a trace, or resumes the trace of a killed collector. */
#include "collect/drain/tracefile_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

uint32_t tracefile_index(struct tracefile *t, uint32_t track)
{
    uint32_t i;
    if (dcr_map_get(&t->track_of, track, &i))
        return i;
    if (t->n_tracks == t->cap_tracks) {
        uint32_t cap = t->cap_tracks ? 2 * t->cap_tracks : 16;
        uint64_t *more = realloc(t->next, cap * sizeof *more);
        if (!more)
            return UINT32_MAX;
        t->next = more;
        t->cap_tracks = cap;
    }
    if (dcr_map_put(&t->track_of, track, t->n_tracks) != 0)
        return UINT32_MAX;
    t->next[t->n_tracks] = 0;
    return t->n_tracks++;
}

static int create(const char *spool, int rank, struct segment_process *p, char *path, size_t n, struct dcr_err *err)
{
    snprintf(path, n, "%s/rank%d", spool, rank);
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return dcr_err_sys(err, DCR_FAIL, "cannot create '%s'", path);
    for (int attempt = 0; attempt < 1000; attempt++) {
        char suffix[16] = "";
        if (attempt)
            snprintf(suffix, sizeof suffix, "-%d", attempt);
        snprintf(p->file, sizeof p->file, "trace-%u%s.dct", p->header.pid, suffix);
        snprintf(path, n, "%s/rank%d/%s", spool, rank, p->file);
        int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0)
            return fd;
        p->file[0] = '\0';
        if (errno != EEXIST)
            break;
    }
    return dcr_err_sys(err, DCR_FAIL, "cannot create '%s'", path);
}

void tracefile_release(struct tracefile *t)
{
    dcr_map_release(&t->track_of);
    free(t->serials);
    free(t->names);
    free(t->next);
    free(t->batch);
    free(t);
}

/* One position is for the file header. */
static uint64_t most_positions(const struct bounds *b)
{
    uint64_t n = b->max_bytes ? (uint64_t)b->max_bytes / B : UINT64_MAX;
    if (b->n_pieces)
        n /= (uint64_t)b->n_pieces;
    return b->n_pieces || n == UINT64_MAX ? n : n - KEPT_FOR_SUMS;
}

/* Learns the blocks and tracks of a piece. */
static void learn(struct tracefile *t, int fd, uint64_t n)
{
    for (uint64_t i = 1; i < n; i++) {
        struct dct_block_header b;
        if (pread(fd, &b, sizeof b, (off_t)(i * B)) != (ssize_t)sizeof b || b.magic != DCT_BLOCK_MAGIC)
            continue;
        uint32_t track = b.track ? tracefile_index(t, b.track) : UINT32_MAX;
        if (b.track == 0)
            t->n_definitions = b.seq + 1;
        else if (track != UINT32_MAX)
            t->next[track] = b.seq + 1;
    }
}

/* Resumes the file of a killed collector. Its blocks stay. Definitions begin anew, because it is unknown which ones
 * exist. */
static int resume(struct tracefile *t, const char *path, struct dcr_err *err)
{
    struct stat st;
    char old[PATH_MAX + 16];
    /* The collector may have been killed while it began a piece. */
    while (snprintf(old, sizeof old, "%s.%u", path, t->pieces.n_old + 1) > 0 && stat(old, &st) == 0)
        t->pieces.n_old++;
    t->fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | (t->pieces.n_old ? O_CREAT : 0), 0666);
    if (t->fd < 0 || fstat(t->fd, &st) != 0)
        return dcr_err_sys(err, DCR_FAIL, "cannot open '%s'", path);
    uint64_t n = (uint64_t)st.st_size / B;
    t->n_positions = t->entry->positions < n ? t->entry->positions : n;
    t->n_positions = t->n_positions ? t->n_positions : 1;
    t->has_tail = 1;
    for (uint32_t i = t->pieces.n_removed + 1; i <= t->pieces.n_old; i++) {
        snprintf(old, sizeof old, "%s.%u", path, i);
        int fd = open(old, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd >= 0 && fstat(fd, &st) == 0)
            learn(t, fd, (uint64_t)st.st_size / B);
        if (fd >= 0)
            close(fd);
    }
    learn(t, t->fd, t->n_positions);
    t->n_resumed = t->n_tracks;
    return DCR_OK;
}

int tracefile_open(struct tracefile **out, const char *spool, const struct segment *s, struct segment_process *p,
                   const struct bounds *bounds, struct dcr_err *err)
{
    struct pieces *pieces;
    int rank = p->header.rank < 0 ? 0 : p->header.rank, rc = DCR_OK;
    struct tracefile *t = calloc(1, sizeof *t);
    *out = NULL;
    if (t) {
        t->names = calloc(s->max_names / 64 + 1, sizeof *t->names);
        t->batch = malloc((size_t)BATCH * B);
    }
    if (!t || !t->names || !t->batch) {
        if (t)
            tracefile_release(t);
        return dcr_err_set(err, DCR_FAIL, "out of memory for the trace of process %u", p->header.pid);
    }
    t->s = s;
    t->entry = p;
    t->max_positions = most_positions(bounds);
    pieces = &t->pieces;
    pieces->bounds = *bounds;
    pieces->segment = (struct segment *)(uintptr_t)s;
    pieces->entry = p;
    pieces->n_old = p->n_old;
    pieces->n_removed = p->n_removed < p->n_old ? p->n_removed : p->n_old;
    p->file[sizeof p->file - 1] = '\0';
    if (p->file[0] && !strchr(p->file, '/')) {
        snprintf(pieces->path, sizeof pieces->path, "%s/rank%d/%s", spool, rank, p->file);
        rc = resume(t, pieces->path, err);
    } else {
        t->n_positions = 1;
        t->fd = create(spool, rank, p, pieces->path, sizeof pieces->path, err);
        if (t->fd >= 0 && (rc = tracefile_header(t, &p->header, err)) != 0) {
            unlink(pieces->path);
            p->file[0] = '\0';
        }
    }
    snprintf(pieces->name, sizeof pieces->name, "rank%d/%s", rank, p->file);
    if (t->fd < 0 || rc || tracefile_inherit(t, p->serial) != 0) {
        if (t->fd >= 0)
            close(t->fd);
        tracefile_release(t);
        return DCR_FAIL;
    }
    *out = t;
    return DCR_OK;
}

int tracefile_inherit(struct tracefile *t, uint32_t serial)
{
    uint32_t *more = realloc(t->serials, (t->n_serials + 1) * sizeof *more);
    if (!more)
        return -1;
    t->serials = more;
    t->serials[t->n_serials++] = serial;
    return 0;
}
