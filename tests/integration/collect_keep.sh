#!/bin/bash
# --keep ring, all and summary: the part of a trace that stays on disk, with times and counts of the whole run.
# plain: many short runs; the same code runs sanitized in collect_drain
# shellcheck disable=SC2016,SC2317  # commands for another shell; functions that check calls
. tests/lib/tap.sh
. tests/data/programs/build.sh
build_marks || not_ok "marks builds"
build_program stress stress.c || not_ok "stress builds"
build_program burst burst.c || not_ok "burst builds"
build_trace_text || not_ok "trace_text builds"
cd "$TMP" || exit 1
export MARKS_STEP_US=0

summary_of() { # ARCHIVE: the lines of its only summary
    member "$1" "$(tar tf "$1" | grep summary-)"
}
trace_of() { # ARCHIVE: its only trace as a file
    member "$1" "$(tar tf "$1" | grep 'trace-.*dct')" >trace.dct
}
names_of() { # ARCHIVE: every name with its count
    summary_of "$1" | jq -c 'select(.name?) | [.name, .kind, .n]' | sort
}
is_complete() { # ARCHIVE STEPS: all steps, nothing lost, nothing damaged
    summary_of "$1" | head -n 1 | jq -e ".steps == $2 and .dropped == 0 and .bad_blocks == 0 and .missing_blocks == 0 and .unmatched_pops == 0" &&
        "$COLLECT" verify "$1" && manifest "$1" '.complete'
}

# ---- the same program three times
"$COLLECT" run --keep all -o all.tar -- ./marks 10000 2>err
check "all: every event and every step" is_complete all.tar 10000
"$COLLECT" run --keep ring --max-disk-mb 1 -o ring.tar -- ./marks 10000 2>err
check "ring: every step is in the sums" is_complete ring.tar 10000
check "ring: the counts of all names are those of the whole run" test "$(names_of ring.tar)" = "$(names_of all.tar)"
trace_of ring.tar
size=$(stat -c %s trace.dct)
check "ring: the trace keeps to its limit ($size bytes)" test "$size" -le 1048576 -a "$size" -ge 800000
check "ring: nothing of what was removed counts as damage" sh -c './trace_text trace.dct --count | grep -q "dropped=0 bad=0 missing=0 unmatched=0"'
kept=$(./trace_text trace.dct | grep -c '|step\] u64')
check "ring: the newest steps are there ($kept events of steps)" test "$kept" -ge 1000 -a "$kept" -lt 9000
"$COLLECT" run --keep summary -o sums.tar -- ./marks 10000 2>err
check "summary: every step, and no trace" sh -c '! tar tf sums.tar | grep -q "\.dct"'
check "summary: is whole" is_complete sums.tar 10000
check "summary: the counts are those of the whole run" test "$(names_of sums.tar)" = "$(names_of all.tar)"
check_status 125 "--keep some is refused" "$COLLECT" run --keep some -o x.tar -- true

# ---- the report's text about them
for run in all ring sums; do
    "$BIN/dcreport" -o $run.site $run.tar >$run.out 2>&1
done
steps() { jq -c '.runs[0] | [.n_steps, (.phases | map(.name))]' "$1.site/report.json"; }
check "the report counts the same steps and phases" test "$(steps ring)" = "$(steps all)" -a "$(steps sums)" = "$(steps all)"
from=$(grep -oE 'Single events are kept from step [0-9]+' ring.out | grep -oE '[0-9]+')
check "it says from which step on single events are there ($from)" test "${from:-0}" -gt 1000 -a "${from:-0}" -lt 9000
check "and only where some are gone" sh -c '! grep -q "Single events" all.out'
"$COLLECT" anonymise ring.tar hidden.tar >/dev/null 2>&1
"$BIN/dcreport" -o hidden.site hidden.tar >hidden.out 2>&1
check "an anonymised archive says the same" sh -c '[ "$(grep -o "Single events.*" hidden.out)" = "$(grep -o "Single events.*" ring.out)" ]'

