/* nvtx.c - the callbacks of NVTX. Programs find this library through NVTX_INJECTION64_PATH. Each of their shared
 * objects has its own copy of NVTX, which initialises by itself, so InitializeInjectionNvtx2 may be called many times.
 * The interface is nvtx_abi.h. */
#include "collect/guest/hot.h"
#include "collect/guest/nvtx/nvtx_abi.h"
#include "collect/guest/nvtx/payload.h"

#include <dlfcn.h>
#include <string.h>

/* ---- wide texts --------------------------------------------------------------------------------- */

static size_t put_utf8(uint32_t c, char out[4])
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        c = 0xfffd;
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)((n == 2 ? 0xc0 : n == 3 ? 0xe0 : 0xf0) | c);
    return n;
}

struct utf8 {
    char text[2048];
};

/* The text in UTF-8, cut when it is too long; unpaired surrogates and values beyond Unicode become U+FFFD. */
static const char *utf8_of(const wchar_t *in, struct utf8 *out)
{
    size_t used = 0;
    if (!in)
        return NULL;
    for (char one[4]; *in; in++) {
        size_t len = put_utf8((uint32_t)*in, one);
        if (used + len + 1 > sizeof out->text)
            break;
        memcpy(out->text + used, one, len);
        used += len;
    }
    out->text[used] = '\0';
    return out->text;
}

/* ---- attributes ----------------------------------------------------------------------------------- */

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

static int is_extended(const struct nvtxabi_attributes *a)
{
    return a && a->payload_type == NVTXABI_PAYLOAD_EXT && a->payload.u64 && a->reserved > 0;
}

static __attribute__((noinline)) uint32_t name_wide(struct spool_track *t, const wchar_t *text)
{
    struct utf8 utf8;
    return hot_name(t, utf8_of(text, &utf8));
}

static uint32_t message_of(struct spool_track *t, const struct nvtxabi_attributes *a)
{
    switch (a->message_type) {
    case NVTXABI_MESSAGE_ASCII:
        return hot_name(t, a->message.ascii);
    case NVTXABI_MESSAGE_WIDE:
        return name_wide(t, a->message.wide);
    case NVTXABI_MESSAGE_REGISTERED:
        return spool_registered(a->message.registered);
    default:
        return 0;
    }
}

/* An event with structured data. Kept out of line because it is rare and large.
 *  kind     DCT_PUSH, DCT_POP, DCT_START, DCT_END or DCT_MARK; id: of the range that ends
 *  returns  level or number of the range */
static __attribute__((noinline)) uint64_t put_extended(int kind, struct spool_track *t, uint32_t d,
                                                       const struct nvtxabi_attributes *a, uint64_t id)
{
    unsigned char raw[DCT_MAX_RAW];
    struct dct_attr attr;
    int64_t now = clock_now_ns(&t->clock);
    (void)attr_of(a, &attr);
    attr.payload_type |= DCT_PAYLOAD_RAW;
    attr.payload = payload_bytes((const struct nvtxabi_item *)(uintptr_t)a->payload.u64, (size_t)a->reserved, raw);
    switch (kind) {
    case DCT_PUSH:
        return (uint64_t)spool_put_push(t, d, message_of(t, a), &attr, raw);
    case DCT_POP:
        return (uint64_t)spool_put_pop(t, d, now, attr.payload ? &attr : NULL, raw);
    case DCT_START:
        return spool_put_start(t, d, message_of(t, a), &attr, raw);
    case DCT_END:
        spool_put_end(t, d, id, now, attr.payload ? &attr : NULL, raw);
        return id;
    default:
        spool_put_mark(t, d, message_of(t, a), &attr, raw);
        return 0;
    }
}

/* ---- ranges of a thread --------------------------------------------------------------------- */

