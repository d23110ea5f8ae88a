/* window_store_write.c - the writing half of window_store.h. */
#include "trainer/data/window_file.h"

#include "lib/base/fs.h"
#include "lib/base/hash.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

uint32_t window_file_data_crc(const struct dataset *d)
{
    uint32_t crc = dcr_crc32c(0, d->speed_mph, d->n_rows * d->n_sensors * sizeof *d->speed_mph);
    return dcr_crc32c(crc, d->time_of_day, d->n_rows * sizeof *d->time_of_day);
}

uint32_t window_file_header_crc(const struct window_file_header *h)
{
    return dcr_crc32c(0, h, offsetof(struct window_file_header, header_crc));
}

struct writer {
    const struct dataset *d;
    enum window_format format;
    size_t chunk_rows, n_chunks;
    FILE *f;
    uint64_t *offset; /* (n_chunks + 1) */
    uint32_t *crc;    /* (n_chunks) */
    char *text;       /* of one chunk */
    unsigned char *chunk;
    size_t chunk_cap;
    z_stream z;
    int has_z;
};

/* The shortest text that reads back as the same bits. */
static size_t number_text(char *out, float v)
{
    int n = 0;
    for (int digits = 6; digits <= 9; digits++) {
        n = snprintf(out, WINDOW_TEXT_NUMBER, "%.*g", digits, (double)v);
        if (strtof(out, NULL) == v)
            break;
    }
    return (size_t)n;
}

/* Rows first .. end - 1 as a chunk. returns its bytes, 0 when zlib fails */
static size_t text_chunk(struct writer *w, size_t first, size_t end)
{
    const struct dataset *d = w->d;
    size_t n = 0;
    for (size_t row = first; row < end; row++) {
        n += number_text(w->text + n, d->time_of_day[row]);
        for (size_t i = 0; i < d->n_sensors; i++) {
            w->text[n++] = ',';
            n += number_text(w->text + n, d->speed_mph[row * d->n_sensors + i]);
        }
        w->text[n++] = '\n';
    }
    w->z.next_in = (unsigned char *)w->text;
    w->z.avail_in = (uInt)n;
    w->z.next_out = w->chunk;
    w->z.avail_out = (uInt)w->chunk_cap;
    if (deflateReset(&w->z) != Z_OK || deflate(&w->z, Z_FINISH) != Z_STREAM_END)
        return 0;
    return w->chunk_cap - w->z.avail_out;
}

static size_t raw_chunk(struct writer *w, size_t first, size_t end)
{
    const struct dataset *d = w->d;
    unsigned char *at = w->chunk;
    for (size_t row = first; row < end; row++) {
        memcpy(at, d->time_of_day + row, sizeof(float));
        memcpy(at + sizeof(float), d->speed_mph + row * d->n_sensors, d->n_sensors * sizeof(float));
        at += window_file_raw_row_bytes(d->n_sensors);
    }
    return (size_t)(at - w->chunk);
}

static int writer_alloc(struct writer *w, struct dcr_err *err)
{
    size_t ns = w->d->n_sensors, n_text = w->chunk_rows * window_file_text_row_bytes(ns);
    w->offset = calloc(w->n_chunks + 1, sizeof *w->offset);
    w->crc = calloc(w->n_chunks, sizeof *w->crc);
    w->text = malloc(n_text + WINDOW_TEXT_NUMBER); /* snprintf's NUL */
    w->chunk_cap = w->chunk_rows * window_file_raw_row_bytes(ns);
    if (w->format == WINDOW_FORMAT_TEXT) {
        w->has_z = deflateInit(&w->z, Z_DEFAULT_COMPRESSION) == Z_OK;
        w->chunk_cap = w->has_z ? deflateBound(&w->z, (uLong)n_text) : 0;
    }
    w->chunk = w->chunk_cap ? malloc(w->chunk_cap) : NULL;
    if (w->offset && w->crc && w->text && w->chunk)
        return 0;
    return dcr_err_set(err, DCR_FATAL, "out of memory for chunks of %zu rows of %zu sensors", w->chunk_rows, ns);
}

