#!/usr/bin/env bash
# GPU traces of other tools, given as files, folders and inside archives: every number of expected-exact.csv to the
# nanosecond, and broken files named while the rest of the report is made.
. tests/lib/tap.sh
report=$BIN/dcreport
traces=$SHARED/data/traces
columns='.file,.device,.kernels,.comm_kernels,.memcpys,.memsets,.span_ns,.busy_ns,.idle_ns,.compute_ns,.comm_ns,.memcpy_ns,.memset_ns,.overlap_ns,.exposed_comm_ns,.exposed_mem_ns,.kernels_under_100us,.kernel_sum_ns'
devices() { jq -r ".devices[] | [$columns] | @csv" "$1/report.json" | tr -d '"' | sort; }
kernel() { # name start dur device
    printf '{"ph":"X","cat":"kernel","name":"%s","pid":%s,"tid":7,"ts":%s,"dur":%s,"args":{"device":%s,"stream":7,"correlation":1}}' "$1" "$4" "$2" "$3" "$4"
}

# ---- with this script alone
mkdir -p "$TMP/in/deeper"
{ printf '{"schemaVersion":1,"traceEvents":['; kernel gemm 10.5 2.25 0; printf ','; kernel ncclAllReduce 11 3 0; printf ']}'; } >"$TMP/in/a.json"
gzip -c "$TMP/in/a.json" >"$TMP/in/deeper/b.bin"
check "a trace alone is a report without gaps" "$report" "$TMP/in/a.json" -o "$TMP/site"
want='a.json,0,2,1,0,0,3500,3500,0,2250,3000,0,0,1750,1250,0,2,5250'
if [ "$(devices "$TMP/site")" = "$want" ]; then ok "its numbers"; else not_ok "its numbers" "$(devices "$TMP/site")"; fi
check "the page shows them" grep -q 'id="devices"' "$TMP"/site/runs/*/index.html
# shellcheck disable=SC2317  # check calls it
gpu_pages() { # FOLDER of a run
    grep -q 'href="devices.html"' "$1/index.html" && ! grep -q devices_idle.csv "$1/index.html" && grep -q devices_idle.csv "$1/devices.html"
}
check "... with one table, and a link to the page that has all" gpu_pages "$(echo "$TMP"/site/runs/*)"
check "... the share of communication that was hidden, and of the span that was no compute" jq -e '.devices[0] |
    (.overlap_ratio - 1750 / 3000 | fabs < 1e-9) and .non_compute_ns == 1250 and (.non_compute_ratio - 1250 / 3500 | fabs < 1e-9)' "$TMP/site/report.json"
check "... on the page: 58 % hidden" grep -q 'data-v="0.583333333"' "$TMP"/site/runs/*/index.html
check "... a spread for one call is no number" grep -q '^gemm,.*,,one call,' "$TMP"/site/runs/*/tables/devices_operations_1.csv
check "a folder of traces" "$report" "$TMP/in" -o "$TMP/site"
if [ "$(devices "$TMP/site" | sed "s/^[^,]*,//" | sort -u)" = "${want#a.json,}" ] && [ "$(devices "$TMP/site" | cut -d, -f1 | tr '\n' ' ')" = "a.json deeper/b.bin " ]; then
    ok "compressed or not is seen by content, named from the folder"
else
    not_ok "compressed or not is seen by content, named from the folder" "$(devices "$TMP/site")"
fi
head -c 150 "$TMP/in/a.json" >"$TMP/in/cut.json"
head -c 60 "$TMP/in/deeper/b.bin" >"$TMP/in/cut.json.gz"
echo hello >"$TMP/in/notes"
echo hello | gzip >"$TMP/in/notes.gz"
check_status 3 "broken and unknown files beside it" "$report" "$TMP/in" -o "$TMP/site"
gaps=$(jq -r '.notes[] | select(.kind == "gap") | .text' "$TMP/site/report.json")
for words in "cut.json' ends in the middle of an event, at byte 150" "cut.json.gz' is cut in the middle of its gzip data" "1 file of a kind that is not known was not read. It is 'notes.gz'"; do
    if grep -q "$words" <<<"$gaps"; then ok "named: $words"; else not_ok "named: $words" "$gaps"; fi
done
check "a text beside them is no evidence: listed, and nothing is missing without it" jq -e '.not_evidence == ["notes"] and
    (.notes | all(.text | test("notes'"'"'") | not))' "$TMP/site/report.json"
check "... under Files" grep -q '<p>Not evidence, left out: notes.</p>' "$TMP/site/index.html"
check "... of its run too" grep -q 'not evidence, left out' "$TMP"/site/runs/*/index.html
check "and the others are read" test "$(devices "$TMP/site" | wc -l)" -eq 2
check_status 2 "a cut trace alone is refused" "$report" "$TMP/in/cut.json" -o "$TMP/none"
check "in one sentence" test "$(wc -l <"$TMP/tap.out")" -eq 1
check "and leaves nothing" test ! -e "$TMP/none"
mkdir -p "$TMP/run/kineto"
printf 'epoch,train_loss\n1,0.5\n' >"$TMP/run/metrics.csv"
cp "$TMP/in/a.json" "$TMP/run/kineto/"
(cd "$TMP/run" && tar cf "$TMP/1node-x.tar" metrics.csv kineto)
check_status 3 "inside an archive" "$report" "$TMP/1node-x.tar" -o "$TMP/site"
if [ "$(devices "$TMP/site")" = "kineto/$want" ]; then ok "named as its member"; else not_ok "named as its member" "$(devices "$TMP/site")"; fi
check_status 3 "the same run as a folder" "$report" "$TMP/run" -o "$TMP/site"

