/* inputs.c - see inputs.h. */
#include "render/read/inputs.h"

#include "lib/base/fs.h"
#include "lib/archive/format.h"
#include "lib/base/stream.h"
#include "render/import/import.h"
#include "render/read/jobs.h"
#include "render/read/members.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_DEPTH = 16, MAX_FILES = 200000 };

/* What publishing leaves in a finished report (render/site/publish/publish.h). */
#define REPORT_MARK ".dcreport"

static struct input *add_input(struct inputs *x, const char *path, const char *root)
{
    x->list = arena_grow(&x->arena, x->list, x->n, &x->cap, sizeof *x->list);
    struct input *in = &x->list[x->n++];
    *in = (struct input){.path = dcr_arena_strdup(&x->arena, path),
                         .root = root ? dcr_arena_strdup(&x->arena, root) : NULL};
    return in;
}

static void add_name(struct inputs *x, size_t input, const char *name)
{
    struct input *in = &x->list[input];
    in->names = arena_grow(&x->arena, in->names, in->n_names, &in->names_cap, sizeof *in->names);
    in->names[in->n_names++] = dcr_arena_strdup(&x->arena, name);
}

/* "results/" -> "results"; "/" stays. */
static char *trimmed(struct inputs *x, const char *path)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    return dcr_arena_strndup(&x->arena, path, n);
}

static char *joined(struct inputs *x, const char *a, const char *b)
{
    size_t n = strlen(a) + strlen(b) + 2;
    char *out = dcr_arena_alloc(&x->arena, n);
    snprintf(out, n, "%s%s%s", a, *a ? "/" : "", b);
    return out;
}

int is_archive_name(const char *name)
{
    static const char *const ends[] = {".tar", ".tar.zst", ".tar.gz", ".tgz"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (dcr_ends_with(name, ends[i]))
            return 1;
    return 0;
}

/* Is it a table of epochs without its results folder? Such a table is a run by itself, whatever its name. */
static int is_metrics(int fd)
{
    char head[METRICS_HEAD];
    ssize_t n = pread(fd, head, sizeof head, 0);
    return n > 0 && metrics_is(head, (size_t)n);
}

/* The kind of the file by import_kind; IMPORT_NONE if it cannot be opened. */
static enum import_kind kind_of(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return IMPORT_NONE;
    struct dcr_stream s = dcr_stream_fd(&fd, path);
    enum import_kind k = import_kind(&s);
    k = k == IMPORT_NONE && is_metrics(fd) ? IMPORT_RUN : k;
    close(fd);
    return k;
}

/* The kind of the file and its job; is_table gets is_metrics. */
static struct known_file look(const char *path, int *is_table)
{
    *is_table = 0;
    struct known_file f = {.job = {.rank = -1, .world_size = -1}};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return f;
    struct dcr_stream s = dcr_stream_fd(&fd, path);
    f.kind = import_job(&s, &f.job);
    *is_table = f.kind == IMPORT_NONE && is_metrics(fd);
    if (f.job.is_nsys)
        import_job_recorded(&f.job, fd);
    off_t size = f.job.is_trace && f.job.rank < 0 ? lseek(fd, 0, SEEK_END) : 0;
    if (size > 0) {
        char end[IMPORT_END_BYTES];
        ssize_t n = pread(fd, end, sizeof end, size > (off_t)sizeof end ? size - (off_t)sizeof end : 0);
        import_job_end(&f.job, end, n > 0 ? (size_t)n : 0);
    }
    close(fd);
    return f;
}

static int is_run_folder(char *const *names, size_t n)
{
    static const char *const marks[] = {DCR_MANIFEST, DCR_METADATA, DCR_METADATA_TEXT, DCR_METRICS};
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < sizeof marks / sizeof *marks; k++)
            if (strcmp(names[i], marks[k]) == 0)
                return 1;
    return 0;
}

static int is_report(struct inputs *x, const char *dir)
{
    struct stat st;
    return lstat(joined(x, dir, REPORT_MARK), &st) == 0 && S_ISREG(st.st_mode);
}

struct search {
    struct inputs *x;
    size_t n_files, n_reports; /* reports of an earlier call are passed over */
    struct known_file *known;  /* kinds of files outside of run folders, in the order of the input's names */
    size_t n_known, known_cap;
    int is_loose; /* the folder itself is not of a run */
    struct dcr_err *err;
};

