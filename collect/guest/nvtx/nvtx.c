/* nvtx.c - the callbacks of NVTX. Programs find this library through NVTX_INJECTION64_PATH. Each of their shared
 * objects has its own copy of NVTX, which initialises by itself, so InitializeInjectionNvtx2 may be called many times.
 * The interface is nvtx_abi.h. */
#include "collect/guest/hot.h"
#include "collect/guest/nvtx/nvtx_abi.h"
#include "collect/guest/nvtx/nvtx_payload.h"

#include <dlfcn.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

/* Category and payload of an event; returns NULL when it has neither. */
static const struct dct_attr *attr_of(const struct nvtxabi_attributes *a, struct dct_attr *out)
{
    /* A colour is kept without its opacity. */
    uint32_t color = a->color_type == NVTXABI_COLOR_ARGB ? a->color & 0xffffff : 0;
    *out = (struct dct_attr){.category = a->category};
    switch (a->payload_type) {
    case NVTXABI_PAYLOAD_U64:
        out->payload_type = DCT_PAYLOAD_U64;
        out->payload = a->payload.u64;
        break;
    case NVTXABI_PAYLOAD_U32:
        out->payload_type = DCT_PAYLOAD_U64;
        out->payload = a->payload.u32;
        break;
    case NVTXABI_PAYLOAD_I64:
        out->payload_type = DCT_PAYLOAD_I64;
        out->payload = a->payload.u64;
        break;
    case NVTXABI_PAYLOAD_I32:
        out->payload_type = DCT_PAYLOAD_I64;
        out->payload = (uint64_t)(int64_t)a->payload.i32;
        break;
    case NVTXABI_PAYLOAD_F64:
        out->payload_type = DCT_PAYLOAD_F64;
        out->payload = a->payload.u64;
        break;
    case NVTXABI_PAYLOAD_F32: {
        double wide = (double)a->payload.f32;
        out->payload_type = DCT_PAYLOAD_F64;
        memcpy(&out->payload, &wide, sizeof wide);
        break;
    }
    default:
        break;
    }
    out->payload_type |= color << 8;
    return out->category || out->payload_type ? out : NULL;
}

/* Bytes of an extended payload in the form of the trace, and its attr. Kept out of line because it is rare and
 * large. */
struct raw {
    struct dct_attr attr;
    unsigned char bytes[DCT_MAX_RAW];
};

static void raw_of(const struct nvtxabi_attributes *a, struct raw *out)
{
    const struct nvtxabi_item *items = (const struct nvtxabi_item *)(uintptr_t)a->payload.u64;
    (void)attr_of(a, &out->attr);
    out->attr.payload_type |= DCT_PAYLOAD_RAW;
    out->attr.payload = nvtx_payload_bytes(items, (size_t)a->reserved, out->bytes);
}

static int is_extended(const struct nvtxabi_attributes *a)
{
    return a && a->payload_type == NVTXABI_PAYLOAD_EXT && a->payload.u64 && a->reserved > 0;
}

static uint32_t message_of(struct spool_track *t, const struct nvtxabi_attributes *a)
{
    switch (a->message_type) {
    case NVTXABI_MESSAGE_ASCII:
        return spool_name(t, a->message.ascii);
    case NVTXABI_MESSAGE_WIDE:
        return spool_name_wide(t, a->message.wide);
    case NVTXABI_MESSAGE_REGISTERED:
        return spool_registered(t, a->message.registered);
    default:
        return 0;
    }
}

static __attribute__((noinline)) int push_extended(struct spool_track *t, uint32_t d,
                                                   const struct nvtxabi_attributes *a)
{
    struct raw raw;
    raw_of(a, &raw);
    return spool_put_push_raw(t, d, message_of(t, a), &raw.attr, raw.bytes);
}

static __attribute__((noinline)) uint64_t start_extended(struct spool_track *t, uint32_t d,
                                                         const struct nvtxabi_attributes *a)
{
    struct raw raw;
    raw_of(a, &raw);
    return spool_put_start_raw(t, d, message_of(t, a), &raw.attr, raw.bytes);
}

static __attribute__((noinline)) void mark_extended(struct spool_track *t, uint32_t d,
                                                    const struct nvtxabi_attributes *a)
{
    struct raw raw;
    raw_of(a, &raw);
    spool_put_mark_raw(t, d, message_of(t, a), &raw.attr, raw.bytes);
}

/* ---- ranges of a thread --------------------------------------------------------------------- */

static int domain_range_push_ex(const void *domain, const struct nvtxabi_attributes *a)
{
    struct spool_track *t = hot_enter();
    if (!t)
        return NVTXABI_NO_TRACKING;
    struct dct_attr attr;
    uint32_t d = spool_domain_of(t, domain);
    int level = is_extended(a) ? push_extended(t, d, a)
                               : hot_push(t, d, a ? message_of(t, a) : 0, a ? attr_of(a, &attr) : NULL);
    hot_leave();
    return level;
}

