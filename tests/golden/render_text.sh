#!/usr/bin/env bash
# Compares the text outputs of made-up archives with tests/golden/render_text/. ACCEPT=1 (make golden-accept) rewrites
# them: read the difference before committing it.
. tests/lib/tap.sh
. tests/data/archives/fixture.sh

expected=tests/golden/render_text
# compare SITE-FILE GOLDEN-FILE
compare() {
    if [ -n "${ACCEPT:-}" ]; then
        mkdir -p "$(dirname "$expected/$2")"
        cp "$TMP/site/$1" "$expected/$2"
    fi
    check "$2" diff -u "$expected/$2" "$TMP/site/$1"
}
render() { # status archives...
    local status=$1
    shift
    rm -rf "$TMP/site"
    check_status "$status" "renders $(basename -a "$@" | tr '\n' ' ')" "$BIN/dcreport" "$@" -o "$TMP/site"
    cp "$TMP/tap.out" "$TMP/site/printed.txt"
    sed -i "s|$TMP|TMP|g" "$TMP/site/printed.txt"
}

# Strong scaling limited by the all-reduce, which was calibrated.
for n in 1 2 4; do
    fixture_run "$TMP/comm$n" "$n"
    [ "$n" = 4 ] && fixture_calibrate "$TMP/comm$n"
    fixture_pack "$TMP/comm$n" "$TMP/comm-${n}node.tar"
done
render 0 "$TMP"/comm-*.tar
compare BOTTLENECK_ANALYSIS.md comm/BOTTLENECK_ANALYSIS.md
compare bottleneck_summary.txt comm/bottleneck_summary.txt
version=$("$BIN/dcreport" --version)
check "report.json names the version that made it" grep -qF "\"generator\": \"$version\"" "$TMP/site/report.json"
# Only this line depends on the version, so a release leaves the golden file alone.
sed -i "s/\"generator\": \"$version\"/\"generator\": \"dcreport VERSION\"/" "$TMP/site/report.json"
compare report.json comm/report.json
check "docs/report-json.md names every field" diff /dev/null <(LC_ALL=C comm -23 <(
    jq -r '[del(.thresholds, .runs[].epochs) | .. | objects | keys[] | select(test("^[a-z0-9_]+$"))] | unique[]' \
        "$TMP/site/report.json" | LC_ALL=C sort -u
) <(grep -oP '\x60[^\x60]*\x60' docs/report-json.md | grep -oE '[A-Za-z0-9_]+' | LC_ALL=C sort -u))
compare runs/4node-fixture-4/profiling_report.txt comm/profiling_report.txt
compare printed.txt comm/printed.txt

# One slow rank among four; ranks of one host with too few cores.
fixture_run "$TMP/slow1" 1 kind=emulated cores=2
fixture_run "$TMP/slow4" 4 slow_rank=2 transfer=500000 kind=emulated cores=2
fixture_pack "$TMP/slow1" "$TMP/slow-1node.tar"
fixture_pack "$TMP/slow4" "$TMP/slow-4node.tar"
render 0 "$TMP"/slow-*.tar
compare bottleneck_summary.txt slow/bottleneck_summary.txt

# Data loading; checkpoints.
fixture_run "$TMP/data1" 1 data=60000000 io=200000000
fixture_pack "$TMP/data1" "$TMP/data-1node.tar"
render 0 "$TMP/data-1node.tar"
compare bottleneck_summary.txt data/bottleneck_summary.txt

# Only a metrics.csv, as users of earlier programs have it.
mkdir "$TMP/bare"
sed 's/,,$/,0.0,0.0/' "$TMP/comm1/metrics.csv" > "$TMP/bare/metrics.csv"
tar cf "$TMP/bare.tar" -C "$TMP/bare" metrics.csv
render 3 "$TMP/bare/metrics.csv"
check "a metrics.csv alone is a run" jq -e '.runs[0].finding == "EPOCH" and (.support | test("metrics.csv"))' "$TMP/site/report.json"
render 3 "$TMP/bare.tar"
compare bottleneck_summary.txt bare/bottleneck_summary.txt
compare runs/bare/profiling_report.txt bare/profiling_report.txt

if [ -d "$SHARED/data/seed-run" ]; then
    tar cf "$TMP/seed.tar" -C "$SHARED/data/seed-run" metrics.csv
    render 3 "$TMP/seed.tar"
    check "a real results folder: zeros are said to be missing" grep -q "gpu_util_avg = 0 in every epoch" \
        <(tr '\n' ' ' < "$TMP/site/bottleneck_summary.txt" | tr -s ' ')
    check "... and not shown" jq -e '.runs[0].epochs | all(.gpu_util_avg == null and .cpu_util_avg == null)' \
        "$TMP/site/report.json"
else
    skip "a real results folder" "no ../shared/data/seed-run"
fi
# ---- the picture of the README
check "docs/report.png shows today's front page of the default series" bash tests/browser/picture check
finish
