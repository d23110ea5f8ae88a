#!/usr/bin/env bash
# Manual pages: groff finds no fault in them, the page of dcrnn-train has every option of --help with its argument and default, and
# `make install` installs them.
# shellcheck disable=SC2317,SC2016  # functions are called by check; nothing is to be expanded
. tests/lib/tap.sh

train=$BIN/dcrnn-train
page=$BUILD/man/dcrnn-train.1
source=docs/man/dcrnn-train.1.in
"$train" --help >"$TMP/help"

# made HELP SOURCE: the page of them
made() { awk -f docs/man/options.awk "$1" "$2"; }
# The options of a page as --help has them: two spaces, the option with its argument, two spaces.
headings() { sed -nE '/^\.TP$/{n; s/^\.BI? (\\-\\-[^ ]*)( "( .*)")?$/  \1\3  /; s/\\//g; /^  --/p}' "$1"; }
listed() { # PAGE: it has the options of --help, each once
    diff <(sed -nE 's/^(  --[^ ]+( [^ ]+)?)  .*/\1  /p' "$TMP/help" | sort) <(headings "$1" | sort)
}
defaults() { # PAGE: what --help has at the end of a line is the end of the sentence below the heading
    sed -nE 's/^  --([^ ]+) .*(\([^()]*\))$/\1 \2/p' "$TMP/help" | while read -r name default; do
        name=${name//-/\\-} default=${default//-/\\-}
        grep -F -A1 -e "\\-\\-$name \"" -e "\\-\\-$name" "$1" | grep -qF "${default//\\fB/}." || { echo "--$name: no $default"; return 1; }
    done
}
check "the page of dcrnn-train is that of this --help" diff <(made "$TMP/help" "$source") "$page"
check "it has every option of --help once" listed "$page"
check "and its default" defaults "$page"
check_status 2 "scenarios are named" "$train" --scenario none --check-options
sed -n 's/.*there are: //p' "$TMP/tap.out" | tr -d ',' | tr ' ' '\n' >"$TMP/scenarios"
check "all eight of them" test "$(grep -c . "$TMP/scenarios")" -eq 8
while read -r name; do
    check "the page names the scenario $name" grep -qE "^\.BR? $name\b" "$page"
done <"$TMP/scenarios"

# An option needs no place in the source of the page.
sed 's/^  --batch N .*/&\n  --planted yes|no         from `here`, -1 by default (no)/' "$TMP/help" >"$TMP/more"
made "$TMP/more" "$source" >"$TMP/more.1"
check "a new option stands in its section" \
    sh -c 'grep -A1 -F ".BI \-\-planted \" yes|no\"" "$1" | grep -qxF "From here, \-1 by default (no)."' sh "$TMP/more.1"
check "before that of the next section" awk '/planted/ { seen = 1 } /^\.SH RANKS/ { exit !seen }' "$TMP/more.1"
sed '/^  --units/d' "$TMP/help" >"$TMP/less"
refused() { # HELP WORDS: no page is made of it, and they say why
    ! made "$1" "$source" >"$TMP/page" 2>"$TMP/said" && grep -q -- "$2" "$TMP/said"
}
check "words about an option that is gone are refused" refused "$TMP/less" '--help has no option --units in its section Model'
printf '\nNew things:\n  --new  x\n' | cat "$TMP/help" - >"$TMP/section"
check "a section without a place is refused" refused "$TMP/section" 'the section New things of --help has no @options'

clean() { # PAGE: groff has nothing to say
    local said
    said=$(LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$1" 2>&1 >/dev/null) || return
    [ -z "$said" ] || { echo "$said"; return 1; }
}
if command -v man >/dev/null; then
    printf '.TH A 1\n.SH NAME\n.nosuch macro\n' >"$TMP/bad.1"
    check_status 1 "a planted fault is found" clean "$TMP/bad.1"
    for file in docs/man/*.1 "$page"; do check "no fault in ${file##*/}" clean "$file"; done
else
    skip "faults of manual pages" "no man"
fi

check "make install" make --no-print-directory install DESTDIR="$TMP/installed" PREFIX=/usr
check "installs the pages of all programs" diff <(cd "$TMP/installed/usr/share/man/man1" && ls) <(printf '%s.1\n' dccollect dcreport dcrnn-train)
check "with options" cmp "$page" "$TMP/installed/usr/share/man/man1/dcrnn-train.1"
finish
