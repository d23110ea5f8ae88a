#!/usr/bin/env bash
# dcreport over large traces on one core: a real Kineto trace repeated to 570 MB (2.5 million events), and native traces
# of 10^6 and 10^7 ranges (10^8 with --all). Prints CPU seconds, peak memory and rates, beside the limits.
#   render_traces.sh [--all] [--megabytes N]
# Peers on the same Kineto data: HolisticTraceAnalysis 77.7 s and 2.9 GB, PyTorch's TensorBoard plugin 67.9 s and 3.3 GB.
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${BUILD:=$PWD/build}" "${SHARED:=$PWD/../shared}"
sizes="1000000 10000000" megabytes=570
while [ $# -gt 0 ]; do
    case $1 in
    --all) sizes="$sizes 100000000" ;;
    --megabytes) megabytes=$2 && shift ;;
    *) echo "render_traces.sh: unknown option '$1'; see the head of the file" >&2 && exit 2 ;;
    esac
    shift
done
tmp=$(mktemp -d "${BENCH_DIR:-${TMPDIR:-/tmp}}/dcr-bench.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
folder=${BUILD#"$PWD"/} # a goal has the name that the Makefile's rule has
make --no-print-directory -s BUILD="$folder" "$folder/tests/bench/"{repeat_trace,make_trace}
one_core=()
command -v taskset >/dev/null && one_core=(taskset -c "$(($(nproc) - 1))")

# measure INPUT: sets wall, cpu (s) and peak (MB) of the best of three; status 3 is a report that names gaps.
measure() {
    local best=
    for _ in 1 2 3; do
        "${one_core[@]}" /usr/bin/time -o "$tmp/time" -f '%e %U %S %M' "$BUILD/bin/dcreport" --quiet "$1" -o "$tmp/site" || [ $? -eq 3 ]
        best=$(tail -n 1 "$tmp/time" | awk -v b="$best" '{ c = $2 + $3; split(b, o); if (b == "" || c < o[2]) print $1, c, $4 * 1024 / 1e6; else print b }')
    done
    read -r wall cpu peak <<<"$best"
}
printf '{"traceEvents":[{"ph":"X","cat":"kernel","name":"k","pid":0,"ts":1,"dur":1}]}' >"$tmp/one.json"
measure "$tmp/one.json"
base=$cpu
echo "load $(cut -d' ' -f1 /proc/loadavg) on $(nproc) cores; CPU seconds are user and system; a report of one event takes $base s"
printf '%-28s %9s %8s %8s %9s %9s %14s\n' input MB CPU-s wall-s peak-MB MB/s events/s
row() { # name bytes events
    awk -v name="$1" -v bytes="$2" -v n="$3" -v cpu="$cpu" -v wall="$wall" -v peak="$peak" -v base="$base" 'BEGIN {
        t = cpu - base > 0.01 ? cpu - base : 0.01
        printf "%-28s %9.1f %8.2f %8.2f %9.1f %9.0f %14.0f\n", name, bytes / 1e6, cpu, wall, peak, bytes / 1e6 / t, n / t }'
}
real=$SHARED/data/traces/kineto/ns_resolution_trace_rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz
if [ -r "$real" ]; then
    read -r bytes events < <("$BUILD/tests/bench/repeat_trace" "$real" "$tmp/kineto.json" "$megabytes")
    measure "$tmp/kineto.json"
    row "Kineto JSON" "$bytes" "$events"
    rm "$tmp/kineto.json"
    echo "  bar: 570 MB in under 1.6 s and 100 MB"
else
    echo "Kineto JSON: skipped, no $real"
fi
for n in $sizes; do
    mkdir -p "$tmp/native/rank0"
    bytes=$("$BUILD/tests/bench/make_trace" "$tmp/native/rank0/trace-77.dct" "$n")
    measure "$tmp/native"
    row "native, $n ranges" "$bytes" "$((2 * n))"
    rm -r "$tmp/native"
done
echo "  bar: 30 million events (a beginning or an end of a range) per second; memory grows with steps and names only"
