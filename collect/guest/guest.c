/* guest.c - see guest.h. */
#include "collect/guest/guest.h"

#include "collect/guest/clock.h"
#include "collect/guest/process.h"
#include "collect/guest/spool.h"
#include "collect/guest/window.h"

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

EXPORTED void dcc_guest_span(const struct dcc_span *span)
{
    struct spool_track *t = spool_enter();
    if (!t)
        return;
    uint32_t domain = spool_domain_by_text(t, span->domain);
    struct dct_attr attr = {.category = spool_category_by_text(t, domain, span->category),
                            .payload_type = span->payload_type,
                            .payload = span->payload};
    spool_put_span(t, domain, spool_name(t, span->name), span->start_ns, span->end_ns, span->bytes, &attr);
    spool_leave(t);
}

EXPORTED void dcc_guest_gpu(const char *name, int64_t start_ns, int64_t end_ns, uint64_t bytes,
                            const struct dct_gpu *gpu, const struct dct_kernel *kernel)
{
    struct spool_track *t = spool_enter();
    if (!t)
        return;
    spool_put_gpu(t, spool_domain_by_text(t, "cuda"), spool_name(t, name), start_ns, end_ns, bytes, gpu, kernel);
    spool_leave(t);
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
