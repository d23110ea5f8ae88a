/* nsys_gpu.c - see nsys_gpu.h. */
#include "render/import/nsys/nsys_gpu.h"

#include <string.h>

enum { WARP = 32 };

/* More than any GPU has, and small enough that products of such numbers fit. A larger or negative number means damage.
 */
#define MOST_OF_A_GPU ((int64_t)1 << 30)

void nsys_gpus_read(struct nsys_file *f, struct nsys_gpu gpus[NSYS_GPUS])
{
    sqlite3_stmt *q = nsys_file_query(f, "SELECT * FROM TARGET_INFO_GPU");
    while (nsys_file_next(f, q)) {
        struct nsys_gpu g = {0};
        int64_t id = -1;
        const struct {
            const char *column;
            int64_t *to;
        } columns[] = {{"id", &id},
                       {"smCount", &g.n_sms},
                       {"maxWarpsPerSm", &g.max_warps},
                       {"maxBlocksPerSm", &g.max_blocks},
                       {"maxRegistersPerSm", &g.registers},
                       {"maxShmemPerSm", &g.shared_bytes},
                       {"computeMajor", &g.major},
                       {"computeMinor", &g.minor}};
        for (int c = 0; c < sqlite3_column_count(q); c++)
            for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
                if (strcmp(sqlite3_column_name(q, c), columns[i].column) == 0) {
                    int64_t v = sqlite3_column_int64(q, c);
                    *columns[i].to = v >= 0 && v <= MOST_OF_A_GPU ? v : columns[i].to == &id ? -1 : 0;
                }
        if (id >= 0 && id < NSYS_GPUS)
            gpus[id] = g;
    }
    sqlite3_finalize(q);
}

static int64_t up(int64_t x, int64_t unit)
{
    return (x + unit - 1) / unit * unit;
}

static int64_t least(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

/* Blocks that an SM can hold at once, as NVIDIA's occupancy calculator counts them: registers are given to warps in
 * units of 256, from the part of the SM that the warp runs on. Since capability 8, shared memory comes in units of
 * 128 bytes, and each block has 1 KiB more for the system. Before that, units are 256 bytes, and the system takes
 * none. */
static int64_t active_blocks(const struct nsys_gpu *g, int64_t warps, int64_t registers, int64_t shared_bytes)
{
    enum { REGISTERS = 65536 }; /* of every SM since capability 3.0, except 3.7, which has twice as many */
    const int64_t parts = g->major == 6 && g->minor == 0 ? 2 : 4;
    int64_t n = g->max_warps / warps;
    if (g->max_blocks > 0)
        n = least(n, g->max_blocks);
    if (registers > 0) {
        int64_t each = up(registers * WARP, 256);
        n = least(n, (g->registers > 0 ? g->registers : REGISTERS) / parts / each * parts / warps);
    }
    int64_t taken = g->major >= 8 ? up(shared_bytes + 1024, 128) : up(shared_bytes, 256);
    if (taken > 0 && g->shared_bytes > 0)
        n = least(n, g->shared_bytes / taken);
    return n;
}

double nsys_occupancy(const struct nsys_gpu *g, double blocks, int64_t threads, int64_t registers, int64_t shared_bytes)
{
    enum { MOST = 1 << 20 }; /* more than any GPU has, so that sums of such numbers fit */
    if (g->n_sms <= 0 || g->max_warps <= 0 || blocks <= 0 || threads <= 0 || threads > MOST || registers < 0 ||
        registers > MOST || shared_bytes < 0 || shared_bytes > (int64_t)1 << 40 ||
        (shared_bytes > 0 && g->shared_bytes <= 0))
        return -1;
    int64_t n = active_blocks(g, up(threads, WARP) / WARP, registers, shared_bytes);
    double each = blocks / (double)g->n_sms;
    double ratio = (each < (double)n ? each : (double)n) * (double)threads / (double)(g->max_warps * WARP);
    return n > 0 ? (ratio < 1 ? ratio : 1) : -1;
}
