#!/usr/bin/env bash
# Files of other tools beside traces: nsys exports, monitors, benchmark logs, accounting. Files under "made" are written here from
# the documentation of their tools; the others are real ones.
. tests/lib/tap.sh
report=$BIN/dcreport
traces=$SHARED/data/traces
made=$TMP/made
mkdir -p "$made" "$TMP/tmp"
export TMPDIR=$TMP/tmp

# is NAME FILTER WANT: what jq says of the last report.
is() {
    local got
    got=$(jq -c "$2" "$TMP/site/report.json" 2>&1)
    if [ "$got" = "$3" ]; then ok "$1"; else not_ok "$1" "$got instead of $3"; fi
}
read_one() { check_status "$1" "$2" "$report" "$3" -o "$TMP/site"; }

# ---- made
sum_of() { sha256sum | cut -c 1-64; }
cat >"$made/dmon.txt" <<'EOF'
#Entity   GPUTL     POWER     FBUSD
ID                  W
GPU 1     90        200.5     N/A
GPU 0     50        100.0     1000
GPU 0     70        110.0     1200
EOF
read_one 0 "dcgmi dmon" "$made/dmon.txt"
is "the file's checksum, for a citation" '.runs[0].provenance.files_sha256' "\"$(sum_of < "$made/dmon.txt")\""
is "its samples" '[.runs[0].nodes[0].gpus[] | [.gpu, .utilization_percent.mean, .utilization_percent.n, .power_w.max, .memory_used_mb.n // 0]]' \
    '[[0,60,2,110,2],[1,90,1,200.5,0]]'
printf '# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %%).\n# TYPE DCGM_FI_DEV_GPU_UTIL gauge\nDCGM_FI_DEV_GPU_UTIL{gpu="3",UUID="GPU-x",device="nvidia3"} 42\nDCGM_FI_DEV_SM_CLOCK{gpu="3",UUID="GPU-x"} 1410\n' >"$made/scrape"
read_one 0 "a scrape of the DCGM exporter" "$made/scrape"
is "its samples" '.runs[0].nodes[0].gpus[0] | [.gpu, .utilization_percent.mean, .sm_clock_mhz.mean]' '[3,42,1410]'
cat >"$made/sacct.txt" <<'EOF'
JobID           JobName      State    Elapsed
------------ ---------- ---------- ----------
17                train  COMPLETED   00:10:02
17.batch          batch  COMPLETED   00:10:02
EOF
read_one 0 "sacct, aligned" "$made/sacct.txt"
is "its table" '.evidence[0] | [.columns, .rows[1]]' '[["JobID","JobName","State","Elapsed"],["17.batch","batch","COMPLETED","00:10:02"]]'
printf 'JobID|JobName|State|MaxRSS|\n17|train|TIMEOUT||\n17.0|srun|CANCELLED by 0|12K|\n' >"$made/sacct-p.txt"
read_one 0 "sacct -p" "$made/sacct-p.txt"
is "its table" '.evidence[0].rows' '[["17","train","TIMEOUT",""],["17.0","srun","CANCELLED by 0","12K"]]'
is "how the job ended" '.headline' "\"By Slurm's accounting in 'sacct-p.txt' job 17 reached its time limit (ask for more with --time).\""
cat >"$made/ncu.csv" <<'EOF'
==PROF== Connected to process 7
"ID","Process ID","Kernel Name","Section Name","Metric Name","Metric Unit","Metric Value"
"0","7","gemm(float*, int)","GPU Speed Of Light Throughput","Duration","usecond","10.5"
"0","7","gemm(float*, int)","GPU Speed Of Light Throughput","Compute (SM) Throughput","%","80"
"0","7","gemm(float*, int)","Memory Workload Analysis","Memory Throughput","Gbyte/second","1,200.5"
"1","7","gemm(float*, int)","GPU Speed Of Light Throughput","Compute (SM) Throughput","%","60"
"1","7","gemm(float*, int)","GPU Speed Of Light Throughput","Memory Throughput","%","20"
EOF
read_one 0 "ncu --csv" "$made/ncu.csv"
is "its means" '.evidence[0].rows' '[["gemm(float*, int)","2","10.5 usecond","70","20","n/a","n/a"]]'
cat >"$made/ncu-roofline.csv" <<'EOF'
"ID","Kernel Name","Grid Size","dram__bytes.sum","dram__bytes.sum.pct_of_peak_sustained_elapsed","gpu__time_duration.sum","sm__cycles_elapsed.avg.per_second","smsp__sass_thread_inst_executed_op_fadd_pred_on.sum","smsp__sass_thread_inst_executed_op_ffma_pred_on.sum","smsp__sass_thread_inst_executed_op_fmul_pred_on.sum","sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained"
"","","","Mbyte","%","us","Ghz","inst","inst","inst","inst/cycle"
"0","copy","(8, 1, 1)","9","90","10","1","0","0","0","5,000"
"1","spmm<float>","(8, 1, 1)","8","80","10","1","1,000,000","3,000,000","1,000,000","5,000"
"2","spmm<float>","(8, 1, 1)","8","80","10","1","1,000,000","3,000,000","1,000,000","5,000"
EOF
read_one 0 "ncu with counters of a roofline" "$made/ncu-roofline.csv"
is "intensity, rates, peaks: 2 x 8 million operations, 16 MB, 20 us" '.kernel_roofline[0] | [.kernel, .n, .time_ns, .flop, .bytes,
    .intensity_flop_per_byte, .flop_per_s, .bytes_per_s, .peak_flop_per_s, .peak_bytes_per_s, .ridge_flop_per_byte, .attainable_flop_per_s, .bound]' \
    '["spmm<float>",2,20000,16000000,16000000,1,800000000000,800000000000,10000000000000,1000000000000,10,1000000000000,"memory"]'
