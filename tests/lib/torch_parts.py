#!/usr/bin/env python3
"""torch_parts.py - what a report must say about PyTorch traces of CPUs, computed from the files with intervals, by the definitions
in docs/metrics.md, "Hosts without a GPU". It shares no code with the renderer.

    torch_parts.py report REPORT.json FOLDER     compare the report of the folder's traces with their parts, to a microsecond
    torch_parts.py clock FOLDER                  compare the parts with the program's own clock (tests/data/programs/ddp.py)
    torch_parts.py hook REPORT.json FOLDER       compare the report of a run under the collector with the program's own clock
    torch_parts.py rewrite FOLDER NEW            the same events as Kineto writes them
    torch_parts.py layout FOLDER FILE            do rewritten events have the fields that a real Kineto file has?"""
import glob
import gzip
import json
import os
import re
import statistics
import sys
from decimal import Decimal


def events_of(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as f:
        d = json.load(f, parse_float=Decimal)  # a float of 1.7e15 us is right to a quarter of a microsecond only
    events = d if isinstance(d, list) else d["traceEvents"]
    return [(e["name"], e["tid"], round(1000 * e["ts"]), round(1000 * (e["ts"] + e["dur"])), e.get("cat"))
            for e in events if e.get("ph") == "X"]


def ranks_of(folder):
    """Files by rank."""
    paths = sorted(glob.glob(folder + "/rank*.json*"), key=lambda p: int(re.search(r"rank(\d+)", p)[1]))
    return [events_of(p) for p in paths]


# ---- algebra: sorted disjoint intervals -----------------------------------------------------------------------------

def union(spans):
    out = []
    for a, b in sorted(s for s in spans if s[1] > s[0]):
        if out and a <= out[-1][1]:
            out[-1][1] = max(out[-1][1], b)
        else:
            out.append([a, b])
    return [tuple(s) for s in out]


def less(x, y):
    out = []
    for a, b in x:
        for c, d in y:
            if d <= a or c >= b:
                continue
            if c > a:
                out.append((a, c))
            a = max(a, d)
            if a >= b:
                break
        if a < b:
            out.append((a, b))
    return out


def within(x, a, b):
    return sum(max(0, min(d, b) - max(c, a)) for c, d in x)


# ---- the definitions ------------------------------------------------------------------------------------------------

def is_comm(name):
    return name.startswith(("gloo:", "nccl:", "mpi:", "c10d::"))


def is_operator(name, cat):
    if is_comm(name) or cat == "user_annotation":
        return False
    return name.startswith(("aten::", "autograd::", "torch::")) or bool(re.fullmatch(r"\S+Backward\S*", name))


def own_time(op, comm):
    """An operator without the collectives inside it: those of its thread, or of another thread after a call in it."""
    _, tid, a, b, _ = op
    calls = [c for n, t, c, d, _ in comm if n.startswith("c10d::") and t == tid and a <= c and d <= b]
    called = min(calls, default=None)
    held = [(c, d) for n, t, c, d, _ in comm if a <= c and d <= b and (t == tid or (called is not None and called <= c))]
    return less([(a, b)], union(held))


def steps_of(events):
    marked = sorted((a, b) for n, _, a, b, _ in events if n.startswith("ProfilerStep#"))
    ends = sorted(b for n, _, _, b, _ in events if n.startswith("Optimizer.step#"))
    if not marked:
        return list(zip(ends, ends[1:]))
    last = marked[-1]
    return marked if any(last[0] < e <= last[1] for e in ends) else marked[:-1]


def parts_of(events):
    """Of each step: its parts in ns, and the durations of its collectives."""
    comm = [e for e in events if is_comm(e[0])]
    data = union((a, b) for n, _, a, b, _ in events if n.startswith("enumerate(DataLoader)"))
    io = less(union((a, b) for n, _, a, b, _ in events if re.search(r"checkpoint|save|load\b", n) and "::" not in n), data)
    own = union(s for e in events if is_operator(e[0], e[4]) for s in own_time(e, comm))
    compute = less(less(own, data), io)
    all_comm = union((a, b) for _, _, a, b, _ in comm)
    exposed = less(less(less(all_comm, data), io), compute)
    backends = [e for e in comm if not e[0].startswith("c10d::")] or comm
    out = []
    for a, b in steps_of(events):
        p = {k: within(x, a, b) for k, x in (("data", data), ("io", io), ("compute", compute), ("comm", exposed))}
        p["hidden"] = within(all_comm, a, b) - p["comm"]
        p["other"] = b - a - p["data"] - p["io"] - p["compute"] - p["comm"]
        p["step"] = b - a
        p["collectives"] = [d - c for _, _, c, d, _ in sorted(backends, key=lambda e: e[2]) if a <= c < b and d > c]
        out.append(p)
    return out


def split(ranks):
    """Transfer and waiting: the shortest of the k-th collective on all ranks is transfer, if all ranks have equally many, and so is
    the least time that a rank communicates outside of its collectives."""
    for steps in zip(*ranks):
        counts = {len(s["collectives"]) for s in steps}
        if len(counts) == 1 and counts != {0}:
            transfer = sum(map(min, zip(*(s["collectives"] for s in steps))))
            transfer += min(max(0, s["comm"] - sum(s["collectives"])) for s in steps)
        else:
            transfer = min(s["comm"] for s in steps)
        for s in steps:
            s["comm_transfer"] = min(transfer, s["comm"])
            s["comm_wait"] = s["comm"] - s["comm_transfer"]


def mean(steps, key):
    return sum(s[key] for s in steps) / len(steps)


# ---- commands -------------------------------------------------------------------------------------------------------

def compare_report(report, folder):
    with open(report) as f:
        runs = json.load(f)["runs"]
    assert len(runs) == 1, f"{len(runs)} runs"
    run, ranks = runs[0], [parts_of(e) for e in ranks_of(folder)]
    assert {len(r) for r in ranks} == {run["n_steps"]}, (run["n_steps"], [len(r) for r in ranks])
    split(ranks)
    wrong = []
    for k, steps in enumerate(ranks):
        counted, said = steps[run["n_warmup"]:], run["ranks"][k]
        for key in ("compute", "comm_transfer", "comm_wait", "data", "io", "other"):
            want, got = mean(counted, key), said["parts_ns"][key] or 0
            if abs(want - got) > 1000:
                wrong.append(f"rank {k}: {key} {got} ns instead of {want:.0f}")
        if abs(mean(counted, "hidden") - said["hidden_communication_ns"]) > 1000:
            wrong.append(f"rank {k}: hidden communication {said['hidden_communication_ns']} ns instead of {mean(counted, 'hidden'):.0f}")
        if abs(mean(counted, "step") - said["step"]["mean_ns"]) > 1000:
            wrong.append(f"rank {k}: step {said['step']['mean_ns']} ns instead of {mean(counted, 'step'):.0f}")
    phases = sum(p["mean_ns"] for p in run["phases"] if p["name"].endswith(" operators"))
    if abs(phases - run["parts_ns"]["compute"]) > 1000:
        wrong.append(f"phases of compute sum to {phases} ns instead of {run['parts_ns']['compute']}")
    sys.exit("\n".join(wrong) or None)


def near(what, got, want, wrong):
    """Medians over steps, in ms."""
    got, want = statistics.median(got), statistics.median(want)
    if abs(got - want) > max(0.3, 0.05 * want):
        wrong.append(f"{what}: {got:.3f} ms instead of {want:.3f}")


def compare_clock(folder):
    wrong = []
    for rank, events in enumerate(ranks_of(folder)):
        with open(f"{folder}/truth-rank{rank}") as f:
            truth = json.load(f)
        steps = parts_of(events)[-len(truth["data"]):]
        truth = {key: values[-len(steps):] for key, values in truth.items()}
        near(f"rank {rank}: data loading", [s["data"] / 1e6 for s in steps], truth["data"], wrong)
        near(f"rank {rank}: I/O", [s["io"] / 1e6 for s in steps], truth["io"], wrong)
        near(f"rank {rank}: all but loading and I/O", [(s["step"] - s["data"] - s["io"]) / 1e6 for s in steps],
             [step - data - io for step, data, io in zip(truth["step"], truth["data"], truth["io"])], wrong)
        near(f"rank {rank}: step", [s["step"] / 1e6 for s in steps], truth["step"], wrong)
        if max(truth["extra"]) > 5:
            near(f"rank {rank}: slow work", [min(s["compute"] / 1e6, x) for s, x in zip(steps, truth["extra"])], truth["extra"], wrong)
    sys.exit("\n".join(wrong) or None)


def compare_hook(report, folder):
    """The means over the same steps: within 10 % or 0.5 ms, and at most 10 % of a step in no named phase."""
    with open(report) as f:
        runs = json.load(f)["runs"]
    assert len(runs) == 1, f"{len(runs)} runs"
    run, wrong = runs[0], []
    for rank, said in enumerate(run["ranks"]):
        with open(f"{folder}/truth-rank{rank}") as f:
            truth = json.load(f)
        counted = {key: values[run["n_warmup"]:run["n_steps"]] for key, values in truth.items()}
        parts = {key: (ns or 0) / 1e6 for key, ns in said["parts_ns"].items()}
        work = [s - d - i for s, d, i in zip(counted["step"], counted["data"], counted["io"])]
        for what, got, want in (("data loading", parts["data"], counted["data"]), ("checkpoints", parts["io"], counted["io"]),
                                ("compute and communication", sum(parts[k] for k in ("compute", "comm_transfer", "comm_wait")), work),
                                ("step", said["step"]["mean_ns"] / 1e6, counted["step"])):
            want = statistics.mean(want)
            if abs(got - want) > max(0.5, 0.1 * want):
                wrong.append(f"rank {rank}: {what}: {got:.3f} ms instead of {want:.3f}")
        if parts["other"] > 0.1 * said["step"]["mean_ns"] / 1e6:
            wrong.append(f"rank {rank}: {parts['other']:.3f} ms of a step of {said['step']['mean_ns'] / 1e6:.3f} ms have no name")
    sys.exit("\n".join(wrong) or None)


def rewrite(folder, new):
    ranks = ranks_of(folder)
    os.makedirs(new, exist_ok=True)
    for rank, events in enumerate(ranks):
        begin = 1700000000000000000 + 7777777 * rank  # every process has a separate clock
        out = []
        for name, tid, a, b, _ in events:
            cat = "cpu_op" if is_operator(name, None) or is_comm(name) else "user_annotation"
            ts = begin + a
            out.append({"ph": "X", "cat": cat, "name": name, "pid": 1000 + rank, "tid": tid, "ts": f"@{ts // 1000}.{ts % 1000:03}@",
                        "dur": f"@{(b - a) // 1000}.{(b - a) % 1000:03}@", "args": {"External id": len(out)}})
        d = {"schemaVersion": 1, "deviceProperties": [], "distributedInfo": {"backend": "gloo", "rank": rank, "world_size": len(ranks)},
             "traceEvents": out}
        with open(f"{new}/rank{rank}.json", "w") as f:
            f.write(re.sub(r'"@([0-9.]+)@"', r"\1", json.dumps(d)))


def layout(folder, real):
    """Every field of a rewritten event is one of the real file's events of that category, and of the same type."""
    with gzip.open(real, "rt") as f:
        d = json.load(f)
    with open(folder + "/rank0.json") as f:
        ours = json.load(f)
    wrong = [f"no {key}" for key in ("schemaVersion", "deviceProperties", "distributedInfo", "traceEvents") if key not in d]
    for cat in ("cpu_op", "user_annotation"):
        theirs = next(e for e in d["traceEvents"] if e.get("cat") == cat)
        mine = next(e for e in ours["traceEvents"] if e["cat"] == cat)
        number = (int, float)
        for key, value in mine.items():
            if key not in theirs or not (isinstance(theirs[key], type(value)) or (isinstance(value, number) and isinstance(theirs[key], number))):
                wrong.append(f"{cat}: {key} is {theirs.get(key)!r} in {real}")
    sys.exit("\n".join(wrong) or None)


if __name__ == "__main__":
    {"report": compare_report, "clock": compare_clock, "hook": compare_hook, "rewrite": rewrite, "layout": layout}[sys.argv[1]](*sys.argv[2:])
