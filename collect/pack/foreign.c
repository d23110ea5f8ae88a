/* foreign.c - files of other tools among the results, and folders without any evidence. See parts.h. */
#include "collect/pack/parts.h"

#include "lib/archive/foreign.h"
#include "lib/base/json_string.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum dcr_role pack_recognise(const char *path, enum dcr_role by_name, const char **kind)
{
    *kind = NULL;
    if (by_name != DCR_ROLE_OTHER && by_name != DCR_ROLE_LOG && by_name != DCR_ROLE_FOREIGN)
        return by_name;
    *kind = dcr_foreign_kind(dcr_foreign_of_file(path));
    return *kind ? DCR_ROLE_FOREIGN : by_name;
}

void pack_name_exports(struct pack *p)
{
    for (size_t i = 0; i < p->n_members; i++) {
        char name[PATH_MAX], line[2 * PATH_MAX];
        const struct archive_member *m = &p->members[i];
        const char *dot = strrchr(m->name, '.');
        if (!m->kind || strcmp(m->kind, dcr_foreign_kind(DCR_FOREIGN_NSYS_REPORT)) != 0 || !dot)
            continue;
        snprintf(name, sizeof name, "%.*s.sqlite", (int)(dot - m->name), m->name);
        if (pack_member_named(p, name))
            continue;
        snprintf(line, sizeof line, "export of %.300s (run: nsys export --type sqlite --output %.300s %.300s)", m->name,
                 name, m->name);
        json_array_append_new(p->missing, json_string_kept(line));
    }
}

int pack_check_results(const struct pack *p, struct dcr_err *err)
{
    for (size_t i = 0; i < p->n_members; i++)
        if (p->members[i].role != DCR_ROLE_OTHER && p->members[i].role != DCR_ROLE_LOG)
            return DCR_OK;
    return dcr_err_set(
        err, DCR_FAIL,
        "'%.300s' does not look like the results of a run: of its %zu file%s ('%.200s'%s) none is "
        "metrics.csv, steps.csv, a monitor, a trace, or evidence of nsys, ncu, the PyTorch profiler, "
        "nvidia-smi, DCGM, nccl-tests, TALP, sacct or the DDP scaling benchmark; give the folder that holds such files",
        p->request->spool, p->n_members, p->n_members == 1 ? "" : "s", p->n_members ? p->members[0].name : "",
        p->n_members > 1 ? " ..." : "");
}
