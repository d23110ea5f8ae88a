/* fuzz_text.c - any bytes as a small text that a user writes: a file of thresholds or a --check rule, chosen by the
 * first byte. No crash, no leak, every refusal has a reason, and accepted values are in range. */
#include "render/metrics/thresholds.h"
#include "render/findings/checks.h"
#include "render/findings/narrate.h"
#include "render/pages/pages.h"
#include "render/write/markdown.h"

#include "tests/unit/made_run.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_thresholds(const char *path, struct dcr_err *err)
{
    struct thresholds t = thresholds_default();
    int rc = thresholds_read(&t, path, err);
#define X(name, def, lo, hi, meaning)        \
    if (!(t.name >= (lo) && t.name <= (hi))) \
        abort();
    THRESHOLDS(X)
#undef X
    return rc;
}

/* One report for all rules; memory that a rule takes is released after it. */
static const struct report *made_report(void)
{
    static struct report rep;
    static struct run *runs[2];
    if (rep.n_runs)
        return &rep;
    runs[0] = made_even_run(1, 64, 40, 70000000, 0, 5000000, 0);
    runs[1] = made_even_run(2, 64, 40, 70000000, 25000000, 5000000, 0);
    struct analyse_options o = made_options();
    if (analyse(&rep, runs, 2, &o, NULL))
        abort();
    narrate(&rep);
    return &rep;
}

static int run_check(const char *rule, struct dcr_err *err)
{
    struct report rep = *made_report();
    rep.arena = (struct dcr_arena){0};
    struct checks c = {0};
    int rc = checks_parse(&rule, 1, err);
    if ((rc != 0) != (checks_run(&rep, &rule, 1, &c, NULL) != 0))
        abort();
    if (!rc) {
        struct dcr_buf out = {0};
        struct doc d = {0};
        if (c.n < 1 || c.n_failed > c.n)
            abort();
        checks_junit(&c, &out);
        page_of_checks(&rep, &c, &d);
        write_markdown(&d, &out);
        doc_release(&d);
        dcr_buf_release(&out);
    }
    dcr_arena_release(&rep.arena);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dcr_err err = {0};
    int rc;
    if (size == 0)
        return 0;
    if (data[0] % 2 == 0) {
        char *rule = strndup((const char *)data + 1, size - 1);
        rc = run_check(rule, &err);
        free(rule);
    } else {
        char path[64];
        int fd = memfd_create("fuzz", MFD_CLOEXEC);
        if (fd < 0 || write(fd, data + 1, size - 1) != (ssize_t)(size - 1))
            abort();
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        rc = read_thresholds(path, &err);
        close(fd);
    }
    if (rc && err.text[0] == '\0')
        abort();
    return 0;
}
