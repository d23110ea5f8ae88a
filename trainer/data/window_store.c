/* window_store.c - the reading half of window_store.h; the bytes are in window_file.h. */
#include "trainer/data/window_file.h"

#include "lib/base/fs.h"
#include "lib/base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <zlib.h>

/* Offsets, lengths and addresses of O_DIRECT: a multiple of every disk's sector. */
#define BLOCK ((size_t)4096)
/* of statfs(2): file systems without a disk below */
#define FS_TMPFS 0x01021994
#define FS_RAMFS 0x858458f6

enum way { WAY_CACHE, WAY_DIRECT, WAY_DONTNEED };

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

/* returns 0; -1 with errno, 0 at the end of the file */
static int read_at(int fd, char *at, size_t n, uint64_t offset)
{
    while (n) {
        ssize_t k = pread(fd, at, n, (off_t)offset);
        if (k < 0 && errno == EINTR)
            continue;
        if (k == 0)
            errno = 0;
        if (k <= 0)
            return -1;
        at += k;
        n -= (size_t)k;
        offset += (uint64_t)k;
    }
    return 0;
}

static int cannot_read(const char *path, struct dcr_err *err)
{
    if (errno == 0)
        return dcr_err_set(err, DCR_FAIL, "windows '%s' became shorter while they were read", path);
    return dcr_err_sys(err, DCR_FAIL, "cannot read windows '%s'", path);
}

static int check_header(const char *path, const struct window_file_header *h, int64_t file_bytes,
                        const struct dataset *d, struct dcr_err *err)
{
    if (file_bytes < (int64_t)sizeof *h || memcmp(h->magic, WINDOW_FILE_MAGIC, sizeof h->magic))
        return dcr_err_set(err, DCR_FAIL, "'%s' holds no windows of this program; write it with --write-windows", path);
    if (h->byte_order != WINDOW_FILE_BYTE_ORDER)
        return dcr_err_set(err, DCR_FAIL, "windows '%s' were written on a machine of the other byte order", path);
    if (h->version != WINDOW_FILE_VERSION)
        return dcr_err_set(err, DCR_FAIL, "windows '%s' have format version %u, this program reads version %d", path,
                           h->version, WINDOW_FILE_VERSION);
    if (h->header_crc != window_file_header_crc(h))
        return dcr_err_set(err, DCR_FAIL, "windows '%s' are damaged: the header's checksum does not match", path);
    if (h->file_bytes != file_bytes)
        return dcr_err_set(err, DCR_FAIL, "windows '%s' have %lld of their %lld bytes; write them again", path,
                           (long long)file_bytes, (long long)h->file_bytes);
    if (h->n_rows != (int64_t)d->n_rows || h->n_sensors != (int64_t)d->n_sensors)
        return dcr_err_set(err, DCR_FAIL,
                           "windows '%s' are of other data: %lld rows of %lld sensors there, %zu of %zu here", path,
                           (long long)h->n_rows, (long long)h->n_sensors, d->n_rows, d->n_sensors);
    if (h->data_crc != window_file_data_crc(d))
        return dcr_err_set(err, DCR_FAIL,
                           "windows '%s' are of other data: as many rows and sensors, but other speeds or times", path);
    if (h->format >= WINDOW_N_FORMATS || h->chunk_rows < 1 || h->chunk_rows > h->n_rows ||
        (size_t)h->chunk_rows * window_file_text_row_bytes(d->n_sensors) > WINDOW_FILE_MAX_CHUNK ||
        (uint64_t)file_bytes <
            sizeof *h + window_file_index_bytes(window_file_n_chunks(d->n_rows, (size_t)h->chunk_rows)))
        return dcr_err_set(err, DCR_FAIL, "windows '%s' contradict themselves; write them again", path);
    return 0;
}

static size_t rows_of(const struct window_store *s, size_t chunk)
{
    size_t first = chunk * s->chunk_rows;
    return s->n_rows - first < s->chunk_rows ? s->n_rows - first : s->chunk_rows;
}

/* Every chunk lies in the file, behind the one before, and is no longer than its rows can be. */
static int check_index(const struct window_store *s, const struct window_file_header *h, struct dcr_err *err)
{
    uint32_t crc = dcr_crc32c(0, s->offset, (s->n_chunks + 1) * sizeof *s->offset);
    crc = dcr_crc32c(crc, s->crc, s->n_chunks * sizeof *s->crc);
    if (crc != h->index_crc)
        return dcr_err_set(err, DCR_FAIL, "windows '%s' are damaged: the index's checksum does not match", s->path);
    size_t raw_row = window_file_raw_row_bytes(s->n_sensors);
    uint64_t longest = compressBound((uLong)(s->chunk_rows * window_file_text_row_bytes(s->n_sensors)));
    int bad = s->offset[0] != sizeof *h + window_file_index_bytes(s->n_chunks) ||
              s->offset[s->n_chunks] != (uint64_t)h->file_bytes;
    for (size_t k = 0; k < s->n_chunks && !bad; k++) {
        uint64_t n = s->offset[k + 1] - s->offset[k];
        bad = s->offset[k + 1] < s->offset[k] ||
              (s->format == WINDOW_FORMAT_RAW ? n != rows_of(s, k) * raw_row : n > longest);
    }
    return bad ? dcr_err_set(err, DCR_FAIL, "windows '%s' contradict themselves; write them again", s->path) : 0;
}

