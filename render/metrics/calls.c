/* calls.c - what recorded calls tell about a run without named steps. */
#include "render/metrics/calls.h"
#include "render/metrics/recorded.h"

#include "render/model/build.h"

#include <string.h>

struct mpi_share mpi_share(const struct run *a)
{
    struct recorded part = recorded_part(a);
    struct mpi_share m = {.wall_ns = part.ns, .why = part.why};
    for (int i = 0; i < a->n_mpi_calls; i++) { /* the longest first */
        const struct run_mpi_call *c = &a->mpi_calls[i];
        if (run_is_mpi_frame(c->name))
            continue;
        m.largest = m.largest ? m.largest : c;
        m.ns += (int64_t)c->sum.ns;
    }
    if (!m.why.code && !(m.largest && m.ns > 0))
        m.why = REASON(NO_MPI_CALL);
    else if (!m.why.code && m.ns > m.wall_ns)
        m.why = REASON(MPI_AT_ONCE);
    m.has = !m.why.code;
    m.ratio = m.has ? (double)m.ns / (double)m.wall_ns : 0;
    return m;
}

enum { MANY = 10 };

static struct small_messages small_collectives(const struct run_result *r)
{
    int64_t n = r->collectives_per_step;
    struct small_messages m = {"collectives", n, n > 0 ? (int64_t)(r->bytes_per_step / (double)n) : 0};
    return n >= MANY && m.bytes > 0 && m.bytes <= SMALL_COLLECTIVE_BYTES ? m : (struct small_messages){0};
}

struct small_messages small_messages(const struct run_result *r)
{
    const struct mpi_share all = mpi_share(r->run);
    const struct run_mpi_call *c = all.largest;
    int64_t rank_steps = r->n_steps * r->n_ranks;
    if (!c)
        return small_collectives(r);
    int is_known = c->sum.bytes > 0 || strcmp(c->name, "MPI_Barrier") == 0;
    if (rank_steps <= 0 || c->sum.n == 0 || !is_known || (int64_t)c->sum.ns < all.ns - (int64_t)c->sum.ns)
        return (struct small_messages){0};
    struct small_messages m = {c->name, (int64_t)c->sum.n / rank_steps, (int64_t)(c->sum.bytes / c->sum.n)};
    return m.n >= MANY && m.bytes <= SMALL_MESSAGE_BYTES ? m : (struct small_messages){0};
}

static int64_t file_ns(const struct run_file *f)
{
    int64_t sum = 0;
    for (int k = 0; k < DCT_N_IO; k++)
        sum += (int64_t)f->sum[k].ns;
    return sum;
}

static int folder_of(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash ? (int)(slash - name) : 0;
}

/* Many files of one folder count as one cause. Call it after f->ns is known. */
static void find_folder(const struct run *a, struct file_time *f)
{
    for (int i = 0; i < a->n_files; i++) {
        int len = folder_of(a->files[i].name), n = 0;
        int64_t sum = 0;
        for (int k = 0; k < a->n_files && len; k++)
            if (folder_of(a->files[k].name) == len && strncmp(a->files[k].name, a->files[i].name, (size_t)len) == 0) {
                n++;
                sum += file_ns(&a->files[k]);
            }
        if (sum > f->folder_ns) {
            f->folder = a->files[i].name;
            f->folder_len = len;
            f->folder_ns = sum;
            f->n_in_folder = n;
        }
    }
}

struct file_time file_time(const struct run *a)
{
    struct recorded part = recorded_part(a);
    struct file_time f = {.wall_ns = part.ns};
    double all = 0, most = 0;
    for (int i = 0; i < a->n_files; i++) {
        double one = 0;
        for (int k = 0; k < DCT_N_IO; k++)
            one += (double)a->files[i].sum[k].ns;
        all += one;
        f.largest = one > most ? &a->files[i] : f.largest;
        most = one > most ? one : most;
    }
    if (!(all > 0))
        f.why = REASON(NO_FILE_TIMED);
    else if (part.why.code)
        f.why = part.why;
    else if (all > (double)f.wall_ns)
        f.why = REASON(FILES_AT_ONCE);
    else
        f.has = 1;
    if (!f.has)
        return f;
    for (int i = 0; i < a->n_files; i++)
        for (int k = 0; k < DCT_N_IO; k++)
            f.kind_ns[k] += (int64_t)a->files[i].sum[k].ns;
    f.ns = f.kind_ns[DCT_IO_READ] + f.kind_ns[DCT_IO_WRITE] + f.kind_ns[DCT_IO_OTHER];
    f.ratio = (double)f.ns / (double)f.wall_ns;
    f.largest_ns = (int64_t)most;
    find_folder(a, &f);
    if (*f.largest->name == '(')
        f.largest = NULL;
    return f;
}

