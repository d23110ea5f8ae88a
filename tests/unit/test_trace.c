/* test_trace.c - lib/trace: reading whole, torn, damaged and hostile traces. */
#include "lib/base/hash.h"
#include "lib/trace/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { BLOCK = 4096, MAX_BLOCKS = 16 };

/* A trace made by hand. */
struct made {
    _Alignas(16) unsigned char bytes[MAX_BLOCKS * BLOCK];
    size_t n_blocks;
};

static void made_begin(struct made *m)
{
    memset(m, 0, sizeof *m);
    struct dct_file_header h = {.magic = DCT_MAGIC,
                                .version = DCT_VERSION,
                                .block_bytes = BLOCK,
                                .rank = 3,
                                .node = -1,
                                .pid = 42,
                                .mono_ns = 1000,
                                .real_ns = 5000,
                                .host = "box",
                                .dropped = 2};
    memcpy(m->bytes, &h, sizeof h);
    m->n_blocks = 1;
}

static struct dct_block_header *made_block(struct made *m, uint32_t track, uint64_t seq)
{
    assert_true(m->n_blocks < MAX_BLOCKS);
    struct dct_block_header *b = (struct dct_block_header *)(void *)(m->bytes + m->n_blocks++ * BLOCK);
    *b = (struct dct_block_header){
        .magic = DCT_BLOCK_MAGIC, .state = DCT_BLOCK_OPEN, .track = track, .used_slots = 0, .seq = seq};
    return b;
}

static struct dct_slot *made_slot(struct dct_block_header *b, int kind, unsigned n_extra, unsigned domain,
                                  uint32_t name, int64_t t_ns)
{
    struct dct_slot *s = (struct dct_slot *)(b + 1) + b->used_slots;
    *s = (struct dct_slot){
        .kind = (uint8_t)kind, .n_extra = (uint8_t)n_extra, .domain = (uint16_t)domain, .name = name, .t_ns = t_ns};
    b->used_slots += 1 + n_extra;
    return s + 1;
}

static void made_text(struct dct_block_header *b, int kind, unsigned domain, uint32_t name, const char *text)
{
    size_t len = strlen(text);
    struct dct_slot *at = made_slot(b, kind, (unsigned)((len + 15) / 16), domain, name, (int64_t)len);
    memcpy(at, text, len);
}

static void made_seal(struct dct_block_header *b)
{
    b->crc32c = dcr_crc32c(0, b + 1, (size_t)b->used_slots * DCT_SLOT_BYTES);
    b->state = DCT_BLOCK_SEALED;
}

/* Definitions as a writer makes them: strings 1 to 3, domain 1, category 7 of it. */
static void made_definitions(struct made *m)
{
    struct dct_block_header *b = made_block(m, 0, 0);
    made_text(b, DCT_STRING, 0, 1, "step");
    made_text(b, DCT_STRING, 0, 2, "forward");
    made_text(b, DCT_STRING, 0, 3, "a name that needs more than one slot of text");
    made_text(b, DCT_DOMAIN, 1, 0, "dcrnn");
    made_text(b, DCT_CATEGORY, 1, 7, "compute");
    made_text(b, DCT_THREAD, 0, 11, "loader");
    made_text(b, DCT_NOTE, 0, 0, "a note");
    made_seal(b);
}

static void put_attr(struct dct_slot *at, uint32_t category, uint32_t type, uint64_t payload)
{
    struct dct_attr a = {category, type, payload};
    memcpy(at, &a, sizeof a);
}

struct result {
    struct dct_event events[64];
    int n;
    struct dct_loss loss;
    int rc;
    char notes[256], thread[32];
};

/* Texts of the events are valid only while the reader is open, so they are compared inside. */
static struct dct_reader *reader;
static struct dcr_memory memory;
static struct dcr_stream stream;

