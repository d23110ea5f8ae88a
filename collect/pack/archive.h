/* archive.h - writes a run archive (docs/FORMAT.md) of members that are ready. Called by manifest.c and by
 * collect/anonymise. */
#ifndef COLLECT_PACK_ARCHIVE_H
#define COLLECT_PACK_ARCHIVE_H

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/archive/format.h"

#include <jansson.h>
#include <stdint.h>

struct archive_member {
    const char *name;  /* in the archive */
    const char *path;  /* file to read; NULL: bytes, or fd */
    const char *bytes; /* the content itself; NULL: size bytes of fd from offset on */
    int fd;
    int64_t offset, size;
    enum dcr_role role;
    const char *kind;               /* of a file of another tool (lib/archive/foreign.h), or NULL */
    int node, rank;                 /* -1: does not apply */
    int copy_fd;                    /* used by pack: a copy that path names; 0 none */
    int is_monitor;                 /* used by pack: rows that the collector appended; only whole rows are packed */
    const char *host;               /* used by pack: of a host's monitor, until its node is known */
    int64_t blocks_before;          /* of a trace that keeps its newest events only: number of removed blocks */
    uint32_t first_piece, n_pieces; /* of a trace: <path>.<first_piece> and so on are older pieces of it */
    char sha256[65];
};

/** archive_manifest - make a manifest with its first keys: format, version, and room for its checksum.
 *  returns  gives */
json_t *archive_manifest(void);

/** archive_sort - sort members into the order of an archive. */
void archive_sort(struct archive_member *members, size_t n);

/** archive_hash - size and checksum of a member's file; of a trace only the part that was ever used, of a monitor only
 * whole rows. */
int archive_hash(struct archive_member *m, struct dcr_err *err) DCR_MUST_CHECK;

/** archive_write - write beside the final name, verify, rename; an existing output is replaced.
 *  output      compressed when it ends in .zst
 *  manifest    from archive_manifest, with all keys except "members", which is added
 *  members     sorted and hashed
 *  mtime       of all members, Unix seconds
 *  errors      DCR_FAIL: a file has changed since it was hashed; DCR_FATAL: the archive cannot be written */
int archive_write(const char *output, int64_t mtime, json_t *manifest, const struct archive_member *members, size_t n,
                  struct dcr_err *err) DCR_MUST_CHECK;

/** archive_nameless - a file without a name beside the output, so that nothing is left of it, however packing ends.
 * gives */
int archive_nameless(const char *output, int *fd, struct dcr_err *err) DCR_MUST_CHECK;

/** archive_metadata_text - append the metadata as text of job_metadata.txt: one fact a line. */
void archive_metadata_text(const json_t *metadata, struct dcr_buf *out);

#endif
