/* test_nsys.c - nsys SQLite exports made here: tables and columns that are absent, texts where ids are usual, rows
 * without an end. Sums by hand. */
#include "render/import/nsys/nsys_gpu.h"
#include "tests/unit/imported.h"
#include "tests/unit/gaps.h"
#include "lib/base/fs.h"

#include <math.h>
#include <sqlite3.h>
#include <unistd.h>

/* Does gap i say that a table, whose name ends like that, has no such column? */
static int is_lacking(int i, const char *table, const char *column)
{
    const struct slot *slot = gap_slots(run, i, PHRASE_NSYS_TABLE);
    return slot && dcr_ends_with(slot[0].name, table) && strcmp(slot[2].name, column) == 0;
}

static ssize_t file_read(void *ctx, void *out, size_t n, struct dcr_err *err)
{
    (void)err;
    return (ssize_t)fread(out, 1, n, ctx);
}

static struct dcr_err refusal; /* of the last import */

/* Make the database of these statements, without its last bytes, and with one byte changed. */
static FILE *made_file(const char *sql, size_t n_cut, long at, int byte)
{
    char path[] = "test_nsys-XXXXXX";
    int fd = mkstemp(path);
    sqlite3 *db;
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    assert_int_equal(truncate(path, ftell(f) - (long)n_cut), 0);
    if (at) {
        assert_int_equal(fseek(f, at, SEEK_SET), 0);
        assert_int_equal(fputc(byte, f), byte);
    }
    rewind(f);
    unlink(path);
    return f;
}

static int import_spoiled(const char *sql, size_t n_cut, long at, int byte)
{
    run_free(run);
    run = run_new("t");
    FILE *f = made_file(sql, n_cut, at, byte);
    struct dcr_stream s = {file_read, f, "raw"};
    int rc = import_foreign(run, "t.sqlite", &s, &refusal);
    fclose(f);
    return rc;
}

static int import_sql(const char *sql)
{
    return import_spoiled(sql, 0, 0, 0);
}

static void test_two_devices(void **state)
{
    (void)state;
    assert_int_equal(
        import_sql(
            "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"
            "INSERT INTO StringIds VALUES(0,'gemm'),(1,'ncclDevKernel<\"&>'),(2,'short'),(3,'rCcL');"
            "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INT, end INT, deviceId INT, streamId INT, demangledName "
            "INT, shortName INT);"
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES"
            "(1000000000000000000,1000000000000005000,0,7,0,2),(1000000000000002000,1000000000000009000,0,7,1,2),"
            "(1000000000000000003,1000000000000200003,3,7,NULL,3);"
            "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(start INT, end INT, deviceId INT);"
            "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES(1000000000000008500,1000000000000010000,0);"),
        0);
    static const int64_t want[2][N_DEVICE_COLUMNS] = {
        {2, 1, 0, 1, 10000, 10000, 0, 5000, 7000, 0, 1500, 3000, 4000, 1000, 2, 12000},
        {1, 1, 0, 0, 200000, 200000, 0, 0, 200000, 0, 0, 0, 200000, 0, 0, 200000}};
    assert_int_equal(run->traces[0].n_devices, 2);
    assert_int_equal(device(1)->device, 3);
    for (int d = 0; d < 2; d++)
        for (int c = 0; c < N_DEVICE_COLUMNS; c++)
            assert_int_equal(device(d)->value[c], want[d][c]);
}

/* An A100: 64 warps, 32 blocks, 65536 registers and 164 KiB of shared memory on each of 108 SMs. */
static const struct nsys_gpu a100 = {108, 64, 32, 65536, 167936, 8, 0};

static void check_occupancy(double want, double blocks, int64_t threads, int64_t registers, int64_t shared)
{
    double is = nsys_occupancy(&a100, blocks, threads, registers, shared);
    if (fabs(is - want) > 1e-9)
        fail_msg("%g blocks of %lld threads: %g, not %g", blocks, (long long)threads, is, want);
}

