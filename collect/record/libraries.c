/* libraries.c - see libraries.h. */
#include "collect/record/libraries.h"

#include "collect/record/ask.h"
#include "collect/record/meta.h"
#include "collect/record/procfs.h"
#include "lib/base/fs.h"
#include "lib/base/json_string.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void say_mpi_version(void *path);
static void say_nccl_version(void *path);

static const struct {
    const char *key, *begin;
    void (*say)(void *path); /* runs in a child process, see ask.h */
} kinds[] = {{"mpi", "/libmpi.so", say_mpi_version},   {"mpi", "/libmpich.so", say_mpi_version},
             {"mpi", "/libmpi_cray", say_mpi_version}, {"nccl", "/libnccl.so", say_nccl_version},
             {"cuda", "/libcudart.so", NULL},          {"cuda_driver", "/libcuda.so", NULL}};
enum { N_KINDS = sizeof kinds / sizeof *kinds, MAPS_BYTES = 4 << 20 };

struct libraries {
    char *paths[N_KINDS]; /* NULL: not seen yet */
    int is_looked_at;
    char *text; /* text of a maps file */
};

struct libraries *libraries_new(void)
{
    return calloc(1, sizeof(struct libraries));
}

void libraries_free(struct libraries *l)
{
    for (int i = 0; l && i < N_KINDS; i++)
        free(l->paths[i]);
    if (l)
        free(l->text);
    free(l);
}

int libraries_is_due(int64_t now_ns, int64_t *due_ns, int64_t *gap_ns)
{
    static const int64_t first_ns = 50000000, most_ns = INT64_C(10000000000);
    if (now_ns < *due_ns)
        return 0;
    *gap_ns = *gap_ns ? *gap_ns + *gap_ns / 2 : first_ns;
    if (*gap_ns > most_ns)
        *gap_ns = most_ns;
    *due_ns = now_ns + *gap_ns;
    return 1;
}

/* "7f01-7f02 r-xp 00001000 08:01 1   /lib/libz.so.1": the path, which may hold blanks, begins at the first slash. */
void libraries_take(struct libraries *l, const char *maps)
{
    l->is_looked_at = 1;
    for (int i = 0; i < N_KINDS; i++) {
        const char *name = l->paths[i] ? NULL : strstr(maps, kinds[i].begin), *line = name;
        if (!name)
            continue;
        while (line > maps && line[-1] != '\n')
            line--;
        line = strchr(line, '/');
        l->paths[i] = strndup(line, strcspn(line, "\n"));
    }
}

void libraries_look(struct libraries *l, pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    if (!l->text)
        l->text = malloc(MAPS_BYTES);
    if (l->text && procfs_read(path, l->text, MAPS_BYTES, NULL) > 0)
        libraries_take(l, l->text);
}

/* ---- versions --------------------------------------------------------------------------------- */

/* Loads the library and discards what its constructors print. returns the stream for the answer, or ends the process */
static int load(const char *path, void **library)
{
    int out = dup(STDOUT_FILENO);
    if (out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        _exit(1);
    *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (!*library)
        _exit(1);
    return out;
}

static void say_mpi_version(void *ctx)
{
    int (*get)(char *, int *) = NULL;
    static char version[8192 + 1]; /* MPI_MAX_LIBRARY_VERSION_STRING of all known is at most 8192 */
    void *library;
    int n = 0, out = load(ctx, &library);
    *(void **)&get = dlsym(library, "MPI_Get_library_version");
    if (!get || get(version, &n) != 0)
        _exit(1);
    version[strcspn(version, "\n")] = '\0';
    ssize_t ignored = write(out, version, strlen(version));
    (void)ignored;
    _exit(0);
}

/* 2.9.6 is 20906; before 2.9, 2.8.4 was 2804. */
static void say_nccl_version(void *ctx)
{
    int (*get)(int *) = NULL, code = 0;
    void *library;
    int out = load(ctx, &library);
    *(void **)&get = dlsym(library, "ncclGetVersion");
    if (!get || get(&code) != 0 || code <= 0)
        _exit(1);
    int major = code >= 10000 ? 10000 : 1000;
    dprintf(out, "NCCL %d.%d.%d", code / major, code % major / 100, code % 100);
    _exit(0);
}

json_t *libraries_versions(const struct libraries *l, int ask_ms)
{
    json_t *all = json_object();
    for (int i = 0; i < N_KINDS; i++) {
        char *path = json_object_get(all, kinds[i].key) ? NULL : l->paths[i];
        const char *so = path ? strstr(dcr_last_part(path), ".so.") : NULL;
        char says[512];
        if (!path)
            continue;
        json_t *o = json_object();
        json_object_set_new(o, "path", json_string_kept(path));
        if (so)
            json_object_set_new(o, "version", json_string_kept(so + 4));
        else
            meta_missing(o, "version", "the name of the library has none");
        if (kinds[i].say && ask_ms && ask_child(kinds[i].say, path, ask_ms, says, sizeof says) == 0 && says[0])
            json_object_set_new(o, "says", json_string_kept(says));
        else if (kinds[i].say)
            meta_missing(o, "says", ask_ms ? "the library could not be asked" : "only the collector of rank 0 asks");
        json_object_set_new(all, kinds[i].key, o);
    }
    if (l->is_looked_at)
        return all;
    json_decref(all);
    return NULL;
}
