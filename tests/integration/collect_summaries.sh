#!/bin/bash
# Summaries of traces: a report made of them is the report made of the traces, at 64 ranks; --traces; summaries that a node
# made before packing; what is stale or damaged.
# shellcheck disable=SC2016,SC2317  # commands for another shell; functions that check calls
. tests/lib/tap.sh
. tests/data/programs/build.sh
root=$PWD
build_make_ranks || not_ok "make_ranks builds"
build_marks || not_ok "marks builds"
cd "$TMP" || exit 1

render() { # render ARCHIVE OUT: status 3 is a report that names its gaps
    "$BIN/dcreport" "$1" -o "$2" --theme "$root/themes/default" >render.out 2>&1 || [ $? -eq 3 ]
}
# The numbers of a report: all but the hash of the manifest, which names other members.
numbers() {
    jq -S 'walk(if type == "object" then del(.manifest_sha256) else . end)' "$1/report.json"
}
n_traces() {
    tar tf "$1" | grep -c 'trace-.*\.dct$'
}

check "64 ranks are made" ./make_ranks spool 64 50 8
check "pack: all traces" "$COLLECT" pack spool -o all.tar
check "pack: no traces" "$COLLECT" pack spool -o none.tar.zst --traces none
check "verify" "$COLLECT" verify all.tar none.tar.zst
check "no trace is in it, every summary is" sh -c '[ "$(tar tf none.tar.zst | grep -c "trace-")" = 0 ] && [ "$(tar tf none.tar.zst | grep -c "summary-.*jsonl$")" = 64 ]'
check "it is much smaller" test "$(stat -c %s none.tar.zst)" -lt $(($(stat -c %s all.tar) / 20))
check "the metadata keep the counts" metadata none.tar.zst '.collector.events == 25600 and .collector.traces == 64 and .collector.traces_packed == 0'
mkdir one two && cp all.tar one/run.tar && cp none.tar.zst two/run.tar
render one/run.tar full && render two/run.tar reduced
check "both reports are there" test -s full/report.json -a -s reduced/report.json
numbers full >full.json && numbers reduced >reduced.json
check "every number is the same with and without traces" diff full.json reduced.json
check "and they are of 64 ranks" jq -e '.runs[0].n_ranks == 64' full.json

check "pack: rank 0's trace only" "$COLLECT" pack spool -o rank0.tar --traces rank0
check "one trace" test "$(n_traces rank0.tar)" -eq 1
check "of rank 0" sh -c 'tar tf rank0.tar | grep -qx rank0/trace-1000.dct'
mkdir three && cp rank0.tar three/run.tar && render three/run.tar mixed
numbers mixed >mixed.json
check "traces and summaries mixed: the same numbers" diff full.json mixed.json
check_status 2 "--traces: a word that is none" "$COLLECT" pack spool -o x.tar --traces some
check "the same bytes again" sh -c '"$0" pack spool -o again.tar.zst --traces none && cmp again.tar.zst none.tar.zst' "$COLLECT"

# ---- a large archive: the closing lines say so
./make_ranks large 4 50000 4
"$COLLECT" pack large -o large.tar 2>said
check "an archive of more than 100 MB: the closing lines have its size, and what makes it smaller" grep -Eqx "  large: 12[0-9] MB \(--traces none packs only the sums\)" said
"$COLLECT" pack large -o sums.tar --traces none 2>said
check "which it does, and then nothing is said" test "$(stat -c %s sums.tar)" -lt 50000000 -a "$(wc -l <said)" -eq 1
rm -rf large large.tar sums.tar

