/* nsys_file.c - see nsys_file.h. */
#include "render/import/nsys/nsys_file.h"

#include "lib/base/fs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Limits on instructions of SQLite's machine: LOOK between two checks, FOR_ALL for any file, and FOR_A_BYTE more for
 * each byte. A row takes about 100 instructions and is longer than a byte. */
enum { LOOK = 10000, FOR_ALL = 10000000, FOR_A_BYTE = 200, LONGEST_TEXT = 16 << 20, HEADER_BYTES = 100 };

static int64_t big_endian(const unsigned char *p, int n)
{
    int64_t v = 0;
    for (int i = 0; i < n; i++)
        v = v << 8 | p[i];
    return v;
}

/* SQLite reads a truncated file without an error, as if the missing bytes were zero. Incomplete pages of a cut file are
 * therefore set to zero, which is no valid page of a table, so that reading one fails. */
static int check_size(struct nsys_file *f, int fd, struct dcr_err *err)
{
    unsigned char head[HEADER_BYTES];
    struct stat st;
    if (fstat(fd, &st) || pread(fd, head, sizeof head, 0) != (ssize_t)sizeof head)
        return dcr_err_set(err, DCR_FAIL, "'%s' is shorter than the header of SQLite: it was cut; copy it again",
                           f->name);
    int64_t page = big_endian(head + 16, 2), n = big_endian(head + 28, 4);
    int has_count = n > 0 && big_endian(head + 24, 4) == big_endian(head + 92, 4);
    page = page == 1 ? 65536 : page;
    f->n_left = FOR_ALL + (int64_t)st.st_size * FOR_A_BYTE;
    if (has_count && st.st_size < n * page) {
        f->n_missing_bytes = n * page - st.st_size;
        dcr_err_set(&f->why_damaged, DCR_FAIL,
                    "'%s' has %lld bytes, but its header says %lld: it was cut; copy or export it again", f->name,
                    (long long)st.st_size, (long long)(n * page));
        if (st.st_size < page || ftruncate(fd, (off_t)(st.st_size / page * page)) || ftruncate(fd, (off_t)(n * page)))
            return nsys_file_refuse(f, err);
    }
    return 0;
}

int nsys_file_refuse(const struct nsys_file *f, struct dcr_err *err)
{
    if (err)
        *err = f->why_damaged;
    return DCR_FAIL;
}

static int look(void *ctx)
{
    struct nsys_file *f = ctx;
    f->n_left -= LOOK;
    return f->n_left < 0;
}

static void keep_failure(struct nsys_file *f)
{
    if (f->code != SQLITE_OK)
        return;
    f->code = sqlite3_errcode(f->db);
    snprintf(f->why, sizeof f->why, "%s",
             f->n_left < 0 ? "reading it takes too long for its size" : sqlite3_errmsg(f->db));
}

sqlite3_stmt *nsys_file_query(struct nsys_file *f, const char *sql)
{
    sqlite3_stmt *q = NULL;
    int rc = f->code == SQLITE_OK ? sqlite3_prepare_v2(f->db, sql, -1, &q, NULL) : SQLITE_ERROR;
    if (rc != SQLITE_OK && rc != SQLITE_ERROR) /* SQLITE_ERROR: no such table or column */
        keep_failure(f);
    f->last = NULL; /* a statement that is released may leave its address */
    return q;
}

sqlite3_stmt *nsys_file_query_known(struct nsys_file *f, const char *sql)
{
    sqlite3_stmt *q = nsys_file_query(f, sql);
    if (!q)
        keep_failure(f);
    return q;
}

/* A damaged page of the table that q reads: what follows it is not read. Rows of an export are numbered from 1. */
static void count_lost(struct nsys_file *f, sqlite3_stmt *q)
{
    const char *from = NULL;
    char sql[128];
    sqlite3_stmt *last = NULL;
    int64_t n = -1;
    for (const char *p = sqlite3_sql(q); (p = strstr(p, " FROM ")) != NULL; p++)
        from = p; /* the last: others are in brackets before it */
    f->n_lost_tables++;
    if (from) {
        snprintf(sql, sizeof sql, "SELECT max(rowid) FROM %.*s", (int)strcspn(from + 6, " "), from + 6);
        if (sqlite3_prepare_v2(f->db, sql, -1, &last, NULL) == SQLITE_OK && sqlite3_step(last) == SQLITE_ROW)
            n = sqlite3_column_int64(last, 0);
        sqlite3_finalize(last);
    }
    f->n_lost_rows += n > f->n_rows ? n - f->n_rows : 0;
    f->is_loss_unknown |= n <= f->n_rows;
}

int nsys_file_next(struct nsys_file *f, sqlite3_stmt *q)
{
    if (!q || f->code != SQLITE_OK)
        return 0;
    int rc = sqlite3_step(q);
    f->n_rows = q == f->last ? f->n_rows : 0;
    f->last = q;
    f->n_rows += rc == SQLITE_ROW;
    if ((rc & 0xff) == SQLITE_CORRUPT && *f->why_damaged.text)
        count_lost(f, q);
    else if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        keep_failure(f);
    return rc == SQLITE_ROW;
}

int nsys_file_check(const struct nsys_file *f, struct dcr_err *err)
{
    return f->code == SQLITE_OK
               ? 0
               : dcr_err_set(err, DCR_FAIL, "'%s' is a damaged SQLite file: %s; export it again", f->name, f->why);
}

