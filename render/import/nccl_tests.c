/* nccl_tests.c - logs of nccl-tests programs (all_reduce_perf and its like), several in one file too: which collective,
 * over how many ranks; size, time, bandwidths. */
#include "render/import/text/parsers.h"

#include "render/import/text/from_line.h"

#include "lib/base/buf.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const header[] = {"#", "size", "count", "type", "time", "algbw", "busbw", NULL};

int nccl_tests_is(const char *head, size_t n)
{
    return line_with(head, n, header) != NULL;
}

enum { MAX_LOG_BYTES = 16 << 20, MAX_WORDS = 24, MAX_POINTS = 512 };

static int split(char *line, char **words)
{
    int n = 0;
    char *save;
    for (char *w = strtok_r(line, " \t\r", &save); w && n < MAX_WORDS; w = strtok_r(NULL, " \t\r", &save))
        words[n++] = w;
    return n;
}

/* "12.34", or "12,34" in a locale with decimal commas; these programs do not group digits. "nan" and "inf" are refused,
 * because no time or bandwidth has such a value. */
static int number(const char *w, double *out)
{
    char plain[64], *end;
    size_t n = strlen(w);
    const char *comma = strchr(w, ',');
    if (n >= sizeof plain || strspn(w, "0123456789.,eE+-") != n)
        return 0;
    memcpy(plain, w, n + 1);
    if (comma)
        plain[comma - w] = '.';
    double v = strtod(plain, &end);
    if (end == plain || *end || !isfinite(v))
        return 0;
    *out = v;
    return 1;
}

static int is_count(const char *w)
{
    return *w && !w[strspn(w, "0123456789")];
}

static int is_missing(char *const *set)
{
    int n = 0;
    for (int k = 0; k < 3; k++)
        n += strcmp(set[k], "N/A") == 0;
    return n == 3;
}

/* Number of times of a row that a header announces: two, or one if only that was measured. */
static int sets_of(const char *line)
{
    int n = 0;
    for (const char *p = line; (p = strstr(p, "time")) != NULL; p++)
        n++;
    return n == 1 ? 1 : 2;
}

/* "float", "bfloat16", "f8e4m3": the types of NCCL. Future types are known by how their names begin. */
static int is_type(const char *w)
{
    static const char *const names[] = {"int", "uint", "half", "float", "double", "bfloat", "f8", "fp8"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(w, names[i], strlen(names[i])) == 0)
            return 1;
    return 0;
}

/* A result line: size, count, type, then redop and root as the collective has them, then time, algbw, busbw and
 * errors, out of place and in place. One of the two may be missing. Then the header has only one of them (n_sets; 0
 * before it), or the row says N/A. The line is read from the right, where the columns are always the same. A line of
 * other programs in the log ("8 16 workers started") has neither a type nor the columns of the header. out: NAN =
 * not there returns 1; 0: it is no result; -1: it should be one, but *wrong cannot be read */
static int result(char **w, int n, int n_sets, double out[7], const char **wrong)
{
    int has_columns = n >= 4 * n_sets + 3 && n <= 4 * n_sets + 5;
    if (!n_sets || n < 3 || !is_count(w[0]) || !is_count(w[1]) || !isalpha((unsigned char)*w[2]) ||
        !(is_type(w[2]) || has_columns))
        return 0;
    *wrong = "it is cut";
    if (n < 4 * n_sets + (n_sets > 1 ? 1 : 3))
        return -1;
    for (int i = 0; i < 2; i++) {
        char **set = w + n - 4 * n_sets + 4 * i;
        int is_there = i < n_sets && !is_missing(set);
        for (int k = 0; k < 3; k++) {
            double *v = &out[1 + 3 * i + k];
            *v = NAN;
            if (is_there && (!number(*wrong = set[k], v) || *v < 0))
                return -1;
        }
    }
    *wrong = "nothing was measured";
    if (isnan(out[1]) && isnan(out[4]))
        return -1;
    out[0] = strtod(w[0], NULL);
    return 1;
}

/* Rows that cannot be read, for the report. */
struct unread {
    int n, first_line;
    char why[64]; /* of the first */
};

static void leave_row(struct unread *u, int line, const char *wrong)
{
    if (u->n++)
        return;
    u->first_line = line;
    snprintf(u->why, sizeof u->why, strchr(wrong, ' ') ? "%.40s" : "'%.32s' is no time or bandwidth", wrong);
}

static void say_unread(struct run *r, const char *file, const struct unread *u)
{
    if (u->n)
        run_add_gap(r, PHRASE(ROWS_LEFT_OUT_FROM, slot_count(u->n), slot_name(file), slot_count(u->first_line),
                              slot_name(u->why)));
}

/* What a launcher puts in front of each line of a rank ("0: " of srun -l, "[1,0]<stdout>:" of mpirun): the bytes before
 * the header's '#'. *n: their number */
static const char *label_of(const char *text, size_t len, size_t *n)
{
    const char *line = line_with(text, len, header);
    *n = line ? strcspn(line, "#") : 0;
    return line;
}

