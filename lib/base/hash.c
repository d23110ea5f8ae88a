/* hash.c - see hash.h. */
#include "lib/base/hash.h"

#include "lib/base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <nettle/sha2.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct dcr_sha256 {
    struct sha256_ctx ctx;
};

struct dcr_sha256 *dcr_sha256_new(void)
{
    struct dcr_sha256 *h = malloc(sizeof *h);
    if (!h)
        dcr_die_of_memory();
    sha256_init(&h->ctx);
    return h;
}

void dcr_sha256_add(struct dcr_sha256 *h, const void *bytes, size_t n)
{
    sha256_update(&h->ctx, n, bytes);
}

void dcr_sha256_finish(struct dcr_sha256 *h, char out[DCR_SHA256_HEX])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_digest(&h->ctx, sizeof digest, digest);
    for (size_t i = 0; i < sizeof digest; i++) {
        out[2 * i] = digits[digest[i] >> 4];
        out[2 * i + 1] = digits[digest[i] & 15];
    }
    out[2 * sizeof digest] = '\0';
    free(h);
}

void dcr_sha256_bytes(const void *bytes, size_t n, char out[DCR_SHA256_HEX])
{
    struct dcr_sha256 *h = dcr_sha256_new();
    dcr_sha256_add(h, bytes, n);
    dcr_sha256_finish(h, out);
}

static ssize_t read_hashed(void *ctx, void *out, size_t n, struct dcr_err *err)
{
    struct dcr_hashed *h = ctx;
    ssize_t k = h->inner->read(h->inner->ctx, out, n, err);
    if (k > 0) {
        dcr_sha256_add(h->hash, out, (size_t)k);
        h->n_bytes += k;
    }
    return k;
}

struct dcr_stream dcr_stream_hashed(struct dcr_hashed *h, struct dcr_stream *inner, const char *name)
{
    *h = (struct dcr_hashed){.inner = inner, .hash = dcr_sha256_new()};
    return (struct dcr_stream){read_hashed, h, name};
}

int dcr_sha256_file(const char *path, int64_t most, char out[DCR_SHA256_HEX], int64_t *size_bytes, struct dcr_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return dcr_err_file(err, DCR_FAIL, "cannot read '%s'", path);
    struct dcr_sha256 *h = dcr_sha256_new();
    static _Thread_local char piece[65536];
    int64_t total = 0;
    int rc = 0;
    for (;;) {
        int64_t left = most - total;
        ssize_t k = read(fd, piece, left < (int64_t)sizeof piece ? (size_t)left : sizeof piece);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            rc = dcr_err_file(err, DCR_FAIL, "cannot read '%s'", path);
        if (k <= 0)
            break;
        dcr_sha256_add(h, piece, (size_t)k);
        total += k;
    }
    close(fd);
    dcr_sha256_finish(h, out);
    if (size_bytes)
        *size_bytes = total;
    return rc;
}

/* Slicing-by-8 with the reflected Castagnoli polynomial; tables filled on first use. */
static uint32_t crc_table[8][256];

static void fill_crc_table(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++)
            c = c & 1 ? (c >> 1) ^ 0x82f63b78u : c >> 1;
        crc_table[0][i] = c;
    }
    for (uint32_t i = 0; i < 256; i++)
        for (int t = 1; t < 8; t++)
            crc_table[t][i] = (crc_table[t - 1][i] >> 8) ^ crc_table[0][crc_table[t - 1][i] & 255];
}

#ifdef __x86_64__
/* The processor's own instruction (SSE 4.2): eight bytes every three cycles, five times the table's speed. */
__attribute__((target("sse4.2"))) static uint32_t crc_by_instruction(uint32_t crc, const unsigned char *p, size_t n)
{
    uint64_t c = crc, w;
    for (; n >= 8; n -= 8, p += 8) {
        memcpy(&w, p, 8);
        c = __builtin_ia32_crc32di(c, w);
    }
    for (; n; n--, p++)
        c = __builtin_ia32_crc32qi((uint32_t)c, *p);
    return (uint32_t)c;
}

/* The instruction takes three cycles, but one can begin in each cycle. So three stretches are computed side by side.
 * The checksum of a stretch is carried over the later ones by a table, as if they were zeros, which is exact because a
 * CRC is linear.  source: M. Adler, crc32c.c (2013) */
enum { STRETCH = 1024 };
static uint32_t over_stretch[4][256];
static pthread_once_t is_over_stretch = PTHREAD_ONCE_INIT;

static void fill_over_stretch(void)
{
    static const unsigned char zeros[STRETCH];
    for (int k = 0; k < 4; k++)
        for (uint32_t b = 1; b < 256; b++) {
            uint32_t low = b & (b - 1); /* the sum for several bits */
            over_stretch[k][b] =
                low ? over_stretch[k][low] ^ over_stretch[k][b ^ low] : crc_by_instruction(b << 8 * k, zeros, STRETCH);
        }
}

static uint32_t carry_over(uint32_t c)
{
    return over_stretch[0][c & 255] ^ over_stretch[1][c >> 8 & 255] ^ over_stretch[2][c >> 16 & 255] ^
           over_stretch[3][c >> 24];
}

__attribute__((target("sse4.2"))) static uint32_t crc_by_three(uint32_t crc, const unsigned char *p, size_t n)
{
    for (; n >= 3 * STRETCH; n -= 3 * STRETCH, p += 3 * STRETCH) {
        uint64_t a = crc, b = 0, c = 0, w[3];
        for (size_t i = 0; i < STRETCH; i += 8) {
            memcpy(&w[0], p + i, 8);
            memcpy(&w[1], p + i + STRETCH, 8);
            memcpy(&w[2], p + i + 2 * STRETCH, 8);
            a = __builtin_ia32_crc32di(a, w[0]);
            b = __builtin_ia32_crc32di(b, w[1]);
            c = __builtin_ia32_crc32di(c, w[2]);
        }
        crc = carry_over(carry_over((uint32_t)a) ^ (uint32_t)b) ^ (uint32_t)c;
    }
    return crc_by_instruction(crc, p, n);
}
#endif

uint32_t dcr_crc32c(uint32_t crc, const void *bytes, size_t n)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("sse4.2")) {
        if (n < 3 * STRETCH)
            return ~crc_by_instruction(~crc, bytes, n);
        pthread_once(&is_over_stretch, fill_over_stretch);
        return ~crc_by_three(~crc, bytes, n);
    }
#endif
    static pthread_once_t is_filled = PTHREAD_ONCE_INIT;
    pthread_once(&is_filled, fill_crc_table);
    const unsigned char *p = bytes;
    crc = ~crc;
    for (; n >= 8; n -= 8, p += 8) {
        uint32_t low = crc ^ ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
        crc = crc_table[7][low & 255] ^ crc_table[6][low >> 8 & 255] ^ crc_table[5][low >> 16 & 255] ^
              crc_table[4][low >> 24] ^ crc_table[3][p[4]] ^ crc_table[2][p[5]] ^ crc_table[1][p[6]] ^
              crc_table[0][p[7]];
    }
    for (; n; n--, p++)
        crc = (crc >> 8) ^ crc_table[0][(crc ^ *p) & 255];
    return ~crc;
}
