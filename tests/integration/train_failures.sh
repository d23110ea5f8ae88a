#!/usr/bin/env bash
# train_failures.sh - if one rank fails in any way, all end soon, with one message and nothing left behind. A loss that
# explodes ends a run, and the last good checkpoint stays.
# partly sanitized: error paths are rarely executed; of each kind one runs with them
# shellcheck disable=SC2317  # functions are called by check
. tests/lib/tap.sh
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# The runs end by themselves after a while, in case a signal is lost.
long=(--sensors 8 --days 2 --units 8 --batch 32 --epochs 100000 --steps 60000 --validate-every 0)
launch=(mpirun --oversubscribe --bind-to none)
host=$(hostname)

# ---- refused before MPI is joined; checked at the end -----------------------------------------------
export OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=1
"$BIN/dcrnn-train" --layers 0 >"$TMP/refused" 2>&1 &
refused=$!
"$BIN/dcrnn-train" --layers 0 >"$TMP/ended" 2>&1 &
ended=$!
unset OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_RANK
is_waiting() { # the shell that is about to become it may also catch the signal
    [ "$(cat "/proc/$ended/comm")" = dcrnn-train ] &&
        (($(sed -n 's/^SigCgt:[[:space:]]*/0x/p' "/proc/$ended/status") & 0x4000))
}
until is_waiting || ! kill -0 $ended; do sleep 0.05; done
kill -TERM $ended

# ---- the loss ------------------------------------------------------------------------------------
short=(--sensors 8 --days 2 --units 8 --batch 32 --epochs 30 --validate-every 0)
check "a good run with a checkpoint" "$BIN/dcrnn-train" "${short[@]}" --checkpoint-every 5 --steps 20 --out "$TMP/good"
cp "$TMP/good/checkpoint.bin" "$TMP/good.bin"
use sanitized
check_status 1 "weights that leave the valley" "$BIN/dcrnn-train" "${short[@]}" --lr 30 --clip 0 --checkpoint-every 1 \
    --resume "$TMP/good/checkpoint.bin" --out "$TMP/good"
cp "$TMP/tap.out" "$TMP/said"
check "one sentence" test "$(grep -c "^dcrnn-train: training diverged" "$TMP/said")" -eq 1
check "names the loss and the checkpoint" \
    grep -q "was above 10 times its best, .* for 10 steps\. Start again with a lower --lr or resume the last good checkpoint with one: $TMP/good/checkpoint.bin" "$TMP/said"
check "the good checkpoint is still there, the spoiled one is not" cmp "$TMP/good.bin" "$TMP/good/checkpoint.bin"
check "and nothing beside it" test "$(find "$TMP/good" -name 'checkpoint*' | wc -l)" -eq 1
use plain
check "it can be resumed" "$BIN/dcrnn-train" "${short[@]}" --steps 30 --resume "$TMP/good/checkpoint.bin" --out "$TMP/good"
check_status 1 "spoiled before any checkpoint was good" "$BIN/dcrnn-train" "${short[@]}" --lr 30 --clip 0 \
    --checkpoint-every 1 --steps 100 --out "$TMP/bad"
check "there is none" test ! -e "$TMP/bad/checkpoint.bin"
check "switched off, it goes on" "$BIN/dcrnn-train" "${short[@]}" --lr 30 --clip 0 --explode-factor 0 --steps 30 --out "$TMP/off"

check_status 1 "too few steps to be sure, but validation says the same" "$BIN/dcrnn-train" --sensors 8 --days 2 --units 8 --lr 1e30 \
    --steps 3 --out "$TMP/few"
cp "$TMP/tap.out" "$TMP/said"
check "and it is said" grep -q "training diverged in step 3 .* for 2 steps" "$TMP/said"

# ---- two runs in one folder
"$BIN/dcrnn-train" "${long[@]}" --out "$TMP/both" >"$TMP/first" 2>&1 &
first=$!
until [ -s "$TMP/both/steps-rank0.csv" ] || ! kill -0 $first 2>/dev/null; do sleep 0.05; done
check_status 2 "a folder that another run writes into is refused" "$BIN/dcrnn-train" "${short[@]}" --steps 1 --out "$TMP/both"
cp "$TMP/tap.out" "$TMP/said"
check "and it is said" grep -q "another dcrnn-train writes into '$TMP/both' just now" "$TMP/said"
kill $first
wait $first
use sanitized
check_status 2 "a folder of data without its files" "$BIN/dcrnn-train" --data "$TMP/good" --graph none.csv
cp "$TMP/tap.out" "$TMP/said"
check "and it is said" grep -q "has no 'train.npz'. A folder of data holds train.npz, val.npz and test.npz" "$TMP/said"

