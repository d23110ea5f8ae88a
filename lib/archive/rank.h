/* rank.h - who a process is among the processes of its job: by the variables that its launcher set, or by its own word.
 */
#ifndef LIB_RANK_H
#define LIB_RANK_H

struct rank_identity {
    int rank;       /* -1: no launcher of ranks */
    int local_rank; /* on its host; -1 unknown */
    int world_size; /* -1 unknown */
};

/* What tells a job from every other. */
struct rank_job {
    const char *key; /* "torchrun", "pmix", "slurm"; NULL = there is no further one */
    char name[160];
};
enum { RANK_JOB_NAMES = 3 };
/** rank_jobs_of_self - the names that launchers and schedulers gave the job of this process. Two ranks of one job agree
 *  in the first name that both have. A Slurm job of several components has several numbers, and none counts.
 *  returns  how many there are */
int rank_jobs_of_self(struct rank_job out[RANK_JOB_NAMES]);
/** rank_of_self - of this process's own environment. */
struct rank_identity rank_of_self(void);
/** rank_by_link - the rank that a process without a launcher left in the spool (DCR_RANK_LINK); -1: it left none. */
int rank_by_link(const char *spool, long pid);
/** rank_of_block - of an environment as /proc/<pid>/environ has it: NAME=value, NUL, ... n bytes, NUL-terminated. */
struct rank_identity rank_of_block(const char *environ_block, unsigned long n);

#endif
