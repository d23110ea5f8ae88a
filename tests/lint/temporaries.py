#!/usr/bin/env python3
"""temporaries.py - no pointer is kept into a record that a function returned: in C that record ends with its expression.

    temporaries.py FILE.gimple...    each written by gcc -fdump-tree-gimple-lineno=FILE.gimple

`const char *s = fmt_time(ns).text;` compiles without a warning, and s points to nothing. So does the same in a return, a
member, a conditional expression, or an argument of a function that keeps or returns its argument. gcc writes each function
in three-address code (GIMPLE), where the returned record is a variable of its own, `D.12 = fmt_time (ns);`, and every copy of
a pointer into it is an assignment. The script follows these over all files at once, and finds in the same way which function
keeps or returns which of its parameters. It does not follow calls by a function pointer, nor copies made with memcpy.

Prints "file:line:column: what" for each and exits with 1; exits with 2 when a file cannot be read. Prints the number of
records that it followed, so that a reader sees that something was checked."""
import re
import sys

PLACE = re.compile(r"\[([^][\s]+:\d+:\d+)\] ")
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
NAME = r"(?:<retval>|[A-Za-z_]\w*\.\d+(?:_\d+)?|[A-Za-z_]\w*)"
VALUE = re.compile(rf"^(?:\([^()]*\) )?(&?)({NAME})((?:\.[A-Za-z_]\w*|\[[^]]*\])*)(?: \+ .*)?$")
CALL = re.compile(rf"^(?:\([^()]*\) )?({NAME}) \((.*)\)$")
TARGET = re.compile(rf"^({NAME})((?:\.[A-Za-z_]\w*|\[[^]]*\])*)$")
HEADER = re.compile(r"^(?!\s|\[|;)(.*?)(\w+) \((.*)\)$")
DECLARED = re.compile(rf"^(?:static )?([\w ]+?[ *]+(?:const )?|.*\*\s*)({NAME})(?:\[.*)?$")
# Functions of libc that return a pointer into their first argument, and those that keep it.
LIBC_RETURNS = {name: {0} for name in ("strchr", "strrchr", "strstr", "strcasestr", "strpbrk", "memchr", "strchrnul", "basename")}
LIBC_KEEPS = {name: {0} for name in ("putenv",)}


def is_temporary(name):
    return "." in name or re.fullmatch(r"_\d+|<retval>", name)


def split(arguments):
    out, depth, last = [], 0, 0
    for i, c in enumerate(arguments):
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            out.append(arguments[last:i].strip())
            last = i + 1
    return out + [arguments[last:].strip()] if arguments.strip() else []


