#!/usr/bin/env bash
# PyTorch programs that are not changed, under the collector: its hook marks loading, phases and steps (collect/python).
# tests/data/programs/torch_stub stands in for a PyTorch of which nothing else is known; the rest needs the real one.
# alone: two ranks on two cores are judged by what they wait for
. tests/lib/tap.sh
report=$BIN/dcreport
stub=tests/data/programs/torch_stub

# prints NAME TEXT COMMAND...: the command's output is TEXT
prints() {
    local name=$1 want=$2
    shift 2
    if "$@" >"$TMP/printed" 2>"$TMP/printed.err" && [ "$(cat "$TMP/printed")" = "$want" ]; then ok "$name"; else not_ok "$name" "$(cat "$TMP/printed" "$TMP/printed.err")"; fi
}
# shellcheck disable=SC2317  # prints calls it
# ranges ARCHIVE: "N CATEGORY NAME" for each kind of range that the hook made
ranges() {
    "$BIN/dccollect" export "$1" -o "$TMP/ranges.csv" >"$TMP/said" 2>&1 || return
    awk -F, '$7 == "PyTorch" && $16 == 0 { n[$8 " " $9]++ } END { for (k in n) print n[k], k }' "$TMP/ranges.csv" | LC_ALL=C sort -k 2
}

# ---- a stand-in
mkdir "$TMP/own"
echo 'mine = 5' >"$TMP/own/sitecustomize.py"
PYTHONPATH=$stub:$TMP/own python3 $stub/train.py "$TMP/weights" >"$TMP/bare" 2>&1
PYTHONPATH=$stub:$TMP/own check_status 3 "a program under the collector keeps its exit status" \
    "$BIN/dccollect" run -o "$TMP/stub.tar" -- bash -c "exec python3 $stub/train.py '$TMP/weights' >'$TMP/hooked' 2>&1"
check "... and what it prints: results, sys.path, its own sitecustomize" diff "$TMP/bare" "$TMP/hooked"
prints "the phases of its loop are marked" "8 batch of PyTorch step
6 compute backward
10 compute forward
6 compute optimizer
14 data data_load
1 io checkpoint" ranges "$TMP/stub.tar"
"$report" -q "$TMP/stub.tar" -o "$TMP/site" >/dev/null 2>&1
has() {
    if jq -e "$2" "$TMP/site/report.json" >"$TMP/jq" 2>&1; then ok "$1"; else not_ok "$1" "$(jq -c '.runs[0] | [.n_steps, .finding, .headline, .parts_ns, .phases[].name], .notes' "$TMP/site/report.json")"; fi
}
has "6 batches are steps, and the validation between them does not count" '.runs[0].n_steps == 6 and ([.notes[].id] | index("steps-assumed"))'
PYTHONPATH=$stub "$BIN/dccollect" run --python off -o "$TMP/off.tar" -- python3 $stub/train.py "$TMP/weights" >/dev/null 2>&1
prints "--python off marks nothing" "" ranges "$TMP/off.tar"
PYTHONPATH=$stub "$BIN/dccollect" run --steps 2:3 -o "$TMP/window.tar" -- python3 $stub/train.py "$TMP/weights" >/dev/null 2>&1
prints "--steps counts these steps" "1 batch of PyTorch step 2
2 batch of PyTorch step 3" bash -c "'$BIN/dccollect' export '$TMP/window.tar' -o '$TMP/window.csv' 2>/dev/null
    awk -F, '\$8 ~ /^batch/ { n[\$8 \" \" \$9 \" \" \$14]++ } END { for (k in n) print n[k], k }' '$TMP/window.csv' | LC_ALL=C sort -k 2"
