/* window_store.c - see window_store.h.
 *
 * File: header; offset of each chunk and of the end, (n_chunks + 1) x 8 bytes; CRC-32C of each chunk, n_chunks x 4
 * bytes; the chunks, one after the other. The last chunk may have fewer rows. */
#include "trainer/data/window_store.h"

#include "lib/base/fs.h"
#include "lib/base/hash.h"
#include "lib/base/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <zlib.h>

/* Offsets, lengths and addresses of O_DIRECT must be multiples of this; it is a multiple of every disk's sector. */
#define BLOCK ((size_t)4096)
/* from statfs(2): file systems without a disk */
#define FS_TMPFS 0x01021994
#define FS_RAMFS 0x858458f6
/* A number in text is %.9g at most, "-1.23456789e-38", plus a comma or line end. */
#define NUMBER_BYTES 16
/* Limit of the text before it is deflated, because zlib counts in 32 bits. */
#define MAX_CHUNK_BYTES ((size_t)1 << 30)

enum way { WAY_CACHE, WAY_DIRECT, WAY_DONTNEED };

struct header {
    uint64_t chunk_rows;
    uint32_t format; /* enum window_format */
    uint32_t crc;    /* of data set, header and index */
};

struct window_store {
    char *path;
    int fd;
    enum way way;
    enum window_format format;
    size_t n_rows, n_sensors, chunk_rows, n_chunks;
    uint64_t *offset; /* (n_chunks + 1) */
    uint32_t *crc;    /* (n_chunks) */
};

const char *window_format_name(enum window_format f)
{
    static const char *const names[] = {
#define X(id, name) name,
        WINDOW_FORMATS(X)
#undef X
    };
    return names[f];
}

enum window_format window_store_format(const struct window_store *s)
{
    return s->format;
}

size_t window_store_chunk_rows(const struct window_store *s)
{
    return s->chunk_rows;
}

const char *window_store_way(const struct window_store *s)
{
    static const char *const ways[] = {"page cache", "O_DIRECT", "POSIX_FADV_DONTNEED"};
    return ways[s->way];
}

/* Of one row: its time and its speeds. */
static size_t raw_bytes(size_t n_sensors)
{
    return (1 + n_sensors) * sizeof(float);
}

static size_t text_bytes(size_t n_sensors)
{
    return (1 + n_sensors) * NUMBER_BYTES;
}

static size_t rows_of(const struct window_store *s, size_t chunk)
{
    const size_t left = s->n_rows - chunk * s->chunk_rows;
    return left < s->chunk_rows ? left : s->chunk_rows;
}

static int store_alloc(struct window_store **out, const char *path, const struct dataset *d, struct dcr_err *err)
{
    struct window_store *s = *out = calloc(1, sizeof *s);
    if (!s || !(s->path = strdup(path)))
        return dcr_err_set(err, DCR_FATAL, "out of memory");
    s->fd = -1;
    s->n_rows = d->n_rows;
    s->n_sensors = d->n_sensors;
    return 0;
}

static int index_alloc(struct window_store *s, size_t chunk_rows, struct dcr_err *err)
{
    s->chunk_rows = chunk_rows;
    s->n_chunks = (s->n_rows + chunk_rows - 1) / chunk_rows;
    s->offset = calloc(s->n_chunks + 1, sizeof *s->offset);
    s->crc = calloc(s->n_chunks, sizeof *s->crc);
    return s->offset && s->crc ? 0
                               : dcr_err_set(err, DCR_FATAL, "out of memory for an index of %zu chunks", s->n_chunks);
}

/* The header that fits this index and this data set only. */
static struct header header_of(const struct window_store *s, const struct dataset *d)
{
    struct header h = {.chunk_rows = s->chunk_rows, .format = (uint32_t)s->format};
    h.crc = dcr_crc32c(0, d->speed_mph, d->n_rows * d->n_sensors * sizeof *d->speed_mph);
    h.crc = dcr_crc32c(h.crc, d->time_of_day, d->n_rows * sizeof *d->time_of_day);
    h.crc = dcr_crc32c(h.crc, &h, offsetof(struct header, crc));
    h.crc = dcr_crc32c(h.crc, s->offset, (s->n_chunks + 1) * sizeof *s->offset);
    h.crc = dcr_crc32c(h.crc, s->crc, s->n_chunks * sizeof *s->crc);
    return h;
}

