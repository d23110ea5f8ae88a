/* fs.h - the few file-system habits all programs share. */
#ifndef DCR_FS_H
#define DCR_FS_H

#include "lib/err.h"

#include <stddef.h>

/** dcr_mkdirs - mkdir -p. */
int dcr_mkdirs(const char *path, struct dcr_err *err) DCR_MUST_CHECK;
/** dcr_commit_file - give a file that is whole its name, in place of the file that has it. A device, a pipe or a folder
 *  of that name is refused: root could rename over /dev/null. errors  DCR_FAIL: the file partial is still there */
int dcr_commit_file(const char *partial, const char *path, struct dcr_err *err) DCR_MUST_CHECK;
/** dcr_write_file - write path + ".partial" beside it, fsync not asked, commit; the partial is removed on failure. */
int dcr_write_file(const char *path, const void *bytes, size_t n, struct dcr_err *err) DCR_MUST_CHECK;
/** dcr_temporary_folder - where temporary files lie: TMPDIR, else /tmp. borrows, of the environment */
const char *dcr_temporary_folder(void);
/** dcr_open_nameless - a file without a name in the folder, for reading and writing: nothing of it is left, however the
 *  program ends. returns a descriptor (close it), or -1 with errno */
int dcr_open_nameless(const char *folder);
/** dcr_remove_tree - rm -r, never following links; refuses "", "/", ".", "..". */
int dcr_remove_tree(const char *path, struct dcr_err *err) DCR_MUST_CHECK;
/** dcr_list_dir - names of the entries (without . and ..), sorted bytewise. gives names (free with dcr_free_names). */
int dcr_list_dir(const char *path, char ***names, size_t *n, struct dcr_err *err) DCR_MUST_CHECK;
void dcr_free_names(char **names, size_t n);
/** dcr_ends_with - does the name end in this ending (".csv")? */
int dcr_ends_with(const char *name, const char *ending);
/** dcr_last_part - the name behind the path's last slash; "" behind one at its end. borrows path */
const char *dcr_last_part(const char *path);
/** dcr_exe_dir - folder of the running program, without a trailing slash. */
int dcr_exe_dir(char *out, size_t n, struct dcr_err *err) DCR_MUST_CHECK;

/** dcr_absolute - path from the root on. */
int dcr_absolute(const char *path, char *out, size_t n, struct dcr_err *err) DCR_MUST_CHECK;
/** dcr_resolve - the same without links and ".." on the way, which may be gone later; the folder that path lies in is
 *  there now, path itself need not be. */
int dcr_resolve(const char *path, char *out, size_t n, struct dcr_err *err) DCR_MUST_CHECK;

#endif
