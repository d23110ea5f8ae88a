/* tracefile.c - see tracefile.h. */
#include "collect/drain/tracefile_inside.h"

#include "lib/base/hash.h"
#include "lib/base/mono.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- writing ---------------------------------------------------------------------------------- */

static int write_at(struct tracefile *t, const void *bytes, size_t n, uint64_t position, size_t *n_done,
                    struct dcr_err *err)
{
    const char *from = bytes;
    off_t at = (off_t)(position * B);
    size_t done = 0;
    int rc = DCR_OK;
    while (done < n && rc == 0) {
        ssize_t k = pwrite(t->fd, from + done, n - done, at + (off_t)done);
        if (k > 0)
            done += (size_t)k;
        else if (k == 0 || errno != EINTR)
            rc = dcr_err_sys(err, DCR_FAIL, "cannot write a trace");
    }
    if (n_done)
        *n_done = done;
    return rc;
}

static struct dct_block_header *head_of_definitions(struct tracefile *t)
{
    return (struct dct_block_header *)(void *)t->definitions;
}

static void seal(struct dct_block_header *b)
{
    b->crc32c = dcr_crc32c(0, b + 1, (size_t)b->used_slots * DCT_SLOT_BYTES);
    b->state = DCT_BLOCK_SEALED;
}

static int remove_tail(struct tracefile *t, struct dcr_err *err)
{
    if (t->has_tail && ftruncate(t->fd, (off_t)(t->n_positions * B)) != 0)
        return dcr_err_sys(err, DCR_FAIL, "cannot cut a trace");
    t->has_tail = 0;
    return DCR_OK;
}

static int write_definitions(struct tracefile *t, struct dcr_err *err)
{
    int rc = t->is_dirty ? write_at(t, t->definitions, B, t->definitions_at, NULL, err) : DCR_OK;
    t->is_dirty = t->is_dirty && rc != 0;
    return rc;
}

static int seal_definitions(struct tracefile *t, struct dcr_err *err)
{
    if (!t->definitions_at)
        return DCR_OK;
    seal(head_of_definitions(t));
    t->is_dirty = 1;
    return write_definitions(t, err);
}

static int begin_definitions(struct tracefile *t)
{
    struct dct_block_header *b = head_of_definitions(t);
    if (seal_definitions(t, NULL) != 0)
        return -1;
    if (remove_tail(t, NULL) != 0)
        return -1;
    memset(t->definitions, 0, sizeof t->definitions);
    b->magic = DCT_BLOCK_MAGIC;
    b->state = DCT_BLOCK_OPEN;
    b->seq = t->n_definitions++;
    t->definitions_at = t->n_positions++;
    return 0;
}

/* returns  0, or -1: it could not be defined now */
static int define(struct tracefile *t, int kind, uint32_t domain, uint32_t id, const char *text, uint32_t len)
{
    struct dct_block_header *b = head_of_definitions(t);
    uint32_t n_text = (len + DCT_SLOT_BYTES - 1) / DCT_SLOT_BYTES;
    if ((!t->definitions_at || b->used_slots + 1 + n_text > SEGMENT_SLOTS) && begin_definitions(t) != 0)
        return -1;
    struct dct_slot *s = (struct dct_slot *)(void *)(b + 1) + b->used_slots;
    *s = (struct dct_slot){.kind = (uint8_t)kind,
                           .n_extra = (uint8_t)n_text,
                           .domain = (uint16_t)domain,
                           .name = id,
                           .t_ns = (int64_t)len};
    memcpy(s + 1, text, len);
    b->used_slots += 1 + n_text;
    b->state = DCT_BLOCK_OPEN; /* it may be sealed if the piece was about to end but did not */
    b->crc32c = 0;
    t->is_dirty = 1;
    return 0;
}

/* ---- names in blocks -------------------------------------------------------------------------- */

/* The text of a name; a process may have written anything. */
static const char *text_of(const struct segment *s, uint32_t name, uint32_t *len)
{
    *len = 0;
    if (name >= s->max_names)
        return "";
    struct segment_name e = segment_names(s)[name]; /* a copy, because the process may change it between check and
                                                     * use */
    if (e.text_at >= s->text_bytes || e.len >= s->text_bytes - e.text_at)
        return "";
    *len = e.len < DCT_MAX_TEXT ? e.len : DCT_MAX_TEXT;
    return (const char *)segment_at(s, s->text_at) + e.text_at;
}

static int need_name(struct tracefile *t, uint64_t name)
{
    uint32_t len;
    if (name == 0 || name >= t->s->max_names || t->names[name / 64] >> name % 64 & 1)
        return 0;
    const char *text = text_of(t->s, (uint32_t)name, &len);
    if (define(t, DCT_STRING, 0, (uint32_t)name, text, len) != 0)
        return -1;
    t->names[name / 64] |= UINT64_C(1) << name % 64;
    return 0;
}

