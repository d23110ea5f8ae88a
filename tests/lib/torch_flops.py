"""torch_flops.py REPORT.json TRACE.json.gz - compares the work of operators in a report with PyTorch's own count.

Each call of the trace is repeated with inputs of the same shapes under PyTorch's profiler, which counts operations (with_flops). Of calls
inside each other the outermost counts. Exits with 1 if a sum differs or nothing was compared."""
import collections
import functools
import gzip
import json
import sys

import torch
from torch.profiler import ProfilerActivity, profile

CALLS = {"aten::mm": torch.mm, "aten::bmm": torch.bmm, "aten::addmm": torch.addmm, "aten::conv2d": torch.nn.functional.conv2d}


@functools.lru_cache(None)
def counted(name, shapes, *more):
    with profile(activities=[ProfilerActivity.CPU], with_flops=True, record_shapes=True) as seen, torch.no_grad():
        CALLS[name](*(torch.zeros(s) for s in shapes), *more)
    return sum(e.flops or 0 for e in seen.events() if e.name == name)


def numbers(text):
    return tuple(int(n) for n in text.strip("[]").split(",") if n.strip())


def work(name, shapes, values):
    """None: not one of the operators that are compared."""
    if name in ("aten::mm", "aten::bmm", "aten::addmm"):
        return counted(name, shapes[:3 if name == "aten::addmm" else 2])
    if name == "aten::linear":
        rows = functools.reduce(lambda a, b: a * b, shapes[0][:-1], 1)
        return counted("aten::mm", ((rows, shapes[0][-1]), shapes[1][::-1]))
    if name == "aten::conv2d":
        return counted(name, shapes[:2], None, *map(numbers, values[3:6]), int(values[6]))
    if name == "aten::convolution_backward":  # each wanted gradient is as much work as the forward pass
        wanted = values[10].strip("[]").replace(" ", "").split(",")[:2].count("True")
        return wanted * counted("aten::conv2d", shapes[1:3], None, *map(numbers, values[4:7]), int(values[9]))
    if name == "aten::scaled_dot_product_attention":
        (*_, n, size), (*_, m, _), (*_, value) = shapes[:3]
        heads = functools.reduce(lambda a, b: a * b, shapes[0][:-2], 1)
        return counted("aten::bmm", ((heads, n, size), (heads, size, m))) + counted("aten::bmm", ((heads, n, m), (heads, m, value)))
    return None


def main(report, trace):
    calls = []
    for e in json.load(gzip.open(trace))["traceEvents"]:
        args = e.get("args", {})
        flops = work(e["name"], tuple(map(tuple, args["Input Dims"])), args.get("Concrete Inputs")) if "Input Dims" in args else None
        if flops:
            calls.append((str(e["tid"]), e["ts"], -e["dur"], e["name"], flops))
    want, end = collections.Counter(), (None, 0)
    for thread, begin, minus, name, flops in sorted(calls):
        if end[0] == thread and begin < end[1]:
            continue
        end = thread, begin - minus
        want[name] += flops
    got = collections.Counter()
    for o in json.load(open(report))["operator_roofline"]:
        got[o["operator"]] += o["flop"] or 0
    print(dict(want), dict(got))
    return not want or want != got


sys.exit(main(*sys.argv[1:]))
