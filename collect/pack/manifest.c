/* manifest.c - the manifest: the run's identity, and the runs that it repeats. */
#include "collect/pack/parts.h"

#include "lib/base/hash.h"
#include "lib/base/progress.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Summaries that were made here are already hashed. */
static int hash_members(struct pack *p, struct dcr_err *err)
{
    int rc = DCR_OK;
    progress_begin("checksums made", p->n_members, pack_bytes(p, DCR_N_ROLES));
    for (size_t i = 0; i < p->n_members && rc == 0; i++) {
        struct archive_member *m = &p->members[i];
        if (m->path)
            rc = archive_hash(m, err);
        else if (m->bytes)
            dcr_sha256_bytes(m->bytes, (size_t)m->size, m->sha256);
        progress_step(m->size);
    }
    progress_end();
    return rc;
}

/* ---- identity --------------------------------------------------------------------------------- */

/* The same run may write to another place. */
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

/* Adds the shares of emulated nodes, but not whether they are this machine's default. */
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

/* SHA-256 of everything that two repetitions have in common: the program's name, its arguments without output paths,
 * the numbers of nodes and ranks, and the shares of emulated nodes. A run with an unknown command counts as no
 * repetition. */
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

/* Describes a folder without a collector's record: the tool that wrote all of its evidence ("nsys", "nvidia-smi"),
 * "evidence" of several tools, or "results" of a program. */
static void folder_kind(const struct pack *p, char *out, size_t n)
{
    out[0] = '\0';
    for (size_t i = 0; i < p->n_members; i++) {
        const struct archive_member *m = &p->members[i];
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

/* Start time and four digits that distinguish runs of the same second. A folder without a collector's record is named
 * by its content. */
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
    int k = snprintf(seed, sizeof seed, "%.300s %lld %.3f", pack_json_text(record, "host"),
                     (long long)json_integer_value(json_object_get(record, "pid")), p->started_s);
    dcr_sha256_bytes(seed, (size_t)k, hex);
    time_t t = (time_t)p->started_s;
    struct tm tm;
    char stamp[32] = "";
    if (gmtime_r(&t, &tm))
        strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &tm);
    snprintf(out, n, "%s-%.4s", stamp, hex);
}

/* ---- manifest --------------------------------------------------------------------------------- */

static json_t *make_manifest(struct pack *p)
{
    char id[80], hash[DCR_SHA256_HEX];
    json_t *o = archive_manifest();
    run_id(p, id, sizeof id);
    config_hash(p, id, hash);
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
    return o;
}

/* Readers expect job_metadata.json and .txt at the top, unless a results folder brought its own. */
static void add_metadata(struct pack *p)
{
    struct dcr_buf b = {0};
    char *text = json_dumps(p->metadata, JSON_INDENT(1) | JSON_REAL_PRECISION(14));
    pack_add(p, DCR_METADATA, NULL, text ? text : "{}", DCR_ROLE_METADATA, -1, -1);
    free(text);
    archive_metadata_text(p->metadata, &b);
    pack_add(p, DCR_METADATA_TEXT, NULL, dcr_buf_text(&b), DCR_ROLE_METADATA_TEXT, -1, -1);
    dcr_buf_release(&b);
}

int pack_write(struct pack *p, struct dcr_err *err)
{
    add_metadata(p);
    archive_sort(p->members, p->n_members);
    int rc = pack_copy(p, err);
    if (rc == 0)
        rc = hash_members(p, err);
    if (rc == 0) {
        json_t *manifest = make_manifest(p);
        rc = archive_write(p->request->output, p->mtime, manifest, p->members, p->n_members, err);
        json_decref(manifest);
        p->has_changed = rc == DCR_FAIL; /* DCR_FATAL concerns the archive itself */
    }
    return rc ? dcr_err_while(err, "packing '%s'", p->request->output) : DCR_OK;
}