# Annotations inside steps are phases: on the host, and on the GPU with the operations launched inside.
host() { printf '{"ph":"X","cat":"%s","name":"%s","pid":1,"tid":1,"ts":%s,"dur":%s,"args":{"correlation":1}}' "$@"; }
{
    printf '{"traceEvents":['
    host user_annotation 'ProfilerStep#3' 0 100 && printf ','
    host user_annotation '## forward ##' 10 20 && printf ','
    host cuda_runtime cudaLaunchKernel 12 1 && printf ','
    kernel gemm 20 35 0 && printf ']}'
} >"$TMP/phases.json"
check_status 0 "a trace with a range in its step" "$report" "$TMP/phases.json" -o "$TMP/site"
check "... which is a phase, on the host and on the GPU" jq -e '.runs[0].phases | length == 1 and (.[0] | .name == "## forward ##" and
    .category == "compute" and .time == "whole" and .mean_ns == 20000 and .share_ratio == 0.2 and .n_steps == 1 and
    .gpu.mean_ns == 35000 and .gpu.share_ratio == 0.35 and .gpu.n_steps == 1 and .gpu_because == null)' "$TMP/site/report.json"
check "... without communication none of it is hidden: null, not 0" jq -e '.devices[0].overlap_ratio == null' "$TMP/site/report.json"
check "... nor on the page" grep -q ' (N), .*N: does not apply\|Without any value: .*Hidden share of communication (N)' "$TMP"/site/runs/*/index.html
check "... on its page" grep -q '## forward ##' "$TMP"/site/runs/*/index.html
check_status 1 "... where nothing says that there is no range" grep -rq 'no named range' "$TMP/site"

# Counters of ranges in place of operations: their counts are shown, and the advice knows that there was a GPU.
counted='"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum":500'
{
    printf '{"traceEvents":['
    host cuda_runtime cudaLaunchKernel 12 1 && printf ','
    printf '{"ph":"X","cat":"cuda_profiler_range","name":"gemm","pid":0,"tid":0,"ts":5,"dur":7,"args":{%s}}]}' "$counted"
} >"$TMP/counters.json"
check "a trace of counters" "$report" "$TMP/counters.json" -o "$TMP/site"
check "... says what it holds" jq -e '.runs[0].finding == "TRACE_OF_COUNTERS" and (.headline | test("1 range ")) and (.support | test("1,000 ")) and
    (.evidence | length == 2 and .[1].rows == [["gemm", "1", "1000", "1000"]])' "$TMP/site/report.json"
