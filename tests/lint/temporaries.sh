#!/usr/bin/env bash
# A pointer into a record that a function returned must not be kept. tests/lint/temporaries.py, a part of `make lint`, finds each
# form of this fault that is planted here, and reports nothing else.
. tests/lib/tap.sh

command -v python3 >/dev/null || { skip "pointers into returned records" "no python3"; finish; }
cat >"$TMP/kept.h" <<'C'
struct fmt {
    char text[64];
};
struct row {
    const char *label, *value;
    int n;
};
struct rows {
    struct row row[4];
    struct fmt name;
};
struct fmt fmt_time(long ns);
struct rows all_rows(void);
int print(const char *format, ...);
const char *either(const char *text, const char *otherwise);
const char *first_of(const char *text);
void remember(struct row *row, const char *label);
void hand_on(struct row *row, int n, const char *label);
C
# The helpers are in another file than the calls.
cat >"$TMP/helpers.c" <<'C'
#include "kept.h"
static const char *last;
const char *either(const char *text, const char *otherwise)
{
    const char *out = *text ? text : otherwise;
    return out;
}
const char *first_of(const char *text)
{
    return either(text + 1, "");
}
void remember(struct row *row, const char *label)
{
    row->label = label;
}
void hand_on(struct row *row, int n, const char *label)
{
    if (n > 0)
        remember(row, first_of(label));
    last = "";
}
int print(const char *format, ...)
{
    return *format + *last;
}
C
# Lines with "fault" must be found, and no other line.
cat >"$TMP/kept.c" <<'C'
#include "kept.h"
#include <string.h>
static const char *global;
static struct row table[2];

const char *returned(void)
{
    return fmt_time(1).text; /* fault */
}
const char *conditional(int a, int b)
{
    return a ? "a" : b ? fmt_time(2).text : "none"; /* fault */
}
const char *through_returned_helpers(void)
{
    return first_of(fmt_time(2).text); /* fault */
}
struct row in_returned_record(void)
{
    return (struct row){.value = fmt_time(3).text}; /* fault */
}
void kept_in(struct row *out, int a)
{
    const char *initialised = fmt_time(4).text; /* fault */
    const char *assigned, *second, *names[2];
    assigned = fmt_time(5).text; /* fault */
    second = a ? (const char *)fmt_time(6).text : ""; /* fault */
    print("%s", (assigned = fmt_time(7).text)); /* fault */
    names[1] = fmt_time(8).text + 1; /* fault */
    out->label = &fmt_time(9).text[2]; /* fault */
    global = fmt_time(10).text; /* fault */
    table[a].value = fmt_time(11).text; /* fault */
    struct row initialiser = {.value = fmt_time(12).text}; /* fault */
    *out = (struct row){"", fmt_time(13).text, 1}; /* fault */
    struct row *literal = &(struct row){.label = fmt_time(14).text}; /* fault */
    second = either("", fmt_time(15).text); /* fault */
    remember(out, fmt_time(16).text); /* fault */
    hand_on(out, a, a ? fmt_time(17).text : ""); /* fault */
    remember(out, first_of(fmt_time(18).text)); /* fault */
    const char *found = strchr(fmt_time(19).text, 's'); /* fault */
    const struct row *inner = all_rows().row; /* fault */
    const char *deeper = all_rows().name.text; /* fault */
    const char *chosen = (a ? fmt_time(20) : fmt_time(21)).text; /* fault */
    print("", initialised, assigned, second, names, initialiser, literal, found, inner, deeper, chosen);
}
struct fmt right(struct row *out, int a)
{
    struct fmt named = fmt_time(22);
    const char *pointer = named.text;
    print("%s %s", fmt_time(23).text, a ? fmt_time(24).text : pointer);
    print("%s", either(fmt_time(25).text, "n/a"));
    print("", &(struct row){.label = fmt_time(26).text});
    hand_on(out, (int)strlen(fmt_time(27).text), "");
    char first = fmt_time(28).text[0], second = *fmt_time(29).text;
    if (strcmp(fmt_time(30).text, "0 s") == 0 || fmt_time(31).text[1] == first)
        out->n = all_rows().row[a].n + second;
    out->label = all_rows().row[a].label;
    memcpy(named.text, fmt_time(32).text, sizeof named.text);
    return fmt_time(33);
}
C
grep -n fault "$TMP/kept.c" | cut -d: -f1 >"$TMP/want"
for level in -O0 "-O2 -g"; do
    for name in kept helpers; do
        # shellcheck disable=SC2086  # two words
        gcc -std=c11 -w $level -S -o /dev/null -fdump-tree-gimple-lineno="$TMP/$name.gimple" "$TMP/$name.c"
    done
    python3 tests/lint/temporaries.py "$TMP/kept.gimple" "$TMP/helpers.gimple" >"$TMP/found" 2>"$TMP/followed"
    check "$level: planted pointers are a failure" test $? -eq 1
    cut -d: -f2 "$TMP/found" | sort -nu >"$TMP/got"
    check "$level: each of the $(wc -l <"$TMP/want") is found, and nothing else" diff "$TMP/want" "$TMP/got"
done
check_status 2 "a file that is missing is not passed over" python3 tests/lint/temporaries.py "$TMP/kept.gimple" "$TMP/none.gimple"
finish
