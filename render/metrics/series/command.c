/* command.c - which words of a recorded command are the program's own. */
#include "render/metrics/series/differing.h"

#include "lib/base/fs.h"

#include <stdbool.h>
#include <string.h>

static int is_one_of(const char *word, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(word, list[i]) == 0)
            return 1;
    return 0;
}

static int has_word(const char *words, const char *word, size_t n)
{
    for (const char *p = words; *(p += strspn(p, " ")); p += strcspn(p, " "))
        if (strcspn(p, " ") == n && strncmp(p, word, n) == 0)
            return 1;
    return 0;
}

/* Options of a launcher, by the number of words after them that are their values. */
struct options {
    const char *two, *one, *none;
    const char *letters; /* short options as getopt has them, "n:l"; NULL: they are words as any other */
};

/* A word that is an option of several of Open MPI, MPICH and Intel MPI means the same in all of them, except -s.
 * source: mpirun(1) of Open MPI 4, prterun(1) of PRRTE 3, mpiexec(1) of MPICH 4, "Global Hydra Options" of Intel MPI
 * 2021 */
static const struct options of_mpi = {
    "mca gmca pmca omca gomca prtemca gprtemca pmixmca gpmixmca genv env",
    "n np c N x H host hosts hostfile machinefile machine f default-hostfile add-host add-hostfile map-by rank-by "
    "bind-to ppr npernode npersocket ppn perhost grr cpu-list cpu-set cpus-per-proc cpus-per-rank gpus-per-proc "
    "membind rf rankfile slot-list order-nodes wd wdir path prefix app-prefix pmix-prefix tmpdir umask preload-files "
    "output output-filename xml-file xterm display stdin stream-buffering outfile-pattern errfile-pattern "
    "prepend-pattern tune am app appfile configfile pset with-ft personality runtime-options timeout spawn-timeout "
    "max-restarts max-vm-size report-pid report-uri report-events ompi-server hnp dvm-uri namespace launch-agent "
    "exec-agent forward-signals keepalive debugger cf cartofile genvlist envlist bootstrap bootstrap-exec "
    "bootstrap-exec-args launcher launcher-exec rmk iface nameserver branch-count demux usize topolib hostos gtool "
    "gtoolfile localroot ckpointlib ckpoint-prefix ckpoint-interval ckpoint-num disable-x arch soft file",
    "allow-run-as-root oversubscribe nooversubscribe use-hwthread-cpus nolocal noprefix novm pernode bynode byslot "
    "bycore bind-to-core bind-to-socket bind-to-none report-bindings display-map display-allocation display-topo "
    "tag-output timestamp-output merge-stderr-to-stdout xml v verbose q quiet d debug tv l prepend-rank rr genvall "
    "genvnone envall envnone print-rank-map ordered-output disable-recovery enable-recovery continuous do-not-launch "
    "do-not-resolve show-progress get-stack-traces leave-session-attached report-state-on-timeout "
    "report-child-jobs-separately preload-binary set-cwd-to-session-dir index-argv-by-rank fwd-mpirun-port",
    NULL};
/* source: srun(1) of Slurm 22, 23 and 24. An optional value follows "=". */
static const struct options of_srun = {
    "",
    "accel-bind account acctg-freq bb bbf begin cluster-constraint clusters comment constraint container "
    "container-id core-spec cores-per-socket cpu-bind cpu-freq cpus-per-gpu cpus-per-task deadline "
    "delay-boot dependency distribution epilog error exclude export export-file extra extra-node-info gid gpu-bind "
    "gpu-freq gpus gpus-per-node gpus-per-socket gpus-per-task gres gres-flags het-group pack-group hint input "
    "job-name jobid licenses mail-type mail-user max-threads mcs-label mem mem-bind mem-per-cpu mem-per-gpu "
    "mincpus mpi msg-timeout network nodefile nodelist nodes ntasks ntasks-per-core ntasks-per-gpu ntasks-per-node "
    "ntasks-per-socket ntasks-per-tres open-mode output partition power prefer priority profile prolog qos relative "
    "reservation segment signal slurmd-debug sockets-per-node switches task-epilog task-prolog tasks-per-node "
    "thread-spec threads threads-per-core time time-min tmp tree-width treewidth tres-bind tres-per-task uid wait "
    "wckey oom-kill-step",
    "contiguous disable-status exact external hold interactive label multi-prog no-allocate no-kill overcommit "
    "overlap oversubscribe share preserve-env quiet quit-on-interrupt reboot spread-job stepmgr test-only unbuffered "
    "use-min-nodes verbose whole bcast compress exclusive immediate kill-on-bad-exit nice propagate pty resv-ports "
    "send-libs x11",
    "A:B:C:D:EF:G:HI::J:K::L:M:N:OP:QS:T:W:XZb:c:d:e:g:hi:klm:n:o:p:q:r:st:uvVw:x:"};

