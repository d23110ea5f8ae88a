"""links.py SITE PAGE... - print every link of the pages that leads out of the site, to no file, or to no anchor of it."""
import os
import re
import sys

site, pages = sys.argv[1], sys.argv[2:]
texts = {}


def text_of(path):
    if path not in texts:
        with open(path, encoding="utf-8", errors="replace") as f:
            texts[path] = f.read()
    return texts[path]


for page in pages:
    path = os.path.join(site, page)
    for link in sorted(set(re.findall(r' (?:href|src)="([^"]*)"', text_of(path)))):
        if link.startswith(("data:", "#from=")):  # the latter are views of a timeline
            continue
        if ":" in link or link.startswith("//"):
            print(f"{page}: {link} leaves the site")
            continue
        file, _, anchor = link.partition("#")
        target = os.path.join(os.path.dirname(path), file) if file else path
        if not os.path.isfile(target):
            print(f"{page}: {link} is nowhere")
        elif anchor and f' id="{anchor}"' not in text_of(target):
            print(f"{page}: {link} has no such anchor")
