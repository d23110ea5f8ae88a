/* evidence.c - see evidence.h. */
#include "render/read/evidence.h"

#include "lib/base/fs.h"
#include "lib/base/progress.h"
#include "render/model/build.h"
#include "render/read/cores.h"
#include "render/read/files_hash.h"
#include "render/read/read.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* One input, read by the first free thread. */
struct read_input {
    struct run *run;
    struct dcr_err err;
    int rc, is_done;
};

/* Inputs are independent of each other. Threads take one after the other; the results are looked at in order. */
struct reading {
    pthread_mutex_t lock;
    pthread_cond_t done;
    const struct input *inputs;
    struct read_input *read;
    size_t n, next;
    int is_ended; /* the rest is not needed */
    int n_shared; /* cores of each thread */
};

static int64_t bytes_of(const struct input *x)
{
    char path[PATH_MAX];
    struct stat st;
    int64_t n = x->root ? 0 : stat(x->path, &st) == 0 ? st.st_size : 0;
    for (size_t i = 0; x->root && i < x->n_names; i++) {
        snprintf(path, sizeof path, "%s/%s", x->root, x->names[i]);
        n += stat(path, &st) == 0 ? st.st_size : 0;
    }
    return n;
}

static void read_one(struct reading *g, size_t i)
{
    const struct input *x = &g->inputs[i];
    struct read_input *r = &g->read[i];
    r->rc = x->root ? run_read_files(&r->run, x->path, x->root, x->names, x->ready, x->n_names, &r->err)
                    : run_read(&r->run, x->path, &r->err);
    if (r->rc == 0)
        files_hash(r->run, x);
    progress_step(bytes_of(x));
}

/* returns  0: there is none left */
static int take(struct reading *g)
{
    pthread_mutex_lock(&g->lock);
    size_t i = g->next;
    int is_mine = !g->is_ended && i < g->n;
    g->next += (size_t)is_mine;
    pthread_mutex_unlock(&g->lock);
    if (!is_mine)
        return 0;
    read_one(g, i);
    pthread_mutex_lock(&g->lock);
    g->read[i].is_done = 1;
    pthread_cond_broadcast(&g->done);
    pthread_mutex_unlock(&g->lock);
    return 1;
}

static void *work(void *ctx)
{
    struct reading *g = ctx;
    cores_share(g->n_shared);
    while (take(g))
        ;
    return NULL;
}

/* Waits for input i. Meanwhile this thread reads other inputs. */
static struct read_input *await(struct reading *g, size_t i)
{
    int is_done;
    do {
        pthread_mutex_lock(&g->lock);
        while (!g->read[i].is_done && g->next >= g->n)
            pthread_cond_wait(&g->done, &g->lock);
        is_done = g->read[i].is_done;
        pthread_mutex_unlock(&g->lock);
    } while (!is_done && take(g));
    return &g->read[i];
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* What usually lies beside results: logs, and the script that made them. */
static int is_companion(const char *name)
{
    static const char *const ends[] = {".log", ".out", ".err", ".sh", ".sbatch", ".slurm", ".py"};
    static const char *const begins[] = {"README", "LICENSE", "slurm-"};
    const char *file = dcr_last_part(name);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (dcr_ends_with(file, ends[i]))
            return 1;
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(file, begins[i], strlen(begins[i])) == 0)
            return 1;
    return 0;
}

/* is_beside: it lies beside the runs, not inside one */
static void add_none(struct evidence *e, const char *name, int is_beside)
{
    e->none = arena_grow(&e->inputs.arena, e->none, e->n_none, &e->none_cap, sizeof *e->none);
    name = e->none[e->n_none++] = dcr_arena_strdup(&e->inputs.arena, name);
    if (!is_beside || is_companion(name))
        return;
    e->passed = !e->n_passed++ || strcmp(name, e->passed) < 0 ? name : e->passed;
}

