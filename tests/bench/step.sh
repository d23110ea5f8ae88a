#!/usr/bin/env bash
# One training step on the CPU, ours and the yardstick's (a DCRNN in PyTorch), in turns so that both run under the same
# conditions, and the rate of multiply-adds in registers, measured before each step. First come the matrix products,
# ours and OpenBLAS's, with each of the instruction sets of this CPU. docs/performance.md explains the tables.
#   step.sh [--all] [--rounds N] [--steps N] [--threads N] [--kernels NAME]
#     --all        the PEMS-BAY shape (325 sensors) too, not METR-LA (207) alone
#     --rounds N   turns of both programs (2);  --steps N  timed steps of each turn, after two to warm up (3)
#     --threads N  of both programs (1);  --kernels NAME  of ours: avx512, avx2, portable (the best of this CPU)
# Medians over the rounds' medians, with the lowest and highest. The processor time of a step is given too: where other
# programs run on the same cores it is the better figure. PyTorch's --threads does not reach the OpenBLAS below it, which
# takes every core it finds: OPENBLAS_NUM_THREADS is set to --threads, unless it is in the environment already.
# Without python3-torch or the yardstick's script only our figures are printed, and it says so.
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${BUILD:=$PWD/build}" "${SHARED:=$PWD/../shared}"
yardstick=$SHARED/bench/torch_dcrnn.py
rounds=2 steps=3 threads=1 shapes=207 kernels=

while [ $# -gt 0 ]; do
    case $1 in
    --all) shapes="207 325" ;;
    --rounds) rounds=$2 && shift ;;
    --steps) steps=$2 && shift ;;
    --threads) threads=$2 && shift ;;
    --kernels) kernels=$2 && shift ;;
    *) echo "step.sh: unknown option '$1'; see the head of the file" >&2 && exit 2 ;;
    esac
    shift
done
for n in "$rounds" "$steps" "$threads"; do
    [[ $n =~ ^[1-9][0-9]{0,2}$ ]] || { echo "step.sh: '$n' is not a number from 1 to 999" >&2 && exit 2; }
done

folder=${BUILD#"$PWD"/} # a goal has the name that the Makefile's rule has
make --no-print-directory -s SHORT=1 BUILD="$folder" "$folder/tests/bench/"{step,products}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# OpenBLAS falls back to its oldest kernels on CPUs it does not know; both programs get the same choice.
if grep -qw avx512f /proc/cpuinfo; then
    export OPENBLAS_CORETYPE=SkylakeX
elif grep -qw avx2 /proc/cpuinfo; then
    export OPENBLAS_CORETYPE=Haswell
fi

export OPENBLAS_NUM_THREADS=${OPENBLAS_NUM_THREADS:-$threads}

value() { sed -E "s/.*\\b$1=([^ ]+).*/\\1/" "$2"; } # key, file of one line of key=value

# One turn: "wall cpu megabytes" of a step.
ours() { # sensors
    "$BUILD/tests/bench/step" --sensors "$1" --steps "$steps" --threads "$threads" ${kernels:+--kernels "$kernels"} >"$tmp/out"
    echo "$(value step_s "$tmp/out") $(value cpu_s "$tmp/out") $(value memory_mb "$tmp/out") $(value of_registers "$tmp/out")"
}
# glibc returns large blocks to the system and takes them again, 12 GB a step. If page faults are expensive, as in many
# virtual machines, that takes longer than the step itself, so the yardstick may keep its blocks.
keep=glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=68719476736
# The yardstick reads a wall clock four times a step; the time between the last two is the step. Here the processor's
# clock is read at the same points.
theirs() { # sensors
    GLIBC_TUNABLES=$keep /usr/bin/python3 - "$yardstick" step --sensors "$1" --steps "$steps" --threads "$threads" >"$tmp/out" 2>"$tmp/err" <<'PY' ||
import runpy, statistics, sys, time
wall, cpu = time.perf_counter, []
def clock():
    cpu.append(time.process_time())
    return wall()
time.perf_counter = clock
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
steps = [last - first for first, last in zip(cpu[0::4], cpu[3::4])]
print(f"processor {statistics.median(steps[2:]):.4f} s")
PY
        { cat "$tmp/err" >&2 && return 1; }
    sed -nE 's/^torch ([^ ]+) .*/\1/p' "$tmp/out" >"$tmp/torch"
    sed -nE 's/.*step ([0-9.]+) s .*memory ([0-9]+) MiB.*/\1 \2/p; s/^processor ([0-9.]+) s/\1/p' "$tmp/out" |
        paste -sd' ' | awk '{ print $1, $3, $2 }'
}
# numbers -> "median lowest highest"
spread() { sort -n | awk '{ v[NR] = $1 } END { print (NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2), v[1], v[NR] }'; }
row() { # name, file of turns
    local median low high cpu mb
    read -r median low high < <(cut -d' ' -f1 "$2" | spread)
    read -r cpu _ < <(cut -d' ' -f2 "$2" | spread)
    mb=$(cut -d' ' -f3 "$2" | sort -n | tail -n 1)
    awk -v name="$1" -v s="$median" -v l="$low" -v h="$high" -v c="$cpu" -v mb="$mb" -v g="$gflop" 'BEGIN {
        printf "  %-28s %7.3f  (%.3f to %.3f) %8.3f %9.1f %8.0f\n", name, s, l, h, c, g / s, mb }'
}

