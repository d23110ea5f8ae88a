#!/usr/bin/env bash
# train_resume.sh - a resumed run continues with the same bits; signals and broken checkpoints end in order.
# shellcheck disable=SC2317  # functions are called by check
. tests/lib/tap.sh
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
train=("$BIN/dcrnn-train" --sensors 8 --days 2 --units 8 --batch 32 --epochs 3 --validation-windows 16 --sampling-decay 5)
ranks=(mpirun --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 -n)

# 12 steps an epoch; the interrupted run stops in the middle of the second epoch.
check "uninterrupted run" "${train[@]}" --checkpoint-every 5 --out "$TMP/whole"
check "first part, 17 steps" "${train[@]}" --checkpoint-every 5 --steps 17 --out "$TMP/parts"
check "second part" "${train[@]}" --checkpoint-every 5 --resume "$TMP/parts/checkpoint.bin" --out "$TMP/parts"
check "the last checkpoints have the same bytes" cmp "$TMP/whole/checkpoint.bin" "$TMP/parts/checkpoint.bin"
losses() { cut -d, -f1,2,15 "$1/steps-rank0.csv"; }
same_losses() { cmp <(losses "$TMP/whole") <(losses "$TMP/parts"); }
check "the tables hold every step once, with the same losses" same_losses
epochs() { cut -d, -f1-5,15-19 "$1/metrics.csv"; }
same_epochs() { cmp <(epochs "$TMP/whole") <(epochs "$TMP/parts"); }
check "and the same epochs" same_epochs
check "at an epoch's end, too: first part" "${train[@]}" --checkpoint-every epoch --epochs 1 --out "$TMP/epoch"
check "second part" "${train[@]}" --checkpoint-every epoch --resume "$TMP/epoch/checkpoint.bin" --out "$TMP/epoch"
check "same bytes" cmp "$TMP/whole/checkpoint.bin" "$TMP/epoch/checkpoint.bin"
if command -v mpirun >/dev/null; then
    check "two ranks" "${ranks[@]}" 2 "${train[@]}" --checkpoint-every 100 --out "$TMP/whole2"
    check "two ranks, first part" "${ranks[@]}" 2 "${train[@]}" --checkpoint-every 7 --steps 8 --out "$TMP/parts2"
    check "... goes on with one" "${train[@]}" --steps 9 --resume "$TMP/parts2/checkpoint.bin" --out "$TMP/alone"
    cp "$TMP/tap.out" "$TMP/said"
    check "... which is said" grep -q "note: the checkpoint was written by 2 ranks, this run has 1: rounding differs" "$TMP/said"
    check "two ranks, second part" "${ranks[@]}" 2 "${train[@]}" --checkpoint-every 7 --resume "$TMP/parts2/checkpoint.bin" \
        --out "$TMP/parts2"
    check "two ranks: same bytes" cmp "$TMP/whole2/checkpoint.bin" "$TMP/parts2/checkpoint.bin"
fi

# Checkpoints that must be refused.
refused() { # name file sentence option...
    local name=$1 file=$2 sentence=$3
    shift 3
    check_status 2 "$name" "${train[@]}" "$@" --resume "$file" --out "$TMP/refused"
    cp "$TMP/tap.out" "$TMP/said"
    check "$name: says so" grep -q "$sentence" "$TMP/said"
}
good=$TMP/whole/checkpoint.bin
head -c 1000 "$good" >"$TMP/cut"
refused "a truncated checkpoint" "$TMP/cut" "has 1000 of its"
cp "$good" "$TMP/flipped"
printf '\377' | dd of="$TMP/flipped" bs=1 seek=2000 conv=notrunc 2>/dev/null
refused "one changed byte" "$TMP/flipped" "has the wrong checksum"
echo "not one" >"$TMP/text"
refused "a text file" "$TMP/text" "is not a checkpoint"
refused "no file" "$TMP/absent" "cannot read checkpoint"
refused "another model" "$good" "units differs (there 8, here 16)" --units 16
refused "other data" "$good" "the speeds or the graph differs" --data-seed 2
refused "nothing left to do" "$good" "Allow more with --epochs"

# SIGTERM: the step is finished, everything is on disk, status 128 + 15.
# The runs end by themselves after a while, should a signal go astray.
long=(--sensors 8 --days 4 --units 8 --batch 32 --epochs 10000 --steps 30000 --validate-every 0 --checkpoint-every 100000)
wait_for_steps() { # file rows
    for _ in $(seq 300); do
        [ -f "$1" ] && [ "$(wc -l <"$1")" -gt "$2" ] && return 0
        sleep 0.1
    done
    return 1
}
"$BIN/dcrnn-train" "${long[@]}" --out "$TMP/term" >"$TMP/term.log" 2>&1 &
pid=$!
check "a long run is under way" wait_for_steps "$TMP/term/steps-rank0.csv" 5
kill -TERM $pid
wait $pid
got=$?
check "SIGTERM: exit status 143" test $got -eq 143
whole_rows() { awk -F, 'NF != 16 { exit 1 }' "$1" && [ "$(tail -c 1 "$1" | od -An -tx1 | tr -d ' ')" = 0a ]; }
check "every row is whole" whole_rows "$TMP/term/steps-rank0.csv"
steps=$(($(wc -l <"$TMP/term/steps-rank0.csv") - 1))
check "the checkpoint resumes at the next step" "$BIN/dcrnn-train" "${long[@]}" --resume "$TMP/term/checkpoint.bin" \
    --steps $((steps + 1)) --out "$TMP/term"
check "no step is lost or done twice" test "$(tail -n 1 "$TMP/term/steps-rank0.csv" | cut -d, -f2)" -eq "$steps"

# The signal reaches only one rank, but all stop after the same step.
if command -v mpirun >/dev/null; then
    "${ranks[@]}" 3 "$BIN/dcrnn-train" "${long[@]}" --out "$TMP/term3" >"$TMP/term3.log" 2>&1 &
    pid=$!
    check "three ranks are under way" wait_for_steps "$TMP/term3/steps-rank1.csv" 5
    kill -TERM "$(pgrep -P $pid dcrnn-train | tail -n 1)"
    wait $pid
    got=$?
    check "one rank stopped: mpirun reports 143" test $got -eq 143
    counts=$(wc -l "$TMP"/term3/steps-rank?.csv | awk '$2 != "total" { print $1 }' | sort -u | wc -l)
    check "all ranks did the same number of steps" test "$counts" -eq 1

    # A rank that is killed ends the others.
    "${ranks[@]}" 2 "$BIN/dcrnn-train" "${long[@]}" --out "$TMP/kill" >"$TMP/kill.log" 2>&1 &
    pid=$!
    check "two ranks are under way" wait_for_steps "$TMP/kill/steps-rank1.csv" 5
    kill -KILL "$(pgrep -P $pid dcrnn-train | tail -n 1)"
    wait $pid
    got=$?
    check "a killed rank ends the run" test $got -ne 0
    check "what was written stays" test "$(wc -l <"$TMP/kill/steps-rank0.csv")" -gt 5
fi
finish
