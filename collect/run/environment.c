/* environment.c - see environment.h. */
#include "collect/run/environment.h"

#include "collect/record/linked.h"
#include "collect/record/node_share.h"
#include "lib/base/fs.h"
#include "lib/base/json_string.h"
#include "lib/base/mono.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY_FOLDER "../lib/dcreport"
#define PYTHON_FOLDER "python" /* a subfolder of LIBRARY_FOLDER */

static void note(json_t *record, const char *key, const char *sentence)
{
    json_object_set_new(record, key, json_string_kept(sentence));
}

/* out: the full path of a file or folder in LIBRARY_FOLDER. returns  -1 when it is missing */
static int in_library_folder(const char *name, char *out, size_t n)
{
    char dir[PATH_MAX], path[PATH_MAX + 80];
    if (dcr_exe_dir(dir, sizeof dir, NULL) != 0)
        return -1;
    snprintf(path, sizeof path, "%s/" LIBRARY_FOLDER "/%s", dir, name);
    char *real = realpath(path, NULL);
    int is_there = real && strlen(real) < n;
    if (is_there)
        memcpy(out, real, strlen(real) + 1);
    free(real);
    return is_there ? 0 : -1;
}

enum { WHY_BYTES = PATH_MAX + 200 };

/* returns  -1 and the reason in why when the library is missing */
static int library(const char *what, char out[PATH_MAX], char why[WHY_BYTES])
{
    char name[64];
    snprintf(name, sizeof name, "libdccollect-%s.so", what);
    if (in_library_folder(name, out, PATH_MAX) == 0)
        return 0;
    snprintf(why, WHY_BYTES, "%s is not beside the collector in " LIBRARY_FOLDER, name);
    return -1;
}

/* Nothing can be loaded into a static program or one that changes the user. A program behind a shell may be either. */
static void note_unloadable(const struct options *o, json_t *record)
{
    static const char *const keys[] = {"nvtx_note", "mpi_note", "io_note", "cuda_note"};
    char line[WHY_BYTES];
    const char *is_static = linked_statically(o->program, o->n_program);
    const char *changes = is_static ? NULL : linked_changes_user(o->program, o->n_program);
    if (is_static)
        snprintf(line, sizeof line, "'%.400s' is statically linked, so that no library can be loaded into it",
                 is_static);
    else if (changes)
        snprintf(line, sizeof line,
                 "'%.400s' changes the user (set-user-ID): the loader refuses other libraries then, and what it starts "
                 "may not know of the collector; start the collector after it",
                 changes);
    else
        return;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!json_object_get(record, keys[i]) || (strcmp(keys[i], "mpi_note") == 0 && o->mpi < 0))
            note(record, keys[i], line);
    note(record, "not_loaded", line);
}

/* Adds a name in front of a variable's list, unless it is already in it. returns  0, -1 without memory */
static int put_in_front(const char *variable, const char *name)
{
    const char *already = getenv(variable);
    size_t n = strlen(name);
    for (const char *at = already; at && (at = strstr(at, name)) != NULL; at += n)
        if ((at == already || at[-1] == ':') && (at[n] == ':' || at[n] == '\0'))
            return 0;
    char *all = NULL;
    if (asprintf(&all, "%s%s%s", name, already && *already ? ":" : "", already ? already : "") < 0)
        return -1;
    setenv(variable, all, 1);
    free(all);
    return 0;
}

/* Blanks and colons end names for the loader. */
static int preload(const char *what, char why[WHY_BYTES])
{
    char path[PATH_MAX];
    if (library(what, path, why) != 0)
        return -1;
    if (strpbrk(path, " \t\n:")) {
        snprintf(why, WHY_BYTES, "the name '%s' has a blank or a colon, which LD_PRELOAD cannot hold", path);
        return -1;
    }
    return put_in_front("LD_PRELOAD", path);
}

static int is_recorder(const char *path, size_t n)
{
    static const char *const names[] = {"/libdccollect-inject.so", "/libdccollect-mpi.so"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t len = strlen(names[i]);
        if (n >= len && memcmp(path + n - len, names[i], len) == 0)
            return 1;
    }
    return 0;
}

/* A process must not load two recorders, so that of an outer collector goes. */
static void forget_outer_recorder(void)
{
    char *list = getenv("LD_PRELOAD"), *kept = list ? strdup(list) : NULL, *end = kept;
    for (const char *at = list; kept && *at;) {
        size_t n = strcspn(at, ": ");
        if (n && !is_recorder(at, n)) {
            if (end != kept)
                *end++ = ':';
            memcpy(end, at, n);
            end += n;
        }
        at += n + (at[n] != '\0');
    }
    if (kept) {
        *end = '\0';
        if (strcmp(kept, list) != 0)
            *kept ? setenv("LD_PRELOAD", kept, 1) : unsetenv("LD_PRELOAD");
    }
    free(kept);
}

/* NVTX takes one tool. A tool that was set before keeps its place, unless it is the recorder of an outer collector. */
static void set_nvtx(const char *recorder, json_t *record)
{
    char path[PATH_MAX], why[WHY_BYTES] = "";
    const char *already = getenv("NVTX_INJECTION64_PATH");
    if (library(recorder, path, why) == 0 && already && *already && !is_recorder(already, strlen(already)))
        snprintf(why, sizeof why,
                 "another tool gets the NVTX ranges: NVTX_INJECTION64_PATH is '%.300s'; unset it to record them",
                 already);
    if (*why)
        note(record, "nvtx_note", why);
    else
        setenv("NVTX_INJECTION64_PATH", path, 1);
}

