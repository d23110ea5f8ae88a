/* fuzz_state.c - any bytes as a checkpoint or a store of windows. No crash, no leak, every refusal has a reason, and an
 * accepted checkpoint has possible counts.
 *
 * Wrong checksums would stop the fuzzer early. So the first byte chooses the kind of file and which of its checksums
 * are corrected here. */
#include "lib/base/hash.h"
#include "trainer/run/checkpoint.h"
#include "trainer/data/window_file.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { IS_WINDOWS = 1, FIX_HEADER = 2, FIX_INDEX = 4, FIX_CHUNKS = 8, IS_CHUNK = 16 };
enum { N_PARAMS = 5, N_ROWS = 23, N_SENSORS = 3, N_WINDOW = 6 };

static int read_checkpoint(const char *path, uint8_t *bytes, size_t size, int how, struct dcr_err *err)
{
    static const struct checkpoint_key key = {
        .seed = 7, .n_params = N_PARAMS, .n_sensors = N_SENSORS, .global_batch = 64};
    float block[CHECKPOINT_N_TENSORS][N_PARAMS];
    float *const tensors[CHECKPOINT_N_TENSORS] = {block[0], block[1], block[2]};
    struct checkpoint_state s;
    if (how & FIX_HEADER && size > sizeof(uint32_t)) {
        uint32_t crc = dcr_crc32c(0, bytes, size - sizeof crc);
        memcpy(bytes + size - sizeof crc, &crc, sizeof crc);
    }
    int rc = checkpoint_read(path, &key, &s, tensors, err);
    if (!rc && (s.step < 0 || s.epoch < 0 || s.step_in_epoch < 0 || s.step_in_epoch > s.step || s.n_updates < 0 ||
                s.epochs_since_best < 0 || s.n_ranks < 1))
        abort();
    return rc;
}

static void fix_windows(uint8_t *bytes, size_t size, int how, uint32_t data_crc)
{
    struct window_file_header h;
    if (size < sizeof h)
        return;
    memcpy(&h, bytes, sizeof h);
    if (h.chunk_rows >= 1 && h.chunk_rows <= N_ROWS) {
        size_t n = window_file_n_chunks(N_ROWS, (size_t)h.chunk_rows), n_offsets = (n + 1) * sizeof(uint64_t);
        if (size < sizeof h + window_file_index_bytes(n))
            return;
        for (size_t k = 0; how & FIX_CHUNKS && k < n; k++) {
            uint64_t at[2];
            memcpy(at, bytes + sizeof h + k * sizeof at[0], sizeof at);
            uint32_t crc = at[0] <= at[1] && at[1] <= size ? dcr_crc32c(0, bytes + at[0], at[1] - at[0]) : 0;
            memcpy(bytes + sizeof h + n_offsets + k * sizeof crc, &crc, sizeof crc);
        }
        if (how & FIX_INDEX)
            h.index_crc = dcr_crc32c(0, bytes + sizeof h, window_file_index_bytes(n));
    }
    if (how & FIX_HEADER) {
        h.data_crc = data_crc;
        h.header_crc = window_file_header_crc(&h);
    }
    memcpy(bytes, &h, sizeof h);
}

static int read_windows(const char *path, uint8_t *bytes, size_t size, int how, struct dcr_err *err)
{
    struct dataset d;
    struct window_store *s = NULL;
    struct window_reader *r = NULL;
    float speed[N_WINDOW * N_SENSORS], time[N_WINDOW];
    if (dataset_alloc(&d, N_ROWS, N_SENSORS, err))
        abort();
    fix_windows(bytes, size, how, window_file_data_crc(&d));
    int rc = window_store_open(&s, path, &d, 0, err);
    if (!rc && window_reader_open(&r, s, N_WINDOW, err))
        abort();
    for (uint32_t w = 0; !rc && w + N_WINDOW <= N_ROWS; w++)
        rc = window_reader_read(r, w, speed, time, err);
    window_reader_close(r);
    window_store_close(s);
    dataset_release(&d);
    return rc;
}

/* A store of one chunk with these bytes, deflated. returns its length; free *out */
static size_t store_of(const uint8_t *text, size_t size, uint8_t **out)
{
    const size_t begin = sizeof(struct window_file_header) + window_file_index_bytes(1);
    uLongf n = compressBound((uLong)size);
    *out = calloc(1, begin + n);
    if (!*out || compress(*out + begin, &n, text, (uLong)size) != Z_OK)
        abort();
    const struct window_file_header h = {.magic = WINDOW_FILE_MAGIC,
                                         .byte_order = WINDOW_FILE_BYTE_ORDER,
                                         .version = WINDOW_FILE_VERSION,
                                         .file_bytes = (int64_t)(begin + n),
                                         .n_rows = N_ROWS,
                                         .n_sensors = N_SENSORS,
                                         .chunk_rows = N_ROWS,
                                         .format = WINDOW_FORMAT_TEXT};
    const uint64_t offset[2] = {begin, begin + n};
    memcpy(*out, &h, sizeof h);
    memcpy(*out + sizeof h, offset, sizeof offset);
    return begin + n;
}

static int try_file(const uint8_t *data, size_t size, int how, struct dcr_err *err)
{
    char path[64];
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fd < 0 || ftruncate(fd, (off_t)size))
        abort();
    uint8_t *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (bytes == MAP_FAILED)
        abort();
    memcpy(bytes, data, size);
    int rc = (how & IS_WINDOWS ? read_windows : read_checkpoint)(path, bytes, size, how, err);
    munmap(bytes, size);
    close(fd);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dcr_err err = {0};
    uint8_t *store = NULL;
    int rc;
    if (size < 2)
        return 0;
    if (data[0] & IS_CHUNK) {
        size_t n = store_of(data + 1, size - 1, &store);
        rc = try_file(store, n, IS_WINDOWS | FIX_HEADER | FIX_INDEX | FIX_CHUNKS, &err);
        free(store);
    } else {
        rc = try_file(data + 1, size - 1, data[0], &err);
    }
    if (rc && err.text[0] == '\0')
        abort();
    return 0;
}
