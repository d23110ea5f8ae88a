#!/usr/bin/env bash
# What slurm/submit says before it asks a cluster: its options, the lines of a dry run, and the words that start ranks.
. tests/lib/tap.sh
export DCREPORT_RESULTS=$TMP/results DCREPORT_BIN=$BIN
# Even where this machine belongs to a cluster, these tests must not talk to it.
export SLURM_CONF=$TMP/slurm.conf
echo "ClusterName=nowhere" >"$SLURM_CONF"

# says STATUS "name" "words expected" ARGS...: the exit status, and one sentence that holds the words.
says() {
    local want=$1 name=$2 words=$3 got=0
    shift 3
    slurm/submit "$@" >"$TMP/out" 2>&1 </dev/null || got=$?
    if [ $got -eq "$want" ] && grep -qF -- "$words" "$TMP/out"; then
        ok "$name"
    else
        not_ok "$name" "status $got, expected $want and '$words': $(cat "$TMP/out")"
    fi
}

says 0 "help says how sbatch is told" "--partition=gpu" --help
says 2 "a node count that is no number is refused" "'two'" --nodes "1 two"
says 2 "no node count at all is refused" "names no node count" --nodes " "
says 2 "zero nodes are refused" "'0'" --nodes=0
says 2 "a node count named twice is refused" "a node count twice. Write --repeat 2." --nodes "1 2 2"
says 2 "half a repetition is refused" "--repeat takes a whole number from 1 to 999, not '1.5'" --repeat 1.5
says 2 "an option without its value is refused" "option '--nodes' needs a value. See" --nodes
says 2 "a stray word is refused with the way to write it" "unexpected argument 'gpu'. Write options of sbatch as --name=value" --partition gpu
says 2 "traffic data that do not exist are refused" "cannot read '/no/such' (--data): No such file or directory. Check the name." --data /no/such
says 2 "without a cluster Slurm's sentence is shown" "Slurm refuses the run on 1 node(s)" --nodes 1
rm -rf "$TMP/results"
mkdir "$TMP/few"
for tool in bash env dirname grep cat sort wc realpath; do ln -s "$(command -v $tool)" "$TMP/few/$tool"; done
PATH=$TMP/few says 2 "a machine without sbatch is told where to go" "no sbatch on this machine" --nodes 1

dry() {
    slurm/submit --dry-run "$@" 2>/dev/null </dev/null >"$TMP/lines"
}
dry --nodes "1 2 4 8" --account=physics --partition=long --time=1-12 --gpus-per-node=a100:4 --ntasks-per-node=4 --data README.md \
    -- --epochs 3 --out "a b"
check "a dry run shows one line a run and one for the report" test "$(wc -l <"$TMP/lines")" = 5
check "every line carries account and partition" test "$(grep -c "'--account=physics' '--partition=long'" "$TMP/lines")" = 5
check "GPUs, ranks and time are asked for by the runs only" \
    test "$(grep -c "'--time=1-12' '--gpus-per-node=a100:4' '--ntasks-per-node=4'" "$TMP/lines")" = 4
check "each node count runs the one script and has a name" \
    test "$(sed -n "s/.*'--nodes=\([0-9]\)' '--job-name=dcr-\([0-9]\)node' .*profile.sbatch.*/\1\2/p" "$TMP/lines" | tr '\n' ' ')" = "11 22 44 88 "
check "data and options of the trainer arrive, spaces kept" grep -qF -- "'--data' 'README.md' '--epochs' '3' '--out' 'a b'" "$TMP/lines"
check "the report waits for the runs however they end" grep -q -- "'--dependency=afterany:.*profile.sbatch' 'report'" "$TMP/lines"
dry --nodes "1 2" --repeat 3
check "repetitions are a job array" test "$(grep -c "slurm-%A_%a.log' '--nodes=[12]'" "$TMP/lines")" = 2
check "of as many tasks" test "$(grep -c "'--array=1-3'" "$TMP/lines")" = 2
check "a dry run makes nothing" test ! -e "$TMP/results"
env -u BUILD make --no-print-directory -n SCHEDULER=slurm collect NODES="1 2" REPEAT=2 ARGS="--epochs 3" >"$TMP/made" 2>&1
check "make collect SCHEDULER=slurm submits" grep -qF 'slurm/submit --nodes "1 2" --repeat "2"' "$TMP/made"

# The words that start the ranks, from a job with replacements for Slurm's commands.
mkdir "$TMP/bin"
cat >"$TMP/bin/srun" <<'END'
#!/bin/bash
case "$*" in
*" calibrate "* | *"dccollect run "*) echo "srun $*" >"$WORDS"; exit ;;
esac
while [[ ${1:-} == -* ]]; do shift; done
SLURMD_NODENAME=here exec "$@"
END
cat >"$TMP/bin/mpirun" <<'END'
#!/bin/bash
echo "mpirun $*" >"$WORDS"
END
printf '#!/bin/sh\nexit 1\n' | tee "$TMP/bin/scontrol" >"$TMP/bin/squeue"
chmod +x "$TMP/bin"/*
words() { # words VARIABLE=VALUE...
    rm -rf "$TMP/job" "$TMP/words"
    env PATH="$TMP/bin:$PATH" WORDS="$TMP/words" SLURM_SUBMIT_DIR="$PWD" SLURM_JOB_ID=1 SLURM_JOB_NUM_NODES=1 SLURM_JOB_NODELIST=here SLURM_NTASKS=2 \
        DCREPORT_CALIBRATE=0 DCREPORT_RESULTS="$TMP/job" DCREPORT_LOCAL="$TMP/local" "$@" bash slurm/profile.sbatch -- true >"$TMP/out" 2>&1
    [ ! -e "$TMP/words" ] || sed 's| [^ ]*/dccollect .*||' "$TMP/words"
}
check "srun is told how many cores a rank has" test "$(words DCREPORT_LAUNCHER="srun --mpi=pmix" SLURM_CPUS_PER_TASK=8)" = \
    "srun --kill-on-bad-exit=1 --cpus-per-task=8 --mpi=pmix"
check "mpirun too" test "$(words SLURM_CPUS_PER_TASK=8)" = "mpirun -n 2 --mca odls_base_sigkill_timeout 5 --map-by slot:PE=8"
check "a container stands before every rank's collector" test "$(words DCREPORT_CONTAINER="nice -n 1")" = \
    "mpirun -n 2 --mca odls_base_sigkill_timeout 5 nice -n 1"
words DCREPORT_LAUNCHER=mpiexec
check "a launcher that is neither is refused" grep -q "DCREPORT_LAUNCHER takes mpirun or srun, not 'mpiexec'" "$TMP/out"
check "and leaves nothing" test ! -e "$TMP/job"
check_status 2 "outside a job the script is refused" env -u SLURM_JOB_ID bash slurm/profile.sbatch
env -u SLURM_JOB_ID bash slurm/profile.sbatch >"$TMP/out" 2>&1
check "with what to do" grep -q "Submit it with slurm/submit" "$TMP/out"
finish
