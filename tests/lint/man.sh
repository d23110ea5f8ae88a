#!/usr/bin/env bash
# Manual pages: groff finds no fault in them, and they have every option of --help with its argument and default. --help, completions and
# parser of each program know the same options, and the completions work.
# shellcheck disable=SC2317,SC2016  # functions are called by check; nothing is to be expanded
. tests/lib/tap.sh

train=$BIN/dcrnn-train
page=$BUILD/man/dcrnn-train.1
source=docs/man/dcrnn-train.1.in

# made HELP SOURCE: the page of them
made() { awk -f docs/man/options.awk "$1" "$2"; }
# The options of a page in the form of --help: two spaces, the option with its argument, two spaces.
headings() { sed -nE '/^\.TP$/{n; s/^\.BI? "((\\-[a-z], )?\\-\\-[^"]*)"( "( .*)")?$/  \1\4  /; s/\\//g; /^  -/p}' "$1"; }
listed() { # HELP PAGE: it has the options of --help, each once
    diff <(sed -nE 's/^ +((-[a-z], )?--[^ ]+( [^ ]+)?)  .*/  \1  /p' "$1" | sort) <(headings "$2" | sort)
}
defaults() { # HELP PAGE: the end of a line of --help is the end of the sentence below the heading
    sed -nE 's/^ .*--([^ ]+)( [^ ]+)?  .*(\([^()]*\))$/\1 \3/p' "$1" | while read -r name default; do
        name=${name//-/\\-} default=${default//-/\\-}
        grep -F -A1 -e "\\-\\-$name\"" "$2" | sed 's/\\f[BP]//g' | grep -qF "$default." || { echo "--$name: no $default"; return 1; }
    done
}
# dcrnn-train comes last: the checks below use its --help.
for name in dcreport dccollect dcrnn-train; do
    "$BIN/$name" --help >"$TMP/help"
    check "the page of $name is that of this --help" diff <(made "$TMP/help" "docs/man/$name.1.in") "$BUILD/man/$name.1"
    check "it has every option of --help once" listed "$TMP/help" "$BUILD/man/$name.1"
    check "and its default" defaults "$TMP/help" "$BUILD/man/$name.1"
done
check_status 2 "scenarios are named" "$train" --scenario none --check-options
sed -n 's/.*Use one of //p' "$TMP/tap.out" | tr -d ',.' | tr ' ' '\n' >"$TMP/scenarios"
check "all eight of them" test "$(grep -c . "$TMP/scenarios")" -eq 8
while read -r name; do
    check "the page names the scenario $name" grep -qE "^\.BR? $name\b" "$page"
done <"$TMP/scenarios"

# The source of the page need not name the options.
sed 's/^  --batch N .*/&\n  --planted yes|no         from `here`, -1 by default (no)/' "$TMP/help" >"$TMP/more"
made "$TMP/more" "$source" >"$TMP/more.1"
check "a new option stands in its section" \
    sh -c 'grep -A1 -F ".BI \"\-\-planted\" \" yes|no\"" "$1" | grep -qxF "From here, \-1 by default (no)."' sh "$TMP/more.1"
check "before that of the next section" awk '/planted/ { seen = 1 } /^\.SH RANKS/ { exit !seen }' "$TMP/more.1"
sed '/^  --units/d' "$TMP/help" >"$TMP/less"
refused() { # HELP WORDS: no page is made of it, and the message has WORDS
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
    for file in "$BUILD"/man/*.1; do check "no fault in ${file##*/}" clean "$file"; done
else
    skip "faults of manual pages" "no man"
fi

# ---- help, completions and parser ------------------------------------------------------------------------
# Lists of lines "command option". A program without commands has "-" for one; every program has --help and --version.
everywhere='--help|-h|--version'
in_help() { # PROGRAM: an option's line ends at two spaces
    awk '/^[A-Z].*:$/ { of = "-"; if (sub(/^Options of /, "")) { gsub(/,| and|:/, ""); of = $0 } }
        /^  +-/ { sub(/^ +/, ""); sub(/  .*/, ""); n = split(of ? of : "-", c, " "); m = split($0, o, /, /)
            for (i = 1; i <= n; i++) for (j = 1; j <= m; j++) { sub(/[ [=].*/, "", o[j]); print c[i], o[j] } }' <("$BIN/$1" --help) | no_everywhere
}
in_bash() { sed -nE "s/^ *'([a-z*]+)':-\\*\).*-W '([^']*)'.*/\\1 \\2/p" "$BUILD/completions/bash/$1" | awk '{ sub(/\*/, "-"); for (i = 2; i <= NF; i++) print $1, $i }' | no_everywhere; }
in_zsh() { awk -F"[][=+' ]+" '/^[a-z]+\)$/ { of = substr($0, 1, length - 1) }
    /^ +._?\(?/ && match($0, /[)*]--?[a-z][-a-z]*/) { print of ? of : "-", substr($0, RSTART + 1, RLENGTH - 1) }' "$BUILD/completions/zsh/_$1" | no_everywhere; }
no_everywhere() { grep -vE -- " ($everywhere)\$" | sort -u; }
names() { cut -d' ' -f2 | sort -u; }
same() { diff <("${@:1:2}") <("${@:3:2}"); }
is_known() { # PROGRAM: it accepts each option of its help, with arguments that it refuses for another reason
    local command option said
    while read -r command option; do
        case $1 in
        dcrnn-train) said=$("$BIN/$1" --check-options "$option" 2>&1) ;;
        dccollect) said=$("$BIN/$1" "$command" "$option" 2>&1) ;;
        *) said=$(cd "$TMP" && "$BIN/$1" "$option" 2>&1) ;; # where there is no results/*.tar, which it would read
        esac
        case $said in *"unknown option '$option'. See"*) echo "$1 $command $option: $said"; return 1 ;; esac
    done < <(in_help "$1" | grep -v -- '--check-options\|^calibrate')
}
for name in dcreport dccollect dcrnn-train; do
    check "the completion for bash has the options of $name --help" same in_help $name in_bash $name
    check "the completion for zsh too" same in_help $name in_zsh $name
    check "and $name takes each" is_known $name
