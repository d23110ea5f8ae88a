/* nsys_file.h - an SQLite file of somebody's: whole, or refused, and read to an end. A file that was cut, or whose
 * pages do not fit each other, gives fewer rows without an error of SQLite's. A view can have rows without end: only
 * tables are read. Inside render/import only. source: "Database File Format", https://www.sqlite.org/fileformat2.html.
 * Test: tests/unit/test_nsys.c */
#ifndef RENDER_IMPORT_NSYS_FILE_H
#define RENDER_IMPORT_NSYS_FILE_H

#include "lib/stream.h"

#include <sqlite3.h>
#include <stdint.h>

/* Zero to begin with. */
struct nsys_file {
    sqlite3 *db;
    const char *name; /* for messages */
    int64_t n_left;   /* instructions of SQLite's machine before reading is given up */
    int code;         /* of the first failure; SQLITE_OK */
    char why[256];
};

/** nsys_file_open - the stream's bytes, through a temporary file.
 *  s        borrows; from its first byte
 *  errors   DCR_FAIL: cut, damaged, no SQLite, or with views where nsys writes tables
 *  f        close with nsys_file_close, whatever is returned */
int nsys_file_open(struct nsys_file *f, struct dcr_stream *s, struct dcr_err *err) DCR_MUST_CHECK;
/** nsys_file_query - a statement, ready for nsys_file_next; release with sqlite3_finalize.
 *  returns  NULL when a table or column is not there, or after a failure, which is kept */
sqlite3_stmt *nsys_file_query(struct nsys_file *f, const char *sql);
/** nsys_file_query_known - the same, where the table and its columns are known to be there: that there is no statement
 *  is a failure then. returns  NULL after a failure, which is kept */
sqlite3_stmt *nsys_file_query_known(struct nsys_file *f, const char *sql);
/** nsys_file_next - is there another row? No: the end, or a failure, which is kept. q: may be NULL */
int nsys_file_next(struct nsys_file *f, sqlite3_stmt *q);
/** nsys_file_check - has everything been read? errors  DCR_FAIL with the first failure */
int nsys_file_check(const struct nsys_file *f, struct dcr_err *err) DCR_MUST_CHECK;
void nsys_file_close(struct nsys_file *f);

#endif
