#!/bin/bash
# NVTX beyond the core: the C++ interface, extended payloads, another tool that was there before; windows; bursts and the
# cap on memory. What is recorded and what is counted as dropped must add up.
# shellcheck disable=SC2016,SC2317  # commands for another shell; functions that check calls
. tests/lib/tap.sh
. tests/data/programs/build.sh
unset OMPI_COMM_WORLD_RANK PMIX_RANK PMI_RANK SLURM_PROCID
build_trace_text || not_ok "trace_text builds"
build_marks || not_ok "marks builds"
build_program burst burst.c || not_ok "burst builds"
# adds_up FILE MADE: events recorded and dropped, with nothing torn between
adds_up() {
    local events dropped
    read -r events dropped <<<"$("$TMP/trace_text" "$1" --count |
        sed -n 's/^events=\([0-9]*\) dropped=\([0-9]*\) bad=0 missing=0 unmatched=0 open=0 torn=0 .*/\1 \2/p')"
    echo "recorded ${events:-?} dropped ${dropped:-?} made $2"
    [ -n "${dropped:-}" ] && [ $((2 * (events + dropped))) -eq "$2" ] && echo "$dropped" >"$TMP/dropped"
}

# ---- C++, payloads, colours, resources
if [ -n "$NVTX_INCLUDE" ] && command -v "${CXX:-g++}" >/dev/null &&
    "${CXX:-g++}" -std=c++17 -O1 "${NVTX_FLAGS[@]}" -o "$TMP/nvtx_cpp" tests/data/programs/nvtx_cpp.cpp -ldl -pthread 2>"$TMP/cc.txt"; then
    record "$TMP/cpp" "$TMP/nvtx_cpp"
    check "a C++ program with nvtx3.hpp runs" test "$?" -eq 0
    for trace in "$TMP"/cpp/rank0/*.dct; do "$TMP/trace_text" "$trace"; done | sed 's/^events=.*/end/; s/color=\([0-9a-f]*\)/color=\1/' | sort >"$TMP/got"
    cat >"$TMP/want" <<'END'
end
end
mark depth=0 [cpp library||a mark] f64=3.5 color=010203
mark depth=0 [cpp payloads||] raw=4294967298:16:0201000000000000000000000000e03f
mark depth=0 [cpp payloads||] raw=4294967298:16:0201000000000000000000000000e03f
mark depth=0 [cpp payloads||too much] raw=4294967296:16:0201000000000000000000000000e03f raw=1023:5000:01020300000000000000000000000000
process-range depth=0 [cpp library||started here]
process-range depth=0 [cpp payloads||] raw=4294967296:16:0201000000000000000000000000e03f raw=4294967296:16:0201000000000000000000000000e03f
range depth=0 [||outer] i64=-3
range depth=1 [cpp library|io|registered load]
range depth=1 [cpp payloads||] raw=4294967296:16:0201000000000000000000000000e03f
range depth=1 [cpp payloads||ended with a shape] raw=4294967296:16:0201000000000000000000000000e03f
range depth=1 [cpp payloads||with a shape] raw=4294967296:16:0201000000000000000000000000e03f
range depth=2 [cpp library||function]
END
    check "its ranges, categories, colours and payloads are there, raw where unknown" diff "$TMP/want" "$TMP/got"
    "$COLLECT" pack "$TMP/cpp" -o "$TMP/cpp.tar" 2>/dev/null
    check "exported by their schemas and enumerations, also what a forked child marked" sh -c '"$0" export "$1" -o - --format csv 2>/dev/null | cut -d, -f 9,14 >"$1.csv" &&
        test "$(grep -cx ",rows=many; density=0.5" "$1.csv")" -eq 2 && grep -qx "ended with a shape,rows=258; density=0.5" "$1.csv" &&
        grep -q "^too much,rows=258; density=0.5; schema 1023=01020300.*\.\.\.$" "$1.csv"' "$COLLECT" "$TMP/cpp.tar"
    check "the schema is in the trace" sh -c 'strings "$0"/cpp/rank0/*.dct | tr -d "\n" | grep -q "schema 4294967296 .shape. size=16: rows 15@0, density 20@8"' "$TMP"