void window_store_close(struct window_store *s)
{
    if (!s)
        return;
    if (s->fd >= 0)
        close(s->fd);
    free(s->path);
    free(s->offset);
    free(s->crc);
    free(s);
}

/* ---- writing ------------------------------------------------------------------------------------ */

/* The shortest text that reads back as the same bits. */
static size_t number_text(char *out, float v)
{
    int n = 0;
    for (int digits = 6; digits <= 9; digits++) {
        n = snprintf(out, NUMBER_BYTES, "%.*g", digits, (double)v);
        if (strtof(out, NULL) == v)
            break;
    }
    return (size_t)n;
}

/* Rows [first, end) as a chunk. text: room for them as text, and a NUL. returns its bytes, 0 when zlib fails */
static size_t text_chunk(const struct dataset *d, size_t first, size_t end, char *text, unsigned char *out, size_t cap)
{
    size_t n = 0;
    uLongf n_out = (uLongf)cap;
    for (size_t row = first; row < end; row++) {
        n += number_text(text + n, d->time_of_day[row]);
        for (size_t i = 0; i < d->n_sensors; i++) {
            text[n++] = ',';
            n += number_text(text + n, d->speed_mph[row * d->n_sensors + i]);
        }
        text[n++] = '\n';
    }
    return compress(out, &n_out, (const unsigned char *)text, (uLong)n) == Z_OK ? (size_t)n_out : 0;
}

static size_t raw_chunk(const struct dataset *d, size_t first, size_t end, unsigned char *out)
{
    for (size_t row = first; row < end; row++, out += raw_bytes(d->n_sensors)) {
        memcpy(out, d->time_of_day + row, sizeof(float));
        memcpy(out + sizeof(float), d->speed_mph + row * d->n_sensors, d->n_sensors * sizeof(float));
    }
    return (end - first) * raw_bytes(d->n_sensors);
}

/* Chunks first, then the header and index that describe them, for which space is left in front. returns 0, or -1 with
 * errno */
static int write_all(struct window_store *s, const struct dataset *d, FILE *f)
{
    const size_t n_text = s->chunk_rows * text_bytes(s->n_sensors);
    const size_t cap = compressBound((uLong)n_text); /* may exceed the raw bytes */
    char *text = malloc(n_text + NUMBER_BYTES);      /* snprintf's NUL */
    unsigned char *chunk = malloc(cap);
    s->offset[0] = sizeof(struct header) + (s->n_chunks + 1) * sizeof *s->offset + s->n_chunks * sizeof *s->crc;
    int rc = text && chunk ? fseeko(f, (off_t)s->offset[0], SEEK_SET) : -1;
    for (size_t k = 0; k < s->n_chunks && !rc; k++) {
        const size_t first = k * s->chunk_rows, end = first + rows_of(s, k);
        const size_t n = s->format == WINDOW_FORMAT_TEXT ? text_chunk(d, first, end, text, chunk, cap)
                                                         : raw_chunk(d, first, end, chunk);
        if (n == 0)
            errno = ENOMEM;
        rc = n && fwrite(chunk, 1, n, f) == n ? 0 : -1;
        s->crc[k] = dcr_crc32c(0, chunk, n);
        s->offset[k + 1] = s->offset[k] + n;
    }
    free(text);
    free(chunk);
    if (rc)
        return -1;
    const struct header h = header_of(s, d);
    if (fseeko(f, 0, SEEK_SET) || fwrite(&h, sizeof h, 1, f) != 1 ||
        fwrite(s->offset, sizeof *s->offset, s->n_chunks + 1, f) != s->n_chunks + 1 ||
        fwrite(s->crc, sizeof *s->crc, s->n_chunks, f) != s->n_chunks)
        return -1;
    /* the data are on disk before the file has its name, and only written pages can leave the page cache (cold reads)
     */
    return fflush(f) || fsync(fileno(f)) ? -1 : 0;
}