done
check "--help has what dcreport parses" diff <(in_help dcreport | names | grep -- --) \
    <(sed -nE 's/.*\{"([a-z-]+)", (no|required)_argument.*/--\1/p' render/options.c | grep -vxE -- "$everywhere|--phrasebook" | sort)
check "--help has what dccollect parses" diff <(in_help dccollect | grep -v ^calibrate | names) \
    <(sed -nE 's/^    \{"(--?[a-z-]+)", FOR_.*/\1/p' collect/run/options.c | sort)
offers() { # WANTED WORD...: what bash offers for the last word
    bash -c '. "$0"; compopt() { :; }; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _$1 "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"; printf "%s\n" "${COMPREPLY[@]}"' \
        "$BUILD/completions/bash/$2" "${@:2}" | sort -u | diff - <(printf '%s\n' "$1")
}
mkdir "$TMP/files" && touch "$TMP/files/a run.tar"
check "commands" offers run dccollect ru
check "options of a command" offers --long dccollect ls --l
check "not those of another" offers "" dccollect ls --spo
check "words of an option" offers off dccollect run --io of
check "after =" offers csv dccollect export --format = cs
check "words of dcrnn-train" offers bf16 dcrnn-train --allreduce-dtype b
check "names with blanks" offers "$TMP/files/a run.tar" dcreport "$TMP/files/a"
check "programs behind --" offers dircolors dccollect run -o x.tar -- dircolo
for name in dcreport dccollect dcrnn-train; do
    if command -v zsh >/dev/null; then check "zsh reads that of $name" zsh -n "$BUILD/completions/zsh/_$name"; else skip "zsh reads that of $name" "no zsh"; fi
done

check "make install" make --no-print-directory install DESTDIR="$TMP/installed" PREFIX=/usr
check "installs the pages of all programs" diff <(cd "$TMP/installed/usr/share/man/man1" && ls) <(printf '%s.1\n' dccollect dcreport dcrnn-train)
check "with options" diff -r "$BUILD/man" "$TMP/installed/usr/share/man/man1"
finish