static void read_all(const void *bytes, size_t n, struct result *out)
{
    struct dcr_err err = {0};
    struct dct_info info;
    memset(out, 0, sizeof *out);
    memory = (struct dcr_memory){.bytes = bytes, .len = n, .pos = 0};
    stream = dcr_stream_memory(&memory, "made");
    out->rc = dct_open(&reader, &stream, &info, &err);
    if (out->rc) {
        assert_int_equal(out->rc, DCR_FAIL);
        assert_true(err.text[0] != '\0');
        assert_null(reader);
        return;
    }
    struct dct_event e;
    while ((out->rc = dct_next(reader, &e, &err)) == DCR_OK) {
        assert_true(e.end_ns >= e.start_ns);
        assert_non_null(e.name);
        if (out->n < 64)
            out->events[out->n] = e;
        out->n++;
    }
    assert_int_equal(dct_next(reader, &e, &err), DCR_END);
    dct_get_loss(reader, &out->loss);
    snprintf(out->notes, sizeof out->notes, "%s", dct_notes(reader));
    snprintf(out->thread, sizeof out->thread, "%s", dct_thread_name(reader, 11));
}

static void done(void)
{
    dct_close(reader);
    reader = NULL;
}

static void ranges_are_matched_per_thread_and_domain(void **state)
{
    (void)state;
    static struct made m;
    made_begin(&m);
    made_definitions(&m);
    struct dct_block_header *b = made_block(&m, 10, 0);
    put_attr(made_slot(b, DCT_PUSH, 1, 1, 1, 2000), 7, DCT_PAYLOAD_U64, 99);
    made_slot(b, DCT_PUSH, 0, 0, 2, 2100);
    made_slot(b, DCT_POP, 0, 1, 0, 2200); /* closes "step": the innermost of its domain, not the innermost */
    made_slot(b, DCT_POP, 0, 0, 0, 2300);
    made_slot(b, DCT_POP, 0, 0, 0, 2400); /* one too many */
    made_seal(b);
    b = made_block(&m, 11, 0); /* another thread without these ranges */
    made_slot(b, DCT_PUSH, 0, 0, 3, 2150);
    made_slot(b, DCT_POP, 0, 0, 0, 2160);
    struct result r;
    read_all(m.bytes, m.n_blocks * BLOCK, &r);
    assert_int_equal(r.rc, DCR_END);
    assert_int_equal(r.n, 3);
    assert_string_equal(r.events[0].name, "step");
    assert_string_equal(r.events[0].domain, "dcrnn");
    assert_string_equal(r.events[0].category, "compute");
    assert_int_equal(r.events[0].payload_type, DCT_PAYLOAD_U64);
    assert_int_equal(r.events[0].payload, 99);
    assert_int_equal(r.events[0].start_ns, 2000);
    assert_int_equal(r.events[0].end_ns, 2200);
    assert_int_equal(r.events[0].depth, 0);
    assert_string_equal(r.events[1].name, "forward");
    assert_int_equal(r.events[1].depth, 1);
    assert_int_equal(r.events[1].end_ns, 2300);
    assert_string_equal(r.events[2].name, "a name that needs more than one slot of text");
    assert_int_equal(r.events[2].track, 11);
    assert_int_equal(r.loss.n_unmatched_pops, 1);
    assert_int_equal(r.loss.n_dropped, 2);
    assert_int_equal(r.loss.n_open_blocks, 1);
    assert_int_equal(r.loss.is_torn, 0);
    assert_string_equal(r.notes, "a note");
    assert_string_equal(r.thread, "loader");
    done();
}

