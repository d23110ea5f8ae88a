/* nsys_sqlite.c - what `nsys export --type sqlite` makes of a report: kernels, copies, memsets, calls of the runtime
 * and NVTX ranges, if their tables and columns exist. Times are integer nanoseconds already. */
#include "render/import/nsys/nsys_devices.h"
#include "render/import/text/parsers.h"

#include "lib/base/buf.h"
#include "render/device/activity.h"
#include "render/import/nsys/nsys_gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int nsys_sqlite_is(const char *head, size_t n)
{
    return n >= 16 && memcmp(head, "SQLite format 3", 16) == 0;
}

struct nsys {
    struct nsys_file file;
    struct activity *activity;
    struct foreign_trace trace;
    struct nsys_devices devices;
    struct nsys_gpu gpus[NSYS_GPUS];    /* by GPU */
    int n_tables;                       /* number of tables that are read */
    const char *lacking[8], *column[8]; /* tables that are not read because a column is missing */
    int n_lacking;
};

/* Does the query have a row? first and second (may be NULL) are its parameters. */
static int has_row(struct nsys *x, const char *sql, const char *first, const char *second)
{
    sqlite3_stmt *q = nsys_file_query(&x->file, sql);
    if (q)
        sqlite3_bind_text(q, 1, first, -1, SQLITE_STATIC);
    if (q && second)
        sqlite3_bind_text(q, 2, second, -1, SQLITE_STATIC);
    int found = nsys_file_next(&x->file, q);
    sqlite3_finalize(q);
    return found;
}

