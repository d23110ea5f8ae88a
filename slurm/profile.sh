# shellcheck shell=bash
# profile.sh - the work of profile.sbatch: train under the collector on this job's nodes, pack one archive.
#
# It does not choose nodes, GPUs or time (slurm/submit and the #SBATCH lines do) and does not render (report.sbatch
# does). Sourced by a batch script, which then calls `profile [OPTIONS OF dcrnn-train...]`.
#
# Settings, all optional; slurm/submit exports them from its configuration:
#   DCREPORT_HOME       folder of the sources on a file system all nodes see (default: where sbatch was called)
#   DCREPORT_BIN        folder of dcrnn-train, dccollect and dcreport (default: $DCREPORT_HOME/build/bin, else PATH)
#   DCREPORT_RESULTS    where archives go (default: $DCREPORT_HOME/results)
#   DCREPORT_LAUNCHER   mpirun (default) or srun
#   DCREPORT_LAUNCHER_OPTIONS   words put after it, for example "--mpi=pmix" or "--mca btl_tcp_if_include ib0"
#   DCREPORT_COUNTERS   1 = hardware counters of every rank from `perf stat` (with_perf.sh)
#   DCREPORT_CALIBRATE  0 = do not measure the machine before the run (dccollect calibrate, some 10 s per node of a kernel)
#   DCREPORT_CONTAINER  words put before every rank, for example "apptainer exec --nv /shared/dcreport.sif"
#   DCREPORT_LOCAL      a folder on each node's own disk: the collector writes there during the run, and the files are
#                       copied to the shared folder at the end. Files of a node that dies before that are lost. Files
#                       that cannot be copied completely stay on the node, and the log says where.
#
# How a job may end, and what then becomes of its evidence:
#   the program ends, well or not      packed here; the job ends with the program's status
#   the time limit comes near          Slurm sends TERM to this script alone (#SBATCH --signal=B:TERM@60): the program
#                                      is ended, what it left is packed and marked incomplete, status 143
#   scancel                            Slurm sends TERM to everything and KILL after KillWait (30 s by default): as above
#   this script is killed outright     the spool stays beside the archives; the report job packs it

profile_say() {
    echo "$(date -u +%H:%M:%S) $*"
}

profile_die() {
    echo "profile: $*" >&2
    exit 2
}

# Where everything is; ends the job with a sentence when something is not.
profile_settings() {
    local program
    [ -n "${SLURM_JOB_ID:-}" ] || profile_die "this is a batch script: submit it with slurm/submit, or with sbatch"
    : "${DCREPORT_HOME:=$SLURM_SUBMIT_DIR}"
    : "${DCREPORT_RESULTS:=$DCREPORT_HOME/results}"
    : "${DCREPORT_LAUNCHER:=mpirun}"
    if [ -z "${DCREPORT_BIN:-}" ]; then
        DCREPORT_BIN=$DCREPORT_HOME/build/bin
        [ -d "$DCREPORT_BIN" ] || DCREPORT_BIN=$(dirname "$(command -v dccollect || echo "$DCREPORT_BIN/dccollect")")
    fi
    for program in dcrnn-train dccollect; do
        # Inside a container the programs may be at a place this node does not have.
        [ -n "${DCREPORT_CONTAINER:-}" ] || [ -x "$DCREPORT_BIN/$program" ] ||
            profile_die "no $program in '$DCREPORT_BIN' on $(hostname); run make there, or set DCREPORT_BIN to a folder all nodes see"
    done
    case $DCREPORT_LAUNCHER in
    mpirun | srun) ;;
    *) profile_die "the launcher is '$DCREPORT_LAUNCHER', not mpirun or srun" ;;
    esac
    command -v "$DCREPORT_LAUNCHER" >/dev/null ||
        profile_die "no $DCREPORT_LAUNCHER on $(hostname); load your site's MPI module in the batch script"

    profile_name=${SLURM_JOB_NUM_NODES}node-slurm-$SLURM_JOB_ID
    profile_archive=$DCREPORT_RESULTS/$profile_name.tar
    profile_shared_spool=$DCREPORT_RESULTS/.spool-$profile_name
    profile_spool=$profile_shared_spool
    [ -z "${DCREPORT_LOCAL:-}" ] || profile_spool=$DCREPORT_LOCAL/dcreport-$SLURM_JOB_ID
    export DCREPORT_PERF=$profile_shared_spool/program/perf # read by with_perf.sh
    # BLAS threads: as many cores as Slurm gave a task, never more.
    export OMP_NUM_THREADS="${OMP_NUM_THREADS:-${SLURM_CPUS_PER_TASK:-1}}"
    read -r -a profile_container <<<"${DCREPORT_CONTAINER:-}"
    profile_wrapper=() # put before each rank's collector
    [ "${DCREPORT_COUNTERS:-0}" = 0 ] || profile_wrapper=("$DCREPORT_HOME/slurm/with_perf.sh")
}