static void test_occupancy(void **state)
{
    (void)state;
    check_occupancy(1, 1e6, 256, 32, 0);                /* 8 blocks of 8 warps */
    check_occupancy(0.5, 1e6, 256, 64, 0);              /* 32 warps have registers */
    check_occupancy(0.25, 54, 1024, 32, 0);             /* half a block on each SM */
    check_occupancy(0.5, 1e6, 32, 32, 0);               /* 32 blocks of a warp are the most */
    check_occupancy(3 * 8 / 64.0, 1e6, 256, 32, 49152); /* 3 of 49 KiB + 1 KiB */
    check_occupancy(5 * 8 / 64.0, 1e6, 256, 41, 0);     /* 41 * 32 are 1536: 10 warps a part, 40, 5 blocks of 8 */
    check_occupancy(2 * 100 / 2048.0, 216, 100, 32, 0); /* threads that are no whole warps count as they are */
    check_occupancy(-1, 1e6, 1024, 255, 0);             /* 32 warps of 8192 registers: none fits */
    check_occupancy(-1, 0, 256, 32, 0);
    check_occupancy(-1, 1, 256, -1, 0);
    struct nsys_gpu little = {108, 64, 0, 0, 0, 0, 0}; /* registers as of nearly every GPU; no shared memory known */
    assert_true(fabs(nsys_occupancy(&little, 1e6, 256, 64, 0) - 0.5) < 1e-9);
    assert_true(nsys_occupancy(&little, 1e6, 256, 64, 1) < 0);
    assert_true(nsys_occupancy(&(struct nsys_gpu){0}, 1e6, 256, 64, 0) < 0);
}

/* From the tables, weighted by duration. If a kernel lacks its block, or belongs to another GPU, the value is n/a for
 * all. */
static void test_occupancy_of_export(void **state)
{
    (void)state;
    static const char sizes[] =
        "CREATE TABLE TARGET_INFO_GPU(id, name, smCount, maxWarpsPerSm, maxBlocksPerSm, maxRegistersPerSm, "
        "maxShmemPerSm, "
        "computeMajor, computeMinor); INSERT INTO TARGET_INFO_GPU VALUES(0,'A100',108,64,32,65536,167936,8,0);";
    static const char kernels[] = "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, gridX, gridY, gridZ, "
                                  "blockX, blockY, blockZ, registersPerThread, staticSharedMemory);"
                                  "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(0,3000,0,1000,100,1,16,16,1,64,0),"
                                  "(5000,6000,0,54,1,1,1024,1,1,32,0)";
    char sql[2048];
    snprintf(sql, sizeof sql, "%s%s;", sizes, kernels);
    assert_int_equal(import_sql(sql), 0);
    assert_true(device(0)->has_occupancy);
    assert_true(fabs(device(0)->occupancy_ratio - (3 * 0.5 + 1 * 0.25) / 4) < 1e-9);
    snprintf(sql, sizeof sql, "%s%s,(7000,8000,0,54,1,1,NULL,1,1,32,0);", sizes, kernels);
    assert_int_equal(import_sql(sql), 0);
    assert_false(device(0)->has_occupancy);
    assert_int_equal(import_sql(kernels), 0);
    assert_false(device(0)->has_occupancy);
}

/* A damaged export: impossible numbers of a GPU are not shown, and never enter a product; a GPU without a number is not
 * counted. */
static void test_damaged_gpu(void **state)
{
    (void)state;
    sqlite3 *db;
    struct nsys_gpu gpus[NSYS_GPUS] = {[0] = a100};
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "CREATE TABLE TARGET_INFO_GPU(id, smCount, maxWarpsPerSm, maxBlocksPerSm, "
                                  "maxRegistersPerSm, maxShmemPerSm, computeMajor);"
                                  "INSERT INTO TARGET_INFO_GPU VALUES(1,108,1<<62,-32,1<<31,1<<30,8),"
                                  "(1<<62,1,1,1,1,1,1),(-1,1,1,1,1,1,1)",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    nsys_gpus_read(&(struct nsys_file){.db = db}, gpus);
    sqlite3_close(db);
    assert_int_equal(gpus[0].max_warps, 64); /* nobody else's numbers */
    assert_int_equal(gpus[1].n_sms, 108);
    assert_int_equal(gpus[1].max_warps, 0);
    assert_int_equal(gpus[1].max_blocks, 0);
    assert_int_equal(gpus[1].registers, 0);
    assert_int_equal(gpus[1].shared_bytes, 1 << 30);
    assert_true(nsys_occupancy(&gpus[1], 1e6, 256, 64, 0) < 0);
}

