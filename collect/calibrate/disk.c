/* disk.c - the file system that takes the evidence and the checkpoints. See calibrate.h. */
#include "collect/calibrate/calibrate.h"

#include "collect/record/disturbed.h"
#include "collect/record/meta.h"
#include "lib/base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { PIECE = 1 << 20, N_PIECES = 64, REPEATS = 3, SMALL = 4096, SMALL_REPEATS = 20 };
#define ENOUGH_SECONDS 2.5 /* a slow disk is measured once */
/* Disks vary more than cores do. */
#define LEAST_OF_FASTEST 0.5
#define FILE_BYTES ((off_t)PIECE * N_PIECES)

int disk_is_usable(const char *folder)
{
    int fd = dcr_open_nameless(folder);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* seconds for the whole file, or -1 with errno */
static double write_all(int fd, const char *piece)
{
    double began = measured_now();
    for (int i = 0; i < N_PIECES; i++)
        if (pwrite(fd, piece, PIECE, (off_t)i * PIECE) != PIECE)
            return -1;
    return fsync(fd) == 0 ? measured_now() - began : -1;
}

static double read_all(int fd, char *piece)
{
    double began = measured_now();
    for (int i = 0; i < N_PIECES; i++)
        if (pread(fd, piece, PIECE, (off_t)i * PIECE) != PIECE)
            return -1;
    return measured_now() - began;
}

/* Has memory let go of the file? Some file systems lie in memory, and some keep pages of their own. */
static int is_cold(int fd)
{
    static unsigned char resident[FILE_BYTES / 4096];
    size_t page = (size_t)sysconf(_SC_PAGESIZE), n = (size_t)FILE_BYTES / page, warm = 0;
    if (posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
        return 0;
    void *map = mmap(NULL, (size_t)FILE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return 0;
    int is_known = n <= sizeof resident && mincore(map, (size_t)FILE_BYTES, resident) == 0;
    for (size_t i = 0; is_known && i < n; i++)
        warm += resident[i] & 1;
    munmap(map, (size_t)FILE_BYTES);
    return is_known && warm <= n / 100;
}

static void put_small(json_t *o, int fd, const char *piece)
{
    double us[SMALL_REPEATS], until = measured_now() + ENOUGH_SECONDS / 2;
    int n = 0;
    while (n < SMALL_REPEATS && (n < 3 || measured_now() < until)) {
        double began = measured_now();
        if (pwrite(fd, piece, SMALL, (off_t)n * SMALL) != SMALL || fsync(fd) != 0) {
            meta_missing(o, "sync_us", strerror(errno));
            return;
        }
        us[n++] = (measured_now() - began) * 1e6;
    }
    json_object_set_new(o, "sync_us", measured_json(us, n));
}

static void put_rates(json_t *o, const char *key, double *rates, int n)
{
    json_t *spread = measured_json(rates, n);
    disturbed_by_spread(spread, LEAST_OF_FASTEST);
    json_object_set_new(o, key, spread);
}

static void put_large(json_t *o, int fd, char *piece)
{
    double written[REPEATS], got[REPEATS], until = measured_now() + ENOUGH_SECONDS;
    int n_written = 0, n_got = 0, is_warm = 0;
    while (n_written < REPEATS && (n_written == 0 || measured_now() < until)) {
        double s = write_all(fd, piece);
        if (s <= 0)
            break;
        written[n_written++] = (double)FILE_BYTES / s * 1e-9;
        if (!is_cold(fd)) {
            is_warm = 1;
            continue;
        }
        s = read_all(fd, piece);
        if (s > 0)
            got[n_got++] = (double)FILE_BYTES / s * 1e-9;
    }
    if (n_written)
        put_rates(o, "write_fsync", written, n_written);
    else
        meta_missing(o, "write_fsync", strerror(errno));
    if (n_got)
        put_rates(o, "cold_read", got, n_got);
    else
        meta_missing(o, "cold_read", is_warm ? "the file system keeps what was written in memory" : "not readable");
}

json_t *disk_measure(const char *folder)
{
    json_t *o = json_object();
    struct statvfs room;
    json_object_set_new(o, "unit", json_string("GB/s"));
    json_object_set_new(o, "bytes", json_integer(FILE_BYTES));
    char *piece = malloc(PIECE);
    int fd = piece ? dcr_open_nameless(folder) : -1;
    if (fd < 0) {
        char line[300];
        snprintf(line, sizeof line, "no file can be made in '%.200s': %s", folder, strerror(errno));
        meta_missing(o, "write_fsync", line);
        meta_missing(o, "cold_read", line);
    } else if (fstatvfs(fd, &room) == 0 && (double)room.f_bavail * (double)room.f_frsize < 4.0 * (double)FILE_BYTES) {
        meta_missing(o, "write_fsync", "the file system is nearly full");
        meta_missing(o, "cold_read", "the file system is nearly full");
    } else {
        for (int i = 0; i < PIECE; i++) /* no zeros: they need no room on some file systems */
            piece[i] = (char)((unsigned)i * 2654435761u >> 13);
        put_small(o, fd, piece);
        put_large(o, fd, piece);
    }
    if (fd >= 0)
        close(fd);
    free(piece);
    return o;
}