static void process_ranges_marks_and_spans(void **state)
{
    (void)state;
    static struct made m;
    made_begin(&m);
    made_definitions(&m);
    struct dct_block_header *b = made_block(&m, 10, 0);
    struct dct_slot *at = made_slot(b, DCT_START, 2, 1, 1, 2000);
    put_attr(at, 8, DCT_PAYLOAD_NONE, 0);
    at[1].t_ns = 77;
    made_slot(b, DCT_MARK, 0, 0, 2, 2050);
    at = made_slot(b, DCT_SPAN, 1, 0, 3, 1990);
    struct dct_span span = {.dur_ns = 40, .bytes = 4096};
    memcpy(at, &span, sizeof span);
    made_slot(b, DCT_START, 1, 0, 2, 2060)->t_ns = 78; /* never ended */
    made_seal(b);
    b = made_block(&m, 11, 0); /* ended by another thread */
    made_slot(b, DCT_END, 1, 1, 0, 3000)->t_ns = 77;
    made_slot(b, DCT_END, 1, 1, 0, 3001)->t_ns = 5; /* never started */
    made_seal(b);
    struct result r;
    read_all(m.bytes, m.n_blocks * BLOCK, &r);
    assert_int_equal(r.n, 4);
    assert_int_equal(r.events[0].kind, DCT_MARK);
    assert_int_equal(r.events[1].kind, DCT_SPAN);
    assert_int_equal(r.events[1].end_ns, 2030);
    assert_int_equal(r.events[1].bytes, 4096);
    assert_int_equal(r.events[2].kind, DCT_START);
    assert_int_equal(r.events[2].end_ns, 3000);
    assert_string_equal(r.events[2].category, "#8"); /* the program never named it */
    assert_int_equal(r.events[3].is_open, 1);
    assert_int_equal(r.events[3].end_ns, 3001);
    assert_int_equal(r.loss.n_open_ranges, 1);
    assert_int_equal(r.loss.n_unmatched_pops, 1);
    done();
}

/* Threads fill blocks at different times: the end of a range may be read before its beginning, with a separate payload.
 * Ends that lie before the beginning in time, come twice or have no beginning are not ends. */
static void ends_before_beginnings(void **state)
{
    (void)state;
    static struct made m;
    made_begin(&m);
    made_definitions(&m);
    struct dct_block_header *b = made_block(&m, 10, 0);
    struct dct_slot *at = made_slot(b, DCT_END, 3, 1, 0, 3000);
    put_attr(at, 0, DCT_PAYLOAD_RAW, 16);
    memcpy(at + 1, "sixteen bytes of", 16);
    at[2].t_ns = 77;
    made_slot(b, DCT_END, 1, 1, 0, 3010)->t_ns = 78;
    made_slot(b, DCT_END, 1, 1, 0, 3020)->t_ns = 78;
    made_slot(b, DCT_END, 1, 1, 0, 1000)->t_ns = 79;
    made_slot(b, DCT_END, 1, 1, 0, 1010)->t_ns = 80;
    made_seal(b);
    b = made_block(&m, 11, 0);
    made_slot(b, DCT_START, 1, 1, 1, 2000)->t_ns = 77;
    made_slot(b, DCT_START, 1, 1, 2, 2500)->t_ns = 79;
    made_slot(b, DCT_START, 1, 1, 2, 2600)->t_ns = 78;
    made_slot(b, DCT_START, 1, 1, 2, 2700)->t_ns = 80;
    made_slot(b, DCT_END, 1, 1, 0, 2800)->t_ns = 80;
    made_seal(b);
    struct result r;
    read_all(m.bytes, m.n_blocks * BLOCK, &r);
    assert_int_equal(r.n, 4);
    assert_int_equal(r.events[0].kind, DCT_START);
    assert_int_equal(r.events[0].track, 11);
    assert_int_equal(r.events[0].start_ns, 2000);
    assert_int_equal(r.events[0].end_ns, 3000);
    assert_int_equal(r.events[0].payload_type, DCT_PAYLOAD_RAW);
    assert_int_equal(r.events[0].payload, 16);
    assert_int_equal(r.events[1].start_ns, 2600);
    assert_int_equal(r.events[1].end_ns, 3010);
    assert_false(r.events[1].is_open);
    assert_int_equal(r.events[2].start_ns, 2700); /* 80, whose first end was of nothing */
    assert_int_equal(r.events[2].end_ns, 2800);
    assert_false(r.events[2].is_open);
    assert_true(r.events[3].is_open); /* 79 */
    assert_int_equal(r.loss.n_open_ranges, 1);
    assert_int_equal(r.loss.n_unmatched_pops, 3); /* 78 again, 79, 80 */
    done();
}

