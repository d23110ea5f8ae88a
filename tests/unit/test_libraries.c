/* test_libraries.c - collect/record/libraries: the content of a maps file, the times of looks, and versions. */
#include "collect/record/libraries.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void versions_are_of_the_first_of_each_kind(void **state)
{
    (void)state;
    static const char maps[] = "7f00-7f01 r--p 00000000 08:01 1   /lib/libz.so.1.2.13\n"
                               "7f02-7f03 r-xp 00000000 08:01 2   /opt/my mpi/libmpi.so.40.30.4\n"
                               "7f03-7f04 r-xp 00000000 00:00 0 \n"
                               "7f06-7f07 r-xp 00000000 08:01 4   /x/lib/dcreport/libdccollect-mpi.so\n"
                               "7f08-7f09 r-xp 00000000 08:01 6   /cut";
    struct libraries *l = libraries_new();
    assert_non_null(l);
    assert_null(libraries_versions(l, 0));
    libraries_take(l, maps);
    libraries_take(l, "7f-8f r-xp 0 08:01 1 /x/libnccl.so.2\n7f-8f r-xp 0 08:01 1 /other/libmpi.so.12");
    json_t *versions = libraries_versions(l, 0);
    char *text = json_dumps(versions, JSON_COMPACT | JSON_SORT_KEYS);
    assert_string_equal(
        text, "{\"mpi\":{\"missing\":{\"says\":\"only the collector of rank 0 asks\"},\"path\":\"/opt/my "
              "mpi/libmpi.so.40.30.4\",\"version\":\"40.30.4\"},"
              "\"nccl\":{\"missing\":{\"says\":\"only the collector of rank 0 asks\"},\"path\":\"/x/libnccl.so.2\","
              "\"version\":\"2\"}}");
    free(text);
    json_decref(versions);
    libraries_free(l);
}

static void looks_come_ever_more_seldom(void **state)
{
    (void)state;
    int64_t due = 0, gap = 0, n = 0;
    for (int64_t now = 1; now < INT64_C(3600000000000); now += 100000000)
        n += libraries_is_due(now, &due, &gap);
    assert_in_range(n, 360, 390); /* of an hour */
}

/* The result for an MPI whose path is mapped. gives */
static json_t *asked(const char *path)
{
    char maps[600];
    struct libraries *l = libraries_new();
    assert_non_null(l);
    snprintf(maps, sizeof maps, "7f-8f r-xp 0 08:01 1 %s\n", path);
    libraries_take(l, maps);
    json_t *versions = libraries_versions(l, 60000), *mpi = json_incref(json_object_get(versions, "mpi"));
    json_decref(versions);
    libraries_free(l);
    return mpi;
}

static void mpi_says_its_version(void **state)
{
    (void)state;
    char path[512] = "";
    FILE *f =
        popen("/sbin/ldconfig -p 2>/dev/null | sed -n 's,.*=> \\(.*/libmpi\\.so[.0-9]*\\)$,\\1,p' | head -n 1", "r");
    assert_non_null(f);
    const char *got = fgets(path, sizeof path, f);
    pclose(f);
    if (!got)
        skip();
    path[strcspn(path, "\n")] = '\0';
    json_t *mpi = asked(path);
    const char *says = json_string_value(json_object_get(mpi, "says"));
    assert_true(says && strstr(says, "MPI"));
    json_decref(mpi);
    mpi = asked("/nowhere/libmpi.so.40");
    assert_null(json_object_get(mpi, "says"));
    assert_non_null(json_object_get(json_object_get(mpi, "missing"), "says"));
    json_decref(mpi);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_are_of_the_first_of_each_kind),
        cmocka_unit_test(looks_come_ever_more_seldom),
        cmocka_unit_test(mpi_says_its_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
