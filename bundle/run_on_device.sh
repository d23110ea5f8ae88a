#!/usr/bin/env bash
# shellcheck disable=SC1091,SC2154  # what a bundle has beside this file, and the variables it sets
# run-on-device - checks this machine, tests the programs of the bundle on it, measures them, and leaves everything in one
# folder: log.txt (what was printed), figures.json and figures.txt (what was measured), archives/ and site/ (the runs).
# Changes nothing on the machine, needs no root, no packages and no network.
set -uo pipefail
export LC_ALL=C
usage() {
    cat <<'END'
usage: run-on-device [OPTION...] [OUT]
Check, test and measure a bundle on this machine. OUT is the folder for the results ($OUT, else ./device-results).

  --only "PART..."   of machine selftest gpu-tests bench yardstick train report (all of them)
  --python PROGRAM   a Python with torch for the yardstick (python3, or the system's)
  --vectors DIR      more folders of reference vectors for the self-test; may be repeated
  --steps N          steps of a measurement and of a recorded training (60)
  --sensors N        of the measured model, 2 x 64 units, batch 64 (207, the METR-LA shape)
  --limit SECONDS    of any one measurement; what takes longer is ended and counts as failed (300)

Exit status: 0 nothing failed; 1 something failed; 2 bad usage, or this machine cannot run the bundle.
END
}

bundle=$(cd "$(dirname "$(readlink -f -- "$0")")" && pwd) || exit 2
bin=$bundle/bin
fail() { # sentence
    echo "run-on-device: $1" >&2
    exit 2
}
[ -r "$bundle/libexec/built-with" ] || fail "there is no bundle around '$bundle/run-on-device'. Run it where \`make bundle\` put it."
. "$bundle/libexec/built-with"

out=${OUT:-device-results} only="machine selftest gpu-tests bench yardstick train report"
python=${PYTHON:-python3} steps=60 sensors=207 limit=300
vectors=("$bundle"/data/vectors/*/)
number() { # option value
    case $2 in '' | *[!0-9]* | 0*) fail "$1 takes a whole number from 1, not '$2'." ;; esac
}
while [ $# -gt 0 ]; do
    case $1 in
    --help) usage && exit 0 ;;
    --only | --python | --vectors | --steps | --sensors | --limit)
        [ $# -gt 1 ] || fail "option '$1' needs a value. See \`run-on-device --help\`."
        case $1 in
        --only) only=$2 ;;
        --python) python=$2 ;;
        --vectors) [ -d "$2" ] || fail "'$2' is not a folder of reference vectors. Name one that has them." && vectors+=("$2") ;;
        --steps) number "$1" "$2" && steps=$2 ;;
        --sensors) number "$1" "$2" && sensors=$2 ;;
        --limit) number "$1" "$2" && limit=$2 ;;
        esac
        shift
        ;;
    -*) fail "unknown option '$1'. See \`run-on-device --help\`." ;;
    *) out=$1 ;;
    esac
    shift
done
for part in $only; do
    case $part in
    machine | selftest | gpu-tests | bench | yardstick | train | report) ;;
    *) fail "--only names '$part', which is not a part. See \`run-on-device --help\`." ;;
    esac
done
"$bin/dcrnn-train" --version >/dev/null || exit 2 # says itself what is wrong with this machine
mkdir -p "$out" 2>/dev/null
{ [ -w "$out" ] && out=$(cd "$out" 2>/dev/null && pwd); } || fail "cannot write into folder '$out'. Give another folder."
rm -rf "$out/archives" "$out/site" "$out/figures.json" "$out/figures.txt" "$out/log.txt"
mkdir -p "$out/archives"
tmp=$(mktemp -d) || fail "cannot create a temporary folder. Point TMPDIR at one that can be written."
trap 'rm -rf "$tmp"' EXIT
exec 3>&1 >>"$out/log.txt" 2>&1

# Nothing of a site's Open MPI may steer the bundle's own.
unset "${!OMPI_MCA_@}"
[ "$(id -u)" != 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export BUILD=$bundle TMP=$tmp # of the GPU tests
# The programs of the bundle look for themselves; the GPU tests are told. Nobody else should load what is found.
without_cuda=${LD_LIBRARY_PATH:-}
PYTHON=$python
. "$bundle/libexec/find-cuda"
cuda_path=${LD_LIBRARY_PATH:-}
export LD_LIBRARY_PATH=$without_cuda PYTHON

# ---- what is said and kept -----------------------------------------------------------------------------
say() {
    echo "$*" >&3
    echo "$*"
}
text_json() { # a string; what JSON forbids becomes a blank
    printf '"%s"' "$(printf '%s' "$1" | tr '\000-\037' ' ' | sed 's/[\\"]/\\&/g')"
}
n_passed=0 n_failed=0 n_skipped=0
touch "$tmp/checks" "$tmp/figures" "$tmp/values"
result() { # passed|failed|skipped, name, why
    case $1 in
    passed) n_passed=$((n_passed + 1)) ;;
    failed) n_failed=$((n_failed + 1)) ;;
    skipped) n_skipped=$((n_skipped + 1)) ;;
    esac
    say "  $1: $2${3:+ ($3)}"
    echo "    {\"name\": $(text_json "$2"), \"result\": \"$1\"${3:+, \"why\": $(text_json "$3")}}," >>"$tmp/checks"
}
echo "# name, value, unit; without a line below, no part that ran measures anything" >"$out/figures.txt"
figure() { # name, value, unit
    printf '%-52s %12s %s\n' "$1" "$2" "$3" >>"$out/figures.txt"
    printf '%s\t%s\n' "$1" "$2" >>"$tmp/values"
    say "  $(printf '%-52s %12s %s' "$1" "$2" "$3")"
    echo "    {\"name\": $(text_json "$1"), \"value\": $2, \"unit\": $(text_json "$3")}," >>"$tmp/figures"
}
value_of() { # name of a figure; nothing when it was not measured
    awk -F '\t' -v name="$1" '$1 == name && $2 > 0 { print $2 }' "$tmp/values" | tail -n 1
}
wants() {
    case " $only " in *" $1 "*) say "$1" ;; *) return 1 ;; esac
}
# Output into the log and into $tmp/said.
try() { # command...
    echo "+ $*"
    timeout --kill-after=10 "$limit" "$@" >"$tmp/said" 2>&1
    local status=$?
    cat "$tmp/said"
    [ $status -ne 124 ] || echo "ended after $limit s" | tee -a "$tmp/said"
    return $status
}
why() { # the last line that says something
    grep -v '^ *$' "$tmp/said" | tail -n 1 | cut -c 1-300
}
has_option() { [[ $("$bin/dcrnn-train" --help) == *" --$1 "* ]]; }

# ---- parts ---------------------------------------------------------------------------------------------
n_gpus=0 no_gpu="no NVIDIA driver here"
find_gpus() {
    local d
    for d in /proc/driver/nvidia/gpus/*/; do [ ! -d "$d" ] || n_gpus=$((n_gpus + 1)); done
    if command -v nvidia-smi >/dev/null; then n_gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU'); fi
    [ "$n_gpus" -gt 0 ] || { [ ! -e /proc/driver/nvidia/version ] || no_gpu="a driver, but no GPU to be seen"; }
    if [ -z "$cuda_major" ]; then n_gpus=0 no_gpu="this bundle was made without CUDA"; fi
    case $cuda_missing in *cublas*)
        n_gpus=0 no_gpu="a thin bundle, and no CUDA $cuda_major libraries found:$cuda_missing"
        ;;
    esac
}
cpu_model() { sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1; }
machine() {
    {
        echo "bundle    dcreport $version, commit $commit, needs glibc $glibc_needed${cuda_major:+, CUDA $cuda_major}${is_thin:+, thin}"
        echo "kernel    $(uname -sr)"
        echo "glibc     $(getconf GNU_LIBC_VERSION 2>/dev/null)"
        echo "cpu       $(cpu_model), $(nproc) of them, load $(cut -d' ' -f1 /proc/loadavg)"
        echo "memory    $(sed -n 's/^MemTotal: *//p' /proc/meminfo)"
        echo "driver    $(sed -n 's/^NVRM version: *//p' /proc/driver/nvidia/version 2>/dev/null || echo none)"
        echo "cuda      libraries looked for in: ${cuda_path:-the bundle only}; missing:${cuda_missing:- nothing}"
        nvidia-smi --query-gpu=index,name,uuid,memory.total,driver_version,clocks.max.sm,power.limit,mig.mode.current,compute_mode \
            --format=csv 2>/dev/null || echo "gpus      none seen by nvidia-smi"
    } | tee "$out/machine.txt" >&3
    cat "$out/machine.txt"
    result passed "glibc and processor fit"
    if [ "$n_gpus" -gt 0 ]; then result passed "$n_gpus GPU(s)"; else result skipped "GPU" "$no_gpu"; fi
}

