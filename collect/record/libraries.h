/* libraries.h - which shared objects the processes of a run had mapped, by rank: what the injected library left of each
 * process, and /proc/<pid>/maps, looked at often at first and ever more seldom, since libraries are loaded early. */
#ifndef COLLECT_LIBRARIES_H
#define COLLECT_LIBRARIES_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { LIBRARIES_MOST = 1024 }; /* of a rank */

struct libraries;

/** libraries_new - gives, or NULL; libraries_free. */
struct libraries *libraries_new(void);
void libraries_free(struct libraries *l);
/** libraries_is_due - is the next look due at now_ns? *due_ns and *gap_ns are the process's own, zero at first. */
int libraries_is_due(int64_t now_ns, int64_t *due_ns, int64_t *gap_ns);
/** libraries_look - take what the process has mapped now. rank -1: it has none. */
void libraries_look(struct libraries *l, pid_t pid, int rank);
/** libraries_take - the same of the text of a maps file. Objects are executable mappings of files that are named .so;
 *  the collector's own are left out. */
void libraries_take(struct libraries *l, const char *maps, int rank);
/** libraries_describe - [{"rank": 0, "paths": ["..."], "is_cut": true}], ranks ascending and absent when there is
 *  none, paths sorted; is_cut when there were more, above all more than LIBRARIES_MOST. gives */
json_t *libraries_describe(const struct libraries *l);
/** libraries_versions - {"mpi": {"path": ..., "version": ..., "says": ...}, "cuda": ..., "nccl": ...} of such a
 *  description: the first of each kind. version: what its file's name says, absent when that is nothing.
 *  ask_ms   the libraries of MPI and NCCL are loaded into a process of their own and asked MPI_Get_library_version and
 *           ncclGetVersion (says), for so long; 0: not at all
 *  gives */
json_t *libraries_versions(const json_t *description, int ask_ms);

#endif
