/* files_hash.c - see files_hash.h. */
#include "render/read/files_hash.h"

#include "lib/base/buf.h"
#include "lib/base/hash.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int hash_one(const char *root, const char *name, char sha256[DCR_SHA256_HEX])
{
    char path[PATH_MAX];
    struct stat st;
    int n = snprintf(path, sizeof path, "%s%s%s", root, *root ? "/" : "", name);
    if (n < 0 || (size_t)n >= sizeof path || stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return DCR_FAIL;
    return dcr_sha256_file(path, INT64_MAX, sha256, NULL, NULL);
}

/* Hashes the list of files as a text; DCR_FAIL when one of them cannot be read. */
static int hash_list(struct run *r, const struct input *x)
{
    char sha256[DCR_SHA256_HEX];
    char **names = dcr_arena_alloc(&r->arena, (x->n_names + 1) * sizeof *names);
    struct dcr_buf list = {0};
    int rc = 0;
    for (size_t i = 0; i < x->n_names; i++)
        names[i] = x->names[i];
    qsort(names, x->n_names, sizeof *names, compare);
    for (size_t i = 0; rc == 0 && i < x->n_names; i++) {
        rc = hash_one(x->root, names[i], sha256);
        dcr_buf_printf(&list, "%s  %s\n", sha256, names[i]);
    }
    struct dcr_sha256 *h = rc || list.failed ? NULL : dcr_sha256_new();
    if (h) {
        dcr_sha256_add(h, dcr_buf_text(&list), list.len);
        dcr_sha256_finish(h, sha256);
        r->files_sha256 = dcr_arena_strdup(&r->arena, sha256);
    }
    dcr_buf_release(&list);
    return h ? 0 : DCR_FAIL;
}

/* SHA-256 takes 0.8 ns a byte, and reading a large trace 1.2 to 2.2 ns (docs/performance.md). */
enum { MOST_HASHED_BYTES = 64 << 20 };

static int is_small(const struct input *x)
{
    int64_t sum = 0;
    for (size_t i = 0; i < (x->root ? x->n_names : 1) && sum <= MOST_HASHED_BYTES; i++) {
        char path[PATH_MAX];
        struct stat st;
        snprintf(path, sizeof path, "%s%s%s", x->root ? x->root : "", x->root && *x->root ? "/" : "",
                 x->root ? x->names[i] : x->path);
        sum += stat(path, &st) == 0 ? st.st_size : 0;
    }
    return sum <= MOST_HASHED_BYTES;
}

void files_hash(struct run *r, const struct input *x)
{
    char sha256[DCR_SHA256_HEX];
    if (r->has_manifest)
        return;
    if (!is_small(x)) {
        r->files_unhashed = "not made above 64 MB (sha256sum makes one)";
        return;
    }
    if (x->root && x->n_names > 1) {
        r->n_files_hashed = hash_list(r, x) == 0 ? x->n_names : 0;
    } else if (hash_one(x->root ? x->root : "", x->root ? x->names[0] : x->path, sha256) == 0) {
        r->files_sha256 = dcr_arena_strdup(&r->arena, sha256);
        r->n_files_hashed = 1;
    }
    if (!*r->files_sha256)
        r->files_unhashed = "not a plain file";
}
