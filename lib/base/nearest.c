/* nearest.c - see nearest.h. */
#include "lib/base/nearest.h"

#include <getopt.h>
#include <string.h>

enum { MAX_LENGTH = 40 }; /* of names; longer words get no suggestion */

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Damerau and Levenshtein's distance, in which no letter is edited twice. */
static int edits(const char *a, size_t n, const char *b, size_t m)
{
    int row[3][MAX_LENGTH + 1]; /* of the letter before the last one, of the last one, and of this one */
    for (size_t k = 0; k <= m; k++)
        row[1][k] = (int)k;
    for (size_t i = 1; i <= n; i++) {
        row[2][0] = (int)i;
        for (size_t k = 1; k <= m; k++) {
            int all = least(least(row[1][k], row[2][k - 1]) + 1, row[1][k - 1] + (a[i - 1] != b[k - 1]));
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
                all = least(all, row[0][k - 2] + 1);
            row[2][k] = all;
        }
        memcpy(row[0], row[1], sizeof row[0]);
        memcpy(row[1], row[2], sizeof row[1]);
    }
    return row[1][m];
}

struct nearest nearest_begin(const char *word)
{
    return (struct nearest){.word = word, .length = strcspn(word, "=")};
}

void nearest_try(struct nearest *n, const char *name)
{
    size_t length = strlen(name);
    if (n->length > MAX_LENGTH || length > MAX_LENGTH || n->length < 3)
        return;
    int here = edits(n->word, n->length, name, length), most = n->length < 8 ? 1 : (int)n->length / 4;
    if (strncmp(n->word, name, n->length) == 0)
        here = least(here, 1); /* it is cut short */
    if (here <= most && (!n->name || here < n->n_edits)) {
        n->name = name;
        n->n_edits = here;
    }
}

const char *nearest_option(const char *word, const struct option *known)
{
    struct nearest near = nearest_begin(word + strspn(word, "-"));
    for (; known->name; known++)
        nearest_try(&near, known->name);
    return near.name;
}
