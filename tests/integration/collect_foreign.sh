#!/bin/bash
# The kind of a file of another tool is found by its content, written into the manifest, and the file is packed unchanged. A folder
# without files of a run is refused. For a report of Nsight Systems the command that exports it is printed.
# shellcheck disable=SC2016,SC2317  # commands for another shell; functions that check calls
. tests/lib/tap.sh
. tests/data/programs/build.sh
root=$PWD
cd "$TMP" || exit 1

# Beginnings of files of the tools, under names without meaning.
mkdir -p run/deep
printf 'epoch,train_loss\n0,1.0\n' >run/metrics.csv
printf '{\n  "schemaVersion": 1,\n  "deviceProperties": [],\n  "traceEvents": []\n}\n' >run/a1
gzip -c run/a1 >run/a2
printf '{"traceEvents": [{"name": "x", "ph": "X", "ts": 1, "dur": 2, "pid": 1, "tid": 1}]}\n' >run/a3
printf 'Start (ns),Duration (ns),CorrId,GrdX\n1,2,3,4\n' >run/deep/a4
printf 'Time (%%),Total Time (ns),Num Calls,Name\n1,2,3,x\n' >run/a5
printf '==PROF== Connected to process 1\n"ID","Process ID","Kernel Name","Metric Name"\n' >run/a6
printf 'timestamp, index, utilization.gpu [%%], memory.used [MiB]\n2026/04/25 16:06:06.780, 0, 1 %%, 2 MiB\n' >run/a7
printf '2026/04/25 16:06:06.780, 0 %%, 0 %%, 2 MiB, 20146 MiB, 27, 11.64 W\n' >run/a8
printf '#Entity   GPUTL  MCUTL\nID\nGPU 0     1      2\n' >run/a9
printf '# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592\n#\n# Using devices\n' >run/b1
printf 'PERFILE2xxxxxxxx' >run/b2
printf 'SQLite format 3\0 CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL' >run/b3
printf 'SQLite format 3\0 CREATE TABLE cats' >run/b4
printf '{"dlbVersion": "3.5", "popMetrics": []}\n' >run/c1
printf 'JobID|State|Elapsed\n1|COMPLETED|00:01:00\n' >run/c2
printf '{"scaling_mode": "weak", "world_size": 2}\n' >run/c3
printf 'anything else\n' >run/b5
: >run/b6
check "pack" sh -c '"$0" pack run -o run.tar 2>said' "$COLLECT"
want='a1 kineto,a2 kineto,a3 chrome-trace,a5 nsys-csv,a6 ncu-csv,a7 nvidia-smi,a8 nvidia-smi,a9 dcgm,b1 nccl-tests,b2 perf-data,b3 nsys-sqlite,c1 talp,c2 sacct,c3 ddp-scaling,deep/a4 nsys-csv'
check "each is known by what it holds" test "$(manifest run.tar '[.members[] | select(.kind) | .name + " " + .kind] | sort | join(",")')" = "$want"
check "all of them have the role of foreign evidence" manifest run.tar '[.members[] | select(.kind) | .role] | all(. == "foreign")'
check "the others are kept, and counted in the closing line" grep -q '3 files of no known kind kept' said
check "nothing was changed" sh -c 'tar xOf run.tar a2 | cmp - run/a2'
check "verify" "$COLLECT" verify run.tar
check "ls: nobody looked for secrets in them" sh -c '"$0" ls run.tar | grep -q "^  others    18 files as other programs wrote them: not searched for secrets"' "$COLLECT"

# A results folder of the adopted program is examined in the same way.
mkdir results
check "--adopt" sh -c '"$0" run -o adopted.tar --adopt results -- cp run/a1 run/b1 results/ 2>/dev/null' "$COLLECT"
check "kinds there" manifest adopted.tar '[.members[] | select(.kind) | .kind] == ["kineto", "nccl-tests"]'
check_status 125 "--adopt of a file is refused before the program runs" "$COLLECT" run -o no.tar --adopt run/a1 -- touch started
check "... which did not" test ! -e started
check "--adopt of what never came is no loss" sh -c '"$0" run -o late.tar --adopt nowhere -- true 2>said' "$COLLECT"
check "it is said" grep -q "INCOMPLETE: the program's results are not there: no folder '.*nowhere'" said

