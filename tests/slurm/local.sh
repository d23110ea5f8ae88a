#!/bin/bash
# slurm/profile.sbatch with replacements for Slurm's commands; this machine is its "node". A run records to the node's own disk,
# and nothing is lost if the shared folder is full, if the copy is cut, changed or fails, if something still writes, or if a job
# is killed and requeued. The other scripts of tests/slurm do this on a real cluster.
# shellcheck disable=SC2016,SC2317  # commands for another shell; functions that check calls
. tests/lib/tap.sh
. tests/data/programs/build.sh
mkdir "$TMP/bin" "$TMP/local" "$TMP/results"
trap 'umount "$TMP/small" 2>/dev/null; rm -rf "$TMP"' EXIT
# srun runs one task here. The other commands of Slurm print nothing.
cat >"$TMP/bin/srun" <<'END2'
#!/bin/bash
while [[ ${1:-} == -* ]]; do shift; done
exec env SLURM_PROCID=0 SLURM_STEP_ID=0 SLURM_LOCALID=0 SLURM_NTASKS=1 SLURMD_NODENAME=here "$@"
END2
printf '#!/bin/sh\nexit 1\n' >"$TMP/bin/scontrol"
printf '#!/bin/sh\necho $RUNNING\n' >"$TMP/bin/squeue"
chmod +x "$TMP/bin"/*
small=(--batch 8 --steps 3 --days 2 --validate-every 0)
job=0 results=$TMP/results
batch() { # batch VARIABLE=VALUE... [ARGUMENTS]: the script in a job. Its log is $TMP/log
    local set_to=()
    while [[ ${1:-} == [A-Z]*=* ]]; do set_to+=("$1") && shift; done
    env PATH="$TMP/bin:$PATH" SLURM_SUBMIT_DIR="$PWD" SLURM_JOB_ID="$job" SLURM_JOB_NUM_NODES=1 SLURM_JOB_NODELIST=here SLURM_NTASKS=1 \
        DCREPORT_CALIBRATE=0 DCREPORT_BIN="$BIN" DCREPORT_RESULTS="$results" DCREPORT_LOCAL="$TMP/local" DCREPORT_SITE="$TMP/site" \
        DCREPORT_LAUNCHER=srun "${set_to[@]}" bash slurm/profile.sbatch "$@" >"$TMP/log" 2>&1
}
new_job() { # the next number, in $job, and what belongs to it
    job=$((job + 1))
    name=1node-slurm-$job
    local_spool=$TMP/local/dcreport-$name
}
said() { # said WORDS: in the log
    grep -qF -- "$1" "$TMP/log" || { cat "$TMP/log"; return 1; }
}
steps() { # steps ARCHIVE: with those of rank 0
    [ "$(member "$1" rank0/steps.csv | wc -l)" = 4 ]
}
# shellcheck disable=SC2012  # names of our own
only() { # only NAME...: these and nothing else are in the results folder
    [ "$(ls -A "$results" | tr '\n' ' ')" = "$* " ] || { ls -A "$results"; return 1; }
}
nothing_local() {
    [ -z "$(ls -A "$TMP/local")" ] || { find "$TMP/local"; return 1; }
}

new_job
# A cp that first checks what is in the shared folder.
cat >"$TMP/bin/cp" <<'END2'
#!/bin/bash
find "$(dirname "${*: -1}")" -type f -size +0 -printf '%P\n' >"$SEEN"
exec /bin/cp "$@"
END2
chmod +x "$TMP/bin/cp"
check "a job" batch SEEN="$TMP/seen" "${small[@]}"
rm "$TMP/bin/cp"
check "during the run nothing that is recorded lies in the shared folder" bash -c '[ -e "$0" ] && ! grep . "$0"' "$TMP/seen"
check "its archive is whole and complete" manifest "$results/$name.tar" '.complete'
check "with what the program left and said" steps "$results/$name.tar"
check "and with Slurm's view" sh -c 'tar tf "$0" | grep -qx log/slurm_job.txt' "$results/$name.tar"
check "nothing is left on the node" nothing_local
check "nor beside the archive" only $name.tar
check_status 2 "a job of the same number does not overwrite it" batch "${small[@]}"
check "and says so" said "$name.tar' exists and is not overwritten. Set DCREPORT_RESULTS to another folder."
check_status 3 "the status is the program's" batch SLURM_JOB_ID=other -- sh -c 'echo mine; exit 3'
check "a program of one's own is recorded" sh -c 'tar xOf "$0" log/stdout.txt | grep -qx mine' "$results/1node-slurm-other.tar"
rm -f "$results"/*

# ---- one archive for each task of an array and for each start
new_job
for task in 1 2; do
    check "task $task of an array" batch SLURM_JOB_ID=9$task SLURM_ARRAY_JOB_ID=$job SLURM_ARRAY_TASK_ID=$task "${small[@]}"
done
check "each has its own archive" only ${name}_1.tar ${name}_2.tar
check "the report of the array" batch report $job
check "has both" test "$(wc -l <"$results/last-series")" = 2
rm -f "$results"/*

killed_job() { # a job that is killed at once after its first steps: none of its processes can react
    local tries=300 lines=0 dir pids=()
    batch "$@" --batch 8 --epochs 1000 --days 2 --validate-every 0 &
    while [ "$tries" -gt 0 ] && [ "${lines:-0}" -lt 3 ]; do
        sleep 0.1
        lines=$(grep -sc . "$local_spool/program/steps-rank0.csv")
        tries=$((tries - 1))
    done
    for dir in /proc/[0-9]*; do
        ! grep -qzx "DCREPORT_LOCAL=$TMP/local" "$dir/environ" 2>/dev/null || pids+=("${dir#/proc/}")
    done
    kill -KILL "${pids[@]}"
    wait
    [ "$tries" -gt 0 ]
}
new_job
check "a job that is killed" killed_job
check "leaves its evidence on the node" test -s "$local_spool/program/steps-rank0.csv"
check "the job runs again" batch SLURM_RESTART_COUNT=1 "${small[@]}"
check "the first start has an archive" manifest "$results/$name.tar" '.complete | not'
check "of its own steps" test "$(member "$results/$name.tar" rank0/steps.csv | wc -l)" -ge 3
check "the second has another, and complete" manifest "$results/$name-r1.tar" '.complete'
check "and only its steps" steps "$results/$name-r1.tar"
check "nothing else is left" only $name-r1.tar $name.tar
check "nor on the node" nothing_local
check "the report takes the last start" batch report $job
check "and no other" test "$(cat "$results/last-series")" = "$results/$name-r1.tar"
rm -f "$results"/*
new_job
check "another job that is killed" killed_job
check "the report job gathers what it left here" batch report $job
check "and packs it" manifest "$results/$name.tar" '.complete | not'
check "nothing of it is left" nothing_local
check_status 2 "a report of jobs that left nothing" batch report 999
check "says so" said "job 999 left nothing"
rm -f "$results"/*

# ---- one step of copying fails
kept() { # the node's own spool is whole
    "$COLLECT" pack "$local_spool" --adopt "$local_spool/program" -o "$TMP/kept.tar" && manifest "$TMP/kept.tar" .complete && steps "$TMP/kept.tar"
}
in_the_way() { # in_the_way NAME: what holds of the last job
    check "$1: what was recorded stays on the node, whole" kept
    check "$1: the log says where" said "Node here keeps its part of the run in '$local_spool'."
    check "$1: and what to do" said "sbatch --nodes=1 --nodelist=here $PWD/slurm/profile.sbatch gather $results/$name"
    check "$1: nothing half-copied is in the shared folder" test -z "$(find "$results" -name '.from-*' -o -name steps-rank0.csv)"
}
later() { # later NAME: the command of the log, and what it leaves
    check "$1: gathered later" batch gather "$results/$name"
    check "$1: the archive is complete" manifest "$results/$name.tar" .complete
    check "$1: nothing is left on the node" nothing_local
    check "$1: nor beside the archive" only $name.tar
    rm -f "$results"/*
}
# A cp that copies half of the largest file and succeeds, one that changes a byte and succeeds, one that fails as at the end of a
# quota, and one during which something still writes.
cat >"$TMP/bin/cp" <<'END2'
#!/bin/bash
/bin/cp "$@" || exit
[ -d "${*: -1}" ] || exit 0
largest=$(find "${*: -1}" -type f -printf '%s %p\n' | sort -n | tail -n 1 | cut -d' ' -f2-)
case $CP in
cut) truncate -s 100 "$largest" ;;
changed) printf '\377' | dd of="$largest" bs=1 seek=100 conv=notrunc status=none ;;
quota) truncate -s 100 "$largest" && echo "cp: error writing '$largest': Disk quota exceeded" >&2 && exit 1 ;;
late) [ -e "${*: -2:1}/program/late.txt" ] || echo late >"${*: -2:1}/program/late.txt" ;;
busy) echo late >>"${*: -2:1}/program/late.txt" ;;
esac
END2
chmod +x "$TMP/bin/cp"
new_job
check "a file that appears while the others are copied" batch CP=late "${small[@]}"
check "is in the archive" sh -c 'tar tf "$0" | grep late.txt' "$results/$name.tar"
check "nothing is left of it on the node" nothing_local
rm -f "$results"/*
for fault in cut changed quota busy; do
    new_job
    check_status 1 "$fault: the job fails" batch CP=$fault "${small[@]}"
    in_the_way $fault
    case $fault in
    cut | changed) check "$fault: the cause" said "the copy in '$results/.spool-$name' is not what was recorded" ;;
    quota) check "$fault: the cause" said "Disk quota exceeded" ;;
    busy) check "$fault: the cause" said "a process still writes into the recording" ;;
    esac
    [ $fault != cut ] || check_status 2 "$fault: a job that still runs is not gathered" batch RUNNING=yes SLURM_JOB_ID=other gather "$results/$name"
    CP='' later $fault
done
new_job
CP=quota batch "${small[@]}"
rm -rf "$local_spool"
check "a node has lost its part" batch gather "$results/$name"
check "and it is said" said "'$local_spool' is no longer on node here, and its part of the run is lost"
check "also in the archive" manifest "$results/$name.tar" '.complete | not'
rm -f "$results"/*
rm "$TMP/bin/cp"
printf '#!/bin/sh\n[ "$2" != pack ] || exit 1\nexec "$@"\n' >"$TMP/bin/no_pack"
chmod +x "$TMP/bin/no_pack"
new_job
check_status 1 "packing fails" batch DCREPORT_CONTAINER="$TMP/bin/no_pack" "${small[@]}"
later "no archive"

new_job
mkdir "$TMP/local/dcreport-$name"
check_status 2 "a folder that another node made is refused" batch "${small[@]}"
check "with what to do" said "Set DCREPORT_LOCAL to a folder on each node's own disk"
check "and leaves nothing" test -z "$(ls -A "$results")"
rmdir "$TMP/local/dcreport-$name"

mkdir "$TMP/small"
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=64k tmpfs "$TMP/small" 2>/dev/null; then
    results=$TMP/small
    new_job
    check_status 1 "the shared disk is full: the job fails" batch "${small[@]}"
    check "full disk: the cause is said" said "No space left on device"
    in_the_way "full disk"
    mount -o remount,size=64m "$TMP/small"
    later "full disk"
    umount "$TMP/small"
else
    skip "the shared disk is full" "needs root and tmpfs"
fi
finish
