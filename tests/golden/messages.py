#!/usr/bin/env python3
"""messages.py - the messages of the programs, read from the sources.

    messages.py                 print them as tests/golden/messages.txt holds them
    messages.py check           what is wrong with them, a line each; exit status 1 when something is
    messages.py provoked DIR LIST  counts those that tests provoked, and lists the others in the file LIST; exit status 1 when
                                they are more than LEFT. tests/run calls it after a whole run

A message is the format of a call of the functions in CALLS. It is shown as dcr_say (lib/base/err.h) prints it: "program: what
is wrong. What to do." Words between which the program chooses stand in {a|b}. A mark says why no test has to
provoke a message.

DIR has what the tests saw: unit-* are formats and texts that unit tests made (tests/lib/note_messages.c), said-* are lines that
programs printed and notes that archives hold (tests/lib/wellformed.py).
"""
import os
import re
import subprocess
import sys

# Position of the format among the arguments, and the text that the function adds to it.
CALLS = {"dcr_err_set": (2, "{}"), "dcr_err_sys": (2, "{}"), "dcr_err_file": (2, "{}"), "dcr_err_while": (1, "{}: ..."), "dcr_err_advise": (1, "...; {}"),
         "dcr_say": (1, "{}"), "problem": (1, "{}"), "pack_reason": (1, "{}"), "complain": (0, "{}"), "fail": (1, "{}")}
# Functions of one file that make a part of a message.
PARTS = {"trainer/formats/pickle.c": ("refuse", 1, "cannot read '%s': byte %zu: {}"),
         "trainer/formats/numpy.c": ("bad", 1, "cannot read '%s': {}; save it again with numpy.save")}
PROGRAMS = (("collect/calibrate/", "dccollect calibrate"), ("collect/", "dccollect"), ("render/", "dcreport"),
            ("trainer/", "dcrnn-train"), ("lib/", "any"))
# Scripts and their names in messages. Tests need not provoke these messages.
SCRIPTS = (("slurm/submit", "submit"), ("slurm/profile.sbatch", "profile"), ("collect/series.sh", "make collect"),
           ("collect/demo_fix.sh", "make demo-fix"), ("collect/nodes", "collect/nodes"), ("bundle/make.sh", "make bundle"),
           ("bundle/run_on_device.sh", "run-on-device"))
# Functions that print their first argument, and what they add.
SAYING = {"die": "{}", "fail": "{}", "usage": "{}", "warn": "{}", "cancel": "{}. The jobs queued before it are cancelled.",
          "stays": "{}. Node %s keeps its part of the run in '%s'."}
# Why no test has to provoke a message, as a letter and a pattern of its words.
MARKS = {"M": "memory runs out", "T": "the system gives no thread, process or pipe", "D": "a disk fails or a file changes just then",
         "G": "only an NVIDIA GPU with its driver, or another CPU, can fail so", "B": "only gigabytes of input lead there",
         "K": "only another kernel, another host, a busy one, or one without a library leads there",
         "I": "only a mistake in the program itself leads there"}