else
    skip "a C++ program with nvtx3.hpp" "no NVTX headers or no C++ compiler here"
fi

# ---- NCCL's own ranges: they begin before CUDA is used
nccl=$(find -H "${NVTX_INCLUDE:-/nowhere}"/../lib*/ -name libnccl.so.2 2>/dev/null | head -n 1)
[ -n "$nccl" ] || nccl=$(/sbin/ldconfig -p 2>/dev/null | sed -n 's/.* => \(.*libnccl\.so\.2\)$/\1/p' | head -n 1)
if [ -n "$nccl" ]; then
    build_program nccl_calls nccl_calls.c || not_ok "nccl_calls builds"
    check "NCCL, opened late: the program runs" sh -c '"$0" run -o "$1/nccl.tar" -- "$1/nccl_calls" "$2" >"$1/out"' "$COLLECT" "$TMP" "$nccl"
    echo "# it says: $(cat "$TMP/out")"
    "$COLLECT" export "$TMP/nccl.tar" --format csv -o "$TMP/nccl.csv" 2>/dev/null
    check "its ranges are there, in its domain" test "$(awk -F, 'NR > 1 && $7 == "NCCL" { print $5, $9 }' "$TMP/nccl.csv" | grep -Ex 'range nccl(GroupStart|AllReduce|Send|GroupEnd|CommInitAll|CommInitRank)' | sort -u | wc -l)" -eq 6
    check "with their payloads, by its own schemas" grep -q ',NCCL,,ncclAllReduce,.*Message size \[bytes\]=100; Reduction operation=Max,' "$TMP/nccl.csv"
    check "and none is left open" awk -F, 'NR > 1 && $16 != 0 { exit 1 }' "$TMP/nccl.csv"
    "$BIN/dcreport" "$TMP/nccl.tar" -o "$TMP/nccl-site" >/dev/null 2>&1
    check "the report has them" grep -q '"ncclAllReduce"' "$TMP/nccl-site/report.json"
    check "and claims no GPU work" jq -e '(.devices // []) | length == 0' "$TMP/nccl-site/report.json"
else
    skip "NCCL's own ranges" "no libnccl here"
fi

# ---- as PyTorch calls NVTX: from a separate copy inside a shared object that Python opens late
if [ -n "$NVTX_INCLUDE" ] && command -v python3 >/dev/null; then
    "$CC" -std=gnu11 -shared -fPIC "${NVTX_FLAGS[@]}" -o "$TMP/libnvtx_library.so" tests/data/programs/nvtx_library.c -ldl || not_ok "nvtx_library builds"
    record "$TMP/python" python3 -c 'import ctypes, sys, threading
library = ctypes.CDLL(sys.argv[1])
library.in_library()
other = threading.Thread(target=library.in_library)
other.start()
other.join()' "$TMP/libnvtx_library.so"
    check "a shared object that Python opens: its ranges, of both threads" test "$(cat "$TMP"/python/rank0/*.dct | strings | grep -c '^in library$') $("$TMP/trace_text" "$TMP"/python/rank0/*.dct | grep -c '^range depth=0 \[||in library\]')" = "1 2"
else
    skip "a shared object that Python opens" "no NVTX headers or no python3"
fi

