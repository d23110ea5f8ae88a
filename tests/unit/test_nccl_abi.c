/* test_nccl_abi.c - compares nccl_abi.h with nccl.h itself, if the toolkit has it. */
#include "trainer/gpu/nccl_abi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#if defined HAVE_NVTX && __has_include(<nccl.h>) /* only then is the toolkit on the include path */
#include <nccl.h>

/* The symbol has exactly this type. */
#define IS(symbol, type) _Generic(&(symbol), type : 1, default : 0)
static const int is_as_declared[] = {
    IS(ncclGetVersion, ncclResult_t (*)(int *)),
    IS(ncclGetErrorString, const char *(*)(ncclResult_t)),
    IS(ncclGetLastError, const char *(*)(ncclComm_t)),
    IS(ncclGetUniqueId, ncclResult_t (*)(ncclUniqueId *)),
    IS(ncclCommInitRank, ncclResult_t (*)(ncclComm_t *, int, ncclUniqueId, int)),
    IS(ncclCommDestroy, ncclResult_t (*)(ncclComm_t)),
    IS(ncclCommAbort, ncclResult_t (*)(ncclComm_t)),
    IS(ncclCommGetAsyncError, ncclResult_t (*)(ncclComm_t, ncclResult_t *)),
    IS(ncclAllReduce,
       ncclResult_t (*)(const void *, void *, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, cudaStream_t)),
};

static void functions(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof is_as_declared / sizeof *is_as_declared; i++)
        assert_int_equal(is_as_declared[i], 1);
    size_t n = 0;
#define X(member, symbol, result, arguments) n++;
    NCCL_ABI_CALLS(X)
#undef X
    assert_int_equal(n, sizeof is_as_declared / sizeof *is_as_declared);
}

/* The types that our declarations use in place of NCCL's. */
static void types(void **state)
{
    (void)state;
    assert_int_equal(sizeof(int), sizeof(ncclResult_t));
    assert_int_equal(sizeof(int), sizeof(ncclDataType_t));
    assert_int_equal(sizeof(int), sizeof(ncclRedOp_t));
    assert_int_equal(sizeof(void *), sizeof(ncclComm_t));
    assert_int_equal(sizeof(void *), sizeof(cudaStream_t));
    assert_int_equal(sizeof(struct nccl_abi_id), sizeof(ncclUniqueId));
    assert_int_equal(_Alignof(struct nccl_abi_id), _Alignof(ncclUniqueId));
}

static void values(void **state)
{
    (void)state;
    assert_int_equal(NCCL_ABI_SUCCESS, ncclSuccess);
    assert_int_equal(NCCL_ABI_IN_PROGRESS, ncclInProgress);
    assert_int_equal(NCCL_ABI_FLOAT32, ncclFloat32);
    assert_int_equal(NCCL_ABI_FLOAT64, ncclFloat64);
    assert_int_equal(NCCL_ABI_BFLOAT16, ncclBfloat16);
    assert_int_equal(NCCL_ABI_SUM, ncclSum);
}
#else
static void functions(void **state)
{
    (void)state;
    skip();
}
#define types functions
#define values functions
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions),
        cmocka_unit_test(types),
        cmocka_unit_test(values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
