#!/usr/bin/env bash
# PyTorch programs that are not changed, under the collector: its hook marks loading, phases and steps (collect/python).
# tests/data/programs/torch_stub stands in for an unknown PyTorch; the rest needs the real one.
. tests/lib/tap.sh
. tests/lib/torch.sh
report=$BIN/dcreport
stub=tests/data/programs/torch_stub

# prints NAME TEXT COMMAND...: the command's output is TEXT
prints() {
    local name=$1 want=$2
    shift 2
    if "$@" >"$TMP/printed" 2>"$TMP/printed.err" && [ "$(cat "$TMP/printed")" = "$want" ]; then ok "$name"; else not_ok "$name" "$(cat "$TMP/printed" "$TMP/printed.err")"; fi
}
# shellcheck disable=SC2317  # prints calls it
# ranges ARCHIVE: "N CATEGORY NAME" for each kind of range that the hook made
ranges() {
    "$BIN/dccollect" export "$1" -o "$TMP/ranges.csv" >"$TMP/said" 2>&1 || return
    awk -F, '$7 == "PyTorch" && $16 == 0 { n[$8 " " $9]++ } END { for (k in n) print n[k], k }' "$TMP/ranges.csv" | LC_ALL=C sort -k 2
}

# ---- a stand-in
mkdir "$TMP/own"
echo 'mine = 5' >"$TMP/own/sitecustomize.py"
PYTHONPATH=$stub:$TMP/own python3 $stub/train.py "$TMP/weights" >"$TMP/bare" 2>&1
PYTHONPATH=$stub:$TMP/own check_status 3 "a program under the collector keeps its exit status" \
    "$BIN/dccollect" run -o "$TMP/stub.tar" -- bash -c "exec python3 $stub/train.py '$TMP/weights' >'$TMP/hooked' 2>&1"
check "... and what it prints: results, sys.path, its own sitecustomize" diff "$TMP/bare" "$TMP/hooked"
prints "the phases of its loop are marked" "8 batch of PyTorch step
6 compute backward
10 compute forward
6 compute optimizer
14 data data_load
1 io checkpoint" ranges "$TMP/stub.tar"
"$report" -q "$TMP/stub.tar" -o "$TMP/site" >/dev/null 2>&1
has "6 batches are steps, and the validation between them does not count" '.runs[0].n_steps == 6 and ([.notes[].id] | index("steps-assumed"))'
PYTHONPATH=$stub "$BIN/dccollect" run --python off -o "$TMP/off.tar" -- python3 $stub/train.py "$TMP/weights" >/dev/null 2>&1
prints "--python off marks nothing" "" ranges "$TMP/off.tar"
PYTHONPATH=$stub "$BIN/dccollect" run --steps 2:3 -o "$TMP/window.tar" -- python3 $stub/train.py "$TMP/weights" >/dev/null 2>&1
prints "--steps counts these steps" "1 batch of PyTorch step 2
2 batch of PyTorch step 3" bash -c "'$BIN/dccollect' export '$TMP/window.tar' -o '$TMP/window.csv' 2>/dev/null
    awk -F, '\$8 ~ /^batch/ { n[\$8 \" \" \$9 \" \" \$14]++ } END { for (k in n) print n[k], k }' '$TMP/window.csv' | LC_ALL=C sort -k 2"