/* Sum of two numbers >= 0, limited to 63 bits, since damaged files may hold any values. */
static int64_t plus(int64_t a, int64_t b)
{
    return b < INT64_MAX - a ? a + b : INT64_MAX;
}

struct files_explained files_explained(const struct run *a)
{
    static const enum dct_io_total bytes_of[] = {DCT_IO_READ_CHARS, DCT_IO_WRITE_CHARS},
                                   calls_of[] = {DCT_IO_READ_CALLS, DCT_IO_WRITE_CALLS};
    struct recorded part = recorded_part(a);
    struct files_explained e = {0};
    int64_t own = 0;
    for (int i = 0; i < a->ranks_len; i++) {
        const struct run_rank *r = &a->ranks[i];
        if (r->io[DCT_IO_READ_CALLS] <= 0)
            e.why = REASON(NO_KERNEL_TOTALS);
        for (int k = DCT_IO_READ; k <= DCT_IO_WRITE; k++) {
            e.bytes[k] = plus(e.bytes[k], r->io[bytes_of[k]]);
            e.calls[k] = plus(e.calls[k], r->io[calls_of[k]]);
        }
        own = plus(own, r->own_bytes);
    }
    if (!a->ranks_len)
        e.why = REASON(NO_RANK_WATCHED);
    e.has = !e.why.code;
    e.bytes[DCT_IO_WRITE] -= own < e.bytes[DCT_IO_WRITE] ? own : e.bytes[DCT_IO_WRITE];
    e.rest_why = !e.has                   ? e.why
                 : part.n_ranks_lost_sums ? part.why
                 : part.is_part           ? REASON(TOTALS_OF_WHOLE_RUN)
                                          : REASON(NONE);
    for (int k = DCT_IO_READ; k <= DCT_IO_WRITE; k++) {
        int64_t recorded = 0;
        for (int i = 0; i < a->n_files; i++)
            recorded = plus(recorded, (int64_t)a->files[i].sum[k].bytes); /* the model keeps it within 63 bits */
        int was_watched = a->n_files > 0 || *a->collector_version;
        e.recorded_bytes[k] = part.n_ranks_lost_sums || !was_watched ? -1 : recorded;
        e.rest_bytes[k] = e.rest_why.code ? -1 : e.bytes[k] - recorded;
    }
    for (int k = DCT_IO_READ; k <= DCT_IO_WRITE; k++)
        if (e.rest_bytes[k] < 0 && !e.rest_why.code)
            e.rest_why = REASON(TOTALS_TOO_EARLY);
    for (int k = DCT_IO_READ; k <= DCT_IO_WRITE; k++)
        e.rest_bytes[k] = e.rest_bytes[k] < 0 ? -1 : e.rest_bytes[k];
    return e;
}

int is_mpi_moving(const struct thresholds *t, const struct mpi_share *m)
{
    const struct run_mpi_call *c = m->largest;
    return c && c->sum.bytes && (double)c->sum.ns > t->comm_limits * (double)m->wall_ns;
}

/* Ranks below half way between the least and the most time came late, if they are the minority. */
struct mpi_late mpi_late(const struct thresholds *t, const struct run *a)
{
    struct mpi_late l = {.others_least_ns = INT64_MAX};
    int64_t least = INT64_MAX, most = 0;
    struct recorded part = recorded_part(a);
    double wall = part.why.code ? 0 : (double)part.ns, late = 0, others = 0;
    for (int i = 0; i < a->ranks_len; i++) {
        int64_t ns = a->ranks[i].mpi_ns;
        if (ns <= 0)
            return l;
        least = ns < least ? ns : least;
        most = ns > most ? ns : most;
    }
    for (int i = 0; i < a->ranks_len; i++) {
        int64_t ns = a->ranks[i].mpi_ns;
        if (ns < least + (most - least) / 2) {
            if (l.n < MPI_LATE_NAMED)
                l.ranks[l.n] = a->ranks[i].rank;
            l.n++;
            late += (double)ns;
            l.most_ns = ns > l.most_ns ? ns : l.most_ns;
        } else {
            others += (double)ns;
            l.others_least_ns = ns < l.others_least_ns ? ns : l.others_least_ns;
            l.others_most_ns = ns > l.others_most_ns ? ns : l.others_most_ns;
        }
    }
    int n_others = a->ranks_len - l.n;
    if (l.n == 0 || n_others == 0)
        return l;
    double mean_wall = wall / a->ranks_len;
    l.least_ns = least;
    l.waited_ns = (int64_t)(others / n_others - late / l.n);
    l.has = wall > 0 && l.n <= MPI_LATE_NAMED && l.n < n_others + (n_others == 1) &&
            (double)l.waited_ns > t->straggler_wait * mean_wall;
    return l;
}