/* Files that need no message: those of the runs, and those of the folders in which the runs were found. */
static void list_none(struct evidence *e, const struct input *const *loose, size_t n)
{
    for (size_t i = 0; i < e->inputs.n; i++)
        for (size_t k = 0; k < e->runs[i]->n_members; k++)
            if (strcmp(e->runs[i]->members[k].role, RUN_NO_EVIDENCE) == 0)
                add_none(e, e->runs[i]->members[k].name,
                         e->runs[i]->is_foreign && e->inputs.list[i].root && e->inputs.list[i].is_found);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < loose[i]->n_names; k++)
            add_none(e, loose[i]->names[k], 1);
    if (e->n_none)
        qsort(e->none, e->n_none, sizeof *e->none, by_name);
}

/* Did the folder that was named give a run? */
static int has_run(const struct evidence *e, int argument)
{
    for (size_t i = 0; i < e->inputs.n; i++)
        if (e->inputs.list[i].argument == argument)
            return 1;
    return 0;
}

/* An input that was named directly and cannot be used. */
static int refuse(const struct input *x, const struct dcr_err *why, int rc, struct dcr_err *err)
{
    *err = *why;
    if (!x->root && !is_archive_name(x->path) && why->kind == DCR_ERR_NO_ARCHIVE)
        return dcr_err_set(
            err, DCR_FAIL,
            "cannot use '%s': it is neither an archive of a run nor a whole file of another tool that "
            "dcreport knows; see `man dcreport`, or build/man/dcreport.1 in the sources, for the kinds of files",
            x->path);
    return rc;
}

/* Can the rest be used without it? A missing file or a damaged archive cannot be spared, because it was meant to be in
 * the report. */
static int is_spared(const struct input *x, const struct read_input *r, int is_strict)
{
    if (r->rc == DCR_FATAL)
        return 0;
    return x->is_found || (!is_strict && (x->root || (!is_archive_name(x->path) && r->err.kind == DCR_ERR_NO_ARCHIVE)));
}

static int is_copy(const struct run *a, const struct run *b)
{
    return *a->manifest_sha256 && strcmp(a->manifest_sha256, b->manifest_sha256) == 0;
}

/* Of inputs of the same run, the named one is used, else the first. */
static size_t used_of(const struct evidence *e, size_t i)
{
    size_t first = i;
    for (size_t k = e->inputs.n; k-- > 0;)
        if (is_copy(e->runs[i], e->runs[k])) {
            if (!e->inputs.list[k].is_found)
                return k;
            first = k;
        }
    return first;
}

/* If a folder holds a run twice, as a copy or unpacked, the user made no mistake: one is used, and the others are
 * reported as left out. If both were named, analyse() refuses them. */
static void drop_copies(struct evidence *e)
{
    e->copies = dcr_arena_alloc(&e->inputs.arena, (e->inputs.n + 1) * sizeof *e->copies);
    size_t n = 0, *used = dcr_arena_alloc(&e->inputs.arena, (e->inputs.n + 1) * sizeof *used);
    for (size_t i = 0; i < e->inputs.n; i++)
        used[i] = e->inputs.list[i].is_found ? used_of(e, i) : i;
    for (size_t i = 0; i < e->inputs.n; i++) {
        const char *copy = e->inputs.list[i].path, *of = e->inputs.list[used[i]].path;
        struct dcr_err why = {0};
        (void)dcr_err_set(&why, DCR_WARN, "'%s' is the same run as '%s', which is used", copy, of);
        if (used[i] != i && strcmp(copy, of) != 0)
            e->copies[e->n_copies++] = dcr_arena_strdup(&e->inputs.arena, why.text);
    }
    for (size_t i = 0; i < e->inputs.n; i++) {
        if (used[i] != i) {
            run_free(e->runs[i]);
            continue;
        }
        e->inputs.list[n] = e->inputs.list[i];
        e->runs[n++] = e->runs[i];
    }
    e->inputs.n = n;
}

