/* linked.c - see linked.h. */
#include "collect/record/linked.h"

#include "collect/record/ask.h"
#include "lib/base/fs.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Limits on the words looked at: the program may follow a launcher and its options. */
enum { MAX_WORDS = 64, LIST_MS = 5000 };

static int is_interpreter(const char *path)
{
    static const char *const names[] = {"sh", "bash", "dash", "zsh", "ksh", "env", "perl", "Rscript", "julia"};
    char start[2] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd >= 0 ? read(fd, start, sizeof start) : -1;
    if (fd >= 0)
        close(fd);
    if (n == (ssize_t)sizeof start && memcmp(start, "#!", 2) == 0)
        return 1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(dcr_last_part(path), names[i]) == 0)
            return 1;
    return strncmp(dcr_last_part(path), "python", 6) == 0;
}

int linked_is_launcher(const char *program)
{
    static const char *const names[] = {"mpirun", "mpiexec", "orterun", "prterun", "prun", "srun", "torchrun"};
    static const char *const kinds[] = {"", ".openmpi", ".mpich", ".hydra"}; /* suffixes by which Debian tells them
                                                                              * apart */
    const char *name = dcr_last_part(program);
    size_t n = strcspn(name, ".");
    int is_name = 0, is_kind = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        is_name |= strlen(names[i]) == n && strncmp(name, names[i], n) == 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        is_kind |= strcmp(name + n, kinds[i]) == 0;
    return is_name && is_kind;
}

/* The program's loader. returns  1; 0: an executable of this machine without a loader; -1: not an executable, or
 * damaged */
static int loader_of(const char *path, char *out, size_t n)
{
    Elf64_Ehdr e;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int is_one = fd >= 0 && read(fd, &e, sizeof e) == (ssize_t)sizeof e && memcmp(e.e_ident, ELFMAG, SELFMAG) == 0 &&
                 e.e_ident[EI_CLASS] == ELFCLASS64 && (e.e_type == ET_EXEC || e.e_type == ET_DYN) &&
                 e.e_phentsize == sizeof(Elf64_Phdr);
    int rc = is_one ? 0 : -1;
    for (int i = 0; rc == 0 && i < e.e_phnum; i++) {
        Elf64_Phdr p;
        if (pread(fd, &p, sizeof p, (off_t)(e.e_phoff + (Elf64_Off)i * sizeof p)) != (ssize_t)sizeof p)
            rc = -1;
        else if (p.p_type == PT_INTERP)
            rc = p.p_filesz > 0 && p.p_filesz <= n &&
                         pread(fd, out, p.p_filesz, (off_t)p.p_offset) == (ssize_t)p.p_filesz &&
                         out[p.p_filesz - 1] == '\0'
                     ? 1
                     : -1;
    }
    if (fd >= 0)
        close(fd);
    return rc;
}

static int is_static(const char *path)
{
    char loader[256];
    return loader_of(path, loader, sizeof loader) == 0;
}

/* An executable names its libraries near its beginning. Other texts there do no harm: see linked.h. */
static int names_mpi(const char *path)
{
    static char head[1 << 18];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd >= 0 ? read(fd, head, sizeof head) : -1;
    if (fd >= 0)
        close(fd);
    return n > 0 && memmem(head, (size_t)n, "libmpi", 6) != NULL;
}

static void list_libraries(void *words)
{
    char **w = words;
    execl(w[0], w[0], "--list", w[1], (char *)NULL);
    _exit(127);
}

/* libmpi.so, libmpich.so, libmpi_cray.so, libmpifort.so ...: the MPI found here decides what is loaded into the
 * program. No text of the file is trusted except the name of glibc's loader. */
static int has_mpi(const char *path)
{
    static char list[65536];
    char loader[256], *words[] = {loader, (char *)(uintptr_t)path};
    if (loader_of(path, loader, sizeof loader) != 1)
        return 0;
    if (names_mpi(path))
        return 1;
    return loader[0] == '/' && strncmp(dcr_last_part(loader), "ld-linux", 8) == 0 &&
           ask_child(list_libraries, words, LIST_MS, list, sizeof list) >= 0 && strstr(list, "\tlibmpi") != NULL;
}

/* A program that starts others may start one with MPI. A launcher calls no MPI itself, and asking the loader takes
 * milliseconds. */
static int may_have_mpi(const char *path)
{
    return is_interpreter(path) || (!linked_is_launcher(path) && has_mpi(path));
}

/* As execvp finds it. */
static int find_program(const char *name, char *out, size_t n)
{
    if (strchr(name, '/')) {
        snprintf(out, n, "%s", name);
        return access(name, X_OK);
    }
    const char *path = getenv("PATH");
    for (const char *at = path ? path : "/bin:/usr/bin"; at;) {
        const char *end = strchrnul(at, ':');
        int len = (int)(end - at);
        int k = len ? snprintf(out, n, "%.*s/%s", len, at, name) : snprintf(out, n, "./%s", name);
        struct stat st;
        if (k > 0 && (size_t)k < n && stat(out, &st) == 0 && S_ISREG(st.st_mode) && access(out, X_OK) == 0)
            return 0;
        at = *end ? end + 1 : NULL;
    }
    return -1;
}

static int gives_ranks(const char *option)
{
    static const char *const names[] = {"-n", "-np", "--n", "--np", "--ntasks"}; /* srun's -c is something else */
    int is_one = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        is_one |= strcmp(names[i], option) == 0;
    return is_one;
}

/* The options end at the program. A value of an option that looks like one ends them too, and the number stays
 * unknown. */
int linked_n_ranks(char *const *words, int n_words)
{
    char path[PATH_MAX];
    int at = 1;
    while (at < n_words && !gives_ranks(words[at]) &&
           (words[at][0] == '-' || (!strchr(words[at], '/') && find_program(words[at], path, sizeof path) != 0)))
        at++;
    long n = at + 1 < n_words && gives_ranks(words[at]) ? strtol(words[at + 1], NULL, 10) : 0;
    for (int i = 0; i < n_words; i++)
        if (strcmp(words[i], ":") == 0)
            n = 0;
    return n > 0 && n < INT_MAX ? (int)n : 0;
}

/* The first word that is a program of the kind. */
static const char *first_that(int (*is_of_kind)(const char *path), char *const *words, int n_words)
{
    for (int i = 0; i < n_words && i < MAX_WORDS; i++) {
        char path[PATH_MAX];
        if (words[i][0] != '-' && find_program(words[i], path, sizeof path) == 0 && access(path, X_OK) == 0 &&
            is_of_kind(path))
            return words[i];
    }
    return NULL;
}

int linked_with_mpi(char *const *words, int n_words)
{
    return first_that(may_have_mpi, words, n_words) != NULL;
}

const char *linked_statically(char *const *words, int n_words)
{
    return first_that(is_static, words, n_words);
}

static int changes_user(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
           (((st.st_mode & S_ISUID) && st.st_uid != geteuid()) || ((st.st_mode & S_ISGID) && st.st_gid != getegid()));
}

/* Arguments may have the names of such programs ("write", "at"), so after the first word only paths are looked at. */
const char *linked_changes_user(char *const *words, int n_words)
{
    for (int i = 0; i < n_words; i++)
        if ((i == 0 || strchr(words[i], '/')) && first_that(changes_user, words + i, 1))
            return words[i];
    return NULL;
}
