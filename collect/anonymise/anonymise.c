/* anonymise.c - see anonymise.h. Reads the archive four times: to verify it, to learn its names, for its members, and
 * for the summaries, which hold the checksums of their traces. New members wait in a file without a name, because the
 * manifest comes first and is only known at the end. Test: tests/integration/collect_anonymise.sh */
#include "collect/anonymise/anonymise.h"

#include "collect/anonymise/documents.h"
#include "collect/anonymise/trace.h"
#include "collect/pack/archive.h"
#include "collect/pack/pack.h"
#include "collect/pack/verify.h"
#include "lib/archive/manifest_sum.h"
#include "lib/archive/member.h"
#include "lib/archive/tar.h"
#include "lib/base/fs.h"
#include "lib/base/hash.h"
#include "lib/base/json_string.h"
#include "lib/base/progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct anonymise {
    const char *input, *output;
    struct hide hide;
    json_t *manifest, *names; /* of the input; names: {member: entry of the manifest} */
    json_t *metadata;         /* of the output */
    json_t *traces;           /* {member of the output: its size and fingerprint} */
    json_t *left_out;         /* {what: {"n", "bytes"}} */
    struct archive_member *members;
    size_t n_members, cap_members;
    struct archive_member *at; /* being written */
    struct dcr_sha256 *sum;
    int fd; /* the bytes of the members */
    int64_t n_bytes;
};

/* ---- members of the output ------------------------------------------------------------------------ */

static int write_piece(void *ctx, const char *bytes, size_t n, struct dcr_err *err)
{
    struct anonymise *x = ctx;
    dcr_sha256_add(x->sum, bytes, n);
    x->n_bytes += (int64_t)n;
    x->at->size += (int64_t)n;
    return dcr_write_all(x->fd, bytes, n) == 0 ? DCR_OK : dcr_err_file(err, DCR_FATAL, "cannot write '%s'", x->output);
}

static void begin_member(struct anonymise *x, const char *name, const json_t *entry, enum dcr_role role)
{
    const json_t *node = json_object_get(entry, "node"), *rank = json_object_get(entry, "rank");
    x->members = arena_grow(&x->hide.arena, x->members, x->n_members, &x->cap_members, sizeof *x->members);
    x->at = &x->members[x->n_members++];
    *x->at = (struct archive_member){.name = documents_member(&x->hide, name),
                                     .fd = x->fd,
                                     .offset = x->n_bytes,
                                     .role = role,
                                     .blocks_before = json_integer_value(json_object_get(entry, "blocks_before")),
                                     .node = json_is_integer(node) ? (int)json_integer_value(node) : -1,
                                     .rank = json_is_integer(rank) ? (int)json_integer_value(rank) : -1};
    x->sum = dcr_sha256_new();
}

static void end_member(struct anonymise *x)
{
    dcr_sha256_finish(x->sum, x->at->sha256);
}

/* ---- members of the input ------------------------------------------------------------------------- */

static int is_json(enum dcr_role role, const char *name)
{
    return role == DCR_ROLE_METADATA || role == DCR_ROLE_RANK || role == DCR_ROLE_CALIBRATION ||
           strcmp(name, "program.json") == 0;
}

typedef int (*member_fn)(struct anonymise *x, struct dcr_tar_member *m, const json_t *entry, enum dcr_role role,
                         struct dcr_err *err);

static int each_member(struct anonymise *x, member_fn f, struct dcr_err *err)
{
    struct dcr_tar_reader *tar = NULL;
    struct dcr_tar_member m;
    int rc = dcr_tar_open(&tar, x->input, err);
    while (rc == 0 && (rc = dcr_tar_next(tar, &m, err)) == DCR_OK) {
        const json_t *entry = json_object_get(x->names, m.name);
        rc = f(x, &m, entry, dcr_role_of_text(json_string_value(json_object_get(entry, "role"))), err);
        if (rc == 0 && (rc = dcr_stream_drain(&m.stream, err)) > 0)
            rc = DCR_OK;
    }
    dcr_tar_close(tar);
    return rc == DCR_END ? DCR_OK : rc;
}

/* ---- first: names --------------------------------------------------------------------------------- */