check "... and what to do, not whether there was a GPU" grep -q 'profiler_metrics' "$TMP/site/index.html"
check_status 1 "... which it knows" grep -rq 'If the run used a GPU' "$TMP/site"
{ printf '{"traceEvents":[' && host cuda_runtime cudaLaunchKernel 12 1 && printf ']}'; } >"$TMP/calls.json"
check_status 0 "a trace of calls alone" "$report" "$TMP/calls.json" -o "$TMP/site"
check "... is of a GPU's run, too" grep -q 'ProfilerActivity.CUDA' "$TMP/site/index.html"

# Why the GPU was idle in the steps: what exactly is missing.
{
    printf '{"traceEvents":['
    host user_annotation 'ProfilerStep#3' 0 100 && printf ','
    kernel gemm 20 35 0 && printf ']}'
} >"$TMP/unlaunched.json"
check_status 0 "steps without calls of the runtime" "$report" "$TMP/unlaunched.json" -o "$TMP/site"
check "... lack those, not steps" jq -e '.runs[0].classes.host.text ==
    "Why the GPU was idle in the steps is not known: the trace holds no GPU runtime calls."' "$TMP/site/report.json"

# A hash for the citation would take a third of the time of a large file, so there is none, with the reason.
cp "$TMP/in/a.json" "$TMP/large.json"
truncate -s 65M "$TMP/large.json"
check "a large file" "$report" -q "$TMP/large.json" -o "$TMP/site"
check "... has no checksum, because ..." jq -e '.runs[0].provenance | .files_sha256 == null and
    (.files_sha256_because | test("above 64 MB"))' "$TMP/site/report.json"
check "... on its page too" grep -q 'class="hash">not made above 64' "$TMP/site/methodology.html"

# A folder of results with files that people put beside them.
mkdir "$TMP/results" "$TMP/results/texts"
cp "$TMP/in/a.json" "$TMP/results/"
printf '# Results\n' >"$TMP/results/README.md"
printf '[INFO] epoch 1\n' >"$TMP/results/train.log"
printf 'lr = 0.1\n' >"$TMP/results/texts/job.conf"
check "files that are no evidence are no gap" "$report" "$TMP/results" -o "$TMP/site"
check "... and are listed" jq -e '.not_evidence == ["README.md", "texts/job.conf", "train.log"] and (.notes | all(.kind != "gap"))' "$TMP/site/report.json"
plain=0
"$report" "$TMP/1node-x.tar" -o "$TMP/plain" -q >/dev/null || plain=$?
rm "$TMP/results/a.json"
cp "$TMP/1node-x.tar" "$TMP/results/texts"
check_status "$plain" "... nor one gap more beside an archive" "$report" "$TMP/results" -o "$TMP/site" -q
check "... the same report" cmp "$TMP/plain/BOTTLENECK_ANALYSIS.md" "$TMP/site/BOTTLENECK_ANALYSIS.md"
check_status 2 "such a file alone is refused" "$report" "$TMP/results/README.md" -o "$TMP/none"
rm "$TMP/results/texts/1node-x.tar"
check_status 2 "... and a folder of nothing else" "$report" "$TMP/results" -o "$TMP/none"

# Two files of one name from two folders are two runs with different names, on every page and in the citation.
mkdir "$TMP/here" "$TMP/there"
cp "$TMP/in/a.json" "$TMP/here/t.json"
sed 's/2\.25/2.5/' "$TMP/in/a.json" >"$TMP/there/t.json"
check "two traces of one name" "$report" -q "$TMP/here/t.json" "$TMP/there/t.json" -o "$TMP/site"
check "... are told apart" jq -e '[.runs[].label] | . == ["Run t (run 1 of 2)", "Run t (run 2 of 2)"]' "$TMP/site/report.json"
check "... and cited so" test "$(grep -o '>t.json (Run t (run [12] of 2))<' "$TMP/site/methodology.html" | sort -u | wc -l)" -eq 2

