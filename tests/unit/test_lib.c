/* test_lib.c - the small helpers: errors, buffers, arena, files, hashes. */
#include "lib/base/arena.h"
#include "lib/base/buf.h"
#include "lib/base/cgroup.h"
#include "lib/base/cores.h"
#include "lib/base/err.h"
#include "lib/base/fs.h"
#include "lib/base/hash.h"
#include "lib/base/map.h"
#include "lib/base/nearest.h"
#include "lib/base/stream.h"
#include "lib/archive/member.h"
#include "lib/base/text.h"
#include "lib/base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void errors_grow_outwards(void **state)
{
    (void)state;
    struct dcr_err err = {0};
    errno = ENOENT;
    assert_int_equal(dcr_err_sys(&err, DCR_FAIL, "cannot open '%s'", "x"), DCR_FAIL);
    assert_string_equal(err.text, "cannot open 'x': No such file or directory");
    assert_int_equal(dcr_err_while(&err, "reading run %d", 7), DCR_FAIL);
    assert_string_equal(err.text, "reading run 7: cannot open 'x': No such file or directory");
    errno = ENOSPC;
    assert_int_equal(dcr_err_sys(&err, DCR_FAIL, "cannot copy '%s'; look at TMPDIR", "x; y"), DCR_FAIL);
    assert_string_equal(err.text, "cannot copy 'x; y': No space left on device; look at TMPDIR");
    assert_int_equal(dcr_err_set(NULL, DCR_WARN, "nobody listens"), DCR_WARN);
    static const struct {
        int sys;
        const char *advice;
    } of_files[] = {{ENOENT, "check the name"},
                    {ENAMETOOLONG, "give a shorter name"},
                    {EACCES, "check the permissions"},
                    {ENOSPC, "make room there, or name another place"},
                    {EFBIG, "`ulimit -f`"},
                    {EROFS, "name another place"},
                    {EMFILE, "`ulimit -n`"},
                    {ENOMEM, "try again"},
                    {EPIPE, "its reader has ended"},
                    {ETXTBSY, "try again when nothing writes it"},
                    {EIO, "`dmesg`"},
                    {EINVAL, "try again, or name another file"}};
    for (size_t i = 0; i < sizeof of_files / sizeof *of_files; i++) {
        char expected[100];
        snprintf(expected, sizeof expected, "cannot read 'x': %s; ", strerror(of_files[i].sys));
        errno = of_files[i].sys;
        assert_int_equal(dcr_err_file(&err, DCR_FAIL, "cannot read '%s'", "x"), DCR_FAIL);
        assert_memory_equal(err.text, expected, strlen(expected));
        assert_non_null(strstr(err.text, of_files[i].advice));
        assert_int_equal(err.sys, of_files[i].sys);
    }
    errno = ENOENT;
    assert_int_equal(dcr_err_file(&err, DCR_FAIL, "cannot start '%s'; give the whole path", "x"), DCR_FAIL);
    assert_string_equal(err.text, "cannot start 'x': No such file or directory; give the whole path");
    char big[2000];
    memset(big, 'a', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    dcr_err_set(&err, DCR_FAIL, "column '%s'", "\033[31mX\xc2\x9b\xc3\xa9"); /* no escapes reach the terminal */
    assert_string_equal(err.text, "column '?[31mX??\xc3\xa9'");
    dcr_err_set(&err, DCR_FAIL, "%s", big);
    dcr_err_while(&err, "%s", "outer");
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
}

/* Splitting into fault and advice: a semicolon in a name or in a command does not split. */
static void advice_follows_the_last_semicolon(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"'a; b' is empty", "'a; b' is empty"},
        {"'a; b' is empty; copy 'c; d' again", "'a; b' is empty"},
        {"the graph's id 'it's; x' is odd; see it", "the graph's id 'it's; x' is odd"},
        {"'p' is old; convert it: `python3 -c \"import a; print(a)\"`", "'p' is old"},
        {"it ends;", "it ends;"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dcr_err err = {0};
        char why[sizeof err.text];
        (void)dcr_err_set(&err, DCR_FAIL, "%s", cases[i][0]);
        dcr_err_why(&err, why, sizeof why);
        assert_string_equal(why, cases[i][1]);
    }
    struct dcr_err err = {0};
    (void)dcr_err_set(&err, DCR_FAIL, "no speeds");
    assert_int_equal(dcr_err_advise(&err, "give '%s'", "x"), DCR_FAIL);
    assert_string_equal(err.text, "no speeds; give 'x'");
    assert_int_equal(dcr_err_advise(&err, "give 'y'"), DCR_FAIL); /* of two, the later one knows more */
    assert_string_equal(err.text, "no speeds; give 'y'");
    char said[sizeof err.text];
    dcr_err_sentences(&err, said, sizeof said);
    assert_string_equal(said, "no speeds. Give 'y'");
    (void)dcr_err_set(&err, DCR_FAIL, "no speeds");
    dcr_err_sentences(&err, said, sizeof said);
    assert_string_equal(said, "no speeds");
}

