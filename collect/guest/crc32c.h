/* crc32c.h - CRC-32C (Castagnoli, RFC 3720) for the injected library, which may link nothing but libc. Equal to
 * lib/base/hash.h's dcr_crc32c (tests/unit/test_spool.c); uses the processor's own instruction where there is one. */
#ifndef DCC_CRC32C_H
#define DCC_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t dcc_crc32c(uint32_t crc, const void *bytes, size_t n);

#endif
