#!/usr/bin/env bash
# Results of a scaling benchmark with step times and without phases: the report has their scaling, and the rest is
# missing with its reason. Made-up results are always used; the public V100 results if they are beside the checkout.
. tests/lib/tap.sh


check_status 0 "made-up results" "$BIN/dcreport" tests/data/foreign/scaling -o "$TMP/site"
check "one is one, in tooltips too" test -z "$(grep -rhoE '\b1 (GPU|node|rank|step|run)s\b' "$TMP/site" --include=*.html --include=*.svg --include=*.md)"
check "more GPUs that are slower are said first" jq -e '.series[0] | .finding == "SCALING_STOPS" and (.headline | test("4 GPUs")) and
    (.support | test("650 and 700"))' "$TMP/site/report.json"
check "the split of the loss is missing and says why" jq -e '.series[0] | (.losses | length) == 0 and (.losses_because | test("no phases"))' \
    "$TMP/site/report.json"
check "strong scaling by the global batch" jq -e '.series[0].scaling == "strong"' "$TMP/site/report.json"
check "steps of points, as far as summaries say them" jq -e '.series[0].points[1].step | .n == 500 and .mean_ns == 106666667 and .min_ns == null' "$TMP/site/report.json"
check "efficiencies" jq -e '[.series[0].points[].efficiency * 1000 | round] == [1000, 750, 438, 203]' "$TMP/site/report.json"
check "every law has a residual or a reason" jq -e '.series[0].laws | length == 4 and all((.residual_ratio == null) != (.because == null))' \
    "$TMP/site/report.json"
check "what was not measured is marked" jq -e '.series[0] | if .extrapolation.because then (.extrapolation.points | length) == 0
    else (.beyond_text | test("not measured")) and .extrapolation.points[0].n_nodes == 16 end' "$TMP/site/report.json"

public=$SHARED/data/traces/scaling
if [ -d "$public" ]; then
    check_status 0 "V100, ResNet-152, strong" "$BIN/dcreport" "$public"/*_strong_resnet152_*.json -o "$TMP/site"
    check "8 GPUs are no faster than 4" jq -e '.series[0] | .finding == "SCALING_STOPS" and (.support | test("679 and 697"))' "$TMP/site/report.json"
    check "efficiency 1, 0.684, 0.378, 0.184" jq -e '[.series[0].points[].efficiency * 1000 | round] == [1000, 684, 378, 184]' \
        "$TMP/site/report.json"
    check_status 0 "V100, ResNet-152, weak" "$BIN/dcreport" "$public"/*_weak_resnet152_*.json -o "$TMP/site"
    check "what counts are GPUs is called GPUs" grep -q "on 8 GPUs" "$TMP/site/scaling.html"
    check "... in the documents, too" grep -q "The speed-up on 8 GPUs is" "$TMP/site/BOTTLENECK_ANALYSIS.md"
    check "an interval within the last digit is said, too" grep -q "| 1.91x | under 0.1 % either way |" "$TMP/site/BOTTLENECK_ANALYSIS.md"
else
    skip "V100, ResNet-152, strong" "no ../shared/data/traces/scaling"
fi
finish
