/* test_tar.c - lib/tar: round trip, same bytes twice, and every kind of archive that must be refused. */
#include "lib/base/buf.h"
#include "lib/base/fs.h"
#include "lib/base/hash.h"
#include "lib/archive/tar.h"

#include <archive.h>
#include <archive_entry.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/test_tar.XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return dcr_remove_tree(folder, NULL);
}

static const char *in_folder(const char *name)
{
    static char path[16][128];
    static unsigned turn;
    turn = (turn + 1) % 16;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static void write_sample(const char *path)
{
    struct dcr_err err = {0};
    struct dcr_tar_writer *w;
    assert_int_equal(dcr_tar_create(&w, path, NULL, &err), 0);
    assert_int_equal(dcr_tar_add_bytes(w, "manifest.json", "{}\n", 3, 1000, &err), 0);
    struct dcr_memory hello = {"hello", 5, 0};
    struct dcr_stream s = dcr_stream_memory(&hello, "hello");
    assert_int_equal(dcr_tar_add_stream(w, "node0/h\xc3\xa9llo.csv", &s, 5, 1000, &err), 0);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(dcr_tar_commit(w, NULL, &err), 0);
}

static void round_trip(const char *name)
{
    struct dcr_err err = {0};
    const char *path = in_folder(name);
    write_sample(path);
    struct dcr_tar_reader *r;
    struct dcr_tar_member m;
    struct dcr_buf text = {0};
    assert_int_equal(dcr_tar_open(&r, path, &err), 0);
    assert_int_equal(dcr_tar_next(r, &m, &err), 0);
    assert_string_equal(m.name, "manifest.json");
    assert_int_equal(dcr_tar_next(r, &m, &err), 0);
    assert_string_equal(m.name, "node0/h\xc3\xa9llo.csv");
    assert_int_equal(m.size_bytes, 5);
    assert_int_equal(dcr_stream_slurp(&m.stream, &text, 100, &err), 0);
    assert_string_equal(dcr_buf_text(&text), "hello");
    assert_int_equal(dcr_tar_next(r, &m, &err), DCR_END);
    dcr_tar_close(r);
    dcr_buf_release(&text);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    round_trip("a.tar");
    round_trip("a.tar.zst");
}

static void same_members_same_bytes(void **state)
{
    (void)state;
    char a[DCR_SHA256_HEX], b[DCR_SHA256_HEX];
    const char *first = in_folder("x.tar");
    write_sample(first);
    assert_int_equal(dcr_sha256_file(first, INT64_MAX, a, NULL, NULL), 0);
    assert_int_equal(rename(first, in_folder("y.tar")), 0);
    sleep(1);
    write_sample(in_folder("x.tar"));
    assert_int_equal(dcr_sha256_file(in_folder("x.tar"), INT64_MAX, b, NULL, NULL), 0);
    assert_string_equal(a, b);
}

/* Writes an archive of one entry as a hostile or clumsy program might. */
static void write_foreign(const char *path, const char *name, unsigned type, const char *link)
{
    struct archive *a = archive_write_new();
    struct archive_entry *e = archive_entry_new();
    archive_write_set_format_ustar(a);
    assert_int_equal(archive_write_open_filename(a, path), ARCHIVE_OK);
    for (int i = 0; i < 2; i++) {
        archive_entry_clear(e);
        archive_entry_set_pathname(e, i == 0 ? "first" : name);
        archive_entry_set_filetype(e, i == 0 ? (unsigned)AE_IFREG : type);
        archive_entry_set_perm(e, 0644);
        archive_entry_set_size(e, 0);
        if (i == 1 && link)
            archive_entry_set_symlink(e, link);
        assert_int_equal(archive_write_header(a, e), ARCHIVE_OK);
    }
    archive_write_free(a);
    archive_entry_free(e);
}

static void assert_refused(const char *path, const char *because)
{
    struct dcr_err err = {0};
    struct dcr_tar_reader *r = NULL;
    struct dcr_tar_member m;
    char piece[512];
    int rc = dcr_tar_open(&r, path, &err);
    while (rc == 0) {
        rc = dcr_tar_next(r, &m, &err);
        ssize_t k = 0;
        while (rc == 0 && (k = m.stream.read(m.stream.ctx, piece, sizeof piece, &err)) > 0)
            ;
        if (k < 0)
            rc = (int)k;
    }
    dcr_tar_close(r);
    if (rc == DCR_END || !strstr(err.text, because))
        fail_msg("'%s': status %d, '%s' does not say '%s'", path, rc, err.text, because);
}

static void unsafe_members_are_refused(void **state)
{
    (void)state;
    write_foreign(in_folder("f.tar"), "/etc/passwd", AE_IFREG, NULL);
    assert_refused(in_folder("f.tar"), "points outside");
    write_foreign(in_folder("f.tar"), "a/../../b", AE_IFREG, NULL);
    assert_refused(in_folder("f.tar"), "points outside");
    write_foreign(in_folder("f.tar"), "link", AE_IFLNK, "/etc/passwd");
    assert_refused(in_folder("f.tar"), "not a plain file");
    write_foreign(in_folder("f.tar"), "fifo", AE_IFIFO, NULL);
    assert_refused(in_folder("f.tar"), "not a plain file");
    write_foreign(in_folder("f.tar"), "first", AE_IFREG, NULL);
    assert_refused(in_folder("f.tar"), "there twice");
}

static void what_is_no_tar_is_refused(void **state)
{
    (void)state;
    assert_refused(in_folder("absent.tar"), "No such file");
    assert_refused(folder, "it is a folder");
    assert_int_equal(dcr_write_file(in_folder("e.tar"), "", 0, NULL), 0);
    assert_refused(in_folder("e.tar"), "e.tar' is empty; copy or pack it again");
    char text[4096];
    memset(text, 'x', sizeof text);
    assert_int_equal(dcr_write_file(in_folder("t.tar"), text, sizeof text, NULL), 0);
    assert_refused(in_folder("t.tar"), "not a tar");
    assert_int_equal(dcr_write_file(in_folder("t.tar"), text, 7, NULL), 0);
    assert_refused(in_folder("t.tar"), "not a tar");
}

static void truncation_inside_a_member_is_seen(void **state)
{
    (void)state;
    struct dcr_err err = {0};
    struct dcr_tar_writer *w;
    char *bytes = calloc(1, 100000);
    assert_non_null(bytes);
    assert_int_equal(dcr_tar_create(&w, in_folder("big.tar"), NULL, &err), 0);
    assert_int_equal(dcr_tar_add_bytes(w, "big", bytes, 100000, 0, &err), 0);
    assert_int_equal(dcr_tar_commit(w, NULL, &err), 0);
    free(bytes);
    assert_int_equal(truncate(in_folder("big.tar"), 50000), 0);
    assert_refused(in_folder("big.tar"), "cut short");
}

/* A copy that ended early is not "not a tar archive", wherever it ended. */
static void cut_of_compressed_data_is_seen(void **state)
{
    (void)state;
    enum { BYTES = 300000 };
    struct dcr_err err = {0};
    struct dcr_tar_writer *w;
    uint32_t random = 1; /* bytes that do not compress */
    unsigned char *bytes = malloc(BYTES);
    assert_non_null(bytes);
    for (size_t i = 0; i < BYTES; i++) {
        random = random * 1664525u + 1013904223u;
        bytes[i] = (unsigned char)(random >> 24);
    }
    static const off_t kept[] = {20, BYTES / 10, BYTES / 2, BYTES / 10 * 9, BYTES / 100 * 99};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        unlink(in_folder("big.tar.zst"));
        assert_int_equal(dcr_tar_create(&w, in_folder("big.tar.zst"), NULL, &err), 0);
        assert_int_equal(dcr_tar_add_bytes(w, "big", bytes, BYTES, 0, &err), 0);
        assert_int_equal(dcr_tar_commit(w, NULL, &err), 0);
        assert_int_equal(truncate(in_folder("big.tar.zst"), kept[i]), 0);
        assert_refused(in_folder("big.tar.zst"), "is incomplete: its compressed data end early; copy or pack it again");
    }
    free(bytes);
}

