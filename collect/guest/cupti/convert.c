/* convert.c - see cupti.h. */
#include "collect/guest/cupti/cupti.h"

#include "collect/guest/guest.h"
#include "lib/base/mono.h"

#include <stdio.h>

void cupti_clock_look(struct cupti_clock *c, const struct cupti *library)
{
    int64_t best = INT64_MAX, cupti_ns = 0, mono = 0;
    for (int i = 0; i < 5; i++) {
        uint64_t theirs = 0;
        int64_t before = dcr_mono_ns();
        if (library->timestamp(&theirs) != CUPTIABI_SUCCESS)
            return;
        int64_t after = dcr_mono_ns();
        if (after - before >= best)
            continue;
        best = after - before;
        cupti_ns = (int64_t)theirs;
        mono = before + best / 2;
    }
    int is_first = c->mono_ns[1] == 0;
    c->cupti_ns[0] = is_first ? cupti_ns : c->cupti_ns[1];
    c->mono_ns[0] = is_first ? mono : c->mono_ns[1];
    c->cupti_ns[1] = cupti_ns;
    c->mono_ns[1] = mono;
}

int64_t cupti_clock_mono(const struct cupti_clock *c, uint64_t cupti_ns)
{
    int64_t t = (int64_t)cupti_ns, theirs = c->cupti_ns[1] - c->cupti_ns[0], ours = c->mono_ns[1] - c->mono_ns[0];
    int64_t since = t - c->cupti_ns[1];
    /* Records may be a second old, and a look has an error of some hundred nanoseconds, so a rate needs looks that are
     * at least a tenth of a second apart. Clocks do not drift by more than a thousandth; if they seem to, one was
     * set. */
    double drift = theirs > 100000000 ? (double)(ours - theirs) / (double)theirs : 0;
    if (drift > 1e-3 || drift < -1e-3)
        drift = 0;
    return c->mono_ns[1] + since + (int64_t)(drift * (double)since);
}

/* ---- names ------------------------------------------------------------------------------------------ */

