/* guest.c - see guest.h. */
#include "collect/guest/guest.h"

#include "collect/guest/hot.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int dcc_guest_is_wanted(void)
{
    return spool_is_wanted();
}

EXPORTED int dcc_guest_is_wiped(void)
{
    return process_is_wiped();
}

EXPORTED int dcc_guest_is_clock_system(void)
{
    return clock_is_system();
}

EXPORTED int dcc_guest_is_window_used(void)
{
    return dcc_window_is_used;
}

EXPORTED int dcc_guest_is_abandoned(uintptr_t busy)
{
    return spool_is_abandoned(busy);
}

EXPORTED int dcc_guest_is_recording(void)
{
    return spool_is_recording();
}

EXPORTED int dcc_guest_part(int64_t *start_ns, int64_t *end_ns)
{
    return !dcc_window_is_used || (*end_ns ? window_part(start_ns, end_ns) : window_is_open(spool_now_ns()));
}

EXPORTED void dcc_guest_begin_clock(void)
{
    clock_begin();
}

EXPORTED int64_t dcc_guest_now(void)
{
    return spool_now_ns();
}

EXPORTED void dcc_guest_span(enum dcc_span kind, const char *name, int64_t start_ns, int64_t end_ns, uint64_t bytes,
                             uint64_t payload)
{
    static const struct {
        const char *domain, *category;
        uint32_t payload_type;
    } kinds[DCC_N_SPANS] = {
        [DCC_MPI_CALL] = {DCT_DOMAIN_MPI, "comm", DCT_PAYLOAD_MPI},
        [DCC_MPI_IN_FLIGHT] = {DCT_DOMAIN_MPI, DCT_IN_FLIGHT, DCT_PAYLOAD_MPI},
        [DCC_FILE_CALL] = {DCT_DOMAIN_IO, "io", DCT_PAYLOAD_FILE},
    };
    struct spool_track *t = hot_enter();
    if (!t)
        return;
    struct span_ids is = t->span[kind];
    if (!LIKELY(is.category)) {
        is.domain = spool_domain_by_text(t, kinds[kind].domain);
        is.category = spool_category_by_text(t, is.domain, kinds[kind].category);
        if (dcc_self->process) /* else the category is not published, and the next interval repeats it */
            t->span[kind] = is;
    }
    const struct dct_attr attr = {
        .category = is.category, .payload_type = kinds[kind].payload_type, .payload = payload};
    spool_put_span(t, is.domain, hot_name(t, name), start_ns, end_ns, bytes, &attr);
    hot_leave();
}

EXPORTED void dcc_guest_gpu(const char *name, int64_t start_ns, int64_t end_ns, uint64_t bytes,
                            const struct dct_gpu *gpu, const struct dct_kernel *kernel)
{
    struct spool_track *t = hot_enter();
    if (!t)
        return;
    spool_put_gpu(t, spool_domain_by_text(t, "cuda"), hot_name(t, name), start_ns, end_ns, bytes, gpu, kernel);
    hot_leave();
}

EXPORTED void dcc_guest_lost(uint64_t n)
{
    spool_lost(n);
}

EXPORTED struct dct_io *dcc_guest_file(const char *path, uint32_t *name)
{
    return spool_file(path, name);
}

EXPORTED void dcc_guest_note(const char *sentence)
{
    spool_note(sentence);
}

EXPORTED void dcc_guest_capture(int is_on)
{
    window_capture(is_on);
}
