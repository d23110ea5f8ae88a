#!/usr/bin/env bash
# The sums of several GPUs, trainer/gpu/nccl.cu, on the CPU: CUDA is the emulator, NCCL a stand-in between processes
# (tests/gpu/nccl). Shown are the sums, graphs, bf16, that every failure ends in time and in one sentence, and trainings
# of several ranks with the whole device library.
. tests/lib/tap.sh

command -v g++ >/dev/null || { skip "sums of several GPUs" "no g++"; finish; }
emulated=$BUILD/tests/lib/libdcrnn-emulated.so objects=$BUILD/emulated
[ -e "$emulated" ] || { not_ok "sums of several GPUs" "$emulated is not built; make test-programs"; finish; }
flags=(-std=c++17 -O1 -g -Wall -Wextra -Wno-unknown-pragmas -D_GNU_SOURCE -DDCRNN_EMULATED -Itests/gpu/emulator -I. -fPIC)
build=$TMP/build
mkdir "$build"
# The sums alone; the emulator is in the program. All are compiled at once.
# shellcheck disable=SC2317  # check calls it
compile() {
    local status=0 p jobs=()
    g++ "${flags[@]}" -rdynamic tests/gpu/nccl/ranks.cpp "$objects"/trainer/gpu/{nccl,reduce}.cu.o \
        "$objects"/tests/gpu/emulator/{blocks,device,memory,streams}.cpp.o "$BUILD"/obj/lib/base/{err,utf8}.pic.o -o "$build/ranks" -pthread -ldl &
    jobs+=($!)
    fake good & jobs+=($!)
    fake old -DFAKE_VERSION=20900 & jobs+=($!)
    fake part -DFAKE_WITHOUT_ABORT & jobs+=($!)
    fake trainer "$emulated" & jobs+=($!)
    for p in "${jobs[@]}"; do wait "$p" || status=1; done
    return "$status"
}
# shellcheck disable=SC2317
fake() { # folder flags... the emulator is in the program, or in the library named
    local folder=$1
    shift
    mkdir "$build/$folder"
    g++ "${flags[@]}" -shared tests/gpu/nccl/fake_nccl.cpp -o "$build/$folder/libnccl.so.2" "$@"
}
check "compiled" compile
[ -s "$build/trainer/libnccl.so.2" ] || finish
begin() { # case library: beside others
    mkdir -p "$TMP/case-$1"
    touch "$TMP/case-$1/calls"
    env FAKE_NCCL="$1" FAKE_NCCL_LOG="$TMP/case-$1/calls" FAKE_NCCL_FOLDER="$TMP/case-$1" LD_LIBRARY_PATH="$build/$2" DCRNN_EMULATOR="seed=${seed:-0}" \
        timeout 300 "$build/ranks" "$1" >"$TMP/case-$1/said" 2>&1 </dev/null &
    begun[$1]=$!
}
declare -A begun=()
end() { # case name [calls in their order]
    local status=0
    wait "${begun[$1]}" || status=$?
    if [ $status -eq 0 ]; then ok "$2"; else not_ok "$2" "exit status $status: $(tail -n 30 "$TMP/case-$1/said")"; fi
    [ -z "${3:-}" ] || check "$2: NCCL is asked to $3" test "$3" = "$(grep -v connects "$TMP/case-$1/calls" | tr '\n' ' ' | sed 's/ $//')"
}
case_() { # case library name [calls in their order]
    rm -rf "$TMP/case-$1"
    begin "$1" "$2"
    end "$1" "${@:3}"
}
begin stuck-destroy good # it sleeps
for seed in 0 1 2 3; do
    case_ sum-fp32 good "sums of 1, 2 and 3 ranks, order $seed"
    case_ sum-bf16 good "sums that travel as bf16, order $seed"
    case_ graph-fp32 good "sums in a graph, order $seed"
    case_ graph-bf16 good "sums as bf16 in a graph, order $seed"
