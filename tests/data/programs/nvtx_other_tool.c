/* nvtx_other_tool.c - a minimal NVTX tool of another maker: installs a few callbacks, gives out handles, and at the end
 * prints what it saw on standard error. It reports a handle that it did not give out as an error. */
#include "collect/guest/nvtx/nvtx_abi.h"

#include <stdio.h>
#include <string.h>

static int domains, strings; /* their addresses are our handles */
static int n_push, n_pop, n_start, n_end, n_mark, n_wrong, n_registered;
static uint64_t sum_of_ids;

static void judge(const void *domain, const struct nvtxabi_attributes *a)
{
    n_wrong += domain && domain != &domains;
    if (a && a->message_type == NVTXABI_MESSAGE_REGISTERED) {
        n_registered++;
        n_wrong += a->message.registered != &strings;
    }
}

static const void *create(const char *name)
{
    (void)name;
    return &domains;
}

static const void *reg(const void *domain, const char *text)
{
    (void)text;
    judge(domain, NULL);
    return &strings;
}

static int push(const void *domain, const struct nvtxabi_attributes *a)
{
    judge(domain, a);
    return n_push++;
}

static int push_text(const char *text)
{
    (void)text;
    return n_push++;
}

static int pop(const void *domain)
{
    judge(domain, NULL);
    return n_pop++;
}

static int pop_plain(void)
{
    return n_pop++;
}

static uint64_t start(const void *domain, const struct nvtxabi_attributes *a)
{
    judge(domain, a);
    return 1000 + (uint64_t)n_start++;
}

static void end(const void *domain, uint64_t id)
{
    judge(domain, NULL);
    n_end++;
    sum_of_ids += id;
}

static void mark(const void *domain, const struct nvtxabi_attributes *a)
{
    judge(domain, a);
    n_mark++;
}

static void set(nvtxabi_fn **table, int index, void *fn)
{
    *table[index] = (nvtxabi_fn)fn;
}

int InitializeInjectionNvtx2(nvtxabi_export_table_fn export_table);

int InitializeInjectionNvtx2(nvtxabi_export_table_fn export_table)
{
    const struct nvtxabi_callbacks *c = export_table(NVTXABI_TABLE_CALLBACKS);
    nvtxabi_fn **t;
    unsigned n;
    if (!c->module_table(NVTXABI_MODULE_CORE, &t, &n))
        return 0;
    set(t, NVTXABI_RANGE_PUSH_A, (void *)push_text);
    set(t, NVTXABI_RANGE_POP, (void *)pop_plain);
    if (!c->module_table(NVTXABI_MODULE_CORE2, &t, &n))
        return 0;
    set(t, NVTXABI_DOMAIN_CREATE_A, (void *)create);
    set(t, NVTXABI_DOMAIN_CREATE_W, (void *)create);
    set(t, NVTXABI_DOMAIN_REGISTER_STRING_A, (void *)reg);
    set(t, NVTXABI_DOMAIN_REGISTER_STRING_W, (void *)reg);
    set(t, NVTXABI_DOMAIN_RANGE_PUSH_EX, (void *)push);
    set(t, NVTXABI_DOMAIN_RANGE_POP, (void *)pop);
    set(t, NVTXABI_DOMAIN_RANGE_START_EX, (void *)start);
    set(t, NVTXABI_DOMAIN_RANGE_END, (void *)end);
    set(t, NVTXABI_DOMAIN_MARK_EX, (void *)mark);
    return 1;
}

__attribute__((destructor)) static void say(void)
{
    fprintf(stderr, "other tool: push %d pop %d start %d end %d ids %llu mark %d registered %d wrong %d\n", n_push,
            n_pop, n_start, n_end, (unsigned long long)sum_of_ids, n_mark, n_registered, n_wrong);
}