# ---- threads, and children that record too
"$COLLECT" run --keep ring --max-disk-mb 4 -o threads.tar -- ./burst 200000 8 2>err
adds_up() { # ARCHIVE RANGES: recorded and dropped ranges add up to all
    summary_of "$1" | head -n 1 | jq -e ".events + .dropped == $2 and .bad_blocks == 0 and .missing_blocks == 0"
}
check "8 threads: recorded and dropped are all ranges" adds_up threads.tar 1600000
"$COLLECT" run --keep ring --max-disk-mb 1 -o two.tar -- sh -c './marks 8000 & ./marks 8000; wait' 2>err
check "two processes: a ring each" sh -c '[ "$(tar tf two.tar | grep -c "trace-.*dct")" = 2 ]'
check "and both are whole" metadata two.tar '.collector.events == 64000'

# ---- a process is killed
MARKS_STEP_US=20 "$COLLECT" run --keep ring --max-disk-mb 1 -o died.tar -- ./marks 20000 9 2>err
check "SIGKILL of the program: the steps before it" sh -c 'tar xOf died.tar "$(tar tf died.tar | grep summary-)" | head -n 1 | jq -e ".steps == 10000"'
MARKS_STEP_US=100 "$COLLECT" run --keep ring --max-disk-mb 1 --spool killed -- ./marks 20000 2>err &
collector=$!
for _ in $(seq 600); do ls killed/rank0/*.dct.12 >/dev/null 2>&1 && break; sleep 0.05; done
kill -KILL $collector
wait $collector 2>/dev/null
for _ in $(seq 600); do pgrep -f './marks 20000' >/dev/null || break; sleep 0.1; done
for _ in $(seq 100); do ls killed/rank0/summary-* >/dev/null 2>&1 && break; sleep 0.1; done
"$COLLECT" pack killed -o killed.tar 2>err
check "SIGKILL of the collector: the archive can be read" "$COLLECT" verify killed.tar
trace_of killed.tar
check "its trace has the last step" sh -c './trace_text trace.dct | grep -q "|step\] u64=19999$"'
check "its sums have the steps from the first on" sh -c '
    tar xOf killed.tar "$(tar tf killed.tar | grep summary-)" | jq -ces "[.[] | select(.step?) | .step[0]] | length > 1000 and .[0] == 0 and .[-1] == length - 1"'
check "and say that their end is missing" metadata killed.tar '.collector.notes | any(test("the sums end before the newest events"))'

# ---- many short processes: none of them leaves anything behind, and each keeps its rank
"$COLLECT" run --keep summary --io off -o many.tar -- sh -c 'for i in $(seq 60); do ./marks 2; done; ps -o stat= --ppid "$PPID" >children' 2>err
check "60 short processes with --keep summary: every range counts" metadata many.tar '.collector.events == 480 and .collector.traces == 60'
check "no trace of them stays" sh -c '! tar tf many.tar | grep -q "\.dct"'
check "no process waits to be collected" sh -c '! grep -q Z children'
"$COLLECT" run --keep ring --max-disk-mb 1 --spool linked -- ./marks 10000 2>err
ln -s 3 "linked/rank-of-$(basename linked/rank0/trace-*.dct .dct | cut -d- -f2)"
"$COLLECT" pack linked -o linked.tar 2>err
check "a process that told its rank: its pieces and its summary are that rank's" sh -c '[ "$(tar tf linked.tar | grep -c "^rank3/\(trace\|summary\)-")" = 2 ] && ! tar tf linked.tar | grep -q "^rank0/\(trace\|summary\)-"'
check "and count once" metadata linked.tar '.collector.events == 40000'
rm linked/rank0/summary-*
"$COLLECT" pack linked -o linked.tar 2>err
check "its oldest events and their sums are gone: the archive says so" sh -c 'grep -q "has the newest events only, and the sums of those before are lost" err'

finish
