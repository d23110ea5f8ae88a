/* ls.c - see ls.h. */
#include "collect/pack/ls.h"

#include "collect/pack/parts.h"
#include "collect/record/node_share.h"
#include "lib/archive/manifest_sum.h"
#include "lib/archive/member.h"
#include "lib/archive/tar.h"
#include "lib/base/json_string.h"
#include "lib/archive/format.h"

#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- words shared with the closing line of pack ------------------------------------------------- */

void words_window(const json_t *collector, char *out, size_t n)
{
    static const struct {
        const char *key, *option;
    } keys[] = {{"steps", "--steps"},
                {"delay_s", "--delay"},
                {"duration_s", "--duration"},
                {"capture_range", "--capture-range"}};
    const json_t *window = json_object_get(collector, "window");
    char options[600] = "", number[40];
    *out = '\0';
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const json_t *value = json_object_get(window, keys[i].key);
        snprintf(number, sizeof number, "%g", json_number_value(value));
        size_t used = strlen(options);
        if (value)
            snprintf(options + used, sizeof options - used, " %s %s", keys[i].option,
                     json_is_string(value) ? json_string_value(value) : number);
    }
    if (*options)
        snprintf(out, n, "in the window of%s: ", options);
}

void words_dropped(uint64_t n_events, char *out, size_t n)
{
    snprintf(out, n, "%" PRIu64 " %s", n_events,
             n_events == 0   ? "dropped"
             : n_events == 1 ? "event dropped"
                             : "events dropped");
}

const char *words_no_mpi(const json_t *collector, size_t n_ranks)
{
    static const char because[] = "nothing recorded because ", quietly[] = "MPI calls are not recorded: ";
    const char *text = json_string_value(json_object_get(collector, "mpi"));
    if (!text || strncmp(text, because, sizeof because - 1) != 0 ||
        (!strstr(text, "Open MPI") && !(n_ranks > 1 && strstr(text, "linked with MPI"))))
        return "";
    text += sizeof because - 1;
    return strncmp(text, quietly, sizeof quietly - 1) == 0 ? text + sizeof quietly - 1 : text;
}

enum { MAX_JSON_BYTES = 256 << 20 };

/* Words for each role; several members of a role make one line. */
static const char *const meanings[DCR_N_ROLES] = {
    [DCR_ROLE_METADATA] = "what ran, where, with what",
    [DCR_ROLE_METADATA_TEXT] = "the same, to read",
    [DCR_ROLE_METRICS] = "losses and throughput per epoch",
    [DCR_ROLE_STEPS] = "times of every training step",
    [DCR_ROLE_CPU_MONITOR] = "samples of processors and memory",
    [DCR_ROLE_GPU_MONITOR] = "samples of the GPUs",
    [DCR_ROLE_NET_MONITOR] = "samples of the network interfaces",
    [DCR_ROLE_DISK_MONITOR] = "samples of the disks",
    [DCR_ROLE_MEMORY_MONITOR] = "bytes through the memory controllers",
    [DCR_ROLE_CLOCK_MONITOR] = "how far the nodes' clocks are apart",
    [DCR_ROLE_PROCESS_MONITOR] = "samples of the ranks' processes",
    [DCR_ROLE_TRACE] = "events of the program, MPI, files",
    [DCR_ROLE_SUMMARY] = "what each trace comes down to",
    [DCR_ROLE_RANK] = "how each rank began and ended",
    [DCR_ROLE_CALIBRATION] = "what the machine can do: products, memory, all-reduce",
    [DCR_ROLE_LOG] = "logs",
    [DCR_ROLE_FOREIGN] = "evidence of other tools, as it came",
    [DCR_ROLE_OTHER] = "other files, kept as they came",
};

struct group {
    size_t n;
    int64_t bytes;
    char first[256];
};

struct listing {
    json_t *roles; /* of the manifest, by name; NULL without one */
    json_t *manifest, *metadata;
    const char *broken; /* why the manifest differs from what was written; NULL: it does not */
    struct group groups[DCR_N_ROLES];
    struct dcr_buf members; /* a line each */
};

/* "1.2 MB"; decimal units, as for sizes of members in docs/FORMAT.md. */
static const char *size_text(int64_t bytes, char out[24])
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    double value = (double)bytes;
    size_t u = 0;
    for (; value >= 999.5 && u + 1 < sizeof units / sizeof *units; u++)
        value /= 1000;
    snprintf(out, 24, u == 0 || value >= 99.95 ? "%.0f %s" : "%.1f %s", value, units[u]);
    return out;
}

