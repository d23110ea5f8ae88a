/* export.c - see export.h. Walks the archive; export_chrome.c and export_csv.c write the events. */
#include "collect/export/export.h"

#include "collect/export/export_parts.h"
#include "lib/base/fs.h"
#include "lib/base/hash.h"
#include "lib/base/json_string.h"
#include "lib/archive/member.h"
#include "lib/base/outfile.h"
#include "lib/base/progress.h"
#include "lib/archive/tar.h"
#include "lib/base/utf8.h"

#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct export_state {
    struct export_writer w;
    const struct export_style *style;
    struct dcr_arena arena;
    json_t *nodes;  /* of the metadata: maps hosts to nodes */
    json_t *sha256; /* of the manifest: member's name -> checksum */
    struct node_clock {
        const char *host;
        struct dcr_clock clock;
    } * clocks; /* of nodes that were measured; shape (n_clocks) */
    size_t n_clocks, cap_clocks;
    uint64_t n_summaries, n_damaged;
    int has_base;
};

/* Without a readable manifest there are no checksums to compare with. */
static void take_checksums(struct export_state *x, struct dcr_tar_member *m)
{
    json_t *o = json_read(&m->stream, NULL), *entry;
    size_t i;
    x->sha256 = json_object();
    json_array_foreach(json_object_get(o, "members"), i, entry)
        json_object_set(x->sha256, json_string_value(json_object_get(entry, "name")), json_object_get(entry, "sha256"));
    json_decref(o);
}

/* Takes the whole second in which the run started; times count from there. */
static void take_base(struct export_state *x, struct dcr_tar_member *m)
{
    json_t *o = json_read(&m->stream, NULL);
    double started = json_number_value(json_object_get(o, "started"));
    if (started > 0 && started < 1e10) {
        x->w.base_ns = (int64_t)floor(started) * 1000000000;
        x->has_base = 1;
    }
    x->nodes = json_incref(json_object_get(o, "nodes"));
    json_decref(o);
}

/* If a table of clocks cannot be read, the host's own calendar is used, as if there were none. The closing line says
 * so. */
static void take_clock(struct export_state *x, int node, struct dcr_tar_member *m)
{
    struct dcr_clock clock;
    const char *host = NULL;
    long n_bad;
    for (size_t i = 0; i < json_array_size(x->nodes); i++) {
        const json_t *o = json_array_get(x->nodes, i), *number = json_object_get(o, "node");
        if (json_is_integer(number) && json_integer_value(number) == node)
            host = json_string_value(json_object_get(o, "host"));
    }
    if (dcr_clock_read(&clock, &x->arena, &m->stream, &n_bad, NULL) != 0 || !clock.n || !host)
        return;
    x->clocks = arena_grow(&x->arena, x->clocks, x->n_clocks, &x->cap_clocks, sizeof *x->clocks);
    x->clocks[x->n_clocks++] = (struct node_clock){host, clock};
}

static const struct dcr_clock *clock_of(const struct export_state *x, const char *host)
{
    for (size_t i = 0; i < x->n_clocks; i++)
        if (strncmp(x->clocks[i].host, host, DCR_HOST_NAME) == 0)
            return &x->clocks[i].clock;
    return NULL;
}

static void on_gpu(void *ctx, const struct dct_gpu_event *e)
{
    struct export_state *x = ctx;
    x->w.n_events++;
    x->style->gpu(&x->w, e);
}

