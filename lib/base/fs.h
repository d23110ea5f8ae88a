/* fs.h - the few file-system habits all programs share. */
#ifndef DCR_FS_H
#define DCR_FS_H

#include "lib/base/err.h"

#include <stddef.h>

struct stat;

/** dcr_mkdirs - mkdir -p. */
int dcr_mkdirs(const char *path, struct dcr_err *err) DCR_MUST_CHECK;
/** dcr_check_is_file - refuse inputs that are neither a file nor a folder: a pipe can be read only once and may block,
 *  and a device may be endless.
 *  errors   DCR_FAIL: a pipe, device or socket; path is for the message */
int dcr_check_is_file(const struct stat *st, const char *path, struct dcr_err *err) DCR_MUST_CHECK;
/** dcr_open_file - open a file that the user named, for reading; never waits for the other end of a pipe.
 *  what     for messages: "theme file"
 *  fd       gives; close it
 *  errors   DCR_FAIL: it cannot be read, or dcr_check_is_file */
int dcr_open_file(const char *what, const char *path, int *fd, struct dcr_err *err) DCR_MUST_CHECK;
/** dcr_open_partial - create or empty the file partial, in which path is made, and lock it until fd is closed. A second
 *  process that makes the same file is refused; a file that a killed process left is reused. There is no lock if the
 *  file system does not support one.
 *  fd       gives, for writing; on failure remove partial before closing it
 *  errors   DCR_FAIL: it cannot be written, or another process is writing it */
int dcr_open_partial(const char *path, const char *partial, int *fd, struct dcr_err *err) DCR_MUST_CHECK;
/** dcr_commit_file - rename partial to path, replacing the file there. A device, a pipe or a folder at path is refused,
 *  since root could rename over /dev/null.
 *  fd       of dcr_open_partial; stays open but is unlocked
 *  errors   DCR_FAIL: the file partial is still there */
int dcr_commit_file(int fd, const char *partial, const char *path, struct dcr_err *err) DCR_MUST_CHECK;
/** dcr_sync_folder - sync the folder of path, so that a rename to path survives a crash. File systems that cannot sync
 *  folders are not an error. */
int dcr_sync_folder(const char *path, struct dcr_err *err) DCR_MUST_CHECK;
/** dcr_write_all - writes n bytes even when signals interrupt it. returns 0, or -1 with errno */
int dcr_write_all(int fd, const void *bytes, size_t n) DCR_MUST_CHECK;
/** dcr_write_file - write path + ".partial", then rename it to path; no fsync. The partial is removed on failure. */
int dcr_write_file(const char *path, const void *bytes, size_t n, struct dcr_err *err) DCR_MUST_CHECK;
/** dcr_temporary_folder - folder for temporary files: TMPDIR, else /tmp. borrows, of the environment */
const char *dcr_temporary_folder(void);
/** dcr_open_nameless - a file without a name in the folder, for reading and writing. The file vanishes in every case
 * when the program ends.
 *  returns  a descriptor (close it), or -1 with errno */
int dcr_open_nameless(const char *folder);
/** dcr_remove_tree - rm -rf, never following links; refuses "", "/", ".", "..". A missing path is not an error. */
int dcr_remove_tree(const char *path, struct dcr_err *err) DCR_MUST_CHECK;
/** dcr_list_dir - names of the entries (without . and ..), sorted bytewise. gives names (free with dcr_free_names). */
int dcr_list_dir(const char *path, char ***names, size_t *n, struct dcr_err *err) DCR_MUST_CHECK;
void dcr_free_names(char **names, size_t n);
/** dcr_ends_with - does the name end in this ending (".csv")? */
int dcr_ends_with(const char *name, const char *ending);
/** dcr_last_part - the name after the path's last slash; "" when the path ends in a slash. borrows path */
const char *dcr_last_part(const char *path);
/** dcr_folder_of - the folder in which a path lies: "." for a bare name, "/" for a path right below the root.
 *  returns  0; -1: out is too small */
int dcr_folder_of(const char *path, char *out, size_t n);
/** dcr_exe_dir - folder of the running program, without a trailing slash. */
int dcr_exe_dir(char *out, size_t n, struct dcr_err *err) DCR_MUST_CHECK;

/** dcr_absolute - makes a path absolute. */
int dcr_absolute(const char *path, char *out, size_t n, struct dcr_err *err) DCR_MUST_CHECK;
/** dcr_resolve - the same, with links and ".." resolved because they may be gone later. The folder of path must exist,
 * path itself need not. */
int dcr_resolve(const char *path, char *out, size_t n, struct dcr_err *err) DCR_MUST_CHECK;

#endif
