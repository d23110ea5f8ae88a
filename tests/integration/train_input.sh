#!/usr/bin/env bash
# train_input.sh - wrong words and broken files: one sentence, status 2, nothing written.
# sanitized: bad input must not cause memory errors
. tests/lib/tap.sh
train=$BIN/dcrnn-train

refused() { # name part-of-the-sentence argument...
    local name=$1 part=$2
    shift 2
    check_status 2 "$name" "$train" --out "$TMP/out" "$@"
    cp "$TMP/tap.out" "$TMP/said"
    check "$name: one sentence" test "$(wc -l <"$TMP/said")" -eq 1
    check "$name: names the place" grep -q -- "$part" "$TMP/said"
}
file() { # name text: its path
    printf '%b' "$2" >"$TMP/$1"
    echo "$TMP/$1"
}

check "--help" "$train" --help
check "--version" "$train" --version
refused "unknown option" "unknown option '--no-such'" --no-such
refused "misspelt option" "unknown option '--bacth'. Did you mean --batch?" --bacth 64
refused "wrong number" "--batch takes a whole number" --batch many
refused "data without a graph" "--data needs --graph" --data "$TMP/x.csv"

refused "a name that is too long" "the name '00.*' is too long" --verify "$(printf '%05000d' 0)"
cuda() { # file name part
    DCRNN_CUDA_LIBRARY=$1 refused "$2" "$3" --sensors 8 --days 1 --backend cuda
}
cuda "$0" "a CUDA part that is no library" "cannot load the CUDA part: "
cuda "$(ldd "$train" | awk '/libm\.so/ { print $3 }')" "a CUDA part that is another library" "belongs to another version"
good=$TMP/good.csv
{
    echo a,b
    for i in $(seq 60); do echo "5$((i % 10)),6$((i % 7))"; done
} >"$good"
edges=$(file edges.csv 'from,to,weight\na,b,0.5\nb,a,0.5\n')
refused "no such file" "cannot read" --data "$TMP/absent.csv" --graph "$edges"
refused "an empty file" "is empty" --data "$(file empty.csv '')" --graph "$edges"
refused "text among the speeds" "line 3, column 2: 'fast'" --data "$(file text.csv 'a,b\n1,2\n3,fast\n')" --graph "$edges"
refused "NaN among the speeds" "line 2, column 1: 'nan'" --data "$(file nan.csv 'a,b\nnan,2\n')" --graph "$edges"
refused "a ragged row" "line 3 has 1 cell instead of 2" --data "$(file ragged.csv 'a,b\n1,2\n3\n')" --graph "$edges"
refused "too few rows" "too few rows (2)" --data "$(file short.csv 'a,b\n1,2\n3,4\n')" --graph "$edges"
refused "an unknown sensor" "line 3: sensor 'z' is not in the data" --data "$good" \
    --graph "$(file stranger.csv 'from,to,weight\na,b,1\nb,z,1\n')"
refused "a graph with NaN" "line 2, column 3: 'nan'" --data "$good" --graph "$(file gnan.csv 'from,to,weight\na,b,nan\n')"
refused "a binary file" "is not text: it holds a NUL byte. Save it as UTF-8" --data "$(file zero.csv 'a,b\n1,\0000\n')" --graph "$edges"
refused "a device that never ends" "it is a device" --data /dev/zero --graph "$edges"
refused "an output folder that is a file" "" --sensors 8 --days 1 --out "$good"
check "nothing was written" test ! -e "$TMP/out"

# Forecasts that cannot be scored are reported, and not scored.
sed '40,$s/.*/0,0/' "$good" >"$TMP/no-end.csv"
check "data whose end is missing" "$train" --data "$TMP/no-end.csv" --graph "$edges" --units 2 --batch 8 --steps 2 --test \
    --out "$TMP/no-end"
cp "$TMP/tap.out" "$TMP/said"
check "are noted to have no scores" test "$(grep -c 'note: every target of the [a-z]* split is missing' "$TMP/said")" -eq 2
check "and get none" test "$(grep -ci 'MAE\|nan' "$TMP/said")" -eq 0

check "a scenario on one rank" "$train" --scenario imbalance --steps 1 --units 2 --batch 2 --sensors 8 --days 1 --out "$TMP/idle"
cp "$TMP/tap.out" "$TMP/said"
check "has nothing to show, which is said" grep -q "note: scenario 'imbalance' has no bottleneck on 1 rank. Start it by" "$TMP/said"

