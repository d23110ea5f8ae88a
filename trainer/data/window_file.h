/* window_file.h - the bytes of a window store, for window_store.c (reading) and window_store_write.c.
 *
 * File: header; offset of each chunk and of the end, (n_chunks + 1) x 8 bytes; CRC-32C of each chunk, n_chunks x 4
 * bytes; the chunks, one behind the other. The last chunk may have fewer rows. */
#ifndef TRAINER_DATA_WINDOW_FILE_H
#define TRAINER_DATA_WINDOW_FILE_H

#include "trainer/data/window_store.h"

#define WINDOW_FILE_MAGIC "DCRNNwin"
#define WINDOW_FILE_VERSION 1
#define WINDOW_FILE_BYTE_ORDER 0x01020304u

struct window_file_header {
    char magic[8];
    uint32_t byte_order, version;
    int64_t file_bytes, n_rows, n_sensors, chunk_rows;
    uint32_t format;     /* enum window_format */
    uint32_t data_crc;   /* window_file_data_crc */
    uint32_t index_crc;  /* of offsets and CRCs */
    uint32_t header_crc; /* of all before it */
};
_Static_assert(sizeof(struct window_file_header) == 64, "no padding may reach the file");

/* A number in text is %.9g at most, "-1.23456789e-38", and the comma or line end behind it. */
#define WINDOW_TEXT_NUMBER 16

/* of text before it is deflated */
#define WINDOW_FILE_MAX_CHUNK ((size_t)1 << 30)

static inline size_t window_file_n_chunks(size_t n_rows, size_t chunk_rows)
{
    return (n_rows + chunk_rows - 1) / chunk_rows;
}
static inline size_t window_file_index_bytes(size_t n_chunks)
{
    return (n_chunks + 1) * sizeof(uint64_t) + n_chunks * sizeof(uint32_t);
}
static inline size_t window_file_raw_row_bytes(size_t n_sensors)
{
    return (1 + n_sensors) * sizeof(float);
}
static inline size_t window_file_text_row_bytes(size_t n_sensors)
{
    return (1 + n_sensors) * WINDOW_TEXT_NUMBER;
}

/** window_file_data_crc - of speeds and times: which data set it is. */
uint32_t window_file_data_crc(const struct dataset *d);
/** window_file_header_crc - what header_crc must be. */
uint32_t window_file_header_crc(const struct window_file_header *h);

#endif