is "a kernel without operations is bound by memory too" '.kernel_roofline[1] | [.kernel, .flop, .peak_bytes_ratio, .bound]' '["copy",0,0.9,"memory"]'
is "the first of them is the headline" '.headline' "\"By its counters in 'ncu-roofline.csv' kernel 'spmm<float>', which takes most of the profiled time, is memory-bound: it moves bytes at 80 % of the peak (1.00 operations a byte).\""
check "the page has the table" grep -q "bound by what runs above 60 % of the lower roof" "$TMP"/site/runs/*/index.html
mkdir -p "$made/raw"
cat >"$made/raw/ncu.csv" <<'EOF'
"ID","Process ID","Kernel Name","Block Size","Grid Size","gpu__time_duration.sum","sm__throughput.avg.pct_of_peak_sustained_elapsed"
"","","","","","us","%"
"0","7","gemm(float*, int)","(256, 1, 1)","(8, 1, 1)","1,010.5","80"
"1","7","gemm(float*, int)","(256, 1, 1)","(8, 1, 1)","989.5","60"
==PROF== Disconnected from process 7
EOF
cat >"$made/raw/sums.csv" <<'EOF'
Processing [report1.sqlite] with [cuda_api_sum.py]...

Time (%),Total Time (ns),Num Calls,Avg (ns),Name
80.0,8000,4,2000.0,cudaLaunchKernel

Processing [report1.sqlite] with [cuda_gpu_kern_sum.py]...

Time (%),Total Time (ns),Instances,Avg (ns),Name
100.0,8000,4,2000.0,"gemm(float*, ""x"")"
EOF
read_one 0 "ncu --page raw, nsys stats summaries" "$made/raw"
is "their tables" '[.evidence[] | .rows[0][0:3]]' \
    '[["gemm(float*, int)","2","1000 us"],["cudaLaunchKernel","80.0","8000"],["gemm(float*, \"x\")","100.0","8000"]]'
printf 'timestamp, index, utilization.gpu [%%], memory.used [MiB], memory.total [MiB], power.draw [W]\n2026/01/31 23:59:59.500, 1, 50 %%, 100 MiB, 1000 MiB, [N/A]\n2026/02/01 00:00:00.500, 1, 70 %%, 960 MiB, 1000 MiB, 80.25 W\n' >"$made/smi.csv"
read_one 0 "nvidia-smi with header and units" "$made/smi.csv"
is "its samples" '.runs[0].nodes[0].gpus[0] | [.gpu, .utilization_percent.mean, .memory_used_mb.max, .memory_total_mb.n, .power_w.n]' '[1,60,960,2,1]'
check "memory that was nearly full is in the summary" grep -q "^  Memory of GPU 1 of node 0 was 96 % full at its peak: above 95 % little is left" "$TMP/site/bottleneck_summary.txt"
printf 'timestamp, utilization.gpu, clocks.sm\n2026/01/31 23:59:59.500, 50, 1410\n' >"$made/smi-plain.csv"
read_one 0 "nvidia-smi with header, without units" "$made/smi-plain.csv"
is "its samples" '.runs[0].nodes[0].gpus[0] | [.utilization_percent.mean, .sm_clock_mhz.mean]' '[50,1410]'
cat >"$made/gputrace.csv" <<'EOF'
Processing [report1.sqlite] with [cuda_gpu_trace.py]...

Start(usec),Duration (us),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),Bytes (MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,Strm,Name
10.5,2.25,1,8,1,1,256,1,1,32,0,0,,,,,NVIDIA A100 (2),1,7,"gemm(float*, int)"
11,3,2,8,1,1,256,1,1,32,0,0,,,,,NVIDIA A100 (2),1,9,ncclDevKernel_AllReduce
20,1,3,,,,,,,,,,4,1000,Pageable,Device,NVIDIA A100 (2),1,7,[CUDA Unified Memory memcpy HtoD]
EOF
read_one 0 "nsys stats cuda_gpu_trace" "$made/gputrace.csv"
is "its integers" '.devices[0] | [.device, .kernels, .comm_kernels, .memcpys, .span_ns, .busy_ns, .overlap_ns, .exposed_mem_ns]' '[2,2,1,1,10500,4500,1750,1000]'

# ---- broken ones: one sentence, nothing written
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

# ---- real ones
if [ ! -d "$traces/nsys" ]; then
    skip "real files of other tools" "no ../shared/data/traces"
    finish
fi
read_one 0 "nsys export and CSVs" "$traces/nsys"
is "SQLite and CSV agree" '[.devices[] | [.kernels, .memcpys, .span_ns, .busy_ns, .kernel_sum_ns]] | unique' '[[1312,279,342407810,303795463,294404540]]'
is "one recording in two files is one GPU" '.headline | test("^GPU 0 was idle for 11 % .* for 77 % of that idle time the host")' 'true'
is "without steps the cause of idle time decides what to do" '.first_action | test("^What to do first: Mark the steps \\(an NVTX range")' 'true'
check "what to do next is the same" grep -q '^<p>Mark the steps (an NVTX range .*, so that shares of step time are known.</p>' "$TMP/site/index.html"
is "launches are found" '.devices[] | select(.source == "nsys SQLite export") | (.idle_causes_ns | add) == .idle_ns and .idle_causes_ns.host > 0' 'true'
is "calls are counted" '.evidence[0].rows[0][0:2]' '["cudaDeviceSynchronize_v3020","1312"]'
read_one 0 "an nccl-tests log" "$traces/nccl-tests"
is "the headline has its number" '.headline | test("all_reduce over 16 ranks reaches a bus bandwidth of 238 GB/s, with 8.59 GB")' 'true'
is "sizes and bandwidths" '.evidence[0].rows | [length, .[30][0], .[30][3], .[31][3]]' '[32,"8589934592","237.94","66.4834"]'
read_one 0 "calls of the CUDA API alone" "$traces/nsys/cloverleaf-nsys_cloverleaf-cuda_api_trace.csv"
is "the longest in sum, with its share" '.headline' "\"Calls of the CUDA API, by summed time: most is 'cudaDeviceSynchronize_v3020', 302 ms, 53 % of all.\""
cat >"$made/ranges.csv" <<'EOF'
Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Style,Range
62.5,5000000000,50,100000000.0,100000000.0,90000000,120000000,5000000.0,PushPop,step
37.5,3000000000,50,60000000.0,60000000.0,50000000,70000000,4000000.0,PushPop,data_load
EOF
read_one 0 "nvtx_sum" "$made/ranges.csv"
is "ranges that hold others have no share of all" '.headline' "\"NVTX ranges, by summed time: the longest is 'step', 5.00 s. Its share of all is n/a because ranges may hold others.\""
read_one 0 "nvidia-smi without a header" "$traces/monitor"
is "its samples" '.runs[0].nodes[0].gpus[0].utilization_percent.n > 1000' 'true'
is "the headline has their mean" '.headline | test("utilisation was 1.4 % in the mean of")' 'true'
read_one 0 "TALP reports" "$traces/talp"
is "of several the worst leads, by its times where the file contradicts them" '.headline
    | test("^Of 6 TALP reports .*_double.json. has the lowest efficiency: by the times .* is 0.62 .*says 1.00.$")' 'true'
is "how two of them scale" '.support | test("from 2 to 4 CPUs it scaled weakly .2.34 times the instructions.*an efficiency of 0.42; computation scaling is 1.02, parallel efficiency went from 0.63 to 0.62 by their times")' 'true'
check "what to do next is what is first, and how steps are recorded" \
    grep -q '^<p>Measure .*_double.json.* again with a DLB .* With dccollect run around it a run has its steps' "$TMP/site/index.html"
is "regions and GPU efficiencies" '[.evidence[] | [.columns, .rows[0]] | transpose | map({key: .[0], value: .[1]}) | from_entries
    | select(.GPU) | [.GPU, .["Device offload"], .["Product of its factors"]]] | unique' '[["0.07","0.77","0.77"]]'
read_one 0 "one TALP report" "$traces"/talp/example_files_genex_talp.small.json
is "OpenMP is among the factors" '.headline | test("lowest factor is OpenMP with 0.94 \\(in it OpenMP load balance with 0.95\\)")' 'true'
is "every efficiency is good: nothing is advised" '.first_action | test("^Nothing needs to be done first: .*OpenMP load balance with 0.95")' 'true'
read_one 0 "one TALP report of a GPU" "$traces"/talp/jsons_unit-tests_dlb_1gpu_2mpi.json
is "the factor that costs most is what to do about" '.first_action | test("^What to do first: Give the GPU work all the time.*GPU orchestration is 0.12 .*costs up to 5.52 s")' 'true'
is "and how sure" '.runs[0].confidence, (.how_sure | test("Confidence is medium"))' '"medium"
true'
"$report" --baseline "$traces"/scaling/*weak_resnet* -- "$traces"/scaling/*strong_resnet* -q -o "$TMP/means" >/dev/null 2>&1
check "means of steps beside means: why nothing is compared" grep -q "only the mean of the steps and their spread were kept" "$TMP/means/bottleneck_summary.txt"
read_one 3 "DDP scaling results" "$traces/scaling"
is "the headline names its configuration" '.headline | test("^resnet152, global batch 64, fp16 \\(strong scaling\\): ")' 'true'
is "runs are named by what tells them apart" '[.title, .runs[1].label, .runs[15].label]' \
    '["resnet152 and vit_b_16 on 1, 2, 4 and 8 GPUs","1 GPU, vit_b_16, strong","8 GPUs, vit_b_16, weak"]'
check "what the configurations differ in" grep -q 'differ in: model, scaling mode)' "$TMP/site/BOTTLENECK_ANALYSIS.md"
check "its node counts are GPUs, with step times" grep -q '94.3' "$TMP/site/index.html"
is "8 GPUs are slower than 4" '.headline | test("8 GPUs are slower than 4 GPUs: 679 against 697")' 'true'
read_one 3 "the seed project's folder" "$SHARED/data/seed-run"
finish
