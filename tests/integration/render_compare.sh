#!/usr/bin/env bash
# Before and after, and checks for continuous integration: dcreport --baseline, --check, --junit, --summary.
. tests/lib/tap.sh
. tests/data/archives/fixture.sh

report=$BIN/dcreport
fixture_run "$TMP/slow" 2 data=60000000 id=slow
fixture_run "$TMP/fast" 2 id=fast
# A program's own JSON, as large as a trace: it is kept with the run and leaves no gap.
{ printf '{"note": "'; head -c 70000 /dev/zero | tr '\0' x; printf '"}'; } >"$TMP/fast/own.json"
fixture_pack "$TMP/slow" "$TMP/slow.tar"
fixture_pack "$TMP/fast" "$TMP/fast.tar"
fixture_run "$TMP/one" 1 id=one
fixture_pack "$TMP/one" "$TMP/one.tar"

mkdir "$TMP/before"
cp "$TMP/slow.tar" "$TMP/before"
head -c 4096 "$TMP/one.tar" >"$TMP/before/cut.tar"
check_status 3 "one archive before, one after" "$report" --baseline "$TMP/before" "$TMP/fast.tar" -o "$TMP/site"
check "what could not be read of the runs before is said" jq -e '[.notes[] | select(.id == "left-out-file").text]
    | length == 1 and (.[0] | test("^Left out of the baseline: .*cut.tar"))' "$TMP/site/report.json"
check "loading went, and that is more than chance" jq -e '.comparisons | length == 1 and (.[0].parts.data | .before_ns == 60000000
    and .after_ns == 1000000 and .is_significant)' "$TMP/site/report.json"
# shellcheck disable=SC2016  # $a and $b are jq's
check "the parts sum to the step on both sides" jq -e '.comparisons[0] | [.parts[].before_ns] as $b | [.parts[].after_ns] as $a
    | ($b | add) == .step.before_ns and ($a | add) == .step.after_ns' "$TMP/site/report.json"
check "what was predicted and what came agree" jq -e '.comparisons[0] | .predictions[0].class == "data" and .predictions[0].is_removed
    and (.achieved_gain_ns / .predicted_gain_ns | . > 0.95 and . <= 1.05)' "$TMP/site/report.json"
# shellcheck disable=SC2016
check "the headline is the comparison, and what limits now follows" jq -e '(.headline == .comparisons[0].sentence)
    and .comparisons[0].finding == "CAUSE_FIXED" and (.headline | test("^Data loading .* [0-9.]+ ms instead of [0-9.]+ ms[.]$"))
    and .comparisons[0].is_repeated == false and .runs[0].finding == "COMM_LIMITS"
    and (.runs[0].headline as $now | .comparisons[0].support as $support | .support | startswith($support) and endswith($now))' "$TMP/site/report.json"
check "the document has the table" grep -q '^| data loading | 60.0 | 1.00 | -59.0 |' "$TMP/site/BOTTLENECK_ANALYSIS.md"
check_status 0 "several on both sides, -- between them" "$report" --baseline "$TMP/slow.tar" "$TMP/one.tar" -- "$TMP/fast.tar" \
    "$TMP/one.tar" -o "$TMP/site"
check "a program's own large JSON leaves no gap" jq -e '.notes | map(select(.kind == "gap")) | length == 0' "$TMP/site/report.json"
check "each node count is compared" jq -e '[.comparisons[].n_nodes] == [1, 2] and .comparisons[0].step.is_significant == false' \
    "$TMP/site/report.json"
check "a run compared with itself is said, of the others not" jq -e '[.comparisons[].finding] == ["NO_CHANGE", "CAUSE_FIXED"]
    and [.comparisons[].confidence_because | test("compared with themselves")] == [true, false]
    and (.comparisons[0].sentence | startswith("On 1 node, "))' "$TMP/site/report.json"
