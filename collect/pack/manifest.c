/* manifest.c - hash, manifest, tar. Written beside the final name, verified, then renamed. */
#include "collect/pack/parts.h"

#include "collect/pack/verify.h"
#include "lib/base/hash.h"
#include "lib/archive/manifest_sum.h"
#include "lib/archive/tar.h"
#include "lib/trace/trace_end.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *const role_texts[] = {
#define X(id, text) text,
    DCR_ROLES(X)
#undef X
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct pack_member *)a)->name, ((const struct pack_member *)b)->name);
}

static void hash_text(const char *text, size_t n, char out[DCR_SHA256_HEX])
{
    struct dcr_sha256 *h = dcr_sha256_new();
    dcr_sha256_add(h, text, n);
    dcr_sha256_finish(h, out);
}

/* Of a trace only the used part: a process that was killed, or left by _exit, did not release the space reserved ahead.
 */
static int hash_file(struct pack_member *m, struct dcr_err *err)
{
    int64_t most = INT64_MAX;
    if (m->role == DCR_ROLE_TRACE) {
        int fd = open(m->path, O_RDONLY | O_CLOEXEC);
        most = fd >= 0 ? dct_used_bytes(fd) : -1;
        if (most < 0)
            dcr_err_sys(err, DCR_FAIL, "cannot read '%s'", m->path);
        if (fd >= 0)
            close(fd);
        if (most < 0)
            return DCR_FAIL;
    }
    return dcr_sha256_head(m->path, most, m->sha256, &m->size, err);
}

static int hash_members(struct pack *p, struct dcr_err *err)
{
    for (size_t i = 0; i < p->n_members; i++) {
        struct pack_member *m = &p->members[i];
        if (m->is_made)
            continue; /* hashed when it was made */
        if (!m->path) {
            hash_text(m->bytes, (size_t)m->size, m->sha256);
            continue;
        }
        int rc = hash_file(m, err);
        if (rc)
            return rc;
    }
    return DCR_OK;
}

/* ---- identity --------------------------------------------------------------------------------- */

/* Where a run writes does not make it another run. */
static int is_output_option(const char *word)
{
    static const char *const words[] = {"-o",         "--out",        "--output",         "--out-dir",
                                        "--outdir",   "--output-dir", "--results",        "--log",
                                        "--log-file", "--log-dir",    "--checkpoint-dir", "--spool"};
    size_t n = strcspn(word, "=");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == n && strncmp(word, words[i], n) == 0)
            return word[n] == '=' ? 2 : 1;
    return 0;
}

