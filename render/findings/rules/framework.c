/* framework.c - is a run one of PyTorch? Advice names PyTorch's options only to its users. */
#include "render/findings/rules/analyse.h"
#include "render/metrics/series/differing.h"

#include "lib/base/fs.h"

#include <string.h>
#include <strings.h>

/* Is it a name of PyTorch's kernels, operators or ranges? */
static int is_torch_name(const char *name)
{
    static const char *const words[] = {"at::", "aten::", "torch", "c10", "autograd::", "ProfilerStep", "DataLoader"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasestr(name, words[i]))
            return 1;
    return 0;
}

static int has_torch_names(const struct foreign_trace *t)
{
    for (int i = 0; i < t->operators.n_names; i++)
        if (is_torch_name(t->operators.list[i].name))
            return 1;
    for (int k = 0; k < t->n_devices; k++)
        for (int i = 0; i < t->devices[k].n_names; i++)
            if (is_torch_name(t->devices[k].names[i].name))
                return 1;
    return 0;
}

static int is_torch_command(const struct run *r)
{
    const char *program = dcr_last_part(r->command[launched_word(r)]);
    for (int i = 0; i < r->n_command; i++) {
        const char *word = dcr_last_part(r->command[i]);
        if (strncmp(word, "python", 6) == 0 || dcr_ends_with(word, ".py") || is_torch_name(word))
            return 1;
    }
    static const char *const shells[] = {"sh", "bash", "dash", "zsh", "ksh"};
    int may_start_any = dcr_ends_with(program, ".sh");
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        may_start_any |= strcmp(program, shells[i]) == 0;
    return may_start_any;
}

static int is_hooked(const struct run *r)
{
    for (int i = 0; i < r->ranks_len; i++)
        if (r->ranks[i].is_by_hook)
            return 1;
    return 0;
}

int run_is_torch_on_hosts(const struct run *r)
{
    int is_listened = r->cuda.state == RECORDER_OK || r->cuda.is_no_gpu;
    int may_use_gpu = r->has_gpu_untold;
    for (int i = 0; i < r->nodes_len && !is_listened; i++)
        may_use_gpu |= r->nodes[i].n_gpus > 0;
    return run_is_of_hosts(r) ? run_may_be_torch(r) : is_hooked(r) && !may_use_gpu && r->n_traces == 0;
}

int run_may_be_torch(const struct run *r)
{
    int n_silent = 0;
    if (is_hooked(r))
        return 1;
    for (int i = 0; i < r->n_traces; i++) {
        if (has_torch_names(&r->traces[i]))
            return 1;
        n_silent += r->traces[i].kind == FOREIGN_KINETO && r->traces[i].operators.n_names == 0;
    }
    if (r->n_command)
        return is_torch_command(r);
    return r->n_traces == 0 || n_silent > 0;
}
