#!/bin/bash
# Monitors beyond the first ones: page faults, pressure, the processor's counters, NVML's counters; each with values or an
# empty cell and its reason.
# alone: it looks at what the machine does meanwhile
# shellcheck disable=SC2016,SC2317  # commands for another shell; functions that check calls
. tests/lib/tap.sh
. tests/data/programs/build.sh
unset OMPI_COMM_WORLD_RANK PMIX_RANK PMI_RANK SLURM_PROCID
build_marks || not_ok "marks builds"
cd "$TMP" || exit 1
# last FILE COLUMN: the last value of a column; "" when the cell is empty
last() {
    member run.tar "$1" | awk -F, -v c="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == c) k = i; next } { v = $k } END { print v }'
}
number_or() { # VALUE REASON: a number, or an empty cell with a reason
    case $1 in '' | *[!0-9]*) [ -z "$1" ] && [ -n "$2" ] && [ "$2" != null ] ;; *) return 0 ;; esac
}
cat >pages.c <<'END'
#include <stdlib.h>
int main(void)
{
    volatile char *x = malloc(64 << 20);
    for (long i = 0; x && i < 40000000; i++)
        x[i * 4096 % (64 << 20)] = 1;
    return 0;
}
END
"$CC" -O1 -o pages pages.c || not_ok "pages builds"
"$COLLECT" run -o run.tar --interval 20 -- ./pages 2>err || not_ok "pages runs"
why=$(metadata run.tar '.nodes[0].missing.pressure // ""')
for c in psi_cpu_some_ns psi_memory_some_ns psi_io_some_ns psi_io_full_ns; do
    check "$c: a number, or empty with the reason" number_or "$(last node0/cpu_monitor.csv $c)" "$why"
done
check "page faults of the host grow" test "$(last node0/cpu_monitor.csv page_faults)" -gt 1000
check "page faults of the program: at least one a page" test "$(last rank0/process_monitor.csv minor_faults)" -gt 16000
for c in cycles instructions llc_misses stalled_cycles task_clock_ns; do
    value=$(last rank0/process_monitor.csv $c)
    said=$(metadata run.tar ".ranks[0].counters.$c")
    echo "# $c: ${value:-empty}: $said"
    check "$c: said to be counted or why not" sh -c 'echo "$0" | grep -Eq "^(ok|ok: user mode only|n/a because .+)$"' "$said"
    check "$c: a number exactly when counted" sh -c 'case $1 in ok*) [ "${0:-0}" -gt 1000 ] ;; *) [ -z "$0" ] ;; esac' "$value" "$said"
done
if command -v mpirun >/dev/null; then
    # New processes are looked for at least once a second, so a shorter one may be missed.
    "$COLLECT" run -o run.tar --interval 20 --mpi off -- "${MPIRUN[@]}" -n 2 sh -c 'timeout 1.5 sh -c "while :; do :; done" || true' 2>err
    check "in front of mpirun: no counters by rank, and why" metadata run.tar '.ranks | all(.counters == null and (.missing.counters | test("collector beside each rank")))'
    check "times are" test "$(last rank1/process_monitor.csv user_ns)" -gt 0
    check "empty cells then" test -z "$(last rank1/process_monitor.csv cycles)"
fi

# ---- counters of the memory controllers: a file, or the reason
state=$(metadata run.tar '.nodes[0].monitors.memory')
echo "# memory controllers: $state"
if [ "$state" = ok ]; then
    check "memory controllers: 64 MB at least were written" test "$(last node0/memory_monitor.csv write_bytes)" -gt 64000000
else
    check "memory controllers: no file, and why" sh -c 'case $0 in absent:*) ;; *) exit 1 ;; esac; ! tar tf run.tar | grep -q memory_monitor' "$state"
fi
check "closing lines do not complain about them" sh -c '! grep -i "memory controllers" err'

# ---- counters that no machine of ours has: the cells of a real recording are filled, two instructions a cycle, of which half are
# stalled in the ranges "forward" (250 ms each)
rm -rf made
MARKS_STEP_US=250000 "$COLLECT" run --spool made --interval 20 -- ./marks 5 2>err || not_ok "marks run"
find made -name process_monitor.csv | while read -r f; do
    awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) k[$i] = i; print; next }
        !t { t = $k["t_ns"] }
        { n = $k["t_ns"] - t; $k["cycles"] = sprintf("%.0f", 4 * n); $k["instructions"] = sprintf("%.0f", 8 * n)
          $k["stalled_cycles"] = sprintf("%.0f", 2 * n); print }' "$f" >filled &&
        mv filled "$f"
done
"$COLLECT" pack made -o made.tar 2>err
"$BIN/dcreport" made.tar -o site >out 2>&1
check "rates of the whole run and of the phase" jq -e '.runs[0].counters | .because == null and (.phases | length == 1) and
    (.phases[0] | .phase == "forward" and .time_ns > 3e8) and ([.whole, .phases[0]] |
    all(.instructions_per_cycle == 2 and .stalled_ratio == 0.5 and .missed_gb_per_s == null))' site/report.json
