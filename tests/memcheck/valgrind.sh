#!/usr/bin/env bash
# valgrind checks what the sanitizers do not see: the injected library inside another program, and libraries that we link.
. tests/lib/tap.sh

command -v valgrind >/dev/null || { skip "valgrind" "no valgrind"; finish; }
# shellcheck disable=SC2317  # called through check
run_valgrind() {
    valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite "$@"
}
# PLAIN_TOO of mk/tests.mk builds them.
for t in test_csv test_tar test_trace; do
    if [ -x "$BUILD/tests/unit/$t" ]; then
        check "$t under valgrind" run_valgrind "$BUILD/tests/unit/$t"
    else
        not_ok "$t under valgrind" "not built"
    fi
done
finish
