#!/usr/bin/env bash
# Compares all prose of phrases.def and reasons.def, with sample values, with tests/golden/phrasebook.txt. ACCEPT=1
# (make golden-accept) rewrites it: read the difference as a reader of reports before committing it.
. tests/lib/tap.sh

expected=tests/golden/phrasebook.txt
check_status 0 "dcreport prints the phrasebook" "$BIN/dcreport" --phrasebook
mv "$TMP/tap.out" "$TMP/phrasebook.txt"
[ -z "${ACCEPT:-}" ] || cp "$TMP/phrasebook.txt" $expected
check "the phrasebook is as it was read" diff -u $expected "$TMP/phrasebook.txt"
check "its sentences keep the rules of language" python3 tests/lib/voice.py phrasebook "$TMP/phrasebook.txt"
finish
