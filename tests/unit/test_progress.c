/* test_progress.c - the progress line of long work: on a terminal, after two seconds, and gone at the end. */
#include "lib/base/progress.h"

#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { LONG_MS = 2800 };

/* Works for the given time; 3 of its 4 things, each of 100 bytes, are done at once. */
static void work(int ms)
{
    progress_allow("dcreport");
    progress_begin("inputs read", 4, 400);
    for (int i = 0; i < 3; i++)
        progress_step(100);
    usleep((useconds_t)ms * 1000);
    progress_end();
    _exit(0);
}

static FILE *on_terminal(const char *term, int ms)
{
    int fd;
    pid_t child = forkpty(&fd, NULL, NULL, NULL);
    assert_true(child >= 0);
    if (child == 0) {
        setenv("TERM", term, 1);
        work(ms);
    }
    return fdopen(fd, "r");
}

static FILE *in_pipe(int ms)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        setenv("TERM", "xterm", 1);
        work(ms);
    }
    close(ends[1]);
    return fdopen(ends[0], "r");
}

/* All output, also from before the terminal went away. */
static void read_all(FILE *from, char *out, size_t cap)
{
    assert_non_null(from);
    size_t n = fread(out, 1, cap - 1, from);
    out[n] = '\0';
    fclose(from);
}

/* The four work at the same time. */
static void a_line_for_people_only(void **state)
{
    (void)state;
    static const char shown[] = "\r\033[Kdcreport: 3 of 4 inputs read, about 1 s for the rest", erased[] = "\r\033[K";
    char text[4][4096];
    FILE *from[] = {on_terminal("xterm", LONG_MS), on_terminal("dumb", LONG_MS), in_pipe(LONG_MS),
                    on_terminal("xterm", 100)};
    for (int i = 0; i < 4; i++)
        read_all(from[i], text[i], sizeof text[i]);
    while (wait(NULL) > 0)
        ;
    assert_int_equal(strncmp(text[0], shown, strlen(shown)), 0);
    assert_string_equal(text[0] + strlen(text[0]) - strlen(erased), erased);
    assert_string_equal(text[1], "");
    assert_string_equal(text[2], "");
    assert_string_equal(text[3], "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_line_for_people_only)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
