/* test_publish.c - the output folder: which folders may be replaced, and that nothing is half written. */
#include "render/site/publish/publish.h"

#include "lib/base/fs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[4096];
static struct dcr_err err;

static char *in(const char *name)
{
    static char path[2][8192];
    static int turn;
    turn = !turn;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static int begin(void **state)
{
    (void)state;
    const char *tmp = getenv("TMP");
    snprintf(folder, sizeof folder, "%s/publish.XXXXXX", tmp && tmp[0] ? tmp : "/tmp");
    return mkdtemp(folder) == NULL;
}

static int end(void **state)
{
    (void)state;
    return dcr_remove_tree(folder, &err);
}

static void put(const char *name, const char *text)
{
    assert_int_equal(dcr_write_file(in(name), text, strlen(text), &err), 0);
}

static void assert_content(const char *name, const char *want)
{
    char got[256] = "";
    FILE *f = fopen(in(name), "r");
    assert_non_null(f);
    size_t n = fread(got, 1, sizeof got - 1, f);
    fclose(f);
    got[n] = '\0';
    assert_string_equal(got, want);
}

/* Names in the folder, where partial ones would be left-overs. */
static int count_entries(void)
{
    char **names;
    size_t n;
    assert_int_equal(dcr_list_dir(folder, &names, &n, &err), 0);
    for (size_t i = 0; i < n; i++)
        assert_null(strstr(names[i], ".partial"));
    dcr_free_names(names, n);
    return (int)n;
}

static int publish(const char *out, const char *text)
{
    struct publish p;
    err = (struct dcr_err){0};
    int rc = publish_begin(&p, out, &err);
    if (rc == 0)
        rc = publish_add(&p, "index.html", text, strlen(text), &err);
    if (rc == 0)
        rc = publish_add(&p, "runs/a/index.html", text, strlen(text), &err);
    if (rc == 0)
        rc = publish_commit(&p, &err);
    publish_abort(&p);
    return rc;
}

static void test_new_and_again(void **state)
{
    (void)state;
    assert_int_equal(publish(in("new"), "one"), 0);
    assert_content("new/runs/a/index.html", "one");
    put("new/README.md", "mine");
    assert_int_equal(chmod(in("new"), 0750), 0);
    assert_int_equal(publish(in("new/"), "two"), 0);
    assert_content("new/index.html", "two");
    assert_content("new/README.md", "mine");
    struct stat st;
    assert_int_equal(stat(in("new"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0750);
    assert_int_equal(count_entries(), 1);
}

static void test_empty_and_readme_only(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in("empty"), 0777), 0);
    assert_int_equal(publish(in("empty"), "x"), 0);
    assert_int_equal(mkdir(in("readme"), 0777), 0);
    put("readme/README.md", "kept");
    assert_int_equal(publish(in("readme"), "x"), 0);
    assert_content("readme/README.md", "kept");
}

static void assert_refused(const char *out, const char *sentence)
{
    int before = count_entries();
    assert_int_equal(publish_check(out, &err), DCR_FAIL);
    assert_int_equal(publish(out, "x"), DCR_FAIL);
    if (!strstr(err.text, sentence))
        fail_msg("'%s' is not in '%s'", sentence, err.text);
    assert_int_equal(count_entries(), before);
}

static void test_refused(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in("foreign"), 0777), 0);
    put("foreign/thesis.tex", "years of work");
    assert_refused(in("foreign"), "was not made by dcreport and holds files");
    assert_content("foreign/thesis.tex", "years of work");
    put("file", "x");
    assert_refused(in("file"), "a file of that name is in the way");
    assert_refused(in("no/such/parent"), "no/such'; make it first");
    assert_refused("", "no name");
    char *cwd = getcwd(NULL, 0);
    assert_int_equal(mkdir(in("here"), 0777), 0);
    assert_int_equal(chdir(in("here")), 0);
    assert_refused(".", "is the current folder");
    assert_int_equal(chdir(cwd), 0);
    free(cwd);
    assert_int_equal(symlink("/nowhere/at/all", in("dangling")), 0);
    assert_refused(in("dangling"), "cannot use");
}

