#!/usr/bin/env python3
"""wellformed.py - are the outputs of our programs well formed?

    wellformed.py FILE...               look at files as outputs; one line a fault, exit status 1
    wellformed.py --serve DIR TOP PID   for tests/lib/tap.sh: watches the folder TOP for the script PID, over two FIFOs in DIR,
                                        in the background; ends with the script

"scan" on the first FIFO reads new files below TOP and answers at once, so that the script may delete them; they are checked
afterwards. "end" answers with the counts and writes the faults to DIR/faults. Only outputs are checked. They are recognised by
their content: the list of a site, the seal of an archive, the programs' names. Equal contents are checked once, also by other
scripts of a run of tests/run: the folder WELLFORMED_SEEN has an empty file for every content that had no fault. Printed messages,
and the sentences in manifest and metadata of an archive, are kept in the folder MESSAGES_SEEN, for tests/golden/messages.py.

Text is UTF-8 without control characters. Printed messages have no format characters either, since these could reverse a line
on a terminal. JSON is strict, CSV strict and rectangular, SVG and JUnit are XML. HTML is parsed by gumbo, which reports the
parse errors of the standard, then by tidy, which reports elements, attributes and nesting that the standard does not have.
"""
import csv
import ctypes
import fnmatch
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import threading
import time
import xml.parsers.expat

CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff]")
FORMATS = re.compile("[\xad\u0600-\u0605\u061c\u06dd\u070f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
                     "\U000e0000-\U000e007f]")
# First words of the programs' messages.
SPOKEN = re.compile(rb"^(?:(?:dcreport|dccollect(?:[ -]calibrate)?|dcrnn-train|Note|FAILS|not measured|recording stopped): "
                    rb"|Open .*index[.]html$|done: \d+ steps|epoch \d+: |  program   |.*: FAILED, \d+ problems?$|  WRONG     )", re.M)
LARGEST = 64 << 20  # larger files are traces or exports of traces


# ---- one function per kind: bytes -> list of faults in words -------------------------------------------
def text(data):
    try:
        words = data.decode("utf-8")
    except UnicodeDecodeError as e:
        line = data.count(b"\n", 0, e.start) + 1
        around = data[max(0, e.start - 20):e.start + 20].decode("utf-8", "backslashreplace")
        return None, [f"line {line}: no UTF-8: '{around}'"]
    wrong = CONTROLS.search(words)
    if wrong:
        line = words.count("\n", 0, wrong.start()) + 1
        return words, [f"line {line}: the control character U+{ord(wrong[0]):04X}"]
    return words, []


def plain_faults(data):
    return text(data)[1]


def message_faults(data):
    words, faults = text(data)
    wrong = FORMATS.search(words or "")
    if wrong:
        line = words.count("\n", 0, wrong.start()) + 1
        faults = faults + [f"line {line}: the format character U+{ord(wrong[0]):04X}"]
    return faults


def once(pairs):
    keys = dict(pairs)
    if len(keys) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError("the key '%s' twice" % next(n for n in names if names.count(n) > 1))
    return keys


def no_number(name):
    raise ValueError(f"{name} is no number of JSON")


STRICT = json.JSONDecoder(object_pairs_hook=once, parse_constant=no_number)


def json_faults(data):
    words, faults = text(data)
    if faults:
        return faults
    try:
        value = STRICT.decode(words)
        if "\\ud" in words.lower():
            json.dumps(value, ensure_ascii=False).encode()  # half of a surrogate pair is not a character
    except (ValueError, RecursionError) as e:
        return [f"no JSON: {e}"]
    return []


def jsonl_faults(data):
    faults = [] if data.endswith(b"\n") else ["the last line has no end"]
    for number, line in enumerate(data.splitlines(), 1):
        faults += [f"line {number}: {fault}" for fault in json_faults(line)]
    return faults


def js_faults(data):
    """The data of a timeline: a call with JSON. Other JavaScript is part of the pages."""
    if not data.startswith(b"dcreport("):
        return plain_faults(data)
    end = data.rstrip()
    if not end.endswith(b");"):
        return ["the call of dcreport() has no end"]
    return json_faults(b"[" + end[len(b"dcreport("):-2] + b"]")


def csv_faults(data):
    words, faults = text(data)
    if faults:
        return faults
    if not words.endswith("\n"):
        faults.append("the last line has no end")
    rows = csv.reader(io.StringIO(words, newline=""), strict=True)
    width = 0
    try:
        for row in rows:
            width = width or len(row)
            if len(row) != width or not row:
                faults.append(f"line {rows.line_num}: {len(row)} fields instead of {width}")
                break
    except csv.Error as e:
        faults.append(f"line {rows.line_num}: {e}")
    return faults if width or faults else ["empty"]