/* Observed events that the program does not name: spans with their file or peers, sums of a file, raw payloads. */
static void spans_files_and_raw_payloads(void **state)
{
    (void)state;
    static struct made m;
    made_begin(&m);
    made_definitions(&m);
    struct dct_block_header *b = made_block(&m, 10, 0);
    struct dct_raw raw = {.schema = 5, .size = 20, .kept = 20};
    struct dct_slot *at = made_slot(b, DCT_PUSH, 4, 1, 1, 2000);
    put_attr(at, 7, DCT_PAYLOAD_RAW | 0x123456u << 8, 48);
    memcpy(at + 1, &raw, sizeof raw);
    memcpy(at + 2, "twenty bytes of that", 20);
    at = made_slot(b, DCT_SPAN, 2, 0, 2, 2010);
    memcpy(at, &(struct dct_span){.dur_ns = 5, .bytes = 100}, sizeof(struct dct_span));
    put_attr(at + 1, 0, DCT_PAYLOAD_FILE, 3);
    made_slot(b, DCT_POP, 0, 1, 0, 2100);
    made_seal(b);
    b = made_block(&m, DCT_TRACK_PROCESS, 0);
    at = made_slot(b, DCT_FILE, 6, 0, 3, 1500); /* earlier than the events before, since sums have no place in time */
    struct dct_io io[DCT_N_IO] = {[DCT_IO_WRITE] = {.n = 9, .bytes = 900, .ns = 90, .max_ns = 30}};
    memcpy(at, io, sizeof io);
    struct result r;
    read_all(m.bytes, m.n_blocks * BLOCK, &r);
    assert_int_equal(r.n, 3);
    assert_int_equal(r.events[0].kind, DCT_SPAN);
    assert_int_equal(r.events[0].depth, 1);
    assert_string_equal(r.events[0].file, "a name that needs more than one slot of text");
    assert_int_equal(r.events[1].payload_type, DCT_PAYLOAD_RAW);
    assert_int_equal(r.events[1].color, 0x123456);
    assert_int_equal(r.events[2].kind, DCT_FILE);
    assert_int_equal(r.events[2].io[DCT_IO_WRITE].bytes, 900);
    assert_string_equal(r.events[2].name, "a name that needs more than one slot of text");
    assert_int_equal(r.loss.n_bad_blocks, 0);
    done();
    /* The bytes themselves, during the event; and a range of that kind that is never closed. */
    for (int is_closed = 1; is_closed >= 0; is_closed--) {
        struct dcr_err err;
        struct dct_info info;
        struct dct_event e;
        memory = (struct dcr_memory){.bytes = (const void *)m.bytes, .len = m.n_blocks * BLOCK};
        stream = dcr_stream_memory(&memory, "made");
        assert_int_equal(dct_open(&reader, &stream, &info, &err), 0);
        int n_raw = 0;
        while (dct_next(reader, &e, &err) == DCR_OK)
            if (e.raw) {
                assert_int_equal(e.is_open, !is_closed);
                assert_memory_equal((const char *)e.raw + 16, "twenty bytes of that", 20);
                n_raw++;
            }
        assert_int_equal(n_raw, 1);
        done();
        b = (struct dct_block_header *)(void *)(m.bytes + 2 * BLOCK);
        b->used_slots = 5; /* the push alone */
        made_seal(b);
    }
    /* A size that the slots do not hold. */
    at = (struct dct_slot *)(b + 1) + 1;
    put_attr(at, 7, DCT_PAYLOAD_RAW, 480);
    made_seal(b);
    read_all(m.bytes, m.n_blocks * BLOCK, &r);
    assert_int_equal(r.loss.n_bad_blocks, 1);
    done();
}