# A larger batch: steps take longer, but more samples are processed.
fixture_run "$TMP/large" 2 id=large batch=128 compute=120000000
fixture_pack "$TMP/large" "$TMP/large.tar"
check_status 0 "twice the batch" "$report" -q --baseline "$TMP/fast.tar" -- "$TMP/large.tar" -o "$TMP/batch"
check "samples per second are compared, not steps of other work" jq -e '.comparisons[0] | .finding == "THROUGHPUT_CHANGED"
    and .step.after_ns > .step.before_ns and .differing == "" and .predictions == []
    and (.equal_work | .samples_before == 64 and .samples_after == 128 and .before_ns > .after_ns and .is_significant
        and .throughput_ratio_interval.lo > 1) and (.support | startswith("A step has 128 samples instead of 64."))' "$TMP/batch/report.json"
check "... and the parts of a step get no verdict" test "$(grep -c ',other work$' "$TMP/batch/tables/compare-2.csv")" -ge 3
check "... but the time for as many samples has one" grep -q '^time for 64 samples,.*,shorter$' "$TMP/batch/tables/compare-2.csv"
# The same training with no loader worker and with four (TensorBoard plugin's samples): the result of tb_plugin's
# article.
pair=$SHARED/data/traces/kineto
if [ -d "$pair" ]; then
    check_status 0 "two real traces" "$report" --baseline "$pair"/resnet50_num_workers_0.*.gz -- "$pair"/resnet50_num_workers_4.*.gz -q -o "$TMP/pair"
    check "... with a table of causes" test -s "$TMP/pair/tables/causes.csv"
    check "... no cause has a threshold below zero" test -z "$(grep -rE --include=causes.csv --include=classes.csv ',-[0-9.]+,' "$TMP/pair")"
    check "data loading fell from 33 % under 1 %, utilisation rose from 55 to 70 %" jq -e '.comparisons[0]
        | .parts.data.before_ns / .step.before_ns > 0.32 and .parts.data.after_ns / .step.after_ns < 0.01
        and (.gpu_utilization_ratio | .before > 0.54 and .before < 0.57 and .after > 0.69 and .after < 0.72)
        and .predictions[0].class == "data" and .predictions[0].is_removed' "$TMP/pair/report.json"
    check "... and is said, with the forecast beside the result, the unnamed time that grew, and no verdict of 5 steps" jq -e '.comparisons[0]
        | .finding == "CHANGE_UNKNOWN" and (.support | test("Data loading .* 59.3 ms to 0.56 ms")
        and test("utilisation .* 56 % to 70 %") and test("44.8 ms .* about 5[0-9.]+ ms .estimate.")
        and test("Unnamed time .* 17.7 ms to 30.1 ms"))' "$TMP/pair/report.json"
    check "the predicted gain is within a quarter of the achieved one, by medians of steps" jq -e '.comparisons[0]
        | (.predicted_gain_ns / (.median_before_ns - .median_after_ns)) | . > 0.75 and . < 1.25' "$TMP/pair/report.json"
    check "what limits next is the host" jq -e '.runs[0] | .finding == "NOTHING_LIMITS"
        and (.support | test("the host: GPU utilisation is .*70 %"))' "$TMP/pair/report.json"
    check_status 0 "two real traces of 6 and 3 steps" "$report" --baseline "$pair"/resnet50_num_workers_0.*.gz -- \
        "$pair"/mi300_resnet_act_checkpoint.json.gz -q -o "$TMP/unequal"
    check "... have rows by name, and no verdict on their sums" jq -e '.changes.finding == "CHANGED_UNEQUAL"
        and (.changes.kernels.names | length > 10) and (.changes.support | test("6 steps before, 3 after") and (test("in total") | not))' \
        "$TMP/unequal/report.json"
else
    skip "two real traces" "no $pair"