def xml_faults(data):
    faults = plain_faults(data)
    try:
        xml.parsers.expat.ParserCreate().Parse(data, True)
    except xml.parsers.expat.ExpatError as e:
        faults.append(f"no XML: {e}")
    return faults


def png_faults(data):
    whole = data.startswith(b"\x89PNG\r\n\x1a\n") and data.endswith(b"IEND\xaeB`\x82")
    return [] if whole else ["no whole PNG"]


def pdf_faults(data):
    return [] if data.startswith(b"%PDF-") and data.rstrip().endswith(b"%%EOF") else ["no whole PDF"]


# ---- HTML ---------------------------------------------------------------------------------------------
class GumboVector(ctypes.Structure):
    _fields_ = [("data", ctypes.POINTER(ctypes.c_void_p)), ("length", ctypes.c_uint), ("capacity", ctypes.c_uint)]


class GumboOutput(ctypes.Structure):
    _fields_ = [("document", ctypes.c_void_p), ("root", ctypes.c_void_p), ("errors", GumboVector)]


class GumboError(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("line", ctypes.c_uint), ("column", ctypes.c_uint), ("offset", ctypes.c_uint)]


class TidyBuffer(ctypes.Structure):
    _fields_ = [("allocator", ctypes.c_void_p), ("bp", ctypes.c_char_p), ("size", ctypes.c_uint), ("allocated", ctypes.c_uint),
                ("next", ctypes.c_uint)]


def gumbo_faults(data):
    lib = html_faults.gumbo
    default = ctypes.addressof(ctypes.c_char.in_dll(lib, "kGumboDefaultOptions"))
    output = lib.gumbo_parse_with_options(default, data, len(data))
    errors = output.contents.errors
    faults = []
    for i in range(min(errors.length, 5)):
        e = ctypes.cast(errors.data[i], ctypes.POINTER(GumboError)).contents
        faults.append(f"line {e.line}, column {e.column}: the parser had to repair '"
                      f"{data[max(0, e.offset - 30):e.offset + 30].decode('utf-8', 'replace')}'".replace("\n", " "))
    lib.gumbo_destroy_output(default, output)
    return faults


# Wrong warnings of tidy 5.6: it does not know the attributes of SVG, nor all of ARIA, nor a div that groups terms in a dl.
# gumbo finds unpaired div tags.
TIDY_IS_OLD = re.compile(
    r"<svg> proprietary attribute|proprietary attribute \"aria-current\""
    r"|missing </dl> before </div>|missing </div> before <dt>|inserting implicit <dl>|missing <dd>"
    r"|trimming empty <ul>")  # which a script fills


def tidy_faults(data):
    lib = html_faults.tidy
    doc = lib.tidyCreate()
    said = TidyBuffer()
    lib.tidyBufInit(ctypes.byref(said))
    lib.tidySetErrorBuffer(doc, ctypes.byref(said))
    lib.tidyOptParseValue(doc, b"input-encoding", b"utf8")
    lib.tidyOptParseValue(doc, b"quiet", b"yes")
    lib.tidyOptParseValue(doc, b"show-errors", b"50")
    lib.tidyParseString(doc, data)
    lib.tidyCleanAndRepair(doc)
    lib.tidyRunDiagnostics(doc)
    words = ctypes.string_at(said.bp, said.size).decode("utf-8", "replace") if said.size else ""
    lib.tidyBufFree(ctypes.byref(said))
    lib.tidyRelease(doc)
    return [line for line in words.splitlines() if re.search(r"- (Warning|Error): ", line) and not TIDY_IS_OLD.search(line)]


def html_faults(data):
    words, faults = text(data)
    if faults:
        return faults
    if not hasattr(html_faults, "gumbo"):
        html_faults.gumbo = ctypes.CDLL("libgumbo.so.1")
        html_faults.gumbo.gumbo_parse_with_options.restype = ctypes.POINTER(GumboOutput)
        html_faults.gumbo.gumbo_parse_with_options.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
        html_faults.gumbo.gumbo_destroy_output.argtypes = [ctypes.c_void_p, ctypes.POINTER(GumboOutput)]
        html_faults.gumbo.gumbo_destroy_output.restype = None
        html_faults.tidy = ctypes.CDLL("libtidy.so.5deb1")
        html_faults.tidy.tidyCreate.restype = ctypes.c_void_p
        for name, args in (("tidySetErrorBuffer", [ctypes.c_void_p, ctypes.c_void_p]), ("tidyRelease", [ctypes.c_void_p]),
                           ("tidyCleanAndRepair", [ctypes.c_void_p]), ("tidyRunDiagnostics", [ctypes.c_void_p]),
                           ("tidyOptParseValue", [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]),
                           ("tidyParseString", [ctypes.c_void_p, ctypes.c_char_p])):
            getattr(html_faults.tidy, name).argtypes = args
    faults = gumbo_faults(data) + tidy_faults(data)
    for script in re.finditer(r"<script[^>]*type=\"application/json\"[^>]*>(.*?)</script>", words, re.S):
        faults += ["a script of data: " + fault for fault in json_faults(script[1].encode())]
    return faults


