#!/usr/bin/env bash
# Files of other tools beside traces: nsys exports, monitors, benchmark logs, accounting. Files under "made" are those of
# tests/data/foreign and some written here; the others are real ones.
# partly sanitized: files of other programs may hold anything; the readers of damaged ones run with them
. tests/lib/tap.sh
use plain
traces=$SHARED/data/traces
made=$TMP/made
mkdir -p "$TMP/tmp"
cp -r tests/data/foreign "$made"
export TMPDIR=$TMP/tmp

# is NAME FILTER WANT: jq's result on the last report.
is() {
    local got
    got=$(jq -c "$2" "$TMP/site/report.json" 2>&1)
    if [ "$got" = "$3" ]; then ok "$1"; else not_ok "$1" "$got instead of $3"; fi
}
read_one() { check_status "$1" "$2" "$report" "$3" -o "$TMP/site"; }

# ---- made
sum_of() { sha256sum | cut -c 1-64; }
read_one 0 "dcgmi dmon" "$made/dmon.txt"
is "the file's checksum, for a citation" '.runs[0].provenance.files_sha256' "\"$(sum_of < "$made/dmon.txt")\""
is "its samples" '[.runs[0].nodes[0].gpus[] | [.gpu, .utilization_percent.mean, .utilization_percent.n, .power_w.max, .memory_used_mb.n // 0]]' \
    '[[0,60,2,110,2],[1,90,1,200.5,0]]'
use sanitized
read_one 0 "a scrape of the DCGM exporter" "$made/scrape"
is "its samples" '.runs[0].nodes[0].gpus[0] | [.gpu, .utilization_percent.mean, .sm_clock_mhz.mean]' '[3,42,1410]'
use plain
read_one 0 "sacct, aligned" "$made/sacct.txt"
is "its table" '.evidence[0] | [.columns, .rows[1]]' '[["JobID","JobName","State","Elapsed"],["17.batch","batch","COMPLETED","00:10:02"]]'
read_one 0 "sacct -p" "$made/sacct-p.txt"
is "its table" '.evidence[0].rows' '[["17","train","TIMEOUT",""],["17.0","srun","CANCELLED by 0","12K"]]'
is "how the job ended" '.runs[0].finding, (.headline | test("17"))' '"JOB_TIMED_OUT"
true'
read_one 0 "sacct with tabs, named as a log" "$made/sacct-tabs.log"
is "its table" '.evidence[0] | [.columns, .rows[1]]' '[["JobID","JobName","State","Elapsed"],["21.0","python3 train.py","OUT_OF_MEMORY","00:03:08"]]'
use sanitized
read_one 3 "sacct with commas" "$made/sacct-commas.csv"
is "its table, without the row of which nobody knows which cell is which" '.evidence[0].rows' \
    '[["22","train","COMPLETED","00:03:10","cpu=4"],["22.1","eval","COMPLETED","00:00:08","cpu=4"]]'
is "... which is named" '[.notes[] | select(.kind == "gap") .text] | any(test("1 row .*line 3: 6 cells, the header has 5, but a value may hold a comma"))' true
use plain
read_one 0 "ncu --csv" "$made/ncu.csv"
is "its means" '.evidence[0].rows' '[["gemm(float*, int)","2","10.5 usecond","70","20","n/a","n/a"]]'
read_one 0 "ncu with counters of a roofline" "$made/ncu-roofline.csv"
is "intensity, rates, peaks: 2 x 8 million operations, 16 MB, 20 us" '.kernel_roofline[0] | [.kernel, .n, .time_ns, .flop, .bytes,
    .intensity_flop_per_byte, .flop_per_s, .bytes_per_s, .peak_flop_per_s, .peak_bytes_per_s, .ridge_flop_per_byte, .attainable_flop_per_s, .bound]' \
    '["spmm<float>",2,20000,16000000,16000000,1,800000000000,800000000000,10000000000000,1000000000000,10,1000000000000,"memory"]'
