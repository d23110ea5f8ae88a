/* views_observed.c - what was seen of a run beside its steps: MPI calls, files, and the names of ranges. See inside.h.
 * Called by page_run.c.
 */
#include "render/site/inside.h"

#include "render/narrate/format.h"

/* More would be a listing, not a report; report.json has all of them. */
#define OBSERVED_SHOWN 40

static int64_t whole(uint64_t n)
{
    return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

static const char *bytes_or_none(struct site *s, uint64_t bytes)
{
    return bytes ? site_text(s, "%s", fmt_bytes((double)bytes).text) : "none";
}

json_t *view_mpi_calls(struct site *s, const struct run *run)
{
    if (run->n_mpi_calls == 0)
        return json_null();
    json_t *t =
        view_table(s, "MPI calls, all ranks, longest first; a call that only starts an operation counts the call alone",
                   "Call|#Calls|#Bytes|#Time inside, sum|#Mean|#Longest");
    for (int i = 0; i < run->n_mpi_calls && i < OBSERVED_SHOWN; i++) {
        const struct dct_io *c = &run->mpi_calls[i].sum;
        view_row(s, t, run->mpi_calls[i].name);
        view_cell(s, t, site_int(s, whole(c->n)));
        view_cell(s, t, bytes_or_none(s, c->bytes));
        bool is_timed = c->n > 0 && run_is_timed(c);
        view_cell_time(s, t, is_timed, whole(c->ns));
        view_cell_time(s, t, is_timed, c->n ? whole(c->ns / c->n) : 0);
        view_cell_time(s, t, is_timed, whole(c->max_ns));
    }
    return t;
}

json_t *view_io_files(struct site *s, const struct run *run)
{
    if (run->n_files == 0)
        return json_null();
    json_t *t = view_table(
        s,
        run->n_files > OBSERVED_SHOWN
            ? site_text(s,
                        "Files, the %d with most time of %d, all ranks; times are n/a of calls that were counted and "
                        "not timed",
                        OBSERVED_SHOWN, run->n_files)
            : "Files, all ranks, longest first; times are n/a of calls that were counted and not timed",
        "File|#Reads|#Bytes read|#Time reading|#Writes|#Bytes written|#Time writing|#Other calls|#Their time");
    for (int i = 0; i < run->n_files && i < OBSERVED_SHOWN; i++) {
        const struct dct_io *c = run->files[i].sum;
        view_row(s, t, run->files[i].name);
        for (int kind = DCT_IO_READ; kind <= DCT_IO_WRITE; kind++) {
            view_cell(s, t, site_int(s, whole(c[kind].n)));
            view_cell(s, t, bytes_or_none(s, c[kind].bytes));
            view_cell_time(s, t, run_is_timed(&c[kind]), whole(c[kind].ns));
        }
        view_cell(s, t, site_int(s, whole(c[DCT_IO_OTHER].n)));
        view_cell_time(s, t, run_is_timed(&c[DCT_IO_OTHER]), whole(c[DCT_IO_OTHER].ns));
    }
    return t;
}

json_t *view_operators(struct site *s, const struct host_operators *o, const char *what)
{
    enum { MOST = 20 };
    int64_t self = 0;
    if (o->n_names == 0)
        return json_null();
    for (int i = 0; i < o->n_names; i++)
        self += o->list[i].self_ns > 0 ? o->list[i].self_ns : 0;
    json_t *t =
        view_table(s,
                   site_text(s, "%s by self time (without those inside them on the same thread), %d of %s names", what,
                             o->n_names < MOST ? o->n_names : MOST, site_int(s, o->n_names)),
                   "Name|Kind|#Calls|#Self time|#Share of self time|#Total time|#Mean|#Min|#Max");
    for (int i = 0; i < o->n_names && i < MOST; i++) {
        const struct host_operator *n = &o->list[i];
        bool is_known = n->self_ns >= 0;
        view_row(s, t, n->name);
        view_cell(s, t, operator_kind_key(n->kind));
        view_cell(s, t, site_int(s, n->n));
        view_cell_time(s, t, is_known, n->self_ns);
        view_cell_percent(s, t, is_known && self > 0, (double)n->self_ns / (double)(self > 0 ? self : 1));
        view_cell_time(s, t, true, n->total_ns);
        view_cell_time(s, t, true, n->total_ns / (n->n ? n->n : 1));
        view_cell_time(s, t, true, n->min_ns);
        view_cell_time(s, t, true, n->max_ns);
    }
    return t;
}
