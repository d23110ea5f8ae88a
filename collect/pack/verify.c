/* verify.c - see verify.h. */
#include "collect/pack/verify.h"

#include "lib/archive/format.h"
#include "lib/base/hash.h"
#include "lib/base/progress.h"
#include "lib/archive/manifest_sum.h"
#include "lib/reduce/summary.h"
#include "lib/archive/tar.h"
#include "lib/trace/trace.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_LINES = 100, MAX_MANIFEST_BYTES = 256 << 20 };

/* Is it the same as the last line? After a damaged trace, reading the rest of its member fails with the same
 * sentence. */
static int is_said(const struct dcr_buf *text, const char *line)
{
    size_t n = strlen(line);
    if (text->len < n + 1)
        return 0;
    const char *at = text->data + text->len - n - 1;
    return strncmp(at, line, n) == 0 && at[n] == '\n' && (at == text->data || at[-1] == '\n');
}

static void problem(struct verify_report *r, const char *fmt, ...) DCR_PRINTF(2, 3);
static void problem(struct verify_report *r, const char *fmt, ...)
{
    struct dcr_err e;
    char line[sizeof e.text + 16] = "dccollect: "; /* as every message begins */
    size_t n = strlen(line);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(e.text, sizeof e.text, fmt, ap);
    va_end(ap);
    dcr_clean_line(e.text); /* an archive may hold any name */
    dcr_err_sentences(&e, line + n, sizeof e.text);
    n = strlen(line);
    if (line[n - 1] != '.')
        memcpy(line + n, ".", 2);
    if (is_said(&r->text, line))
        return;
    if (r->n_problems++ == 0)
        snprintf(r->first, sizeof r->first, "%s", e.text);
    if (r->n_problems <= MAX_LINES)
        dcr_buf_printf(&r->text, "%s\n", line);
}

/* Did the machine fail? Then the archive may be fine. */
static int is_of_machine(const struct dcr_err *e)
{
    return e->kind == DCR_ERR_MACHINE || e->sys != 0;
}

static int hand_on(const struct dcr_err *why, int rc, struct dcr_err *err)
{
    if (err)
        *err = *why;
    return rc;
}

/* ---- members ---------------------------------------------------------------------------------- */

/* Damage of a trace that the packer already found is in the manifest, so the archive is sound. */
static int is_known_damage(const json_t *manifest, const char *name)
{
    const json_t *reasons = json_object_get(manifest, "incomplete_because");
    for (size_t i = 0; i < json_array_size(reasons); i++) {
        const char *line = json_string_value(json_array_get(reasons, i));
        if (line && strstr(line, name))
            return 1;
    }
    return 0;
}

static int check_trace(struct verify_report *r, const json_t *manifest, struct dcr_stream *s, const char *name,
                       struct dcr_err *err)
{
    struct dct_reader *reader = NULL;
    struct dct_info info;
    struct dct_event event;
    struct dct_loss loss;
    struct dcr_err why = {0};
    int is_known = is_known_damage(manifest, name);
    int rc = dct_open(&reader, s, &info, &why);
    if (rc && is_of_machine(&why))
        return hand_on(&why, rc, err);
    if (rc) {
        if (!is_known)
            problem(r, "%s", why.text);
        return DCR_OK;
    }
    do
        rc = dct_next(reader, &event, err);
    while (rc == DCR_OK);
    dct_get_loss(reader, &loss);
    dct_close(reader);
    r->n_traces++;
    if (rc != DCR_END)
        return rc;
    if (loss.is_torn && !is_known)
        problem(r, "'%s' ends inside a block; copy or pack it again", name);
    else if ((loss.n_bad_blocks || loss.n_missing_blocks) && !is_known)
        problem(r, "'%s' has %llu damaged and %llu missing blocks; copy or pack it again", name,
                (unsigned long long)loss.n_bad_blocks, (unsigned long long)loss.n_missing_blocks);
    return DCR_OK;
}

static int check_summary(struct verify_report *r, struct dcr_stream *s, struct dcr_err *err)
{
    struct dcr_arena a = {0};
    struct summary sum;
    struct dcr_err why = {0};
    int rc = summary_read(&sum, &a, s, &why);
    dcr_arena_release(&a);
    if (rc == DCR_FATAL || (rc && is_of_machine(&why)))
        return hand_on(&why, rc, err);
    if (rc)
        problem(r, "%s", why.text);
    return DCR_OK;
}