/* ---- reading ---------------------------------------------------------------------------------- */

static enum dcr_role role_of(const struct listing *l, const char *name)
{
    int node, rank;
    enum dcr_role role = dcr_role_of_text(json_string_value(json_object_get(l->roles, name)));
    return role < DCR_N_ROLES ? role : dcr_role_of(name, &node, &rank);
}

static int take_manifest(struct listing *l, struct dcr_tar_member *m, struct dcr_err *err)
{
    struct dcr_buf b = {0};
    int rc = dcr_stream_slurp(&m->stream, &b, MAX_JSON_BYTES, err);
    struct dcr_memory text = {dcr_buf_text(&b), b.len, 0};
    struct dcr_stream s = dcr_stream_memory(&text, m->stream.name);
    l->manifest = rc == 0 ? json_read(&s, err) : NULL;
    json_int_t version = json_integer_value(json_object_get(l->manifest, "version"));
    if (l->manifest && dcr_manifest_check(text.bytes, text.len, version, &l->broken) == 0)
        l->broken = NULL;
    dcr_buf_release(&b);
    if (!l->manifest)
        return DCR_FAIL;
    size_t i;
    json_t *entry;
    l->roles = json_object();
    json_array_foreach(json_object_get(l->manifest, "members"), i, entry)
        json_object_set(l->roles, pack_json_text(entry, "name"), json_object_get(entry, "role"));
    return DCR_OK;
}

static void count_member(struct listing *l, const struct dcr_tar_member *m)
{
    char size[24], name[4096];
    snprintf(name, sizeof name, "%s", m->name);
    dcr_clean_line(name); /* for printing: an archive may hold anything */
    enum dcr_role role = role_of(l, m->name);
    struct group *g = &l->groups[role];
    if (g->n++ == 0)
        snprintf(g->first, sizeof g->first, "%.*s", (int)sizeof g->first - 1, name);
    g->bytes += m->size_bytes;
    dcr_buf_printf(&l->members, "%10s  %-36s %s\n", size_text(m->size_bytes, size), meanings[role], name);
}

static int read_all(struct listing *l, struct dcr_tar_reader *tar, struct dcr_err *err)
{
    struct dcr_tar_member m;
    int rc;
    while ((rc = dcr_tar_next(tar, &m, err)) == DCR_OK) {
        if (strcmp(m.name, DCR_MANIFEST) == 0) {
            rc = take_manifest(l, &m, err);
            if (rc)
                return rc;
            continue;
        }
        count_member(l, &m);
        struct dcr_err ignored = {0}; /* without readable metadata the list is still useful */
        if (strcmp(m.name, DCR_METADATA) == 0)
            l->metadata = json_read(&m.stream, &ignored);
        else if ((rc = dcr_stream_drain(&m.stream, err)) < 0)
            return rc;
    }
    return rc == DCR_END ? DCR_OK : rc;
}

/* ---- words ------------------------------------------------------------------------------------ */

/* " (emulated: 0.25 core, 50 Mbit/s each)", from the first node that has a share. Unlike nodes in one archive are not
 * told apart. */
static void say_node_kind(const struct listing *l, struct dcr_buf *out)
{
    const char *kind = pack_json_text(l->manifest, "node_kind");
    const json_t *nodes = json_object_get(l->metadata, "nodes"), *share = NULL;
    int n_unlike = 0;
    char words[120] = "";
    for (size_t i = 0; i < json_array_size(nodes); i++) {
        const json_t *here = json_object_get(json_array_get(nodes, i), "emulated");
        share = share ? share : here;
        n_unlike += !here || !json_equal(share, here);
    }
    node_share_words(share, (int)json_array_size(nodes), words, sizeof words);
    if (strcmp(kind, "one-kernel") == 0)
        dcr_buf_puts(out, " (on one kernel)");
    else if (strcmp(kind, "emulated") == 0 && share)
        dcr_buf_printf(out, " (emulated: %s)", n_unlike || !*words ? "unlike parts of one machine" : words);
    else if (strcmp(kind, "emulated") == 0)
        dcr_buf_puts(out, " (ranks of one host stand in for them)");
}