/* A file that is no archive and not of a run folder. */
static void take(struct search *s, const char *dir, const char *file, const char *path, size_t input, const char *name)
{
    int is_table;
    struct known_file f = look(path, &is_table);
    if (f.kind == IMPORT_RUN || (is_table && s->is_loose)) {
        add_input(s->x, file, dir);
        add_name(s->x, s->x->n - 1, file);
        return;
    }
    s->known = arena_grow(&s->x->arena, s->known, s->n_known, &s->known_cap, sizeof *s->known);
    s->known[s->n_known++] = f;
    add_name(s->x, input, name);
}

/* dir: on the disk; input: the run its files belong to, whose root is `prefix` shorter; inside: path from that root. */
static int search(struct search *s, const char *dir, size_t input, const char *inside, int is_own_run, int depth)
{
    char **names;
    size_t n;
    struct stat st;
    if (depth > 0 && is_report(s->x, dir)) {
        s->n_reports++;
        return 0;
    }
    int rc = dcr_list_dir(dir, &names, &n, s->err);
    if (rc)
        return rc;
    if (depth == 0)
        s->is_loose = !is_run_folder(names, n);
    if (depth > 0 && !is_own_run && is_run_folder(names, n)) {
        input = s->x->n;
        add_input(s->x, dir, dir);
        inside = "";
        is_own_run = 1;
    }
    for (size_t i = 0; i < n && !rc; i++) {
        const char *path = joined(s->x, dir, names[i]), *name = joined(s->x, inside, names[i]);
        if (names[i][0] == '.' || lstat(path, &st) != 0)
            continue;
        if (S_ISDIR(st.st_mode)) {
            rc = depth < MAX_DEPTH
                     ? search(s, path, input, name, is_own_run, depth + 1)
                     : dcr_err_set(s->err, DCR_FAIL,
                                   "folder '%s' has more than %d levels of folders; name one of its subfolders", path,
                                   MAX_DEPTH);
            continue;
        }
        if (S_ISLNK(st.st_mode) && stat(path, &st) != 0)
            continue;
        if (!S_ISREG(st.st_mode))
            continue;
        if (++s->n_files > MAX_FILES)
            rc = dcr_err_set(s->err, DCR_FAIL, "folder '%s' holds more than %d files; name fewer", dir, MAX_FILES);
        else if (is_own_run)
            add_name(s->x, input, name);
        else if (is_archive_name(name))
            add_input(s->x, path, NULL);
        else
            take(s, dir, names[i], path, input, name);
    }
    dcr_free_names(names, n);
    return rc;
}

/* An input whose files all went into other inputs. */
static void drop_empty(struct inputs *x, size_t input)
{
    if (x->list[input].n_names)
        return;
    memmove(&x->list[input], &x->list[input + 1], (x->n - input - 1) * sizeof *x->list);
    x->n--;
}

static int search_folder(struct inputs *x, const char *path, struct dcr_err *err)
{
    struct search s = {.x = x, .err = err};
    size_t first = x->n;
    char *root = trimmed(x, path);
    if (is_report(x, root))
        return dcr_err_set(err, DCR_FAIL, "'%s' is a report made by dcreport; give the archives from which it was made",
                           root);
    add_input(x, root, root);
    int rc = search(&s, root, first, "", 0, 0);
    if (!rc && !is_run_folder(x->list[first].names, x->list[first].n_names)) {
        jobs_read(x, first, s.known);
        jobs_split(x, first, s.known);
    }
    for (size_t i = first; i < x->n; i++)
        x->list[i].is_found = 1;
    if (!rc && s.n_files == 0)
        rc = s.n_reports
                 ? dcr_err_set(err, DCR_FAIL,
                               "'%s' holds only what dcreport made; give the archives from which it was made", root)
                 : dcr_err_set(err, DCR_FAIL, "'%s' is empty; " DCR_NAME_A_FOLDER, root);
    if (!rc)
        drop_empty(x, first); /* all of its files went into separate runs */
    return rc;
}