check "the page of the run has them" grep -q "Cores in each phase" site/runs/*/index.html
rm -rf summary_only && mkdir summary_only && tar xf made.tar -C summary_only
check "they are equal from the trace alone" sh -c 'find summary_only -name "*.summary*" -delete; rm -f summary_only/manifest.json
    "$BIN/dcreport" summary_only -o alone >out 2>&1; [ "$(jq -S .runs[0].counters alone/report.json)" = "$(jq -S .runs[0].counters site/report.json)" ]'

# ---- clocks of two hosts, of which the second's is a thousand seconds ahead
if unshare -u -T --monotonic 1000 true 2>/dev/null; then
    pids=()
    for rank in 1 0; do
        ahead=() steps=80 # the one that answers runs longer
        [ $rank = 0 ] || { ahead=(-T --monotonic 1000) steps=55; }
        OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_SIZE=2 MARKS_STEP_US=50000 unshare -u "${ahead[@]}" \
            sh -c 'hostname "$1" && exec "$0" run --spool clocks -- ./marks "$2"' "$COLLECT" "box$rank" $steps 2>/dev/null &
        pids+=($!)
    done
    check "two hosts" wait "${pids[@]}"
    check "the address of the clock is gone" sh -c '! find clocks -name "*clock-server*" | grep -q .'
    "$COLLECT" pack clocks -o run.tar 2>err
    member run.tar node1/clock_monitor.csv >clock.csv
    check "at the start, after a second, at the end" test "$(wc -l <clock.csv)" -ge 4
    check "the offset is known to be wrong by less than it is wrong" awk -F, \
        'NR > 1 { d = $3 + 1000e9; if (d < 0) d = -d; if (d > $4 || $4 > 2e7) exit 1; n++ } END { exit n < 3 }' clock.csv
    check "only the second asks" sh -c '! tar tf run.tar | grep -q node0/clock' 
    check "both are said to be measured" metadata run.tar '[.nodes[].monitors.clock] == ["ok", "ok"]'
    "$BIN/dcreport" run.tar -o site >out 2>&1
    check "the report has offset, error and drift" jq -e '.runs[0].nodes[1].clock | .reference == "box0" and .n >= 3 and
        (.first_offset_ns + 1000e9 | fabs) <= .error_ns and (.drift_ppm | fabs) <= .drift_error_ppm' site/report.json
    # Each host has its own spool; the second run is without the shared folder for the clocks.
    mkdir meet
    local_spools() {
        local rank
        rm -rf own0 own1 both
        for rank in 1 0; do
            OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_SIZE=2 MARKS_STEP_US=50000 unshare -u \
                sh -c 'hostname "$1" && shift && exec "$0" run "$@" -- ./marks 25' "$COLLECT" "box$rank" --spool "own$rank" "$@" 2>/dev/null &
        done
        wait
        cp -r own0 both && cp -r own1/. both && "$COLLECT" pack both -o own.tar 2>err
    }
    local_spools --clock meet
    check "a spool on each host, and a folder for the clocks: they are measured" metadata own.tar '[.nodes[].monitors.clock] == ["ok", "ok"]'
    check "the readings are in the archive" sh -c 'tar tf own.tar | grep -qx node1/clock_monitor.csv'
    check "nothing is left in the folder" test -z "$(ls meet)"
    local_spools
    check "without the folder it is said" metadata own.tar '.nodes[1].monitors.clock | test("wrote no address to .*own1.*--clock")'
    check_status 125 "a folder for the clocks that is not there is refused" "$COLLECT" run --clock nowhere --spool x -- true
else
    skip "clocks of two hosts" "needs root, and time namespaces"
fi

# ---- NVML's counters
mkdir lib
cd "$OLDPWD" || exit 1
"$CC" -shared -fPIC -Wl,-soname,libnvidia-ml.so.1 -o "$TMP/lib/libnvidia-ml.so.1" tests/data/programs/fake_nvml.c || not_ok "fake_nvml builds"
cd "$TMP" || exit 1
LD_LIBRARY_PATH=$TMP/lib "$COLLECT" run -o run.tar --interval 20 -- sleep 0.2 2>err
check "two devices" test "$(metadata run.tar '[.nodes[0].gpus[].name] | join(" ")')" = "Fake 0 Fake 1"
check "what one of them lacks is no failure of the monitor" test "$(metadata run.tar .nodes[0].monitors.gpu)" = ok
check "but is named with its reason" metadata run.tar '.nodes[0].gpus | (.[0] | has("missing") | not) and
    (.[1].missing | (keys == ["ecc_corrected", "ecc_uncorrected", "nvlink_rx_bytes", "nvlink_tx_bytes", "pcie_rx_bytes", "pcie_tx_bytes"]) and all(.[]; . == "Not Supported"))'
member run.tar node0/gpu_monitor.csv | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) k[$i] = i; next }
    $k["gpu_id"] == 0 { print ($k["pcie_tx_bytes"] >= 197000000), ($k["pcie_rx_bytes"] >= 198000000), $k["nvlink_tx_bytes"], $k["nvlink_rx_bytes"], $k["ecc_corrected"], $k["ecc_uncorrected"] }
    $k["gpu_id"] == 1 { print "second:" $k["pcie_tx_bytes"] $k["nvlink_rx_bytes"] $k["ecc_corrected"] ":" $k["utilization_gpu"] }' | sort -u >got
printf '1 1 141312 142336 12 1\nsecond::70\n' >want
check "values where there are counters, empty cells where not" diff want got
check_status 3 "the report reads it all" "$BIN/dcreport" run.tar -o site
finish
