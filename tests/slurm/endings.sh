#!/usr/bin/env bash
# Bad endings of runs on the real cluster: time limit, scancel, requeue, the batch script or all processes killed, a program that
# fails. Each leaves an archive marked incomplete, and the report job still runs.
if [ "${1:-}" != inside ]; then
    . tests/lib/tap.sh
    status=0
    tests/slurm/cluster --log "$TMP/daemons" -- bash tests/slurm/endings.sh inside || status=$?
    [ $status -eq 77 ] || exit $status
    skip "endings of jobs on a real cluster" "see the line above"
    finish
fi
. tests/lib/tap.sh
export DCREPORT_CALIBRATE=0
export DCREPORT_BIN=$BIN
results=$TMP/results site=$TMP/site
# More steps than there is time for.
endless=(--batch 16 --days 4 --epochs 1000 --validate-every 0)

# start NAME OPTIONS... - submit one series in its own folders; its job ids go to $NAME_run and $NAME_report.
start() {
    local name=$1 out
    shift
    out=$(DCREPORT_RESULTS=$results/$name DCREPORT_SITE=$site/$name slurm/submit "$@" 2>&1 </dev/null) || {
        echo "# submit failed: $out"
        return 1
    }
    declare -g "${name}_run=$(awk '$1 == "job" && $3 != "report" { print $2; exit }' <<<"$out")"
    declare -g "${name}_report=$(awk '$1 == "job" && $3 == "report" { print $2 }' <<<"$out")"
}
# Waits until rank 0 has written that many lines of its steps, a minute at most.
wait_for_steps() { # NAME NODES JOB LINES
    local files lines i as_seen='/proc/[0-9]*/root' # the node's own disk, as its processes see it
    for ((i = 0; i < 300; i++)); do
        # shellcheck disable=SC2206  # the pattern is to be expanded
        files=($as_seen/run/local/dcreport-"$2node-slurm-$3"/program/steps-rank0.csv)
        lines=$(grep -sc . "${files[0]}")
        [ "${lines:-0}" -lt "$4" ] || return 0
        sleep 0.2
    done
    echo "# $1: no steps within a minute"
    tail -n 20 "$results/$1"/*.log
}
wait_for_job() {
    local i
    for ((i = 0; i < 500; i++)); do
        [ -n "$(squeue -h -j "$1" 2>/dev/null)" ] || return 0
        sleep 0.2
    done
    echo "# job $1 did not end within 100 seconds"
    squeue
}
# Kills at once, as a node does that runs out of memory: no process of the job can react. The PID namespace has only this
# cluster's processes.
kill_all_of() { # JOB [WORD]: those with the word in their command line
    local dir pids=()
    for dir in /proc/[0-9]*; do
        ! grep -qzx "SLURM_JOB_ID=$1" "$dir/environ" 2>/dev/null || ! grep -qa -- "${2:-}" "$dir/cmdline" || pids+=("${dir#/proc/}")
    done
    kill -KILL "${pids[@]}"
}
job() { # job ID FIELD
    scontrol show job "$1" | grep -o "$2=[^ ]*" | head -n 1 | cut -d= -f2
}
manifest() { # manifest NAME jq-filter
    tar xOf "$results/$1"/*[0-9].tar manifest.json | jq -r "$2"
}

start limit --nodes 1 --time=1 --signal=B:TERM@20 -- "${endless[@]}"
start killed --nodes 2 -- "${endless[@]}"
start cancel --nodes 2 -- "${endless[@]}" # when nodes are free again
# shellcheck disable=SC2154  # start declares them
{
    wait_for_steps killed 2 "$killed_run" 4
    kill_all_of "$killed_run"
    wait_for_steps cancel 2 "$cancel_run" 4
    scancel "$cancel_run"
    wait_for_job "$cancel_report"
    start orphaned --nodes 2 -- "${endless[@]}"
    wait_for_job "$killed_report"
    start requeued --nodes 1 -- --batch 16 --days 4 --steps 100 --validate-every 0
    wait_for_steps orphaned 2 "$orphaned_run" 4
    kill_all_of "$orphaned_run" slurm_script
    wait_for_steps requeued 1 "$requeued_run" 4
    scontrol requeue "$requeued_run"
    CHECK_OPTIONS=no start failing --nodes 1 -- --units 0
    DCREPORT_LAUNCHER="mpirun --no-such-option" start unlaunched --nodes 1
    start never --nodes 1 --begin=now+1hour
    scancel "$never_run"
    # The report job runs on one node, so it has to ask at least one other. Its log says so.
    command=$(sed -n 's/^profile: copy and pack it later with: //p' "$results/killed/slurm-$killed_report.log")
    check "killed: the report job's log has the command to gather its evidence" test -n "$command"
    check "killed: the command can be run" bash -c "cd '$results/killed' && ${command/sbatch/sbatch --wait}"
    wait_for_job "$requeued_report"
    wait_for_job "$orphaned_report"
    wait_for_job "$never_report"
    wait_for_job "$failing_report"
    wait_for_job "$unlaunched_report"
    wait_for_job "$limit_report"
}

# ended NAME NODES RUN REPORT: what holds for each ending.
ended() {
    local archive=$results/$1/$2node-slurm-$3.tar
    check "$1: there is an archive" test -s "$archive"
    check "$1: it verifies" "$BIN/dccollect" verify "$archive"
    check "$1: it is marked incomplete" test "$(manifest "$1" .complete)" = false
    check "$1: and says why" test -n "$(manifest "$1" '.incomplete_because[0] // ""')"
    check "$1: no result is in it twice" bash -c "! tar tf '$archive' | grep ^program/"
    check "$1: no spool is left" test -z "$(find "$results/$1" -name '.spool*')"
    echo "# $1: $(manifest "$1" '.incomplete_because | join("; ")')"
}
with_steps() {
    check "$1: the steps before the end are in it" \
        test "$(tar xOf "$results/$1"/*[0-9].tar rank0/steps.csv | wc -l)" -ge 4
}
reported() { # NAME REPORT
    check "$1: the report job ran after it and made the page" test -s "$site/$1/index.html"
    check "$1: the report job succeeded" test "$(job "$2" JobState)" = COMPLETED
}
# shellcheck disable=SC2154
{
    ended limit 1 "$limit_run"
    with_steps limit
    check "limit: the archive says the time limit was near" \
        grep -q "the time limit of the job was near" <(tar xOf "$results/limit"/*.tar log/slurm_job.txt)
    check "limit: the job ended before Slurm had to kill it" test "$(job "$limit_run" JobState)" = FAILED
    reported limit "$limit_report"

    ended cancel 2 "$cancel_run"
    with_steps cancel
    check "cancel: the evidence of the second node is there" \
        test "$(tar xOf "$results/cancel"/*.tar rank1/steps.csv | wc -l)" -ge 4
    check "cancel: the archive says that Slurm ended it" \
        grep -q "ended by Slurm: cancelled" <(tar xOf "$results/cancel"/*.tar log/slurm_job.txt)
    check "cancel: Slurm knows the job as cancelled" test "$(job "$cancel_run" JobState)" = CANCELLED
    reported cancel "$cancel_report"

    ended killed 2 "$killed_run"
    with_steps killed
    check "killed: the evidence of the second node is there" \
        test "$(tar xOf "$results/killed"/*.tar rank1/steps.csv | wc -l)" -ge 4

    ended orphaned 2 "$orphaned_run"
    with_steps orphaned
    check "orphaned: the evidence of the second node is there" \
        test "$(tar xOf "$results/orphaned"/*.tar rank1/steps.csv | wc -l)" -ge 4
    check "orphaned: it was the report job that packed" grep -q "left evidence that is not packed" "$results/orphaned/slurm-$orphaned_report.log"
    reported orphaned "$orphaned_report"

    archive=$results/requeued/1node-slurm-$requeued_run
    check "requeued: the first start has its archive, incomplete" test "$(tar xOf "$archive.tar" manifest.json | jq .complete)" = false
    check "requeued: with its steps" test "$(tar xOf "$archive.tar" rank0/steps.csv | wc -l)" -ge 4
    check "requeued: the second has its own, complete" test "$(tar xOf "$archive-r1.tar" manifest.json | jq .complete)" = true
    check "requeued: with all of its steps" test "$(tar xOf "$archive-r1.tar" rank0/steps.csv | wc -l)" = 101
    check "requeued: the report is of the second" test "$(cat "$results/requeued/last-series")" = "$archive-r1.tar"
    check "requeued: the log has both" test "$(grep -c " packed $archive" "$results/requeued/slurm-$requeued_run.log")" = 2
    reported requeued "$requeued_report"

    ended failing 1 "$failing_run"
    check "failing: the job's status is the program's" test "$(job "$failing_run" ExitCode)" = 2:0
    check "failing: its sentence is in the archive" \
        grep -q -- --units <(tar xOf "$results/failing"/*.tar log/stderr.txt)

    ended unlaunched 1 "$unlaunched_run"
    check "unlaunched: what mpirun said is in the archive" \
        grep -q no-such-option <(tar xOf "$results/unlaunched"/*.tar log/stderr.txt)

    check "never: a run that did not start leaves a sentence in the report job's log" \
        grep -q "job $never_run left nothing" "$results/never/slurm-$never_report.log"
    check "never: and no page" test ! -e "$site/never"
}
[ $tap_failed -eq 0 ] || tail -n 30 "$results"/*/slurm-*.log | sed 's/^/# /'
finish
