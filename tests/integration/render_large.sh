#!/usr/bin/env bash
# Large inputs: 1,024 ranks (RANKS) and 24 runs (RUNS; 100 are worth a look) have pages of the usual size, which show the slowest, the
# median and the fastest rank and how all are spread, and the best, the worst and the largest run. Missing ranks are named.
. tests/lib/tap.sh
. tests/data/programs/build.sh
. tests/data/archives/fixture.sh
: "${RANKS:=1024}" "${RUNS:=24}"

build_make_ranks
"$TMP/make_ranks" "$TMP/spool" "$RANKS" 40 8
check "a run of $RANKS ranks is packed" "$COLLECT" pack "$TMP/spool" -o "$TMP/ranks.tar" --traces none
check "it is rendered" "$BIN/dcreport" -q "$TMP/ranks.tar" -o "$TMP/ranks" --single-file "$TMP/ranks.html"
page=$(ls "$TMP"/ranks/runs/*/index.html)
rows() { # CAPTION: rows of the table on the page
    tr -d '\n' <"$page" | grep -oE "<caption>$1[^<]*</caption>.*" | sed 's|</table>.*||' | grep -oE '<tr>' | wc -l
}
# shellcheck disable=SC2317  # called by check
is_small() { # FILE BYTES
    [ "$(stat -c %s "$1")" -lt "$2" ]
}
check "its page is below 1 MB" is_small "$page" 1000000
check "the table of ranks has a head and three ranks" test "$(rows 'Ranks, mean per')" -eq 4
check "its CSV has all" test "$(wc -l <"$(dirname "$page")/tables/ranks.csv")" -eq $((RANKS + 1))
check "the page says so" grep -q "3 rows of $(sed ":a;s/\B[0-9]\{3\}\>/,&/;ta" <<<"$RANKS") are shown here, and the CSV has all." "$page"
for word in slowest median fastest; do
    check "the chart names the $word rank" grep -qE ">$word: rank [0-9]+<" "$page"
done
check "a chart shows all ranks" grep -q '<figure id="ranks-spread"' "$page"
check "members are not all listed" test "$(rows 'Members of')" -lt 40
python3 tests/lib/voice.py page "$page" --open 350 >"$TMP/voice"
check "no more open words than on others" test -z "$(grep 'open words, at most' "$TMP/voice")"

archives=()
for ((i = 1; i <= RUNS; i++)); do
    nodes=$((1 << i % 3))
    fixture_run "$TMP/run$i" "$nodes" "id=run$i" steps=8 compute=$((70000000 + i * 400000))
    fixture_pack "$TMP/run$i" "$TMP/run$i.tar"
    archives+=("$TMP/run$i.tar")
done
check "$RUNS runs are rendered" "$BIN/dcreport" -q "${archives[@]}" -o "$TMP/runs"
index=$TMP/runs/index.html
check "best, worst and largest come first" test "$(grep -oE '>(Best|Worst|Largest): [^<]*<' "$index" | wc -l)" -eq 3
check "the others are folded" grep -q "<summary>All $RUNS runs</summary>" "$index"
check "the CSV has all runs" test "$(wc -l <"$TMP/runs/tables/runs.csv")" -eq $((RUNS + 1))
python3 tests/lib/voice.py page "$index" --open 450 >"$TMP/voice"
check "the front page stays short" test -z "$(grep 'open words, at most' "$TMP/voice")"

# Traces of ranks 1, 3 and 4 of 8.
mkdir "$TMP/kineto"
for rank in 1 3 4; do
    python3 - "$rank" >"$TMP/kineto/worker$rank.pt.trace.json" <<'PY'
import json, sys
rank, events = int(sys.argv[1]), []
for s in range(4):
    at = 1000 + s * 10000
    events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{s}", "ts": at, "dur": 9900, "pid": 1, "tid": 1})
    for k in range(60):
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": at + 100 * k + 10, "dur": 8, "pid": 1, "tid": 1,
                       "args": {"correlation": 100 * s + k}})
        events.append({"ph": "X", "cat": "kernel", "name": "gemm", "ts": at + 100 * k + 40, "dur": 60, "pid": 0, "tid": 7,
                       "args": {"device": rank, "stream": 7, "correlation": 100 * s + k}})
print(json.dumps({"schemaVersion": 1, "distributedInfo": {"rank": rank, "world_size": 8}, "traceEvents": events}))
PY
done
check "traces of three of eight ranks are rendered" "$BIN/dcreport" -q "$TMP/kineto" -o "$TMP/some"
check "the missing ranks are named" grep -q "anks 0, 2 and 5 to 7 of 8 have no trace here" "$TMP"/some/runs/*/index.html
finish
