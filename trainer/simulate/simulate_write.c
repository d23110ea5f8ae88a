/* simulate_write.c - generated traffic as files that others can read. See simulate.h. */
#include "trainer/simulate/simulate.h"

#include "lib/base/buf.h"
#include "lib/base/fs.h"

#include <stdio.h>

static int write_buf(const char *dir, const char *name, const struct dcr_buf *b, struct dcr_err *err)
{
    char path[4096];
    if (b->failed || snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path)
        return dcr_err_set(err, DCR_FAIL, "cannot write '%s' in '%.200s': %s", name, dir,
                           b->failed ? "out of memory" : "the path is too long");
    return dcr_write_file(path, b->data, b->len, err);
}

/* Date of a day counted from Monday 2018-01-01; a year is enough. */
static void put_date(struct dcr_buf *b, size_t day)
{
    static const size_t length[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    size_t year = 2018, month = 0;
    while (day >= length[month]) {
        day -= length[month++];
        if (month == 12) {
            month = 0;
            year++;
        }
    }
    dcr_buf_printf(b, "%zu-%02zu-%02zu", year, month + 1, day + 1);
}

int simulate_write(const char *dir, const struct dataset *d, const struct sim_distances *distances, struct dcr_err *err)
{
    const size_t rows_per_day = 24 * 60 / DATASET_STEP_MINUTES;
    struct dcr_buf speeds = {0}, pairs = {0};
    dcr_buf_puts(&speeds, "timestamp");
    for (size_t i = 0; i < d->n_sensors; i++)
        dcr_buf_printf(&speeds, ",%s", d->id[i]);
    dcr_buf_putc(&speeds, '\n');
    for (size_t row = 0; row < d->n_rows; row++) {
        size_t minutes = row % rows_per_day * DATASET_STEP_MINUTES;
        put_date(&speeds, row / rows_per_day);
        dcr_buf_printf(&speeds, " %02zu:%02zu", minutes / 60, minutes % 60);
        for (size_t i = 0; i < d->n_sensors; i++)
            dcr_buf_printf(&speeds, ",%.9g", (double)d->speed_mph[row * d->n_sensors + i]);
        dcr_buf_putc(&speeds, '\n');
    }
    dcr_buf_puts(&pairs, "from,to,metres\n");
    for (size_t k = 0; k < distances->n; k++)
        dcr_buf_printf(&pairs, "%s,%s,%.1f\n", d->id[distances->from[k]], d->id[distances->to[k]],
                       distances->metres[k]);
    int rc = dcr_mkdirs(dir, err);
    if (!rc)
        rc = write_buf(dir, "speeds.csv", &speeds, err);
    if (!rc)
        rc = write_buf(dir, "distances.csv", &pairs, err);
    dcr_buf_release(&speeds);
    dcr_buf_release(&pairs);
    return rc;
}