/* From now on reads pass the page cache by, as far as this file system lets them. */
static int make_cold(struct window_store *s, struct dcr_err *err)
{
    struct statfs fs;
    if (fstatfs(s->fd, &fs) == 0 && (fs.f_type == (__fsword_t)FS_TMPFS || fs.f_type == (__fsword_t)FS_RAMFS))
        return dcr_err_set(err, DCR_FAIL, "windows '%s' lie in memory, not on a disk: --cold has nothing to pass by",
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
        posix_fadvise(s->fd, 0, 0, POSIX_FADV_RANDOM); /* no reading ahead of what is asked for */
    }
    free(block);
    return 0;
}

static int open_checked(struct window_store *s, const struct dataset *d, struct dcr_err *err)
{
    struct stat st;
    struct window_file_header h = {0};
    int rc = dcr_open_file("windows", s->path, &s->fd, err);
    if (rc) {
        s->fd = -1;
        return rc;
    }
    if (fstat(s->fd, &st))
        return cannot_read(s->path, err);
    if (!S_ISREG(st.st_mode))
        return dcr_err_set(err, DCR_FAIL, "windows '%s' are not a file", s->path);
    if (st.st_size >= (off_t)sizeof h && read_at(s->fd, (char *)&h, sizeof h, 0))
        return cannot_read(s->path, err);
    rc = check_header(s->path, &h, st.st_size, d, err);
    if (rc)
        return rc;
    s->format = (enum window_format)h.format;
    s->n_rows = d->n_rows;
    s->n_sensors = d->n_sensors;
    s->chunk_rows = (size_t)h.chunk_rows;
    s->n_chunks = window_file_n_chunks(s->n_rows, s->chunk_rows);
    s->offset = calloc(s->n_chunks + 1, sizeof *s->offset);
    s->crc = calloc(s->n_chunks, sizeof *s->crc);
    if (!s->offset || !s->crc)
        return dcr_err_set(err, DCR_FATAL, "out of memory for an index of %zu chunks", s->n_chunks);
    size_t n_offsets = (s->n_chunks + 1) * sizeof *s->offset;
    if (read_at(s->fd, (char *)s->offset, n_offsets, sizeof h) ||
        read_at(s->fd, (char *)s->crc, s->n_chunks * sizeof *s->crc, sizeof h + n_offsets))
        return cannot_read(s->path, err);
    return check_index(s, &h, err);
}