/* Reports a failure that the program states beside its results. */
static void say_failure(struct run *r, const char *file, const char *line)
{
    static const char bounds[] = "Out of bounds values :";
    const char *at = strstr(line, bounds), *failure = strstr(line, "Test NCCL failure");
    failure = failure ? failure : strstr(line, "Test CUDA failure");
    if (at && strstr(at, "FAILED"))
        run_add_gap(r, PHRASE(NCCL_WRONG, slot_name(file), slot_count(strtoll(at + sizeof bounds - 1, NULL, 10))),
                    PHRASE(NCCL_MEND));
    else if (failure)
        run_add_gap(r, PHRASE(NCCL_ENDS, slot_name(file),
                              slot_name(dcr_arena_strndup(&r->arena, failure, strcspn(failure, "\r")))));
}

/* One test of the log while it is read. */
struct test {
    struct run *r;
    const char *file;
    int is_open;                       /* it has rows; the last table of the run belongs to it */
    char named[64], host[256];         /* "all_reduce_perf" when its log says so; of its first rank */
    int n_ranks, is_across;            /* of the devices that the log lists */
    char operation[16], root[16];      /* of the last row */
    double algbw, busbw;               /* of the row with the largest algbw */
    struct run_collective_test result; /* so far */
    size_t points_cap;
};

/* The name before "_perf" in a line or in the name of a file: "all_reduce"; out is unchanged when there is none. */
static void name_of(const char *text, char out[64])
{
    const char *end = strstr(text, "_perf"), *from = end;
    while (from && from > text && (islower((unsigned char)from[-1]) || from[-1] == '_'))
        from--;
    if (from && end - from > 2 && end - from < 64)
        snprintf(out, 64, "%.*s", (int)(end - from), from);
}

/* Older programs do not state which one they are. Their bus bandwidth tells it, together with the columns beside it. */
static const char *collective_of(const struct test *t)
{
    static const char *const names[] = {"all_reduce", "all_gather", "reduce_scatter", "alltoall",
                                        "broadcast",  "sendrecv",   "reduce"};
    const struct run_collective_test *c = &t->result;
    if (*t->named)
        return t->named;
    const char *base = strrchr(t->file, '/');
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strstr(base ? base : t->file, names[i]))
            return names[i];
    double ratio = t->algbw > 0 ? t->busbw / t->algbw : 0, n = c->n_ranks;
    int is_sum = strcmp(t->operation, "none") != 0 && *t->operation, has_root = *t->root && *t->root != '-';
    return n > 2 && is_sum && !has_root && fabs(ratio - 2 * (n - 1) / n) < 0.02  ? "all_reduce"
           : n > 2 && is_sum && !has_root && fabs(ratio - (n - 1) / n) < 0.4 / n ? "reduce_scatter"
                                                                                 : "";
}

/* The name of a test in its caption and in sentences is known only when all of it was read. */
static void end_test(struct test *t)
{
    struct run *r = t->r;
    if (t->is_open) {
        struct run_collective_test *c = &t->result;
        char caption[256], over[32] = "";
        if (c->n_ranks)
            snprintf(over, sizeof over, " over %d rank%s", c->n_ranks, c->n_ranks == 1 ? "" : "s");
        c->file = r->tables[r->n_tables - 1].file;
        c->collective = run_text(r, collective_of(t));
        c->is_across = t->is_across;
        snprintf(caption, sizeof caption, "%s%s by size: algorithm bandwidth S / t and bus bandwidth, decimal GB/s",
                 *c->collective ? c->collective : "Collective", over);
        r->tables[r->n_tables - 1].caption = run_text(r, caption);
        r->tests = arena_grow(&r->arena, r->tests, (size_t)r->n_tests, &r->tests_cap, sizeof *r->tests);
        r->tests[r->n_tests++] = *c;
    }
    *t = (struct test){.r = r, .file = t->file};
}

/* "#  Rank  0 Group  0 Pid     43 on HOST device  0 [0x0f] NAME" */
static int take_rank(struct test *t, char **w, int n)
{
    if (n < 5 || strcmp(w[0], "#") != 0 || strcmp(w[1], "Rank") != 0 || !is_count(w[2]))
        return 0;
    const char *host = "";
    for (int i = 3; i + 1 < n; i++)
        host = strcmp(w[i], "on") == 0 ? w[i + 1] : host;
    if (t->result.n_ranks++ == 0)
        snprintf(t->host, sizeof t->host, "%s", host);
    t->is_across |= strncmp(t->host, host, sizeof t->host - 1) != 0;
    return 1;
}

/* A line that is about the test that follows. */
static void take_header(struct test *t, const char *line, char **w, int n)
{
    static const char starting[] = "Collective test starting:";
    const char *name = strstr(line, starting);
    if (name) {
        end_test(t);
        name_of(name + sizeof starting - 1, t->named);
    } else if (line_with(line, strlen(line), header) || strstr(line, "# nThread")) {
        if (t->is_open)
            end_test(t);
    } else if (strstr(line, "Using devices")) {
        if (t->is_open)
            end_test(t);
        t->result.n_ranks = t->is_across = 0;
    }
    (void)take_rank(t, w, n);
}

