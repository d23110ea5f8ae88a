#!/usr/bin/env bash
# One training step on one core, ours beside the yardstick (a DCRNN in PyTorch), in turns so that both meet the same
# machine. Prints medians with their range, peak memory and the ratio for the METR-LA shape, and for PEMS-BAY with --all.
#   step.sh [--all] [--rounds N] [--steps N] [--threads N]
# Without python3-torch or the yardstick's script only our figures are printed, and it says so.
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${BUILD:=$PWD/build}" "${SHARED:=$PWD/../shared}"
yardstick=$SHARED/bench/torch_dcrnn.py
rounds=2 steps=3 threads=1 shapes=207

while [ $# -gt 0 ]; do
    case $1 in
    --all) shapes="207 325" ;;
    --rounds) rounds=$2 && shift ;;
    --steps) steps=$2 && shift ;;
    --threads) threads=$2 && shift ;;
    *) echo "step.sh: unknown option '$1'; see the head of the file" >&2 && exit 2 ;;
    esac
    shift
done

make --no-print-directory -s BUILD="$BUILD" "$BUILD/tests/bench/step"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# OpenBLAS falls back to its oldest kernels on CPUs it does not know; both programs get the same choice.
if grep -qw avx512f /proc/cpuinfo; then
    export OPENBLAS_CORETYPE=SkylakeX
elif grep -qw avx2 /proc/cpuinfo; then
    export OPENBLAS_CORETYPE=Haswell
fi

# "seconds megabytes" of one run each
ours() {
    "$BUILD/tests/bench/step" --sensors "$1" --steps "$steps" --threads "$threads" >"$tmp/out"
    sed -E 's/.*step_s=([0-9.]+) .*memory_mb=([0-9]+).*/\1 \2/' "$tmp/out"
}
theirs() {
    /usr/bin/python3 "$yardstick" step --sensors "$1" --steps "$steps" --threads "$threads" >"$tmp/out" 2>"$tmp/err" ||
        { cat "$tmp/err" >&2 && return 1; }
    sed -nE 's/.*step ([0-9.]+) s .*memory ([0-9]+) MiB.*/\1 \2/p' "$tmp/out"
}
# lines of "seconds megabytes" -> "median lowest highest megabytes"
summary() {
    sort -n "$1" | awk '{ s[NR] = $1; if ($2 > m) m = $2 }
        END { print (NR % 2 ? s[(NR + 1) / 2] : (s[NR / 2] + s[NR / 2 + 1]) / 2), s[1], s[NR], m }'
}
row() { # name, median, low, high, MB
    printf '  %-34s %7.3f s  (%.3f to %.3f)  %7.0f MB\n' "$@"
}

has_yardstick=0
if [ ! -f "$yardstick" ]; then
    echo "yardstick skipped: no $yardstick"
elif ! /usr/bin/python3 -c 'import torch' 2>/dev/null; then
    echo "yardstick skipped: python3-torch is not installed"
else
    has_yardstick=1
fi
echo "CPU: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg); OPENBLAS_CORETYPE=${OPENBLAS_CORETYPE:-unset}"
for sensors in $shapes; do
    : >"$tmp/ours"
    : >"$tmp/theirs"
    for _ in $(seq "$rounds"); do
        ours "$sensors" >>"$tmp/ours"
        kernels=$(sed -E 's/kernels=([^ ]+) .*/\1/' "$tmp/out")
        rate=$(sed -E 's/.*gflops=([0-9.]+) .*/\1/' "$tmp/out")
        [ "$has_yardstick" = 0 ] || theirs "$sensors" >>"$tmp/theirs"
    done
    read -r median low high mb < <(summary "$tmp/ours")
    echo "$sensors sensors, batch 64, 12 in, 12 out, 2 x 64 units, K 2, $threads thread(s), $rounds rounds of $steps steps"
    row "dcrnn-train ($kernels, $rate GFLOP/s)" "$median" "$low" "$high" "$mb"
    if [ "$has_yardstick" = 1 ]; then
        read -r t_median t_low t_high t_mb < <(summary "$tmp/theirs")
        row "PyTorch yardstick" "$t_median" "$t_low" "$t_high" "$t_mb"
        awk -v a="$median" -v b="$t_median" 'BEGIN { printf "  ratio %.3f\n", a / b }'
    fi
done
