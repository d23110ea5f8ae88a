/* linked.c - see linked.h. */
#include "collect/record/linked.h"

#include "collect/record/meta.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Words that are looked at: the program may stand behind a launcher and its options. */
enum { MAX_WORDS = 64, MAX_PROGRAMS = 8 };

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* What starts programs that stand in no command line. */
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
        if (strcmp(base_name(path), names[i]) == 0)
            return 1;
    return strncmp(base_name(path), "python", 6) == 0;
}

int linked_is_launcher(const char *program)
{
    static const char *const names[] = {"mpirun", "mpiexec", "orterun", "prterun", "prun", "srun", "torchrun"};
    static const char *const kinds[] = {"", ".openmpi", ".mpich", ".hydra"}; /* as Debian tells them apart */
    const char *name = base_name(program);
    size_t n = strcspn(name, ".");
    int is_name = 0, is_kind = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        is_name |= strlen(names[i]) == n && strncmp(name, names[i], n) == 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        is_kind |= strcmp(name + n, kinds[i]) == 0;
    return is_name && is_kind;
}

/* The program's loader, of glibc; no text of the file is trusted beyond that. returns 0, or -1 when there is none */
static int loader_of(const char *path, char *out, size_t n)
{
    Elf64_Ehdr e;
    int rc = -1, fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (read(fd, &e, sizeof e) != (ssize_t)sizeof e || memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 ||
        e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_phentsize != sizeof(Elf64_Phdr))
        goto out;
    for (int i = 0; i < e.e_phnum && i < 64; i++) {
        Elf64_Phdr p;
        if (pread(fd, &p, sizeof p, (off_t)(e.e_phoff + (Elf64_Off)i * sizeof p)) != (ssize_t)sizeof p)
            goto out;
        if (p.p_type != PT_INTERP || p.p_filesz < 2 || p.p_filesz > n)
            continue;
        if (pread(fd, out, p.p_filesz, (off_t)p.p_offset) == (ssize_t)p.p_filesz && out[p.p_filesz - 1] == '\0' &&
            out[0] == '/' && strncmp(base_name(out), "ld-linux", 8) == 0)
            rc = 0;
        goto out;
    }
out:
    close(fd);
    return rc;
}

/* An executable of this machine that asks for no loader. */
static int is_static(const char *path)
{
    Elf64_Ehdr e;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int is = fd >= 0 && read(fd, &e, sizeof e) == (ssize_t)sizeof e && memcmp(e.e_ident, ELFMAG, SELFMAG) == 0 &&
             e.e_ident[EI_CLASS] == ELFCLASS64 && (e.e_type == ET_EXEC || e.e_type == ET_DYN) &&
             e.e_phentsize == sizeof(Elf64_Phdr);
    for (int i = 0; is && i < e.e_phnum; i++) {
        Elf64_Phdr p;
        is = pread(fd, &p, sizeof p, (off_t)(e.e_phoff + (Elf64_Off)i * sizeof p)) == (ssize_t)sizeof p &&
             p.p_type != PT_INTERP;
    }
    if (fd >= 0)
        close(fd);
    return is;
}

