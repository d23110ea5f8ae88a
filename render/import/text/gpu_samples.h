/* gpu_samples.h - adds samples of GPUs from other monitors to node 0 of the run unless they name machines. Inside
 * render/import only. */
#ifndef RENDER_IMPORT_TEXT_GPU_SAMPLES_H
#define RENDER_IMPORT_TEXT_GPU_SAMPLES_H

#include "render/model/build.h"

/* What a monitor may sample; units as in struct run_gpu. */
enum gpu_sample {
    SAMPLE_NONE = 0,
    SAMPLE_UTILIZATION,
    SAMPLE_MEMORY_USED,
    SAMPLE_MEMORY_TOTAL,
    SAMPLE_POWER,
    SAMPLE_TEMPERATURE,
    SAMPLE_CLOCK,
    SAMPLE_CLOCK_MAX
};

/** gpu_samples_unit - what a unit measures ("GiB": memory used), and its size in units of struct run_gpu.
 *  returns  SAMPLE_NONE for an unknown unit */
enum gpu_sample gpu_samples_unit(const char *unit, size_t n, double *factor);
/** gpu_samples_factor - the size of a unit of what is sampled; NAN for an unknown unit, or one of another quantity. */
double gpu_samples_factor(const char *unit, size_t n, enum gpu_sample what);

/* Cells of a file that were no samples, for the report. Zero to begin with. */
struct samples_left {
    int64_t n;
    char first[48]; /* as in the file, with '?' for bytes that are not ASCII */
};
/** samples_leave - count a cell that is not a value; cell is its text. */
void samples_leave(struct samples_left *left, const char *cell);
/** samples_memory - is used memory a valid sample, at most the total? In MiB; NAN = not sampled. Larger values are
 * counted as left out. */
int samples_memory(struct samples_left *left, double used, double total);
/** gpu_samples_read - "37", "37 %" or "2.5 GiB", as what is sampled there.
 *  factor   of a number without a unit; NAN: such a number is not accepted
 *  left     counts what is neither a value nor a way to say that none was measured ("N/A", "[Not Supported]", "")
 *  returns  1 and *out in units of struct run_gpu; 0 when there is no value, or an impossible one: no known unit, a
 * share below 0 or 101 and more (what is above 100 becomes 100), a negative one except of temperatures */
int gpu_samples_read(const char *cell, enum gpu_sample what, double factor, double *out, struct samples_left *left);
/** gpu_samples_say - a gap of what was left out of the file, if anything. */
void gpu_samples_say(struct run *r, const char *file, const struct samples_left *left);

/** gpu_samples_node - the node of the machine of that name. A new name, cleaned and cut at 255 bytes, goes to node 0 if
 *  nothing is known of it yet, else to a new node. "": node 0. returns  -1 beyond 1024 nodes */
int64_t gpu_samples_node(struct run *r, const char *name, size_t n);
/* Rows that name an impossible GPU, for a gap in the report. Initialise to zero. */
struct ids_left {
    int64_t n;
    char first[24]; /* as in the file */
};
/** gpu_samples_id - the number of a GPU, 0 to 1023, from exactly n bytes of text. returns  -1, counted in left, for
 *  anything else */
int64_t gpu_samples_id(const char *text, size_t n, struct ids_left *left);
/** gpu_samples_say_ids - a gap of the rows that were left out, if any. */
void gpu_samples_say_ids(struct run *r, const char *file, const struct ids_left *left);

/** gpu_samples_add - one value of GPU `id` of the node at t seconds (of any clock). Ids beyond 1023 are passed over. */
void gpu_samples_add(struct run *r, int64_t node, int64_t id, enum gpu_sample what, double t, double value);

#endif