/* A file named metrics.csv is read as one, so that errors in it are reported as such. */
static int is_table_of_run(const char *path)
{
    struct stat st;
    return strcmp(dcr_last_part(path), DCR_METRICS) == 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Chrome traces that were named directly: some may be ranks of one run. */
struct named_trace {
    char *path;
    struct known_file known;
    int argument;
};
struct named_traces {
    struct named_trace *list;
    size_t n, cap;
};

static int is_trace(struct inputs *x, char *path, int argument, struct named_traces *traces)
{
    int is_table;
    struct known_file f = look(path, &is_table);
    if (!f.job.is_trace)
        return 0;
    traces->list = arena_grow(&x->arena, traces->list, traces->n, &traces->cap, sizeof *traces->list);
    traces->list[traces->n++] = (struct named_trace){path, f, argument};
    return 1;
}

/* A file is an archive unless it is of another tool or the table of a run. An unknown file is refused as an archive
 * would be. Traces are gathered. */
static void add_file(struct inputs *x, char *path, int argument, struct named_traces *traces)
{
    if (is_archive_name(path) || (kind_of(path) == IMPORT_NONE && !is_table_of_run(path))) {
        add_input(x, path, NULL);
        return;
    }
    if (is_trace(x, path, argument, traces))
        return;
    const char *slash = strrchr(path, '/');
    char *root = slash ? dcr_arena_strndup(&x->arena, path, (size_t)(slash - path) + (slash == path)) : NULL;
    add_input(x, path, root ? root : "");
    add_name(x, x->n - 1, slash ? slash + 1 : path);
}

/* The folder that all names share becomes the root. Several files are named after it. */
static void find_root(struct inputs *x, struct input *in)
{
    const char *slash = strrchr(in->names[0], '/');
    size_t len = slash ? (size_t)(slash - in->names[0]) + 1 : 0;
    char *folder = dcr_arena_strndup(&x->arena, in->names[0], len > 1 ? len - 1 : len);
    in->path = in->n_names > 1 && len ? folder : dcr_arena_strdup(&x->arena, in->names[0]);
    for (size_t i = 1; i < in->n_names; i++)
        if (strncmp(in->names[i], in->names[0], len) != 0 || strchr(in->names[i] + len, '/'))
            return;
    in->root = folder;
    for (size_t i = 0; i < in->n_names; i++)
        in->names[i] += len;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct named_trace *)a)->path, ((const struct named_trace *)b)->path);
}

/* Ranks of one run become one input, any other trace a separate one, as in a folder. */
static void add_traces(struct inputs *x, struct named_traces *traces)
{
    size_t first = x->n;
    if (traces->n == 0)
        return;
    qsort(traces->list, traces->n, sizeof *traces->list, by_path);
    struct known_file *known = dcr_arena_alloc(&x->arena, traces->n * sizeof *known);
    add_input(x, "", "");
    for (size_t i = 0; i < traces->n; i++) {
        add_name(x, first, traces->list[i].path);
        known[i] = traces->list[i].known;
    }
    jobs_read(x, first, known);
    jobs_split(x, first, known);
    drop_empty(x, first);
    for (size_t i = first; i < x->n; i++) {
        x->list[i].argument = traces->list[0].argument;
        find_root(x, &x->list[i]);
    }
}

/* Is paths[i] one of those before it, under any name? For our archives the manifest tells it, for a copy too. */
static int check_is_new(const struct stat *seen, char *const *paths, int i, struct dcr_err *err)
{
    int is_folder = S_ISDIR(seen[i].st_mode);
    if (!is_folder && (!S_ISREG(seen[i].st_mode) || is_archive_name(paths[i])))
        return 0;
    for (int k = 0; k < i; k++)
        if (seen[k].st_ino == seen[i].st_ino && seen[k].st_dev == seen[i].st_dev)
            return dcr_err_set(err, DCR_FAIL, "'%s' and '%s' are the same %s; give it once", paths[k], paths[i],
                               is_folder ? "folder" : "file");
    return 0;
}

int inputs_find(struct inputs *out, char *const *paths, int n, struct dcr_err *err)
{
    struct named_traces traces = {0};
    struct stat *seen = dcr_arena_alloc(&out->arena, ((size_t)n + 1) * sizeof *seen);
    for (int i = 0; i < n; i++) {
        size_t first = out->n;
        if (stat(paths[i], &seen[i]) != 0)
            seen[i] = (struct stat){0}; /* reported later */
        else if (dcr_check_is_file(&seen[i], paths[i], err))
            return DCR_FAIL;
        if (check_is_new(seen, paths, i, err))
            return DCR_FAIL;
        if (S_ISDIR(seen[i].st_mode)) {
            int rc = search_folder(out, paths[i], err);
            if (rc)
                return rc;
        } else {
            add_file(out, paths[i], i, &traces);
        }
        for (; first < out->n; first++)
            out->list[first].argument = i;
    }
    add_traces(out, &traces);
    return 0;
}

void inputs_release(struct inputs *x)
{
    for (size_t i = 0; i < x->n_held; i++)
        import_trace_free(x->held[i]);
    dcr_arena_release(&x->arena);
    *x = (struct inputs){0};
}
