/* file_kind.c - see file_kind.h. */
#include "trainer/formats/file_kind.h"

#include "lib/base/fs.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* First bytes of each kind, from the formats' own descriptions. */
static const struct {
    enum file_kind kind;
    const char *start;
    size_t n;
} known[] = {
    {FILE_HDF5, "\x89HDF\r\n\x1a\n", 8}, /* HDF5 File Format Specification, III.A */
    {FILE_NPY, "\x93NUMPY", 6},          /* numpy/lib/format.py */
    {FILE_ZIP, "PK\x03\x04", 4},         /* APPNOTE.TXT 4.3.7 */
    {FILE_ZIP, "PK\x05\x06", 4},         /* an empty archive: 4.3.16 */
    {FILE_PICKLE, "\x80\x02", 2},        /* PROTO of protocol 2 and later: Lib/pickletools.py */
    {FILE_PICKLE, "\x80\x03", 2},
    {FILE_PICKLE, "\x80\x04", 2},
    {FILE_PICKLE, "\x80\x05", 2},
    {FILE_PICKLE, "(lp", 3}, /* protocol 0, a list */
    {FILE_PICKLE, "]q", 2},  /* protocol 1 */
};

int file_kind_of(const char *path, enum file_kind *out, struct dcr_err *err)
{
    static const char pointer[] = "version https://git-lfs";
    char start[sizeof pointer] = {0};
    struct stat st;
    *out = FILE_TEXT;
    if (stat(path, &st))
        return dcr_err_sys(err, DCR_FAIL, "cannot open '%s'", path);
    if (dcr_check_is_file(&st, path, err))
        return DCR_FAIL;
    if (S_ISDIR(st.st_mode)) {
        *out = FILE_FOLDER;
        return 0;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return dcr_err_sys(err, DCR_FAIL, "cannot open '%s'", path);
    ssize_t n = read(fd, start, sizeof start - 1);
    close(fd);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (n >= (ssize_t)known[i].n && !memcmp(start, known[i].start, known[i].n))
            *out = known[i].kind;
    if (!strcmp(start, pointer))
        return dcr_err_set(err, DCR_FAIL,
                           "'%s' is a Git LFS pointer and not the data: run `git lfs pull` where it came from, or "
                           "download the file itself",
                           path);
    return 0;
}

const char *file_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}