static void a_damaged_block_loses_only_itself(void **state)
{
    (void)state;
    static struct made m;
    made_begin(&m);
    made_definitions(&m);
    struct dct_block_header *b[3];
    for (int i = 0; i < 3; i++) {
        b[i] = made_block(&m, 10, (uint64_t)i);
        if (i == 0)
            made_slot(b[i], DCT_PUSH, 0, 0, 1, 2000); /* its pop stands in the last block */
        made_slot(b[i], DCT_PUSH, 0, 0, 2, 2010 + 100 * i);
        made_slot(b[i], DCT_POP, 0, 0, 0, 2020 + 100 * i);
        if (i == 2)
            made_slot(b[i], DCT_POP, 0, 0, 0, 2900);
        made_seal(b[i]);
    }
    struct result r;
    read_all(m.bytes, m.n_blocks * BLOCK, &r);
    assert_int_equal(r.n, 4);
    assert_int_equal(r.loss.n_bad_blocks, 0);
    done();
    ((unsigned char *)(b[1] + 1))[5] ^= 1;
    read_all(m.bytes, m.n_blocks * BLOCK, &r);
    assert_int_equal(r.loss.n_bad_blocks, 1);
    assert_int_equal(r.loss.n_missing_blocks, 1);
    /* The outer range may have been closed and opened again in the lost part: it is given as open, its pop is
     * unmatched, and no wrong pairs are made. */
    assert_int_equal(r.n, 3);
    assert_int_equal(r.events[1].is_open, 1);
    assert_string_equal(r.events[1].name, "step");
    assert_int_equal(r.events[2].start_ns, 2210);
    assert_int_equal(r.loss.n_unmatched_pops, 1);
    done();
}

static void a_thread_number_given_again_is_a_new_thread(void **state)
{
    (void)state;
    static struct made m;
    made_begin(&m);
    made_definitions(&m);
    for (int life = 0; life < 2; life++)
        for (uint64_t seq = 0; seq < 2; seq++) {
            struct dct_block_header *b = made_block(&m, 10, seq);
            int64_t t = 2000 + 1000 * life + 100 * (int64_t)seq;
            made_slot(b, DCT_PUSH, 0, 0, 1, t);
            made_slot(b, DCT_POP, 0, 0, 0, t + 10);
            if (life == 0 && seq == 1)
                made_slot(b, DCT_PUSH, 0, 0, 2, t + 20); /* never closed: not by the next thread either */
            b->dropped = 3;
            made_seal(b);
        }
    struct result r;
    read_all(m.bytes, m.n_blocks * BLOCK, &r);
    assert_int_equal(r.n, 5);
    assert_int_equal(r.loss.n_bad_blocks, 0);
    assert_int_equal(r.loss.n_missing_blocks, 0);
    assert_int_equal(r.loss.n_open_ranges, 1);
    assert_int_equal(r.events[2].is_open, 1);
    assert_int_equal(r.events[4].start_ns, 3100);
    assert_int_equal(r.loss.n_dropped, 2 + 3 + 3); /* 2: of the file header */
    done();
}

static void open_blocks_are_read_up_to_the_first_wrong_slot(void **state)
{
    (void)state;
    static struct made m;
    made_begin(&m);
    made_definitions(&m);
    struct dct_block_header *b = made_block(&m, 10, 0);
    made_slot(b, DCT_PUSH, 0, 0, 1, 2000);
    made_slot(b, DCT_POP, 0, 0, 0, 2100);
    made_slot(b, DCT_PUSH, 0, 0, 1, 1500); /* time runs backwards: torn */
    made_slot(b, DCT_POP, 0, 0, 0, 2200);
    struct result r;
    read_all(m.bytes, m.n_blocks * BLOCK, &r);
    assert_int_equal(r.n, 1);
    assert_int_equal(r.loss.n_bad_blocks, 1);
    done();
}

static void kinds_of_later_writers_are_skipped_when_sealed(void **state)
{
    (void)state;
    static struct made m;
    made_begin(&m);
    made_definitions(&m);
    struct dct_block_header *b = made_block(&m, 10, 0);
    made_slot(b, DCT_PUSH, 0, 0, 1, 2000);
    made_slot(b, 99, 3, 0, 0, 2050);
    made_slot(b, DCT_POP, 0, 0, 0, 2100);
    made_seal(b);
    struct result r;
    read_all(m.bytes, m.n_blocks * BLOCK, &r);
    assert_int_equal(r.n, 1);
    assert_int_equal(r.loss.n_bad_blocks, 0);
    done();
}

