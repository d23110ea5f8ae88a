/* nvtx_chain.c - see nvtx_chain.h. */
#include "collect/guest/nvtx/nvtx_chain.h"

#include "collect/guest/kept.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

/* ---- the other tool --------------------------------------------------------------------------- */

static struct {
    void *library;
    int (*attach)(nvtxabi_export_table_fn);
    nvtxabi_extension_fn extension;
} other;
static pthread_once_t other_once = PTHREAD_ONCE_INIT;

/* What each attaching installed: the same functions for every copy of NVTX. Ours are kept to be called before. */
static nvtxabi_fn their_core[NVTXABI_CORE_SIZE], their_core2[NVTXABI_CORE2_SIZE];
static nvtxabi_fn our_core[NVTXABI_CORE_SIZE], our_core2[NVTXABI_CORE2_SIZE];

static void load_other(void)
{
    const char *path = kept_env("DCC_CHAIN_NVTX");
    void *library = path && *path ? dlopen(path, RTLD_NOW) : NULL;
    if (!library)
        return;
    *(void **)&other.attach = dlsym(library, "InitializeInjectionNvtx2");
    *(void **)&other.extension = dlsym(library, "InitializeInjectionNvtxExtension");
    other.library = library;
}

nvtxabi_extension_fn nvtx_chain_extension(void)
{
    pthread_once(&other_once, load_other);
    return other.extension;
}

/* ---- our handle -> theirs --------------------------------------------------------------------- */

enum { PLACES = 1 << 16, MAX_PAIRS = PLACES / 2 };
struct pair {
    uint64_t ours[2], theirs; /* ours[0] 0 = free */
};
static struct pair *pairs; /* open addressing */
static uint32_t n_pairs;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint32_t place_of(uint64_t a, uint64_t b)
{
    uint32_t i = (uint32_t)(((a ^ b * 31) * UINT64_C(0x9e3779b97f4a7c15)) >> 40) % PLACES;
    while (pairs[i].ours[0] && (pairs[i].ours[0] != a || pairs[i].ours[1] != b))
        i = (i + 1) % PLACES;
    return i;
}

