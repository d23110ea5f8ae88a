#!/usr/bin/env bash
# nodes.sh - how good the emulated nodes of `make collect` are (docs/nodes.md keeps a table): does compute speed up as it
# should, what do messages cost without a limit on the links, and do they take the time of their bytes with one?
#
#   tests/bench/nodes.sh            from the environment: ROUNDS (5), RATE_ROUNDS (3: of other rates), STEPS (60), BATCH (64)
# In every round each variant runs once, so that changes of the machine affect all of them. Prints medians of rank 0's
# steps, then median, minimum and maximum of the rounds. It has the requirements of collect/nodes, and needs an idle
# machine.
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${BUILD:=$PWD/build}" "${ROUNDS:=5}" "${STEPS:=60}" "${BATCH:=64}"
export BUILD LC_ALL=C

# One run on nodes 1 to N, recorded as make collect records it. Prints a line: variant, nodes; of the median step in ms:
# step, compute and exposed all-reduce of rank 0, and the time of the gradients in flight on the rank where it was
# shortest (the others also waited for it); bytes of a step over node 1's link (the larger of both directions).
one_run() { # variant nodes option...
    local variant=$1 n=$2 hosts before short after recorder=("$BUILD/bin/dccollect" run --spool "$scratch/spool" --)
    shift 2
    [[ $variant != polling* ]] || recorder=(env -u DCREPORT_NODE "${recorder[@]}")
    hosts=$(seq -s, -f node%g "$n")
    train() {
        rm -rf "$scratch/spool"
        mpirun -n "$n" --bind-to none --host "$hosts" "${recorder[@]}" "$BUILD/bin/dcrnn-train" --out "$scratch/spool/program" \
            --validate-every 0 --validation-windows 1 "$@" >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2; exit 1; }
    }
    before=$(link_bytes)
    [[ $variant != *no-overlap ]] || train "$@" --steps 2 # the cost of starting
    short=$(link_bytes)
    train "$@"
    after=$(link_bytes)
    awk -F, -v variant="$variant" -v n="$n" -v bytes=$((after - short - short + before)) '
        FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
        FNR > 5 { ns = $at["allreduce_inflight_ns"]; i = FNR - 5; if (FILENAME ~ /rank0.csv/ || ns < flight[i]) flight[i] = ns }
        FNR > 5 && FILENAME ~ /rank0.csv/ { k++; step[k] = $at["step_ns"]; compute[k] = $at["forward_ns"] + $at["backward_ns"]
            exposed[k] = $at["allreduce_ns"] }
        function median(a,    i, j, t) { for (i = 2; i <= k; i++) for (j = i; j > 1 && a[j - 1] > a[j]; j--) { t = a[j]; a[j] = a[j - 1]; a[j - 1] = t }
            return a[int((k + 1) / 2)] / 1e6 }
        END { printf "%s %d %.2f %.2f %.2f %.2f %.0f\n", variant, n, median(step), median(compute), median(exposed), median(flight), bytes / (k + 2) }' \
        "$scratch"/spool/program/steps-rank*.csv
    rm -rf "$scratch/spool"
}
link_bytes() {
    "$NODES_ENTER" node1 "awk '/eth0/ { print (\$2 > \$10 ? \$2 : \$10) }' /proc/net/dev"
}

if [ "${1:-}" = --inside ]; then
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    case $2 in
    none)
        for n in 1 2 4; do one_run none $n --batch "$BATCH" --steps "$STEPS"; done
        one_run polling-none 4 --batch "$BATCH" --steps "$STEPS"
        ;;
    polling-none,10ms) one_run "$2" 4 --batch "$BATCH" --steps "$STEPS" ;;
    *)
        for n in 2 4; do one_run "$2" $n --batch "$BATCH" --steps "$STEPS"; done
        for n in 2 4; do one_run "$2,no-overlap" $n --batch "$BATCH" --steps $((STEPS / 2)) --no-overlap; done
        ;;
    esac
    exit
fi
lines=$(mktemp)
trap 'rm -f "$lines"' EXIT
for ((round = 1; round <= ROUNDS; round++)); do
    for rate in none 50mbit; do collect/nodes --net $rate -- bash "$0" --inside $rate; done
    collect/nodes --net none --period 10000 -- bash "$0" --inside polling-none,10ms
    [ "$round" -gt "${RATE_ROUNDS:-3}" ] || for rate in 20mbit 100mbit 400mbit; do
        STEPS=$((STEPS / 2)) collect/nodes --net $rate -- bash "$0" --inside $rate
    done
done | tee "$lines" >&2
sort -k1,1 -k2,2n "$lines" | awk '
    function mid(a, n,    i, j, t) { for (i = 2; i <= n; i++) for (j = i; j > 1 && a[j - 1] + 0 > a[j] + 0; j--) { t = a[j]; a[j] = a[j - 1]; a[j - 1] = t }
        return a[int((n + 1) / 2)] }
    function out(    m, s) {
        m = mid(step, k); s = mid(share, k)
        printf "| %s | %d | %.1f | %.1f | %.1f | %.1f %% (%.1f to %.1f) | %.1f | %s |\n", variant, nodes, m, mid(compute, k), mid(exposed, k), s, share[1], share[k], mid(flight, k), bits ? sprintf("%.2f", mid(flight, k) / (mid(bytes, k) * 8 / bits * 1e3)) : "" }
    BEGIN { print "| link | nodes | step, ms | compute, ms | exposed all-reduce, ms | share of the step (least to most) | in flight, ms | in flight / (bytes / rate) |"
        print "| --- | --- | --- | --- | --- | --- | --- | --- |" }
    $1 != variant || $2 != nodes { if (k) out(); k = 0; variant = $1; nodes = $2; bits = $1 ~ /mbit,no/ ? $1 * 1e6 : 0 }
    { k++; step[k] = $3; compute[k] = $4; exposed[k] = $5; share[k] = 100 * $5 / $3; flight[k] = $6; bytes[k] = $7 }
    END { out() }'