/* source: torch/distributed/run.py of PyTorch 1.13 to 2.9 */
static const struct options of_torch = {
    "",
    "nnodes nproc-per-node rdzv-backend rdzv-endpoint rdzv-id rdzv-conf max-restarts monitor-interval start-method "
    "event-log-dir role log-dir r redirects t tee local-ranks-filter node-rank master-addr master-port local-addr "
    "logs-specs numa-binding signals-to-handle",
    "standalone m module no-python run-path use-env virtual-local-rank", NULL};

enum { NOT_KNOWN = -1, NAME_SIZE = 64 };

/* The name of an option without "-" before it and "=" after it. "_" becomes "-", because some programs take both. */
static size_t option_name(const char *option, char out[NAME_SIZE])
{
    const char *name = option + strspn(option, "-");
    size_t n = strcspn(name, "=");
    n = n < NAME_SIZE ? n : NAME_SIZE - 1;
    for (size_t i = 0; i < n; i++)
        out[i] = (char)(name[i] == '_' ? '-' : name[i]);
    out[n] = '\0';
    return n;
}

/* Number of words after this option that are its values. */
static int n_values(const struct options *of, const char *option)
{
    const char *name = option + strspn(option, "-");
    char plain[NAME_SIZE];
    if (of->letters && name == option + 1) { /* "-n4", "-ln 4" */
        for (; *name; name++) {
            const char *letter = *name == ':' ? NULL : strchr(of->letters, *name);
            if (!letter)
                return NOT_KNOWN;
            if (letter[1] == ':')
                return letter[2] != ':' && !name[1];
        }
        return 0;
    }
    if (strchr(name, '='))
        return 0;
    size_t n = option_name(option, plain);
    return has_word(of->two, plain, n)    ? 2
           : has_word(of->one, plain, n)  ? 1
           : has_word(of->none, plain, n) ? 0
                                          : NOT_KNOWN;
}

/* Is it a program that runs scripts or other programs? */
static int is_runner(const char *word, size_t n)
{
    return strncmp(word, "python", 6) == 0 ||
           has_word("bash sh env julia perl Rscript java numactl taskset nsys ncu singularity apptainer torchrun "
                    "accelerate deepspeed dccollect",
                    word, n);
}

/* Does a word look like a program: a path from a root, a script, or what runs scripts and other programs? */
static int is_executable(const char *word)
{
    static const char *const endings[] = {".py", ".sh", ".exe", ".x", ".out", ".bin"};
    static const char *const roots[] = {"/", "./", "../", "~/"};
    size_t n = strlen(word);
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++)
        if (strncmp(word, roots[i], strlen(roots[i])) == 0)
            return 1;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (n > strlen(endings[i]) && strcmp(word + n - strlen(endings[i]), endings[i]) == 0)
            return 1;
    return is_runner(word, n);
}

/* The index of the first word after a launcher and its options. `launcher` is the index of the launcher's last word.
 * The word after an unknown option may be its value. Then a later word that looks like a program is preferred, as long
 * as options of the launcher follow. returns  0 if no word is left */
static int first_word(const struct run *a, int launcher, const struct options *of)
{
    int doubtful = 0, is_after_unknown = 0;
    for (int i = launcher + 1; i < a->n_command; i++) {
        const char *word = a->command[i];
        if (word[0] != '-') {
            if (is_executable(word))
                return i;
            if (!is_after_unknown)
                return doubtful ? doubtful : i;
            doubtful = doubtful ? doubtful : i;
            is_after_unknown = 0;
            continue;
        }
        if (strcmp(word, "--") == 0)
            return doubtful ? doubtful : i + 1 < a->n_command ? i + 1 : 0;
        int n = n_values(of, word);
        if (n == NOT_KNOWN && doubtful)
            return doubtful;
        is_after_unknown = n == NOT_KNOWN;
        i += n > 0 ? n : 0;
    }
    return doubtful;
}

/* python, python3, python3.11 */
static bool is_python(const char *word)
{
    return strncmp(word, "python", 6) == 0 && word[6 + strspn(word + 6, "0123456789.")] == '\0';
}

/* The options of the launcher that begins at word i of the command; NULL if no launcher begins there. *last gets the
 * index of the launcher's last word, which is not i for `python3 -m torch.distributed.run`. */
static const struct options *launcher_at(const struct run *a, int i, int *last)
{
    static const char *const of_ranks[] = {"mpirun",       "mpiexec",        "orterun",         "prterun",
                                           "prun",         "mpirun.openmpi", "mpiexec.openmpi", "mpiexec.hydra",
                                           "mpirun.mpich", "mpiexec.mpich"};
    const char *word = dcr_last_part(a->command[i]);
    *last = i;
    if (strcmp(word, "srun") == 0)
        return &of_srun;
    if (strcmp(word, "torchrun") == 0)
        return &of_torch;
    if (is_one_of(word, of_ranks, sizeof of_ranks / sizeof *of_ranks))
        return &of_mpi;
    for (i++; is_python(word) && i + 1 < a->n_command && a->command[i][0] == '-'; i++)
        if (strcmp(a->command[i], "-m") == 0) {
            *last = i + 1;
            return has_word("torch.distributed.run torch.distributed.launch", a->command[i + 1],
                            strlen(a->command[i + 1]))
                       ? &of_torch
                       : NULL;
        }
    return NULL;
}

