#!/usr/bin/env python3
"""Rules of language for the report's prose. Prints every sentence that breaks a rule and exits with 1.

    voice.py phrasebook FILE        the rows of `dcreport --phrasebook`
    voice.py page FILE [--open N]   an HTML page: its open prose, and at most N open words
    voice.py site FOLDER            the front page, those of runs, of scaling and of the comparison, with the limits of the first two

A row that ends without a full stop is a headline. Open words are those that a reader sees without a click: the text of
the page outside script, style, svg, nav, footer and closed details with their summaries; tables count, but are no prose."""
import re
import sys
from difflib import SequenceMatcher
from html.parser import HTMLParser
from pathlib import Path

INDEX_WORDS, RUN_WORDS = 450, 350
TABLE_COLUMNS = 7  # except tables of other tools, which are shown unchanged
HEADLINE_WORDS, SENTENCE_WORDS, PARAGRAPH_SENTENCES, REPEATED_WORDS, VALUES = 16, 22, 3, 8, 2
CAPTION_SENTENCES = 4  # in a table's caption, which also explains its columns
VARIANTS = 4  # variants of one sentence in the phrase book; more of them are another statement
ALIKE, LEAST_WORDS = 0.75, 5  # rows of at least that many words are variants if this part of them is equal
OPENINGS = ("Of the ", "By the ", "What ")
QUESTIONS = ("?",)  # a heading such as "What to do first" is not a sentence
BANNED = ("behind that", "but for", "in full", "of its own", "as far as", "in the mean", "promised", "n/a", "who waits",
          "what it", "who it", "is none")
UNIT = r"(?:ns|us|ms|s|min|h|%|x|(?:[kMGT]i?)?B(?:/s)?|[kMG]bit/s|samples/s|GFLOP/s|W|K)"
NUMBER = r"[<>]? ?-?\d[\d,]*(?:\.\d+)?"
VALUE = re.compile(rf"{NUMBER} ?{UNIT}(?![\w])|(?<![\w.]){NUMBER}(?<=\.\d)(?![\w%])|(?<![\w.])\d+\.\d+(?![\w%])")
INTERVAL = re.compile(rf"(?:\d+ % interval )?{NUMBER}(?: ?{UNIT})? to {NUMBER} ?{UNIT}?(?![\w])")


def words(text):
    return [w for w in re.sub(r"(?<=\d) (?=(?:%s)(?![\w]))" % UNIT, "", text).split() if re.search(r"\w", w)]


def sentences(text):
    return [s.strip() for s in re.split(r"(?<=[.!?])[)\"']?\s+(?=[A-Z0-9\"'`(†‡])", text) if s.strip()]


def values(sentence):
    """Measured quantities: an interval is one, and a third is allowed where it is the ratio of the other two."""
    left, n_intervals = INTERVAL.subn("", sentence)
    found = VALUE.findall(left)
    n = len(found) + (n_intervals if not re.search(r"% interval", sentence) else 0)
    is_ratio = any(re.search(r"[%x]$", f) for f in found)
    return n - (n == 3 and is_ratio)


def faults(sentence, is_headline=False):
    most = HEADLINE_WORDS if is_headline else SENTENCE_WORDS
    n = len(words(sentence))
    if n > most:
        yield f"{n} words, at most {most}"
    if values(sentence) > VALUES:
        yield f"more than {VALUES} values"
    if len(re.findall(r"(?<![\w.])\(", sentence)) > 1:  # parentheses of a call belong to its name
        yield "more than one parenthesis"
    if ";" in sentence:
        yield "a semicolon"
    for opening in OPENINGS:
        if sentence.startswith(opening) and not sentence.endswith(QUESTIONS):
            yield f"opens with '{opening.strip()}'"
    for word in BANNED:
        if re.search(rf"(?<!\w){re.escape(word)}(?!\w)", sentence, re.IGNORECASE):
            yield f"'{word}'"
    if re.search(r"(?<![\w.,-])1 (?!of |in )[a-z]+[^s\W]s\b(?! )", sentence) and re.search(
            r"(?<![\w.,-])1 (nodes|ranks|steps|cores|runs|kernels|files|GPUs|threads)\b", sentence):
        yield "a plural of 1"
    if "  " in sentence or re.search(r" \.(?!\w|/)", sentence) or ".." in sentence.replace("...", ""):
        yield "spaces or full stops"


