#!/usr/bin/env bash
# collect/demo_fix.sh (make demo-fix): runs the first advice of a report, and compares the result with its forecast.
. tests/lib/tap.sh
. tests/data/archives/fixture.sh
command -v mpirun >/dev/null || { skip "a trial" "no mpirun"; finish; }
export RESULTS="$TMP/the results" SITE="$TMP/the site" FIX="$TMP/fix" CALIBRATE=0
unset DISPLAY WAYLAND_DISPLAY
mkdir -p "$RESULTS"
options='["--sensors", "8", "--days", "1", "--units", "4", "--batch", "32", "--epochs", "1", "--validation-windows", "10"]'
# advised NAME JQ-OF-METADATA: a made-up run of two ranks of one host whose transfer limits, and its report
advised() {
    local dir=$TMP/$1
    rm -rf "$dir" "$SITE"
    fixture_run "$dir" 2 kind=emulated transfer=60000000 "id=${1#2node-}"
    jq ".command = [\"dcrnn-train\", \"--out\", \"x\"] + $options | .nodes[].host = \"one\" | .nodes[].boot_id = \"boot\"
        | .program += {global_batch: 32, allreduce_dtype: \"fp32\", allreduce_is_overlapped: true, allreduce_early_ratio: 0.5,
            backward_left_ratio: 0.5, backward_left_looks: 12} | $2" "$dir/job_metadata.json" >"$dir/new"
    mv "$dir/new" "$dir/job_metadata.json"
    fixture_pack "$dir" "$RESULTS/$1.tar"
    echo "$RESULTS/$1.tar" >"$RESULTS/last-series"
    "$BIN/dcreport" "$RESULTS/$1.tar" -o "$SITE" >"$TMP/said" 2>&1 || [ $? -eq 3 ]
}
# fix STATUS NAME: runs the trial and keeps its output
fix() {
    check_status "$1" "$2" bash collect/demo_fix.sh
    cp "$TMP/tap.out" "$TMP/said-by-fix"
}
# shellcheck disable=SC2317  # called by check
said() { # WORDS: in what the last trial printed
    grep -qF -- "$1" "$TMP/said-by-fix"
}

fix 2 "without a report"
check "... it says what to run first" said "make demo-fix: there is no report in $SITE/. Run \`make report\` first."

advised 2node-tried .
command=$(jq -r .first_command "$SITE/report.json")
check "the advice is a command that keeps the run's options" test "$command" = \
    'make collect NODES=2 EMULATE=ranks ARGS="--sensors 8 --days 1 --units 4 --batch 32 --epochs 1 --validation-windows 10 --allreduce-dtype bf16"'
check "dcreport says it at the end" grep -qxF "Try first: $command" "$TMP/said"
check "and what a step should take then" grep -Eq '^On [0-9]+ nodes, the median step should take about [0-9.]+ ms instead of [0-9.]+ ms \(estimate\)\.( The backward pass hides as much .*)?$' "$TMP/said"
check "the first page has it" grep -qF "<code>make collect NODES=2" "$SITE/index.html"
check "so have the documents" grep -qF "$command" "$SITE/BOTTLENECK_ANALYSIS.md" "$SITE/bottleneck_summary.txt"
export DATA=/none GRAPH=/none NODES=7 ARGS=--nonsense
fix 0 "what the user set otherwise does not reach the trial"
unset DATA GRAPH NODES ARGS
check "the command is shown" said "\$ $command"
# The forecast is hardly ever exact.
# shellcheck disable=SC2317  # check calls it
told() {
    says "$TMP/said-by-fix" TRIED FORECAST_TOO_LONG || says "$TMP/said-by-fix" TRIED FORECAST_TOO_SHORT ||
        says "$TMP/said-by-fix" TRIED FORECAST_ABOUT
}
check "forecast and outcome are told" told
check "and where to look" said "Before and after: $FIX/compare.html"
check "the page has both" grep -q "the advised change as forecast and as achieved" "$FIX/compare.html"
check "so has the report" jq -e '.comparisons[0].tried | .change == "bf16" and .before_ns > 0 and .forecast_ns > 0 and
    ((.forecast_ns / .achieved_ns - 1 - .error_ratio) | fabs < 0.001)' "$FIX/report.json"
check "the list of the series is what it was" test "$(cat "$RESULTS/last-series")" = "$RESULTS/2node-tried.tar"
check "the trial's archive is kept" test "$(find "$RESULTS/fix" -name '2node-*.tar' | wc -l)" -eq 1
mkdir "$TMP/screen"
# shellcheck disable=SC2016  # of the fake
printf '#!/bin/sh\necho "$1" >"$TMP/opened"\n' >"$TMP/screen/xdg-open" && chmod +x "$TMP/screen/xdg-open"
PATH="$TMP/screen:$PATH" DISPLAY=:9 fix 0 "again: the comparison is replaced"
check "and opened where there is a screen" grep -qxF "$FIX/compare.html" "$TMP/opened"

echo "$RESULTS/2node-other.tar" >"$RESULTS/last-series"
fix 2 "an archive that is gone"
check "... is named" said "2node-other.tar' of the last series is gone"
cp "$RESULTS/2node-tried.tar" "$RESULTS/2node-other.tar"
fix 2 "a report of another series"
check "... is not taken" said "is not the report of the last series. Run \`make site\` first"
echo "$RESULTS/1node-tried.tar" >"$RESULTS/last-series"
fix 2 "a series without that node count"
check "... is refused" said "has no run on 2 node(s)"
rm "$RESULTS/last-series"
fix 2 "no list of the series"
check "... is said" said "the list of the last series, is gone"

advised 2node-plain '.program.allreduce_dtype = "bf16"'
fix 2 "an advice without a command"
check "... is told in words" said "the first advice of the report has no command that can be run here. Do first: Compute more between all-reduces"
advised 2node-spaces '.command += ["--sensor-ids", "a b"]'
fix 2 "options that ARGS cannot pass on"
check "... have no command" said "has no command that can be run here"
check "dcreport says none" test "$(grep -c "Try first" "$TMP/said")" -eq 0

advised 2node-tried .
# shellcheck disable=SC2016  # that is what must not be run
for bad in 'make collect NODES=2 ARGS=\"$(touch pwned)\"' 'make collect NODES=2 ARGS=\"a\"; touch pwned' 'make collect NODES=2; touch pwned' 'touch pwned'; do
    sed -i "s|^  \"first_command\": .*|  \"first_command\": \"$(printf '%s' "$bad" | sed 's/[\\|&]/\\&/g')\",|" "$SITE/report.json"
    fix 2 "'$bad' is not run"
    check "... and it says why" said "is not a command of make collect"
done
check "nothing was" test ! -e pwned
finish
