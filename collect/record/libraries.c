/* libraries.c - see libraries.h. */
#include "collect/record/libraries.h"

#include "collect/record/ask.h"
#include "collect/record/meta.h"
#include "collect/record/procfs.h"
#include "lib/archive/format.h"
#include "lib/base/fs.h"
#include "lib/base/json_string.h"
#include "lib/archive/member.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct objects {
    int rank;
    char **paths; /* sorted */
    size_t n;
    int is_cut; /* there were more */
};

struct libraries {
    struct objects *sets; /* ascending by rank */
    size_t n;
    char *text; /* of a maps file */
};

enum { MAPS_BYTES = 4 << 20 };

struct libraries *libraries_new(void)
{
    return calloc(1, sizeof(struct libraries));
}

void libraries_free(struct libraries *l)
{
    for (size_t i = 0; l && i < l->n; i++) {
        for (size_t k = 0; k < l->sets[i].n; k++)
            free(l->sets[i].paths[k]);
        free(l->sets[i].paths);
    }
    if (l) {
        free(l->sets);
        free(l->text);
    }
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

static struct objects *set_of(struct libraries *l, int rank)
{
    size_t at = 0;
    while (at < l->n && l->sets[at].rank < rank)
        at++;
    if (at < l->n && l->sets[at].rank == rank)
        return &l->sets[at];
    struct objects *grown = realloc(l->sets, (l->n + 1) * sizeof *grown);
    if (!grown)
        return NULL;
    l->sets = grown;
    memmove(&grown[at + 1], &grown[at], (l->n - at) * sizeof *grown);
    grown[at] = (struct objects){.rank = rank, .paths = calloc(LIBRARIES_MOST, sizeof(char *))};
    l->n++;
    return &grown[at];
}

static void add(struct objects *s, const char *path)
{
    size_t from = 0, to = s->n;
    while (from < to) {
        size_t middle = (from + to) / 2;
        int order = strcmp(s->paths[middle], path);
        if (order == 0)
            return;
        if (order < 0)
            from = middle + 1;
        else
            to = middle;
    }
    char *copy = s->paths && s->n < LIBRARIES_MOST ? strdup(path) : NULL;
    if (!copy) {
        s->is_cut = 1;
        return;
    }
    memmove(&s->paths[from + 1], &s->paths[from], (s->n - from) * sizeof *s->paths);
    s->paths[from] = copy;
    s->n++;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* "libm.so.6", "_ctypes.cpython-311-x86_64-linux-gnu.so" */
static int is_object(const char *path)
{
    const char *name = base_name(path), *so = strstr(name, ".so");
    return path[0] == '/' && so && (so[3] == '\0' || strchr(". ", so[3])) && strncmp(name, "libdccollect-", 13) != 0;
}

/* "7f01-7f02 r-xp 00001000 08:01 1   /lib/libz.so.1": the path of an executable mapping, which may hold blanks; the
 * columns before it hold none. NULL: none. By hand, since sscanf() measures the whole text for every line. */
static const char *path_in(const char *line, const char *end)
{
    const char *at = line;
    for (int column = 0; column < 5; column++) {
        const char *blank = memchr(at, ' ', (size_t)(end - at));
        if (!blank || (column == 1 && (blank - at < 4 || at[2] != 'x')))
            return NULL;
        for (at = blank; at < end && *at == ' ';)
            at++;
    }
    return at < end ? at : NULL;
}

void libraries_take(struct libraries *l, const char *maps, int rank)
{
    struct objects *s = set_of(l, rank);
    for (const char *line = maps; s && *line;) {
        const char *end = strchrnul(line, '\n'), *from = path_in(line, end);
        char path[4096];
        if (from && (size_t)(end - from) < sizeof path) {
            snprintf(path, sizeof path, "%.*s", (int)(end - from), from);
            if (is_object(path))
                add(s, path);
        }
        line = *end ? end + 1 : end;
    }
}

void libraries_look(struct libraries *l, pid_t pid, int rank)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    if (!l->text)
        l->text = malloc(MAPS_BYTES);
    if (l->text && procfs_read(path, l->text, MAPS_BYTES, NULL) > 0)
        libraries_take(l, l->text, rank);
}

json_t *libraries_describe(const struct libraries *l)
{
    json_t *list = json_array();
    for (size_t i = 0; i < l->n; i++) {
        const struct objects *s = &l->sets[i];
        json_t *o = json_object(), *paths = json_array();
        if (s->rank >= 0)
            json_object_set_new(o, "rank", json_integer(s->rank));
        for (size_t k = 0; k < s->n; k++)
            json_array_append_new(paths, json_string_kept(s->paths[k]));
        json_object_set_new(o, "paths", paths);
        if (s->is_cut)
            json_object_set_new(o, "is_cut", json_true());
        if (!s->n)
            meta_missing(o, "paths",
                         "no process of it had a shared object mapped: statically linked, or it ended at once");
        json_array_append_new(list, o);
    }
    return list;
}

/* ---- versions --------------------------------------------------------------------------------- */

static const char *first_path(const json_t *description, const char *begin)
{
    size_t i, k;
    const json_t *o, *path;
    json_array_foreach((json_t *)description, i, o)
    {
        json_array_foreach(json_object_get(o, "paths"), k, path)
        {
            const char *text = json_string_value(path);
            if (text && strncmp(base_name(text), begin, strlen(begin)) == 0)
                return text;
        }
    }
    return NULL;
}

/* Loads the library; what its constructors print goes nowhere. returns where to say what was asked, or ends */
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

json_t *libraries_versions(const json_t *description, int ask_ms)
{
    static const struct {
        const char *key, *begin;
        void (*say)(void *ctx); /* in a process of its own */
    } kinds[] = {{"mpi", "libmpi.so", say_mpi_version},   {"mpi", "libmpich.so", say_mpi_version},
                 {"mpi", "libmpi_cray", say_mpi_version}, {"nccl", "libnccl.so", say_nccl_version},
                 {"cuda", "libcudart.so", NULL},          {"cuda_driver", "libcuda.so", NULL}};
    json_t *all = json_object();
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const char *path = json_object_get(all, kinds[i].key) ? NULL : first_path(description, kinds[i].begin);
        const char *so = path ? strstr(base_name(path), ".so.") : NULL;
        char says[512];
        if (!path)
            continue;
        json_t *o = json_pack("{s:s}", "path", path);
        if (so)
            json_object_set_new(o, "version", json_string_kept(so + 4));
        else
            meta_missing(o, "version", "the name of the library has none");
        if (kinds[i].say && ask_ms &&
            ask_child(kinds[i].say, (void *)(uintptr_t)path, ask_ms, says, sizeof says) == 0 && says[0])
            json_object_set_new(o, "says", json_string_kept(says));
        else if (kinds[i].say)
            meta_missing(o, "says", ask_ms ? "the library could not be asked" : "only the collector of rank 0 asks");
        json_object_set_new(all, kinds[i].key, o);
    }
    return all;
}
