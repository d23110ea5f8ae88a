/* cupti_abi.h - the part of CUPTI's activity interface that we use. It is declared here so that CUDA is not needed
 * to build and every CUPTI from CUDA 11 to 13 works. Later records only add fields at the end.
 * tests/unit/test_cupti_abi.c compares it with the real headers. */
#ifndef DCC_CUPTI_ABI_H
#define DCC_CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

enum { CUPTIABI_SUCCESS = 0, CUPTIABI_NO_MORE_RECORDS = 12 };
enum {
    CUPTIABI_MEMCPY = 1,
    CUPTIABI_MEMSET = 2,
    CUPTIABI_KERNEL = 3,
    CUPTIABI_DRIVER = 4,
    CUPTIABI_RUNTIME = 5,
    CUPTIABI_CONCURRENT_KERNEL = 10,
    CUPTIABI_OVERHEAD = 17,
    CUPTIABI_MEMCPY2 = 22, /* between devices */
    CUPTIABI_SYNCHRONIZATION = 38,
    CUPTIABI_MEMORY2 = 49
};
enum { CUPTIABI_DOMAIN_DRIVER = 1, CUPTIABI_DOMAIN_RUNTIME = 2 };
enum { CUPTIABI_THREAD_ID_SYSTEM = 1, CUPTIABI_FLUSH_FORCED = 1 };

struct cuptiabi_record {
    uint32_t kind;
};

/* CUpti_ActivityKernel5 to 10 */
struct cuptiabi_kernel {
    uint32_t kind;
    uint8_t cache, shared_config;
    uint16_t registers;
    uint32_t partitioned[2];
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    int32_t grid[3], block[3];
    int32_t static_shared, dynamic_shared;
    uint32_t local_per_thread, local_total;
    uint32_t correlation;
    int64_t grid_id;
    const char *name;
    void *reserved;
    uint64_t queued, submitted;
    uint8_t launch_type, is_carveout_requested, carveout, padding;
    uint32_t shared_executed;
    uint64_t graph_node;
    uint32_t shared_limit;
    uint32_t graph;
};

/* CUpti_ActivityMemcpy4 to 6 */
struct cuptiabi_memcpy {
    uint32_t kind;
    uint8_t copy, source, destination, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation, runtime_correlation, padding;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph;
};

/* CUpti_ActivityMemcpyPtoP3 and 4 */
struct cuptiabi_memcpy2 {
    uint32_t kind;
    uint8_t copy, source, destination, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream;
    uint32_t source_device, source_context, destination_device, destination_context;
    uint32_t correlation;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph;
};

/* CUpti_ActivityMemset3 and 4 */
struct cuptiabi_memset {
    uint32_t kind, value;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation;
    uint16_t flags, memory;
    uint32_t padding;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph;
};

/* CUpti_ActivityMemory2 to 4 */
struct cuptiabi_memory {
    uint32_t kind;
    uint32_t operation; /* 1 allocated, 2 released */
    uint32_t memory, correlation;
    uint64_t address, bytes, timestamp, pc;
    uint32_t process, device, context, stream;
};

struct cuptiabi_api {
    uint32_t kind, callback;
    uint64_t start, end;
    uint32_t process, thread, correlation, returned;
};

struct cuptiabi_synchronization {
    uint32_t kind, type;
    uint64_t start, end;
    uint32_t correlation, context, stream, event;
};

struct cuptiabi_overhead {
    uint32_t kind, overhead, object;
    uint32_t object_id[3];
    uint64_t start, end;
};

typedef void (*cuptiabi_requested)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*cuptiabi_completed)(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);

/* X(field, symbol, arguments) */
#define CUPTIABI_FUNCTIONS(X)                                                                         \
    X(get_version, "cuptiGetVersion", (uint32_t *))                                                   \
    X(register_callbacks, "cuptiActivityRegisterCallbacks", (cuptiabi_requested, cuptiabi_completed)) \
    X(enable, "cuptiActivityEnable", (uint32_t kind))                                                 \
    X(next_record, "cuptiActivityGetNextRecord", (uint8_t *, size_t, struct cuptiabi_record **))      \
    X(dropped, "cuptiActivityGetNumDroppedRecords", (void *context, uint32_t stream, size_t *))       \
    X(flush_all, "cuptiActivityFlushAll", (uint32_t flags))                                           \
    X(timestamp, "cuptiGetTimestamp", (uint64_t *))                                                   \
    X(result_string, "cuptiGetResultString", (int, const char **))
/* Missing in some versions. */
#define CUPTIABI_OPTIONAL(X)                                                                \
    X(flush_period, "cuptiActivityFlushPeriod", (uint32_t ms))                              \
    X(thread_id_type, "cuptiSetThreadIdType", (uint32_t type))                              \
    X(callback_name, "cuptiGetCallbackName", (uint32_t domain, uint32_t id, const char **)) \
    X(enable_runtime, "cuptiActivityEnableRuntimeApi", (uint32_t id, uint8_t is_on))        \
    X(enable_driver, "cuptiActivityEnableDriverApi", (uint32_t id, uint8_t is_on))

#endif
