#!/usr/bin/env python3
"""changed.py [COMMIT] - values of the numbers golden that differ from those at COMMIT (HEAD).

Keys that were added or removed are counted by path; changed values are shown with both values; for a CSV table the number of
differing rows is printed. Read the difference before you commit it.
"""
import collections
import pathlib
import re
import subprocess
import sys

MEMBER = re.compile(r'(\S+?)=("(?:[^"\\]|\\.)*"|\S+)')


def read(text):
    values, tables, table = {}, collections.defaultdict(list), None
    for line in text.splitlines():
        if line.startswith("  "):
            tables[table].append(line)
        elif re.match(r"\S.*\.csv: \d+ rows", line):
            table = line.split(".csv: ")[0] + ".csv"
            tables[table].append(line)
        elif " = [" in line:
            path, value = line.split(" = ", 1)
            values[path] = value
        else:
            path, _, rest = line.partition(" ")
            values.update((f"{path}.{key}", value) for key, value in MEMBER.findall(rest))
    return values, tables


def main():
    commit = sys.argv[1] if len(sys.argv) > 1 else "HEAD"
    git = lambda *words: subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout
    added, removed, changed = collections.Counter(), collections.Counter(), []
    for name in git("diff", "--name-only", "--diff-filter=M", "--relative", commit, "--", "tests/golden/numbers").split():
        before, tables_before = read(git("show", f"{commit}:./{name}"))
        after, tables_after = read(pathlib.Path(name).read_text(encoding="utf-8"))
        shape = lambda path: re.sub(r"\[\d+\]", "[]", path)
        added.update(shape(p) + (" = null" if after[p] == "null" else "") for p in after.keys() - before.keys())
        removed.update(shape(p) for p in before.keys() - after.keys())
        case = pathlib.Path(name).name
        changed += [f"{case}  {p}  {before[p]}  ->  {after[p]}" for p in after if p in before and before[p] != after[p]]
        for t in sorted(tables_before.keys() | tables_after.keys()):
            rows = set(tables_before[t]) ^ set(tables_after[t])
            if rows:
                changed.append(f"{case}  {t}: {len(rows)} rows differ")
    for title, counts in (("added", added), ("removed", removed)):
        for path, n in sorted(counts.items()):
            print(f"{title}  {path}  ({n} times)")
    print("\n".join(changed))


main()
