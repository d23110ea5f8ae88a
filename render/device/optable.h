/* optable.h - texts become small numbers, with the sums kept per text and device. Inside render/device only. */
#ifndef RENDER_DEVICE_OPTABLE_H
#define RENDER_DEVICE_OPTABLE_H

#include "lib/base/arena.h"
#include "render/model/device.h"

enum { OPTABLE_MAX = 16384 }; /* further names share one entry, OPTABLE_OTHER */
#define OPTABLE_OTHER "(other operations)"

struct name_entry {
    char *text;
    size_t len;
    uint64_t hash;
    int device;     /* index */
    uint32_t index; /* in entries */
    enum op_kind kind;
    int is_tensor, is_eligible, is_to_host;
    int64_t n, sum_ns, min_ns, max_ns;
    double mean_ns, squares; /* Welford: a sum of squares would lose the digits */
};

struct optable {
    struct dcr_arena arena;
    struct name_entry **entries, **table;
    size_t n, cap, table_cap; /* table_cap: a power of two, at least 2 n */
};

/** optable_entry - the entry of this text on this device, made when it is new (kind then decides between compute and
 *  communication by the text). */
struct name_entry *optable_entry(struct optable *s, int device, enum op_kind kind, const char *text, size_t len);
/** optable_add - one operation. */
void optable_add(struct name_entry *e, int64_t dur_ns);
/** optable_of - the table of one device, longest time first.   gives (arena); shape: (*n_out) */
struct device_name *optable_of(const struct optable *s, int device, struct dcr_arena *arena, int *n_out);
void optable_release(struct optable *s);

#endif