# Run "$@" once on each node, for work on the node's own disk.
profile_on_each_node() {
    srun --kill-on-bad-exit=0 --ntasks="$SLURM_JOB_NUM_NODES" --ntasks-per-node=1 "$@"
}

# profile_bring FROM TO: move the files of FROM, on this node's own disk, into the shared folder TO. They are copied to a
# temporary folder in TO, compared, moved into place, and only then removed from FROM. Each node runs the text of this function.
profile_bring() {
    local from=$1 to=$2 beside='' file files=()
    fail() {
        [ -z "$beside" ] || rm -rf "$beside" "$beside.list"
        echo "profile: could not copy $1 to '$to'. It is kept in '$from' on $(hostname)." >&2
        exit 1
    }
    beside=$(mktemp -d "$to/.from-XXXXXX") || fail "the evidence"
    cp -r "$from/." "$beside/" || fail "the evidence"
    (cd "$from" && find . ! -type d -print0) >"$beside.list" || fail "the list of files"
    mapfile -d '' files <"$beside.list" || fail "the list of files"
    for file in "${files[@]}"; do
        [ -f "$from/$file" ] || continue # a link or a pipe
        if ! sync "$beside/$file" || ! cmp -s "$from/$file" "$beside/$file"; then fail "all of '$file'"; fi
    done
    for file in "${files[@]}"; do
        mkdir -p "$to/${file%/*}" || fail "'$file'"
        case $file in
        ./user-note.txt) cat "$beside/$file" >>"$to/$file" ;; # the notes of all hosts go into one file
        *) mv "$beside/$file" "$to/$file" ;;
        esac || fail "'$file'"
    done
    # Files that are not in the list were not compared, so they stay.
    (cd "$from" && xargs -0 -r rm -f --) <"$beside.list"
    find "$from" -depth -type d -empty -delete
    rm -rf "$beside" "$beside.list"
    [ ! -e "$from" ] || fail "the rest"
}

# Move the spools of all nodes into the shared one. Sets profile_kept if files stay on a node.
profile_gather() {
    # shellcheck disable=SC2016  # the inner shell's words
    profile_on_each_node bash -c "$(declare -f profile_bring)"'; profile_bring "$@"' bring "$profile_spool" "$profile_shared_spool" && return
    profile_kept=yes
    profile_say "some files in $profile_spool could not be copied; the lines above say where they are." \
        "Copy them into $profile_shared_spool, then run 'dccollect pack $profile_shared_spool" \
        "--adopt $profile_shared_spool/program -o $profile_archive'." >&2
}

# The words that start one rank per task of the allocation.
profile_launch_words() {
    local options
    read -r -a options <<<"${DCREPORT_LAUNCHER_OPTIONS:-}"
    if [ "$DCREPORT_LAUNCHER" = srun ]; then
        # One dead rank leaves the others waiting in MPI for ever, so it ends them. Since Slurm 22.05 a step does not take
        # over the job's cores per task by itself.
        profile_launcher=(srun --kill-on-bad-exit=1)
        [ -z "${SLURM_CPUS_PER_TASK:-}" ] || profile_launcher+=("--cpus-per-task=$SLURM_CPUS_PER_TASK")
        profile_launcher+=("${options[@]}")
    else
        # Told to end, mpirun gives its ranks 1 second before it kills them; 5 let the running step finish.
        profile_launcher=(mpirun -n "$SLURM_NTASKS" --mca odls_base_sigkill_timeout 5)
        [ "${SLURM_CPUS_PER_TASK:-1}" = 1 ] || profile_launcher+=(--map-by "slot:PE=$SLURM_CPUS_PER_TASK")
        profile_launcher+=("${options[@]}")
    fi
}

# TERM has come: the time limit is near or somebody cancelled the job.
profile_on_term() {
    local state
    state=$(scontrol show job "$SLURM_JOB_ID" 2>/dev/null | sed -n 's/.*JobState=\([A-Z_]*\).*/\1/p')
    case $state in
    # Slurm has told the launcher too; a second TERM would make mpirun drop everything at once. While a job ends,
    # its state does not tell scancel from a time limit.
    COMPLETING) profile_why="ended by Slurm: cancelled, preempted or out of time" ;;
    CANCELLED | TIMEOUT | PREEMPTED | NODE_FAIL | FAILED | OUT_OF_MEMORY | DEADLINE) profile_why="ended by Slurm: $state" ;;
    # RUNNING, or SIGNALING while the warning is on its way: only this script has been told.
    *)
        profile_why="ended by Slurm's early warning: the time limit of the job was near"
        [ -z "$profile_pid" ] || kill -TERM "$profile_pid" 2>/dev/null
        ;;
    esac
    profile_say "$profile_why"
    # Processes that do not end are killed, so that packing has the remaining time.
    [ -z "$profile_pid" ] || (sleep 15 && kill -KILL "$profile_pid") 2>/dev/null &
}

