#!/usr/bin/env bash
# collect/nodes: the default size of a node, cgroups of both versions, and that nothing is left in whatever way it ends.
# LONG=1 ends it 100 times.
# shellcheck disable=SC2016,SC2317  # commands for another shell; functions called by check
. tests/lib/tap.sh
. tests/data/programs/build.sh
nodes=collect/nodes

of_nodes() { # of_nodes COMMAND...: a function of collect/nodes
    bash -c '. collect/nodes; "$@"' x "$@"
}
is() { # is "name" WANTED COMMAND...
    local name=$1 wanted=$2 got
    shift 2
    got=$("$@" 2>&1) || got="status $?: $got"
    if [ "$got" = "$wanted" ]; then ok "$name"; else not_ok "$name" "'$got', not '$wanted'"; fi
}

# ---- the formula ------------------------------------------------------------------------------------------------
is "a frame of a slow link" "1500" of_nodes frame_bytes 20mbit
is "a frame of a quarter of a millisecond" "3125" of_nodes frame_bytes 100mbit
is "a frame of a fast link" "8000" of_nodes frame_bytes 1gbit
is "a frame of a link without a limit" "1500" of_nodes frame_bytes none
is "a node of one core" "0.125 25mbit" of_nodes node_default 1
is "a node of two cores" "0.25 50mbit" of_nodes node_default 2
is "a node of eight cores" "1 200mbit" of_nodes node_default 8
is "a node of a quota that does not divide well is rounded down, so that four fit" "0.2083 41.66mbit" of_nodes node_default 1.66667
is "a node of 64 cores is one core" "1 200mbit" of_nodes node_default 64
for cores in 1 2 8; do
    is "$cores core(s) carry four nodes" 4 of_nodes most_nodes "$cores" "$(of_nodes node_default "$cores" | cut -d' ' -f1)"
done
is "64 cores carry 32 nodes" 32 of_nodes most_nodes 64 1
is "a quota of the cgroup above counts as that many cores" 0.5 bash -c '. collect/nodes; nproc() { echo 8; }
    mkdir -p "$0/group" && echo 50000 >"$0/group/cpu.cfs_quota_us" && echo 100000 >"$0/group/cpu.cfs_period_us"
    cores_here "1 $0/group"' "$TMP"
is "also with version 2" 1.5 bash -c '. collect/nodes; nproc() { echo 8; }; echo "150000 100000" >"$0/group/cpu.max"; cores_here "2 $0/group"' "$TMP"
is "no quota: all cores" 8 bash -c '. collect/nodes; nproc() { echo 8; }; echo "max 100000" >"$0/group/cpu.max"; cores_here "2 $0/group"' "$TMP"
for rate in 50mbit=50000000 1gbit=1000000000 2.5gbit=2500000000 800kbit=800000 none=0 50= 50MBit= ; do
    is "the rate ${rate%=*}" "${rate#*=}" of_nodes bits_per_second "${rate%=*}"
done

# ---- version 2 of cgroups, on a fixture: this test has never seen a real one -------------------------------------
tree=$TMP/v2
mkdir -p "$tree/user/a.scope"
echo "cgroup2 $tree cgroup2 rw 0 0" >"$TMP/mounts"
echo "0::/user/a.scope" >"$TMP/self"
echo "cpuset cpu io" >"$tree/cgroup.controllers"
touch "$tree/cgroup.subtree_control"
is "root makes cgroups at the top" "2 $tree" of_nodes cgroup_place "$TMP/mounts" "$TMP/self"
rm "$tree/cgroup.subtree_control"
is "others in their own group" "2 $tree/user/a.scope" of_nodes cgroup_place "$TMP/mounts" "$TMP/self"
echo "cpuset io" >"$tree/cgroup.controllers"
is "a tree without cpu is none" "" of_nodes cgroup_place "$TMP/mounts" "$TMP/self"
# A kernel for open_cgroup2: while the group has processes, cpu cannot be handed down.
scope=$tree/user/a.scope
printf '%s\n' 11 12 >"$scope/cgroup.procs"
touch "$scope/cgroup.subtree_control"
check "processes of an inner group move into a leaf, then cpu is handed down" bash -c '. collect/nodes
    echo() {
        case $1 in
        +cpu) ! grep -q . "$0/cgroup.procs" || return 1 ;;
        [0-9]*) sed -i "/^$1\$/d" "$0/cgroup.procs"; printf "%s\n" "$1" >>"$0/moved"; return ;;
        esac
        builtin echo "$@"
    }
    open_cgroup2 "$0"' "$scope"