static int write_file(struct window_store *s, const struct dataset *d, struct dcr_err *err)
{
    char partial[4096];
    int fd;
    if (snprintf(partial, sizeof partial, "%s.partial", s->path) >= (int)sizeof partial)
        return dcr_err_set(err, DCR_FAIL, "the name '%.200s...' is too long; choose a shorter one", s->path);
    int rc = dcr_open_partial(s->path, partial, &fd, err);
    if (rc)
        return rc;
    FILE *f = fdopen(fd, "wb");
    rc = !f || write_all(s, d, f) ? dcr_err_file(err, DCR_FAIL, "cannot write windows '%s'", s->path)
                                  : dcr_commit_file(fd, partial, s->path, err);
    if (rc)
        unlink(partial);
    if (f)
        fclose(f); /* its buffer is empty, because write_all flushes */
    else
        close(fd);
    return rc;
}

int window_store_write(const char *path, const struct dataset *d, enum window_format format, size_t chunk_rows,
                       struct dcr_err *err)
{
    struct window_store *s = NULL;
    chunk_rows = chunk_rows < d->n_rows ? chunk_rows : d->n_rows;
    if (chunk_rows * text_bytes(d->n_sensors) > MAX_CHUNK_BYTES)
        return dcr_err_set(err, DCR_FAIL, "chunks of %zu rows of %zu sensors are too large; lower --windows-chunk",
                           chunk_rows, d->n_sensors);
    int rc = store_alloc(&s, path, d, err);
    if (!rc)
        rc = index_alloc(s, chunk_rows, err);
    if (!rc) {
        s->format = format;
        rc = write_file(s, d, err);
    }
    window_store_close(s);
    return rc;
}

/* ---- opening ------------------------------------------------------------------------------------ */

/* From now on reads bypass the page cache, if this file system supports it. */
static int make_cold(struct window_store *s, struct dcr_err *err)
{
    struct statfs fs;
    if (fstatfs(s->fd, &fs) == 0 && (fs.f_type == (__fsword_t)FS_TMPFS || fs.f_type == (__fsword_t)FS_RAMFS))
        return dcr_err_set(err, DCR_FAIL,
                           "windows '%s' are on a file system in memory; choose an --out on a disk or leave --cold out",
                           s->path);
    void *block = NULL;
    if (posix_memalign(&block, BLOCK, BLOCK))
        return dcr_err_set(err, DCR_FATAL, "out of memory");
    int direct = open(s->path, O_RDONLY | O_CLOEXEC | O_DIRECT);
    if (direct >= 0 && pread(direct, block, BLOCK, 0) > 0) {
        close(s->fd);
        s->fd = direct;
        s->way = WAY_DIRECT;
    } else {
        if (direct >= 0)
            close(direct);
        s->way = WAY_DONTNEED;
        posix_fadvise(s->fd, 0, 0, POSIX_FADV_RANDOM); /* no read-ahead */
    }
    free(block);
    return 0;
}

/* Every chunk must lie in the file after the one before, with the length of its rows if that is known. A checksum can
 * be forged, and reading trusts these numbers. */
static int is_in_order(const struct window_store *s)
{
    struct stat st;
    if (fstat(s->fd, &st) || s->offset[s->n_chunks] != (uint64_t)st.st_size)
        return 0;
    for (size_t k = 0; k < s->n_chunks; k++) {
        const uint64_t n = s->offset[k + 1] - s->offset[k];
        if (s->offset[k + 1] < s->offset[k] ||
            (s->format == WINDOW_FORMAT_RAW && n != rows_of(s, k) * raw_bytes(s->n_sensors)))
            return 0;
    }
    return 1;
}