class Page(HTMLParser):
    """Blocks of open text, headings apart."""
    HIDDEN = {"script", "style", "svg", "nav", "footer", "template", "title"}
    BLOCKS = {"p", "li", "dd", "dt", "figcaption", "h1", "h2", "h3", "h4", "div", "section", "ul", "ol", "dl", "summary", "figure", "td", "th", "caption", "pre"}
    VOID = {"br", "img", "meta", "link", "input", "hr", "col", "source", "wbr"}

    def __init__(self):
        super().__init__()
        self.stack, self.blocks, self.text, self.kind = [], [], [], ""
        self.of_other_tools, self.columns, self.wide = 0, [], []  # wide: heads of tables with too many columns

    def is_open(self):
        if any(tag in self.HIDDEN for tag, _ in self.stack):
            return False
        return not any(tag == "details" and is_closed for tag, is_closed in self.stack)

    def flush(self):
        text = re.sub(r"\s+", " ", "".join(self.text)).strip()
        if text:
            is_table = any(tag == "table" for tag, _ in self.stack)
            self.blocks.append(("cell" if is_table else self.kind, text))
        self.text = []

    def handle_starttag(self, tag, attrs):
        if tag in self.BLOCKS:
            self.flush()
            self.kind = tag
        if tag not in self.VOID:
            self.stack.append((tag, "open" not in dict(attrs)))
        if dict(attrs).get("id") == "evidence":
            self.of_other_tools = len(self.stack)
        if tag == "table":
            self.columns = []
        if tag == "th" and dict(attrs).get("scope") == "col":
            self.columns.append("")

    def handle_endtag(self, tag):
        if tag in self.BLOCKS:
            self.flush()
        while self.stack and self.stack.pop()[0] != tag:
            pass
        if len(self.stack) < self.of_other_tools:
            self.of_other_tools = 0
        if tag == "table" and len(self.columns) > TABLE_COLUMNS and not self.of_other_tools:
            self.wide.append(" | ".join(self.columns))

    def handle_data(self, data):
        if self.columns and self.stack and self.stack[-1][0] == "th" and not self.columns[-1]:
            self.columns[-1] = data
        if self.is_open() and "main" in [tag for tag, _ in self.stack]:
            self.text.append(data)


def check_page(path, most_words):
    page = Page()
    with open(path, encoding="utf-8") as f:
        page.feed(f.read())
    page.flush()
    found, seen = [(head, f"a table of {head.count(' | ') + 1} columns") for head in page.wide], {}
    n_words = sum(len(words(text)) for _, text in page.blocks)
    for kind, text in page.blocks:
        is_prose = kind in ("p", "li", "dd", "figcaption")
        if kind == "h1":
            found += [(text, fault) for fault in faults(text, True)]
        if not is_prose:
            continue
        parts = sentences(text)
        if len(parts) > PARAGRAPH_SENTENCES:
            found.append((text, f"{len(parts)} sentences, at most {PARAGRAPH_SENTENCES}"))
        for s in parts:
            found += [(s, fault) for fault in faults(s)]
            if len(words(s)) >= REPEATED_WORDS:
                seen[s] = seen.get(s, 0) + 1
    found += [(s, f"{n} times on the page") for s, n in seen.items() if n > 1]
    if most_words and n_words > most_words:
        found.append(("the page", f"{n_words} open words, at most {most_words}"))
    print(f"{path}: {n_words} open words")
    return found


def check_site(folder):
    found = check_page(folder / "index.html", INDEX_WORDS)
    for page in sorted(folder.glob("runs/*/index.html")):
        found += check_page(page, RUN_WORDS)
    for page in sorted(folder.glob("runs/*/devices.html")):
        found += check_page(page, 0)
    for name in ("scaling.html", "compare.html"):
        if (folder / name).exists():
            found += check_page(folder / name, 0)
    return found


