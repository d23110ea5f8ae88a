/* trace_text.c - a trace as text without times, for comparison: one line per event, one for the losses.
 *   trace_text FILE.dct [--count | --notes]
 * Of sums per file: calls:bytes, "-" when none was timed. */
#include "lib/trace/trace.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void put_raw(const char *at, uint64_t n)
{
    struct dct_raw item;
    for (uint64_t used = 0; at && used + sizeof item <= n;) {
        memcpy(&item, at + used, sizeof item);
        printf(" raw=%" PRIu64 ":%" PRIu32 ":", item.schema, item.size);
        for (uint32_t i = 0; i < item.kept && i < 16; i++)
            printf("%02x", (unsigned char)at[used + sizeof item + i]);
        used += sizeof item + (item.kept + DCT_SLOT_BYTES - 1) / DCT_SLOT_BYTES * DCT_SLOT_BYTES;
    }
}

static void put_file(const struct dct_event *e)
{
    static const char *const kinds[DCT_N_IO] = {"read", "write", "other"};
    printf("file [%s]", e->name);
    for (int k = 0; k < DCT_N_IO; k++)
        printf(" %s=%" PRIu64 ":%" PRIu64 "%s", kinds[k], e->io[k].n, e->io[k].bytes,
               e->io[k].ns && e->io[k].max_ns && e->io[k].max_ns <= e->io[k].ns ? ""
               : e->io[k].ns                                                    ? "?"
                                                                                : "-");
    putchar('\n');
}

static void put_payload(const struct dct_event *e)
{
    double f;
    memcpy(&f, &e->payload, sizeof f);
    if (e->payload_type == DCT_PAYLOAD_U64)
        printf(" u64=%" PRIu64, e->payload);
    else if (e->payload_type == DCT_PAYLOAD_I64)
        printf(" i64=%" PRId64, (int64_t)e->payload);
    else if (e->payload_type == DCT_PAYLOAD_F64)
        printf(" f64=%g", f);
    else if (e->payload_type == DCT_PAYLOAD_MPI)
        printf(" size=%" PRIu32 " peer=%" PRId32, (uint32_t)e->payload, (int32_t)(e->payload >> 32));
    else if (e->payload_type == DCT_PAYLOAD_FILE)
        printf(" file=%s", e->file);
    else if (e->payload_type == DCT_PAYLOAD_RAW)
        put_raw(e->raw, e->payload);
    if (e->color)
        printf(" color=%06" PRIx32, e->color);
}

int main(int argc, char **argv)
{
    struct dcr_err err = {0};
    struct dct_reader *r;
    struct dct_info info;
    struct dct_event e;
    struct dct_loss loss;
    int fd = argc > 1 ? open(argv[1], O_RDONLY) : -1;
    if (fd < 0)
        return 2;
    struct dcr_stream s = dcr_stream_fd(&fd, argv[1]);
    if (dct_open(&r, &s, &info, &err) != 0) {
        puts(err.text);
        return 2;
    }
    uint64_t n = 0;
    int rc, is_count = argc > 2 && strcmp(argv[2], "--count") == 0;
    while ((rc = dct_next(r, &e, &err)) == 0) {
        n++;
        if (is_count)
            continue;
        if (e.kind == DCT_FILE) {
            put_file(&e);
            continue;
        }
        printf("%s depth=%d [%s|%s|%s]",
               e.kind == DCT_PUSH    ? "range"
               : e.kind == DCT_START ? "process-range"
               : e.kind == DCT_SPAN  ? "span"
                                     : "mark",
               e.depth, e.domain, e.category, e.name);
        if (e.kind == DCT_SPAN)
            printf(" bytes=%" PRIu64, e.bytes);
        put_payload(&e);
        printf("%s\n", e.is_open ? " open" : "");
    }
    dct_get_loss(r, &loss);
    printf("events=%" PRIu64 " dropped=%" PRIu64 " bad=%" PRIu64 " missing=%" PRIu64 " unmatched=%" PRIu64
           " open=%" PRIu64 " torn=%d rank=%d thread=%s\n",
           n, loss.n_dropped, loss.n_bad_blocks, loss.n_missing_blocks, loss.n_unmatched_pops, loss.n_open_ranges,
           loss.is_torn, info.rank, dct_thread_name(r, info.pid));
    if (argc > 2 && strcmp(argv[2], "--notes") == 0)
        puts(dct_notes(r));
    dct_close(r);
    return rc == DCR_END ? 0 : 1;
}
