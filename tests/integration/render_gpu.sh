#!/usr/bin/env bash
# What dcreport says of recordings of a real GPU (tests/data/gpu) against sums of their exported events: PyTorch programs
# whose host is too slow for an H200, under the collector and by the profiler.
# shellcheck disable=SC2016  # $n and $want are of jq, $0 of another shell
. tests/lib/tap.sh
gpu=tests/data/gpu

"$BIN/dccollect" export $gpu/torch-h200.tar.zst -o "$TMP/trace.json" 2>/dev/null || not_ok "the trace can be exported"
python3 - "$TMP/trace.json" >"$TMP/truth" <<'END'
import decimal, json, sys
events = json.load(open(sys.argv[1]), parse_float=decimal.Decimal)
events = events["traceEvents"] if isinstance(events, dict) else events
ns = lambda x: int(decimal.Decimal(x) * 1000)
spans = [(e["cat"], e["name"], ns(e["ts"]), ns(e["dur"])) for e in events if e.get("ph") == "X"]
kernels = sorted((t, t + d) for cat, _, t, d in spans if cat == "kernel")
busy = sorted((t, t + d) for cat, _, t, d in spans if cat in ("kernel", "memcpy", "memset"))
def union(list, begin, end):
    total, done = 0, begin
    for a, b in list:
        a, b = max(a, done), min(b, end)
        if b > a:
            total, done = total + b - a, b
    return total
steps = sorted((t, t + d) for _, name, t, d in spans if name == "step")[1:-1]  # without the warm-up and what followed the last step
ends = [b[0] for b in steps[1:]] + [steps[-1][1]]
computed = [union(kernels, a, e) for (a, _), e in zip(steps, ends)]
length = [e - a for (a, _), e in zip(steps, ends)]
print(len(kernels), sum(b - a for a, b in kernels), union(busy, 0, 10 ** 19), sum(computed) / sum(length))
END
read -r n sum busy share <"$TMP/truth"
check_status 0 "an unchanged PyTorch program on a GPU" "$BIN/dcreport" -q $gpu/torch-h200.tar.zst -o "$TMP/site"
# shellcheck disable=SC2317  # check calls it
near() { jq -e --argjson want "$2" "($1) as \$got | (\$got - \$want) | fabs <= $3" "$TMP/site/report.json"; }
check "its kernels are counted" jq -e --argjson n "$n" '.devices[0].kernels == $n' "$TMP/site/report.json"
check "their time is summed, to a nanosecond each" near '.devices[0].kernel_sum_ns' "$sum" "$n"
check "and joined with copies, to a nanosecond each" near '.devices[0].busy_ns' "$busy" "$((2 * n))"
check "compute is the time of kernels, to one percent of a step" near \
    '.runs[0].parts_ratio.compute' "$share" 0.01
check "every operation has the call that launched it, also where a library calls the driver" jq -e \
    '.devices[0] | .queue.n == 2 * (.kernels + .memcpys + .memsets)' "$TMP/site/report.json"
check "58 steps count" jq -e '.runs[0].n_counted == 58' "$TMP/site/report.json"
check "what limits it is the host, and not compute" grep -q '^The GPU waits for its host for 7[0-9] % of a step\.$' "$TMP/site/bottleneck_summary.txt"
check "reduced precision is no advice" sh -c '! grep -rqi "mixed precision" "$0"' "$TMP/site/bottleneck_summary.txt"

check_status 0 "the profiler's trace of it" "$BIN/dcreport" -q $gpu/kineto-h200.json.gz -o "$TMP/kineto"
zcat $gpu/kineto-h200.json.gz | jq '[.traceEvents[] | select(.cat == "kernel")] | length' >"$TMP/n"
check "all its kernels are counted" jq -e --argjson n "$(cat "$TMP/n")" '.devices[0].kernels == $n' "$TMP/kineto/report.json"
check "the same limit" grep -q '^The GPU waits for its host for' "$TMP/kineto/bottleneck_summary.txt"

check_status 0 "two ranks that exchange by gloo" "$BIN/dcreport" -q $gpu/kineto-gloo-h200 -o "$TMP/gloo"
for rank in 0 1; do zcat "$gpu/kineto-gloo-h200/ddp.rank$rank.json.gz" >"$TMP/rank$rank.json"; done
python3 - "$TMP"/rank[01].json >"$TMP/truth" <<'END'
import decimal, json, sys
def covered(list, begin, end):
    total, done = 0, begin
    for a, b in sorted(list):
        a, b = max(a, done), min(b, end)
        if b > a:
            total, done = total + b - a, b
    return total
exposed = steps_ns = 0
for file in sys.argv[1:]:
    events = [e for e in json.load(open(file), parse_float=decimal.Decimal)["traceEvents"] if e.get("ph") == "X"]
    span = lambda e: (int(e["ts"] * 1000), int((e["ts"] + e["dur"]) * 1000))
    of = lambda test: [span(e) for e in events if test(e)]
    steps = sorted(of(lambda e: e.get("cat") == "user_annotation" and e["name"].startswith("ProfilerStep")))
    busy = of(lambda e: e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"))
    gloo = of(lambda e: e["name"].startswith("gloo:"))
    loading = of(lambda e: e["name"].startswith("enumerate(DataLoader)"))
    for begin, end in steps:
        other = covered(busy + loading, begin, end)
        exposed += covered(busy + loading + gloo, begin, end) - other
        steps_ns += end - begin
print(exposed / steps_ns)
END
share=$(cat "$TMP/truth")
check "their exchange is what no kernel, copy or loading hides, to half a percent of a step" jq -e --argjson want "$share" \
    '(.runs[0].parts_ratio | .comm_transfer + .comm_wait - $want) | fabs <= 0.005' "$TMP/gloo/report.json"
check "it limits them" grep -q '^Exposed gradient synchronisation takes 4[0-9] % of a step\.$' "$TMP/gloo/bottleneck_summary.txt"
check "and the GPUs should do it" grep -q 'init_process_group("nccl")' "$TMP/gloo/bottleneck_summary.txt"
finish
