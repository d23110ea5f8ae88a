/* cores.c - see cores.h. Test: tests/unit/test_lib.c */
#include "lib/base/cores.h"

#include "lib/base/cgroup.h"

#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Rounded up; 0 = no limit. */
static int whole(double cores)
{
    return !(cores > 0) || cores >= INT_MAX ? 0 : (int)cores + (cores > (double)(int)cores);
}

int dcr_cores_of_quota(const char *text)
{
    return whole(dcr_cgroup_quota(text));
}

static void take_least(void *ctx, const char *dir, int is_v2, double quota_cores)
{
    (void)dir;
    (void)is_v2;
    int *cores = ctx, quota = whole(quota_cores);
    *cores = quota && quota < *cores ? quota : *cores;
}

int dcr_cores(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    n = n > 0 ? n : 1;
    dcr_cgroup_cpu(take_least, &n);
    return n;
}

static atomic_int n_working;

void dcr_cores_work(int change)
{
    atomic_fetch_add(&n_working, change);
}

int dcr_cores_spare(void)
{
    if (atomic_fetch_add(&n_working, 1) < dcr_cores())
        return 1;
    atomic_fetch_sub(&n_working, 1);
    return 0;
}

void dcr_add_cpus(unsigned char set[DCR_MAX_CPUS], const char *list)
{
    while (*list) {
        char *end;
        long from = strtol(list, &end, 10), to = from;
        if (end == list)
            return;
        if (*end == '-')
            to = strtol(end + 1, &end, 10);
        for (long c = from < 0 ? 0 : from; c <= to && c < DCR_MAX_CPUS; c++)
            set[c] = 1;
        list = end + (*end == ',');
    }
}
