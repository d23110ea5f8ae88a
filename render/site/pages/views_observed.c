/* views_observed.c - what was recorded of a run besides its steps: MPI calls, files, and the names of ranges. See
 * inside.h. Called by page_run.c. */
#include "render/site/theme/inside.h"

#include "lib/base/fs.h"
#include "render/metrics/calls.h"
#include "render/metrics/recorded.h"
#include "render/say/format.h"
#include "render/say/say.h"

#include <string.h>

/* Longer tables would not be read; report.json has all rows. */
#define OBSERVED_SHOWN 40

static void bytes_or_none(struct site *s, json_t *t, uint64_t bytes)
{
    view_cell_value(s, t, bytes ? fmt_bytes((double)bytes).text : "none", true, (double)bytes, "bytes");
}

json_t *view_mpi_calls(struct site *s, const struct run *run)
{
    if (run->n_mpi_calls == 0 || recorded_part(run).n_ranks_lost_sums)
        return json_null();
    json_t *t = view_table(s, TABLE(MPI_CALLS, slot_name(recorded_noun(run))));
    for (int i = 0; i < run->n_mpi_calls && i < OBSERVED_SHOWN; i++) {
        const struct dct_io *c = &run->mpi_calls[i].sum;
        view_row(s, t, run->mpi_calls[i].name);
        const struct calls_of of = {c, true};
        VIEW_METRICS(s, t, &calls_metrics, &of, CALLS_CALLS);
        bytes_or_none(s, t, c->bytes);
        VIEW_METRICS(s, t, &calls_metrics, &of, CALLS_TIME, CALLS_MEAN, CALLS_MAX);
    }
    return t;
}

static double file_ns(const struct run_file *f)
{
    double sum = 0;
    for (int kind = 0; kind < DCT_N_IO; kind++)
        sum += (double)f->sum[kind].ns;
    return sum;
}

/* Files that every program reads at its start, or that launchers leave. One row is enough for them, unless they take
 * time. */
static bool is_of_system(const char *name)
{
    static const char *const begins[] = {"/usr/", "/lib", "/etc/", "/bin/", "/sbin/"};
    static const char *const within[] = {"/site-packages/", "/lib/python", "/ompi.", "/pmix-", "/__pycache__/", ".so."};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0)
            return true;
    for (size_t i = 0; i < sizeof within / sizeof *within; i++)
        if (strstr(name, within[i]))
            return true;
    return dcr_ends_with(name, ".pyc") || dcr_ends_with(name, ".so");
}

static bool is_shown(const struct run_file *f, int64_t wall_ns)
{
    static const double NOTABLE = 0.01; /* of the time of the ranks: such a row is shown whatever it is */
    return !is_of_system(f->name) || (wall_ns > 0 && file_ns(f) > NOTABLE * (double)wall_ns);
}

/* A kind without recorded calls may still have had calls that the recorder missed. */
static void add_file_row(struct site *s, json_t *t, const char *name, const struct dct_io *c)
{
    view_row(s, t, name);
    for (int kind = DCT_IO_READ; kind <= DCT_IO_WRITE; kind++)
        VIEW_METRICS(s, t, &calls_metrics, (&(struct calls_of){&c[kind], c[kind].n > 0}), CALLS_CALLS, CALLS_BYTES,
                     CALLS_TIME);
    VIEW_METRICS(s, t, &calls_metrics, (&(struct calls_of){&c[DCT_IO_OTHER], c[DCT_IO_OTHER].n > 0}), CALLS_CALLS,
                 CALLS_TIME);
}

/* bytes < 0: not known. calls NULL: no number of calls is shown */
static void add_total_row(struct site *s, json_t *t, const char *name, const int64_t *bytes, const int64_t *calls)
{
    view_row(s, t, name);
    for (int kind = DCT_IO_READ; kind <= DCT_IO_WRITE; kind++) {
        view_cell_count(s, t, calls != NULL, calls ? calls[kind] : 0);
        view_cell_bytes(s, t, bytes[kind] >= 0, (double)bytes[kind]);
        view_cell_time(s, t, false, 0);
    }
    view_cell_count(s, t, false, 0);
    view_cell_time(s, t, false, 0);
}