static int export_events(struct export_state *x, const struct dcr_tar_member *m, struct dcr_stream *s,
                         struct dcr_err *err)
{
    struct dct_reader *r = NULL;
    struct dct_event e;
    struct dcr_err why = {0};
    int node, rank;
    int rc = dct_open(&r, s, &x->w.info, &why);
    if (rc == DCR_FAIL) { /* verify reports it; here it is left out and counted */
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
    x->w.host =
        dcr_host_of(&x->w.hosts, x->w.info.host, x->w.info.mono_ns, x->w.info.real_ns, clock_of(x, x->w.info.host));
    if (!x->has_base) {
        x->w.base_ns = x->w.info.real_ns - x->w.info.real_ns % 1000000000;
        x->has_base = 1;
    }
    dct_listen(r, (struct dct_listener){.gpu = on_gpu, .ctx = x});
    if (x->w.n_traces++ == 0)
        x->style->begin(&x->w); /* an archive without traces writes nothing */
    x->w.n_tracks = 0;
    if (x->style->trace)
        x->style->trace(&x->w);
    while ((rc = dct_next(r, &e, err)) == DCR_OK && !ferror(x->w.out)) {
        if (e.kind == DCT_FILE) {
            x->w.n_files++;
            continue;
        }
        x->w.n_events++;
        dcr_buf_clear(&x->w.payload);
        dct_put_payload(r, &e, &x->w.payload);
        x->style->event(&x->w, &e);
    }
    for (size_t i = 0; rc == DCR_END && x->style->thread && i < x->w.n_tracks; i++)
        x->style->thread(&x->w, x->w.tracks[i], dct_thread_name(r, (uint32_t)x->w.tracks[i]));
    dct_close(r);
    return rc == DCR_END ? DCR_OK : rc;
}

/* What can be read of a damaged trace is exported, and the closing line says that it is damaged. */
static int export_trace(struct export_state *x, struct dcr_tar_member *m, struct dcr_err *err)
{
    struct dcr_hashed h;
    struct dcr_stream s = dcr_stream_hashed(&h, &m->stream, m->name);
    char got[DCR_SHA256_HEX];
    uint64_t n_before = x->w.n_traces;
    const char *want = json_string_value(json_object_get(x->sha256, m->name));
    int rc = export_events(x, m, &s, err);
    if (rc == 0)
        rc = dcr_stream_drain(&s, err);
    dcr_sha256_finish(h.hash, got);
    x->n_damaged += rc == 0 && x->w.n_traces > n_before && want && strcmp(want, got) != 0;
    return rc;
}

static int export_members(struct export_state *x, struct dcr_tar_reader *tar, struct dcr_err *err)
{
    struct dcr_tar_member m;
    int rc;
    while ((rc = dcr_tar_next(tar, &m, err)) == DCR_OK) {
        int node, rank;
        enum dcr_role role = dcr_role_of(m.name, &node, &rank);
        if (strcmp(m.name, DCR_MANIFEST) == 0)
            take_checksums(x, &m);
        if (strcmp(m.name, DCR_METADATA) == 0)
            take_base(x, &m);
        x->n_summaries += role == DCR_ROLE_SUMMARY;
        if (role == DCR_ROLE_CLOCK_MONITOR && node >= 0)
            take_clock(x, node, &m);
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
    struct dcr_buf b = {0};
    int n_by_calendar = w->hosts.n_seen > 1 ? w->hosts.n_seen - w->hosts.n_measured - 1 : 0;
    dcr_buf_printf(&b, "%s: %llu event%s of %llu trace%s", output ? output : "standard output",
                   (unsigned long long)w->n_events, w->n_events == 1 ? "" : "s", (unsigned long long)w->n_traces,
                   w->n_traces == 1 ? "" : "s");
    if (w->n_files)
        dcr_buf_printf(&b, "; left out: sums of short calls on %llu file%s, which have no time of their own",
                       (unsigned long long)w->n_files, w->n_files == 1 ? "" : "s");
    if (w->hosts.n_seen > 1 && w->hosts.n_measured)
        dcr_buf_printf(&b, "; clocks of %d host%s set by what was measured, wrong by at most %.3f us",
                       w->hosts.n_measured, w->hosts.n_measured == 1 ? "" : "s", (double)w->hosts.error_ns / 1e3);
    if (n_by_calendar > 0)
        dcr_buf_printf(&b, "; %d host%s laid beside the first by the time of day, nobody knows how wrong",
                       n_by_calendar, n_by_calendar == 1 ? "" : "s");
    if (x->n_summaries > w->n_traces)
        dcr_buf_printf(&b, "; %llu ranks' traces were not packed, only their summaries",
                       (unsigned long long)(x->n_summaries - w->n_traces));
    if (x->n_damaged)
        dcr_buf_printf(&b, "; %llu of these traces %s another content than the manifest says: damaged",
                       (unsigned long long)x->n_damaged, x->n_damaged == 1 ? "has" : "have");
    if (w->n_unreadable)
        dcr_buf_printf(&b, "; %llu trace%s cannot be read (dccollect verify says why)",
                       (unsigned long long)w->n_unreadable, w->n_unreadable == 1 ? "" : "s");
    snprintf(message, n, "%s", dcr_buf_text(&b));
    dcr_buf_release(&b);
}

static int check_content(const struct export_state *x, const char *path, struct dcr_err *err)
{
    if (x->w.n_traces)
        return DCR_OK;
    return dcr_err_set(
        err, DCR_FAIL, "cannot export '%s': %s", path,
        x->n_summaries
            ? "it holds summaries of traces only (it was packed with --traces); pack again with "
              "--traces all while the spool is there"
            : "it holds no trace of events (native traces only are exported); name an archive recorded with traces");
}

/* Accepts both formats, because the name may have been used for the other one before. */
static int is_export(const char *head)
{
    static const char csv[] = "rank,host,pid,track,kind,depth,",
                      chrome[] = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
    return strncmp(head, csv, sizeof csv - 1) == 0 ||
           (strncmp(head, chrome, sizeof chrome - 1) == 0 && strstr(head, "\"labels\":\"dccollect export\""));
}

static int check_output(const char *path, const char *output, struct dcr_err *err)
{
    const struct dcr_output out = {"-o", output, "an export of dccollect", is_export};
    char *inputs[] = {(char *)path};
    int rc = dcr_output_spares(&out, inputs, 1, err);
    return rc ? rc : dcr_output_check(&out, err);
}

/* The ending of the name chooses the format, and unknown endings are refused as misleading. Without an ending it is
 * Chrome's. */
static int check_ending(const char *output, struct dcr_err *err)
{
    const char *slash = strrchr(output, '/'), *name = slash ? slash + 1 : output, *dot = strrchr(name, '.');
    if (!dot || dot == name || dcr_ends_with(name, ".json") || dcr_ends_with(name, ".csv"))
        return DCR_OK;
    return dcr_err_set(err, DCR_FAIL,
                       "cannot export to '%s': '%s' is no ending of a format; end the name in .json or .csv, or say "
                       "--format chrome|csv",
                       output, dot);
}

/* partial: the temporary name; NULL = write directly into output */
static int open_output(const char *output, const char *partial, FILE **out, struct dcr_err *err)
{
    int fd = -1, rc = partial ? dcr_open_partial(output, partial, &fd, err) : DCR_OK;
    if (rc)
        return rc;
    *out = partial ? fdopen(fd, "w") : fopen(output, "we");
    if (!*out)
        rc = dcr_err_file(err, DCR_FAIL, "cannot write '%s'", output);
    if (rc && partial) {
        unlink(partial);
        close(fd);
    }
    return rc;
}

int export_archive(const char *path, const char *output, enum export_format format, char *message, size_t n,
                   struct dcr_err *err)
{
    char partial[PATH_MAX];
    struct dcr_tar_reader *tar = NULL;
    struct export_state x = {.w = {.out = stdout}};
    x.w.hosts.arena = &x.arena;
    int is_csv = format == EXPORT_CSV || (format == EXPORT_BY_NAME && output && dcr_ends_with(output, ".csv"));
    x.style = is_csv ? &export_csv : &export_chrome;
    message[0] = '\0';
    if (output && strcmp(output, "-") == 0)
        output = NULL;
    struct stat st;
    /* A pipe or device (/dev/stdout, /dev/null) is written directly instead of being replaced. */
    int is_beside = output && (stat(output, &st) != 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
    int k = snprintf(partial, sizeof partial, "%s%s", output ? output : "", is_beside ? ".partial" : "");
    if (k < 0 || (size_t)k >= sizeof partial)
        return dcr_err_set(err, DCR_FAIL, "the name '%.200s...' is too long; choose a shorter one", output);
    int rc = is_beside ? check_output(path, output, err) : DCR_OK;
    if (rc == 0 && is_beside && format == EXPORT_BY_NAME)
        rc = check_ending(output, err);
    if (rc == 0)
        rc = dcr_tar_open(&tar, path, err);
    if (rc == 0 && output)
        rc = open_output(output, is_beside ? partial : NULL, &x.w.out, err);
    if (rc) {
        dcr_tar_close(tar);
        return rc;
    }
    if (!isatty(fileno(x.w.out))) /* else the events themselves go to the terminal */
        progress_begin_file("exporting the traces", path, 1);
    rc = export_members(&x, tar, err);
    progress_end();
    dcr_tar_close(tar);
    if (rc == 0)
        rc = check_content(&x, path, err);
    if (rc == 0 && x.style->end)
        x.style->end(&x.w);
    int is_written = !ferror(x.w.out) && fflush(x.w.out) == 0;
    if (rc == 0 && !is_written)
        rc = dcr_err_file(err, DCR_FAIL, "cannot write '%s'", output ? output : "standard output");
    if (rc == 0 && is_beside)
        rc = dcr_commit_file(fileno(x.w.out), partial, output, err);
    if (rc && is_beside)
        unlink(partial);
    if (output && fclose(x.w.out) != 0 && rc == 0)
        rc = dcr_err_file(err, DCR_FAIL, "cannot write '%s'", output);
    if (rc == 0)
        summarise(&x, output, message, n);
    json_decref(x.nodes);
    json_decref(x.sha256);
    dcr_arena_release(&x.arena);
    dcr_buf_release(&x.w.line);
    dcr_buf_release(&x.w.payload);
    dcr_buf_release(&x.w.cell);
    return rc;
}

const char *const export_gpu_kinds[DCT_N_GPU] = {
#define X(id, text) text,
    DCT_GPU_ACTIVITIES(X)
#undef X
};

void export_line(struct export_writer *w)
{
    fwrite(dcr_buf_text(&w->line), 1, w->line.len, w->out);
    dcr_buf_clear(&w->line);
}

const char *export_text(struct export_writer *w, const char *text)
{
    dcr_buf_clear(&w->cell);
    dcr_buf_puts(&w->cell, text ? text : "");
    if (w->cell.len && !w->cell.failed)
        utf8_mask(w->cell.data, w->cell.len, ' ');
    return dcr_buf_text(&w->cell);
}

void export_note_track(struct export_writer *w, uint64_t track)
{
    for (size_t i = w->n_tracks; i-- > 0;) /* the last one is the likeliest */
        if (w->tracks[i] == track)
            return;
    w->tracks = arena_grow(w->hosts.arena, w->tracks, w->n_tracks, &w->cap_tracks, sizeof *w->tracks);
    w->tracks[w->n_tracks++] = track;
}
