/* manifest.c - manifest.json, and the roles of members where there is none. */
#include "render/read/members.h"

#include "render/import/text/json.h"

#include "lib/base/buf.h"
#include "lib/archive/format.h"
#include "lib/archive/manifest_sum.h"
#include "render/read/ending.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const role_texts[] = {
#define X(id, text) text,
    DCR_ROLES(X)
#undef X
};

static enum dcr_role role_of(const char *text)
{
    for (int i = 0; i < DCR_N_ROLES; i++)
        if (strcmp(role_texts[i], text) == 0)
            return (enum dcr_role)i;
    return DCR_ROLE_OTHER;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct manifest_member *)a)->name, ((const struct manifest_member *)b)->name);
}

static int is_sha256(const char *hex)
{
    return strlen(hex) == 64 && strspn(hex, "0123456789abcdef") == 64;
}

static int read_member(struct run *r, const json_t *entry, struct manifest_member *out, const char *where,
                       struct dcr_err *err)
{
    const char *name = json_string_value(json_object_get(entry, "name"));
    if (!name || !*name)
        return dcr_err_set(err, DCR_FAIL, "cannot trust '%s': " DCR_NAMELESS_ENTRY, where);
    out->name = dcr_arena_strdup(&r->arena, name);
    out->role = role_of(json_text(r, entry, "role"));
    out->sha256 = json_text(r, entry, "sha256");
    out->size_bytes = json_int(entry, "size", 0, INT64_MAX, -1);
    out->node = (int)json_int(entry, "node", 0, RUN_MAX_NODE, -1);
    out->rank = (int)json_int(entry, "rank", 0, RUN_MAX_RANK, -1);
    out->is_cut = json_int(entry, "blocks_before", 0, INT64_MAX, 0) > 0;
    if (out->size_bytes < 0 || !is_sha256(out->sha256))
        return dcr_err_set(err, DCR_FAIL,
                           "cannot trust '%s': the entry of '%.200s' has no valid size or checksum; pack the run again",
                           where, name);
    return 0;
}

static enum node_kind node_kind_of(const char *text)
{
    return strcmp(text, "machines") == 0     ? NODES_MACHINES
           : strcmp(text, "one-kernel") == 0 ? NODES_ONE_KERNEL
           : strcmp(text, "emulated") == 0   ? NODES_EMULATED
                                             : NODES_UNKNOWN;
}