is "all of them" "11 12" bash -c 'tr "\n" " " <"$0/moved" | sed "s/ $//"' "$scope"
is "and cpu is" "+cpu" cat "$scope/cgroup.subtree_control"
check "quotas of two nodes" bash -c '. collect/nodes; n_nodes=2 cpu=0.25 period_us=8000; make_cgroups 2 "$0/run"' "$scope"
is "as the kernel reads them" "2000 8000" cat "$scope/run/node2/cpu.max"
check_status 1 "a group that may not be made is an error" bash -c '. collect/nodes; n_nodes=2 cpu=0.25; make_cgroups 2 "$0/no/run"' "$scope"

# ---- refusals ---------------------------------------------------------------------------------------------------
refused() { # refused "name" "sentence" ARGS...
    local name=$1 sentence=$2 got=0
    shift 2
    $nodes "$@" >"$TMP/said" 2>&1 || got=$?
    if [ $got -eq 2 ] && grep -qF -- "$sentence" "$TMP/said"; then ok "$name"; else not_ok "$name" "status $got: $(cat "$TMP/said")"; fi
}
refused "no command" "no command" --nodes 2
refused "no number of nodes" "--nodes takes a whole number from 1 to 253, not '0'" --nodes 0 -- true
refused "a share of nothing" "NODE_CPU takes none or a number of cores from 0.001 with at most four decimals, not '0'." --cpu 0 -- true
refused "a share that is no number" "NODE_CPU takes none or a number of cores from 0.001 with at most four decimals, not 'half'." --cpu half -- true
refused "a link that is no rate" "NODE_NET takes none or a rate of 1mbit or more, not '50'." --net 50 -- true
refused "a link that is too slow to be one" "NODE_NET takes none or a rate of 1mbit or more, not '9kbit'." --net 9kbit -- true
check_status 143 "a worker whose parent was killed ends at once" bash $nodes --worker /tmp/dcreport-nodes.1-1 -- true
is "threads that a program is told to use are not the cores" "$(nproc)" env OMP_NUM_THREADS=99 OMP_THREAD_LIMIT=99 bash -c '. collect/nodes; cores_here ""'

# ---- the nodes --------------------------------------------------------------------------------------------------
why=$($nodes --nodes 1 -- true 2>&1)
status=$?
if [ $status -ne 0 ]; then
    check "what this machine does not permit is one sentence" test "$status $(wc -l <<<"$why")" = "77 1"
    skip "nodes on this machine" "$why"
    finish
fi
refused "more nodes than the cores carry: smaller ones are offered" "NODE_CPU=0." --nodes 200 -- true
refused "... and plain processes" "EMULATE=ranks" --nodes 200 -- true
if [ "$(id -u)" = 0 ]; then
    check_status 77 "where /tmp runs no programs there are no nodes" unshare -m sh -c 'mount --bind /tmp /tmp && mount -o remount,bind,noexec /tmp &&
        exec bash collect/nodes --nodes 1 -- true'
    cp "$TMP/tap.out" "$TMP/said"
    check "... which is said" grep -qx "a node cannot be entered; is /tmp mounted noexec?" "$TMP/said"
