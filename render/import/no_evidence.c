/* no_evidence.c - see no_evidence.h. Test: tests/unit/test_no_evidence.c, tests/integration/render_devices.sh */
#include "render/import/no_evidence.h"

#include "lib/archive/foreign.h"
#include "lib/base/fs.h"
#include "lib/base/utf8.h"

#include <string.h>

/* Marks of files that contain other files, and of our own files. */
static int is_container(const char *head, size_t n)
{
    static const struct {
        size_t at, n;
        const char *bytes;
    } marks[] = {{0, 2, "\x1f\x8b"} /* gzip */,
                 {0, 4, "\x28\xb5\x2f\xfd"} /* zstd */,
                 {0, 6,
                  "\xfd"
                  "7zXZ"} /* xz, with its zero byte */,
                 {0, 4, "\x04\x22\x4d\x18"} /* lz4 */,
                 {0, 6, "7z\xbc\xaf\x27\x1c"},
                 {0, 4, "PK\x03\x04"} /* zip */,
                 {0, 4, "PK\x05\x06"} /* zip, empty */,
                 {0, 4, "PK\x07\x08"} /* zip, in parts */,
                 {0, 3, "\x5d\0\0"} /* lzma */,
                 {0, 2, "\x1f\x9d"} /* compress */,
                 {257, 5, "ustar"} /* tar */,
                 {0, 13, "SQLite format"},
                 {0, 8, "DCRDCT1\n"} /* a native trace under another name */};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (n >= marks[i].at + marks[i].n && memcmp(head + marks[i].at, marks[i].bytes, marks[i].n) == 0)
            return 1;
    return n >= 4 && memcmp(head, "BZh", 3) == 0 && head[3] >= '1' && head[3] <= '9'; /* bzip2 -1 to -9 */
}

static int is_space(char c)
{
    return (unsigned char)c <= ' ';
}

/* Names that tools give to the files read here. */
static int is_evidence_name(const char *name)
{
    static const char *const ends[] = {".json", ".csv", ".sqlite"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (dcr_ends_with(name, ends[i]))
            return 1;
    return 0;
}

/* Words that only files of scaling benchmarks and TALP have: the file may be a damaged one of these. */
static int has_words(const char *head, size_t n)
{
    static const char *const words[] = {"\"dlbVersion\"", "\"scaling_mode\""};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (memmem(head, n, words[i], strlen(words[i])))
            return 1;
    return 0;
}

int is_no_evidence(const char *head, size_t n, int is_whole, const char *name)
{
    if (is_container(head, n) || dcr_foreign_of_head(head, n, name) != DCR_FOREIGN_UNKNOWN)
        return 0;
    size_t from = utf8_mark(head, n), to = n;
    while (from < to && is_space(head[from]))
        from++;
    while (to > from && is_space(head[to - 1]))
        to--;
    if (from == to)
        return !is_evidence_name(name);
    if (head[from] != '{' && head[from] != '[')
        return 1;
    if (has_words(head, n))
        return 0;
    int is_cut = is_whole && head[to - 1] != '}' && head[to - 1] != ']';
    return !is_cut || !dcr_ends_with(name, ".json"); /* a log's lines may begin with a bracket */
}
