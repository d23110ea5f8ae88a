/* trace_end.c - see trace_end.h. Test: tests/unit/test_summary.c */
#include "lib/trace/trace_end.h"

#include "lib/archive/format.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int64_t dct_blocks_before(int fd)
{
    struct dct_file_header h;
    return pread(fd, &h, sizeof h, 0) == (ssize_t)sizeof h && h.magic == DCT_MAGIC
               ? (int64_t)(h.blocks_before & INT64_MAX)
               : 0;
}

int64_t dct_used_bytes(int fd)
{
    static const struct dct_block_header never_used;
    struct stat st;
    struct dct_file_header h;
    struct dct_block_header b;
    if (fstat(fd, &st) != 0)
        return -1;
    ssize_t n = pread(fd, &h, sizeof h, 0);
    if (n < 0)
        return -1;
    if ((size_t)n < sizeof h || h.magic != DCT_MAGIC || h.block_bytes < sizeof h || st.st_size % h.block_bytes)
        return st.st_size;
    int64_t end = st.st_size;
    while (end > h.block_bytes) {
        n = pread(fd, &b, sizeof b, end - h.block_bytes);
        if (n < 0)
            return -1;
        if ((size_t)n < sizeof b || memcmp(&b, &never_used, sizeof b) != 0)
            break;
        end -= h.block_bytes;
    }
    return end;
}
