/* pack.c - see pack.h. */
#include "collect/pack/pack.h"

#include "collect/record/calibrate.h"
#include "collect/pack/parts.h"
#include "collect/pack/ls.h"
#include "lib/archive/format.h"
#include "lib/base/fs.h"
#include "lib/archive/tar.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void release(struct pack *p)
{
    for (size_t i = 0; i < p->n_ranks; i++)
        json_decref(p->ranks[i].record);
    for (size_t i = 0; i < p->n_hosts; i++)
        json_decref(p->hosts[i].facts);
    json_decref(p->launcher);
    json_decref(p->metadata);
    json_decref(p->reasons);
    json_decref(p->not_packed);
    json_decref(p->missing);
    json_decref(p->trace_notes);
    if (p->made_fd >= 0)
        close(p->made_fd);
    pack_copy_release(p);
    dcr_arena_release(&p->arena);
}

static void put_list(struct dcr_buf *b, const char *label, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        dcr_buf_printf(b, "%s%s", i ? ", " : label, json_string_value(json_array_get(list, i)));
}

static const char *plural(long long n)
{
    return n == 1 ? "" : "s";
}

/* Traces make an archive large. Their summaries, which are always packed, are small. */
static void put_size(struct dcr_buf *b, const struct pack *p)
{
    enum { LARGE_MB = 100 };
    struct stat st;
    if (stat(p->request->output, &st) == 0 && st.st_size >= LARGE_MB * 1000000 &&
        pack_bytes(p, DCR_ROLE_TRACE) > pack_bytes(p, DCR_N_ROLES) / 2)
        dcr_buf_printf(b, "\n  large: %lld MB (--traces none packs only the sums)", (long long)st.st_size / 1000000);
}

/* Makes the closing lines: what was recorded, then a line for each thing that a user should know. */
static void summarise(const struct pack *p, char *out, size_t n)
{
    struct dcr_buf b = {0};
    const json_t *collector = json_object_get(p->metadata, "collector");
    char window[700], drops[64];
    long long n_found = 0; /* counts files that were found, not those made here for the archive */
    size_t n_ranks = p->has_no_rank ? 0 : p->n_ranks;
    for (size_t i = 0; i < p->n_members; i++)
        n_found += p->members[i].path != NULL;
    words_window(collector, window, sizeof window);
    words_dropped(p->n_dropped, drops, sizeof drops);
    dcr_buf_printf(&b, "%s: ", p->request->output);
    if (p->n_nodes)
        dcr_buf_printf(&b, "%d node%s%s, ", p->n_nodes, plural(p->n_nodes),
                       strcmp(pack_json_text(p->metadata, "node_kind"), "emulated") == 0 ? " (emulated)" : "");
    else
        dcr_buf_puts(&b, "nodes unknown, ");
    if (p->n_ranks)
        dcr_buf_printf(&b, "%zu rank%s, %s%llu ranges, %llu MPI calls, %llu file calls in %d trace%s, %s", n_ranks,
                       plural((long long)n_ranks), window, (unsigned long long)p->n_events,
                       (unsigned long long)p->n_mpi_calls, (unsigned long long)p->n_io_calls, p->n_traces,
                       plural(p->n_traces), drops);
    else
        dcr_buf_printf(&b, "%lld file%s of a results folder", n_found, plural(n_found));
    if (p->n_traces_packed < p->n_traces)
        dcr_buf_printf(&b, " (%d packed, %d as summaries)", p->n_traces_packed, p->n_traces - p->n_traces_packed);
    if (p->n_unknown)
        dcr_buf_printf(&b, "; %d file%s of no known kind kept", p->n_unknown, plural(p->n_unknown));
    if (p->n_sparse)
        dcr_buf_printf(&b, "; %d sparse file%s left out (see not_packed in " DCR_METADATA ")", p->n_sparse,
                       plural(p->n_sparse));
    put_list(&b, "\n  INCOMPLETE: ", p->reasons);
    int is_empty = p->n_ranks && !p->n_events && !p->n_mpi_calls && !p->n_io_calls;
    if (is_empty && !json_array_size(p->reasons) && !json_object_get(collector, "not_loaded"))
        dcr_buf_printf(&b, "\n  %.400s", pack_json_text(collector, "nvtx"));
    if (*words_no_mpi(collector, p->n_ranks))
        dcr_buf_printf(&b, "\n  no MPI calls: %.300s", words_no_mpi(collector, p->n_ranks));
    put_list(&b, "\n  missing: ", p->missing);
    put_size(&b, p);
    snprintf(out, n, "%s", dcr_buf_text(&b));
    dcr_buf_release(&b);
}