static void space_reserved_ahead_is_nothing(void **state)
{
    (void)state;
    static struct made m;
    made_begin(&m);
    made_definitions(&m);
    m.n_blocks += 3;
    struct result r;
    read_all(m.bytes, m.n_blocks * BLOCK, &r);
    assert_int_equal(r.n, 0);
    assert_int_equal(r.loss.n_bad_blocks, 0);
    assert_int_equal(r.loss.is_torn, 0);
    done();
}

static void what_is_no_trace_is_refused(void **state)
{
    (void)state;
    static struct made m;
    struct result r;
    made_begin(&m);
    struct dct_file_header *h = (struct dct_file_header *)(void *)m.bytes;
    read_all(m.bytes, 0, &r);
    assert_int_equal(r.rc, DCR_FAIL);
    read_all(m.bytes, 127, &r);
    assert_int_equal(r.rc, DCR_FAIL);
    h->magic++;
    read_all(m.bytes, BLOCK, &r);
    assert_int_equal(r.rc, DCR_FAIL);
    h->magic--;
    h->version = 0;
    read_all(m.bytes, BLOCK, &r);
    assert_int_equal(r.rc, DCR_FAIL);
    h->version = DCT_VERSION + 1;
    struct dcr_err err = {0};
    memory = (struct dcr_memory){.bytes = (const char *)m.bytes, .len = BLOCK};
    stream = dcr_stream_memory(&memory, "made");
    assert_int_equal(dct_open(&reader, &stream, NULL, &err), DCR_FAIL);
    assert_non_null(strstr(err.text, "cannot read 'made': trace version "));
    h->version = 1; /* of earlier collectors */
    read_all(m.bytes, BLOCK, &r);
    assert_int_equal(r.rc, DCR_END);
    done();
    static const uint32_t sizes[] = {0, 1, 48, 4095, 4097, 1u << 30, UINT32_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        h->block_bytes = sizes[i];
        read_all(m.bytes, BLOCK, &r);
        assert_int_equal(r.rc, DCR_FAIL);
    }
}

static void make_mixed(struct made *m)
{
    made_begin(m);
    made_definitions(m);
    int64_t t = 2000;
    for (uint32_t track = 10; track < 12; track++)
        for (uint64_t seq = 0; seq < 2; seq++) {
            struct dct_block_header *b = made_block(m, track, seq);
            for (int i = 0; i < 8; i++) {
                put_attr(made_slot(b, DCT_PUSH, 1, 1, 1, t++), 7, DCT_PAYLOAD_F64, 1);
                made_slot(b, DCT_PUSH, 0, 0, 2, t++);
                made_slot(b, DCT_POP, 0, 0, 0, t++);
                made_slot(b, DCT_START, 1, 0, 3, t)->t_ns = t;
                made_slot(b, DCT_END, 1, 0, 0, t + 1)->t_ns = t;
                t += 2;
                made_slot(b, DCT_POP, 0, 1, 0, t++);
            }
            if (seq == 0)
                made_seal(b);
        }
}

static void every_truncation_is_survived(void **state)
{
    (void)state;
    static struct made m;
    struct result r;
    make_mixed(&m);
    int n = 0;
    for (size_t len = 0; len <= m.n_blocks * BLOCK; len++) {
        /* An exact copy, so that the sanitizer notices reading past the end. */
        unsigned char *copy = malloc(len ? len : 1);
        assert_non_null(copy);
        memcpy(copy, m.bytes, len);
        read_all(copy, len, &r);
        if (len >= BLOCK) {
            assert_int_equal(r.rc, DCR_END);
            assert_int_equal(r.loss.is_torn, len % BLOCK != 0);
            assert_true(r.n >= n - 1); /* one more byte never costs more than the range it begins */
            n = r.n;
        }
        done();
        free(copy);
    }
    assert_int_equal(n, 96);
}

