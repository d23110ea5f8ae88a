/* test_cupti_abi.c - compares our declarations of CUPTI with the real headers, if there are some. */
#include "collect/guest/cupti/cupti_abi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#if defined(HAVE_NVTX) && __has_include(<cupti.h>)
#include <cupti.h>

#define SAME(ours, theirs) assert_int_equal((long)(ours), (long)(theirs))
#define FIELD(ours, field, Theirs, theirs) SAME(offsetof(struct ours, field), offsetof(Theirs, theirs))

static void numbers_are_the_same(void **state)
{
    (void)state;
    SAME(CUPTIABI_SUCCESS, CUPTI_SUCCESS);
    SAME(CUPTIABI_NO_MORE_RECORDS, CUPTI_ERROR_MAX_LIMIT_REACHED);
    SAME(CUPTIABI_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY);
    SAME(CUPTIABI_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET);
    SAME(CUPTIABI_KERNEL, CUPTI_ACTIVITY_KIND_KERNEL);
    SAME(CUPTIABI_DRIVER, CUPTI_ACTIVITY_KIND_DRIVER);
    SAME(CUPTIABI_RUNTIME, CUPTI_ACTIVITY_KIND_RUNTIME);
    SAME(CUPTIABI_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    SAME(CUPTIABI_OVERHEAD, CUPTI_ACTIVITY_KIND_OVERHEAD);
    SAME(CUPTIABI_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMCPY2);
    SAME(CUPTIABI_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
    SAME(CUPTIABI_MEMORY2, CUPTI_ACTIVITY_KIND_MEMORY2);
    SAME(CUPTIABI_DOMAIN_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API);
    SAME(CUPTIABI_DOMAIN_RUNTIME, CUPTI_CB_DOMAIN_RUNTIME_API);
    SAME(CUPTIABI_THREAD_ID_SYSTEM, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
    SAME(CUPTIABI_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
}

static void kernels(void **state)
{
    (void)state;
    FIELD(cuptiabi_kernel, kind, CUpti_ActivityKernel9, kind);
    FIELD(cuptiabi_kernel, registers, CUpti_ActivityKernel9, registersPerThread);
    FIELD(cuptiabi_kernel, start, CUpti_ActivityKernel9, start);
    FIELD(cuptiabi_kernel, end, CUpti_ActivityKernel9, end);
    FIELD(cuptiabi_kernel, device, CUpti_ActivityKernel9, deviceId);
    FIELD(cuptiabi_kernel, context, CUpti_ActivityKernel9, contextId);
    FIELD(cuptiabi_kernel, stream, CUpti_ActivityKernel9, streamId);
    FIELD(cuptiabi_kernel, grid, CUpti_ActivityKernel9, gridX);
    FIELD(cuptiabi_kernel, block, CUpti_ActivityKernel9, blockX);
    FIELD(cuptiabi_kernel, static_shared, CUpti_ActivityKernel9, staticSharedMemory);
    FIELD(cuptiabi_kernel, dynamic_shared, CUpti_ActivityKernel9, dynamicSharedMemory);
    FIELD(cuptiabi_kernel, correlation, CUpti_ActivityKernel9, correlationId);
    FIELD(cuptiabi_kernel, name, CUpti_ActivityKernel9, name);
    FIELD(cuptiabi_kernel, graph_node, CUpti_ActivityKernel9, graphNodeId);
    FIELD(cuptiabi_kernel, graph, CUpti_ActivityKernel9, graphId);
}

static void copies_and_sets(void **state)
{
    (void)state;
#define COPY(ours, Theirs)                           \
    FIELD(ours, copy, Theirs, copyKind);             \
    FIELD(ours, bytes, Theirs, bytes);               \
    FIELD(ours, start, Theirs, start);               \
    FIELD(ours, end, Theirs, end);                   \
    FIELD(ours, device, Theirs, deviceId);           \
    FIELD(ours, context, Theirs, contextId);         \
    FIELD(ours, stream, Theirs, streamId);           \
    FIELD(ours, correlation, Theirs, correlationId); \
    FIELD(ours, graph_node, Theirs, graphNodeId);    \
    FIELD(ours, graph, Theirs, graphId)
    COPY(cuptiabi_memcpy, CUpti_ActivityMemcpy5);
    COPY(cuptiabi_memcpy2, CUpti_ActivityMemcpyPtoP4);
    FIELD(cuptiabi_memset, bytes, CUpti_ActivityMemset4, bytes);
    FIELD(cuptiabi_memset, start, CUpti_ActivityMemset4, start);
    FIELD(cuptiabi_memset, end, CUpti_ActivityMemset4, end);
    FIELD(cuptiabi_memset, device, CUpti_ActivityMemset4, deviceId);
    FIELD(cuptiabi_memset, stream, CUpti_ActivityMemset4, streamId);
    FIELD(cuptiabi_memset, correlation, CUpti_ActivityMemset4, correlationId);
    FIELD(cuptiabi_memset, graph_node, CUpti_ActivityMemset4, graphNodeId);
    FIELD(cuptiabi_memset, graph, CUpti_ActivityMemset4, graphId);
}

static void the_others(void **state)
{
    (void)state;
    FIELD(cuptiabi_memory, operation, CUpti_ActivityMemory3, memoryOperationType);
    FIELD(cuptiabi_memory, correlation, CUpti_ActivityMemory3, correlationId);
    FIELD(cuptiabi_memory, address, CUpti_ActivityMemory3, address);
    FIELD(cuptiabi_memory, bytes, CUpti_ActivityMemory3, bytes);
    FIELD(cuptiabi_memory, timestamp, CUpti_ActivityMemory3, timestamp);
    FIELD(cuptiabi_memory, device, CUpti_ActivityMemory3, deviceId);
    FIELD(cuptiabi_memory, context, CUpti_ActivityMemory3, contextId);
    FIELD(cuptiabi_memory, stream, CUpti_ActivityMemory3, streamId);
    FIELD(cuptiabi_api, callback, CUpti_ActivityAPI, cbid);
    FIELD(cuptiabi_api, start, CUpti_ActivityAPI, start);
    FIELD(cuptiabi_api, end, CUpti_ActivityAPI, end);
    FIELD(cuptiabi_api, thread, CUpti_ActivityAPI, threadId);
    FIELD(cuptiabi_api, correlation, CUpti_ActivityAPI, correlationId);
    FIELD(cuptiabi_api, returned, CUpti_ActivityAPI, returnValue);
    FIELD(cuptiabi_synchronization, type, CUpti_ActivitySynchronization, type);
    FIELD(cuptiabi_synchronization, start, CUpti_ActivitySynchronization, start);
    FIELD(cuptiabi_synchronization, end, CUpti_ActivitySynchronization, end);
    FIELD(cuptiabi_synchronization, correlation, CUpti_ActivitySynchronization, correlationId);
    FIELD(cuptiabi_synchronization, stream, CUpti_ActivitySynchronization, streamId);
    FIELD(cuptiabi_overhead, overhead, CUpti_ActivityOverhead, overheadKind);
    FIELD(cuptiabi_overhead, start, CUpti_ActivityOverhead, start);
    FIELD(cuptiabi_overhead, end, CUpti_ActivityOverhead, end);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_the_same),
        cmocka_unit_test(kernels),
        cmocka_unit_test(copies_and_sets),
        cmocka_unit_test(the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
    puts("1..1\nok 1 - the same declarations as CUPTI # SKIP no CUPTI headers here");
    return 0;
}
#endif
