/* evidence.h - all that one side of the command line names, read: archives, files and folders become runs. */
#ifndef RENDER_READ_EVIDENCE_H
#define RENDER_READ_EVIDENCE_H

#include "render/model/run.h"
#include "render/read/inputs.h"

struct evidence {
    struct inputs inputs;  /* of what could be used */
    struct run **runs;     /* shape (inputs.n) */
    const char **left_out; /* not usable, the rest is: why, as sentences without a full stop; shape (n_left_out) */
    size_t n_left_out;
    const char **copies; /* runs that are there a second time, likewise: nothing is missing without them */
    size_t n_copies;
    const char **none; /* files of folders that are plainly no evidence: names, ascending; shape (n_none) */
    size_t n_none, none_cap;
};

/** evidence_read - read what was named; what was only found in a folder and cannot be used is said in left_out,
 *  unless it is plainly no evidence (a README): then it is named in none. A folder with nothing else is said. A run
 *  that is there a second time, as a copy or unpacked, is used once and said in copies, unless both were named.
 *  e        filled; must be zero; free with evidence_release, also after an error
 *  paths    borrows; shape (n)
 *  is_strict  1: each file that was named must be usable. 0: those of other tools, and what is of no known kind, are
 *           left out too where anything else is usable
 *  errors   of the first that could not be read */
int evidence_read(struct evidence *e, char **paths, int n, int is_strict, struct dcr_err *err) DCR_MUST_CHECK;
/** evidence_release - a zero one is fine. */
void evidence_release(struct evidence *e);

#endif