class Function:
    """One function: its parameters, the types of its variables, and its assignments, calls and returns."""

    def __init__(self, file, name, parameters):
        self.file, self.name = file, name
        self.types, self.parameters, self.moves, self.records = {}, [], [], {}
        for p in split(parameters):
            self.parameters.append(self.declare(p) if DECLARED.match(p) else "")

    def declare(self, text):
        type_, name = DECLARED.match(text).groups()
        self.types[name] = type_ + ("*" if "[" in text else "")
        return name

    def may_hold(self, name):
        """Only pointers and records lead to other memory."""
        type_ = self.types.get(name, "*")
        return "*" in type_ or type_.startswith(("struct ", "union ", "const struct ", "const union "))

    def read(self, place, text):
        """A statement as (place, target or "return" or None, value, called function, arguments)."""
        if text.startswith("return "):
            self.moves.append((place, "return", text[7:], None, []))
            return
        target, value = text.split(" = ", 1) if " = " in text else (None, text)
        call = CALL.match(value)
        if not call and target is None:
            return
        if target and is_temporary(target) and TARGET.match(target) and not value.startswith("{"):
            if self.types.get(target, "").startswith(("struct ", "union ")):
                self.records[target] = call.group(1) if call else "an expression"
        self.moves.append((place, target, None if call else value, call and call.group(1), split(call.group(2)) if call else []))

    def holders(self, start, program, into_records):
        """Follows pointers from `start` (name -> what it holds): (place, how, what, where to) of all that leave."""
        held = {name: set(what) for name, what in start.items()}

        def held_by(value):
            m = VALUE.match(value)
            if not m:
                return set()
            address, name, path = m.groups()
            if into_records and address and name in self.records:
                return {self.records[name]} | held.get(name, set())
            return held.get(name, set())

        left, grew = set(), True
        while grew:
            grew = False
            for place, target, value, called, arguments in self.moves:
                what = held_by(value) if value else set()
                for i, argument in enumerate(arguments):
                    passed = held_by(argument)
                    if passed:
                        left |= {(place, "kept", w, f"by {called}()") for w in passed if i in program.kept(self.file, called)}
                        if i in program.returned(self.file, called):
                            what = what | passed
                if not what or target is None:
                    continue
                m = TARGET.match(target)
                if target == "return":
                    left |= {(place, "returned", w, "") for w in what}
                elif not m or m.group(1) not in self.types and m.group(1) != "<retval>" and not is_temporary(m.group(1)):
                    left |= {(place, "kept", w, f"in '{target}'") for w in what}
                elif self.may_hold(m.group(1)):
                    name = m.group(1)
                    if name == "<retval>":
                        left |= {(place, "returned", w, "") for w in what}
                    elif into_records and not is_temporary(name):
                        left |= {(place, "kept", w, f"in '{target}'") for w in what}
                    if not what <= held.setdefault(name, set()):
                        held[name] |= what
                        grew = True
        return left


class Program:
    def __init__(self, functions):
        self.by_name = {}
        for f in functions:
            self.by_name.setdefault(f.name, []).append(f)
            f.keeps, f.returns = set(), set()
        grew = True
        while grew:
            grew = False
            for f in functions:
                start = {p: {i} for i, p in enumerate(f.parameters) if p and f.may_hold(p)}
                for _, how, i, _ in f.holders(start, self, False):
                    to = f.keeps if how == "kept" else f.returns
                    grew |= i not in to
                    to.add(i)

    def called(self, file, name):
        all_ = self.by_name.get(name, [])
        return [f for f in all_ if f.file == file] or all_

    def kept(self, file, name):
        return set().union(LIBC_KEEPS.get(name, set()), *(f.keeps for f in self.called(file, name)))

    def returned(self, file, name):
        return set().union(LIBC_RETURNS.get(name, set()), *(f.returns for f in self.called(file, name)))


def functions_of(file):
    out, f = [], None
    with open(file, encoding="utf-8", errors="replace") as dump:
        lines = dump.read().split("\n")
    for line in lines:
        at = PLACE.search(line)
        header = HEADER.match(line) if not at else None
        if header:
            f = Function(file, header.group(2), header.group(3))
            out.append(f)
            continue
        text = STRING.sub('""', PLACE.sub("", line)).strip().replace(" [return slot optimization]", "")
        if f is None or not text.endswith(";"):
            continue
        text = text[:-1].strip()
        if at:
            f.read(at.group(1), text)
        elif DECLARED.match(text):
            f.declare(text)
    return out


def main():
    files = sys.argv[1:]
    try:
        functions = [f for file in files for f in functions_of(file)]
    except OSError as error:
        print(f"temporaries.py: {error}; gcc -fdump-tree-gimple-lineno writes it", file=sys.stderr)
        sys.exit(2)
    program = Program(functions)
    faults = sorted({(place, how, what, where) for f in functions for place, how, what, where in f.holders({}, program, True)})
    for place, how, what, where in faults:
        print(f"{place}: a pointer into what {what}{'()' if ' ' not in what else ''} gave is {how}{' ' + where if where else ''};"
              " it ends with the expression. Copy the record into a variable first, or the text with report_text().")
    print(f"{sum(len(f.records) for f in functions)} returned records in {len(functions)} functions of {len(files)} files", file=sys.stderr)
    sys.exit(1 if faults else 0)


main()