/* nsys writes plain tables. Views and computed columns could be computed without end. */
static int check_tables(struct nsys_file *f, struct dcr_err *err)
{
    int rc = 0;
    sqlite3_stmt *q =
        nsys_file_query(f, "SELECT name FROM sqlite_master WHERE type = 'view' AND (name LIKE 'CUPTI\\_%' ESCAPE "
                           "'\\' OR name LIKE 'TARGET\\_%' ESCAPE '\\' OR name IN ('NVTX_EVENTS', 'StringIds'))");
    if (nsys_file_next(f, q))
        rc = dcr_err_set(err, DCR_FAIL, "'%s' has a view %s where nsys writes a table; export it again with nsys",
                         f->name, (const char *)sqlite3_column_text(q, 0));
    sqlite3_finalize(q);
    q = nsys_file_query(f,
                        "SELECT m.name FROM sqlite_master m, pragma_table_xinfo(m.name) c WHERE m.type = 'table' AND "
                        "c.hidden IN (2, 3)");
    if (!rc && nsys_file_next(f, q))
        rc = dcr_err_set(err, DCR_FAIL,
                         "'%s' has a computed column in %s, which nsys does not write; export it again with nsys",
                         f->name, (const char *)sqlite3_column_text(q, 0));
    sqlite3_finalize(q);
    return rc;
}

/* Are its pages consistent? If not, that is kept. */
static int check_content(struct nsys_file *f, struct dcr_err *err)
{
    int rc = check_tables(f, err); /* first, because the check evaluates computed columns */
    sqlite3_stmt *q = rc ? NULL : nsys_file_query(f, "PRAGMA quick_check(1)");
    if (nsys_file_next(f, q) && sqlite3_stricmp((const char *)sqlite3_column_text(q, 0), "ok") != 0 &&
        !f->n_missing_bytes)
        dcr_err_set(&f->why_damaged, DCR_FAIL, "'%s' is a damaged SQLite file: %s; export it again", f->name,
                    (const char *)sqlite3_column_text(q, 0));
    sqlite3_finalize(q);
    return rc ? rc : nsys_file_check(f, err);
}

/* Copy the stream to a temporary file, because SQLite reads only files. path: gets its name, at least 4096 bytes; ""
 * when there is none. returns  descriptor, or -1 */
static int to_file(struct dcr_stream *s, char *path, struct dcr_err *err)
{
    char piece[65536];
    snprintf(path, 4096, "%s/dcreport-XXXXXX", dcr_temporary_folder());
    int fd = mkstemp(path);
    if (fd < 0) {
        path[0] = '\0';
        dcr_err_sys(err, DCR_FAIL, "cannot copy '%s' to a temporary file; point TMPDIR at a disk with room", s->name);
        return -1;
    }
    ssize_t k;
    while ((k = s->read(s->ctx, piece, sizeof piece, err)) > 0)
        for (ssize_t done = 0, w; done < k; done += w)
            if ((w = write(fd, piece + done, (size_t)(k - done))) <= 0) {
                dcr_err_sys(err, DCR_FAIL, "cannot copy '%s' to a temporary file; point TMPDIR at a disk with room",
                            s->name);
                close(fd);
                return -1;
            }
    if (k == 0)
        return fd;
    close(fd);
    return -1;
}

/* Constraints and views come from the file, which is not trusted. */
static int open_uri(struct nsys_file *f, const char *uri, struct dcr_err *err)
{
    if (sqlite3_open_v2(uri, &f->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL) != SQLITE_OK)
        return dcr_err_set(err, DCR_FAIL, "'%s' cannot be read as SQLite: %s", f->name, sqlite3_errmsg(f->db));
    sqlite3_limit(f->db, SQLITE_LIMIT_LENGTH, LONGEST_TEXT);
    sqlite3_db_config(f->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_db_config(f->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_exec(f->db, "PRAGMA ignore_check_constraints = ON", NULL, NULL, NULL);
    sqlite3_progress_handler(f->db, LOOK, look, f);
    return 0;
}

int nsys_file_open(struct nsys_file *f, struct dcr_stream *s, struct dcr_err *err)
{
    char path[4096], uri[4200];
    *f = (struct nsys_file){.name = s->name};
    int fd = to_file(s, path, err), rc = fd < 0 ? DCR_FAIL : check_size(f, fd, err);
    snprintf(uri, sizeof uri, "file:%s?mode=ro&immutable=1", path);
    if (!rc)
        rc = open_uri(f, uri, err);
    if (!rc)
        rc = check_content(f, err); /* opens the file, so that its name can be removed */
    if (path[0])
        unlink(path);
    if (fd >= 0)
        close(fd);
    return rc;
}

int nsys_file_recorded(int fd, int64_t *begin_ns, int64_t *end_ns)
{
    struct nsys_file f = {.name = ""};
    struct dcr_err err = {0};
    char uri[80];
    int is_known = 0;
    snprintf(uri, sizeof uri, "file:/proc/self/fd/%d?mode=ro&immutable=1", fd);
    if (!open_uri(&f, uri, &err) && !check_tables(&f, &err)) {
        sqlite3_stmt *q = nsys_file_query(&f, "SELECT utcEpochNs, duration FROM TARGET_INFO_SESSION_START_TIME, "
                                              "ANALYSIS_DETAILS LIMIT 1");
        if (nsys_file_next(&f, q)) {
            *begin_ns = sqlite3_column_int64(q, 0);
            is_known = *begin_ns > 0 && !__builtin_add_overflow(*begin_ns, sqlite3_column_int64(q, 1), end_ns) &&
                       *end_ns > *begin_ns;
        }
        sqlite3_finalize(q);
    }
    nsys_file_close(&f);
    return is_known;
}

void nsys_file_close(struct nsys_file *f)
{
    sqlite3_close(f->db);
    f->db = NULL;
}
