/* nccl_library.cu - see nccl_library.cuh. */
#include "trainer/gpu/nccl_library.cuh"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

static int resolve(void *library, struct nccl *n, struct dcr_err *err)
{
    void *at = nullptr;
#define X(member, symbol, result, arguments)                                                            \
    at = dlsym(library, symbol);                                                                        \
    if (!at)                                                                                            \
        return dcr_err_set(err, DCR_FAIL,                                                               \
                           "the " NCCL_ABI_LIBRARY " found here has no %s; it must be NCCL's, 2.13 or " \
                           "later",                                                                     \
                           symbol);                                                                     \
    std::memcpy(&n->member, &at, sizeof at);
    NCCL_ABI_CALLS(X)
#undef X
    if (n->version(&n->version_code) != NCCL_ABI_SUCCESS || n->version_code < NCCL_ABI_OLDEST)
        return dcr_err_set(err, DCR_FAIL, "the NCCL found here has version code %d, at least %d (2.13) is needed",
                           n->version_code, NCCL_ABI_OLDEST);
    return 0;
}

static int open_library(struct nccl *n, struct dcr_err *err)
{
    /* All connections are made while the ranks join, under their deadline, and not in the first sum of a step. Read by
     * NCCL before its first call; what the user has set stays. */
    setenv("NCCL_RUNTIME_CONNECT", "0", 0);
    /* A sum that is recorded into a graph would have its buffers registered, for which the ranks of a host talk to each
     * other. But a rank may record a step that another, with a batch of another size, still does piece by piece: it
     * would wait for ever. Gradients of some MB gain nothing by it. */
    setenv("NCCL_GRAPH_REGISTER", "0", 0);
    void *library = dlopen(NCCL_ABI_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        return dcr_err_set(err, DCR_FAIL,
                           "several GPUs need NCCL, which cannot be loaded: %s; put its folder on LD_LIBRARY_PATH, or "
                           "start one rank",
                           why ? why : "no reason was given");
    }
    int rc = resolve(library, n, err);
    if (rc)
        dlclose(library);
    return rc;
}

int nccl_library(const struct nccl **out, struct dcr_err *err)
{
    static struct nccl calls;
    if (!calls.version_code) {
        struct nccl n = {};
        int rc = open_library(&n, err);
        if (rc)
            return rc;
        calls = n;
    }
    *out = &calls;
    return 0;
}