int launched_word(const struct run *a)
{
    const struct options *of;
    int first = 0, last, is_launched = 0;
    while (first < a->n_command && (of = launcher_at(a, first, &last)) != NULL) { /* "srun torchrun train.py" */
        int next = first_word(a, last, of);
        is_launched = 1;
        if (!next)
            break;
        first = next;
    }
    /* The name may be a value of an option too: "srun -J train ./train". */
    for (int from = first, k = 0; is_launched && *a->program.name && k < 2; k++, from = 1)
        for (int i = from > 0 ? from : 1; i < a->n_command; i++)
            if (strcmp(dcr_last_part(a->command[i]), a->program.name) == 0)
                return i;
    return first;
}

static bool starts_torch(const char *word)
{
    return has_word("torchrun accelerate deepspeed", word, strlen(word));
}

/* Is the next word the text of a script, not a name? A launcher's -c is something else. */
static int is_text_next(const char *starter, const char *option)
{
    if (!is_python(starter) && strcmp(starter, "bash") != 0 && strcmp(starter, "sh") != 0)
        return 0;
    return option[0] == '-' && option[1] != '-' && dcr_ends_with(option, "c");
}

/* After a launcher or an interpreter, the program is the first word that looks like a file. For a script's text on the
 * command line, it is the interpreter. */
const char *program_of_command(const struct run *a)
{
    static const char *const starters[] = {"mpirun", "mpiexec", "srun", "python", "python3", "bash", "sh", "env"};
    const char *word = a->n_command ? dcr_last_part(a->command[0]) : "";
    const char *starter = word;
    enum { N_STARTERS = sizeof starters / sizeof *starters };
    bool is_starter = is_one_of(word, starters, N_STARTERS) || is_python(word), is_of_torch = starts_torch(word);
    /* A path may be a value of an option of torchrun. After a path, -m may be an option of the program. */
    bool is_module = true;
    for (int i = 1; is_of_torch && i < a->n_command; i++) {
        if (is_module && i + 1 < a->n_command &&
            (strcmp(a->command[i], "-m") == 0 || strcmp(a->command[i], "--module") == 0))
            return a->command[i + 1];
        if (a->command[i][0] != '-' && dcr_ends_with(a->command[i], ".py"))
            return dcr_last_part(a->command[i]);
        is_module = is_module && !strchr(a->command[i], '/');
    }
    for (int i = 1; is_starter && i < a->n_command; i++) {
        const char *last = dcr_last_part(a->command[i]);
        bool is_another = a->command[i][0] != '-' && (is_one_of(last, starters, N_STARTERS) || is_python(last));
        if (a->command[i][0] != '-')
            starter = is_another ? last : "";
        if (is_text_next(starter, a->command[i]))
            return starter;
        if (a->command[i][0] != '-' && !is_another &&
            (strchr(a->command[i], '/') || dcr_ends_with(a->command[i], ".py")))
            return dcr_last_part(a->command[i]);
    }
    if (!is_starter)
        return word;
    const char *launched = dcr_last_part(a->command[launched_word(a)]); /* a plain name: "mpirun -n 2 hpcc" */
    bool is_other =
        is_one_of(launched, starters, N_STARTERS) || is_python(launched) || is_runner(launched, strlen(launched));
    return is_other || (launched[0] >= '0' && launched[0] <= '9') ? "" : launched; /* "2" is an option's value */
}

const char *program_of(const struct run *a)
{
    return *a->program.name ? a->program.name : program_of_command(a);
}

/* Does this option differ between the points of one series (sizes), or not matter to the work (places)? The names with
 * "num", "main" and "machine" are of accelerate and deepspeed. */
int scaling_is_masked(const char *option)
{
    char name[NAME_SIZE];
    return has_word("o out output out-dir output-dir log-dir resume b batch batch-size global-batch local-batch nodes "
                    "nnodes progress gradient-to checkpoint-dir num-processes num-machines num-gpus num-nodes "
                    "node-rank machine-rank master-addr master-port main-process-ip main-process-port",
                    name, option_name(option, name));
}

void command_key(const struct run *run, struct dcr_buf *out)
{
    for (int i = 0; i < run->n_labels; i++)
        if (strcmp(run->labels[i].key, "series") == 0) {
            dcr_buf_printf(out, " series=%s", run->labels[i].value);
            return;
        }
    command_words(run, out);
}

void command_words(const struct run *run, struct dcr_buf *out)
{
    int program = launched_word(run);
    for (int i = program; i < run->n_command; i++) {
        /* the program by name: builds may lie in different folders */
        const char *word = i == program ? dcr_last_part(run->command[i]) : run->command[i];
        const char *equals = strchr(word, '=');
        if (word[0] == '-' && scaling_is_masked(word)) {
            dcr_buf_printf(out, " %.*s", (int)(equals ? equals - word : (long)strlen(word)), word);
            if (!equals && i + 1 < run->n_command && run->command[i + 1][0] != '-')
                i++;
            continue;
        }
        dcr_buf_printf(out, " %s", word);
    }
}
