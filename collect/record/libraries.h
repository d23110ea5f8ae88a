/* libraries.h - which MPI, NCCL and CUDA the processes of a run use, by /proc/<pid>/maps, looked at often at first and
 * ever more seldom, since libraries are loaded early. */
#ifndef COLLECT_LIBRARIES_H
#define COLLECT_LIBRARIES_H

#include <jansson.h>
#include <stdint.h>
#include <sys/types.h>

struct libraries;

/** libraries_new - gives, or NULL; libraries_free. */
struct libraries *libraries_new(void);
void libraries_free(struct libraries *l);
/** libraries_is_due - is the next look due at now_ns? *due_ns and *gap_ns are the process's own, zero at first. */
int libraries_is_due(int64_t now_ns, int64_t *due_ns, int64_t *gap_ns);
/** libraries_look - take what the process has mapped now. */
void libraries_look(struct libraries *l, pid_t pid);
/** libraries_take - the same of the text of a maps file: the first library of each kind stays. */
void libraries_take(struct libraries *l, const char *maps);
/** libraries_versions - {"mpi": {"path": ..., "version": ..., "says": ...}, "cuda": ..., "nccl": ...}. version: what
 * its file's name says, absent when that is nothing. ask_ms   the libraries of MPI and NCCL are loaded into a process
 * of their own and asked MPI_Get_library_version and ncclGetVersion (says), for so long; 0: not at all gives; NULL: no
 * process was looked at */
json_t *libraries_versions(const struct libraries *l, int ask_ms);

#endif
