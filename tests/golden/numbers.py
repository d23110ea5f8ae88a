#!/usr/bin/env python3
"""numbers.py SITE PROSE - print everything of a report except its words, for the numbers golden.

report.json: one line for each object, with its path and its plain members in the order of their names. Numbers stand as they are
written in the file. PROSE is a file of paths whose strings are prose, one a line, with * for any name or index. Of such a string
only whether it is empty is printed. Then every CSV table: the units of its columns, and its rows with prose left out in the same way.
"""
import csv
import json
import pathlib
import re
import sys


class Number(str):
    """A number in the digits of the file."""


def reader_of_prose(file):
    lines = (line.strip() for line in open(file, encoding="utf-8"))
    patterns = [line for line in lines if line and not line.startswith("#")]
    parts = {"*": r"[^.\[\]]+", "[*]": r"\[\d+\]", "**": r".*"}
    def regex(pattern):
        return "".join(parts.get(piece, re.escape(piece)) for piece in re.split(r"(\[\*\]|\*\*|\*)", pattern))
    return re.compile("|".join(f"(?:{regex(p)})" for p in patterns))


def show(path, value, prose):
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, str):
        if prose.fullmatch(path):
            return "~" if value else '""'
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(value)  # true, false, null


def walk(path, value, prose, out):
    if isinstance(value, dict):
        plain, below = [], []
        for key in sorted(value):
            inner = f"{path}.{key}" if path else key
            v = value[key]
            if isinstance(v, (dict, list)):
                below.append((inner, v))
            else:
                plain.append(f"{key}={show(inner, v, prose)}")
        out.append(" ".join([path or "report.json"] + plain) + ("" if value else " {}"))
        for inner, v in below:
            walk(inner, v, prose, out)
    elif all(not isinstance(v, (dict, list)) for v in value):
        out.append(f"{path} = [" + ", ".join(show(f"{path}[{i}]", v, prose) for i, v in enumerate(value)) + "]")
    else:
        for i, v in enumerate(value):
            walk(f"{path}[{i}]", v, prose, out)


NUMBER = re.compile(r"[-+]?\d[\d,]*(\.\d+)?(e[-+]?\d+)?|[-+]?nan|[-+]?inf", re.I)


def table(site, file, out):
    rows = list(csv.reader(open(file, newline="", encoding="utf-8"), strict=True))
    units = [(re.search(r"\(([^()]*)\)\s*$", cell) or [None, "-"])[1] for cell in rows[0]]
    out.append(f"{file.relative_to(site)}: {len(rows) - 1} rows, units " + " | ".join(units))
    for row in rows[1:]:
        out.append("  " + " | ".join(cell if NUMBER.fullmatch(cell) else "~" if cell else "" for cell in row))


def main():
    site = pathlib.Path(sys.argv[1])
    prose = reader_of_prose(sys.argv[2])
    out = []
    with open(site / "report.json", encoding="utf-8") as f:
        walk("", json.load(f, parse_int=Number, parse_float=Number), prose, out)
    for file in sorted(site.rglob("*.csv")):
        table(site, file, out)
    sys.stdout.write("\n".join(out) + "\n")


main()