static int take_manifest(struct anonymise *x, struct dcr_tar_member *m, struct dcr_err *err)
{
    size_t i;
    json_t *entry;
    x->manifest = json_read(&m->stream, err);
    json_array_foreach(json_object_get(x->manifest, "members"), i, entry)
        json_object_set(x->names, json_string_value(json_object_get(entry, "name")), entry);
    return x->manifest ? DCR_OK : DCR_FAIL;
}

static int learn(struct anonymise *x, struct dcr_tar_member *m, const json_t *entry, enum dcr_role role,
                 struct dcr_err *err)
{
    enum { OVERLAP = 128 };
    static char piece[OVERLAP + (1 << 20)];
    (void)entry;
    if (!x->manifest)
        return take_manifest(x, m, err);
    if (is_json(role, m->name)) {
        json_t *o = json_read(&m->stream, err);
        char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;
        documents_learn(&x->hide, o);
        hide_learn_homes(&x->hide, text ? text : "", text ? strlen(text) : 0);
        free(text);
        json_decref(o);
        return o ? DCR_OK : DCR_FAIL;
    }
    if (role != DCR_ROLE_TRACE && role != DCR_ROLE_SUMMARY)
        return DCR_OK;
    ssize_t n, kept = 0;
    for (int is_first = 1; (n = dcr_stream_read_full(&m->stream, piece + kept, sizeof piece - OVERLAP, err)) > 0;
         is_first = 0) {
        struct dct_file_header h;
        memcpy(&h, piece, sizeof h);
        if (is_first && role == DCR_ROLE_TRACE && n >= (ssize_t)sizeof h && h.magic == DCT_MAGIC)
            hide_learn(&x->hide, HIDE_HOST, dcr_arena_strndup(&x->hide.arena, h.host, sizeof h.host - 1));
        hide_learn_homes(&x->hide, piece, (size_t)(kept + n));
        ssize_t all = kept + n;
        kept = all < OVERLAP ? all : OVERLAP;
        memmove(piece, piece + all - kept, (size_t)kept);
    }
    return (int)n;
}

/* ---- then: their replacements --------------------------------------------------------------------- */

/* Lists members by their kind, because their names may identify somebody. */
static void leave_out(struct anonymise *x, const struct dcr_tar_member *m, const json_t *entry)
{
    enum dcr_role role = dcr_role_of_text(json_string_value(json_object_get(entry, "role")));
    const char *kind = json_string_value(json_object_get(entry, "kind"));
    const char *what = kind ? kind : dcr_role_text(role < DCR_N_ROLES ? role : DCR_ROLE_OTHER);
    json_t *o = json_object_get(x->left_out, what);
    if (!o) {
        o = json_object();
        json_object_set_new(x->left_out, what, o);
    }
    json_int_t n = json_integer_value(json_object_get(o, "n")), bytes = json_integer_value(json_object_get(o, "bytes"));
    json_object_set_new(o, "n", json_integer(n + 1));
    json_object_set_new(o, "bytes", json_integer(bytes + m->size_bytes));
}

static int take_json(struct anonymise *x, struct dcr_tar_member *m, const json_t *entry, enum dcr_role role,
                     struct dcr_err *err)
{
    json_t *o = json_read(&m->stream, err);
    if (!o)
        return DCR_FAIL;
    json_t *hidden = documents_json(&x->hide, o);
    char *text = json_dumps(hidden, JSON_INDENT(1) | JSON_REAL_PRECISION(14));
    begin_member(x, m->name, entry, role);
    int rc = text ? write_piece(x, text, strlen(text), err) : dcr_err_set(err, DCR_FATAL, "out of memory");
    end_member(x);
    free(text);
    if (role == DCR_ROLE_METADATA && strcmp(m->name, DCR_METADATA) == 0 && !x->metadata)
        x->metadata = json_incref(hidden);
    json_decref(o);
    json_decref(hidden);
    return rc;
}