/* Neither StringIds nor memory tables; the name as text; a kernel that had not ended, one without a start. */
static void test_little(void **state)
{
    (void)state;
    assert_int_equal(import_sql("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, end, demangledName);"
                                "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(1000,2000,'ncclX'),(3000,NULL,'k'),"
                                "(NULL,5,'k');"
                                "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start, deviceId);"
                                "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(5,0);"
                                "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start, end);"
                                "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES(10,90);"),
                     0);
    assert_int_equal(run->traces[0].n_unusable, 2);
    assert_int_equal(run->traces[0].n_devices, 1);
    assert_int_equal(device(0)->value[DEV_KERNELS], 1);
    assert_int_equal(device(0)->value[DEV_COMM_KERNELS], 1);
    assert_int_equal(device(0)->value[DEV_MEMCPYS], 0);
    assert_int_equal(device(0)->value[DEV_SPAN], 1000);
    assert_int_equal(device(0)->value[DEV_KERNEL_SUM], 1000);
    assert_int_equal(run->n_gaps, 3); /* rows without times; a graph without its kernels; copies without a column */
    int is_named = 0;
    for (int i = 0; i < run->n_gaps; i++)
        is_named |= is_lacking(i, "MEMCPY", "end");
    assert_true(is_named);
    assert_int_equal(import_sql("CREATE TABLE StringIds(id, value);"
                                "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(begin, end, demangledName);"),
                     0);
    assert_int_equal(run->n_gaps, 1);
    assert_true(is_lacking(0, "_KERNEL", "start"));
}

#define KERNELS                                                                             \
    "PRAGMA page_size = 4096; CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value);"       \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INT, end INT, deviceId INT, shortName);" \
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(1,2,0,'k'),(3,4,0,'k'),(5,6,0,'k'),(7,8,0,'k');"

static void check_spoiled(size_t n_cut, long at, int byte, const char *says)
{
    assert_int_equal(import_spoiled(KERNELS, n_cut, at, byte), DCR_FAIL);
    if (!strstr(refusal.text, says))
        fail_msg("not '%s': %s", says, refusal.text);
    assert_int_equal(run->n_traces, 0);
    assert_int_equal(run->n_gaps, 0);
}

/* Damage with which SQLite silently returns fewer rows. The third page holds the kernels. */
static void test_damaged(void **state)
{
    (void)state;
    assert_int_equal(import_sql(KERNELS), 0);
    assert_int_equal(device(0)->value[DEV_KERNELS], 4);
    check_spoiled(1, 0, 0, "12287 bytes, but its header says 12288: it was cut");
    check_spoiled(4096, 0, 0, "it was cut");
    check_spoiled(12288 - 50, 0, 0, "shorter than the header");
    check_spoiled(0, 2 * 4096 + 4, 0, "damaged SQLite file"); /* rows on the page */
    check_spoiled(0, 2 * 4096, 5, "damaged SQLite file");     /* its kind */
    /* One row fewer than there are. */
    assert_int_equal(import_spoiled(KERNELS, 0, 2 * 4096 + 4, 3), 0);
    assert_int_equal(device(0)->value[DEV_KERNELS], 3);
    assert_int_equal(run->n_gaps, 1);
    assert_non_null(strstr(assert_gap(run, 0, PHRASE_NSYS_DAMAGED)[0].name, "damaged SQLite file"));
}

/* A damaged page in the middle of a table: the rows before it count, and the unread rows are counted if the last row
 * can still be found. */
static void test_damaged_middle(void **state)
{
    (void)state;
    static const char sql[] = "PRAGMA page_size = 4096; CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value);"
                              "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INT, end INT, deviceId INT, shortName);"
                              "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) "
                              "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 10 * i, 10 * i + 5, 0, 'k' FROM n;";
    assert_int_equal(import_sql(sql), 0);
    assert_int_equal(device(0)->value[DEV_KERNELS], 1000);
    assert_int_equal(import_spoiled(sql, 0, 4 * 4096, 1), 0); /* the kind of the second page of rows */
    int64_t n = device(0)->value[DEV_KERNELS];
    assert_in_range(n, 1, 999);
    assert_int_equal(run->n_gaps, 1);
    assert_gap(run, 0, PHRASE_NSYS_DAMAGED);
    const struct slot *slot = assert_gap(run, 0, PHRASE_NSYS_ROWS_LOST);
    assert_int_equal(slot[0].count, 1000 - n);
    assert_int_equal(slot[1].count, 1);
    assert_gap(run, 0, PHRASE_NSYS_LOOKS_IDLE);
    assert_int_equal(import_spoiled(sql, 4096, 0, 0), 0); /* the last page is not there */
    assert_in_range(device(0)->value[DEV_KERNELS], n + 1, 999);
    assert_true(assert_gap(run, 0, PHRASE_NSYS_CUT)[0].real == 4096);
    assert_int_equal(assert_gap(run, 0, PHRASE_NSYS_ROWS_UNKNOWN)[0].count, 1);
}