/* Invisible characters of every Unicode category are replaced by every printing function; letters are not. */
static void unseen_characters_are_replaced(void **state)
{
    (void)state;
    static const char *const unseen[] = {"\033",         "\x7f",         "\xc2\x85",         "\xc2\x9b",
                                         "\xc2\xad",     "\xd8\x9c",     "\xe1\xa0\x8e",     "\xe2\x80\x8b",
                                         "\xe2\x80\x8f", "\xe2\x80\xa8", "\xe2\x80\xae",     "\xe2\x81\xa0",
                                         "\xe2\x81\xa9", "\xef\xbb\xbf", "\xef\xbf\xb9",     "\xff",
                                         "\xc3",         "\xed\xa0\x80", "\xf3\xa0\x81\x81", "\xf0\x9d\x85\xb3"};
    static const char shown[] = "a\xc3\xa9\xd9\x86\xe6\xbc\xa2\xf0\x9f\x98\x80";
    char text[64], clean[64];
    struct dcr_buf json = {0};
    struct dcr_err err;
    for (size_t i = 0; i < sizeof unseen / sizeof *unseen; i++) {
        snprintf(text, sizeof text, "<%s>", unseen[i]);
        utf8_clean(text, clean, sizeof clean);
        const char *behind = clean + 1;
        for (; strncmp(behind, "\xef\xbf\xbd", 3) == 0; behind += 3)
            ;
        assert_string_equal(behind, ">");
        assert_true(behind > clean + 1);
        dcr_buf_clear(&json);
        text_json(&json, text);
        assert_memory_equal(dcr_buf_text(&json) + 1, clean, strlen(clean));
        dcr_err_set(&err, DCR_FAIL, "%s", text);
        assert_int_equal(strspn(err.text + 1, "?"), strlen(unseen[i]));
        assert_int_equal(strspn(dcr_clean_line(text) + 1, "?"), strlen(unseen[i]));
    }
    snprintf(text, sizeof text, "%s", shown);
    assert_string_equal(dcr_clean_line(text), shown);
    utf8_clean(shown, clean, sizeof clean);
    assert_string_equal(clean, shown);
    snprintf(text, sizeof text, "a\nb\tc\r");
    assert_string_equal(dcr_clean_text(text), "a\nb\tc?");
    assert_string_equal(dcr_clean_line(text), "a?b?c?");
    dcr_buf_clear(&json);
    text_json(&json, "\"\\/\n");
    assert_string_equal(dcr_buf_text(&json), "\"\\\"\\\\/\xef\xbf\xbd\"");
    dcr_buf_release(&json);
}

static void buffers_grow_to_their_ceiling(void **state)
{
    (void)state;
    struct dcr_buf b = {.max = 100};
    for (int i = 0; i < 9; i++)
        dcr_buf_printf(&b, "%010d", i);
    assert_int_equal(b.len, 90);
    assert_false(b.failed);
    dcr_buf_puts(&b, "0123456789");
    assert_true(b.failed);
    assert_int_equal(b.len, 90);
    dcr_buf_clear(&b);
    dcr_buf_putc(&b, 'x');
    assert_string_equal(dcr_buf_text(&b), "x");
    dcr_buf_release(&b);
    assert_string_equal(dcr_buf_text(&b), "");
}

