#!/usr/bin/env python3
"""operators.py - compares what report.json says about the operators of a Kineto trace with values computed here from the
trace alone: operations by shapes, the time of the kernels launched inside, and the lines behind idle or unnamed time.

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

# ---- which line ran while a GPU waited for the host
def own(name):
    """Path, line and function of a frame that is the program's; None: a library's."""
    path, _, rest = name.partition("(")
    line, _, function = rest.partition("): ")
    first = path.split("/")[0].removesuffix(".py")
    if not function or not line.isdigit() or path.startswith("<") or first in sys.stdlib_module_names or first.startswith("torch") \
            or first in ("numpy", "triton", "tqdm", "typing_extensions"):
        return None
    return f"{path}:{line}", function


frames = defaultdict(list)
for e in events:
    place = own(e["name"]) if e.get("cat") == "python_function" and ns(e["dur"]) > 0 else None
    if place:
        frames[e["pid"], e["tid"]].append((ns(e["ts"]), ns(e["ts"]) + ns(e["dur"]), place))
loading = [(ns(e["ts"]), ns(e["ts"]) + ns(e["dur"])) for e in events if e["name"].startswith("enumerate(DataLoader)")]
busiest = max(frames, key=lambda t: len(frames[t]), default=None)
idle, lines = 0, defaultdict(int)
by_device = defaultdict(list)
for e in events:
    if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
        by_device[e["args"]["device"]].append((ns(e["ts"]), ns(e["ts"]) + ns(e["dur"]), e))
for ops in by_device.values() if frames else []:
    ops.sort(key=lambda o: o[:2])
    busy_to = ops[0][0]
    for start, end, e in ops:
        launch = launches.get(e["args"]["correlation"])
        if start > busy_to and launch and ns(launch["ts"]) > busy_to:
            of, main = ([f for f in frames[t] if f[0] < start and f[1] > busy_to]
                        for t in ((launch["pid"], launch["tid"]), busiest))
            held = [x for x in loading if x[0] < start and x[1] > busy_to]
            cuts = sorted({busy_to, start} | {t for f in of + main + held for t in f[:2] if busy_to < t < start})
            for a, b in zip(cuts, cuts[1:]):
                if any(x[0] <= a < x[1] for x in held):
                    continue
                idle += b - a
                # The thread of the backward pass has no frames, so those of its calling thread are used.
                inside = [f for f in of if f[0] <= a < f[1]] or [f for f in main if f[0] <= a < f[1]]
                if inside:
                    lines[max(inside, key=lambda f: (f[0], -f[1]))[2]] += b - a
        busy_to = max(busy_to, end)


def union(ranges):
    """The same time without overlap, ascending."""
    out = []
    for a, b in sorted(ranges):
        if out and a <= out[-1][1]:
            out[-1][1] = max(b, out[-1][1])
        else:
            out.append([a, b])
    return out


unnamed = not has_gpu
if unnamed and frames:  # without a GPU: the parts of the steps that no operator, loading or exchange covers
    steps = sorted((ns(e["ts"]), ns(e["ts"]) + ns(e["dur"])) for e in events if e["name"].startswith("ProfilerStep#"))
    busy = union(loading + [(ns(e["ts"]), ns(e["ts"]) + ns(e["dur"])) for e in events if e.get("cat") == "cpu_op" and (
        e["name"].startswith(("aten::", "autograd::", "torch::", "c10d::")) or "Backward" in e["name"][1:] and " " not in e["name"])])
    marks = sorted(frames[busiest])
    for start, end in steps[:said["runs"][0]["n_steps"]]:
        held = [x for x in busy if x[0] < end and x[1] > start]
        for a, b in zip([start] + [x[1] for x in held], [x[0] for x in held] + [end]):
            if b <= a:
                continue
            of = [f for f in marks if f[0] < b and f[1] > a]
            cuts = sorted({a, b} | {t for f in of for t in f[:2] if a < t < b})
            for lo, hi in zip(cuts, cuts[1:]):
                idle += hi - lo
                inside = [f for f in of if f[0] <= lo < f[1]]
                if inside:
                    lines[max(inside, key=lambda f: (f[0], -f[1]))[2]] += hi - lo
if frames:
    code = said["code_lines"][0]
    if unnamed:
        code["host_idle_ns"] = code.pop("unnamed_ns")
        for c in code["lines"]:
            c["idle_ns"] = c.pop("unnamed_ns")
    assert (idle > 0 or not unnamed) and code["host_idle_ns"] == idle, (code["host_idle_ns"], idle)
    assert code["with_line_ns"] >= 0.8 * idle, code
    told = defaultdict(int)
    for c in code["lines"]:
        told[c["line"], c["function"]] += c["idle_ns"]
    assert told == lines, [(k, told[k], lines[k]) for k in told.keys() | lines.keys() if told[k] != lines[k]]
    assert sum(told.values()) == code["with_line_ns"]
else:
    assert said["code_lines"] == []
