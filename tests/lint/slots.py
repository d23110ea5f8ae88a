#!/usr/bin/env python3
"""slots.py - every PHRASE(ID, ...), REASON, TABLE and FACT of render/ fills the slots that its row declares, in kind and number. A FACT of
which only the name is shown may fill none.

A slot of another kind would leave "{name}" in a report. Slots that are variables are checked if they are made in the same file."""
import re
import sys
from pathlib import Path

SAY = Path("render/say")
ROW = re.compile(r'^([PRTF])\((\w+),\s*(?:"[^"]*",\s*)?(?:NO_SLOTS|SLOTS\((.*?)\))\s*,\s*(?:"|[A-Z_]+_CAPTION)', re.S | re.M)
KIND = re.compile(r"\b(COUNT|THINGS|TIME|PERCENT|RATIO|FACTOR|NUMBER|BYTES|NAME|WHY)\(")
MADE_BY = {"slot_" + kind.lower(): kind for kind in "COUNT THINGS TIME PERCENT RATIO FACTOR NUMBER BYTES NAME".split()}
MADE_BY["slot_reason"] = "WHY"


def rows():
    found = {}
    for path in [*SAY.glob("*.def"), *SAY.glob("phrases/*.def")]:
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
        for name, slots in re.findall(r"^#define (\w+) \\\n\s*(SLOTS\(.*\))$", text, re.M):  # slots that rows share
            text = text.replace(f" {name},", f" {slots},")
        in_file = {(m[1], m[2]): KIND.findall(m[3] or "") for m in ROW.finditer(text)}
        n = len(re.findall(r"^[PRTF]\(\w+,", text, re.M))
        if len(in_file) != n:
            sys.exit(f"{path}: {len(in_file)} of {n} rows are understood")
        found.update(in_file)
    return found


def arguments(text, at):
    """What stands between commas up to the parenthesis that closes."""
    depth, quote, out = 0, "", [""]
    while quote or depth or text[at] != ")":
        c = text[at]
        if quote:
            if c == "\\":
                out[-1] += c
                at += 1
                c = text[at]
            elif c == quote:
                quote = ""
        elif c in "\"'":
            quote = c
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif c == "," and not depth:
            out.append("")
            at += 1
            continue
        out[-1] += c
        at += 1
    return [a.strip() for a in out]


def kinds(argument, text):
    """The kinds that a slot can have; empty: not known."""
    call = re.match(r"(slot_\w+)\(", argument)
    if call:
        return {MADE_BY.get(call[1])} - {None}
    if re.fullmatch(r"\w+", argument):
        made = re.findall(rf"\b{argument} = (slot_\w+)\(", text)
        return {MADE_BY[m] for m in made if m in MADE_BY}
    return set()


def main():
    declared, n, bad = rows(), 0, 0
    for path in sorted(Path("render").rglob("*.c")):
        text = path.read_text()
        for m in re.finditer(r"\b(PHRASE|REASON|TABLE|FACT)\(", text):
            name, *slots = arguments(text, m.end())
            want = declared.get((m[1][0], name))
            if want is None or any("PER_STEP" in s for s in slots):  # PHRASE(NONE); a macro for several slots
                continue
            if m[1] == "FACT" and not slots:
                continue
            n += 1
            wrong = len(want) != len(slots) or any(k and w not in k for w, k in zip(want, (kinds(s, text) for s in slots)))
            if wrong:
                print(f"{path}:{text.count(chr(10), 0, m.start()) + 1}: {name} has the slots ({', '.join(want)})")
            bad += wrong
    print(f"{n} phrases, reasons, tables and facts of {len(declared)} rows")
    sys.exit(1 if bad or not n else 0)


main()