static void arena_is_aligned_and_zeroed(void **state)
{
    (void)state;
    struct dcr_arena a = {0};
    for (size_t n = 1; n < 200000; n = n * 3 + 1) {
        unsigned char *p = dcr_arena_alloc(&a, n);
        assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xff, n);
    }
    assert_string_equal(dcr_arena_strndup(&a, "hello", 3), "hel");
    dcr_arena_release(&a);
}

static void files_come_whole_or_not_at_all(void **state)
{
    (void)state;
    struct dcr_err err = {0};
    char dir[] = "/tmp/test_lib.XXXXXX", path[128], inner[128];
    assert_non_null(mkdtemp(dir));
    snprintf(inner, sizeof inner, "%s/a/b/c", dir);
    assert_int_equal(dcr_mkdirs(inner, &err), 0);
    assert_int_equal(dcr_mkdirs(inner, &err), 0);
    snprintf(path, sizeof path, "%s/a/file", dir);
    assert_int_equal(dcr_write_file(path, "one", 3, &err), 0);
    snprintf(inner, sizeof inner, "%s/a/file/x", dir);
    assert_int_equal(dcr_mkdirs(inner, &err), DCR_FAIL);
    assert_int_equal(dcr_write_file(inner, "two", 3, &err), DCR_FAIL);
    /* Outputs that are not files are not replaced by files. */
    snprintf(inner, sizeof inner, "%s/pipe", dir);
    assert_int_equal(mkfifo(inner, 0600), 0);
    assert_int_equal(dcr_write_file(inner, "two", 3, &err), DCR_FAIL);
    assert_non_null(strstr(err.text, "it exists and is not a file"));
    struct stat st;
    assert_true(stat(inner, &st) == 0 && S_ISFIFO(st.st_mode));
    /* A link is removed, never followed. */
    snprintf(path, sizeof path, "%s/outside", dir);
    assert_int_equal(dcr_write_file(path, "kept", 4, &err), 0);
    snprintf(inner, sizeof inner, "%s/a/link", dir);
    assert_int_equal(symlink(dir, inner), 0);
    char **names;
    size_t n;
    snprintf(inner, sizeof inner, "%s/a", dir);
    assert_int_equal(dcr_list_dir(inner, &names, &n, &err), 0);
    assert_int_equal(n, 3);
    assert_string_equal(names[0], "b");
    assert_string_equal(names[2], "link");
    dcr_free_names(names, n);
    assert_int_equal(dcr_remove_tree(inner, &err), 0);
    assert_int_equal(access(inner, F_OK), -1);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(dcr_remove_tree("/", &err), DCR_FAIL);
    assert_string_equal(dcr_last_part("a/b.csv"), "b.csv");
    assert_string_equal(dcr_last_part("b.csv"), "b.csv");
    assert_true(dcr_ends_with("load: files", ": files") && !dcr_ends_with("files", ": files"));
    assert_int_equal(dcr_remove_tree(dir, &err), 0);
}

static void what_cannot_be_read_is_named(void **state)
{
    (void)state;
    struct dcr_err err = {0};
    struct dcr_buf out = {0};
    struct dcr_memory m = {"0123456789", 10, 0};
    struct dcr_stream s = dcr_stream_memory(&m, "ten");
    char **names, name[5000], whole[64];
    size_t n;
    int folder = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(dcr_stream_slurp(&s, &out, 5, &err), DCR_FAIL);
    assert_string_equal(err.text, "'ten' is larger than 5 bytes");
    s = dcr_stream_fd(&folder, "root");
    assert_int_equal(dcr_stream_slurp(&s, &out, 5, &err), DCR_FATAL);
    assert_string_equal(err.text, "reading 'root': cannot read: Is a directory");
    close(folder);
    assert_int_equal(dcr_list_dir("/dev/null/x", &names, &n, &err), DCR_FAIL);
    assert_string_equal(err.text, "cannot list folder '/dev/null/x': Not a directory; check the name");
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_int_equal(dcr_absolute(name, whole, sizeof whole, &err), DCR_FAIL);
    assert_non_null(strstr(err.text, "xxx...' is too long"));
    dcr_buf_release(&out);
}