MARKED = (("M", r"out of memory|would take more|cannot (draw|start|make) a (picture|PDF)|cannot write a PNG|cannot be read as SQLite"
                r"|of shared memory, neither|as output folder\. Give another"),
          ("T", r"cannot start (the|all|a thread)|no (thread|pipe|process|random number)|cannot make a pipe|has ended: <reason>"
                r"|a process that made pages"),
          ("D", r"cannot (sync|close|cut|rename|keep|move|set the permissions|name the finished|tell the current|find the program's own|map) "
                r"|changed (meanwhile|while)|became shorter|read back the temporary|cannot (remove|replace|create) '%s'|former (site|one)[ ,]"
                r"|^cannot read( a trace)?: |^reading '|beside the archive|part of it was|written earlier|cannot be thinned"
                r"|^cannot write '%s': %s\.$|archive differs from|cannot read windows|: it is damaged\.|^windows '%s': |cannot write a trace: |^'%s' has no array '%s'\.$"),
          ("G", r"^NVML|version code|cublasGetProperty|It must be NCCL's|compute capability|need instructions|CUDA: |need NCCL|NCCL_DEBUG"
                r"|: ncclAll|: ncclComm|ncclGetUniqueId failed|no CUDA device|the NVIDIA driver (is|here)|has no NVIDIA driver"),
          ("B", r"is larger than %zu|more than %d (MiB|files)|over 256 MiB|a line is longer|too large for (cuBLAS|this back end)"),
          ("K", r"names no whole disk|controllers have more than|has no MemTotal|does not begin with the times|no cpu controller|does not count throttling"
                r"|killed on another host|End its name in \.tar\.|(no|without) libhdf5|the host of rank 0 answered|reports do not use disturbed|and %d more"
                r"|a rank on %s|are still being summed up"),
          ("I", r"raise (GPU_)?MAX_|backward was called|ncclAllReduce after|has failed before|cannot be the name of|no batch after"
                r"|gradients, but there is room|refusing to remove|samples was given|trace that this program reads"
                r"|the JSON of a line is not an object"))
# Messages that are neither provoked nor marked. The number may only go down.
LEFT = 4  # a whole run left none; some come only when a test meets a process at the right moment
# Faults with several messages: the pattern that identifies them, and the one wording.
WORDINGS = ((r"needs? a value", r"^option '%[^']*' needs a value\. See `[\w -]+ --help`\."),
            (r"\b(no|not enough) memory (for|to|or)\b", r"out of memory"),
            (r"\b(name|path)\b.*too long", r"\bthe name (.*)?is too long\b|path is too long or not UTF-8"),
            (r"\b(no|not|not well-formed) JSON\b", r"\b(it|line %zu|its manifest) is not JSON\b"),
            (r"JSON.* object\b", r"JSON( of a line)? is not an object\b"),
            (r"no (option|command|metric|threshold|theme|scenario) '", r"^unknown "),
            (r"\bnewer\b|\bup to .*version|version .*up to\b",
             r"^cannot read '%s': (format|calibration|trace) version %\w+, this program reads up to %d\. Use a later version of dcreport\.$"),
            (r"'[^']*: give |give a .*number|must be (a whole number|%)|cannot simulate|[Cc]hoose (\d|one in between)", r"\btakes\b"),
            (r"\b(a folder .*in the way|is a folder)\b", r"a folder of that name is in the way|it is a folder"),
            (r"\bnot (a )?text\b|(NUL|zero) byte", r" is not text: it holds a NUL byte\. Save it as UTF-8\.$"),
            (r"checksum (does|is)\b|wrong checksum", r" has the wrong checksum\. "),
            (r"cannot (make|create) .*folder", r"^cannot create folder '%s': "),
            (r"not writable|cannot write (\w+ )?(in|into|beside)\b", r"^cannot write into folder '%s': "),
            (r"already exists|is there already|overwritten", r" exists and is not (.*, so it is not )?overwritten\. |which would be overwritten\. "),
            (r"has %\w+ cell", r" has %\w+ cell\{\|s\}( instead of |: not a list)"),
            (r"(?<!there )\bis (no|not a|a file, not a) (folder|run archive)\b", r"\bis not a (folder|run archive)\b"),
            (r"another( name)? with -o|with -o: |[Nn]ame another\.", r"[Gg]ive another folder with -o"))

# Messages that need no second sentence: why, and the pattern of their words or of their file.
NO_ADVICE = (("the sentence itself says what to give", r" takes .*, not ['%]|^--\S+( \w+\|\S+)? (yes )?needs --|^--\{.* needs --"),
             ("the user has nothing to do", r"^note: |is the same run as"),
             ("a fact of the run, which manifest and report keep", r"^collect/(pack/(judge|summarize)|drain/)"),
             ("the reason why a monitor has no data, which the report cites", r"^collect/(monitor|record/(nvml|procfs))|^a counter of|is not packed: "
                                                                              r"|could not be read: |the record '%s' cannot be read"),
             ("its caller adds the advice, or the words that it inserts have it",
              r"^cannot anonymise '%s': %|: byte %zu: |the limit is not %s|^warning: |: cannot (read|write) '%s': %s\.$|^cannot write '%s': %s\.$"
              r"|template '%s' line %d: %s|profiled nothing: %|^rank %d on %s: (%s failed: )?%s\.$"),
             ("no user leads there", r"^a picture of %|windows '%s' have no window"))