/* A table that exists but cannot be queried is an error, since its rows would be missing. */
static void test_unreadable(void **state)
{
    (void)state;
    assert_int_equal(import_sql("CREATE TABLE StringIds(id INTEGER PRIMARY KEY, text);"
                                "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INT, end INT, deviceId INT, shortName);"
                                "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(1,2,0,1),(3,4,0,1);"),
                     DCR_FAIL);
    assert_non_null(strstr(refusal.text, "damaged SQLite file: no such column: value"));
    assert_int_equal(run->n_traces, 0);
}

/* Only tables are read, because a view may have endless rows. */
static void test_view(void **state)
{
    (void)state;
    assert_int_equal(import_sql("CREATE TABLE StringIds(id, value);"
                                "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(start) AS (SELECT 1 UNION "
                                "ALL SELECT start + 1 FROM n) SELECT start, start + 1 AS end FROM n;"),
                     DCR_FAIL);
    assert_non_null(strstr(refusal.text, "has a view CUPTI_ACTIVITY_KIND_KERNEL"));
    assert_int_equal(import_sql(KERNELS "CREATE VIEW mine AS SELECT 1;"), 0);
    assert_int_equal(device(0)->value[DEV_KERNELS], 4);
    assert_int_equal(import_sql(KERNELS
                                "CREATE TABLE mine(a INT, b INT AS (instr(zeroblob(4000000), zeroblob(2000000))));"
                                "INSERT INTO mine(a) VALUES(1);"),
                     DCR_FAIL);
    assert_non_null(strstr(refusal.text, "has a computed column in mine"));
}

/* The file is copied, since SQLite reads only files. */
static void test_no_room(void **state)
{
    (void)state;
    char *before = getenv("TMPDIR") ? strdup(getenv("TMPDIR")) : NULL;
    setenv("TMPDIR", "/dev/null/nothing", 1);
    assert_int_equal(import_sql(KERNELS), DCR_FAIL);
    assert_non_null(strstr(refusal.text, "to a temporary file: Not a directory; point TMPDIR at"));
    if (before)
        setenv("TMPDIR", before, 1);
    else
        unsetenv("TMPDIR");
    free(before);
}

