/* command.c - which words of a recorded command are the program's own. */
#include "render/analyse/analyse.h"

#include "lib/fs.h"

#include <string.h>

static int is_one_of(const char *word, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(word, list[i]) == 0)
            return 1;
    return 0;
}

/* How many words behind this option of mpirun or srun are its values. source: mpirun(1) of Open MPI 4, mpiexec(1) of
 * MPICH 4, srun(1) of Slurm 22 */
static int n_values(const char *option)
{
    static const char *const two[] = {"mca", "gmca", "pmca", "genv", "env"};
    static const char *const one[] = {"n",
                                      "np",
                                      "c",
                                      "x",
                                      "H",
                                      "host",
                                      "hosts",
                                      "hostfile",
                                      "machinefile",
                                      "f",
                                      "map-by",
                                      "bind-to",
                                      "rank-by",
                                      "npernode",
                                      "N",
                                      "ppn",
                                      "perhost",
                                      "wd",
                                      "wdir",
                                      "path",
                                      "rf",
                                      "rankfile",
                                      "output-filename",
                                      "tune",
                                      "am",
                                      "timeout",
                                      "ntasks",
                                      "nodes",
                                      "p",
                                      "partition",
                                      "w",
                                      "nodelist",
                                      "t",
                                      "time",
                                      "cpus-per-task",
                                      "J",
                                      "job-name",
                                      "A",
                                      "account",
                                      "D",
                                      "chdir",
                                      "o",
                                      "output",
                                      "e",
                                      "error",
                                      "mpi",
                                      "distribution",
                                      "m",
                                      "genvlist",
                                      "envlist",
                                      "launcher",
                                      "iface",
                                      "cpus-per-proc",
                                      "mem",
                                      "gres",
                                      "G",
                                      "gpus",
                                      "gpus-per-node",
                                      "gpus-per-task",
                                      "ntasks-per-node",
                                      "cpu-bind",
                                      "q",
                                      "qos",
                                      "C",
                                      "constraint"};
    const char *name = option + strspn(option, "-");
    if (strchr(name, '='))
        return 0;
    return is_one_of(name, two, sizeof two / sizeof *two) ? 2 : is_one_of(name, one, sizeof one / sizeof *one);
}

int launched_word(const struct run *a)
{
    static const char *const launchers[] = {"mpirun",         "mpiexec",         "srun",
                                            "orterun",        "prterun",         "prun",
                                            "mpirun.openmpi", "mpiexec.openmpi", "mpiexec.hydra"};
    if (a->n_command == 0 || !is_one_of(dcr_last_part(a->command[0]), launchers, sizeof launchers / sizeof *launchers))
        return 0;
    for (int i = 1; *a->program.name && i < a->n_command; i++)
        if (strcmp(dcr_last_part(a->command[i]), a->program.name) == 0)
            return i;
    int i = 1;
    while (i < a->n_command && a->command[i][0] == '-')
        i += 1 + n_values(a->command[i]);
    return i < a->n_command ? i : 0;
}
