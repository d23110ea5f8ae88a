/* measured.c - repeated measurements: their median and extremes. See calibrate.h. */
#include "collect/calibrate/calibrate.h"

#include "lib/base/mono.h"

#include <stdio.h>
#include <stdlib.h>

double measured_now(void)
{
    return 1e-9 * (double)dcr_mono_ns();
}

double measured_cpu_now(void)
{
    return 1e-9 * (double)dcr_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double measured_median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, by_value);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

json_t *measured_value(double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.6g", value);
    return json_real(strtod(text, NULL));
}

json_t *measured_json(double *values, int n)
{
    json_t *o = json_object();
    double median = measured_median(values, n);
    json_object_set_new(o, "n", json_integer(n));
    json_object_set_new(o, "median", measured_value(median));
    json_object_set_new(o, "min", measured_value(values[0]));
    json_object_set_new(o, "max", measured_value(values[n - 1]));
    return o;
}