static int domain_range_push_ex(const void *domain, const struct nvtxabi_attributes *a)
{
    struct spool_track *t = hot_enter();
    if (!t)
        return NVTXABI_NO_TRACKING;
    struct dct_attr attr;
    uint32_t d = spool_domain_of(domain);
    int level = is_extended(a) ? (int)put_extended(DCT_PUSH, t, d, a, 0)
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
    int level = hot_pop(t, spool_domain_of(domain), now);
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
    struct utf8 utf8;
    return range_push_a(utf8_of(text, &utf8));
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
    struct spool_track *t = hot_enter();
    if (!t)
        return 0;
    struct dct_attr attr;
    uint32_t d = spool_domain_of(domain);
    uint64_t id = is_extended(a) ? put_extended(DCT_START, t, d, a, 0)
                                 : spool_put_start(t, d, a ? message_of(t, a) : 0, a ? attr_of(a, &attr) : NULL, NULL);
    hot_leave();
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
    struct spool_track *t = hot_enter_to_end();
    if (!t)
        return;
    int64_t now = clock_now_ns(&t->clock);
    spool_put_end(t, spool_domain_of(domain), id, now, NULL, NULL);
    hot_leave();
}

static void range_end(uint64_t id)
{
    domain_range_end(NULL, id);
}

static void domain_mark_ex(const void *domain, const struct nvtxabi_attributes *a)
{
    struct spool_track *t = hot_enter();
    if (!t)
        return;
    struct dct_attr attr;
    uint32_t d = spool_domain_of(domain);
    if (is_extended(a))
        put_extended(DCT_MARK, t, d, a, 0);
    else
        spool_put_mark(t, d, a ? message_of(t, a) : 0, a ? attr_of(a, &attr) : NULL, NULL);
    hot_leave();
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
    spool_say(DCT_CATEGORY, domain, category, name);
}

static void domain_name_category_w(const void *domain, uint32_t category, const wchar_t *name)
{
    struct utf8 utf8;
    domain_name_category_a(domain, category, utf8_of(name, &utf8));
}

static void name_category_a(uint32_t category, const char *name)
{
    domain_name_category_a(NULL, category, name);
}

static void name_category_w(uint32_t category, const wchar_t *name)
{
    domain_name_category_w(NULL, category, name);
}

static void name_os_thread_a(uint32_t tid, const char *name)
{
    spool_say(DCT_THREAD, NULL, tid, name);
}

static void name_os_thread_w(uint32_t tid, const wchar_t *name)
{
    struct utf8 utf8;
    name_os_thread_a(tid, utf8_of(name, &utf8));
}

static const void *domain_register_string_a(const void *domain, const char *text)
{
    (void)domain; /* one table of texts serves all domains */
    return spool_register(text);
}

static const void *domain_register_string_w(const void *domain, const wchar_t *text)
{
    struct utf8 utf8;
    return domain_register_string_a(domain, utf8_of(text, &utf8));
}

static const void *domain_create_w(const wchar_t *name)
{
    struct utf8 utf8;
    return spool_domain(utf8_of(name, &utf8));
}

/* ---- the payload extension -------------------------------------------------------------------- */

static uint64_t n_schemas;

/* Number of a definition: the program's; if it has none, one of ours. */
static uint64_t id_of(int has_own, uint64_t own)
{
    return has_own && own ? own : NVTXABI_SCHEMA_DYNAMIC_START + __atomic_fetch_add(&n_schemas, 1, __ATOMIC_RELAXED);
}

static uint64_t schema_register(const void *domain, const struct nvtxabi_schema *s)
{
    char text[PAYLOAD_TEXT];
    if (!s)
        return 0;
    uint64_t id = id_of((s->fields & NVTXABI_SCHEMA_HAS_ID) != 0, s->id);
    payload_text_of(s, id, text, sizeof text);
    spool_say(DCT_SCHEMA, domain, (uint32_t)id, text);
    return id;
}

