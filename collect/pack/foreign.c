/* foreign.c - see foreign.h. */
#include "collect/pack/parts.h"

#include "collect/record/meta.h"
#include "lib/archive/foreign.h"
#include "lib/base/fs.h"
#include "lib/base/json_string.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>

enum dcr_role pack_recognise(const char *path, enum dcr_role by_name, const char **kind)
{
    *kind = NULL;
    if (by_name != DCR_ROLE_OTHER && by_name != DCR_ROLE_LOG && by_name != DCR_ROLE_FOREIGN)
        return by_name;
    *kind = dcr_foreign_kind(dcr_foreign_of_file(path));
    return *kind ? DCR_ROLE_FOREIGN : by_name;
}

/* nsys says much on its standard streams that is of no use here. */
static int run_nsys(const char *report, const char *out)
{
    pid_t child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_RDWR);
        for (int fd = 0; null >= 0 && fd < 3; fd++)
            dup2(null, fd);
        execlp("nsys", "nsys", "export", "--type", "sqlite", "--force-overwrite", "true", "--output", out, report,
               (char *)NULL);
        _exit(127);
    }
    int status = -1;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    struct stat st;
    return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 && stat(out, &st) == 0 && st.st_size > 0;
}

static int make_folder(struct pack *p)
{
    char dir[PATH_MAX];
    const char *output = p->request->output, *slash = strrchr(output, '/');
    if (p->exports)
        return 1;
    int n = snprintf(dir, sizeof dir, "%.*s.nsys-XXXXXX", slash ? (int)(slash - output + 1) : 0, output);
    if (n < 0 || (size_t)n >= sizeof dir || !mkdtemp(dir))
        return 0;
    p->exports = dcr_arena_strdup(&p->arena, dir);
    return 1;
}

/* returns why there is no export, NULL when there is one */
static const char *export_report(struct pack *p, const struct archive_member *m, const char *name, size_t number)
{
    char program[PATH_MAX], out[PATH_MAX + 64];
    if (meta_find_program("nsys", program, sizeof program) != 0)
        return "there is no nsys here";
    if (!make_folder(p))
        return "there is no room for it";
    snprintf(out, sizeof out, "%s/%zu.sqlite", p->exports, number);
    if (!run_nsys(m->path, out))
        return "nsys could not export it";
    pack_add(p, name, out, NULL, DCR_ROLE_FOREIGN, m->node, m->rank);
    if (pack_member_named(p, name))
        p->members[p->n_members - 1].kind = dcr_foreign_kind(DCR_FOREIGN_NSYS_SQLITE);
    return NULL;
}

void pack_export_reports(struct pack *p)
{
    size_t n = p->n_members;
    for (size_t i = 0; i < n; i++) {
        char name[PATH_MAX], line[2 * PATH_MAX];
        const struct archive_member m = p->members[i]; /* adding moves them */
        const char *dot = strrchr(m.name, '.');
        if (!m.path || !m.kind || strcmp(m.kind, dcr_foreign_kind(DCR_FOREIGN_NSYS_REPORT)) != 0 || !dot)
            continue;
        snprintf(name, sizeof name, "%.*s.sqlite", (int)(dot - m.name), m.name);
        if (pack_member_named(p, name))
            continue;
        const char *why = export_report(p, &m, name, i);
        if (!why)
            continue;
        snprintf(line, sizeof line, "export of %.300s (%s; run: nsys export --type sqlite --output %.300s %.300s)",
                 m.name, why, name, m.name);
        json_array_append_new(p->missing, json_string_kept(line));
    }
}

void pack_forget_exports(struct pack *p)
{
    int rc = p->exports ? dcr_remove_tree(p->exports, NULL) : 0;
    (void)rc; /* hidden, and named for what it is */
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