static void writer_release(struct writer *w)
{
    if (w->has_z)
        deflateEnd(&w->z);
    free(w->offset);
    free(w->crc);
    free(w->text);
    free(w->chunk);
}

/* Chunks first, then the header and index that describe them: space for those is left in front.
 * returns 0, or -1 with errno */
static int write_all(struct writer *w)
{
    const struct dataset *d = w->d;
    struct window_file_header h = {.magic = WINDOW_FILE_MAGIC,
                                   .byte_order = WINDOW_FILE_BYTE_ORDER,
                                   .version = WINDOW_FILE_VERSION,
                                   .n_rows = (int64_t)d->n_rows,
                                   .n_sensors = (int64_t)d->n_sensors,
                                   .chunk_rows = (int64_t)w->chunk_rows,
                                   .format = (uint32_t)w->format,
                                   .data_crc = window_file_data_crc(d)};
    size_t n_offsets = (w->n_chunks + 1) * sizeof *w->offset, n_crcs = w->n_chunks * sizeof *w->crc;
    w->offset[0] = sizeof h + window_file_index_bytes(w->n_chunks);
    if (fseeko(w->f, (off_t)w->offset[0], SEEK_SET))
        return -1;
    for (size_t k = 0; k < w->n_chunks; k++) {
        size_t first = k * w->chunk_rows, end = first + w->chunk_rows;
        end = end < d->n_rows ? end : d->n_rows;
        size_t n = w->format == WINDOW_FORMAT_TEXT ? text_chunk(w, first, end) : raw_chunk(w, first, end);
        if (n == 0) {
            errno = ENOMEM;
            return -1;
        }
        if (fwrite(w->chunk, 1, n, w->f) != n)
            return -1;
        w->crc[k] = dcr_crc32c(0, w->chunk, n);
        w->offset[k + 1] = w->offset[k] + n;
    }
    h.file_bytes = (int64_t)w->offset[w->n_chunks];
    h.index_crc = dcr_crc32c(dcr_crc32c(0, w->offset, n_offsets), w->crc, n_crcs);
    h.header_crc = window_file_header_crc(&h);
    if (fseeko(w->f, 0, SEEK_SET) || fwrite(&h, sizeof h, 1, w->f) != 1 ||
        fwrite(w->offset, 1, n_offsets, w->f) != n_offsets || fwrite(w->crc, 1, n_crcs, w->f) != n_crcs)
        return -1;
    /* on disk before it has its name; and only pages that are written can leave the page cache (cold reads) */
    return fflush(w->f) || fsync(fileno(w->f)) ? -1 : 0;
}

int window_store_write(const char *path, const struct dataset *d, enum window_format format, size_t chunk_rows,
                       struct dcr_err *err)
{
    char partial[4096];
    struct writer w = {.d = d, .format = format};
    w.chunk_rows = chunk_rows < d->n_rows ? chunk_rows : d->n_rows;
    w.n_chunks = window_file_n_chunks(d->n_rows, w.chunk_rows);
    /* zlib counts in 32 bits */
    if (w.chunk_rows * window_file_text_row_bytes(d->n_sensors) > WINDOW_FILE_MAX_CHUNK)
        return dcr_err_set(err, DCR_FAIL, "chunks of %zu rows of %zu sensors are too large; lower --windows-chunk",
                           w.chunk_rows, d->n_sensors);
    if (snprintf(partial, sizeof partial, "%s.partial", path) >= (int)sizeof partial)
        return dcr_err_set(err, DCR_FAIL, "cannot write windows '%.200s...': the path is too long", path);
    int rc = writer_alloc(&w, err);
    if (rc)
        goto out;
    int fd;
    rc = dcr_open_partial(path, partial, &fd, err);
    if (rc)
        goto out;
    w.f = fdopen(fd, "wb");
    rc = !w.f || write_all(&w) ? dcr_err_sys(err, DCR_FAIL, "cannot write windows '%s'", path)
                               : dcr_commit_file(fd, partial, path, err);
    if (rc)
        unlink(partial);
    if (w.f)
        fclose(w.f); /* nothing is left in it: write_all flushes */
    else
        close(fd);
out:
    writer_release(&w);
    return rc;
}
