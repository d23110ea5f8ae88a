/* talp.c - DLB's TALP report: POP efficiencies per region, of MPI, OpenMP and GPUs, as TALP computed them. */
#include "render/import/parsers.h"

#include "lib/buf.h"
#include "render/read/members.h"

#include <stdio.h>
#include <string.h>

int talp_is(const char *head, size_t n)
{
    return n && *head == '{' && memmem(head, n, "\"dlbVersion\"", 12) != NULL;
}

static const struct {
    const char *key, *name;
} efficiencies[] = {{"parallelEfficiency", "Parallel"},
                    {"mpiParallelEfficiency", "MPI"},
                    {"mpiCommunicationEfficiency", "MPI communication"},
                    {"mpiLoadBalance", "MPI load balance"},
                    {"deviceOffloadEfficiency", "Device offload"},
                    {"gpuParallelEfficiency", "GPU"},
                    {"gpuLoadBalance", "GPU load balance"},
                    {"gpuCommunicationEfficiency", "GPU communication"},
                    {"gpuOrchestrationEfficiency", "GPU orchestration"}};
enum { N_EFFICIENCIES = sizeof efficiencies / sizeof *efficiencies };

static const json_t *first_of(const json_t *region, const char *key, const char *older)
{
    const json_t *v = json_object_get(region, key);
    return v ? v : json_object_get(region, older);
}

static void add_region(struct run *r, struct foreign_table *t, const char *name, const json_t *region)
{
    table_add(r, t, "%s", name);
    const json_t *elapsed = first_of(region, "elapsedTime", "ElapsedTime"),
                 *useful = first_of(region, "usefulTime", "UsefulTime");
    table_add(r, t, json_is_number(elapsed) ? "%.4g" : "n/a", json_number_value(elapsed) / 1e9);
    table_add(r, t, json_is_number(useful) ? "%.4g" : "n/a", json_number_value(useful) / 1e9);
    for (int i = 0; i < N_EFFICIENCIES; i++) {
        const json_t *v = json_object_get(region, efficiencies[i].key);
        table_add(r, t, json_is_number(v) ? "%.2f" : "n/a", json_number_value(v));
    }
}

/* A region is an object with an elapsed time; what is around it differs between versions of DLB. */
static int walk(struct run *r, struct foreign_table *t, const char *name, const json_t *v, int depth)
{
    int n = 0;
    const char *key;
    json_t *inner;
    if (!json_is_object(v) || depth > 6)
        return 0;
    if (first_of(v, "elapsedTime", "ElapsedTime")) {
        add_region(r, t, name, v);
        return 1;
    }
    json_object_foreach((json_t *)(uintptr_t)v, key, inner) n += walk(r, t, key, inner, depth + 1);
    return n;
}

int talp_read(struct run *r, struct dcr_stream *s, struct dcr_err *err)
{
    json_t *o = json_slurp(s, err);
    if (!o)
        return DCR_FAIL;
    struct dcr_buf columns = {0};
    dcr_buf_puts(&columns, "Region|#Elapsed, s|#Useful, s");
    for (int i = 0; i < N_EFFICIENCIES; i++)
        dcr_buf_printf(&columns, "|#%s", efficiencies[i].name);
    struct foreign_table *t = run_add_table(
        r, s->name, "TALP report", "efficiencies of its regions as DLB computed them (POP accepts 0.8 and above)",
        dcr_arena_strdup(&r->arena, dcr_buf_text(&columns)));
    dcr_buf_release(&columns);
    int rc = 0, n = walk(r, t, "", o, 0);
    if (n == 0) {
        r->n_tables--;
        rc = dcr_err_set(err, DCR_FAIL, "'%s' is a TALP report without regions", s->name);
    }
    json_decref(o);
    return rc;
}
