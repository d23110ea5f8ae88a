/* cgroup.c - see cgroup.h. Used by cores.c and the collector. Test: tests/unit/test_lib.c */
#include "lib/base/cgroup.h"

#include "lib/base/buf.h"
#include "lib/base/stream.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

double dcr_cgroup_quota(const char *text)
{
    char *end;
    double quota = strtod(text, &end), period = end > text ? strtod(end, NULL) : 0; /* "-1" is no quota */
    return quota > 0 && period > 0 ? quota / period : 0;
}

static const char *next_line(const char *at)
{
    const char *end = strchr(at, '\n');
    return end ? end + 1 : NULL;
}

/* Is cpu one of the comma-separated words in the first n bytes? */
static int has_cpu(const char *list, size_t n)
{
    for (const char *end = list + n, *word = list; word < end;) {
        const char *comma = memchr(word, ',', (size_t)(end - word)), *word_end = comma ? comma : end;
        if (word_end - word == 3 && memcmp(word, "cpu", 3) == 0)
            return 1;
        word = word_end + 1;
    }
    return 0;
}

static int copy(const char *text, size_t len, char *out, size_t n)
{
    if (len >= n)
        return -1;
    memcpy(out, text, len);
    out[len] = '\0';
    return 0;
}

int dcr_cgroup_mount(const char *mounts, int is_v2, char *out, size_t n)
{
    const char *type = is_v2 ? "cgroup2" : "cgroup";
    for (const char *at = mounts; at && *at; at = next_line(at)) {
        const char *field[4] = {0}; /* device, mount point, type, options */
        size_t len[4] = {0};
        const char *c = at;
        for (int i = 0; i < 4; i++) {
            field[i] = c;
            len[i] = strcspn(c, " \n");
            c += len[i] + (c[len[i]] == ' ');
        }
        if (len[2] == strlen(type) && memcmp(field[2], type, len[2]) == 0 && (is_v2 || has_cpu(field[3], len[3])))
            return copy(field[1], len[1], out, n);
    }
    return -1;
}

int dcr_cgroup_path(const char *cgroup, int is_v2, char *out, size_t n)
{
    for (const char *at = cgroup; at && *at; at = next_line(at)) {
        size_t len = strcspn(at, "\n");
        const char *first = memchr(at, ':', len);
        const char *second = first ? memchr(first + 1, ':', (size_t)(at + len - first - 1)) : NULL;
        if (!second)
            continue;
        size_t n_list = (size_t)(second - first - 1);
        if (is_v2 ? n_list == 0 : has_cpu(first + 1, n_list))
            return copy(second + 1, (size_t)(at + len - second - 1), out, n);
    }
    return -1;
}

/* A file of /proc or of a group. returns 0, or -1 when it cannot be read */
static int read_all(const char *path, struct dcr_buf *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct dcr_stream s = dcr_stream_fd(&fd, path);
    int rc = fd >= 0 && dcr_stream_slurp(&s, out, out->max, NULL) == 0 ? 0 : -1;
    if (fd >= 0)
        close(fd);
    return rc;
}

static double quota_of(const char *dir, int is_v2)
{
    static const char *const files[2][2] = {{"cpu.cfs_quota_us", "cpu.cfs_period_us"}, {"cpu.max", NULL}};
    struct dcr_buf text = {.max = 256};
    char path[8704];
    int rc = 0;
    for (int i = 0; i < 2 && files[is_v2][i] && rc == 0; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, files[is_v2][i]);
        rc = read_all(path, &text);
    }
    double cores = rc == 0 ? dcr_cgroup_quota(dcr_buf_text(&text)) : 0;
    dcr_buf_release(&text);
    return cores;
}

void dcr_cgroup_cpu(void (*level)(void *ctx, const char *dir, int is_v2, double quota_cores), void *ctx)
{
    enum { PATH_BYTES = 4096, MAX_BYTES = 4 << 20 };
    char mount[PATH_BYTES], path[PATH_BYTES], dir[2 * PATH_BYTES];
    struct dcr_buf mounts = {.max = MAX_BYTES}, cgroup = {.max = MAX_BYTES};
    int rc = read_all("/proc/self/mounts", &mounts) == 0 ? read_all("/proc/self/cgroup", &cgroup) : -1;
    for (int is_v2 = 0; is_v2 <= 1 && rc == 0; is_v2++) {
        if (dcr_cgroup_mount(dcr_buf_text(&mounts), is_v2, mount, sizeof mount) != 0 ||
            dcr_cgroup_path(dcr_buf_text(&cgroup), is_v2, path, sizeof path) != 0)
            continue;
        for (char *slash = path; slash;) {
            slash = strrchr(path, '/');
            if (slash && !slash[1])
                *slash = '\0'; /* the root, "/" */
            snprintf(dir, sizeof dir, "%s%s", mount, path);
            level(ctx, dir, is_v2, quota_of(dir, is_v2));
            slash = strrchr(path, '/');
            if (slash)
                *slash = '\0';
        }
    }
    dcr_buf_release(&mounts);
    dcr_buf_release(&cgroup);
}