is "a kernel without operations is bound by memory too" '.kernel_roofline[1] | [.kernel, .flop, .peak_bytes_ratio, .bound]' '["copy",0,0.9,"memory"]'
is "the first of them is the headline" '.runs[0].finding, (.headline | test("spmm<float>.* 80 %")), (.support | test("1[.]00 "))' '"KERNEL_MEMORY_BOUND"
true
true'
check "the page has the table" grep -q "A kernel above 60 % of its lower roof" "$TMP"/site/runs/*/index.html
read_one 0 "ncu --page raw, nsys stats summaries" "$made/raw"
is "their tables" '[.evidence[] | .rows[0][0:3]]' \
    '[["gemm(float*, int)","2","1000 us"],["cudaLaunchKernel","80.0","8000"],["gemm(float*, \"x\")","100.0","8000"]]'
read_one 0 "nvidia-smi with header and units" "$made/smi.csv"
is "its samples" '.runs[0].nodes[0].gpus[0] | [.gpu, .utilization_percent.mean, .memory_used_mb.max, .memory_total_mb.n, .power_w.n]' '[1,60,960,2,1]'
check "memory that was nearly full is in the summary" grep -q "^  Memory of GPU 1 of node 0 was 96 % full at its peak. Above 95 %, little is left" "$TMP/site/bottleneck_summary.txt"
read_one 0 "nvidia-smi with header, without units" "$made/smi-plain.csv"
is "its samples" '.runs[0].nodes[0].gpus[0] | [.utilization_percent.mean, .sm_clock_mhz.mean]' '[50,1410]'
read_one 0 "nsys stats cuda_gpu_trace" "$made/gputrace.csv"
is "its integers" '.devices[0] | [.device, .kernels, .comm_kernels, .memcpys, .span_ns, .busy_ns, .overlap_ns, .exposed_mem_ns]' '[2,2,1,1,10500,4500,1750,1000]'
read_one 0 "nsys stats nvtx_pushpop_trace" "$made/nvtx-trace.csv"
is "steps are summed as one name, without the sign of no domain" '.evidence[0].rows' '[["step","2","22000","11000","12000"],["data_load","2","7000","3500","4000"]]'
is "ranges that hold others have no share of all" '.runs[0].finding, (.headline | test("%"))' '"RANGES_LONGEST"
false'
read_one 0 "nsys stats mpi_event_trace" "$made/mpi-trace.csv"
is "its calls, over both ranks" '.evidence[0].rows' \
    '[["MPI_Allreduce","2","5500","2750","3000"],["MPI_Send","1","1000","1000","1000"],["MPI_Recv","1","900","900","900"]]'
is "the call that takes most" '.runs[0].finding, (.headline | test("MPI_Allreduce.* 5[.]50 us, 74 %"))' '"MOST_TIME"
true'
read_one 0 "nsys stats cuda_gpu_sum, mpi_event_sum and nvtx_pushpop_sum" "$made/sums"
is "each is told by its columns" '[.evidence[] | [.caption, .rows[0][0]]]' \
    '[["Calls of the API and operations of the GPU, by summed time","gemm(float*)"],["Calls of MPI, by summed time","MPI_Allreduce"],["NVTX ranges, by summed time; ranges may hold others, whose time counts twice then",":step"]]'
python3 - "$made" <<'EOF'
import sys
with open(sys.argv[1] + "/many-names.csv", "w") as f:
    f.write("Start (ns),End (ns),Duration (ns),DurChild (ns),DurNonChild (ns),Name,PID,TID,Lvl,NumChild,RangeId,ParentId,RangeStack,NameTree\n")
    for i in range(1100):
        f.write(f"{10 * i},{10 * i + 5},5,0,5,:n{i},1,1,0,0,{i},,:{i},:n{i}\n")
EOF
read_one 0 "ranges of 1,100 names" "$made/many-names.csv"
is "what has no row of its own stands under no name of another" '.evidence[0] | [(.rows | length) + .n_rows_left_out, (.rows | map(select(.[0] == "further names"))[0][1:3])]' '[1024,["77","385"]]'
read_one 0 "nsys stats nvtx_gpu_proj_trace" "$made/nvtx-proj-trace.csv"
is "its ranges, by their time on the GPU" '.evidence[0].rows' '[["forward","2","10000","5000","6000"],["backward","1","3000","3000","3000"]]'
read_one 0 "nsys stats cuda_kern_exec_trace" "$made/kern-exec-trace.csv"
is "its kernels, without launch and queue" '.evidence[0].rows, .runs[0].finding, (.headline | test("gemm.* 4[.]00 us, 89 %"))' \
    '[["gemm(float*, int)","2","4000","2000","3000"],["copy","1","500","500","500"]]
"MOST_TIME"
true'
read_one 0 "nsys stats cuda_kern_exec_sum, mpi_msg_size_sum, nvtx_gpu_proj_sum and nvtx_kern_sum" "$made/sums-gpu"
is "each is told by its columns" '[.evidence[] | [.caption, .rows[0][0]]]' \
    '[["Kernels of the GPU: means of the launch (A), of the wait (Q) and of the execution (K)","gemm(float*, int)"],["Bytes of MPI messages by call","MPI_Allreduce"],["NVTX ranges on the GPU, from the first to the last operation launched inside",":forward"],["Kernels of the GPU by the NVTX range that launched them","gemm(float*, int)"]]'
is "bytes and means lead to no headline, ranges do" '.runs[0].finding, (.headline | test("forward.* 10[.]0 us"))' '"RANGES_LONGEST"
true'

# ---- monitors of users
gpus='[.runs[0].nodes[0].gpus[] | [.gpu, .utilization_percent.mean, .memory_used_mb.mean, .power_w.max, .temperature_c.max]]'
# taken: rows of the table "what each file was taken for", cells between bars.
taken() { tr '\n' ' ' <"$TMP/site/methodology.html" | sed 's/.*id="inputs"//; s/<tfoot.*//; s/<\/t[dh]>/|/g; s/<[^>]*>//g; s/ *| */|/g'; }
read_one 0 "a column a GPU, Unix seconds, blanks, units in names, a cell of two lines" "$made/home.csv"
is "its samples" "$gpus" '[[0,70,2000,null,null],[1,40,null,300,null]]'
taken >"$TMP/taken"
check "the page lists the columns that were read and those that were not" grep -qF \
    'home.csv|Run home|table of a GPU monitor|epoch, gpu0_util [%], gpu0_mem_MB, GPU 1 load (%), gpu1_power_W|host note|' "$TMP/taken"
