#!/usr/bin/env bash
# The ten lines of docs/themes.md do what they say, an installed theme is found, a missing one is named. --open, and no archive named.
# shellcheck disable=SC2317,SC2016  # functions called by check; the inner shell expands
. tests/lib/tap.sh
. tests/data/archives/fixture.sh

mkdir -p "$TMP/there/results"
fixture_run "$TMP/one" 1 steps=12
fixture_run "$TMP/two" 2 steps=12
fixture_pack "$TMP/one" "$TMP/there/results/1.tar"
fixture_pack "$TMP/two" "$TMP/there/results/2.tar"
cp -r themes "$TMP/there/themes"
mkdir "$TMP/there/build" && ln -s "$BIN" "$TMP/there/build/bin"
sed -n '/^## Ten lines/,/^## Figures/p' docs/themes.md | sed -n '/^```sh$/,/^```$/p' | sed '/^```/d' > "$TMP/ten.sh"
ten_lines() {
    (cd "$TMP/there" && bash -e "$TMP/ten.sh") && grep -q 'font-family: serif' "$TMP/there/site/index.html" &&
        grep -q '<h3>A step takes ' "$TMP/there/site/index.html" && ! grep -q 'class="keys"' "$TMP/there/site/index.html"
}
check "the example of docs/themes.md makes its site" ten_lines

check "the theme paper comes with the program" "$BIN/dcreport" "$TMP/there/results/1.tar" "$TMP/there/results/2.tar" -o "$TMP/paper" --theme paper -q
check "... and is the default one with its own look" grep -q 'for an appendix or a hand-out' "$TMP/paper/index.html"
check "... with the same templates" grep -q 'class="keys"' "$TMP/paper/index.html"

