/* refuse.c - see refuse.h. */
#include "trainer/refuse.h"

#include "lib/rank.h"

#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_FOR_RANK_0_S = 3 };

/* The launcher ends all ranks, since one ended badly. Blocked, its signal is waited for and ends nothing. */
static int is_being_ended(void)
{
    const struct timespec t = {.tv_sec = WAIT_FOR_RANK_0_S};
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, NULL);
    return sigtimedwait(&term, NULL, &t) == SIGTERM;
}

void refuse(const char *sentence)
{
    char host[64] = "";
    int rank = rank_of_self().rank;
    if (rank <= 0) {
        fprintf(stderr, "dcrnn-train: %s\n", sentence);
        return;
    }
    if (is_being_ended())
        return;
    if (gethostname(host, sizeof host - 1))
        snprintf(host, sizeof host, "unknown-host");
    fprintf(stderr, "dcrnn-train: rank %d on %s: %s\n", rank, host, sentence);
}
