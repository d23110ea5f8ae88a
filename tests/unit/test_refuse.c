/* test_refuse.c - the message of rank 0 to the other ranks of its machine about its options, and which rank then
 * reports a refusal (trainer/ranks/stop.h). Each rank is a process. */
#include "trainer/ranks/stop.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

/* The environment of Open MPI's launcher, in a job that no other test has. */
static void be_rank(int rank, const char *suffix)
{
    char text[64];
    snprintf(text, sizeof text, "test-refuse-%ld%s", (long)getppid(), suffix);
    setenv("PMIX_NAMESPACE", text, 1);
    snprintf(text, sizeof text, "%d", rank);
    setenv("OMPI_COMM_WORLD_RANK", text, 1);
    setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
    unsetenv("TORCHELASTIC_RUN_ID");
}

/* Runs f in a process; returns after its message or its end. *said: its output on standard error */
static pid_t start(void (*f)(FILE *ready), int *said)
{
    int ready[2], errors[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(errors), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(ready[0]);
        dup2(errors[1], STDERR_FILENO);
        FILE *out = fdopen(ready[1], "w");
        f(out);
        _exit(0);
    }
    close(ready[1]);
    close(errors[1]);
    assert_true(read(ready[0], &byte, 1) >= 0);
    close(ready[0]);
    *said = errors[0];
    return child;
}

static void stay(FILE *ready)
{
    fputc('!', ready);
    fflush(ready);
    for (;;)
        pause();
}

static void rank_0_taken(FILE *ready)
{
    be_rank(0, "");
    refuse_none();
    stay(ready);
}

static void rank_0_refused(FILE *ready)
{
    be_rank(0, "");
    verdict_tell(VERDICT_REFUSED);
    stay(ready);
}

static void rank_1_refused(FILE *ready)
{
    (void)ready;
    be_rank(1, "");
    refuse("--layers takes another number");
}

/* The result of a rank 1. */
static void rank_1_sees(FILE *ready)
{
    (void)ready;
    be_rank(1, "");
    fprintf(stderr, "%d", verdict_of_rank_0());
    be_rank(1, "-other");
    fprintf(stderr, "%d", verdict_of_rank_0());
    unsetenv("PMIX_NAMESPACE");
    unsetenv("SLURM_JOB_ID");
    fprintf(stderr, "%d", verdict_of_rank_0());
}

static void end(pid_t child, int said, char *text, size_t size)
{
    size_t n = 0;
    for (ssize_t k; n < size - 1 && (k = read(said, text + n, size - 1 - n)) > 0;)
        n += (size_t)k;
    text[n] = '\0';
    close(said);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void assert_seen(const char *want)
{
    char text[64];
    int said;
    pid_t child = start(rank_1_sees, &said);
    end(child, said, text, sizeof text);
    assert_string_equal(text, want);
}

static void stop(pid_t child, int said)
{
    char text[64];
    kill(child, SIGKILL);
    end(child, said, text, sizeof text);
}

static void others_of_the_job_are_told_while_rank_0_lives(void **state)
{
    (void)state;
    int said;
    assert_seen("000");
    pid_t rank_0 = start(rank_0_taken, &said);
    assert_seen("100");
    stop(rank_0, said);
    assert_seen("000");
    rank_0 = start(rank_0_refused, &said);
    assert_seen("200");
    stop(rank_0, said);
}

static void a_rank_alone_says_it_at_once(void **state)
{
    (void)state;
    int said_0, said_1;
    char text[256], want[256], host[64] = "";
    time_t began = time(NULL);
    pid_t rank_0 = start(rank_0_taken, &said_0), rank_1 = start(rank_1_refused, &said_1);
    end(rank_1, said_1, text, sizeof text);
    assert_in_range(time(NULL) - began, 0, 6); /* without a message from rank 0 it waits 8 s for its end */
    stop(rank_0, said_0);
    gethostname(host, sizeof host - 1);
    snprintf(want, sizeof want, "dcrnn-train: rank 1 on %s: --layers takes another number.\n", host);
    assert_string_equal(text, want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(others_of_the_job_are_told_while_rank_0_lives),
        cmocka_unit_test(a_rank_alone_says_it_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
