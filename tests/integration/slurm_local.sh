#!/bin/bash
# Evidence on the nodes' own disks (DCREPORT_LOCAL) is never lost. slurm/profile.sh runs with replacements for Slurm's commands,
# and this machine is its "node". Cases: the shared folder is full, the copy is cut or fails, the list of files fails or is
# incomplete, a file appears after the list was made.
# shellcheck disable=SC2016,SC2317  # commands for another shell; functions that check calls
. tests/lib/tap.sh
. tests/data/programs/build.sh
mkdir "$TMP/bin" "$TMP/local"
trap 'umount "$TMP/small" 2>/dev/null; rm -rf "$TMP"' EXIT
# srun runs one task here. The other commands of Slurm print nothing.
cat >"$TMP/bin/srun" <<'END2'
#!/bin/bash
while [[ ${1:-} == -* ]]; do shift; done
exec env SLURM_PROCID=0 SLURM_STEP_ID=0 SLURM_LOCALID=0 SLURM_NTASKS=1 "$@"
END2
printf '#!/bin/sh\nexit 1\n' | tee "$TMP/bin/scontrol" >"$TMP/bin/sacct"
chmod +x "$TMP/bin"/*
n_jobs=0
# job RESULTS: one job whose spool is local. Its number in $job, its log in $TMP/log
job() {
    n_jobs=$((n_jobs + 1))
    job=$n_jobs
    env PATH="$TMP/bin:$PATH" SLURM_JOB_ID=$job SLURM_JOB_NUM_NODES=1 SLURM_JOB_NODELIST=here SLURM_NTASKS=1 DCREPORT_CALIBRATE=0 \
        DCREPORT_BIN="$BIN" DCREPORT_RESULTS="$1" DCREPORT_LOCAL="$TMP/local" DCREPORT_LAUNCHER=srun \
        bash -c '. slurm/profile.sh; profile "$@"' profile --batch 8 --steps 3 --days 2 --validate-every 0 >"$TMP/log" 2>&1
}
# kept: the node's own spool is there, whole
kept() {
    local spool=$TMP/local/dcreport-$job
    "$COLLECT" pack "$spool" --adopt "$spool/program" -o "$TMP/kept.tar" && manifest "$TMP/kept.tar" .complete &&
        [ "$(member "$TMP/kept.tar" rank0/steps.csv | wc -l)" = 4 ]
}
said() { # said WORDS: in the log
    grep -qF -- "$1" "$TMP/log" || { cat "$TMP/log"; return 1; }
}

mkdir "$TMP/results"
check "a job with a local spool" job "$TMP/results"
check "its archive is whole and complete" manifest "$TMP/results/1node-slurm-1.tar" '.complete'
check "with what the program left" sh -c '[ "$(tar xOf "$0" rank0/steps.csv | wc -l)" = 4 ]' "$TMP/results/1node-slurm-1.tar"
check "nothing is left on the node" test -z "$(ls -A "$TMP/local")"
check "nor beside the archive" test "$(ls -A "$TMP/results")" = 1node-slurm-1.tar

# in_the_way NAME: check the job's log and archive after one step of the copying failed
in_the_way() {
    check "$1: what was recorded stays on the node, whole" kept
    check "$1: the log says where" said "It is kept in '$TMP/local/dcreport-$job' on $(hostname)"
    check "$1: and what to do" said "dccollect pack $results/.spool-1node-slurm-$job"
    check "$1: nothing half-copied is in the shared folder" test -z "$(find "$results" -name '.from-*' -o -name steps-rank0.csv)"
}
# A cp that copies only half of the largest file and succeeds, or that fails.
cat >"$TMP/bin/cp" <<'END2'
#!/bin/bash
/bin/cp "$@" || exit
to=${*: -1}
[ -d "$to" ] || exit 0
largest=$(find "$to" -type f -printf '%s %p\n' | sort -n | tail -n 1 | cut -d' ' -f2-)
truncate -s 100 "$largest"
exit "${CP_STATUS:-0}"
END2
chmod +x "$TMP/bin/cp"
results=$TMP/results
check_status 1 "the copy is cut and says nothing: the job fails" job "$results"
in_the_way "cut copy"
check "cut copy: the archive is incomplete" manifest "$results/1node-slurm-$job.tar" '.complete | not'
CP_STATUS=1 job "$results"
in_the_way "failed copy"
rm "$TMP/bin/cp"
# By hand, as the log says.
/bin/cp -r "$TMP/local/dcreport-$job/." "$results/.spool-1node-slurm-$job/"
check "copied by hand it packs" "$COLLECT" pack "$results/.spool-1node-slurm-$job" --adopt "$results/.spool-1node-slurm-$job/program" \
    -o "$results/1node-slurm-$job.tar"
check "and is complete" manifest "$results/1node-slurm-$job.tar" .complete

# A find that fails, or that leaves a file out; then a rank that still runs writes one more file.
cat >"$TMP/bin/find" <<'END2'
#!/bin/bash
[ "${*: -1}" = -print0 ] || exec /usr/bin/find "$@"
case $FIND in
fails) exit 1 ;;
short) /usr/bin/find "$@" | grep -zv '/steps-rank0\.csv$' ;;
late) /usr/bin/find "$@" && echo late >program/late.txt ;;
esac
END2
chmod +x "$TMP/bin/find"
export FIND
left() { # the files that are left on the node, in a line
    (cd "$TMP/local/dcreport-$job" && find . ! -type d | sort | tr '\n' ' ')
}
results=$TMP/listed
mkdir "$results"
FIND=fails
check_status 1 "the files cannot be listed: the job fails" job "$results"
in_the_way "no list"
FIND=short
check_status 1 "the list leaves a file out: the job fails" job "$results"
check "short list: that file stays on the node" test "$(left)" = "./program/steps-rank0.csv "
check "short list: the log says where" said "It is kept in '$TMP/local/dcreport-$job' on $(hostname)"
FIND=late
check_status 1 "a file appears after the list: the job fails" job "$results"
check "late file: it stays on the node" test "$(left)" = "./program/late.txt "
check "late file: the log says where" said "It is kept in '$TMP/local/dcreport-$job' on $(hostname)"
check "late file: the others are in the archive" sh -c '[ "$(tar xOf "$0" rank0/steps.csv | wc -l)" = 4 ]' "$results/1node-slurm-$job.tar"
check "late file: nothing half-copied is in the shared folder" test -z "$(find "$results" -name '.from-*')"
rm "$TMP/bin/find"

mkdir "$TMP/small"
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=64k tmpfs "$TMP/small" 2>/dev/null; then
    results=$TMP/small
    check_status 1 "the shared disk is full: the job fails" job "$results"
    check "full disk: the cause is said" said "No space left on device"
    check "full disk: what was recorded stays on the node, whole" kept
    check "full disk: the log says where" said "It is kept in '$TMP/local/dcreport-$job' on $(hostname)"
    umount "$TMP/small"
else
    skip "the shared disk is full" "needs root and tmpfs"
fi
finish
