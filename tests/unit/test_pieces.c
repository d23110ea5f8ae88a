/* test_pieces.c - a trace in pieces (docs/FORMAT.md). In a row they have the content of the whole. Without the first
 * one the rest is not a damaged trace. Sums of dropped events count. */
#include "lib/archive/format.h"
#include "lib/base/hash.h"
#include "lib/reduce/summary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <string.h>

enum { BLOCK = 4096, MAX_BLOCKS = 96, STEPS = 12 };

struct made {
    _Alignas(16) unsigned char bytes[MAX_BLOCKS * BLOCK];
    size_t n_blocks;
    uint64_t definitions; /* blocks of them so far */
};

static void header(struct made *m, uint64_t before, int64_t incomplete_ns)
{
    const struct dct_file_header h = {.magic = DCT_MAGIC,
                                      .version = DCT_VERSION,
                                      .block_bytes = BLOCK,
                                      .rank = 1,
                                      .node = -1,
                                      .pid = 7,
                                      .host = "box",
                                      .incomplete_ns = incomplete_ns,
                                      .blocks_before = before};
    memcpy(m->bytes + m->n_blocks++ * BLOCK, &h, sizeof h);
}

static struct dct_block_header *block(struct made *m, uint32_t track, uint64_t seq)
{
    struct dct_block_header *b = (void *)(m->bytes + m->n_blocks++ * BLOCK);
    *b = (struct dct_block_header){.magic = DCT_BLOCK_MAGIC, .track = track, .seq = seq};
    return b;
}

static struct dct_slot *slot(struct dct_block_header *b, int kind, unsigned n_extra, uint32_t name, int64_t t_ns)
{
    struct dct_slot *s = (struct dct_slot *)(void *)(b + 1) + b->used_slots;
    *s = (struct dct_slot){.kind = (uint8_t)kind, .n_extra = (uint8_t)n_extra, .name = name, .t_ns = t_ns};
    b->used_slots += 1 + n_extra;
    return s;
}

static void text(struct dct_block_header *b, int kind, unsigned domain, uint32_t name, const char *t)
{
    struct dct_slot *s = slot(b, kind, 1, name, (int64_t)strlen(t));
    s->domain = (uint16_t)domain;
    memcpy(s + 1, t, strlen(t));
}

static void seal(struct dct_block_header *b)
{
    b->crc32c = dcr_crc32c(0, b + 1, (size_t)b->used_slots * DCT_SLOT_BYTES);
    b->state = DCT_BLOCK_SEALED;
}

/* Every piece defines the names that it uses. */
static void definitions(struct made *m)
{
    struct dct_block_header *b = block(m, 0, m->definitions++);
    text(b, DCT_STRING, 0, 1, "step");
    text(b, DCT_STRING, 0, 2, "forward");
    text(b, DCT_STRING, 0, 3, "MPI_Allreduce");
    text(b, DCT_DOMAIN, 1, 0, DCT_DOMAIN_MPI);
    text(b, DCT_NOTE, 0, 0, "a note");
    seal(b);
}

/* A block holds half a step, so that a step may lie in two pieces. */
static void half_step(struct made *m, int i)
{
    struct dct_block_header *b = block(m, 11, (uint64_t)i);
    int64_t t = 1000 * (i / 2);
    if (i % 2 == 0) {
        slot(b, DCT_PUSH, 0, 1, t);
        slot(b, DCT_PUSH, 0, 2, t + 100);
    } else {
        slot(b, DCT_POP, 0, 0, t + 400 + i);
        slot(b, DCT_POP, 0, 0, t + 900);
    }
    seal(b);
}

static void summarise(const struct made *m, struct summary *out, struct dcr_arena *a)
{
    struct dcr_memory memory = {.bytes = (const char *)m->bytes, .len = m->n_blocks * BLOCK};
    struct dcr_stream s = dcr_stream_memory(&memory, "made");
    assert_int_equal(summary_of_trace(out, a, &s, NULL), 0);
}

static void said(const struct made *m, struct dcr_buf *out)
{
    struct summary s;
    struct dcr_arena a = {0};
    summarise(m, &s, &a);
    s.info.n_pieces = 0;
    summary_write(&s, out);
    dcr_arena_release(&a);
}

/* cuts: bit i set = a piece begins before half step i */
static void make(struct made *m, unsigned cuts)
{
    memset(m, 0, sizeof *m);
    header(m, 0, 0);
    definitions(m);
    for (int i = 0; i < 2 * STEPS; i++) {
        if (cuts >> i & 1) {
            header(m, m->n_blocks, 0);
            definitions(m);
        }
        half_step(m, i);
    }
}

static void test_pieces_say_the_whole(void **state)
{
    (void)state;
    static struct made m;
    struct dcr_buf whole = {.max = 1 << 20};
    make(&m, 0);
    said(&m, &whole);
    const unsigned cuts[] = {1u << 4, 1u << 5, 1u << 23, 0x888, 0xffffff};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        struct dcr_buf pieces = {.max = 1 << 20};
        make(&m, cuts[i]);
        said(&m, &pieces);
        assert_string_equal(dcr_buf_text(&pieces), dcr_buf_text(&whole));
        dcr_buf_release(&pieces);
    }
    dcr_buf_release(&whole);
}