selftest() {
    local v name
    for v in "${vectors[@]}"; do
        name="reference vectors $(basename "$v")"
        if try "$bin/dcrnn-train" --verify "$v"; then result passed "$name"; else result failed "$name" "$(why)"; fi
    done
}

# A test ends with 0, or 77 where it cannot run. Benches print tables, of which bench_step's become figures.
gpu_programs() { # test|bench
    local t name kind status shape precision launch ms
    for t in "$bundle"/tests/gpu/*; do
        [ -x "$t" ] || continue
        name=$(basename "$t") kind=test
        case $name in bench*) kind=bench ;; esac
        [ $kind = "$1" ] || continue
        if [ "$n_gpus" -eq 0 ]; then
            result skipped "$name" "$no_gpu"
            continue
        fi
        status=0
        try env LD_LIBRARY_PATH="$cuda_path" "$t" || status=$?
        case $status in
        0) result passed "$name" ;;
        77) result skipped "$name" "$(why)" ;;
        *) result failed "$name" "status $status: $(why)" ;;
        esac
        [ "$name" = bench_step ] || continue
        while read -r shape precision launch ms _; do
            figure "step on the device, $shape, $precision, $launch" "$ms" "ms"
        done < <(grep -E '^[A-Z-]+ +(fp32|tf32|bf16) +(graph|launches) +[0-9.]+ ' "$tmp/said")
    done
}

# One training without validation: its closing line has the median step.
step_time() { # name, options...
    local name=$1 s
    shift
    if try "$bin/dcrnn-train" --sensors "$sensors" --days 14 --units 64 --batch 64 --steps "$steps" --validation-windows 1 \
        --out "$tmp/bench" "$@"; then
        s=$(sed -nE 's/.*median step ([0-9.]+) s.*/\1/p' "$tmp/said" | tail -n 1)
        if [ -n "$s" ]; then figure "$name" "$s" "s per step"; else result failed "$name" "no step time in its output"; fi
    elif grep -q 'needs compute capability' "$tmp/said"; then
        result skipped "$name" "$(why)"
    else
        result failed "$name" "$(why)"
    fi
}
bench() {
    local precision graph
    gpu_programs bench
    if [ "$n_gpus" -eq 0 ]; then
        result skipped "training step on the GPU" "$no_gpu"
        return
    fi
    for precision in fp32 tf32 bf16; do
        for graph in yes no; do
            step_time "dcrnn-train cuda $precision, graph $graph" --backend cuda --precision $precision --cuda-graph $graph
        done
    done
}

