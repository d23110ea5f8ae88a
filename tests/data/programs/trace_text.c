/* trace_text.c - a trace as text without times, for comparison: one line per event, one for what was lost.
 *   trace_text FILE.dct [--count] */
#include "lib/trace.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
        printf("%s depth=%d [%s|%s|%s]",
               e.kind == DCT_PUSH    ? "range"
               : e.kind == DCT_START ? "process-range"
                                     : "mark",
               e.depth, e.domain, e.category, e.name);
        put_payload(&e);
        printf("%s\n", e.is_open ? " open" : "");
    }
    dct_get_loss(r, &loss);
    printf("events=%" PRIu64 " dropped=%" PRIu64 " bad=%" PRIu64 " missing=%" PRIu64 " unmatched=%" PRIu64
           " open=%" PRIu64 " torn=%d rank=%d thread=%s\n",
           n, loss.n_dropped, loss.n_bad_blocks, loss.n_missing_blocks, loss.n_unmatched_pops, loss.n_open_ranges,
           loss.is_torn, info.rank, dct_thread_name(r, info.pid));
    dct_close(r);
    return rc == DCR_END ? 0 : 1;
}
