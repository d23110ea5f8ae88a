#!/usr/bin/env bash
# The cost of loading for a training loop: memory, raw and compressed files, warm and past the page cache, 0 to 2
# workers. Files go to $BENCH_DIR (default: $TMPDIR or /tmp), which should be on a disk.
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${BUILD:=$PWD/build}"
folder=${BUILD#"$PWD"/} # a goal has the name that the Makefile's rule has
make --no-print-directory -s BUILD="$folder" "$folder/tests/bench/loader"
tmp=$(mktemp -d "${BENCH_DIR:-${TMPDIR:-/tmp}}/dcr-bench.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
echo "$(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg), files on $(df --output=fstype "$tmp" | tail -n 1)"
"$BUILD/tests/bench/loader" "$tmp"
