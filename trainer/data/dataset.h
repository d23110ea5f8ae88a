/* dataset.h - sensor speeds over time, cut into windows, split in time order and scaled (dataset_split).
 *
 * Reading files is formats.h, generating is simulate.h; this file owns the data that both fill. Called by the training
 * loop and by evaluation. */
#ifndef TRAINER_DATA_DATASET_H
#define TRAINER_DATA_DATASET_H

#include "lib/base/err.h"

#include <stddef.h>
#include <stdint.h>

#define DATASET_STEP_MINUTES 5 /* one row */
#define DATASET_FEATURES 2     /* z-scored speed, time of day */
#define DATASET_ID_BYTES 32    /* a sensor's name, with its NUL */
#define DATASET_WEEK_SLOTS (7 * 24 * 60 / DATASET_STEP_MINUTES)

/* Windows [first, first + count) of the time-ordered list; window w begins at row w. */
struct window_range {
    size_t first, count;
};

struct dataset {
    size_t n_rows, n_sensors;
    float *speed_mph;             /* (n_rows, n_sensors) raw readings, 0 = missing */
    float *time_of_day;           /* (n_rows) share of the day in [0,1) */
    uint16_t *week_slot;          /* (n_rows) 5-minute interval of the week, below DATASET_WEEK_SLOTS */
    char (*id)[DATASET_ID_BYTES]; /* (n_sensors) */
    char description[256];        /* one line for people and for program.json */
    char note[256];               /* what the reader had to assume, or "" */
    int is_generated;
    int is_numbered; /* the file names no sensors: the ids are 0, 1, 2, ... */
    size_t n_gaps;   /* neighbouring rows that are not 5 minutes apart */

    /* set by dataset_split */
    size_t n_in, n_out; /* input steps T, forecast steps H */
    size_t n_windows;
    struct window_range train, val, test;
    double mean_mph, std_mph; /* scaler of feature 0 and of the targets */
};

/** dataset_alloc - room for n_rows x n_sensors, zeroed; the caller fills ids, text and split.
 *  d        gives; dataset_release in any state after {0} */
int dataset_alloc(struct dataset *d, size_t n_rows, size_t n_sensors, struct dcr_err *err) DCR_MUST_CHECK;
void dataset_release(struct dataset *d);

/** dataset_n_valid - readings among the targets of a range of windows that are not missing; each counts once. */
size_t dataset_n_valid(const struct dataset *d, struct window_range range);
/** dataset_split - windows, their split in time order, and the scaler.
 *
 *  With n = n_rows - (n_in + n_out) + 1 windows: the last round(0.2 n) are test, the first round(0.7 n) training, the
 *  rest validation. Mean and population s.d. are taken over speeds of all training input windows: zeros (missing)
 *  count, an interior row counts once per window that holds it.
 *  errors   DCR_FAIL: too few rows for one window of each kind; all speeds equal
 *  example  METR-LA: 34249 windows, 23974 / 3425 / 6850 */
int dataset_split(struct dataset *d, size_t n_in, size_t n_out, struct dcr_err *err) DCR_MUST_CHECK;

/** dataset_scale - z-score of a speed, computed in double. */
float dataset_scale(const struct dataset *d, double mph);

/** dataset_window - lay out one window as number b of a batch of n.
 *  speed_mph, time_of_day  borrows; its rows                  shapes: (n_in + n_out, n_sensors), (n_in)
 *  x, y_z, y_mph           as of dataset_batch; the window's places are overwritten */
void dataset_window(const struct dataset *d, const float *speed_mph, const float *time_of_day, size_t b, size_t n,
                    float *x, float *y_z, float *y_mph);

/** dataset_batch - lay out windows for the model.
 *  windows  borrows; n of them, repeats allowed               shape: (n)
 *  x        overwritten                                       shape: (n_in, n, n_sensors, 2)
 *  y_z      overwritten; z-scored targets, may be NULL        shape: (n_out, n, n_sensors)
 *  y_mph    overwritten; raw targets, 0 = missing: the mask   shape: (n_out, n, n_sensors)  unit: mph */
void dataset_batch(const struct dataset *d, const uint32_t *windows, size_t n, float *x, float *y_z, float *y_mph);

#endif
