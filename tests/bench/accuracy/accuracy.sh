#!/usr/bin/env bash
# accuracy.sh - forecast errors on real readings: for every seed, the errors on the test split at the epoch with the
# best validation, compared with forecasts without a model. docs/accuracy.md has the table. It takes minutes to hours,
# so it is not part of make bench.
#   accuracy.sh [--seeds "1 2 3"] [--epochs 8] [--data FILE --graph FILE] [--out DIR] [-- OPTION...]
# With --yardstick the PyTorch yardstick trains with the same seeds and epochs too, when it and python3-torch are there.
set -euo pipefail
cd "$(dirname "$0")/../../.."
: "${BUILD:=$PWD/build}" "${SHARED:=$PWD/../shared}"
seeds="1 2 3" epochs=8 yardstick=0 out=""
data=$SHARED/data/traffic/metr-la-10x34272.csv
graph=$SHARED/data/traffic/metr-la-10-edges.csv

while [ $# -gt 0 ]; do
    case $1 in
    --seeds | --epochs | --data | --graph | --out)
        [ $# -gt 1 ] || { echo "accuracy.sh: $1 needs a value" >&2 && exit 2; }
        declare "${1#--}=$2" && shift
        ;;
    --yardstick) yardstick=1 ;;
    --) shift && break ;;
    *) echo "accuracy.sh: unknown option '$1'; see the head of the file" >&2 && exit 2 ;;
    esac
    shift
done
for f in "$data" "$graph"; do
    [ -r "$f" ] || { echo "accuracy: skipped, there is no '$f'; name readings and graph with --data and --graph"; exit 0; }
done
if [ -z "$out" ]; then
    out=$(mktemp -d)
    trap 'rm -rf "$out"' EXIT
fi
mkdir -p "$out"
began=$SECONDS
end_say() { echo "accuracy: $(wc -w <<<"$seeds") seed(s) of $epochs epochs in $((SECONDS - began)) s"; }

echo "$(basename "$data"): test split, MAE / RMSE / MAPE in mph, mph, % at 15, 30, 60 minutes; missing targets left out"
"$BUILD/bin/dcrnn-train" --data "$data" --graph "$graph" --baseline | awk '$0 ~ / test / {
    name = $0; sub(/ +test .*/, "", name)
    rest = $0; sub(/.* test +/, "", rest); gsub(/ min /, ": ", rest); print "  " name ":  " rest }'

# One line a seed: the last row of metrics.csv whose test columns are filled is the best epoch.
for seed in $seeds; do
    "$BUILD/bin/dcrnn-train" --data "$data" --graph "$graph" --units 64 --epochs "$epochs" --seed "$seed" --test \
        --out "$out/seed$seed" "$@" >"$out/seed$seed.log" 2>&1 || { tail -n 3 "$out/seed$seed.log" >&2 && exit 1; }
    awk -F, -v seed="$seed" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["test_mae_15min"] != "" { best = $0 }
        END { split(best, v, ",")
              printf "  seed %s, epoch %d of %d:", seed, v[at["epoch"]], NR - 1
              for (m = 15; m <= 60; m *= 2) printf "  %d: %.3f / %.3f / %.2f", m, v[at["test_mae_" m "min"]], v[at["test_rmse_" m "min"]], v[at["test_mape_" m "min"]]
              print "" }' "$out/seed$seed/metrics.csv" | tee -a "$out/table"
done
# mean over the seeds of the MAE
tr -d '/:' <"$out/table" | awk '{ for (m = 0; m < 3; m++) s[m] += $(8 + 4 * m) }
    END { printf "  mean MAE of %d seeds:  15: %.3f  30: %.3f  60: %.3f\n", NR, s[0] / NR, s[1] / NR, s[2] / NR }'

[ $yardstick = 1 ] || { end_say; exit 0; }
script=$SHARED/bench/torch_dcrnn.py
if [ ! -f "$script" ] || ! /usr/bin/python3 -c 'import torch' 2>/dev/null; then
    echo "  yardstick: skipped, no $script or no python3-torch"
    end_say
    exit 0
fi
for seed in $seeds; do
    /usr/bin/python3 -W ignore "$script" train --speed "$data" --edges "$graph" --epochs "$epochs" --seed "$seed" 2>/dev/null |
        awk -v seed="$seed" '{ for (i = 1; i < NF; i++) if ($i == "MAE") v = $(i + 1) }
            best == "" || v < least { least = v; best = $0 } END { print "  yardstick, seed " seed ": " best }'
done
end_say
