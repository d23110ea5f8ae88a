/* hash.h - SHA-256 of streams and files (nettle), CRC-32C of trace blocks. */
#ifndef DCR_HASH_H
#define DCR_HASH_H

#include "lib/base/stream.h"

#include <stdint.h>

#define DCR_SHA256_HEX 65 /* with the NUL */

struct dcr_sha256;
struct dcr_sha256 *dcr_sha256_new(void);
void dcr_sha256_add(struct dcr_sha256 *h, const void *bytes, size_t n);
/** dcr_sha256_finish - 64 lower-case hex digits and a NUL; frees h. */
void dcr_sha256_finish(struct dcr_sha256 *h, char out[DCR_SHA256_HEX]);
/** dcr_sha256_bytes - of n bytes in memory. */
void dcr_sha256_bytes(const void *bytes, size_t n, char out[DCR_SHA256_HEX]);
/* A stream whose bytes reach its reader and also enter a checksum. */
struct dcr_hashed {
    struct dcr_stream *inner;
    struct dcr_sha256 *hash; /* gives: end it with dcr_sha256_finish */
    int64_t n_bytes;         /* bytes that have passed so far */
};
/** dcr_stream_hashed - fill h and wrap inner, both of which the caller keeps alive; name as in stream.h. */
struct dcr_stream dcr_stream_hashed(struct dcr_hashed *h, struct dcr_stream *inner, const char *name);

/** dcr_sha256_file - of the first most bytes of a file, or of all when it has fewer.
 *  size_bytes  gives how many these are; may be NULL */
int dcr_sha256_file(const char *path, int64_t most, char out[DCR_SHA256_HEX], int64_t *size_bytes,
                    struct dcr_err *err) DCR_MUST_CHECK;

/** dcr_crc32c - Castagnoli CRC (iSCSI, RFC 3720), crc = 0 to begin. */
uint32_t dcr_crc32c(uint32_t crc, const void *bytes, size_t n);

#endif
