/* trainer_files.h - scratch files and the shared real data for the trainer's unit tests. */
#ifndef TESTS_TRAINER_FILES_H
#define TESTS_TRAINER_FILES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <archive.h>
#include <archive_entry.h>
#include <cmocka.h>

static char scratch[256];

static inline int scratch_make(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    snprintf(scratch, sizeof scratch, "%.200s/dcr-unit-XXXXXX", tmp ? tmp : "/tmp");
    return mkdtemp(scratch) ? 0 : -1;
}

static inline int scratch_remove(void **state)
{
    (void)state;
    char command[320];
    snprintf(command, sizeof command, "rm -rf '%s'", scratch);
    return system(command);
}

/* Path of a file in the scratch folder; the latest four answers stay valid. */
static inline const char *scratch_path(const char *name)
{
    static char path[4][512];
    static int k;
    k = (k + 1) % 4;
    snprintf(path[k], sizeof path[k], "%s/%s", scratch, name);
    return path[k];
}

static inline const char *scratch_file(const char *name, const char *text)
{
    const char *path = scratch_path(name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fputs(text, f) < 0, 0);
    assert_int_equal(fclose(f), 0);
    return path;
}

/* A .npz of arrays whose n bytes all are `value`. A header has type and shape, as "|u1', 'shape': (2, 3)". */
struct scratch_array {
    const char *name, *header;
    size_t n;
    int value;
};

static inline const char *scratch_npz(const char *file, const struct scratch_array *arrays, size_t n_arrays)
{
    const char *path = scratch_path(file);
    struct archive *zip = archive_write_new();
    struct archive_entry *entry = archive_entry_new();
    assert_int_equal(archive_write_set_format_zip(zip) || archive_write_open_filename(zip, path), 0);
    for (size_t i = 0; i < n_arrays; i++) {
        char bytes[1024] = "\x93NUMPY\1";
        int n = snprintf(bytes + 10, 200, "{'descr': '%s, 'fortran_order': False, }\n", arrays[i].header);
        bytes[8] = (char)n;
        memset(bytes + 10 + n, arrays[i].value, arrays[i].n);
        archive_entry_clear(entry);
        archive_entry_set_pathname(entry, arrays[i].name);
        archive_entry_set_filetype(entry, AE_IFREG);
        archive_entry_set_perm(entry, 0600);
        archive_entry_set_size(entry, 10 + n + (la_int64_t)arrays[i].n);
        assert_int_equal(archive_write_header(zip, entry), ARCHIVE_OK);
        assert_int_equal(archive_write_data(zip, bytes, 10 + (size_t)n + arrays[i].n), 10 + n + (int)arrays[i].n);
    }
    archive_entry_free(entry);
    assert_int_equal(archive_write_free(zip), ARCHIVE_OK);
    return path;
}

/* Path of a real data file; skips the test, visibly, when the data are not there. */
static inline const char *traffic_file(const char *name)
{
    static char path[4][512];
    static int k;
    const char *shared = getenv("SHARED");
    k = (k + 1) % 4;
    snprintf(path[k], sizeof path[k], "%.300s/data/traffic/%s", shared ? shared : "../shared", name);
    if (access(path[k], R_OK)) {
        print_message("skipped: '%s' is absent\n", path[k]);
        skip();
    }
    return path[k];
}

#define assert_sentence(err, part)                              \
    do {                                                        \
        if (!strstr((err).text, part))                          \
            fail_msg("expected '%s' in: %s", part, (err).text); \
    } while (0)

#endif
