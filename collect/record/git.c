/* git.c - see git.h. */
#include "collect/record/git.h"

#include "collect/record/ask.h"
#include "collect/record/meta.h"
#include "collect/record/procfs.h"
#include "lib/base/json_string.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct work_tree {
    char folder[PATH_MAX], git[PATH_MAX]; /* git: the folder of its HEAD */
};

/* ---- a repository ----------------------------------------------------------------------------- */

static int join(char *out, const char *dir, const char *name)
{
    int k = name[0] == '/' ? snprintf(out, PATH_MAX, "%s", name) : snprintf(out, PATH_MAX, "%s/%s", dir, name);
    return k > 0 && k < PATH_MAX ? 0 : -1;
}

static int read_line(const char *dir, const char *file, char *out, size_t n)
{
    char path[PATH_MAX];
    if (join(path, dir, file) != 0 || procfs_read(path, out, n, NULL) <= 0)
        return -1;
    out[strcspn(out, "\n")] = '\0';
    return 0;
}

static int is_commit(const char *line)
{
    size_t n = strlen(line);
    return n >= 40 && n <= 64 && strspn(line, "0123456789abcdef") == n;
}

/* A branch that was packed: "<commit> refs/heads/main" in packed-refs. */
static int find_packed(const char *git, const char *ref, char *out, size_t n)
{
    char path[PATH_MAX], line[1024];
    int found = -1;
    FILE *f = join(path, git, "packed-refs") == 0 ? fopen(path, "re") : NULL;
    while (f && found != 0 && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        char *space = strchr(line, ' ');
        if (!space || strcmp(space + 1, ref) != 0)
            continue;
        *space = '\0';
        snprintf(out, n, "%s", line);
        found = 0;
    }
    if (f)
        fclose(f);
    return found;
}

static int find_ref(const char *git, const char *ref, char *out, size_t n)
{
    return strstr(ref, "..") || (read_line(git, ref, out, n) != 0 && find_packed(git, ref, out, n) != 0) ? -1 : 0;
}

static json_t *read_git(const char *git)
{
    char head[1024], commit[1024], shared[1024], common[PATH_MAX];
    if (read_line(git, "HEAD", head, sizeof head) != 0)
        return NULL;
    const char *ref = strncmp(head, "ref: ", 5) == 0 ? head + 5 : NULL;
    if (!ref)
        snprintf(commit, sizeof commit, "%s", head);
    else if (find_ref(git, ref, commit, sizeof commit) != 0 && /* of `git worktree`: branches are in the main
                                                                * repository */
             (read_line(git, "commondir", shared, sizeof shared) != 0 || join(common, git, shared) != 0 ||
              find_ref(common, ref, commit, sizeof commit) != 0))
        return NULL;
    if (!is_commit(commit))
        return NULL;
    const char *branch = ref && strncmp(ref, "refs/heads/", 11) == 0 ? ref + 11 : ref;
    json_t *o = json_pack("{s:s}", "commit", commit);
    if (branch)
        json_object_set_new(o, "branch", json_string_kept(branch));
    return o;
}

/* The folder .git, or the file that submodules and further work trees have: "gitdir: <folder>". */
static int is_work_tree(struct work_tree *t)
{
    char git[PATH_MAX], line[1024];
    struct stat st;
    if (join(git, t->folder, ".git") != 0 || stat(git, &st) != 0)
        return 0;
    if (S_ISDIR(st.st_mode))
        return join(t->git, git, ".") == 0;
    return S_ISREG(st.st_mode) && read_line(t->folder, ".git", line, sizeof line) == 0 &&
           strncmp(line, "gitdir: ", 8) == 0 && join(t->git, t->folder, line + 8) == 0;
}

/* Finds the work tree that holds the folder, or the file of that name. */
static int find_work_tree(const char *path, struct work_tree *t)
{
    if (!realpath(path, t->folder))
        return 0;
    for (char *slash;; *slash = '\0') {
        if (is_work_tree(t))
            return 1;
        slash = strrchr(t->folder, '/');
        if (!slash || slash == t->folder)
            return 0;
    }
}

/* ---- a command -------------------------------------------------------------------------------- */

/* Is it an interpreter or a launcher, in any version: python3.11? */
static int is_starter(const char *program)
{
    static const char *const names[] = {"python", "pypy",    "sh",      "bash",     "dash",    "zsh",    "ksh",
                                        "perl",   "ruby",    "lua",     "julia",    "Rscript", "node",   "java",
                                        "mpirun", "mpiexec", "srun",    "orterun",  "prterun", "prun",   "env",
                                        "time",   "nice",    "timeout", "torchrun", "numactl", "taskset"};
    const char *name = strrchr(program, '/');
    name = name ? name + 1 : program;
    size_t n = strcspn(name, "0123456789.");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == n && strncmp(name, names[i], n) == 0 &&
            name[n + strspn(name + n, "0123456789.")] == '\0')
            return 1;
    return 0;
}

/* Is it a program or script that a launcher or an interpreter runs, rather than a list of hosts? */
static int is_code(const char *path)
{
    static const char *const endings[] = {".py", ".sh", ".pl", ".rb", ".lua", ".jl", ".R", ".js"};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++)
        if (strcmp(dot, endings[i]) == 0)
            return 1;
    return access(path, X_OK) == 0;
}

static const char *find_code(char *const *words, size_t n, struct work_tree *t)
{
    struct stat st;
    if (n && strchr(words[0], '/') && !is_starter(words[0]) && find_work_tree(words[0], t))
        return "program";
    for (int is_any = 0; is_any < 2; is_any++)
        for (size_t i = 1; i < n; i++)
            if (stat(words[i], &st) == 0 && S_ISREG(st.st_mode) && (is_any || is_code(words[i])) &&
                find_work_tree(words[i], t))
                return "argument";
    return find_work_tree(".", t) ? "working folder" : NULL;
}

json_t *git_of_command(char *const *words, size_t n)
{
    struct work_tree t;
    const char *of = find_code(words, n, &t);
    json_t *o = of ? read_git(t.git) : NULL, *folder = o ? json_string(t.folder) : NULL;
    if (folder) /* JSON needs UTF-8 */
        json_object_set_new(o, "folder", folder);
    if (o)
        json_object_set_new(o, "of", json_string(of));
    return o;
}

/* ---- changes ---------------------------------------------------------------------------------- */

enum { NO_GIT = 126 };

static void ask_status(void *folder)
{
    static const char *const variables[] = {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_CONFIG_COUNT"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
    setenv("GIT_OPTIONAL_LOCKS", "0", 1);
    execlp("git", "git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-C", (const char *)folder,
           "status", "--porcelain", "--untracked-files=no", "--ignore-submodules=dirty", (char *)NULL);
    _exit(NO_GIT);
}

void git_put_dirty(json_t *git, int timeout_ms)
{
    const char *folder = json_string_value(json_object_get(git, "folder"));
    char said[2]; /* a line is enough */
    int status = folder ? ask_child(ask_status, (void *)(uintptr_t)folder, timeout_ms, said, sizeof said) : ASK_FAILED;
    if (status == 0)
        json_object_set_new(git, "dirty", json_boolean(said[0] != '\0'));
    else
        meta_missing(git, "dirty",
                     status == NO_GIT         ? "no program git is on PATH, which would tell"
                     : status == ASK_TOO_LONG ? "git took too long for a program that waits to be started"
                                              : "git cannot say it of this folder (it may be another user's)");
}