read_one 0 "dates, and a row a GPU" "$made/home-iso.csv"
is "its samples" "$gpus" '[[0,30,1536,null,61],[1,80,2560,null,62]]'
printf 'time, gpu_util, gpu_mem, gpu_power [W]\n1, 50, 100, 5\n2, 60, 100, 6\n' >"$made/no-unit.csv"
read_one 3 "a column without a unit" "$made/no-unit.csv"
is "... is named and not read" "$gpus, ([.notes[].text] | any(test(\"column 'gpu_mem' .* says no unit. Name it with its unit\")))" '[[0,55,null,6,null]]
true'
printf 'step, gpu_util [%%], gpu_mem [MiB]\n1, 50, 100\n2, 60, 100\n' >"$made/no-time.csv"
check_status 2 "no times: refused" "$report" "$made/no-time.csv" -o "$TMP/none"
cp "$TMP/tap.out" "$TMP/said"
check "... with the columns that are there and the one that is needed" grep -qF \
    "(it has step, gpu_util [%], gpu_mem [MiB]). Name one of them time, timestamp or date" "$TMP/said"

# ---- a folder as a job leaves it: one command makes one report
job=$made/job
mkdir -p "$job"
cp tests/data/foreign/kineto/rank?.json "$made/smi.csv" "$made/sacct.txt" "$job"
echo 'epoch 1 loss 0.5' >"$job/slurm-123.out"
read_one 0 "traces, a monitor, accounting and the job's output in one folder" "$job"
is "one run with all of them, and what is no evidence is named" \
    '[(.runs | length), .runs[0].n_ranks, .runs[0].nodes[0].gpus[0].utilization_percent.n, [.evidence[] | [.file, .kind]], .not_evidence]' \
    '[1,2,2,[["sacct.txt","sacct table"]],["slurm-123.out"]]'
taken >"$TMP/taken"
for row in 'sacct.txt|Run job|table of sacct|' 'smi.csv|Run job|log of nvidia-smi|' 'rank0.json|Run job|trace of a profiler|' \
    'slurm-123.out|Run job|not evidence, left out|'; do
    check "what each was taken for: ${row%%|*}" grep -qF "$row" "$TMP/taken"
