/* fuzz_state.c - any bytes as a checkpoint. No crash, no leak, every refusal has a reason, and an accepted checkpoint
 * has possible counts.
 *
 * A wrong checksum would stop the fuzzer early. So the first byte says whether it is corrected here. */
#include "lib/base/hash.h"
#include "trainer/run/checkpoint.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FIX_CRC = 2 }; /* bit of the first byte */
enum { N_PARAMS = 5, N_SENSORS = 3 };

static int read_checkpoint(const char *path, struct dcr_err *err)
{
    static const struct checkpoint_key key = {
        .seed = 7, .n_params = N_PARAMS, .n_sensors = N_SENSORS, .global_batch = 64};
    float block[CHECKPOINT_N_TENSORS][N_PARAMS];
    float *const tensors[CHECKPOINT_N_TENSORS] = {block[0], block[1], block[2]};
    struct checkpoint_state s;
    int rc = checkpoint_read(path, &key, &s, tensors, err);
    if (!rc && (s.step < 0 || s.epoch < 0 || s.step_in_epoch < 0 || s.step_in_epoch > s.step || s.n_updates < 0 ||
                s.epochs_since_best < 0 || s.n_ranks < 1))
        abort();
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dcr_err err = {0};
    char path[64];
    if (size < 2)
        return 0;
    const size_t n = size - 1, n_checked = n > sizeof(uint32_t) ? n - sizeof(uint32_t) : n;
    const uint32_t crc = dcr_crc32c(0, data + 1, n_checked);
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd); /* the path of the file in memory, since files are read by
                                                          * name */
    if (fd < 0 || write(fd, data + 1, n) != (ssize_t)n)
        abort();
    if (data[0] & FIX_CRC && n_checked < n && pwrite(fd, &crc, sizeof crc, (off_t)n_checked) != sizeof crc)
        abort();
    if (read_checkpoint(path, &err) && err.text[0] == '\0')
        abort();
    close(fd);
    return 0;
}
