#!/bin/bash
# Shares of the recorded part of a run: a program that spends half of its time in MPI from begin to end shows one half in every
# window. If events were lost, the report leaves the shares out instead of printing wrong ones. A rank that works alone while
# the others wait is told from one that has more work.
# shellcheck disable=SC2016  # commands for another shell
# alone: shares of time, of two ranks that take turns
. tests/lib/tap.sh
. tests/data/programs/build.sh
if ! command -v mpirun >/dev/null || ! command -v mpicc >/dev/null; then
    skip "windows" "no mpirun and mpicc here"
    finish
fi
mpicc -O1 -o "$TMP/uniform" tests/data/programs/uniform.c -ldl || not_ok "uniform builds"
cd "$TMP" || exit 1

start=(./uniform)
# recorded NAME "OPTIONS" ARGS...: run uniform with them, and make its report
recorded() {
    local name=$1 options=$2
    shift 2
    mkdir "mpi-$name" # two at a time must not make the same folder
    # shellcheck disable=SC2086  # words
    TMPDIR=$PWD/mpi-$name "$COLLECT" run -o "$name.tar" --interval 50 $options -- "${MPIRUN[@]}" -n 2 "${start[@]}" "$@" >"$name.out" 2>&1
    "$BIN/dcreport" "$name.tar" -o "$name" >"$name.txt" 2>"$name.err"
}
# says NAME JQ-EXPRESSION
# shellcheck disable=SC2317  # check calls it
says() {
    jq -e ".runs[0] | $2" "$1/report.json" >/dev/null || {
        jq -c '.headline, .support, (.runs[0] | .recorded, .mpi_share, .mpi_ranks)' "$1/report.json"
        return 1
    }
}

# ---- at least 4 s in turns of 20 ms. Starting takes a part of it, so the share is lower at the beginning.
# Two run side by side, because one rank of each sleeps.
recorded whole "" 150 20 &
recorded steps "--steps 60:110" 150 20 named
wait
recorded duration "--duration 2" 200 20 &
recorded delay "--delay 2" 200 20
wait
recorded both "--delay 1.5 --duration 1" 200 20 &
recorded capture "--capture-range nvtx:step" 100 20 named
wait
check "whole: half of the time" says whole '.mpi_share.ratio > 0.3 and .mpi_share.ratio < 0.7 and (.recorded | .is_part | not)'
check "--duration: half, less the start" says duration '.mpi_share.ratio > 0.22 and .mpi_share.ratio < 0.7'
for window in delay both steps capture; do
    check "$window: half of the time" says $window '.mpi_share.ratio > 0.3 and .mpi_share.ratio < 0.7'
done
check "--duration 2: of less than 2.1 s a rank" says duration '.recorded | .is_part and .time_ns > 1.2e9 and .time_ns < 4.2e9 and .processes_ns > 7e9 and .from_ns == 0'
check "--delay 2: what comes behind" says delay '.recorded | .from_ns > 0.5e9 and .from_ns <= 2e9 and .to_ns > 2.5e9 and .time_ns < .processes_ns - 1e9'
check "--delay 1.5 --duration 1: 1 s of each rank" says both '.recorded | .time_ns > 1.9e9 and .time_ns < 2.1e9'
check "--steps 60:110: about 1 s of 51 steps" says steps '.n_steps == 51 and (.recorded | .time_ns > 2e9 and .time_ns < 4e9)'
for window in duration delay both steps capture; do
    check "$window: the report says which part" grep -qE "On average, a rank was recorded for .* s of |It covers .* of the .* that a rank ran" $window/report.json
done
check "and calls it so" sh -c 'jq -e "(.runs[0].finding | test(\"MPI_SHARE|RUN_SHARES_CORES|LATE\")) and (.headline + .support | test(\"of the recorded time|On average, a rank was recorded\"))" delay/report.json'

# ---- a call that lasts longer than the window counts with the part of it that lies inside: rank 0 waits for 2 s
recorded inside "--delay 1.5 --duration 0.5" late 10
check "a call around the window fills it" says inside '.mpi_share.ratio > 0.35 and .mpi_share.ratio < 0.65 and ([.mpi_ranks[].time_ns] | max) <= 0.6e9'