/* Every query ends. */
static void test_endless(void **state)
{
    (void)state;
    FILE *raw = made_file(KERNELS, 0, 0, 0);
    struct dcr_stream s = {file_read, raw, "t.sqlite"};
    struct nsys_file f;
    assert_int_equal(nsys_file_open(&f, &s, &refusal), 0);
    sqlite3_stmt *q =
        nsys_file_query(&f, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n");
    assert_int_equal(nsys_file_next(&f, q), 0);
    sqlite3_finalize(q);
    assert_int_equal(nsys_file_check(&f, &refusal), DCR_FAIL);
    assert_non_null(strstr(refusal.text, "takes too long for its size"));
    nsys_file_close(&f);
    fclose(raw);
}

/* Calls and ranges without times, without an end, or backward ones. */
static void test_host_losses(void **state)
{
    (void)state;
    assert_int_equal(
        import_sql("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INT, end INT, correlationId INT, nameId);"
                   "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(1,NULL,1,'a'),(5,3,2,'a'),(5,6,2,'a');"
                   "CREATE TABLE NVTX_EVENTS(start INT, end INT, eventType INT, text TEXT, globalTid INT);"
                   "INSERT INTO NVTX_EVENTS VALUES(0,10,59,'ProfilerStep#1',1),(20,15,59,'ProfilerStep#2',1),"
                   "(12,NULL,59,'forward',1),(13,NULL,34,'mark',1)"),
        0);
    assert_int_equal(run->traces[0].n_unusable, 1);
    assert_int_equal(run->traces[0].n_backward, 2);
    assert_int_equal(run->traces[0].n_lost_steps[STEP_LOST_TIME], 1);
    assert_int_equal(run->traces[0].n_unpaired, 1);
    assert_int_equal(run->n_gaps, 4);
}

static void test_none(void **state)
{
    (void)state;
    assert_int_equal(import_sql("CREATE TABLE t(a);"), DCR_FAIL);
    /* nvprof: its kernels are in another table, their names too */
    assert_int_equal(import_sql("CREATE TABLE StringTable(_id_, value);"
                                "CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL(start, end, name);"
                                "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start, end, deviceId);"
                                "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(1,2,0);"),
                     DCR_FAIL);
    assert_int_equal(run->n_traces, 0);
    /* an export of a recording of the host alone */
    assert_int_equal(import_sql("CREATE TABLE StringIds(id, value); CREATE TABLE OSRT_API(start, end, nameId);"), 0);
    assert_int_equal(run->n_traces, 1);
    assert_int_equal(run->traces[0].n_devices, 0);
}

/* Pushed ranges nest on their thread, started ones nowhere; a mark has no end. */
static void test_ranges(void **state)
{
    (void)state;
    assert_int_equal(
        import_sql(
            "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER);"
            "INSERT INTO NVTX_EVENTS VALUES (20, 50, 59, 'forward', 7), (0, 100, 59, 'step', 7),"
            "(30, 40, 60, 'bucket', 7), (10, 90, 60, 'bucket', 7), (5, NULL, 34, 'mark', 7), (0, 9, 59, 'step', 8)"),
        0);
    const struct host_operators *o = &run->traces[0].operators;
    assert_int_equal(o->n, 5);
    assert_int_equal(o->n_names, 3);
    assert_string_equal(o->list[0].name, "bucket");
    assert_int_equal(o->list[0].kind, OPERATOR_PROCESS);
    assert_int_equal(o->list[0].self_ns, 90);
    assert_string_equal(o->list[1].name, "forward");
    assert_int_equal(o->list[1].self_ns, 30);
    assert_string_equal(o->list[2].name, "step"); /* last, because it is neither an operator nor a part of a step */
    assert_int_equal(o->list[2].kind, OPERATOR_STEP);
    assert_int_equal(o->list[2].self_ns, 79);
    assert_int_equal(o->list[2].total_ns, 109);
}

/* NVTX ranges that mark steps, by PyTorch's name or with a number; steps of two processes are not analysed. */
static void test_steps(void **state)
{
    (void)state;
    static const char made[] =
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INT, end INT, deviceId INT, correlationId INT, shortName);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(1000,3000,0,1,'k'),(6000,12000,0,2,'k');"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INT, end INT, correlationId INT, nameId);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(900,950,1,'cudaLaunchKernel'),(5500,5600,2,'cudaLaunchKernel');"
        "CREATE TABLE NVTX_EVENTS(start INT, end INT, eventType INT, text TEXT, globalTid INT);"
        "INSERT INTO NVTX_EVENTS VALUES(0,5000,59,'iteration 7',1),(5000,11000,59,'ProfilerStep#8',1),"
        "(100,600,59,'dataloader',1),(0,20000,59,'epoch 1',1)";
    assert_int_equal(import_sql(made), 0);
    const struct reduced *s = &run->traces[0].steps;
    assert_int_equal(s->n_steps, 2);
    assert_int_equal(s->steps[0].step, 7);
    assert_int_equal(s->steps[0].part_ns[CAT_COMPUTE], 2000);
    assert_int_equal(s->steps[0].part_ns[CAT_DATA], 500);
    assert_int_equal(s->steps[1].step, 8);
    assert_int_equal(s->steps[1].step_ns, 7000); /* to the end of what it launched */
    assert_int_equal(device(0)->steps_ns, 12000);
    char two[2048];
    static const char *const data[] = {"data", "Data Loading", "dataloading", "Load_Data", "data_loader"};
    static const char *const others[] = {"metadata", "data_parallel", "dataset", "data transfer"};
    for (size_t i = 0; i < sizeof data / sizeof *data + sizeof others / sizeof *others; i++) {
        size_t n = sizeof data / sizeof *data;
        snprintf(two, sizeof two, "%s;UPDATE NVTX_EVENTS SET text = '%s' WHERE text = 'dataloader'", made,
                 i < n ? data[i] : others[i - n]);
        assert_int_equal(import_sql(two), 0);
        assert_int_equal(run->traces[0].steps.steps[0].part_ns[CAT_DATA], i < n ? 500 : 0);
    }
    static const char *const called[] = {"step 7/100", "iter_7", "epoch 3 step 7 of 9", "batch 7"};
    for (size_t i = 0; i < sizeof called / sizeof *called; i++) { /* a batch beside a step is not a step */
        snprintf(two, sizeof two, "%s;UPDATE NVTX_EVENTS SET text = '%s' WHERE text = 'iteration 7'", made, called[i]);
        assert_int_equal(import_sql(two), 0);
        assert_int_equal(run->traces[0].steps.n_steps, *called[i] == 'b' ? 1 : 2);
        assert_int_equal(run->traces[0].steps.steps[0].step, *called[i] == 'b' ? 8 : 7);
    }
    snprintf(
        two, sizeof two,
        "%s;UPDATE NVTX_EVENTS SET text = 'batch ' || (start / 5000) WHERE text LIKE '%%S%%#8' OR text LIKE 'iter%%'",
        made);
    assert_int_equal(import_sql(two), 0);
    assert_int_equal(run->traces[0].steps.n_steps, 2);
    assert_int_equal(run->traces[0].steps.steps[1].step, 1);
    snprintf(two, sizeof two, "%s;INSERT INTO NVTX_EVENTS VALUES(0,5000,59,'step',%d)", made, 1 << 25);
    assert_int_equal(import_sql(two), 0);
    assert_int_equal(run->traces[0].steps.n_steps, 0);
    assert_gap(run, 0, PHRASE_NSYS_STEPS);
    /* Two micro-batches in each step, the optimiser behind them. */
    snprintf(two, sizeof two,
             "%s;INSERT INTO NVTX_EVENTS VALUES(700,800,59,'backward',1),(900,950,59,'backward',1),"
             "(1000,1100,59,'optimizer',1),(5100,5200,59,'backward',1),(5300,5400,59,'backward',1),"
             "(5600,5700,59,'optimizer',1)",
             made);
    assert_int_equal(import_sql(two), 0);
    assert_int_equal(run->traces[0].accumulation.micro_batches, 2);
    assert_string_equal(run->traces[0].accumulation.by, "backward passes");
}