# What the ranks say goes to the job's log and into the archive. TERM, which scancel sends to everything, must not
# take the readers away from under the program.
profile_keep_output() {
    local log=$profile_shared_spool/program/log
    mkdir -p "$log"
    exec {profile_out}> >(trap '' TERM; exec tee "$log/stdout.txt")
    profile_readers=($!)
    exec {profile_err}> >(trap '' TERM; exec tee "$log/stderr.txt" >&2)
    profile_readers+=($!)
}

profile_end_output() {
    local tries=20
    # Their input ends with the program; should something it left behind hold it open, go on without the rest.
    while [ $tries -gt 0 ] && kill -0 "${profile_readers[@]}" 2>/dev/null; do
        sleep 0.1
        tries=$((tries - 1))
    done
}

# What these nodes can do, into the spool, from where it is packed. The report can do without.
profile_calibrate() {
    [ "${DCREPORT_CALIBRATE:-1}" != 0 ] || return 0
    "${profile_launcher[@]}" "${profile_container[@]}" "$DCREPORT_BIN/dccollect" calibrate \
        -o "$profile_shared_spool/calibration.json" &
    profile_pid=$!
    while :; do
        wait "$profile_pid" 2>/dev/null || true
        kill -0 "$profile_pid" 2>/dev/null || break
    done
    profile_pid=
    [ -s "$profile_shared_spool/calibration.json" ] || profile_say "the nodes could not be measured; the report does without"
}

# Runs the program and waits for it. Leaves its status in profile_status.
profile_run() {
    profile_keep_output
    "${profile_launcher[@]}" "${profile_container[@]}" "${profile_wrapper[@]}" "$DCREPORT_BIN/dccollect" run \
        --spool "$profile_spool" --clock "$profile_shared_spool" -- "$DCREPORT_BIN/dcrnn-train" --out "$profile_spool/program" "$@" \
        1>&"$profile_out" 2>&"$profile_err" &
    profile_pid=$!
    exec {profile_out}>&- {profile_err}>&-
    # A trapped signal ends `wait` before the program has ended.
    while :; do
        profile_status=0
        wait "$profile_pid" 2>/dev/null || profile_status=$?
        kill -0 "$profile_pid" 2>/dev/null || break
    done
    profile_pid=
    profile_end_output
}

# Slurm's own view of the job goes into the archive as it came.
profile_facts() {
    {
        scontrol show job -d "$SLURM_JOB_ID" 2>&1
        echo "ProgramStatus=$profile_status"
        [ -z "$profile_why" ] || echo "Ending=$profile_why"
    } >"$profile_shared_spool/program/log/slurm_job.txt"
    # sacct has an answer only where a site runs slurmdbd.
    if sacct -X -n -j "$SLURM_JOB_ID" >/dev/null 2>&1; then
        sacct -P -j "$SLURM_JOB_ID" --format=JobID,State,Elapsed,TotalCPU,MaxRSS,AllocTRES \
            >"$profile_shared_spool/program/sacct_summary.txt" 2>/dev/null || true
    fi
}

profile_pack() {
    if ! "${profile_container[@]}" "$DCREPORT_BIN/dccollect" pack "$profile_shared_spool" \
        --adopt "$profile_shared_spool/program" -o "$profile_archive"; then
        profile_say "could not pack; the evidence stays in $profile_shared_spool" >&2
        return 1
    fi
    [ -n "$profile_kept" ] || rm -rf "$profile_shared_spool"
    profile_say "packed $profile_archive"
}

# profile OPTIONS... - the whole job.
profile() {
    profile_pid='' profile_why='' profile_kept='' profile_status=0
    profile_settings
    profile_launch_words
    mkdir -p "$profile_shared_spool/program" || profile_die "cannot write in '$DCREPORT_RESULTS' on $(hostname)"
    trap profile_on_term TERM
    [ "$profile_spool" = "$profile_shared_spool" ] || profile_on_each_node mkdir -p "$profile_spool/program" ||
        profile_die "cannot make '$profile_spool' on every node"
    profile_say "$SLURM_JOB_NUM_NODES node(s) $SLURM_JOB_NODELIST, $SLURM_NTASKS rank(s), ${profile_launcher[*]}"

    profile_calibrate
    [ -n "$profile_why" ] || profile_run "$@"

    profile_say "the program ended with status $profile_status"
    [ "$profile_spool" = "$profile_shared_spool" ] || profile_gather
    profile_facts
    profile_pack || exit 1
    [ -z "$profile_kept" ] || exit 1
    [ -z "$profile_why" ] || exit 143
    exit "$profile_status"
}
