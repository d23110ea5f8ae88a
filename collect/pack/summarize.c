/* summarize.c - makes summaries of the traces in a spool, on the node that wrote them (by `dccollect run`) or during
 * packing, and chooses the traces to be packed. */
#include "collect/pack/parts.h"
#include "lib/archive/member.h"
#include "lib/base/fs.h"
#include "lib/base/progress.h"
#include "lib/base/hash.h"
#include "lib/base/json_string.h"
#include "lib/reduce/summary.h"
#include "lib/trace/trace_end.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* errors  DCR_FAIL: it is not a trace; DCR_FATAL: it cannot be read */
static int summarize_trace(struct summary *out, struct dcr_arena *a, const char *path, const char *name,
                           struct dcr_err *err)
{
    int64_t size = 0;
    uint32_t crc = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return dcr_err_file(err, DCR_FATAL, "cannot read '%s'", path);
    struct dcr_stream s = dcr_stream_fd(&fd, name);
    /* The fingerprint is taken before the events are read, so that writes in between make the summary stale but not
     * wrong. */
    int has_print = summary_fingerprint(fd, &size, &crc) == 0;
    int rc = summary_of_trace_apart(out, a, &s, err);
    close(fd);
    out->trace_name = name;
    out->trace_bytes = has_print ? size : 0;
    out->fingerprint = has_print ? crc : 0;
    return rc;
}

/* Number of blocks that the recorder removed for newer ones. */
static int64_t blocks_before(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int64_t n = fd >= 0 ? dct_blocks_before(fd) : 0;
    if (fd >= 0)
        close(fd);
    return n;
}

static int load(struct summary *out, struct dcr_arena *a, const char *path, struct dcr_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return dcr_err_file(err, DCR_FAIL, "cannot read '%s'", path);
    struct dcr_stream s = dcr_stream_fd(&fd, path);
    int rc = summary_read(out, a, &s, err);
    close(fd);
    return rc;
}

/* A trace in pieces has its summary from the collector, or gets it during packing. */
static void summarize_file(const char *dir, const char *file, int rank)
{
    struct dcr_arena a = {0};
    struct summary s;
    struct dcr_buf text = {.max = (size_t)4 << 30};
    char path[PATH_MAX], name[PATH_MAX], target[PATH_MAX + 64];
    int k = snprintf(path, sizeof path, "%s/%s", dir, file);
    if (k > 0 && (size_t)k < sizeof path && dcr_summary_name(path, target, sizeof target) == 0) {
        snprintf(name, sizeof name, "rank%d/%s", rank, file);
        if (!blocks_before(path) && summarize_trace(&s, &a, path, name, NULL) == 0) {
            summary_write(&s, &text);
            int rc = text.failed ? DCR_FAIL : dcr_write_file(target, text.data, text.len, NULL);
            (void)rc; /* pack makes it again */
        }
    }
    dcr_buf_release(&text);
    dcr_arena_release(&a);
}

void summarize_folder(const char *dir, int rank)
{
    char **names = NULL;
    size_t n = 0;
    if (dcr_list_dir(dir, &names, &n, NULL) != 0)
        return;
    for (size_t i = 0; i < n; i++)
        if (dcr_ends_with(names[i], ".dct"))
            summarize_file(dir, names[i], rank);
    dcr_free_names(names, n);
}

/* The writer of a file holds the lock of its partial file. */
static int is_at_work(const char *partial)
{
    int fd = open(partial, O_RDONLY | O_CLOEXEC);
    int is_locked = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (fd >= 0)
        close(fd);
    return is_locked;
}

void summarize_wait(const char *spool)
{
    enum { WAIT_MS = 60000, PAUSE_MS = 100 };
    char pattern[PATH_MAX];
    glob_t found = {0};
    if (snprintf(pattern, sizeof pattern, "%s/rank*/summary-*.partial", spool) >= PATH_MAX)
        return;
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0, ms = 0; i < found.gl_pathc; i++)
            for (; ms < WAIT_MS && is_at_work(found.gl_pathv[i]); ms += PAUSE_MS)
                poll(NULL, 0, PAUSE_MS);
    globfree(&found);
}