static int is_below(const char *path, const char *dir)
{
    size_t n = strlen(dir);
    while (n > 1 && dir[n - 1] == '/')
        n--;
    return strncmp(path, dir, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

static int is_adopted(const json_t *record, const char *word)
{
    const json_t *adopt = json_object_get(record, "adopt");
    const char *folder = json_string_value(json_object_get(record, "folder"));
    const char *value = word[0] == '-' && strchr(word, '=') ? strchr(word, '=') + 1 : word;
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s%s%.4000s", value[0] == '/' || !folder ? "" : folder,
             value[0] == '/' || !folder ? "" : "/", value);
    for (size_t i = 0; i < json_array_size(adopt); i++) {
        const char *dir = json_string_value(json_array_get(adopt, i));
        if (dir && *value && is_below(path, dir))
            return 1;
    }
    return 0;
}

/* What emulated nodes were, but not whether this machine would have made them so by itself. */
static void add_shares(struct dcr_sha256 *h, const json_t *nodes)
{
    for (size_t i = 0; i < json_array_size(nodes); i++) {
        const json_t *share = json_object_get(json_array_get(nodes, i), "emulated");
        char text[160];
        if (!share)
            continue;
        int n = snprintf(text, sizeof text, " node=%zu cores=%.9g period_us=%lld link_bit_per_s=%lld", i,
                         json_number_value(json_object_get(share, "cores")),
                         (long long)json_integer_value(json_object_get(share, "period_us")),
                         (long long)json_integer_value(json_object_get(share, "link_bit_per_s")));
        dcr_sha256_add(h, text, (size_t)n);
    }
}

/* SHA-256 of what makes two runs repetitions of each other: the program's name, its arguments without output paths,
 * the numbers of nodes and ranks, and the shares of emulated nodes. A run with an unknown command is no repetition of
 * another. */
static void config_hash(const struct pack *p, const char *id, char out[DCR_SHA256_HEX])
{
    char counts[64];
    const json_t *record = pack_first_record(p), *command = json_object_get(record, "command");
    struct dcr_sha256 *h = dcr_sha256_new();
    for (size_t i = 0; i < json_array_size(command); i++) {
        const char *word = json_string_value(json_array_get(command, i));
        if (!word)
            continue;
        int skip = is_output_option(word);
        if (skip) {
            i += skip == 1;
            continue;
        }
        if (is_adopted(record, word))
            continue;
        const char *slash = i == 0 ? strrchr(word, '/') : NULL;
        word = slash ? slash + 1 : word;
        dcr_sha256_add(h, word, strlen(word) + 1);
    }
    if (json_array_size(command) == 0)
        dcr_sha256_add(h, id, strlen(id) + 1);
    int n = snprintf(counts, sizeof counts, "nodes=%d ranks=%zu", p->n_nodes, p->n_ranks);
    dcr_sha256_add(h, counts, (size_t)n);
    add_shares(h, json_object_get(p->metadata, "nodes"));
    dcr_sha256_finish(h, out);
}

/* What a folder holds that no collector watched: the tool that left all of its evidence ("nsys", "nvidia-smi"),
 * "evidence" of several, or "results" of a program. */
static void folder_kind(const struct pack *p, char *out, size_t n)
{
    out[0] = '\0';
    for (size_t i = 0; i < p->n_members; i++) {
        const struct pack_member *m = &p->members[i];
        char tool[40];
        if (!m->path || m->role == DCR_ROLE_OTHER || m->role == DCR_ROLE_LOG)
            continue;
        if (m->role != DCR_ROLE_FOREIGN || !m->kind) {
            snprintf(out, n, "results");
            return;
        }
        int is_of_nsight = strncmp(m->kind, "nsys-", 5) == 0 || strncmp(m->kind, "ncu-", 4) == 0;
        snprintf(tool, sizeof tool, "%.*s", (int)(is_of_nsight ? strcspn(m->kind, "-") : strlen(m->kind)), m->kind);
        snprintf(out, n, "%s", !*out || strcmp(out, tool) == 0 ? tool : "evidence");
    }
    if (!*out)
        snprintf(out, n, "results");
}

/* Start and four digits that tell apart runs of one second; a folder that no collector watched is named by what it
 * holds. */
static void run_id(const struct pack *p, char *out, size_t n)
{
    char seed[512], hex[DCR_SHA256_HEX];
    const json_t *record = pack_first_record(p);
    if (!record || p->started_s <= 0) {
        char kind[40];
        struct dcr_sha256 *h = dcr_sha256_new();
        for (size_t i = 0; i < p->n_members; i++)
            dcr_sha256_add(h, p->members[i].sha256, 64);
        dcr_sha256_finish(h, hex);
        folder_kind(p, kind, sizeof kind);
        snprintf(out, n, "%s-%.12s", kind, hex);
        return;
    }
    const char *host = json_string_value(json_object_get(record, "host"));
    int k = snprintf(seed, sizeof seed, "%.300s %lld %.3f", host ? host : "",
                     (long long)json_integer_value(json_object_get(record, "pid")), p->started_s);
    hash_text(seed, (size_t)k, hex);
    time_t t = (time_t)p->started_s;
    struct tm tm;
    char stamp[32] = "";
    if (gmtime_r(&t, &tm))
        strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &tm);
    snprintf(out, n, "%s-%.4s", stamp, hex);
}