# ---- real traces
if [ ! -r "$traces/expected-exact.csv" ]; then
    skip "real traces" "no ../shared/data/traces"
    finish
fi
check_status 3 "a folder of everything" "$report" "$traces" -o "$TMP/site"
tail -n +2 "$traces/expected-exact.csv" | tr -d '\r' | sort >"$TMP/want"
devices "$TMP/site" | grep '^kineto/' >"$TMP/got"
if diff "$TMP/want" "$TMP/got" >"$TMP/diff"; then
    ok "every integer of expected-exact.csv"
else
    not_ok "every integer of expected-exact.csv" "$(cat "$TMP/diff")"
fi
check "traces that are of no one job are runs of their own, with a note; ranks of one stay together" jq -e '
    (.notes | any(.id == "jobs" and (.text | test("times of different jobs are not comparable"))))
    and ([.devices[] | select(.file | startswith("kineto/dlrm_8rank/")) | .run] | length == 4 and (unique | length == 1))
    and ([.devices[] | select(.file | test("resnet50_num|nccl_data|df_index")) | .run] | length == 4 and (unique | length == 4))
    and ([.runs[] | select(.run_id | test("^resnet50_num_workers_0"))] | length == 1 and .[0].classes.data.verdict == "limits")
    and .unit == "GPU"' "$TMP/site/report.json"
if jq -e '[.devices[] | select(.idle_causes_ns) | (.idle_causes_ns | add) == .idle_ns] | all' "$TMP/site/report.json" >/dev/null; then
    ok "idle causes sum to idle time"
else
    not_ok "idle causes sum to idle time"
fi
if jq -e '[.devices[] | select(.utilization_ratio and .sm_efficiency_ratio_estimated) | .sm_efficiency_window == "steps" and
    .sm_efficiency_ratio_estimated <= .utilization_ratio] | length > 8 and all' "$TMP/site/report.json" >/dev/null; then
    ok "estimated SM efficiency is of the steps, and never above utilisation"
else
    not_ok "estimated SM efficiency is of the steps, and never above utilisation"
fi
cp "$TMP/site/report.json" "$TMP/first.json"
"$report" "$traces/kineto/dlrm_8rank" -o "$TMP/dlrm" >"$TMP/dlrm.said" 2>&1
check "half of a job's ranks: said on the terminal, before how few steps there are" grep -q "^Note: .*ranks 4 to 7 of 8 have no trace here" "$TMP/dlrm.said"
check "the GPUs are the workers of POP: useful is what they compute, and the factors multiply to it" jq -e '
    def near(x): . - x | fabs < 1e-8;
    .runs[0] | (.pop.workers == "GPUs") and (.pop.parallel_ratio | near(1147000 / 16671500))
    and (.pop.useful_mean_ns == .parts_ns.compute)
    and (.pop | .parallel_ratio - .load_balance_ratio * .gpu_communication_ratio * .gpu_orchestration_ratio | near(0))
    and (.pop_host.device_offload_ratio | . > 0.3 and . < 1)' "$TMP/dlrm/report.json"
for at in BOTTLENECK_ANALYSIS.md 'runs/*/profiling_report.txt' 'runs/*/index.html'; do
    # shellcheck disable=SC2086 # a pattern
    check "... the same in $at" grep -q '0.07 = load balance 0.92 x GPU communication 0.10 x GPU orchestration 0.74' \
        <(cat "$TMP"/dlrm/$at | tr '\n' ' ')
done
check_status 1 "an idle GPU is not useful" "$report" "$traces/kineto/dlrm_8rank" -q -o "$TMP/dlrm2" --check 'parallel_efficiency>50%'
check "send and receive is not called gradient synchronisation" jq -e '.claims[] | select(.finding == "COMM_LIMITS")
    | (.sentence | test("gradient") | not) and (.support | test("[0-9]+ % of .* (send and receive|all-to-all)"))' "$TMP/dlrm/report.json"
"$report" "$traces/kineto/mi300_resnet_act_checkpoint.json.gz" -q -o "$TMP/one" >/dev/null 2>&1
check "one rank of eight: its communication limits, and whom it waited for is not judged" jq -e '.runs[0].classes |
    .communication.verdict == "limits" and .communication.share_ratio > 0.6 and .imbalance.verdict == "n/a"' "$TMP/one/report.json"