static const struct run_rank_call *call_named(const struct run_rank *k, const char *name)
{
    for (int i = 0; i < k->n_calls; i++)
        if (strcmp(k->calls[i].name, name) == 0)
            return &k->calls[i];
    return NULL;
}

/* Did two ranks call the same collectives? If not, one may have taken part in some that the other did not. */
static int has_same_calls(const struct run_rank *x, const struct run_rank *y)
{
    int is_same = x->n_calls == y->n_calls;
    for (int i = 0; i < x->n_calls && is_same; i++) {
        const struct run_rank_call *other = call_named(y, x->calls[i].name);
        is_same = other && other->n == x->calls[i].n;
    }
    return is_same;
}

struct alone alone_in_calls(const struct thresholds *t, const struct run *a)
{
    struct mpi_late l = mpi_late(t, a);
    struct alone out = {0};
    const struct run_rank *late = NULL;
    double waited = 0, most = 0;
    for (int i = 0; i < a->ranks_len && l.has && l.n == 1; i++)
        late = a->ranks[i].rank == l.ranks[0] ? &a->ranks[i] : late;
    for (int i = 0; i < a->ranks_len && late; i++)
        if (!has_same_calls(late, &a->ranks[i]))
            return out;
    for (int c = 0; late && c < late->n_calls; c++) {
        const struct run_rank_call *own = &late->calls[c];
        int64_t others = 0;
        double wait = 0;
        for (int i = 0; i < a->ranks_len; i++) {
            const struct run_rank_call *k = call_named(&a->ranks[i], own->name);
            if (k == own)
                continue;
            others = k->before_ns > others ? k->before_ns : others;
            wait += ((double)k->ns - (double)own->ns) / (a->ranks_len - 1);
        }
        if (wait <= 0 || own->before_ns <= 0 || (double)others > t->alone_others * (double)own->before_ns)
            continue;
        /* Work explains no more waiting than it lasts: the rank may have come late to the collective before too. */
        waited += wait < (double)own->before_ns ? wait : (double)own->before_ns;
        out.own_ns = plus(out.own_ns, own->before_ns);
        out.others_ns = plus(out.others_ns, others);
        if (wait > most) {
            most = wait;
            out.call = own->name;
            out.call_ns = own->before_ns;
        }
    }
    out.has = waited > 0 && waited >= t->alone_wait * (double)l.waited_ns;
    out.rank = late ? late->rank : 0;
    return out;
}

const char *most_waited_call(const struct run *a, int late, int64_t least_calls)
{
    const struct run_rank *of = NULL;
    const char *name = NULL;
    double most = 0;
    for (int i = 0; i < a->ranks_len; i++)
        of = a->ranks[i].rank == late ? &a->ranks[i] : of;
    for (int c = 0; of && c < of->n_calls; c++) {
        double wait = 0;
        if (of->calls[c].n < (uint64_t)least_calls)
            continue;
        for (int i = 0; i < a->ranks_len; i++) {
            const struct run_rank_call *k = call_named(&a->ranks[i], of->calls[c].name);
            wait += k ? (double)k->ns - (double)of->calls[c].ns : 0;
        }
        if (wait > most) {
            most = wait;
            name = of->calls[c].name;
        }
    }
    return name;
}

int64_t written_beyond(const struct run *a, int rank)
{
    const int64_t least = 10000000;
    int64_t own = 0, others = 0;
    for (int i = 0; i < a->ranks_len; i++) {
        const struct run_rank *k = &a->ranks[i];
        int64_t bytes = k->io[DCT_IO_WRITE_CHARS] > k->own_bytes ? k->io[DCT_IO_WRITE_CHARS] - k->own_bytes : 0;
        if (k->io[DCT_IO_READ_CALLS] <= 0) /* not recorded */
            return 0;
        if (k->rank == rank)
            own = bytes;
        else
            others = bytes > others ? bytes : others;
    }
    return own >= least && own - others >= own / 2 ? own - others : 0;
}

int64_t late_in_files(const struct thresholds *t, const struct run *a)
{
    struct mpi_late l = mpi_late(t, a);
    double own = 0, others = 0;
    if (!l.has || l.n != 1)
        return 0;
    for (int i = 0; i < a->ranks_len; i++) {
        double ns = (double)a->ranks[i].file_ns;
        own = a->ranks[i].rank == l.ranks[0] ? ns : own;
        others += a->ranks[i].rank == l.ranks[0] ? 0 : ns / (a->ranks_len - 1);
    }
    int is_possible = own * a->ranks_len <= (double)recorded_part(a).ns; /* else several threads called at once */
    return is_possible && 2 * (own - others) >= (double)l.waited_ns ? (int64_t)own : 0;
}
