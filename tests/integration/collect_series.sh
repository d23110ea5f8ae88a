#!/usr/bin/env bash
# collect/series.sh (make collect): repetitions, a program that fails, a series that is interrupted.
# shellcheck disable=SC2016  # commands for another shell
. tests/lib/tap.sh
. tests/data/programs/build.sh
WELLFORMED_NOT='screen' # what a terminal was sent
command -v mpirun >/dev/null || { skip "a series" "no mpirun"; finish; }
export RESULTS="$TMP/the results"
export CALIBRATE=0 # it takes time, and the first series does it
small="--sensors 8 --days 1 --units 4 --batch 32 --epochs 1 --validation-windows 10"

check "a series with a repetition" env CALIBRATE=1 NODES="1 1 2" ARGS="$small" bash collect/series.sh
mapfile -t archives <"$RESULTS/last-series"
check "three archives" test "$(printf '%s\n' "${archives[@]}" | sort -u | wc -l)" -eq 3
check "they are whole" "$COLLECT" verify "${archives[@]}"
check "all have what the machine can do, of all ranks" sh -c 'for a; do tar xOf "$a" calibration.json | jq -e ".allreduce[-1].n_ranks == 2" || exit; done' x "${archives[@]}"
check "equal nodes are measured once" sh -c 'tar xOf "$0" calibration.json | jq -e "
    [.nodes[] | .measured_on] == [null, .nodes[0].host] or (.nodes | length == 1)"' "${archives[2]}"
check "complete, and the last has two nodes, emulated" manifest "${archives[2]}" '.complete and .n_nodes == 2 and .node_kind == "emulated"'
check "the two of one node are repetitions" test "$(manifest "${archives[0]}" .config_hash)" = "$(manifest "${archives[1]}" .config_hash)"
check "what the program said is in it" sh -c 'tar xOf "$0" log/output.txt | grep -q "validation MAE"' "${archives[2]}"

check "each count twice, in turns" env RESULTS="$TMP/repeated" EMULATE=ranks NODES="1 2" REPEAT=2 ARGS="$small" bash collect/series.sh
check "four archives in that order" test "$(sed 's/.*\/\([0-9]*node\)-.*/\1/' "$TMP/repeated/last-series" | tr '\n' ' ')" = "1node 2node 1node 2node "
check_status 2 "half a repetition" env REPEAT=1.5 NODES=1 bash collect/series.sh
check "... is refused" test "$(cat "$TMP/tap.out")" = "make collect: REPEAT takes a whole number from 1 to 999, not '1.5'."

touch "$TMP/a-file"
check_status 2 "results in a file" env CALIBRATE=1 RESULTS="$TMP/a-file" NODES=1 bash collect/series.sh
check "... are refused" test "$(cat "$TMP/tap.out")" = "make collect: cannot create folder '$TMP/a-file'. Set RESULTS to another folder."

check_status 2 "options that the program refuses" env CALIBRATE=1 NODES=2 ARGS=--nonsense bash collect/series.sh
check "the program's own sentence says why, before anything is begun" test "$(cat "$TMP/tap.out")" = "dcrnn-train: unknown option '--nonsense'. See \`dcrnn-train --help\`."
check_status 2 "data that are not there" env CALIBRATE=1 NODES=2 DATA="$TMP/none.csv" GRAPH=README.md bash collect/series.sh
check "... are named" test "$(cat "$TMP/tap.out")" = "make collect: cannot read '$TMP/none.csv'. DATA and GRAPH name files of traffic data."
check_status 2 "data that the program refuses" env CALIBRATE=1 NODES=2 DATA=README.md GRAPH=README.md bash collect/series.sh
check "... are refused before anything is begun" test "$(sed 's/^dcrnn-train: .*README.md.*/once/' "$TMP/tap.out")" = once
check "the list of the last series is still the good one" test "$(cat "$RESULTS/last-series")" = "$(printf '%s\n' "${archives[@]}")"

check_status 2 "more nodes than this machine can stand in for" env NODES=100000 bash collect/series.sh
# One that the program refuses when it knows its ranks, and two that are interrupted, side by side, because mpirun gives
# ranks some seconds to end. Each mpirun works in a separate folder.
mkdir "$TMP/refusing" "$TMP/screens"
NODES=2 ARGS="$small --rank-weights 1,1,1" RESULTS=$TMP/refused TMPDIR=$TMP/refusing bash collect/series.sh >"$TMP/refusal" 2>&1 &
refusing=$!
running=(--sensors 40 --days 3 --units 32 --batch 32 --epochs 500)
screen=
if command -v script >/dev/null; then
    NODES=2 ARGS="${running[*]}" RESULTS=$TMP/screened TMPDIR=$TMP/screens \
        env --default-signal=INT script -qfec "bash collect/series.sh" "$TMP/screen" >/dev/null 2>&1 </dev/null &
    screen=$!