static ssize_t text_read(void *ctx, void *out, size_t n, struct dcr_err *err)
{
    (void)err;
    const char **p = ctx;
    size_t k = strlen(*p) < n ? strlen(*p) : n;
    memcpy(out, *p, k);
    *p += k;
    return (ssize_t)k;
}

/* The first existing name of a kernel is used: texts may be missing, or ids of none. */
static void test_names(void **state)
{
    (void)state;
    assert_int_equal(
        import_sql("CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"
                   "INSERT INTO StringIds VALUES(1,'_Z4nccl'),(2,''),(3,'short');"
                   "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(mangledName, start INT, end INT, shortName, demangledName);"
                   "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(1,0,10,99,NULL),(1,10,30,2,99),(1,30,60,3,2),"
                   "(1,60,100,3,'gemm')"),
        0);
    assert_int_equal(device(0)->value[DEV_COMM_KERNELS], 2);
    assert_int_equal(device(0)->value[DEV_COMM], 30);
    assert_int_equal(device(0)->n_names, 3);
    assert_string_equal(device(0)->names[0].name, "gemm");
    assert_string_equal(device(0)->names[2].name, "short");
}

/* Two processes, which number the GPUs that they see each from 0; globalPid holds the process in bits 24 to 47. */
#define PROCESSES                                                                                                     \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INT, end INT, deviceId INT, globalPid INT, shortName, gridX INT, " \
    "gridY INT, gridZ INT);"                                                                                          \
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(0,10,0,(1<<48)+(5<<24),'k',10,1,1),"                               \
    "(5,20,%d,(1<<48)+(6<<24),'k',10,1,1),(30,40,0,(1<<48)+(5<<24),'k',10,1,1);"                                      \
    "CREATE TABLE TARGET_INFO_GPU(id INT, name TEXT, smCount INT);"                                                   \
    "INSERT INTO TARGET_INFO_GPU VALUES(0,'first',10),(1,'second',20),(2,'third',30);"
#define MAP "CREATE TABLE TARGET_INFO_CUDA_DEVICE(gpuId INT, cudaId INT, pid INT);"

static int import_processes(int second, const char *map)
{
    char sql[2048];
    int n = snprintf(sql, sizeof sql, PROCESSES, second);
    snprintf(sql + n, sizeof sql - (size_t)n, "%s", map);
    return import_sql(sql);
}

