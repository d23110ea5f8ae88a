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
# It ends below the command that the report advises, so that no line of text is cut.
PYTHONPATH=tests/browser timeout 120 python3 - "$tmp" "$PWD/site/index.html" docs/report.png <<'PY' || { cat "$tmp/stderr" >&2; exit 1; }
import base64, sys
from look import Browser
folder, page, picture = sys.argv[1:]
WIDTH, BELOW = 1280, 16
browser = Browser(folder, folder + "/profile")
target = browser.ask("Target.createTarget", url="about:blank")["targetId"]
session = browser.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
browser.ask("Page.enable", session)
browser.ask("Emulation.setDeviceMetricsOverride", session, width=WIDTH, height=2000, deviceScaleFactor=1, mobile=False)
browser.ask("Page.navigate", session, url="file://" + page)
browser.wait_for("Page.loadEventFired", session)
end = browser.ask("Runtime.evaluate", session,
                  expression="Math.ceil(document.querySelector('#actions pre').getBoundingClientRect().bottom)")["result"]["value"]
shot = browser.ask("Page.captureScreenshot", session, captureBeyondViewport=True,
                   clip={"x": 0, "y": 0, "width": WIDTH, "height": end + BELOW, "scale": 1})
with open(picture, "wb") as f:
    f.write(base64.b64decode(shot["data"]))
browser.ask("Browser.close")
PY
