#!/usr/bin/env bash
# Unchanged PyTorch programs on 1, 2 and 4 ranks: the report names each built-in cause, and a series scales.
# alone: two ranks on two cores are judged by their waiting, which other programs would change
. tests/lib/tap.sh
. tests/lib/torch.sh
report=$BIN/dcreport
need_torch "PyTorch programs on 1, 2 and 4 ranks"

# shellcheck disable=SC2317  # check calls it
# collect N PROGRAM [ARGUMENT...]: N ranks, each under a collector, packed into $TMP/run.tar. RANK and its like are set as by torchrun.
collect() {
    local n=$1 rank pids=() failed=0
    shift
    rm -rf "$TMP/spool" "$TMP/run.tar" "$TMP/site" "$TMP/meeting"
    for ((rank = 0; rank < n; rank++)); do
        MEETING=$TMP/meeting RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=$n timeout 120 "$BIN/dccollect" run ${NODES:+--emulate-nodes} \
            --label global_batch=32 --spool "$TMP/spool" -- "$torch" "$@" >>"$TMP/said" 2>&1 &
        pids+=($!)
    done
    for rank in "${pids[@]}"; do wait "$rank" || failed=1; done
    [ "$failed" = 0 ] && "$BIN/dccollect" pack "$TMP/spool" -o "$TMP/run.tar" >>"$TMP/said" 2>&1
}
# One rank runs the cases of two ranks that need no peer; `make test-long` tries all cases on it.
for n in 1 2; do
    for case in none loader slow gradients checkpoint; do
        [ $n = 2 ] || [ $case = none ] || [ "${LONG:-0}" != 0 ] || continue
        rm -rf "$TMP/ddp" && mkdir "$TMP/ddp"
        check "$case on $n ranks trains" collect $n tests/data/programs/ddp.py env env "$TMP/ddp" "plain-$case"
        "$report" -q "$TMP/run.tar" -o "$TMP/site" >/dev/null 2>&1
        check "... with parts near the program's own clock" python3 tests/lib/torch_parts.py hook "$TMP/site/report.json" "$TMP/ddp/plain-$case"
        case $n$case in
            ?none) has "... no loading, no files limit" '.runs[0] | [.finding] | inside(["DATA_LIMITS", "IO_LIMITS", "STRAGGLER_LIMITS"]) | not' ;;
            ?loader) has "... data loading is the cause" '.runs[0].finding == "DATA_LIMITS"' ;;
            2slow) has "... the slow rank is the cause" '.runs[0] | .finding == "STRAGGLER_LIMITS" and .straggler.rank == 1' ;;
            2gradients)
                has "... exchanging gradients takes most of a step" '.runs[0].parts_ns | .comm_transfer + .comm_wait > .compute'
                # On two cores, exchanging threads take cores from computing threads, and a report may name that first.
                has "... and is the cause" '.runs[0] | [.finding] | inside(["COMM_LIMITS", "EXCHANGE_THREADS_WAIT", "OWN_THREADS_WAIT"])'
                ;;
            ?checkpoint) has "... checkpoints are the cause" '.runs[0].finding == "IO_LIMITS"' ;;
        esac
        has "... without a word of a GPU or NCCL" '[.headline, .first_action, .runs[0].headline, .runs[0].support] | map(select(. != null and test("GPU|CUDA|NCCL|NVTX"))) == []'
    done
done

# ---- traces of PyTorch's profiler in the same archive: one run
"$BIN/dccollect" pack "$TMP/spool" -o "$TMP/adopted.tar" --adopt tests/data/foreign/torch-cpu >/dev/null 2>&1
"$report" -q "$TMP/adopted.tar" -o "$TMP/site" >/dev/null 2>&1
has "the profiler's traces of a run join it, with their operators" '(.runs | length == 1) and .runs[0].n_ranks == 2 and .runs[0].n_steps == 13 and (.operators | length > 0)'

# ---- ranks without a launcher
check "torch.multiprocessing.spawn under one collector" "$BIN/dccollect" run -o "$TMP/run.tar" -- "$torch" tests/data/programs/torch_spawn.py
"$report" -q "$TMP/run.tar" -o "$TMP/site" >/dev/null 2>&1
has "... gives one run of two ranks" '(.runs | length == 1) and (.runs[0] | .n_ranks == 2 and .n_steps >= 18 and (.parts_ns.comm_transfer + .parts_ns.comm_wait > 0))'
check_status 1 "a rank of it that crashes" "$BIN/dccollect" run -o "$TMP/run.tar" -- "$torch" tests/data/programs/torch_spawn.py crash
"$report" -q "$TMP/run.tar" -o "$TMP/site" >/dev/null 2>&1
has "... is named with its signal" '.runs[0].support | contains("The run ended early: signal 11 (Segmentation fault) ended rank 1.")'

torchrun=("$torch" -m torch.distributed.run -r "0:1,1:1" -t "0:1,1:1" --nproc_per_node 2 tests/data/programs/torch_spawn.py)
check_status 1 "a rank of torchrun that crashes" "$BIN/dccollect" run -o "$TMP/run.tar" -- "${torchrun[@]}" crash
"$report" -q "$TMP/run.tar" -o "$TMP/site" >/dev/null 2>&1
has "... is named with its signal, though the other rank failed after it" '.runs[0].support | contains("The run ended early: signal 11 (Segmentation fault) ended rank 1.")'
check_status 1 "a rank of torchrun that raises an exception" "$BIN/dccollect" run -o "$TMP/run.tar" -- "${torchrun[@]}" raise
"$report" -q "$TMP/run.tar" -o "$TMP/site" >/dev/null 2>&1
has "... is named with its status" '.runs[0].support | contains(": rank 1 ended with exit status 1.")'
check_status 1 "... and whose process ends after that of the other rank" "$BIN/dccollect" run -o "$TMP/run.tar" -- "${torchrun[@]}" raise linger
"$report" -q "$TMP/run.tar" -o "$TMP/site" >/dev/null 2>&1
has "... is named all the same, not the other rank" '.runs[0].support | contains(": rank 1 ended with exit status 1.")'
check_status 1 "... also in torch.multiprocessing.spawn" "$BIN/dccollect" run -o "$TMP/run.tar" -- "$torch" tests/data/programs/torch_spawn.py raise linger
"$report" -q "$TMP/run.tar" -o "$TMP/site" >/dev/null 2>&1
has "... is rank 1 named" '.runs[0].support | contains("rank 1 ended with exit status 1.")'

# ---- a series of a DCRNN
for n in 1 2 4; do
    NODES=1 check "a DCRNN in PyTorch trains on $n ranks" collect $n tests/data/programs/torch_dcrnn.py
    mv "$TMP/run.tar" "$TMP/dcrnn-$n.tar"
done
check_status 0 "their series is rendered" "$report" -q "$TMP"/dcrnn-[124].tar -o "$TMP/site"
has "... as one of 1, 2 and 4 nodes, with the speed-up of each" '[.runs[].n_nodes] == [1, 2, 4] and ([.series[].points[].n_nodes] == [1, 2, 4]) and all(.series[].points[]; .speedup > 0)'
has "... whose steps hold all phases" 'all(.runs[]; [.phases[].name] | contains(["data_load", "forward", "backward", "optimizer"]))'
has "... and gradients are exchanged on 2 and 4" '[.runs[] | .parts_ns.comm_transfer > 0] == [false, true, true]'
finish