/* ---- manifest --------------------------------------------------------------------------------- */

static json_t *member_entry(const struct pack_member *m)
{
    json_t *o = json_object(), *name = json_string(m->name);
    if (!name) {
        json_decref(o);
        return NULL;
    }
    json_object_set_new(o, "name", name);
    json_object_set_new(o, "role", json_string(role_texts[m->role]));
    if (m->kind)
        json_object_set_new(o, "kind", json_string(m->kind));
    if (m->node >= 0)
        json_object_set_new(o, "node", json_integer(m->node));
    if (m->rank >= 0)
        json_object_set_new(o, "rank", json_integer(m->rank));
    json_object_set_new(o, "size", json_integer(m->size));
    json_object_set_new(o, "sha256", json_string(m->sha256));
    return o;
}

static json_t *make_manifest(struct pack *p, struct dcr_err *err)
{
    char id[80], hash[DCR_SHA256_HEX];
    json_t *o = json_object(), *list = json_array();
    run_id(p, id, sizeof id);
    config_hash(p, id, hash);
    json_object_set_new(o, "format", json_string(DCR_ARCHIVE_FORMAT));
    json_object_set_new(o, "version", json_integer(DCR_ARCHIVE_VERSION));
    json_object_set_new(o, DCR_MANIFEST_SUM, json_string(DCR_MANIFEST_NO_SUM)); /* before all text that is not ours */
    json_object_set_new(o, "run_id", json_string(id));
    json_object_set_new(o, "config_hash", json_string(hash));
    json_object_set_new(o, "complete", json_boolean(json_array_size(p->reasons) == 0));
    json_object_set(o, "incomplete_because", p->reasons);
    if (p->n_nodes > 0)
        json_object_set_new(o, "n_nodes", json_integer(p->n_nodes));
    if (p->n_ranks > 0)
        json_object_set_new(o, "n_ranks", json_integer((json_int_t)p->n_ranks));
    const char *kind = json_string_value(json_object_get(p->metadata, "node_kind"));
    json_object_set_new(o, "node_kind", json_string(kind ? kind : "unknown"));
    json_object_set_new(o, "members", list);
    for (size_t i = 0; i < p->n_members; i++) {
        json_t *entry = member_entry(&p->members[i]);
        if (!entry) {
            dcr_err_set(err, DCR_FAIL, "the name of '%s' is not UTF-8; rename the file", p->members[i].name);
            json_decref(o);
            return NULL;
        }
        json_array_append_new(list, entry);
    }
    return o;
}

/* ---- the archive ------------------------------------------------------------------------------- */

struct piece { /* of the file of summaries, or of a trace */
    int fd;
    int64_t at, end;
};

static ssize_t read_piece(void *ctx, void *out, size_t n, struct dcr_err *err)
{
    struct piece *piece = ctx;
    size_t want = (int64_t)n < piece->end - piece->at ? n : (size_t)(piece->end - piece->at);
    ssize_t k = want ? pread(piece->fd, out, want, piece->at) : 0;
    if (k < 0)
        return dcr_err_sys(err, DCR_FATAL, "cannot read");
    piece->at += k;
    return k;
}

static int write_made(struct pack *p, struct dcr_tar_writer *w, const struct pack_member *m, struct dcr_err *err)
{
    struct piece piece = {p->made_fd, m->offset, m->offset + m->size};
    struct dcr_stream s = {read_piece, &piece, m->name};
    return dcr_tar_add_stream(w, m->name, &s, m->size, p->mtime, err);
}