done
check "connections are made while joining" test "$(sort -u "$TMP/case-graph-bf16/calls" | tr '\n' ' ')" = "connects at once destroy "
case_ none good "gradients that do not travel"
case_ no-id good "no id can be had"
case_ no-join good "joining fails"
case_ no-sum good "the first sum fails" abort
# These cases mostly wait.
for name in lost stuck-sum async-error no-state late in-progress; do begin $name good; done
end lost "a rank that never comes"
end stuck-sum "a first sum that never comes" abort
end async-error "a failure shows while the host waits" abort
end no-state "NCCL cannot even say its state" abort
end late "a step that takes too long" abort
end in-progress "patience, and no deadline" "destroy destroy"
end stuck-destroy "others are gone when one leaves" destroy
case_ too-old old "an NCCL that is too old"
case_ no-call part "a library without a call that is needed"
mkdir "$build/none" && echo "no library" >"$build/none/libnccl.so.2"
case_ no-library none "a library that is none"

# ---- trainings -----------------------------------------------------------------------------------------------------
[ -x "$BIN/dcrnn-train" ] || { not_ok "trainings" "there is no $BIN/dcrnn-train; run make"; finish; }
before_each=()
# shellcheck disable=SC2317
train() { # name ranks options...
    local name=$1 n=$2
    shift 2
    mkdir -p "$TMP/mpi-$name" # two that begin at once must not make the same folder
    env TMPDIR="$TMP/mpi-$name" DCRNN_CUDA_LIBRARY="$emulated" LD_LIBRARY_PATH="$build/trainer" FAKE_NCCL_FOLDER="$TMP" \
        OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 300 mpirun -n "$n" --oversubscribe --bind-to none \
        "${before_each[@]}" "$BIN/dcrnn-train" --sensors 6 --days 2 --units 4 --batch 10 --steps 4 --input-steps 3 --forecast-steps 3 \
        --validation-windows 8 --checkpoint-every 4 --out "$TMP/$name" "$@"
}
last_mae() { # training
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "val_mae") c = i } END { print c ? $c : "no column" }' "$TMP/$1/metrics.csv"
}
near() { # name training tolerance
    local a b
    a=$(last_mae cpu) b=$(last_mae "$2")
    if awk -v a="$a" -v b="$b" -v t="$3" 'BEGIN { exit !(a + 0 > 0 && b + 0 > 0 && (a - b) ^ 2 <= (t * a) ^ 2) }'; then
        ok "$1 (validation MAE $b, on the CPU $a)"
    else
        not_ok "$1" "validation MAE $b, on the CPU $a"
    fi
}
# Side by side, because starting ranks takes longer than their work.
declare -A training=()
beside() { # name ranks options...
    train "$@" >"$TMP/said-$1" 2>&1 </dev/null &
    training[$1]=$!
}
ended() { # name title [status]
    local status=0
    wait "${training[$1]}" || status=$?
    if [ $status -eq "${3:-0}" ]; then ok "$2"; else not_ok "$2" "exit status $status: $(tail -n 30 "$TMP/said-$1")"; fi
}
cuda=(--backend cuda --share-gpu)
beside cpu 1
beside refused 2 --backend cuda
beside one 1 --backend cuda
ended cpu "on the CPU"
ended refused "two ranks on one GPU are refused" 2
check "and named, with the option" grep -qE '^dcrnn-train: ranks 0 and 1 on .* share one GPU .*--share-gpu' "$TMP/said-refused"
ended one "one rank"
for n in 2 3; do beside $n $n "${cuda[@]}"; done
beside shares 2 "${cuda[@]}" --rank-weights 1,2,3
for n in 2 3; do
    ended $n "$n ranks"
    near "$n ranks learn the same" $n 1e-4
