#!/usr/bin/env bash
# What slurm/submit says before it talks to a cluster: options, its file of settings, the lines of a dry run.
. tests/lib/tap.sh
export DCREPORT_SITE_CONF=$TMP/site.conf
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

says 0 "help names every setting" "--sbatch-options" --help
says 2 "a node count that is no number is refused" "'two'" --nodes "1 two"
says 2 "no node count at all is refused" "names no node count" --nodes " "
says 2 "zero nodes are refused" "'0'" --nodes 0
says 2 "a node count named twice is refused" "names 2 twice; say --repeat 2" --nodes "1 2 2"
says 2 "half a repetition is refused" "--repeat is '1.5', not a number of runs" --repeat 1.5
says 2 "an unknown option is refused" "unknown option '--node'" --node 2
says 2 "an option without its value is refused" "--time wants a value" --time
says 2 "a stray word is pointed after --" "after --" 2
says 2 "a time limit that Slurm cannot read is refused" "time limit 'soon'" --time soon
says 2 "GPUs that are no number are refused" "gpus per node 'many'" --gpus-per-node many
says 2 "a launcher that is neither is refused" "launcher 'mpiexec'" --launcher mpiexec
says 2 "a partition that could be another option is refused" "partition 'a b'" --partition "a b"
says 2 "traffic data that do not exist are refused" "no traffic data at '/no/such'" --data /no/such
says 2 "without a cluster the sentence says so" "Slurm does not answer" --nodes 1
mkdir "$TMP/few"
for tool in bash env dirname grep cat; do ln -s "$(command -v $tool)" "$TMP/few/$tool"; done
PATH=$TMP/few says 2 "a machine without sbatch is told where to go" "sbatch is not on this machine" --nodes 1

check "a refused submission keeps no settings" test ! -e "$TMP/site.conf"

dry() {
    slurm/submit --dry-run "$@" 2>/dev/null </dev/null >"$TMP/lines"
}
dry --nodes "1 2 4 8" --account physics --partition long --time 1-12 --gpus-per-node a100:4 --data README.md \
    -- --epochs 3 --out "a b"
check "a dry run shows one line a run and one for the report" test "$(wc -l <"$TMP/lines")" = 5
dry --nodes "1 2" --repeat 3 --account physics --partition long --time 1-12
check "each node count three times" test "$(sed -n 's/.*--nodes=\([0-9]\) .*profile.sbatch.*/\1/p' "$TMP/lines" | tr '\n' ' ')" = "1 2 1 2 1 2 "
dry --nodes "1 2 4 8" --account physics --partition long --time 1-12 --gpus-per-node a100:4 --data README.md \
    -- --epochs 3 --out "a b"
check "every line carries account and partition" \
    test "$(grep -c -- '--account=physics --partition=long' "$TMP/lines")" = 5
check "GPUs are asked for by the runs only, one rank each" \
    test "$(grep -c -- '--gres=gpu:a100:4 --ntasks-per-node=4' "$TMP/lines")" = 4
check "each node count runs the one script and has a name" \
    test "$(sed -n 's/.*--nodes=\([0-9]\) --job-name=dcr-\([0-9]\)node .*profile.sbatch.*/\1\2/p' "$TMP/lines" | tr '\n' ' ')" = "11 22 44 88 "
check "options of the trainer arrive, spaces kept" grep -qF -- '--epochs 3 --out a\ b' "$TMP/lines"
check "data are named by absolute path" grep -qF -- "$(printf "%s %q" --data "$PWD/README.md")" "$TMP/lines"
check "the report waits for the runs however they end" grep -q -- '--dependency=afterany:.*report.sbatch' "$TMP/lines"
check "a dry run keeps nothing" test ! -e "$TMP/site.conf"
dry --cpu --tasks-per-node 2 --cpus-per-task 8
check "--cpu runs 1 and 2 nodes" test "$(grep -c -- '--nodes=[12] .*profile.sbatch' "$TMP/lines")" = 2
check "ranks and cores are as configured" test "$(grep -c -- '--ntasks-per-node=2 --cpus-per-task=8' "$TMP/lines")" = 2
check "without GPUs configured none are asked for" test "$(grep -c gres "$TMP/lines")" = 0

printf 'account=physics\npartition=long\nwarn=120\n' >"$TMP/site.conf"
dry --partition short
check "the file's settings are used" grep -q -- '--account=physics .*--signal=B:TERM@120' "$TMP/lines"
check "an option goes before the file" grep -q -- '--partition=short' "$TMP/lines"
printf '# mine\n\naccount=physics\npartitoin=long\n' >"$TMP/site.conf"
says 2 "a misspelt setting is named with its line" "site.conf:4: 'partitoin=long'" --dry-run
# shellcheck disable=SC2016  # the file must not be executed, so nothing here may expand
printf 'account=$(touch %s/executed)\n' "$TMP" >"$TMP/site.conf"
says 2 "the file is read, not executed" "holds characters" --dry-run
check "nothing of it ran" test ! -e "$TMP/executed"

words() { # words VARIABLE=VALUE...: what profile.sh starts ranks with
    # shellcheck disable=SC2016  # the inner shell expands these
    env "$@" SLURM_NTASKS=2 bash -c '. slurm/profile.sh; profile_launch_words; echo "${profile_launcher[*]}"'
}
check "srun is told how many cores a rank has" test "$(words DCREPORT_LAUNCHER=srun SLURM_CPUS_PER_TASK=8 DCREPORT_LAUNCHER_OPTIONS=--mpi=pmix)" = \
    "srun --kill-on-bad-exit=1 --cpus-per-task=8 --mpi=pmix"
check "mpirun too" test "$(words DCREPORT_LAUNCHER=mpirun SLURM_CPUS_PER_TASK=8)" = \
    "mpirun -n 2 --mca odls_base_sigkill_timeout 5 --map-by slot:PE=8"
for script in slurm/profile.sbatch slurm/report.sbatch; do
    check "$script outside a job says what to do" bash -c "! env -u SLURM_JOB_ID DCREPORT_HOME='$PWD' DCREPORT_BIN=/nowhere \
        bash $script >$TMP/out 2>&1 && grep -qE 'submit it with slurm/submit|no dcreport in' $TMP/out"
done
finish