check "... nor is transfer told from waiting, or a balance made of it" jq -e '.runs[0] | .finding == "COMM_LIMITS" and .parts_ns.comm_wait == null
    and (.support | test("does not tell transfer from waiting")) and .pop == null' "$TMP/one/report.json"
check "... and its page tells the communication" grep -q '<dt>Not hidden by other work</dt><dd>.* a step .*How much of that is waiting is not known' "$TMP"/one/runs/*/index.html
# Large compressed traces name their ranks at the end, out of reach of a first look, so the ranks are known after
# reading.
large() { # rank of, in file
    printf '{"schemaVersion":1,"deviceProperties":[{"id":0,"name":"A"}],"traceEvents":['
    yes '{"ph":"X","cat":"cpu_op","name":"aten::add","pid":1,"tid":1,"ts":10,"dur":1,"args":{"padding":"0123456789012345678901234567890123456789"}},' | head -c 70000000 | sed '$d'
    printf '{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":%s0,"dur":5,"args":{"device":0,"stream":7}}],"distributedInfo":{"backend":"nccl","rank":%s,"world_size":2}}' "$1" "$1"
}
mkdir "$TMP/large"
for i in 0 1; do large "$i" | gzip -1 >"$TMP/large/$i.json.gz"; done
for cores in all one; do
    on=()
    [ "$cores" = all ] || on=(taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')")
    "${on[@]}" "$report" "$TMP/large" -q -o "$TMP/large-$cores" >/dev/null 2>&1
    check "ranks that large compressed traces name at their end are one run ($cores cores)" jq -e '(.runs | length == 1)
        and ([.devices[] | [.rank, .kernels]] == [[0, 1], [1, 1]])' "$TMP/large-$cores/report.json"
done
check "... the same bytes by one thread" cmp "$TMP/large-all/report.json" "$TMP/large-one/report.json"
cp "$TMP/large/0.json.gz" "$TMP/large/again.json.gz"
"$report" "$TMP/large" -q -o "$TMP/large-twice" >/dev/null 2>&1
check "... and kept apart where a rank comes twice" jq -e '.runs | length == 3' "$TMP/large-twice/report.json"
rm -r "$TMP/large"
"$report" "$traces"/kineto/trace_filter_sampled_rank-{0,1}.json.gz -q -o "$TMP/loose" >/dev/null 2>&1
check "ranks given one by one are one run" jq -e '(.runs | length == 1 and .[0].n_ranks == 2) and (.notes | any(.id == "ranks-missing" and (.text | test("ranks 2 to 127 of 128"))))' "$TMP/loose/report.json"
mkdir "$TMP/kineto"
cp "$traces"/kineto/{trace_filter_sampled_rank-*,memory_analysis*,linear_kineto*} "$TMP/kineto"
"$report" "$TMP/kineto" -q -o "$TMP/pooled" >/dev/null 2>&1
check "files whose ranks are not counted are no repetitions of a job whose ranks are" jq -e '([.runs[].n_ranks] | sort == [null, null, 2])
    and ([.runs | group_by([.series, .n_nodes])[] | map(.n_ranks) | unique | length] | max == 1)' "$TMP/pooled/report.json"
check "ranks that are not here are missing" jq -e '.notes | map(select(.id == "ranks-missing" and .kind == "caveat") | .text)
    | any(test("ranks 4 to 7 of 8 have no trace here"))' "$TMP/dlrm/report.json"
check "a floor of utilisation is no threshold of a share" jq -e '.runs[0].classes.host | .verdict == "limits" and .share_ratio > 0
    and .threshold_ratio == null' "$TMP/dlrm/report.json"
core=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
TMPDIR=$TMP taskset -c "$core" "$report" "$traces/" -q -o "$TMP/site" >/dev/null 2>&1
check "the same bytes again, read by one thread" cmp "$TMP/first.json" "$TMP/site/report.json"
finish