# The same of scripts: what to give stands in the sentence; the line is itself advice, a command to copy; a further
# sentence is put in; a command of the script itself failed.
SCRIPT_ADVICE = r" takes .*, not '|^copy and pack it later with: |\.%s$|^bundle/make\.sh failed at: "
SCRIPT_WORDINGS = ((r"(needs|wants|takes) a value", r"^option '%s' needs a value\. See "), (r"no option|not an option", r"^unknown option '%s'\. "),
                   (r"\b(is|holds) '%s', not |is not a number|\bnot a (number|rate)\b|can be tried", r" takes .*, not '%s'\."),
                   (r"cannot (make|create)\b", r"^cannot create (folder '%s'( on %s)?|a temporary folder)\. "),
                   (r"not writable|cannot write (in|into)\b", r"^cannot write into folder '%s'( on %s)?\. "),
                   (r"already exists|is there already|overwritten", r"' exists and is not overwritten\. "),
                   (r"\bis no folder|is not a folder", r"^'%s' is not a folder"),
                   (r"^no (%s|dc\w+|\w+) in '", r"^no \S+ in '%s'( on %s)?\. Run make, or set DCREPORT_BIN to a folder that all nodes see\.$"),
                   (r"Name another|Set \w+ to another", r"Set \w+ to another folder\."))

STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
CONVERSION = re.compile(r"%(?:%|[-+ #0]*(\*|\d+)?(?:\.(\*|\d+))?(?:hh|h|ll|l|j|z|t|L)?[a-zA-Z])")
MACROS = {"PRIu32": "u", "PRId32": "d", "PRIu64": "lu", "PRId64": "ld"}


def sources():
    names = subprocess.run(["git", "ls-files", "*.c", "*.h", "*.cu", "*.cuh"], stdout=subprocess.PIPE, check=True, text=True).stdout
    return [name for name in names.split() if name.startswith(("collect/", "lib/", "render/", "trainer/")) and os.path.exists(name)]


