#!/usr/bin/env bash
# What the collector costs, in one run on one machine: a push and a pop (1 and 8 threads) beside LTTng-UST's two
# tracepoints, a call on a file, an MPI call, and the trainer's step with everything on against off.
#   collect.sh [--groups N] [--pairs N] [--steps N] [--options "WORDS"]
#     --groups N  of four turns of a quarter of a second each, off on on off, of two trainers that run at once (40)
#     --options W more options of `dccollect run`, for example "--counters off"
#     --pairs N   whole runs of the trainer in the order off on on off, each N (3);  --steps N  steps of each run (400)
# Figures to be read; nothing passes or fails, but the bars they are held against stand beside them.
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${BUILD:=$PWD/build}"
groups=40 turn_ms=250 pairs=3 steps=400 more=()
while [ $# -gt 0 ]; do
    case $1 in
    --groups) groups=$2 && shift ;;
    --pairs) pairs=$2 && shift ;;
    --steps) steps=$2 && shift ;;
    --options) read -r -a more <<<"$2" && shift ;;
    *) echo "collect.sh: unknown option '$1'; see the head of the file" >&2 && exit 2 ;;
    esac
    shift
done
TMP=$(mktemp -d "${BENCH_DIR:-${TMPDIR:-/tmp}}/dcr-bench.XXXXXX")
sessiond=
finish() {
    [ -z "$sessiond" ] || { lttng destroy dcr-bench >/dev/null 2>&1 || true; kill "$sessiond" 2>/dev/null || true; }
    rm -rf "$TMP"
}
trap finish EXIT
BIN=$BUILD/bin
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
. tests/data/programs/build.sh

echo "load $(cut -d' ' -f1 /proc/loadavg) on $(nproc) cores; other programs on the same cores make everything dearer"
echo "-- a push and a pop (bar: under 70 ns)"
"$CC" -std=gnu11 -O2 "${NVTX_FLAGS[@]}" -o "$TMP/nvtx_cost" tests/bench/nvtx_cost.c -ldl -pthread
"$COLLECT" run --spool "$TMP/spool" -- "$TMP/nvtx_cost" 2>/dev/null | tee "$TMP/nvtx.txt"
rm -rf "$TMP/spool"

# A daemon of its own, so that none that runs already is disturbed. Sets why when it cannot be had.
why=
start_lttng() {
    command -v lttng-sessiond >/dev/null || { why="lttng-tools is not installed" && return 1; }
    "$CC" -std=gnu11 -O2 -I. -o "$TMP/lttng_cost" tests/bench/lttng_cost.c -llttng-ust -llttng-ust-common -ldl -pthread 2>"$TMP/cc.txt" ||
        { why="liblttng-ust-dev is not installed, or another version of it" && return 1; }
    export LTTNG_HOME=$TMP/lttng
    mkdir -p "$LTTNG_HOME"
    lttng-sessiond >"$TMP/sessiond.txt" 2>&1 &
    sessiond=$!
    for _ in $(seq 50); do lttng list >/dev/null 2>&1 && break; sleep 0.1; done
    if ! { lttng create dcr-bench --output "$TMP/lttng/trace" &&
        lttng enable-channel -u -s dcr-bench --subbuf-size 1M --num-subbuf 8 channel &&
        lttng enable-event -u -s dcr-bench -c channel 'dcr_bench:*' && lttng start dcr-bench; } >"$TMP/lttng.txt" 2>&1; then
        why="no session: $(tail -n 1 "$TMP/lttng.txt")"
        return 1
    fi
}
if start_lttng; then
    "$TMP/lttng_cost" | tee "$TMP/lttng_cost.txt"
else
    echo "LTTng-UST: skipped, $why"
fi

echo "-- a call on a file and an MPI call, alone and recorded (thread CPU time)"
build_program io_calls io_calls.c -O2
mkdir "$TMP/io" && cd "$TMP/io"
for _ in 1 2 3 4 5; do
    ../io_calls cost 300000
done | sort -n | sed -n 3p >"$TMP/a"
for i in 1 2 3 4 5; do
    "$COLLECT" run --spool "$TMP/s$i" -- ../io_calls cost 300000 2>/dev/null