# One is singular.
{
    echo time,a,b
    for i in $(seq 60); do printf '2018-01-01 %02d:%02d,5%d,6%d\n' $(((i + i / 40) / 12)) $(((i + i / 40) % 12 * 5)) $((i % 10)) $((i % 7)); done
} >"$TMP/gap.csv"
check "data with a gap and a graph with a stranger" "$train" --data "$TMP/gap.csv" --graph "$TMP/stranger.csv" --graph-subset --baseline
cp "$TMP/tap.out" "$TMP/said"
check "one gap is noted" grep -qx "dcrnn-train: note: 1 gap in the time stamps of '$TMP/gap.csv'. Windows run across gaps." "$TMP/said"
check "and one line" grep -qx "dcrnn-train: note: 1 line of '$TMP/stranger.csv' names sensors that the data lack." "$TMP/said"

# The generated data, written and read again, are the same data.
generated=(--sensors 8 --days 1)
check "generated data can be written" "$train" "${generated[@]}" --write-data "$TMP/data"
small=(--units 4 --batch 16 --steps 2 --validation-windows 4)
check "training on generated data" "$train" "${generated[@]}" "${small[@]}" --out "$TMP/a"
check "training on the files" "$train" --data "$TMP/data/speeds.csv" --graph "$TMP/data/distances.csv" "${small[@]}" \
    --out "$TMP/b"
losses() { cut -d, -f2,15 "$1/steps-rank0.csv"; }
check "gives the same losses" test "$(losses "$TMP/a")" = "$(losses "$TMP/b")"
check "program.json is JSON and says where the data came from" \
    grep -q '"dataset_is_generated": false' "$TMP/b/program.json"
if command -v jq >/dev/null; then
    check "jq reads it" jq -e '.name == "dcrnn-train" and .flop_per_step > 0 and .parameters > 0' "$TMP/b/program.json"
else
    skip "jq reads it" "no jq"
fi

odd=$TMP/$(printf 'caf\351\342\200\256') # no UTF-8, and what turns the direction of writing
cp "$TMP/data/speeds.csv" "$odd"
check "a file whose name is no text" "$train" --data "$odd" --graph "$TMP/data/distances.csv" "${small[@]}" --out "$TMP/odd"
check "program.json is text all the same" python3 -c 'import json, sys
name = json.loads(open(sys.argv[1], "rb").read().decode())["dataset"]
assert "caf\ufffd\ufffd: 288" in name, ascii(name)' "$TMP/odd/program.json"
"$train" --data "$odd/absent" --graph "$edges" >"$TMP/said" 2>&1
check "what is said of it is text, too" python3 -c 'import sys
said = open(sys.argv[1], "rb").read().decode()
assert "caf????/absent" in said, ascii(said)' "$TMP/said"

# A full disk ends the run with a sentence.
mkdir -p "$TMP/full"
if [ -w /dev/full ]; then
    ln -s /dev/full "$TMP/full/steps-rank0.csv.partial"
    check_status 2 "a full disk" "$train" "${generated[@]}" "${small[@]}" --out "$TMP/full"
else
    skip "a full disk" "no /dev/full"
fi

# A pipe without a writer would be waited for without end.
mkfifo "$TMP/pipe"
pipe() { refused "$1" "cannot use '$TMP/pipe': it is a pipe. Write its content to a file and pass that file" "${@:2}"; }
pipe "a pipe as data" --data "$TMP/pipe" --graph "$edges"
pipe "... as the graph" --data "$TMP/data/speeds.csv" --graph "$TMP/pipe"
pipe "... as the checkpoint" "${generated[@]}" --resume "$TMP/pipe"
refused "... of the shell" "it is a pipe" --data <(cat "$TMP/data/speeds.csv") --graph "$edges"

# A learning rate that explodes: status 1 and a sentence with advice.
check_status 1 "diverging training stops" "$train" "${generated[@]}" --units 4 --batch 16 --lr 1e38 --clip 0 --epochs 2 \
    --out "$TMP/nan"
cp "$TMP/tap.out" "$TMP/said"
check "and says so" grep -q "training diverged in step" "$TMP/said"
finish