fi
NODES="2 4" ARGS="${running[*]}" bash collect/series.sh >"$TMP/said" 2>&1 &
series=$!
until_it_runs() { # results; both ranks have written steps
    for _ in $(seq 1200); do
        [ "$(find "$1" -path '*.spool*' -name 'steps-rank[01].csv' -size +300c 2>/dev/null | wc -l)" -lt 2 ] || break
        sleep 0.1
    done
}
until_it_runs "$RESULTS"
kill -TERM $series
# Ctrl-C on a terminal: every process of the group gets SIGINT.
[ -z "$screen" ] || { until_it_runs "$TMP/screened" && kill -INT -- -"$(pgrep -P $screen)"; }
status=0
wait $series || status=$?
check "told to end: status 130" test $status -eq 130
stopped=$(sed -n 's/.* is in \(.*\), marked incomplete\.$/\1/p' "$TMP/said")
check "broken off: the list of the last series is still the good one" test "$(cat "$RESULTS/last-series")" = "$(printf '%s\n' "${archives[@]}")"
check "and it says how to look at what there is" grep -q "make site. still shows the earlier series[.] .*dcreport '$RESULTS'/" "$TMP/said"
check "packed after the ranks had ended" manifest "$stopped" '.incomplete_because | all(test("no end record") | not)'
check "each rank was told, and ended with a step" manifest "$stopped" '[.incomplete_because[] | select(test("^rank [01] was told to end .SIGTERM."))] | length == 2'
check "both ranks' steps are in it" sh -c 'tar tf "$0" | grep -c steps.csv | grep -qx 2' "$stopped"

# Interrupted while the machine is measured, here by a slow substitute.
mkdir "$TMP/slow" "$TMP/early"
printf '#!/bin/sh\nexec sleep 60\n' >"$TMP/slow/mpirun"
chmod +x "$TMP/slow/mpirun"
echo before.tar >"$TMP/early/last-series"
CALIBRATE=1 NODES=1 ARGS=$small RESULTS=$TMP/early PATH=$TMP/slow:$PATH bash collect/series.sh >"$TMP/early-said" 2>&1 &
early=$!
for _ in $(seq 1200); do
    [ -z "$(find "$TMP/early" -name '.calib*.log')" ] || break
    sleep 0.1
done
kill -TERM $early
status=0
wait $early || status=$?
check "told to end while measuring: status 130" test $status -eq 130
check "then nothing was left, and it names no archives" sh -c 'grep -q "this series left no archive[.] .make site. still shows" "$0" && ! grep -q dcreport "$0"' "$TMP/early-said"
check "nothing is left indeed" test "$(ls -A "$TMP/early")" = last-series

status=0
wait $refusing || status=$?
check "ranks that the program refuses: status 2" test $status -eq 2
check "the program's own sentence says why" grep -qx "dcrnn-train: --rank-weights has 3 shares for 2 ranks. Give one for each." "$TMP/refusal"
check "and no series is left of it" test -z "$(find "$TMP/refused" -type f)"

if [ -n "$screen" ]; then
    status=0
    wait $screen || status=$?
    check "Ctrl-C: status 130" test $status -eq 130
    [ $status -eq 130 ] || tr -d '\r' <"$TMP/screen" | tail -n 20 | sed 's/^/#   /'
    stopped=$(tr -d '\r' <"$TMP/screen" | sed -n 's/.* is in \(.*\), marked incomplete\.$/\1/p')
    check "Ctrl-C: packed, marked incomplete, each rank interrupted" manifest "${stopped:-none}" '(.complete | not) and ([.incomplete_because[] | select(test("^rank [01] was interrupted .SIGINT."))] | length == 2)'
    check "Ctrl-C: it showed how far the run was" grep -q '2 nodes: training, step' "$TMP/screen"
    check "Ctrl-C: nothing is left behind" test -z "$(find "$TMP/screened" -name '.spool*' -o -name '.calib*')"
else
    skip "Ctrl-C: packed, marked incomplete" "no script(1)"
fi
check "nothing is left behind" test -z "$(find "$RESULTS" -name '.spool*' -o -name '.calib*')"
finish