/* The command that a script prints before it runs it. */
static void take_command(struct test *t, const char *line)
{
    if (*line == '#' || !strstr(line, "_perf"))
        return;
    end_test(t);
    name_of(line, t->named);
}

/* n_extra: columns between the type and the times */
static void take_row(struct test *t, char **w, int n_extra, const double v[7])
{
    struct run_collective_test *c = &t->result;
    struct run *r = t->r;
    struct foreign_table *table =
        t->is_open ? &r->tables[r->n_tables - 1]
                   : run_add_table(r, t->file, FOREIGN_NCCL_TESTS, "",
                                   "#Bytes|#Out of place, us|#algbw, GB/s|#busbw, GB/s|#In place, us|#busbw in place, "
                                   "GB/s");
    t->is_open = 1;
    table_add(r, table, "%.0f", v[0]);
    for (int k = 1; k <= 6; k++)
        if (k != 5)
            table_add(r, table, isnan(v[k]) ? "n/a" : "%g", v[k]);
    snprintf(t->operation, sizeof t->operation, "%s", n_extra >= 1 ? w[3] : "");
    snprintf(t->root, sizeof t->root, "%s", n_extra >= 2 ? w[4] : "");
    for (int k = 2; k <= 5; k += 3) {
        if (v[k] > t->algbw) {
            t->algbw = v[k];
            t->busbw = v[k + 1];
        }
        if (v[k + 1] > c->busbw_gb_per_s && v[0] < 9e18) {
            c->busbw_gb_per_s = v[k + 1];
            c->busbw_bytes = v[0];
        }
    }
    double us = v[4] > 0 ? v[4] : v[1]; /* in place, as for gradients */
    if (!(v[0] >= 1 && v[0] < 9e18 && us > 0 && us < 1e12) || c->n_points == MAX_POINTS ||
        (c->n_points && v[0] <= (double)c->points[c->n_points - 1].bytes))
        return;
    int64_t ns = (int64_t)(us * 1e3 + 0.5);
    c->points = arena_grow(&r->arena, c->points, (size_t)c->n_points, &t->points_cap, sizeof *c->points);
    c->points[c->n_points++] = (struct run_allreduce_point){(int64_t)v[0], 1, ns, ns, ns};
}

int nccl_tests_read(struct run *r, struct dcr_stream *s, struct dcr_err *err)
{
    struct dcr_buf b = {0};
    struct test t = {.r = r, .file = s->name};
    struct unread unread = {.n = 0};
    int rc = dcr_stream_slurp(s, &b, MAX_LOG_BYTES, err), n_results = 0, n_line = 0, n_sets = 0;
    char *rest, *words[MAX_WORDS], *label = NULL;
    size_t n_label;
    if (rc)
        goto out;
    const char *from = label_of(dcr_buf_text(&b), b.len, &n_label);
    label = from ? strndup(from, n_label) : NULL;
    rest = b.len ? b.data : NULL;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        double v[7];
        const char *wrong = NULL;
        n_line++;
        if (label && strncmp(line, label, n_label) == 0)
            line += n_label;
        say_failure(r, s->name, line);
        const char *average = strstr(line, "Avg bus bandwidth");
        char whole[512];
        snprintf(whole, sizeof whole, "%s", line);
        int n = split(line, words);
        if (*line == '#' && !average)
            take_header(&t, whole, words, n);
        double mean;
        if (average && number(words[n - 1], &mean) && t.is_open) {
            struct foreign_table *table = &r->tables[r->n_tables - 1];
            table_add(r, table, "average bus bandwidth");
            for (int i = 0; i < 5; i++)
                if (i == 2)
                    table_add(r, table, "%g", mean);
                else
                    table_add(r, table, "%s", "");
            continue;
        }
        if (line_with(whole, strlen(whole), header))
            n_sets = sets_of(whole);
        int is_row = result(words, n, n_sets, v, &wrong);
        if (is_row < 0)
            leave_row(&unread, n_line, wrong);
        else if (!is_row)
            take_command(&t, whole);
        if (is_row <= 0)
            continue;
        take_row(&t, words, n - 3 - 4 * n_sets, v);
        n_results++;
    }
    end_test(&t);
    if (!n_results && unread.n)
        rc = dcr_err_set(err, DCR_FAIL, "no row of the nccl-tests log '%s' can be read (line %d: %s); record it again",
                         s->name, unread.first_line, unread.why);
    else if (!n_results)
        rc = dcr_err_set(err, DCR_FAIL, "'%s' is a log of nccl-tests without a result; run the test to its end",
                         s->name);
    else
        say_unread(r, s->name, &unread);
out:
    free(label);
    dcr_buf_release(&b);
    return rc;
}