static void keep(uint64_t a, uint64_t b, uint64_t theirs)
{
    if (!a)
        return;
    pthread_mutex_lock(&lock);
    if (!pairs) {
        void *p = mmap(NULL, PLACES * sizeof *pairs, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        pairs = p == MAP_FAILED ? NULL : p;
    }
    if (pairs && n_pairs < MAX_PAIRS) {
        struct pair *p = &pairs[place_of(a, b)];
        n_pairs += !p->ours[0];
        *p = (struct pair){{a, b}, theirs};
    }
    pthread_mutex_unlock(&lock);
}

static uint64_t known(uint64_t a, uint64_t b, uint64_t absent)
{
    pthread_mutex_lock(&lock);
    struct pair *p = pairs && a ? &pairs[place_of(a, b)] : NULL;
    uint64_t theirs = p && p->ours[0] ? p->theirs : absent;
    pthread_mutex_unlock(&lock);
    return theirs;
}

static uint64_t take(uint64_t a, uint64_t b)
{
    uint64_t theirs = 0;
    pthread_mutex_lock(&lock);
    uint32_t hole = pairs && a ? place_of(a, b) : 0;
    if (pairs && a && pairs[hole].ours[0]) {
        theirs = pairs[hole].theirs;
        pairs[hole].ours[0] = 0;
        n_pairs--;
        for (uint32_t i = (hole + 1) % PLACES; pairs[i].ours[0]; i = (i + 1) % PLACES) {
            struct pair p = pairs[i];
            pairs[i].ours[0] = 0;
            pairs[place_of(p.ours[0], p.ours[1])] = p;
        }
    }
    pthread_mutex_unlock(&lock);
    return theirs;
}

enum { KIND_DOMAIN = 1, KIND_RANGE };
#define BITS(pointer) ((uint64_t)(uintptr_t)(pointer))

/* A handle we never gave out (we record nothing, say) is theirs already. */
const void *nvtx_chain_domain(const void *domain)
{
    return (const void *)(uintptr_t)known(BITS(domain), KIND_DOMAIN, BITS(domain));
}

void nvtx_chain_range(uint64_t ours, uint64_t theirs)
{
    keep(ours, KIND_RANGE, theirs);
}

uint64_t nvtx_chain_take_range(uint64_t ours)
{
    return take(ours, KIND_RANGE);
}

/* ---- calls ------------------------------------------------------------------------------------ */

typedef const struct nvtxabi_attributes *attributes;
#define OURS(table, index, type) ((type)(void *)our_##table[index])
#define THEIRS(table, index, type) ((type)(void *)their_##table[index])
#define BOTH(table, index, type, our_args, their_args) \
    do {                                               \
        OURS(table, index, type) our_args;             \
        if (their_##table[index])                      \
            THEIRS(table, index, type) their_args;     \
    } while (0)

/* A registered message is another pointer on their side. */
static attributes translated(const void *domain, attributes a, struct nvtxabi_attributes *copy)
{
    if (!a || a->message_type != NVTXABI_MESSAGE_REGISTERED)
        return a;
    *copy = *a;
    copy->message.registered =
        (const void *)(uintptr_t)known(BITS(a->message.registered), BITS(domain), BITS(a->message.registered));
    return copy;
}

typedef void (*mark_fn)(attributes);
typedef void (*text_fn)(const void *);
typedef int (*push_fn)(attributes);
typedef int (*push_text_fn)(const void *);
typedef int (*pop_fn)(void);
typedef uint64_t (*start_fn)(attributes);
typedef uint64_t (*start_text_fn)(const void *);
typedef void (*end_fn)(uint64_t);
typedef void (*name_fn)(uint32_t, const void *);
typedef void (*domain_mark_fn)(const void *, attributes);
typedef int (*domain_push_fn)(const void *, attributes);
typedef int (*domain_pop_fn)(const void *);
typedef uint64_t (*domain_start_fn)(const void *, attributes);
typedef void (*domain_end_fn)(const void *, uint64_t);
typedef void (*domain_name_fn)(const void *, uint32_t, const void *);
typedef const void *(*register_fn)(const void *, const void *);
typedef const void *(*create_fn)(const void *);
typedef void (*destroy_fn)(const void *);
typedef const void *(*resource_fn)(const void *, const void *);

static void mark_ex(attributes a)
{
    struct nvtxabi_attributes copy;
    BOTH(core, NVTXABI_MARK_EX, mark_fn, (a), (translated(NULL, a, &copy)));
}

/* A program that asks for the depth gets the answer of the tool that it brought, as without us. */
static int push_ex(attributes a)
{
    struct nvtxabi_attributes copy;
    int level = OURS(core, NVTXABI_RANGE_PUSH_EX, push_fn)(a);
    if (their_core[NVTXABI_RANGE_PUSH_EX])
        level = THEIRS(core, NVTXABI_RANGE_PUSH_EX, push_fn)(translated(NULL, a, &copy));
    return level;
}

static int pop(void)
{
    int level = OURS(core, NVTXABI_RANGE_POP, pop_fn)();
    if (their_core[NVTXABI_RANGE_POP])
        level = THEIRS(core, NVTXABI_RANGE_POP, pop_fn)();
    return level;
}

static uint64_t start_ex(attributes a)
{
    struct nvtxabi_attributes copy;
    uint64_t id = OURS(core, NVTXABI_RANGE_START_EX, start_fn)(a);
    if (their_core[NVTXABI_RANGE_START_EX])
        nvtx_chain_range(id, THEIRS(core, NVTXABI_RANGE_START_EX, start_fn)(translated(NULL, a, &copy)));
    return id;
}

static void end(uint64_t id)
{
    BOTH(core, NVTXABI_RANGE_END, end_fn, (id), (nvtx_chain_take_range(id)));
}

/* Text functions, narrow and wide alike: only the pointer passes through. */
#define TEXT(NAME, INDEX)                           \
    static void NAME(const void *text)              \
    {                                               \
        BOTH(core, INDEX, text_fn, (text), (text)); \
    }
TEXT(mark_a, NVTXABI_MARK_A)
TEXT(mark_w, NVTXABI_MARK_W)
#define PUSH_TEXT(NAME, INDEX)                               \
    static int NAME(const void *text)                        \
    {                                                        \
        int level = OURS(core, INDEX, push_text_fn)(text);   \
        if (their_core[INDEX])                               \
            level = THEIRS(core, INDEX, push_text_fn)(text); \
        return level;                                        \
    }
PUSH_TEXT(push_a, NVTXABI_RANGE_PUSH_A)
PUSH_TEXT(push_w, NVTXABI_RANGE_PUSH_W)
#define START_TEXT(NAME, INDEX)                                             \
    static uint64_t NAME(const void *text)                                  \
    {                                                                       \
        uint64_t id = OURS(core, INDEX, start_text_fn)(text);               \
        if (their_core[INDEX])                                              \
            nvtx_chain_range(id, THEIRS(core, INDEX, start_text_fn)(text)); \
        return id;                                                          \
    }
START_TEXT(start_a, NVTXABI_RANGE_START_A)
START_TEXT(start_w, NVTXABI_RANGE_START_W)
#define NAMING(NAME, INDEX)                                         \
    static void NAME(uint32_t number, const void *text)             \
    {                                                               \
        BOTH(core, INDEX, name_fn, (number, text), (number, text)); \
    }
NAMING(name_category_a, NVTXABI_NAME_CATEGORY_A)
NAMING(name_category_w, NVTXABI_NAME_CATEGORY_W)
NAMING(name_thread_a, NVTXABI_NAME_OS_THREAD_A)
NAMING(name_thread_w, NVTXABI_NAME_OS_THREAD_W)

static void domain_mark(const void *d, attributes a)
{
    struct nvtxabi_attributes copy;
    BOTH(core2, NVTXABI_DOMAIN_MARK_EX, domain_mark_fn, (d, a), (nvtx_chain_domain(d), translated(d, a, &copy)));
}

static int domain_push(const void *d, attributes a)
{
    struct nvtxabi_attributes copy;
    int level = OURS(core2, NVTXABI_DOMAIN_RANGE_PUSH_EX, domain_push_fn)(d, a);
    if (their_core2[NVTXABI_DOMAIN_RANGE_PUSH_EX])
        level =
            THEIRS(core2, NVTXABI_DOMAIN_RANGE_PUSH_EX, domain_push_fn)(nvtx_chain_domain(d), translated(d, a, &copy));
    return level;
}

static int domain_pop(const void *d)
{
    int level = OURS(core2, NVTXABI_DOMAIN_RANGE_POP, domain_pop_fn)(d);
    if (their_core2[NVTXABI_DOMAIN_RANGE_POP])
        level = THEIRS(core2, NVTXABI_DOMAIN_RANGE_POP, domain_pop_fn)(nvtx_chain_domain(d));
    return level;
}

static uint64_t domain_start(const void *d, attributes a)
{
    struct nvtxabi_attributes copy;
    uint64_t id = OURS(core2, NVTXABI_DOMAIN_RANGE_START_EX, domain_start_fn)(d, a);
    if (their_core2[NVTXABI_DOMAIN_RANGE_START_EX])
        nvtx_chain_range(id, THEIRS(core2, NVTXABI_DOMAIN_RANGE_START_EX, domain_start_fn)(nvtx_chain_domain(d),
                                                                                           translated(d, a, &copy)));
    return id;
}

static void domain_end(const void *d, uint64_t id)
{
    BOTH(core2, NVTXABI_DOMAIN_RANGE_END, domain_end_fn, (d, id), (nvtx_chain_domain(d), nvtx_chain_take_range(id)));
}

#define DOMAIN_NAMING(NAME, INDEX)                                                                   \
    static void NAME(const void *d, uint32_t number, const void *text)                               \
    {                                                                                                \
        BOTH(core2, INDEX, domain_name_fn, (d, number, text), (nvtx_chain_domain(d), number, text)); \
    }
DOMAIN_NAMING(domain_name_a, NVTXABI_DOMAIN_NAME_CATEGORY_A)
DOMAIN_NAMING(domain_name_w, NVTXABI_DOMAIN_NAME_CATEGORY_W)

/* A handle goes to the program as ours, or as theirs when we record nothing. */
#define REGISTERING(NAME, INDEX)                                                     \
    static const void *NAME(const void *d, const void *text)                         \
    {                                                                                \
        const void *ours = OURS(core2, INDEX, register_fn)(d, text), *theirs = NULL; \
        if (their_core2[INDEX])                                                      \
            theirs = THEIRS(core2, INDEX, register_fn)(nvtx_chain_domain(d), text);  \
        keep(BITS(ours), BITS(d), BITS(theirs));                                     \
        return ours ? ours : theirs;                                                 \
    }
REGISTERING(register_a, NVTXABI_DOMAIN_REGISTER_STRING_A)
REGISTERING(register_w, NVTXABI_DOMAIN_REGISTER_STRING_W)
#define CREATING(NAME, INDEX)                                                   \
    static const void *NAME(const void *text)                                   \
    {                                                                           \
        const void *ours = OURS(core2, INDEX, create_fn)(text), *theirs = NULL; \
        if (their_core2[INDEX])                                                 \
            theirs = THEIRS(core2, INDEX, create_fn)(text);                     \
        keep(BITS(ours), KIND_DOMAIN, BITS(theirs));                            \
        return ours ? ours : theirs;                                            \
    }
CREATING(create_a, NVTXABI_DOMAIN_CREATE_A)
CREATING(create_w, NVTXABI_DOMAIN_CREATE_W)

static void destroy(const void *d)
{
    BOTH(core2, NVTXABI_DOMAIN_DESTROY, destroy_fn, (d), (nvtx_chain_domain(d)));
}

/* Resources are nothing to us: their handle is the program's. */
static const void *resource_create(const void *d, const void *resource)
{
    return their_core2[NVTXABI_DOMAIN_RESOURCE_CREATE]
               ? THEIRS(core2, NVTXABI_DOMAIN_RESOURCE_CREATE, resource_fn)(nvtx_chain_domain(d), resource)
               : NULL;
}

/* ---- attaching -------------------------------------------------------------------------------- */

#define SLOT(index, fn) [index] = (nvtxabi_fn)(void *)fn
static const nvtxabi_fn chained_core[NVTXABI_CORE_SIZE] = {
    SLOT(NVTXABI_MARK_EX, mark_ex),
    SLOT(NVTXABI_MARK_A, mark_a),
    SLOT(NVTXABI_MARK_W, mark_w),
    SLOT(NVTXABI_RANGE_START_EX, start_ex),
    SLOT(NVTXABI_RANGE_START_A, start_a),
    SLOT(NVTXABI_RANGE_START_W, start_w),
    SLOT(NVTXABI_RANGE_END, end),
    SLOT(NVTXABI_RANGE_PUSH_EX, push_ex),
    SLOT(NVTXABI_RANGE_PUSH_A, push_a),
    SLOT(NVTXABI_RANGE_PUSH_W, push_w),
    SLOT(NVTXABI_RANGE_POP, pop),
    SLOT(NVTXABI_NAME_CATEGORY_A, name_category_a),
    SLOT(NVTXABI_NAME_CATEGORY_W, name_category_w),
    SLOT(NVTXABI_NAME_OS_THREAD_A, name_thread_a),
    SLOT(NVTXABI_NAME_OS_THREAD_W, name_thread_w),
};
static const nvtxabi_fn chained_core2[NVTXABI_CORE2_SIZE] = {
    SLOT(NVTXABI_DOMAIN_MARK_EX, domain_mark),
    SLOT(NVTXABI_DOMAIN_RANGE_START_EX, domain_start),
    SLOT(NVTXABI_DOMAIN_RANGE_END, domain_end),
    SLOT(NVTXABI_DOMAIN_RANGE_PUSH_EX, domain_push),
    SLOT(NVTXABI_DOMAIN_RANGE_POP, domain_pop),
    SLOT(NVTXABI_DOMAIN_RESOURCE_CREATE, resource_create),
    SLOT(NVTXABI_DOMAIN_NAME_CATEGORY_A, domain_name_a),
    SLOT(NVTXABI_DOMAIN_NAME_CATEGORY_W, domain_name_w),
    SLOT(NVTXABI_DOMAIN_REGISTER_STRING_A, register_a),
    SLOT(NVTXABI_DOMAIN_REGISTER_STRING_W, register_w),
    SLOT(NVTXABI_DOMAIN_CREATE_A, create_a),
    SLOT(NVTXABI_DOMAIN_CREATE_W, create_w),
    SLOT(NVTXABI_DOMAIN_DESTROY, destroy),
};

/* What the other tool put into the program's table: only what is not there without a tool. */
static void take_installed(const struct nvtxabi_callbacks *callbacks, int module, const nvtxabi_fn *before,
                           nvtxabi_fn *theirs, unsigned n)
{
    nvtxabi_fn **table = NULL;
    unsigned size = 0;
    if (!callbacks->module_table(module, &table, &size) || !table)
        return;
    for (unsigned i = 1; i < n && i < size; i++)
        if (table[i] && *table[i] != before[i])
            theirs[i] = *table[i];
}

static void look_at_table(const struct nvtxabi_callbacks *callbacks, int module, nvtxabi_fn *before, unsigned n)
{
    nvtxabi_fn **table = NULL;
    unsigned size = 0;
    if (!callbacks->module_table(module, &table, &size) || !table)
        return;
    for (unsigned i = 1; i < n && i < size; i++)
        before[i] = table[i] ? *table[i] : NULL;
}

int nvtx_chain_attach(nvtxabi_export_table_fn export_table, nvtxabi_fn *core, nvtxabi_fn *core2)
{
    nvtxabi_fn before[NVTXABI_CORE_SIZE] = {0}, before2[NVTXABI_CORE2_SIZE] = {0};
    const struct nvtxabi_callbacks *callbacks = export_table(NVTXABI_TABLE_CALLBACKS);
    pthread_once(&other_once, load_other);
    if (!other.attach || !callbacks || callbacks->struct_size < sizeof *callbacks)
        return 0;
    look_at_table(callbacks, NVTXABI_MODULE_CORE, before, NVTXABI_CORE_SIZE);
    look_at_table(callbacks, NVTXABI_MODULE_CORE2, before2, NVTXABI_CORE2_SIZE);
    if (!other.attach(export_table))
        return 0;
    take_installed(callbacks, NVTXABI_MODULE_CORE, before, their_core, NVTXABI_CORE_SIZE);
    take_installed(callbacks, NVTXABI_MODULE_CORE2, before2, their_core2, NVTXABI_CORE2_SIZE);
    for (int i = 0; i < NVTXABI_CORE_SIZE; i++) {
        our_core[i] = core[i];
        core[i] = chained_core[i];
    }
    for (int i = 0; i < NVTXABI_CORE2_SIZE; i++) {
        our_core2[i] = core2[i];
        core2[i] = chained_core2[i];
    }
    return 1;
}