/* Python imports the sitecustomize of this folder when it starts. An empty PYTHONPATH means none, so no colon is left.
 */
static void set_python(const struct options *o)
{
    char folder[PATH_MAX];
    if (o->python && in_library_folder(PYTHON_FOLDER, folder, sizeof folder) == 0 && !strchr(folder, ':'))
        (void)put_in_front("PYTHONPATH", folder);
}

/* Why calls of MPI are not recorded; "" = they are. */
static const char *why_no_mpi(const struct options *o)
{
    if (o->mpi == 0)
        return "switched off (--mpi off)";
    if (o->mpi < 0 && !linked_with_mpi(o->program, o->n_program))
        return "no program of the command is linked with MPI (--mpi on records it anyway)";
    return "";
}

/* The recorder has three parts: calls of MPI, if it is libdccollect-mpi.so; calls on files, if DCC_IO_US is a number;
 * ranges of NVTX, if NVTX opens it. */
static void set_recorder(const struct options *o, json_t *record)
{
    char number[32], trouble[WHY_BYTES] = "";
    const char *no_mpi = why_no_mpi(o), *no_io = o->io ? "" : "switched off (--io off)",
               *recorder = *no_mpi ? "inject" : "mpi";
    forget_outer_recorder();
    if ((!*no_mpi || !*no_io) && preload(recorder, trouble) != 0)
        note(record, "not_loaded", trouble); /* the closing line and `ls` report it */
    if (*no_mpi || *trouble)
        note(record, "mpi_note", *no_mpi ? no_mpi : trouble);
    if (*no_io || *trouble)
        note(record, "io_note", *no_io ? no_io : trouble);
    set_nvtx(recorder, record);
    snprintf(number, sizeof number, "%d", o->io_us);
    setenv("DCC_IO_US", o->io ? number : "off", 1);
    /* In front of mpirun, only the files of the ranks are of interest, not mpirun's own. */
    if (linked_is_launcher(o->program[0]))
        setenv("DCC_RANKS_ONLY", "1", 1);
}

/* CUDA loads the library that its variable names when the program first uses a device. Only one tool can listen to
 * CUPTI. */
static void set_cuda(const struct options *o, json_t *record)
{
    char path[PATH_MAX], why[WHY_BYTES] = "";
    const char *already = getenv("CUDA_INJECTION64_PATH");
    if (!o->cuda)
        snprintf(why, sizeof why, "switched off (--cuda off)");
    else if (library("cupti", path, why) == 0 && already && *already && strcmp(already, path) != 0)
        snprintf(why, sizeof why, "another tool listens: CUDA_INJECTION64_PATH is '%.300s'", already);
    if (*why) {
        note(record, "cuda_note", why);
        return;
    }
    setenv("CUDA_INJECTION64_PATH", path, 1);
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (driver)
        dlclose(driver);
    else
        note(record, "cuda_note", "no NVIDIA driver here (libcuda.so.1 is not found)");
}

/* 50 us is far less than a message takes over such links. MPI's own waiting calls are made to give way too. */
void environment_set_waits(void)
{
    char why[WHY_BYTES];
    unsetenv("DCC_YIELD_NS");
    if (!getenv(NODE_SHARE_VARIABLE))
        return;
    setenv("DCC_YIELD_NS", "50000", 1);
    setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
    (void)preload("yield", why); /* without it a wait polls, and takes longer */
}

static void set_window(const struct options *o, json_t *record)
{
    char number[32], why[WHY_BYTES];
    json_t *window = json_object();
    double from_ns = (double)dcr_mono_ns() + 1e9 * o->delay_s;
    if (o->steps) {
        setenv("DCC_STEPS", o->steps, 1);
        note(window, "steps", o->steps);
    }
    if (o->delay_s > 0) {
        snprintf(number, sizeof number, "%.0f", from_ns);
        setenv("DCC_FROM_NS", number, 1);
        json_object_set_new(window, "delay_s", json_real(o->delay_s));
    }
    if (o->duration_s > 0) {
        snprintf(number, sizeof number, "%.0f", from_ns + 1e9 * o->duration_s);
        setenv("DCC_UNTIL_NS", number, 1);
        json_object_set_new(window, "duration_s", json_real(o->duration_s));
    }
    if (o->capture_range) {
        setenv("DCC_CAPTURE", o->capture_range, 1);
        if (strcmp(o->capture_range, "cudaProfilerApi") == 0 && preload("cudaprof", why) != 0)
            note(record, "nvtx_note", why);
        note(window, "capture_range", o->capture_range);
    }
    if (json_object_size(window))
        json_object_set(record, "window", window);
    json_decref(window);
}

void environment_set(const struct options *o, json_t *record)
{
    /* Variables that an outer collector or the user's shell has set are not meant for this run. */
    static const char *const stale[] = {"DCC_FROM_NS", "DCC_UNTIL_NS", "DCC_STEPS", "DCC_CAPTURE", "DCC_RANKS_ONLY"};
    for (size_t i = 0; i < sizeof stale / sizeof *stale; i++)
        unsetenv(stale[i]);
    set_recorder(o, record);
    set_cuda(o, record);
    set_python(o);
    environment_set_waits();
    set_window(o, record);
    note_unloadable(o, record);
}
