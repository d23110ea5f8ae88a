#!/usr/bin/env bash
# `make picture`: docs/report.png, the picture of the README, from site/: answer, chart, cause and advice of the front page. Only from a
# default series, which is of emulated nodes and limited by communication.
set -euo pipefail
cd "$(dirname "$0")/../.."
command -v chromium >/dev/null || { echo "picture: chromium is not installed" >&2; exit 2; }
python3 - <<'PY'
import json, sys
report = json.load(open("site/report.json"))
found = [s["finding"] for s in report["series"]]
if found != ["SCALING_COMMUNICATION_GROWS"] or not (report["node_label"] or "").startswith("emulated nodes: "):
    sys.exit(f"picture: site/ is no default series limited by communication ({found}, {report['node_label']}); run make report on a machine that does nothing else")
PY
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
timeout 120 chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
    --disable-dev-shm-usage --host-resolver-rules='MAP * ~NOTFOUND' --user-data-dir="$tmp/profile" --hide-scrollbars \
    --window-size=1280,1290 --screenshot="$tmp/report.png" "file://$PWD/site/index.html" 2>"$tmp/said" ||
    { cat "$tmp/said" >&2; exit 1; }
mv "$tmp/report.png" docs/report.png
