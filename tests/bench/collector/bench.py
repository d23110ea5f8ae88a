#!/usr/bin/env python3
"""The cost of the collector, in one run on one machine, compared with the allowed cost.

    bench.py [--pairs N] [--seconds N] [NAME...]    NAME: nvtx calls spawn start step hpcc idle burst rate (all)

A figure is the median of N pairs (30), measured in turns: the same work with the collector and without it. Beside it stands the
95 % interval of the median, from the order of the values (binomial distribution, no assumption about their shape). The verdict is
"kept" when the whole interval is below the bar, "missed" when the whole interval is above, else "cannot tell". Events that
valgrind's callgrind can follow have their instructions in user space beside them, which no other program disturbs.
--seconds N (60): how long `idle` and `rate` run. Figures to be read: nothing fails here."""
import argparse
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
COLLECT = BUILD + "/bin/dccollect"
TRAIN = BUILD + "/bin/dcrnn-train"
HERE = os.path.dirname(os.path.abspath(__file__))
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]
HPCC_INPUT = "/usr/share/doc/hpcc/examples/_hpccinf.txt"


class Absent(Exception):
    """Something that a figure needs is not there, with the reason."""


# ---- statistics ---------------------------------------------------------------------------------


def interval(values):
    """The 95 % interval of the median: the k-th smallest and the k-th largest value (H. A. David, Order Statistics, 1981, 2.5)."""
    n, k, below = len(values), 0, 0.0
    while True:
        below += math.comb(n, k) / 2**n
        if below > 0.025 or k >= n // 2:
            break
        k += 1
    ordered = sorted(values)
    return ordered[max(k - 1, 0)], ordered[n - max(k, 1)]


def verdict(low, high, bar, n):
    if bar is None:
        return ""
    if n == 1 and bar > 0:  # a measurement without an interval; counts have the bar 0
        return "one run"
    return "kept" if high <= bar else "missed" if low > bar else "cannot tell"


rows = []


def row(what, unit, values, bar=None, note=""):
    """values: those of the pairs; a single value has no interval."""
    median = statistics.median(values)
    low, high = interval(values) if len(values) > 5 else (median, median)
    spread = f"{low:9.3g} to {high:<9.3g}" if len(values) > 5 else " " * 22
    rows.append(f"{what:<52}{'' if bar is None else f'<= {bar:g}':>8}{median:>10.4g} {unit:<10}{spread} "
                f"{verdict(low, high, bar, len(values)):<12}{note}".rstrip())
    print(rows[-1], flush=True)


# ---- running ------------------------------------------------------------------------------------

scratch = tempfile.mkdtemp(prefix="dcr-bench.", dir=os.environ.get("BENCH_DIR"))


def need(path, what):
    if not (os.path.exists(path) or shutil.which(path)):
        raise Absent(what + " is not installed")


def spool():
    path = scratch + "/spool"
    shutil.rmtree(path, ignore_errors=True)
    return path


def collected(words, *options):
    return [COLLECT, "run", "--spool", spool(), *options, "--", *words]


