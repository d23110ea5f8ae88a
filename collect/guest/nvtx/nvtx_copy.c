/* nvtx_copy.c - see nvtx_copy.h. */
#include "collect/guest/nvtx/nvtx_copy.h"

#include "collect/guest/maps.h"
#include "collect/guest/nvtx/nvtx_abi.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MAX_PARTS = 64 };

/* Of the file that the code lies in: mappings that run, and those that are written to, which have initialised data. */
struct module {
    uintptr_t code;
    uint64_t device, inode;
    int n;
    struct part {
        uintptr_t begin, end;
        int may_run;
    } parts[MAX_PARTS];
};

static int find_file(void *ctx, const struct mapping *of)
{
    struct module *m = ctx;
    if (m->code < of->begin || m->code >= of->end)
        return 0;
    m->device = of->device;
    m->inode = of->inode;
    return 1;
}

static int add_part(void *ctx, const struct mapping *of)
{
    struct module *m = ctx;
    if (of->inode == m->inode && of->device == m->device && (of->may_run || of->may_write))
        m->parts[m->n++] = (struct part){of->begin, of->end, of->may_run};
    return m->n == MAX_PARTS;
}

static int is_code(const struct module *m, uintptr_t address)
{
    for (int i = 0; i < m->n; i++)
        if (m->parts[i].may_run && address >= m->parts[i].begin && address < m->parts[i].end)
            return 1;
    return 0;
}

/* The head of nvtxGlobals, a word of the machine each: state (and padding), callbacks (their size, a function), version
 * (its size, the number, a function). */
enum { STATE, CALLBACKS_SIZE, CALLBACKS_FUNCTION, VERSION_SIZE, VERSION, VERSION_FUNCTION, HEAD };

static int is_started(const struct module *m, const uintptr_t *head)
{
    return (uint32_t)head[STATE] == NVTXABI_STATE_STARTED && head[CALLBACKS_SIZE] == sizeof(struct nvtxabi_callbacks) &&
           head[VERSION_SIZE] == 3 * sizeof(void *) && (uint32_t)head[VERSION] == 3 &&
           is_code(m, head[CALLBACKS_FUNCTION]) && is_code(m, head[VERSION_FUNCTION]);
}

/* Read as by another process: what cannot be read is an error then, not a signal. */
static size_t read_words(uintptr_t from, uintptr_t *words, size_t n)
{
    struct iovec to = {words, n * sizeof *words}, of = {.iov_len = n * sizeof *words};
    memcpy(&of.iov_base, &from, sizeof from);
    long k = syscall(SYS_process_vm_readv, syscall(SYS_getpid), &to, 1UL, &of, 1UL, 0UL);
    return k > 0 ? (size_t)k / sizeof *words : 0;
}

static uintptr_t find_started_in(const struct module *m, const struct part *p)
{
    uintptr_t words[256];
    for (uintptr_t at = p->begin; at < p->end;) {
        size_t n = (p->end - at) / sizeof *words;
        n = read_words(at, words, n < sizeof words / sizeof *words ? n : sizeof words / sizeof *words);
        if (n < HEAD)
            return 0;
        for (size_t i = 0; i + HEAD <= n; i++)
            if (is_started(m, words + i))
                return at + i * sizeof *words;
        at += (n - HEAD + 1) * sizeof *words;
    }
    return 0;
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

static int take_over(const struct module *m, uintptr_t *head)
{
    const struct nvtxabi_callbacks *callbacks = (const void *)&head[CALLBACKS_SIZE];
    uint32_t *state = (uint32_t *)&head[STATE], started = NVTXABI_STATE_STARTED;
    nvtxabi_fn **table = NULL;
    unsigned size = 0;
    if (!callbacks->module_table(NVTXABI_MODULE_CORE2, &table, &size) || size <= NVTXABI_INITIALIZE)
        return 0;
    /* What nvtxInitialize() calls as long as NVTX is not initialised: that initialises it. */
    void (*initialize)(const void *reserved) = (void (*)(const void *)) * table[NVTXABI_INITIALIZE];
    if (!is_code(m, (uintptr_t)initialize)) {
        drop_untaken(m, callbacks);
        __atomic_store_n(state, NVTXABI_STATE_COMPLETE, __ATOMIC_RELEASE);
    } else if (__atomic_compare_exchange_n(state, &started, NVTXABI_STATE_FRESH, 0, __ATOMIC_ACQ_REL,
                                           __ATOMIC_RELAXED)) {
        initialize(NULL);
    }
    return 1;
}

int nvtx_copy_take_over(const void *code)
{
    struct module m = {.code = (uintptr_t)code};
    uintptr_t head = 0;
    if (maps_each(find_file, &m) != 1 || !m.inode || maps_each(add_part, &m) < 0)
        return 0;
    for (int i = 0; i < m.n && !head; i++)
        if (!m.parts[i].may_run)
            head = find_started_in(&m, &m.parts[i]);
    return head && take_over(&m, (uintptr_t *)head);
}