# A range whose name is no known phase makes a rank late. Its time is in the summaries too.
check "4 ranks are made, of which the last one is late" env MAKE_RANKS_LATE=parse ./make_ranks late 4 40 4
"$COLLECT" pack late -o late.tar && "$COLLECT" pack late -o lates.tar --traces none
mkdir six seven && mv late.tar six/run.tar && mv lates.tar seven/run.tar
render six/run.tar late-by-trace && render seven/run.tar late-by-summary
numbers late-by-trace >late-by-trace.json && numbers late-by-summary >late-by-summary.json
check "a late rank: every number is the same with and without traces" diff late-by-trace.json late-by-summary.json
check "the range that makes it late is named" grep -Eq "(99(\\.[0-9])?|100) % of the waiting comes from 'parse' on rank 3\." late-by-summary.json
check "with its time" grep -q "'parse' takes 30.0 ms a step on rank 3, and 0 ms on the others on average\." late-by-summary.json
check "and in the advice" grep -q "Share the work of 'parse' among the ranks, or make it cheaper" late-by-summary.json

# What loading reads, in calls that are events and in those that are only summed, is in the summary too.
if [ "$(stat -f -c %T .)" = tmpfs ]; then
    skip "files in loading, with and without traces" "the file system of $PWD keeps everything in memory: no read of it is long"
else
    "$COLLECT" run --spool loading -- "$BIN/dcrnn-train" --scenario io --scenario-seed 1 --knob on --steps 8 --out out >train.log 2>&1 </dev/null
    "$COLLECT" pack loading -o loading.tar && "$COLLECT" pack loading -o loads.tar --traces none
    windows=$(tar xOf loads.tar "$(tar tf loads.tar | grep summary-)" | jq -c 'select(.file[1] == "read" and (.file[0] | endswith("windows.bin"))).file')
    check "reads within loading are told apart ($windows)" jq -en --argjson w "${windows:-[]}" '$w[4] >= $w[6] and $w[6] >= $w[7] and $w[7] > $w[6] / 2'
    mkdir four five && mv loading.tar four/run.tar && mv loads.tar five/run.tar
    render four/run.tar by-trace && render five/run.tar by-summary
    numbers by-trace >by-trace.json && numbers by-summary >by-summary.json
    check "every number of files in loading is the same with and without traces" diff by-trace.json by-summary.json
    check "part of loading is calls on files" jq -e '.runs[0].classes.io.text | test("Calls on files while loading take")' by-summary.json
fi

# A collector per rank summarises its own rank when the program has ended. Packing uses the summary only if it fits the
# trace.
for r in 0 1; do
    OMPI_COMM_WORLD_RANK=$r OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=$r "$COLLECT" run --spool ranks -- ./marks 100 2>/dev/null
done
summary=$(ls ranks/rank1/summary-*.jsonl)
check "each rank's collector leaves a summary" test -s "$summary"
check "pack takes it" "$COLLECT" pack ranks -o ranks.tar --traces none
check "as it is" sh -c 'tar xOf ranks.tar "$0" | cmp - "$1"' "${summary#ranks/}" "$summary"
sed 's/"events":400/"events":999/' "$summary" >made-up && sed 's/"fingerprint":"......../"fingerprint":"00000000/' made-up >"$summary"
check "pack makes anew what does not fit its trace" "$COLLECT" pack ranks -o ranks.tar
check "the counts are those of the trace" metadata ranks.tar '.collector.events == 800'
rm ranks/rank1/trace-*.dct
sed 's/"events":999/"events":400/' made-up >"$summary"
check "a summary whose trace is gone is packed" "$COLLECT" pack ranks -o ranks.tar
check "and counts" metadata ranks.tar '.collector.events == 800 and .collector.traces == 2 and .collector.traces_packed == 1'

