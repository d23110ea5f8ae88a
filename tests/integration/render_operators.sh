#!/usr/bin/env bash
# One level below the GPU: the operators of real Kineto traces, and the lines that ran while a GPU waited for the host,
# compared with the same values computed from the trace by a separate program (operators.py).
. tests/lib/tap.sh
. tests/lib/torch.sh
report=$BIN/dcreport
traces=$SHARED/data/traces/kineto

# same TRACE STATUS WHAT
same() {
    "$report" -q "$1" -o "$TMP/site" >/dev/null 2>&1
    check "$2" python3 tests/integration/operators.py "$1" "$TMP/site/report.json"
}
torch=$(find_torch)
as_torch() { # as_torch TRACE: for the last report
    if [ -n "$torch" ]; then
        check "... as PyTorch's own profiler counts them" "$torch" tests/lib/torch_flops.py "$TMP/site/report.json" "$1"
    else
        skip "... as PyTorch's own profiler counts them" "no PyTorch (python3-torch)"
    fi
}
same tests/data/gpu/kineto-h200.json.gz "products and attention of a training on an H200"
check "every line is known there, and the lines are said first" jq -e '.code_lines[0] | .host_idle_ns == .with_line_ns
    and .lines[0].line == "train.py:54" and .lines[0].function == "main"' "$TMP/site/report.json"
check "... and that of an operator" jq -e '.operators[0].operators | map(select(.name == "aten::addmm"))[0] |
    .line == "train.py:21" and .function == "forward"' "$TMP/site/report.json"
check "... on the page" grep -q "The function main (train.py:54) ran during" "$TMP"/site/runs/*/devices.html
check "... and on the front page, whose limit it explains" grep -q "The function main (train.py:54) ran during 67.*% of the waits" "$TMP/site/index.html"
check "the largest operators are no steps, and the steps are one row" jq -e '.operators[0].operators | (map(.kind == "step") | index(true)) ==
    length - 1 and .[-1].name == "ProfilerStep" and .[-1].n == 6' "$TMP/site/report.json"
check "the page has the table, folded" grep -q 'tables/operator_roofline_1.csv' "$TMP"/site/runs/*/devices.html
if [ -d "$traces" ]; then
    same "$traces/b200_eager_trace.json.gz" "lines of a server on a B200"
    check "... the longest of them, in all its modules" grep -q "__torch_function__ (vllm/model_executor/parameter.py:122) ran during 15.*% of the waits" "$TMP/site/index.html"
    same "$traces/mi300_facebook_timesformer-base-finetuned-k400__1016002.json.gz" "products on a GPU that the trace does not list"
    check "... with peaks" jq -e '[.operator_roofline[] | select(.format == "BF16") | .peak_flop_per_s] | length > 0 and all(. == 1307.4e12)' "$TMP/site/report.json"
    same "$traces/mi300_resnet_act_checkpoint.json.gz" "convolutions on an MI300X, with those of the backward pass"
    as_torch "$traces/mi300_resnet_act_checkpoint.json.gz"
    same "$traces/h100_gaunernst_bert-small-uncased__1016001.json.gz" "linear layers and attention on an H100"
    as_torch "$traces/h100_gaunernst_bert-small-uncased__1016001.json.gz"
    same "$traces/dlrm_8rank/worker0_step_12.1694128201545.pt.trace.json.gz" "products of two threads on a V100"
    same "$traces/resnet50_num_workers_0.worker0.1623143089861.pt.trace.json.gz" "an older trace, which lacks the strides of convolutions"
    check "... says so" jq -e '.operator_roofline[] | select(.operator == "aten::conv2d") | .flop == null and .n == 318
        and (.flop_because | test("strides"))' "$TMP/site/report.json"
    "$report" -q "$traces/df_index_resolver_df_index_resolver.json.gz" -o "$TMP/site" >/dev/null 2>&1
    check "without stacks, the front page says how to record them" grep -q "To see which lines the GPU waits for, profile with with_stack=True" "$TMP/site/index.html"
    # The same program, as if it had run without a GPU.
    gzip -dc "$traces/mi300_resnet_act_checkpoint.json.gz" | python3 -c 'import json, sys
t = json.load(sys.stdin)
t["traceEvents"] = [e for e in t["traceEvents"] if e.get("cat") in ("cpu_op", "user_annotation", "python_function")]
json.dump(t, sys.stdout)' >"$TMP/host.json"
    same "$TMP/host.json" "lines of the unnamed time of steps without a GPU"
    check "... in the advice" jq -e '[.claims[].action, .runs[].notes[].text, .first_action] | tostring | test("97 % of it is in train_step .train_ddp.py:82")' "$TMP/site/report.json"
else
    skip "real traces" "no $traces"
fi
finish