static int need_domain(struct tracefile *t, uint32_t domain)
{
    uint32_t len;
    if (domain == 0 || domain >= SEGMENT_DOMAINS || t->domains[domain / 64] >> domain % 64 & 1)
        return 0;
    const char *text = text_of(t->s, segment_domains(t->s)[domain], &len);
    if (define(t, DCT_DOMAIN, domain, 0, text, len) != 0)
        return -1;
    t->domains[domain / 64] |= UINT64_C(1) << domain % 64;
    return 0;
}

static int is_heard(const struct tracefile *t, uint32_t serial)
{
    for (uint32_t i = 0; i < t->n_serials; i++)
        if (t->serials[i] == serial)
            return 1;
    return 0;
}

/* Takes everything that processes have said so far. A process that was killed while writing leaves a gap, which is
 * skipped after a second. */
static int hear(struct tracefile *t)
{
    enum { WAIT_NS = 1000000000 };
    uint32_t n = __atomic_load_n(&t->s->n_said, __ATOMIC_ACQUIRE);
    n = n < t->s->max_said ? n : t->s->max_said;
    for (; t->n_said < n; t->n_said++) {
        const struct segment_said *said = segment_said(t->s) + t->n_said;
        uint16_t kind = __atomic_load_n(&said->kind, __ATOMIC_ACQUIRE);
        if (!kind) {
            int64_t now = dcr_mono_ns();
            t->stalled_ns = t->stalled_ns ? t->stalled_ns : now;
            if (now - t->stalled_ns < WAIT_NS && !t->is_ending)
                return 0;
        }
        t->stalled_ns = 0;
        uint32_t len;
        const char *text = text_of(t->s, said->name, &len);
        if ((kind == DCT_CATEGORY || kind == DCT_SCHEMA || kind == DCT_THREAD || kind == DCT_NOTE) &&
            is_heard(t, said->process) && define(t, kind, said->domain, said->id, text, len) != 0)
            return -1;
    }
    return 0;
}

static int need_file(struct tracefile *t, const struct dct_slot *s)
{
    struct dct_attr a;
    memcpy(&a, s, sizeof a);
    return (a.payload_type & 0xff) == DCT_PAYLOAD_FILE ? need_name(t, a.payload) : 0;
}

static int need_all(struct tracefile *t, const struct dct_block_header *b)
{
    const struct dct_slot *s = (const struct dct_slot *)(const void *)(b + 1), *end = s + b->used_slots;
    int rc = hear(t);
    for (; s < end && rc == 0; s += 1 + s->n_extra) {
        if (s->kind == DCT_POP || s->kind == DCT_END || s->kind == DCT_STRING)
            continue;
        rc = need_domain(t, s->domain) || need_name(t, s->name);
        if (rc == 0 && s->kind == DCT_SPAN && s->n_extra == 2 && end - s > 2)
            rc = need_file(t, s + 2);
    }
    return rc ? -1 : 0;
}

/* ---- blocks ----------------------------------------------------------------------------------- */

uint64_t tracefile_next(struct tracefile *t, uint32_t track)
{
    uint32_t i = tracefile_index(t, track);
    return i == UINT32_MAX ? 0 : t->next[i];
}

int tracefile_is_resumed(struct tracefile *t, uint32_t track)
{
    return tracefile_index(t, track) < t->n_resumed;
}

void tracefile_restart(struct tracefile *t, uint32_t track)
{
    uint32_t i = tracefile_index(t, track);
    if (i != UINT32_MAX)
        t->next[i] = 0;
}

void tracefile_begin_end(struct tracefile *t)
{
    if (!t->is_ending && t->max_positions != UINT64_MAX && !t->pieces.bounds.n_pieces)
        t->max_positions += KEPT_FOR_SUMS;
    t->is_ending = 1;
}

void tracefile_exceed(struct tracefile *t)
{
    t->may_exceed = 1;
}

int tracefile_is_full(const struct tracefile *t)
{
    return t->n_batch == BATCH || t->n_positions + t->n_batch >= t->max_positions;
}

static struct dct_block_header *add(struct tracefile *t, const struct dct_block_header *b)
{
    struct dct_block_header *copy = (void *)(t->batch + (size_t)t->n_batch * B);
    uint32_t n = __atomic_load_n(&b->used_slots, __ATOMIC_ACQUIRE); /* the block may still be in use */
    n = n < SEGMENT_SLOTS ? n : SEGMENT_SLOTS;
    size_t used = sizeof *b + (size_t)n * DCT_SLOT_BYTES;
    memcpy(copy, b, used);
    memset((char *)copy + used, 0, B - used);
    copy->used_slots = n;
    copy->state = DCT_BLOCK_OPEN;
    copy->crc32c = 0;
    copy->dropped = 0;
    memset(copy->reserved, 0, sizeof copy->reserved);
    if (need_all(t, copy) != 0)
        return NULL;
    return copy;
}

