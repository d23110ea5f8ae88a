#!/usr/bin/env bash
# Names in docs/metrics.md; slots of phrases; `make lint`: formatting, banned functions, headers that compile alone, clang's warnings as errors, shellcheck.
. tests/lib/tap.sh

git rev-parse --is-inside-work-tree >/dev/null 2>&1 || { skip "lint" "not a git checkout"; finish; }
# Every `name` (file.c) and `name`, file.c in metrics.md must be a function of that file. Every name in the column of functions
# must be a function of some file.
# shellcheck disable=SC2016  # backticks of Markdown
{
    git grep -E '^([a-z].*[ *]|#define )[A-Za-z_0-9]+\(' -- lib render trainer |
        sed -E 's/^([^:]+):[^(]*[ *]([A-Za-z_0-9]+)\(.*/has \2 \1/'
    git ls-files lib render trainer | sed 's/^/file /'
    grep -oE '`[A-Za-z_0-9]+`( \(|, )[a-z_/0-9]+\.[ch]\b' docs/metrics.md | sed -E 's/[`(),]+/ /g; s/^/says/'
    awk -F'|' '/^\|/ && NF > 4 { print $4 }' docs/metrics.md | grep -oE '`[a-z_0-9]+`' | sed -E 's/`/ /g; s/^/says/'
} >"$TMP/names"
# shellcheck disable=SC2016  # awk's fields
check "the formulas name functions that are where they say" awk '
    function ends(path, with) { return path == with || substr(path, length(path) - length(with)) == "/" with }
    $1 == "has" { has[$2 " " $3] = some[$2] = 1 }
    $1 == "file" { files[$2] = 1 }
    $1 == "says" && NF == 2 && !some[$2] { print "docs/metrics.md: there is no " $2; bad = 1 }
    $1 == "says" && NF == 3 {
        n = found = 0
        for (f in files) if (ends(f, $3)) { n++; found += has[$2 " " f] }
        if (n != 1 || found != 1) { print "docs/metrics.md: " $2 " is not in " $3 " (" n " files of that name)"; bad = 1 }
        said++
    }
    END { exit bad || !said }' "$TMP/names"

check "CHANGELOG.md begins with the version of the Makefile" test "$(sed -n 's/^## //p' CHANGELOG.md | head -n 1)" = "$(sed -n 's/^VERSION := //p' Makefile)"
check "... and an entry is one line of at most 160 characters" awk 'length > 160 || /^ / { print; bad = 1 } END { exit bad }' CHANGELOG.md
check "README.md has less than 120 lines, none over 150 characters" awk 'length > 150 { print; bad = 1 } END { exit bad || NR >= 120 }' README.md
check "a build has the same names by a whole path: its notes of headers are kept" \
    make --no-print-directory -n BUILD="$PWD/no-such" no-such/obj/lib/base/arena.o
had=$(ls compile_commands.json 2>/dev/null)
check "make compile_commands.json" make --no-print-directory compile_commands.json
check "... lists each source of collect/ once" python3 -c '
import json, subprocess, sys
files = sorted(e["file"] for e in json.load(open("compile_commands.json")) if e["file"].startswith("collect/"))
wanted = sorted(subprocess.check_output(["git", "ls-files", "collect/*.c"], text=True).split())
print("without an entry, or with several:", [f for f in sorted({*wanted, *files}) if files.count(f) != wanted.count(f)])
sys.exit(files != wanted)'
[ -n "$had" ] || rm -f compile_commands.json # an editor may use it
check "phrases and reasons fill the slots that their rows declare" python3 tests/lint/slots.py
for tool in clang clang-format shellcheck; do
    command -v $tool >/dev/null || { skip "lint" "no $tool"; finish; }
done
check "make lint" make --no-print-directory lint
finish