/* Totals: recorded calls, the kernel's counts, and the difference. */
static void add_totals(struct site *s, json_t *t, const struct run *run)
{
    struct files_explained e = files_explained(run);
    add_total_row(s, t, "(all recorded calls on files)", e.recorded_bytes, NULL);
    if (e.has)
        add_total_row(s, t, "(all that the processes read and wrote, by the operating system)", e.bytes, e.calls);
    add_total_row(s, t,
                  e.rest_why.code ? site_text(s, "(not attributed: %s)", say_clause(&s->arena, &e.rest_why))
                                  : site_text(s, "(%s)", say_phrase(&s->arena, &PHRASE(FILES_NOT_ATTRIBUTED))),
                  e.rest_bytes, NULL);
}

json_t *view_io_files(struct site *s, const struct run *run)
{
    if ((run->n_files == 0 && !files_explained(run).has) || recorded_part(run).n_ranks_lost_sums)
        return json_null();
    int64_t wall_ns = recorded_part(run).ns;
    int n_own = 0, n_folded = 0, n_shown = 0;
    for (int i = 0; i < run->n_files; i++)
        n_own += is_shown(&run->files[i], wall_ns);
    const struct slot part = slot_name(recorded_noun(run));
    json_t *t =
        view_table(s, n_own > OBSERVED_SHOWN ? TABLE(FILES_OF_MANY, slot_count(OBSERVED_SHOWN), slot_count(n_own), part)
                                             : TABLE(FILES, part));
    view_caption(s, t, PHRASE(CAPTION_DASH_OF_FILES));
    struct run_file folded = {0};
    for (int i = 0; i < run->n_files; i++) {
        const struct run_file *f = &run->files[i];
        if (is_shown(f, wall_ns)) {
            if (n_shown++ < OBSERVED_SHOWN)
                add_file_row(s, t, f->name, f->sum);
            continue;
        }
        n_folded++;
        for (int kind = 0; kind < DCT_N_IO; kind++) {
            folded.sum[kind].n += f->sum[kind].n;
            folded.sum[kind].bytes += f->sum[kind].bytes;
            folded.sum[kind].ns += f->sum[kind].ns;
        }
    }
    if (n_folded)
        add_file_row(
            s, t, site_text(s, "(%s of the system, the interpreter or the launcher)", fmt_count(n_folded, "file").text),
            folded.sum);
    add_totals(s, t, run);
    return t;
}

json_t *view_operators(struct site *s, const struct host_operators *o, enum table_id is, const char *trace)
{
    enum { MOST = 20 };
    int64_t self = 0;
    if (o->n_names == 0)
        return json_null();
    for (int i = 0; i < o->n_names; i++)
        self += o->list[i].self_ns > 0 ? o->list[i].self_ns : 0;
    struct table_said said = {is, {slot_count(o->n_names < MOST ? o->n_names : MOST), slot_count(o->n_names)}};
    if (trace)
        said.slot[2] = slot_name(trace);
    json_t *t = view_table(s, &said);
    for (int i = 0; i < o->n_names && i < MOST; i++) {
        const struct host_operator *n = &o->list[i];
        bool is_known = n->self_ns >= 0;
        view_row(s, t, n->name);
        view_cell(s, t, operator_kind_key(n->kind));
        view_cell_count(s, t, true, n->n);
        view_cell_time(s, t, is_known, n->self_ns);
        view_cell_percent(s, t, is_known && self > 0, (double)n->self_ns / (double)(self > 0 ? self : 1));
        view_cell_time(s, t, true, n->total_ns);
        view_cell_time(s, t, true, n->total_ns / (n->n ? n->n : 1));
        view_cell_time(s, t, n->min_ns >= 0, n->min_ns);
        view_cell_time(s, t, n->max_ns >= 0, n->max_ns);
        if (is == TABLE_OPERATORS_WITH_LINES)
            view_cell(s, t, n->place ? site_text(s, "%s (%s)", n->function, n->place) : "–");
    }
    return t;
}
