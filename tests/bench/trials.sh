#!/usr/bin/env bash
# trials.sh - do the advised commands save the forecast time? For each change a run on 4 emulated nodes without it, then
# the command that its report advises, in turns: prints the forecast and the achieved median step (docs/nodes.md keeps a
# table).
#
#   tests/bench/trials.sh           from the environment: ROUNDS (5), BUILD
# It has the requirements of collect/nodes, and needs python3 and an idle machine. A round takes about two minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${BUILD:=$PWD/build}" "${ROUNDS:=5}"
export BUILD LC_ALL=C CALIBRATE=0 EMULATE=nodes
scratch=$(mktemp -d)
trap 'rm -rf "$scratch" "$scratch.lines"' EXIT

# report SERIES: the report of the only archive of that series, for python3 below.
report() {
    "$BUILD/bin/dcreport" --quiet "$scratch/$1"/*.tar -o "$scratch/$1-site" || [ $? -eq 3 ]
}

for ((round = 1; round <= ROUNDS; round++)); do
    for change in overlap bf16 link; do
        rm -rf "${scratch:?}"/*
        options=
        [ $change != overlap ] || options=--no-overlap
        NODES=4 ARGS=$options RESULTS=$scratch/before collect/series.sh >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2; exit 1; }
        report before
        # The command is `make collect VARIABLE=VALUE... ARGS="..."`; make would only pass the variables on.
        python3 - "$scratch/before-site/report.json" $change >"$scratch/variables" <<'END'
import json, shlex, sys
trial, = (t for t in json.load(open(sys.argv[1]))["runs"][0]["trials"] if t["change"] == sys.argv[2])
print(*shlex.split(trial["command"])[2:], sep="\n")
END
        mapfile -t variables <"$scratch/variables"
        env "${variables[@]}" RESULTS="$scratch/after" collect/series.sh >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2; exit 1; }
        report after
        python3 - "$scratch" $change <<'END'
import json, sys
before, after = (json.load(open(f"{sys.argv[1]}/{side}-site/report.json"))["runs"][0] for side in ("before", "after"))
forecast, = (t["forecast_step_ns"] for t in before["trials"] if t["change"] == sys.argv[2])
was, achieved = before["step"]["median_ns"], after["step"]["median_ns"]
print(f"{sys.argv[2]}: {was / 1e6:.1f} ms, forecast {forecast / 1e6:.1f} ms, achieved {achieved / 1e6:.1f} ms: "
      f"{100 * (forecast / achieved - 1):+.1f} %", flush=True)
END
    done
done | tee "$scratch.lines"
sort "$scratch.lines" | awk '{ name = $1; x[name, ++n[name]] = $(NF - 1) }
    END { for (name in n) { k = n[name]
        for (i = 2; i <= k; i++) for (j = i; j > 1 && x[name, j - 1] + 0 > x[name, j] + 0; j--) { t = x[name, j]; x[name, j] = x[name, j - 1]; x[name, j - 1] = t }
        print "median", name, x[name, int((k + 1) / 2)], "% (" x[name, 1], "to", x[name, k] ")" } }'
