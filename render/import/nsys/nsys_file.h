/* nsys_file.h - read an untrusted SQLite file. SQLite returns fewer rows without an error if a file was cut or its
 * pages are inconsistent, so that is checked first. In such a file the rows before the damage are read, and the lost
 * ones are counted. Views are refused, because they can have endless rows. Inside render/import only. source: "Database
 * File Format", https://www.sqlite.org/fileformat2.html. Test: tests/unit/test_nsys.c */
#ifndef RENDER_IMPORT_NSYS_NSYS_FILE_H
#define RENDER_IMPORT_NSYS_NSYS_FILE_H

#include "lib/base/stream.h"

#include <sqlite3.h>
#include <stdint.h>

/* Initialise to zero. */
struct nsys_file {
    sqlite3 *db;
    const char *name; /* for messages */
    int64_t n_left;   /* instructions of SQLite's machine before reading is given up */
    int code;         /* of the first failure; SQLITE_OK = none */
    char why[256];
    struct dcr_err why_damaged; /* "" = complete and consistent */
    int64_t n_missing_bytes;    /* of the end of a file that was cut */
    int n_lost_tables;          /* tables that were not read to their ends */
    int64_t n_lost_rows;        /* rows lost in these tables */
    int is_loss_unknown;        /* for at least one of them the number is unknown */
    const sqlite3_stmt *last;   /* the statement that gave n_rows rows */
    int64_t n_rows;
};

/** nsys_file_open - open the stream's bytes, by a temporary file.
 *  s        borrows; from its first byte
 *  errors   DCR_FAIL: no SQLite, damaged where its tables are named, or with views or computed columns where nsys
 * writes plain tables f        close with nsys_file_close, whatever is returned */
int nsys_file_open(struct nsys_file *f, struct dcr_stream *s, struct dcr_err *err) DCR_MUST_CHECK;
/** nsys_file_refuse - err gets why the file is damaged. returns  DCR_FAIL */
int nsys_file_refuse(const struct nsys_file *f, struct dcr_err *err);
/** nsys_file_query - a statement, ready for nsys_file_next; release with sqlite3_finalize.
 *  returns  NULL when a table or column is not there, or after a failure, which is kept */
sqlite3_stmt *nsys_file_query(struct nsys_file *f, const char *sql);
/** nsys_file_query_known - the same for a table and columns that are known to exist: a missing one is a failure.
 *  returns  NULL after a failure, which is kept */
sqlite3_stmt *nsys_file_query_known(struct nsys_file *f, const char *sql);
/** nsys_file_next - is there another row? 0 at the end or after a failure, which is kept. q: may be NULL */
int nsys_file_next(struct nsys_file *f, sqlite3_stmt *q);
/** nsys_file_check - did all reading succeed? errors  DCR_FAIL with the first failure */
int nsys_file_check(const struct nsys_file *f, struct dcr_err *err) DCR_MUST_CHECK;
void nsys_file_close(struct nsys_file *f);

/** nsys_file_recorded - when a file was recorded, by the clock of its machine, without reading what it recorded.
 *  fd         borrows; of a file that has a name
 *  begin_ns, end_ns  since 1970; overwritten
 *  returns    0 when the file does not say it, or is damaged there
 *  source     tables TARGET_INFO_SESSION_START_TIME (utcEpochNs) and ANALYSIS_DETAILS (duration, ns) */
int nsys_file_recorded(int fd, int64_t *begin_ns, int64_t *end_ns);

#endif
