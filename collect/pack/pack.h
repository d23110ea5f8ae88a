/* pack.h - dccollect pack: makes one archive of a spool folder in any state, or of an existing results folder. */
#ifndef COLLECT_PACK_H
#define COLLECT_PACK_H

#include "lib/base/err.h"

#include <stddef.h>

/* Ranks whose full traces go into the archive; summaries of all traces are in it. */
enum pack_traces { PACK_TRACES_ALL, PACK_TRACES_RANK0, PACK_TRACES_NONE };

struct pack_request {
    const char *spool;  /* spool or results folder */
    const char *output; /* replaced when it exists; ".zst" compresses */
    enum pack_traces traces;
    int is_live;        /* another process still writes into the spool, so copies of its files are packed */
    const char *reason; /* why the run is incomplete, from the caller; NULL none */
    const char *const *adopt;
    size_t n_adopt;
    const char *calibration; /* result of `dccollect calibrate`, or NULL */
    int n_nodes;             /* given by the user, 0 = find out */
    int emulate_nodes;       /* the run's option of the same name */
    int *n_unread;           /* gets the number of spool files that could not be read; may be NULL */
};

/** pack_check_output - may an archive be written there: is the place free, or taken by an archive of ours, which is
 * replaced?
 *  errors   DCR_FAIL: a folder, or a file that is not a run archive and would be lost */
int pack_check_output(const char *output, struct dcr_err *err) DCR_MUST_CHECK;

/** pack_spool - gather, describe, write beside the final name, verify, rename.
 *  message  a few lines for people: content, dropped events, missing parts
 *  errors   DCR_FAIL: nothing to pack, a file that cannot be read, no room; an existing output is then untouched. A run
 *           that ended badly is not an error: the archive says complete=false and why */
int pack_spool(const struct pack_request *request, char *message, size_t n, struct dcr_err *err) DCR_MUST_CHECK;

/** summarize_folder - writes a summary beside every trace of a rank's folder in a spool, on the node that wrote them,
 * when the program has ended. Failures are left to packing. */
void summarize_folder(const char *dir, int rank);
/** summarize_wait - waits, a minute at most, until the processes that sum up traces of the spool
 * (collect/drain/follow.h) are done. A killed collector leaves them running. */
void summarize_wait(const char *spool);

#endif