/* If the output is a link, the file that it names is replaced, as with tar and cp, and the link stays. *out: the file
 * to write */
static int follow_link(const char *output, char out[PATH_MAX], struct dcr_err *err)
{
    struct stat st;
    int is_link = lstat(output, &st) == 0 && S_ISLNK(st.st_mode);
    if (is_link && !realpath(output, out))
        return dcr_err_file(err, DCR_FAIL, "cannot write '%s', because of the file to which this link points", output);
    if (!is_link && snprintf(out, PATH_MAX, "%s", output) >= PATH_MAX)
        return dcr_err_set(err, DCR_FAIL, "the name '%.200s...' is too long; choose a shorter one", output);
    return DCR_OK;
}

int pack_check_output(const char *output, struct dcr_err *err)
{
    static const char *const others[] = {".gz", ".tgz", ".bz2", ".xz", ".lz4", ".zip", ".7z", ".rar", ".Z"};
    struct stat st;
    char dir[PATH_MAX], target[PATH_MAX];
    int rc = follow_link(output, target, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (dcr_ends_with(output, others[i]))
            return dcr_err_set(
                err, DCR_FAIL,
                "'%s': an archive is a plain tar, or compressed by zstd; end its name in .tar or .tar.zst", output);
    if (dcr_folder_of(output, dir, sizeof dir) != 0 || stat(dir, &st) != 0 || !S_ISDIR(st.st_mode))
        return dcr_err_set(err, DCR_FAIL, "cannot write '%s': there is no folder '%s'; make it first", output, dir);
    if (stat(output, &st) != 0)
        return DCR_OK;
    if (S_ISDIR(st.st_mode))
        return dcr_err_set(err, DCR_FAIL, "cannot write '%s': a folder of that name is in the way; choose another name",
                           output);
    struct dcr_tar_reader *archive = NULL;
    struct dcr_tar_member first;
    int is_ours = dcr_tar_open(&archive, output, NULL) == 0 && dcr_tar_next(archive, &first, NULL) == 0 &&
                  strcmp(first.name, DCR_MANIFEST) == 0;
    dcr_tar_close(archive);
    if (!is_ours)
        return dcr_err_set(
            err, DCR_FAIL,
            "'%s' exists and is not a run archive, so it is not overwritten; remove it or choose another name", output);
    return DCR_OK;
}

/* is_copied: copy files that are still being written. *has_changed: there are such files, so is_copied is needed */
static int pack_once(const struct pack_request *request, int is_copied, int *has_changed, char *message, size_t n,
                     struct dcr_err *err)
{
    struct pack p = {.request = request, .made_fd = -1, .is_copied = is_copied};
    p.reasons = json_array();
    if (request->reason)
        pack_reason(&p, "%s", request->reason);
    p.not_packed = json_array();
    p.missing = json_array();
    p.trace_notes = json_array();
    int rc = pack_gather(&p, err);
    if (rc == 0 && request->calibration)
        pack_add(&p, DCR_CALIBRATION, request->calibration, NULL, DCR_ROLE_CALIBRATION, -1, -1);
    if (rc == 0)
        rc = pack_describe(&p, err);
    if (rc == 0)
        rc = pack_write(&p, err);
    if (rc == 0)
        summarise(&p, message, n);
    *has_changed = p.has_changed;
    if (request->n_unread)
        *request->n_unread = p.n_unread;
    release(&p);
    return rc;
}

int pack_spool(const struct pack_request *request, char *message, size_t n, struct dcr_err *err)
{
    struct stat st;
    message[0] = '\0';
    if (stat(request->spool, &st) != 0)
        return dcr_err_file(err, DCR_FAIL, "cannot pack '%s'", request->spool);
    if (!S_ISDIR(st.st_mode))
        return dcr_err_set(err, DCR_FAIL,
                           "cannot pack '%s': it is not a folder; give the spool of a run, or a folder of results",
                           request->spool);
    int rc = pack_check_output(request->output, err);
    if (rc == 0 && request->calibration)
        rc = calibrate_check(request->calibration, err);
    if (rc)
        return rc;
    char target[PATH_MAX];
    struct pack_request followed = *request;
    followed.output = target;
    rc = follow_link(request->output, target, err);
    if (rc)
        return rc;
    int has_changed = 0;
    summarize_wait(request->spool);
    rc = pack_once(&followed, request->is_live, &has_changed, message, n, err);
    return rc && has_changed && !request->is_live ? pack_once(&followed, 1, &has_changed, message, n, err) : rc;
}
