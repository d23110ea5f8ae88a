#!/bin/bash
# GPU activity through CUPTI, on a machine without a GPU: a fake CUPTI hands over buffers made with the real header's
# structs. Checks records, drops, refusals, and a CUPTI without a driver.
# shellcheck disable=SC2016  # commands for another shell
. tests/lib/tap.sh
. tests/data/programs/build.sh
unset OMPI_COMM_WORLD_RANK PMIX_RANK PMI_RANK SLURM_PROCID CUDA_INJECTION64_PATH
"$CC" -std=gnu11 -O1 -I. -o "$TMP/gpu_text" tests/data/programs/gpu_text.c "$BUILD/libdcr.a" -lnettle || not_ok "gpu_text builds"
build_program cupti_program cupti_program.c || not_ok "cupti_program builds"
cupti_note() { # ARCHIVE
    metadata "$1" .collector.cuda
}

"$COLLECT" run -o "$TMP/none.tar" -- true 2>/dev/null
check "a program that uses no GPU: nothing, and why" sh -c 'echo "$0" | grep -q "^nothing recorded because [a-z]"' "$(cupti_note "$TMP/none.tar")"
"$COLLECT" run -o "$TMP/off.tar" --cuda off -- sh -c 'echo "${CUDA_INJECTION64_PATH-unset}"' >"$TMP/out" 2>/dev/null
check "--cuda off: nothing is set" grep -qx unset "$TMP/out"
check "and said" sh -c 'echo "$0" | grep -q "switched off"' "$(cupti_note "$TMP/off.tar")"
CUDA_INJECTION64_PATH=/other/tool.so "$COLLECT" run -o "$TMP/other.tar" -- sh -c 'echo "$CUDA_INJECTION64_PATH"' >"$TMP/out" 2>/dev/null
check "another tool's injection stays" grep -qx /other/tool.so "$TMP/out"
check "and is named" sh -c 'echo "$0" | grep -q "/other/tool.so"' "$(cupti_note "$TMP/other.tar")"
DCC_CUPTI=/nowhere/libcupti.so "$COLLECT" run -o "$TMP/absent.tar" -- "$TMP/cupti_program" 1 >/dev/null 2>&1
check "no libcupti: off with the reason" sh -c 'echo "$0" | grep -q "no libcupti is found"' "$(cupti_note "$TMP/absent.tar")"
check "which is no reason to call the run incomplete" manifest "$TMP/absent.tar" .complete

if [ -z "$NVTX_INCLUDE" ] || [ ! -e "$NVTX_INCLUDE/cupti.h" ] ||
    ! "$CC" -std=gnu11 -O1 -shared -fPIC -isystem "$NVTX_INCLUDE" -o "$TMP/fake.so" tests/data/programs/fake_cupti.c 2>"$TMP/cc.txt"; then
    skip "records of a fake CUPTI" "no CUPTI headers of CUDA 13 here"
    finish
fi
export DCC_CUPTI=$TMP/fake.so
"$COLLECT" run --spool "$TMP/two" -- "$TMP/cupti_program" 2 >"$TMP/out" 2>"$TMP/err"
check "the program runs" test "$?" -eq 0
"$TMP/gpu_text" "$TMP"/two/rank0/*.dct >"$TMP/got"
one() { # correlation, name of the driver's call, operation on memory
    cat <<END
runtime [cudaLaunchKernel_v7000] dur=5000 bytes=0 device=77 context=0 stream=0 corr=$1 graph=0 node=0 detail=0
driver [$2] dur=3000 bytes=0 device=77 context=1 stream=0 corr=$1 graph=0 node=0 detail=0
kernel [_Z4spinPfx] dur=20000 bytes=0 device=1 context=2 stream=7 corr=$1 graph=6 node=600000001 detail=0 grid=132,2,3 block=256,4,5 regs=40 shared=1024+2048
memcpy [HtoD] dur=1000 bytes=4096 device=1 context=2 stream=8 corr=$1 graph=0 node=0 detail=1
memcpy [PtoP] dur=1000 bytes=8192 device=1 context=2 stream=8 corr=$1 graph=0 node=0 detail=10
memset [memset] dur=1000 bytes=512 device=1 context=2 stream=8 corr=$1 graph=0 node=0 detail=0
memory [$3] dur=0 bytes=1048576 device=1 context=2 stream=0 corr=$1 graph=0 node=abc000 detail=$4
sync [stream synchronize] dur=1000 bytes=0 device=0 context=2 stream=7 corr=$1 graph=0 node=0 detail=3
overhead [CUPTI buffer flush] dur=1000 bytes=0 device=0 context=0 stream=0 corr=0 graph=0 node=0 detail=0
END
}
# Durations on the clock of the trace are shorter than CUPTI's by one part in 10,001, rounded to whole microseconds.
{ one 1 cuLaunchKernel allocate 1; one 2 'driver call 9999' free 2; } >"$TMP/want"
check "every kind of record, with all its fields, but no calls that only ask" diff "$TMP/want" <(sed '/^dropped/d; s/ t=[0-9]*//' "$TMP/got")
read -r _ before after <"$TMP/out"
check "times are on the clock of the trace" awk -v a="$before" -v b="$after" \
    '/^kernel/ { sub(/.* t=/, ""); if ($1 < a - 20000 || $1 > b + 40000) exit 1; n++ } END { exit n != 2 }' "$TMP/got"