/* ---- traces that are packed -------------------------------------------------------------------- */

static void judge_trace(struct pack *p, const char *name, int rank, const struct dct_loss *loss, const char *notes)
{
    const char *stop = strstr(notes, DCR_STOP_NOTE);
    const char *why = stop ? stop + strlen(DCR_STOP_NOTE) : "no room on disk or in memory";
    if (loss->is_torn)
        pack_reason(p, "the trace '%s' ends inside a block", name);
    if (loss->n_bad_blocks || loss->n_missing_blocks)
        pack_reason(p, "the trace '%s' has %llu damaged and %llu missing blocks", name,
                    (unsigned long long)loss->n_bad_blocks, (unsigned long long)loss->n_missing_blocks);
    if (loss->n_dropped)
        pack_reason(p, "rank %d could not record %llu events (%.*s)", rank, (unsigned long long)loss->n_dropped,
                    (int)strcspn(why, "\n"), why);
}

/* Collects the recorder's sentences, each once. */
static void note_trace(struct pack *p, const char *notes)
{
    for (const char *end; *notes; notes = end + (*end != '\0')) {
        end = notes + strcspn(notes, "\n");
        char sentence[1024];
        snprintf(sentence, sizeof sentence, "%.*s", (int)(end - notes), notes);
        json_t *line = json_string_kept(sentence);
        int is_known = !line || strcmp(json_string_value(line), DCR_GPU_WHOLE_NOTE) == 0;
        for (size_t i = 0; !is_known && i < json_array_size(p->trace_notes); i++)
            is_known = json_equal(json_array_get(p->trace_notes, i), line);
        if (!is_known)
            json_array_append(p->trace_notes, line);
        json_decref(line);
    }
}

/* Takes facts about the run from a trace or its summary. */
static void take_facts(struct pack *p, const char *trace, int rank, const struct summary *s)
{
    note_trace(p, s->notes);
    /* CUPTI delivers its last records when the program exits. A process that was killed, or left by _exit, loses them
     * without a count. */
    p->n_gpu_cut += strstr(s->notes, DCR_GPU_NOTE) && !strstr(s->notes, DCR_GPU_WHOLE_NOTE);
    p->n_traces++;
    p->n_events += s->n_events;
    p->n_mpi_calls += s->n_mpi_calls;
    p->n_io_calls += s->n_io_calls;
    p->n_dropped += s->loss.n_dropped;
    if (rank >= 0) {
        struct pack_rank *r = pack_rank_at(p, rank);
        r->n_events += s->n_events;
        r->n_dropped += s->loss.n_dropped;
        /* If no collector saw the rank start, its first process that named anything stands for it. */
        if (!r->pid)
            r->pid = (long)s->info.pid;
        if (!r->first_trace || s->info.real_ns < r->first_real_ns) {
            r->first_trace = dcr_arena_strdup(&p->arena, trace);
            memcpy(r->first_host, s->info.host, sizeof r->first_host - 1);
            r->first_mono_ns = s->info.mono_ns;
            r->first_real_ns = s->info.real_ns;
        }
        /* Programs that the rank's process starts have traces of their own. One that it becomes by exec replaces it. */
        if (!r->own_pid)
            r->own_pid = pack_process_of(p, rank);
        if ((long)s->info.pid == r->own_pid && s->info.real_ns >= r->own_real_ns) {
            r->own_real_ns = s->info.real_ns;
            r->exit_ns = s->info.exit_ns;
            r->exit_status = s->info.exit_status;
        }
        if (!*r->host)
            r->host = dcr_arena_strdup(&p->arena, s->info.host);
    }
    judge_trace(p, trace, rank, &s->loss, s->notes);
}

/* ---- summaries made here ------------------------------------------------------------------------ */

