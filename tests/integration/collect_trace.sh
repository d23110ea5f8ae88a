#!/bin/bash
# The injected library inside programs: everything NVTX offers, both routes, threads, fork, exec, full disk.
# shellcheck disable=SC2317  # functions that check calls
. tests/lib/tap.sh
. tests/data/programs/build.sh
unset OMPI_COMM_WORLD_RANK PMIX_RANK PMI_RANK SLURM_PROCID

text() {
    "$TMP/trace_text" "$@"
}
same_text() {
    text "$1" >"$TMP/a.txt" && text "$2" >"$TMP/b.txt" && diff "$TMP/a.txt" "$TMP/b.txt"
}

build_trace_text || not_ok "trace_text builds"
build_marks || not_ok "marks builds"
record "$TMP/own" "$TMP/marks_own" 5
cat >"$TMP/want" <<'END'
range depth=1 [dcrnn|compute|forward]
range depth=1 [dcrnn|compute|backward]
range depth=1 [dcrnn||unsorted]
range depth=0 [dcrnn|step|step] u64=0
events=4 dropped=0 bad=0 missing=0 unmatched=0 open=0 torn=0 rank=0 thread=
END
record "$TMP/one" "$TMP/marks_own" 1
text "$TMP"/one/rank0/*.dct >"$TMP/got"
check "own entry points: names, categories, payload, nesting" diff "$TMP/want" "$TMP/got"
record "$TMP/levels" env MARKS_LEVELS=1 "$TMP/marks_own" 1 >"$TMP/levels.txt"
check "own entry points return levels" grep -qx 'levels 0 1 1 0' "$TMP/levels.txt"

record "$TMP/own-buckets" env MARKS_BUCKETS=1 "$TMP/marks_own" 2
cat >"$TMP/want" <<'END'
process-range depth=0 [dcrnn|compute|bucket] u64=100
process-range depth=0 [dcrnn|compute|bucket] u64=101
END
text "$TMP"/own-buckets/rank0/*.dct | grep process-range | head -n 2 >"$TMP/got"
check "own entry points: ranges of the process" diff "$TMP/want" "$TMP/got"
check "each is there, and ended" test "$(text "$TMP"/own-buckets/rank0/*.dct | grep -c '^process-range.*u64=10[01]$')" -eq 4

if [ -n "$NVTX_INCLUDE" ]; then
    record "$TMP/nvtx-buckets" env MARKS_BUCKETS=1 "$TMP/marks_nvtx" 2
    check "both routes give the same ranges of the process" same_text "$TMP"/own-buckets/rank0/*.dct "$TMP"/nvtx-buckets/rank0/*.dct
    record "$TMP/nvtx" "$TMP/marks_nvtx" 5
    check "both routes give the same trace" same_text "$TMP"/own/rank0/*.dct "$TMP"/nvtx/rank0/*.dct
    build_program nvtx_all nvtx_all.c "${NVTX_FLAGS[@]}" -Wno-unused-result || not_ok "nvtx_all builds"
    build_program libnvtx_library.so nvtx_library.c "${NVTX_FLAGS[@]}" -shared -fPIC || not_ok "nvtx_library builds"
    record "$TMP/all" "$TMP/nvtx_all" "$TMP/libnvtx_library.so" >"$TMP/all.txt"
    check "NVTX's return values" grep -qx 'levels 0 1 2 2 1 0, too many -1' "$TMP/all.txt"
    main=$(find "$TMP/all/rank0" -name 'trace-*-1.dct' | sed 's/-1\.dct$/.dct/')
    text "$main" | sed 's/^events=.*thread=/thread=/' | sort | uniq -c | sed 's/^ *//' >"$TMP/got"
    cat >"$TMP/want" <<'END'