check "nothing dropped" grep -qx 'dropped=0 bad=0 missing=0' "$TMP/got"
"$COLLECT" pack "$TMP/two" -o "$TMP/two.tar" 2>/dev/null
check "the metadata say so" test "$(cupti_note "$TMP/two.tar")" = ok
check "no range is named by that" test "$(metadata "$TMP/two.tar" .collector.events)" = 0
check "verify" "$COLLECT" verify "$TMP/two.tar"
check "nothing of a program that exits is missing" metadata "$TMP/two.tar" '.collector.notes | all(test("not counted|exit") | not)'
"$BIN/dcreport" "$TMP/two.tar" -o "$TMP/site" >/dev/null 2>&1
check "the report has the device's operations and their time" jq -e '.devices | length == 1 and (.[0] |
    .device == 1 and .kernels == 2 and .memcpys == 4 and .memsets == 2 and .kernel_sum_ns > 39990 and .kernel_sum_ns < 40001)' "$TMP/site/report.json"

FAKE_CUPTI=drop "$COLLECT" run --spool "$TMP/drop" -- "$TMP/cupti_program" 2 >/dev/null 2>&1
"$TMP/gpu_text" "$TMP"/drop/rank0/*.dct >"$TMP/got"
check "what CUPTI dropped is counted exactly" grep -qx 'dropped=7 bad=0 missing=0' "$TMP/got"
"$COLLECT" run --spool "$TMP/many" -- "$TMP/cupti_program" 50000 >"$TMP/out" 2>&1
"$TMP/gpu_text" "$TMP"/many/rank0/*.dct >"$TMP/got"
check "450,000 records over many buffers: all there" test "$(grep -c ' t=' "$TMP/got") $(tail -n 1 "$TMP/got")" = "450000 dropped=0 bad=0 missing=0"

FAKE_CUPTI=refuse "$COLLECT" run -o "$TMP/refused.tar" -- "$TMP/cupti_program" 2 >/dev/null 2>&1
check "refused by the driver: off with its reason" sh -c 'echo "$0" | grep -q "CUPTI refuses: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"' "$(cupti_note "$TMP/refused.tar")"
"$COLLECT" run --spool "$TMP/window" --capture-range nvtx:never -- "$TMP/cupti_program" 2 >/dev/null 2>&1
check "outside the window nothing is kept, nothing counted" test "$("$TMP/gpu_text" "$TMP"/window/rank0/*.dct)" = 'dropped=0 bad=0 missing=0'
check_status 137 "a program that is killed" "$COLLECT" run --spool "$TMP/killed" -- "$TMP/cupti_program" 20000 kill
check "keeps what CUPTI had handed over" test "$("$TMP/gpu_text" "$TMP"/killed/rank0/*.dct | grep -c '^kernel')" -gt 10000
"$COLLECT" pack "$TMP/killed" -o "$TMP/killed.tar" 2>/dev/null
check "what it had not is said to be missing" metadata "$TMP/killed.tar" '.collector.notes | any(test("^of 1 process the last GPU activity, up to a second of it, is missing and not counted"))'
"$COLLECT" run --spool "$TMP/forked" -- "$TMP/cupti_program" 2 fork >/dev/null 2>&1
check "a forked child does not hand over its parent's records again" test "$(find "$TMP/forked/rank0" -name '*.dct' -exec "$TMP/gpu_text" {} ';' | grep -c '^kernel')" -eq 2

real=$(find -H "$NVTX_INCLUDE"/../lib*/ -name 'libcupti.so.*' 2>/dev/null | sort | head -n 1)
if [ -n "$real" ]; then
    DCC_CUPTI=$real "$COLLECT" run -o "$TMP/real.tar" -- "$TMP/cupti_program" 1 >/dev/null 2>&1
    check "the real CUPTI, whatever it finds here: ok or a reason, and the program runs" \
        sh -c 'echo "$0" | grep -Eq "^(ok|nothing recorded because .*)$"' "$(cupti_note "$TMP/real.tar")"
    echo "# the real one says: $(cupti_note "$TMP/real.tar")"
else
    skip "the real CUPTI" "no libcupti here"
fi
finish
