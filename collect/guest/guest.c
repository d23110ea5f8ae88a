/* guest.c - see guest.h. */
#include "collect/guest/guest.h"

#include "collect/guest/file.h"
#include "collect/guest/forks.h"
#include "collect/guest/kept.h"
#include "collect/guest/raw.h"
#include "collect/guest/spool.h"
#include "collect/guest/window.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int dcc_guest_is_wanted(void)
{
    return spool_is_wanted();
}

EXPORTED int dcc_guest_is_busy(void)
{
    return spool_is_busy();
}

EXPORTED int dcc_guest_is_recording(void)
{
    return spool_is_recording();
}

EXPORTED int dcc_guest_part(int64_t *start_ns, int64_t *end_ns)
{
    return !dcc_window_is_used || (*end_ns ? window_part(start_ns, end_ns) : window_is_open(spool_now_ns()));
}

EXPORTED int64_t dcc_guest_now(void)
{
    return spool_now_ns();
}

EXPORTED void dcc_guest_span(const struct dcc_span *span)
{
    struct spool_track *t = spool_enter();
    if (!t) {
        spool_incomplete(span->start_ns);
        return;
    }
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
    if (!t) {
        spool_incomplete(start_ns);
        return;
    }
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

EXPORTED void dcc_guest_yields(const void *code)
{
    forks_yields(code);
}

EXPORTED void dcc_guest_root_changes(void)
{
    if (!spool_is_recording())
        kept_hold_spool();
}

EXPORTED int dcc_guest_user_changes(void)
{
    const struct process *p = file_process();
    if (!p || !spool_is_wanted())
        return -1;
    if (!file_is_of_this_process(p)) {
        uintptr_t before = spool_hide();
        int note = file_open_user_note();
        spool_show(before);
        return note;
    }
    /* Entering makes the trace, and what is called for that is known to be our own. */
    struct spool_track *t = spool_enter();
    if (t)
        spool_leave(t);
    return -1;
}

static void say_user(char *line, size_t n)
{
    snprintf(line, n,
             DCR_USER_NOTE ": user %ld may not write into the spool folder, so that what is started as that user is "
                           "not recorded; give a folder with --spool that it may write into",
             (long)geteuid());
}

/* Of a process without a trace. Without room for it the archive says what it says without a reason. */
static void leave_user_note(const struct process *p, int note, int is_other)
{
    char line[300];
    struct stat st;
    uintptr_t before = spool_hide();
    say_user(line, sizeof line);
    if (is_other && !file_folder_is_writable(p) && fstat(note, &st) == 0 && st.st_size == 0)
        (void)!raw_write(note, line, strlen(line));
    raw_close(note);
    spool_show(before);
}

EXPORTED void dcc_guest_user_changed(int note, int is_other)
{
    static int is_said; /* some go back and forth */
    char line[300];
    const struct process *p = file_process();
    if (note >= 0 && p)
        leave_user_note(p, note, is_other);
    if (!p || !is_other || !file_is_of_this_process(p) || !spool_is_recording() || file_folder_is_writable(p) ||
        __atomic_exchange_n(&is_said, 1, __ATOMIC_RELAXED))
        return;
    say_user(line, sizeof line);
    spool_note(line);
}

EXPORTED void dcc_guest_capture(int is_on)
{
    window_capture(is_on);
}