if ! command -v mpirun >/dev/null; then
    skip "what happens to one rank" "no mpirun"
    finish
fi

# ---- one of several ranks ------------------------------------------------------------------------
# Processes of a run: they carry its output folder among their arguments.
processes() { # folder
    grep -lzx -- "$1" /proc/[0-9]*/cmdline 2>/dev/null | cut -d/ -f3 | while read -r p; do
        case $(readlink "/proc/$p/exe") in */bin/dcrnn-train) echo "$p" ;; esac
    done
}
process_of() { # folder rank
    local p
    for p in $(processes "$1"); do
        tr '\0' '\n' <"/proc/$p/environ" | grep -qx "OMPI_COMM_WORLD_RANK=$2" && echo "$p"
    done
}
wait_for_steps() { # folder
    for _ in $(seq 300); do
        [ -f "$1/steps-rank0.csv" ] && [ "$(wc -l <"$1/steps-rank0.csv")" -gt 5 ] && return 0
        sleep 0.1
    done
    return 1
}
# start NAME MPIRUN-ARGUMENT...: the run has begun and writes into $TMP/NAME
declare -A pid=()
start() {
    local name=$1
    shift
    mkdir "$TMP/mpi-$name"
    TMPDIR=$TMP/mpi-$name timeout 300 "${launch[@]}" "$@" >"$TMP/$name.log" 2>&1 &
    pid[$name]=$!
    wait_for_steps "$TMP/$name" || not_ok "$name: no steps" "$(cat "$TMP/$name.log")"
}
# ended NAME WORDS WANTED-STATUS: with that status or, for "not 0", any other; nothing is left of it. Sets $out, $log, $said
ended() {
    local status=0
    out=$TMP/$1 log=$TMP/$1.log
    wait "${pid[$1]}" || status=$?
    if [ "$3" = "not 0" ]; then
        check "$2: mpirun's status says so" test $status -ne 0 -a $status -ne 124
    else
        check "$2: mpirun's status is $3" test $status -eq "$3"
    fi
    check "$2: no process is left" test -z "$(processes "$out")"
    said=$(grep -c "^dcrnn-train: rank" "$log")
}

cat >"$TMP/leave.c" <<'C'
#include <mpi.h>
#include <stdlib.h>
int MPI_Iallreduce(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request *r)
{
    static int calls;
    if (++calls == 40)
        exit((int)strtol(getenv("LEAVE_STATUS"), NULL, 10));
    return PMPI_Iallreduce(in, out, n, type, op, comm, r);
}
C
# shellcheck disable=SC2046  # several words are meant
check "a library that leaves" "${CC:-cc}" $(pkg-config --cflags ompi-c) -shared -fPIC -o "$TMP/leave.so" "$TMP/leave.c"
start killed -n 3 "$BIN/dcrnn-train" "${long[@]}" --out "$TMP/killed"
kill -KILL "$(process_of "$TMP/killed" 1)"
use plain
for status in 3 0; do # they end while the next ones begin
    run=("$BIN/dcrnn-train" "${long[@]}" --comm-timeout 10 --out "$TMP/left$status")
    start left$status -n 1 "${run[@]}" : -n 1 env LD_PRELOAD="$TMP/leave.so" LEAVE_STATUS=$status "${run[@]}"
done
ended killed "a rank is killed" "not 0"
check "a rank is killed: the launcher says which" grep -q "process rank 1 .* on node $host exited on signal 9" "$log"
check "a rank is killed: nobody else speaks" test "$said" -eq 0
ended left3 "a rank leaves with status 3" "not 0"
ended left0 "a rank leaves with status 0" "not 0"

use sanitized
start stopped -n 3 "$BIN/dcrnn-train" "${long[@]}" --comm-timeout 3 --out "$TMP/stopped"
kill -STOP "$(process_of "$TMP/stopped" 2)"
ended stopped "a rank stands still" "not 0"
check "a rank stands still: one other says rank, host, call and how long" \
    grep -qE "^dcrnn-train: rank [01] on $host: MPI_I[a-z]* of [a-z]* has waited [34] s for another rank. Look for a lost rank" "$log"
check "a rank stands still: one message" test "$said" -eq 1

