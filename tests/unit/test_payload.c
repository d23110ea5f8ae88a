/* test_payload.c - NVTX payloads as text: every predefined type, enumerations, fields without an offset, items without
 * a schema, and wrong definitions. */
#include "collect/guest/nvtx/payload.c"
#include "collect/export/export_parts.h"
#include "lib/archive/format.h"
#include "lib/trace/payload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const char *known[4]; /* texts of the IDs 7, 8, 9 and 16777217 */

static const char *schema_of(void *ctx, uint64_t id)
{
    const char **k = ctx;
    return id == 16777217 ? k[3] : id >= 7 && id <= 9 ? k[id - 7] : NULL;
}

/* One item of n bytes, of which `kept` are there, then another of four bytes. */
static size_t make(unsigned char *out, uint64_t schema, const void *bytes, uint32_t size, uint32_t kept)
{
    const struct dct_raw head = {.schema = schema, .size = size, .kept = kept};
    size_t padded = (kept + DCT_SLOT_BYTES - 1) / DCT_SLOT_BYTES * DCT_SLOT_BYTES;
    memset(out, 0, sizeof head + padded);
    memcpy(out, &head, sizeof head);
    memcpy(out + sizeof head, bytes, kept);
    return sizeof head + padded;
}

static void says(const char *want, const void *raw, size_t n)
{
    struct dcr_buf out = {0};
    payload_put(&out, raw, n, schema_of, known);
    assert_string_equal(dcr_buf_text(&out), want);
    dcr_buf_release(&out);
}

static void fields_of_a_struct(void **state)
{
    (void)state;
    struct {
        uint64_t comm, bytes;
        int32_t op, root;
        double share;
        float third;
        int8_t small;
    } s = {UINT64_MAX, 4096, 2, -3, 0.25, 0.5f, -7};
    unsigned char raw[256];
    char text[300];
    known[3] = "enum 16777217 'op' size=4: Sum=0, Product, a=1, Max=2";
    snprintf(text, sizeof text,
             "schema 7 'x' size=%zu: NCCL communicator ID 18@0, Message size [bytes] 22@8, Operation 16777217@16, Root "
             "5@20, "
             "share 20@24, third 43@32, small 11@36, list 5@16/16, text 75@0",
             sizeof s);
    known[0] = text;
    size_t n = make(raw, 7, &s, sizeof s, sizeof s);
    says("NCCL communicator ID=18446744073709551615; Message size [bytes]=4096; Operation=Max; Root=-3; share=0.25; "
         "third=0.5; small=-7; list=(NVTX type 5); text=(NVTX type 75)",
         raw, n);
    n = make(raw, 7, &s, sizeof s, 18); /* cut when it was recorded */
    says("NCCL communicator ID=18446744073709551615; Message size [bytes]=4096; Operation=(cut off); Root=(cut off); "
         "share=(cut off); third=(cut off); small=(cut off); list=(NVTX type 5); text=(NVTX type 75)",
         raw, n);
    s.op = 9; /* a value without a word */
    known[0] = "schema 7 '' size=0: Operation 16777217@16";
    n = make(raw, 7, &s, sizeof s, sizeof s);
    says("Operation=9", raw, n);
}

static void offsets_that_follow(void **state)
{
    (void)state;
    struct {
        int8_t a;
        int32_t b;
        int64_t c;
    } s = {1, 2, 3};
    unsigned char raw[64];
    known[0] = "schema 7 '' size=16: a 11@0, b 5@0, c 17@0";
    says("a=1; b=2; c=3", raw, make(raw, 7, &s, sizeof s, sizeof s));
    known[0] = "schema 7 '' size=16: a 75@0, b 5@0";
    says("a=(NVTX type 75); b=(cut off)", raw, make(raw, 7, &s, sizeof s, sizeof s));
}

/* Texts inside the payload: arrays of characters, strings of a length or up to a NUL; and the writer's words for them.
 */
