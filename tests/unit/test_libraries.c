/* test_libraries.c - collect/libraries: the list of what a maps file shows, when it is looked at, and versions. */
#include "collect/record/libraries.h"

#include "lib/base/fs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

static json_t *after(void (*prepare)(struct libraries *))
{
    struct libraries *l = libraries_new();
    assert_non_null(l);
    prepare(l);
    json_t *o = libraries_describe(l);
    libraries_free(l);
    return o;
}

static void two_ranks(struct libraries *l)
{
    static const char maps[] =
        "7f00-7f01 r--p 00000000 08:01 1   /lib/libz.so.1.2.13\n7f01-7f02 r-xp 00001000 08:01 1   /lib/libz.so.1.2.13\n"
        "7f02-7f03 r-xp 00000000 08:01 2   /opt/my mpi/libmpi.so.40.30.4\n7f03-7f04 r-xp 00000000 00:00 0 \n"
        "7f04-7f05 r-xp 00000000 08:01 3   /usr/bin/python3.11\n7f05-7f06 r-xp 00000000 00:00 0   [vdso]\n"
        "7f06-7f07 r-xp 00000000 08:01 4   /x/lib/dcreport/libdccollect-io.so\n"
        "7f07-7f08 r--p 00000000 08:01 5   /data/only_read.so\n7f08-7f09 r-xp 00000000 08:01 6   /cut";
    libraries_take(l, maps, 3);
    libraries_take(l, maps, 3);
    libraries_take(l, "7f-8f r-xp 0 08:01 1 /x/libnccl.so.2\n7f-8f r-xp 0 08:01 1 /a/libc.so.6\n", -1);
    libraries_take(l, "7f-8f r-xp 0 08:01 1 /bin/static\n", 4);
}

static void many(struct libraries *l)
{
    char line[64];
    for (int i = 0; i < LIBRARIES_MOST + 5; i++) {
        snprintf(line, sizeof line, "7f-8f r-xp 0 08:01 1 /lib/lib%d.so\n", i);
        libraries_take(l, line, 0);
    }
}

static void libraries_are_listed(void **state)
{
    (void)state;
    json_t *got = after(two_ranks);
    char *text = json_dumps(got, JSON_COMPACT | JSON_SORT_KEYS);
    assert_string_equal(text, "[{\"paths\":[\"/a/libc.so.6\",\"/x/libnccl.so.2\"]},"
                              "{\"paths\":[\"/lib/libz.so.1.2.13\",\"/opt/my mpi/libmpi.so.40.30.4\"],\"rank\":3},"
                              "{\"missing\":{\"paths\":\"no process of it had a shared object mapped: statically "
                              "linked, or it ended at once\"},\"paths\":[],\"rank\":4}]");
    free(text);
    json_t *versions = libraries_versions(got, 0);
    text = json_dumps(versions, JSON_COMPACT | JSON_SORT_KEYS);
    assert_string_equal(
        text, "{\"mpi\":{\"missing\":{\"says\":\"only the collector of rank 0 asks\"},\"path\":\"/opt/my "
              "mpi/libmpi.so.40.30.4\",\"version\":\"40.30.4\"},"
              "\"nccl\":{\"missing\":{\"says\":\"only the collector of rank 0 asks\"},\"path\":\"/x/libnccl.so.2\","
              "\"version\":\"2\"}}");
    free(text);
    json_decref(versions);
    json_decref(got);
    got = after(many);
    assert_int_equal(json_array_size(json_object_get(json_array_get(got, 0), "paths")), LIBRARIES_MOST);
    assert_true(json_is_true(json_object_get(json_array_get(got, 0), "is_cut")));
    json_decref(got);
    int64_t due = 0, gap = 0, n = 0;
    for (int64_t now = 1; now < INT64_C(3600000000000); now += 100000000)
        n += libraries_is_due(now, &due, &gap);
    assert_in_range(n, 360, 390); /* of an hour */
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
    json_t *list = json_pack("[{s:[s]}]", "paths", path), *versions = libraries_versions(list, 60000);
    const char *says = json_string_value(json_object_get(json_object_get(versions, "mpi"), "says"));
    assert_true(says && strstr(says, "MPI"));
    json_decref(versions);
    json_decref(list);
    list = json_pack("[{s:[s]}]", "paths", "/nowhere/libmpi.so.40");
    versions = libraries_versions(list, 60000);
    const json_t *mpi = json_object_get(versions, "mpi");
    assert_null(json_object_get(mpi, "says"));
    assert_non_null(json_object_get(json_object_get(mpi, "missing"), "says"));
    json_decref(versions);
    json_decref(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(libraries_are_listed),
        cmocka_unit_test(mpi_says_its_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
