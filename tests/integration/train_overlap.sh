#!/usr/bin/env bash
# train_overlap.sh - gradients in buckets: the right sums with the same bits on every rank, for all buckets, formats and
# shares of the ranks. Trace and tables report the same hidden time.
# alone: it compares times
# plain: it compares times
# shellcheck disable=SC2317  # functions are called by check
. tests/lib/tap.sh
if ! command -v mpirun >/dev/null; then
    skip "gradients travel" "no mpirun"
    finish
fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
ranks() { # number command...
    local n=$1
    shift
    mpirun --oversubscribe --bind-to none --mca btl_vader_single_copy_mechanism none -n "$n" "$@"
}
train=("$BIN/dcrnn-train" --sensors 12 --days 2 --units 16 --seed 5 --batch 64)

# The sums themselves.
# shellcheck disable=SC2046  # several words are meant
check "the program that adds up builds" "${CC:-cc}" -std=gnu11 -O1 -I. $(pkg-config --cflags ompi-c) -o "$TMP/sums" \
    tests/data/programs/grad_sync_ranks.c "$BUILD/libtrainer.a" "$BUILD/libdcr.a" $(pkg-config --libs ompi-c nettle) -lm -ldl -pthread
for case in "2 fp32 1048576 1" "3 fp32 5000 1" "3 fp32 5000 0" "4 fp32 700 1" "2 bf16 5000 1" "4 bf16 1048576 1" "3 none 5000 1"; do
    read -r n dtype bytes overlap <<<"$case"
    check "$n ranks, $dtype, buckets of $bytes bytes, overlap $overlap: sums and bits" ranks "$n" "$TMP/sums" "$dtype" "$bytes" "$overlap"
done

# Largest of max|a-b| / max|b| over the tensors.
worst() { # limit a b
    paste -d' ' "$2" "$3" | awk -v limit="$1" '
        function abs(x) { return x < 0 ? -x : x }
        $1 != $3 { bad = 1 }
        { d = abs($2 - $4); if (d > diff[$1]) diff[$1] = d; if (abs($4) > size[$1]) size[$1] = abs($4) }
        END { for (k in size) if (size[k] > 0 && diff[k] / size[k] > w) w = diff[k] / size[k]
              printf "worst tensor %.2e\n", w; exit bad || NR == 0 || !(w < limit) }'
}
check "gradient of one rank" "${train[@]}" --gradient-to "$TMP/g1"
check "two ranks, buckets of 5000 bytes" ranks 2 "${train[@]}" --bucket-bytes 5000 --gradient-to "$TMP/overlap"
check "two ranks, after the backward pass" ranks 2 "${train[@]}" --no-overlap --gradient-to "$TMP/g-after"
check "the same bits" cmp "$TMP/overlap" "$TMP/g-after"
check "one rank's gradient within 1e-5" worst 1e-5 "$TMP/overlap" "$TMP/g1"
check "two ranks with two threads and three parts" ranks 2 "${train[@]}" --threads 2 --accumulate 3 --gradient-to "$TMP/parts"
check "within 1e-5, too" worst 1e-5 "$TMP/parts" "$TMP/g1"
check "two ranks, bf16" ranks 2 "${train[@]}" --allreduce-dtype bf16 --gradient-to "$TMP/bf16"
check "bf16: within a hundredth of each tensor's largest" worst 1e-2 "$TMP/bf16" "$TMP/g1"
check_status 1 "but no closer than bf16 can be" worst 1e-4 "$TMP/bf16" "$TMP/g1"

# Unequal shares.
check "three ranks, shares 5:2:0" ranks 3 "${train[@]}" --rank-weights 5,2,0 --gradient-to "$TMP/weights"
check "shares change the gradient by rounding only" worst 1e-5 "$TMP/weights" "$TMP/g1"
check_status 2 "shares for other ranks" ranks 2 "${train[@]}" --rank-weights 1,2,3 --out "$TMP/none"
cp "$TMP/tap.out" "$TMP/said"
check "say so" grep -q "has 3 shares for 2 ranks" "$TMP/said"
run=(--steps 6 --validation-windows 4)
check "a run with shares 3:1" ranks 2 "${train[@]}" "${run[@]}" --rank-weights 3,1 --out "$TMP/shares"
column() { # file name: the column's cells
    awk -F, -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i } NR > 1 { print $c }' "$1"
}
check "rank 1 has a quarter of the batch" test "$(column "$TMP/shares/steps-rank1.csv" samples | sort -u)" = 16
check "program.json has the shares" jq -e '.rank_weights == [3, 1]' "$TMP/shares/program.json"

