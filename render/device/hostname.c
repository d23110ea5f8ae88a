/* hostname.c - which kind of thing a name of PyTorch stands for, see activity.h. */
#include "render/device/activity.h"

#include <string.h>

static int begins(const char *name, size_t len, const char *word)
{
    size_t n = strlen(word);
    return len >= n && memcmp(name, word, n) == 0;
}

enum host_name host_name_of(const char *name, size_t len, int is_range)
{
    static const char *const backends[] = {"gloo:", "nccl:", "mpi:"};
    static const char *const operators[] = {"aten::", "autograd::", "torch::"};
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++)
        if (begins(name, len, backends[i]))
            return HOST_NAME_COMM;
    if (begins(name, len, "Optimizer.step#"))
        return HOST_NAME_OPTIMIZER;
    if (begins(name, len, "c10d::"))
        return HOST_NAME_COMM_CALL;
    if (is_range)
        return HOST_NAME_RANGE;
    /* A node of the graph has a name in front of this word, and no blank: "AddmmBackward0". */
    const char *back = memmem(name, len, "Backward", sizeof "Backward" - 1);
    if (begins(name, len, "autograd::engine") || (back && back > name && !memchr(name, ' ', len)))
        return HOST_NAME_BACKWARD;
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (begins(name, len, operators[i]))
            return HOST_NAME_OPERATOR;
    return HOST_NAME_RANGE;
}