static void test_files_of_the_user(void **state)
{
    (void)state;
    assert_int_equal(publish(in("own"), "one"), 0);
    put("own/runs/a/notes.txt", "mine");
    assert_refused(in("own"), "runs/a/notes.txt' is not dcreport's");
    assert_content("own/runs/a/notes.txt", "mine");
    assert_content("own/index.html", "one");
    put("own/" PUBLISH_MARKER, "made by dcreport; rendering again replaces this folder, README.md is kept\n");
    assert_int_equal(publish(in("own"), "two"), 0); /* of a version that did not list its files */
    assert_int_equal(access(in("own/runs/a/notes.txt"), F_OK), -1);
}

static void caught(int number)
{
    (void)number;
}

static void test_signals(void **state)
{
    (void)state;
    struct publish p;
    struct sigaction act = {.sa_handler = caught}, before;
    int n = count_entries();
    sigaction(SIGTERM, &act, &before);
    assert_int_equal(publish_begin(&p, in("stopped"), &err), 0);
    assert_int_equal(publish_add(&p, "index.html", "x", 1, &err), 0);
    raise(SIGTERM);
    assert_int_equal(publish_add(&p, "more.html", "x", 1, &err), DCR_FATAL);
    publish_abort(&p);
    assert_int_equal(count_entries(), n);
    sigaction(SIGTERM, &before, NULL);
    assert_int_equal(publish(in("stopped"), "x"), 0);
}

/* The partial folder of `killed` that a process leaves when it is killed. */
static char *left_behind(void)
{
    static char name[64];
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct publish p;
        int rc = publish_begin(&p, in("killed"), &err);
        rc = rc ? rc : publish_add(&p, "runs/a/x.html", "x", 1, &err);
        const char *partial = rc ? "" : dcr_last_part(p.partial);
        _exit(write(ends[1], partial, strlen(partial)) <= 0); /* no abort */
    }
    assert_true(pid > 0);
    int status = 1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    ssize_t n = read(ends[0], name, sizeof name - 1);
    assert_true(n > 0);
    name[n] = '\0';
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(access(in(name), F_OK), 0);
    return name;
}

static void check_next_removes(const char *name, int is_removed)
{
    assert_int_equal(publish(in("killed"), "x"), 0);
    assert_int_equal(access(in(name), F_OK), is_removed ? -1 : 0);
}

/* The next process removes the folder of a killed one, even if another process has its number now or it ran on another
 * host. It removes neither the folder of a running process nor a foreign folder. */
static void test_leftovers(void **state)
{
    (void)state;
    check_next_removes(left_behind(), 1);
    char mine[64];
    snprintf(mine, sizeof mine, "killed.%ld.partial", (long)getpid());
    assert_int_equal(rename(in(left_behind()), in(mine)), 0);
    check_next_removes(mine, 1);
    assert_int_equal(mkdir(in("killed.7.partial"), 0777), 0); /* killed before anything was in it */
    check_next_removes("killed.7.partial", 1);
    assert_int_equal(publish(in("former"), "x"), 0); /* killed while the former site was removed */
    assert_int_equal(rename(in("former"), in("killed.7.partial")), 0);
    check_next_removes("killed.7.partial", 1);
    assert_int_equal(publish(in("former"), "x"), 0);
    assert_int_equal(rename(in("former"), in("killed.7.partial.old.partial")), 0);
    check_next_removes("killed.7.partial.old.partial", 1);
    assert_int_equal(mkdir(in("killed.7.partial"), 0777), 0); /* a folder of the user */
    put("killed.7.partial/thesis", "mine");
    check_next_removes("killed.7.partial", 0);
    assert_int_equal(dcr_remove_tree(in("killed.7.partial"), &err), 0);

    struct publish alive; /* the next folder of this process has another number */
    char name[64];
    assert_int_equal(publish_begin(&alive, in("killed"), &err), 0);
    snprintf(name, sizeof name, "%s", dcr_last_part(alive.partial));
    check_next_removes(name, 0);
    publish_abort(&alive);
    assert_int_equal(access(in(name), F_OK), -1);
    count_entries();
}

