/* import_text.h - gives a text to the importers and returns the run. Inside tests/unit. */
#ifndef TESTS_UNIT_IMPORT_TEXT_H
#define TESTS_UNIT_IMPORT_TEXT_H

#include "tests/unit/imported.h"

static struct dcr_err err;

static ssize_t text_read(void *ctx, void *out, size_t n, struct dcr_err *e)
{
    (void)e;
    const char **p = ctx;
    size_t k = strlen(*p) < n ? strlen(*p) : n;
    memcpy(out, *p, k);
    *p += k;
    return (ssize_t)k;
}

/* name: name of the pretended file */
static int import_named(const char *name, const char *text)
{
    run_free(run);
    run = run_new("t");
    err = (struct dcr_err){0};
    struct dcr_stream s = {text_read, &text, "raw"};
    return import_foreign(run, name, &s, &err);
}

#endif