static void texts(void **state)
{
    (void)state;
    struct {
        char name[8];
        int32_t n;
        char whole[4];
    } s = {"conv\n", 3, "full"};
    static const struct nvtxabi_schema_entry entries[] = {
        {.name = "layer", .type = 1, .flags = 1 << 4, .detail = 8},
        {.name = "n", .type = 5},
        {.name = "kind", .type = 76, .detail = 4},
        {.name = "by index", .type = 1, .flags = 3 << 4, .detail = 1, .offset = 4},
        {.name = "elsewhere", .type = 75, .flags = 1 << 1, .offset = 8},
        {.name = "list", .type = 5, .flags = 1 << 4, .detail = 2, .offset = 8},
    };
    static const struct nvtxabi_schema of = {.entries = entries, .n_entries = 6};
    unsigned char raw[64];
    char text[400];
    payload_text_of(&of, 7, text, sizeof text);
    assert_string_equal(text, "schema 7 '' size=0: layer 1@0/16*8, n 5@0, kind 76@0*4, by index 1@4/48, "
                              "elsewhere 75@8/2, list 5@8/16*2");
    known[0] = text;
    says("layer=\"conv?\"; n=3; kind=\"full\"; by index=(NVTX type 1); elsewhere=(NVTX type 75); list=(NVTX type 5)",
         raw, make(raw, 7, &s, sizeof s, sizeof s));
    says("layer=\"con...\"; n=(cut off); kind=(cut off); by index=(NVTX type 1); elsewhere=(NVTX type 75); list=(NVTX "
         "type "
         "5)",
         raw, make(raw, 7, &s, sizeof s, 3));
    known[0] = "schema 7 '' size=0: a 75@0/32, b 1@4/32, c 1@12*4";
    says("a=\"conv?\"; b=\"?\"; c=\"full\"", raw, make(raw, 7, &s, sizeof s, sizeof s));
    known[0] = "schema 7 '' size=0: a 75@8/32, b 1@8/32, c 1@8*4"; /* fields that begin at the end of the kept bytes */
    says("a=(cut off); b=(cut off); c=(cut off)", raw, make(raw, 7, &s, sizeof s, 8));
    known[0] = "schema 7 '' size=0: a 1@0*18446744073709551615, b 1@0*5, c 1@18446744073709551615*5, d 1@0";
    says("a=\"conv?\"; b=(cut off); c=(cut off); d=(cut off)", raw, make(raw, 7, &s, sizeof s, sizeof s));
}

static void what_no_schema_tells(void **state)
{
    (void)state;
    unsigned char raw[128];
    size_t n = make(raw, 99, "\x01\xff", 2, 2);
    n += make(raw + n, 1023, "\x0a\x0b\x0c", 5000, 3);
    says("schema 99=01ff; schema 1023=0a0b0c...", raw, n);
    says("", raw, 15);
    says("", raw, 0);
    says("", NULL, 64);
}

static void definitions_that_lie(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "schema",
                                        "schema 8 'x' size=4: a 5@0",
                                        "enum 7 'x' size=4: a=1",
                                        "schema 7 'x' size=4",
                                        "schema 7 'x' size=4:",
                                        "schema 7 'x' size=4: a",
                                        "schema 7 'x' size=4: a 5@",
                                        "schema 7 'x' size=4: a 5@x, 5@",
                                        "schema 7 x size=4: a 5@0"};
    unsigned char raw[64];
    size_t n = make(raw, 7, "\x01\x00\x00\x00", 4, 4);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        known[0] = texts[i];
        says("schema 7=01000000", raw, n);
    }
    known[0] = "schema 7 'x' size=4: a 5@18446744073709551615, b 16777217@0, c 5@4294967296, d 5@0";
    known[3] = "enum 16777217 '' size=9: a=1";
    says("a=(cut off); b=(NVTX type 16777217); c=(cut off); d=(cut off)", raw, n);
    known[3] = "enum 16777217 '' size=4: =, =1";
    known[0] = "schema 7 'x' size=4: a 16777217@0";
    says("a==, ", raw, n);
}

