/* job.h - the job of this process, so that the ranks of two jobs do not record into one spool. */
#ifndef COLLECT_JOB_H
#define COLLECT_JOB_H

#include <jansson.h>
#include <stddef.h>

/** job_of_self - {"pmix": "...", "slurm": "..."}: lib/archive/rank.h. gives */
json_t *job_of_self(void);
/** job_are_two - do two such objects name two jobs? NULL names none. */
int job_are_two(const json_t *a, const json_t *b);
/** job_is_another - does another rank with a record in the spool belong to another job? Only one record is read,
 * because there may be thousands. names    of what lies in the spool. shape (n)                  own_rank  that of this
 * process */
int job_is_another(const char *spool, char *const *names, size_t n, int own_rank);

#endif