static int domain_range_pop(const void *domain)
{
    struct spool_track *t = hot_enter_to_end();
    if (!t)
        return NVTXABI_NO_TRACKING;
    int64_t now = clock_now_ns(&t->clock);
    int level = hot_pop(t, spool_domain_of(t, domain), now);
    hot_leave();
    return level;
}

static int range_push_ex(const struct nvtxabi_attributes *a)
{
    return domain_range_push_ex(NULL, a);
}

static int range_push_a(const char *text)
{
    struct spool_track *t = hot_enter();
    if (!t)
        return NVTXABI_NO_TRACKING;
    int level = hot_push(t, 0, hot_name(t, text), NULL);
    hot_leave();
    return level;
}

static int range_push_w(const wchar_t *text)
{
    struct spool_track *t = spool_enter();
    if (!t)
        return NVTXABI_NO_TRACKING;
    int level = spool_put_push(t, 0, spool_name_wide(t, text), NULL);
    spool_leave(t);
    return level;
}

static int range_pop(void)
{
    struct spool_track *t = hot_enter_to_end();
    if (!t)
        return NVTXABI_NO_TRACKING;
    int level = hot_pop(t, 0, clock_now_ns(&t->clock));
    hot_leave();
    return level;
}

/* ---- ranges of the process, marks ----------------------------------------------------------- */

static uint64_t domain_range_start_ex(const void *domain, const struct nvtxabi_attributes *a)
{
    struct spool_track *t = spool_enter();
    if (!t)
        return 0;
    struct dct_attr attr;
    uint32_t d = spool_domain_of(t, domain);
    uint64_t id = is_extended(a) ? start_extended(t, d, a)
                                 : spool_put_start(t, d, a ? message_of(t, a) : 0, a ? attr_of(a, &attr) : NULL);
    spool_leave(t);
    return id;
}

static uint64_t range_start_ex(const struct nvtxabi_attributes *a)
{
    return domain_range_start_ex(NULL, a);
}

static uint64_t range_start_a(const char *text)
{
    struct nvtxabi_attributes a = {.message_type = NVTXABI_MESSAGE_ASCII, .message.ascii = text};
    return domain_range_start_ex(NULL, &a);
}

static uint64_t range_start_w(const wchar_t *text)
{
    struct nvtxabi_attributes a = {.message_type = NVTXABI_MESSAGE_WIDE, .message.wide = text};
    return domain_range_start_ex(NULL, &a);
}

static void domain_range_end(const void *domain, uint64_t id)
{
    struct spool_track *t = spool_enter_to_end();
    if (!t)
        return;
    int64_t now = spool_track_now(t);
    spool_put_end(t, spool_domain_of(t, domain), id, now);
    spool_leave(t);
}

static void range_end(uint64_t id)
{
    domain_range_end(NULL, id);
}

static void domain_mark_ex(const void *domain, const struct nvtxabi_attributes *a)
{
    struct spool_track *t = spool_enter();
    if (!t)
        return;
    struct dct_attr attr;
    uint32_t d = spool_domain_of(t, domain);
    if (is_extended(a))
        mark_extended(t, d, a);
    else
        spool_put_mark(t, d, a ? message_of(t, a) : 0, a ? attr_of(a, &attr) : NULL);
    spool_leave(t);
}

static void mark_ex(const struct nvtxabi_attributes *a)
{
    domain_mark_ex(NULL, a);
}

static void mark_a(const char *text)
{
    struct nvtxabi_attributes a = {.message_type = NVTXABI_MESSAGE_ASCII, .message.ascii = text};
    domain_mark_ex(NULL, &a);
}

static void mark_w(const wchar_t *text)
{
    struct nvtxabi_attributes a = {.message_type = NVTXABI_MESSAGE_WIDE, .message.wide = text};
    domain_mark_ex(NULL, &a);
}

/* ---- names ---------------------------------------------------------------------------------- */

static void domain_name_category_a(const void *domain, uint32_t category, const char *name)
{
    spool_category(domain, category, name);
}

static void domain_name_category_w(const void *domain, uint32_t category, const wchar_t *name)
{
    char utf8[1024];
    if (!name)
        return;
    spool_wide_to_utf8(name, utf8, sizeof utf8);
    spool_category(domain, category, utf8);
}

static void name_category_a(uint32_t category, const char *name)
{
    spool_category(NULL, category, name);
}

static void name_category_w(uint32_t category, const wchar_t *name)
{
    domain_name_category_w(NULL, category, name);
}

static void name_os_thread_a(uint32_t tid, const char *name)
{
    spool_thread_name(tid, name);
}

static void name_os_thread_w(uint32_t tid, const wchar_t *name)
{
    char utf8[1024];
    if (!name)
        return;
    spool_wide_to_utf8(name, utf8, sizeof utf8);
    spool_thread_name(tid, utf8);
}

static const void *domain_register_string_a(const void *domain, const char *text)
{
    (void)domain; /* one table of texts serves all domains */
    return spool_register(text);
}

static const void *domain_register_string_w(const void *domain, const wchar_t *text)
{
    (void)domain;
    return spool_register_wide(text);
}

