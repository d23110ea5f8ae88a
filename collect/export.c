/* export.c - see export.h. Walks the archive; how an event is written is export_chrome.c and export_csv.c. */
#include "collect/export.h"

#include "collect/export_parts.h"
#include "lib/fs.h"
#include "lib/member.h"
#include "lib/tar.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct export_state {
    struct export_writer w;
    const struct export_style *style;
    uint64_t n_summaries;
    int has_base;
};

/* The whole second in which the run started: times count from there. */
static void take_base(struct export_state *x, struct dcr_tar_member *m)
{
    struct dcr_buf b = {0};
    if (dcr_stream_slurp(&m->stream, &b, (size_t)64 << 20, NULL) == 0) {
        json_t *o = json_loadb(dcr_buf_text(&b), b.len, 0, NULL);
        double started = json_number_value(json_object_get(o, "started"));
        if (started > 0 && started < 1e10) {
            x->w.base_ns = (int64_t)floor(started) * 1000000000;
            x->has_base = 1;
        }
        json_decref(o);
    }
    dcr_buf_release(&b);
}

static void on_gpu(void *ctx, const struct dct_gpu_event *e)
{
    struct export_state *x = ctx;
    x->w.n_events++;
    x->style->gpu(&x->w, e);
}

static int export_trace(struct export_state *x, struct dcr_tar_member *m, struct dcr_err *err)
{
    struct dct_reader *r = NULL;
    struct dct_event e;
    struct dcr_err why = {0};
    int node, rank;
    int rc = dct_open(&r, &m->stream, &x->w.info, &why);
    if (rc == DCR_FAIL) { /* verify complains; here it is left out, and counted */
        x->w.n_unreadable++;
        return DCR_OK;
    }
    if (rc) {
        if (err)
            *err = why;
        return rc;
    }
    (void)dcr_role_of(m->name, &node, &rank);
    if (rank >= 0)
        x->w.info.rank = rank;
    if (!x->has_base) {
        x->w.base_ns = x->w.info.real_ns - x->w.info.real_ns % 1000000000;
        x->has_base = 1;
    }
    dct_on_gpu(r, on_gpu, x);
    if (x->w.n_traces++ == 0)
        x->style->begin(&x->w); /* an archive without traces writes nothing */
    x->w.n_tracks = 0;
    x->style->trace(&x->w);
    while ((rc = dct_next(r, &e, err)) == DCR_OK && !ferror(x->w.out)) {
        if (e.kind == DCT_FILE) {
            x->w.n_files++;
            continue;
        }
        x->w.n_events++;
        x->style->event(&x->w, &e);
    }
    for (size_t i = 0; rc == DCR_END && i < x->w.n_tracks; i++)
        x->style->thread(&x->w, x->w.tracks[i], dct_thread_name(r, (uint32_t)x->w.tracks[i]));
    dct_close(r);
    return rc == DCR_END ? DCR_OK : rc;
}

static int export_members(struct export_state *x, struct dcr_tar_reader *tar, struct dcr_err *err)
{
    struct dcr_tar_member m;
    int rc;
    while ((rc = dcr_tar_next(tar, &m, err)) == DCR_OK) {
        int node, rank;
        enum dcr_role role = dcr_role_of(m.name, &node, &rank);
        if (strcmp(m.name, DCR_METADATA) == 0)
            take_base(x, &m);
        x->n_summaries += role == DCR_ROLE_SUMMARY;
        if (role == DCR_ROLE_TRACE && (rc = export_trace(x, &m, err)) != 0)
            return rc;
        if (role != DCR_ROLE_TRACE && (rc = dcr_stream_drain(&m.stream, err)) < 0)
            return rc;
    }
    return rc == DCR_END ? DCR_OK : rc;
}