static void test_first_pieces_are_gone(void **state)
{
    (void)state;
    static struct made m;
    for (int first = 8; first < 10; first++) { /* between two steps, and inside one */
        struct summary s;
        struct dcr_arena a = {0};
        memset(&m, 0, sizeof m);
        m.definitions = 3;
        header(&m, 20, 0);
        definitions(&m);
        for (int i = first; i < 2 * STEPS; i++)
            half_step(&m, i);
        summarise(&m, &s, &a);
        assert_int_equal(s.info.n_blocks_before, 20);
        assert_int_equal(s.steps.n_steps, STEPS - (first + 1) / 2);
        assert_int_equal(s.loss.n_missing_blocks, 0);
        assert_int_equal(s.loss.n_bad_blocks, 0);
        assert_int_equal(s.loss.n_unmatched_pops, 0);
        dcr_arena_release(&a);
    }
    block(&m, 11, 2 * STEPS + 3); /* a gap after them is still damage */
    struct summary s;
    struct dcr_arena a = {0};
    summarise(&m, &s, &a);
    assert_int_equal(s.loss.n_bad_blocks + s.loss.n_missing_blocks, 1);
    dcr_arena_release(&a);
}

/* The losses in a later header apply to the steps after it. */
static void test_loss_in_a_later_piece(void **state)
{
    (void)state;
    static struct made m;
    struct summary s;
    struct dcr_arena a = {0};
    memset(&m, 0, sizeof m);
    header(&m, 0, 0);
    definitions(&m);
    for (int i = 0; i < 2 * STEPS; i++) {
        if (i == 8) {
            header(&m, m.n_blocks, 6500);
            definitions(&m);
        }
        half_step(&m, i);
    }
    summarise(&m, &s, &a);
    assert_int_equal(s.steps.n_steps, 6); /* the seventh ends at 6900 */
    assert_int_equal(s.info.incomplete_ns, 6500);
    dcr_arena_release(&a);
}

static void put_sum(struct made *m, unsigned domain, uint32_t name, uint32_t kind, uint64_t n, int64_t ns)
{
    struct dct_block_header *b = block(m, DCT_TRACK_PROCESS, 0);
    struct dct_slot *at = slot(b, DCT_SUM, 2, name, 5000);
    const struct dct_span span = {.dur_ns = ns, .bytes = 64};
    const struct dct_sum sum = {.kind = kind, .n = n};
    at->domain = (uint16_t)domain;
    memcpy(at + 1, &span, sizeof span);
    memcpy(at + 2, &sum, sizeof sum);
    seal(b);
}

static const struct name_sum *named(const struct summary *s, const char *name)
{
    for (size_t i = 0; i < s->n_names; i++)
        if (strcmp(s->names[i].name, name) == 0)
            return &s->names[i];
    return NULL;
}

static void test_sums_of_dropped_events_count(void **state)
{
    (void)state;
    static struct made m;
    struct summary s, again;
    struct dcr_arena a = {0};
    struct dcr_buf lines = {.max = 1 << 20};
    make(&m, 0);
    struct dct_file_header *h = (void *)m.bytes;
    h->dropped = 13;
    put_sum(&m, 0, 2, DCT_PUSH, 5, 500);
    put_sum(&m, 1, 3, DCT_SPAN, 7, 70);
    put_sum(&m, 0, 0, 0, 1, 9); /* of more names: only a number */
    m.bytes[(m.n_blocks - 2) * BLOCK + offsetof(struct dct_block_header, seq)] = 1;
    m.bytes[(m.n_blocks - 1) * BLOCK + offsetof(struct dct_block_header, seq)] = 2;
    summarise(&m, &s, &a);
    assert_int_equal(s.loss.n_dropped, 13);
    assert_int_equal(s.n_dropped_known, 12);
    assert_int_equal(named(&s, "forward")->n, STEPS + 5);
    assert_int_equal(named(&s, "forward")->self_ns, -1);
    assert_int_equal(named(&s, "forward")->union_ns, -1);
    assert_true(named(&s, "step")->self_ns >= 0);
    assert_int_equal(named(&s, "MPI_Allreduce")->n, 7);
    assert_int_equal(s.n_observed, 1);
    assert_int_equal(s.observed[0].sum.n, 7);
    assert_int_equal(s.observed[0].sum.ns, 70);
    assert_int_equal(s.n_events, 2 * STEPS); /* recorded ones */
    summary_write(&s, &lines);
    struct dcr_memory memory = {.bytes = lines.data, .len = lines.len};
    struct dcr_stream stream = dcr_stream_memory(&memory, "lines");
    assert_int_equal(summary_read(&again, &a, &stream, NULL), 0);
    assert_int_equal(again.n_dropped_known, 12);
    dcr_buf_release(&lines);
    dcr_arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces_say_the_whole), cmocka_unit_test(test_first_pieces_are_gone),
        cmocka_unit_test(test_loss_in_a_later_piece), cmocka_unit_test(test_sums_of_dropped_events_count)};
    return cmocka_run_group_tests_name("pieces of a trace", tests, NULL, NULL);
}