def code_of(path):
    """The text of a source without comments."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    keep = re.compile(r'"(?:[^"\\]|\\.)*"|/\*.*?\*/|//[^\n]*', re.S)
    return keep.sub(lambda m: m[0] if m[0][0] == '"' else " ", text)


def arguments(text, at):
    """The arguments of a call whose "(" ends at `at`."""
    depth, begin, out = 0, at, []
    while at < len(text):
        c = text[at]
        if c == '"':
            at = STRING.match(text, at).end()
            continue
        if c == "'":
            at = text.index("'", at + (3 if text[at + 1] == "\\" else 2))
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            if depth == 0:
                return out + [text[begin:at]]
            depth -= 1
        elif c == "," and depth == 0:
            out.append(text[begin:at])
            begin = at + 1
        at += 1
    return out


def joined(words):
    """The text of neighbouring string literals and macros of literals, or None."""
    out, at = "", 0
    words = words.replace("\\\n", " ").strip()
    token = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|(\w+))')
    while at < len(words):
        m = token.match(words, at)
        if not m or (m[1] is None and m[2] not in MACROS):
            return None
        out += m[1] if m[1] is not None else MACROS[m[2]]
        at = m.end()
    return out.replace('\\"', '"').replace("\\\\", "\\").replace("\\n", "\n") if words else None


def choices(words):
    """The texts between which an expression chooses."""
    whole = joined(words)
    if whole is not None:
        return [whole]
    out, begin = [], None
    for m in re.finditer(r'(?<=[?:(])\s*((?:"(?:[^"\\]|\\.)*"\s*|\b[A-Z_0-9]+\b\s*)+)(?=[:)]|$)', words.strip()):
        text = joined(m[1])
        if text is not None and text not in out:
            out.append(text)
    return out if begin is None else []


def with_choices(form, arguments_):
    """The format with the words of its arguments where the program chooses between words."""
    n = 0

    def shown(m):
        nonlocal n
        if m[0] == "%%":
            return "%%"
        n += (m[1] == "*") + (m[2] == "*")
        words = choices(arguments_[n]) if m[0].endswith("s") and n < len(arguments_) and "?" in arguments_[n] else []
        n += 1
        if len(words) < 2 or any("%" in w for w in words):
            return m[0]
        return "{" + "|".join(words) + "}"

    return CONVERSION.sub(shown, form)


def fault_length(text):
    """As length_of_fault in lib/base/err.c."""
    end, quote = len(text), ""
    for at, c in enumerate(text):
        before, after = text[at - 1:at], text[at + 1:at + 2]
        if not quote:
            if c in '`"' or (c == "'" and not (before.isalnum() or before > "\x7f")):
                quote = c
            elif c == ";" and after == " " and at + 2 < len(text):
                end = at
        elif c == quote and (c != "'" or not (after.isalnum() or after > "\x7f")):
            quote = ""
    return end


def printed(text):
    """As dcr_say prints it."""
    n = fault_length(text)
    if n < len(text):
        text = text[:n] + ". " + text[n + 2].upper() + text[n + 3:]
    return text if text.endswith((".", "?", "...")) else text + "."


class Message:
    def __init__(self, path, program, name, form, shown, frame):
        self.path, self.program, self.name, self.form = path, program, name, form
        self.text = frame.replace("{}", shown).replace("%%", "%")
        if name in ("dcr_err_sys", "dcr_err_file"):
            n = fault_length(self.text)
            advice = self.text[n:] or ("; <advice>" if name == "dcr_err_file" else "")
            self.text = self.text[:n] + ": <reason>" + advice
        self.words = printed(self.text)

    def line(self):
        return f"{self.program}: {self.words}"

    def mark(self):
        return next((letter for letter, pattern in MARKED if re.search(pattern, self.words) or re.search(pattern, self.path)), "")


def read_macros():
    for path in sources():
        with open(path, encoding="utf-8") as f:
            for m in re.finditer(r'^#define (\w+) +((?:"(?:[^"\\]|\\.)*" *|[A-Z_]+ *)+)$', f.read(), re.M):
                if '"' in m[2]:
                    text = joined(m[2])
                    if text is not None:
                        MACROS.setdefault(m[1], text.replace('"', '\\"'))


def messages():
    read_macros()
    found = {}
    for path in sources():
        program = next(name for folder, name in PROGRAMS if path.startswith(folder))
        text = code_of(path)
        calls = dict(CALLS)
        if path in PARTS:
            name, at, frame = PARTS[path]
            calls[name] = (at, frame)
        if not path.startswith("collect/"):
            for name in ("problem", "complain", "fail"):
                calls.pop(name, None)
        for m in re.finditer(r"\b(" + "|".join(calls) + r")\(", text):
            place, frame = calls[m[1]]
            given = arguments(text, m.end())
            if len(given) <= place or "const char *" in given[place]:
                continue
            for form in choices(given[place]):
                shown = with_choices(form, given[place + 1:])
                if re.search(r"[a-zA-Z]{3}", CONVERSION.sub("", shown)):
                    message = Message(path, program, m[1], form, shown, frame)
                    found.setdefault(message.line(), []).append(message)
    return found


def shell_words(text, at):
    """The words of a string in double quotes that begins at `at`, with %s for what the shell puts in, and its end."""
    out = ""
    while text[at] != '"':
        if text[at] == "\\":
            out += "" if text[at + 1] == "\n" else text[at + 1]
            at += 2
        elif text[at] == "$":
            at = shell_value(text, at + 1)
            out += "%s"
        else:
            out += text[at]
            at += 1
    return out, at + 1


def shell_value(text, at):
    """The end of a variable or command behind a $."""
    if text[at] not in "({":
        return re.compile(r"\w+|.").match(text, at).end()
    closing, depth = {"(": ")", "{": "}"}[text[at]], 0
    opening = text[at]
    while True:
        if text[at] == '"':
            _, at = shell_words(text, at + 1)
            continue
        depth += (text[at] == opening) - (text[at] == closing)
        at += 1
        if depth == 0:
            return at


def script_messages():
    """The messages of each script, in their order by program."""
    out = {}
    for path, program in SCRIPTS:
        with open(path, encoding="utf-8") as f:
            text = re.sub(r"^ *#.*$", "", f.read(), flags=re.M)
        rows = out.setdefault(program, set())
        for m in re.finditer(r"\b(" + "|".join(SAYING) + r') "|\becho "' + re.escape(program) + ": ", text):
            words, _ = shell_words(text, m.end())
            if re.search("[a-zA-Z]{3}", words.replace("%s", "")):
                rows.add((SAYING[m[1]] if m[1] else "{}").replace("{}", words))
    return {program: sorted(rows) for program, rows in out.items()}


def table():
    found = messages()
    out = ["# The messages of the programs; tests/golden/messages.py makes this list. Marks of what no test has to provoke:"]
    out += [f"#   {letter}  {why}" for letter, why in MARKS.items()]
    for _, program in PROGRAMS:
        rows = sorted((line, same[0].mark()) for line, same in found.items() if same[0].program == program)
        out += ["", f"# {program if program != 'any' else 'all programs: lib/'}, {len(rows)}"]
        out += [f"{mark or ' '} {line.removeprefix('any: ')}" for line, mark in rows]
    of_scripts = [f"  {program}: {words}" for program, rows in script_messages().items() for words in rows]
    out += ["", f"# scripts, {len(of_scripts)}"] + of_scripts
    return "\n".join(out) + "\n"


def literal(text):
    """Words without names, commands and choices."""
    return re.sub(r"'[^']*'|`[^`]*`|\"[^\"]*\"|\{[^}]*\}", "X", text)


def says_what_to_do(message):
    """Does it have a second sentence, whichever words the program chooses?"""
    words = re.sub(r"`[^`]*`", "X", message.words)
    texts = [literal(re.sub(r"\{([^{}]*\|[^{}]*)\}", lambda m: (m[1].split("|") * 9)[n], words)) for n in range(9)]
    return all(re.search(r"([.?]|;) \S", text) or text.endswith(("...", "?")) for text in texts)


def needs_no_advice(message):
    return message.mark() or any(re.search(pattern, text) for _, pattern in NO_ADVICE for text in (message.words, message.path))


def faults():
    sys.path.insert(0, "tests/lib")
    from voice import BANNED  # pylint: disable=import-outside-toplevel
    out, keys = [], {}
    for line, same in sorted(messages().items()):
        words, plain = same[0].words, literal(same[0].words)
        if re.match(r"[A-Z][a-z]", words):
            out.append(f"begins with a capital: {line}")
        if not says_what_to_do(same[0]) and not needs_no_advice(same[0]):
            out.append(f"does not say what to do: {line}")
        if ";" in plain or re.search(r"\.\.$|\. [a-z]", plain.replace("...", "")):
            out.append(f"is not 'what is wrong. What to do.': {line}")
        out += [f"has the words '{banned}': {line}" for banned in BANNED if banned in plain.lower()]
        out += [f"has another wording than {wanted}: {line}" for known, wanted in WORDINGS
                if re.search(known, words) and not re.search(wanted, words)]
        found, piece = pattern_of(same[0])
        as_printed = re.sub(r"\{([^{}|]*)\|[^{}]*\}", r"\1", CONVERSION.sub("7", words)).lower()
        if piece not in as_printed or not found.search(as_printed):
            out.append(f"would not be found in what a test prints: {line}")
        key = re.sub(r"\b(the|a|an|it|is|has|its|this)\b|%[-.*\d]*[a-z]+|[^a-z ]", " ", words.lower()).split()
        fixed = re.sub(r"\W+", " ", CONVERSION.sub("", words).replace("<reason>", "")).strip()
        other = keys.setdefault(" ".join(key), (fixed, words))
        if len(key) > 2 and other[0] != fixed:
            out.append(f"has nearly the words of another: {line}\n    {other[1]}")
    return out


def script_faults():
    out = []
    for program, rows in script_messages().items():
        for words in rows:
            plain = literal(words)
            if ";" in plain or re.search(r"\.\.$|\. [a-z]", plain):
                out.append(f"is not 'what is wrong. What to do.': {program}: {words}")
            if not re.search(r"[.?] .*([.:]|%s)$", plain) and not re.search(SCRIPT_ADVICE, words):
                out.append(f"does not say what to do: {program}: {words}")
            out += [f"has another wording than {wanted}: {program}: {words}" for known, wanted in SCRIPT_WORDINGS
                    if re.search(known, words) and not re.search(wanted, words)]
    return out


def pattern_of(message):
    """What finds the message in a line that a program printed, and a piece that the line must have, both without regard to case.

    dcr_say makes a full stop of the last semicolon."""
    def loose(words):
        pieces.extend(words.split(";"))
        return re.escape(words).replace(";\\ ", "[;.]\\ ")

    text = message.text.removeprefix("recording stopped: ")  # printed without it where the lost events are counted
    text = text.removesuffix("; <advice>")
    out, pieces, at = "", [""], 0
    for m in re.finditer(r"\{([^{}]*\|[^{}]*)\}|<reason>|\.\.\.$|" + CONVERSION.pattern, text):
        out += loose(text[at:m.start()])
        at = m.end()
        out += ".*" if m[1] is None else "(?:" + "|".join(re.escape(w).replace(";\\ ", "[;.]\\ ") for w in m[1].split("|")) + ")"
    out += loose(text[at:])
    return re.compile(r"(?:^|: |\s|\()" + out, re.I), max(pieces, key=len).lower()


def provoked(folder):
    formats, lines = set(), set()
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as f:
            said = f.read().split("\n")
        if name.startswith("unit-"):
            formats.update(said)
        lines.update(line.lower() for line in said if "%" not in line or not name.startswith("unit-"))
    all_of = messages()
    out = {line for line, same in all_of.items() if any(m.form in formats for m in same)}
    patterns = [(line, same[0].program, *pattern_of(same[0]), len(literal(CONVERSION.sub("", same[0].words.replace("<reason>", "")))))
                for line, same in all_of.items()]
    programs = [name for _, name in PROGRAMS]
    for low in lines:
        speaker = next((name for name in programs if low.startswith(name + ": ")), "any")
        best = {}  # by the place where it begins, because a message may stand inside another one; of several there, the longest counts
        for line, program, pattern, piece, n in patterns:
            m = piece in low and ("any" in (speaker, program) or program == speaker) and pattern.search(low)
            if m:
                place = m.start() if m[0][0] in ":(" or not m.start() else -1
                best.setdefault(place, []).append((n, line))
        for found in best.values():
            out.update(line for n, line in found if n == max(found)[0])
    return out


def tell(folder, path):
    all_of, seen = messages(), provoked(folder)
    missing = [line for line, same in sorted(all_of.items()) if line not in seen and not same[0].mark()]
    marked = sum(1 for line, same in all_of.items() if line not in seen and same[0].mark())
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(line + "\n" for line in missing)
    print(f"messages: {len(all_of)}, found among what the tests said {len(seen)}, of the rest marked {marked}, left {len(missing)}")
    if len(missing) > LEFT:
        print(f"    {LEFT} may be left: provoke the new ones by a test, or mark them in {__file__}. Those of {path}:")
        print("".join(f"    {line}\n" for line in missing), end="")
    return len(missing) > LEFT


def main():
    if sys.argv[1:2] == ["check"]:
        wrong = faults() + script_faults()
        print("\n".join(wrong) if wrong else "all messages keep their form")
        return 1 if wrong else 0
    if sys.argv[1:2] == ["provoked"]:
        return int(tell(sys.argv[2], sys.argv[3]))
    sys.stdout.write(table())
    return 0


if __name__ == "__main__":
    sys.exit(main())
