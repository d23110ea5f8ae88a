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
