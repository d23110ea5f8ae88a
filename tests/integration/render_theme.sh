#!/usr/bin/env bash
# The ten lines of docs/themes.md do what they say, an installed theme is found, a missing one is named.
# shellcheck disable=SC2317  # functions called by check
. tests/lib/tap.sh
. tests/data/archives/fixture.sh

mkdir -p "$TMP/there/results"
fixture_run "$TMP/one" 1 steps=12
fixture_run "$TMP/two" 2 steps=12
fixture_pack "$TMP/one" "$TMP/there/results/1.tar"
fixture_pack "$TMP/two" "$TMP/there/results/2.tar"
cp -r themes "$TMP/there/themes"
sed -n '/^## Ten lines/,/^## Figures/s/^    //p' docs/themes.md > "$TMP/ten.sh"
ten_lines() {
    (cd "$TMP/there" && PATH=$BIN:$PATH bash -e "$TMP/ten.sh") && grep -q 'font-family: serif' "$TMP/there/site/index.html" &&
        grep -q '<h3>What 2 nodes lose</h3>' "$TMP/there/site/index.html" && ! grep -q 'class="keys"' "$TMP/there/site/index.html"
}
check "the example of docs/themes.md makes its site" ten_lines

# Installed: PREFIX/bin and PREFIX/share.
mkdir -p "$TMP/prefix/bin" "$TMP/prefix/share/dcreport"
cp "$BIN/dcreport" "$TMP/prefix/bin/"
lonely() {
    (cd "$TMP" && "$TMP/prefix/bin/dcreport" "$TMP/there/results/1.tar" -o "$TMP/lonely" > "$TMP/said" 2>&1)
}
check_status 2 "without any theme the program refuses" lonely
check "and says where it looked" grep -q "the default theme is neither in .*share/dcreport/themes.*give its folder with --theme DIR" "$TMP/said"
check "and writes nothing" test ! -e "$TMP/lonely"
cp -r themes "$TMP/prefix/share/dcreport/themes"
check_status 3 "the installed theme is found (and one node count is a gap)" lonely
check "and used" grep -q "Content-Security-Policy" "$TMP/lonely/index.html"
finish
