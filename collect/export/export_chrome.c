/* export_chrome.c - events as the JSON of Chrome's tracing, see export.h. */
#include "collect/export/export_parts.h"

#include "lib/base/text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void put_text(struct export_writer *w, const char *text)
{
    text_json(&w->line, export_text(w, text));
}

/* Nanoseconds as microseconds with three decimals: no digit is lost. */
static void put_us(struct dcr_buf *b, const char *key, int64_t ns)
{
    uint64_t u = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    dcr_buf_printf(b, ",\"%s\":%s%" PRIu64 ".%03u", key, ns < 0 ? "-" : "", u / 1000, (unsigned)(u % 1000));
}

static int64_t on_calendar(const struct export_writer *w, int64_t mono_ns)
{
    /* Without overflow, because times of a damaged trace may be any number. */
    return (int64_t)((uint64_t)dcr_host_time(&w->host, mono_ns) - (uint64_t)w->base_ns);
}

/* An end never lies before its beginning, whatever the clock's points are. */
static int64_t end_on_calendar(const struct export_writer *w, int64_t start, int64_t end_ns)
{
    int64_t end = on_calendar(w, end_ns);
    return end > start ? end : start;
}

static int pid_of(const struct export_writer *w)
{
    return w->info.rank >= 0 ? w->info.rank : 0;
}

static void begin(struct export_writer *w)
{
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", w->out);
    fprintf(w->out, "{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":0,\"args\":{\"labels\":\"dccollect export\"}}");
}

/* Puts the source of the hosts' time offsets, and their largest error. */
static void put_clocks(struct export_writer *w)
{
    struct dcr_buf *b = &w->line;
    dcr_buf_puts(b, ",\"clocks\":[");
    for (size_t i = 0; i < w->hosts.n; i++) {
        const struct dcr_host *h = &w->hosts.list[i];
        dcr_buf_puts(b, i ? ",\n{\"host\":" : "\n{\"host\":");
        put_text(w, h->name);
        if (h->clock) {
            dcr_buf_puts(b, ",\"reference\":");
            put_text(w, h->clock->reference);
            dcr_buf_printf(b, ",\"error_ns\":%" PRId64, dcr_clock_error(h->clock));
        }
        dcr_buf_putc(b, '}');
    }
    dcr_buf_putc(b, ']');
}

static void end(struct export_writer *w)
{
    struct dcr_buf *b = &w->line;
    dcr_buf_printf(b, "\n],\"otherData\":{\"zero_unix_ns\":\"%" PRId64 "\"", w->base_ns);
    if (w->hosts.n > 1)
        put_clocks(w);
    dcr_buf_puts(b, "}}\n");
    export_line(w);
}

static void trace(struct export_writer *w)
{
    struct dcr_buf *b = &w->line;
    char name[160];
    snprintf(name, sizeof name, "rank %d%s%s (process %" PRIu32 ")", pid_of(w), *w->info.host ? " on " : "",
             w->info.host, w->info.pid);
    dcr_buf_printf(b, ",\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"args\":{\"name\":", pid_of(w));
    put_text(w, name);
    dcr_buf_printf(b, "}},\n{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%d,\"args\":{\"sort_index\":%d}}",
                   pid_of(w), pid_of(w));
    if (w->host.clock) { /* shown beside the process */
        char line[320];
        snprintf(line, sizeof line, "clock of %.64s set by that of %.64s, wrong by at most %" PRId64 " ns",
                 w->host.name, w->host.clock->reference, dcr_clock_error(w->host.clock));
        dcr_buf_printf(b, ",\n{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":%d,\"args\":{\"labels\":", pid_of(w));
        put_text(w, line);
        dcr_buf_puts(b, "}}");
    }
    export_line(w);
}

static void thread(struct export_writer *w, uint64_t track, const char *name)
{
    struct dcr_buf *b = &w->line;
    char made[64];
    if (track >> 32)
        snprintf(made, sizeof made, "GPU %u stream %u", (unsigned)(track >> 32) - 1, (unsigned)track);
    else if (track == w->info.pid)
        snprintf(made, sizeof made, "main thread");
    else
        snprintf(made, sizeof made, "thread %u", (unsigned)track);
    dcr_buf_printf(b, ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%" PRIu64 ",\"args\":{\"name\":",
                   pid_of(w), track);
    put_text(w, *name ? name : made);
    dcr_buf_puts(b, "}}");
    export_line(w);
}

static void put_double(struct dcr_buf *b, double v)
{
    if (isfinite(v))
        dcr_buf_printf(b, "%.17g", v);
    else
        dcr_buf_puts(b, isnan(v) ? "\"NaN\"" : v > 0 ? "\"Infinity\"" : "\"-Infinity\"");
}