static void summarise(const struct export_state *x, const char *output, char *message, size_t n)
{
    const struct export_writer *w = &x->w;
    snprintf(message, n, "%s: %llu events of %llu trace%s", output ? output : "standard output",
             (unsigned long long)w->n_events, (unsigned long long)w->n_traces, w->n_traces == 1 ? "" : "s");
    if (w->n_files) {
        size_t used = strlen(message);
        snprintf(message + used, n - used,
                 "; left out: sums of short calls on %llu files, which have no time of their own",
                 (unsigned long long)w->n_files);
    }
    if (x->n_summaries > w->n_traces) {
        size_t used = strlen(message);
        snprintf(message + used, n - used, "; %llu ranks' traces were not packed, only their summaries",
                 (unsigned long long)(x->n_summaries - w->n_traces));
    }
    if (w->n_unreadable) {
        size_t used = strlen(message);
        snprintf(message + used, n - used, "; %llu traces cannot be read (dccollect verify says why)",
                 (unsigned long long)w->n_unreadable);
    }
}

static int check_content(const struct export_state *x, const char *path, struct dcr_err *err)
{
    if (x->w.n_traces)
        return DCR_OK;
    return dcr_err_set(err, DCR_FAIL, "cannot export '%s': %s", path,
                       x->n_summaries
                           ? "it holds summaries of traces only (it was packed with --traces); pack again with "
                             "--traces all while the spool is there"
                           : "it holds no trace of events (native traces only are exported)");
}

int export_archive(const char *path, const char *output, enum export_format format, char *message, size_t n,
                   struct dcr_err *err)
{
    char partial[PATH_MAX];
    struct dcr_tar_reader *tar = NULL;
    struct export_state x = {.w = {.out = stdout}};
    int is_csv = format == EXPORT_CSV || (format == EXPORT_BY_NAME && output && dcr_ends_with(output, ".csv"));
    x.style = is_csv ? &export_csv : &export_chrome;
    message[0] = '\0';
    if (output && strcmp(output, "-") == 0)
        output = NULL;
    int k = snprintf(partial, sizeof partial, "%s.partial", output ? output : "");
    if (k < 0 || (size_t)k >= sizeof partial)
        return dcr_err_set(err, DCR_FAIL, "the name '%s' is too long", output);
    int rc = dcr_tar_open(&tar, path, err);
    if (rc)
        return rc;
    if (output && !(x.w.out = fopen(partial, "we"))) {
        rc = dcr_err_sys(err, DCR_FAIL, "cannot write '%s'", output);
        dcr_tar_close(tar);
        return rc;
    }
    rc = export_members(&x, tar, err);
    dcr_tar_close(tar);
    if (rc == 0)
        rc = check_content(&x, path, err);
    if (rc == 0)
        x.style->end(&x.w);
    int is_written = !ferror(x.w.out) && fflush(x.w.out) == 0;
    if (output)
        is_written = fclose(x.w.out) == 0 && is_written;
    if (rc == 0 && !is_written)
        rc = dcr_err_sys(err, DCR_FAIL, "cannot write '%s'", output ? output : "standard output");
    if (rc == 0 && output && rename(partial, output) != 0)
        rc = dcr_err_sys(err, DCR_FAIL, "cannot write '%s'", output);
    if (rc && output)
        unlink(partial);
    if (rc == 0)
        summarise(&x, output, message, n);
    free(x.w.tracks);
    dcr_buf_release(&x.w.line);
    return rc;
}

void export_note_track(struct export_writer *w, uint64_t track)
{
    for (size_t i = w->n_tracks; i-- > 0;) /* the last one is the likeliest */
        if (w->tracks[i] == track)
            return;
    if (w->n_tracks == w->cap_tracks) {
        w->cap_tracks = w->cap_tracks ? 2 * w->cap_tracks : 64;
        w->tracks = realloc(w->tracks, w->cap_tracks * sizeof *w->tracks);
        if (!w->tracks)
            abort(); /* as dcr_arena_alloc does */
    }
    w->tracks[w->n_tracks++] = track;
}
