/* run_parts.h - what the files of `dccollect run` share: run.c (all together), run_places.c (where), run_record.c (the
 * record). */
#ifndef COLLECT_RUN_PARTS_H
#define COLLECT_RUN_PARTS_H

#include "collect/run/options.h"
#include "collect/run/start.h"
#include "lib/base/err.h"
#include "lib/archive/rank.h"

#include <jansson.h>
#include <limits.h>

struct libraries;

struct run {
    const struct options *o;
    struct rank_identity id;
    char spool[PATH_MAX];
    int spool_fd;          /* of that folder, to know it from one of the same name that was made later; -1: none yet */
    int is_own_spool;      /* made for -o, removed when packed */
    char output[PATH_MAX]; /* of -o, from the root on */
    char record_dir[PATH_MAX + 32];
    const char *record_name;
    json_t *record;
    json_t *node_share; /* of DCREPORT_NODE; NULL: this host is no emulated node */
    char host_dir[300]; /* "host-<name>" */
    int is_host_sampled;
    int n_left; /* processes that the program left behind, and who they are */
    char left[200];
    int has_claimed;       /* the record's file is ours */
    sigset_t program_mask; /* signals that were blocked before ours; the program gets them back */
};

/** run_choose_places - spool, folder and name of the record, which is made, empty. What another run holds is refused.
 */
int run_choose_places(struct run *r, struct dcr_err *err) DCR_MUST_CHECK;
/** run_claim_host - one collector per host samples the host: is it this one? r->is_host_sampled */
int run_claim_host(struct run *r, struct dcr_err *err) DCR_MUST_CHECK;
/** run_n_local - collectors on this host, as far as the launcher says; run_n_below - processes that record below this
 *  one: as many as there are cores when the program is a launcher, else 1. */
int run_n_local(const struct run *r);
int run_n_below(const struct run *r);
/** run_is_in_memory - the file system of the spool keeps its files there. */
int run_is_in_memory(const struct run *r);
/** run_begin_record - r->record, with all that is known before the program starts. */
void run_begin_record(struct run *r);
/** run_put_libraries - which MPI, NCCL and CUDA the program's processes used.
 *  libraries    what was sampled; NULL: nothing */
void run_put_libraries(struct run *r, const struct libraries *libraries);
/** run_end_record - how it ended. */
void run_end_record(struct run *r, const struct ended *e);

#endif