int window_store_open(struct window_store **out, const char *path, const struct dataset *d, int is_cold,
                      struct dcr_err *err)
{
    struct window_store *s = calloc(1, sizeof *s);
    if (!s)
        return dcr_err_set(err, DCR_FATAL, "out of memory");
    s->fd = -1;
    s->path = strdup(path);
    int rc = s->path ? open_checked(s, d, err) : dcr_err_set(err, DCR_FATAL, "out of memory");
    if (!rc && is_cold)
        rc = make_cold(s, err);
    if (rc)
        window_store_close(s);
    else
        *out = s;
    return rc;
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

/* ---- reading ------------------------------------------------------------------------------------ */

struct window_reader {
    const struct window_store *s;
    size_t n_rows;
    char *bytes; /* chunks of a window, with what O_DIRECT reads around them; on a block's boundary */
    char *text;  /* of one chunk, and a NUL */
    z_stream z;
    int has_z;
};

int window_reader_open(struct window_reader **out, const struct window_store *s, size_t n_rows, struct dcr_err *err)
{
    struct window_reader *r = calloc(1, sizeof *r);
    uint64_t longest = 0;
    for (size_t w = 0; w + n_rows <= s->n_rows; w++) {
        uint64_t n = s->offset[(w + n_rows - 1) / s->chunk_rows + 1] - s->offset[w / s->chunk_rows];
        longest = n > longest ? n : longest;
    }
    if (!r)
        return dcr_err_set(err, DCR_FATAL, "out of memory");
    r->s = s;
    r->n_rows = n_rows;
    void *bytes = NULL;
    int rc = posix_memalign(&bytes, BLOCK, (longest / BLOCK + 3) * BLOCK);
    r->bytes = rc ? NULL : bytes;
    r->text = malloc(s->chunk_rows * window_file_text_row_bytes(s->n_sensors) + 1);
    r->has_z = inflateInit(&r->z) == Z_OK;
    if (r->bytes && r->text && r->has_z) {
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
    if (r->has_z)
        inflateEnd(&r->z);
    free(r->bytes);
    free(r->text);
    free(r);
}

/* Brings bytes [first, end) of the file to memory; out: where they are. */
static int fetch(struct window_reader *r, uint64_t first, uint64_t end, const char **out, struct dcr_err *err)
{
    const struct window_store *s = r->s;
    if (s->way != WAY_DIRECT) {
        if (s->way == WAY_DONTNEED)
            posix_fadvise(s->fd, (off_t)(first / BLOCK * BLOCK), (off_t)(end - first / BLOCK * BLOCK),
                          POSIX_FADV_DONTNEED);
        *out = r->bytes;
        return read_at(s->fd, r->bytes, end - first, first) ? cannot_read(s->path, err) : 0;
    }
    /* whole blocks; the file's last one may be cut, which is no error as long as the chunks are there */
    uint64_t from = first / BLOCK * BLOCK, to = (end + BLOCK - 1) / BLOCK * BLOCK;
    for (uint64_t have = from; have < end;) {
        ssize_t k = pread(s->fd, r->bytes + (have - from), to - have, (off_t)have);
        if (k < 0 && errno == EINTR)
            continue;
        if (k == 0)
            errno = 0;
        /* a short read must end on a block to be continued */
        if (k <= 0 || (have + (uint64_t)k < end && (size_t)k % BLOCK))
            return cannot_read(s->path, err);
        have += (uint64_t)k;
    }
    *out = r->bytes + (first - from);
    return 0;
}

static int bad_chunk(const struct window_reader *r, size_t chunk, const char *what, struct dcr_err *err)
{
    return dcr_err_set(err, DCR_FAIL, "windows '%s' are damaged: the chunk of row %zu %s; write them again", r->s->path,
                       chunk * r->s->chunk_rows, what);
}

/* "0.5,64.37,...\n" into time and speeds. returns what follows, NULL when it is not just that */
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

/* The rows of a window that lie in one chunk. */
struct part {
    size_t chunk, first, n; /* first: within the chunk */
    float *speed, *time;    /* where they go */
};

static int decode_text(struct window_reader *r, const char *bytes, size_t n, const struct part *p, struct dcr_err *err)
{
    const struct window_store *s = r->s;
    size_t cap = s->chunk_rows * window_file_text_row_bytes(s->n_sensors);
    r->z.next_in = (unsigned char *)(uintptr_t)bytes; /* zlib reads it only */
    r->z.avail_in = (uInt)n;
    r->z.next_out = (unsigned char *)r->text;
    r->z.avail_out = (uInt)cap;
    if (inflateReset(&r->z) != Z_OK || inflate(&r->z, Z_FINISH) != Z_STREAM_END || r->z.avail_in)
        return bad_chunk(r, p->chunk, "cannot be inflated", err);
    r->text[cap - r->z.avail_out] = 0;
    const char *line = r->text;
    for (size_t i = 0; i < p->first && line; i++) {
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    for (size_t i = 0; i < p->n && line; i++)
        line = parse_row(line, s->n_sensors, p->speed + i * s->n_sensors, p->time + i);
    return line ? 0 : bad_chunk(r, p->chunk, "is not the text of times and speeds", err);
}

static void decode_raw(const struct window_store *s, const char *bytes, const struct part *p)
{
    const char *at = bytes + p->first * window_file_raw_row_bytes(s->n_sensors);
    for (size_t i = 0; i < p->n; i++) {
        memcpy(p->time + i, at, sizeof(float));
        memcpy(p->speed + i * s->n_sensors, at + sizeof(float), s->n_sensors * sizeof(float));
        at += window_file_raw_row_bytes(s->n_sensors);
    }
}

int window_reader_read(struct window_reader *r, uint32_t w, float *speed_mph, float *time_of_day, struct dcr_err *err)
{
    const struct window_store *s = r->s;
    const char *bytes = NULL;
    if (w + r->n_rows > s->n_rows)
        return dcr_err_set(err, DCR_FAIL, "windows '%s' have no window %u", s->path, w);
    size_t first = w / s->chunk_rows, last = (w + r->n_rows - 1) / s->chunk_rows;
    int rc = fetch(r, s->offset[first], s->offset[last + 1], &bytes, err);
    for (size_t k = first, done = 0; k <= last && !rc; k++) {
        struct part p = {.chunk = k, .speed = speed_mph + done * s->n_sensors, .time = time_of_day + done};
        p.first = k == first ? w % s->chunk_rows : 0;
        p.n = rows_of(s, k) - p.first;
        p.n = p.n < r->n_rows - done ? p.n : r->n_rows - done;
        size_t n = (size_t)(s->offset[k + 1] - s->offset[k]);
        const char *chunk = bytes + (s->offset[k] - s->offset[first]);
        if (dcr_crc32c(0, chunk, n) != s->crc[k])
            return bad_chunk(r, k, "does not match its checksum", err);
        if (s->format == WINDOW_FORMAT_TEXT)
            rc = decode_text(r, chunk, n, &p, err);
        else
            decode_raw(s, chunk, &p);
        done += p.n;
    }
    return rc;
}