fi
# Two GPUs before and after, without steps: every kernel to the nanosecond, by the names that Nsight Systems itself gives.
pair=$SHARED/data/traces/nsys-h100
if [ -d "$pair" ]; then
    check_status 0 "two exports without steps" "$report" --baseline "$pair/mfu_2gpu_before.sqlite" -- "$pair/mfu_2gpu_after.sqlite" -o "$TMP/h100"
    # shellcheck disable=SC2317  # check calls it
    by_sql() { # key in report.json, column of the table of kernels
        python3 - "$TMP/h100/report.json" "$1" "$2" "$pair"/mfu_2gpu_{before,after}.sqlite <<'END'
import collections, json, sqlite3, sys
report, key, column, *files = sys.argv[1:]
names = collections.defaultdict(lambda: [0, 0, 0, 0])
for side, file in enumerate(files):
    for name, n, ns in sqlite3.connect(f"file:{file}?mode=ro", uri=True).execute(
            f"SELECT s.value, COUNT(*), SUM(end - start) FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.{column} GROUP BY 1"):
        names[name][side], names[name][2 + side] = n, ns
table = json.load(open(report))["changes"][key]
told = {r["name"]: [r["calls_before"], r["calls_after"], r["before_ns"], r["after_ns"]] for r in table["names"]}
wrong = {n: (told.get(n), names.get(n)) for n in set(told) | set(names) if told.get(n) != names.get(n)}
for r in table["names"] + [table["all"]]:
    if r["by_calls_ns"] + r["by_mean_ns"] != r["after_ns"] - r["before_ns"]:
        wrong[r["name"]] = r
for field in "calls_before", "calls_after", "before_ns", "after_ns", "by_calls_ns", "by_mean_ns":
    if sum(r[field] for r in table["names"]) != table["all"][field]:
        wrong[field] = table["all"][field]
print(wrong)
sys.exit(bool(wrong) or len(told) < 10)
END
    }
    check "kernels by short name are those of SQL" by_sql kernels shortName
    check "kernels by full name too" by_sql kernels_in_full demangledName
    # shellcheck disable=SC2317  # check calls it
    unfolds() { # full names of the CSV sum to their short name; the page has a row of each under it
        python3 - "$TMP/h100" <<'END'
import collections, csv, html, re, sys
whole, = ({r["Kernel"]: r for r in csv.DictReader(open(sys.argv[1] + "/tables/changed-kernels.csv"))},)
full = list(csv.DictReader(open(sys.argv[1] + "/tables/changed-kernels-in-full.csv")))[1:]
columns = [c for c in full[0] if c.startswith(("Calls", "Before", "After", "Change"))]
sums = collections.defaultdict(lambda: [0] * len(columns))
for r in full:
    sums[r["Short name"]] = [a + int(r[c]) for a, c in zip(sums[r["Short name"]], columns)]
wrong = [n for n in whole if n != "sum of all rows" and sums[n] != [int(whole[n][c]) for c in columns]]
page = open(sys.argv[1] + "/compare.html").read()
for group in re.findall(r"<tbody>\n(.*?)</tbody>", page[page.index("Kernels by their short"):], re.S)[:len(whole)]:
    name = html.unescape(re.search(r"<summary>([^<]*?) ?<|<span>([^<]*)</span></th>", group).expand(r"\1\2"))
    inside = [html.unescape(n) for n in re.findall(r'<td colspan="7"><span>(.*?)</span>', group)]
    n_numbers = group.count('<tr class="inside"><td></td>')
    want = [r["Kernel"] for r in full if r["Short name"] == name and r["Kernel"] != name]
    if inside != want or n_numbers != (len(want) if len(want) > 1 else 0):
        wrong.append((name, inside, want))
print(wrong, len(columns), len(whole), page.count("unfold"))
sys.exit(bool(wrong) or len(columns) != 5 or len(whole) < 11 or len(full) < 27)
END
    }
    check "a short name unfolds to its full names, which sum to it" unfolds
    check "535.2 ms of kernels became 488.8" jq -e '.changes.kernels.all | .before_ns == 535200650 and .after_ns == 488835406' "$TMP/h100/report.json"
    check "fewer calls of the attention kernel, each as long; dearer exchanges" jq -e '.changes.kernels.names
        | (.[0] | .name == "flash_fwd_kernel" and .calls_before == 68 and .calls_after == 60 and .after_ns - .before_ns == -31561711
            and (.by_mean_ns / .after_ns | fabs) < 0.01)
        and (.[] | select(.name == "ncclDevKernel_SendRecv") | .after_ns - .before_ns > 8.3e6 and .by_mean_ns / (.after_ns - .by_mean_ns) > 0.4)' "$TMP/h100/report.json"
    "$report" "$pair/mfu_2gpu_after.sqlite" -q -o "$TMP/alone" >/dev/null 2>&1
    check "17,081 ranges have at most 60 names" jq -e '.operators[0] | .n == 17081 and .n_names <= 60' "$TMP/alone/report.json"
    check "the table has calls, means, totals and the difference" grep -q \
        '^ncclDevKernel_SendRecv,66,62,25401752,33742101,8340349,384875.03,544227.435,' "$TMP/h100/tables/changed-kernels.csv"
    check "less work is no success, and no step is said to be shorter" jq -e '.changes.finding == "CHANGED_TOTAL"
        and (.support | test("not known whether") and test("less work was done")
        and test("60 calls instead of 68, 12 % fewer a second. Each call takes nearly as long as before .4.01 ms and 4.00 ms.")
        and test("SendRecv.*41 % longer") and test("idle for 17 % of the time instead of 9.6 %")) and .comparisons == []' "$TMP/h100/report.json"
    check_status 3 "two exports before, one after" "$report" --baseline "$pair"/mfu_2gpu_{before,after}.sqlite -- \
        "$pair/mfu_2gpu_after.sqlite" -q -o "$TMP/several"
    check "... the page says why names are not compared" grep -q \
        'not compared by name: each side needs a single run, and there are 2 before and 1 after' "$TMP/several/BOTTLENECK_ANALYSIS.md"
