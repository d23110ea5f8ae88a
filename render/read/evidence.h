/* evidence.h - reads all inputs of one side of the command line: archives, files and folders become runs. */
#ifndef RENDER_READ_EVIDENCE_H
#define RENDER_READ_EVIDENCE_H

#include "render/model/run.h"
#include "render/read/inputs.h"

struct evidence {
    struct inputs inputs;  /* that could be used */
    struct run **runs;     /* shape (inputs.n) */
    const char **left_out; /* why some could not be used although the rest can, as sentences without a full stop; shape
                              (n_left_out) */
    size_t n_left_out;
    const char **copies; /* runs given a second time, likewise; nothing is missing without them */
    size_t n_copies;
    const char **none; /* files of folders that are plainly no evidence: names, ascending; shape (n_none) */
    size_t n_none, none_cap;
    const char *passed; /* the first of those that a user may take for evidence, of n_passed; NULL none */
    size_t n_passed;
};

/** evidence_read - reads the named inputs. Files that were only found in a folder and cannot be used are listed in
 *  left_out, or in none if they are plainly no evidence (a README). A folder with nothing else is listed in left_out. A
 *  run given a second time, as a copy or unpacked, is used once and listed in copies, unless both were named.
 *  e        filled; must be zero; free with evidence_release, also after an error
 *  paths    borrows; shape (n)
 *  is_strict  1: each file that was named must be usable. 0: files of other tools and of unknown kinds are left out
 *           too, if anything else is usable
 *  errors   of the first that could not be read */
int evidence_read(struct evidence *e, char **paths, int n, int is_strict, struct dcr_err *err) DCR_MUST_CHECK;
/** evidence_release - a zero one is fine. */
void evidence_release(struct evidence *e);

#endif
