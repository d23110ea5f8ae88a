/* rank.h - a process's rank and job, from the variables of its launcher or from the link that it left itself. */
#ifndef LIB_RANK_H
#define LIB_RANK_H

struct rank_identity {
    int rank;       /* -1: no launcher of ranks */
    int local_rank; /* on its host; -1 unknown */
    int world_size; /* -1 unknown */
};

/* A name that distinguishes a job from all others. */
struct rank_job {
    const char *key; /* "torchrun", "pmix", "slurm"; NULL = no more names */
    char name[160];
};
enum { RANK_JOB_NAMES = 3 };
/** rank_jobs_of_self - the names that launchers and schedulers gave the job of this process. Two ranks of one job agree
 * in the first name that both have. A Slurm job of several components has several numbers, so its number is not used.
 *  returns  how many there are */
int rank_jobs_of_self(struct rank_job out[RANK_JOB_NAMES]);
/** rank_of_self - from this process's own environment. */
struct rank_identity rank_of_self(void);
/** rank_by_link - the rank that a process without a launcher left in the spool (DCR_RANK_LINK); -1: it left none. */
int rank_by_link(const char *spool, long pid);
/** rank_of_block - from an environment in the form of /proc/<pid>/environ: NAME=value, NUL, ... n bytes,
 * NUL-terminated. */
struct rank_identity rank_of_block(const char *environ_block, unsigned long n);

#endif
