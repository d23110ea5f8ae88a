#!/usr/bin/env bash
# dcreport's values for recordings of a real GPU (tests/data/gpu), compared with sums of their exported events: PyTorch
# programs whose host is too slow for an H200, under the collector and by the profiler.
# shellcheck disable=SC2016  # $n and $want are of jq, $0 of another shell
. tests/lib/tap.sh
gpu=tests/data/gpu

"$BIN/dccollect" export $gpu/torch-h200.tar.zst -o "$TMP/trace.json" 2>/dev/null || not_ok "the trace can be exported"
export PYTHONPATH=tests/lib # the algebra of intervals is torch_parts.py's
python3 - "$TMP/trace.json" >"$TMP/truth" <<'END'
import sys
from torch_parts import events_of, union, within
events = events_of(sys.argv[1])
kernels = [(a, b) for _, _, a, b, cat in events if cat == "kernel"]
busy = [(a, b) for _, _, a, b, cat in events if cat in ("kernel", "memcpy", "memset")]
steps = sorted((a, b) for name, _, a, b, _ in events if name == "step")[1:-1]  # without the warm-up and what followed the last step
steps = [(a, c) for (a, _), (c, _) in zip(steps, steps[1:])] + steps[-1:]
length = lambda spans: sum(b - a for a, b in spans)
print(len(kernels), length(kernels), length(union(busy)), sum(within(union(kernels), a, b) for a, b in steps) / length(steps))
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

# The same without the collector's note that CUPTI's last records are there. Its block is opened, so that no checksum is
# needed.
mkdir "$TMP/cut"
zstd -dcq $gpu/torch-h200.tar.zst | tar -C "$TMP/cut" -xf - && rm "$TMP/cut/manifest.json"
python3 - "$TMP"/cut/rank0/*.dct <<'END'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
at = data.index(b"up to the exit")
data[at:at + 14] = b"up to any time"
data[data.rindex(b"DBLK", 0, at) + 4] = 1
open(sys.argv[1], "wb").write(data)
END
check_status 3 "a GPU whose work is not there as a whole" "$BIN/dcreport" -q "$TMP/cut" -o "$TMP/cut-site"
check "it has the steps of the host, which enqueues for longer than the GPU computes" jq -e --slurpfile whole "$TMP/site/report.json" \
    '.runs[0] | .n_counted == 58 and .parts_ns.compute > 3 * $whole[0].runs[0].parts_ns.compute' "$TMP/cut-site/report.json"
check "compute is not judged, and nobody says that it limits" jq -e '(.runs[0].classes.compute.verdict == "n/a") and
    (.headline == "The GPU'"'"'s work was not recorded as a whole, so the limit is not known.")' "$TMP/cut-site/report.json"
check "the host is watched by the monitor alone" jq -e '.runs[0].classes.host | .verdict == "watch" and (.text | test("The monitor shows"))' "$TMP/cut-site/report.json"
check "what to do first is to record it as a whole" grep -q '^Do first: Let the program end by itself, record it without a window, and pack all traces' <(jq -r .first_action "$TMP/cut-site/report.json")

check_status 0 "the profiler's trace of it" "$BIN/dcreport" -q $gpu/kineto-h200.json.gz -o "$TMP/kineto"
zcat $gpu/kineto-h200.json.gz | jq '[.traceEvents[] | select(.cat == "kernel")] | length' >"$TMP/n"
check "all its kernels are counted" jq -e --argjson n "$(cat "$TMP/n")" '.devices[0].kernels == $n' "$TMP/kineto/report.json"
check "the same limit" grep -q '^The GPU waits for its host for' "$TMP/kineto/bottleneck_summary.txt"

check_status 0 "two ranks that exchange by gloo" "$BIN/dcreport" -q $gpu/kineto-gloo-h200 -o "$TMP/gloo"
python3 - $gpu/kineto-gloo-h200/*.gz >"$TMP/truth" <<'END'
import sys
from torch_parts import events_of, less, union, within
exposed = steps_ns = 0
for file in sys.argv[1:]:
    events = events_of(file)
    of = lambda test: union([(a, b) for name, _, a, b, cat in events if test(name, cat)])
    steps = of(lambda name, cat: cat == "user_annotation" and name.startswith("ProfilerStep"))
    other = of(lambda name, cat: cat in ("kernel", "gpu_memcpy", "gpu_memset") or name.startswith("enumerate(DataLoader)"))
    gloo = less(of(lambda name, cat: name.startswith("gloo:")), other)
    exposed += sum(within(gloo, a, b) for a, b in steps)
    steps_ns += sum(b - a for a, b in steps)
print(exposed / steps_ns)
END
share=$(cat "$TMP/truth")
check "their exchange is what no kernel, copy or loading hides, to half a percent of a step" jq -e --argjson want "$share" \
    '(.runs[0].parts_ratio | .comm_transfer + .comm_wait - $want) | fabs <= 0.005' "$TMP/gloo/report.json"
check "it limits them" grep -q '^Exchanging gradients takes 4[0-9] % of a step\.$' "$TMP/gloo/bottleneck_summary.txt"
check "and the GPUs should do it" grep -q 'init_process_group("nccl")' "$TMP/gloo/bottleneck_summary.txt"
finish
