#!/usr/bin/env bash
# `make bench-site`: the cost of the site for its readers and its renderer. It prints figures and judges only one.
#   the first page: bytes, first paint. With LIGHTHOUSE=1, Lighthouse too, fetched by npm: each of its categories must
#   reach 95 of 100
#   a timeline of 10^6 ranges: time to open, frames per second while it is panned, whole and zoomed in
#   64 runs of 64 ranks: time to render
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${BUILD:=$PWD/build}" "${CC:=gcc}"
BUILD=$(realpath "$BUILD")
. tests/lib/npm_tools.sh
. tests/data/archives/fixture.sh
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
seconds() { # COMMAND...: wall seconds; a report with gaps is one
    local began ended
    began=$(date +%s%N)
    "$@" > /dev/null || [ $? -eq 3 ]
    ended=$(date +%s%N)
    awk "BEGIN { printf \"%.2f\", ($ended - $began) / 1e9 }"
}

for n in 1 2 3 4; do
    fixture_run "$tmp/r$n" "$n" steps=150
    fixture_pack "$tmp/r$n" "$tmp/$n.tar"
done
echo "four runs: rendered in $(seconds "$BUILD/bin/dcreport" -q "$tmp"/[1-4].tar -o "$tmp/four") s; index.html has $(stat -c %s "$tmp/four/index.html") bytes"

"$CC" -std=gnu11 -O1 -I. -o "$tmp/burst" tests/data/programs/burst.c -ldl -pthread
"$BUILD/bin/dccollect" run -o "$tmp/million.tar" -- "$tmp/burst" 250000 4 > "$tmp/said" 2>&1
echo "10^6 ranges: rendered in $(seconds "$BUILD/bin/dcreport" -q "$tmp/million.tar" -o "$tmp/million") s"

fixture_run "$tmp/big" 64 steps=40
fixture_manifest "$tmp/big"
for i in $(seq 64); do
    sed -i "s/\"run_id\":\"[^\"]*\"/\"run_id\":\"fixture-$i\"/" "$tmp/big/manifest.json"
    fixture_tar "$tmp/big" "$tmp/big$i.tar"
done
echo "64 runs of 64 ranks: rendered in $(seconds "$BUILD/bin/dcreport" -q "$tmp"/big*.tar -o "$tmp/sixtyfour") s; index.html has $(stat -c %s "$tmp/sixtyfour/index.html") bytes"

if npm_tools; then
    node tests/bench/site.js "$TOOLS" "$tmp/four/index.html" "$tmp"/million/runs/*/timeline.html
else
    echo "in a browser: skipped, $TOOLS_BECAUSE"
fi
if [ -z "${LIGHTHOUSE:-}" ]; then
    echo "Lighthouse: skipped, LIGHTHOUSE=1 fetches it by npm"
    exit 0
fi
mkdir -p "$BUILD/lighthouse"
if ! (cd "$BUILD/lighthouse" && timeout 300 npm install --no-save --ignore-scripts --loglevel=error lighthouse@12.2.1) > "$tmp/said" 2>&1; then
    echo "Lighthouse: npm could not fetch it: $(head -n 1 "$tmp/said")" >&2
    exit 1
fi
node tests/bench/serve.js "$tmp/four" > "$tmp/port" &
server=$!
trap 'kill $server; rm -rf "$tmp"' EXIT
until [ -s "$tmp/port" ]; do sleep 0.1; done
CHROME_PATH=$(command -v chromium) timeout 200 "$BUILD/lighthouse/node_modules/.bin/lighthouse" "http://127.0.0.1:$(cat "$tmp/port")/index.html" \
    --quiet --output=json --output-path="$tmp/lighthouse.json" --chrome-flags='--headless --no-sandbox --disable-gpu' > "$tmp/said" 2>&1 ||
    { echo "Lighthouse: failed: $(tail -n 1 "$tmp/said")" >&2; exit 1; }
jq -r '"Lighthouse of the index: " + ([.categories[] | "\(.title) \(.score * 100 | round)"] | join(", ")) +
    "; first contentful paint \(.audits["first-contentful-paint"].displayValue)"' "$tmp/lighthouse.json"
jq -r '.categories | if length == 0 then "nothing was judged" else .[] | select((.score // 0) < 0.95) | "\(.title) is below 95" end' \
    "$tmp/lighthouse.json" > "$tmp/below"
sed 's/^/Lighthouse: /' "$tmp/below" >&2
[ ! -s "$tmp/below" ]
