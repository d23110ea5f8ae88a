/* thresholds.c - see thresholds.h. */
#include "render/metrics/thresholds.h"

#include "lib/base/fs.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct entry {
    const char *name;
    double lo, hi;
    size_t offset;
} entries[] = {
#define X(name, def, lo, hi, meaning) {#name, lo, hi, offsetof(struct thresholds, name)},
    THRESHOLDS(X)
#undef X
};

struct thresholds thresholds_default(void)
{
    return (struct thresholds){
#define X(name, def, lo, hi, meaning) .name = def,
        THRESHOLDS(X)
#undef X
    };
}

static char *trimmed(char *s)
{
    s += strspn(s, " \t\r\n");
    size_t n = strlen(s);
    while (n && strchr(" \t\r\n", s[n - 1]))
        s[--n] = '\0';
    return s;
}

static int read_line(struct thresholds *t, char *line, const char *path, long number, struct dcr_err *err)
{
    line[strcspn(line, "#")] = '\0';
    char *equals = strchr(line, '='), *end;
    if (!*trimmed(line))
        return 0;
    if (!equals)
        return dcr_err_set(err, DCR_FAIL, "'%s' line %ld: expected 'name = number', found '%.60s'; see docs/thresholds",
                           path, number, trimmed(line));
    *equals = '\0';
    const char *name = trimmed(line), *text = trimmed(equals + 1);
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        const struct entry *e = &entries[i];
        if (strcmp(e->name, name) != 0)
            continue;
        double v = strtod(text, &end);
        if (end == text || *end || !(v >= e->lo && v <= e->hi))
            return dcr_err_set(err, DCR_FAIL, "'%s' line %ld: %s takes a number from %g to %g, not '%.60s'", path,
                               number, name, e->lo, e->hi, text);
        *(double *)((char *)t + e->offset) = v;
        return 0;
    }
    return dcr_err_set(err, DCR_FAIL, "'%s' line %ld: unknown threshold '%.60s'; see docs/thresholds", path, number,
                       name);
}

int thresholds_read(struct thresholds *t, const char *path, struct dcr_err *err)
{
    char *line = NULL;
    size_t cap = 0;
    long number = 0;
    int fd, rc = dcr_open_file("thresholds", path, &fd, err);
    if (rc)
        return rc;
    FILE *f = fdopen(fd, "r");
    if (!f) {
        rc = dcr_err_file(err, DCR_FAIL, "cannot read thresholds '%s'", path);
        close(fd);
        return rc;
    }
    while (rc == 0 && (errno = 0, getline(&line, &cap, f)) >= 0)
        rc = read_line(t, line, path, ++number, err);
    if (rc == 0 && errno)
        rc = dcr_err_file(err, DCR_FAIL, "cannot read thresholds '%s'", path);
    free(line);
    fclose(f);
    return rc;
}
