#!/usr/bin/env bash
# Instructions of one small training step, in total and of the ten largest functions, compared with those in
# recorded.txt. Added work shows here even if a busy machine hides it from a clock.
#   count.sh                      counts and compares; exit status 1 when the total is over 3 % away from the record
#   ACCEPT=1 count.sh             records the new counts: `make bench-instructions ACCEPT=1`; give the reason in the
#                                 commit
#   count.sh compare FILE RECORD  compares a count made before (COUNTED=FILE count.sh keeps one)
# Counted by valgrind's callgrind with the AVX2 kernels (it knows no AVX-512). Another compiler, other flags or another
# valgrind make other instructions: then nothing is compared, "skipped: ..." says why, and the exit status is 77.
set -euo pipefail
cd "$(dirname "$0")/../../.."
: "${BUILD:=$PWD/build}" "${ACCEPT:=}"
record=tests/bench/instructions/recorded.txt
tolerance=0.03
export LC_ALL=C

skip() { echo "skipped: $1" && exit 77; }

# The program holds the compiler's note: its version and the flags that change code (-g does not).
producer() {
    readelf --debug-dump=info "$BUILD/obj/trainer/cpu/kernels_avx2.o" 2>/dev/null |
        sed -nE '/DW_AT_producer/{s/.*(GNU C|[A-Za-z ]*clang version)/\1/;s/ *-(fvisibility|std)=[^ ]*//g;s/ -g[0-9]?( |$)/\1/;p;q}'
}
# Three lines that must be equal for a comparison, then "total N", then "function N".
count() { # file
    {
        echo "compiler $(producer)"
        echo "valgrind $(valgrind --version | sed 's/valgrind-//')"
        echo "step --kernels avx2 --sensors 52 --batch 2 --units 64 --in 2 --out 2 --warm-up 0 --steps 1"
    } >"$1"
    grep -q '^compiler .' "$1" || skip "the program does not say which compiler made it"
    local arguments
    read -r _ arguments < <(grep '^step ' "$1")
    # shellcheck disable=SC2086 # words of a line
    OPENBLAS_NUM_THREADS=1 valgrind --tool=callgrind --callgrind-out-file="$1.callgrind" --toggle-collect=one_step \
        "$BUILD/tests/bench/step" $arguments >"$1.log" 2>&1 || { cat "$1.log" >&2 && exit 2; }
    callgrind_annotate --threshold=100 "$1.callgrind" >"$1.annotated"
    awk '/PROGRAM TOTALS/ { gsub(",", "", $1); print "total", $1 }' "$1.annotated" >>"$1"
    sed -nE 's/^ *([0-9,]+) \( *[0-9.]+%\) +[^ ]*:([A-Za-z0-9_.]+).*/\1 \2/p' "$1.annotated" |
        awk '{ gsub(",", "", $1); n[$2] += $1 } END { for (name in n) print name, n[name] }' |
        sort -k2,2nr -k1,1 | sed 10q >>"$1"
    rm -f "$1.callgrind" "$1.annotated" "$1.log"
}
compare() { # counted, record
    [ -s "$2" ] || skip "nothing recorded in $2; ACCEPT=1 records"
    echo "Instructions of one step ($(sed -n 3p "$1")):"
    if ! cmp -s <(sed 3q "$1") <(sed 3q "$2"); then
        sed '1,3d; s/^/  /' "$1" | column -t
        diff <(sed 3q "$2") <(sed 3q "$1") | sed -n 's/^[<]/  recorded with/p; s/^[>]/  here         /p' || true
        skip "recorded with another compiler, other flags or another valgrind"
    fi
    awk 'FNR == NR { was[$1] = $2; next }
        FNR > 3 { printf "  %-32s %11d", $1, $2; if ($1 in was) printf "  recorded %11d  ratio %.3f", was[$1], $2 / was[$1]; print "" }' "$2" "$1"
    awk -v t=$tolerance '/^total / { n[++k] = $2 } END {
        far = n[2] / n[1] - 1
        if (far <= t && far >= -t) {
            printf "instructions: %d in a step, %.1f %% from the recorded\n", n[2], 100 * far
            exit 0
        }
        printf "%.1f %% %s instructions than recorded; if that is meant: make bench-instructions ACCEPT=1\n", 100 * (far < 0 ? -far : far), far < 0 ? "fewer" : "more"
        exit 1 }' "$2" "$1"
}

if [ "${1:-}" = compare ]; then
    compare "$2" "$3"
    exit
fi
command -v valgrind >/dev/null || skip "no valgrind"
command -v readelf >/dev/null || skip "no readelf to tell the compiler"
grep -qw avx2 /proc/cpuinfo || skip "this CPU has no AVX2"
folder=${BUILD#"$PWD"/} # a goal has the name that the Makefile's rule has
make --no-print-directory -s SHORT=1 BUILD="$folder" "$folder/tests/bench/step"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
count "$tmp/counted"
[ -z "${COUNTED:-}" ] || cp "$tmp/counted" "$COUNTED"
if [ -n "$ACCEPT" ]; then
    cp "$tmp/counted" "$record"
    echo "recorded in $record"
fi
compare "$tmp/counted" "$record"