# ---- another tool came first: NVTX takes one, and that one keeps its place
"$CC" -std=gnu11 -I. -shared -fPIC -o "$TMP/other.so" tests/data/programs/nvtx_other_tool.c || not_ok "nvtx_other_tool builds"
if [ -n "$NVTX_INCLUDE" ]; then
    build_program nvtx_all nvtx_all.c "${NVTX_FLAGS[@]}" -Wno-unused-result || not_ok "nvtx_all builds"
    NVTX_INJECTION64_PATH=$TMP/other.so "$TMP/nvtx_all" >"$TMP/alone.out" 2>"$TMP/alone.err"
    NVTX_INJECTION64_PATH=$TMP/other.so "$COLLECT" run -o "$TMP/other.tar" -- "$TMP/nvtx_all" >"$TMP/both.out" 2>"$TMP/both.err"
    check "another tool keeps its place: it sees the same" diff <(grep '^other tool' "$TMP/alone.err") <(grep '^other tool' "$TMP/both.err")
    check "and the program is told the same" diff "$TMP/alone.out" "$TMP/both.out"
    check "and the closing line says who gets the ranges" grep -q "another tool gets the NVTX ranges: NVTX_INJECTION64_PATH is '.*other.so'" "$TMP/both.err"
else
    skip "another NVTX tool" "no NVTX headers here"
fi
check "a library that was preloaded stays so" sh -c 'LD_PRELOAD=$1 $0 run --spool $2/pre -- sh -c "echo \$LD_PRELOAD" 2>/dev/null | grep -q ":$1$"' \
    "$COLLECT" "$TMP/other.so" "$TMP"

