/* summarize.c - see summarize.h. */
#include "collect/pack/summarize.h"

#include "lib/base/fs.h"
#include "lib/archive/member.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int summarize_trace(struct summary *out, struct dcr_arena *a, const char *path, const char *name, struct dcr_err *err)
{
    int64_t size = 0;
    uint32_t crc = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return dcr_err_sys(err, DCR_FATAL, "cannot read '%s'", path);
    struct dcr_stream s = dcr_stream_fd(&fd, name);
    /* Before the events: what is written between the two makes the summary stale, not wrong. */
    int rc = summary_fingerprint(fd, &size, &crc, NULL);
    int has_print = rc == 0;
    rc = summary_of_trace_apart(out, a, &s, SUMMARY_NAMES, err);
    close(fd);
    out->trace_name = name;
    out->trace_bytes = has_print ? size : 0;
    out->fingerprint = has_print ? crc : 0;
    return rc;
}

int summarize_load(struct summary *out, struct dcr_arena *a, const char *path, const char *trace_path,
                   struct dcr_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return dcr_err_sys(err, DCR_FAIL, "cannot read '%s'", path);
    struct dcr_stream s = dcr_stream_fd(&fd, path);
    int rc = summary_read(out, a, &s, err);
    close(fd);
    if (rc || !trace_path)
        return rc;
    int64_t size;
    uint32_t crc;
    fd = open(trace_path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return dcr_err_sys(err, DCR_FAIL, "cannot read '%s'", trace_path);
    rc = summary_fingerprint(fd, &size, &crc, err);
    close(fd);
    if (rc == 0 && (size != out->trace_bytes || crc != out->fingerprint))
        rc = dcr_err_set(err, DCR_FAIL, "'%s' is of an earlier state of its trace", path);
    return rc;
}

static void summarize_file(const char *dir, const char *file, int rank)
{
    struct dcr_arena a = {0};
    struct summary s;
    struct dcr_buf text = {.max = (size_t)4 << 30};
    char path[PATH_MAX], name[PATH_MAX], target[PATH_MAX + 64];
    int k = snprintf(path, sizeof path, "%s/%s", dir, file);
    if (k > 0 && (size_t)k < sizeof path && dcr_summary_name(path, target, sizeof target) == 0) {
        snprintf(name, sizeof name, "rank%d/%s", rank, file);
        if (summarize_trace(&s, &a, path, name, NULL) == 0) {
            summary_write(&s, &text);
            int rc = text.failed ? DCR_FAIL : dcr_write_file(target, text.data, text.len, NULL);
            (void)rc; /* pack makes it again */
        }
    }
    dcr_buf_release(&text);
    dcr_arena_release(&a);
}

void summarize_folder(const char *dir, int rank)
{
    char **names = NULL;
    size_t n = 0;
    if (dcr_list_dir(dir, &names, &n, NULL) != 0)
        return;
    for (size_t i = 0; i < n; i++)
        if (dcr_ends_with(names[i], ".dct"))
            summarize_file(dir, names[i], rank);
    dcr_free_names(names, n);
}