static void one_process_at_a_time_makes_a_file(void **state)
{
    (void)state;
    struct dcr_err err = {0};
    struct stat st;
    char dir[] = "/tmp/test_lib.XXXXXX", path[64], partial[80];
    int fd, other;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/file", dir);
    snprintf(partial, sizeof partial, "%s.partial", path);
    assert_int_equal(dcr_open_partial(path, partial, &fd, &err), 0);
    assert_int_equal(write(fd, "half", 4), 4);
    /* A second writer is refused, and the first one's bytes stay. */
    assert_int_equal(dcr_open_partial(path, partial, &other, &err), DCR_FAIL);
    assert_non_null(strstr(err.text, "another process is writing it"));
    assert_int_equal(dcr_write_file(path, "whole", 5, &err), DCR_FAIL);
    assert_true(stat(partial, &st) == 0 && st.st_size == 4);
    /* A file that a killed process left does not block, and is gone afterwards. */
    close(fd);
    assert_int_equal(dcr_open_partial(path, partial, &fd, &err), 0);
    assert_true(fstat(fd, &st) == 0 && st.st_size == 0);
    assert_int_equal(dcr_commit_file(fd, partial, path, &err), 0);
    assert_int_equal(dcr_sync_folder(path, &err), 0);
    /* A renamed file is not reused as the next partial file. */
    assert_int_equal(dcr_open_partial(path, partial, &other, &err), 0);
    assert_int_equal(write(fd, "first", 5), 5);
    assert_true(fstat(other, &st) == 0 && st.st_size == 0);
    close(fd);
    close(other);
    assert_int_equal(dcr_remove_tree(dir, &err), 0);
}

static void hashes_equal_their_published_values(void **state)
{
    (void)state;
    char hex[DCR_SHA256_HEX];
    struct dcr_sha256 *h = dcr_sha256_new(); /* FIPS 180-2, appendix B.1 */
    dcr_sha256_add(h, "ab", 2);
    dcr_sha256_add(h, "c", 1);
    dcr_sha256_finish(h, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    unsigned char bytes[32]; /* RFC 3720, appendix B.4 */
    memset(bytes, 0, sizeof bytes);
    assert_int_equal(dcr_crc32c(0, bytes, sizeof bytes), 0x8a9136aau);
    for (unsigned char i = 0; i < 32; i++)
        bytes[i] = i;
    assert_int_equal(dcr_crc32c(0, bytes, sizeof bytes), 0x46dd794eu);
    assert_int_equal(dcr_crc32c(dcr_crc32c(0, bytes, 13), bytes + 13, 19), 0x46dd794eu);
}

static void members_are_known_by_their_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum dcr_role role;
        int node, rank;
    } cases[] = {
        {"job_metadata.json", DCR_ROLE_METADATA, -1, -1},
        {"node3/cpu_monitor.csv", DCR_ROLE_CPU_MONITOR, 3, -1},
        {"4node/run_77/metrics.csv", DCR_ROLE_METRICS, -1, -1},
        {"rank12/trace-9.dct", DCR_ROLE_TRACE, -1, 12},
        {"rank12/steps.csv", DCR_ROLE_STEPS, -1, 12},
        {"program/steps-rank7.csv", DCR_ROLE_STEPS, -1, 7},
        {"steps-rank7x.csv", DCR_ROLE_OTHER, -1, -1},
        {"rank/steps.csv", DCR_ROLE_STEPS, -1, -1},
        {"rank99999/steps.csv", DCR_ROLE_STEPS, -1, -1},
        {"rank0/rank.json", DCR_ROLE_RANK, -1, 0},
        {"nsys/summary_stats.csv", DCR_ROLE_FOREIGN, -1, -1},
        {"a.nsys-rep", DCR_ROLE_FOREIGN, -1, -1},
        {"log/output.txt", DCR_ROLE_LOG, -1, -1},
        {"notes.txt", DCR_ROLE_OTHER, -1, -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int node, rank;
        enum dcr_role role = dcr_role_of(cases[i].name, &node, &rank);
        if (role != cases[i].role || node != cases[i].node || rank != cases[i].rank)
            fail_msg("%s: role %d, node %d, rank %d", cases[i].name, (int)role, node, rank);
    }
}