# ---- windows
ranges() { # SPOOL: names and payloads
    "$TMP/trace_text" "$1"/rank0/*.dct | sed -n 's/^range depth=\([0-9]\) \[[^]]*|\([a-z]*\)\]/\1\2/p' | tr '\n' ' '
    "$TMP/trace_text" "$1"/rank0/*.dct | grep -o 'dropped=.*open=[0-9]*'
}
clean='dropped=0 bad=0 missing=0 unmatched=0 open=0'
record "$TMP/w" env DCC_STEPS=3:4 "$TMP/marks" 10
one='1forward 1backward 1unsorted'
check "--steps 3:4" test "$(ranges "$TMP/w")" = "$one 0step u64=3 $one 0step u64=4 $clean"
if [ ${#NVTX_FLAGS[@]} -gt 0 ]; then
    cat >"$TMP/called.c" <<'END'
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
int main(void)
{
    char name[40];
    for (int i = 0; i < 6; i++) {
        sprintf(name, "epoch %d iter[%d/3]", i / 3, i % 3);
        nvtxRangePushA(name);
        nvtxRangePushA("batch 0");
        nvtxRangePushA(i == 4 ? "wanted" : "forward");
        for (int k = 0; k < 3; k++)
            nvtxRangePop();
    }
    return 0;
}
END
    cc -o "$TMP/called" "$TMP/called.c" "${NVTX_FLAGS[@]}" -ldl
    record "$TMP/w" env DCC_STEPS=4 "$TMP/called"
    check "--steps of numbered names with an epoch, batches within" test "$(ranges "$TMP/w")" = "2wanted $clean"
fi
record "$TMP/w" env DCC_CAPTURE=nvtx:backward "$TMP/marks" 2
check "--capture-range nvtx:NAME: inside every range of that name" test "$(ranges "$TMP/w")" = "0backward 0backward $clean"
record "$TMP/w" env DCC_CAPTURE=nvtx:no_such_range "$TMP/marks" 2
check "a range that never comes: nothing, and nothing dropped" test "$(ranges "$TMP/w")" = "$clean"
MARKS_STEP_US=20000 "$COLLECT" run -o "$TMP/delay.tar" --delay 0.3 --duration 0.4 -- "$TMP/marks" 60 2>"$TMP/err"
check "the closing line names the window" grep -q 'rank, in the window of --delay 0.3 --duration 0.4: [0-9]* ranges' "$TMP/err"
check "and ls" sh -c '"$0" ls "$1" | grep -q "recorded  in the window of --delay 0.3 --duration 0.4: [0-9]* ranges"' "$COLLECT" "$TMP/delay.tar"
metadata "$TMP/delay.tar" '.collector | "\(.events) \(.dropped_events) \(.window.delay_s) \(.window.duration_s)"' >"$TMP/got"
check "--delay and --duration: a part of it, nothing dropped" awk '$1 < 20 || $1 > 100 || $2 != 0 || $3 != 0.3 || $4 != 0.4 { exit 1 }' "$TMP/got"
"$COLLECT" run -o "$TMP/never.tar" --delay 100 -- "$TMP/marks" 3 2>"$TMP/err"
check "a window that never opened: the closing line says so" grep -q 'the window never opened: the program ran for .* and --delay is 100 s' "$TMP/err"
"$COLLECT" run -o "$TMP/never.tar" --steps 1000:2000 -- "$TMP/marks" 3 2>"$TMP/err"
metadata "$TMP/never.tar" '.collector.nvtx' >"$TMP/got"
check "and the metadata" grep -q 'the window never opened: the program marked none of the steps of --steps 1000:2000' "$TMP/got"
for bad in '--steps 4:3' '--steps x' '--delay -1' '--capture-range cuda' '--max-mb 0' '--io maybe' '--mpi 1' '--io-threshold x'; do
    # shellcheck disable=SC2086  # two words
    check_status 125 "refused: $bad" "$COLLECT" run -o "$TMP/x.tar" $bad -- true
done

# cudaProfilerStart of a runtime that is linked dynamically
cat >"$TMP/cudart.c" <<'END'
int n;
int cudaProfilerStart(void);
int cudaProfilerStop(void);
int cudaProfilerStart(void) { return n++; }
int cudaProfilerStop(void) { return n++; }
END
cat >"$TMP/profiled.c" <<'END'
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
int cudaProfilerStart(void);
int cudaProfilerStop(void);
extern int n;
int main(void)
{
    int (*push)(const char *, const char *, const char *, uint64_t), (*pop)(const char *);
    void *l = dlopen(getenv("NVTX_INJECTION64_PATH"), RTLD_NOW);
    *(void **)&push = dlsym(l, "dcc_range_push");
    *(void **)&pop = dlsym(l, "dcc_range_pop");
    push("", "", "outer", 0);
    for (int i = 0; i < 6; i++) {
        if (i == 2)
            cudaProfilerStart();
        push("", "", "inner", (uint64_t)i);
        pop("");
        if (i == 3)
            cudaProfilerStop();
    }
    pop("");
    return n != 2;
}
END
"$CC" -shared -fPIC -o "$TMP/libcudart_like.so" "$TMP/cudart.c" && "$CC" -o "$TMP/profiled" "$TMP/profiled.c" -L"$TMP" -lcudart_like -Wl,-rpath,"$TMP" -ldl
check "--capture-range cudaProfilerApi: the program runs" "$COLLECT" run --spool "$TMP/prof" --capture-range cudaProfilerApi -- "$TMP/profiled"
check "and what lies between start and stop is recorded" test "$(ranges "$TMP/prof")" = "0inner u64=2 0inner u64=3 $clean"

# ---- bursts: a collector with a free processor keeps up; without one, lost events are counted
for clock in tsc monotonic; do
    DCC_CLOCK=$clock record "$TMP/sb" "$TMP/burst" 5000000 >"$TMP/out"
    check "5000000 ranges in one burst, clock $clock: added up exactly" adds_up "$TMP"/sb/rank0/*.dct 10000000
    echo "# $(cat "$TMP/dropped") dropped"
    check "the program's own memory stays small" awk '$2 >= 16 { exit 1 }' "$TMP/out"
done
RECORD='--max-mb 1' record "$TMP/sb" "$TMP/burst" 20000 8 >"$TMP/out"
check "--max-mb 1: added up exactly" adds_up "$TMP"/sb/rank0/*.dct 320000
RECORD='--max-mb 1' record "$TMP/sb" "$TMP/burst" 100 64 >"$TMP/out"
check "--max-mb 1, 64 threads: those without memory are counted exactly" adds_up "$TMP"/sb/rank0/*.dct 12800
# Memory that becomes free in the middle of a range must not record its pop without its push.
RECORD='--max-mb 1' record "$TMP/sb" "$TMP/burst" 20000 64 >"$TMP/out"
check "and when others end in the meantime" adds_up "$TMP"/sb/rank0/*.dct 2560000
finish
