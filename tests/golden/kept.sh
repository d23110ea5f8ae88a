#!/usr/bin/env bash
# Names that users and scripts rely on must stay: options, names of checks and thresholds, names of figures and tables,
# anchors of a run's page. tests/golden/kept.txt lists them, a line each. New ones may be added. A name is removed only
# by hand, with a line in CHANGELOG.md.
. tests/lib/tap.sh

recorded=tests/data/archives/recorded
"$BIN/dcreport" --help >"$TMP/help"
"$BIN/dcreport" -q $recorded/*.tar.zst -o "$TMP/many" >"$TMP/said" 2>&1
"$BIN/dcreport" -q --baseline $recorded/data-on.tar.zst -- $recorded/data-off.tar.zst -o "$TMP/two" >>"$TMP/said" 2>&1
now() {
    grep -oE -- '--[a-z-]+' "$TMP/help" | sed 's/^/option /'
    (cd "$TMP" && find many two -path '*figures/*' -o -path '*tables/*' -o -maxdepth 2 -type f) | sed -nE 's#^(many|two)/(runs/[^/]*/)?([^.]*)\.#file \3.#p'
    grep -ohE ' id="[^"]+"' "$TMP"/*/runs/*/index.html | sed -E 's/ id="(.*)"/anchor \1/'
}
now | LC_ALL=C sort -u >"$TMP/now"
grep -vE '^(check|threshold) ' tests/golden/kept.txt >"$TMP/kept"
check "options, files and anchors are there as before" test -z "$(LC_ALL=C comm -23 "$TMP/kept" "$TMP/now")"
check "there are some of each kind" test "$(cut -d' ' -f1 tests/golden/kept.txt | uniq | tr '\n' ' ')" = "anchor check file option threshold "

unknown=$(sed -n 's/^check //p' tests/golden/kept.txt | while read -r name; do
    "$BIN/dcreport" --check "$name>0" $recorded/series-1.tar.zst 2>&1 | grep 'unknown metric'
done)
check "every check is known by its name" test -z "$unknown"
sed -nE 's/^threshold ([^ ]*) (.*)/\1 = \2/p' tests/golden/kept.txt >"$TMP/thresholds"
check_status 0 "every threshold is known by its name" "$BIN/dcreport" -q -t "$TMP/thresholds" $recorded/series-1.tar.zst -o "$TMP/one"
finish
