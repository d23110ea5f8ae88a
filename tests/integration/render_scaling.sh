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

# Traces of PyTorch's profiler: rank 0 stands for a run of one rank, and both ranks are one of two.
for n in 1 2; do
    mkdir "$TMP/n$n"
    for ((rank = 0; rank < n; rank++)); do cp "tests/data/foreign/torch-cpu/rank$rank.json.gz" "$TMP/n$n/"; done
done
"$BIN/dcreport" -q "$TMP/n1" "$TMP/n2" -o "$TMP/site" >/dev/null 2>&1
check "traces alone are no series, and the report says how they become one" jq -e '(.series | length) == 2 and
    any(.notes[]; .text | test("pack each folder with dccollect pack --nodes"))' "$TMP/site/report.json"
for n in 1 2; do
    echo '{"name": "train", "global_batch": 64}' >"$TMP/n$n/program.json"
    check_status 0 "traces of $n ranks are packed" "$BIN/dccollect" pack "$TMP/n$n" --nodes $n -o "$TMP/n$n.tar"
done
"$BIN/dcreport" -q "$TMP/n1.tar" "$TMP/n2.tar" -o "$TMP/site" >/dev/null 2>&1
# shellcheck disable=SC2016  # variables of jq
check "... phases of the traces sum to each part, and their losses to its loss" jq -e '.series[0] as $s | $s.losses[0] as $l |
    ([$s.phases[].name] | contains(["forward and other operators", "backward operators", "optimizer operators"])) and
    ([$s.phases[] | select(.part == "compute") | .lost_ns[0]] | add) == $l.parts_ns.compute and
    ([$s.phases[] | select(.part == "communication") | .lost_ns[0]] | add) == $l.parts_ns.comm_transfer + $l.parts_ns.comm_wait and
    ([$s.phases[].lost_ns[0]] | add) == $l.loss_ns' "$TMP/site/report.json"
# shellcheck disable=SC2016,SC2317  # variables of jq; check calls it
operators_sum() { # self time of the files' operators over their steps is the sum of the rows
    jq -e '. as $r | [$r.series[0].names[] | select(.of == "operators")] as $names | ($names | length) == 6 and $names[5].name == null and
        all(0, 1; . as $i | $r.runs[$i] as $run |
            ([$r.operators[] | select(.run == $run.slug) | .operators[].self_ns] | add) as $self |
            ([$names[].ns[$i]] | add) as $sum | ($self / $sum) as $steps | $steps > 0 and
            ($steps - ($steps | round) | fabs) < 1e-6 and ($steps | round) >= $run.n_steps * $run.n_ranks) and
        ([$names[].lost_ns[0]] | add) == ([$names[].ns[1]] | add) - ((([$names[].ns[0]] | add) / 2) | round)' "$TMP/site/report.json"
}
check "... operators too: the five that lost most and the rest" operators_sum
check "... in a fold beside the phases" grep -q '<summary>Lost time by name</summary>' "$TMP/site/scaling.html"

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
