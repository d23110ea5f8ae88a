/* hostname.c - what a name of PyTorch stands for, see activity.h. */
#include "render/device/activity.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static int begins(const char *name, size_t len, const char *word)
{
    size_t n = strlen(word);
    return len >= n && memcmp(name, word, n) == 0;
}

size_t host_name_without_attributes(const char *name, size_t len)
{
    static const char *const attributes[] = {", op_id = ", ", seq = ", ", sizes = ", ", input_op_ids = "};
    const char *comma = memchr(name, ',', len); /* most names have none */
    for (size_t i = 0; comma && i < sizeof attributes / sizeof *attributes; i++) {
        const char *at = memmem(name, len, attributes[i], strlen(attributes[i]));
        if (at && at > name)
            len = (size_t)(at - name);
    }
    return len;
}

/* The end of a number that begins at i, if it is the number of a block ("blocks.9.mlp", "layers.5") or an address
 * ("0x7f12"). Any other number belongs to the name ("conv2d", "layer1", "v1.5"): then i. */
static size_t end_of_number(const char *name, size_t len, size_t i)
{
    size_t end = i;
    int is_address = i >= 2 && memcmp(name + i - 2, "0x", 2) == 0 && (i == 2 || !isalnum((unsigned char)name[i - 3]));
    int is_block = i >= 2 && name[i - 1] == '.' && (isalpha((unsigned char)name[i - 2]) || name[i - 2] == '_');
    while (end < len &&
           (is_address ? isxdigit((unsigned char)name[end]) : is_block && isdigit((unsigned char)name[end])))
        end++;
    if (is_address)
        return end - i >= 4 ? end : i;
    return end == len || name[end] == '.' || name[end] == ')' ? end : i;
}

size_t host_name_common(const char *name, size_t len, char *out)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        size_t end = end_of_number(name, len, i);
        out[n++] = end > i ? '*' : name[i];
        i = end > i ? end - 1 : i;
    }
    return n;
}

static const char profiler_step[] = "ProfilerStep";

int host_step_is_profilers(const char *word)
{
    return word == profiler_step;
}

static enum step_name profiler_step_of(const char *text, const char **word, int64_t *number)
{
    const char *digits = text + sizeof profiler_step - 1;
    digits += strspn(digits, " _#:-");
    size_t n = strspn(digits, "0123456789");
    if (digits[n])
        return STEP_NAME_NONE;
    *number = n && n < 18 ? strtoll(digits, NULL, 10) : -1;
    *word = profiler_step;
    return STEP_NAME_STEP;
}

enum step_name host_step_of(const char *name, size_t len, const char **word, int64_t *number)
{
    char text[64];
    *word = NULL;
    *number = -1;
    if (len == 0 || len >= sizeof text || !strchr("PsStTiIgGbBeE[(", name[0])) /* rejects most names early */
        return STEP_NAME_NONE;
    memcpy(text, name, len);
    text[len] = '\0';
    if (begins(name, len, profiler_step))
        return profiler_step_of(text, word, number);
    enum step_name step = step_name_of(text, word, number);
    if (step == STEP_NAME_EPOCH)
        *word = "epoch";
    return step;
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
    /* A node of the graph has a name before this word, and no blank: "AddmmBackward0". */
    const char *back = memmem(name, len, "Backward", sizeof "Backward" - 1);
    if (begins(name, len, "autograd::engine") || (back && back > name && !memchr(name, ' ', len)))
        return HOST_NAME_BACKWARD;
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (begins(name, len, operators[i]))
            return HOST_NAME_OPERATOR;
    return HOST_NAME_RANGE;
}