/* Header and index. One checksum shows that they are complete and belong to this data set. */
static int read_index(struct window_store *s, const struct dataset *d, struct dcr_err *err)
{
    struct header h = {0};
    struct dcr_stream bytes = dcr_stream_fd(&s->fd, s->path);
    if (dcr_stream_read_full(&bytes, &h, sizeof h, err) < 0)
        return dcr_err_while(err, "windows '%s'", s->path);
    int is_good = h.chunk_rows >= 1 && h.chunk_rows <= d->n_rows && h.format < WINDOW_N_FORMATS;
    if (is_good) {
        int rc = index_alloc(s, (size_t)h.chunk_rows, err);
        if (rc)
            return rc;
        s->format = (enum window_format)h.format;
        if (dcr_stream_read_full(&bytes, s->offset, (s->n_chunks + 1) * sizeof *s->offset, err) < 0 ||
            dcr_stream_read_full(&bytes, s->crc, s->n_chunks * sizeof *s->crc, err) < 0)
            return dcr_err_while(err, "windows '%s'", s->path);
        is_good = h.crc == header_of(s, d).crc && is_in_order(s);
    }
    return is_good
               ? 0
               : dcr_err_set(err, DCR_FAIL, "windows '%s' are damaged or of other data; choose another --out", s->path);
}

int window_store_open(struct window_store **out, const char *path, const struct dataset *d, int is_cold,
                      struct dcr_err *err)
{
    struct window_store *s = NULL;
    int fd, rc = store_alloc(&s, path, d, err);
    if (!rc && !(rc = dcr_open_file("windows", path, &fd, err))) {
        s->fd = fd;
        rc = read_index(s, d, err);
    }
    if (!rc && is_cold)
        rc = make_cold(s, err);
    if (rc)
        window_store_close(s);
    else
        *out = s;
    return rc;
}

/* ---- reading ------------------------------------------------------------------------------------ */

struct window_reader {
    const struct window_store *s;
    size_t n_rows;
    char *bytes; /* chunks of a window, plus the blocks that O_DIRECT reads around them; aligned to a block */
    char *text;  /* of one chunk, and a NUL */
};

int window_reader_open(struct window_reader **out, const struct window_store *s, size_t n_rows, struct dcr_err *err)
{
    struct window_reader *r = calloc(1, sizeof *r);
    void *bytes = NULL;
    uint64_t longest = 0;
    for (size_t w = 0; w + n_rows <= s->n_rows; w++) {
        uint64_t n = s->offset[(w + n_rows - 1) / s->chunk_rows + 1] - s->offset[w / s->chunk_rows];
        longest = n > longest ? n : longest;
    }
    if (r && posix_memalign(&bytes, BLOCK, (longest / BLOCK + 3) * BLOCK) == 0)
        *r = (struct window_reader){s, n_rows, bytes, malloc(s->chunk_rows * text_bytes(s->n_sensors) + 1)};
    if (r && r->text) {
        *out = r;
        return 0;
    }
    window_reader_close(r);
    return dcr_err_set(err, DCR_FATAL, "out of memory for windows of %zu rows", n_rows);
}

void window_reader_close(struct window_reader *r)
{
    if (!r)
        return;
    free(r->bytes);
    free(r->text);
    free(r);
}

/* Reads bytes [first, end) of the file into memory; out: where they are. O_DIRECT reads whole blocks; the file's last
 * one may be cut. */
static int fetch(struct window_reader *r, uint64_t first, uint64_t end, const char **out, struct dcr_err *err)
{
    const struct window_store *s = r->s;
    const uint64_t unit = s->way == WAY_DIRECT ? BLOCK : 1;
    const uint64_t from = first / unit * unit, to = (end + unit - 1) / unit * unit;
    if (s->way == WAY_DONTNEED) { /* only whole pages are dropped */
        const uint64_t page = first / BLOCK * BLOCK;
        posix_fadvise(s->fd, (off_t)page, (off_t)((end + BLOCK - 1) / BLOCK * BLOCK - page), POSIX_FADV_DONTNEED);
    }
    for (uint64_t have = from; have < end;) {
        ssize_t k = pread(s->fd, r->bytes + (have - from), to - have, (off_t)have);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return dcr_err_file(err, DCR_FAIL, "cannot read windows '%s'", s->path);
        /* with O_DIRECT, reading can only continue from a block boundary */
        if (k == 0 || (have + (uint64_t)k < end && (uint64_t)k % unit))
            return dcr_err_set(err, DCR_FAIL, "windows '%s' became shorter while they were read", s->path);
        have += (uint64_t)k;
    }
    *out = r->bytes + (first - from);
    return 0;
}

