/* metrics.c - writes the tables, and keeps old rows on --resume. */
#include "trainer/run/metrics.h"

#include "lib/base/buf.h"
#include "lib/archive/format.h"
#include "lib/base/fs.h"
#include "trainer/formats/table.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define HEADER(name, unit) "," name
/* the table's columns, without the comma in front of the first */
static const char epoch_header[] = DCR_METRICS_COLUMNS(HEADER);
static const char step_header[] = DCR_STEPS_COLUMNS(HEADER);

#define COUNT(name, unit) +1
_Static_assert(0 DCR_METRICS_COLUMNS(COUNT) == 28, "metrics_add_epoch writes these columns in this order");

/* Text of the rows of an existing table whose number in `column` is below `limit`; its header must be ours. */
static int kept_rows(const char *path, const char *header, size_t column, int64_t limit, struct dcr_buf *out,
                     struct dcr_err *err)
{
    struct table t = {0};
    size_t n_columns = 0;
    if (access(path, F_OK))
        return 0;
    int rc = table_open(&t, path, err);
    for (int is_header = 1; !rc && !(rc = table_next(&t, err)); is_header = 0) {
        struct dcr_buf line = {0};
        double number = 0;
        for (size_t i = 0; i < t.n_cells; i++)
            dcr_buf_printf(&line, ",%s", t.cells[i]);
        if (is_header)
            n_columns = t.n_cells;
        if (is_header && strcmp(dcr_buf_text(&line), header))
            rc = dcr_err_set(err, DCR_FAIL, "'%s' is not a table of this version of the program; choose another --out",
                             path);
        /* the last row of a killed run may be cut, so only complete rows are kept */
        else if (!is_header && t.n_cells == n_columns && table_is_number(&t, column, &number) && number < (double)limit)
            dcr_buf_printf(out, "%s\n", dcr_buf_text(&line) + 1);
        dcr_buf_release(&line);
    }
    table_close(&t);
    return rc == DCR_END ? 0 : rc;
}

static int start_table(FILE **out, char path[4096], const char *dir, const char *name, const char *header,
                       size_t column, int64_t limit, struct dcr_err *err)
{
    struct dcr_buf text = {0};
    int rc = 0;
    if (snprintf(path, 4096, "%s/%s", dir, name) >= 4096)
        rc = dcr_err_set(err, DCR_FAIL, "the name '%.200s...' is too long; choose a shorter one", dir);
    dcr_buf_printf(&text, "%s\n", header + 1);
    if (!rc && limit > 0)
        rc = kept_rows(path, header, column, limit, &text, err);
    if (!rc)
        rc = dcr_write_file(path, text.data, text.len, err);
    if (!rc) {
        *out = fopen(path, "ae");
        if (!*out)
            rc = dcr_err_file(err, DCR_FAIL, "cannot write '%s'", path);
    }
    dcr_buf_release(&text);
    return rc;
}

int metrics_lock(const char *dir, struct dcr_err *err)
{
    int rc = dcr_mkdirs(dir, err);
    int fd = rc ? -1 : open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        rc = dcr_err_set(err, DCR_FAIL, "another dcrnn-train writes into '%s' just now; choose another --out", dir);
    return rc;
}

int metrics_open(struct metrics *m, const char *dir, int rank, int64_t epoch, int64_t step, struct dcr_err *err)
{
    char name[64];
    memset(m, 0, sizeof *m);
    int rc = dcr_mkdirs(dir, err);
    snprintf(name, sizeof name, "steps-rank%d.csv", rank);
    if (!rc)
        rc = start_table(&m->steps, m->steps_path, dir, name, step_header, 1, step, err);
    if (!rc && rank == 0)
        rc = start_table(&m->epochs, m->epochs_path, dir, DCR_METRICS, epoch_header, 0, step ? epoch + 1 : 0, err);
    return rc;
}

static int end_row(FILE *f, const char *path, struct dcr_err *err)
{
    if (fflush(f) || ferror(f))
        return dcr_err_file(err, DCR_FAIL, "cannot write '%s'", path);
    return 0;
}

/* Empty if the value is unknown; a diverged loss is not a usable number. */
static void put_number(FILE *f, int is_known, double v)
{
    if (is_known && isfinite(v))
        fprintf(f, ",%.9g", v);
    else
        fputc(',', f);
}

