#!/usr/bin/env bash
# train_ranks.sh - N ranks that share a batch compute what one rank computes, also when the batch does not divide.
# shellcheck disable=SC2317  # functions are called by check
. tests/lib/tap.sh

ranks() { # number command...
    local n=$1
    shift
    mpirun --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 -n "$n" "$@"
}
if ! command -v mpirun >/dev/null; then
    skip "ranks agree" "no mpirun"
    finish
fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
model=(--sensors 20 --days 2 --units 16 --seed 5)

# Largest of max|a-b| / max|b| over the tensors (the definition of the reference vectors).
worst() {
    paste -d' ' "$1" "$2" | awk '
        function abs(x) { return x < 0 ? -x : x }
        $1 != $3 { bad = 1 }
        { d = abs($2 - $4); if (d > diff[$1]) diff[$1] = d; if (abs($4) > size[$1]) size[$1] = abs($4) }
        END { for (k in size) if (size[k] > 0 && diff[k] / size[k] > w) w = diff[k] / size[k]
              if (bad || NR == 0) w = 1
              printf "%.2e\n", w; exit !(w < 1e-5) }'
}

for batch in 64 7 2; do
    check "gradient of one rank, batch $batch" \
        "$BIN/dcrnn-train" "${model[@]}" --batch $batch --gradient-to "$TMP/g1"
    for n in 2 3 4; do
        name="batch $batch over $n ranks: gradient within 1e-5 in every tensor"
        if ! ranks $n "$BIN/dcrnn-train" "${model[@]}" --batch $batch --gradient-to "$TMP/g$n" >"$TMP/log" 2>&1; then
            not_ok "$name" "$(tail -n 5 "$TMP/log")"
        elif w=$(worst "$TMP/g$n" "$TMP/g1"); then
            ok "$name ($w)"
        else
            not_ok "$name" "worst tensor $w"
        fi
    done
done

# Memory traffic of a step, by hand. P = 3473 parameters, R = 6 windows x 4 sensors, 16 units. With one input step the encoder's
# 2 * 3 * 16 * 16 = 1536 weights of the state are unused, so that 4 of 14 passes fall away.
#   (14 P - 4 * 1536) * 2 micro-batches + 12 P + 3 * 4 * 16 * 2 R + (4 + 2) R = 135992 numbers of 4 bytes
#   (7 + 7 * 2 threads) P               + 12 P + 3 * 4 * 16 * 3 R + (8 + 2) R = 339633, with R = 96 x 4: two tiles of 48 windows
small=(--sensors 4 --days 2 --units 16 --layers 1 --hops 1 --filter random_walk --steps 1 --batch 6 --forecast-steps 1 --validation-windows 30)
traffic() { # bytes option...
    local bytes=$1
    shift
    "$BIN/dcrnn-train" "${small[@]}" "$@" --out "$TMP/small" &&
        jq -e --argjson bytes "$bytes" '.parameters == 3473 and .traffic_bytes_per_step == $bytes' "$TMP/small/program.json"
}
check "memory traffic is that of the formula, without a state before the input" traffic 543968 --input-steps 1 --accumulate 2
check "... and of two threads with their own sums" traffic 1358532 --input-steps 2 --threads 2 --batch 96

# A short training: every rank logs every step, shares add up to the batch, all see the same global loss.
run=(--steps 4 --batch 7 --validation-windows 30)
check "one rank trains" "$BIN/dcrnn-train" "${model[@]}" "${run[@]}" --out "$TMP/one"
check "three ranks train" ranks 3 "$BIN/dcrnn-train" "${model[@]}" "${run[@]}" --out "$TMP/three"
column() { # file name: the column's cells
    awk -F, -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i } NR > 1 { print $c }' "$1"
}
shares() { paste -d' ' <(column "$TMP/three/steps-rank0.csv" samples) <(column "$TMP/three/steps-rank1.csv" samples) \
    <(column "$TMP/three/steps-rank2.csv" samples) | sort -u; }
check "a batch of 7 is shared 2 + 2 + 3" test "$(shares)" = "2 2 3"
same_loss() { cmp <(column "$TMP/three/steps-rank0.csv" loss) <(column "$TMP/three/steps-rank2.csv" loss); }
check "all ranks log the same loss" same_loss
close_to_one() { # file column tolerance
    paste -d' ' <(column "$TMP/one/$1" "$2") <(column "$TMP/three/$1" "$2") |
        awk -v t="$3" '{ d = $1 - $2; if (d < 0) d = -d; if (!(d <= t * $1)) bad = 1 } END { exit bad || NR == 0 }'
}
check "the loss is that of one rank" close_to_one steps-rank0.csv loss 1e-3
check "validation over three ranks scores the same windows" close_to_one metrics.csv val_mae 2e-2
bytes=$(column "$TMP/three/steps-rank1.csv" allreduce_bytes | sort -u)
parameters=$(sed -n 's/.*"parameters": \([0-9]*\),.*/\1/p' "$TMP/three/program.json")
check "the all-reduce carries all gradients" test "$bytes" -ge $((4 * parameters))
check "one rank sends nothing" test "$(column "$TMP/one/steps-rank0.csv" allreduce_bytes | sort -u)" = 0

# Weak scaling: --batch counts per rank.
check "two ranks, weak scaling" ranks 2 "$BIN/dcrnn-train" "${model[@]}" --weak --batch 5 --steps 2 \
    --validation-windows 8 --out "$TMP/weak"
check "each rank has 5 windows" test "$(column "$TMP/weak/steps-rank1.csv" samples | sort -u)" = 5
check "program.json says so" grep -q '"strong_scaling": false' "$TMP/weak/program.json"

# One sentence, from one rank, and a status that mpirun passes on.
check_status 2 "bad input ends all ranks" ranks 3 "$BIN/dcrnn-train" --data /nonexistent --graph x --out "$TMP/none"
said=$(grep -c "^dcrnn-train:" "$TMP/tap.out")
check "one rank says why" test "$said" -eq 1

# A failing call of MPI on one rank ends all of them, and is named.
cat >"$TMP/break.c" <<'C'
#include <mpi.h>
int MPI_Iallreduce(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request *r)
{
    static int calls;
    return ++calls == 9 ? MPI_ERR_INTERN : PMPI_Iallreduce(in, out, n, type, op, comm, r);
}
C
# shellcheck disable=SC2046  # several words are meant
check "a library that breaks MPI" "${CC:-cc}" $(pkg-config --cflags ompi-c) -shared -fPIC -o "$TMP/break.so" "$TMP/break.c"
long=("$BIN/dcrnn-train" "${model[@]}" --batch 8 --steps 20000 --epochs 10000 --validate-every 0 --out "$TMP/broken")
timeout 300 mpirun --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 -n 1 "${long[@]}" : \
    -n 1 env LD_PRELOAD="$TMP/break.so" "${long[@]}" >"$TMP/broken.log" 2>&1
got=$?
check "all ranks end, with a status" test $got -ne 0 -a $got -ne 124
check "the message names rank, host and call" \
    grep -q "^dcrnn-train: rank 1 on $(hostname): MPI_Iallreduce of .* failed: " "$TMP/broken.log"
finish
