/* dataset.c - memory, split, scaler and batches of a data set. */
#include "trainer/data/dataset.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int dataset_alloc(struct dataset *d, size_t n_rows, size_t n_sensors, struct dcr_err *err)
{
    memset(d, 0, sizeof *d);
    if (n_rows > UINT32_MAX || n_sensors > 65536)
        return dcr_err_set(err, DCR_FAIL, "%zu rows of %zu sensors are more than this program handles; give fewer",
                           n_rows, n_sensors);
    d->n_rows = n_rows;
    d->n_sensors = n_sensors;
    d->speed_mph = calloc(n_rows * n_sensors, sizeof *d->speed_mph);
    d->time_of_day = calloc(n_rows, sizeof *d->time_of_day);
    d->week_slot = calloc(n_rows, sizeof *d->week_slot);
    d->id = calloc(n_sensors, sizeof *d->id);
    if (d->speed_mph && d->time_of_day && d->week_slot && d->id)
        return 0;
    dataset_release(d);
    return dcr_err_set(err, DCR_FATAL, "out of memory for %zu rows of %zu sensors", n_rows, n_sensors);
}

void dataset_release(struct dataset *d)
{
    free(d->speed_mph);
    free(d->time_of_day);
    free(d->week_slot);
    free(d->id);
    memset(d, 0, sizeof *d);
}

/* Sum of one function of the speeds over all training input windows. Row r is in one window for each start w in [0,
 * n_train) with w <= r < w + n_in. */
static void training_moments(struct dataset *d)
{
    size_t n_train = d->train.count, n_in = d->n_in;
    double weight_sum = 0, mean = 0, m2 = 0;
    for (size_t row = 0; row < n_train + n_in - 1; row++) {
        size_t first = row + 1 > n_in ? row + 1 - n_in : 0;
        size_t last = row < n_train - 1 ? row : n_train - 1;
        double weight = (double)(last - first + 1);
        for (size_t i = 0; i < d->n_sensors; i++) {
            /* West's weighted update keeps the variance exact, while sums of squares would cancel */
            double x = (double)d->speed_mph[row * d->n_sensors + i], delta = x - mean;
            weight_sum += weight;
            mean += delta * weight / weight_sum;
            m2 += weight * delta * (x - mean);
        }
    }
    d->mean_mph = mean;
    d->std_mph = sqrt(m2 / weight_sum);
}

int dataset_split(struct dataset *d, size_t n_in, size_t n_out, struct dcr_err *err)
{
    d->n_in = n_in;
    d->n_out = n_out;
    if (d->n_rows < n_in + n_out + 9)
        return dcr_err_set(
            err, DCR_FAIL,
            "too few rows (%zu): training, validation and test need %zu with %zu input and %zu forecast steps; "
            "add rows or lower the steps",
            d->n_rows, n_in + n_out + 9, n_in, n_out);
    size_t n = d->n_rows - (n_in + n_out) + 1;
    d->n_windows = n;
    d->train = (struct window_range){0, (size_t)lround(0.7 * (double)n)};
    d->test.count = (size_t)lround(0.2 * (double)n);
    d->test.first = n - d->test.count;
    d->val = (struct window_range){d->train.count, d->test.first - d->train.count};
    training_moments(d);
    if (!(d->std_mph > 1e-6))
        return dcr_err_set(err, DCR_FAIL, "all training speeds are %g: there is nothing to learn; check the data",
                           d->mean_mph);
    return 0;
}

size_t dataset_n_valid(const struct dataset *d, struct window_range range)
{
    const float *first = d->speed_mph + (range.first + d->n_in) * d->n_sensors;
    size_t n = range.count ? (range.count - 1 + d->n_out) * d->n_sensors : 0, n_valid = 0;
    for (size_t i = 0; i < n; i++)
        n_valid += first[i] != 0;
    return n_valid;
}

float dataset_scale(const struct dataset *d, double mph)
{
    return (float)((mph - d->mean_mph) / d->std_mph);
}

void dataset_window(const struct dataset *d, const float *speed_mph, const float *time_of_day, size_t b, size_t n,
                    float *x, float *y_z, float *y_mph)
{
    size_t ns = d->n_sensors;
    for (size_t t = 0; t < d->n_in; t++) {
        const float *speed = speed_mph + t * ns;
        float *out = x + (t * n + b) * ns * DATASET_FEATURES;
        for (size_t i = 0; i < ns; i++) {
            out[i * DATASET_FEATURES] = dataset_scale(d, (double)speed[i]);
            out[i * DATASET_FEATURES + 1] = time_of_day[t];
        }
    }
    for (size_t t = 0; t < d->n_out; t++) {
        const float *speed = speed_mph + (d->n_in + t) * ns;
        memcpy(y_mph + (t * n + b) * ns, speed, ns * sizeof *speed);
        if (y_z)
            for (size_t i = 0; i < ns; i++)
                y_z[(t * n + b) * ns + i] = dataset_scale(d, (double)speed[i]);
    }
}

void dataset_batch(const struct dataset *d, const uint32_t *windows, size_t n, float *x, float *y_z, float *y_mph)
{
    for (size_t b = 0; b < n; b++)
        dataset_window(d, d->speed_mph + windows[b] * d->n_sensors, d->time_of_day + windows[b], b, n, x, y_z, y_mph);
}
