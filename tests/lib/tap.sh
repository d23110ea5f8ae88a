# shellcheck shell=bash
# tap.sh - sourced by every shell test: TAP on stdout, so that tests/run can count.
#   check "name" cmd...             passes when the command succeeds
#   check_status N "name" cmd...    passes when the exit status is N
#   ok/not_ok/skip "name" ["why"]   finish
set -u
tap_n=0
tap_failed=0
: "${BUILD:=$PWD/build}" "${SHARED:=$PWD/../shared}"
BIN=$BUILD/bin
if [ -z "${TMP:-}" ]; then
    TMP=$(mktemp -d)
    trap 'rm -rf "$TMP"' EXIT
fi
export BUILD BIN TMP SHARED LC_ALL=C

ok() {
    tap_n=$((tap_n + 1))
    echo "ok $tap_n - $1"
}
not_ok() {
    tap_n=$((tap_n + 1))
    tap_failed=$((tap_failed + 1))
    echo "not ok $tap_n - $1"
    [ -z "${2:-}" ] || printf '%s\n' "$2" | sed 's/^/#   /'
}
skip() {
    tap_n=$((tap_n + 1))
    echo "ok $tap_n - $1 # SKIP $2"
}
check_status() {
    local want=$1 name=$2 got=0
    shift 2
    "$@" >"$TMP/tap.out" 2>&1 </dev/null || got=$?
    if [ "$got" -eq "$want" ]; then
        ok "$name"
    else
        not_ok "$name" "exit status $got instead of $want: $*
$(tail -n 30 "$TMP/tap.out")"
    fi
}
check() {
    local name=$1
    shift
    check_status 0 "$name" "$@"
}
finish() {
    echo "1..$tap_n"
    [ "$tap_failed" -eq 0 ]
    exit
}
