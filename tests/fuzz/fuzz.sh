#!/usr/bin/env bash
# Each libFuzzer program for FUZZ_SECONDS (8), from the seeds in tests/fuzz/seeds/<program>/. Inputs that broke something
# once stay in that folder, so that they are tried first for ever.
. tests/lib/tap.sh

for program in "$BUILD"/fuzz/fuzz_*; do
    [ -x "$program" ] || continue
    case $program in *.o | *.d) continue ;; esac
    name=$(basename "$program")
    mkdir -p "$TMP/$name"
    seeds=()
    [ ! -d "tests/fuzz/seeds/$name" ] || seeds=("tests/fuzz/seeds/$name")
    if "$program" -max_total_time="${FUZZ_SECONDS:-8}" -rss_limit_mb=1024 -timeout=10 -artifact_prefix="$TMP/" \
        "$TMP/$name" "${seeds[@]}" >"$TMP/$name.log" 2>&1; then
        ok "$name: $(grep -oE 'Done [0-9]+ runs' "$TMP/$name.log" || echo 'ran to its end')"
    else
        not_ok "$name" "$(tail -n 40 "$TMP/$name.log")
$(find "$TMP" -maxdepth 1 -name '*-*' -size -4k -exec base64 {} \; | head -n 5)"
    fi
done
[ "$tap_n" -gt 0 ] || skip "fuzzing" "no fuzz programs built (needs clang)"
finish