what='import sys; print(sys.path, [m for m in ("ctypes", "importlib.util", "weakref", "atexit") if m in sys.modules])'
prints "a program without PyTorch loads nothing of it" "$(python3 -c "$what")" "$BIN/dccollect" run -o "$TMP/none.tar" -- python3 -c "$what"
# shellcheck disable=SC2317  # prints calls it
# ranks_of ARCHIVE: "RANK NAME" of the ranges that own_ranks.py marks
ranks_of() {
    "$BIN/dccollect" export "$1" -o "$TMP/ranges.csv" >"$TMP/said" 2>&1 &&
        python3 -c 'import csv, sys; print(*sorted(r["rank"] + " " + r["name"] for r in csv.DictReader(open(sys.argv[1])) if r["domain"] == "own"), sep="\n")' "$TMP/ranges.csv"
}
check "ranks that a program starts itself, told by links" "$BIN/dccollect" run -o "$TMP/own.tar" -- python3 tests/data/programs/own_ranks.py 2
prints "... have what was recorded before and after the link" "0 after 0
0 before 0
1 after 1
1 before 1" ranks_of "$TMP/own.tar"
# The last column of all: processes. The rank, its child and the child's child.
check "... and monitors of their own, with their children" bash -c "tar -xOf '$TMP/own.tar' rank1/process_monitor.csv |
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if (\$i == \"processes\") c = i } NR > 1 && \$c > most { most = \$c } END { exit most < 2 }'"
check "... and no link is in the archive" bash -c "! tar -tf '$TMP/own.tar' | grep -q rank-of"
# shellcheck disable=SC2317  # prints calls it
# first_of TIMES [LAST]: the rank that pack names first of two that say when an exception ended them. Rank LAST (1) ends a second later.
first_of() {
    FAIL=$1 LAST=${2:-1} "$BIN/dccollect" run -o "$TMP/own.tar" -- python3 tests/data/programs/own_ranks.py 2 >/dev/null 2>&1
    tar -xOf "$TMP/own.tar" manifest.json | jq -r '[.incomplete_because[] | select(startswith("rank"))][0]'
}
prints "of two exceptions the first is named, though its rank ended last" "rank 1 ended with exit status 1" first_of 7000000,5000000
prints "... and the only one" "rank 1 ended with exit status 1" first_of ,1
prints "... but none is first if all failed within a millisecond, whichever ended first" "rank 0 ended with exit status 1" first_of 7000000,6500000 0
prints "... and without a time, the rank that ended first" "rank 0 ended with exit status 1" first_of soon,then
check "--help names the option" bash -c "'$BIN/dccollect' --help | grep -q -- '--python on|off'"

# ---- PyTorch
need_torch "loops of many kinds"

"$torch" tests/data/programs/torch_cases.py "$TMP/cases" >"$TMP/bare" 2>/dev/null
TORCH_CASES_MARK=1 check_status 7 "loops of many kinds run under the collector" "$BIN/dccollect" run -o "$TMP/cases.tar" -- \
    bash -c "exec '$torch' tests/data/programs/torch_cases.py '$TMP/cases-hooked' >'$TMP/hooked' 2>/dev/null"
sed -i 's/cases-hooked/cases/' "$TMP/hooked"
check "... with the same weights, random numbers, pickles, scripts and errors as without it" diff "$TMP/bare" "$TMP/hooked"
"$BIN/dccollect" export "$TMP/cases.tar" -o "$TMP/cases.csv" >/dev/null 2>&1
# The last batch that `callable` begins goes on in a loop without a loader. After 32 steps without one they end with the optimizer.
prints "... and their steps are found" "bare 5 5 backward forward optimizer zero_grad
loader 12 12 backward data_load forward optimizer zero_grad
check_inside 6 6 backward data_load forward optimizer zero_grad
accumulate 4 8 backward data_load forward optimizer zero_grad
two_optimizers 5 10 backward data_load forward optimizer zero_grad
two_loaders 5 5 backward data_load forward optimizer zero_grad
lbfgs 4 12 backward data_load forward optimizer
stream 3 3 backward data_load forward optimizer zero_grad
workers 8 8 backward data_load forward optimizer zero_grad
error 3 4 backward data_load forward optimizer zero_grad
schedule 4 4 backward checkpoint data_load forward optimizer zero_grad
async 4 4 all_reduce backward data_load forward optimizer wait zero_grad
critic 4 12 backward data_load forward optimizer zero_grad
other_thread 4 4 backward data_load forward optimizer zero_grad
callable 5 36 backward data_load forward optimizer zero_grad
bare_again 8 8 backward forward optimizer zero_grad
numbers ascend
ranges of other processes: 0" python3 tests/lib/torch_steps.py "$TMP/cases.csv"
"$report" -q "$TMP/cases.tar" -o "$TMP/site" >/dev/null 2>&1
has "... by the report too" '.runs[0].n_steps == 84'
finish
