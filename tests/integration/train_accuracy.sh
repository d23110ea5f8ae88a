#!/usr/bin/env bash
# train_accuracy.sh - on real METR-LA readings (10 sensors, four months) a short training beats the last valid reading
# on the validation split at 30 and 60 minutes, windows, mask and metrics as in the data's README.
# plain: it trains for long
# shellcheck disable=SC2317  # functions are called by check
. tests/lib/tap.sh
data=$SHARED/data/traffic/metr-la-10x34272.csv
graph=$SHARED/data/traffic/metr-la-10-edges.csv
if [ ! -r "$data" ] || [ ! -r "$graph" ]; then
    skip "METR-LA, 10 sensors" "no $data"
    finish
fi
"$BIN/dcrnn-train" --data "$data" --graph "$graph" --baseline >"$TMP/baseline" 2>&1
check "the baseline scores of the README come out" \
    grep -q "^last valid reading *test *15 min 3.358 .* 30 min 3.983 .* 60 min 5.052 " "$TMP/baseline"
check "and those of the weekly average" grep -qF \
    "weekly average      test        15 min 3.766 / 6.815 / 10.54  30 min 3.767 / 6.815 / 10.55  60 min 3.766 / 6.815 / 10.55" \
    "$TMP/baseline"
check "and those of the last reading" grep -qF \
    "last reading        test        15 min 3.835 / 8.190 / 8.80  30 min 4.800 / 10.458 / 11.28  60 min 6.352 / 13.365 / 15.32" \
    "$TMP/baseline"
base=$(sed -n 's/^last valid reading *validation.*30 min \([0-9.]*\) .*60 min \([0-9.]*\) .*/\1 \2/p' "$TMP/baseline")

check "500 steps of training" "$BIN/dcrnn-train" --data "$data" --graph "$graph" --units 16 --steps 500 \
    --lr-milestones 1 --out "$TMP/out"
ours=$(tail -n 1 "$TMP/out/metrics.csv" | cut -d, -f17-19 --output-delimiter=' ')
echo "# validation MAE in mph at 15, 30, 60 min: $ours; last valid reading at 30, 60 min: $base"
better() { echo "$ours $base" | awk -v i="$1" 'NF != 5 || !($(i + 1) < $(i + 3)) { exit 1 }'; }
check "better than the last valid reading at 30 minutes" better 1
check "better than the last valid reading at 60 minutes" better 2
finish