static void every_flipped_byte_is_survived(void **state)
{
    (void)state;
    static struct made m;
    static const unsigned char flips[] = {0x01, 0x80, 0xff};
    struct result r;
    make_mixed(&m);
    size_t n = m.n_blocks * BLOCK;
    int n_seen = 0;
    for (size_t i = 0; i < n; i++) {
        if (i >= sizeof(struct dct_file_header) && i % BLOCK > 1100)
            continue; /* unused space */
        for (size_t k = 0; k < sizeof flips; k++) {
            m.bytes[i] ^= flips[k];
            read_all(m.bytes, n, &r);
            n_seen += r.rc < 0 || r.loss.n_bad_blocks || r.n != 96;
            assert_true(r.n <= 97 + 64);
            done();
            m.bytes[i] ^= flips[k];
        }
    }
    assert_true(n_seen > 1000);
}

static void random_rubbish_is_survived(void **state)
{
    (void)state;
    static struct made m;
    struct result r;
    uint64_t x = 88172645463325252ull;
    for (int round = 0; round < 3000; round++) {
        make_mixed(&m);
        for (int i = 0; i < 1 + round % 60; i++) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            size_t block = 1 + x % (m.n_blocks - 1);
            size_t at = block * BLOCK + sizeof(struct dct_block_header) + (x >> 20) % 800;
            m.bytes[at] = (unsigned char)(x >> 40);
        }
        /* With valid checksums the rubbish reaches the parser of slots. */
        for (size_t b = 1; b < m.n_blocks; b++)
            made_seal((struct dct_block_header *)(void *)(m.bytes + b * BLOCK));
        read_all(m.bytes, m.n_blocks * BLOCK, &r);
        done();
    }
}

static void deep_nesting_is_bounded(void **state)
{
    (void)state;
    enum { DEPTH = 20000 };
    size_t slots = (1u << 20) / 16, n = 2 * ((size_t)1 << 20);
    unsigned char *bytes = calloc(1, n);
    assert_non_null(bytes);
    struct dct_file_header h = {.magic = DCT_MAGIC, .version = DCT_VERSION, .block_bytes = 1u << 20};
    memcpy(bytes, &h, sizeof h);
    struct dct_block_header *b = (struct dct_block_header *)(void *)(bytes + (1u << 20));
    *b = (struct dct_block_header){.magic = DCT_BLOCK_MAGIC, .track = 1};
    assert_true(2 * DEPTH + 3 < slots);
    for (int i = 0; i < DEPTH; i++)
        made_slot(b, DCT_PUSH, 0, 0, 1, 100 + i);
    for (int i = 0; i < DEPTH; i++)
        made_slot(b, DCT_POP, 0, 0, 0, 100 + DEPTH + i);
    made_seal(b);
    struct result r;
    read_all(bytes, n, &r);
    assert_int_equal(r.n, 16384);
    assert_int_equal(r.loss.n_too_deep, DEPTH - 16384);
    assert_int_equal(r.loss.n_too_many, 0);
    assert_string_equal(r.notes, "3616 ranges were recorded inside 16384 others of the thread, and not read");
    assert_int_equal(r.loss.n_open_ranges, 0);
    assert_int_equal(r.loss.n_unmatched_pops, 0);
    done();
    free(bytes);
}

/* The last 65536 ends wait for a beginning that was not read. */
static void ends_of_nothing_are_bounded(void **state)
{
    (void)state;
    enum { ENDS = (1 << 16) + 3, PER_BLOCK = 16000, BLOCKS = ENDS / PER_BLOCK + 2, BIG = 1 << 20 };
    unsigned char *bytes = calloc(BLOCKS + 1, BIG);
    assert_non_null(bytes);
    struct dct_file_header h = {.magic = DCT_MAGIC, .version = DCT_VERSION, .block_bytes = BIG};
    memcpy(bytes, &h, sizeof h);
    for (int k = 1, i = 0; k <= BLOCKS; k++) {
        struct dct_block_header *b = (struct dct_block_header *)(void *)(bytes + (size_t)k * BIG);
        *b = (struct dct_block_header){.magic = DCT_BLOCK_MAGIC, .track = k < BLOCKS ? 1 : 2};
        for (int n = 0; k < BLOCKS && n < PER_BLOCK && i < ENDS; n++, i++)
            made_slot(b, DCT_END, 1, 0, 0, 1000)->t_ns = i;
        for (i = k < BLOCKS ? i : 0; k == BLOCKS && i < 4; i++)
            made_slot(b, DCT_START, 1, 0, 1, 500)->t_ns = i;
        made_seal(b);
    }
    struct result r;
    read_all(bytes, (size_t)(BLOCKS + 1) * BIG, &r);
    assert_int_equal(r.n, 4);
    assert_false(r.events[0].is_open); /* the fourth: the first three were too old */
    assert_int_equal(r.events[0].end_ns, 1000);
    for (int i = 1; i < 4; i++)
        assert_true(r.events[i].is_open);
    assert_int_equal(r.loss.n_unmatched_pops, ENDS - 1);
    assert_int_equal(r.loss.n_open_ranges, 3);
    assert_int_equal(r.loss.n_too_many, 0);
    done();
    free(bytes);
}

