/* baseline.c - the three simple forecasts and their scores. */
#include "trainer/tools/baseline.h"

#include "lib/base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *name_of(enum baseline what)
{
    static const char *const names[] = {
#define X(id, name) name,
        BASELINES(X)
#undef X
    };
    return names[what];
}

struct method {
    enum baseline what;
    const struct dataset *d;
    double otherwise; /* mph */
    double *weekly;   /* (DATASET_WEEK_SLOTS, n_sensors) mph; NULL for the other methods */
};

/* Mean of the readings that are not missing, over all rows of training inputs. */
static double mean_valid_reading(const struct dataset *d)
{
    size_t n_rows = d->train.count + d->n_in - 1, n = 0;
    double sum = 0;
    for (size_t i = 0; i < n_rows * d->n_sensors; i++)
        if (d->speed_mph[i] != 0) {
            sum += (double)d->speed_mph[i];
            n++;
        }
    return n ? sum / (double)n : 0;
}

static int average_weeks(struct method *m, struct dcr_err *err)
{
    const struct dataset *d = m->d;
    const size_t n_sensors = d->n_sensors, n_cells = DATASET_WEEK_SLOTS * n_sensors;
    const size_t n_rows = d->train.count + d->n_in + d->n_out - 1;
    uint32_t *n = calloc(n_cells, sizeof *n);
    m->weekly = calloc(n_cells, sizeof *m->weekly);
    if (!n || !m->weekly) {
        free(n);
        return dcr_err_set(err, DCR_FATAL, "out of memory for the weekly averages of %zu sensors", n_sensors);
    }
    for (size_t row = 0; row < n_rows; row++)
        for (size_t i = 0; i < n_sensors; i++) {
            size_t cell = d->week_slot[row] * n_sensors + i;
            m->weekly[cell] += (double)d->speed_mph[row * n_sensors + i];
            n[cell] += d->speed_mph[row * n_sensors + i] != 0;
        }
    for (size_t cell = 0; cell < n_cells; cell++)
        m->weekly[cell] = n[cell] ? m->weekly[cell] / n[cell] : m->otherwise;
    free(n);
    return 0;
}

/* The forecast that the two methods of the last reading use for all steps. */
static double last_reading(const struct method *m, size_t window, size_t sensor)
{
    const struct dataset *d = m->d;
    for (size_t t = d->n_in; t-- > 0;) {
        double v = (double)d->speed_mph[(window + t) * d->n_sensors + sensor];
        if (v != 0 || m->what == BASELINE_LAST_READING)
            return v;
    }
    return m->otherwise;
}

static void score_window(const struct method *m, size_t window, struct loss_horizon *sums)
{
    const struct dataset *d = m->d;
    for (size_t i = 0; i < d->n_sensors; i++) {
        double last = m->weekly ? 0 : last_reading(m, window, i);
        for (size_t t = 0; t < d->n_out; t++) {
            const size_t row = window + d->n_in + t;
            double truth = (double)d->speed_mph[row * d->n_sensors + i];
            if (truth == 0)
                continue;
            double guess = m->weekly ? m->weekly[d->week_slot[row] * d->n_sensors + i] : last;
            double e = fabs(guess - truth);
            sums[t].abs += e;
            sums[t].square += e * e;
            sums[t].relative += e / truth;
            sums[t].n_valid += 1;
        }
    }
}

int baseline_score(enum baseline what, const struct dataset *d, struct window_range range, struct loss_horizon *sums,
                   struct dcr_err *err)
{
    struct method m = {.what = what, .d = d, .otherwise = mean_valid_reading(d)};
    int rc = what == BASELINE_WEEKLY_AVERAGE ? average_weeks(&m, err) : 0;
    memset(sums, 0, d->n_out * sizeof *sums);
    for (size_t w = range.first; !rc && w < range.first + range.count; w++)
        score_window(&m, w, sums);
    free(m.weekly);
    return rc;
}

int baseline_print(const struct dataset *d, FILE *out, struct dcr_err *err)
{
    struct loss_horizon sums[4096]; /* most --forecast-steps */
    text_print(out, "%s\nMAE / RMSE / MAPE in mph, mph, %%; missing targets left out\n", d->description);
    for (enum baseline what = 0; what < N_BASELINES; what++)
        for (int is_test = 0; is_test < 2; is_test++) {
            int rc = baseline_score(what, d, is_test ? d->test : d->val, sums, err);
            if (rc)
                return rc;
            fprintf(out, "%-18s  %-10s", name_of(what), is_test ? "test" : "validation");
            for (size_t i = 0, step[] = {3, 6, 12}; i < 3; i++)
                if (step[i] <= d->n_out)
                    fprintf(out, "  %zu min %.3f / %.3f / %.2f", step[i] * DATASET_STEP_MINUTES,
                            loss_mae(&sums[step[i] - 1]), loss_rmse(&sums[step[i] - 1]),
                            100 * loss_mape(&sums[step[i] - 1]));
            fputc('\n', out);
        }
    return 0;
}
