/* job.c - see job.h. */
#include "collect/record/job.h"

#include "collect/record/spool_layout.h"
#include "lib/archive/member.h"
#include "lib/archive/rank.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

json_t *job_of_self(void)
{
    struct rank_job job[RANK_JOB_NAMES];
    json_t *o = json_object();
    for (int i = 0, n = rank_jobs_of_self(job); i < n; i++)
        json_object_set_new(o, job[i].key, json_string(job[i].name));
    return o;
}

int job_are_two(const json_t *a, const json_t *b)
{
    /* The name closest to the program comes first, because an elastic job may go on in another allocation. */
    static const char *const keys[] = {"torchrun", "pmix", "slurm"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const json_t *one = json_object_get(a, keys[i]), *other = json_object_get(b, keys[i]);
        if (one && other)
            return !json_equal(one, other);
    }
    return 0;
}

int job_is_another(const char *spool, char *const *names, size_t n, int own_rank)
{
    /* Records are empty while their ranks start, and thousands of ranks must not open all of them. */
    enum { MOST_TRIES = 16 };
    json_t *own = job_of_self(), *theirs = NULL;
    int n_tries = 0;
    for (size_t i = 0; i < n && !theirs && n_tries < MOST_TRIES; i++) {
        char path[PATH_MAX + 64];
        int rank = dcr_name_number(names[i], strlen(names[i]), "rank");
        if (rank < 0 || rank == own_rank)
            continue;
        snprintf(path, sizeof path, "%s/%s/" SPOOL_RANK, spool, names[i]);
        theirs = json_load_file(path, 0, NULL);
        n_tries++;
    }
    int is_another = job_are_two(own, json_object_get(theirs, "job"));
    json_decref(own);
    json_decref(theirs);
    return is_another;
}