/* Compared with a plain array; keys in regular steps, like numbers of threads and ranges. */
static void maps_keep_what_was_put(void **state)
{
    (void)state;
    enum { N = 3000 };
    static int value_of[N];
    const uint64_t strides[] = {1, 7, 64, UINT64_C(1) << 33};
    for (size_t k = 0; k < sizeof strides / sizeof *strides; k++) {
        struct dcr_map m = {0};
        uint32_t v;
        assert_int_equal(dcr_map_get(&m, 5, &v), 0);
        dcr_map_delete(&m, 5);
        for (int i = 0; i < N; i++) {
            value_of[i] = i % 7;
            assert_int_equal(dcr_map_put(&m, (uint64_t)i * strides[k], (uint32_t)(i % 7)), 0);
        }
        for (int i = 0; i < N; i += 3) {
            value_of[i] = i % 2 ? -1 : 100;
            if (i % 2)
                dcr_map_delete(&m, (uint64_t)i * strides[k]);
            else
                assert_int_equal(dcr_map_put(&m, (uint64_t)i * strides[k], 100), 0);
        }
        uint64_t looks = m.n_looks;
        for (int i = 0; i < N; i++) {
            assert_int_equal(dcr_map_get(&m, (uint64_t)i * strides[k], &v), value_of[i] >= 0);
            assert_true(value_of[i] < 0 || v == (uint32_t)value_of[i]);
        }
        assert_int_equal(m.n, N - N / 6);
        assert_true(m.n_looks - looks < 10 * N); /* not a walk through all of them */
        dcr_map_release(&m);
    }
}

/* Long stretches use other code than short ones: the same sum, for any cut. */
static void checksums_do_not_depend_on_how_they_are_cut(void **state)
{
    (void)state;
    enum { N = 70000 };
    unsigned char *bytes = malloc(N);
    uint32_t seed = 1, slow = ~0u;
    for (size_t i = 0; i < N; i++) {
        bytes[i] = (unsigned char)((seed = seed * 1664525u + 1013904223u) >> 24);
        slow ^= bytes[i];
        for (int k = 0; k < 8; k++)
            slow = slow & 1 ? slow >> 1 ^ 0x82f63b78u : slow >> 1;
    }
    assert_int_equal(dcr_crc32c(0, bytes, N), ~slow);
    const size_t cuts[] = {1, 3071, 3072, 3073, 40000, N - 1};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++)
        assert_int_equal(dcr_crc32c(dcr_crc32c(0, bytes, cuts[i]), bytes + cuts[i], N - cuts[i]), ~slow);
    free(bytes);
}

static void cores_are_whole_ones_of_a_quota(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int cores;
    } files[] = {{"max 100000\n", 0},
                 {"200000 100000\n", 2},
                 {"150000 100000\n", 2},
                 {"10000 100000\n", 1},
                 {"-1\n100000\n", 0},
                 {"100000", 0},
                 {"", 0},
                 {"nonsense", 0},
                 {"100000 0\n", 0},
                 {"1e99 1\n", 0}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        assert_int_equal(dcr_cores_of_quota(files[i].text), files[i].cores);
    assert_true(dcr_cores() >= 1);
}

