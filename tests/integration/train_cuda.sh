#!/usr/bin/env bash
# train_cuda.sh - dcrnn-train --backend cuda: its messages without a GPU, and whole runs on the emulated device of
# tests/gpu/emulator compared with the same runs on the CPU. Several ranks: gpu_ranks.sh.
# plain: the sanitized programs have no CUDA part
# shellcheck disable=SC2317,SC2016  # functions are called by check; awk programs stand in single quotes
. tests/lib/tap.sh
emulated=$BUILD/tests/lib/libdcrnn-emulated.so
train=("$BIN/dcrnn-train" --sensors 7 --days 2 --units 6 --layers 2 --batch 8 --epochs 2 --validation-windows 16
    --sampling-decay 5 --input-steps 4 --forecast-steps 3 --steps 20)

# ---- without -------------------------------------------------------------------------------------------------------
one_sentence() { # what the last check's program said
    [ "$(wc -l <"$TMP/said")" -eq 1 ] && grep -q '^dcrnn-train: ' "$TMP/said"
}
refused() { # name part-of-the-sentence command...
    local name=$1 part=$2
    shift 2
    check_status 2 "$name" "$@" --out "$TMP/refused"
    cp "$TMP/tap.out" "$TMP/said"
    check "$name: one sentence" one_sentence
    check "$name: says so" grep -qF -- "$part" "$TMP/said"
    check "$name: nothing is written" test ! -e "$TMP/refused"
}
refused "no CUDA part" "there is no CUDA part '/nowhere/lib.so'" \
    env DCRNN_CUDA_LIBRARY=/nowhere/lib.so "${train[@]}" --backend cuda
if [ -e "$BUILD/lib/dcreport/libdcrnn-cuda.so" ] && ! [ -e /proc/driver/nvidia/version ]; then
    refused "a CUDA part without a driver" "this machine has no NVIDIA driver. Use --backend cpu" "${train[@]}" --backend cuda
else
    skip "a CUDA part without a driver" "built without CUDA, or there is a driver"
fi
refused "tf32 on the CPU" "--precision" "${train[@]}" --backend cpu --precision tf32

# ---- the emulated device -------------------------------------------------------------------------------------------
if ! [ -e "$emulated" ]; then
    not_ok "runs on the emulated device" "$emulated is not built; make test-programs"
    finish
fi
export DCRNN_CUDA_LIBRARY=$emulated OPENBLAS_NUM_THREADS=1
column() { # name file
    awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i; next } { print $c }' "$2"
}
close_to() { # column file file tolerance: every row
    paste -d' ' <(column "$1" "$2") <(column "$1" "$3") |
        awk -v t="$4" 'NF != 2 || ($1 - $2) ^ 2 > (t * $2) ^ 2 { bad = 1 } END { exit bad || NR < 1 }'
}
check "on the CPU" "${train[@]}" --out "$TMP/cpu"
check "on the emulated device" "${train[@]}" --backend cuda --checkpoint-every 5 --out "$TMP/cuda"
check "the losses of all steps are the CPU's" close_to loss "$TMP/cuda/steps-rank0.csv" "$TMP/cpu/steps-rank0.csv" 1e-4
check "so is the validation" close_to val_mae "$TMP/cuda/metrics.csv" "$TMP/cpu/metrics.csv" 1e-4
check "20 steps are there" test "$(column loss "$TMP/cuda/steps-rank0.csv" | wc -l)" -eq 20
check "the run says that it was emulated" grep -q '"emulated: a CPU that emulates a GPU' "$TMP/cuda/program.json"
check "with times of the device's phases" awk -F, '$1 == "epoch" { next } $7 <= 0 || $8 <= 0 || $9 <= 0 { exit 1 }' \
    "$TMP/cuda/steps-rank0.csv"
# The ranges of a step, with a graph and without. Each check reads the summary of rank 0.
for graph in yes no; do
    "$BIN/dccollect" run -o "$TMP/phases.tar" -- "${train[@]}" --backend cuda --cuda-graph $graph --out "$TMP/phases-$graph" >/dev/null 2>&1
    tar -xOf "$TMP/phases.tar" --wildcards 'rank0/summary-*' >"$TMP/phases.jsonl"
    with="(--cuda-graph $graph)"
    for phase in backward optimizer; do
        check "a range $phase in every step $with" jq -se --arg name $phase 'any(.name == $name and .domain == "dcrnn" and .n == 20)' "$TMP/phases.jsonl"
    done
    check "a range forward in every step, and one more behind each wait for a copy $with" jq -se '[.[] | select(.name == "forward" or .name == "h2d")] |
        (.[0].n - .[1].n | fabs) == 20' "$TMP/phases.jsonl"
    check "a range for the copy in steps that waited for it $with" jq -se 'any(.name == "h2d" and .n >= 1 and .n <= 20)' "$TMP/phases.jsonl"
    check "no exchange with one rank $with" jq -se 'all(.name != "all_reduce")' "$TMP/phases.jsonl"
    check "the phases cover at least nine tenths of the steps $with" jq -se '[.[] | select(.step) | [.step[2], (.step[6] | add)]] |
        (map(.[1]) | add) > 0.9 * (map(.[0]) | add)' "$TMP/phases.jsonl"