static void say_counts(const struct listing *l, struct dcr_buf *out)
{
    const json_t *nodes = json_object_get(l->manifest, "n_nodes"), *ranks = json_object_get(l->manifest, "n_ranks");
    if (json_is_integer(nodes)) {
        dcr_buf_printf(out, ", %lld node%s", (long long)json_integer_value(nodes),
                       json_integer_value(nodes) == 1 ? "" : "s");
        say_node_kind(l, out);
    } else {
        dcr_buf_puts(out, ", number of nodes unknown");
    }
    if (json_is_integer(ranks))
        dcr_buf_printf(out, ", %lld rank%s", (long long)json_integer_value(ranks),
                       json_integer_value(ranks) == 1 ? "" : "s");
}

/* Puts a word with the quoting of a shell. */
static void say_word(const char *word, const char *before, struct dcr_buf *out)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
    dcr_buf_puts(out, before);
    if (!word || (*word && !word[strspn(word, plain)])) {
        dcr_buf_puts(out, word ? word : "?");
        return;
    }
    dcr_buf_putc(out, '\'');
    for (; *word; word++) {
        if (*word == '\'')
            dcr_buf_puts(out, "'\\''");
        else if ((unsigned char)*word < ' ' || *word == 127) /* control characters must not reach the terminal */
            dcr_buf_putc(out, '?');
        else
            dcr_buf_putc(out, *word);
    }
    dcr_buf_putc(out, '\'');
}

static void say_program(const struct listing *l, struct dcr_buf *out)
{
    const json_t *command = json_object_get(l->metadata, "command");
    for (size_t i = 0; i < json_array_size(command) && i < 40; i++)
        say_word(json_string_value(json_array_get(command, i)), i ? " " : "  program   ", out);
    if (json_array_size(command))
        dcr_buf_puts(out, json_array_size(command) > 40 ? " ...\n" : "\n");
    const json_t *from = json_object_get(l->metadata, "started"), *to = json_object_get(l->metadata, "ended");
    time_t t = (time_t)json_number_value(from);
    struct tm tm;
    char stamp[40];
    if (!json_is_number(from) || !gmtime_r(&t, &tm) || !strftime(stamp, sizeof stamp, "%Y-%m-%d %H:%M:%S UTC", &tm))
        return;
    dcr_buf_printf(out, "  started   %s", stamp);
    if (json_is_number(to))
        dcr_buf_printf(out, ", took %.1f s", json_number_value(to) - json_number_value(from));
    dcr_buf_putc(out, '\n');
}

static void say_labels(const struct listing *l, struct dcr_buf *out)
{
    enum { MAX_LABELS = 40 };
    const json_t *labels = json_object_get(l->metadata, "labels");
    const char *key;
    json_t *value;
    int n = 0;
    json_object_foreach((json_t *)labels, key, value)
    {
        if (n == MAX_LABELS)
            break;
        say_word(key, n++ ? " " : "  labels    ", out);
        say_word(json_string_value(value), "=", out);
    }
    if (n)
        dcr_buf_puts(out, json_object_size(labels) > MAX_LABELS ? " ...\n" : "\n");
}

static void say_recorded(const struct listing *l, struct dcr_buf *out)
{
    const json_t *c = json_object_get(l->metadata, "collector");
    if (!json_is_object(c))
        return;
    long long events = (long long)json_integer_value(json_object_get(c, "events"));
    const char *nvtx = pack_json_text(c, "nvtx");
    static const char because[] = "nothing recorded ";
    long long mpi = (long long)json_integer_value(json_object_get(c, "mpi_calls"));
    long long io = (long long)json_integer_value(json_object_get(c, "io_calls"));
    char window[700], drops[64];
    words_window(c, window, sizeof window);
    words_dropped((uint64_t)json_integer_value(json_object_get(c, "dropped_events")), drops, sizeof drops);
    dcr_buf_printf(out, "  recorded  %s%lld ranges, %lld MPI calls, %lld file calls; %s\n", window, events, mpi, io,
                   drops);
    if (*pack_json_text(c, "not_loaded"))
        dcr_buf_printf(out, "  missing   MPI calls, file calls: %s\n", pack_json_text(c, "not_loaded"));
    else if (*nvtx && strcmp(nvtx, "ok") != 0)
        dcr_buf_printf(out, "  no ranges %s\n",
                       strncmp(nvtx, because, sizeof because - 1) == 0 ? nvtx + sizeof because - 1 : nvtx);
    const char *no_mpi = words_no_mpi(c, json_array_size(json_object_get(l->metadata, "ranks")));
    if (*no_mpi)
        dcr_buf_printf(out, "  missing   MPI calls: %s\n", no_mpi);
}

