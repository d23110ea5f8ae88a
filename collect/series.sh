#!/usr/bin/env bash
# series.sh - `make collect` on one machine: trains on 1, 2 and 4 emulated nodes and packs one archive a run.
#
# A node is an equal share of this machine with a separate link (collect/nodes). If the machine does not permit that, or
# with EMULATE=ranks, a node is a plain process and all share the cores. Before the first run one node is measured
# (dccollect calibrate, some 10 s); CALIBRATE=0 leaves that out.
#
# From the environment: NODES ("1 2 4"), REPEAT (runs per node count, 1), NODE_CPU and NODE_NET (other shares and links: 0.25, 50mbit), EMULATE (nodes,
# ranks), DATA and GRAPH (traffic data; generated when empty), ARGS (more options of dcrnn-train), BUILD, RESULTS (folder).
# Leaves results/<n>node-<run id>.tar and the list of them in results/last-series.
set -euo pipefail
trap 'exit 143' INT TERM HUP # without a trap bash forgets an interrupt that comes while a program of the script runs
cd "$(dirname "$0")/.."
bin=${BUILD:-build}/bin
results=${RESULTS:-results}
series=$(date -u +%Y%m%d-%H%M%S)
spool=""
pid=""
status=0
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # users are root inside containers

# Paths of the user are relative to the top folder, because make runs this script there.
train_args=()
[ -z "${DATA:-}" ] || train_args+=(--data "$DATA")
[ -z "${GRAPH:-}" ] || train_args+=(--graph "$GRAPH")
read -r -a more <<<"${ARGS:-}"
train_args+=("${more[@]}")

# names BEGINNING...: does an option of the program begin like this? The program also takes shortened options.
names() {
    local word beginning
    for word in "${train_args[@]}"; do
        for beginning; do [[ $word != "$beginning"* ]] || return 0; done
    done
    return 1
}

fail() { # sentence
    echo "make collect: $1" >&2
    exit 2
}
warn() { # sentence
    echo "make collect: $1" >&2
}
read -r -a nodes <<<"${NODES-1 2 4}"
[ ${#nodes[@]} -gt 0 ] || fail "NODES is empty. Write for example NODES=\"1 2 4\"."
# With plain processes that share cores, many more processes than cores run long and show nothing. Emulated nodes have
# their own limits.
cores=$(OMP_NUM_THREADS='' OMP_THREAD_LIMIT='' nproc) # nproc obeys these
limit=$((16 * cores))
[ "$limit" -ge 64 ] || limit=64
most=1
for n in "${nodes[@]}"; do
    { [[ $n =~ ^[1-9][0-9]{0,5}$ ]] && [ "$n" -le "$limit" ]; } || fail "NODES takes whole numbers from 1 to $limit here, not '$n'. Write for example NODES=\"1 2 4\"."
    [ "$n" -le "$most" ] || most=$n
done
case ${REPEAT:=1} in *[!0-9]* | 0* | ????*) fail "REPEAT takes a whole number from 1 to 999, not '$REPEAT'." ;; esac
# Repetitions run series by series, so that a disturbance of the machine meets every node count.
once=("${nodes[@]}")
for ((k = 1; k < REPEAT; k++)); do nodes+=("${once[@]}"); done
case ${EMULATE:-} in
ranks) [ -z "${NODE_CPU:-}${NODE_NET:-}" ] || fail "plain processes have no share and no link. Leave out EMULATE=ranks, or NODE_CPU and NODE_NET." ;;
'' | nodes) ;;
*) fail "EMULATE takes nodes or ranks, not '$EMULATE'." ;;
esac
for f in "${DATA:-}" "${GRAPH:-}"; do
    [ -z "$f" ] || [ -r "$f" ] || fail "cannot read '$f'. DATA and GRAPH name files of traffic data."
done
case ${ARGS:-} in *$'\n'*) fail "ARGS has several lines. Write all options in one." ;; esac
names --o && fail "ARGS holds --out, but the output belongs into the archive. Leave it out."
# Options are checked before anything is measured; the program's own sentence gives the reason.
check=--check-options
case " ${train_args[*]} " in *" --data "* | *" --data="*) check=--check-data ;; esac
"$bin/dcrnn-train" $check "${train_args[@]}" || exit 2