/* 64 threads with 16384 open ranges each: no further range is kept, and none counts as too deep. Ends without a
 * beginning do not use this room. */
static void many_open_ranges_are_bounded(void **state)
{
    (void)state;
    enum { THREADS = 64, DEPTH = 16384, BIG = 1 << 20 };
    unsigned char *bytes = calloc(THREADS + 2, BIG);
    assert_non_null(bytes);
    struct dct_file_header h = {.magic = DCT_MAGIC, .version = DCT_VERSION, .block_bytes = BIG};
    memcpy(bytes, &h, sizeof h);
    for (unsigned t = 1; t <= THREADS + 1; t++) {
        struct dct_block_header *b = (struct dct_block_header *)(void *)(bytes + (size_t)t * BIG);
        *b = (struct dct_block_header){.magic = DCT_BLOCK_MAGIC, .track = t};
        for (int i = 0; t == 1 && i < 10; i++)
            made_slot(b, DCT_END, 1, 0, 0, 100)->t_ns = 100 + i;
        for (int i = 0; i < (t <= THREADS ? DEPTH : 3); i++)
            made_slot(b, DCT_PUSH, 0, 0, 1, 100);
        if (t > THREADS) {
            made_slot(b, DCT_START, 1, 0, 1, 100)->t_ns = 7;
            made_slot(b, DCT_END, 1, 0, 0, 100)->t_ns = 7;
            for (int i = 0; i < 3; i++)
                made_slot(b, DCT_POP, 0, 0, 0, 100);
        }
        made_seal(b);
    }
    struct result r;
    read_all(bytes, (size_t)(THREADS + 2) * BIG, &r);
    assert_int_equal(r.loss.n_too_many, 4);
    assert_int_equal(r.loss.n_too_deep, 0);
    assert_int_equal(r.loss.n_open_ranges, THREADS * DEPTH);
    assert_int_equal(r.loss.n_unmatched_pops, 11); /* one is the end of the process range that was not kept */
    assert_string_equal(r.notes, "4 ranges were recorded while 1048576 others of the process were open, and not read");
    done();
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_matched_per_thread_and_domain),
        cmocka_unit_test(process_ranges_marks_and_spans),
        cmocka_unit_test(ends_before_beginnings),
        cmocka_unit_test(spans_files_and_raw_payloads),
        cmocka_unit_test(a_damaged_block_loses_only_itself),
        cmocka_unit_test(a_thread_number_given_again_is_a_new_thread),
        cmocka_unit_test(open_blocks_are_read_up_to_the_first_wrong_slot),
        cmocka_unit_test(kinds_of_later_writers_are_skipped_when_sealed),
        cmocka_unit_test(space_reserved_ahead_is_nothing),
        cmocka_unit_test(what_is_no_trace_is_refused),
        cmocka_unit_test(every_truncation_is_survived),
        cmocka_unit_test(every_flipped_byte_is_survived),
        cmocka_unit_test(random_rubbish_is_survived),
        cmocka_unit_test(deep_nesting_is_bounded),
        cmocka_unit_test(ends_of_nothing_are_bounded),
        cmocka_unit_test(many_open_ranges_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