/* Result of dcr_tar_check_end for the sample followed by these bytes; "" when all is well. */
static const char *said_behind(const char *name, const void *behind, size_t n)
{
    static struct dcr_err err;
    struct dcr_tar_reader *r;
    struct dcr_tar_member m;
    const char *path = in_folder(name);
    unlink(path);
    write_sample(path);
    FILE *f = fopen(path, "ab");
    assert_non_null(f);
    assert_int_equal(fwrite(behind, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    err = (struct dcr_err){0};
    assert_int_equal(dcr_tar_open(&r, path, &err), 0);
    while (dcr_tar_next(r, &m, &err) == 0)
        assert_true(dcr_stream_drain(&m.stream, &err) >= 0);
    int rc = dcr_tar_check_end(r, &err);
    assert_int_equal(rc == 0, err.text[0] == '\0');
    dcr_tar_close(r);
    return err.text;
}

static void what_lies_behind_the_end_is_seen(void **state)
{
    (void)state;
    static const char zeros[20480];
    static char whole[1 << 16];
    char at[40]; /* the second of two begins where the first one ends */
    assert_string_equal(said_behind("end.tar", "", 0), "");
    FILE *f = fopen(in_folder("end.tar"), "rb");
    assert_non_null(f);
    size_t n = fread(whole, 1, sizeof whole, f);
    fclose(f);
    const char *of_two = said_behind("end.tar", whole, n);
    assert_non_null(strstr(of_two, "after the end"));
    snprintf(at, sizeof at, "from byte %zu on", n);
    assert_non_null(strstr(of_two, at));
    assert_non_null(strstr(said_behind("end.tar", "garbage", 7), "after the end"));
    assert_string_equal(said_behind("end.tar", zeros, sizeof zeros), ""); /* tar pads its last record */
}

static void failure_leaves_nothing(void **state)
{
    (void)state;
    struct dcr_err err = {0};
    struct dcr_tar_writer *w;
    assert_int_equal(dcr_tar_create(&w, in_folder("no/such/x.tar"), NULL, &err), DCR_FATAL);
    assert_null(w);
    assert_int_equal(dcr_tar_create(&w, in_folder("gone.tar"), NULL, &err), 0);
    assert_int_equal(dcr_tar_add_bytes(w, "../x", "", 0, 0, &err), DCR_FAIL);
    dcr_tar_abandon(w);
    assert_int_equal(access(in_folder("gone.tar.partial"), F_OK), -1);
    assert_int_equal(access(in_folder("gone.tar"), F_OK), -1);
}

/* A disk that fills up at every place of the archive: in a header, in bytes, in the last block. */
static void write_that_fails_is_said(void **state)
{
    (void)state;
    static unsigned char bytes[50000];
    uint32_t random = 1; /* bytes that do not compress */
    for (size_t i = 0; i < sizeof bytes; i++) {
        random = random * 1664525u + 1013904223u;
        bytes[i] = (unsigned char)(random >> 24);
    }
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    for (size_t n = 1000; n <= sizeof bytes; n += 3500) {
        const char *name = n % 1000 ? "small.tar" : "small.tar.zst";
        const struct rlimit small = {.rlim_cur = n / 2, .rlim_max = before.rlim_max};
        struct dcr_err err = {0};
        struct dcr_tar_writer *w;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        assert_int_equal(dcr_tar_create(&w, in_folder(name), NULL, &err), 0);
        int rc = 0;
        for (int k = 0; k < 4 && rc == 0; k++)
            rc = dcr_tar_add_bytes(w, (const char *[]){"a", "b", "c", "d"}[k], bytes, n, 0, &err);
        if (rc)
            dcr_tar_abandon(w);
        else
            rc = dcr_tar_commit(w, NULL, &err);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(rc, DCR_FATAL);
        assert_non_null(strstr(err.text, "File too large"));
        assert_int_equal(access(in_folder(name), F_OK), -1);
    }
    signal(SIGXFSZ, SIG_DFL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),          cmocka_unit_test(same_members_same_bytes),
        cmocka_unit_test(unsafe_members_are_refused),       cmocka_unit_test(what_is_no_tar_is_refused),
        cmocka_unit_test(what_lies_behind_the_end_is_seen), cmocka_unit_test(failure_leaves_nothing),
        cmocka_unit_test(write_that_fails_is_said),         cmocka_unit_test(truncation_inside_a_member_is_seen),
        cmocka_unit_test(cut_of_compressed_data_is_seen),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
