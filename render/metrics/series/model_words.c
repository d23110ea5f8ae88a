/* model_words.c - the words that distinguish a model from others, and series told apart by them. See analyse.h. */
#include "render/metrics/cores.h"
#include "render/metrics/series/differing.h"

#include <string.h>

/* The nth part between commas, without blanks around it; NULL after the last. */
static const char *part_at(const char *text, int nth, size_t *n)
{
    for (; nth > 0 && *text; nth--) {
        text += strcspn(text, ",;");
        text += *text != '\0';
    }
    text += strspn(text, " ");
    *n = strcspn(text, ",;");
    return *text ? text : NULL;
}

/* The place after the last " of " up to which a and b are equal: "2 + 2 layers of 32 units" beside "... of 16 units".
 */
static size_t alike(const char *a, size_t n_a, const char *b, size_t n_b)
{
    size_t kept = 0;
    for (size_t i = 0; i < n_a && i < n_b && a[i] == b[i]; i++)
        if (i >= 3 && memcmp(a + i - 3, " of ", 4) == 0)
            kept = i + 1;
    return kept;
}

const char *model_words(struct report *rep, const char *mine, const char *const *others, int n_others)
{
    enum { MOST = 3 };
    const char *text = "";
    size_t n, n_there;
    int n_words = 0;
    for (int k = 0; n_words < MOST; k++) {
        const char *part = part_at(mine, k, &n);
        if (!part)
            break;
        size_t skip = n;
        int differs = 0;
        for (int i = 0; i < n_others; i++) {
            const char *there = part_at(others[i], k, &n_there);
            if (there && n == n_there && memcmp(part, there, n) == 0)
                continue;
            size_t same = there ? alike(part, n, there, n_there) : 0;
            differs = 1;
            skip = same < skip ? same : skip;
        }
        if (!differs)
            continue;
        text = report_text(rep, "%s%s%.*s", text, *text ? ", " : "", (int)(n - skip < 40 ? n - skip : 40), part + skip);
        n_words++;
    }
    return text;
}

/* For series that would have equal names: ", 32 units", else the options that differ, else the archive of the first
 * run. */
static const char *series_words(struct report *rep, int index)
{
    const struct run_result *r = run_of_point(rep, &rep->series[index].points[0]);
    const char **others = dcr_arena_alloc(&rep->arena, (size_t)rep->n_series * sizeof *others), *words;
    int n = 0;
    for (int i = 0; i < rep->n_series; i++) {
        if (strcmp(rep->series[i].label, rep->series[index].label) != 0)
            continue;
        others[n++] = run_of_point(rep, &rep->series[i].points[0])->run->program.model;
    }
    if (n < 2)
        return "";
    words = model_words(rep, r->run->program.model, others, n);
    if (*words)
        return report_text(rep, ", %s", words);
    words = option_words(rep, (int)(r - rep->runs));
    return *words ? words : report_text(rep, ", %.60s", configuration_name(rep, r));
}

void tell_series_apart(struct report *rep)
{
    const char **words = dcr_arena_alloc(&rep->arena, (size_t)(rep->n_series + 1) * sizeof *words);
    for (int i = 0; i < rep->n_series; i++)
        words[i] = series_words(rep, i);
    for (int i = 0; i < rep->n_series; i++)
        rep->series[i].label = report_text(rep, "%s%s", rep->series[i].label, words[i]);
}