static int has_table(struct nsys *x, const char *table)
{
    return has_row(x, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", table, NULL);
}

static int has_column(struct nsys *x, const char *table, const char *column)
{
    return has_row(x, "SELECT 1 FROM pragma_table_info(?) WHERE name = ?", table, column);
}

/* The first of some texts ("a/b/c") that is there and not empty, each in its column or in StringIds by the id there. */
static void put_text(struct nsys *x, struct dcr_buf *sql, const char *table, const char *columns, size_t len)
{
    int has_strings = has_table(x, "StringIds");
    char word[64];
    dcr_buf_puts(sql, "coalesce(NULL");
    for (const char *p = columns, *end = columns + len; p < end; p += *p == '/') {
        size_t n = strcspn(p, "/ ");
        snprintf(word, sizeof word, "%.*s", (int)n, p);
        p += n;
        if (!has_column(x, table, word))
            continue;
        dcr_buf_printf(sql, ",nullif(CASE typeof(t.%s) WHEN 'text' THEN t.%s ", word, word);
        if (has_strings)
            dcr_buf_printf(sql, "ELSE (SELECT value FROM StringIds WHERE id = t.%s) ", word);
        dcr_buf_puts(sql, "END,'')");
    }
    dcr_buf_puts(sql, ",NULL)");
}

/* A SELECT of columns (separated by spaces) of a table; a missing column is NULL. "@name" is the text of the StringIds
 * id in column name; "@name/other" uses column other if name is missing. NULL if the table is missing or lacks its
 * times (which is kept as a gap). */
static sqlite3_stmt *query(struct nsys *x, const char *table, const char *columns)
{
    struct dcr_buf sql = {0};
    char word[64];
    if (!has_table(x, table))
        return NULL;
    if (!has_column(x, table, "start") || !has_column(x, table, "end")) {
        x->lacking[x->n_lacking] = table; /* each is asked for once: there is room */
        x->column[x->n_lacking++] = has_column(x, table, "start") ? "end" : "start";
        return NULL;
    }
    dcr_buf_puts(&sql, "SELECT ");
    for (const char *p = columns; *p; p += strspn(p, " ")) {
        size_t n = strcspn(p, " ");
        snprintf(word, sizeof word, "%.*s", (int)n, p);
        if (p != columns)
            dcr_buf_putc(&sql, ',');
        if (*p == '@')
            put_text(x, &sql, table, p + 1, n - 1);
        else if (has_column(x, table, word))
            dcr_buf_printf(&sql, "t.%s", word);
        else
            dcr_buf_puts(&sql, "NULL");
        p += n;
    }
    dcr_buf_printf(&sql, " FROM %s t", table);
    sqlite3_stmt *q = nsys_file_query_known(&x->file, dcr_buf_text(&sql));
    dcr_buf_release(&sql);
    x->n_tables += q != NULL;
    return q;
}

/* Correlation ids count from 1 in each process. */
static int64_t correlation(sqlite3_stmt *q, int id_column, int process_column)
{
    if (sqlite3_column_type(q, id_column) != SQLITE_INTEGER)
        return -1;
    int64_t process = sqlite3_column_int64(q, process_column) >> 24 & 0x3fffffff;
    return process << 32 | (sqlite3_column_int64(q, id_column) & 0xffffffff);
}

static const char *text(sqlite3_stmt *q, int column)
{
    const char *p = (const char *)sqlite3_column_text(q, column);
    return p ? p : "";
}

/* Columns 0 and 1 are start and end. An event that was open when the recording ended has no end. returns  0 when none
 */
static int duration(sqlite3_stmt *q, int64_t *out)
{
    return sqlite3_column_type(q, 0) == SQLITE_INTEGER && sqlite3_column_type(q, 1) == SQLITE_INTEGER &&
           !__builtin_sub_overflow(sqlite3_column_int64(q, 1), sqlite3_column_int64(q, 0), out);
}

/* Of a kernel, what it was launched with. */
static void add_geometry(const struct nsys *x, sqlite3_stmt *q, int64_t gpu, struct device_op *op)
{
    double blocks =
        (double)sqlite3_column_int64(q, 7) * (double)sqlite3_column_int64(q, 8) * (double)sqlite3_column_int64(q, 9);
    const struct nsys_gpu *g = gpu >= 0 && gpu < NSYS_GPUS ? &x->gpus[gpu] : NULL;
    if (!g || g->n_sms <= 0 || !(blocks > 0))
        return;
    op->blocks_per_sm = blocks / (double)g->n_sms;
    int64_t threads = 1;
    for (int i = 10; i < 13; i++)
        if (__builtin_mul_overflow(threads, sqlite3_column_int64(q, i), &threads))
            return;
    if (sqlite3_column_type(q, 13) == SQLITE_INTEGER)
        op->occupancy_ratio =
            nsys_occupancy(g, blocks, threads, sqlite3_column_int64(q, 13), sqlite3_column_int64(q, 14));
}

static void add_op(struct nsys *x, sqlite3_stmt *q, enum op_kind kind, const char *name)
{
    int64_t start = sqlite3_column_int64(q, 0), dur;
    int64_t gpu,
        device = nsys_devices_number(&x->devices, sqlite3_column_int64(q, 5), sqlite3_column_int64(q, 2), &gpu);
    struct device_op op = {.device = device,
                           .stream = sqlite3_column_int64(q, 3),
                           .start_ns = start,
                           .kind = kind,
                           .name = name,
                           .name_len = strlen(name),
                           .correlation = correlation(q, 4, 5),
                           .blocks_per_sm = -1,
                           .occupancy_ratio = -1};
    x->trace.n_events++;
    if (kind == OP_COMPUTE)
        add_geometry(x, q, gpu, &op);
    if (!duration(q, &dur)) {
        x->trace.n_unusable++;
        return;
    }
    op.dur_ns = dur;
    int is_unusable = activity_op(x->activity, &op) != 0;
    x->trace.n_unusable += is_unusable;
    x->trace.n_negative += !is_unusable && dur < 0;
}

static void read_operations(struct nsys *x)
{
    static const char *const copies[] = {"Memcpy", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                         "AtoD",   "DtoA", "DtoD", "HtoH", "PtoP"};
    sqlite3_stmt *q = query(
        x, "CUPTI_ACTIVITY_KIND_KERNEL",
        "start end deviceId streamId correlationId globalPid @demangledName/shortName/mangledName gridX gridY gridZ "
        "blockX blockY blockZ registersPerThread staticSharedMemory");
    while (nsys_file_next(&x->file, q)) {
        add_op(x, q, OP_COMPUTE, text(q, 6));
    }
    sqlite3_finalize(q);
    q = query(x, "CUPTI_ACTIVITY_KIND_MEMCPY", "start end deviceId streamId correlationId globalPid copyKind");
    while (nsys_file_next(&x->file, q)) {
        int64_t kind = sqlite3_column_int64(q, 6);
        add_op(x, q, OP_MEMCPY,
               kind >= 0 && kind < (int64_t)(sizeof copies / sizeof *copies) ? copies[kind] : "Memcpy");
    }
    sqlite3_finalize(q);
    q = query(x, "CUPTI_ACTIVITY_KIND_MEMSET", "start end deviceId streamId correlationId globalPid");
    while (nsys_file_next(&x->file, q))
        add_op(x, q, OP_MEMSET, "Memset");
    sqlite3_finalize(q);
}

/* Steps of one process go to the device; those of several in one file cannot be told apart by device. */
struct steps {
    struct dcr_arena arena;
    struct marked {
        enum step_name kind;
        int64_t process, number, start, dur;
    } * list;
    size_t n, cap;
    int has_steps; /* there are steps, not only batches */
};

static void mark_step(struct steps *s, struct marked m)
{
    s->has_steps |= m.kind == STEP_NAME_STEP;
    s->list = arena_grow(&s->arena, s->list, s->n, &s->cap, sizeof *s->list);
    s->list[s->n++] = m;
}

static void use_steps(struct nsys *x, struct run *r, struct steps *s)
{
    int is_of_many = 0;
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++)
        if (!s->has_steps || s->list[i].kind == STEP_NAME_STEP) {
            s->list[n] = s->list[i];
            is_of_many |= s->list[n++].process != s->list[0].process;
        }
    for (size_t i = 0; i < n && !is_of_many; i++)
        activity_named_step(x->activity, s->list[i].kind, s->list[i].number, s->list[i].start, s->list[i].dur);
    if (is_of_many && x->file.code == SQLITE_OK)
        run_add_gap(r, PHRASE(NSYS_STEPS, slot_name(x->file.name)), PHRASE(RANKS_SEPARATE));
    dcr_arena_release(&s->arena);
}