# Ranks that were started with different options: nothing begins, and one sentence names the difference.
start_with() { # name option... of rank 1
    local name=$1
    local alike=("$BIN/dcrnn-train" --sensors 6 --days 1 --units 4 --batch 8 --steps 3 --validation-windows 4 --out "$TMP/alike-$name" "${of_both[@]}")
    mkdir "$TMP/mpi-$name" # those that begin at once must not make the same folder
    TMPDIR=$TMP/mpi-$name timeout 300 "${launch[@]}" -n 1 "${alike[@]}" : -n 1 "${alike[@]}" "${@:2}" >"$TMP/$name.log" 2>&1 </dev/null &
    pid[$name]=$!
}
refused_with() { # name title words
    local status=0
    wait "${pid[$1]}" || status=$?
    check "$2" test $status -eq 2
    check "$2: one sentence that says so" test "$(grep -c '^dcrnn-train: ' "$TMP/$1.log") $(grep -cF -- "$3" "$TMP/$1.log")" = "1 1"
    check "$2: nothing is written" test ! -e "$TMP/alike-$1"
}

use plain
# All ranks stand still for longer than the watchdog's patience: a suspended job is not a stuck one.
start suspended -n 2 "$BIN/dcrnn-train" "${long[@]}" --comm-timeout 3 --out "$TMP/suspended"
# shellcheck disable=SC2046  # several words are meant
kill -STOP $(processes "$TMP/suspended")
since=$SECONDS
# Meanwhile others are started, which end before they begin.
of_both=()
start_with units --units 8
start_with seed --seed 4294967297
start_with bytes --allreduce-dtype bf16
use sanitized
start_with alone --layers 0
use plain
of_both=(--layers 0)
start_with all
refused_with units "a rank with other units" "rank 1 on $host was started with another --units than rank 0"
refused_with seed "a rank with another seed" "another --seed than rank 0"
refused_with bytes "a rank that sends other bytes" "another --allreduce-dtype than rank 0"
refused_with alone "a rank that is refused alone" "rank 1 on $host: --layers takes a whole number from 1 to 8, not '0'."
refused_with all "ranks that are all refused" "dcrnn-train: --layers takes a whole number from 1 to 8, not '0'."
until [ $((SECONDS - since)) -gt 4 ]; do sleep 0.1; done
out=$TMP/suspended
# shellcheck disable=SC2046
kill -CONT $(processes "$out")
rows=$(wc -l <"$out/steps-rank0.csv")
for _ in $(seq 1200); do # as soon as it does; other programs may be busy
    [ "$(wc -l <"$out/steps-rank0.csv")" -le "$rows" ] || break
    sleep 0.1
done
check "a suspended job goes on" test "$(wc -l <"$out/steps-rank0.csv")" -gt "$rows"
kill -TERM "$(process_of "$out" 0)"
ended suspended "a suspended job" 143

use sanitized
start full -n 1 "$BIN/dcrnn-train" "${long[@]}" --out "$TMP/full" : \
    -n 1 "$BIN/dcrnn-train" "${long[@]}" --out "$TMP/full"
prlimit --pid "$(process_of "$TMP/full" 1)" --fsize="$(stat -c %s "$TMP/full/steps-rank1.csv")"
use plain
start reading -n 2 "$BIN/dcrnn-train" "${long[@]}" --stage-windows --loader-workers 1 --out "$TMP/reading"
staged=$(find "/proc/$(process_of "$TMP/reading" 1)/fd" -lname "*/windows.bin (deleted)")
check "the file of windows is open, and has no name" test -n "$staged"
truncate -s 5000 "$staged"
ended full "a rank cannot write" 2
check "a rank cannot write: rank, host and file are named" \
    grep -q "^dcrnn-train: rank 1 on $host: cannot write '$out/steps-rank1.csv': File too large" "$log"
check "a rank cannot write: one message" test "$said" -eq 1
ended reading "a rank cannot read" 2
check "a rank cannot read: rank, host and file are named" \
    grep -q "^dcrnn-train: rank [01] on $host: .*'$TMP/reading/windows.bin'" "$log"
check "a rank cannot read: one message" test "$said" -eq 1

# One of two ranks alone, started above.
status=0
wait $refused || status=$?
check "one rank that is refused ends with its own status" test $status -eq 2
check "and says so, with rank and host" \
    grep -qx "dcrnn-train: rank 1 on $host: --layers takes a whole number from 1 to 8, not '0'." "$TMP/refused"
status=0
wait $ended || status=$?
check "one that the launcher ends meanwhile ends with its own status, too" test $status -eq 2
check "and is silent" test ! -s "$TMP/ended"
finish
