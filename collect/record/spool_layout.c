/* spool_layout.c - see spool_layout.h. */
#include "collect/record/spool_layout.h"

#include "lib/base/fs.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int spool_write_json(const char *dir, const char *name, const json_t *o, struct dcr_err *err)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", dir, name);
    if (n < 0 || (size_t)n >= sizeof path)
        return dcr_err_set(err, DCR_FAIL, "the name '%.200s...' is too long; choose a shorter one", dir);
    /* 14 digits: Unix seconds with milliseconds, without the noise of the binary fraction */
    char *text = json_dumps(o, JSON_INDENT(1) | JSON_REAL_PRECISION(14));
    if (!text)
        return dcr_err_set(err, DCR_FAIL, "out of memory writing '%s'", path);
    int rc = dcr_write_file(path, text, strlen(text), err);
    free(text);
    return rc;
}
