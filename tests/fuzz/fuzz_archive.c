/* fuzz_archive.c - any bytes as an archive, through reading, analysis and narration: no crash, and the sums hold. */
#include "render/findings/rules/analyse.h"
#include "render/findings/narrate.h"
#include "render/pages/pages.h"
#include "render/read/read.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_sums(const struct report *rep)
{
    for (int i = 0; i < rep->n_runs; i++) {
        int64_t sum = 0;
        for (int p = 0; p < N_PARTS; p++)
            sum += rep->runs[i].part_ns[p];
        if (sum != rep->runs[i].step.mean_ns)
            abort();
    }
}

static void tell(struct run *r)
{
    struct report rep = {0};
    struct analyse_options o = {.thresholds = thresholds_default()};
    struct dcr_err err;
    if (analyse(&rep, &r, 1, &o, &err) == 0) {
        check_sums(&rep);
        narrate(&rep);
        if (documents_make(&rep, &err))
            abort();
    }
    report_free(&rep);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    struct run *r = NULL;
    struct dcr_err err = {0};
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (run_read(&r, path, &err) == 0)
        tell(r);
    else if (err.text[0] == '\0')
        abort(); /* a refusal must have a reason */
    run_free(r);
    close(fd);
    return 0;
}
