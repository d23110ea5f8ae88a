/* surroundings.c - what else two runs differ in, by the metadata of their collectors: versions of loaded libraries,
 * resource limits, uncommitted changes of the code. They may explain another speed or not matter, so they are stated
 * but do not lower confidence. Called by caveats_series.c. */
#include "render/metrics/series/differing.h"

#include "render/say/say.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

enum { MOST_NAMED = 3 };

/* Does a library affect speed? Those that do are named first. */
static int is_of_speed(const char *name)
{
    static const char *const begin[] = {"libcu",   "libnv",      "libnccl", "libtorch", "libc10", "libmpi",
                                        "libuc",   "libfab",     "libblas", "libopen",  "libmkl", "libpython",
                                        "libgomp", "libiomp",    "libomp.", "libc.",    "libc-",  "libm.",
                                        "libm-",   "libtensorf", "libjax"};
    for (size_t i = 0; i < sizeof begin / sizeof *begin; i++)
        if (strncmp(name, begin[i], strlen(begin[i])) == 0)
            return 1;
    return 0;
}

/* Order of names without their versions: ignores digits and dots, and the text from ".so" on. */
static int compare_kind(const char *a, const char *b)
{
    const char *x = strstr(a, ".so"), *y = strstr(b, ".so");
    const char *x_end = x ? x : a + strlen(a), *y_end = y ? y : b + strlen(b);
    for (;;) {
        while (a < x_end && (isdigit((unsigned char)*a) || *a == '.'))
            a++;
        while (b < y_end && (isdigit((unsigned char)*b) || *b == '.'))
            b++;
        if (a >= x_end || b >= y_end)
            return (a < x_end) - (b < y_end);
        if (*a != *b)
            return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
        a++;
        b++;
    }
}

static int has(const struct run *r, const char *name)
{
    int from = 0, to = r->n_libraries;
    while (from < to) {
        int middle = from + (to - from) / 2, order = strcmp(r->libraries[middle], name);
        if (order == 0)
            return 1;
        from = order < 0 ? middle + 1 : from;
        to = order < 0 ? to : middle;
    }
    return 0;
}

/* A library of b that is of the kind of `name`, when a and b have none of that kind in common; else NULL. */
static const char *other_version(const struct run *a, const struct run *b, const char *name)
{
    const char *other = NULL;
    for (int i = 0; !has(b, name) && i < b->n_libraries; i++)
        if (compare_kind(b->libraries[i], name) == 0) {
            if (has(a, b->libraries[i]))
                return NULL;
            other = other ? other : b->libraries[i];
        }
    return other;
}

struct found {
    struct report *rep;
    const char *seen[64]; /* kinds that were counted; further ones may be counted twice */
    int n;
    const char *text;
};

static void take(struct found *f, const char *name, const char *other)
{
    for (int i = 0; i < f->n && i < (int)(sizeof f->seen / sizeof *f->seen); i++)
        if (compare_kind(f->seen[i], name) == 0)
            return;
    if (f->n < (int)(sizeof f->seen / sizeof *f->seen))
        f->seen[f->n] = name;
    if (f->n++ < MOST_NAMED)
        f->text = report_text(f->rep, "%s%s%.80s and %.80s", f->text, *f->text ? ", " : "", name, other);
}

static const char *libraries_that_differ(struct report *rep, const struct run *first, const int *runs, int n)
{
    struct found f = {.rep = rep, .text = ""};
    for (int is_first_pass = 1; is_first_pass >= 0; is_first_pass--)
        for (int k = 0; k < n; k++)
            for (int i = 0; i < first->n_libraries; i++) {
                const char *name = first->libraries[i];
                const char *other =
                    is_of_speed(name) == is_first_pass ? other_version(first, rep->runs[runs[k]].run, name) : NULL;
                if (other)
                    take(&f, name, other);
            }
    if (f.n > MOST_NAMED)
        return report_text(rep, "versions of %d loaded libraries (%s and %d more)", f.n, f.text, f.n - MOST_NAMED);
    return f.n ? report_text(rep, "versions of loaded libraries (%s)", f.text) : "";
}

static const char *limits_that_differ(struct report *rep, const struct run *first, const int *runs, int n)
{
    const char *text = "";
    for (int i = 0; i < first->n_limits; i++) {
        int differs = 0;
        for (int k = 0; k < n; k++) {
            const struct run *b = rep->runs[runs[k]].run;
            for (int j = 0; j < b->n_limits; j++)
                differs |= strcmp(first->limits[i].key, b->limits[j].key) == 0 &&
                           strcmp(first->limits[i].value, b->limits[j].value) != 0;
        }
        if (differs)
            text = report_text(rep, "%s%s%.20s", text, *text ? ", " : "", first->limits[i].key);
    }
    return *text ? report_text(rep, "resource limits (ulimit: %s)", text) : "";
}

static const char *changes_that_differ(struct report *rep, const struct run *first, const int *runs, int n)
{
    for (int k = 0; k < n; k++) {
        const struct run *b = rep->runs[runs[k]].run;
        if (first->git_changed >= 0 && b->git_changed >= 0 && first->git_changed != b->git_changed)
            return "changes of the code that are in no commit (git.dirty)";
    }
    return "";
}

const char *other_surroundings(struct report *rep, int first, const int *runs, int n)
{
    const struct run *a = rep->runs[first].run;
    const char *parts[] = {libraries_that_differ(rep, a, runs, n), limits_that_differ(rep, a, runs, n),
                           changes_that_differ(rep, a, runs, n)};
    const char *differ[sizeof parts / sizeof *parts];
    int n_differ = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (*parts[i])
            differ[n_differ++] = parts[i];
    return say_list(&rep->arena, differ, n_differ);
}
