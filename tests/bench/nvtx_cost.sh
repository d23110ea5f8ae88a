#!/bin/bash
# What a push and a pop cost, as recorded by the collector: builds nvtx_cost.c and runs it under `dccollect run`.
# The spool goes to $BENCH_DIR (default: $TMPDIR or /tmp), since its file system is part of the cost.
set -eu
cd "$(dirname "$0")/../.."
: "${BUILD:=$PWD/build}"
TMP=$(mktemp -d "${BENCH_DIR:-${TMPDIR:-/tmp}}/dcr-bench.XXXXXX")
trap 'rm -rf "$TMP"' EXIT
BIN=$BUILD/bin
. tests/data/programs/build.sh
"$CC" -std=gnu11 -O2 "${NVTX_FLAGS[@]}" -o "$TMP/nvtx_cost" tests/bench/nvtx_cost.c -ldl -pthread
"$COLLECT" run --spool "$TMP/spool" -- "$TMP/nvtx_cost"
echo "trace: $(du -sh "$TMP/spool" | cut -f1) on $(df --output=fstype "$TMP" | tail -n 1)"