/* Adds a summary as a member. It replaces an older one of that name, which no longer fits the trace. */
static int add_summary(struct pack *p, const char *trace, const char *name, int rank, const struct summary *s,
                       struct dcr_err *err)
{
    struct dcr_buf text = {.max = (size_t)4 << 30};
    summary_write(s, &text);
    int rc = text.failed      ? dcr_err_set(err, DCR_FAIL, "out of memory for the summary of '%s'", trace)
             : p->made_fd < 0 ? archive_nameless(p->request->output, &p->made_fd, err)
                              : DCR_OK;
    if (rc == 0 && dcr_write_all(p->made_fd, text.data, text.len) != 0)
        rc = dcr_err_file(err, DCR_FAIL, "cannot write '%s'", p->request->output);
    struct archive_member *m = rc == 0 ? pack_member_named(p, name) : NULL;
    if (rc == 0 && !m)
        m = pack_add(p, name, NULL, "", DCR_ROLE_SUMMARY, -1, rank);
    if (m) {
        dcr_sha256_bytes(text.data, text.len, m->sha256);
        m->path = NULL;
        m->bytes = NULL;
        m->fd = p->made_fd;
        m->offset = p->made_bytes;
        m->size = (int64_t)text.len;
    }
    p->made_bytes += (int64_t)text.len;
    dcr_buf_release(&text);
    return rc;
}

static int make_summary(struct pack *p, const char *trace, const char *path, int rank, const char *name,
                        struct dcr_err *err)
{
    struct dcr_arena a = {0};
    struct summary s;
    struct dcr_err why = {0};
    int rc = summarize_trace(&s, &a, path, trace, &why);
    struct stat st;
    if (rc == DCR_FAIL && stat(path, &st) == 0 && st.st_size == 0) {
        p->n_empty++;
        pack_reason(p,
                    "the trace '%s' is empty: the spool's disk was full, no file descriptor was free, or the process "
                    "was killed while it created the trace",
                    trace);
        rc = DCR_OK;
    } else if (rc == DCR_FAIL) { /* not a trace: reported, and packed unchanged */
        pack_reason(p, "%s", why.text);
        p->n_unread_traces++;
        rc = DCR_OK;
    } else if (rc == 0) {
        take_facts(p, trace, rank, &s);
        rc = add_summary(p, trace, name, rank, &s, err);
    } else if (err) {
        *err = why;
    }
    dcr_arena_release(&a);
    return rc;
}

/* Takes the summary in the spool if it belongs to this very trace, whose path is NULL when it is gone. If the oldest
 * events of a trace are gone, the collector made the summary while it still had them, and it gets the fingerprint of
 * the present trace. returns 1 when it was taken; *rc: could it be added? */
static int take_summary(struct pack *p, const struct archive_member *trace, const char *name, const char *summary_path,
                        int *rc, struct dcr_err *err)
{
    struct dcr_arena a = {0};
    struct summary s;
    int64_t size = 0;
    uint32_t crc = 0;
    int is_taken = load(&s, &a, summary_path, NULL) == 0;
    int fd = is_taken && trace->path ? open(trace->path, O_RDONLY | O_CLOEXEC) : -1;
    if (is_taken && trace->path)
        is_taken = fd >= 0 && summary_fingerprint(fd, &size, &crc) == 0 &&
                   (trace->blocks_before || (size == s.trace_bytes && crc == s.fingerprint));
    if (is_taken)
        take_facts(p, trace->name, trace->rank, &s);
    if (is_taken && trace->blocks_before) {
        s.trace_bytes = size;
        s.fingerprint = crc;
        s.info.n_blocks_before = trace->blocks_before;
        if (strstr(s.notes, DCR_SUMS_END_NOTE))
            pack_reason(p, "the sums of '%s' end before its newest events, because the collector ended first",
                        trace->name);
        *rc = add_summary(p, trace->name, name, trace->rank, &s, err);
    }
    if (fd >= 0)
        close(fd);
    dcr_arena_release(&a);
    return is_taken;
}

/* ---- which traces ------------------------------------------------------------------------------- */

/* Was it recorded with --keep summary? */
static int keeps_sums(const struct pack *p, int rank)
{
    const json_t *record = p->launcher;
    for (size_t i = 0; !record && i < p->n_ranks; i++)
        if (p->ranks[i].rank == rank)
            record = p->ranks[i].record;
    return strcmp(pack_json_text(record, "keep"), "summary") == 0;
}