done

# ---- broken ones: one sentence, nothing written
use sanitized
for broken in 'x.csv:2026/01/31 aa:59:59, 50 %, 1 W' 'talp.json:{"dlbVersion": "3.5", "Application": {}}' 'ddp.json:{"scaling_mode": "strong", "world_size": 2}' \
    'nccl.txt:#  size count type redop root time algbw busbw #wrong' 'e.csv:"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"' 'job.txt:JobID|State'; do
    printf '%s\n' "${broken#*:}" >"$made/broken-${broken%%:*}"
    rm -rf "$TMP/none"
    check_status 2 "refused: ${broken%%:*}" "$report" "$made/broken-${broken%%:*}" -o "$TMP/none"
    said=$(cat "$TMP/tap.out")
    check "in one sentence that names it" test "$(wc -l <<<"$said") $(grep -c "broken-${broken%%:*}" <<<"$said")" = "1 1"
done
check_status 3 "named beside others a broken file is left out" "$report" "$made/broken-x.csv" "$made/smi.csv" "$made/broken-job.txt" -o "$TMP/site"
check "both are named" test "$(grep -c "Left out: .*broken-" "$TMP/tap.out")" = 2
is "the rest is there" '[.runs[].nodes[0].gpus[0].utilization_percent.mean]' '[60]'
check_status 2 "but not where something is checked" "$report" "$made/broken-x.csv" "$made/smi.csv" --check 'steps>1'
head -c 5000 /dev/zero | tr '\0' 'x' | { printf 'SQLite format 3\0'; cat; } >"$made/broken.sqlite"
check_status 2 "refused: damaged SQLite" "$report" "$made/broken.sqlite" -o "$TMP/none"
check "nothing left in the temporary folder" test -z "$(ls -A "$TMP/tmp")"

# ---- events that are left out are counted and reported; files that cannot be read to their end are refused
python3 - "$made" <<'EOF'
import json, sqlite3, sys