/* Handles stay valid, because another part of the program may use the domain of that name. */
static void domain_destroy(const void *domain)
{
    (void)domain;
}

/* ---- attaching ------------------------------------------------------------------------------ */

/* By callback. A recorder does not need the others (resources, nvtxInitialize), so they stay without effect. */
#define SLOT(index, fn) [index] = (nvtxabi_fn)(void *)fn

static const nvtxabi_fn core[NVTXABI_CORE_SIZE] = {
    SLOT(NVTXABI_MARK_EX, mark_ex),
    SLOT(NVTXABI_MARK_A, mark_a),
    SLOT(NVTXABI_MARK_W, mark_w),
    SLOT(NVTXABI_RANGE_START_EX, range_start_ex),
    SLOT(NVTXABI_RANGE_START_A, range_start_a),
    SLOT(NVTXABI_RANGE_START_W, range_start_w),
    SLOT(NVTXABI_RANGE_END, range_end),
    SLOT(NVTXABI_RANGE_PUSH_EX, range_push_ex),
    SLOT(NVTXABI_RANGE_PUSH_A, range_push_a),
    SLOT(NVTXABI_RANGE_PUSH_W, range_push_w),
    SLOT(NVTXABI_RANGE_POP, range_pop),
    SLOT(NVTXABI_NAME_CATEGORY_A, name_category_a),
    SLOT(NVTXABI_NAME_CATEGORY_W, name_category_w),
    SLOT(NVTXABI_NAME_OS_THREAD_A, name_os_thread_a),
    SLOT(NVTXABI_NAME_OS_THREAD_W, name_os_thread_w),
};

static const nvtxabi_fn core2[NVTXABI_CORE2_SIZE] = {
    SLOT(NVTXABI_DOMAIN_MARK_EX, domain_mark_ex),
    SLOT(NVTXABI_DOMAIN_RANGE_START_EX, domain_range_start_ex),
    SLOT(NVTXABI_DOMAIN_RANGE_END, domain_range_end),
    SLOT(NVTXABI_DOMAIN_RANGE_PUSH_EX, domain_range_push_ex),
    SLOT(NVTXABI_DOMAIN_RANGE_POP, domain_range_pop),
    SLOT(NVTXABI_DOMAIN_NAME_CATEGORY_A, domain_name_category_a),
    SLOT(NVTXABI_DOMAIN_NAME_CATEGORY_W, domain_name_category_w),
    SLOT(NVTXABI_DOMAIN_REGISTER_STRING_A, domain_register_string_a),
    SLOT(NVTXABI_DOMAIN_REGISTER_STRING_W, domain_register_string_w),
    SLOT(NVTXABI_DOMAIN_CREATE_A, spool_domain),
    SLOT(NVTXABI_DOMAIN_CREATE_W, spool_domain_wide),
    SLOT(NVTXABI_DOMAIN_DESTROY, domain_destroy),
};

static int attach(const struct nvtxabi_callbacks *callbacks, int module, const nvtxabi_fn *functions, unsigned n)
{
    nvtxabi_fn **table = NULL;
    unsigned size = 0;
    if (!callbacks->module_table(module, &table, &size) || !table)
        return 0;
    for (unsigned i = 1; i < n && i < size; i++)
        if (functions[i] && table[i])
            *table[i] = functions[i];
    return 1;
}

EXPORTED int InitializeInjectionNvtx2(nvtxabi_export_table_fn export_table);

/* The recorder that the process loaded first. Without LD_PRELOAD, CUDA's library may have brought one before NVTX opens
 * the other file. Only one must record. */
static int (*first_recorder(void))(nvtxabi_export_table_fn)
{
    int (*f)(nvtxabi_export_table_fn) = NULL;
    void *first = dlopen("libdccollect-inject.so", RTLD_LAZY | RTLD_NOLOAD);
    if (first) {
        *(void **)&f = dlsym(first, "InitializeInjectionNvtx2");
        dlclose(first);
    }
    return f ? f : InitializeInjectionNvtx2;
}

/* returns 1 when attached; with 0, the program's NVTX makes its calls do nothing */
int InitializeInjectionNvtx2(nvtxabi_export_table_fn export_table)
{
    if (!export_table || !spool_is_wanted())
        return 0;
    int (*first)(nvtxabi_export_table_fn) = first_recorder();
    if (first != InitializeInjectionNvtx2)
        return first(export_table);
    const struct nvtxabi_callbacks *callbacks = export_table(NVTXABI_TABLE_CALLBACKS);
    if (!callbacks || callbacks->struct_size < sizeof *callbacks)
        return 0;
    int is_attached = attach(callbacks, NVTXABI_MODULE_CORE, core, NVTXABI_CORE_SIZE);
    /* Domains came with NVTX 2. If a program has an older copy, its plain ranges are still recorded. */
    (void)attach(callbacks, NVTXABI_MODULE_CORE2, core2, NVTXABI_CORE2_SIZE);
    return is_attached;
}
