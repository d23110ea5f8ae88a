/* refuse.c - see refuse.h. */
#include "trainer/ranks/refuse.h"

#include "lib/archive/rank.h"
#include "lib/base/text.h"
#include "trainer/ranks/stop.h"
#include "trainer/ranks/verdict.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* Open MPI 4.1 tells ranks on other nodes 3 s after rank 0 ended, srun at once. */
enum { LATE_RANKS_S = 2, ENDED_BY_LAUNCHER_S = LATE_RANKS_S + 3 + 3 };

/* The launcher's signal is caught: it ends nothing, and says enough. Nor is there anything to wait for once rank 0 has
 * told that its own options were taken. */
static int is_being_ended(int rank, int within_s)
{
    const struct timespec moment = {.tv_nsec = 10 * 1000000L};
    int is_rank_0_refused = 0;
    stop_watch();
    for (int i = 0; i < within_s * 100 && !stop_signal(); i++) {
        const enum verdict v = rank > 0 ? verdict_of_rank_0() : VERDICT_NONE;
        if (v == VERDICT_TAKEN)
            return 0;
        is_rank_0_refused |= v == VERDICT_REFUSED;
        nanosleep(&moment, NULL);
    }
    return stop_signal() != 0 || is_rank_0_refused;
}

void refuse(const char *sentence)
{
    char host[64] = "";
    const struct rank_identity self = rank_of_self();
    if (self.rank <= 0)
        text_print(stderr, "dcrnn-train: %s\n", sentence);
    if (self.rank < 0 || self.world_size == 1)
        return;
    if (self.rank == 0)
        verdict_tell(VERDICT_REFUSED);
    if (is_being_ended(self.rank, self.rank ? ENDED_BY_LAUNCHER_S : LATE_RANKS_S) || self.rank == 0)
        return;
    if (gethostname(host, sizeof host - 1))
        snprintf(host, sizeof host, "unknown-host");
    text_print(stderr, "dcrnn-train: rank %d on %s: %s\n", self.rank, host, sentence);
}

void refuse_none(void)
{
    const struct rank_identity self = rank_of_self();
    if (self.rank == 0 && self.world_size != 1)
        verdict_tell(VERDICT_TAKEN);
}
