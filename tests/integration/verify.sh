#!/usr/bin/env bash
# dcrnn-train --verify: the project's own reference cases, the shared ones when they are there, and its messages when a
# case fails or cannot be read.
. tests/lib/tap.sh

# shellcheck disable=SC2317 # called through check
verdict_is_ok() { # every line but the last is "NAME error", the last says ok
    "$BIN/dcrnn-train" --verify "$1" >"$TMP/verdict" &&
        tail -n 1 "$TMP/verdict" | grep -Eqx 'verify: ok worst=[A-Za-z0-9_]+ [0-9.e+-]+' &&
        ! sed '$d' "$TMP/verdict" | grep -Eqvx '[A-Za-z0-9_]+_f(32|64) [0-9.e+-]+'
}

for case in tests/data/dcrnn/*/; do
    check "own case $(basename "$case")" verdict_is_ok "$case"
done

reference=$SHARED/data/dcrnn-reference
if [ -d "$reference" ]; then
    for case in "$reference"/*/; do
        check "reference case $(basename "$case")" verdict_is_ok "$case"
    done
else
    skip "reference cases" "no folder $reference"
fi

cp -R tests/data/dcrnn/mixed-k3 "$TMP/case"
chmod -R u+w "$TMP/case"
sed -i 's/"lr": 0.01/"lr": 0.0101/' "$TMP/case/case.json"
check_status 1 "another learning rate is not the case" "$BIN/dcrnn-train" --verify "$TMP/case"
"$BIN/dcrnn-train" --verify "$TMP/case" >"$TMP/out"
check "the verdict names the worst quantity" grep -Eq '^verify: failed worst=p[12]_[A-Za-z0-9_]+_f(32|64) [0-9.e+-]+$' "$TMP/out"

rm "$TMP/case/loss_f64.npy"
check_status 2 "a missing array is bad input" "$BIN/dcrnn-train" --verify "$TMP/case"
"$BIN/dcrnn-train" --verify "$TMP/case" 2>"$TMP/err" >"$TMP/out"
check "one sentence names the file" grep -Eqx "dcrnn-train: cannot read '.*/loss_f64.npy': No such file or directory\\. Check the name\\." "$TMP/err"
echo '[]' >"$TMP/case/case.json"
check_status 2 "a description that is a list" "$BIN/dcrnn-train" --verify "$TMP/case"
"$BIN/dcrnn-train" --verify "$TMP/case" 2>"$TMP/err" >"$TMP/out"
check "one sentence says so" grep -qx "dcrnn-train: cannot read '.*/case.json': its JSON is not an object. Write the vectors again." "$TMP/err"
check_status 2 "no such folder" "$BIN/dcrnn-train" --verify "$TMP/nowhere"
finish
