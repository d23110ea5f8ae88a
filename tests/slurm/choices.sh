#!/usr/bin/env bash
# slurm/submit on the real cluster: what it refuses, what it asks and keeps, and a series by the CPU scripts under srun.
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
export DCREPORT_BIN=$BIN DCREPORT_SITE_CONF=$TMP/site.conf
results=$TMP/results site=$TMP/site

submit() {
    slurm/submit --results "$results" --site "$site" "$@"
}
refused() { # refused "name" "words" OPTIONS...: nothing is queued and a sentence holds the words
    local name=$1 words=$2 got=0
    shift 2
    submit "$@" >"$TMP/out" 2>&1 </dev/null || got=$?
    if [ $got -eq 2 ] && grep -qF -- "$words" "$TMP/out" && [ -z "$(squeue -h)" ]; then
        ok "$name"
    else
        not_ok "$name" "status $got, expected 2 and '$words': $(cat "$TMP/out"; squeue)"
    fi
}
# shellcheck disable=SC2317  # called by check
holds() { # holds REGEX TEXT
    grep -Eq -- "$1" <<<"$2"
}
in_archive() { # in_archive NODES MEMBER: the member's text
    tar xOf "$(echo "$results/$1"node-slurm-*.tar)" "$2"
}

refused "a partition that does not exist is refused, and those that do are named" "there are: short small" --partition long
refused "more nodes than the partition has are refused" "partition 'small' has 2" --partition small
refused "--gpus-per-node is refused where no node has a GPU" "no nodes with GPUs" --gpus-per-node 1
refused "a time limit that the partition does not allow is refused" "allows, 1:00:00" --time 2:00:00
refused "what Slurm itself refuses is passed on" "nvalid feature" --sbatch-options "--constraint=nosuch"
DCREPORT_BIN=$TMP refused "programs that are not built are named" "no dcrnn-train in" --nodes 1
refused "options that the training refuses" "submit: dcrnn-train: --layers takes" --nodes 1 -- --layers 0
check "refused submissions kept no settings" test ! -e "$TMP/site.conf"

printf 'small\n\n\n' | script -qec "slurm/submit --configure" /dev/null >"$TMP/out" 2>&1
check "asked on a terminal, the partition is kept" grep -qx "partition=small" "$TMP/site.conf"
check "and the partitions were shown first" grep -q "short\* 4 1:00:00" "$TMP/out"
check "settings are replaced by --configure" submit --configure --partition short --account none_checked
cp "$TMP/tap.out" "$TMP/out"
check "an account without a database to ask is taken with a word" grep -q "cannot be checked" "$TMP/out"
rm -f "$TMP/site.conf"

# The CPU scripts, ranks started by srun, evidence gathered from each node's own disk.
check "the CPU series runs under srun with perf" env DCREPORT_LOCAL=/run/local slurm/submit --results "$results" \
    --site "$site" --cpu --launcher srun --launcher-options --mpi=pmix --wait -- --batch 16 --steps 30 --days 3 --validate-every 0
check "the second node's evidence was gathered" test "$(in_archive 2 rank1/steps.csv | wc -l)" = 31
check "and the readings of its clock" test "$(in_archive 2 node1/clock_monitor.csv | wc -l)" -ge 2
check "nothing half-gathered is left" test -z "$(find "$results" -name '.spool*' -o -name '.from-*')"
counters=$(in_archive 2 perf/rank1.csv 2>/dev/null)
reason=$(in_archive 2 perf/rank1.txt 2>/dev/null)
if [ -n "$counters" ]; then
    check "perf counted each rank's time on a core" holds '^[0-9.]+,msec,task-clock' "$counters"
    check "hardware counters are there, or the reason why not" \
        holds '^[0-9]+,[^,]*,cycles|no hardware counters' "$counters
$reason"
else
    check "without perf's counters the reason is kept" holds "no counters of rank 1 on node" "$reason"
fi
check "perf's files are foreign evidence" test "$(in_archive 2 manifest.json |
    jq -r '[.members[] | select(.name | startswith("perf/")) | .role] | unique | join(" ")')" = foreign
[ $tap_failed -eq 0 ] || tail -n 30 "$results"/slurm-*.log | sed 's/^/# /'
finish