static void read_host(struct nsys *x, struct run *r)
{
    enum { NVTX_PUSH_POP = 59, NVTX_START_END = 60 };
    struct steps steps = {.n = 0};
    int64_t process_range = 0; /* a separate "thread" for each; negative, because no globalTid is */
    sqlite3_stmt *q = query(x, "CUPTI_ACTIVITY_KIND_RUNTIME", "start end correlationId globalTid @nameId");
    while (nsys_file_next(&x->file, q)) {
        int64_t start = sqlite3_column_int64(q, 0), dur;
        const char *name = text(q, 4);
        enum call_kind kind = call_kind_of(name, strlen(name));
        x->trace.n_events++;
        x->trace.n_calls++;
        x->trace.n_mallocs += kind == CALL_MALLOC;
        x->trace.n_frees += kind == CALL_FREE;
        x->trace.n_syncs += kind == CALL_SYNC;
        if (!duration(q, &dur)) {
            x->trace.n_unusable++;
            continue;
        }
        x->trace.n_backward += dur < 0;
        activity_call_of(x->activity, sqlite3_column_int64(q, 3) >> 24, sqlite3_column_int64(q, 3), kind,
                         correlation(q, 2, 3), start, dur);
    }
    sqlite3_finalize(q);
    q = query(x, "NVTX_EVENTS", "start end text @textId globalTid eventType");
    while (nsys_file_next(&x->file, q)) {
        enum category c;
        int64_t start = sqlite3_column_int64(q, 0), dur, number;
        const char *name = *text(q, 2) ? text(q, 2) : text(q, 3), *word;
        x->trace.n_events++;
        int64_t type = sqlite3_column_int64(q, 5);
        if (!duration(q, &dur)) { /* a mark, or a range that was still open when the recording ended */
            x->trace.n_unpaired += type == NVTX_PUSH_POP || type == NVTX_START_END;
            continue;
        }
        x->trace.n_backward += dur < 0;
        int is_process = type == NVTX_START_END;
        activity_operator(x->activity, is_process ? --process_range : sqlite3_column_int64(q, 4),
                          is_process ? OPERATOR_PROCESS : OPERATOR_RANGE, name, strlen(name), start, dur);
        int mark = step_mark_of(name, strlen(name));
        if (mark >= 0)
            activity_mark(x->activity, (enum step_mark)mark, name, strlen(name), start, dur);
        /* "ProfilerStep#7" counts as much as "step 7" here: both are ranges of NVTX. */
        enum step_name step = host_step_of(name, strlen(name), &word, &number);
        if (step == STEP_NAME_STEP || step == STEP_NAME_BATCH) {
            mark_step(&steps, (struct marked){step, sqlite3_column_int64(q, 4) >> 24, number, start, dur});
            continue;
        }
        activity_phase(x->activity, name, strlen(name), start, dur);
        if (event_classify("", name, &c) != EVENT_PHASE)
            continue;
        if (c == CAT_DATA || c == CAT_IO)
            activity_range(x->activity, c == CAT_DATA ? HOST_DATA : HOST_IO, start, dur);
    }
    sqlite3_finalize(q);
    use_steps(x, r, &steps);
}