# ---- archives -----------------------------------------------------------------------------------------
COLLECTED = {"metadata", "metadata-text", "summary", "rank", "calibration",
             *(f"{what}-monitor" for what in ("cpu", "gpu", "net", "disk", "clock", "process"))}
SEAL = re.compile(rb'("manifest_sha256": ")([0-9a-f]{64})')


NOTES = set()  # notes of the archive that was checked last


def notes_in(value):
    """The sentences in a JSON document."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return {value} if isinstance(value, str) and " " in value else {words for part in parts for words in notes_in(part)}


def archive_faults(data):
    """Members of an archive that is unchanged since dccollect sealed it, except files adopted from other programs."""
    if data[:4] == b"\x28\xb5\x2f\xfd":
        data = subprocess.run(["zstd", "-dcq"], input=data, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout
    try:
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            members = {m.name: tar.extractfile(m).read() for m in tar if m.isfile() and not m.name.endswith(".dct")}
    except (tarfile.TarError, OSError, EOFError):
        return []
    manifest = members.get("manifest.json", b"")
    seal = SEAL.search(manifest)
    if not seal or hashlib.sha256(SEAL.sub(rb"\g<1>" + b"0" * 64, manifest)).hexdigest().encode() != seal[2]:
        return []
    faults = [f"manifest.json: {fault}" for fault in json_faults(manifest)]
    if faults:
        return faults
    NOTES.update(notes_in(json.loads(manifest)))
    for m in json.loads(manifest)["members"]:
        content = members.get(m.get("name"))
        if content is None or m["role"] not in COLLECTED or hashlib.sha256(content).hexdigest() != m["sha256"]:
            continue
        of_member = FAULTS[kind_by_name(m["name"])](content)
        faults += [f"{m['name']}: {fault}" for fault in of_member]
        if m["role"] == "metadata" and not of_member:
            NOTES.update(notes_in(json.loads(content)))
    return faults


# ---- outputs and their kinds --------------------------------------------------------------------------
FAULTS = {"text": plain_faults, "message": message_faults, "json": json_faults, "jsonl": jsonl_faults, "js": js_faults,
          "csv": csv_faults, "xml": xml_faults, "svg": xml_faults, "html": html_faults, "png": png_faults, "pdf": pdf_faults,
          "archive": archive_faults}


def kind_by_name(name):
    if re.search(r"\.tar(\.\w+)?$", name):
        return "archive"
    ending = name.rpartition(".")[2]
    return ending if ending in FAULTS else "text"


def kind_of_output(name, start):
    """The kind of a file outside of sites if one of our programs made it, else None."""
    kind = kind_by_name(name)
    if name == "tap.out":
        return "message"
    if kind == "archive":
        return kind
    if kind == "html":
        return kind if re.search(rb'<meta name="generator" content="dcreport \d', start) else None
    if kind == "xml":
        return kind if b"<testsuites" in start else None
    if kind == "json":
        ours = rb'"dccollect export"|"format": ?"dcreport-(calibration|report)"|"name": ?"dcrnn-train"'
        return kind if re.search(ours, start) else None
    if kind == "csv":
        ours = rb"rank,host,pid,track,kind|epoch,step,.*,allreduce_inflight_ns|epoch,train_loss,.*,validation_time_sec"
        return kind if re.match(ours, start) or name in ("speeds.csv", "distances.csv") else None
    if kind == "text":
        if start.startswith(b"## dcreport"):
            return kind
        return "message" if SPOKEN.search(start) else None
    return None


def faults_of(kind, data):
    try:
        return FAULTS[kind](data)
    except Exception as e:  # pylint: disable=broad-except
        return [f"cannot be checked: {e!r}"]


def listed(folder):
    """The files of a site."""
    try:
        with open(os.path.join(folder, ".dcreport"), encoding="utf-8", errors="replace") as f:
            head, *names = f.read().split("\n")
    except OSError:
        return []
    return [os.path.join(folder, name) for name in (".dcreport", *names) if name] if head.startswith("made by dcreport") else []


def printable(fault):
    return re.sub("[\x00-\x1f\x7f]", "?", fault).encode("ascii", "backslashreplace").decode()


class Watch:
    def __init__(self, top):
        self.top = top
        self.known = set()  # files and their states
        self.cut = set()  # files whose last line has not been checked yet
        self.contents = {}  # checked contents with their faults
        self.waiting = []
        self.faults = {}  # faults by path
        self.seen = os.environ.get("WELLFORMED_SEEN", "")
        self.messages = os.environ.get("MESSAGES_SEEN", "")

    def scan(self, is_last=False):
        if is_last:
            self.known -= self.cut
        folders = [self.top]
        while folders:
            folder = folders.pop()
            try:
                entries = list(os.scandir(folder))
            except OSError:
                continue
            if any(e.name == ".dcreport" for e in entries):
                for path in listed(folder):
                    self.take(path, is_last, is_listed=True)
            for entry in entries:
                if entry.is_file(follow_symlinks=False):
                    self.take(entry.path, is_last)
                elif entry.is_dir(follow_symlinks=False) and not entry.name.endswith(".partial"):
                    folders.append(entry.path)

    def take(self, path, is_last, is_listed=False):
        try:
            self.read(path, is_last, is_listed)
        except OSError:
            pass  # it is gone or not readable

    def read(self, path, is_last, is_listed):
        stat = os.lstat(path)
        key = (path, stat.st_ino, stat.st_mtime_ns, stat.st_size)
        if key in self.known or stat.st_size > LARGEST or (stat.st_size == 0 and not is_listed):
            return
        name = os.path.basename(path)
        self.known.add(key)
        with open(path, "rb", buffering=0) as f:
            start = f.read(65536)
            kind = kind_by_name(name) if is_listed else kind_of_output(name, start)
            if not kind:
                return
            data = start + f.readall()
        if kind == "csv" and not is_listed and not is_last:
            data = data[:data.rfind(b"\n") + 1]  # its program may still be writing
            self.cut.add(key)
            if not data:
                return
        self.waiting.append((path, kind, data))

    def look(self):
        for path, kind, data in self.waiting:
            content = (kind, hashlib.blake2b(data, digest_size=16).digest())
            if content not in self.contents:
                self.contents[content] = self.faults_of_new(kind, data, content[1].hex())
            of_path = self.faults.setdefault(os.path.relpath(path, self.top), [])
            of_path += [fault for fault in self.contents[content] if fault not in of_path]
        self.waiting = []

    def faults_of_new(self, kind, data, name):
        seen = os.path.join(self.seen, f"{kind}-{name}") if self.seen else ""
        if seen and os.path.exists(seen):
            return []
        NOTES.clear()
        faults = faults_of(kind, data)
        said = data[:65536] if kind == "message" else "\n".join(sorted(NOTES)).encode()
        if said and self.messages:
            with open(os.path.join(self.messages, f"said-{name}"), "wb") as f:
                f.write(said)
        if seen and not faults:
            os.close(os.open(seen, os.O_CREAT | os.O_WRONLY, 0o600))
        return faults

    def left(self, damaged):
        return [f"{path}: {fault}" for path, faults in self.faults.items()
                if not any(fnmatch.fnmatch(path, pattern) for pattern in damaged) for fault in faults[:3]]


def end_with(pid, control):
    """End this process when the script has ended in any way."""
    while os.path.exists(f"/proc/{pid}"):
        time.sleep(1)
    shutil.rmtree(control, ignore_errors=True)
    os._exit(0)


def serve(control, top, pid):
    os.chdir("/")
    os.closerange(3, 1024)
    # Opened for reading and writing, so that data stay in the FIFOs while the script has them closed. The script may
    # send requests from now on.
    asked = os.fdopen(os.open(os.path.join(control, "asked"), os.O_RDWR), "rb", buffering=0)
    answers = os.open(os.path.join(control, "answers"), os.O_RDWR)
    if os.fork():
        return
    os.setsid()
    threading.Thread(target=end_with, args=(pid, control), daemon=True).start()
    watch = Watch(top)
    while True:
        words = asked.readline().decode().split()
        if words and words[0] == "end":
            watch.scan(is_last=True)
            watch.look()
            faults = watch.left(words[1:])
            with open(os.path.join(control, "faults"), "w", encoding="utf-8") as f:
                f.writelines(printable(fault) + "\n" for fault in faults)
            os.write(answers, f"{len(faults)} {len(watch.contents)}\n".encode())
            while os.path.exists(control):  # a FIFO without an open end forgets its data
                time.sleep(0.05)
            return
        watch.scan()
        os.write(answers, b"taken\n")
        watch.look()


def main():
    if sys.argv[1:2] == ["--serve"]:
        serve(*sys.argv[2:5])
        return 0
    n_faults = 0
    for path in sys.argv[1:]:
        with open(path, "rb") as f:
            data = f.read()
        kind = kind_by_name(path)
        kind = "message" if kind == "text" and SPOKEN.search(data) else kind
        for fault in faults_of(kind, data):
            n_faults += 1
            print(printable(f"{path}: {fault}"))
    return 1 if n_faults else 0


if __name__ == "__main__":
    sys.exit(main())
