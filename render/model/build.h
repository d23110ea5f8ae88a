/* build.h - growing a run while its archive is read. Used by render/read only. */
#ifndef RENDER_MODEL_BUILD_H
#define RENDER_MODEL_BUILD_H

#include "render/model/run.h"

/* Largest rank and node number accepted from an archive: bounds memory against a file that lies. */
enum { RUN_MAX_RANK = 65535, RUN_MAX_NODE = 65535 };

/* Longest step or phase (2.4 hours) and latest time accepted: sums over a million steps stay within 64 bits. */
#define RUN_MAX_STEP_NS (INT64_MAX / 1048576)
#define RUN_MAX_TIME_NS (INT64_MAX / 4)

/** arena_grow - room for n + 1 elements in an array that lives in an arena.
 *  array    current array or NULL; cap its capacity in elements, updated
 *  returns  the array, moved when it had to grow; new elements are zero */
void *arena_grow(struct dcr_arena *a, void *array, size_t n, size_t *cap, size_t element_bytes);

/** run_text - a copy of foreign text fit for one-line output: control characters become spaces, bytes that are not
 *  UTF-8 become '?', cut at 4096 bytes. NULL gives "". */
const char *run_text(struct run *r, const char *text);
/** text_clean - the same in any arena. */
const char *text_clean(struct dcr_arena *a, const char *text);

/** run_new - an empty run: everything unknown. gives; free with run_free. */
struct run *run_new(const char *archive_path);
/** run_rank_at / run_node_at - the entry of that number, made when it is new; NULL when the number is out of range.
 *  Pointers are valid until the next call that adds an entry. */
struct run_rank *run_rank_at(struct run *r, int64_t rank);
struct run_node *run_node_at(struct run *r, int64_t node);
/** run_observe_mpi / run_observe_file - add calls to the run's tables; kind DCT_IO_*. Names are copied. */
void run_observe_mpi(struct run *r, const char *name, const struct dct_io *calls);
void run_observe_file(struct run *r, const char *name, int kind, const struct dct_io *calls);
/** run_sort_observed - into their documented order. */
void run_sort_observed(struct run *r);

/** run_sort - ranks, nodes and pairs into their documented order. */
void run_sort(struct run *r);

/** sampled_add - one sample: t in seconds on the file's clock. */
void sampled_add(struct run *r, struct sampled *s, double t, double value);

#endif