/* The number of nodes or ranks; 0 if it is missing or impossible. An impossible number is a gap. */
static int read_count(struct run *r, const json_t *root, const char *key, int most)
{
    const json_t *v = json_object_get(root, key);
    int n = (int)json_int(root, key, 1, most, 0);
    if (!n && v && !json_is_null(v)) {
        char *text = json_dumps(v, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
        run_add_gap(r, PHRASE(MANIFEST_NO_NUMBER, slot_name(text && strlen(text) <= 40 ? text : "something else"),
                              slot_name(key)));
        free(text);
    }
    return n;
}

static void read_facts(struct run *r, const json_t *root)
{
    r->run_id = json_text(r, root, "run_id");
    r->config_hash = json_text(r, root, "config_hash");
    r->n_nodes = read_count(r, root, "n_nodes", RUN_MAX_NODE);
    r->n_ranks = read_count(r, root, "n_ranks", RUN_MAX_RANK);
    r->node_kind = node_kind_of(json_text(r, root, "node_kind"));
    r->is_complete = !json_is_false(json_object_get(root, "complete"));
    const json_t *why = json_object_get(root, "incomplete_because");
    size_t n = json_array_size(why);
    if (n == 0)
        return;
    r->endings = dcr_arena_alloc(&r->arena, n * sizeof *r->endings);
    for (size_t i = 0; i < n; i++) {
        const char *sentence = run_text(r, json_string_value(json_array_get(why, i)));
        if (*sentence)
            r->endings[r->n_endings++] = ending_of(sentence);
    }
}

/* Only nsys can read its own reports. Without an export beside it, a report tells nothing here. */
static void name_unread_reports(struct run *r, const struct manifest *m, const json_t *members)
{
    for (size_t i = 0; i < json_array_size(members); i++) {
        char sqlite[4400];
        const char *name = json_text(r, json_array_get(members, i), "name"), *dot = strrchr(name, '.');
        if (!dot || (strcmp(dot, ".nsys-rep") != 0 && strcmp(dot, ".qdrep") != 0) || strlen(name) > 4096)
            continue;
        snprintf(sqlite, sizeof sqlite, "%.*s.sqlite", (int)(dot - name), name);
        if (!manifest_find(m, sqlite))
            run_add_gap(r, PHRASE(NSYS_REPORT, slot_name(name)),
                        PHRASE(NSYS_EXPORT, slot_name(sqlite), slot_name(name)));
    }
}

int manifest_read(struct run *r, struct manifest *m, struct dcr_stream *s, struct dcr_err *err)
{
    enum { MAX_BYTES = 64 << 20 };
    struct dcr_buf b = {0};
    const char *broken;
    int rc = dcr_stream_slurp(s, &b, MAX_BYTES, err);
    struct dcr_memory bytes = {dcr_buf_text(&b), b.len, 0};
    struct dcr_stream again = dcr_stream_memory(&bytes, s->name);
    json_t *root = rc ? NULL : json_slurp(&again, err);
    if (!root) {
        dcr_buf_release(&b);
        return rc ? rc : DCR_FAIL;
    }
    const char *format = json_text(r, root, "format");
    int64_t version = json_int(root, "version", 0, INT64_MAX, 0);
    const json_t *members = json_object_get(root, "members");
    if (strcmp(format, DCR_ARCHIVE_FORMAT) != 0) {
        rc = dcr_err_set(
            err, DCR_FAIL,
            "cannot read '%s': its manifest is not that of a run archive; name an archive that dccollect packed",
            s->name);
        goto out;
    }
    if (version < 1 || version > DCR_ARCHIVE_VERSION) {
        rc = dcr_err_set(
            err, DCR_FAIL,
            "cannot read '%s': format version %lld, this program reads up to %d; use a later version of dcreport",
            s->name, (long long)version, DCR_ARCHIVE_VERSION);
        goto out;
    }
    if (dcr_manifest_check(bytes.bytes, bytes.len, version, &broken) != 0) {
        rc = dcr_err_set(err, DCR_FAIL, "cannot trust '%s': %s; copy or pack it again", s->name, broken);
        goto out;
    }
    if (!json_is_array(members)) {
        rc = dcr_err_set(err, DCR_FAIL, DCR_NO_MEMBERS, s->name);
        goto out;
    }
    read_facts(r, root);
    m->n = json_array_size(members);
    m->members = dcr_arena_alloc(&r->arena, (m->n + 1) * sizeof *m->members);
    for (size_t i = 0; i < m->n && rc == 0; i++)
        rc = read_member(r, json_array_get(members, i), &m->members[i], s->name, err);
    if (rc)
        goto out;
    if (m->n)
        qsort(m->members, m->n, sizeof *m->members, compare_names);
    for (size_t i = 1; i < m->n; i++)
        if (strcmp(m->members[i - 1].name, m->members[i].name) == 0) {
            rc = dcr_err_set(err, DCR_FAIL, "cannot trust '%s': " DCR_LISTED_TWICE, s->name, m->members[i].name);
            goto out;
        }
    r->has_manifest = 1;
    name_unread_reports(r, m, members);
out:
    json_decref(root);
    dcr_buf_release(&b);
    return rc;
}

struct manifest_member *manifest_find(const struct manifest *m, const char *name)
{
    struct manifest_member key = {.name = name};
    return m->n ? bsearch(&key, m->members, m->n, sizeof *m->members, compare_names) : NULL;
}