/* The rows of a window that lie in one chunk. */
struct part {
    size_t first, n;     /* first: within the chunk */
    float *speed, *time; /* where they go */
};

/* "0.5,64.37,...
 * " into time and speeds. returns the text after it, NULL when the line has another form */
static const char *parse_row(const char *text, size_t n_sensors, float *speed, float *time)
{
    char *end;
    *time = strtof(text, &end);
    if (end == text)
        return NULL;
    for (size_t i = 0; i < n_sensors; i++) {
        if (*end != ',')
            return NULL;
        const char *at = end + 1;
        speed[i] = strtof(at, &end);
        if (end == at)
            return NULL;
    }
    return *end == '\n' ? end + 1 : NULL;
}

/* returns 0, or -1: it is not the text of times and speeds */
static int decode_text(struct window_reader *r, const char *bytes, size_t n, const struct part *p)
{
    const size_t n_sensors = r->s->n_sensors;
    uLongf n_text = (uLongf)(r->s->chunk_rows * text_bytes(n_sensors));
    if (uncompress((unsigned char *)r->text, &n_text, (const unsigned char *)bytes, (uLong)n) != Z_OK)
        return -1;
    r->text[n_text] = 0;
    const char *line = r->text;
    for (size_t i = 0; i < p->first && line; i++) {
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    for (size_t i = 0; i < p->n && line; i++)
        line = parse_row(line, n_sensors, p->speed + i * n_sensors, p->time + i);
    return line ? 0 : -1;
}

static void decode_raw(const struct window_store *s, const char *bytes, const struct part *p)
{
    const char *at = bytes + p->first * raw_bytes(s->n_sensors);
    for (size_t i = 0; i < p->n; i++, at += raw_bytes(s->n_sensors)) {
        memcpy(p->time + i, at, sizeof(float));
        memcpy(p->speed + i * s->n_sensors, at + sizeof(float), s->n_sensors * sizeof(float));
    }
}

int window_reader_read(struct window_reader *r, uint32_t w, float *speed_mph, float *time_of_day, struct dcr_err *err)
{
    const struct window_store *s = r->s;
    const char *bytes = NULL;
    if (w + r->n_rows > s->n_rows)
        return dcr_err_set(err, DCR_FAIL, "windows '%s' have no window %u", s->path, w);
    const size_t first = w / s->chunk_rows, last = (w + r->n_rows - 1) / s->chunk_rows;
    int rc = fetch(r, s->offset[first], s->offset[last + 1], &bytes, err);
    for (size_t k = first, done = 0; k <= last && !rc; k++) {
        struct part p = {.speed = speed_mph + done * s->n_sensors, .time = time_of_day + done};
        p.first = k == first ? w % s->chunk_rows : 0;
        p.n = rows_of(s, k) - p.first;
        p.n = p.n < r->n_rows - done ? p.n : r->n_rows - done;
        done += p.n;
        const size_t n = (size_t)(s->offset[k + 1] - s->offset[k]);
        const char *chunk = bytes + (s->offset[k] - s->offset[first]), *wrong = NULL;
        if (dcr_crc32c(0, chunk, n) != s->crc[k])
            wrong = "does not match its checksum";
        else if (s->format == WINDOW_FORMAT_RAW)
            decode_raw(s, chunk, &p);
        else if (decode_text(r, chunk, n, &p))
            wrong = "is not the text of times and speeds";
        if (wrong)
            rc = dcr_err_set(err, DCR_FAIL, "windows '%s' are damaged: the chunk of row %zu %s; start the run again",
                             s->path, k * s->chunk_rows, wrong);
    }
    return rc;
}
