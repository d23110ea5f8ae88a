#!/usr/bin/env bash
# The build with sanitizers gives the same bytes for the same archives. Uninitialised or freed memory and other rounding would show
# as different bytes.
# plain: it runs both builds
. tests/lib/tap.sh
. tests/data/archives/fixture.sh
if [ ! -x "$BUILD-sanitize/bin/dcreport" ]; then
    skip "both builds give the same bytes" "$BUILD-sanitize/bin/dcreport is not built: make test-sanitize"
    finish
fi

# shellcheck disable=SC2317  # called by check
same() { diff -rq "$1" "$2" || { diff -r "$1" "$2" | cut -c 1-300 | head -n 20 && false; }; }
# both NAME ARGUMENT...: every file and every word of both builds
both() {
    local name=$1 build of
    shift
    for build in "$BUILD" "$BUILD-sanitize"; do
        of=$TMP/$([ "$build" = "$BUILD" ] && echo plain || echo sanitized)
        rm -rf "$of"
        mkdir "$of"
        (cd "$of" && "$build/bin/dcreport" "$@" -o site --single-file one.html >said 2>&1 </dev/null || echo "status $?" >>said)
    done
    check "both builds: $name" test -s "$TMP/plain/site/report.json" -a -s "$TMP/plain/one.html"
    check "... the same bytes" same "$TMP/plain" "$TMP/sanitized"
}
# shellcheck disable=SC2317
# A real run with a calibration that is known: NODES.
real_run() {
    local program=("$BIN/dcrnn-train" --sensors 8 --days 1 --units 4 --batch 32 --epochs 2 --validation-windows 10 --out "$TMP/out$1")
    mpirun --oversubscribe --bind-to none -n "$1" "$BIN/dccollect" run --spool "$TMP/spool$1" --emulate-nodes \
        --calibration "$TMP/known/calibration.json" -- "${program[@]}" && "$BIN/dccollect" pack "$TMP/spool$1" -o "$TMP/real$1.tar"
}
for n in 1 2 4; do
    fixture_run "$TMP/run$n" "$n" slow_rank=$((n == 4 ? 2 : -1)) kind=emulated
    fixture_pack "$TMP/run$n" "$TMP/$n.tar"
done
a=("$TMP/1.tar" "$TMP/2.tar" "$TMP/4.tar")
both "a series" "${a[@]}" --check 'steps>1' --junit junit.xml --summary summary.md
fixture_run "$TMP/before" 4 id=before data=30000000
fixture_pack "$TMP/before" "$TMP/before.tar"
both "a comparison" --baseline "$TMP/before.tar" -- "${a[@]}"
if command -v mpirun > /dev/null; then
    mkdir "$TMP/known"
    fixture_calibrate "$TMP/known"
    sed -i 's/"n_nodes": [0-9]*/"n_nodes": 1/' "$TMP/known/calibration.json" # of ranks that share a node, as these do
    for n in 1 2 4; do check "a real run of $n nodes" real_run $n; done
    both "a real series" "$TMP"/real?.tar
    check "... whose steps have all-reduces, and not a whole number of them" jq -e \
        '.series[0].all_reduce.all_reduces_per_step | . > 1 and . != floor' "$TMP/plain/site/report.json"
else
    skip "a real series" "no mpirun"
fi
if [ -d "$SHARED/data/traces" ]; then
    traces=("$SHARED"/data/traces/*)
    # The sanitized build reads the large Kineto files for 10 s: of them the smallest two, with LONG=1 all.
    if [ "${LONG:-0}" = 0 ]; then
        for i in "${!traces[@]}"; do [[ ${traces[i]} != */kineto ]] || unset "traces[i]"; done
        mapfile -t -O 100 traces < <(find "$SHARED/data/traces/kineto" -name '*.json.gz' -printf '%s %p\n' | sort -n | sed -n '1,2s/^[0-9]* //p')
    fi
    both "traces of other tools" "${traces[@]}"
else
    skip "traces of other tools" "no ../shared/data/traces"
fi
finish
