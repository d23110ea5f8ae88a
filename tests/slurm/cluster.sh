#!/usr/bin/env bash
# The test cluster itself: names, shares and link rates are those that it states, and nothing of it is left after any ending.
. tests/lib/tap.sh
cluster=tests/slurm/cluster

check_status 2 "an unknown option is refused" $cluster --node 4 -- true
check_status 2 "no command is refused" $cluster --nodes 4
check_status 2 "more nodes than the cores carry are refused" $cluster --nodes 253 -- true

status=0
$cluster -- bash -c 'exit 7' >"$TMP/out" 2>&1 || status=$?
if [ $status -eq 77 ]; then
    cat "$TMP/out"
    skip "a Slurm cluster on this machine" "$(tail -n 1 "$TMP/out")"
    finish
fi
check "the command's status is passed on" test $status -eq 7
# Read from standard input: the other user may not be let into this folder.
check_status 77 "without root it is skipped" bash -c "setpriv --reuid 65534 --clear-groups bash -s -- -- true <$cluster >$TMP/out"
check "and says so" grep -qx "skipped: needs root" "$TMP/out"

# nothing_left NAME: no process, cgroup or folder of that cluster is left. What was killed needs a moment to go.
# shellcheck disable=SC2317  # called by check
nothing_left() {
    local tries=50
    [ -n "$1" ] || return 1
    while [ "$tries" -gt 0 ]; do
        ! grep -qzsx "CLUSTER_NAME=$1" /proc/[0-9]*/environ && break
        sleep 0.1
        tries=$((tries - 1))
    done
    [ "$tries" -gt 0 ] || { echo "processes are left"; return 1; }
    [ -z "$(find /sys/fs/cgroup -maxdepth 4 -name "$1" 2>/dev/null)" ] || { echo "cgroups are left"; return 1; }
    [ ! -e "/tmp/$1" ] || { echo "/tmp/$1 is left"; return 1; }
}

# The inner commands look at the cluster from inside the controller's namespaces.
links=$(ip -o link | cut -d: -f2)
hosts=$(cksum </etc/hosts)
cat >"$TMP/look.sh" <<'END'
echo "name $CLUSTER_NAME"
echo "hosts $(srun -N4 hostname | sort | tr '\n' ' ')"
echo "boot $(srun -N4 cat /proc/sys/kernel/random/boot_id | sort -u | wc -l)"
echo "address $(srun -w node3 ip -o -4 addr show eth0 | grep -o '10\.77\.0\.[0-9]*/24')"
echo "rate $(srun -N4 tc qdisc show dev eth0 | grep -c 'tbf .*rate 100Mbit')"
# A loop that counts its own processor time, for two seconds.
echo "share $(srun -N1 bash -c 'end=$((${EPOCHREALTIME/./} + 2000000))
    while [ ${EPOCHREALTIME/./} -lt $end ]; do :; done
    awk "{ print \$14 + \$15 }" /proc/$$/stat')"
END
check "it starts, and gives each job its own nodes" bash -c "$cluster -- bash $TMP/look.sh >$TMP/look"
sed 's/^/# /' "$TMP/look"
seen() { sed -n "s/^$1 //p" "$TMP/look"; }
check "the nodes have names of their own" test "$(seen hosts)" = "node1 node2 node3 node4 "
check "they share one kernel" test "$(seen boot)" = 1
check "and have addresses of their own" test "$(seen address)" = "10.77.0.3/24"
check "every node's link is shaped" test "$(seen rate)" = 4
check "a busy node gets a quarter of a core" awk -v ticks="$(seen share)" -v hz="$(getconf CLK_TCK)" \
    'BEGIN { share = ticks / hz / 2; exit !(share > 0.15 && share < 0.30) }'
check "nothing is left of it" nothing_left "$(seen name)"
check "the machine's links are as before" test "$(ip -o link | cut -d: -f2)" = "$links"
check "and its hosts file" test "$(cksum </etc/hosts)" = "$hosts"

# Ended from outside, by SIGTERM and by SIGKILL.
wait_for_line() { # as long as a busy machine needs
    local tries=600
    while [ $tries -gt 0 ] && ! [ -s "$1" ]; do
        sleep 0.1
        tries=$((tries - 1))
    done
}
# shellcheck disable=SC2016  # the inner shell's variable
for signal in TERM KILL; do
    $cluster -- bash -c 'echo "$CLUSTER_NAME"; sleep 100' >"$TMP/name.$signal" &
    pid=$!
    wait_for_line "$TMP/name.$signal"
    kill -$signal $pid
    wait $pid 2>/dev/null
    if [ $signal = KILL ]; then
        # It could not remove its cgroups, so the next cluster removes them. Two clusters at a time do not disturb each other.
        $cluster --nodes 1 -- sinfo >"$TMP/other" &
        other=$!
        check "another cluster starts after one was killed outright" $cluster --nodes 2 -- srun -N2 true
        wait $other
        check "and one beside it" grep -q "idle node1" "$TMP/other"
    fi
    check "nothing is left after SIG$signal" nothing_left "$(cat "$TMP/name.$signal")"
done
finish
