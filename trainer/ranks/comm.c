/* comm.c - the part of comm.h that needs no other rank. */
#include "trainer/ranks/comm.h"

static const struct {
    const char *name;
    size_t bytes;
} dtypes[] = {
#define X(id, name, bytes, text) {name, bytes},
    ALLREDUCE_DTYPES(X)
#undef X
};

const char *allreduce_dtype_name(enum allreduce_dtype t)
{
    return dtypes[t].name;
}

size_t allreduce_dtype_bytes(enum allreduce_dtype t)
{
    return dtypes[t].bytes;
}