mkdir holiday && echo beach >holiday/photo.txt && echo sand >holiday/list
check_status 2 "a folder without files of a run is refused" "$COLLECT" pack holiday -o holiday.tar
"$COLLECT" pack holiday -o holiday.tar 2>said
check "it says what was looked for, and what is there" grep -q "'holiday' does not look like the results of a run: of its 2 files ('list' ...) none is metrics.csv" said
check "nothing is written" test ! -e holiday.tar

# Evidence of one tool is called by its name, packed or not, and files of a collector are not missing. Beside an
# unpacked archive a README is neither evidence nor a gap.
mkdir smi unpacked && cp run/a7 smi/
"$COLLECT" pack smi -o smi.tar 2>/dev/null && tar xf smi.tar -C unpacked && echo "# where this is from" >unpacked/README.md
check "named by its tool" manifest smi.tar '.run_id | test("^nvidia-smi-[0-9a-f]{12}$")'
for input in smi.tar unpacked; do
    "$BIN/dcreport" $input -o site --theme "$root/themes/default" >out 2>&1
    check "$input: the report names the evidence, and misses nothing of a collector" sh -c '! grep -q "manifest\|metrics.csv" out &&
        grep -q "<title>GPU monitor" site/index.html'
done

# Nsight Systems: only nsys reads its reports.
mkdir -p nsys/n && echo x >nsys/n/p.nsys-rep && echo 'epoch' >nsys/metrics.csv
check "a report without its export" sh -c '"$0" pack nsys -o plain.tar 2>said' "$COLLECT"
check "the command is said" grep -q 'nsys export --type sqlite --output n/p.sqlite n/p.nsys-rep' said
mkdir plain && cp plain.tar plain/1node.tar
"$BIN/dcreport" plain/1node.tar -o site --theme "$root/themes/default" >out 2>&1
check "a folder is named by what it holds" manifest plain.tar '.run_id | test("^results-[0-9a-f]{12}$")'
check "the report prints it too" grep -rq 'nsys export --type sqlite --output n/p.sqlite n/p.nsys-rep' site/report.json
echo x >nsys/n/p.sqlite
check "an export is there: no command" sh -c '"$0" pack nsys -o exported.tar 2>said && ! grep -q "nsys export" said' "$COLLECT"

if [ -d "$SHARED/data/traces/kineto" ]; then
    check "real files pack" "$COLLECT" pack "$SHARED/data/traces" -o real.tar
    check "every Kineto trace is known" manifest real.tar \
        '[.members[] | select((.name | test("^kineto/")) and (.name | test("memory_timeline") | not)) | .kind] | (length > 20) and all(. == "kineto")'
    check "nsys, nvidia-smi, nccl-tests" manifest real.tar \
        '[.members[] | select(.name | test("^(nsys|monitor|nccl-tests)/")) | .kind] | sort == ["nccl-tests", "nsys-csv", "nsys-csv", "nsys-sqlite", "nvidia-smi"]'
    check "TALP and the scaling benchmark" manifest real.tar \
        '[.members[] | select(.name | test("^(talp|scaling)/.*json$")) | .kind + " " + (.name | split("/")[0])] | unique == ["ddp-scaling scaling", "talp talp"]'
    check "nothing else is taken for one" manifest real.tar '[.members[] | select((.name | test("^(kineto|nsys|monitor|nccl-tests)/|^nsys-h100/.*sqlite$|^(talp|scaling)/.*json$") | not) and .kind)] == []'
else
    skip "real files pack" "no $SHARED/data/traces"
fi
finish