static int take_trace(struct anonymise *x, struct dcr_tar_member *m, const json_t *entry, enum dcr_role role,
                      struct dcr_err *err)
{
    uint32_t crc;
    char print[16];
    size_t n_before = x->n_members;
    int64_t bytes_before = x->n_bytes;
    begin_member(x, m->name, entry, role);
    int rc = anonymise_trace(&x->hide, &m->stream, write_piece, x, &crc, err);
    end_member(x);
    if (rc == DCR_FAIL) { /* not a trace */
        x->n_members = n_before;
        x->n_bytes = bytes_before;
        leave_out(x, m, entry);
        return lseek(x->fd, bytes_before, SEEK_SET) < 0 ? dcr_err_file(err, DCR_FATAL, "cannot write '%s'", x->output)
                                                        : DCR_OK;
    }
    snprintf(print, sizeof print, "%08" PRIx32, crc);
    json_object_set_new(x->traces, x->at->name,
                        json_pack("{s:I,s:s}", "size", (json_int_t)x->at->size, "fingerprint", print));
    return rc;
}

static int take_member(struct anonymise *x, struct dcr_tar_member *m, const json_t *entry, enum dcr_role role,
                       struct dcr_err *err)
{
    if (!entry || role == DCR_ROLE_SUMMARY || role == DCR_ROLE_METADATA_TEXT)
        return DCR_OK;
    if (is_json(role, m->name))
        return take_json(x, m, entry, role, err);
    if (role == DCR_ROLE_TRACE)
        return take_trace(x, m, entry, role, err);
    if (role >= DCR_ROLE_METRICS && role <= DCR_ROLE_PROCESS_MONITOR) {
        begin_member(x, m->name, entry, role);
        int rc = documents_csv(&x->hide, &m->stream, write_piece, x, err);
        end_member(x);
        return rc;
    }
    leave_out(x, m, entry);
    return DCR_OK;
}

static int take_summary(struct anonymise *x, struct dcr_tar_member *m, const json_t *entry, enum dcr_role role,
                        struct dcr_err *err)
{
    if (role != DCR_ROLE_SUMMARY)
        return DCR_OK;
    begin_member(x, m->name, entry, role);
    int rc = documents_summary(&x->hide, &m->stream, x->traces, write_piece, x, err);
    end_member(x);
    return rc;
}

/* The text for people is made anew, since an earlier one may hold anything. */
static int add_text(struct anonymise *x, struct dcr_err *err)
{
    struct dcr_buf b = {0};
    if (!x->metadata)
        return DCR_OK;
    archive_metadata_text(x->metadata, &b);
    begin_member(x, DCR_METADATA_TEXT, NULL, DCR_ROLE_METADATA_TEXT);
    int rc = write_piece(x, dcr_buf_text(&b), b.len, err);
    end_member(x);
    dcr_buf_release(&b);
    return rc;
}

/* ---- the archive ---------------------------------------------------------------------------------- */

/* Equal runs stay equal. The hash needs a salt, because without one a guessed command line could be tested. */
static void put_derived(json_t *o, const json_t *manifest, const char *key, int n_digits, char separator)
{
    const char *text = json_string_value(json_object_get(manifest, key));
    char hex[DCR_SHA256_HEX], out[200];
    if (!text)
        return;
    struct dcr_sha256 *h = dcr_sha256_new();
    dcr_sha256_add(h, "anonymised ", 11);
    dcr_sha256_add(h, text, strlen(text));
    dcr_sha256_finish(h, hex);
    const char *last = separator ? strrchr(text, separator) : NULL;
    snprintf(out, sizeof out, "%.*s%.*s", last ? (int)(last - text + 1) : 0, text, n_digits, hex);
    json_object_set_new(o, key, json_string(out));
}

static json_t *make_manifest(struct anonymise *x)
{
    static const char *const made[] = {"members", "version", DCR_MANIFEST_SUM, "run_id", "config_hash"};
    json_t *o = archive_manifest(), *rest = json_copy(x->manifest);
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        json_object_del(rest, made[i]);
    json_t *hidden = documents_json(&x->hide, rest);
    json_object_update(o, hidden);
    json_decref(rest);
    json_decref(hidden);
    put_derived(o, x->manifest, "run_id", 4, '-');
    put_derived(o, x->manifest, "config_hash", 64, '\0');
    json_object_set_new(o, "anonymised", json_pack("{s:O}", "left_out", x->left_out));
    return o;
}