static int check_member(struct verify_report *r, const json_t *manifest, json_t *entry, struct dcr_tar_member *m,
                        struct dcr_err *err)
{
    const char *role = json_string_value(json_object_get(entry, "role"));
    const char *want = json_string_value(json_object_get(entry, "sha256"));
    const json_t *size = json_object_get(entry, "size");
    struct dcr_hashed h;
    struct dcr_stream s = dcr_stream_hashed(&h, &m->stream, m->name);
    char got[DCR_SHA256_HEX];
    int rc = DCR_OK, n_before = r->n_problems;
    size_t len_before = r->text.len;
    if (role && strcmp(role, "trace") == 0)
        rc = check_trace(r, manifest, &s, m->name, err);
    if (role && strcmp(role, "summary") == 0)
        rc = check_summary(r, &s, err);
    if (rc == DCR_OK)
        rc = dcr_stream_drain(&s, err);
    dcr_sha256_finish(h.hash, got);
    if (rc < 0)
        return rc;
    int has_size = json_is_integer(size) && json_integer_value(size) == h.n_bytes;
    if (has_size && want && strcmp(want, got) == 0)
        return DCR_OK;
    r->n_problems = n_before; /* what the member's reader found is the same damage */
    r->text.len = len_before;
    if (r->text.data)
        r->text.data[len_before] = '\0';
    if (!has_size)
        problem(r, DCR_WRONG_SIZE, m->name, (long long)h.n_bytes, (long long)json_integer_value(size));
    else
        problem(r, DCR_WRONG_CHECKSUM, m->name);
    return DCR_OK;
}

/* ---- manifest --------------------------------------------------------------------------------- */

static int no_memory(const char *path, struct dcr_err *err)
{
    return dcr_err_mark(err, DCR_ERR_MACHINE, dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", path));
}

/* *is_later: this program is too old for it, so the archive cannot be judged */
static json_t *read_manifest(struct verify_report *r, struct dcr_tar_member *m, const char *path, int *is_later,
                             struct dcr_err *err)
{
    struct dcr_buf b = {0};
    json_error_t why;
    json_t *o = NULL;
    if (dcr_stream_slurp(&m->stream, &b, MAX_MANIFEST_BYTES, err) == 0) {
        o = json_loadb(dcr_buf_text(&b), b.len, JSON_REJECT_DUPLICATES, &why);
        const char *format = json_string_value(json_object_get(o, "format")), *broken;
        json_int_t version = json_integer_value(json_object_get(o, "version"));
        if (!o && json_error_code(&why) == json_error_out_of_memory)
            no_memory(path, err);
        else if (!o)
            dcr_err_set(err, DCR_FAIL, "cannot read '%s': its manifest is not JSON: %s; copy or pack it again", path,
                        why.text);
        else if (!format || strcmp(format, DCR_ARCHIVE_FORMAT) != 0) {
            dcr_err_set(
                err, DCR_FAIL,
                "cannot read '%s': its manifest is not that of a run archive; name an archive that dccollect packed",
                path);
            dcr_err_mark(err, DCR_ERR_NO_ARCHIVE, DCR_FAIL);
            json_decref(o);
            o = NULL;
        } else if (!json_is_array(json_object_get(o, "members"))) {
            dcr_err_set(err, DCR_FAIL, DCR_NO_MEMBERS, path);
            json_decref(o);
            o = NULL;
        } else if (version < 1 || version > DCR_ARCHIVE_VERSION) {
            dcr_err_set(
                err, DCR_FAIL,
                "cannot read '%s': format version %lld, this program reads up to %d; use a later version of dcreport",
                path, (long long)version, DCR_ARCHIVE_VERSION);
            *is_later = version > DCR_ARCHIVE_VERSION;
            json_decref(o);
            o = NULL;
        } else if (dcr_manifest_check(dcr_buf_text(&b), b.len, version, &broken) != 0) {
            problem(r, "cannot trust '%s': %s; copy or pack it again", path, broken);
        }
    }
    dcr_buf_release(&b);
    return o;
}

/* Entries by name, so that an archive of many ranks is checked in linear time. */
static json_t *index_members(struct verify_report *r, const json_t *manifest)
{
    const json_t *list = json_object_get(manifest, "members");
    json_t *index = json_object();
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *entry = json_array_get(list, i);
        const char *name = json_string_value(json_object_get(entry, "name"));
        if (!name)
            problem(r, DCR_NAMELESS_ENTRY);
        else if (json_object_get(index, name))
            problem(r, DCR_LISTED_TWICE, name);
        else
            json_object_set(index, name, entry);
    }
    return index;
}

