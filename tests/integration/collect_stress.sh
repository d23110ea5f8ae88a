#!/bin/bash
# The injected library as a guest of difficult programs: many names, many threads, closed descriptors, signal handlers,
# no room. Recorded and dropped events must add up exactly to those of the program.
# shellcheck disable=SC2016  # commands for another shell
. tests/lib/tap.sh
. tests/data/programs/build.sh
build_program stress stress.c || not_ok "stress builds"
build_trace_text || not_ok "trace_text builds"
cd "$TMP" || exit 1
head -c 100000 /dev/urandom >precious
sha256sum precious >precious.sum

# adds_up NAME WANT-DROPS(yes|no|any) CMD...
adds_up() {
    local name=$1 drops=$2 made events dropped unmatched open rest
    shift 2
    made=$(record spool "$@")
    rest=$(./trace_text spool/rank0/*.dct --count)
    read -r events dropped unmatched open <<<"$(sed -n \
        's/^events=\([0-9]*\) dropped=\([0-9]*\) bad=0 missing=0 unmatched=\([0-9]*\) open=\([0-9]*\) torn=0 .*/\1 \2 \3 \4/p' <<<"$rest")"
    if [ -z "${open:-}" ] || [ "$unmatched" -ne 0 ] || [ "$open" -ne 0 ] || [ $((2 * (events + dropped))) -ne "${made:-0}" ] ||
        { [ "$drops" = no ] && [ "$dropped" -ne 0 ]; } || { [ "$drops" = yes ] && [ "$dropped" -eq 0 ]; }; then
        not_ok "$name" "the program made ${made:-nothing}; the trace: $rest"
    else
        ok "$name"
    fi
}

adds_up "40000 names of two threads, used by one as the other defines them" no ./stress names 20000
./trace_text spool/rank0/*.dct | awk '/^range/ {
    if (!match($0, /name [0-9]+\]/)) { bad++; next }
    name = substr($0, RSTART + 5, RLENGTH - 6) + 0
    match($0, /u64=[0-9]+/); i = substr($0, RSTART + 4, RLENGTH - 4) + 0
    match($0, /category [0-9]+\|/); c = substr($0, RSTART + 9, RLENGTH - 10) + 0
    if ((name != i && name != i + 50) || c != int(i / 1000)) bad++; else good++ }
    END { print good + 0, bad + 0 }' >got
check "every one of them has its own name and category back" grep -qx '40000 0' got
adds_up "200 threads at once" no ./stress threads 200
check "each has a track" test "$(./trace_text spool/rank0/*.dct | grep -c 'in thread')" -eq 100000
adds_up "descriptors closed and taken by the program" no ./stress close
check "the program's own files are untouched" sha256sum --quiet -c precious.sum
adds_up "threads that are cancelled: not inside a range's recording" no timeout 300 ./stress cancel
check "handlers that leave by siglongjmp" record spool timeout 300 ./stress jumps 100
check "what comes after is recorded" test "$(./trace_text spool/rank0/*.dct | grep -c '^range.*after all')" -eq 5000
adds_up "ranges in a signal handler that interrupts ranges" any ./stress handler
RECORD='--keep all --max-disk-mb 2' adds_up "no room: 200 threads, a small file" yes ./stress threads 200
RECORD='--keep all --max-disk-mb 1' adds_up "no room: not even for the names" yes ./stress names 20000
RECORD='--max-mb 1' adds_up "no room: 200 threads, little memory" yes ./stress threads 200
# The spool goes away while the program runs. rm leaves a folder into which the collector writes at that moment.
check_status 125 "a spool that is removed" record gone sh -c './stress threads 4; until rm -rf gone; do :; done; ./stress threads 4'

# The same under ThreadSanitizer, library and program built for it.
cd - >/dev/null || exit 1
if "$CC" -std=c11 -g -O1 -D_GNU_SOURCE -I. -fsanitize=thread -fPIC -fvisibility=hidden -shared -o "$TMP/tsan.so" \
    collect/guest/*.c collect/guest/nvtx/*.c -pthread -ldl 2>"$TMP/cc.txt" && build_program tsan stress.c -fsanitize=thread 2>>"$TMP/cc.txt"; then
    for work in "names 3000" "threads 20"; do
        # shellcheck disable=SC2086  # two words
        record "$TMP/spool" env "NVTX_INJECTION64_PATH=$TMP/tsan.so" "$TMP/tsan" $work >"$TMP/tsan.txt" 2>&1
        if grep -q 'FATAL: ThreadSanitizer' "$TMP/tsan.txt"; then
            skip "no data race: $work" "ThreadSanitizer does not run on this kernel"
        else
            check "no data race: $work" sh -c '! grep -A 12 "WARNING: ThreadSanitizer" "$0" && grep -q "^[0-9]*$" "$0"' "$TMP/tsan.txt"
        fi
    done
else
    skip "no data race" "$CC cannot build for ThreadSanitizer"
fi
finish