def output(words, **more):
    done = subprocess.run(words, cwd=scratch, check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
    if done.returncode:
        last = done.stderr.strip().split("\n")[-1]
        raise Absent(f"{os.path.basename(words[0])} ended with status {done.returncode}: {last}")
    return done.stdout


def seconds(words):
    begun = time.monotonic()
    output(words)
    return time.monotonic() - begun


def in_turns(n, without, with_it):
    """n pairs of (without, with_it), called in turns. Every second pair is called in reverse order."""
    pairs = []
    for i in range(n):
        second = with_it() if i % 2 else None
        first = without()
        pairs.append((first, with_it() if second is None else second))
    return pairs


def build(name, source, *flags, compiler="gcc"):
    try:
        subprocess.run([compiler, "-std=gnu11", "-O2", "-I.", "-o", f"{scratch}/{name}", source, *flags, "-ldl", "-pthread"],
                       check=True, stderr=subprocess.PIPE)
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{scratch}/{name}"


def nvtx_flags():
    nvcc = shutil.which("nvcc")
    for root in (os.environ.get("CUDA_HOME"), nvcc and os.path.dirname(os.path.dirname(os.path.realpath(nvcc))), "/usr/local/cuda"):
        if root and os.path.exists(f"{root}/include/nvtx3/nvToolsExt.h"):
            return ["-DHAVE_NVTX", "-isystem", f"{root}/include"]
    return []


def packed():
    """The archive of the last run: its metadata on the collector, and the number of calls by name."""
    archive = scratch + "/packed.tar"
    output([COLLECT, "pack", scratch + "/spool", "-o", archive])
    about = json.loads(output(["tar", "xOf", archive, "job_metadata.json"]))["collector"]
    calls = {}
    for member in output(["tar", "tf", archive]).split():
        if "/summary-" in member:
            for line in output(["tar", "xOf", archive, member]).split("\n"):
                item = json.loads(line) if line else {}
                if "name" in item:
                    calls[item["name"]] = calls.get(item["name"], 0) + item["n"]
    return about, calls


# ---- the figures ---------------------------------------------------------------------------------


def events(words, **more):
    """Pairs of (reference, recorded) ns that event_cost prints."""
    return [tuple(float(x) for x in line.split()) for line in output(words, **more).split("\n") if line]


def instructions(program, kind, function):
    """In user space, for each event."""
    counts, rounds = scratch + "/callgrind", 4
    output(collected(["valgrind", "--tool=callgrind", "--callgrind-out-file=" + counts, "--toggle-collect=" + function, program, kind,
                      "1", str(rounds), "5000"]))
    with open(counts, encoding="utf-8") as f:
        return int(re.search(r"^(?:totals|summary): (\d+)", f.read(), re.M)[1]) / ((rounds + 1) * 5000)


def note_of(program, kind):
    """What stands beside a figure: how many events were lost, else the instructions of an event."""
    lost = packed()[0]["dropped_events"]
    if lost:
        return f"{lost} lost"
    if not shutil.which("valgrind"):
        return ""
    try:
        both = [instructions(program, kind, "count_" + f) for f in ("recorded", "reference")]
    except (Absent, OSError, TypeError):
        return ""
    return f"{both[0]:.0f} instructions" if kind in ("nvtx", "own") else f"{both[0] - both[1]:.0f} instructions added"


def bench_nvtx(n, _):
    flags = nvtx_flags()
    program = build("event_cost", HERE + "/event_cost.c", *flags)
    kind = "nvtx" if flags else "own"
    name = "nvtxRangePushA, nvtxRangePop" if flags else "dcc_range_push, dcc_range_pop"
    for threads in (1, 8):
        pairs = events(collected([program, kind, str(threads), str(n), "5000"]))
        label = f"{name}, {threads} thread{'s' if threads > 1 else ''}"
        row(label, "clock pairs", [b / a for a, b in pairs], 1.3, note_of(program, kind))
        row("    the same", "ns", [b for _, b in pairs])
        row("    two clock reads", "ns", [a for a, _ in pairs])
    bench_lttng(n)


def bench_lttng(n):
    """The reference. It has a separate daemon and session, so that running ones are not disturbed."""
    program = build("lttng_cost", HERE + "/event_cost.c", "-DHAVE_LTTNG", "-llttng-ust", "-llttng-ust-common")
    if not program or not shutil.which("lttng-sessiond"):
        raise Absent("lttng-tools and liblttng-ust-dev are not installed, so there is no yardstick")
    home = dict(os.environ, LTTNG_HOME=scratch + "/lttng")
    os.mkdir(scratch + "/lttng")
    with subprocess.Popen(["lttng-sessiond"], env=home, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as daemon:
        try:
            for _ in range(50):
                if subprocess.run(["lttng", "list"], env=home, capture_output=True, check=False).returncode == 0:
                    break
                time.sleep(0.1)
            for words in ("create dcr-bench --output " + scratch + "/lttng/trace",
                          "enable-channel -u -s dcr-bench --subbuf-size 1M --num-subbuf 8 channel",
                          "enable-event -u -s dcr-bench -c channel dcr_bench:*", "start dcr-bench"):
                output(["lttng", *words.split()], env=home)
            pairs = events([program, "lttng", "1", str(n), "5000"], env=home)
            row("two tracepoints of LTTng-UST, 1 thread", "ns", [b for _, b in pairs])
            output(["lttng", "destroy", "dcr-bench"], env=home)
        finally:
            daemon.terminate()


def bench_calls(n, _):
    program = build("call_cost", HERE + "/event_cost.c", "-DHAVE_MPI", compiler="mpicc")
    mpi = program is not None
    program = program or build("call_cost", HERE + "/event_cost.c")
    for kind, label in (("pread", "pread of 1 byte"), ("allreduce", "MPI_Allreduce of one rank"),
                        ("message", "MPI_Irecv, MPI_Send, MPI_Wait, mean")):
        if kind != "pread" and not mpi:
            raise Absent("mpicc does not compile here")
        pairs = events(collected([program, kind, "1", str(n), "5000"]))
        row(label + ", added", "ns", [b - a for a, b in pairs], 80, note_of(program, kind))


def bench_spawn(n, _):
    program = build("event_cost", HERE + "/event_cost.c")
    words = [program, "spawn", "1", "1", "40"]
    pairs = in_turns(n, lambda: output(words), lambda: output(collected(words)))
    pairs = [[[float(x) * 1e-6 for x in text.split()] for text in pair] for pair in pairs]
    row("fork and exec of /bin/true, added", "ms", [b[0] - a[0] for a, b in pairs], 0.15)
    row("    its processor time, added", "ms", [b[1] - a[1] for a, b in pairs])
    row("    without the collector", "ms", [a[0] for a, _ in pairs])


def bench_start(n, _):
    program = build("call_cost", HERE + "/event_cost.c", "-DHAVE_MPI", compiler="mpicc")
    if not program:
        raise Absent("mpicc does not compile here")
    words = [program, "allreduce", "1", "2", "100"]
    pairs = in_turns(n, lambda: seconds(words), lambda: seconds(collected(words)))
    row("MPI program of one rank, start to end, added", "ms", [1000 * (b - a) for a, b in pairs], 20)
    row("    without the collector", "ms", [1000 * a for a, _ in pairs])


def bench_hpcc(n, _):
    need("hpcc", "hpcc")
    need(HPCC_INPUT, "the example input of hpcc")
    with open(HPCC_INPUT, encoding="utf-8") as f:
        lines = f.read().split("\n")
    lines[5], lines[7], lines[10] = "200 Ns", "8 NBs", "1 Ps"
    with open(scratch + "/hpccinf.txt", "w", encoding="utf-8") as f:
        f.write("\n".join(lines))
    words = [*MPIRUN, "-n", "2", "hpcc"]

    def run(words):
        if os.path.exists(scratch + "/hpccoutf.txt"):
            os.remove(scratch + "/hpccoutf.txt")
        return seconds(words)

    pairs = in_turns(n, lambda: run(words), lambda: run(collected(words)))
    about = packed()[0]
    row("HPCC, 2 ranks, start to end, added", "%", [100 * (b / a - 1) for a, b in pairs], 3, f"{about['mpi_calls']} MPI calls")
    row("    without the collector", "s", [a for a, _ in pairs])


def steps_of(path):
    with open(path, encoding="utf-8") as f:
        names = f.readline().strip().split(",")
        at, took = names.index("start_ns"), names.index("step_ns")
        for line in f:
            cells = line.split(",")
            yield int(cells[at]), int(cells[took])


def bench_step(n, _):
    """Two trainers, one of them collected, in turns of a quarter of a second (turns.c). A turn's value is the median of its whole
    steps. Its processor time of a step is that of the turn, for the time of whole steps. A pair is four turns."""
    need(TRAIN, "dcrnn-train")
    turns = build("turns", HERE + "/turns.c")
    train = [TRAIN, "--sensors", "16", "--units", "16", "--batch", "16", "--steps", "10000000", "--epochs", "1000000",
             "--validate-every", "0", "--out"]
    off = "exec " + " ".join([*train, scratch + "/off"]) + " >/dev/null 2>&1"
    on = "exec " + " ".join(collected([*train, scratch + "/on"])) + " >/dev/null 2>&1"
    lines = [line.split() for line in output([turns, "250", str(n), off, on]).split("\n") if line]
    left = {"off": steps_of(scratch + "/off/steps-rank0.csv"), "on": steps_of(scratch + "/on/steps-rank0.csv")}
    step, processor, own, time_on = [], [], 0.0, 0.0
    for side, begin, end, cpu, collector in ([line[0], *map(int, line[1:])] for line in lines):
        inside = []
        for start, took in left[side]:
            if start + took > end:
                break
            if start >= begin:
                inside.append(took)
        if len(inside) < 3:
            raise Absent("too few steps in a turn")
        step.append(statistics.median(inside))
        processor.append(cpu / (end - begin) * statistics.mean(inside))
        own += collector
        time_on += end - begin if side == "on" else 0
    groups = range(0, len(lines), 4)
    for label, v, bar in (("step of training, added", step, 0.3), ("    its processor time, added", processor, None)):
        row(label, "%", [100 * ((v[g + 1] + v[g + 2]) / (v[g] + v[g + 3]) - 1) for g in groups], bar)
    row("    a step without the collector", "ms", [(step[g] + step[g + 3]) / 2e6 for g in groups])
    row("    the collector beside it, of a core", "%", [100 * own / time_on])


def bench_idle(_, length):
    text = output([sys.executable, HERE + "/idle.py", COLLECT, "64", str(length)])
    steady = re.search(r"steady: .* ([\d.]+) % of a core; of it rank 0: ([\d.]+) %", text)
    if not steady:
        raise Absent("idle.py says something else than expected")
    row("64 idle ranks, all collectors, of a core", "%", [float(steady[1])], 0.5)
    row("    rank 0 of them, which samples the host", "%", [float(steady[2])])


def ranges(n, label, arguments, may_lose):
    """n ranges, which are 2n events: recorded and dropped ones in the archive, and its sums."""
    program = build("burst", "tests/data/programs/burst.c")
    output(collected([program, str(n), *arguments]))
    about, calls = packed()
    row(label + ": neither written nor counted", "events", [2 * abs(n - about["events"] - about["dropped_events"])], 0)
    row("    lost", "events", [2 * about["dropped_events"]], None if may_lose else 0)
    row("    not in the sums", "events", [2 * abs(n - calls.get("one of many", 0))], 0)


def bench_burst(_, __):
    ranges(5 * 10**6, "10^7 events at once", [], True)


def bench_rate(_, length):
    ranges(length * 500000, f"10^6 events/s, {length} s", ["1", "1", "500000"], False)


BENCHES = {"nvtx": bench_nvtx, "calls": bench_calls, "spawn": bench_spawn, "start": bench_start, "step": bench_step,
           "hpcc": bench_hpcc, "idle": bench_idle, "burst": bench_burst, "rate": bench_rate}


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n")[2].strip())
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("names", nargs="*", choices=[*BENCHES, []])
    said = parser.parse_args()
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    print(f"load {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores: other programs on them make everything dearer")
    print(f"{'':<52}{'bar':>8}{'median':>10} {'':<10}{'95 % interval':^22} verdict")
    try:
        for name in said.names or BENCHES:
            try:
                BENCHES[name](said.pairs, said.seconds)
            except Absent as why:
                print(f"{name}: the rest is not measured, since {why}", flush=True)
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