done | sort -n | sed -n 3p >"$TMP/b"
cd - >/dev/null
paste "$TMP/a" "$TMP/b" | awk '{ printf "pread of 1 byte %35s alone %.1f ns, recorded %.1f: %.1f ns\n", "", $1, $2, $2 - $1 }'
if command -v mpicc >/dev/null; then
    mpicc -O2 -o "$TMP/mpi_cost" tests/bench/mpi_cost.c
    for _ in 1 2 3 4 5; do "$TMP/mpi_cost"; done | sort -n | sed -n 3p >"$TMP/a"
    for i in 1 2 3 4 5; do "$COLLECT" run --spool "$TMP/m$i" -- "$TMP/mpi_cost" 2>/dev/null; done | sort -n | sed -n 3p >"$TMP/b"
    paste "$TMP/a" "$TMP/b" | awk '{
        printf "MPI_Allreduce of one rank %25s alone %.1f ns, recorded %.1f: %.1f ns\n", "", $1, $3, $3 - $1
        printf "MPI_Irecv, Send, Wait, mean %23s alone %.1f ns, recorded %.1f: %.1f ns\n", "", $2, $4, $4 - $2 }'
else
    echo "MPI: skipped, no mpicc"
fi

echo "-- the trainer's step, everything on against off (bar: median under 1 %, upper 95 % bound under 2 %)"
echo "   a small model, so that what the collector does weighs most"
train=("$BIN/dcrnn-train" --sensors 16 --units 16 --batch 16 --steps "$steps" --epochs 1000 --validate-every 0)
TIMEFORMAT='%U %S'
one() { # KIND: median step in ns, the first ten left out; processor time of the program in ms
    rm -rf "$TMP/out" "$TMP/spool"
    local cpu
    if [ "$1" = on ]; then
        "$COLLECT" run "${more[@]}" --spool "$TMP/spool" -- "${train[@]}" --out "$TMP/out" >/dev/null 2>&1
        cpu=$(jq -r '"\(.user_ns / 1e9) \(.system_ns / 1e9)"' "$TMP/spool/launcher.json")
    else
        cpu=$({ time "${train[@]}" --out "$TMP/out" >/dev/null 2>&1; } 2>&1)
    fi
    [ -s "$TMP/out/steps-rank0.csv" ] || return 1
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "step_ns") c = i; next } NR > 11 { print $c }' \
        "$TMP/out"/steps-rank0.csv | sort -n | awk -v cpu="$cpu" '{ v[NR] = $1 } END {
            split(cpu, u, " "); printf "%d %.0f\n", v[int((NR + 1) / 2)], 1000 * (u[1] + u[2]) }'
}
# Groups of four values, off on on off, a line each: mean, median and Student's interval of the difference in percent.
compare() { # WHAT UNIT DIVISOR OF
    awk -v what="$1" -v unit="$2" -v divisor="$3" -v of="$4" '{
        x = 100 * (($2 + $3) / ($1 + $4) - 1); v[++n] = x; sum += x; off += ($1 + $4) / 2
    } END {
        split("12.706 4.303 3.182 2.776 2.571 2.447 2.365 2.306 2.262 2.228 2.201 2.179 2.160 2.145 2.131 2.120 2.110 2.101 " \
            "2.093 2.086 2.080 2.074 2.069 2.064 2.060 2.056 2.052 2.048 2.045 2.042", t, " ")
        m = sum / n
        for (i = 1; i <= n; i++) ss += (v[i] - m) ^ 2
        h = n > 1 ? (n - 1 <= 30 ? t[n - 1] : 2.042) * sqrt(ss / (n - 1) / n) : 0
        for (i = 1; i <= n; i++) for (j = i + 1; j <= n; j++) if (v[j] < v[i]) { w = v[i]; v[i] = v[j]; v[j] = w }
        median = n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
        printf "%s %.2f %s: %+.2f %% with the collector (median %+.2f %%)", what, off / n / divisor, unit, m, median
        if (n > 1) printf ", 95 %% interval %+.2f to %+.2f %%, of %d groups of four %s\n", m - h, m + h, n, of
        else print ", one group: no interval" }'
}
# Two trainers, one of them collected, in turns of a quarter of a second (turns.c): what the host does to the machine from
# second to second falls on both alike, and start and end of neither count. A turn's value is the median of the steps that lie
# in it whole; its processor time a step is that of the turn, per time of whole steps.
: >"$TMP/step.txt"
: >"$TMP/processor.txt"
cannot() {
    echo "n/a because $BIN/dcrnn-train did not run: $("${train[@]}" --out "$TMP/out" 2>&1 >/dev/null | tail -n 1)"
}
"$CC" -std=gnu11 -O2 -o "$TMP/turns" tests/bench/turns.c
long="$BIN/dcrnn-train --sensors 16 --units 16 --batch 16 --steps 10000000 --epochs 1000000 --validate-every 0"
if "$TMP/turns" "$turn_ms" "$groups" "exec $long --out '$TMP/off' >/dev/null 2>&1" \
    "exec '$COLLECT' run ${more[*]} --spool '$TMP/turns-spool' -- $long --out '$TMP/on' >/dev/null 2>&1" >"$TMP/turns.txt" 2>"$TMP/turns.err"; then
    awk -F'[ ,]' '
        FNR == 1 { file++ }
        file < 3 && FNR == 1 { for (i = 1; i <= NF; i++) { if ($i == "start_ns") s = i; if ($i == "step_ns") d = i }; next }
        file < 3 { n[file]++; start[file, n[file]] = $s; step[file, n[file]] = $d; next }
        {
            f = $1 == "off" ? 1 : 2; k = 0; all = 0
            for (at[f] += !at[f]; at[f] <= n[f] && start[f, at[f]] + step[f, at[f]] <= $3; at[f]++)
                if (start[f, at[f]] >= $2) {
                    x = step[f, at[f]]; all += x
                    for (i = k++; i > 0 && v[i] > x; i--) v[i + 1] = v[i]
                    v[i + 1] = x
                }
            if (k < 3) { print "too few steps in a turn" >"/dev/stderr"; exit 1 }
            own += $5; turns_ns += f == 2 ? $3 - $2 : 0
            line = line " " v[int((k + 1) / 2)]; cpu = cpu " " $4 / ($3 - $2) * all / k
            if (FNR % 4 == 0) { print line >steps; print cpu >processor; line = cpu = "" }
        }
        END { if (turns_ns) printf "the collector beside the program: %.1f %% of a core\n", 100 * own / turns_ns }' \
        steps="$TMP/turns-steps" processor="$TMP/turns-processor" \
        "$TMP/off/steps-rank0.csv" "$TMP/on/steps-rank0.csv" "$TMP/turns.txt" >"$TMP/own.txt" &&
        compare "step" ms 1e6 "turns of $turn_ms ms" <"$TMP/turns-steps" | tee "$TMP/step.txt" &&
        compare "processor time a step" ms 1e6 "turns of $turn_ms ms" <"$TMP/turns-processor" | tee "$TMP/processor.txt" &&
        cat "$TMP/own.txt"
