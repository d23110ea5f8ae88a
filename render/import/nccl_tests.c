/* nccl_tests.c - the log of an nccl-tests program (all_reduce_perf and its like): size, time, bandwidths. */
#include "render/import/parsers.h"

#include "render/import/from_line.h"

#include "lib/buf.h"

#include <stdlib.h>
#include <string.h>

static const char *const header[] = {"#", "size", "count", "type", "time", "algbw", "busbw", NULL};

int nccl_tests_is(const char *head, size_t n)
{
    return line_with(head, n, header) != NULL;
}

enum { MAX_LOG_BYTES = 16 << 20, MAX_WORDS = 24 };

static int split(char *line, char **words)
{
    int n = 0;
    char *save;
    for (char *w = strtok_r(line, " \t\r", &save); w && n < MAX_WORDS; w = strtok_r(NULL, " \t\r", &save))
        words[n++] = w;
    return n;
}

static int is_number(const char *w)
{
    char *end;
    strtod(w, &end);
    return end > w && !*end;
}

/* A result line: size, count, type, then redop and root as the collective has them, then time, algbw, busbw and errors,
 * out of place and in place. Read from the right, where the columns are always the same. */
static int result(char **w, int n, double out[7])
{
    if (n < 9 || !is_number(w[0]) || !is_number(w[1]))
        return 0;
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 3; k++) {
            const char *word = w[n - 8 + 4 * i + k];
            if (!is_number(word))
                return 0;
            out[1 + 3 * i + k] = strtod(word, NULL);
        }
    out[0] = strtod(w[0], NULL);
    return 1;
}

/* What a launcher puts in front of each line of a rank ("0: " of srun -l, "[1,0]<stdout>:" of mpirun): the bytes before
 * the header's '#'. *n: their number */
static const char *label_of(const char *text, size_t len, size_t *n)
{
    const char *line = line_with(text, len, header);
    *n = line ? strcspn(line, "#") : 0;
    return line;
}

/* What the program says of its results beside them. */
static void say_failure(struct run *r, const char *file, const char *line)
{
    static const char bounds[] = "Out of bounds values :";
    const char *at = strstr(line, bounds), *failure = strstr(line, "Test NCCL failure");
    failure = failure ? failure : strstr(line, "Test CUDA failure");
    if (at && strstr(at, "FAILED"))
        run_add_gap(r,
                    "'%s' says that %lld values came out wrong: do not rely on its bandwidths before that is mended "
                    "(network, driver, version of NCCL).",
                    file, strtoll(at + sizeof bounds - 1, NULL, 10));
    else if (failure)
        run_add_gap(r, "'%s' ends early (%.*s): what would have followed was not measured.", file,
                    (int)strcspn(failure, "\r"), failure);
}

int nccl_tests_read(struct run *r, struct dcr_stream *s, struct dcr_err *err)
{
    struct dcr_buf b = {0};
    int rc = dcr_stream_slurp(s, &b, MAX_LOG_BYTES, err), n_results = 0;
    struct foreign_table *t = NULL;
    char *save = NULL, *words[MAX_WORDS], *label = NULL;
    size_t n_label;
    if (rc)
        goto out;
    const char *from = label_of(dcr_buf_text(&b), b.len, &n_label);
    label = from ? strndup(from, n_label) : NULL;
    for (char *line = b.len ? strtok_r(b.data, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save)) {
        double v[7];
        if (label && strncmp(line, label, n_label) == 0)
            line += n_label;
        say_failure(r, s->name, line);
        const char *average = strstr(line, "Avg bus bandwidth");
        int n = split(line, words);
        if (average && is_number(words[n - 1]) && t) {
            table_add(r, t, "average bus bandwidth");
            for (int i = 0; i < 5; i++)
                table_add(r, t, "%s", i == 2 ? words[n - 1] : "");
            continue;
        }
        if (!result(words, n, v))
            continue;
        if (!t)
            t = run_add_table(r, s->name, "nccl-tests log",
                              "Collectives by size: algorithm bandwidth S / t and bus bandwidth, decimal GB/s",
                              "#Bytes|#Out of place, us|#algbw, GB/s|#busbw, GB/s|#In place, us|#busbw in place, GB/s");
        n_results++;
        table_add(r, t, "%.0f", v[0]);
        for (int k = 1; k < 5; k++)
            table_add(r, t, "%g", v[k]);
        table_add(r, t, "%g", v[6]);
    }
    if (!n_results)
        rc = dcr_err_set(err, DCR_FAIL, "'%s' is a log of nccl-tests without a result", s->name);
out:
    free(label);
    dcr_buf_release(&b);
    return rc;
}
