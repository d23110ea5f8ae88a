/* window_store.h - the rows of a data set in a file, so that windows are read from disk while a run trains.
 *
 * Real data sets are read and decoded while a run trains. This file does so for our runs, and scenarios use it to plant
 * a limit of loading or of the disk (tools/scenario.c). The data set also stays in memory, for validation.
 *
 * Rows are in chunks of equal size, as in HDF5 or Parquet: a chunk is read, checked and decoded as a whole. A window is
 * a run of consecutive rows, and so of chunks, and needs one pread. A row is its time of day and its speeds, either as
 * they are in memory (raw) or as a line of text, `0.5,64.37,...`; the text of a chunk is deflated. Reading gives the
 * data set to the bit. Only the run that wrote a file reads it, so numbers are stored as in memory. */
#ifndef TRAINER_DATA_WINDOW_STORE_H
#define TRAINER_DATA_WINDOW_STORE_H

#include "trainer/data/dataset.h"

/* X(enumerator, name) */
#define WINDOW_FORMATS(X)       \
    X(WINDOW_FORMAT_RAW, "raw") \
    X(WINDOW_FORMAT_TEXT, "text")
enum window_format {
#define X(id, name) id,
    WINDOW_FORMATS(X)
#undef X
        WINDOW_N_FORMATS
};
const char *window_format_name(enum window_format f);

/** window_store_write - write path + ".partial", fsync, rename.
 *  d        borrows
 *  chunk_rows  rows of a chunk, >= 1. Larger ones deflate better, but a window needs a smaller part of each
 *  errors   DCR_FAIL: cannot be written; the partial is removed */
int window_store_write(const char *path, const struct dataset *d, enum window_format format, size_t chunk_rows,
                       struct dcr_err *err) DCR_MUST_CHECK;

struct window_store;

/** window_store_open - check header and index; chunks are checked when they are read.
 *  d        borrows during the call; the data set that the file must have been made of
 *  is_cold  reads bypass the kernel's page cache: O_DIRECT or, if the file system has none, POSIX_FADV_DONTNEED before
 *           every read
 *  out      gives; window_store_close
 *  errors   DCR_FAIL: missing, of another data set, damaged; is_cold on a file system without a disk */
int window_store_open(struct window_store **out, const char *path, const struct dataset *d, int is_cold,
                      struct dcr_err *err) DCR_MUST_CHECK;
/** window_store_close - NULL is fine. */
void window_store_close(struct window_store *s);
enum window_format window_store_format(const struct window_store *s);
size_t window_store_chunk_rows(const struct window_store *s);
/** window_store_way - how the file is read: "O_DIRECT", "POSIX_FADV_DONTNEED" or "page cache". static text */
const char *window_store_way(const struct window_store *s);

/* Data that one thread needs to read. Several threads may read a store at the same time, each with a separate reader.
 */
struct window_reader;
/** window_reader_open - for windows of n_rows rows. out gives; window_reader_close. errors DCR_FATAL: no memory */
int window_reader_open(struct window_reader **out, const struct window_store *s, size_t n_rows,
                       struct dcr_err *err) DCR_MUST_CHECK;
void window_reader_close(struct window_reader *r);
/** window_reader_read - the rows of window w, that is rows w .. w + n_rows - 1.
 *  speed_mph, time_of_day  overwritten                                       shapes: (n_rows, n_sensors), (n_rows)
 *  errors   DCR_FAIL: the file cannot be read or is damaged; it names the file and the chunk's first row */
int window_reader_read(struct window_reader *r, uint32_t w, float *speed_mph, float *time_of_day,
                       struct dcr_err *err) DCR_MUST_CHECK;

#endif