1 mark depth=0 [all||f32] f64=-1.5
1 mark depth=0 [all||f64] f64=0.25
1 mark depth=0 [all||i32] i64=-7
1 mark depth=0 [all||i64] i64=-5
1 mark depth=0 [all||u32] u64=7
1 mark depth=0 [all||u64] u64=18446744073709551614
1 mark depth=0 [|five|mark ex]
1 mark depth=0 [||]
1 mark depth=0 [||mark a]
1 mark depth=0 [||mark w 世😀]
1 process-range depth=0 [all|five of all|registered]
1 process-range depth=0 [|five|mark ex]
1 process-range depth=0 [||start a]
1 process-range depth=0 [||start w]
1 range depth=0 [all|five of all|registered]
1 range depth=0 [|five|mark ex]
1 range depth=0 [||]
1 range depth=0 [||in library]
8 range depth=0 [||in thread]
1 range depth=0 [||outer]
1 range depth=1 [wïde|fünf|registered w]
1 range depth=1 [||push a]
1 range depth=2 [all|five of all|unicode]
1 range depth=2 [||push w]
1 thread=main thread
END
    check "every NVTX function is recorded" diff "$TMP/want" "$TMP/got"
    ls "$TMP/all/rank0" >"$TMP/files"
    check "a forked child and a program after exec have files of their own" test "$(wc -l <"$TMP/files")" -eq 3
    cat "$TMP"/all/rank0/*.dct | strings >"$TMP/strings"
    check "the child's range is in the child's file only" test "$(grep -c 'in child' "$TMP/strings")" -eq 1
else
    skip "both routes give the same trace" "no NVTX headers here"
    skip "every NVTX function is recorded" "no NVTX headers here"
fi

# Death in every form: ranges marked before are there.
for death in 9 6 11 15; do
    record "$TMP/dead" "$TMP/marks" 40 "$death" >"$TMP/out" 2>&1
    got=$?
    text "$TMP"/dead/rank0/*.dct >"$TMP/got"
    if [ "$got" -eq $((128 + death)) ] && grep -q '^events=84 .*bad=0 missing=0 unmatched=0 open=2 torn=0' "$TMP/got"; then
        ok "signal $death: all 84 ranges, two of them open"
    else
        not_ok "signal $death: all 84 ranges, two of them open" "status $got, $(tail -n 1 "$TMP/got")"
    fi
done

# 200000 ranges: many blocks, all sealed, none lost.
record "$TMP/many" "$TMP/marks" 50000
text "$TMP"/many/rank0/*.dct --count >"$TMP/got"
check "200000 ranges over many blocks" grep -q '^events=200000 dropped=0 bad=0 missing=0 unmatched=0 open=0' "$TMP/got"

# No collector, a collector that is gone, one without memory: the program is not affected.
check "no collector" env NVTX_INJECTION64_PATH="$INJECT" "$TMP/marks" 5
check "shared memory that is not there" env DCC_SEGMENT="$TMP/nowhere/at/all" NVTX_INJECTION64_PATH="$INJECT" "$TMP/marks" 5
head -c 100000 /dev/urandom >"$TMP/noise"
check "a file that is none" env DCC_SEGMENT="$TMP/noise" NVTX_INJECTION64_PATH="$INJECT" "$TMP/marks" 5

# adds_up NAME FILE STATUS: 200000 ranges, each recorded or counted
adds_up() {
    local events dropped
    text "$2" --count >"$TMP/got"
    read -r events dropped <<<"$(sed -n 's/^events=\([0-9]*\) dropped=\([0-9]*\) bad=0 missing=0 .*/\1 \2/p' "$TMP/got")"
    if [ "$3" -eq 0 ] && [ "${dropped:-0}" -gt 0 ] && [ $((events + dropped)) -eq 200000 ]; then
        ok "$1: recorded and dropped add up to 200000 ranges"
    else
        not_ok "$1: recorded and dropped add up to 200000 ranges" "status $3, $(cat "$TMP/got" "$TMP/record.err")"
    fi
}
# A file size limit or a full disk is the collector's problem; events without room are counted.
(ulimit -f 1024 && record "$TMP/limit" "$TMP/marks" 50000)
got=$?
adds_up "file size limit" "$(echo "$TMP"/limit/rank0/*.dct)" "$got"
text "$TMP"/limit/rank0/*.dct --notes >"$TMP/notes"
check "file size limit: the trace says so" grep -q '^recording stopped: .*(ulimit -f)' "$TMP/notes"
RECORD='--keep all --max-disk-mb 1' record "$TMP/limit" "$TMP/marks" 50000
got=$?
adds_up "--max-disk-mb" "$(echo "$TMP"/limit/rank0/*.dct)" "$got"
text "$TMP"/limit/rank0/*.dct --notes >"$TMP/notes"
check "--max-disk-mb: the trace says so" grep -q '^recording stopped: .*--max-disk-mb' "$TMP/notes"
check "--max-disk-mb: and is no larger" test "$(stat -c %s "$TMP"/limit/rank0/*.dct)" -le 1100000
if [ "$(id -u)" = 0 ] && mkdir "$TMP/small" && mount -t tmpfs -o size=1m tmpfs "$TMP/small" 2>/dev/null; then
    record "$TMP/small/spool" "$TMP/marks" 50000
    got=$?
    adds_up "full disk" "$(echo "$TMP"/small/spool/rank0/*.dct)" "$got"
    umount "$TMP/small"
else
    skip "full disk: recorded and dropped add up" "needs root and a tmpfs"
fi

# The library is a guest: its entry points and the calls that it watches are visible, and it needs nothing but libc.
names_of() { # LIBRARY: its names without those that begin with dcc_
    nm -D --defined-only "$1" | awk 'NF == 3 { sub(/@.*/, "", $3); print $3 }' | grep -v '^dcc_' | sort -u
}
names_of "$INJECT" >exported
names_of "$(ldd "$(command -v sh)" | awk '/libc\.so/ { print $3 }')" >of_libc
check "exports what NVTX looks for and calls of libc" test "$(comm -23 exported of_libc | tr '\n' ' ')" = "InitializeInjectionNvtx2 InitializeInjectionNvtxExtension "
check "with MPI, also calls of MPI" test "$(names_of "${INJECT%inject.so}mpi.so" | comm -23 - exported | grep -cEv '^P?MPI_|^mpi_[a-z_0-9]+$|^pmpi_')" -eq 0
check "programs find one recorder, whichever is loaded" test "$(for l in inject mpi; do readelf -d "${INJECT%inject.so}$l.so" | grep -c 'SONAME.*libdccollect-inject.so'; done | tr '\n' ' ')" = "1 1 "
needed=$(readelf -d "$INJECT" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | tr '\n' ' ')
case "$needed" in
*lib[!c]*) not_ok "needs nothing but libc" "$needed" ;;
*) ok "needs nothing but libc" ;;
esac
finish