/* Write the part of the trace that was hashed. It may have grown since then. */
static int write_trace(struct pack *p, struct dcr_tar_writer *w, const struct pack_member *m, struct dcr_err *err)
{
    int fd = open(m->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return dcr_err_sys(err, DCR_FAIL, "cannot read '%s'", m->path);
    struct piece piece = {fd, 0, m->size};
    struct dcr_stream s = {read_piece, &piece, m->path};
    int rc = dcr_tar_add_stream(w, m->name, &s, m->size, p->mtime, err);
    if (rc == 0 && dct_used_bytes(fd) != m->size)
        rc = dcr_err_set(err, DCR_FAIL, "cannot pack '%s': its size changed meanwhile; pack when the program has ended",
                         m->path);
    close(fd);
    return rc;
}

static int write_members(struct pack *p, struct dcr_tar_writer *w, const char *manifest, struct dcr_err *err)
{
    int rc = dcr_tar_add_bytes(w, DCR_MANIFEST, manifest, strlen(manifest), p->mtime, err);
    for (size_t i = 0; i < p->n_members && rc == 0; i++) {
        const struct pack_member *m = &p->members[i];
        rc = m->is_made                             ? write_made(p, w, m, err)
             : m->path && m->role == DCR_ROLE_TRACE ? write_trace(p, w, m, err)
             : m->path                              ? dcr_tar_add_file(w, m->name, m->path, m->size, p->mtime, err)
                       : dcr_tar_add_bytes(w, m->name, m->bytes, (size_t)m->size, p->mtime, err);
    }
    return rc;
}

static int check_written(const char *path, struct dcr_err *err)
{
    struct verify_report report = {0};
    int rc = verify_archive(path, &report, err);
    if (rc == 0 && report.n_problems)
        rc = dcr_err_set(err, DCR_FAIL,
                         "the archive is not what was to be written (does the program still run?): %.500s",
                         report.first);
    verify_release(&report);
    return rc;
}

/* job_metadata.json and .txt stand where readers expect them, unless a results folder brought its own. */
static void add_metadata(struct pack *p)
{
    char *text = json_dumps(p->metadata, JSON_INDENT(1) | JSON_REAL_PRECISION(14));
    pack_add(p, DCR_METADATA, NULL, text ? text : "{}", DCR_ROLE_METADATA, -1, -1);
    free(text);
    pack_add(p, DCR_METADATA_TEXT, NULL, pack_text(p), DCR_ROLE_METADATA_TEXT, -1, -1);
}

int pack_write(struct pack *p, struct dcr_err *err)
{
    char beside[PATH_MAX];
    json_t *manifest = NULL;
    char *text = NULL;
    struct dcr_tar_writer *w = NULL;
    const char *output = p->request->output, *slash = strrchr(output, '/');
    int k = snprintf(beside, sizeof beside, "%.*s.unverified-%s", slash ? (int)(slash - output + 1) : 0, output,
                     slash ? slash + 1 : output);
    if (k < 0 || (size_t)k >= sizeof beside)
        return dcr_err_set(err, DCR_FAIL, "the name '%s' is too long", output);
    add_metadata(p);
    qsort(p->members, p->n_members, sizeof *p->members, by_name);
    int rc = p->is_copied ? pack_copy(p, err) : DCR_OK;
    if (rc == 0)
        rc = hash_members(p, err);
    if (rc)
        goto out;
    manifest = make_manifest(p, err);
    text = manifest ? json_dumps(manifest, JSON_INDENT(1) | JSON_REAL_PRECISION(14)) : NULL;
    if (!text || dcr_manifest_seal(text, strlen(text)) != 0) {
        rc = manifest ? dcr_err_set(err, DCR_FAIL, "no memory for the manifest") : DCR_FAIL;
        goto out;
    }
    rc = dcr_tar_create_in(&w, output, beside, p->request->zstd_level, err);
    if (rc)
        goto out;
    rc = write_members(p, w, text, err);
    if (rc) {
        p->has_changed = rc == DCR_FAIL; /* DCR_FATAL is of the archive itself */
        dcr_tar_abandon(w);
        goto out;
    }
    rc = dcr_tar_commit_checked(w, check_written, err);
    p->has_changed = rc == DCR_FAIL;
out:
    if (rc)
        dcr_err_while(err, "packing '%s'", output);
    free(text);
    json_decref(manifest);
    return rc;
}
