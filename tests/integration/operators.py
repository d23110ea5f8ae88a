#!/usr/bin/env python3
"""operators.py - what report.json says of the operators of a Kineto trace, against the same computed here from the trace
alone: operations by shapes, and the time of the kernels launched inside.

    operators.py TRACE REPORT.json"""
import bisect
import gzip
import json
import math
import sys
from collections import defaultdict

trace, report = sys.argv[1:3]
with (gzip.open if trace.endswith(".gz") else open)(trace, "rt") as f:
    events = [e for e in json.load(f)["traceEvents"] if e.get("ph") == "X"]
with open(report) as f:
    said = json.load(f)

BYTES = {"float": 4, "double": 8, "c10::Half": 2, "c10::BFloat16": 2}


def ns(us):
    whole, _, part = str(us).partition(".")
    return int(whole) * 1000 + int((part + "000")[:3])


def work(name, args):
    """Operations; None: the trace does not say."""
    dims, values = args["Input Dims"], args.get("Concrete Inputs")
    if name in ("mm", "bmm"):
        return 2 * math.prod(dims[0]) * dims[1][-1]
    if name in ("addmm", "baddbmm"):
        return 2 * math.prod(dims[1]) * dims[2][-1]
    if name == "linear":
        return 2 * math.prod(dims[0]) * dims[1][0]
    if values is None:
        return None
    if name == "scaled_dot_product_attention":
        assert values[5] == "False"
        heads, (q, d), k = dims[0][:-2], dims[0][-2:], dims[1][-2]
        return 4 * math.prod(heads) * q * k * d
    if name == "conv2d":
        stride, padding, dilation = map(json.loads, values[3:6])
        size = [(dims[0][2 + i] + 2 * padding[i] - dilation[i] * (dims[1][2 + i] - 1) - 1) // stride[i] + 1 for i in (0, 1)]
        return 2 * dims[0][0] * math.prod(size) * math.prod(dims[1])
    assert name == "convolution_backward" and values[7] == "False"
    wanted = values[10].strip("[]").split(", ")[:2].count("True")
    return wanted * 2 * dims[0][0] * math.prod(dims[0][2:]) * math.prod(dims[2])


names = {"aten::" + n for n in ("mm", "bmm", "addmm", "baddbmm", "linear", "conv2d", "convolution_backward",
                                "scaled_dot_product_attention")}
by_thread = defaultdict(list)
for e in events:
    if e["name"] in names and "Input Dims" in e.get("args", {}):
        by_thread[e["pid"], e["tid"]].append((ns(e["ts"]), -ns(e["dur"]), e))
calls = defaultdict(list)  # by thread: outermost ones, with a place for kernel time
for thread, list_ in by_thread.items():
    list_.sort(key=lambda c: c[:2])
    end = -1
    for start, dur, e in list_:
        if start < end:
            continue
        end = start - dur
        calls[thread].append([start, end, e, 0, 0])
launches = {e["args"]["correlation"]: e for e in events
            if e.get("cat") in ("cuda_runtime", "cuda_driver", "Runtime") and "correlation" in e.get("args", {})
            and any(w in e["name"] for w in ("Launch", "Memcpy", "Memset"))}
has_gpu = False
for e in events:
    if e.get("cat") not in ("kernel", "Kernel"):
        continue
    has_gpu = True
    launch = launches.get(e["args"].get("correlation"))
    of = calls[launch["pid"], launch["tid"]] if launch else []
    i = bisect.bisect_right(of, ns(launch["ts"]), key=lambda c: c[0]) - 1 if of else -1
    if i >= 0 and ns(launch["ts"]) < of[i][1]:
        of[i][3] += ns(e["dur"])
        of[i][4] += 1
want = defaultdict(lambda: [0, 0, 0])
for of in calls.values():
    for start, end, e, kernel_ns, n in of:
        row = want[e["name"]]
        flop = work(e["name"][6:], e["args"])
        row[0] += 1
        row[1] = None if flop is None or row[1] is None else row[1] + flop
        took = kernel_ns if has_gpu else end - start
        row[2] = None if row[2] is None or (has_gpu and not n) else row[2] + took
got = defaultdict(lambda: [0, 0, 0])
for o in said["operator_roofline"]:
    row = got[o["operator"]]
    row[0] += o["n"]
    row[1] = None if o["flop"] is None or row[1] is None else row[1] + o["flop"]
    row[2] = None if o["time_ns"] is None or row[2] is None else row[2] + o["time_ns"]
    if o["intensity_flop_per_byte"] is not None:
        assert math.isclose(o["intensity_flop_per_byte"], o["flop"] / o["bytes"], rel_tol=1e-6), o
    if o["peak_flop_ratio"] is not None:
        assert math.isclose(o["peak_flop_ratio"], o["flop"] / o["time_ns"] * 1e9 / o["peak_flop_per_s"], rel_tol=1e-6), o
assert want and want == got, f"wanted {dict(want)}, got {dict(got)}"