static void say_reasons(const struct listing *l, struct dcr_buf *out)
{
    const json_t *reasons = json_object_get(l->manifest, "incomplete_because");
    for (size_t i = 0; i < json_array_size(reasons); i++) {
        const char *line = json_string_value(json_array_get(reasons, i));
        dcr_buf_printf(out, "  INCOMPLETE: %s\n", line ? line : "?");
    }
    const json_t *monitors = json_object_get(json_array_get(json_object_get(l->metadata, "nodes"), 0), "monitors");
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)monitors, key, value)
    {
        const char *state = json_string_value(value);
        if (state && strcmp(state, "ok") != 0)
            dcr_buf_printf(out, "  missing   %s: %s\n", key, state);
    }
    size_t n = json_array_size(json_object_get(l->metadata, "not_packed"));
    if (n)
        dcr_buf_printf(out, "  left out  %zu file%s when packing (not_packed in %s says why)\n", n, n == 1 ? "" : "s",
                       DCR_METADATA);
}

/* Warns that output of other programs may hold secrets that our own records leave out. */
static void say_as_it_came(const struct listing *l, struct dcr_buf *out)
{
    const struct group *g = l->groups;
    size_t n = g[DCR_ROLE_FOREIGN].n + g[DCR_ROLE_OTHER].n + g[DCR_ROLE_LOG].n;
    if (n)
        dcr_buf_printf(out,
                       "  others    %zu file%s as other programs wrote %s: not searched for secrets (see `man "
                       "dccollect`, or build/man/dccollect.1 in the sources)\n",
                       n, n == 1 ? "" : "s", n == 1 ? "it" : "them");
}

static void say_groups(const struct listing *l, struct dcr_buf *out)
{
    char size[24];
    for (size_t i = 0; i < DCR_N_ROLES; i++) {
        const struct group *g = &l->groups[i];
        if (g->n)
            dcr_buf_printf(out, "%10s  %5zu  %-36s %s%s\n", size_text(g->bytes, size), g->n, meanings[i], g->first,
                           g->n > 1 ? " ..." : "");
    }
}

static void say_wrong(const struct dcr_err *fault, struct dcr_buf *out)
{
    char line[sizeof fault->text];
    dcr_err_sentences(fault, line, sizeof line);
    dcr_buf_printf(out, "  WRONG     %s.\n", line);
}

int ls_archive(const char *path, int is_long, struct dcr_buf *out, struct dcr_err *err)
{
    struct dcr_tar_reader *tar = NULL;
    struct listing l = {0};
    int rc = dcr_tar_open(&tar, path, err);
    if (rc)
        return rc;
    rc = read_all(&l, tar, err);
    struct dcr_err end = {0};
    if (rc == DCR_OK && dcr_tar_check_end(tar, &end) == DCR_OK)
        end.text[0] = '\0';
    dcr_tar_close(tar);
    if (rc == DCR_OK && l.broken)
        rc = dcr_err_set(err, DCR_FAIL, "cannot trust '%s': %s; copy or pack it again", path, l.broken);
    if (!l.manifest) {
        if (rc == DCR_OK)
            rc = dcr_err_set(err, DCR_FAIL, "cannot read '%s': it has no %s; name an archive that dccollect packed",
                             path, DCR_MANIFEST);
    } else {
        char head[PATH_MAX + 256];
        snprintf(head, sizeof head, "%s: run %s", path, pack_json_text(l.manifest, "run_id"));
        dcr_buf_puts(out, dcr_clean_line(head));
        say_counts(&l, out);
        dcr_buf_puts(out, rc ? ", DAMAGED: what can be read of it\n"
                          : json_is_true(json_object_get(l.manifest, "complete")) ? ", complete\n"
                                                                                  : ", INCOMPLETE\n");
        say_program(&l, out);
        say_labels(&l, out);
        say_recorded(&l, out);
        say_reasons(&l, out);
        if (end.text[0])
            say_wrong(&end, out);
        say_as_it_came(&l, out);
        say_groups(&l, out);
        if (is_long)
            dcr_buf_puts(out, dcr_buf_text(&l.members));
    }
    json_decref(l.roles);
    json_decref(l.manifest);
    json_decref(l.metadata);
    dcr_buf_release(&l.members);
    return rc;
}