def kineto(name, **of):
    events = []
    for i in range(10):
        at, length = of.get("at", lambda i: 1000 * i)(i), of.get("length", lambda i: 900)(i)
        events += [
            {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", "pid": 1, "tid": 1, "ts": at, "dur": length},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at, "dur": 1, "args": {"correlation": i}},
            {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": at, "dur": 500, "args": {"correlation": i, "device": 0}}]
    json.dump({"traceEvents": events}, open(f"{sys.argv[1]}/{name}.json", "w"))

kineto("lost-backward", length=lambda i: 900 if i < 2 else -900)
kineto("lost-overlap", length=lambda i: 1500)
kineto("whole-down", at=lambda i: 9000 - 1000 * i)
kineto("whole-text", at=lambda i: float(1000 * i))
text = open(sys.argv[1] + "/whole-text.json").read()
open(sys.argv[1] + "/whole-text.json", "w").write(text.replace('"ts": ', '"ts": "').replace(', "dur"', '", "dur"'))

def base(name, sql):
    db = sqlite3.connect(f"{sys.argv[1]}/{name}.sqlite")
    db.executescript("CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);" + sql)
    db.close()

base("endless", "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT start + 1"
     " FROM n) SELECT start, start + 1 AS end, 0 AS deviceId FROM n")
base("cut", "CREATE TABLE NVTX_EVENTS(start INT, end INT, eventType INT, text TEXT, globalTid INT);"
     + "".join(f"INSERT INTO NVTX_EVENTS VALUES({1000 * i}, {1000 * i + 900}, 59, 'step {i}', 1);" for i in range(10)))
whole = open(sys.argv[1] + "/cut.sqlite", "rb").read()
open(sys.argv[1] + "/cut.sqlite", "wb").write(whole[:-1])
EOF
use plain
for lost in 'backward|2|8 steps of the trace .* are left out: their times do not ascend' 'overlap|5|5 steps of the trace .* are left out: they overlap'; do
    IFS='|' read -r name n says <<<"$lost"
    read_one 3 "steps are lost: $name" "$made/lost-$name.json"
    is "those that are left" '.runs[0].n_steps' "$n"
    is "... and the others are counted, by why" "[.notes[] | select(.kind == \"gap\") .text] | any(test(\"$says\"))" true
done
for name in down text; do
    read_one 0 "no step is lost: $name" "$made/whole-$name.json"
    is "all ten" '.runs[0].n_steps' 10
done
use sanitized
check_status 2 "a view without end is not read" timeout 60 "$report" "$made/endless.sqlite" -o "$TMP/none"
cp "$TMP/tap.out" "$TMP/said"
check "... and that is said" grep -qF "endless.sqlite' has a view CUPTI_ACTIVITY_KIND_KERNEL" "$TMP/said"
check_status 2 "an SQLite file one byte short" "$report" "$made/cut.sqlite" -o "$TMP/none"
cp "$TMP/tap.out" "$TMP/said"
check "... is known by its header" grep -qF "cut.sqlite' has 12287 bytes, but its header says 12288: it was cut" "$TMP/said"

# ---- damaged in the middle: the rest is read, the missing part is reported, the status is 3
python3 - "$made" <<'EOF'
import sqlite3, sys
text = open(sys.argv[1] + "/whole-text.json").read()
at = text.index("ProfilerStep#5")
open(sys.argv[1] + "/damaged.json", "w").write(text[:at] + '\x01"{' + text[at + 30:])
db = sqlite3.connect(sys.argv[1] + "/damaged.sqlite")
db.executescript("PRAGMA page_size = 4096; CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"
                 "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INT, end INT, deviceId INT, shortName);"
                 + "".join(f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES({10 * i}, {10 * i + 5}, 0, 'k');" for i in range(1000)))
db.close()
whole = bytearray(open(sys.argv[1] + "/damaged.sqlite", "rb").read())
whole[4 * 4096] = 1
open(sys.argv[1] + "/damaged.sqlite", "wb").write(whole)
lines = open(sys.argv[1] + "/gputrace.csv").read().splitlines()
open(sys.argv[1] + "/damaged.csv", "w").write("\n".join(lines[:-1] + ["1,2"] + lines[-1:]) + "\n")
EOF
read_one 3 "a trace damaged in the middle" "$made/damaged.json"
is "the other nine steps, and the bytes that are missing" '.runs[0].n_steps, ([.notes[].text] | any(test("[0-9] bytes in 1 place of the trace .* could not be read")))' '9
true'
read_one 3 "an nsys export damaged in the middle" "$made/damaged.sqlite"
# shellcheck disable=SC2016  # a variable of jq
is "kernels before the damage, and the rows that are missing" \
    '.devices[0].kernels as $n | ($n > 0 and $n < 1000), ([.notes[].text] | any(test("\(1000 - $n) rows of 1 table could not be read")))' 'true
true'
read_one 3 "a table of nsys with a row of other cells" "$made/damaged.csv"
is "the others, and the row" '.devices[0].kernels, ([.notes[].text] | any(test("1 row of .* is left out: line 6 has other cells")))' '2
true'
gzip -c "$made/whole-text.json" | head -c 300 >"$made/cut.json.gz"
read_one 3 "a packed trace that is cut" "$made/cut.json.gz"
is "its whole events" '.runs[0].n_steps > 0, ([.notes[].text] | any(test("is cut in the middle of its gzip data")))' 'true
true'

# ---- names with invisible characters never reach a terminal or a page. Python's table of characters says which they are.
odd=$made/odd
python3 - "$odd" <<'EOF'
import json, os, sys
bad = "A\u202eB\u200bC\u0085D\u009bE\u2066F\ufeffG\u00adH\x1bI\u2028J\U000e0041K"
events = [{"ph": "X", "cat": cat, "name": name + bad, "pid": 1, "tid": "t" + bad, "ts": 1000 * i, "dur": 900,
           "args": {"correlation": i, "device": 0, "Collective name": "c" + bad, "dtype": "Float", "In msg nelems": 4, "Out msg nelems": 4}}
          for i in range(5) for cat, name in [("user_annotation", "r"), ("cpu_op", "o"), ("cuda_runtime", "cudaLaunchKernel"), ("kernel", "nccl")]]
steps = [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", "pid": 1, "tid": 1, "ts": 1000 * i, "dur": 950} for i in range(5)]
os.mkdir(sys.argv[1])
json.dump({"traceEvents": steps + events, "deviceProperties": [{"id": 0, "name": "GPU" + bad}]}, open(f"{sys.argv[1]}/t{bad}.json", "w"))
open(f"{sys.argv[1]}/README{bad}.txt", "w").write("read me")
open(f"{sys.argv[1]}/broken{bad}.json", "w").write('{"traceEvents": [{"ph": "X"')
EOF
check_status 3 "names of format characters" "$report" "$odd" -o "$TMP/odd"
cp "$TMP/tap.out" "$TMP/odd/said"
"$report" "$odd"/broken* -o "$TMP/none" >"$TMP/odd/refused" 2>&1
check "none of them is printed or written, plainly or escaped" python3 -c 'import html, os, re, sys, unicodedata
wrong = set()
for folder, folders, files in os.walk(sys.argv[1]):
    for name in files:
        text = open(os.path.join(folder, name), "rb").read()
        if name.endswith((".png", ".pdf", ".bin")):
            continue
        text = html.unescape(text.decode())
        text += re.sub(r"\\u([0-9a-f]{4})", lambda m: chr(int(m[1], 16)), text)
        wrong |= {(name, hex(ord(c))) for c in text + "".join(folders + files) if c not in "\n\t" and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")}
print(sorted(wrong))
sys.exit(bool(wrong))' "$TMP/odd"
check "the broken one is named" grep -q "broken.*was cut" "$TMP/odd/refused"

# ---- real ones
use plain
if [ ! -d "$traces/nsys" ]; then
    skip "real files of other tools" "no ../shared/data/traces"
    finish
fi
read_one 0 "nsys export and CSVs" "$traces/nsys"
is "SQLite and CSV agree" '[.devices[] | [.kernels, .memcpys, .span_ns, .busy_ns, .kernel_sum_ns]] | unique' '[[1312,279,342407810,303795463,294404540]]'
is "one recording in two files is one GPU, and it was busy" '.runs[0].finding, (.headline | test("Compute takes 8[0-9] % of the 342 ms trace of GPU 0")), (.support | test("idle for 11 %.*host.* 77 %"))' '"GPU_COMPUTES"
true
true'
is "a program that does not train gets no advice on steps" '.first_action | test("step"; "i") | not' 'true'
is "launches are found" '.devices[] | select(.source == "nsys SQLite export") | (.idle_causes_ns | add) == .idle_ns and .idle_causes_ns.host > 0' 'true'
is "calls are counted" '.evidence[0].rows[0][0:2]' '["cudaDeviceSynchronize_v3020","1312"]'
read_one 0 "an nccl-tests log" "$traces/nccl-tests"
is "where its bandwidth saturates" '.runs[0].finding, (.headline | test("all_reduce of 16 ranks .* 238 GB/s .* 1[.]07 GB")), (.support | test("33[.]6 MB.*34[.]7 us"))' '"BUS_SATURATES"
true
true'
is "nothing follows from a benchmark" '.first_action | test("dccollect|steps|first") | not' 'true'
is "sizes and bandwidths" '.evidence[0].rows | [length, .[30][0], .[30][3], .[31][3]]' '[32,"8589934592","237.94","66.4834"]'
read_one 0 "calls of the CUDA API alone" "$traces/nsys/cloverleaf-nsys_cloverleaf-cuda_api_trace.csv"
is "the longest in sum, with its share" '.runs[0].finding, (.headline | test("cudaDeviceSynchronize_v3020.* 302 ms, 53 %"))' '"MOST_TIME"
true'
cat >"$made/ranges.csv" <<'EOF'
Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Style,Range
62.5,5000000000,50,100000000.0,100000000.0,90000000,120000000,5000000.0,PushPop,step
37.5,3000000000,50,60000000.0,60000000.0,50000000,70000000,4000000.0,PushPop,data_load
EOF
read_one 0 "nvtx_sum" "$made/ranges.csv"
is "ranges that hold others have no share of all" '.runs[0].finding, (.headline | test("step.* 5[.]00 s")), (.headline | test("%") | not)' '"RANGES_LONGEST"
true
true'
read_one 0 "nvidia-smi without a header" "$traces/monitor"
is "its samples" '.runs[0].nodes[0].gpus[0].utilization_percent.n > 1000' 'true'
is "the headline has their mean" '.runs[0].finding, (.headline | test(" 1[.]4 %"))' '"UTILISATION_LOW"
true'
is "and how busy it was while it was used" '(.runs[0].nodes[0].gpus[0].utilization_percent.zero_samples), (.support | test("0 % in 94 % of the samples and averaged 25 % in"))' '1811
true'
read_one 0 "TALP reports" "$traces/talp"
is "of several the worst leads, and files that contradict themselves do not" '.runs[0].finding, (.headline | test(" 0[.]07, below 0[.]80")),
    (.support | test("_1gpu_2mpi.json.* 4 reports, without 2 "))' '"TALP_GPU_LOW"
true
true'
check "what to do next is what is first" grep -q '^<p>Give the GPU work all the time' "$TMP/site/index.html"
is "regions and GPU efficiencies" '[.evidence[] | [.columns, .rows[0]] | transpose | map({key: .[0], value: .[1]}) | from_entries
    | select(.GPU) | [.GPU, .["Device offload"], .["Product of its factors"]]] | unique' '[["0.07","0.77","0.77"]]'
mkdir "$TMP/talp-two"
cp "$traces"/talp/jsons_run-folder_weak-scaling_test_*.json "$TMP/talp-two"
read_one 0 "two TALP reports that contradict themselves" "$TMP/talp-two"
is "the worse one leads, by its times" '.runs[0].finding, (.headline | test(" 0[.]62.* 1[.]00")), (.support | test("_double.json.* 2 reports"))' '"TALP_CONTRADICTS"
true
true'
is "how they scale" '.support | test("2 to 4 CPUs .* weakly .* 0[.]42")' 'true'
check "they are to be measured again" grep -q '^<p>Measure .*_double.json.* again with a DLB ' "$TMP/site/index.html"
read_one 0 "one TALP report" "$traces"/talp/example_files_genex_talp.small.json
is "OpenMP is among the factors" '.runs[0].finding, (.support | test("OpenMP load balance .* 0[.]95"))' '"TALP_GOOD"
true'
is "every efficiency is good: nothing is advised" '.first_action | test("^Nothing needs to be done first: ")' 'true'
read_one 0 "one TALP report of a GPU" "$traces"/talp/jsons_unit-tests_dlb_1gpu_2mpi.json
is "the factor that costs most is what to do about" '(.first_action | test("^Do first: .*GPU orchestration .* 5[.]52 s of 6[.]27 s")), (.support | test("GPU orchestration .* 0[.]12"))' 'true
true'
is "and how sure" '.runs[0].confidence, (.how_sure | test("Confidence is medium"))' '"medium"
true'
"$report" --baseline "$traces"/scaling/*weak_resnet* -- "$traces"/scaling/*strong_resnet* -q -o "$TMP/means" >/dev/null 2>&1
check "means of steps beside means: why nothing is compared" grep -q "only the mean of the steps and their spread were kept" "$TMP/means/bottleneck_summary.txt"
read_one 3 "DDP scaling results" "$traces/scaling"
is "the headline names its configuration" '.headline | test("^resnet152, global batch 64, fp16 \\(strong scaling\\): ")' 'true'
is "runs are named by what tells them apart" '[.title, .runs[1].label, .runs[15].label]' \
    '["resnet152 and vit_b_16 on 1, 2, 4 and 8 GPUs","1 GPU, vit_b_16, strong","8 GPUs, vit_b_16, weak"]'
check "what the configurations differ in" grep -q 'differ in model, scaling mode and batch\.' "$TMP/site/BOTTLENECK_ANALYSIS.md"
check "nothing is said of MPI calls that were not recorded" test -z "$(grep -l "in MPI calls" "$TMP"/site/runs/*/index.html)"
check "its node counts are GPUs, with step times" grep -q '94.3' "$TMP/site/index.html"
is "8 GPUs are no faster than 4" '.series[0] | .finding == "SCALING_STOPS" and (.support | test("679 and 697"))' 'true'
read_one 3 "the seed project's folder" "$SHARED/data/seed-run"
finish
