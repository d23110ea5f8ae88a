#!/usr/bin/env bash
# PyTorch on CPUs: traces of a data-parallel program whose bottleneck is built in (tests/data/programs/ddp.py), by both profilers.
# Parts of steps equal plain algebra on the files to a microsecond, and come near the program's own clock.
# alone: two ranks on two cores are judged by what they wait for
. tests/lib/tap.sh
. tests/lib/torch.sh # has: of the older profiler's traces
report=$BIN/dcreport
parts=(python3 tests/lib/torch_parts.py)

# says NAME FOLDER [once]: the report of the folder, and, unless once, of the same events as Kineto writes them, as arguments
says() {
    local name=$1 folder=$2
    check_status 0 "$name: the older profiler's traces" "$report" -q "$folder" -o "$TMP/site"
    check "... have the parts of plain algebra" "${parts[@]}" report "$TMP/site/report.json" "$folder"
    [ -z "${3:-}" ] || return
    rm -rf "$TMP/new"
    "${parts[@]}" rewrite "$folder" "$TMP/new"
    check_status 0 "$name: the same as Kineto writes it" "$report" -q "$TMP"/new/rank*.json -o "$TMP/new-site"
    check "... have them too" "${parts[@]}" report "$TMP/new-site/report.json" "$TMP/new"
}

# ---- two ranks that were recorded: the last one computes longer
fixture=tests/data/foreign/torch-cpu
says "recorded ranks" "$fixture"
has "they are one run, which is said to be assumed" '(.runs | length == 1 and .[0].n_ranks == 2) and ([.notes[].id] | index("ranks-assumed"))'
has "the last step, in which the profiler ended, is left out and named" '[.notes[].id] | index("cut-step")'
has "the late rank is named by its file" '.runs[0].straggler.rank == 1 and (.runs[0].support | test("rank1.json.gz"))'
has "no word of a GPU, NCCL or calls of C" '[.headline, .runs[0].headline, .runs[0].support, .runs[0].confidence_because, (.notes[].text), .first_action]
    | map(select(. != null and test("GPU|CUDA|NCCL|NVTX|kernel"))) == []'
has "operators have their own time, total time and calls" '.operators[0].operators | any(.name == "aten::addmm" and .n > 0 and .total_ns >= .self_ns)'
check "the page of the run too" bash -c "! grep -E 'NCCL|NVTX' '$TMP'/site/runs/*/profiling_report.txt"
mkdir "$TMP/apart" "$TMP/unequal"
cp "$fixture/rank0.json.gz" "$TMP/apart/a.json.gz"
cp "$fixture/rank1.json.gz" "$TMP/apart/b.json.gz"
"$report" -q "$TMP/apart" -o "$TMP/site" >/dev/null 2>&1
has "names without a rank are runs of their own" '[.runs[].n_ranks] == [1, 1]'
has "how to join them is said" '[.notes[].text] | any(test("name the files rank0.json, rank1.json"))'
gzip -dc "$fixture/rank0.json.gz" >"$TMP/unequal/rank0.json"
gzip -dc "$fixture/rank1.json.gz" | python3 -c 'import json, sys; json.dump([e for e in json.load(sys.stdin) if e["name"] != "ProfilerStep#3"], sys.stdout)' >"$TMP/unequal/rank1.json"
"$report" -q "$TMP/unequal" -o "$TMP/site" >/dev/null 2>&1
has "files with unequal steps are not taken for one run" '.runs[0] | .finding == "TRACES_APART" and (.headline | test("GPU") | not)'
real=$SHARED/data/traces/kineto/mi300_resnet_act_checkpoint.json.gz
if [ -e "$real" ]; then
    check "events as rewritten have the fields of a real file" "${parts[@]}" layout "$TMP/new" "$real"
else
    skip "events as rewritten have the fields of a real file" "no ../shared/data/traces"
fi

# ---- memory, of which only Kineto writes
python3 - "$TMP/memory.json" <<'PY'
import json, sys
events = []
for i in range(40):
    at = 1000 * i
    events += [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", "pid": 1, "tid": 1, "ts": at, "dur": 1000},
               {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": at, "dur": 900},
               {"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": at + 5, "args":
                {"Device Type": 0, "Device Id": -1, "Bytes": 4000000, "Total Allocated": 4000000 * (i + 1), "Total Reserved": 0}}]
json.dump({"schemaVersion": 1, "distributedInfo": {"backend": "gloo", "rank": 0, "world_size": 1}, "traceEvents": events}, open(sys.argv[1], "w"))
PY
check_status 0 "memory of a host" "$report" -q "$TMP/memory.json" -o "$TMP/site"
has "its peak, and its growth a step" '.evidence[0].rows == [["host", "40", "160", "160", "4"]]'

# ---- live
need_torch "a data-parallel program on 2 and 3 ranks"
# shellcheck disable=SC2317  # check calls it
# ranks N CASE...: N ranks run the cases one after the other, into $TMP/N
ranks() {
    local n=$1 rank pids=() failed=0
    shift
    mkdir "$TMP/$n"
    for ((rank = 0; rank < n; rank++)); do
        timeout 120 "$torch" tests/data/programs/ddp.py "$rank" "$n" "$TMP/$n" "$@" >>"$TMP/$n/said" 2>&1 &
        pids+=($!)
    done
    for rank in "${pids[@]}"; do wait "$rank" || failed=1; done
    return "$failed"
}
check "2 ranks train with five bottlenecks" ranks 2 none loader slow gradients checkpoint unmarked
for case in none loader slow gradients checkpoint unmarked; do
    case $case in
        gradients | unmarked) says "$case" "$TMP/2/$case" ;;
        *) says "$case" "$TMP/2/$case" once ;;
    esac
    check "$case: near the program's own clock" "${parts[@]}" clock "$TMP/2/$case"
    case $case in
        none) has "no loading, no files limit" '.runs[0] | [.finding] | inside(["DATA_LIMITS", "IO_LIMITS", "STRAGGLER_LIMITS"]) | not' ;;
        loader) has "data loading is the cause" '.runs[0].finding == "DATA_LIMITS"' ;;
        slow) has "the slow rank is the cause" '.runs[0] | .finding == "STRAGGLER_LIMITS" and .straggler.rank == 1' ;;
        gradients) has "exchanging gradients is the cause" '.runs[0] | .finding == "COMM_LIMITS" and (.headline | test("gradient"))' ;;
        checkpoint) has "checkpoints are the cause" '.runs[0].finding == "IO_LIMITS"' ;;
        unmarked) has "steps by the optimiser are said to be assumed" '[.notes[].id] | index("steps-assumed")' ;;
    esac
done
check "3 ranks train" ranks 3 none
says "3 ranks" "$TMP/3/none"
has "all of them are there" '.runs[0] | .n_ranks == 3 and .n_steps == 10'
finish
