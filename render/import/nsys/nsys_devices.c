/* nsys_devices.c - see nsys_devices.h. */
#include "render/import/nsys/nsys_devices.h"

enum { MAX_ROWS = 1 << 16 };

/* The one number that a query gives; 0 when its table is not there. */
static int64_t ask(struct nsys_file *f, const char *sql)
{
    sqlite3_stmt *q = nsys_file_query(f, sql);
    int64_t v = nsys_file_next(f, q) ? sqlite3_column_int64(q, 0) : 0;
    sqlite3_finalize(q);
    return v;
}

void nsys_devices_read(struct nsys_devices *d, struct nsys_file *f)
{
    *d = (struct nsys_devices){.n_gpus = ask(f, "SELECT count(*) FROM TARGET_INFO_GPU")};
    sqlite3_stmt *q = nsys_file_query(
        f, "SELECT DISTINCT pid, cudaId, gpuId FROM TARGET_INFO_CUDA_DEVICE ORDER BY pid, cudaId, gpuId");
    while (d->n < MAX_ROWS && nsys_file_next(f, q)) {
        d->list = arena_grow(&d->arena, d->list, d->n, &d->cap, sizeof *d->list);
        d->list[d->n++] =
            (struct nsys_device){sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1), sqlite3_column_int64(q, 2)};
    }
    sqlite3_finalize(q);
    d->is_by_gpu = ask(f, "SELECT count(*) > count(DISTINCT cudaId) OR count(*) > count(DISTINCT gpuId) FROM "
                          "(SELECT DISTINCT cudaId, gpuId FROM TARGET_INFO_CUDA_DEVICE)") != 0;
}

/* Its row; NULL when there is none. */
static const struct nsys_device *find(const struct nsys_devices *d, int64_t process, int64_t device)
{
    size_t lo = 0, hi = d->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        const struct nsys_device *x = &d->list[mid];
        if (x->process < process || (x->process == process && x->device < device))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < d->n && d->list[lo].process == process && d->list[lo].device == device ? &d->list[lo] : NULL;
}

int64_t nsys_devices_number(struct nsys_devices *d, int64_t global_pid, int64_t device, int64_t *gpu)
{
    int64_t process = global_pid >> 24 & 0xffffff;
    if (!d->has_any || process != d->last.process || device != d->last.device) {
        const struct nsys_device *x = find(d, process, device);
        d->has_other_processes |= d->has_any && process != d->last.process;
        d->has_other_devices |= d->has_any && device != d->last.device;
        d->has_unknown |= !x;
        d->has_any = 1;
        d->last = (struct nsys_device){process, device, x ? x->gpu : device};
    }
    *gpu = d->last.gpu;
    return d->is_by_gpu ? *gpu : device;
}

int64_t nsys_devices_gpu(const struct nsys_devices *d, int64_t number)
{
    for (size_t i = 0; i < d->n && !d->is_by_gpu; i++)
        if (d->list[i].device == number)
            return d->list[i].gpu;
    return number;
}

void nsys_devices_say(const struct nsys_devices *d, struct run *r, const char *file)
{
    if (d->n_gpus > 1 && d->has_unknown && d->has_other_processes && !d->has_other_devices)
        run_add_gap(r, PHRASE(NSYS_DEVICES, slot_name(file), slot_count(d->last.device)),
                    PHRASE(NSYS_AS_ONE, slot_count(d->n_gpus)), PHRASE(RANKS_SEPARATE));
}

void nsys_devices_release(struct nsys_devices *d)
{
    dcr_arena_release(&d->arena);
    *d = (struct nsys_devices){0};
}