static int is_wanted(const struct pack *p, int rank)
{
    enum pack_traces which = p->request->traces;
    if (keeps_sums(p, rank) || which == PACK_TRACES_NONE)
        return 0;
    return which == PACK_TRACES_ALL || p->n_ranks == 0 || rank == p->ranks[0].rank;
}

static void drop_unwanted(struct pack *p)
{
    size_t kept = 0;
    for (size_t i = 0; i < p->n_members; i++) {
        char name[PATH_MAX];
        struct archive_member *m = &p->members[i];
        int is_trace = m->role == DCR_ROLE_TRACE;
        /* A trace without a summary could not be read, so it must be packed itself. */
        int has_name = is_trace && dcr_summary_name(m->name, name, sizeof name) == 0;
        const struct archive_member *summary = has_name ? pack_member_named(p, name) : NULL;
        if (summary && summary->size >= 0 && !is_wanted(p, m->rank))
            m->size = -1;
        else
            p->n_traces_packed += is_trace;
    }
    for (size_t i = 0; i < p->n_members; i++)
        if (p->members[i].size >= 0)
            p->members[kept++] = p->members[i];
        else if (p->members[i].copy_fd)
            close(p->members[i].copy_fd);
    p->n_members = kept;
}

/* The trace has only the newest events, and there is no summary of all events. */
static void say_no_sums(struct pack *p, const struct archive_member *m)
{
    char path[PATH_MAX], partial[PATH_MAX + 16];
    int has_name = dcr_summary_name(m->path, path, sizeof path) == 0;
    snprintf(partial, sizeof partial, "%s.partial", path);
    if (has_name && is_at_work(partial))
        pack_reason(p,
                    "the trace '%s' has the newest events only, and those before are still being summed up; pack again "
                    "when no dccollect is at work",
                    m->name);
    else
        pack_reason(p, "the trace '%s' has the newest events only, and the sums of those before are lost", m->name);
}

/* An archive with a summary that cannot be read is taken for a damaged one. */
static void leave_out_broken(struct pack *p, const char *name)
{
    struct archive_member *m = pack_member_named(p, name);
    struct dcr_arena a = {0};
    struct summary s;
    struct dcr_err why = {0};
    if (m && m->path && load(&s, &a, m->path, &why) != 0) {
        pack_reason(p, "the summary '%s' is left out because it cannot be read", m->name);
        pack_leave_out(p, m->name, m->size, why.text);
        m->size = -1;
    }
    dcr_arena_release(&a);
}

int pack_traces(struct pack *p, struct dcr_err *err)
{
    size_t n = p->n_members; /* members added meanwhile are not traces */
    int rc = pack_copy(p, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < n; i++) {
        char name[PATH_MAX];
        struct archive_member m = p->members[i];
        if (m.role == DCR_ROLE_SUMMARY && m.path) {
            int has_name = dcr_trace_name(m.name, name, sizeof name) == 0;
            const struct archive_member gone = {.name = name, .rank = m.rank};
            if (!has_name || (!pack_member_named(p, name) && !take_summary(p, &gone, NULL, m.path, &rc, err)))
                leave_out_broken(p, m.name);
            continue;
        }
        if (m.role != DCR_ROLE_TRACE || !m.path || dcr_summary_name(m.name, name, sizeof name) != 0)
            continue;
        m.blocks_before = p->members[i].blocks_before = blocks_before(m.path);
        const struct archive_member *ready = pack_member_named(p, name);
        int is_ready = ready && ready->path && take_summary(p, &m, name, ready->path, &rc, err);
        if (!is_ready && m.blocks_before)
            say_no_sums(p, &m);
        if (!is_ready)
            rc = make_summary(p, m.name, m.path, m.rank, name, err);
        if (rc)
            return rc;
        if (!is_ready)
            leave_out_broken(p, name); /* it is there still when no other could be made */
        progress_step(m.size);
    }
    drop_unwanted(p);
    return DCR_OK;
}
