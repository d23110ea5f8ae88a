/* library.c - see library.h. */
#include "trainer/gpu/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY_VARIABLE "DCRNN_CUDA_LIBRARY"
#define BESIDE "../lib/dcreport/libdcrnn-cuda.so"

static int find(char *path, size_t size, struct dcr_err *err)
{
    const char *given = getenv(LIBRARY_VARIABLE);
    int n = 0;
    if (given && *given) {
        n = snprintf(path, size, "%s", given);
    } else {
        ssize_t length = readlink("/proc/self/exe", path, size - 1);
        if (length < 0)
            return dcr_err_sys(err, DCR_FAIL, "cannot tell where this program stands; set " LIBRARY_VARIABLE);
        path[length] = '\0';
        char *slash = strrchr(path, '/');
        size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
        n = (int)folder + snprintf(path + folder, size - folder, BESIDE);
    }
    if (n < 0 || (size_t)n >= size)
        return dcr_err_set(err, DCR_FAIL, "the path of the CUDA library is too long; set " LIBRARY_VARIABLE);
    if (access(path, R_OK) != 0)
        return dcr_err_set(
            err, DCR_FAIL,
            "--backend cuda: there is no CUDA part '%s' (%s): build with nvcc on the PATH, set " LIBRARY_VARIABLE
            ", or use --backend cpu",
            path, strerror(errno));
    return 0;
}

int gpu_library_open(const struct gpu_api **out, struct dcr_err *err)
{
    char path[4096];
    int rc = find(path, sizeof path, err);
    if (rc)
        return rc;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return dcr_err_set(err, DCR_FAIL,
                           "--backend cuda: cannot load the CUDA part: %s; put CUDA 13's libraries on LD_LIBRARY_PATH, "
                           "or use --backend cpu",
                           dlerror());
    gpu_api_fn *entry = NULL;
    void *symbol = dlsym(library, GPU_API_SYMBOL);
    memcpy(&entry, &symbol, sizeof entry); /* ISO C has no cast from object to function pointer */
    *out = entry ? entry(GPU_API_VERSION) : NULL;
    if (!*out) {
        dlclose(library);
        return dcr_err_set(err, DCR_FAIL, "--backend cuda: '%s' belongs to another version of this program; build both",
                           path);
    }
    return 0;
}
