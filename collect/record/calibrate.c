/* calibrate.c - see calibrate.h. The measurements are in collect/calibrate/. */
#include "collect/record/calibrate.h"

#include "collect/record/spool_layout.h"
#include "lib/archive/format.h"
#include "lib/base/fs.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM "dccollect-calibrate"

int calibrate_start(char *const *argv, struct dcr_err *err)
{
    char dir[PATH_MAX], path[PATH_MAX + sizeof PROGRAM + 1];
    int rc = dcr_exe_dir(dir, sizeof dir, err);
    if (rc)
        return rc;
    snprintf(path, sizeof path, "%s/" PROGRAM, dir);
    execv(path, argv);
    return dcr_err_file(err, DCR_FAIL, "cannot start '%s'", path);
}

static json_t *load(const char *path, struct dcr_err *err)
{
    json_error_t why;
    json_t *o = json_load_file(path, JSON_REJECT_DUPLICATES, &why);
    const char *format = json_string_value(json_object_get(o, "format"));
    json_int_t version = json_integer_value(json_object_get(o, "version"));
    if (format && strcmp(format, DCR_CALIBRATION_FORMAT) == 0 && version == DCR_CALIBRATION_VERSION)
        return o;
    if (access(path, R_OK) != 0)
        dcr_err_file(err, DCR_FAIL, "cannot read the calibration '%s'", path);
    else if (format && strcmp(format, DCR_CALIBRATION_FORMAT) == 0)
        dcr_err_set(
            err, DCR_FAIL,
            "cannot read '%s': calibration version %lld, this program reads up to %d; use a later version of dcreport",
            path, (long long)version, DCR_CALIBRATION_VERSION);
    else
        dcr_err_set(err, DCR_FAIL,
                    "cannot read '%s': it is not a result of `dccollect calibrate`; name one, or measure again", path);
    json_decref(o);
    return NULL;
}

int calibrate_check(const char *path, struct dcr_err *err)
{
    json_t *o = load(path, err);
    int rc = o ? DCR_OK : DCR_FAIL;
    json_decref(o);
    return rc;
}

int calibrate_copy(const char *path, const char *spool, struct dcr_err *err)
{
    json_t *o = load(path, err);
    if (!o)
        return DCR_FAIL;
    int rc = spool_write_json(spool, DCR_CALIBRATION, o, err);
    json_decref(o);
    return rc;
}