/* In order: the usable inputs, and the first one that is unusable and cannot be spared. */
static int keep_all(struct evidence *e, struct reading *g, int is_strict, struct dcr_err *err)
{
    size_t n = 0, n_failed = 0, n_loose = 0;
    size_t *failed = dcr_arena_alloc(&e->inputs.arena, (g->n + 1) * sizeof *failed);
    const struct input **loose = dcr_arena_alloc(&e->inputs.arena, (g->n + 1) * sizeof *loose);
    e->left_out = dcr_arena_alloc(&e->inputs.arena, (g->n + 1) * sizeof *e->left_out);
    e->inputs.n = 0; /* all runs read so far are freed, whatever happens */
    for (size_t i = 0; i < g->n; i++) {
        struct read_input *r = await(g, i);
        if (r->rc && !is_spared(&g->inputs[i], r, is_strict))
            return refuse(&g->inputs[i], &r->err, r->rc, err);
        if (r->rc) {
            failed[n_failed++] = i;
            continue;
        }
        e->inputs.list[n] = g->inputs[i];
        e->runs[n++] = r->run;
        r->run = NULL;
        e->inputs.n = n;
    }
    if (n == 0) {
        const struct input *x = &g->inputs[failed[0]];
        const struct dcr_err *why = &g->read[failed[0]].err;
        if (!x->is_found)
            return refuse(x, why, DCR_FAIL, err);
        *err = *why;
        return DCR_FAIL;
    }
    for (size_t i = 0; i < n_failed; i++) {
        const struct input *x = &g->inputs[failed[i]];
        struct dcr_err why = g->read[failed[i]].err;
        if (x->is_found && why.kind == DCR_ERR_NO_EVIDENCE && has_run(e, x->argument)) {
            loose[n_loose++] = x;
            continue;
        }
        if (!x->is_found)
            (void)refuse(x, &g->read[failed[i]].err, DCR_FAIL, &why);
        char said[sizeof why.text];
        dcr_err_sentences(&why, said, sizeof said);
        e->left_out[e->n_left_out++] = dcr_arena_strdup(&e->inputs.arena, said);
    }
    drop_copies(e);
    list_none(e, loose, n_loose);
    return 0;
}

static int read_all(struct evidence *e, int is_strict, struct dcr_err *err)
{
    size_t n = e->inputs.n;
    int n_threads = 0, n_cores = cores_free();
    pthread_t threads[CORES_MAX];
    struct input *inputs = dcr_arena_alloc(&e->inputs.arena, (n + 1) * sizeof *inputs);
    memcpy(inputs, e->inputs.list, n * sizeof *inputs);
    struct reading g = {.inputs = inputs, .n = n, .read = calloc(n + 1, sizeof *g.read)};
    if (!g.read)
        return dcr_err_set(err, DCR_FATAL, "out of memory");
    int64_t n_bytes = 0;
    for (size_t i = 0; i < n; i++)
        n_bytes += bytes_of(&inputs[i]);
    progress_begin(n == 1 ? "input read" : "inputs read", n, n_bytes);
    int n_wanted = (size_t)n_cores < n ? n_cores : (int)n;
    g.n_shared = n_wanted > 1 ? n_cores / n_wanted : n_cores;
    pthread_mutex_init(&g.lock, NULL);
    pthread_cond_init(&g.done, NULL);
    while (n_threads < n_wanted - 1 && pthread_create(&threads[n_threads], NULL, work, &g) == 0)
        n_threads++;
    cores_share(n_wanted > 1 ? g.n_shared : 0);
    int rc = keep_all(e, &g, is_strict, err);
    cores_share(0);
    pthread_mutex_lock(&g.lock);
    g.is_ended = 1;
    pthread_mutex_unlock(&g.lock);
    for (int i = 0; i < n_threads; i++)
        pthread_join(threads[i], NULL);
    progress_end();
    for (size_t i = 0; i < n; i++)
        run_free(g.read[i].run);
    pthread_cond_destroy(&g.done);
    pthread_mutex_destroy(&g.lock);
    free(g.read);
    return rc;
}

int evidence_read(struct evidence *e, char **paths, int n, int is_strict, struct dcr_err *err)
{
    progress_begin("looking through the inputs", 0, 0);
    int rc = inputs_find(&e->inputs, paths, n, err);
    progress_end();
    if (rc)
        return rc;
    e->runs = calloc(e->inputs.n + 1, sizeof *e->runs);
    if (!e->runs)
        return dcr_err_set(err, DCR_FATAL, "out of memory");
    return read_all(e, is_strict, err);
}

void evidence_release(struct evidence *e)
{
    for (size_t i = 0; e->runs && i < e->inputs.n; i++)
        run_free(e->runs[i]);
    free(e->runs);
    inputs_release(&e->inputs);
    memset(e, 0, sizeof *e);
}
