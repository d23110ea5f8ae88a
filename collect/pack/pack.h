/* pack.h - dccollect pack: one archive from a spool folder, whatever state it is in, or from an existing results
 * folder. */
#ifndef COLLECT_PACK_H
#define COLLECT_PACK_H

#include "lib/base/err.h"

#include <stddef.h>

/* Whose full traces go into the archive; all have summaries in it. */
enum pack_traces { PACK_TRACES_ALL, PACK_TRACES_RANK0, PACK_TRACES_NONE };

struct pack_request {
    const char *spool;  /* spool or results folder */
    const char *output; /* replaced when it exists; ".zst" compresses */
    enum pack_traces traces;
    int is_live;        /* somebody still writes into the spool: copies of its files are packed */
    const char *reason; /* why the run is incomplete, as the caller knows; NULL none */
    const char *const *adopt;
    size_t n_adopt;
    const char *calibration; /* what `dccollect calibrate` wrote, or NULL */
    int n_nodes;             /* told by the user, 0 = find out */
    int emulate_nodes;       /* as the run's own option */
    int *n_unread;           /* gets the number of spool files that could not be read; may be NULL */
};

/** pack_check_output - may an archive be put there: nothing stands there, or an archive of ours, which is replaced.
 *  errors   DCR_FAIL: a folder, or a file that is no run archive and would be lost */
int pack_check_output(const char *output, struct dcr_err *err) DCR_MUST_CHECK;

/** pack_spool - gather, describe, write beside the final name, verify, rename.
 *  message  one line for people: what is in it, dropped, missing
 *  errors   DCR_FAIL: nothing to pack, a file that cannot be read, no room; an existing output is then untouched.
 *           A run that did not end well is no error: the archive says complete=false and why */
int pack_spool(const struct pack_request *request, char *message, size_t n, struct dcr_err *err) DCR_MUST_CHECK;

/** summarize_folder - a summary beside every trace of a rank's folder in a spool, made on the node that wrote them when
 *  the program has ended; what fails is left to packing. */
void summarize_folder(const char *dir, int rank);
/** summarize_wait - wait until the processes that sum up traces of the spool (collect/drain/follow.h) are done, a
 * minute at most. A collector that was killed leaves them at work. */
void summarize_wait(const char *spool);

#endif
