#!/usr/bin/env bash
# Compares the messages of all programs with tests/golden/messages.txt. ACCEPT=1 (make golden-accept) rewrites it: read
# the difference as a user who meets the message.
WELLFORMED=no
. tests/lib/tap.sh

expected=tests/golden/messages.txt
check_status 0 "the messages are read from the sources" python3 tests/golden/messages.py
mv "$TMP/tap.out" "$TMP/messages.txt"
[ -z "${ACCEPT:-}" ] || cp "$TMP/messages.txt" $expected
check "the messages are as they were read" diff -u $expected "$TMP/messages.txt"
check "each says what is wrong and what to do, and one fault has one wording" python3 tests/golden/messages.py check
finish