static void test_processes(void **state)
{
    (void)state;
    /* one number, two GPUs */
    assert_int_equal(
        import_processes(0, MAP "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES(0,0,5),(1,1,5),(2,0,6),(0,1,6)"), 0);
    assert_int_equal(run->traces[0].n_devices, 2);
    assert_int_equal(device(0)->device, 0);
    assert_int_equal(device(0)->value[DEV_SPAN], 40);
    assert_int_equal(device(0)->value[DEV_BUSY], 20);
    assert_int_equal(device(1)->device, 2);
    assert_int_equal(device(1)->value[DEV_SPAN], 15);
    assert_string_equal(device(1)->model, "third");
    assert_true(device(1)->sm_ratio > 0.333 && device(1)->sm_ratio < 0.334); /* 10 blocks on its 30 SMs */
    assert_int_equal(run->n_gaps, 0);
    /* two numbers, one GPU */
    assert_int_equal(import_processes(1, MAP "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES(1,0,5),(1,1,6)"), 0);
    assert_int_equal(run->traces[0].n_devices, 1);
    assert_int_equal(device(0)->device, 1);
    assert_int_equal(device(0)->value[DEV_BUSY], 30);
    assert_string_equal(device(0)->model, "second");
    /* all mean the same GPU: the numbers stay, and the GPU is named */
    assert_int_equal(import_processes(1, MAP "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES(2,0,5),(1,1,5),(1,1,6)"), 0);
    assert_int_equal(run->traces[0].n_devices, 2);
    assert_int_equal(device(0)->device, 0);
    assert_string_equal(device(0)->model, "third");
    assert_int_equal(device(1)->device, 1);
    /* nothing tells which GPU: reported if there are several */
    assert_int_equal(import_processes(0, ""), 0);
    assert_int_equal(run->traces[0].n_devices, 1);
    assert_int_equal(device(0)->value[DEV_BUSY], 30);
    assert_int_equal(run->n_gaps, 1);
    assert_int_equal(assert_gap(run, 0, PHRASE_NSYS_DEVICES)[1].count, 0);
    assert_int_equal(import_processes(1, ""), 0);
    assert_int_equal(run->n_gaps, 0);
    assert_int_equal(import_processes(0, "DELETE FROM TARGET_INFO_GPU WHERE id > 0"), 0);
    assert_int_equal(run->n_gaps, 0);
}

static struct dcr_err said;

static int import_csv(const char *text)
{
    run_free(run);
    run = run_new("t");
    said = (struct dcr_err){0};
    struct dcr_stream s = {text_read, &text, "raw"};
    return import_foreign(run, "t.csv", &s, &said);
}

/* Digits in groups are read, commas that may be those of fractions refused; a call without a time is said. */
static void test_grouped(void **state)
{
    (void)state;
#define GPU "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,Device,Strm,Name\n"
#define REST ",1,1,1,1,X (0),7,k\n"
    assert_int_equal(import_csv(GPU "\"1,000\",\"2,000,500\"" REST "3000000,500" REST "3 000,5" REST), 0);
    assert_int_equal(device(0)->value[DEV_KERNEL_SUM], 2001000);
    assert_int_equal(device(0)->value[DEV_SPAN], 3000500 - 1000);
    assert_int_equal(run->traces[0].n_unusable, 1);
    static const char *const unclear[] = {"\"1,5\"",  "\"0,123\"", "\"1,0000\"", "\"1.000,500\"",
                                          "\",100\"", "\"1,\"",    "\"1,000x\"", "\"1000,000\""};
    char text[512];
    for (size_t i = 0; i < sizeof unclear / sizeof *unclear; i++) {
        snprintf(text, sizeof text, GPU "1000,200" REST "5000,%s" REST, unclear[i]);
        assert_int_equal(import_csv(text), DCR_FAIL);
        assert_non_null(strstr(said.text, "on line 3"));
        assert_int_equal(run->n_traces, 0);
    }
#define API "Start (ns),Duration (ns),Name,Result,CorrID,Pid,Tid\n"
    assert_int_equal(import_csv(API "1,\"1,000\",cudaMalloc,0,1,1,1\n5,x,cudaMalloc,0,1,1,1\n"), 0);
    assert_string_equal(run->tables[0].cells[2], "1000");
    assert_int_equal(assert_gap(run, 0, PHRASE_TRACE_UNTIMED)[0].count, 1);
    assert_int_equal(import_csv(API "1,\"1,5\",cudaMalloc,0,1,1,1\n"), DCR_FAIL);
    assert_int_equal(import_csv("Start (ly),Duration (ly),CorrId,GrdX,Name\n1,2,3,4,k\n"), DCR_FAIL);
    assert_non_null(strstr(said.text, "lacks columns of an nsys trace"));
}

