/* test_manifest_sum.c - a checksum covers every byte of an archive's content: each byte is flipped, and verify notices.
 * A disk error is not a fault of the archive. */
#include "collect/pack/verify.h"
#include "lib/archive/format.h"
#include "lib/base/hash.h"
#include "lib/archive/manifest_sum.h"
#include "lib/archive/tar.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static char path[300];
static const char content[] = "what a program said\n";

/* Replaces the C library's function: the n-th read and all later ones fail. 0: none does. */
static int failing_read, has_failed;

ssize_t read(int fd, void *out, size_t n);
ssize_t read(int fd, void *out, size_t n)
{
    has_failed |= failing_read > 0 && --failing_read == 0;
    if (has_failed) {
        errno = EIO;
        return -1;
    }
    return syscall(SYS_read, fd, out, n);
}

static void manifest_text(char *out, size_t n, const char *head)
{
    char hex[DCR_SHA256_HEX];
    struct dcr_sha256 *h = dcr_sha256_new();
    dcr_sha256_add(h, content, sizeof content - 1);
    dcr_sha256_finish(h, hex);
    snprintf(out, n,
             "{\"format\": \"" DCR_ARCHIVE_FORMAT "\", %s\n \"run_id\": \"x-1\", \"complete\": false,\n"
             " \"incomplete_because\": [\"the program ended with \\\"manifest_sha256\\\": 3\"],\n"
             " \"members\": [{\"name\": \"log/a.txt\", \"role\": \"log\", \"size\": %zu, \"sha256\": \"%s\"}]}\n",
             head, sizeof content - 1, hex);
}

static void write_archive(const char *manifest)
{
    struct dcr_tar_writer *w = NULL;
    assert_int_equal(dcr_tar_create(&w, path, NULL, NULL), 0);
    assert_int_equal(dcr_tar_add_bytes(w, DCR_MANIFEST, manifest, strlen(manifest), 1000, NULL), 0);
    assert_int_equal(dcr_tar_add_bytes(w, "log/a.txt", content, sizeof content - 1, 1000, NULL), 0);
    assert_int_equal(dcr_tar_commit(w, NULL, NULL), 0);
}

static int is_sound(void)
{
    struct verify_report r = {0};
    int rc = verify_archive(path, &r, NULL), is = rc == 0 && r.n_problems == 0;
    verify_release(&r);
    return is;
}

static void every_byte_counts(void **state)
{
    (void)state;
    char text[2000];
    unsigned char byte;
    manifest_text(text, sizeof text, "\"version\": 2, \"" DCR_MANIFEST_SUM "\": \"" DCR_MANIFEST_NO_SUM "\",");
    assert_int_equal(dcr_manifest_seal(text, strlen(text)), 0);
    write_archive(text);
    assert_true(is_sound());
    /* Header and content of both members. Not covered are the padding of their last blocks, and how the header writes
     * its own checksum (bytes 148 to 155: blanks or zeros around the number). */
    const struct {
        size_t from, to;
    } part[] = {{0, 512 + strlen(text)},
                {512 + (strlen(text) + 511) / 512 * 512, 1024 + (strlen(text) + 511) / 512 * 512 + sizeof content - 1}};
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    for (size_t k = 0; k < 2; k++)
        for (size_t at = part[k].from; at < part[k].to; at++)
            for (int bit = 0; bit < 8 && (at - part[k].from < 148 || at - part[k].from > 155); bit++) {
                assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
                unsigned char flipped = (unsigned char)(byte ^ 1u << bit);
                assert_int_equal(pwrite(fd, &flipped, 1, (off_t)at), 1);
                if (is_sound())
                    fail_msg("byte %zu, bit %d", at, bit);
                assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
            }
    close(fd);
    assert_true(is_sound());
}

static void version_1_needs_none(void **state)
{
    (void)state;
    char text[2000];
    manifest_text(text, sizeof text, "\"version\": 1,");
    write_archive(text);
    assert_true(is_sound());
    manifest_text(text, sizeof text, "\"version\": 2,");
    write_archive(text);
    assert_false(is_sound());
    /* An existing checksum is checked, whatever version the manifest claims. */
    manifest_text(text, sizeof text, "\"version\": 1, \"" DCR_MANIFEST_SUM "\": \"" DCR_MANIFEST_NO_SUM "\",");
    write_archive(text);
    assert_false(is_sound());
    assert_int_equal(dcr_manifest_seal(text, strlen(text)), 0);
    write_archive(text);
    assert_true(is_sound());
}

/* A file of 300 KB, which is read in several pieces. A failing read is an error, not damage. */
static void a_failing_disk_is_no_damage(void **state)
{
    (void)state;
    static char many[300000];
    char text[2000], hex[DCR_SHA256_HEX];
    struct dcr_tar_writer *w = NULL;
    struct dcr_sha256 *h = dcr_sha256_new();
    dcr_sha256_add(h, many, sizeof many);
    dcr_sha256_finish(h, hex);
    snprintf(text, sizeof text,
             "{\"format\": \"" DCR_ARCHIVE_FORMAT "\", \"version\": 1, \"complete\": true,\n"
             " \"members\": [{\"name\": \"log/a.txt\", \"role\": \"log\", \"size\": %zu, \"sha256\": \"%s\"}]}\n",
             sizeof many, hex);
    assert_int_equal(dcr_tar_create(&w, path, NULL, NULL), 0);
    assert_int_equal(dcr_tar_add_bytes(w, DCR_MANIFEST, text, strlen(text), 1000, NULL), 0);
    assert_int_equal(dcr_tar_add_bytes(w, "log/a.txt", many, sizeof many, 1000, NULL), 0);
    assert_int_equal(dcr_tar_commit(w, NULL, NULL), 0);
    assert_true(is_sound());
    int n_failed = 0;
    for (int n = 1, rc = -1; rc != 0; n++) {
        struct verify_report r = {0};
        struct dcr_err err = {0};
        failing_read = n;
        has_failed = 0;
        rc = verify_archive(path, &r, &err);
        int was_failing = has_failed;
        failing_read = has_failed = 0;
        assert_int_equal(r.n_problems, 0);
        assert_int_equal(rc < 0, was_failing);
        if (rc)
            assert_non_null(strstr(err.text, strerror(EIO)));
        n_failed += was_failing;
        verify_release(&r);
    }
    assert_in_range(n_failed, 4, 100);
}

static int make_name(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/dcr-sum-%ld.tar", tmp ? tmp : "/tmp", (long)getpid());
    return 0;
}

static int remove_it(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_counts),
        cmocka_unit_test(version_1_needs_none),
        cmocka_unit_test(a_failing_disk_is_no_damage),
    };
    return cmocka_run_group_tests(tests, make_name, remove_it);
}
