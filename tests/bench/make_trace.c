/* make_trace.c - makes a native trace with a given number of ranges: steps of forward, backward and all_reduce with
 * ranges inside. For render_traces.sh. make_trace OUT RANGES   prints bytes */
#include "lib/archive/format.h"
#include "lib/base/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = (DCT_BLOCK_BYTES - sizeof(struct dct_block_header)) / DCT_SLOT_BYTES, INNER = 400 };

static union {
    struct dct_block_header head;
    struct dct_file_header file;
    char bytes[DCT_BLOCK_BYTES];
} block;
static FILE *out;
static uint64_t seq;
static size_t n_bytes;

static void begin(uint32_t track, uint64_t number)
{
    memset(&block, 0, sizeof block);
    block.head =
        (struct dct_block_header){.magic = DCT_BLOCK_MAGIC, .state = DCT_BLOCK_SEALED, .track = track, .seq = number};
}

static void flush(void)
{
    block.head.crc32c = dcr_crc32c(0, &block.head + 1, (size_t)block.head.used_slots * DCT_SLOT_BYTES);
    n_bytes += fwrite(&block, 1, sizeof block, out);
}

static struct dct_slot *slot(void)
{
    return (struct dct_slot *)(void *)(block.bytes + sizeof block.head) + block.head.used_slots++;
}

static void text(uint32_t id, const char *word)
{
    size_t n = strlen(word);
    struct dct_slot *s = slot();
    *s = (struct dct_slot){.kind = DCT_STRING,
                           .n_extra = (uint8_t)((n + DCT_SLOT_BYTES - 1) / DCT_SLOT_BYTES),
                           .name = id,
                           .t_ns = (int64_t)n};
    memcpy(s + 1, word, n);
    block.head.used_slots += s->n_extra;
}

static void event(int kind, uint32_t name, int64_t t)
{
    if (block.head.used_slots == SLOTS) {
        flush();
        begin(77, ++seq);
    }
    *slot() = (struct dct_slot){.kind = (uint8_t)kind, .name = name, .t_ns = t};
}

int main(int argc, char **argv)
{
    if (argc != 3 || !(out = fopen(argv[1], "wb"))) {
        fprintf(stderr, "usage: make_trace OUT RANGES\n");
        return 2;
    }
    long long n = strtoll(argv[2], NULL, 10);
    block.file = (struct dct_file_header){
        .magic = DCT_MAGIC, .version = DCT_VERSION, .block_bytes = DCT_BLOCK_BYTES, .rank = 0, .node = 0, .pid = 77};
    n_bytes += fwrite(&block, 1, sizeof block, out);
    begin(0, 0);
    static const char *const words[] = {"step", "forward", "backward", "all_reduce", "kernel of the program"};
    for (uint32_t i = 0; i < 5; i++)
        text(i + 1, words[i]);
    flush();
    begin(77, 0);
    int64_t t = 1000;
    for (long long k = 0; k < n; k += 4 + INNER) {
        event(DCT_PUSH, 1, t);
        for (uint32_t phase = 2; phase <= 4; phase++) {
            event(DCT_PUSH, phase, t += 100);
            for (int i = 0; phase == 2 && i < INNER; i++) {
                event(DCT_PUSH, 5, t += 50);
                event(DCT_POP, 0, t += 700);
            }
            event(DCT_POP, 0, t += 1000);
        }
        event(DCT_POP, 0, t += 100);
    }
    flush();
    printf("%zu\n", n_bytes);
    return fclose(out) ? 2 : 0;
}
