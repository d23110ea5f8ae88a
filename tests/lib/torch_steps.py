#!/usr/bin/env python3
"""torch_steps.py EVENTS.csv - reads what `dccollect export` makes of torch_cases.py: for each case, how many batches have an optimizer's
step, and which phases are in them. One line for each case: its name, steps, forward passes in them, phases in alphabetical order."""
import csv
import sys

with open(sys.argv[1], newline="") as f:
    rows = [r for r in csv.DictReader(f) if r["domain"] in ("cases", "PyTorch")]
for r in rows:
    r["from"], r["to"] = int(r["start_ns"]), int(r["end_ns"] or 0)
main = next(r["pid"] for r in rows if r["domain"] == "cases")
of_others = sum(r["pid"] != main for r in rows)
ranges = [r for r in rows if r["domain"] == "PyTorch" and r["pid"] == main and r["is_open"] != "1"]
batches = [r for r in ranges if r["category"].startswith("batch")]
numbers = []
for case in (r for r in rows if r["domain"] == "cases"):
    steps, forward, phases = 0, 0, set()
    for b in (b for b in batches if case["from"] <= b["from"] < case["to"]):
        inside = [r["name"] for r in ranges if r is not b and b["from"] <= r["from"] and r["to"] <= b["to"]]
        if "optimizer" in inside:
            steps += 1
            forward += inside.count("forward")
            phases |= set(inside)
            numbers.append(int(b["payload"]))
    print(case["name"], steps, forward, *sorted(phases))
print("numbers ascend" if all(a < b for a, b in zip(numbers, numbers[1:])) else f"numbers do not ascend: {numbers}")
print("ranges of other processes:", of_others)
