#!/usr/bin/env bash
# overlap.sh - the time saved by sending gradients during the backward pass: the same run with and without, in turns, on
# ranks of this machine and, as root, on emulated nodes with a network of 100 Mbit/s between them (tests/slurm/cluster:
# each has a quarter of a core). A table; docs/performance.md keeps one.
#
#   tests/bench/overlap.sh [VARIANT...]     a variant: options of dcrnn-train that it adds; "" is the default
# From the environment: RANKS ("2 4"), TURNS (3), STEPS (20), WHERE ("local cluster").
# The model is METR-LA's (1.49 MB of gradients) on 10 sensors: there is enough computing to hide behind, and the steps are short.
set -eu
cd "$(dirname "$0")/../.."
: "${BUILD:=$PWD/build}" "${RANKS:=2 4}" "${TURNS:=3}" "${STEPS:=20}" "${WHERE:=local cluster}"
export BUILD RANKS TURNS STEPS OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 LC_ALL=C
[ $# -gt 0 ] || set -- "--no-overlap" "" "--allreduce-dtype bf16" "--allreduce-dtype none"
train=("$BUILD/bin/dcrnn-train" --sensors 10 --units 64 --batch 64 --steps "$STEPS" --validate-every 0 --validation-windows 1)

middle() { sort -n | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }'; }

# Rows of all ranks without the first three steps: step, waiting, in flight in ms; 0 if nothing was in flight.
rows() { # folder
    awk -F, 'FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
        FNR > 4 { printf "%.3f %.3f %.3f\n", $at["step_ns"] / 1e6, $at["allreduce_ns"] / 1e6, $at["allreduce_inflight_ns"] / 1e6 }' \
        "$1"/steps-rank*.csv
}

one_run() { # ranks launcher... -- option...
    local ranks=$1 launcher=()
    shift
    while [ "$1" != -- ]; do
        launcher+=("$1")
        shift
    done
    shift
    rm -rf "$scratch/out"
    "${launcher[@]}" mpirun -n "$ranks" --oversubscribe --bind-to none "${train[@]}" "$@" --out "$scratch/out" \
        >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2; exit 1; }
}

# Every turn runs every variant once, so that changes of the machine affect all of them.
compare() { # where ranks launcher... -- variant...
    local where=$1 ranks=$2 launcher=() variants turn k name
    shift 2
    while [ "$1" != -- ]; do
        launcher+=("$1")
        shift
    done
    shift
    variants=("$@")
    scratch=$(mktemp -d)
    for ((turn = 0; turn < TURNS; turn++)); do
        for k in "${!variants[@]}"; do
            # shellcheck disable=SC2086  # a variant is several words
            one_run "$ranks" "${launcher[@]}" -- ${variants[k]}
            rows "$scratch/out" >>"$scratch/rows-$k"
            rows "$scratch/out" | cut -d' ' -f1 | middle >>"$scratch/steps-$k"
        done
    done
    for k in "${!variants[@]}"; do
        name=${variants[k]:-(default)}
        printf '%-8s %5d  %-26s %9.1f %9s %9.1f %9.1f %9.1f\n' "$where" "$ranks" "$name" \
            "$(cut -d' ' -f1 "$scratch/rows-$k" | middle)" \
            "$(sort -n "$scratch/steps-$k" | awk '{ a[NR] = $1 } END { printf "%.0f-%.0f", a[1], a[NR] }')" \
            "$(cut -d' ' -f2 "$scratch/rows-$k" | middle)" \
            "$(awk '{ print ($3 > $2 ? $3 - $2 : 0) }' "$scratch/rows-$k" | middle)" \
            "$(cut -d' ' -f3 "$scratch/rows-$k" | middle)"
    done
    rm -rf "$scratch"
}

if [ "${1:-}" = --inside ]; then # of a cluster
    shift
    nodes=$1
    shift
    compare cluster "$nodes" salloc -Q "-N$nodes" -- "$@"
    exit
fi

printf '%-8s %5s  %-26s %9s %9s %9s %9s %9s\n' where ranks variant "step ms" "of turns" exposed hidden "in flight"
for where in $WHERE; do
    for n in $RANKS; do
        if [ "$where" = local ]; then
            compare local "$n" -- "$@"
        else
            status=0
            tests/slurm/cluster --nodes "$n" -- bash "$PWD/tests/bench/overlap.sh" --inside "$n" "$@" || status=$?
            [ $status -eq 0 ] || [ $status -eq 77 ] || exit $status
        fi
    done
done
echo "step, exposed, hidden and in flight: medians over all steps and ranks, in ms; of turns: medians of the fastest and the slowest turn.
What overlap saves is the difference of the step times, no more; hidden is time under way beside other work."
