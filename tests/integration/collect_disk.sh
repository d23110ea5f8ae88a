#!/bin/bash
# What reaches the files, and how much: the machine dies (a copy of the spool), a cap on the bytes of a trace.
# shellcheck disable=SC2016,SC2317  # commands for another shell; functions that check calls
. tests/lib/tap.sh
. tests/data/programs/build.sh
build_marks || not_ok "marks builds"
build_program burst burst.c || not_ok "burst builds"
cd "$TMP" || exit 1

# ---- the cap: exact counts
"$COLLECT" run --keep all --max-disk-mb 1 -o capped.tar -- ./burst 100000 2 >burst.out 2>capped.err
made=$(grep -oE '[0-9]+' burst.out | head -n 1)
trace=$(tar tvf capped.tar | awk '/trace-.*dct/ { print $3 }')
check "--max-disk-mb: the trace keeps to its limit" test "$trace" -le 1048576 -a "$trace" -ge 900000
kept=$(metadata capped.tar .collector.events) dropped=$(metadata capped.tar .collector.dropped_events)
check "kept and dropped are all that were made ($made = 2 x ($kept + $dropped))" test "$made" -eq $((2 * (kept + dropped)))
check "the archive is incomplete, with the number" manifest capped.tar ".incomplete_because | any(test(\"could not record $dropped events\"))"
check "the reason is noted" metadata capped.tar '.collector.notes | any(test("--max-disk-mb"))'
check "the closing line has it" grep -q " $dropped events dropped" capped.err
check_status 125 "--max-disk-mb 0 is refused" "$COLLECT" run --max-disk-mb 0 -o x.tar -- true

# ---- the machine dies: its memory is gone, and only the files are left
env MARKS_STEP_US=10000 "$COLLECT" run --sync-seconds 1 --spool spool -- ./marks 400 2>/dev/null &
sleep 3.2
python3 -c 'import time; print(time.clock_gettime_ns(time.CLOCK_MONOTONIC))' >died
cp -r spool dead && rm dead/segment-*
wait
check "the machine dies: what is left packs" "$COLLECT" pack dead -o dead.tar
check "it is marked incomplete" manifest dead.tar '.complete | not'
"$COLLECT" export dead.tar -o dead.csv 2>/dev/null
"$COLLECT" pack spool -o whole.tar 2>/dev/null && "$COLLECT" export whole.tar -o whole.csv 2>/dev/null
last=$(awk -F, '$5 == "range" && $16 == 0 { print $11 }' dead.csv | sort -n | tail -n 1)
lost_ms=$((($(cat died) - ${last:-0}) / 1000000))
check "what is lost is at most the interval of 1 s, and the time that it takes (it was $lost_ms ms)" test "${last:-0}" -gt 0 -a "$lost_ms" -lt 1600
grep ',range,.*,0,[0-9]*,0$' dead.csv >dead.rows && grep ',range,.*,0,[0-9]*,0$' whole.csv | head -n "$(wc -l <dead.rows)" >whole.rows
check "what is left is the beginning of what was recorded" cmp dead.rows whole.rows
finish
