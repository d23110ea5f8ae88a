# shellcheck shell=bash
# tap.sh - sourced by every shell test: TAP on stdout, so that tests/run can count.
#   check "name" cmd...             passes when the command succeeds; its standard input is empty (no <<)
#   check_status N "name" cmd...    passes when the exit status is N
#   ok/not_ok/skip "name" ["why"]   finish
#   use sanitized|plain             the build whose programs the next cases run, in a script that is "# partly sanitized: why"
# The programs under test are those in $BIN: tests/run chooses between the plain and the sanitized build.
set -u
tap_n=0
tap_failed=0
# SECURITY.md says of some tests that they have more than so many cases. `finish` holds it against this run, unless something was skipped.
tap_script=${0##*tests/} tap_script=${tap_script%.sh}
tap_promised=$(sed -n "s;^| ${tap_script//\//-} | more than \([0-9]*\) .*;\1;p" SECURITY.md 2>/dev/null)
: "${BUILD:=$PWD/build}" "${SHARED:=$PWD/../shared}"
: "${BIN:=$BUILD/bin}"
if [ -z "${TMP:-}" ]; then
    TMP=$(mktemp -d)
    trap 'rm -rf "$TMP"' EXIT
fi
export BUILD BIN TMP SHARED LC_ALL=C

# `use plain` takes the build that tests/run chose, which is the sanitized one in the suite `swapped`. `use` also sets the names
# by which scripts call the programs.
# shellcheck disable=SC2034  # used by the scripts
use() {
    case $1 in
    plain) BIN=$tap_chosen ;;
    sanitized) BIN=$BUILD-sanitize/bin ;;
    *) not_ok "use $1: there is no such build" ;;
    esac
    report=$BIN/dcreport COLLECT=$BIN/dccollect train=$BIN/dcrnn-train
}
tap_chosen=$BIN

# wellformed.py checks the outputs of the programs. It reads new files below $TMP with every counted test, so that a script may
# delete them afterwards. The last test of a script is that all of them were well formed. WELLFORMED_NOT holds globs of outputs
# below $TMP that were damaged on purpose; WELLFORMED=no before tap.sh is sourced switches the check off.
# The watcher is not a child of this shell, because `wait` would wait for it. Its descriptors are closed here, because programs
# under test would inherit them.
WELLFORMED_NOT=''
tap_watch='' # folder of the watcher
if [ "${WELLFORMED:-yes}" != no ]; then
    tap_watch=$(mktemp -d "${TMPDIR:-/tmp}/wellformed.XXXXXX")
    mkfifo "$tap_watch/asked" "$tap_watch/answers"
    python3 "$(dirname "${BASH_SOURCE[0]}")/wellformed.py" --serve "$tap_watch" "$TMP" $$ >"$tap_watch/said" 2>&1 </dev/null ||
        echo "the watcher did not start" >>"$tap_watch/said"
fi
# tap_ask WORD...: puts the watcher's answer into $tap_answer. A FIFO that is opened for reading and writing does not block.
tap_ask() {
    tap_answer=''
    [ ! -s "$tap_watch/said" ] || return
    echo "$*" 1<>"$tap_watch/asked"
    read -r -t 600 tap_answer <>"$tap_watch/answers" || echo "the watcher did not answer" >>"$tap_watch/said"
}
tap_count() {
    [ -z "$tap_watch" ] || tap_ask scan
    tap_n=$((tap_n + 1))
}

ok() {
    tap_count
    echo "ok $tap_n - $1"
}
not_ok() {
    tap_count
    tap_failed=$((tap_failed + 1))
    echo "not ok $tap_n - $1"
    [ -z "${2:-}" ] || printf '%s\n' "$2" | sed 's/^/#   /'
}
skip() {
    tap_count
    tap_promised=''
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
# says FILE ID...: FILE has these phrases of the phrasebook one after the other on one line, with whatever values.
says() {
    local file=$1 id sentence pattern=''
    shift
    for id; do
        sentence=$(sed -n "s/^$id: //p" tests/golden/phrasebook.txt)
        [ -n "$sentence" ] || { echo "the phrasebook has no $id"; return 1; }
        sentence=$(sed -E 's/[][().?*+^$|]/\\&/g; s/[0-9]+(\\\.[0-9]+)? (s|ms|us|ns)\b/[0-9.]+ (s|ms|us|ns)/g; s/[0-9]+ %/[0-9.]+ %/g' <<<"$sentence")
        pattern+=${pattern:+ }$sentence
    done
    grep -qE -- "$pattern" "$file" || { echo "no line matches: $pattern"; return 1; }
}
# shellcheck disable=SC2086  # globs for the watcher, a word each
finish_watch() {
    local watch=$tap_watch
    [ -n "$watch" ] || return
    set -f
    tap_ask end $WELLFORMED_NOT
    set +f
    tap_watch=''
    case $tap_answer in
    "0 0") ;;
    "0 "*) ok "all outputs are well formed, ${tap_answer#* } contents" ;;
    *) not_ok "all outputs are well formed" "$(cat "$watch"/faults "$watch"/said 2>/dev/null | head -n 60)" ;;
    esac
    rm -rf "$watch"
}
finish() {
    finish_watch
    [ -z "$tap_promised" ] || [ "$tap_n" -gt "$tap_promised" ] || not_ok "SECURITY.md promises more than $tap_promised cases" "$tap_n cases ran"
    echo "1..$tap_n"
    [ "$tap_failed" -eq 0 ]
    exit
}