fi
check_status 7 "the command's status is passed on" $nodes --nodes 1 -- sh -c 'exit 7'
cat >"$TMP/look.sh" <<'END'
echo "node $DCREPORT_NODE"
echo "folder ${NODES_ENTER%/*}"
for n in node1 node2 node3; do "$NODES_ENTER" $n hostname; done | tr '\n' ' ' | sed 's/^/names /; s/ $/\n/'
"$NODES_ENTER" node2 "ip -o -4 addr show eth0" | sed 's/.*inet \([^ ]*\) .*/address \1/'
"$NODES_ENTER" node2 'bash -c "end=\$((\${EPOCHREALTIME/./} + 1000000)); while [ \${EPOCHREALTIME/./} -lt \$end ]; do :; done; times"' | sed -n '1{ s/^0m/busy /; s/s .*//p }'
for end in "$NODES_ENTER node2 tc qdisc show dev eth0" "tc qdisc show dev v2"; do $end; done | grep -c 'tbf.* rate 30Mbit burst 8Kb' | sed 's/^/links /'
"$NODES_ENTER" node3 'exit 5'; echo "status $?"
END
check "three nodes" $nodes --nodes 3 --cpu 0.125 --net 30mbit -- bash "$TMP/look.sh"
cp "$TMP/tap.out" "$TMP/look"
seen() { sed -n "s/^$1 //p" "$TMP/look"; }
check "they say what they are" test "$(seen node)" = "cores=0.125 period_us=8000 link_bit_per_s=30000000 default=0"
check "they have names" test "$(seen names)" = "node1 node2 node3"
check "and addresses" test "$(seen address)" = "10.77.0.2/24"
check "a second of work takes an eighth of a second of a core" awk -v s="$(seen busy)" 'BEGIN { exit !(s > 0 && s < 0.2) }'
check "both ends of a link have its rate and a small burst" test "$(seen links)" = 2
check "a node's command passes its status on" test "$(seen status)" = 5
check "without limits, none are set" bash -c '[ "$($0 --nodes 2 --cpu none --net none -- sh -c "echo \$DCREPORT_NODE; \$NODES_ENTER node1 tc qdisc show dev eth0 | grep -c tbf")" = "cores=0 period_us=4000 link_bit_per_s=0 default=0
0" ]' $nodes