/* The phases of the table, in the order of its columns. */
static const enum mark_range phases[] = {MARK_STEP,     MARK_DATA_LOAD,  MARK_H2D,       MARK_FORWARD,
                                         MARK_BACKWARD, MARK_ALL_REDUCE, MARK_OPTIMIZER, MARK_CHECKPOINT};

_Static_assert(0 DCR_STEPS_COLUMNS(COUNT) == 8 + sizeof phases / sizeof *phases,
               "metrics_add_step writes four columns, the phases, and four more");

static void put_time(FILE *f, int is_known, int64_t ns)
{
    if (is_known)
        fprintf(f, ",%lld", (long long)ns);
    else
        fputc(',', f);
}

int metrics_add_step(struct metrics *m, const struct step_row *r, struct dcr_err *err)
{
    const struct step_times *t = &r->times;
    fprintf(m->steps, "%lld,%lld,%d,%lld", (long long)r->epoch, (long long)r->step, r->rank, (long long)t->start_ns);
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) /* without a device there are no copies */
        put_time(m->steps, phases[i] != MARK_H2D || r->has_device, t->ns[phases[i]]);
    fprintf(m->steps, ",%zu,%zu", r->samples, r->all_reduce_bytes);
    put_number(m->steps, 1, r->loss);
    put_time(m->steps, r->has_in_flight, t->ns[MARK_ALL_REDUCE_BUCKET]);
    fputc('\n', m->steps);
    return end_row(m->steps, m->steps_path, err);
}

static double seconds(int64_t ns)
{
    return (double)ns * 1e-9;
}

/* One error measure at 15, 30 and 60 minutes. */
static void put_horizons(FILE *f, const struct epoch_row *r, const struct loss_horizon *sums, int is_known,
                         double (*measure)(const struct loss_horizon *), double factor)
{
    for (size_t i = 0; i < 3; i++) {
        int is_there = is_known && metrics_step[i] <= r->n_out;
        put_number(f, is_there, is_there ? factor * measure(&sums[metrics_step[i] - 1]) : 0);
    }
}

int metrics_add_epoch(struct metrics *m, const struct epoch_row *r, struct dcr_err *err)
{
    FILE *f = m->epochs;
    const int64_t *ns = r->times.ns;
    int val = r->has_validation;
    if (!f)
        return 0;
    fprintf(f, "%lld", (long long)r->epoch);
    put_number(f, 1, r->train_loss);
    put_number(f, val, loss_mae(&r->val_total)); /* the loss is the MAE */
    put_number(f, val, loss_mae(&r->val_total));
    put_number(f, val, loss_rmse(&r->val_total));
    put_number(f, 1, seconds(r->epoch_ns));
    put_number(f, ns[MARK_STEP] > 0, (double)r->n_samples / seconds(ns[MARK_STEP]));
    put_number(f, 1, seconds(ns[MARK_DATA_LOAD]));
    put_number(f, 1, seconds(ns[MARK_FORWARD] + ns[MARK_BACKWARD] + ns[MARK_OPTIMIZER]));
    put_number(f, 0, 0); /* gpu_util_avg, cpu_util_avg: the program cannot see them */
    put_number(f, 0, 0);
    put_number(f, 1, seconds(ns[MARK_ALL_REDUCE]));
    put_number(f, 1, seconds(ns[MARK_CHECKPOINT]));
    put_number(f, val, seconds(ns[MARK_VALIDATION]));
    put_number(f, 1, r->learning_rate);
    put_number(f, 1, r->grad_norm);
    put_horizons(f, r, r->val, val, loss_mae, 1);
    put_horizons(f, r, r->test, r->has_test, loss_mae, 1);
    put_horizons(f, r, r->test, r->has_test, loss_rmse, 1);
    put_horizons(f, r, r->test, r->has_test, loss_mape, 100);
    fputc('\n', f);
    return end_row(f, m->epochs_path, err);
}

int metrics_close(struct metrics *m, struct dcr_err *err)
{
    int rc = 0;
    if (m->steps && fclose(m->steps))
        rc = dcr_err_file(err, DCR_FAIL, "cannot write '%s'", m->steps_path);
    if (m->epochs && fclose(m->epochs))
        rc = dcr_err_file(err, DCR_FAIL, "cannot write '%s'", m->epochs_path);
    m->steps = m->epochs = NULL;
    return rc;
}
