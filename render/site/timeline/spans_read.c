/* spans_read.c - spans from the evidence of a run; see spans.h. Called by timeline.c. Test: tests/unit/test_timeline.c
 */
#include "render/site/timeline/spans_inside.h"

#include "lib/base/cores.h"
#include "lib/archive/member.h"
#include "lib/archive/tar.h"
#include "lib/trace/trace.h"
#include "render/model/build.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int read_trace(struct spans *s, struct dcr_stream *in, const char *member, struct dcr_err *err)
{
    struct dct_reader *t = NULL;
    struct dct_info info;
    struct dct_event e;
    int rc = dct_open(&t, in, &info, err);
    if (rc)
        return rc;
    uint32_t file = spans_trace(s, member, &info);
    while ((rc = dct_next(t, &e, err)) == 0)
        spans_event(s, file, &e);
    spans_trace_end(s, file, t);
    dct_close(t);
    return rc == DCR_END ? 0 : rc;
}

/* ---- all of a run ---------------------------------------------------------------------------------------- */

struct reading {
    struct spans *s;
    const struct run *run;
};

static int read_one(struct reading *g, const char *name, struct dcr_stream *in, struct dcr_err *err)
{
    int node = -1, rank = -1;
    const struct run *run = g->run;
    if (dcr_role_of(name, &node, &rank) != DCR_ROLE_TRACE) {
        struct dcr_stream named = *in;
        named.name = name;
        return !spans_knows(run, name) ? 0 : spans_read_foreign(g->s, run, &named, err);
    }
    struct dcr_err why = {0};
    /* A trace that cannot be read was reported when the run was read. */
    int rc = read_trace(g->s, in, name, &why);
    if (rc == DCR_FATAL && err)
        *err = why;
    return rc == DCR_FATAL ? rc : 0;
}

static int read_folder(struct reading *g, const struct input *in, struct dcr_err *err)
{
    int rc = 0;
    for (size_t i = 0; i < in->n_names && !rc; i++) {
        char *path = NULL;
        if (asprintf(&path, "%s%s%s", in->root, *in->root ? "/" : "", in->names[i]) < 0)
            return dcr_err_set(err, DCR_FATAL, "out of memory making a timeline");
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        struct dcr_stream stream = dcr_stream_fd(&fd, in->names[i]);
        rc = fd < 0 ? dcr_err_file(err, DCR_FAIL, "cannot read '%s'", path) : read_one(g, in->names[i], &stream, err);
        if (fd >= 0)
            close(fd);
        free(path);
    }
    return rc;
}

static int read_archive(struct reading *g, const char *path, struct dcr_err *err)
{
    struct dcr_tar_reader *tar = NULL;
    struct dcr_tar_member m;
    int rc = dcr_tar_open(&tar, path, err), one = 0;
    if (rc)
        return rc;
    while ((rc = dcr_tar_next(tar, &m, err)) == 0 && (one = read_one(g, m.name, &m.stream, err)) == 0)
        ;
    dcr_tar_close(tar);
    return one ? one : rc == DCR_END ? 0 : rc;
}

/* ---- when all have been read ----------------------------------------------------------------------------- */

/* The tracks of a file become those of its rank. */
static void place(struct spans *s, const struct run *run, uint32_t file)
{
    const struct dct_info *info = &s->files[file].info;
    int node = -1, rank = -1;
    (void)dcr_role_of(s->files[file].name, &node, &rank);
    for (int i = 0; node < 0 && run && i < run->ranks_len; i++)
        node = run->ranks[i].rank == rank ? run->ranks[i].node : node;
    for (size_t i = 0; i < s->n_tracks; i++)
        if (s->tracks[i].file == file) {
            s->tracks[i].rank = rank >= 0 ? rank : info->rank >= 0 ? info->rank : 0;
            s->tracks[i].node = node >= 0 ? node : info->node;
        }
}

void spans_place(struct spans *s, const struct run *run)
{
    struct dcr_hosts hosts = {.arena = &s->arena};
    struct dcr_host *of = dcr_arena_alloc(&s->arena, (s->n_files + 1) * sizeof *of);
    for (uint32_t f = 0; f < s->n_files; f++)
        if (s->files[f].name) {
            const struct dct_info *info = &s->files[f].info;
            of[f] = dcr_host_of(&hosts, info->host, info->mono_ns, info->real_ns,
                                run ? run_clock_of(run, info->host) : NULL);
            place(s, run, f);
        }
    for (size_t i = 0; i < s->n; i++) {
        struct span *p = &s->span[i];
        uint32_t f = s->tracks[p->row >> 6].file;
        if (f >= s->n_files || !s->files[f].name)
            continue;
        int64_t start_ns = dcr_host_time(&of[f], p->start_ns), end_ns = dcr_host_time(&of[f], p->start_ns + p->dur_ns);
        p->start_ns = start_ns;
        p->dur_ns = end_ns > start_ns ? end_ns - start_ns : 0;
    }
    if (run)
        spans_foreign_place(s, run);
    s->n_hosts = hosts.n_seen;
    s->n_measured_hosts = hosts.n_measured;
    s->clock_error_ns = hosts.error_ns;
}

void spans_settle(struct spans *s, const struct run *run)
{
    spans_place(s, run);
    if (s->n_device_ops) /* clocks of several tools */
        spans_align(s);
    spans_finish(s);
}

int spans_read(struct spans *s, const struct input *in, const struct run *run, struct dcr_err *err)
{
    struct reading g = {s, run};
    spans_start(s);
    dcr_cores_work(1);
    int rc = in->root ? read_folder(&g, in, err) : read_archive(&g, in->path, err);
    dcr_cores_work(-1);
    if (rc)
        return rc;
    spans_settle(s, run);
    return 0;
}
