/* names.h - texts become small numbers, with the sums kept per text and device. Inside render/device only. */
#ifndef RENDER_DEVICE_NAMES_H
#define RENDER_DEVICE_NAMES_H

#include "lib/arena.h"
#include "render/model/device.h"

enum { NAMES_MAX = 16384 }; /* further names share one entry, NAMES_OTHER */
#define NAMES_OTHER "(other operations)"

struct name_entry {
    char *text;
    size_t len;
    uint64_t hash;
    int device; /* index */
    enum op_kind kind;
    int is_tensor, is_eligible;
    int64_t n, sum_ns, min_ns, max_ns;
    double mean_ns, squares; /* Welford: a sum of squares would lose the digits */
};

struct names {
    struct dcr_arena arena;
    struct name_entry **entries, **table;
    size_t n, cap, table_cap; /* table_cap: a power of two, at least 2 n */
};

/** names_entry - the entry of this text on this device, made when it is new (kind then decides between compute and
 *  communication by the text). */
struct name_entry *names_entry(struct names *s, int device, enum op_kind kind, const char *text, size_t len);
/** names_add - one operation. */
void names_add(struct name_entry *e, int64_t dur_ns);
/** names_of - the table of one device, longest time first.   gives (arena); shape: (*n_out) */
struct device_name *names_of(const struct names *s, int device, struct dcr_arena *arena, int *n_out);
void names_release(struct names *s);

#endif
