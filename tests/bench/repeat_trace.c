/* repeat_trace.c - makes a Chrome trace of a given length: repeats the events of one, later each time, with new
 * correlation ids. For render_traces.sh. repeat_trace IN OUT MEGABYTES   IN plain or gzip; prints bytes and events */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static char *slurp(const char *path, size_t *n)
{
    gzFile f = gzopen(path, "rb");
    size_t cap = 1 << 20;
    char *text = f ? malloc(cap + 1) : NULL;
    *n = 0;
    for (int k; text && (k = gzread(f, text + *n, (unsigned)(cap - *n))) > 0;) {
        *n += (size_t)k;
        if (*n == cap)
            text = realloc(text, 2 * (cap *= 2) + 1);
    }
    if (!text) {
        fprintf(stderr, "repeat_trace: cannot read '%s'\n", path);
        exit(2);
    }
    gzclose(f);
    text[*n] = '\0';
    return text;
}

/* From the '[' of traceEvents to its ']'. */
static char *events_end(char *p)
{
    int depth = 0, in_string = 0;
    for (; *p; p++) {
        if (in_string) {
            p += *p == '\\' && p[1];
            in_string = *p != '"';
        } else if (*p == '"') {
            in_string = 1;
        } else if (*p == '[' || *p == '{') {
            depth++;
        } else if ((*p == ']' || *p == '}') && --depth == 0) {
            return p;
        }
    }
    return NULL;
}

/* Repeats the events, shifted by us microseconds and with ids shifted. */
static size_t put(FILE *out, const char *from, const char *end, int64_t us, int64_t ids, size_t *n_events)
{
    size_t n = 0;
    while (from < end) {
        const char *ts = memmem(from, (size_t)(end - from), "\"ts\":", 5);
        const char *id = memmem(from, (size_t)((ts ? ts : end) - from), "\"correlation\":", 14);
        const char *p = id ? id + 14 : ts ? ts + 5 : end;
        n += fwrite(from, 1, (size_t)(p - from), out);
        from = p;
        if (p == end)
            break;
        char *after;
        long long v = strtoll(p, &after, 10);
        n += (size_t)fprintf(out, " %lld", v + (id ? ids : us));
        *n_events += !id;
        from = after;
    }
    return n;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: repeat_trace IN OUT MEGABYTES\n");
        return 2;
    }
    size_t n, bytes = 0, n_events = 0;
    char *text = slurp(argv[1], &n), *begin = strstr(text, "\"traceEvents\""), *end;
    begin = begin ? strchr(begin, '[') : NULL;
    end = begin ? events_end(begin) : NULL;
    FILE *out = end ? fopen(argv[2], "wb") : NULL;
    if (!out) {
        fprintf(stderr, "repeat_trace: '%s' holds no traceEvents, or '%s' cannot be written\n", argv[1], argv[2]);
        return 2;
    }
    const double wanted = strtod(argv[3], NULL) * 1e6;
    bytes += fwrite(text, 1, (size_t)(begin + 1 - text), out);
    for (int64_t k = 0; k == 0 || (double)bytes < wanted; k++) {
        if (k)
            bytes += fwrite(",", 1, 1, out);
        bytes += put(out, begin + 1, end, k * 10000000, k * 10000000, &n_events);
    }
    bytes += fwrite(end, 1, (size_t)(text + n - end), out);
    int rc = fclose(out);
    printf("%zu %zu\n", bytes, n_events);
    free(text);
    return rc ? 2 : 0;
}
