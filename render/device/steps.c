/* steps.c - see steps.h. */
#include "render/device/steps.h"

#include <stdlib.h>
#include <string.h>

void device_steps_add(struct device_steps *s, struct dcr_arena *arena, enum step_grade grade, int64_t number,
                      int64_t start_ns, int64_t dur_ns)
{
    int64_t end_ns = 0;
    int is_time = dur_ns > 0 && dur_ns <= RUN_MAX_STEP_NS && start_ns > -RUN_MAX_TIME_NS &&
                  !__builtin_add_overflow(start_ns, dur_ns, &end_ns) && end_ns < RUN_MAX_TIME_NS;
    if (!is_time || s->n == STEPS_MAX) {
        s->n_lost[grade][is_time ? STEP_LOST_MANY : STEP_LOST_TIME]++;
        return;
    }
    s->list = arena_grow(arena, s->list, s->n, &s->cap, sizeof *s->list);
    s->list[s->n++] =
        (struct device_step){.number = number, .grade = grade, .host_start_ns = start_ns, .host_end_ns = end_ns};
}

void device_steps_mark(struct device_steps *s, struct dcr_arena *arena, enum step_mark kind, const char *name,
                       size_t len, int64_t start_ns, int64_t dur_ns)
{
    int at = 0;
    len = len < sizeof s->names->text ? len : sizeof s->names->text - 1;
    while (at < s->n_names &&
           (s->names[at].kind != kind || strlen(s->names[at].text) != len || memcmp(s->names[at].text, name, len) != 0))
        at++;
    if (at == MARK_NAMES || s->n_marks == STEPS_MAX)
        return;
    if (at == s->n_names) {
        s->names[s->n_names] = (struct mark_name){.kind = kind};
        memcpy(s->names[s->n_names++].text, name, len);
    }
    s->marks = arena_grow(arena, s->marks, s->n_marks, &s->marks_cap, sizeof *s->marks);
    int64_t end_ns = start_ns;
    if (dur_ns > 0 && __builtin_add_overflow(start_ns, dur_ns, &end_ns))
        end_ns = start_ns;
    s->marks[s->n_marks++] = (struct device_mark){start_ns, end_ns, at};
}

int device_step_runs(const struct device_steps *s, const struct device_step *x)
{
    int most = 0;
    for (int i = 0; i < s->n_names; i++)
        if (s->names[i].kind == MARK_OPTIMIZER_RUN && x->n_mark[i] > most)
            most = x->n_mark[i];
    return most;
}

static int compare(const void *a, const void *b)
{
    const struct device_step *x = a, *y = b;
    if (x->host_start_ns != y->host_start_ns)
        return x->host_start_ns < y->host_start_ns ? -1 : 1;
    return x->host_end_ns > y->host_end_ns ? -1 : x->host_end_ns < y->host_end_ns;
}