# No exchange at all, for measurements: every document says so.
check "a run without exchange" ranks 2 "${train[@]}" "${run[@]}" --allreduce-dtype none --out "$TMP/off"
cp "$TMP/tap.out" "$TMP/said"
check "warns" grep -q "warning: --allreduce-dtype none" "$TMP/said"
check "says so in program.json" jq -e '.allreduce_dtype == "none"' "$TMP/off/program.json"
bytes() { column "$TMP/$1/steps-rank0.csv" allreduce_bytes | sort -u; }
check "only counts travel" test "$(bytes off)" = 40
check "all ranks log the same loss nevertheless" \
    cmp <(column "$TMP/off/steps-rank0.csv" loss) <(column "$TMP/off/steps-rank1.csv" loss)
check "bf16 halves the bytes" ranks 2 "${train[@]}" "${run[@]}" --allreduce-dtype bf16 --out "$TMP/half"
check "of the gradients" test $((2 * ($(bytes half) - 40) )) = $(($(bytes shares) - 40))

# Time in flight: in the tables, in the trace, in the report.
hidden() { # folder rank: sum of the steps from the first on, ns
    paste -d' ' <(column "$1/steps-rank$2.csv" allreduce_inflight_ns) <(column "$1/steps-rank$2.csv" allreduce_ns) |
        awk '{ sum += $1 > $2 ? $1 - $2 : 0 } END { printf "%.0f\n", sum }'
}
long=(--sensors 30 --units 64 --batch 32 --steps 12 --bucket-bytes 200000)
record() { # name option...: $TMP/name.tar, with traces, and $TMP/name-tables.tar, without
    local name=$1
    shift
    ranks 2 "$BIN/dccollect" run --spool "$TMP/spool" --emulate-nodes -- "${train[@]}" "${run[@]}" "${long[@]}" "$@" \
        --out "$TMP/$name" && "$BIN/dccollect" pack "$TMP/spool" --adopt "$TMP/$name" -o "$TMP/$name.tar" &&
        rm "$TMP"/spool/rank?/*.dct "$TMP"/spool/rank?/*summary* &&
        "$BIN/dccollect" pack "$TMP/spool" --adopt "$TMP/$name" -o "$TMP/$name-tables.tar" && rm -r "$TMP/spool"
}
check "recorded: overlapped" record overlapped
check "recorded: not overlapped" record after --no-overlap
report() { # name key of the run
    "$BIN/dcreport" "$TMP/$1.tar" -o "$TMP/site-$1" >/dev/null
    jq -r ".runs[0].$2" "$TMP/site-$1/report.json"
}
check "steps are from the trace" test "$(report overlapped steps_source)" = "native traces"
check "or from the table" test "$(report overlapped-tables steps_source)" = "steps.csv"
in_trace=$(report overlapped hidden_communication_ns)
in_table=$(report overlapped-tables hidden_communication_ns)
after=$(report after hidden_communication_ns)
echo "# hidden per step, ns: $in_trace in the trace, $in_table in the table, $after without overlap"
check "something was hidden" test "$in_trace" -gt 0
check "trace and table agree about it" awk -v a="$in_trace" -v b="$in_table" 'BEGIN { d = a - b; exit !(d * d <= (a / 10 + 200000) ^ 2) }'
check "nothing is hidden without overlap" test "$after" -lt $((in_trace / 10 + 100000))
check "buckets are no part of the step" jq -e '[.runs[0].phases[].name] | index("all_reduce") and (index("all_reduce_bucket") | not)' \
    "$TMP/site-overlapped/report.json"
check "hidden time is not called saved" grep -q "overlap may save less" "$TMP/site-overlapped/report.json"
. tests/data/programs/build.sh
build_trace_text || not_ok "trace_text builds"
mkdir -p "$TMP/x" && tar xf "$TMP/overlapped.tar" -C "$TMP/x"
n_buckets() { "$TMP/trace_text" "$TMP"/x/rank1/*.dct | grep -c '^process-range .*|comm|all_reduce_bucket] u64='; }
# 1.49 MB of gradients, halves of 745 KB in 4 buckets each
check "the trace holds every bucket" test "$(n_buckets)" = $((12 * 8))
finish