else
    cat "$TMP/turns.err"
    cannot
fi

echo "   whole runs, start and end included: the processor time of the program"
for _ in $(seq "$pairs"); do
    a=$(one off) && b=$(one on) && c=$(one on) && d=$(one off) && echo "$a $b $c $d"
done >"$TMP/groups"
: >"$TMP/whole.txt"
if [ "$(wc -l <"$TMP/groups")" -eq "$pairs" ]; then
    awk '{ print $1, $3, $5, $7 }' "$TMP/groups" | compare "median step" ms 1e6 runs
    awk '{ print $2, $4, $6, $8 }' "$TMP/groups" | compare "processor time" s 1e3 runs | tee "$TMP/whole.txt"
else
    cannot
fi

echo "-- ten million events in one burst, 64 MB allowed"
build_program burst burst.c -O2
build_trace_text
"$COLLECT" run --spool "$TMP/burst-spool" --max-mb 64 -- "$TMP/burst" 5000000 >"$TMP/burst.txt" 2>/dev/null
"$TMP/trace_text" "$TMP"/burst-spool/rank0/*.dct --count >"$TMP/count.txt"
rm -rf "$TMP/burst-spool"
awk 'FNR == NR { made = $1; mb = $2; next } { for (i = 1; i <= NF; i++) { split($i, p, "="); v[p[1]] = p[2] }
    printf "made %d, recorded %d and dropped %d, torn %d; memory of its own %d MB\n", made, 2 * v["events"], v["dropped"], v["torn"], mb }' \
    "$TMP/burst.txt" "$TMP/count.txt" | tee "$TMP/burst-said.txt"

# What was asked of the collector, and what this run gave; "n/a" where it could not be measured. A busy machine misses bars that an
# idle one keeps: the first line has the load, and the multiples of two clock reads, which were taken in turns with the pairs in as
# many threads, tell a slow recorder from a slow host.
pair() { # THREADS FILE LABEL: ns per pair, after the label and the number of threads
    sed -n "s/^$3 *$1 threads\{0,1\} *\([0-9.]*\) ns.*/\1/p" "$2" 2>/dev/null | head -n 1
}
row() { # WHAT BAR VALUE UNIT; without a bar the value alone
    awk -v what="$1" -v bar="$2" -v v="$3" -v unit="$4" 'BEGIN {
        printf "%-66s %12s %12s", what, bar == "" ? "" : "< " bar " " unit, v == "" ? "n/a" : v " " unit
        print bar == "" ? "" : v == "" ? "  n/a" : v + 0 < bar + 0 ? "  kept" : "  missed" }'
}
label="nvtxRangePushA, nvtxRangePop"
[ -n "$(pair 1 "$TMP/nvtx.txt" "$label")" ] || label="dcc_range_push, dcc_range_pop" # no NVTX headers
lttng=$(pair 1 "$TMP/lttng_cost.txt" "LTTng-UST, two tracepoints")
multiple() { # THREADS: of a pair, in pairs of clock reads
    awk -v pair="$(pair "$1" "$TMP/nvtx.txt" "$label")" -v clock="$(pair "$1" "$TMP/nvtx.txt" "two clock reads alone")" \
        'BEGIN { if (pair > 0 && clock > 0) printf "%.2f", pair / clock }'
}
difference() { # WHAT FILE: rows of the median and of the upper bound
    row "$1, median of the difference" 1 "$(sed -n 's/.*(median +\{0,1\}\([-0-9.]*\) %).*/\1/p' "$2")" %
    row "$1, upper 95 % bound" 2 "$(sed -n 's/.*interval .* to +\{0,1\}\([-0-9.]*\) %,.*/\1/p' "$2")" %
}
echo "-- bars                                                                    asked     measured"
row "push + pop, 1 thread" 70 "$(pair 1 "$TMP/nvtx.txt" "$label")" ns
row "push + pop, each of 8 threads" 70 "$(pair 8 "$TMP/nvtx.txt" "$label")" ns
row "push + pop, cheaper than LTTng-UST's two tracepoints" "${lttng:-0}" "$([ -z "$lttng" ] || pair 1 "$TMP/nvtx.txt" "$label")" ns
difference "step of training" "$TMP/step.txt"
row "events of the burst not accounted for" 1 "$(sed -n 's/^made \([0-9]*\), recorded \([0-9]*\) and dropped \([0-9]*\),.*/\1 \2 \3/p' "$TMP/burst-said.txt" |
    awk '{ d = $1 - $2 - $3; print d < 0 ? -d : d }')" events
row "memory of its own in the burst" 64 "$(sed -n 's/.* own \([0-9]*\) MB$/\1/p' "$TMP/burst-said.txt")" MB
echo "-- the first bar on the machine it was set for: 70 ns where two clock reads take 37 ns, 1.89 of them"
row "push + pop in pairs of clock reads, 1 thread" 1.89 "$(multiple 1)" times
row "push + pop in pairs of clock reads, each of 8 threads" 1.89 "$(multiple 8)" times
echo "-- beyond what was asked (bars of our own: those of the step)"
row "two clock reads, 1 thread" "" "$(pair 1 "$TMP/nvtx.txt" "two clock reads alone")" ns
row "two clock reads, each of 8 threads" "" "$(pair 8 "$TMP/nvtx.txt" "two clock reads alone")" ns
difference "processor time of a step" "$TMP/processor.txt"
difference "processor time of whole runs" "$TMP/whole.txt"
