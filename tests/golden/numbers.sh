#!/usr/bin/env bash
# Compare every number of report.json and of the CSV tables, over a wide corpus, with tests/golden/numbers/. Values other than prose
# may change only in a commit that says why. numbers.py defines what is compared. ACCEPT=1 (make golden-accept) rewrites the files.
. tests/lib/tap.sh
. tests/data/archives/fixture.sh

expected=tests/golden/numbers
# numbers CASE STATUS arguments of dcreport...
numbers() {
    local name=$1 status=$2 got=0 made=$TMP/numbers-$1
    shift 2
    "$BIN/dcreport" -q "$@" -o "$TMP/site" >"$TMP/said" 2>&1 </dev/null || got=$?
    if [ $got -ne "$status" ] || ! python3 tests/golden/numbers.py "$TMP/site" $expected/prose >"$made" 2>>"$TMP/said"; then
        not_ok "$name" "exit status $got instead of $status: $(tail -n 5 "$TMP/said")"
    else
        [ -z "${ACCEPT:-}" ] || cp "$made" "$expected/$name"
        check "$name" diff -U0 "$expected/$name" "$made"
    fi
    # The text that a person reads: a missing value is a dash with a mark, and each tooltip has its value.
    grep -rlwE 'n/a|title="threshold "' "$TMP/site" --include=*.html --include=*.md --include=*.txt --include=*.tex >>"$TMP/missing" 2>/dev/null
    [ ! -d "$TMP/site" ] || python3 tests/lib/voice.py site "$TMP/site" | sed -n "s|^  \\(.*\\): the page$|\\1: $name|p; t; s|^  ||p" >>"$TMP/voice"
    rm -rf "$TMP/site"
}
# Sentences on pages of these reports that break a rule of tests/lib/voice.py: none may be added, and corrected ones
# leave the list. all: was every case rendered?
voice() {
    sort -u "$TMP/voice" >"$TMP/voice-made"
    [ -z "${ACCEPT:-}" ] || cp "$TMP/voice-made" tests/golden/voice.txt
    check "no new sentence breaks a rule of language" test -z "$(comm -13 tests/golden/voice.txt "$TMP/voice-made")"
    [ "$1" != all ] || check "the list holds nothing that was mended" test -z "$(comm -23 tests/golden/voice.txt "$TMP/voice-made")"
}
missing_values() {
    check "no page, document or LaTeX table says n/a" test -z "$(sort -u "$TMP/missing")"
}
# made NAME NODES settings...: an archive of made-up text files, $TMP/NAME.tar
made() {
    fixture_run "$TMP/$1" "${@:2}" "id=$1"
    fixture_pack "$TMP/$1" "$TMP/$1.tar"
}

# ---- made-up archives
made one 1; made two 2
fixture_run "$TMP/four" 4 id=four
fixture_calibrate "$TMP/four"
fixture_pack "$TMP/four" "$TMP/four.tar"
numbers series 0 "$TMP"/{one,two,four}.tar
numbers one 0 "$TMP/one.tar"
made weak1 1 batch=64; made weak4 4 batch=256 compute=320000000
numbers weak 0 "$TMP"/weak{1,4}.tar
made slow1 1 kind=emulated cores=2; made slow4 4 slow_rank=2 transfer=500000 kind=emulated cores=2
numbers slow-rank-shared-cores 0 "$TMP"/slow{1,4}.tar
equal=(kind=emulated cores=2 node_cores=0.25 node_link=50000000 quota=0.25 throttled=72)
made equal1 1 "${equal[@]}"; made equal2 2 "${equal[@]}" transfer=8000000; made equal4 4 "${equal[@]}" transfer=15000000
numbers emulated-nodes 0 "$TMP"/equal{1,2,4}.tar
made unequal4 4 "${equal[@]}" transfer=15000000 last_quota=0.1
numbers emulated-nodes-unequal 0 "$TMP"/equal{1,2}.tar "$TMP/unequal4.tar"
made faster4 4 "${equal[@]}" transfer=7500000 node_link=100000000
numbers emulated-nodes-faster-link 0 --baseline "$TMP/equal4.tar" -- "$TMP/faster4.tar"
quota=(cores=4 quota=0.5 throttled=45)
made quota1 1 "${quota[@]}"; made quota4 4 "${quota[@]}" transfer=15000000
numbers equal-quota 0 "$TMP"/quota{1,4}.tar
made straggler 4 slow_rank=1 transfer=500000
numbers straggler 0 "$TMP/straggler.tar"
made data 1 data=60000000; made data2 2 data=60000000
numbers data 0 "$TMP/data.tar"
numbers before-and-after 0 --baseline "$TMP/data2.tar" -- "$TMP/two.tar"
made io 2 io=200000000
numbers io 0 "$TMP/io.tar"
made few 2 steps=3
numbers few-steps 0 "$TMP/few.tar"
made repeat1 2 transfer=11000000; made repeat2 2 transfer=9000000
numbers repetitions 0 "$TMP"/{one,two,repeat1,repeat2}.tar
numbers metrics-alone 3 "$TMP/one/metrics.csv"

# ---- recorded ones: tests/data/archives/record.sh
recorded=tests/data/archives/recorded
numbers recorded-series 0 $recorded/series-{1,2,4}.tar.zst
numbers recorded-before-and-after 0 --baseline $recorded/data-on.tar.zst -- $recorded/data-off.tar.zst
for name in io window summaries mpi files gpu stopped; do
    status=0
    case $name in stopped | files | mpi | gpu) status=3 ;; esac
    numbers "recorded-$name" $status "$recorded/$name.tar.zst"
done
numbers recorded-all 3 $recorded/*.tar.zst

# ---- recorded on a GPU
numbers gpu-torch 0 tests/data/gpu/torch-h200.tar.zst
numbers gpu-kineto 0 tests/data/gpu/kineto-h200.json.gz
numbers gpu-gloo 0 tests/data/gpu/kineto-gloo-h200

# ---- files of other tools
foreign=tests/data/foreign
numbers foreign-kineto 0 $foreign/kineto
numbers foreign-torch-cpu 0 $foreign/torch-cpu
numbers foreign-scaling 0 $foreign/scaling
numbers foreign-files 0 $foreign/{dmon.txt,scrape,smi.csv,smi-plain.csv,gputrace.csv,raw,ncu.csv,ncu-roofline.csv,sacct.txt,sacct-p.txt}
if [ ! -d "$SHARED/data/traces" ]; then
    skip "numbers of real files of other tools" "no ../shared/data/traces"
    missing_values
    voice some
    finish
fi
traces=$SHARED/data/traces
for name in kineto kineto/dlrm_8rank monitor nccl-tests nsys nsys-h100 scaling talp; do
    status=0
    [ $name != scaling ] || status=3
    numbers "real-${name##*/}" $status "$traces/$name"
done
resnet=$traces/kineto/resnet50_num_workers
numbers real-before-and-after 0 --baseline "$resnet"_0.*.json.gz -- "$resnet"_4.*.json.gz
numbers real-h100-before-and-after 0 --baseline "$traces/nsys-h100/mfu_2gpu_before.sqlite" -- "$traces/nsys-h100/mfu_2gpu_after.sqlite"
if [ -d "$SHARED/data/seed-run" ]; then
    numbers real-seed-run 3 "$SHARED/data/seed-run"
    check "every file of the golden has a case" test "$(ls $expected)" = "$(cd "$TMP" && printf '%s\n' numbers-* prose | sed 's/^numbers-//' | sort)"
    missing_values
    voice all
else
    skip "numbers of a real results folder" "no ../shared/data/seed-run"
    missing_values
    voice some
fi
finish