def families(rows):
    """Rows in sets that say nearly the same: each is a variant of another one of its set. The book prints some rows twice."""
    by_name = {row.split(": ", 1)[0]: row for row in rows}
    texts = [(VALUE.sub("0", row.split(": ", 1)[1]).split(), row) for row in by_name.values()]
    texts = [t for t in texts if len(t[0]) >= LEAST_WORDS]
    family = list(range(len(texts)))

    def first(i):
        while family[i] != i:
            i = family[i]
        return i

    for i, (mine, _) in enumerate(texts):
        alike = SequenceMatcher(None, b=mine, autojunk=False)
        for j in range(i):
            alike.set_seq1(texts[j][0])
            if alike.real_quick_ratio() >= ALIKE and alike.quick_ratio() >= ALIKE and alike.ratio() >= ALIKE:
                family[first(i)] = first(j)
    sets = {}
    for i, (_, row) in enumerate(texts):
        sets.setdefault(first(i), []).append(row)
    return sets.values()


def check_phrasebook(path):
    found = []
    with open(path, encoding="utf-8") as f:
        part = f.read().split("\n\n")
    rows = part[part.index("Phrases: the sentences of findings") + 1].splitlines()
    rows += part[part.index("Notes: what to mind and what is missing") + 1].splitlines()
    rows += part[part.index("Causes: how they are judged, and what was found") + 1].splitlines()
    for row in rows:
        name, text = row.split(": ", 1)
        is_headline = not text.endswith((".", "?"))
        is_list = name.startswith("CHART_")  # represents a chart: a list of its values
        found += [(f"{name}: {s}", fault) for s in sentences(text) for fault in faults(s, is_headline)
                  if not (is_list and "values" in fault) and not (name.startswith("HEAD_") and "opens" in fault)]
        if len(sentences(text)) > 1:
            found.append((row, "a row is one sentence"))
    found += [(" / ".join(variants), f"{len(variants)} variants of a sentence, at most {VARIANTS}")
              for variants in families(rows) if len(variants) > VARIANTS]
    advice = part[part.index("Advice: what to do, for whom, and how to check it") + 1].splitlines()
    for row in advice:
        name, text = row.split(": ", 1)
        parts = sentences(text)
        found += [(f"{name}: {s}", fault) for s in parts for fault in faults(s)]
        if len(parts) > PARAGRAPH_SENTENCES:
            found.append((row, f"{len(parts)} sentences, at most {PARAGRAPH_SENTENCES}"))
        if not text.endswith("."):
            found.append((row, "no full stop"))
    reasons = part[part.index("Reasons: why a value is missing, and its mark in tables") + 1].splitlines()
    for row in reasons:
        name, text = row.split(": ", 1)
        found += [(f"{name}: {text}", fault) for fault in faults(text)]
        if len(sentences(text)) > 1:
            found.append((row, "a reason is one clause"))
    tables = part[part.index("Tables: their captions, and the heads of their columns") + 1].splitlines()[::2]
    for row in tables:
        name, text = row.split(": ", 1)
        found += [(f"{name}: {s}", fault) for s in sentences(text) for fault in faults(s)]
        if len(sentences(text)) > CAPTION_SENTENCES:
            found.append((row, f"{len(sentences(text))} sentences, at most {CAPTION_SENTENCES}"))
    print(f"{path}: {len(rows)} sentences, {len(advice)} pieces of advice, {len(reasons)} reasons, {len(tables)} tables")
    return found


def main(args):
    if len(args) == 2 and args[0] == "site":
        found = check_site(Path(args[1]))
    elif len(args) >= 2 and args[0] == "phrasebook":
        found = check_phrasebook(args[1])
    elif len(args) >= 2 and args[0] == "page":
        found = check_page(args[1], int(args[3]) if args[2:3] == ["--open"] else 0)
    else:
        sys.exit(__doc__)
    for text, fault in found:
        print(f"  {fault}: {text}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
