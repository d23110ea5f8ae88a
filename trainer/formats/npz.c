/* npz.c - see npz.h. */
#include "trainer/formats/npz.h"

#include "lib/base/fs.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdio.h>
#include <string.h>

#define BLOCK_BYTES 65536

static int damaged(const struct npz *z, struct dcr_err *err)
{
    const char *why = archive_error_string(z->archive);
    return dcr_err_set(err, DCR_FAIL, "cannot read '%s': %s", z->path, why ? why : "it is damaged");
}

/* A warning of libarchive (a wrong CRC, say) is a failure here. */
static ssize_t read_bytes(void *ctx, void *out, size_t n, struct dcr_err *err)
{
    struct npz *z = ctx;
    ssize_t got = archive_read_data(z->archive, out, n);
    return got >= 0 ? got : damaged(z, err);
}

int npz_open(struct npz *z, const char *path, struct dcr_err *err)
{
    memset(z, 0, sizeof *z);
    snprintf(z->path, sizeof z->path, "%s", path);
    z->archive = archive_read_new();
    if (!z->archive)
        return dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", path);
    if (archive_read_support_format_zip(z->archive) < ARCHIVE_WARN ||
        archive_read_open_filename(z->archive, path, BLOCK_BYTES) != ARCHIVE_OK) {
        int rc = damaged(z, err);
        npz_close(z);
        return rc;
    }
    return 0;
}

int npz_next(struct npz *z, struct dcr_err *err)
{
    struct archive_entry *entry;
    int rc = archive_read_next_header(z->archive, &entry);
    if (rc == ARCHIVE_EOF)
        return DCR_END;
    if (rc != ARCHIVE_OK)
        return damaged(z, err);
    const char *name = archive_entry_pathname(entry);
    if (!name || !dcr_ends_with(name, ".npy"))
        return dcr_err_set(err, DCR_FAIL, "cannot read '%s': its member '%.60s' is no NumPy array, so it is no .npz",
                           z->path, name ? name : "");
    snprintf(z->name, sizeof z->name, "%.*s", (int)(strlen(name) - 4), name);
    snprintf(z->place, sizeof z->place, "%s: %s", z->path, z->name);
    z->bytes = (struct dcr_stream){read_bytes, z, z->place};
    return 0;
}

void npz_close(struct npz *z)
{
    archive_read_free(z->archive); /* NULL is fine */
    z->archive = NULL;
}

int npz_find(struct npz *z, const char *path, const char *name, struct dcr_err *err)
{
    int rc = npz_open(z, path, err);
    while (!rc && !(rc = npz_next(z, err)))
        if (!strcmp(z->name, name))
            return 0;
    if (rc == DCR_END)
        rc = dcr_err_set(err, DCR_FAIL, "'%s' has no array '%s'", path, name);
    npz_close(z);
    return rc;
}

int npz_read(const char *path, const char *name, struct npy *out, struct dcr_err *err)
{
    struct npz z = {0};
    memset(out, 0, sizeof *out);
    int rc = npz_find(&z, path, name, err);
    if (!rc)
        rc = npy_read_all(&z.bytes, out, err);
    npz_close(&z);
    return rc;
}

int npz_list(const char *path, struct npz_entry *out, int *n, struct dcr_err *err)
{
    struct npz z = {0};
    *n = 0;
    int rc = npz_open(&z, path, err);
    while (!rc && *n < NPZ_MAX_ARRAYS && !(rc = npz_next(&z, err))) {
        snprintf(out[*n].name, sizeof out[*n].name, "%s", z.name);
        rc = npy_read_head(&z.bytes, &out[*n].head, err);
        ++*n;
    }
    npz_close(&z);
    if (rc == DCR_END)
        rc = 0;
    return rc || *n ? rc : dcr_err_set(err, DCR_FAIL, "'%s' holds no array", path);
}

const struct npz_entry *npz_entry_of(const struct npz_entry *list, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(list[i].name, name))
            return &list[i];
    return NULL;
}

void npz_names(const struct npz_entry *list, int n, char *text, size_t size)
{
    size_t at = 0;
    text[0] = 0;
    for (int i = 0; i < n && at < size; i++) {
        char shape[64];
        npy_shape(&list[i].head, shape, sizeof shape);
        at += (size_t)snprintf(text + at, size - at, "%s%s %s", i ? ", " : "", list[i].name, shape);
    }
}