static const char *copy_name(uint8_t kind)
{
    static const char *const names[] = {"copy", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                        "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
    return names[kind < sizeof names / sizeof *names ? kind : 0];
}

static const char *sync_name(uint32_t type)
{
    static const char *const names[] = {"synchronize", "event synchronize", "stream wait event", "stream synchronize",
                                        "context synchronize"};
    return names[type < sizeof names / sizeof *names ? type : 0];
}

static const char *overhead_name(uint32_t kind)
{
    static const char *const of_cupti[] = {"overhead",
                                           "CUPTI buffer flush",
                                           "CUPTI instrumentation",
                                           "CUPTI resource",
                                           "module loading",
                                           "lazy function loading",
                                           "command buffer full",
                                           "CUPTI buffer request",
                                           "unified memory set-up"};
    if (kind == 1)
        return "driver compiler";
    kind >>= 16;
    return of_cupti[kind < sizeof of_cupti / sizeof *of_cupti ? kind : 0];
}

/* ---- records ------------------------------------------------------------------------------------------ */

static void put(const struct cupti_clock *c, const char *name, uint64_t start, uint64_t end, uint64_t bytes,
                const struct dct_gpu *gpu, const struct dct_kernel *kernel)
{
    /* 0: CUPTI has no times, for instance when a program ends in the middle of an activity. */
    if (start == 0 && end == 0) {
        dcc_guest_lost(1);
        return;
    }
    int64_t from = cupti_clock_mono(c, start), to = cupti_clock_mono(c, end >= start ? end : start);
    dcc_guest_gpu(name, from, to, bytes, gpu, kernel);
}

/* The fields that records of kernels, copies and settings of memory have in common. */
#define GPU_OF(ACTIVITY, RECORD)                                                                                      \
    {                                                                                                                 \
        .activity = (ACTIVITY), .device = (RECORD)->device, .context = (RECORD)->context, .stream = (RECORD)->stream, \
        .correlation = (RECORD)->correlation, .graph = (RECORD)->graph, .node = (RECORD)->graph_node                  \
    }

static void put_kernel(const struct cuptiabi_kernel *k, const struct cupti_clock *c)
{
    struct dct_gpu gpu = GPU_OF(DCT_GPU_KERNEL, k);
    struct dct_kernel shape = {.static_shared = (uint32_t)k->static_shared,
                               .dynamic_shared = (uint32_t)k->dynamic_shared};
    gpu.registers = k->registers;
    for (int i = 0; i < 3; i++) {
        shape.grid[i] = (uint32_t)k->grid[i];
        shape.block[i] = (uint32_t)k->block[i];
    }
    put(c, k->name ? k->name : "", k->start, k->end, 0, &gpu, &shape);
}

static void put_copy(const struct cuptiabi_memcpy *m, const struct cupti_clock *c)
{
    struct dct_gpu gpu = GPU_OF(DCT_GPU_MEMCPY, m);
    gpu.detail = m->copy;
    put(c, copy_name(m->copy), m->start, m->end, m->bytes, &gpu, NULL);
}

static void put_copy_between(const struct cuptiabi_memcpy2 *m, const struct cupti_clock *c)
{
    struct dct_gpu gpu = GPU_OF(DCT_GPU_MEMCPY, m);
    gpu.detail = m->copy;
    put(c, copy_name(m->copy), m->start, m->end, m->bytes, &gpu, NULL);
}

static void put_set(const struct cuptiabi_memset *m, const struct cupti_clock *c)
{
    struct dct_gpu gpu = GPU_OF(DCT_GPU_MEMSET, m);
    put(c, "memset", m->start, m->end, m->bytes, &gpu, NULL);
}

static void put_memory(const struct cuptiabi_memory *m, const struct cupti_clock *c)
{
    struct dct_gpu gpu = {.activity = DCT_GPU_MEMORY,
                          .detail = (uint8_t)m->operation,
                          .device = m->device,
                          .context = m->context,
                          .stream = m->stream,
                          .correlation = m->correlation,
                          .node = m->address};
    put(c, m->operation == 2 ? "free" : "allocate", m->timestamp, m->timestamp, m->bytes, &gpu, NULL);
}

static void put_call(const struct cuptiabi_api *a, const struct cupti *library, const struct cupti_clock *c)
{
    int is_driver = a->kind == CUPTIABI_DRIVER;
    const char *name = NULL;
    char number[48];
    if (!library->callback_name ||
        library->callback_name(is_driver ? CUPTIABI_DOMAIN_DRIVER : CUPTIABI_DOMAIN_RUNTIME, a->callback, &name) !=
            CUPTIABI_SUCCESS ||
        !name) {
        snprintf(number, sizeof number, "%s call %u", is_driver ? "driver" : "runtime", a->callback);
        name = number;
    }
    struct dct_gpu gpu = {.activity = is_driver ? DCT_GPU_DRIVER : DCT_GPU_RUNTIME,
                          .device = a->thread,
                          .context = a->returned,
                          .correlation = a->correlation};
    put(c, name, a->start, a->end, 0, &gpu, NULL);
}

static void put_sync(const struct cuptiabi_synchronization *s, const struct cupti_clock *c)
{
    struct dct_gpu gpu = {.activity = DCT_GPU_SYNC,
                          .detail = (uint8_t)s->type,
                          .context = s->context,
                          .stream = s->stream,
                          .correlation = s->correlation};
    put(c, sync_name(s->type), s->start, s->end, 0, &gpu, NULL);
}

static void put_overhead(const struct cuptiabi_overhead *o, const struct cupti_clock *c)
{
    struct dct_gpu gpu = {.activity = DCT_GPU_OVERHEAD};
    put(c, overhead_name(o->overhead), o->start, o->end, 0, &gpu, NULL);
}

void convert_record(const struct cuptiabi_record *record, const struct cupti *library, const struct cupti_clock *c)
{
    const void *r = record;
    switch (record->kind) {
    case CUPTIABI_KERNEL:
    case CUPTIABI_CONCURRENT_KERNEL:
        put_kernel(r, c);
        break;
    case CUPTIABI_MEMCPY:
        put_copy(r, c);
        break;
    case CUPTIABI_MEMCPY2:
        put_copy_between(r, c);
        break;
    case CUPTIABI_MEMSET:
        put_set(r, c);
        break;
    case CUPTIABI_MEMORY2:
        put_memory(r, c);
        break;
    case CUPTIABI_DRIVER:
    case CUPTIABI_RUNTIME:
        put_call(r, library, c);
        break;
    case CUPTIABI_SYNCHRONIZATION:
        put_sync(r, c);
        break;
    case CUPTIABI_OVERHEAD:
        put_overhead(r, c);
        break;
    default:
        break;
    }
}
