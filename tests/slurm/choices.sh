#!/usr/bin/env bash
# slurm/submit on the real cluster: what it refuses, and a series under srun.
if [ "${1:-}" != inside ]; then
    . tests/lib/tap.sh
    status=0
    tests/slurm/cluster --log "$TMP/daemons" -- bash tests/slurm/choices.sh inside || status=$?
    [ $status -eq 77 ] || exit $status
    skip "choices on a real cluster" "see the line above"
    finish
fi
. tests/lib/tap.sh
export DCREPORT_CALIBRATE=0 # over slow links it takes long
results=$TMP/results site=$TMP/site
export DCREPORT_BIN=$BIN DCREPORT_RESULTS=$results DCREPORT_SITE=$site

refused() { # refused "name" "words" OPTIONS...: nothing is queued and a sentence holds the words
    local name=$1 words=$2 got=0
    shift 2
    slurm/submit "$@" >"$TMP/out" 2>&1 </dev/null || got=$?
    if [ $got -eq 2 ] && grep -qF -- "$words" "$TMP/out" && [ -z "$(squeue -h)" ]; then
        ok "$name"
    else
        not_ok "$name" "status $got, expected 2 and '$words': $(cat "$TMP/out"; squeue)"
    fi
}
in_archive() { # in_archive NODES TASK MEMBER: the member's text
    tar xOf "$(echo "$results/$1"node-slurm-*_"$2".tar)" "$3"
}

refused "a partition that does not exist is refused" "Slurm refuses the run on 1 node(s)" --partition=long
refused "more nodes than the partition has are refused" "Slurm refuses the run on 4 node(s)" --partition=small
refused "GPUs are refused where no node has one" "Slurm refuses the run on 1 node(s)" --gpus-per-node=1
refused "a time limit that the partition does not allow is refused" "more time or nodes than their partition allows" --time=2:00:00
refused "what Slurm itself refuses is passed on" "Invalid feature" --constraint=nosuch
DCREPORT_BIN=$TMP refused "programs that are not built are named" "no dcrnn-train in" --nodes 1
refused "options that the training refuses" "submit: dcrnn-train: --layers takes" --nodes 1 -- --layers 0

check "a series runs under srun, each node count twice" env DCREPORT_LAUNCHER="srun --mpi=pmix" slurm/submit --nodes "1 2" --repeat 2 --partition=small \
    --wait -- --batch 16 --steps 30 --days 3 --validate-every 0
check "there are four archives" test "$(find "$results" -name '*node-slurm-*_[12].tar' | wc -l)" = 4
for task in 1 2; do
    check "run $task: the second node's evidence was gathered" test "$(in_archive 2 $task rank1/steps.csv | wc -l)" = 31
    check "run $task: and the readings of its clock" test "$(in_archive 2 $task node1/clock_monitor.csv | wc -l)" -ge 2
done
check "the report is of all four" test "$(wc -l <"$results/last-series")" = 4
check "nothing half-gathered is left" test -z "$(find "$results" -name '.spool*' -o -name '.from-*')"
[ $tap_failed -eq 0 ] || tail -n 30 "$results"/slurm-*.log | sed 's/^/# /'
finish
