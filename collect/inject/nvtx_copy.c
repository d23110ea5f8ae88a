/* nvtx_copy.c - see nvtx_copy.h. */
#include "collect/inject/nvtx_copy.h"

#include "collect/inject/nvtx_abi.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

struct module {
    const ElfW(Phdr) * segments;
    uint16_t n_segments;
    uintptr_t bias; /* what the loader added to the addresses in the file */
};

/* Not by dl_iterate_phdr(): in a child forked while another thread opened a library its lock may be held for ever. */
static int find_module(const void *code, struct module *m)
{
    Dl_info info;
    if (!dladdr(code, &info) || !info.dli_fbase)
        return 0;
    const ElfW(Ehdr) *file = info.dli_fbase;
    if (memcmp(file->e_ident, ELFMAG, SELFMAG) != 0 || file->e_phentsize != sizeof *m->segments)
        return 0;
    m->segments = (const void *)((const char *)file + file->e_phoff);
    m->n_segments = file->e_phnum;
    for (uint16_t i = 0; i < m->n_segments; i++)
        if (m->segments[i].p_type == PT_LOAD && m->segments[i].p_offset == 0) {
            m->bias = (uintptr_t)file - m->segments[i].p_vaddr;
            return 1;
        }
    return 0;
}

static int is_code(const struct module *m, uintptr_t address)
{
    for (uint16_t i = 0; i < m->n_segments; i++) {
        const ElfW(Phdr) *s = &m->segments[i];
        if (s->p_type == PT_LOAD && (s->p_flags & PF_X) && address - m->bias - s->p_vaddr < s->p_memsz)
            return 1;
    }
    return 0;
}

/* The head of nvtxGlobals, a word of the machine each: state (and padding), callbacks (their size, a function), version
 * (its size, the number, a function). */
enum { STATE, CALLBACKS_SIZE, CALLBACKS_FUNCTION, VERSION_SIZE, VERSION, VERSION_FUNCTION, HEAD };

/* A segment is read as words, past the ends of the objects in it. */
#define OF_WORDS __attribute__((no_sanitize_address))

OF_WORDS static int is_started(const struct module *m, const uintptr_t *head)
{
    return (uint32_t)head[STATE] == NVTXABI_STATE_STARTED && head[CALLBACKS_SIZE] == sizeof(struct nvtxabi_callbacks) &&
           head[VERSION_SIZE] == 3 * sizeof(void *) && (uint32_t)head[VERSION] == 3 &&
           is_code(m, head[CALLBACKS_FUNCTION]) && is_code(m, head[VERSION_FUNCTION]);
}

OF_WORDS static uintptr_t *find_started(const struct module *m)
{
    for (uint16_t i = 0; i < m->n_segments; i++) {
        const ElfW(Phdr) *s = &m->segments[i];
        if (s->p_type != PT_LOAD || !(s->p_flags & PF_W))
            continue;
        uintptr_t begin = (m->bias + s->p_vaddr + sizeof(void *) - 1) / sizeof(void *) * sizeof(void *);
        uintptr_t end = m->bias + s->p_vaddr + s->p_memsz;
        for (uintptr_t *head = (uintptr_t *)begin; (uintptr_t)(head + HEAD) <= end; head++)
            if (is_started(m, head))
                return head;
    }
    return NULL;
}

/* The last that NVTX does: calls that no tool took, which still lead to its initialisation, lead to nothing. */
static void drop_untaken(const struct module *m, const struct nvtxabi_callbacks *callbacks)
{
    for (int module = 1; module <= NVTXABI_LAST_MODULE; module++) {
        nvtxabi_fn **table = NULL;
        unsigned size = 0;
        if (!callbacks->module_table(module, &table, &size) || !table)
            continue;
        for (unsigned i = 1; i < size; i++)
            if (table[i] && is_code(m, (uintptr_t)*table[i]))
                *table[i] = NULL;
    }
}

int nvtx_copy_take_over(const void *code)
{
    struct module m;
    uintptr_t *head = find_module(code, &m) ? find_started(&m) : NULL;
    if (!head)
        return 0;
    const struct nvtxabi_callbacks *callbacks = (const void *)&head[CALLBACKS_SIZE];
    uint32_t *state = (uint32_t *)&head[STATE], started = NVTXABI_STATE_STARTED;
    nvtxabi_fn **table = NULL;
    unsigned size = 0;
    if (!callbacks->module_table(NVTXABI_MODULE_CORE2, &table, &size) || size <= NVTXABI_INITIALIZE)
        return 0;
    /* What nvtxInitialize() calls as long as NVTX is not initialised: that initialises it. */
    void (*initialize)(const void *reserved) = (void (*)(const void *)) * table[NVTXABI_INITIALIZE];
    if (!is_code(&m, (uintptr_t)initialize)) {
        drop_untaken(&m, callbacks);
        __atomic_store_n(state, NVTXABI_STATE_COMPLETE, __ATOMIC_RELEASE);
    } else if (__atomic_compare_exchange_n(state, &started, NVTXABI_STATE_FRESH, 0, __ATOMIC_ACQ_REL,
                                           __ATOMIC_RELAXED)) {
        initialize(NULL);
    }
    return 1;
}