/* Runs `loader --list program` and gives what it says, cut at n - 1 bytes. */
static int list_libraries(const char *loader, const char *program, char *out, size_t n)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    pid_t child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_WRONLY);
        dup2(ends[1], STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        execl(loader, loader, "--list", program, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    size_t used = 0;
    char rest[1024];
    ssize_t k;
    while (child > 0 && (k = read(ends[0], rest, sizeof rest)) > 0) {
        size_t fits = (size_t)k < n - 1 - used ? (size_t)k : n - 1 - used;
        memcpy(out + used, rest, fits);
        used += fits;
    }
    out[used] = '\0';
    close(ends[0]);
    if (child > 0)
        waitpid(child, NULL, 0);
    return child > 0 ? 0 : -1;
}

/* ---- libraries that a program names ------------------------------------------------------------- */

struct needs {
    const unsigned char *file;
    size_t n_bytes;
    const char *texts; /* names of libraries */
    size_t n_texts;
    const Elf64_Dyn *entries;
    size_t n_entries;
};

/* The n bytes of the file that the program has at this address; NULL if the file does not contain all of them. */
static const void *at_address(const struct needs *f, const Elf64_Phdr *p, int n_headers, Elf64_Addr at, size_t n)
{
    for (int i = 0; i < n_headers; i++)
        if (p[i].p_type == PT_LOAD && at >= p[i].p_vaddr && at - p[i].p_vaddr <= p[i].p_filesz &&
            n <= p[i].p_filesz - (at - p[i].p_vaddr) && p[i].p_offset <= f->n_bytes &&
            p[i].p_filesz <= f->n_bytes - p[i].p_offset)
            return f->file + p[i].p_offset + (at - p[i].p_vaddr);
    return NULL;
}

/* returns  0, or -1 if the file does not say */
static int find_needs(struct needs *f)
{
    const Elf64_Ehdr *e = (const void *)f->file;
    Elf64_Addr texts = 0;
    const void *entries = NULL;
    if (f->n_bytes < sizeof *e || memcmp(e->e_ident, ELFMAG, SELFMAG) != 0 || e->e_ident[EI_CLASS] != ELFCLASS64 ||
        e->e_phentsize != sizeof(Elf64_Phdr) || e->e_phoff % 8 || e->e_phoff > f->n_bytes ||
        e->e_phnum > (f->n_bytes - e->e_phoff) / sizeof(Elf64_Phdr))
        return -1;
    const Elf64_Phdr *p = (const void *)(f->file + e->e_phoff);
    for (int i = 0; i < e->e_phnum; i++)
        if (p[i].p_type == PT_DYNAMIC && p[i].p_vaddr % 8 == 0) {
            entries = at_address(f, p, e->e_phnum, p[i].p_vaddr, p[i].p_filesz);
            f->n_entries = p[i].p_filesz / sizeof *f->entries;
        }
    f->entries = (uintptr_t)entries % 8 ? NULL : entries;
    for (size_t i = 0; f->entries && i < f->n_entries; i++) {
        texts = f->entries[i].d_tag == DT_STRTAB ? f->entries[i].d_un.d_ptr : texts;
        f->n_texts = f->entries[i].d_tag == DT_STRSZ ? f->entries[i].d_un.d_val : f->n_texts;
    }
    f->texts = texts && f->n_texts ? at_address(f, p, e->e_phnum, texts, f->n_texts) : NULL;
    return f->texts && f->texts[f->n_texts - 1] == '\0' ? 0 : -1;
}

/* These libraries need only each other, so none of them brings MPI. */
static int is_of_compiler(const char *name)
{
    static const char *const names[] = {"libc.so",       "libm.so",      "libdl.so",       "librt.so",
                                        "libpthread.so", "libgcc_s.so.", "libstdc++.so.6", "ld-linux"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return 1;
    return 0;
}

/* returns  1, 0, or -1: it needs libraries that may need MPI, so the loader must be asked */
static int needs_mpi(const char *path)
{
    struct stat st;
    struct needs f = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), is_mpi = -1;
    void *file = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0
                     ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
                     : MAP_FAILED;
    if (fd >= 0)
        close(fd);
    if (file == MAP_FAILED)
        return -1;
    f.file = file;
    f.n_bytes = (size_t)st.st_size;
    if (find_needs(&f) == 0) {
        is_mpi = getenv("LD_PRELOAD") ? -1 : 0;
        for (size_t i = 0; i < f.n_entries && is_mpi < 1 && f.entries[i].d_tag != DT_NULL; i++) {
            if (f.entries[i].d_tag != DT_NEEDED || f.entries[i].d_un.d_val >= f.n_texts)
                continue;
            const char *name = f.texts + f.entries[i].d_un.d_val;
            is_mpi = strncmp(name, "libmpi", 6) == 0 ? 1 : is_of_compiler(name) ? is_mpi : -1;
        }
    }
    munmap(file, f.n_bytes);
    return is_mpi;
}

/* libmpi.so, libmpich.so, libmpi_cray.so, libmpifort.so ...: which MPI it is decides what is loaded into the program.
 */
static int has_mpi(const char *path)
{
    static char list[65536];
    char loader[256], *at, *state = NULL;
    int is_mpi = needs_mpi(path);
    if (is_mpi >= 0)
        return is_mpi;
    if (loader_of(path, loader, sizeof loader) != 0 || list_libraries(loader, path, list, sizeof list) != 0)
        return 0;
    for (at = strtok_r(list, "\n", &state); at; at = strtok_r(NULL, "\n", &state))
        if (strncmp(at + strspn(at, " \t"), "libmpi", 6) == 0)
            return 1;
    return 0;
}

int linked_with_mpi(char *const *words, int n_words)
{
    int n_programs = 0;
    for (int i = 0; i < n_words && i < MAX_WORDS && n_programs < MAX_PROGRAMS; i++) {
        char path[PATH_MAX];
        if (words[i][0] == '-' || meta_find_program(words[i], path, sizeof path) != 0 || access(path, X_OK) != 0)
            continue;
        if (is_interpreter(path) || has_mpi(path))
            return 1;
        n_programs++;
    }
    return 0;
}

/* The first among the words that is a program of the kind. */
static const char *first_that(int (*is_of_kind)(const char *path), char *const *words, int n_words)
{
    for (int i = 0; i < n_words && i < MAX_WORDS; i++) {
        char path[PATH_MAX];
        if (words[i][0] != '-' && meta_find_program(words[i], path, sizeof path) == 0 && access(path, X_OK) == 0 &&
            is_of_kind(path))
            return words[i];
    }
    return NULL;
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

/* Arguments may be called as such programs are ("write", "at"): beside the first word only paths are taken for one. */
const char *linked_changes_user(char *const *words, int n_words)
{
    for (int i = 0; i < n_words; i++)
        if ((i == 0 || strchr(words[i], '/')) && first_that(changes_user, words + i, 1))
            return words[i];
    return NULL;
}