static int from_text(int (*find)(FILE *f, int is_v2, char *out, size_t n), const char *text, int is_v2, char *out,
                     size_t n)
{
    FILE *f = fmemopen((char *)(uintptr_t)text, strlen(text), "r");
    assert_non_null(f);
    int rc = find(f, is_v2, out, n);
    fclose(f);
    return rc;
}

static void the_group_is_found_wherever_cpu_stands(void **state)
{
    (void)state;
    static const char mounts[] = "proc /proc proc rw 0 0\n"
                                 "cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\n"
                                 "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,nosuid,cpuacct,cpu 0 0\n"
                                 "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
    static const struct {
        const char *cgroup, *v1, *v2;
    } files[] = {{"3:cpuset:/no\n4:cpuacct,cpu:/a/b\n0::/x\n", "/a/b", "/x"},
                 {"4:cpu,cpuacct:/a\n", "/a", NULL},
                 {"2:memory,cpu,pids:/m:n", "/m:n", NULL},
                 {"rubbish\n7:cpuacct,cpuset,xcpu:/no\n1:name=cpu:/no\n0::/\n", NULL, "/"},
                 {"", NULL, NULL}};
    char out[64];
    assert_int_equal(from_text(dcr_cgroup_mount, mounts, 0, out, sizeof out), 0);
    assert_string_equal(out, "/sys/fs/cgroup/cpu,cpuacct");
    assert_int_equal(from_text(dcr_cgroup_mount, mounts, 0, out, 8), -1);
    assert_int_equal(from_text(dcr_cgroup_mount, mounts, 1, out, sizeof out), 0);
    assert_string_equal(out, "/sys/fs/cgroup/unified");
    assert_int_equal(from_text(dcr_cgroup_mount, "cgroup /x\ncgroup2", 1, out, sizeof out), -1);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        for (int is_v2 = 0; is_v2 <= 1; is_v2++) {
            const char *want = is_v2 ? files[i].v2 : files[i].v1;
            int rc = from_text(dcr_cgroup_path, files[i].cgroup, is_v2, out, sizeof out);
            assert_int_equal(rc, want ? 0 : -1);
            if (want)
                assert_string_equal(out, want);
        }
}

static void the_nearest_name_is_found(void **state)
{
    (void)state;
    static const char *const names[] = {"baseline", "output", "open", "check", "checks", "nodes", "n", "io-threshold"};
    static const struct {
        const char *word, *name;
    } c[] = {{"basline", "baseline"}, {"baselien=a.tar", "baseline"},
             {"chekc", "check"},      {"checkss", "checks"},
             {"opne", "open"},        {"outputs", "output"},
             {"out", "output"},       {"m", NULL},
             {"threshold", NULL},     {"io-treshhold", "io-threshold"},
             {"sparkle", NULL},       {"", NULL},
             {"nods", "nodes"},       {"a-word-that-is-much-longer-than-any-known-name", NULL}};
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct nearest near = nearest_begin(c[i].word);
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            nearest_try(&near, names[k]);
        if (c[i].name)
            assert_string_equal(near.name, c[i].name);
        else
            assert_null(near.name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_grow_outwards),
        cmocka_unit_test(advice_follows_the_last_semicolon),
        cmocka_unit_test(unseen_characters_are_replaced),
        cmocka_unit_test(buffers_grow_to_their_ceiling),
        cmocka_unit_test(arena_is_aligned_and_zeroed),
        cmocka_unit_test(files_come_whole_or_not_at_all),
        cmocka_unit_test(what_cannot_be_read_is_named),
        cmocka_unit_test(one_process_at_a_time_makes_a_file),
        cmocka_unit_test(hashes_equal_their_published_values),
        cmocka_unit_test(members_are_known_by_their_names),
        cmocka_unit_test(maps_keep_what_was_put),
        cmocka_unit_test(checksums_do_not_depend_on_how_they_are_cut),
        cmocka_unit_test(the_nearest_name_is_found),
        cmocka_unit_test(cores_are_whole_ones_of_a_quota),
        cmocka_unit_test(the_group_is_found_wherever_cpu_stands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
