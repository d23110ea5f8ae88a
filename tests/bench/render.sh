#!/usr/bin/env bash
# dcreport over the archives of the last series (make collect): wall time by hyperfine, peak memory by GNU time.
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${BUILD:=$PWD/build}"
[ -s results/last-series ] || { echo "render.sh: no results/last-series; run make collect first" >&2; exit 2; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mapfile -t archives <results/last-series
echo "rendering ${#archives[@]} archives, $(du -ch "${archives[@]}" | tail -n 1 | cut -f1)"
command="$BUILD/bin/dcreport --quiet ${archives[*]} -o $tmp/site"
hyperfine --warmup 1 --runs 10 --ignore-failure "$command" 2>/dev/null | sed -n 's/^ *\(Time\|Range\)/  \1/p'
# shellcheck disable=SC2086  # a command line is meant
/usr/bin/time -v $command >/dev/null 2>"$tmp/time" || true
awk '/Maximum resident/ { printf "  peak memory %.1f MB\n", $NF * 1024 / 1e6 }' "$tmp/time"