static void definitions_that_go_on(void **state)
{
    (void)state;
    unsigned char raw[64];
    size_t n = make(raw, 7, "\x05\x00\x00\x00\x06\x00\x00\x00", 8, 8);
    known[0] = "schema 7 'x' size=8: a 5@0, ...";
    says("a=5; (more fields than the recorder kept)", raw, n);
    known[0] = "schema 7 'x' size=8: ... 5@0, b 5@4"; /* a name like the mark */
    says("...=5; b=6", raw, n);
    known[0] = "schema 7 'x' size=8: a 16777217@0";
    known[3] = "enum 16777217 '' size=4: a=1, ...";
    says("a=5", raw, n);
}

/* For every length of the room and every shape of the last entry, only whole entries are kept. */
static void long_definitions_are_cut_between_entries(void **state)
{
    (void)state;
    enum { MOST = 300, ROOM = 600 };
    static struct nvtxabi_schema_entry entries[MOST];
    static struct nvtxabi_enum_entry words[MOST];
    static char whole[MOST * 40], text[ROOM], names[MOST][16];
    for (size_t i = 0; i < MOST; i++) {
        snprintf(names[i], sizeof names[i], "count%zu", i);
        entries[i] = (struct nvtxabi_schema_entry){
            .name = names[i], .type = 5, .flags = i % 3 ? 0 : 1 << 20, .offset = 1000 + 4 * i};
        words[i] = (struct nvtxabi_enum_entry){.name = names[i], .value = 1000 + i};
    }
    struct nvtxabi_schema s = {.entries = entries, .n_entries = MOST};
    struct nvtxabi_enum e = {.entries = words, .n_entries = MOST};
    for (int is_enum = 0; is_enum < 2; is_enum++) {
        if (is_enum)
            payload_text_of_enum(&e, 7, whole, sizeof whole);
        else
            payload_text_of(&s, 7, whole, sizeof whole);
        assert_null(strstr(whole, "..."));
        for (size_t n = 400; n <= ROOM; n++) {
            if (is_enum)
                payload_text_of_enum(&e, 7, text, n);
            else
                payload_text_of(&s, 7, text, n);
            size_t len = strlen(text);
            assert_true(len > n - 40 && len < n);
            assert_string_equal(text + len - 5, ", ...");
            assert_memory_equal(text, whole, len - 4); /* and then the whole one has a comma too */
        }
    }
    s.n_entries = 2;
    payload_text_of(&s, 7, text, sizeof text);
    assert_string_equal(text, "schema 7 '' size=0: count0 5@1000/1048576, count1 5@1004");
}

/* Both formats export a payload of any length in full, fit for a line. */
static void exports_are_whole(void **state)
{
    (void)state;
    static const struct export_style *const styles[] = {&export_csv, &export_chrome};
    char want[9001];
    memset(want, 'x', sizeof want - 1);
    want[sizeof want - 1] = '\0';
    for (int i = 0; i < 2; i++) {
        char *text = NULL;
        size_t n = 0;
        struct dcr_arena arena = {0};
        struct export_writer w = {.out = open_memstream(&text, &n), .hosts.arena = &arena};
        struct dct_event e = {.kind = DCT_MARK,
                              .name = "a\nb\xff",
                              .domain = "",
                              .category = "",
                              .file = "",
                              .payload_type = DCT_PAYLOAD_RAW};
        assert_non_null(w.out);
        dcr_buf_puts(&w.payload, want);
        styles[i]->event(&w, &e);
        styles[i]->event(&w, &e);
        fclose(w.out);
        const char *first = strstr(text, want);
        assert_non_null(first);
        assert_non_null(strstr(first + 1, want));
        assert_int_equal(first[sizeof want - 1], i ? '"' : ',');
        assert_non_null(strstr(text, i ? "\"a b?\"" : ",a b?,"));
        free(text);
        dcr_arena_release(&arena);
        dcr_buf_release(&w.line);
        dcr_buf_release(&w.payload);
        dcr_buf_release(&w.cell);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(fields_of_a_struct),
                                       cmocka_unit_test(offsets_that_follow),
                                       cmocka_unit_test(texts),
                                       cmocka_unit_test(what_no_schema_tells),
                                       cmocka_unit_test(definitions_that_lie),
                                       cmocka_unit_test(definitions_that_go_on),
                                       cmocka_unit_test(long_definitions_are_cut_between_entries),
                                       cmocka_unit_test(exports_are_whole)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