static uint64_t enum_register(const void *domain, const struct nvtxabi_enum *e)
{
    char text[PAYLOAD_TEXT];
    if (!e)
        return 0;
    uint64_t id = id_of((e->fields & NVTXABI_ENUM_HAS_ID) != 0, e->id);
    payload_text_of_enum(e, id, text, sizeof text);
    spool_say(DCT_SCHEMA, domain, (uint32_t)id, text);
    return id;
}

/* Events whose message is also in the payload have no name. */
static struct nvtxabi_attributes with_items(const struct nvtxabi_item *items, size_t n)
{
    return (struct nvtxabi_attributes){.payload_type = NVTXABI_PAYLOAD_EXT,
                                       .payload.u64 = (uintptr_t)items,
                                       .reserved = items && n <= INT32_MAX ? (int32_t)n : 0};
}

static void mark_payload(const void *domain, const struct nvtxabi_item *items, size_t n)
{
    const struct nvtxabi_attributes a = with_items(items, n);
    domain_mark_ex(domain, &a);
}

static int push_payload(const void *domain, const struct nvtxabi_item *items, size_t n)
{
    const struct nvtxabi_attributes a = with_items(items, n);
    return domain_range_push_ex(domain, &a);
}

static int pop_payload(const void *domain, const struct nvtxabi_item *items, size_t n)
{
    const struct nvtxabi_attributes a = with_items(items, n);
    struct spool_track *t = hot_enter_to_end();
    if (!t)
        return NVTXABI_NO_TRACKING;
    int level = (int)put_extended(DCT_POP, t, spool_domain_of(domain), &a, 0);
    hot_leave();
    return level;
}

static uint64_t start_payload(const void *domain, const struct nvtxabi_item *items, size_t n)
{
    const struct nvtxabi_attributes a = with_items(items, n);
    return domain_range_start_ex(domain, &a);
}

static void end_payload(const void *domain, uint64_t id, const struct nvtxabi_item *items, size_t n)
{
    const struct nvtxabi_attributes a = with_items(items, n);
    struct spool_track *t = hot_enter_to_end();
    if (!t)
        return;
    put_extended(DCT_END, t, spool_domain_of(domain), &a, id);
    hot_leave();
}

static uint8_t domain_is_enabled(const void *domain)
{
    (void)domain;
    return 1;
}

EXPORTED int InitializeInjectionNvtxExtension(struct nvtxabi_module *module);

/* NVTX looks for this function by itself. Other extensions (memory, counters) are not recorded. */
int InitializeInjectionNvtxExtension(struct nvtxabi_module *module)
{
    static const struct {
        int index;
        void *fn;
    } ours[] = {
        {NVTXABI_SCHEMA_REGISTER, (void *)schema_register}, {NVTXABI_ENUM_REGISTER, (void *)enum_register},
        {NVTXABI_MARK_PAYLOAD, (void *)mark_payload},       {NVTXABI_PUSH_PAYLOAD, (void *)push_payload},
        {NVTXABI_POP_PAYLOAD, (void *)pop_payload},         {NVTXABI_START_PAYLOAD, (void *)start_payload},
        {NVTXABI_END_PAYLOAD, (void *)end_payload},         {NVTXABI_DOMAIN_IS_ENABLED, (void *)domain_is_enabled}};
    if (!module || module->struct_size < sizeof *module || module->id != NVTXABI_EXT_PAYLOAD ||
        module->n_segments != 1 || !dcc_guest_is_wanted())
        return 0;
    struct nvtxabi_segment *s = module->segments;
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if ((size_t)ours[i].index < s->n_slots)
            s->slots[ours[i].index] = (intptr_t)ours[i].fn;
    return 1;
}

/* ---- attaching ------------------------------------------------------------------------------ */

/* By callback. A recorder does not need the others (resources, nvtxInitialize), so they stay without effect. Handles of
 * domains stay valid, because another part of the program may use the domain of that name. */
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
    SLOT(NVTXABI_DOMAIN_CREATE_W, domain_create_w),
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
    if (!export_table || !dcc_guest_is_wanted())
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
