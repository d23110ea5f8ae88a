/* ending.h - why a run is incomplete, as its collector wrote it (collect/pack/judge.c): "rank 1 ended with exit status
 * 5", "the program was ended by signal 9 (Killed)", "rank 0 was told to end (SIGTERM)", "the launcher mpirun ended with
 * exit status 139, which may mean signal 11 (Segmentation fault)", "rank 1 ended first". Only this file reads these
 * sentences. */
#ifndef RENDER_READ_ENDING_H
#define RENDER_READ_ENDING_H

#include "render/model/run.h"

/** ending_of - the ending that such a sentence states. Any other sentence is ENDING_OTHER.
 *  sentence  borrows; the result refers to it. Test: tests/unit/test_failed.c */
struct run_ending ending_of(const char *sentence);

#endif
