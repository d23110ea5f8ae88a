/* spool_layout.c - see spool_layout.h. */
#include "collect/record/spool_layout.h"

#include "lib/base/fs.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int join(char *out, size_t n, const char *dir, const char *name, struct dcr_err *err)
{
    int k = snprintf(out, n, "%s/%s", dir, name);
    if (k < 0 || (size_t)k >= n)
        return dcr_err_set(err, DCR_FAIL, "the name '%.200s...' is too long", dir);
    return DCR_OK;
}

int spool_write_json(const char *dir, const char *name, const json_t *o, struct dcr_err *err)
{
    char path[PATH_MAX];
    int rc = join(path, sizeof path, dir, name, err);
    if (rc)
        return rc;
    /* 14 digits: Unix seconds with milliseconds, without the noise of the binary fraction */
    char *text = json_dumps(o, JSON_INDENT(1) | JSON_REAL_PRECISION(14));
    if (!text)
        return dcr_err_set(err, DCR_FAIL, "out of memory writing '%s'", path);
    rc = dcr_write_file(path, text, strlen(text), err);
    free(text);
    return rc;
}