/* returns 0, or a negative grade when the tar cannot be read on */
static int check_all(struct verify_report *r, struct dcr_tar_reader *tar, const json_t *manifest, json_t *index,
                     struct dcr_err *err)
{
    struct dcr_tar_member m;
    int rc;
    char previous[4096] = "";
    while ((rc = dcr_tar_next(tar, &m, err)) == DCR_OK) {
        r->n_members++;
        char name[4096];
        snprintf(name, sizeof name, "%s", m.name);
        if (strcmp(previous, name) >= 0)
            problem(r, "'%s' is out of order after '%s'; pack the run again", name, previous);
        memcpy(previous, name, sizeof previous);
        json_t *entry = json_object_get(index, name);
        if (!entry) {
            problem(r, "'%s' is in the archive, but not in the manifest; pack the run again", name);
            continue;
        }
        rc = check_member(r, manifest, entry, &m, err);
        if (rc < 0)
            return rc;
        json_object_del(index, name);
    }
    return rc == DCR_END ? DCR_OK : rc;
}

/* Can the file be read, whatever it holds? */
static int is_readable(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, R_OK) == 0;
}

/* Reads the manifest first, then all other members. returns a negative grade when there is nothing to check */
static int check_archive(struct verify_report *r, struct dcr_tar_reader *tar, const char *path, int *is_later,
                         struct dcr_err *err)
{
    struct dcr_tar_member m;
    int rc = dcr_tar_next(tar, &m, err);
    if (rc)
        return rc;
    if (strcmp(m.name, DCR_MANIFEST) != 0)
        return dcr_err_mark(
            err, DCR_ERR_NO_ARCHIVE,
            dcr_err_set(err, DCR_FAIL,
                        "cannot read '%s': its first member is '%.200s' and not %s; name an archive that "
                        "dccollect packed",
                        path, m.name, DCR_MANIFEST));
    json_t *manifest = read_manifest(r, &m, path, is_later, err);
    if (!manifest)
        return DCR_FAIL;
    r->is_complete = json_is_true(json_object_get(manifest, "complete"));
    json_t *index = index_members(r, manifest);
    struct dcr_err why = {0};
    rc = index ? check_all(r, tar, manifest, index, &why) : no_memory(path, &why);
    json_decref(manifest);
    const char *name;
    json_t *entry;
    json_object_foreach(rc == 0 ? index : NULL, name, entry) problem(r, DCR_NOT_IN_ARCHIVE, name);
    json_decref(index);
    if (rc && is_of_machine(&why))
        return hand_on(&why, rc, err);
    if (rc)
        problem(r, "%s", why.text);
    return DCR_OK;
}

int verify_archive(const char *path, struct verify_report *r, struct dcr_err *err)
{
    struct dcr_tar_reader *tar = NULL;
    struct dcr_err why = {0};
    int is_later = 0;
    *r = (struct verify_report){0};
    progress_begin_file("checking the archive", path, 1);
    int rc = dcr_tar_open(&tar, path, &why);
    if (rc == 0)
        rc = check_archive(r, tar, path, &is_later, &why);
    if (rc == 0 && r->n_problems == 0 && dcr_tar_check_end(tar, &why) != 0) {
        if (is_of_machine(&why))
            rc = DCR_FAIL;
        else
            problem(r, "%s", why.text);
    }
    dcr_tar_close(tar);
    progress_end();
    if (rc == 0)
        return DCR_OK;
    if (is_readable(path) && !is_later && !is_of_machine(&why)) {
        r->is_other = why.kind == DCR_ERR_NO_ARCHIVE;
        problem(r, "%s", why.text);
        return DCR_OK;
    }
    return hand_on(&why, rc, err);
}

void verify_release(struct verify_report *r)
{
    dcr_buf_release(&r->text);
}
