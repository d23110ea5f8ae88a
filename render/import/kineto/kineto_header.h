/* kineto_header.h - what a Chrome trace states beside its events: its devices and its rank. Inside render/import only.
 * Test: tests/unit/test_kineto.c */
#ifndef RENDER_IMPORT_KINETO_KINETO_HEADER_H
#define RENDER_IMPORT_KINETO_KINETO_HEADER_H

#include "lib/base/arena.h"
#include "render/model/foreign.h"

#include <stddef.h>
#include <stdint.h>

/* deviceProperties and distributedInfo, kept until the devices are known. */
struct kineto_header {
    struct json_t *properties; /* NULL = not said */
    int64_t rank, world_size;  /* -1 = not said */
};

/** kineto_header_take - deviceProperties or distributedInfo, small enough for a tree. Content that is not understood is
 *  ignored.
 *  value    its JSON text, len bytes; borrows */
void kineto_header_take(struct kineto_header *h, const char *key, size_t key_len, const char *value, size_t len);
/** kineto_header_name - rank, models and memory of the devices of a trace; and first_model.
 *  arena    texts */
void kineto_header_name(const struct kineto_header *h, struct foreign_trace *out, struct dcr_arena *arena);
/** kineto_rank_named - "rank" and a number in the name of a file, folders apart: "rank0.json", "ddp-rank_3.json.gz".
 * -1: it has none, or several different ones. */
int64_t kineto_rank_named(const char *path);
void kineto_header_release(struct kineto_header *h);

#endif