/* A former site is removed with the reserved descriptors; if they cannot be reserved, nothing is begun. */
static void test_few_descriptors(void **state)
{
    (void)state;
    struct rlimit before, few;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    int n_done = 0, n_refused = 0;
    for (rlim_t n = 3; n < 16; n++) {
        few = before;
        few.rlim_cur = n;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        int rc = publish(in("few"), "x");
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        n_done += rc == 0;
        n_refused += rc != 0;
        if (rc)
            assert_non_null(strstr(err.text, "Too many open files"));
        count_entries();
    }
    assert_true(n_done > 1 && n_refused > 0);
}

static void test_link_to_a_folder_is_followed(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in("target"), 0777), 0);
    assert_int_equal(symlink(in("target"), in("link")), 0);
    assert_int_equal(publish(in("link"), "x"), 0);
    struct stat st;
    assert_int_equal(lstat(in("link"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_content("target/index.html", "x");
}

/* Two writers at once. For a new folder the first one wins and the other is told; for a replaced one the last wins. */
static void test_two_at_once(void **state)
{
    (void)state;
    struct publish slow;
    int n_before = count_entries();
    err = (struct dcr_err){0};
    assert_int_equal(publish_begin(&slow, in("both"), &err), 0);
    assert_int_equal(publish_add(&slow, "index.html", "slow", 4, &err), 0);
    /* A separate process, because partial folders are named by its number. */
    pid_t child = fork();
    if (child == 0)
        _exit(publish(in("both"), "fast") == 0 ? 0 : 1);
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_not_equal(publish_commit(&slow, &err), 0);
    assert_non_null(strstr(err.text, "/both' appeared while this report was made"));
    assert_non_null(strstr(err.text, "-o"));
    publish_abort(&slow);
    assert_content("both/index.html", "fast");

    err = (struct dcr_err){0};
    assert_int_equal(publish_begin(&slow, in("both"), &err), 0);
    assert_int_equal(publish_add(&slow, "index.html", "slow", 4, &err), 0);
    child = fork();
    if (child == 0)
        _exit(publish(in("both"), "later") == 0 ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_content("both/index.html", "later");
    assert_int_equal(publish_commit(&slow, &err), 0);
    publish_abort(&slow);
    assert_content("both/index.html", "slow");
    assert_int_equal(count_entries(), n_before + 1);
}

static void test_names_stay_inside(void **state)
{
    (void)state;
    const char *bad[] = {"../out.html", "/etc/x", "a//b", "a/../../b", "", "a/", "./a", "a/b/c/d/e/f"};
    struct publish p;
    assert_int_equal(publish_begin(&p, in("inside"), &err), 0);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(publish_add(&p, bad[i], "x", 1, &err), DCR_FAIL);
    publish_abort(&p);
    assert_int_equal(access(in("inside"), F_OK), -1);
    count_entries();
}

static void test_failed_write_keeps_the_old_site(void **state)
{
    (void)state;
    assert_int_equal(publish(in("full"), "old"), 0);
    /* A file-size limit stands for a full disk: write() fails the same way. */
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 10;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int rc = publish(in("full"), "much more text than the limit allows");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(rc, DCR_FAIL);
    assert_non_null(strstr(err.text, "cannot write"));
    assert_content("full/index.html", "old");
    count_entries();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new_and_again),
        cmocka_unit_test(test_empty_and_readme_only),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_link_to_a_folder_is_followed),
        cmocka_unit_test(test_files_of_the_user),
        cmocka_unit_test(test_signals),
        cmocka_unit_test(test_leftovers),
        cmocka_unit_test(test_few_descriptors),
        cmocka_unit_test(test_two_at_once),
        cmocka_unit_test(test_names_stay_inside),
        cmocka_unit_test(test_failed_write_keeps_the_old_site),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