yardstick() {
    local script=$bundle/bench/torch_dcrnn.py how options s
    [ -f "$script" ] || { result skipped "yardstick" "its script was not there when the bundle was made" && return; }
    if ! "$python" -c 'import torch' 2>"$tmp/said" && [ "$python" = python3 ] && /usr/bin/python3 -c 'import torch' 2>/dev/null; then
        python=/usr/bin/python3
    fi
    "$python" -c 'import torch' 2>"$tmp/said" || { result skipped "yardstick" "$python has no torch: $(why)" && return; }
    [ "$n_gpus" -gt 0 ] || { result skipped "yardstick on the GPU" "$no_gpu" && return; }
    "$python" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' ||
        { result skipped "yardstick on the GPU" "the torch of $python sees no CUDA device" && return; }
    for how in "eager:" "eager, tf32:--tf32" "compile:--compile" "compile, tf32:--compile --tf32" "compile, bf16:--compile --bf16"; do
        read -r -a options <<<"${how#*:}"
        if try "$python" "$script" step --device cuda --sensors "$sensors" --batch 64 --steps 20 "${options[@]}"; then
            s=$(sed -nE 's/.*step ([0-9.]+) s .*/\1/p' "$tmp/said" | tail -n 1)
            if [ -n "$s" ]; then
                figure "yardstick ${how%%:*}" "$s" "s per step"
            else
                result failed "yardstick ${how%%:*}" "no step time in its output"
            fi
        else
            result failed "yardstick ${how%%:*}" "$(why)"
        fi
    done
}