done
check "they are called emulated" grep -q '"emulated": "ranks share a GPU' "$TMP/2/program.json"
check_status 1 "one rank is not" grep -q '"emulated"' "$TMP/one/program.json"
ended shares "shares for other ranks are refused" 2
check "in one sentence" grep -q '^dcrnn-train: --rank-weights has 3 shares for 2 ranks' "$TMP/said-shares"
beside late 2 "${cuda[@]}" --no-overlap
beside buckets 2 "${cuda[@]}" --bucket-bytes 1000 --cuda-graph no
beside weights 2 "${cuda[@]}" --rank-weights 4,1 --accumulate 2 --loader-workers 1 --comm-timeout 0
ended late "after the backward pass"
ended buckets "in small buckets, kernel by kernel"
for name in late buckets; do check "$name: the same bits" cmp "$TMP/2/checkpoint.bin" "$TMP/$name/checkpoint.bin"; done
ended weights "unequal shares in micro-batches made ahead"
near "unequal shares learn the same" weights 1e-4
beside none 2 "${cuda[@]}" --allreduce-dtype none
beside bf16 2 "${cuda[@]}" --allreduce-dtype bf16
ended none "gradients that stay where they are"
check "said so" grep -q -- "--allreduce-dtype none: no gradient is exchanged" "$TMP/said-none"
check_status 1 "and the ranks learn on their own" cmp -s "$TMP/2/checkpoint.bin" "$TMP/none/checkpoint.bin"
ended bf16 "gradients as bf16"
near "bf16 learns nearly the same" bf16 1e-2
check_status 1 "bf16 is not the same" cmp -s "$TMP/2/checkpoint.bin" "$TMP/bf16/checkpoint.bin"
said() { sed -n "s/.*\"$2\": \([0-9]*\),.*/\1/p" "$TMP/$1/program.json"; }
check "the gradients' bf16 copy is in the memory that a run says it takes" \
    test $(($(said bf16 memory_bytes) - $(said 2 memory_bytes))) -eq $((2 * $(said 2 parameters)))
# The ranges of a step with an exchange, as rank 0's summary has them.
for graph in yes no; do
    before_each=("$BIN/dccollect" run --spool "$TMP/spool-$graph" --)
    beside phases-$graph 2 "${cuda[@]}" --cuda-graph $graph
done
for graph in yes no; do
    ended phases-$graph "recorded, --cuda-graph $graph"
    "$BIN/dccollect" pack "$TMP/spool-$graph" -o "$TMP/phases-$graph.tar" >/dev/null 2>&1
    tar -xOf "$TMP/phases-$graph.tar" --wildcards 'rank0/summary-*' >"$TMP/phases.jsonl"
    for phase in backward all_reduce optimizer; do
        # shellcheck disable=SC2016
        check "a range $phase in every step, --cuda-graph $graph" \
            jq -se --arg name $phase 'any(.name == $name and .domain == "dcrnn" and .n == 4)' "$TMP/phases.jsonl"
    done
    check "forward and h2d in every step, --cuda-graph $graph" jq -se '[.[] | select(.name == "forward" or .name == "h2d")] |
        length == 2 and (.[0].n - .[1].n | fabs) == 4' "$TMP/phases.jsonl"
done
# Slices (MIG) share a PCI address but have different UUIDs.
# shellcheck disable=SC2016
before_each=(sh -c 'export DCRNN_EMULATOR=slice=$OMPI_COMM_WORLD_RANK; exec "$@"' sh)
beside slices 2 --backend cuda
ended slices "two slices of one GPU, without --share-gpu"
check "slices: the same bits" cmp "$TMP/2/checkpoint.bin" "$TMP/slices/checkpoint.bin"
check_status 1 "slices are not called emulated" grep -q '"emulated"' "$TMP/slices/program.json"
began=$SECONDS
# One rank fails before they join; the others must not wait for it, whatever --comm-timeout says.
# shellcheck disable=SC2016
before_each=(sh -c '[ "$OMPI_COMM_WORLD_RANK" = 0 ] || export DCRNN_EMULATOR=memory=100000; exec "$@"' sh)
beside small 2 "${cuda[@]}" --comm-timeout 600
# One fails in the middle of a step, while the sum on the other waits for it.
# shellcheck disable=SC2016
before_each=(sh -c '[ "$OMPI_COMM_WORLD_RANK" = 0 ] || export DCRNN_EMULATOR=fail_work=400; exec "$@"' sh)
beside fails 2 "${cuda[@]}" --comm-timeout 600
ended small "one device is too small" 2
check "said once, in time" test "$(grep -c '^dcrnn-train: .*memory' "$TMP/said-small")" -eq 1 -a $((SECONDS - began)) -lt 50
ended fails "one device fails in the middle" 1
check "its rank says so, once, in time" test \
    "$(grep -c '^dcrnn-train: rank 1 on .*CUDA: .*unspecified launch failure' "$TMP/said-fails")" -eq 1 -a \
    "$(grep -c '^dcrnn-train: rank' "$TMP/said-fails")" -eq 1 -a $((SECONDS - began)) -lt 50
finish