/* By default nsys records a CUDA graph as one launch, so no table has its kernels. */
static void say_graphs(struct nsys *x, struct run *r)
{
    sqlite3_stmt *q = nsys_file_query(&x->file, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE");
    if (nsys_file_next(&x->file, q) && sqlite3_column_int64(q, 0) > 0) {
        x->trace.lacks_kernels = 1;
        run_add_gap(r, PHRASE(NSYS_GRAPHS, slot_count(sqlite3_column_int64(q, 0)), slot_name(x->file.name)),
                    PHRASE(NSYS_GRAPH_NODES));
    }
    sqlite3_finalize(q);
}

static void name_devices(struct nsys *x, struct run *r)
{
    sqlite3_stmt *q = nsys_file_query(&x->file, "SELECT id, name FROM TARGET_INFO_GPU");
    while (nsys_file_next(&x->file, q))
        for (int i = 0; i < x->trace.n_devices; i++)
            if (nsys_devices_gpu(&x->devices, x->trace.devices[i].device) == sqlite3_column_int64(q, 0))
                x->trace.devices[i].model = run_text(r, text(q, 1));
    sqlite3_finalize(q);
}

/* How much of a damaged file was not read. */
static void say_damage(const struct nsys_file *f, struct run *r)
{
    if (!*f->why_damaged.text)
        return;
    char why[sizeof f->why_damaged.text];
    dcr_err_why(&f->why_damaged, why, sizeof why);
    struct phrase lost = f->is_loss_unknown ? PHRASE(NSYS_ROWS_UNKNOWN, slot_count(f->n_lost_tables))
                         : f->n_lost_tables > 0
                             ? PHRASE(NSYS_ROWS_LOST, slot_count(f->n_lost_rows), slot_count(f->n_lost_tables))
                             : PHRASE(NONE);
    run_add_gap(r,
                f->n_missing_bytes ? PHRASE(NSYS_CUT, slot_bytes((double)f->n_missing_bytes), slot_name(f->name))
                                   : PHRASE(NSYS_DAMAGED, slot_name(run_text(r, why))),
                lost, f->n_lost_tables ? PHRASE(NSYS_LOOKS_IDLE) : PHRASE(NONE));
}

int nsys_sqlite_read(struct run *r, struct dcr_stream *s, struct dcr_err *err)
{
    struct nsys x = {.trace = {.file = s->name, .kind = FOREIGN_NSYS_SQLITE, .rank = -1, .world_size = -1}};
    int rc = nsys_file_open(&x.file, s, err);
    if (rc)
        goto out;
    x.activity = activity_new(0);
    if (!x.activity) {
        rc = dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", s->name);
        goto out;
    }
    if (has_table(&x, "StringTable") && !has_table(&x, "StringIds")) { /* tables of the same names, other columns */
        rc = dcr_err_set(err, DCR_FAIL, "'%s' is of nvprof, which is not read; record the run with nsys", s->name);
        goto out;
    }
    nsys_devices_read(&x.devices, &x.file);
    nsys_gpus_read(&x.file, x.gpus);
    read_operations(&x);
    read_host(&x, r);
    int has_strings = has_table(&x, "StringIds");
    if ((rc = nsys_file_check(&x.file, err)) != 0)
        goto out;
    if (*x.file.why_damaged.text && x.trace.n_events == 0) {
        rc = nsys_file_refuse(&x.file, err);
        goto out;
    }
    /* Every export has StringIds. If the recording is of the host alone, no other table is read, and the trace has no
     * operations. */
    for (int i = 0; i < x.n_lacking; i++)
        run_add_gap(r, PHRASE(NSYS_TABLE, slot_name(x.lacking[i]), slot_name(s->name), slot_name(x.column[i])),
                    PHRASE(NSYS_EXPORT_AGAIN));
    if (x.n_tables == 0 && !has_strings) {
        rc = dcr_err_set(err, DCR_FAIL,
                         "'%s' is SQLite without the tables of an nsys export, or damaged; export it again: `nsys "
                         "export --type sqlite`",
                         s->name);
        goto out;
    }
    rc = activity_finish(x.activity, &r->arena, &x.trace.devices, &x.trace.n_devices, &x.trace.steps, err);
    if (rc || (rc = activity_operators(x.activity, &r->arena, &x.trace.operators, err)))
        goto out;
    activity_accumulation(x.activity, &x.trace.accumulation);
    activity_lost_steps(x.activity, x.trace.n_lost_steps);
    name_devices(&x, r);
    say_graphs(&x, r);
    if ((rc = nsys_file_check(&x.file, err)) != 0)
        goto out;
    x.trace.lacks_kernels |= *x.file.why_damaged.text != '\0';
    say_damage(&x.file, r);
    nsys_devices_say(&x.devices, r, s->name);
    run_add_trace(r, &x.trace);
out:
    nsys_file_close(&x.file);
    activity_free(x.activity);
    nsys_devices_release(&x.devices);
    return rc;
}