/* A program that was stopped while it wrote: complete rows count. Short rows before the end are counted. */
static void test_cut(void **state)
{
    (void)state;
    static const char *const cut[] = {"5000,1", "5000,100,1,1,1,1,X (0),7", "5000,100,1,1,1,1,\"X (0"};
    char text[512];
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++) {
        snprintf(text, sizeof text, GPU "1000,200" REST "%s", cut[i]);
        assert_int_equal(import_csv(text), 0);
        assert_int_equal(device(0)->value[DEV_KERNELS], 1);
        assert_int_equal(run->n_gaps, 1);
        assert_gap(run, 0, PHRASE_LAST_LINE_CUT);
        snprintf(text, sizeof text, GPU "%s\n1000,200" REST, i < 2 ? cut[i] : cut[0]);
        assert_int_equal(import_csv(text), 0);
        assert_int_equal(device(0)->value[DEV_KERNELS], 1);
        assert_int_equal(run->n_gaps, 1);
        assert_int_equal(assert_gap(run, 0, PHRASE_ROWS_LEFT_OUT)[0].count, 1);
    }
    assert_int_equal(import_csv(API "1,5,cudaMalloc,0,1,1,1\n2,5,cuda"), 0);
    assert_string_equal(run->tables[0].cells[1], "1");
    assert_int_equal(run->n_gaps, 1);
}

/* The time of recording of a file is found without reading it; other files have none. */
static void test_recorded(void **state)
{
    (void)state;
#define WHEN(begin, duration)                                                    \
    "CREATE TABLE TARGET_INFO_SESSION_START_TIME(utcEpochNs INT, utcTime TEXT);" \
    "CREATE TABLE ANALYSIS_DETAILS(globalVid INT, duration INT);"                \
    "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES(" begin                   \
    ", ''); INSERT INTO ANALYSIS_DETAILS VALUES(1, " duration ")"
    static const struct {
        const char *sql;
        size_t n_cut;
        int is_known;
    } cases[] = {
        {WHEN("1779787126655288414", "138034202235"), 0, 1},
        {WHEN("0", "5"), 0, 0},
        {WHEN("5", "0"), 0, 0},
        {WHEN("5", "9223372036854775807"), 0, 0},
        {WHEN("'x'", "'y'"), 0, 0},
        {"CREATE TABLE ANALYSIS_DETAILS(duration INT); INSERT INTO ANALYSIS_DETAILS VALUES(7)", 0, 0},
        {"CREATE VIEW TARGET_INFO_SESSION_START_TIME AS SELECT 5 AS utcEpochNs;"
         "CREATE VIEW ANALYSIS_DETAILS AS SELECT 5 AS duration",
         0, 0},
        {"CREATE TABLE TARGET_INFO_SESSION_START_TIME(x INT, utcEpochNs INT AS (5));" /* whatever it computes */
         "CREATE TABLE ANALYSIS_DETAILS(duration INT); INSERT INTO ANALYSIS_DETAILS VALUES(7);"
         "INSERT INTO TARGET_INFO_SESSION_START_TIME(x) VALUES(1)",
         0, 0},
        {WHEN("5", "5"), 4096, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        FILE *f = made_file(cases[i].sql, cases[i].n_cut, 0, 0);
        int64_t begin = 0, end = 0;
        char path[] = "test_nsys-XXXXXX", bytes[1 << 15]; /* with a name, as those of users */
        int fd = mkstemp(path);
        assert_true(fd >= 0);
        size_t n = fread(bytes, 1, sizeof bytes, f);
        assert_int_equal(write(fd, bytes, n), n);
        assert_int_equal(nsys_file_recorded(fd, &begin, &end), cases[i].is_known);
        close(fd);
        unlink(path);
        if (cases[i].is_known) {
            assert_int_equal(begin, 1779787126655288414);
            assert_int_equal(end - begin, 138034202235);
        }
        fclose(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_occupancy),
                                       cmocka_unit_test(test_damaged_gpu),
                                       cmocka_unit_test_teardown(test_no_room, forget),
                                       cmocka_unit_test(test_recorded),
                                       cmocka_unit_test_teardown(test_occupancy_of_export, forget),
                                       cmocka_unit_test_teardown(test_two_devices, forget),
                                       cmocka_unit_test_teardown(test_ranges, forget),
                                       cmocka_unit_test_teardown(test_steps, forget),
                                       cmocka_unit_test_teardown(test_little, forget),
                                       cmocka_unit_test_teardown(test_damaged, forget),
                                       cmocka_unit_test_teardown(test_damaged_middle, forget),
                                       cmocka_unit_test_teardown(test_view, forget),
                                       cmocka_unit_test_teardown(test_unreadable, forget),
                                       cmocka_unit_test_teardown(test_endless, forget),
                                       cmocka_unit_test_teardown(test_host_losses, forget),
                                       cmocka_unit_test_teardown(test_none, forget),
                                       cmocka_unit_test_teardown(test_names, forget),
                                       cmocka_unit_test_teardown(test_processes, forget),
                                       cmocka_unit_test_teardown(test_grouped, forget),
                                       cmocka_unit_test_teardown(test_cut, forget)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
