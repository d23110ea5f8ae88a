/* run_parts.h - shared by the files of `dccollect run`: run.c (the order of the steps), run_places.c (places of files),
 * run_record.c (the record). */
#ifndef COLLECT_RUN_PARTS_H
#define COLLECT_RUN_PARTS_H

#include "collect/run/options.h"
#include "collect/run/start.h"
#include "lib/base/err.h"
#include "lib/archive/rank.h"

#include <jansson.h>
#include <limits.h>

struct run {
    const struct options *o;
    struct rank_identity id;
    char spool[PATH_MAX];
    int spool_fd;          /* descriptor of that folder, to distinguish it from a later one of the same name; -1: none
                            * yet */
    int is_own_spool;      /* made for -o, removed after packing */
    char output[PATH_MAX]; /* the path of -o, made absolute */
    char record_dir[PATH_MAX + 32];
    const char *record_name;
    json_t *record;
    json_t *host;       /* facts of the host; NULL: not asked for yet */
    json_t *adopt;      /* absolute paths of --adopt */
    json_t *node_share; /* from DCREPORT_NODE; NULL: this host is not an emulated node */
    char host_dir[300]; /* "host-<name>" */
    int is_host_sampled;
    int n_left; /* number of processes that the program left running, and their ids */
    char left[200];
    int has_claimed;       /* this collector made the record's file */
    sigset_t program_mask; /* signals that were blocked at our start; the program gets this mask back */
};

/** run_choose_places - choose the spool, and folder and name of the record, which is made empty. Places of another run
 * are refused. */
int run_choose_places(struct run *r, struct dcr_err *err) DCR_MUST_CHECK;
/** run_claim_host - one collector per host samples the host. Sets r->is_host_sampled if it is this one. */
int run_claim_host(struct run *r, struct dcr_err *err) DCR_MUST_CHECK;
/** run_n_local - number of collectors on this host, if the launcher tells. run_n_below - number of recording processes
 * below this one: 1, but when the program is a launcher the ranks that it is asked for, at most one for each core (at
 * least 4). */
int run_n_local(const struct run *r);
int run_n_below(const struct run *r);
/** run_is_in_memory - does the file system of the spool keep its files in memory? */
int run_is_in_memory(const struct run *r);
/** run_begin_record - make r->record with everything that is known before the program starts. */
void run_begin_record(struct run *r);
/** run_end_record - put how the program ended. */
void run_end_record(struct run *r, const struct ended *e);

#endif
