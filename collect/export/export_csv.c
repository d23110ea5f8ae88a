/* export_csv.c - events as rows, see export.h. */
#include "collect/export/export_parts.h"

#include "lib/base/csv.h"

#include <inttypes.h>
#include <string.h>

static void begin(struct export_writer *w)
{
    fputs("rank,host,pid,track,kind,depth,domain,category,name,start_ns,end_ns,dur_ns,bytes,payload,file,is_open,"
          "unix_ns,clock_error_ns\n",
          w->out);
}

/* Puts text; invalid UTF-8 and characters that would break lines are replaced as in the other format. */
static void put_text(struct export_writer *w, const char *text)
{
    dcr_csv_put(&w->line, export_text(w, text));
}

static void put_head(struct export_writer *w, uint64_t track, const char *kind, int depth)
{
    struct dcr_buf *b = &w->line;
    dcr_buf_printf(b, "%d,", w->info.rank);
    put_text(w, w->info.host);
    dcr_buf_printf(b, ",%" PRIu32 ",%" PRIu64 ",%s,%d,", w->info.pid, track, kind, depth);
}

static void put_times(struct dcr_buf *b, int64_t start, int64_t end)
{
    dcr_buf_printf(b, ",%" PRId64 ",%" PRId64 ",%" PRId64 ",", start, end, end - start);
}

/* Puts the beginning on the calendar that all hosts share. The error of a host that was not measured is unknown. */
static void put_calendar(struct export_writer *w, int64_t start)
{
    struct dcr_buf *b = &w->line;
    dcr_buf_printf(b, ",%" PRId64 ",", dcr_host_time(&w->host, start));
    if (w->host.clock)
        dcr_buf_printf(b, "%" PRId64, dcr_clock_error(w->host.clock));
    else if (w->host.is_reference)
        dcr_buf_putc(b, '0');
    dcr_buf_putc(b, '\n');
}

static void put_payload(struct export_writer *w, const struct dct_event *e)
{
    struct dcr_buf *b = &w->line;
    double f;
    switch (e->payload_type) {
    case DCT_PAYLOAD_U64:
        dcr_buf_printf(b, "%" PRIu64, e->payload);
        break;
    case DCT_PAYLOAD_I64:
        dcr_buf_printf(b, "%" PRId64, (int64_t)e->payload);
        break;
    case DCT_PAYLOAD_F64:
        memcpy(&f, &e->payload, sizeof f);
        dcr_buf_printf(b, "%.17g", f);
        break;
    case DCT_PAYLOAD_MPI:
        dcr_buf_printf(b, "ranks=%" PRIu32 " peer=%" PRId32, (uint32_t)e->payload, (int32_t)(e->payload >> 32));
        break;
    case DCT_PAYLOAD_RAW:
        put_text(w, dcr_buf_text(&w->payload));
        break;
    default:
        break;
    }
}

static void event(struct export_writer *w, const struct dct_event *e)
{
    struct dcr_buf *b = &w->line;
    const char *kind = e->kind == DCT_PUSH    ? "range"
                       : e->kind == DCT_START ? "process range"
                       : e->kind == DCT_MARK  ? "mark"
                                              : "observed";
    put_head(w, e->track, kind, e->depth);
    put_text(w, e->domain);
    dcr_buf_putc(b, ',');
    put_text(w, e->category);
    dcr_buf_putc(b, ',');
    put_text(w, e->name);
    put_times(b, e->start_ns, e->end_ns);
    if (e->kind == DCT_SPAN)
        dcr_buf_printf(b, "%" PRIu64, e->bytes);
    dcr_buf_putc(b, ',');
    put_payload(w, e);
    dcr_buf_putc(b, ',');
    put_text(w, e->file);
    dcr_buf_printf(b, ",%d", e->is_open);
    put_calendar(w, e->start_ns);
    export_line(w);
}

static void gpu(struct export_writer *w, const struct dct_gpu_event *e)
{
    struct dcr_buf *b = &w->line;
    put_head(w, e->gpu.stream, "gpu", 0);
    dcr_buf_printf(b, ",%s,", export_gpu_kinds[e->gpu.activity]);
    put_text(w, e->name);
    put_times(b, e->start_ns, e->end_ns);
    dcr_buf_printf(b, "%" PRIu64 ",device=%" PRIu32 " correlation=%" PRIu32 ",,0", e->bytes, e->gpu.device,
                   e->gpu.correlation);
    put_calendar(w, e->start_ns);
    export_line(w);
}

const struct export_style export_csv = {.begin = begin, .event = event, .gpu = gpu};
