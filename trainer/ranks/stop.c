/* stop.c - see stop.h. Verdicts are abstract socket names (unix(7)), which belong to the network namespace, not to a
 * folder. */
#include "trainer/ranks/stop.h"

#include "lib/archive/rank.h"
#include "lib/base/err.h"
#include "lib/base/hash.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* ---- signals ----------------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t caught;

static void on_signal(int number)
{
    caught = number;
}

void stop_watch(void)
{
    struct sigaction a;
    memset(&a, 0, sizeof a);
    a.sa_handler = on_signal;
    sigemptyset(&a.sa_mask);
    /* RESTART: a write of metrics must not be cut short. The handler stays, because launchers pass the same signal on
     * twice */
    a.sa_flags = SA_RESTART;
    sigaction(SIGTERM, &a, NULL);
    sigaction(SIGINT, &a, NULL);
}

int stop_signal(void)
{
    return caught;
}

/* ---- what rank 0 tells ------------------------------------------------------------------------------------------- */

/* returns the length of the address, 0 when the job has no name */
static socklen_t name_of(enum verdict v, struct sockaddr_un *out)
{
    struct rank_job jobs[RANK_JOB_NAMES];
    const char *step = getenv("SLURM_STEP_ID"); /* steps of one Slurm job count as separate jobs here */
    if (rank_jobs_of_self(jobs) == 0)
        return 0;
    uint32_t job = dcr_crc32c(0, jobs[0].name, strlen(jobs[0].name));
    memset(out, 0, sizeof *out);
    out->sun_family = AF_UNIX;
    int n = snprintf(out->sun_path + 1, sizeof out->sun_path - 1, "dcrnn-train %u %s %.40s %08x %.20s %s",
                     (unsigned)getuid(), jobs[0].key, jobs[0].name, (unsigned)job, step ? step : "",
                     v == VERDICT_TAKEN ? "taken" : "refused");
    if (n < 0 || (size_t)n >= sizeof out->sun_path - 1)
        return 0;
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/* A socket with the name of v or, with is_asked, one connected to it; -1 = not possible. */
static int open_named(enum verdict v, int is_asked)
{
    struct sockaddr_un name;
    const socklen_t n = name_of(v, &name);
    const int fd = n ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
    const struct sockaddr *at = (struct sockaddr *)&name;
    if (fd < 0 || (is_asked ? connect(fd, at, n) : bind(fd, at, n)) == 0)
        return fd;
    close(fd);
    return -1;
}

void verdict_tell(enum verdict v)
{
    (void)open_named(v, 0); /* stays open until the process ends, because its name is the message */
}

static int is_told(enum verdict v)
{
    const int fd = open_named(v, 1);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

enum verdict verdict_of_rank_0(void)
{
    return is_told(VERDICT_TAKEN) ? VERDICT_TAKEN : is_told(VERDICT_REFUSED) ? VERDICT_REFUSED : VERDICT_NONE;
}

/* ---- options that are not taken ---------------------------------------------------------------------------------- */

/* Open MPI 4.1 tells ranks on other nodes 3 s after rank 0 ended, srun at once. */
enum { LATE_RANKS_S = 2, ENDED_BY_LAUNCHER_S = LATE_RANKS_S + 3 + 3 };

/* The launcher's SIGTERM is caught and shows that the job is ending. Waiting also ends once rank 0 has accepted its
 * options. */
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
        dcr_say("dcrnn-train", "%s", sentence);
    if (self.rank < 0 || self.world_size == 1)
        return;
    if (self.rank == 0)
        verdict_tell(VERDICT_REFUSED);
    if (is_being_ended(self.rank, self.rank ? ENDED_BY_LAUNCHER_S : LATE_RANKS_S) || self.rank == 0)
        return;
    if (gethostname(host, sizeof host - 1))
        snprintf(host, sizeof host, "unknown-host");
    dcr_say("dcrnn-train", "rank %d on %s: %s", self.rank, host, sentence);
}

void refuse_none(void)
{
    const struct rank_identity self = rank_of_self();
    if (self.rank == 0 && self.world_size != 1)
        verdict_tell(VERDICT_TAKEN);
}
