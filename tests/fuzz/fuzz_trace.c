/* fuzz_trace.c - libFuzzer entry over lib/trace and lib/reduce. The first byte chooses. Bit 0: block checksums are
 * corrected first, so that rubbish reaches the parser of slots too. Bit 1: the rest is the text of a summary and not
 * a trace. Bit 2: it is also read as a payload with its definitions. Bit 3: a watcher reads along while the summary
 * is made (lib/trace/trace_chunks.h), and must see every event. A trace's summary must come back from its own text. */
#include "lib/base/hash.h"
#include "lib/trace/payload.h"
#include "lib/reduce/summary.h"
#include "lib/trace/trace.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void mend(uint8_t *bytes, size_t n)
{
    struct dct_file_header h;
    if (n < sizeof h)
        return;
    memcpy(&h, bytes, sizeof h);
    h.magic = DCT_MAGIC;
    h.version = DCT_VERSION;
    h.block_bytes = 4096;
    memcpy(bytes, &h, sizeof h);
    for (size_t at = 4096; at + 4096 <= n; at += 4096) {
        struct dct_block_header b;
        memcpy(&b, bytes + at, sizeof b);
        b.magic = DCT_BLOCK_MAGIC;
        b.used_slots %= (4096 - sizeof b) / DCT_SLOT_BYTES + 1;
        b.crc32c = dcr_crc32c(0, bytes + at + sizeof b, (size_t)b.used_slots * DCT_SLOT_BYTES);
        memcpy(bytes + at, &b, sizeof b);
    }
}

/* The text written of it must be readable, and writing it again must give the same text. */
static void there_and_back(const struct summary *sum)
{
    struct dcr_buf first = {0}, second = {0};
    struct dcr_arena a = {0};
    struct summary back;
    summary_write(sum, &first);
    struct dcr_memory memory = {.bytes = first.data, .len = first.len, .pos = 0};
    struct dcr_stream s = dcr_stream_memory(&memory, "own");
    if (summary_read(&back, &a, &s, NULL) != 0)
        abort();
    summary_write(&back, &second);
    if (first.len != second.len || memcmp(first.data, second.data, first.len) != 0)
        abort();
    dcr_buf_release(&first);
    dcr_buf_release(&second);
    dcr_arena_release(&a);
}

static void on_begin(void *ctx, const struct dct_info *info)
{
    (void)info;
    *(uint64_t *)ctx = 0;
}

static int on_event(void *ctx, const struct dct_event *e)
{
    *(uint64_t *)ctx += 1 + (uint64_t)e->kind;
    return *(uint64_t *)ctx > 100000;
}

static void on_end(void *ctx, struct dct_reader *r)
{
    (void)ctx;
    (void)dct_notes(r);
}

/* returns  a sum over the events; 0: there is none, or it is not a trace */
static uint64_t summarise(const char *bytes, size_t n, int is_text, int is_watched)
{
    uint64_t seen = 0;
    struct dct_watch watch = {on_begin, on_event, on_end, &seen, NULL};
    struct dcr_arena a = {0};
    struct summary sum;
    struct dcr_memory memory = {.bytes = bytes, .len = n, .pos = 0};
    struct dcr_stream s = dcr_stream_memory(&memory, "fuzz");
    if ((is_text ? summary_read(&sum, &a, &s, NULL)
                 : summary_of_trace_with_gpu(&sum, &a, &s, SUMMARY_NAMES, NULL, is_watched ? &watch : NULL, NULL)) == 0)
        there_and_back(&sum);
    dcr_arena_release(&a);
    return seen;
}

/* A schema, an enumeration and a payload, one after the other. */
struct definitions {
    const char *schema, *words;
};

static const char *definition(void *ctx, uint64_t id)
{
    const struct definitions *d = ctx;
    return id < UINT64_C(1) << 24 ? d->schema : d->words;
}

static void put_payload(const char *bytes, size_t n)
{
    struct definitions d = {.schema = bytes};
    struct dcr_buf out = {0};
    size_t first = strnlen(bytes, n) + 1, second = first < n ? first + strnlen(bytes + first, n - first) + 1 : n;
    if (second >= n)
        return;
    d.words = bytes + first;
    payload_put(&out, bytes + second, n - second, definition, &d);
    dcr_buf_release(&out);
}

static void check_gpu(void *ctx, const struct dct_gpu_event *e)
{
    (void)ctx;
    if (e->start_ns < 0 || e->end_ns < e->start_ns || !e->name || e->gpu.activity >= DCT_N_GPU)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n == 0)
        return 0;
    uint8_t *copy = malloc(n > 1 ? n - 1 : 1); /* so that reading past the end is noticed */
    if (!copy)
        return 0;
    memcpy(copy, data + 1, n - 1);
    if (data[0] & 4)
        put_payload((const char *)copy, n - 1);
    if (data[0] & 1)
        mend(copy, n - 1);
    uint64_t seen = summarise((const char *)copy, n - 1, data[0] & 2, data[0] & 8), sum = 0;
    struct dcr_memory memory = {.bytes = (const char *)copy, .len = n - 1, .pos = 0};
    struct dcr_stream s = dcr_stream_memory(&memory, "fuzz");
    struct dct_reader *r = NULL;
    struct dct_info info;
    struct dct_event e;
    struct dct_loss loss;
    if (dct_open(&r, &s, &info, NULL) == 0) {
        dct_listen(r, (struct dct_listener){.gpu = check_gpu});
        while (dct_next(r, &e, NULL) == 0) {
            struct dcr_buf text = {0};
            if (e.end_ns < e.start_ns || !e.name || !e.domain || !e.category)
                abort();
            sum += 1 + (uint64_t)e.kind;
            dct_put_payload(r, &e, &text);
            dcr_buf_release(&text);
        }
        dct_get_loss(r, &loss);
        (void)dct_notes(r);
    }
    if ((data[0] & 10) == 8 && seen != sum)
        abort();
    dct_close(r);
    free(copy);
    return 0;
}