has_yardstick=0
if [ ! -f "$yardstick" ]; then
    echo "yardstick skipped: no $yardstick"
elif ! /usr/bin/python3 -c 'import torch' 2>/dev/null; then
    echo "yardstick skipped: python3-torch is not installed"
else
    has_yardstick=1
fi
cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
echo "CPU: ${cpu:-$(uname -m)}, $(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg); $("${CC:-gcc}" --version | head -n 1); OPENBLAS_CORETYPE=${OPENBLAS_CORETYPE:-unset} OPENBLAS_NUM_THREADS=$OPENBLAS_NUM_THREADS"
awk -v n="$(nproc)" '$1 > n / 2 { print "The machine is busy: read the processor times." }' /proc/loadavg
began=$SECONDS
# KERNELS CORE: the products of one instruction set, and OpenBLAS with its kernels of the same set.
products() {
    OPENBLAS_CORETYPE=$2 "$BUILD/tests/bench/products" "$1" >"$tmp/products" || exit
    head -n 1 "$tmp/products" >"$tmp/first"
    printf '\nMatrix products, %s beside OpenBLAS (%s), one thread, medians of 7 turns; in registers %s GFLOP/s\n' \
        "$(value kernels "$tmp/first")" "$(value openblas "$tmp/first")" "$(value registers "$tmp/first")"
    echo "  product                        m     n     k  OpenBLAS     ours   ratio"
    sed -nE 's/^product=([^ ]+) m=([0-9]+) n=([0-9]+) k=([0-9]+) blas=([^ ]+) ours=([^ ]+) ratio=([^ ]+).*/\1 \2 \3 \4 \5 \6 \7/p' "$tmp/products" |
        while read -r what m n k blas ours ratio; do
            printf '  %-26s %5d %5d %5d  %8.1f %8.1f   %.3f\n' "$what" "$m" "$n" "$k" "$blas" "$ours" "$ratio"
        done
}
if [ -n "$kernels" ]; then
    products "$kernels" "${OPENBLAS_CORETYPE:-}"
else
    if grep -qw avx512f /proc/cpuinfo; then products avx512 SkylakeX; fi
    if grep -qw avx2 /proc/cpuinfo; then products avx2 Haswell; fi
fi
for sensors in $shapes; do
    : >"$tmp/ours"
    : >"$tmp/theirs"
    for _ in $(seq "$rounds"); do
        ours "$sensors" >>"$tmp/ours"
        name=$(value kernels "$tmp/out") gflop=$(value gflop "$tmp/out")
        [ "$has_yardstick" = 0 ] || theirs "$sensors" >>"$tmp/theirs"
    done
    echo
    echo "$sensors sensors, batch 64, 12 in, 12 out, 2 x 64 units, K 2, $threads thread(s): $gflop GFLOP a step; $rounds rounds of $steps steps"
    echo "                               s/step  (low to high)       CPU s   GFLOP/s  peak MB"
    row "dcrnn-train ($name)" "$tmp/ours"
    read -r share low high < <(cut -d' ' -f4 "$tmp/ours" | spread)
    printf '  of the rate in registers, measured before each step: %.3f (%.3f to %.3f)\n' "$share" "$low" "$high"
    if [ "$has_yardstick" = 1 ]; then
        row "PyTorch $(cat "$tmp/torch") yardstick" "$tmp/theirs"
        paste -d' ' "$tmp/ours" "$tmp/theirs" >"$tmp/both"
        read -r ratio low high < <(awk '{ print $1 / $5 }' "$tmp/both" | spread)
        printf '  ratio of time %.3f (%.3f to %.3f over the rounds)' "$ratio" "$low" "$high"
        read -r ratio low high < <(awk '{ print $2 / $6 }' "$tmp/both" | spread)
        printf ', of processor time %.3f (%.3f to %.3f)\n' "$ratio" "$low" "$high"
    fi
done
echo
echo "bench-train: $(wc -w <<<"$shapes") shape(s), $rounds rounds, in $((SECONDS - began)) s"
