/* reduce_words.c - the meanings of categories and names of ranges: see reduce.h. */
#include "lib/reduce/reduce_inside.h"

#include "lib/archive/format.h"
#include "lib/trace/step_name.h"

#include <string.h>
#include <strings.h>

struct word {
    const char *text;
    enum event_kind kind;
    enum category category;
};

/* Categories of docs/FORMAT.md. */
static const struct word categories[] = {
    {"step", EVENT_STEP, CAT_OTHER},
    {"data", EVENT_PHASE, CAT_DATA},
    {"copy", EVENT_PHASE, CAT_COPY},
    {"comm", EVENT_PHASE, CAT_COMM},
    {"compute", EVENT_PHASE, CAT_COMPUTE},
    {"io", EVENT_PHASE, CAT_IO},
    {"validation", EVENT_VALIDATION, CAT_OTHER},
    {DCT_CATEGORY_BATCH, EVENT_BATCH, CAT_OTHER},
    {DCT_CATEGORY_EXCHANGE, EVENT_EXCHANGE, CAT_OTHER},
};

/* Whole names, for ranges without a category. Names of steps are in step_name.h. */
static const struct word names[] = {
    {"data_load", EVENT_PHASE, CAT_DATA},      {"data_loading", EVENT_PHASE, CAT_DATA},
    {"dataloader", EVENT_PHASE, CAT_DATA},     {"data", EVENT_PHASE, CAT_DATA},
    {"data loading", EVENT_PHASE, CAT_DATA},   {"data-loading", EVENT_PHASE, CAT_DATA},
    {"dataloading", EVENT_PHASE, CAT_DATA},    {"data load", EVENT_PHASE, CAT_DATA},
    {"dataload", EVENT_PHASE, CAT_DATA},       {"data loader", EVENT_PHASE, CAT_DATA},
    {"data_loader", EVENT_PHASE, CAT_DATA},    {"load data", EVENT_PHASE, CAT_DATA},
    {"load_data", EVENT_PHASE, CAT_DATA},      {"h2d", EVENT_PHASE, CAT_COPY},
    {"host_to_device", EVENT_PHASE, CAT_COPY}, {"forward", EVENT_PHASE, CAT_COMPUTE},
    {"backward", EVENT_PHASE, CAT_COMPUTE},    {"compute", EVENT_PHASE, CAT_COMPUTE},
    {"optimizer", EVENT_PHASE, CAT_COMPUTE},   {"optimizer_step", EVENT_PHASE, CAT_COMPUTE},
    {"all_reduce", EVENT_PHASE, CAT_COMM},     {"allreduce", EVENT_PHASE, CAT_COMM},
    {"checkpoint", EVENT_PHASE, CAT_IO},       {"validation", EVENT_VALIDATION, CAT_OTHER},
    {"validate", EVENT_VALIDATION, CAT_OTHER},
};

const char *event_numbered_step(const char *name)
{
    const char *word;
    int64_t number;
    (void)step_name_of(name, &word, &number);
    return word && strcasecmp(word, name) != 0 ? word : NULL;
}

enum event_kind event_classify(const char *category, const char *name, enum category *out)
{
    const char *word;
    int64_t number;
    enum step_name step = step_name_of(name, &word, &number);
    *out = CAT_OTHER;
    if (step == STEP_NAME_EPOCH) /* an epoch may carry the category of the steps that it encloses */
        return EVENT_NONE;
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++)
        if (strcasecmp(category, categories[i].text) == 0) {
            *out = categories[i].category;
            return categories[i].kind;
        }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(name, names[i].text) == 0) {
            *out = names[i].category;
            return names[i].kind;
        }
    if (step != STEP_NAME_NONE)
        return EVENT_STEP;
    if (strcasestr(name, "nccl") || strcasestr(name, "rccl") || strncmp(name, "MPI_", 4) == 0) {
        *out = CAT_COMM;
        return EVENT_PHASE;
    }
    return EVENT_NONE;
}

int reduce_waits(const char *name)
{
    if (!name || strncmp(name, "MPI_", 4) != 0)
        return 1;
    if (strncmp(name, "MPI_Init", 8) == 0)
        return 1;
    return strncmp(name, "MPI_I", 5) != 0 && strncmp(name, "MPI_Test", 8) != 0;
}

int reduce_is_between_two(const char *name)
{
    static const char *const calls[] = {"MPI_Send",  "MPI_Bsend",  "MPI_Ssend", "MPI_Rsend", "MPI_Recv",
                                        "MPI_Mrecv", "MPI_Mprobe", "MPI_Probe", "MPI_Start", "MPI_Request"};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strncmp(name, calls[i], strlen(calls[i])) == 0)
            return 1;
    return 0;
}

const char *category_key(enum category c)
{
    static const char *const keys[] = {
#define X(id, key, name, covers) key,
        RUN_CATEGORIES(X)
#undef X
    };
    return keys[c];
}