# Such a summary that is damaged is left out, whether its trace is gone or cannot be read either.
cp -r ranks damaged && head -c 100 "$summary" >"damaged/${summary#ranks/}"
check "pack: a damaged summary whose trace is gone" "$COLLECT" pack damaged -o damaged.tar
check "the rest is packed" metadata damaged.tar '.collector.events == 400 and (.not_packed | any(.name | test("rank1/summary-")))'
check "it says so" manifest damaged.tar '.incomplete_because | any(test("rank1/summary-.* is left out because it cannot be read"))'
trace=damaged/${summary#ranks/}
trace=${trace/summary-/trace-}
echo no trace >"${trace%.jsonl}.dct"
check "pack: the trace is damaged too, and not wanted" "$COLLECT" pack damaged -o damaged.tar --traces none
check "the damaged trace is all there is" sh -c 'tar tf damaged.tar | grep -q "rank1/trace-" && ! tar tf damaged.tar | grep -q "rank1/summary-"'

# A torn trace has a summary of its rest, and the archive says so even without the trace.
head -c 150000 spool/rank5/trace-1005.dct >torn && mv torn spool/rank5/trace-1005.dct
check "pack: a torn trace left out" "$COLLECT" pack spool -o torn.tar --traces none
check "it is incomplete, and says why" manifest torn.tar '(.complete | not) and (.incomplete_because | any(test("rank5/trace-1005.dct. ends inside a block")))'
check "verify" "$COLLECT" verify torn.tar

# Damage inside a summary with a valid checksum in the manifest.
mkdir x && tar xf none.tar.zst -C x && (cd x && find . -type f | sed 's|^\./||' | grep -v '^manifest.json$' | LC_ALL=C sort) >members
cp x/manifest.json keep.json
bad() { # bad NAME PATTERN SED-EXPRESSION
    local f=rank7/summary-1007.jsonl
    cp "x/$f" keep && sed -i "$3" "x/$f"
    jq --arg n "$f" --argjson s "$(stat -c %s "x/$f")" --arg h "$(sha256sum "x/$f" | cut -d' ' -f1)" \
        '(.members[] | select(.name == $n)) |= (.size = $s | .sha256 = $h)' keep.json | jq 'del(.manifest_sha256) | .version = 1' >x/manifest.json
    (cd x && tar cf ../bad.tar --format=ustar manifest.json -T ../members)
    cp keep "x/$f"
    local got=0
    "$COLLECT" verify bad.tar >bad.out 2>&1 || got=$?
    if [ $got -eq 1 ] && grep -q "$2" bad.out && render bad.tar bad-site && grep -q "$f" bad-site/report.json; then
        ok "$1: verify says where, the report is made without it and says so"
    else
        not_ok "$1" "status $got: $(cat bad.out render.out)"
    fi
}
bad "a summary cut short" "it ends early, in line" '$d'
bad "a step whose parts do not sum" "line 2 is not what a summary holds" '2s/\[0,\([0-9]*\),\([0-9]*\),/[0,\1,1,/'
bad "a line that is no JSON" "line 4 is not JSON" '4s/$/}/'
bad "a summary of a later version" "does not begin a summary of version 1" '1s/"version":1/"version":9/'

# ---- a trace whose summary does not fit into memory costs the summary, not the archive nor the program's status
check "a trace of 100,000 steps is made" ./make_ranks long 1 100000
limited() { (ulimit -v 150000 && exec "$@"); }
check "pack: too little memory for the summary" limited "$COLLECT" pack long -o long.tar
check "the archive has the trace and no summary, and says so" sh -c 'tar tf long.tar | grep -q trace- && ! tar tf long.tar | grep -q summary-'
check "why" manifest long.tar '.incomplete_because | any(test("trace-.*dct. has no summary: it would take more than [0-9]* MB of memory"))'
check "verify" "$COLLECT" verify long.tar
got=0
limited "$COLLECT" run -o many.tar -- sh -c 'MARKS_STEP_US=0 ./marks 300000; exit 7' >many.out 2>&1 || got=$?
check "run: the status is the program's" test $got -eq 7 -a -s many.tar
# The run has more steps than are kept.
render many.tar many-site
check "the report of 300,000 steps looks at every second one" grep -q "The run has 300,000 steps. Step times and their shares use 150,000 of them.$" many-site/BOTTLENECK_ANALYSIS.md
check "and knows the time of all" jq -e '.runs[0] | .n_steps == 150000 and .coverage_ratio > 0.2 and .coverage_ratio <= 1' many-site/report.json
finish