# The bars of the trainer: how many times faster than the yardstick in the same run.
ratios() {
    local pair ours theirs
    for pair in "fp32:eager" "fp32:compile" "tf32:eager, tf32" "tf32:compile, tf32" "bf16:compile, bf16"; do
        ours=$(value_of "dcrnn-train cuda ${pair%%:*}, graph yes") theirs=$(value_of "yardstick ${pair#*:}")
        if [ -n "$ours" ] && [ -n "$theirs" ]; then
            figure "yardstick ${pair#*:} / dcrnn-train ${pair%%:*}" "$(awk -v a="$theirs" -v b="$ours" 'BEGIN { printf "%.2f", a / b }')" "times"
        fi
    done
}

# Recorded by the collector and packed, as `make collect` does it.
record() { # archive, ranks, options of dcrnn-train...
    local name=$1 n=$2 spool=$tmp/spool-$1 flags=()
    shift 2
    mkdir -p "$spool/program/log"
    # cores and GPUs of this machine stand in for nodes
    [ "$n" -eq 1 ] || flags=(--emulate-nodes)
    if try "$bin/mpirun" -n "$n" --bind-to none --oversubscribe --mca btl_vader_single_copy_mechanism none \
        "$bin/dccollect" run --spool "$spool" "${flags[@]}" -- "$bin/dcrnn-train" --out "$spool/program" "$@"; then
        cp "$tmp/said" "$spool/program/log/output.txt"
        if try "$bin/dccollect" pack "$spool" --adopt "$spool/program" -o "$out/archives/$name.tar" &&
            try "$bin/dccollect" verify "$out/archives/$name.tar"; then
            result passed "archive $name.tar"
        else
            result failed "archive $name.tar" "$(why)"
        fi
    else
        result failed "training of $name" "$(grep -m 1 '^dcrnn-train: ' "$tmp/said" || why)"
    fi
}
train() {
    local model=(--sensors "$sensors" --days 14 --units 64 --batch 64 --steps "$steps" --validation-windows 64)
    if [ "$n_gpus" -eq 0 ]; then
        result skipped "training on the GPU" "$no_gpu"
        model=(--data "$bundle/data/speeds.csv" --graph "$bundle/data/distances.csv" --units 8 --batch 16 --steps "$steps"
            --validation-windows 64)
        record 1rank-cpu 1 "${model[@]}"
        record 2ranks-cpu 2 "${model[@]}"
        return
    fi
    record 1rank-gpu 1 --backend cuda "${model[@]}"
    if [ "$n_gpus" -gt 1 ]; then
        record 2ranks-2gpus 2 --backend cuda "${model[@]}"
    elif has_option share-gpu; then
        say "  two ranks on one GPU: NCCL goes over sockets, as between nodes; times of such a run say nothing about a cluster (emulated)"
        record 2ranks-1gpu-emulated 2 --backend cuda --share-gpu "${model[@]}"
    else
        result skipped "two ranks on one GPU" "this dcrnn-train knows no --share-gpu"
    fi
}

report() {
    local archives=("$out"/archives/*.tar) status=0
    [ -f "${archives[0]}" ] || { result skipped "report" "no archives; they come from the part 'train'" && return; }
    try "$bin/dcreport" "${archives[@]}" -o "$out/site" || status=$?
    case $status in
    0 | 3) result passed "report in $out/site/index.html" ;;
    *) result failed "report" "$(why)" ;;
    esac
}

write_figures() {
    {
        echo "{"
        echo "  \"version\": $(text_json "$version"), \"commit\": $(text_json "$commit"),"
        echo "  \"host\": $(text_json "$(uname -n)"), \"cpu\": $(text_json "$(cpu_model)"), \"gpus\": $n_gpus,"
        echo "  \"driver\": $(text_json "$(nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head -n 1)"),"
        echo "  \"gpu\": $(text_json "$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1)"),"
        echo "  \"checks\": ["
        sed '$s/,$//' "$tmp/checks"
        echo "  ],"
        echo "  \"figures\": ["
        sed '$s/,$//' "$tmp/figures"
        echo "  ]"
        echo "}"
    } >"$out/figures.json.partial"
    mv "$out/figures.json.partial" "$out/figures.json"
}

find_gpus
! wants machine || machine
! wants selftest || selftest
! wants gpu-tests || gpu_programs test
! wants bench || bench
! wants yardstick || yardstick
ratios
! wants train || train
! wants report || report
write_figures
say "$n_passed passed, $n_failed failed, $n_skipped skipped; everything is in $out"
[ $n_failed -eq 0 ]