mkdir "$TMP/slip"
no_theme() {
    "$BIN/dcreport" "$TMP/there/results/1.tar" -o "$TMP/paper3" --theme "$TMP/slip" > "$TMP/said" 2>&1
}
check_status 2 "a folder that is no theme is refused" no_theme
check "... and named" grep -q "slip' is not a theme" "$TMP/said"
a_report() {
    "$BIN/dcreport" "$TMP/there/results/1.tar" -o "$TMP/paper3" --theme "$TMP/paper" > "$TMP/said" 2>&1
}
check_status 2 "a finished report is no theme" a_report
check "... and is told from one" grep -q "is a whole page, as of a finished report, and not a template.*one of .default., .paper." "$TMP/said"
in_help() {
    for theme in themes/*/; do "$BIN/dcreport" --help | grep -q -- "--theme .*\b$(basename "$theme")\b" || return 1; done
}
check "--help names every theme" in_help

# ---- no archive named, and --open
rm -rf "$TMP/there/site"
(cd "$TMP/there" && "$BIN/dcreport" --theme default > "$TMP/said" 2>&1)
check_status 0 "without an archive dcreport reads results/*.tar and writes site/" grep -qx "No archive was named. Reading results/1.tar, results/2.tar. Writing site." "$TMP/said"
check "... which is the report of them" test "$(jq '.runs | length' "$TMP/there/site/report.json")" = 2
rm -rf "$TMP/there/site"
(cd "$TMP/there" && "$BIN/dcreport" -q results/1.tar) || true
check "without -o the report goes to site/" test -s "$TMP/there/site/index.html"
mkdir "$TMP/display"
printf '#!/bin/sh\n[ -z "$FAILS" ] || exit 3\necho "$1" >%s/opened\n' "$TMP" > "$TMP/display/xdg-open"
chmod +x "$TMP/display/xdg-open"
page=$(realpath "$TMP")/opened-site/index.html
check "--open" env PATH="$TMP/display:$PATH" "$BIN/dcreport" "$TMP/there/results/1.tar" "$TMP/there/results/2.tar" -q -o "$TMP/opened-site" --open
check "... opens the page" test "$(cat "$TMP/opened")" = "$page"
# unopened PATH FAILS WORDS: the report is there, status and message say that it is not open
unopened() {
    local status=0
    FAILS=$2 PATH=$1 "$BIN/dcreport" "$TMP/there/results/1.tar" "$TMP/there/results/2.tar" -q -o "$TMP/opened-site" --open 2> "$TMP/said" || status=$?
    [ "$status" -eq 2 ] && [ -s "$page" ] && [ "$(cat "$TMP/said")" = "dcreport: the report is written, but xdg-open $3. Open '$page' in a browser." ]
}
check "... says when there is no xdg-open" unopened "$TMP/nothing" "" "(package xdg-utils) cannot be started: No such file or directory"
check "... and when it fails" unopened "$TMP/display:$PATH" yes "failed, perhaps because there is no display"

# Files that a user can take away.
check "figures as PNG, SVG and PDF" test -s "$TMP/paper/figures/speedup.png" -a -s "$TMP/paper/figures/speedup.svg" -a -s "$TMP/paper/figures/speedup.pdf"
if command -v python3 > /dev/null; then
    cat > "$TMP/check1.py" << 'PY'
import struct, sys
data = open(sys.argv[1], "rb").read()
at = data.index(b"pHYs")
assert struct.unpack(">IIB", data[at + 4:at + 13]) == (11811, 11811, 1), "resolution"
assert b"Source\0" in data and b"1.tar" in data and b"manifest sha256" in data, "provenance"
PY
    check "a PNG has 300 dots per inch and says where its numbers are from" python3 "$TMP/check1.py" "$TMP/paper/figures/speedup.png"
    cat > "$TMP/check2.py" << 'PY'
import csv, sys
rows = list(csv.reader(open(sys.argv[1])))
assert rows[0][1].endswith("(ns)"), rows[0]
assert sum(int(r[1] or 0) for r in rows[1:-1]) == int(rows[-1][1]) > 0
PY
    check "a CSV has exact values that sum" python3 "$TMP/check2.py" "$TMP/paper/tables/breakdown.csv"
else
    skip "PNG and CSV looked into" "needs python3"
fi
check "a table for LaTeX" grep -q '\\toprule' "$TMP/paper/tables/breakdown.tex"
# All tables and PDFs in one paper. TeX is large, so the tests do not require it; if it is missing, this is printed.
paper() {
    {
        printf '%s\n' '\documentclass{article}\usepackage{array,booktabs,graphicx,longtable}\parindent0pt\begin{document}'
        find . -name '*.tex' -path '*tables*' | LC_ALL=C sort | sed 's|.*|\\input{&}\\clearpage|'
        find . -name '*.pdf' | LC_ALL=C sort | sed 's|.*|\\makebox[\\textwidth]{\\includegraphics{&}}\\clearpage|'
        printf '%s\n' '\end{document}'
    } > all.tex
    pdflatex -interaction=nonstopmode -halt-on-error all.tex
}
if command -v pdflatex > /dev/null; then
    cp -r "$TMP/paper" "$TMP/tex"
    check "LaTeX sets every table and figure" eval "(cd '$TMP/tex' && paper > '$TMP/said' 2>&1)"
    too_wide=$(grep -E '^Overfull .hbox \(([2-9]|[0-9]{2,})\.' "$TMP/tex/all.log")
    check "... none wider than its line" test -z "$too_wide"
else
    skip "tables and figures set by LaTeX" "needs pdflatex (texlive-latex-recommended)"
fi
check "a citation with the hashes" grep -qE 'manifest SHA-256 [0-9a-f]{64}' "$TMP/paper/citation.bib"
check "one file with everything" "$BIN/dcreport" "$TMP/there/results/1.tar" "$TMP/there/results/2.tar" -o "$TMP/paper" --single-file "$TMP/report.html" -q
outside() {
    ! grep -oE ' (href|src)="[^"]*"' "$TMP/report.html" | grep -vE '="(#|data:)' && [ "$(grep -c '<h1' "$TMP/report.html")" -eq 5 ]
}
check "... that needs nothing else" outside
nowhere() {
    "$BIN/dcreport" "$TMP/there/results/1.tar" "$TMP/there/results/2.tar" -o "$TMP/paper2" --single-file "$TMP/no/such/report.html" -q > "$TMP/said" 2>&1
}
check_status 2 "a single file that cannot be written is refused" nowhere
check "... and nothing is left" test ! -e "$TMP/paper2"

# Installed: PREFIX/bin and PREFIX/share.
mkdir -p "$TMP/prefix/bin" "$TMP/prefix/share/dcreport"
cp "$BIN/dcreport" "$TMP/prefix/bin/"
lonely() {
    (cd "$TMP" && "$TMP/prefix/bin/dcreport" "$TMP/there/results/1.tar" -o "$TMP/lonely" > "$TMP/said" 2>&1)
}
check_status 2 "without any theme the program refuses" lonely
check "and says where it looked" grep -q "the default theme is neither in .*share/dcreport/themes.*Give its folder with --theme DIR" "$TMP/said"
check "and writes nothing" test ! -e "$TMP/lonely"
cp -r themes "$TMP/prefix/share/dcreport/themes"
check_status 0 "the installed theme is found" lonely
check "and used" grep -q "Content-Security-Policy" "$TMP/lonely/index.html"
finish
