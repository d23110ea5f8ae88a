#!/usr/bin/env bash
# `make screenshots`: every page of site/ (or SITE=) at 390, 1280 and 1920 pixels, light and dark, and once in grey, into
# $BUILD/screenshots.
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${BUILD:=build}" "${SITE:=site}"
. tests/lib/npm_tools.sh
[ -e "$SITE/index.html" ] || { echo "screenshots: no $SITE/index.html; run make site first, or give SITE=" >&2; exit 2; }
npm_tools || { echo "screenshots: skipped, $TOOLS_BECAUSE"; exit 0; }
out=$BUILD/screenshots
mkdir -p "$out"
mapfile -t pages < <(cd "$SITE" && find . -name '*.html' -printf '%P\n' | LC_ALL=C sort)
node tests/browser/screenshots.js "$TOOLS" "$(realpath "$SITE")" "$(realpath "$out")" "${pages[@]}"
