/* verdict.c - see verdict.h. The names are abstract (unix(7)): they belong to the network namespace, not to a folder.
 */
#include "trainer/ranks/verdict.h"

#include "lib/base/hash.h"
#include "lib/archive/rank.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* returns the length of the address, 0 when the job has no name */
static socklen_t name_of(enum verdict v, struct sockaddr_un *out)
{
    struct rank_job jobs[RANK_JOB_NAMES];
    const char *step = getenv("SLURM_STEP_ID"); /* steps of one Slurm job are jobs of their own here */
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

void verdict_tell(enum verdict v)
{
    struct sockaddr_un name;
    socklen_t n = name_of(v, &name);
    int fd = n ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
    if (fd >= 0 && bind(fd, (struct sockaddr *)&name, n) != 0)
        close(fd); /* else open until the end of the process: it is the name that counts */
}

static int is_told(enum verdict v)
{
    struct sockaddr_un name;
    socklen_t n = name_of(v, &name);
    int fd = n ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
    int is = fd >= 0 && connect(fd, (struct sockaddr *)&name, n) == 0;
    if (fd >= 0)
        close(fd);
    return is;
}

enum verdict verdict_of_rank_0(void)
{
    return is_told(VERDICT_TAKEN) ? VERDICT_TAKEN : is_told(VERDICT_REFUSED) ? VERDICT_REFUSED : VERDICT_NONE;
}
