/* kineto_text.h - gives a Chrome trace to the importers a few bytes at a time and returns the run. Inside
 * tests/unit. */
#ifndef TESTS_UNIT_KINETO_TEXT_H
#define TESTS_UNIT_KINETO_TEXT_H

#include "tests/unit/imported.h"

/* Gives out a few bytes at a time, as a pipe might. */
struct drip {
    const char *bytes;
    size_t len, pos, most;
};

static ssize_t drip_read(void *ctx, void *out, size_t n, struct dcr_err *err)
{
    (void)err;
    struct drip *d = ctx;
    size_t k = d->len - d->pos < n ? d->len - d->pos : n;
    k = k < d->most ? k : d->most;
    memcpy(out, d->bytes + d->pos, k);
    d->pos += k;
    return (ssize_t)k;
}

static struct dcr_err err;

static int import_bytes(const char *bytes, size_t n)
{
    run_free(run);
    run = run_new("t");
    err = (struct dcr_err){0};
    struct drip d = {bytes, n, 0, 7919};
    struct dcr_stream s = {drip_read, &d, "raw"};
    return import_foreign(run, "t.json", &s, &err);
}

static int import_text(const char *text)
{
    return import_bytes(text, strlen(text));
}

#define KERNEL(start, dur)                                                                              \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":" start ",\"dur\":" dur \
    ",\"args\":{\"device\":0}}"

#endif