# If nodes can be emulated, everything below runs inside of their namespaces.
if [ -z "${NODES_ENTER:-}" ] && [ "${EMULATE:-}" != ranks ]; then
    make_nodes=(collect/nodes --nodes "$most" ${NODE_CPU:+--cpu "$NODE_CPU"} ${NODE_NET:+--net "$NODE_NET"} --)
    got=0
    why=$("${make_nodes[@]}" true 2>&1) || got=$?
    [ $got -ne 0 ] || exec "${make_nodes[@]}" collect/series.sh
    [ $got -lt 128 ] || exit $got # a signal
    [ $got -eq 77 ] || fail "${why#collect/nodes: }"
    [ -z "${EMULATE:-}${NODE_CPU:-}${NODE_NET:-}" ] || fail "nodes with a share and a link cannot be emulated here: ${why%.}. Set EMULATE=ranks to use plain processes."
    echo "the nodes are plain processes that share all cores, because nodes with a share and a link cannot be emulated here: $why"
fi

# On an interrupt, the collectors beside the ranks are signalled. They signal the programs, which end with a whole step,
# and their results are still packed. mpirun itself would stop the ranks a second later, and a second signal makes it
# leave them behind. So mpirun runs in a separate session, where neither Ctrl-C nor a signal to the group of this script
# reaches it.
interrupted=""
on_signal() { # signal
    local record collector told=()
    if [ -n "$pid" ] && [ -z "$interrupted" ]; then
        for record in "${spool:-/nowhere}"/rank*/rank.json; do
            collector=$(sed -n 's/^ "collector_pid": \([0-9]*\),*$/\1/p' "$record" 2>/dev/null) || true
            if grep -qs '"state": "running"' "$record" && grep -qsx dccollect "/proc/${collector:-none}/comm"; then
                told+=("$collector")
            fi
        done
        # All at once, so that the ranks end together, a step after the first of them was signalled.
        [ ${#told[@]} -eq 0 ] || kill "-$1" "${told[@]}" 2>/dev/null || told=()
    fi
    interrupted=yes
    # If no collector runs yet, or on a second signal, mpirun stops the ranks.
    [ -z "$pid" ] || [ ${#told[@]} -gt 0 ] || kill -TERM "$pid" 2>/dev/null || true
}
trap 'on_signal TERM' TERM
trap 'on_signal INT' INT
trap 'exec >/dev/null 2>&1; on_signal TERM' HUP # the terminal is gone

# Waits until mpirun has ended, also across trapped signals, and sets status. Ranks that were signalled have ten
# seconds.
await() {
    local patience=100
    while [ -z "$interrupted" ] && kill -0 "$pid" 2>/dev/null; do
        wait "$pid" || true
    done
    while kill -0 "$pid" 2>/dev/null; do
        sleep 0.1 || true
        patience=$((patience - 1))
        [ $patience -ne 0 ] || kill -TERM "$pid" 2>/dev/null || true
    done
    status=0
    wait "$pid" || status=$?
    pid=
}

# If this script is killed, setpriv also ends mpirun, if util-linux is new enough (2.33).
apart=(setsid)
! setpriv --pdeathsig TERM true 2>/dev/null || apart+=(setpriv --pdeathsig TERM)

# One line with the progress of the run, on a terminal.
progress() { # nodes
    local rows label="$1 node"
    [ "$1" = 1 ] || label="$1 nodes"
    while [ -z "$interrupted" ] && kill -0 "$pid" 2>/dev/null; do
        # Ctrl-C also ends the subshell. Its status must not end this script (set -e) before the run is packed.
        rows=$(wc -l 2>/dev/null <"$spool/program/steps-rank0.csv") || rows=1
        printf '\r  %s: training, step %d, %d s ' "$label" $((rows > 0 ? rows - 1 : 0)) $((SECONDS - began)) >&2
        sleep 1 || true # Ctrl-C ends it too, but must not end this script
    done
    printf '\r\033[K' >&2
}

# launcher NODES: sets launch, the command that starts a rank on each node. After an interrupt nothing more is started.
launcher() {
    local i hosts=''
    [ -z "$interrupted" ] || { echo "interrupted" >&2; exit 130; }
    launch=("${apart[@]}" mpirun -n "$1" --bind-to none)
    if [ -n "${NODES_ENTER:-}" ]; then
        for ((i = 1; i <= $1; i++)); do hosts+=,node$i; done
        launch+=(--host "${hosts#,}")
    else
        # Cores are shared, and the archive says so. --oversubscribe: Open MPI counts cores, but nproc counts hardware
        # threads. With more ranks than either, waiting ranks must give way.
        launch+=(--mca btl_vader_single_copy_mechanism none --oversubscribe)
        [ "$1" -le "$cores" ] || launch+=(--mca mpi_yield_when_idle 1)
    fi
}

# Measures a node for all archives of the series. A report works without it.
calibration=()
calibrate() {
    local file=$results/.calibration-$series.json
    launcher "$most"
    "${launch[@]}" "$bin/dccollect" calibrate -o "$file" 2>"$file.log" &
    pid=$!
    await
    if [ -s "$file" ]; then
        calibration=(--calibration "$file")
        sed -n "s|^$file: ||p; s|^dccollect calibrate: \(warning: \)|\1|p" "$file.log"
    elif [ -z "$interrupted" ]; then
        warn "the peaks of the machine could not be measured. The report will have none:"
        cat "$file.log" >&2
    fi
    rm -f "$file.log"
}

run_one() { # nodes
    local n=$1 name=$1node-$series archive log packed repetition=1
    # NODES="2 2" repeats a run: each has an archive of its own.
    while [ -e "$results/$name.tar" ]; do
        repetition=$((repetition + 1))
        name=$1node-$series-$repetition
    done
    archive=$results/$name.tar
    spool=$results/.spool-$name
    log=$spool/program/log/output.txt
    launcher "$n"
    mkdir -p "$spool/program/log"
    began=$SECONDS
    "${launch[@]}" "$bin/dccollect" run --spool "$spool" "${stand_in[@]}" -- \
        "$bin/dcrnn-train" --out "$spool/program" "${train_args[@]}" >"$log" 2>&1 &
    pid=$!
    if [ -t 2 ]; then progress "$n"; fi
    await
    # The program refused its input before the first step. Its own sentence gives the reason, and there is nothing to
    # keep.
    if [ $status -eq 2 ] && ! [ -s "$spool/program/steps-rank0.csv" ]; then
        grep '^dcrnn-train: ' "$log" | sort -u >&2 || cat "$log" >&2
        rm -rf "$spool"
        exit 2
    fi
    # mpirun may end before the last collector, whose files still grow then.
    packed=no
    for _ in 1 2 3 4 5; do
        "$bin/dccollect" pack "$spool" --adopt "$spool/program" "${calibration[@]}" -o "$archive" >"$spool.pack.log" 2>&1 && packed=yes && break
        sleep 1 || true
    done
    if [ $packed = no ]; then
        warn "cannot pack the run on $n node(s). Its evidence stays in $spool."
        cat "$log" "$spool.pack.log" >&2
        exit 1
    fi
    rm -f "$spool.pack.log"
    echo "$archive" >>"$results/.last-series.partial"
    if [ $status -ne 0 ]; then
        tail -n 20 "$log" >&2
        rm -rf "$spool"
        if [ -n "$interrupted" ]; then
            warn "the run on $n node(s) was interrupted. What there was is in $archive, marked incomplete."
            exit 130
        fi
        warn "the run on $n node(s) ended with status $status. What there was is in $archive, marked incomplete."
        exit 1
    fi
    rm -rf "$spool"
    printf '%s: %d s\n' "$archive" $((SECONDS - began))
}

# The list is also kept for a series that ended badly, and `make site` shows it, marked incomplete. But a series that
# the user interrupted does not replace an earlier one.
keep_list() {
    rm -f "$results/.calibration-$series.json"
    if [ -n "$interrupted" ] && [ ! -s "$results/.last-series.partial" ]; then
        rm -f "$results/.last-series.partial"
        [ -n "$(find "$results" -maxdepth 1 -name ".spool-*-$series*")" ] || # could not pack, and has printed the place
                                                                             # of the spool
            warn "this series left no archive.$([ ! -s "$results/last-series" ] || echo " \`make site\` still shows the earlier series.")"
    elif [ -n "$interrupted" ] && [ -s "$results/last-series" ]; then
        rm -f "$results/.last-series.partial"
        warn "\`make site\` still shows the earlier series. To see this one: \`$bin/dcreport '$results'/*-$series*.tar -o site\`."
    elif [ -s "$results/.last-series.partial" ]; then
        mv "$results/.last-series.partial" "$results/last-series"
    else
        rm -f "$results/.last-series.partial"
    fi
}

share_of_a_node() { # in cores; 0 = no limit
    sed -n 's/.*cores=\([0-9.]*\).*/\1/p' <<<"$DCREPORT_NODE"
}
default_share() { # the share without NODE_CPU
    bash -c '. collect/nodes && node_default "$(cores_here "$(cgroup_place /proc/mounts /proc/self/cgroup)")"' | cut -d" " -f1
}
has_less_than() { # CORES SHARE
    awk -v share="$2" -v cores="$1" 'BEGIN { exit !(share > 0 && share < cores) }'
}
# Puts "0.25 core and a link of 50 Mbit/s each" from DCREPORT_NODE.
node_in_words() {
    local cores link
    cores=$(share_of_a_node) link=$(sed -n 's/.*link_bit_per_s=\([0-9]*\).*/\1/p' <<<"$DCREPORT_NODE")
    case $cores in 0) cores="all cores" ;; 1 | 0.* | .*) cores="$cores core" ;; *) cores="$cores cores" ;; esac
    [ "$link" = 0 ] && echo "$cores each, links without a limit" || echo "$cores and a link of $(awk -v l="$link" 'BEGIN { printf "%g", l / 1e6 }') Mbit/s each"
}

mkdir -p "$results" 2>/dev/null || fail "cannot create folder '$results'. Set RESULTS to another folder."
[ -w "$results" ] || fail "cannot write into folder '$results'. Make it writable."
for left in "$results"/.spool-*; do
    [ ! -d "$left" ] || [[ $left == *node-slurm-* ]] || warn "'$left' of an earlier run was never packed. Remove it, or pack it: \`$bin/dccollect pack $left --adopt $left/program -o RUN.tar\`."
done
: >"$results/.last-series.partial"
trap keep_list EXIT
if [ -n "${NODES_ENTER:-}" ]; then
    stand_in=()
    echo "collecting on emulated nodes (${nodes[*]}): $(node_in_words)"
    # The batch is chosen so that there are enough steps for a mean, and a run on one node of a quarter of a core ends
    # in about a minute. Without AVX-512 such a core takes more than twice as long for a sample, and a batch of 24 keeps
    # that time. The choice depends on the default share, so that a run with NODE_CPU can be compared. An option that is
    # already given is not added, because the command of a trial must stay the one that its report advised.
    if [ $check != --check-data ] && ! names --bat --sc --res --bac && has_less_than 0.75 "$(default_share)" && ! grep -qsw avx512f /proc/cpuinfo; then
        train_args+=(--batch 24)
    fi
    names --ste --ep --sc --res || train_args+=(--steps 70)
else
    stand_in=(--emulate-nodes)
    echo "collecting on plain processes of this machine, one for a node (${nodes[*]})"
fi
if [ -n "${NODES_ENTER:-}" ] && [ -z "${CALIBRATE:-}" ] && has_less_than 0.2 "$(share_of_a_node)"; then
    echo "peaks are not measured, because that takes minutes on such small nodes (CALIBRATE=1 measures them)"
elif [ "${CALIBRATE:-1}" != 0 ]; then
    calibrate
fi
for n in "${nodes[@]}"; do run_one "$n"; done
[ -z "$interrupted" ] || exit 130 # interrupted during the last packing, which still succeeded
