#!/usr/bin/env bash
# A sanitizer's report fails a test, whatever exit status the test expects. tests/run is tried with a faulty program and a script
# that expects each of its failures.
# plain: it runs no program
. tests/lib/tap.sh
mkdir -p "$TMP/tests/integration" "$TMP/tests/lib" "$TMP/build/bin" "$TMP/build-sanitize/bin"
cp tests/run "$TMP/tests"
cp tests/lib/tap.sh tests/lib/wellformed.py "$TMP/tests/lib"
cat >"$TMP/faults.c" <<'C'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static char *volatile kept;
__attribute__((noinline)) static void keep(void) /* inlined, it would be a use after scope */
{
    char local[32];
    snprintf(local, sizeof local, "local");
    kept = local;
}
int main(int argc, char **argv)
{
    const char *fault = argv[1];
    if (!strcmp(fault, "stack")) {
        keep();
        return *kept == 'l';
    }
    if (!strcmp(fault, "heap")) {
        char *volatile block = malloc(8);
        block[8 * argc] = 1;
        free(block);
    }
    if (!strcmp(fault, "overflow")) {
        volatile int sum = INT32_MAX;
        sum += argc;
    }
    if (!strcmp(fault, "leak"))
        kept = malloc(argc), kept = NULL;
    return 2;
}
C
# clang, as in the sanitized build
check "the program with the options of all sanitized programs" clang -I. -D_GNU_SOURCE -O1 -g1 -fsanitize=address,undefined \
    -fno-sanitize-recover=undefined "$TMP/faults.c" tests/lib/sanitized.c -o "$TMP/build-sanitize/bin/faults" -ldl
check "and without" gcc -D_GNU_SOURCE -O1 -w "$TMP/faults.c" -o "$TMP/build/bin/faults"

# The emulator gives each thread of a kernel its own stack. It must tell ASan when it changes from one stack to another. Otherwise
# ASan compares addresses with the wrong stack.
emulated=$BUILD-sanitize/tests/lib/libdcrnn-emulated.so
# shellcheck disable=SC2016  # the inner shell expands it
check "the emulator tells ASan when it switches stacks" sh -c 'nm -D "$0" | grep -q "U __sanitizer_start_switch_fiber"' "$emulated"

# told SUITE FAULT HEAD PATTERN [BUILD]: a script with that head runs the program, after `use BUILD`; one passed test and what the
# closing line counts
told() {
    # shellcheck disable=SC2016  # the script's own $BIN
    printf '#!/bin/bash\n%s\n. tests/lib/tap.sh\n%s\n! "$BIN/faults" %s 2>/dev/null && ok refused\nfinish\n' "$3" "${5:+use $5}" "$2" \
        >"$TMP/tests/integration/one.sh"
    (cd "$TMP" && env -u BIN -u TMP BUILD="$TMP/build" TMPDIR="$TMP" tests/run "$1") >"$TMP/said" 2>&1
    if grep -Eqx "$4" "$TMP/said"; then
        ok "$1, ${3:-no word in the head}${5:+, use $5}, $2: $4"
    else
        not_ok "$1, ${3:-no word in the head}${5:+, use $5}, $2" "$(cat "$TMP/said")"
    fi
}
for fault in stack heap overflow leak; do
    told integration $fault "# sanitized: it is made for this" '1 passed, 1 failed, 0 skipped'
done
check "the report is shown" grep -q 'detected memory leaks' "$TMP/said"
told integration none "# sanitized: it is made for this" '1 passed, 0 failed, 0 skipped'
told integration overflow "" '1 passed, 0 failed, 0 skipped'
told swapped overflow "" '1 passed, 1 failed, 0 skipped'
told swapped overflow "# sanitized: it is made for this" '1 passed, 0 failed, 0 skipped'
told integration overflow "# partly sanitized: it is made for this" '1 passed, 0 failed, 0 skipped' plain
told integration overflow "# partly sanitized: it is made for this" '1 passed, 1 failed, 0 skipped' sanitized
told swapped overflow "# partly sanitized: it is made for this" '1 passed, 1 failed, 0 skipped' plain
told swapped overflow "# plain: it is made for this" '0 passed, 1 failed, 0 skipped' # no test is left
finish
