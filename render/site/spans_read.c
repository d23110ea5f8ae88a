/* spans_read.c - spans from the evidence of a run; see spans.h. Called by timeline.c. Test: tests/unit/test_timeline.c
 */
#include "render/site/spans.h"

#include "lib/member.h"
#include "lib/tar.h"
#include "lib/trace.h"
#include "render/device/watch.h"
#include "render/import/import.h"
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

/* ---- traces of other tools ------------------------------------------------------------------------------- */

struct lane {
    enum track_kind kind;
    int64_t device, stream; /* thread: 0 and any number */
    size_t track;
};

struct foreign {
    struct spans *spans;
    int rank, node;
    uint32_t file;
    struct lane lane[SPAN_FOREIGN_TRACKS];
    size_t n_lanes, last;
    int n_threads;
};

/* The track of a stream or thread; false: there are more than anybody looks at. */
static bool lane_of(struct foreign *f, enum track_kind kind, int64_t device, int64_t stream, size_t *track)
{
    char name[64];
    const struct lane *l = &f->lane[f->last];
    if (f->last < f->n_lanes && l->kind == kind && l->device == device && l->stream == stream) {
        *track = l->track;
        return true;
    }
    for (f->last = 0; f->last < f->n_lanes; f->last++) {
        l = &f->lane[f->last];
        if (l->kind == kind && l->device == device && l->stream == stream) {
            *track = l->track;
            return true;
        }
    }
    if (f->n_lanes == SPAN_FOREIGN_TRACKS) {
        f->spans->n_trackless++;
        return false;
    }
    /* Ids count on from the tracks that are there: those of one file differ. */
    *track = spans_track(f->spans, f->rank, f->node, f->file, (uint32_t)f->n_lanes, true);
    struct span_track *t = &f->spans->tracks[*track];
    t->kind = kind;
    t->device = device;
    t->stream = kind == TRACK_HOST ? f->n_threads : stream;
    if (kind == TRACK_HOST)
        snprintf(name, sizeof name, "host %d", ++f->n_threads);
    else
        snprintf(name, sizeof name, "GPU %lld stream %lld", (long long)device, (long long)stream);
    t->name = dcr_arena_strdup(&f->spans->arena, name);
    f->lane[f->n_lanes++] = (struct lane){kind, device, stream, *track};
    return true;
}

static bool is_drawable(int64_t start_ns, int64_t dur_ns, int64_t *end_ns)
{
    return dur_ns >= 0 && start_ns > -RUN_MAX_TIME_NS && !__builtin_add_overflow(start_ns, dur_ns, end_ns) &&
           *end_ns < RUN_MAX_TIME_NS;
}

static void on_op(void *ctx, const struct device_op *op, enum op_kind kind, const char *name)
{
    struct foreign *f = ctx;
    int64_t end_ns;
    size_t track;
    if (!is_drawable(op->start_ns, op->dur_ns, &end_ns) || !lane_of(f, TRACK_STREAM, op->device, op->stream, &track))
        return;
    f->spans->n_device_ops++;
    spans_add(f->spans, track, 0, "GPU",
              kind == OP_COMM      ? "comm"
              : kind == OP_COMPUTE ? "compute"
                                   : "copy",
              name, op->start_ns, end_ns, op->in_bytes > 0 ? (uint64_t)op->in_bytes : 0);
}

static void on_host(void *ctx, int64_t thread, const char *name, size_t len, int64_t start_ns, int64_t dur_ns)
{
    static const char step[] = "ProfilerStep";
    struct foreign *f = ctx;
    int64_t end_ns;
    size_t track;
    char text[256];
    if (!is_drawable(start_ns, dur_ns, &end_ns) || !lane_of(f, TRACK_HOST, 0, thread, &track))
        return;
    snprintf(text, sizeof text, "%.*s", len < sizeof text ? (int)len : (int)sizeof text - 1, name);
    bool is_step = strncmp(text, step, sizeof step - 1) == 0;
    uint64_t number = is_step && text[sizeof step - 1] == '#' ? strtoull(text + sizeof step, NULL, 10) : 0;
    spans_add(f->spans, track, 0, "", is_step ? "step" : "", is_step ? step : text, start_ns, end_ns, number);
}

static int trace_of(const struct run *run, const char *file)
{
    for (int i = 0; i < run->n_traces; i++)
        if (strcmp(run->traces[i].file, file) == 0)
            return i;
    return -1;
}

int spans_read_foreign(struct spans *s, const struct run *run, struct dcr_stream *in, uint32_t file,
                       struct dcr_err *err)
{
    int at = trace_of(run, in->name);
    struct foreign *f = at < 0 ? NULL : calloc(1, sizeof *f);
    if (at < 0)
        return 0;
    if (run->traces[at].is_not_drawn) { /* said when the run was read */
        free(f);
        return 0;
    }
    struct run *scratch = run_new(in->name);
    if (!f || !scratch)
        abort(); /* as the arena does */
    int64_t rank = run->traces[at].rank;
    *f = (struct foreign){
        .spans = s, .rank = rank >= 0 && rank <= RUN_MAX_RANK ? (int)rank : at, .node = -1, .file = file};
    for (int i = 0; i < run->ranks_len; i++)
        f->node = run->ranks[i].rank == f->rank ? run->ranks[i].node : f->node;
    activity_watch(&(struct activity_watch){f, on_op, on_host});
    struct dcr_err why = {0};
    int rc = import_foreign(scratch, in->name, in, &why);
    activity_watch(NULL);
    run_free(scratch);
    free(f);
    if (rc == DCR_FATAL) {
        if (err)
            *err = why;
        return rc;
    }
    return 0; /* what is wrong with it was said when the run was read */
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
        return trace_of(run, name) < 0 ? 0 : spans_read_foreign(g->s, run, &named, spans_trace(g->s, NULL, NULL), err);
    }
    struct dcr_err why = {0};
    /* A trace that cannot be read was said to be so when the run was read. */
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
        rc = fd < 0 ? dcr_err_sys(err, DCR_FAIL, "cannot read '%s'", path) : read_one(g, in->names[i], &stream, err);
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
    int rc = in->root ? read_folder(&g, in, err) : read_archive(&g, in->path, err);
    if (rc)
        return rc;
    spans_settle(s, run);
    return 0;
}
