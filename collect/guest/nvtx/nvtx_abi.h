/* nvtx_abi.h - the part of the NVTX 3 tools interface that the injected library needs, declared here so that it
 * compiles without the CUDA toolkit. Numbers and layouts come from NVTX's nvtxDetail/nvtxTypes.h and nvToolsExt.h
 * (interface version 3, unchanged since 3.0); tests/unit/test_nvtx_abi.c compares them with the real headers. */
#ifndef DCC_NVTX_ABI_H
#define DCC_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

/* Tables that a tool can request from the program's copy of NVTX, through the function passed to
 * InitializeInjectionNvtx2. */
enum { NVTXABI_TABLE_CALLBACKS = 1, NVTXABI_TABLE_VERSION = 3 };
enum { NVTXABI_MODULE_CORE = 1, NVTXABI_MODULE_CORE2 = 5 };

typedef void (*nvtxabi_fn)(void);
typedef const void *(*nvtxabi_export_table_fn)(uint32_t table);

struct nvtxabi_callbacks {
    size_t struct_size;
    /* *table[i] is the address of the program's pointer to callback i; 0 when the module is unknown. Index 0 is unused;
     * *size counts the entries, including index 0. */
    int (*module_table)(int module, nvtxabi_fn ***table, unsigned *size);
};

enum nvtxabi_core {
    NVTXABI_MARK_EX = 1,
    NVTXABI_MARK_A,
    NVTXABI_MARK_W,
    NVTXABI_RANGE_START_EX,
    NVTXABI_RANGE_START_A,
    NVTXABI_RANGE_START_W,
    NVTXABI_RANGE_END,
    NVTXABI_RANGE_PUSH_EX,
    NVTXABI_RANGE_PUSH_A,
    NVTXABI_RANGE_PUSH_W,
    NVTXABI_RANGE_POP,
    NVTXABI_NAME_CATEGORY_A,
    NVTXABI_NAME_CATEGORY_W,
    NVTXABI_NAME_OS_THREAD_A,
    NVTXABI_NAME_OS_THREAD_W,
    NVTXABI_CORE_SIZE
};

enum nvtxabi_core2 {
    NVTXABI_DOMAIN_MARK_EX = 1,
    NVTXABI_DOMAIN_RANGE_START_EX,
    NVTXABI_DOMAIN_RANGE_END,
    NVTXABI_DOMAIN_RANGE_PUSH_EX,
    NVTXABI_DOMAIN_RANGE_POP,
    NVTXABI_DOMAIN_RESOURCE_CREATE,
    NVTXABI_DOMAIN_RESOURCE_DESTROY,
    NVTXABI_DOMAIN_NAME_CATEGORY_A,
    NVTXABI_DOMAIN_NAME_CATEGORY_W,
    NVTXABI_DOMAIN_REGISTER_STRING_A,
    NVTXABI_DOMAIN_REGISTER_STRING_W,
    NVTXABI_DOMAIN_CREATE_A,
    NVTXABI_DOMAIN_CREATE_W,
    NVTXABI_DOMAIN_DESTROY,
    NVTXABI_INITIALIZE,
    NVTXABI_CORE2_SIZE
};

enum { NVTXABI_MESSAGE_ASCII = 1, NVTXABI_MESSAGE_WIDE = 2, NVTXABI_MESSAGE_REGISTERED = 3 };
enum {
    NVTXABI_PAYLOAD_U64 = 1,
    NVTXABI_PAYLOAD_I64 = 2,
    NVTXABI_PAYLOAD_F64 = 3,
    NVTXABI_PAYLOAD_U32 = 4,
    NVTXABI_PAYLOAD_I32 = 5,
    NVTXABI_PAYLOAD_F32 = 6
};

enum { NVTXABI_COLOR_ARGB = 1 };

struct nvtxabi_attributes { /* nvtxEventAttributes_t, version 2 and 3 */
    uint16_t version;
    uint16_t size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type;
    int32_t reserved;
    union {
        uint64_t u64;
        int64_t i64;
        double f64;
        uint32_t u32;
        int32_t i32;
        float f32;
    } payload;
    int32_t message_type;
    union {
        const char *ascii;
        const wchar_t *wide;
        const void *registered;
    } message;
};

/* ---- the payload extension (nvToolsExtPayload.h) ---- */

#define NVTXABI_PAYLOAD_EXT ((int32_t)0xDFBD0009) /* payload.u64 points to `reserved` items */
enum { NVTXABI_EXT_PAYLOAD = 2 };                 /* module id */
enum nvtxabi_ext_payload {
    NVTXABI_SCHEMA_REGISTER = 0,
    NVTXABI_ENUM_REGISTER,
    NVTXABI_MARK_PAYLOAD,
    NVTXABI_PUSH_PAYLOAD,
    NVTXABI_POP_PAYLOAD,
    NVTXABI_START_PAYLOAD,
    NVTXABI_END_PAYLOAD,
    NVTXABI_DOMAIN_IS_ENABLED
};
#define NVTXABI_SCHEMA_DYNAMIC_START (UINT64_C(1) << 32)
enum { NVTXABI_SCHEMA_HAS_NAME = 1 << 1, NVTXABI_SCHEMA_HAS_SIZE = 1 << 6, NVTXABI_SCHEMA_HAS_ID = 1 << 8 };

struct nvtxabi_item { /* nvtxPayloadData_t */
    uint64_t schema;
    size_t size; /* SIZE_MAX: unknown */
    const void *bytes;
};
struct nvtxabi_schema_entry {
    uint64_t flags, type;
    const char *name, *description;
    uint64_t detail, offset;
    const void *semantics, *reserved;
};
struct nvtxabi_schema {
    uint64_t fields;
    const char *name;
    uint64_t type, flags;
    const struct nvtxabi_schema_entry *entries;
    size_t n_entries, static_size, alignment;
    uint64_t id;
    void *extension;
};
enum { NVTXABI_ENUM_HAS_NAME = 1 << 1, NVTXABI_ENUM_HAS_SIZE = 1 << 4, NVTXABI_ENUM_HAS_ID = 1 << 5 };
struct nvtxabi_enum_entry { /* nvtxPayloadEnum_t */
    const char *name;
    uint64_t value;
    int8_t is_flag;
};
struct nvtxabi_enum { /* nvtxPayloadEnumAttr_t */
    uint64_t fields;
    const char *name;
    const struct nvtxabi_enum_entry *entries;
    size_t n_entries, size;
    uint64_t id;
    void *extension;
};
struct nvtxabi_segment {
    size_t id, n_slots;
    intptr_t *slots;
};
struct nvtxabi_module {
    uint16_t version, struct_size, id, compatible;
    size_t n_segments;
    struct nvtxabi_segment *segments;
    intptr_t (*export_function)(uint32_t);
    const void *info;
};
typedef int (*nvtxabi_extension_fn)(struct nvtxabi_module *);

#define NVTXABI_NO_TRACKING (-2) /* "this tool does not track push and pop" */

#endif
