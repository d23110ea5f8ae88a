/* fuzz_csv.c - any bytes as each of the tables that archives hold: no crash, no leak, and every step's parts sum. */
#include "lib/base/csv.h"
#include "render/read/members.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A stream needs bytes that stay; the first byte chooses the table. */
static struct dcr_stream stream_of(struct dcr_memory *m, const uint8_t *data, size_t size)
{
    *m = (struct dcr_memory){.bytes = (const char *)data, .len = size};
    return dcr_stream_memory(m, "fuzz.csv");
}

static void read_steps(struct run *r, struct dcr_stream *s)
{
    struct step_rows *rows = step_rows_new();
    struct dcr_err err;
    if (steps_read(r, rows, -1, s, &err) == 0)
        step_rows_finish(r, rows);
    for (int i = 0; i < r->ranks_len; i++)
        for (size_t k = 0; k < r->ranks[i].n_steps; k++) {
            int64_t sum = 0;
            for (int c = 0; c < N_CATEGORIES; c++)
                sum += r->ranks[i].steps[k].part_ns[c];
            if (sum != r->ranks[i].steps[k].step_ns)
                abort();
        }
    step_rows_free(rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct run *r = run_new("fuzz.tar");
    struct dcr_memory m;
    struct dcr_stream s = stream_of(&m, data + 1, size - 1);
    struct dcr_err err;
    int rc = 0;
    switch (data[0] % 8) {
    case 0:
        rc = metrics_read(r, &s, &err);
        break;
    case 1:
        read_steps(r, &s);
        break;
    case 2:
        rc = monitor_read(r, DCR_ROLE_CPU_MONITOR, 0, -1, &s, &err);
        break;
    case 3:
        rc = monitor_read(r, DCR_ROLE_GPU_MONITOR, 0, -1, &s, &err);
        break;
    case 4:
        rc = monitor_read(r, data[0] & 8 ? DCR_ROLE_MEMORY_MONITOR : DCR_ROLE_NET_MONITOR, 0, -1, &s, &err);
        break;
    case 5:
        rc = monitor_read(r, DCR_ROLE_PROCESS_MONITOR, -1, 0, &s, &err);
        break;
    case 6:
        rc = metadata_read(r, &s, &err);
        break;
    default:
        rc = trace_read(r, 0, NULL, &s, &err);
    }
    if (rc < 0 && err.text[0] == '\0')
        abort(); /* a refusal must have a reason */
    run_free(r);
    return 0;
}