static void put_args(struct export_writer *w, const struct dct_event *e)
{
    struct dcr_buf *b = &w->line;
    double f;
    dcr_buf_puts(b, ",\"args\":{\"domain\":");
    put_text(w, e->domain);
    switch (e->payload_type) {
    case DCT_PAYLOAD_U64: /* as text where JavaScript would round it */
        dcr_buf_printf(b, e->payload >> 53 ? ",\"payload\":\"%" PRIu64 "\"" : ",\"payload\":%" PRIu64, e->payload);
        break;
    case DCT_PAYLOAD_I64:
        dcr_buf_printf(b, ",\"payload\":\"%" PRId64 "\"", (int64_t)e->payload);
        break;
    case DCT_PAYLOAD_F64:
        memcpy(&f, &e->payload, sizeof f);
        dcr_buf_puts(b, ",\"payload\":");
        put_double(b, f);
        break;
    case DCT_PAYLOAD_MPI:
        dcr_buf_printf(b, ",\"ranks\":%" PRIu32 ",\"peer\":%" PRId32, (uint32_t)e->payload,
                       (int32_t)(e->payload >> 32));
        break;
    case DCT_PAYLOAD_FILE:
        dcr_buf_puts(b, ",\"file\":");
        put_text(w, e->file);
        break;
    case DCT_PAYLOAD_RAW:
        dcr_buf_puts(b, ",\"payload\":");
        put_text(w, dcr_buf_text(&w->payload));
        break;
    default:
        break;
    }
    if (e->kind == DCT_SPAN)
        dcr_buf_printf(b, ",\"bytes\":%" PRIu64, e->bytes);
    if (e->is_open)
        dcr_buf_puts(b, ",\"never_closed\":true");
    dcr_buf_putc(b, '}');
}

static void put_head(struct export_writer *w, const struct dct_event *e, const char *ph)
{
    struct dcr_buf *b = &w->line;
    dcr_buf_printf(b, ",\n{\"ph\":\"%s\",\"pid\":%d,\"tid\":%" PRIu32 ",\"name\":", ph, pid_of(w), e->track);
    put_text(w, *e->name ? e->name : "(no name)");
    dcr_buf_puts(b, ",\"cat\":");
    put_text(w, *e->category ? e->category : "none");
}

static void event(struct export_writer *w, const struct dct_event *e)
{
    struct dcr_buf *b = &w->line;
    int is_beside = e->kind == DCT_START || (e->kind == DCT_SPAN && strcmp(e->category, DCT_IN_FLIGHT) == 0);
    int64_t start = on_calendar(w, e->start_ns);
    export_note_track(w, e->track);
    if (is_beside) {
        /* These ranges may overlap, so each is a pair of asynchronous events with a common number. */
        put_head(w, e, "b");
        dcr_buf_printf(b, ",\"id\":%" PRIu64, w->n_events);
        put_us(b, "ts", start);
        put_args(w, e);
        dcr_buf_putc(b, '}');
        put_head(w, e, "e");
        dcr_buf_printf(b, ",\"id\":%" PRIu64, w->n_events);
        put_us(b, "ts", end_on_calendar(w, start, e->end_ns));
    } else {
        put_head(w, e, e->kind == DCT_MARK ? "i" : "X");
        put_us(b, "ts", start);
        if (e->kind == DCT_MARK)
            dcr_buf_puts(b, ",\"s\":\"t\"");
        else
            put_us(b, "dur", end_on_calendar(w, start, e->end_ns) - start);
        put_args(w, e);
    }
    dcr_buf_putc(b, '}');
    export_line(w);
}

static void gpu(struct export_writer *w, const struct dct_gpu_event *e)
{
    struct dcr_buf *b = &w->line;
    int is_call = e->gpu.activity == DCT_GPU_RUNTIME || e->gpu.activity == DCT_GPU_DRIVER ||
                  e->gpu.activity == DCT_GPU_SYNC || e->gpu.activity == DCT_GPU_OVERHEAD;
    uint64_t track = is_call ? e->gpu.device : ((uint64_t)e->gpu.device + 1) << 32 | e->gpu.stream;
    export_note_track(w, track);
    dcr_buf_printf(b, ",\n{\"ph\":\"X\",\"pid\":%d,\"tid\":%" PRIu64 ",\"name\":", pid_of(w), track);
    put_text(w, *e->name ? e->name : export_gpu_kinds[e->gpu.activity]);
    dcr_buf_printf(b, ",\"cat\":\"%s\"", export_gpu_kinds[e->gpu.activity]);
    int64_t start = on_calendar(w, e->start_ns);
    put_us(b, "ts", start);
    put_us(b, "dur", end_on_calendar(w, start, e->end_ns) - start);
    dcr_buf_printf(b, ",\"args\":{\"correlation\":%" PRIu32 ",\"bytes\":%" PRIu64, e->gpu.correlation, e->bytes);
    if (e->gpu.activity == DCT_GPU_KERNEL)
        dcr_buf_printf(b,
                       ",\"grid\":[%" PRIu32 ",%" PRIu32 ",%" PRIu32 "],\"block\":[%" PRIu32 ",%" PRIu32 ",%" PRIu32
                       "],\"registers\":%u",
                       e->kernel.grid[0], e->kernel.grid[1], e->kernel.grid[2], e->kernel.block[0], e->kernel.block[1],
                       e->kernel.block[2], (unsigned)e->gpu.registers);
    dcr_buf_puts(b, "}}");
    export_line(w);
}

const struct export_style export_chrome = {begin, event, gpu, trace, thread, end};
