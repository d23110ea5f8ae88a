/* libraries.h - the versions of MPI, NCCL and CUDA that the processes of a run use, from /proc/<pid>/maps. It is read
 * often at first and then less and less, because libraries are loaded early. */
#ifndef COLLECT_LIBRARIES_H
#define COLLECT_LIBRARIES_H

#include <jansson.h>
#include <stdint.h>
#include <sys/types.h>

struct libraries;

/** libraries_new - gives, or NULL; libraries_free. */
struct libraries *libraries_new(void);
void libraries_free(struct libraries *l);
/** libraries_is_due - is the next look due at now_ns? *due_ns and *gap_ns belong to the process and are zero at
 * first. */
int libraries_is_due(int64_t now_ns, int64_t *due_ns, int64_t *gap_ns);
/** libraries_look - take the libraries that the process has mapped now. */
void libraries_look(struct libraries *l, pid_t pid);
/** libraries_take - the same from the text of a maps file. The first library of each kind is kept. */
void libraries_take(struct libraries *l, const char *maps);
/** libraries_versions - {"mpi": {"path": ..., "version": ..., "says": ...}, "cuda": ..., "nccl": ...}. version: from
 * the file's name, absent when the name has none.
 *  ask_ms   time for loading the libraries of MPI and NCCL in a separate process and asking MPI_Get_library_version and
 *           ncclGetVersion (says); 0: do not ask
 *  gives; NULL: no process was looked at */
json_t *libraries_versions(const struct libraries *l, int ask_ms);

#endif
