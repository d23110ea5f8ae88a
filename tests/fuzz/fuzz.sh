#!/usr/bin/env bash
# Each libFuzzer program for FUZZ_SECONDS (3, with LONG=1 60), from the seeds in tests/fuzz/seeds/<program>/. Inputs that broke something
# once stay in that folder and are tried first.
WELLFORMED=no # the files that fuzzers keep are not outputs of our programs
. tests/lib/tap.sh
: "${FUZZ_SECONDS:=${LONG:+60}}"
export ASAN_OPTIONS=detect_stack_use_after_return=1

fuzz() { # program name
    local seeds=()
    [ ! -d "tests/fuzz/seeds/$2" ] || seeds=("tests/fuzz/seeds/$2")
    "$1" -max_total_time="${FUZZ_SECONDS:-3}" -rss_limit_mb=1024 -timeout=10 -artifact_prefix="$TMP/$2-" \
        "$TMP/$2" "${seeds[@]}" >"$TMP/$2.log" 2>&1
    echo $? >"$TMP/$2.status"
}

# One program at a time on each core.
names=()
for program in "$BUILD-sanitize"/fuzz/fuzz_*; do
    [ -x "$program" ] || continue
    case $program in *.o | *.d) continue ;; esac
    [ ${#names[@]} -lt "$(nproc)" ] || wait -n
    names+=("$(basename "$program")")
    mkdir -p "$TMP/${names[-1]}"
    fuzz "$program" "${names[-1]}" &
done
wait
for name in "${names[@]}"; do
    if [ "$(cat "$TMP/$name.status")" = 0 ]; then
        ok "$name: $(grep -oE 'Done [0-9]+ runs' "$TMP/$name.log" || echo 'ran to its end')"
    else
        not_ok "$name" "$(tail -n 40 "$TMP/$name.log")
$(find "$TMP" -maxdepth 1 -name "$name-*" -size -4k -exec base64 {} \; | head -n 5)"
    fi
done
[ "$tap_n" -gt 0 ] || skip "fuzzing" "no fuzz programs built (needs clang)"
finish