/* The last step that began no later than t on the host, and holds it; NULL when there is none. */
static struct device_step *step_at(const struct device_steps *s, int64_t t)
{
    size_t lo = 0, hi = s->n;
    while (lo < hi) { /* the first that begins later */
        size_t middle = (lo + hi) / 2;
        if (s->list[middle].host_start_ns <= t)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo && t < s->list[lo - 1].host_end_ns ? &s->list[lo - 1] : NULL;
}

static int compare_mark(const void *a, const void *b)
{
    const struct device_mark *x = a, *y = b;
    if (x->name != y->name)
        return x->name < y->name ? -1 : 1;
    return x->t_ns < y->t_ns ? -1 : x->t_ns > y->t_ns;
}

void device_steps_by_optimizer(struct device_steps *s, struct dcr_arena *arena)
{
    int64_t n_of[MARK_NAMES] = {0}, before = 0;
    int most = -1, n = 0;
    for (size_t i = 0; i < s->n_marks; i++)
        n_of[s->marks[i].name]++;
    for (int i = 0; i < s->n_names; i++)
        if (host_name_of(s->names[i].text, strlen(s->names[i].text), 1) == HOST_NAME_OPTIMIZER &&
            (most < 0 || n_of[i] > n_of[most]))
            most = i;
    if (s->n_marks > 1)
        qsort(s->marks, s->n_marks, sizeof *s->marks, compare_mark);
    for (size_t i = 0; i < s->n_marks; i++) {
        int64_t end = s->marks[i].end_ns;
        if (s->marks[i].name != most || (n && end <= before))
            continue;
        if (n++)
            device_steps_add(s, arena, STEP_GRADE_OPTIMIZER, n - 1, before, end - before);
        before = end;
    }
}

/* The same range on two tracks counts once. */
static void give_marks(struct device_steps *s)
{
    if (s->n_marks > 1)
        qsort(s->marks, s->n_marks, sizeof *s->marks, compare_mark);
    for (size_t i = 0; i < s->n_marks; i++) {
        struct device_step *x =
            i && compare_mark(&s->marks[i - 1], &s->marks[i]) == 0 ? NULL : step_at(s, s->marks[i].t_ns);
        if (x)
            x->n_mark[s->marks[i].name]++;
    }
}

/* Is x, which begins inside the step before it, a separate step that is lost? It is not if it is the same step on
 * another track, or if its name is ambiguous and it is a part of that step. */
static int is_lost(const struct device_step *before, const struct device_step *x)
{
    if (before->number >= 0 && x->number == before->number)
        return 0;
    return x->host_end_ns > before->host_end_ns ||
           (x->grade == STEP_GRADE_PROFILER && x->number >= 0 && before->number >= 0);
}

void device_steps_lost(const struct device_steps *s, int64_t n[N_STEP_LOSSES])
{
    memset(n, 0, N_STEP_LOSSES * sizeof *n);
    for (int g = (int)s->surest; g < N_STEP_GRADES; g++) /* all steps of surer grades were unusable */
        for (int i = 0; i < N_STEP_LOSSES; i++)
            n[i] += s->n_lost[g][i];
}

void device_steps_sort(struct device_steps *s)
{
    size_t k = 0;
    s->surest = STEP_GRADE_OPTIMIZER;
    for (size_t i = 0; i < s->n; i++)
        s->surest = s->list[i].grade > s->surest ? s->list[i].grade : s->surest;
    if (s->n > 1)
        qsort(s->list, s->n, sizeof *s->list, compare);
    for (size_t i = 0; i < s->n; i++) {
        if (s->list[i].grade < s->surest)
            continue;
        if (k && s->list[i].host_start_ns < s->list[k - 1].host_end_ns) {
            s->n_lost[s->surest][STEP_LOST_OVERLAP] += is_lost(&s->list[k - 1], &s->list[i]);
            continue;
        }
        s->list[k] = s->list[i];
        s->list[k].end_ns = s->list[k].host_end_ns;
        k++;
    }
    s->n = k;
    give_marks(s);
}

int device_steps_holds(const struct device_steps *s, int64_t t)
{
    return step_at(s, t) != NULL;
}

long device_steps_index(const struct device_steps *s, int64_t t)
{
    const struct device_step *x = step_at(s, t);
    return x ? (long)(x - s->list) : -1;
}

int device_step_counts(const struct device_step *x)
{
    return x->end_ns > x->start_ns;
}

int device_steps_launch(struct device_steps *s, int64_t launch_ns, int64_t end_ns)
{
    struct device_step *x = step_at(s, launch_ns);
    if (x)
        x->n_launched++;
    if (x && end_ns > x->end_ns && end_ns - x->host_start_ns <= RUN_MAX_STEP_NS)
        x->end_ns = end_ns;
    return x != NULL;
}

/* Does x have under 80 % of the operations of another step? */
static int is_smaller(const struct device_step *x, const struct device_step *than)
{
    return 5 * x->n_launched < 4 * than->n_launched;
}

/* The earlier step that the last one is compared with. */
static const struct device_step *of_its_kind(const struct device_steps *s)
{
    const struct device_step *last = &s->list[s->n - 1];
    int is_marked = 0;
    for (size_t i = 0; i < s->n; i++)
        is_marked |= device_step_runs(s, &s->list[i]) > 0;
    for (size_t i = s->n - 1; is_marked && i-- > 0;)
        if ((device_step_runs(s, &s->list[i]) > 0) == (device_step_runs(s, last) > 0))
            return &s->list[i];
    return &s->list[s->n - 2];
}

static int is_last_cut(const struct device_steps *s)
{
    if (s->n < 2 || !is_smaller(&s->list[s->n - 1], of_its_kind(s)))
        return 0;
    const struct device_step *last = &s->list[s->n - 1];
    int n_alike = 0;
    for (size_t i = 0; i + 1 < s->n; i++)
        n_alike += !is_smaller(last, &s->list[i]) && !is_smaller(&s->list[i], last);
    return n_alike < 2;
}

void device_steps_settle(struct device_steps *s)
{
    if (is_last_cut(s)) {
        s->n--;
        s->is_cut = 1;
    }
    for (size_t i = 0; i < s->n; i++) {
        struct device_step *x = &s->list[i];
        x->start_ns = i && s->list[i - 1].end_ns > x->host_start_ns ? s->list[i - 1].end_ns : x->host_start_ns;
        x->end_ns = x->end_ns > x->start_ns ? x->end_ns : x->start_ns;
        s->n_lost[x->grade][STEP_LOST_COVERED] += !device_step_counts(x);
    }
    s->at = 0;
}

static void add_piece(struct device_steps *s, struct device_step *x, const struct intervals *host, int64_t from,
                      int64_t to, unsigned set)
{
    const unsigned compute = 1u << OP_COMPUTE, comm = 1u << OP_COMM;
    x->part_ns[set & compute ? CAT_COMPUTE : set & comm ? CAT_COMM : CAT_COPY] += to - from;
    x->hidden_comm_ns += (set & compute) && (set & comm) ? to - from : 0;
    x->busy_data_ns += intervals_covered(&host[HOST_DATA], from, to, &s->cursor[0]);
    x->busy_io_ns += intervals_covered(&host[HOST_IO], from, to, &s->cursor[1]);
    int64_t exchanged = intervals_covered(&host[HOST_COMM], from, to, &s->cursor[2]);
    x->busy_comm_ns += exchanged;
    x->hidden_comm_ns += (set & compute) && !(set & comm) ? exchanged : 0;
}

void device_steps_pass(struct device_steps *s, const struct intervals *host, int64_t from, int64_t to, unsigned set)
{
    if (set == 0)
        return;
    while (s->at < s->n && s->list[s->at].end_ns <= from)
        s->at++;
    for (size_t i = s->at; i < s->n && s->list[i].start_ns < to; i++) {
        int64_t lo = s->list[i].start_ns > from ? s->list[i].start_ns : from;
        int64_t hi = s->list[i].end_ns < to ? s->list[i].end_ns : to;
        if (hi > lo)
            add_piece(s, &s->list[i], host, lo, hi, set);
    }
}

void device_steps_comm(struct device_steps *s, struct dcr_arena *arena, int64_t start_ns, int64_t dur_ns)
{
    size_t i = s->at;
    while (i < s->n && s->list[i].end_ns <= start_ns)
        i++;
    if (i == s->n || start_ns < s->list[i].start_ns || dur_ns <= 0)
        return;
    struct device_step *x = &s->list[i];
    x->comm_ns = arena_grow(arena, x->comm_ns, x->n_comm, &x->comm_cap, sizeof *x->comm_ns);
    x->comm_ns[x->n_comm++] = dur_ns;
}

/* Splits the device's idle time by the ranges of the host; the rest is overhead. */
static void split_idle(struct device_step *x, const struct intervals *host, size_t *cursor)
{
    int64_t left = x->end_ns - x->start_ns;
    for (int c = 0; c < N_CATEGORIES; c++)
        left -= x->part_ns[c];
    int64_t data = intervals_covered(&host[HOST_DATA], x->start_ns, x->end_ns, &cursor[0]) - x->busy_data_ns;
    int64_t io = intervals_covered(&host[HOST_IO], x->start_ns, x->end_ns, &cursor[1]) - x->busy_io_ns;
    x->part_ns[CAT_DATA] = data;
    x->part_ns[CAT_IO] = io;
    int64_t comm = intervals_covered(&host[HOST_COMM], x->start_ns, x->end_ns, &cursor[2]) - x->busy_comm_ns;
    x->part_ns[CAT_COMM] += comm;
    x->part_ns[CAT_OTHER] = left - data - io - comm;
}

void device_steps_finish(struct device_steps *s, const struct intervals *host, struct dcr_arena *arena,
                         struct reduced *out)
{
    size_t cursor[3] = {0, 0, 0}, n_comm = 0;
    memset(out, 0, sizeof *out);
    if (!s->is_device)
        return;
    for (size_t i = 0; i < s->n; i++)
        n_comm += s->list[i].n_comm;
    out->steps = dcr_arena_alloc(arena, (s->n + 1) * sizeof *out->steps);
    out->collectives = dcr_arena_alloc(arena, (n_comm + 1) * sizeof *out->collectives);
    for (size_t i = 0; i < s->n; i++) {
        struct device_step *x = &s->list[i];
        if (!device_step_counts(x))
            continue;
        split_idle(x, host, cursor);
        struct step_record *r = &out->steps[out->n_steps++];
        *r = (struct step_record){.step = x->number >= 0 ? x->number : (int64_t)i,
                                  .start_ns = x->start_ns,
                                  .step_ns = x->end_ns - x->start_ns,
                                  .hidden_comm_ns = x->hidden_comm_ns,
                                  .samples = -1,
                                  .runtime_ns = x->runtime_ns,
                                  .first_collective = (uint32_t)out->n_collectives,
                                  .n_collectives = (uint32_t)x->n_comm};
        memcpy(r->part_ns, x->part_ns, sizeof r->part_ns);
        for (size_t k = 0; k < x->n_comm; k++)
            out->collectives[out->n_collectives++].dur_ns = x->comm_ns[k];
    }
    if (out->n_steps)
        out->wall_ns = s->list[s->n - 1].end_ns - s->list[0].start_ns;
}