/* The piece is complete. The next piece repeats the definitions that it needs. */
static int begin_piece(struct tracefile *t, struct dcr_err *err)
{
    struct dct_file_header *h = &t->entry->header;
    h->version = DCT_VERSION;
    if (remove_tail(t, err) != 0 || seal_definitions(t, err) != 0 || tracefile_header(t, h, err) != 0)
        return -1;
    uint64_t n = t->n_positions - 1;
    h->blocks_before += n;
    if (pieces_next(&t->pieces, &t->fd, err) != 0) {
        h->blocks_before -= n;
        return -1;
    }
    memset(t->names, 0, (t->s->max_names / 64 + 1) * sizeof *t->names);
    memset(t->domains, 0, sizeof t->domains);
    t->n_said = 0;
    t->definitions_at = 0;
    t->entry->positions = t->n_positions = 1;
    if (t->pieces.is_lost && !t->is_note_said)
        tracefile_note(t, "the sums of events that are no longer kept could not be made");
    return tracefile_header(t, h, err);
}

int tracefile_put(struct tracefile *t, const struct dct_block_header *b, int is_sealed, struct dcr_err *err)
{
    int is_full = t->pieces.bounds.n_pieces && !t->n_batch && t->n_positions >= t->max_positions;
    if (is_full && !t->is_ending && !t->may_exceed && begin_piece(t, err) != 0)
        return -1;
    uint32_t track = tracefile_index(t, b->track);
    struct dct_block_header *copy = track == UINT32_MAX ? NULL : add(t, b);
    if (!copy)
        return -1;
    if (is_sealed)
        seal(copy);
    t->put[t->n_batch++] = track;
    t->next[track] = b->seq + 1;
    return 0;
}

int tracefile_flush(struct tracefile *t, uint32_t *n_written, struct dcr_err *err)
{
    int rc = remove_tail(t, err);
    uint32_t n = t->n_batch, n_done = 0;
    (void)hear(t); /* a process may have said something without using a name */
    if (rc == 0)
        rc = write_definitions(t, err);
    if (rc == 0 && n && !t->is_copying && !t->pieces.bounds.n_pieces && t->n_positions + n > t->max_positions)
        rc = dcr_err_set(err, DCR_FATAL,
                         DCR_STOP_NOTE "the trace reached its limit on disk, which --max-disk-mb raises");
    size_t n_bytes = 0;
    if (rc == 0 && n)
        rc = write_at(t, t->batch, (size_t)n * B, t->n_positions, &n_bytes, err);
    t->has_tail = t->is_copying ? n_bytes > 0 : rc != 0;
    if (!t->is_copying) { /* whole blocks that were written are kept */
        n_done = (uint32_t)(n_bytes / B);
        t->entry->positions = t->n_positions += n_done;
        while (n > n_done)
            t->next[t->put[--n]]--;
    }
    t->n_batch = 0;
    t->is_copying = 0;
    if (n_written)
        *n_written = n_done;
    return rc;
}

void tracefile_begin_copies(struct tracefile *t)
{
    t->is_copying = 1;
}

void tracefile_copy(struct tracefile *t, const struct dct_block_header *b)
{
    if (t->n_batch < BATCH && add(t, b))
        t->n_batch++;
}

void tracefile_note(struct tracefile *t, const char *sentence)
{
    if (!t->is_note_said)
        (void)define(t, DCT_NOTE, 0, 0, sentence, (uint32_t)strlen(sentence));
    t->is_note_said = 1;
}

int tracefile_header(struct tracefile *t, const struct dct_file_header *h, struct dcr_err *err)
{
    unsigned char block[B] = {0};
    struct dct_file_header own = *h;
    snprintf(own.host, sizeof own.host, "%s", t->s->host);
    memcpy(block, &own, sizeof own);
    return write_at(t, block, t->n_positions > 1 ? sizeof own : B, 0, NULL, err);
}

void tracefile_leave(struct tracefile *t)
{
    if (t->pieces.follow)
        follow_free(t->pieces.follow);
    close(t->fd);
    tracefile_release(t);
}

int tracefile_close(struct tracefile *t, struct follow **list, struct dcr_err *err)
{
    int rc = remove_tail(t, err);
    rc = seal_definitions(t, err) || rc;
    pieces_end(&t->pieces, t->fd, list);
    if (close(t->fd) != 0 && rc == 0)
        rc = dcr_err_sys(err, DCR_FAIL, "cannot close a trace");
    tracefile_release(t);
    return rc;
}

uint64_t tracefile_ranges(const struct dct_block_header *b, uint32_t n_used)
{
    const struct dct_slot *s = (const struct dct_slot *)(const void *)(b + 1), *end = s + n_used;
    uint64_t n = 0;
    for (; s < end; s += 1 + s->n_extra)
        n += s->kind == DCT_PUSH || s->kind == DCT_START || s->kind == DCT_MARK || s->kind == DCT_SPAN ||
             s->kind == DCT_GPU;
    return n;
}
