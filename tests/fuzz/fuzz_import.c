/* fuzz_import.c - any bytes as a file of another tool: no crash, no leak, a refusal says why, and what is accepted adds
 * up.
 *
 * The first byte chooses the parser, so that each is reached without the first words of its format; 255 lets the
 * content choose. */
#include "render/import/import.h"
#include "render/import/text/parsers.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int (*const parsers[])(struct run *, struct dcr_stream *, struct dcr_err *) = {
#define X(kind, name, words) name##_read,
    IMPORT_FORMATS(X)
#undef X
};
enum { N_PARSERS = sizeof parsers / sizeof *parsers };

static void check_device(const struct run_device *d)
{
    int64_t sum = 0;
    for (int c = 0; c < N_IDLE_CAUSES; c++)
        sum += d->idle_ns[c];
    if (d->value[DEV_SPAN] < 0 || d->value[DEV_SPAN] > INT64_MAX / 4)
        return; /* negative or astronomic durations only */
    if (sum != d->value[DEV_IDLE] || d->value[DEV_BUSY] < 0 || d->value[DEV_BUSY] > d->value[DEV_SPAN] ||
        d->value[DEV_OVERLAP] > d->value[DEV_COMM] || d->value[DEV_COMPUTE] > d->value[DEV_BUSY])
        abort();
}

static void check_steps(const struct reduced *r)
{
    for (size_t i = 0; i < r->n_steps; i++) {
        int64_t sum = 0;
        for (int c = 0; c < N_CATEGORIES; c++) {
            sum += r->steps[i].part_ns[c];
            if (r->steps[i].part_ns[c] < 0)
                abort();
        }
        if (sum != r->steps[i].step_ns || sum <= 0)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dcr_err err = {0};
    if (size == 0)
        return 0;
    struct dcr_memory m = {(const char *)data + 1, size - 1, 0};
    struct dcr_stream s = dcr_stream_memory(&m, "fuzz");
    struct run *r = run_new("fuzz");
    int rc = data[0] == 255 ? import_foreign(r, "fuzz", &s, &err) : parsers[data[0] % N_PARSERS](r, &s, &err);
    if (rc < 0 && err.text[0] == '\0')
        abort();
    if (rc < 0 && (r->n_traces || r->n_tables))
        abort(); /* nothing of a broken file is kept */
    run_sort(r);
    run_take_trace_steps(r);
    for (int i = 0; i < r->n_traces; i++) {
        for (int k = 0; k < r->traces[i].n_devices; k++)
            check_device(&r->traces[i].devices[k]);
        check_steps(&r->traces[i].steps);
    }
    for (int i = 0; i < r->n_tables; i++)
        if (r->tables[i].n_cells % (size_t)r->tables[i].n_columns)
            abort();
    run_free(r);
    return 0;
}
