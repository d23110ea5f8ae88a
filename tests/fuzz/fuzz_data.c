/* fuzz_data.c - any bytes as a file of speeds or as the graph of four sensors: no crash, no leak, and nothing that is
 * read is out of range.
 *
 * The first byte chooses speeds or graph, its format, and whether the bytes are a file or arrays for an .npz file that
 * is made here. A zip checks its members, so hardly any changed zip would reach the readers. An array is a byte that
 * chooses its name, two bytes with its length, and its .npy bytes. */
#include "trainer/formats/formats.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_zip(int fd, const uint8_t *data, size_t size)
{
    static const char *const names[] = {"data", "shape", "indices", "indptr", "format", "row", "col", "other"};
    struct archive *a = archive_write_new();
    struct archive_entry *entry = archive_entry_new();
    archive_write_set_format_zip(a);
    archive_write_zip_set_compression_store(a);
    archive_write_open_fd(a, fd);
    while (size >= 3) {
        char name[32];
        size_t n = (size_t)data[1] | (size_t)data[2] << 8;
        n = n < size - 3 ? n : size - 3;
        snprintf(name, sizeof name, "%s.npy", names[data[0] % 8]);
        archive_entry_clear(entry);
        archive_entry_set_pathname(entry, name);
        archive_entry_set_filetype(entry, AE_IFREG);
        archive_entry_set_size(entry, (int64_t)n);
        archive_write_header(a, entry);
        archive_write_data(a, data + 3, n);
        data += 3 + n;
        size -= 3 + n;
    }
    archive_entry_free(entry);
    archive_write_free(a);
}

static int read_speeds(const char *path, struct dcr_err *err)
{
    struct dataset d;
    int rc = dataset_read(&d, &(struct dataset_file){.path = path}, err);
    for (size_t i = 0; !rc && i < d.n_rows * d.n_sensors; i++)
        if (!(d.speed_mph[i] >= 0 && d.speed_mph[i] <= (float)DATASET_MAX_MPH))
            abort();
    for (size_t i = 0; !rc && i < d.n_rows; i++)
        if (!(d.time_of_day[i] >= 0 && d.time_of_day[i] < 1) || d.week_slot[i] >= DATASET_WEEK_SLOTS)
            abort();
    dataset_release(&d);
    return rc;
}

static int read_graph(const char *path, enum graph_format format, struct dcr_err *err)
{
    struct dataset d;
    struct graph_file file = {path, format, 0};
    struct graph_csr a = {0};
    if (dataset_alloc(&d, 1, 4, err))
        abort();
    for (int i = 0; i < 4; i++)
        snprintf(d.id[i], DATASET_ID_BYTES, "%s", (const char *[]){"773869", "767541", "767542", "717447"}[i]);
    int rc = graph_read(&file, &d, &a, NULL, err);
    if (!rc && (a.n != 4 || graph_csr_nnz(&a) < 1 || graph_csr_nnz(&a) > 16))
        abort();
    graph_csr_free(&a);
    dataset_release(&d);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dcr_err err = {0};
    char path[64];
    if (size == 0)
        return 0;
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd); /* the path of the file in memory, since files are read by
                                                          * name */
    if (data[0] & 1)
        write_zip(fd, data + 1, size - 1);
    else if (fd < 0 || write(fd, data + 1, size - 1) != (ssize_t)(size - 1))
        abort();
    int rc = data[0] & 2 ? read_graph(path, (enum graph_format)((data[0] >> 2) % 5), &err) : read_speeds(path, &err);
    if (rc < 0 && err.text[0] == '\0')
        abort(); /* a refusal must have a reason */
    close(fd);
    return 0;
}