what='import sys; print(sys.path, [m for m in ("ctypes", "importlib.util", "weakref", "atexit") if m in sys.modules])'
prints "a program without PyTorch loads nothing of it" "$(python3 -c "$what")" "$BIN/dccollect" run -o "$TMP/none.tar" -- python3 -c "$what"
# shellcheck disable=SC2317  # prints calls it
# ranks_of ARCHIVE: "RANK NAME" of the ranges that own_ranks.py marks
ranks_of() {
    "$BIN/dccollect" export "$1" -o "$TMP/ranges.csv" >"$TMP/said" 2>&1 &&
        python3 -c 'import csv, sys; print(*sorted(r["rank"] + " " + r["name"] for r in csv.DictReader(open(sys.argv[1])) if r["domain"] == "own"), sep="\n")' "$TMP/ranges.csv"
}
check "ranks that a program starts itself, told by links" "$BIN/dccollect" run -o "$TMP/own.tar" -- python3 tests/data/programs/own_ranks.py 2
prints "... have what was recorded before and after the link" "0 after 0
0 before 0
1 after 1
1 before 1" ranks_of "$TMP/own.tar"
# The last column of all: processes. The rank, its child and the child's child.
check "... and monitors of their own, with their children" bash -c "tar -xOf '$TMP/own.tar' rank1/process_monitor.csv |
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if (\$i == \"processes\") c = i } NR > 1 && \$c > most { most = \$c } END { exit most < 2 }'"
check "... and no link is in the archive" bash -c "! tar -tf '$TMP/own.tar' | grep -q rank-of"
check "--help names the option" bash -c "'$BIN/dccollect' --help | grep -q -- '--python on|off'"

# ---- PyTorch
torch=$(find_torch)
if [ -z "$torch" ]; then
    skip "PyTorch programs on 1, 2 and 4 ranks" "no PyTorch with gloo (python3-torch)"
    finish
fi
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MALLOC_MMAP_THRESHOLD_=33554432 MALLOC_TRIM_THRESHOLD_=1073741824

"$torch" tests/data/programs/torch_cases.py "$TMP/cases" >"$TMP/bare" 2>/dev/null
TORCH_CASES_MARK=1 check_status 7 "loops of many kinds run under the collector" "$BIN/dccollect" run -o "$TMP/cases.tar" -- \
    bash -c "exec '$torch' tests/data/programs/torch_cases.py '$TMP/cases-hooked' >'$TMP/hooked' 2>/dev/null"
sed -i 's/cases-hooked/cases/' "$TMP/hooked"
check "... with the same weights, random numbers, pickles, scripts and errors as without it" diff "$TMP/bare" "$TMP/hooked"
"$BIN/dccollect" export "$TMP/cases.tar" -o "$TMP/cases.csv" >/dev/null 2>&1
# The last batch that `callable` begins goes on in a loop without a loader. After 32 steps without one they end with the optimizer.
prints "... and their steps are found" "bare 5 5 backward forward optimizer zero_grad
loader 12 12 backward data_load forward optimizer zero_grad
check_inside 6 6 backward data_load forward optimizer zero_grad
accumulate 4 8 backward data_load forward optimizer zero_grad
two_optimizers 5 10 backward data_load forward optimizer zero_grad
two_loaders 5 5 backward data_load forward optimizer zero_grad
lbfgs 4 12 backward data_load forward optimizer
stream 3 3 backward data_load forward optimizer zero_grad
workers 8 8 backward data_load forward optimizer zero_grad
error 3 4 backward data_load forward optimizer zero_grad
schedule 4 4 backward checkpoint data_load forward optimizer zero_grad
async 4 4 all_reduce backward data_load forward optimizer wait zero_grad
critic 4 12 backward data_load forward optimizer zero_grad
other_thread 4 4 backward data_load forward optimizer zero_grad
callable 5 36 backward data_load forward optimizer zero_grad
bare_again 8 8 backward forward optimizer zero_grad
numbers ascend
ranges of other processes: 0" python3 tests/lib/torch_steps.py "$TMP/cases.csv"
"$report" -q "$TMP/cases.tar" -o "$TMP/site" >/dev/null 2>&1
has "... by the report too" '.runs[0].n_steps == 84'

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
# One rank takes what two take without a peer; `make test-long` tries all cases on it.
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
                # On two cores the threads that exchange take them from those that compute, and a report may say so first.
                has "... and is the cause" '.runs[0] | [.finding] | inside(["COMM_LIMITS", "OWN_THREADS_WAIT"])'
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