else
    skip "two exports without steps" "no $pair"
fi
check_status 3 "a node count that only one side has" "$report" --baseline "$TMP/one.tar" "$TMP/fast.tar" -o "$TMP/site"
cp "$TMP/tap.out" "$TMP/said"
check "... is said" grep -q "Nothing to compare with" "$TMP/said"
check "... and is a gap" grep -q "^  Nothing was compared: the baseline has no run with steps at any node count of the new runs" "$TMP/said"
check "... which is no call for further node counts" test -z "$(grep -o 'add runs with other node counts' "$TMP/said")"
check_status 0 "a pair of one node count has no gap" "$report" -q --baseline "$TMP/slow.tar" -- "$TMP/fast.tar" -o "$TMP/pair0"
check_status 2 "a baseline alone" "$report" --baseline "$TMP/slow.tar" -o "$TMP/nothing"

check_status 0 "checks that hold" "$report" --check 'exposed_comm<50%' --check 'step_time<200ms' "$TMP/fast.tar"
check_status 1 "a check that fails" "$report" --check 'data<5%' --check 'exposed_comm<50%' "$TMP/slow.tar" --junit "$TMP/junit.xml" \
    --summary "$TMP/summary.md"
cp "$TMP/tap.out" "$TMP/said"
check "what failed is printed" grep -q '^FAILS: data<5% on 2 nodes: 5[0-9] %, not below 5.0 %$' "$TMP/said"
check "JUnit XML counts it" grep -q '<testsuites tests="2" failures="1">' "$TMP/junit.xml"
check "the Markdown summary too" grep -q '^## dcreport: 1 of 2 checks failed$' "$TMP/summary.md"
check_status 1 "what cannot be checked has not passed" "$report" -q --check 'gpu_utilization>1%' "$TMP/fast.tar"
cp "$TMP/tap.out" "$TMP/said"
check "... and says why" grep -q '^not measured: gpu_utilization>1% on 2 nodes: no GPU was monitored' "$TMP/said"
check_status 1 "with a site" "$report" --check 'data<5%' "$TMP/slow.tar" -o "$TMP/site2"
check "... which is there" test -s "$TMP/site2/index.html"
check_status 2 "a finished report is no evidence" "$report" "$TMP/site2" -o "$TMP/nothing"
cp "$TMP/tap.out" "$TMP/said"
check "... and is called what it is" grep -q "is a report made by dcreport. Give the archives" "$TMP/said"
check_status 2 "a rule that is none" "$report" --check 'sped<3' "$TMP/fast.tar"
finish