# nothing_left FOLDER: no process, cgroup or folder of those nodes within two seconds; cgroups of killed runs may stay.
nothing_left() {
    local name=${1##*/} tries=20
    # Namespaces and links live as long as their process 1, which has the folder on its command line only.
    while [ "$tries" -gt 0 ] && { grep -qzsx "NODES_ENTER=$1/enter" /proc/[0-9]*/environ || grep -qzsF "$1" /proc/[0-9]*/cmdline; }; do
        sleep 0.1
        tries=$((tries - 1))
    done
    [ "$tries" -gt 0 ] || { echo "processes are left"; return 1; }
    ! grep -qs "$name" /proc/self/mounts || { echo "mounts are left"; return 1; }
    [ "${2:-}" = killed ] || [ -z "$(find /sys/fs/cgroup -maxdepth 6 -name "$name" 2>/dev/null)" ] || { echo "cgroups are left"; return 1; }
    [ "${2:-}" = killed ] || [ ! -e "$1" ] || { echo "$1 is left"; return 1; }
}
check "nothing is left of them" nothing_left "$(seen folder)"

base=$(bash -c '. collect/nodes; cgroup_place /proc/mounts /proc/self/cgroup')

# ---- as another user --------------------------------------------------------------------------------------------
public=$(mktemp -d /tmp/dcreport-test.XXXXXX)
mkdir "$public/collect"
cp $nodes "$public/collect" && chmod -R a+rX "$public"
plain=(setpriv --reuid 65534 --regid 65534 --clear-groups)
[ "$(id -u)" = 0 ] || plain=()
if [ "$(id -u)" = 0 ] && "${plain[@]}" unshare --user --map-root-user -m -n -p -u -f --mount-proc true 2>/dev/null; then
    is "a user without rights has the network" "node2" "${plain[@]}" "$public/collect/nodes" --nodes 2 --cpu none -- sh -c '$NODES_ENTER node2 hostname'
    check_status 77 "but no share" "${plain[@]}" "$public/collect/nodes" --nodes 2 -- true
    cp "$TMP/tap.out" "$TMP/said"
    check "it is said what is missing" grep -Eq "^(this user may not give nodes a share of the processor|the cgroup .* may not be divided)" "$TMP/said"
    if [ "${base%% *}" = 1 ]; then
        delegated=${base#* }/dcreport-test.$$
        mkdir "$delegated" && chown -R 65534 "$delegated"
        is "in a cgroup of their own a user has shares" "cores=0.2 node1" bash -c 'echo 0 >"$0/cgroup.procs" && shift 0 && "$@"' "$delegated" \
            "${plain[@]}" "$public/collect/nodes" --nodes 2 --cpu 0.2 -- sh -c '$NODES_ENTER node1 "echo \${DCREPORT_NODE%% *} \$(hostname)"'
        check "and nothing is left there" rmdir "$delegated"
    else
        skip "in a cgroup of their own a user has shares" "version 2 of cgroups is untried"
    fi
else
    skip "nodes of another user" "needs root here, and user namespaces"
fi
rm -rf "$public"
# EMULATE, and the fallback when namespaces are not permitted.
mkdir "$TMP/few"
printf '#!/bin/sh\nexit 1\n' >"$TMP/few/unshare" && chmod +x "$TMP/few/unshare"
small="--sensors 8 --days 1 --units 4 --batch 32 --steps 3 --validation-windows 10"
export CALIBRATE=0 NODES=2 ARGS=$small
check "without the programs it needs, make collect takes plain processes" env PATH="$TMP/few:$PATH" RESULTS="$TMP/plain" bash collect/series.sh
cp "$TMP/tap.out" "$TMP/said"
check "and says why" grep -q "^the nodes are plain processes that share all cores, because .*: this user may not make namespaces here" "$TMP/said"
check_status 2 "asked for nodes, it refuses" env PATH="$TMP/few:$PATH" EMULATE=nodes RESULTS="$TMP/plain2" bash collect/series.sh
check "EMULATE=ranks is plain processes" env EMULATE=ranks RESULTS="$TMP/ranks" bash collect/series.sh
check "as the archive says" sh -c 'tar xOf "$(cat "$0/last-series")" job_metadata.json | jq -e ".nodes | length == 2 and all(has(\"emulated\") | not)"' "$TMP/ranks"
check_status 2 "EMULATE takes nothing else" env EMULATE=vm RESULTS="$TMP/none" bash collect/series.sh
check "nodes of another size" env ARGS="${small/--batch 32 /}" NODE_CPU=0.125 NODE_NET=80mbit RESULTS="$TMP/other" bash collect/series.sh
check "the archive knows them" sh -c 'tar xOf "$(cat "$0/last-series")" job_metadata.json | jq -e ".nodes | length == 2 and all(.emulated.cores == 0.125 and .emulated.link_bit_per_s == 80000000 and (.emulated.is_default | not))"' "$TMP/other"

# On small nodes without AVX-512 a smaller batch is the default, by their default share. The program takes shortened options.
batch=64
share=$($nodes --nodes 1 -- sh -c 'echo "$DCREPORT_NODE"' | sed 's/cores=\([0-9.]*\) .*/\1/')
if awk -v s="$share" 'BEGIN { exit !(s < 0.75) }' && ! grep -qw avx512f /proc/cpuinfo; then batch=24; fi
check "the default batch is the machine's, $batch here" sh -c 'tar xOf "$(cat "$0/last-series")" program.json | jq -e ".global_batch == $1"' "$TMP/other" $batch
check "nodes with a batch and steps of one's own" env ARGS="${small/--batch 32 --steps 3/--bat 16 --step 4}" NODES=1 RESULTS="$TMP/asked" bash collect/series.sh
check "they hold" sh -c 'tar xOf "$(cat "$0/last-series")" program.json | jq -e ".global_batch == 16 and .options.steps == 4"' "$TMP/asked"
check "and stand in the command once, so that a trial is the one that was advised" sh -c 'tar xOf "$(cat "$0/last-series")" job_metadata.json |
    jq -e ".command | join(\" \") | test(\"--bat 16 --step 4\") and (test(\"--batch|--steps\") | not)"' "$TMP/asked"
for args in "--ou=/x" $'--units 4\t--out x' $'--units 4\n--steps 3'; do
    check_status 2 "refused: ARGS=$(printf %q "$args")" env ARGS="$args" RESULTS="$TMP/none" bash collect/series.sh
done
check_status 2 "plain processes with a share of a node" env EMULATE=ranks NODE_CPU=0.1 RESULTS="$TMP/none" bash collect/series.sh
check_status 2 "Slurm with a share of a node" make --no-print-directory SCHEDULER=slurm NODE_CPU=0.1 RESULTS="$TMP/none" collect
cp "$TMP/tap.out" "$TMP/said"
check "and it is said" grep -q "^make collect: NODE_CPU, .*[.] Leave them out with SCHEDULER=slurm[.]$" "$TMP/said"
check "nothing was written" test ! -e "$TMP/none"

# ---- a signal to the script alone, while the nodes are being made
heard() { # SIGNAL SECONDS
    local pid tries=50 got=0
    env --default-signal=INT "$nodes" --nodes 4 -- sleep 60 2>"$TMP/said" &
    pid=$!
    sleep "$2"
    kill "-$1" "$pid"
    while [ "$tries" -gt 0 ] && kill -0 "$pid" 2>/dev/null; do
        sleep 0.1
        tries=$((tries - 1))
    done
    if kill -0 "$pid" 2>/dev/null; then
        echo "it still runs after 5 s:"
        ps -eo pid,ppid,pgid,stat,wchan:24,args | awk -v pid="$pid" 'NR == 1 || $1 == pid || index($0, "dcreport-nodes." pid "-")'
        kill -KILL "$pid"
    fi
    wait "$pid" 2>/dev/null || got=$?
    # Before the command runs, the script ends with 143; afterwards the command ends by its signal.
    { [ "$got" -eq 143 ] || { [ "$1" = INT ] && [ "$got" -eq 130 ]; }; } || { echo "status $got: $(cat "$TMP/said")"; return 1; }
    [ -z "$(find /tmp /sys/fs/cgroup -maxdepth 6 -name "dcreport-nodes.$pid-*" 2>/dev/null)" ] || { echo "something is left"; return 1; }
}
for after in 0.05 0.1 0.2 0.3 0.4 0.5 0.6 0.8; do
    check "SIGTERM after $after s is heard" heard TERM $after
    check "SIGINT after $after s is heard" heard INT $after
done

# ---- ended from outside -----------------------------------------------------------------------------------------
# A series that would go on for minutes, ended by a signal after a random time.
end_it() { # end_it SIGNAL SECONDS
    local pid folder tries probe probes
    rm -rf "$TMP/ended" # a SIGKILL leaves the spool to be packed by hand
    mkdir -p "$TMP/elsewhere"
    NODES="4" ARGS="--sensors 40 --days 3 --batch 32 --epochs 500" RESULTS="$TMP/ended" TMPDIR="$TMP/elsewhere" \
        env --default-signal=INT,HUP bash collect/series.sh >"$TMP/ended.said" 2>&1 &
    pid=$!
    sleep "$2"
    folder=$(dirname "$(grep -lsx "$pid" /tmp/dcreport-nodes.*/pid)") # the script becomes collect/nodes
    probes=$(pgrep -P "$pid"; pgrep -P "$(pgrep -d, -P "$pid")") # before that it tries whether there can be nodes
    kill "-$1" "$pid"
    # A user who sees no reaction sends the signal again.
    for ((tries = 0; tries < 200; tries++)); do
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.1
    done
    kill "-$1" "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
    if [ "$folder" = . ]; then # too early for nodes; the probe of their possibility ends by itself
        for probe in $probes; do
            for ((tries = 0; tries < 20; tries++)); do
                [ -n "$(find /tmp /sys/fs/cgroup -maxdepth 6 -name "dcreport-nodes.$probe-*" 2>/dev/null)" ] || continue 2
                sleep 0.1
            done
            echo "the nodes of a trial are left" && return 1
        done
        return 0
    fi
    [ "$1" = KILL ] || [ -z "$(find "$TMP/ended" -name '.*' ! -name . 2>/dev/null)" ] || { ls -A "$TMP/ended"; return 1; }
    [ "$1" != KILL ] || killed+=("$folder")
    nothing_left "$folder" "$([ "$1" != KILL ] || echo killed)"
}
killed=()
rounds=1
[ "${LONG:-0}" = 0 ] || rounds=25
RANDOM=${SEED:-$$}
for ((round = 1; round <= rounds; round++)); do
    for signal in INT TERM HUP KILL; do
        after=$((RANDOM % 5)).$((RANDOM % 10))
        check "nothing is left after SIG$signal at $after s" end_it $signal "$after"
    done
done
check "Open MPI's folders were in those of the runs" test -z "$(find "$TMP/elsewhere" -name 'ompi.*')"
check "the next nodes start" $nodes --nodes 1 -- true
for folder in "${killed[@]}"; do
    check "and have removed what was left of those that were killed" nothing_left "$folder"
done
# The next run is in another cgroup than the killed one.
if [ "${base%% *}" = 1 ] && mkdir "${base#* }/dcreport-test.$$" 2>/dev/null; then
    elsewhere=${base#* }/dcreport-test.$$
    sh -c 'echo $$ >"$1/cgroup.procs" && exec "$0" --nodes 1 -- sh -c '"'"'echo "${NODES_ENTER%/*}"; exec sleep 60'"'" $nodes "$elsewhere" >"$TMP/elsewhere" &
    pid=$!
    for ((tries = 0; tries < 100; tries++)); do
        [ ! -s "$TMP/elsewhere" ] || break
        sleep 0.1
    done
    kill -KILL $pid
    wait $pid 2>/dev/null
    folder=$(cat "$TMP/elsewhere")
    check "nodes that were killed in another cgroup have a cgroup there" test -d "$elsewhere/${folder##*/}"
    check "the next run removes it" sh -c '"$0" --nodes 1 -- true && test ! -e "$1" && rmdir "$2"' $nodes "$folder" "$elsewhere"
else
    skip "nodes that were killed in another cgroup" "needs a cgroup of version 1 that can be divided"
fi
# Without a share there is no cgroup that leads to the folder.
$nodes --nodes 1 --cpu none --net none -- sh -c 'echo "${NODES_ENTER%/*}"; exec sleep 60' >"$TMP/unlimited" &
pid=$!
for ((tries = 0; tries < 100; tries++)); do
    [ ! -s "$TMP/unlimited" ] || break
    sleep 0.1
done
check "another run does not touch nodes that live" sh -c '"$0" --nodes 1 --cpu none --net none -- true && test -e "$(cat "$1")/pid"' $nodes "$TMP/unlimited"
kill -KILL $pid
wait $pid 2>/dev/null
check "the next run removes the folder of nodes without a share, too" sh -c '"$0" --nodes 1 --cpu none --net none -- true && test -n "$(cat "$1")" && ! test -e "$(cat "$1")"' $nodes "$TMP/unlimited"
finish