# ---- a serial part of rank 0, and more work on rank 0, with the same calls. Where other programs take cores, neither is judged.
for marks in "" named; do
    # shellcheck disable=SC2086  # none or one word
    recorded "serial$marks" "" serial 60 30 $marks
    # shellcheck disable=SC2086
    recorded "uneven$marks" "" uneven 60 30 $marks
    check "serial $marks: rank 0 works alone" says "serial$marks" '.shared != null or (.alone | .rank == 0 and .others_ns * 20 < .own_ns)'
    check "uneven $marks: it does not" says "uneven$marks" '.alone == null'
    check "serial $marks: no equal parts are advised" sh -c 'jq -e ".runs[0].shared != null or (.first_action | test(\"Spread the serial part over all ranks\") and (test(\"equal (parts|work)\") | not))" "$0/report.json"' "serial$marks"
    check "uneven $marks: they are" sh -c 'jq -e ".runs[0].shared != null or (.first_action | test(\"equal (parts|work)\"))" "$0/report.json"' "uneven$marks"
done
# without its traces, the archive holds the same
TMPDIR=$PWD/mpi-serial "$COLLECT" run -o sums.tar --interval 50 --traces none -- "${MPIRUN[@]}" -n 2 ./uniform serial 60 30 >sums.out 2>&1
"$BIN/dcreport" sums.tar -o sums >sums.txt 2>sums.err
check "a summary tells it too" says sums '.shared != null or (.alone | .rank == 0)'

# ---- whole runs of one command are compared by their times, those of another are not
for turns in 60 61; do
    TMPDIR=$PWD/mpi-serial "$COLLECT" run -o "one$turns.tar" --interval 50 -- "${MPIRUN[@]}" -n 1 ./uniform serial $turns 30 >one.out 2>&1
    "$BIN/dcreport" "one$turns.tar" serial.tar -o "ranks$turns" >ranks.txt 2>ranks.err
done
check "the times of 1 and 2 ranks are compared" jq -e '.unit == "rank" and (.series[0].points | length == 2 and all(.run_ns > 3e9) and (.[1].speedup * .[1].run_ns / .[0].run_ns | . > 0.999 and . < 1.001))' ranks60/report.json
check "that they did the same work is assumed" jq -e '.support | test("The program takes [0-9.]+ s on 1 rank and [0-9.]+ s on 2 ranks") and test("This assumes equal work")' ranks60/report.json
check "another command is not compared, and why" jq -e '(.series | all(.points | length == 1)) and ([.notes[].text] | any(test("which differ in command")))' ranks61/report.json

# ---- a capture that ended before the delay is not part of the recording
if [ -n "$NVTX_INCLUDE" ]; then
    (cd "$OLDPWD" && build_program captured captured.c "${NVTX_FLAGS[@]}") || not_ok "captured builds"
    "$COLLECT" run -o later.tar --interval 50 --delay 1 --capture-range nvtx:capture -- ./captured >later.out 2>&1
    "$BIN/dcreport" later.tar -o later >later.txt 2>&1
    check "the second capture is recorded" says later '.recorded | .time_ns > 0.4e9 and .time_ns < 0.7e9'
    check "from its beginning, not from the end of the delay" says later '.recorded | .from_ns > 1.3e9 and .from_ns < .to_ns'
else
    skip "a capture that ended before the delay" "no NVTX headers"
fi

# ---- events are lost. Processes are looked for once a second, and on a fast machine these end sooner.
start=(sh -c 'sleep 1.1; exec ./uniform "$@"' sh)
recorded lost "--keep all --max-disk-mb 1" late 25000
check "lost: no share, and why" says lost '.mpi_share.ratio == null and .mpi_calls == null and (.recorded.because | test("events were lost"))'
check "the first sentence of support says it" sh -c 'jq -e ".support | test(\"^[0-9,]+ events were lost after .* of \")" lost/report.json'
check "nothing is said of MPI" sh -c 'jq -e ".support + .headline | test(\"MPI_|waits for rank\") | not" lost/report.json'
check "nor on the page, nor in the text" sh -c '! grep -q "MPI_Allreduce" lost/runs/*/index.html lost/runs/*/profiling_report.txt'
check "the page says why" grep -q "The time in MPI calls and in calls on files is not known: events were lost" lost/runs/*/index.html
recorded steps_lost "--keep all --max-disk-mb 1" 12000 0 named
check "steps: those before the loss" says steps_lost '.n_steps > 1000 and .n_steps < 11900 and .recorded.lost_from_ns > 0'
check "a sentence says it too" sh -c 'jq -e ".support | test(\"events were lost after [0-9].* of [0-9]\")" steps_lost/report.json'
"$BIN/dcreport" --check 'exposed_comm<100%' --check 'steps>10' steps_lost.tar >check.txt 2>&1
check "a check is not measured" test "$?" -eq 1 -a "$(grep -c '^not measured: .*events were lost' check.txt)" -eq 2
finish
