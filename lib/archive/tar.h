/* tar.h - run archives as tar files: a streaming reader that distrusts its input, and a deterministic writer.
 * A thin layer over libarchive (tar, optionally zstd- or gzip-compressed). */
#ifndef DCR_TAR_H
#define DCR_TAR_H

#include "lib/base/stream.h"

#include <stdint.h>

struct dcr_tar_member {
    const char *name; /* relative, no "..", no leading "/", UTF-8; borrows until the next member */
    int64_t size_bytes;
    struct dcr_stream stream; /* valid until the next member */
};

struct dcr_tar_reader;

/** dcr_tar_open - open and recognise.
 *  errors   DCR_FAIL, "cannot read 'x.tar': ...": missing, a folder, empty, not a tar */
int dcr_tar_open(struct dcr_tar_reader **out, const char *path, struct dcr_err *err) DCR_MUST_CHECK;
/** dcr_tar_next - the next regular member. Folders are skipped silently.
 *  returns  0, DCR_END; DCR_FATAL for an unsafe member (absolute path, "..", link, device), a duplicate name,
 *           a truncated or damaged archive: the sentence names archive, member and what to do */
int dcr_tar_next(struct dcr_tar_reader *r, struct dcr_tar_member *out, struct dcr_err *err) DCR_MUST_CHECK;
/** dcr_tar_check_end - after DCR_END: checks that the tar ends in two blocks of zeros with nothing after them, which
 * libarchive does not check. Compressed archives are not checked.
 *  errors   DCR_FAIL, a sentence about the end; DCR_ERR_MACHINE where the system failed */
int dcr_tar_check_end(const struct dcr_tar_reader *r, struct dcr_err *err) DCR_MUST_CHECK;
void dcr_tar_close(struct dcr_tar_reader *r);

/** dcr_tar_name_is_safe - the rule dcr_tar_next applies. */
int dcr_tar_name_is_safe(const char *name);

struct dcr_tar_writer;
/** dcr_tar_create - start an archive in a file beside path (dcr_open_partial), which dcr_tar_commit renames to path.
 * Owner 0, mode 0644 and the given mtime: the same members give the same bytes.
 *  path    if it ends in .zst, the archive is compressed
 *  beside  name of that file; NULL: path + ".partial" */
int dcr_tar_create(struct dcr_tar_writer **out, const char *path, const char *beside,
                   struct dcr_err *err) DCR_MUST_CHECK;
/** dcr_tar_add_stream - a member with exactly size_bytes of a stream, which must end there (DCR_FAIL if not). */
int dcr_tar_add_stream(struct dcr_tar_writer *w, const char *name, struct dcr_stream *s, int64_t size_bytes,
                       int64_t mtime, struct dcr_err *err) DCR_MUST_CHECK;
int dcr_tar_add_bytes(struct dcr_tar_writer *w, const char *name, const void *bytes, size_t n, int64_t mtime,
                      struct dcr_err *err) DCR_MUST_CHECK;
/** dcr_tar_commit - write the end, fsync, check, rename, fsync the folder, free. On failure the file beside is removed.
 *  check  examines that file before the rename; if it fails, its error is returned and nothing is renamed. NULL: no
 *         check */
int dcr_tar_commit(struct dcr_tar_writer *w, int (*check)(const char *partial, struct dcr_err *err),
                   struct dcr_err *err) DCR_MUST_CHECK;
/** dcr_tar_abandon - remove the partial file, free. NULL is fine. */
void dcr_tar_abandon(struct dcr_tar_writer *w);

#endif
