/* option_value.c - see option_value.h. */
#include "trainer/option_value.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int option_bad(const char *name, const char *text, const char *wanted, struct dcr_err *err)
{
    return dcr_err_set(err, DCR_FAIL, "--%s takes %s, not '%.60s'", name, wanted, text);
}

int option_i64(const char *name, const char *text, int64_t low, int64_t high, int64_t *out, struct dcr_err *err)
{
    char *end, wanted[80];
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (end != text && !*end && !errno && v >= low && v <= high) {
        *out = v;
        return 0;
    }
    snprintf(wanted, sizeof wanted, "a whole number from %lld to %lld", (long long)low, (long long)high);
    return option_bad(name, text, wanted, err);
}

int option_int(const char *name, const char *text, int low, int high, int *out, struct dcr_err *err)
{
    int64_t v = 0;
    int rc = option_i64(name, text, low, high, &v, err);
    if (!rc)
        *out = (int)v;
    return rc;
}

int option_seed(const char *name, const char *text, uint64_t *out, struct dcr_err *err)
{
    int64_t v = 0;
    int rc = option_i64(name, text, 0, INT64_MAX, &v, err);
    if (!rc)
        *out = (uint64_t)v;
    return rc;
}

int option_real(const char *name, const char *text, int may_be_zero, double *out, struct dcr_err *err)
{
    char *end;
    double v = strtod(text, &end);
    if (end == text || *end || !isfinite(v) || v < 0 || (v == 0 && !may_be_zero))
        return option_bad(name, text, may_be_zero ? "a number, 0 or more" : "a number above 0", err);
    *out = v;
    return 0;
}

int option_choice(const char *name, const char *text, const char *const *names, int *out, struct dcr_err *err)
{
    char wanted[160] = "one of";
    for (int i = 0; names[i]; i++) {
        if (!strcmp(text, names[i])) {
            *out = i;
            return 0;
        }
        size_t n = strlen(wanted);
        snprintf(wanted + n, sizeof wanted - n, "%s %s", i ? "," : "", names[i]);
    }
    return option_bad(name, text, wanted, err);
}
