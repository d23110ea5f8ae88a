#!/usr/bin/env bash
# Rates of a run compared with the peak of its machine: four ranks take turns on the two cores of one machine. Slightly above the
# peak the report says "at the peak"; further above, it says everywhere that counts and calibration disagree.
. tests/lib/tap.sh
. tests/data/archives/fixture.sh
report=$TMP/site/report.json

# rendered SHARE: the operations of a step are that share of what two cores, 20 GFLOP/s each, do in a mean step
rendered() {
    rm -rf "$TMP/run" "$TMP/site"
    fixture_run "$TMP/run" 4 kind=emulated cores=2
    jq -n '{n: 9, median: 19, min: 15} as $m | {format: "dcreport-calibration", version: 1, nodes: [{host: "node1", cores: 2,
        fma: {one_core: ($m + {max: 20}), all_cores: ($m + {median: 38, max: 40})},
        memory: {one_core: ($m + {max: 20}), all_cores: ($m + {max: 25})}}]}' >"$TMP/run/calibration.json"
    jq --argjson flop "$(jq -n "$1 * 40 * ${step_ns:-1}")" '.program += {flop_per_step: $flop, traffic_bytes_per_step: 1000000}' \
        "$TMP/run/job_metadata.json" >"$TMP/metadata" && mv "$TMP/metadata" "$TMP/run/job_metadata.json"
    fixture_pack "$TMP/run" "$TMP/run.tar"
    "$BIN/dcreport" "$TMP/run.tar" -o "$TMP/site" >"$TMP/log" 2>&1
}
is() { check "$1" jq -e "$2" "$report"; }
says() { # name words number: in the roofline of the run's page, and of its table, which holds plain numbers
    check "$1" grep -q "MFU.*$2" "$TMP/site/runs/4node-fixture-4/index.html"
    check "$1: as a table" grep -q "MFU.*$3" "$TMP/site/runs/4node-fixture-4/tables/roofline.csv"
}

rendered 1
step_ns=$(jq '.runs[0].step.mean_ns' "$report")
rendered 0.9
check_status 0 "four ranks on two cores" "$BIN/dcreport" "$TMP/run.tar" -o "$TMP/site"
is "the machine's peak counts once, for all ranks on it" '.runs[0].roofline | .peak_gflop_per_s == 40 and .peak_gb_per_s == 25'
is "the rate is by the wall time of the step, and below the peak" \
    '.runs[0].roofline | .rates_over == "step" and (.gflop_per_s - 36 | fabs) < 1e-6 and (.mfu_ratio - 0.9 | fabs) < 1e-6'
is "it is bound by compute" '.runs[0].roofline.bound == "compute"'
says "the page says the share" '90.\{1,8\}%' ',0\.9'

rendered 1.03
is "slightly above the peak: an error of measuring" '.runs[0].roofline | (.mfu_ratio - 1.03 | fabs) < 1e-6 and .mfu_because == null and .bound == "compute"'
is "memory is judged" '.runs[0].classes.memory | .verdict == "fine" and (.text | test("at the calibrated peak of 40.0 GFLOP/s"))'
says "the page says at the peak" 'at the peak' ',1\.03'
check "the analysis says at the peak" grep -q 'Compute reaches the 40.0 GFLOP/s attainable' "$TMP/site/BOTTLENECK_ANALYSIS.md"

rendered 1.2
is "far above it: no share, and why" '.runs[0].roofline | .mfu_ratio == null and .of_attainable_ratio == null and .bound == null
    and .gflop_per_s > 47.9 and ([.mfu_because, .of_attainable_because] | all(test("counts and calibration disagree: 48.0 GFLOP/s is 1.20x the calibrated 40.0 GFLOP/s")))'
is "memory is not judged" '.runs[0].classes.memory | .verdict == "n/a" and .share_ratio == null and (.text | test("disagree"))'
is "compute is not called healthy" '[.claims[] | select(.class == "compute")] | all(.confidence != "high")'
says "the page says that they disagree" ' (X)' 'counts and calibration disagree: 48.0'
check "the analysis says so" grep -q 'Roofline and MFU are not known: counts and calibration disagree' "$TMP/site/BOTTLENECK_ANALYSIS.md"
grep -rlE '12[0-9] % of the|>120 %' "$TMP/site" >"$TMP/shares"
check "no share of the peak is anywhere" test ! -s "$TMP/shares"
finish
