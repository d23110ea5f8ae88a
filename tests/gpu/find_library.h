/* find_library.h - programs in build/tests/gpu, or in the same place of a bundle, use the device library of that
 * build. */
#ifndef TESTS_GPU_FIND_LIBRARY_H
#define TESTS_GPU_FIND_LIBRARY_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** find_library - sets DCRNN_CUDA_LIBRARY to ../../lib/dcreport beside the program, unless the user has set it. */
static inline void find_library(void)
{
    char program[4096], path[4200];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    char *slash = NULL;
    if (n > 0) {
        program[n] = '\0';
        slash = strrchr(program, '/');
    }
    if (!slash)
        return;
    *slash = '\0';
    snprintf(path, sizeof path, "%s/../../lib/dcreport/libdcrnn-cuda.so", program);
    setenv("DCRNN_CUDA_LIBRARY", path, 0);
}

#endif
