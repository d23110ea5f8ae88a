#!/usr/bin/env bash
# pack.sh - packing and rendering many ranks: size, time and memory with full traces and with summaries only. The evidence
# is generated (tests/data/programs/make_ranks.c). RANKS=1024 STEPS=200 PER_NODE=8
set -eu
: "${BUILD:=$PWD/build}" "${CC:=gcc}" "${RANKS:=1024}" "${STEPS:=200}" "${PER_NODE:=8}"
BIN=$BUILD/bin
TMP=$(mktemp -d "${TMPDIR:-/tmp}/dcreport-pack.XXXXXX")
trap 'rm -rf "$TMP"' EXIT
. tests/data/programs/build.sh
build_make_ranks
"$TMP/make_ranks" "$TMP/spool" "$RANKS" "$STEPS" "$PER_NODE"
echo "$RANKS ranks on $((RANKS / PER_NODE)) nodes, $STEPS steps, 8 ranges a step; spool: $(du -sm "$TMP/spool" | cut -f1) MB"

measured() { # measured CMD...: seconds and MB of memory; CMD may end with 3 (a report with gaps)
    local status=0
    command time -f '%e %M' -o "$TMP/time" "$@" >"$TMP/out" 2>&1 || status=$?
    [ $status -eq 0 ] || [ $status -eq 3 ] || { cat "$TMP/out" >&2; exit 1; }
    tail -n 1 "$TMP/time" | awk '{ printf "%6.2f s, %4d MB", $1, $2 / 1024 }'
}
for how in "all all.tar" "none none.tar" "none none.tar.zst"; do
    archive=$TMP/${how#* }
    packed=$(measured "$BIN/dccollect" pack "$TMP/spool" -o "$archive" --traces "${how% *}")
    checked=$(measured "$BIN/dccollect" verify "$archive")
    rendered=$(measured "$BIN/dcreport" "$archive" -o "$TMP/site" --theme themes/default)
    printf '%-14s %8.1f MB   pack %s   verify %s   render %s\n' "${how#* }" \
        "$(stat -c %s "$archive" | awk '{ print $1 / 1e6 }')" "$packed" "$checked" "$rendered"
    rm -rf "$TMP/site" "$archive"
done