static int make_output(struct anonymise *x, struct dcr_err *err)
{
    double started = json_number_value(json_object_get(x->metadata, "started"));
    json_t *manifest = make_manifest(x);
    archive_sort(x->members, x->n_members);
    int rc = archive_write(x->output, started > 0 && started < 9e9 ? (int64_t)floor(started) : 0, manifest, x->members,
                           x->n_members, err);
    json_decref(manifest);
    return rc;
}

static int check_names(const char *input, const char *output, struct dcr_err *err)
{
    struct stat in, out;
    if (lstat(output, &out) != 0)
        return pack_check_output(output, err);
    if (stat(input, &in) == 0 && stat(output, &out) == 0 && in.st_dev == out.st_dev && in.st_ino == out.st_ino)
        return dcr_err_set(err, DCR_FAIL, "'%s' and '%s' are the same file; give the new archive another name", input,
                           output);
    return dcr_err_set(err, DCR_FAIL, "'%s' exists and is not overwritten; remove it or choose another name", output);
}

/* Damaged archives are not copied, because their content cannot be judged. */
static int check_input(const char *input, struct dcr_err *err)
{
    struct verify_report report = {0};
    int rc = verify_archive(input, &report, err);
    if (rc == 0 && report.n_problems)
        rc = report.is_other
                 ? dcr_err_set(err, DCR_FAIL,
                               "cannot anonymise '%s': it is not a run archive; name one that dccollect packed", input)
             : strstr(report.first, input)
                 ? dcr_err_set(err, DCR_FAIL, "%s", report.first) /* it names the archive */
                 : dcr_err_set(err, DCR_FAIL, "cannot anonymise '%s': %.500s", input, report.first);
    verify_release(&report);
    return rc;
}

static void describe(const struct anonymise *x, struct dcr_buf *said, char *message, size_t n)
{
    const int *count = x->hide.n;
    const char *what;
    json_t *o;
    json_object_foreach(x->left_out, what, o)
    {
        long long k = json_integer_value(json_object_get(o, "n"));
        dcr_buf_printf(said, "left out: %lld member%s of kind '%s', %lld bytes: names in them cannot be found\n", k,
                       k == 1 ? "" : "s", what, (long long)json_integer_value(json_object_get(o, "bytes")));
    }
    snprintf(message, n,
             "%s: %zu members without the names of %d host%s, %d user%s, %d part%s of paths, %d job%s. Look into it "
             "before you give it away.",
             x->output, x->n_members, count[HIDE_HOST], count[HIDE_HOST] == 1 ? "" : "s", count[HIDE_USER],
             count[HIDE_USER] == 1 ? "" : "s", count[HIDE_PATH], count[HIDE_PATH] == 1 ? "" : "s", count[HIDE_JOB],
             count[HIDE_JOB] == 1 ? "" : "s");
}

int anonymise_archive(const char *input, const char *output, struct dcr_buf *said, char *message, size_t n,
                      struct dcr_err *err)
{
    struct anonymise x = {.input = input, .output = output, .fd = -1};
    message[0] = '\0';
    int rc = check_names(input, output, err);
    if (rc == 0)
        rc = check_input(input, err);
    if (rc)
        return rc;
    x.names = x.hide.members = json_object();
    x.traces = json_object();
    x.left_out = json_object();
    rc = archive_nameless(output, &x.fd, err);
    progress_begin_file("replacing names", input, 3);
    if (rc == 0)
        rc = each_member(&x, learn, err);
    if (rc == 0)
        rc = each_member(&x, take_member, err);
    if (rc == 0)
        rc = each_member(&x, take_summary, err);
    progress_end();
    if (rc == 0)
        rc = add_text(&x, err);
    if (rc == 0)
        rc = make_output(&x, err);
    if (rc == 0)
        describe(&x, said, message, n);
    if (x.fd >= 0)
        close(x.fd);
    json_decref(x.manifest);
    json_decref(x.names);
    json_decref(x.metadata);
    json_decref(x.traces);
    json_decref(x.left_out);
    hide_release(&x.hide);
    return rc;
}