done
check "kernel by kernel, without a graph" "${train[@]}" --backend cuda --cuda-graph no --checkpoint-every 5 --out "$TMP/launches"
check "the same bits" cmp "$TMP/cuda/checkpoint.bin" "$TMP/launches/checkpoint.bin"
check "work in another order" env DCRNN_EMULATOR=seed=9 "${train[@]}" --backend cuda --checkpoint-every 5 --out "$TMP/order"
check "the same bits again" cmp "$TMP/cuda/checkpoint.bin" "$TMP/order/checkpoint.bin"
check "interrupted: first part" "${train[@]}" --backend cuda --checkpoint-every 5 --steps 10 --out "$TMP/parts"
check "interrupted: second part" "${train[@]}" --backend cuda --checkpoint-every 5 --resume "$TMP/parts/checkpoint.bin" --out "$TMP/parts"
check "interrupted: the same bits" cmp "$TMP/cuda/checkpoint.bin" "$TMP/parts/checkpoint.bin"
check "a CPU's checkpoint goes on here" "${train[@]}" --steps 10 --checkpoint-every 5 --out "$TMP/mixed"
check "second part on the device" "${train[@]}" --backend cuda --checkpoint-every 5 --resume "$TMP/mixed/checkpoint.bin" --out "$TMP/mixed"
check "with the CPU's losses" close_to loss "$TMP/mixed/steps-rank0.csv" "$TMP/cpu/steps-rank0.csv" 1e-4
# The first batch is waited for; a later one is copied while the previous one is computed. With a random order the
# emulated streams make progress side by side.
waited_for_copies() { # file: steps that did
    column h2d_ns "$1" | awk '$1 > 0 { n++ } END { print n + 0 }'
}
check "batches made and copied ahead" env DCRNN_EMULATOR=seed=9 "${train[@]}" --backend cuda --loader-workers 2 --checkpoint-every 5 --out "$TMP/ahead"
check "ahead: the same bits" cmp "$TMP/cuda/checkpoint.bin" "$TMP/ahead/checkpoint.bin"
echo "# steps that waited for a copy: $(waited_for_copies "$TMP/order/steps-rank0.csv") of 20, with workers $(waited_for_copies "$TMP/ahead/steps-rank0.csv")"
check "ahead: most steps need not wait for their copy" test "$(waited_for_copies "$TMP/ahead/steps-rank0.csv")" -le 10
check "without workers every step does" test "$(waited_for_copies "$TMP/order/steps-rank0.csv")" -eq 20
check "micro-batches made ahead, in ordinary memory" "${train[@]}" --backend cuda --accumulate 3 --loader-workers 1 --pinned no --cuda-graph no --out "$TMP/micro-ahead"
check "which is said" grep -q '"pinned_buffers": false' "$TMP/micro-ahead/program.json"
check "page-locked without a word" grep -q '"pinned_buffers": true' "$TMP/cuda/program.json"
check "micro-batches" "${train[@]}" --backend cuda --accumulate 3 --out "$TMP/micro"
check "micro-batches give the same" close_to loss "$TMP/micro/steps-rank0.csv" "$TMP/cpu/steps-rank0.csv" 1e-4
check "and the same bits made ahead, kernel by kernel" cmp <(column loss "$TMP/micro/steps-rank0.csv") <(column loss "$TMP/micro-ahead/steps-rank0.csv")
for p in tf32 bf16; do
    check "$p" "${train[@]}" --backend cuda --precision $p --out "$TMP/$p"
    check "$p learns nearly the same" close_to val_mae "$TMP/$p/metrics.csv" "$TMP/cpu/metrics.csv" 0.05
done
check_status 1 "bf16 is not fp32" cmp -s <(column loss "$TMP/bf16/steps-rank0.csv") <(column loss "$TMP/cuda/steps-rank0.csv")
refused "too little memory" "GB free. Use a smaller --batch" env DCRNN_EMULATOR=memory=9000000 "${train[@]}" --backend cuda
refused "an old device" "compute capability 7.0, at least 7.5 is needed" env DCRNN_EMULATOR=capability=70 "${train[@]}" --backend cuda
refused "tf32 on a device without" "--precision tf32 needs compute capability 8.0" \
    env DCRNN_EMULATOR=capability=75 "${train[@]}" --backend cuda --precision tf32
check "which computes in fp32" env DCRNN_EMULATOR=capability=75 "${train[@]}" --backend cuda --steps 2 --out "$TMP/turing"
check_status 2 "a device that fails in the middle" env DCRNN_EMULATOR=fail_work=1500 "${train[@]}" --backend cuda --out "$TMP/fails"
cp "$TMP/tap.out" "$TMP/said"
check "is named" grep -q '^dcrnn-train: .*CUDA: .*unspecified launch failure' "$TMP/said"
check_status 2 "a GPU that hangs ends a run of one rank" env DCRNN_EMULATOR=hangs=1 "${train[@]}" --backend cuda --comm-timeout 1 --out "$TMP/hangs"
cp "$TMP/tap.out" "$TMP/said"
check "and is named" grep -q '^dcrnn-train: .*the GPU did not end a step within 1 s. Raise --comm-timeout' "$TMP/said"
check "gradient of the first step" "${train[@]}" --backend cuda --gradient-to "$TMP/g-cuda" --out "$TMP/g"
check "on the CPU, too" "${train[@]}" --gradient-to "$TMP/g-cpu" --out "$TMP/g"
same_gradient() {
    paste -d' ' "$TMP/g-cuda" "$TMP/g-cpu" |
        awk '$1 != $3 { exit 1 } { d = $2 - $4; if (d < 0) d = -d; v = $4 < 0 ? -$4 : $4; if (d > worst[$1]) worst[$1] = d
            if (v > size[$1]) size[$1] = v } END { for (t in size) if (worst[t] > 1e-5 * size[t]) exit 1; exit NR < 100 }'
}
check "tensor by tensor within 1e-5" same_gradient
finish
