#!/usr/bin/env bash
# Reports of emulated nodes that are parts of one machine: the share is their speed and not a cause, effects between
# nodes are judged, and unlike nodes are marked. Quotas without such a description are causes as before; so are ranks of
# one host.
# shellcheck disable=SC2016,SC2317  # a command for another shell; functions that check calls
. tests/lib/tap.sh
. tests/data/archives/fixture.sh
made() { # NAME NODES settings...
    fixture_run "$TMP/$1" "${@:2}" "id=$1"
    fixture_pack "$TMP/$1" "$TMP/$1.tar"
}
render() {
    "$BIN/dcreport" -q "$@" -o "$TMP/site" >"$TMP/out" 2>&1
}
report() { # JQ-CONDITION
    jq -e "$1" "$TMP/site/report.json"
}
share=(kind=emulated cores=2 node_cores=0.25 quota=0.25 throttled=72)
equal=("${share[@]}" node_link=50000000)
made equal1 1 "${equal[@]}"; made equal2 2 "${equal[@]}" transfer=8000000; made equal4 4 "${equal[@]}" transfer=15000000

# ---- communication limits at four nodes of a quarter core
check "equal nodes render" render "$TMP"/equal{1,2,4}.tar
check "the badge says what they are" report '.node_label == "emulated nodes: 0.25 core, 50 Mbit/s each"'
check "it is on the front page" grep -q 'class="label">emulated nodes: 0.25 core, 50 Mbit/s each <' "$TMP/site/index.html"
check "the headline names communication at 4 and at 2 nodes" report '.series[0] | .finding == "SCALING_COMMUNICATION_GROWS" and (.headline | test("41 %.* 4 nodes.* 16 %"))'
check "and the verdict the efficiency" report '.verdict | test("2[.]22x.*efficiency 0[.]56")'
check "the cause is communication" report '(.claims[] | select(.id == "series0.limit").class) == "communication" and .runs[2].shared == null and ([.runs[].classes.shared.verdict] | unique) == ["fine"]'
check "no confidence is low, and none for the emulation" report '[.claims[] | .confidence, .confidence_because] | all(. != "low" and (test("emulated|quota") | not))'
check "the quota is in no sentence" report '[.. | strings] | all(test("quota held|held a node back|had no core|without a core|share [0-9]+ core|as far as shared cores") | not)'
check "laws are fitted" report '[.series[0].laws[] | select(.name | test("Amdahl"))] | length == 1 and .[0].because == null'
check "points are reliable" report '[.series[0].points[].unreliable_because] | unique == [null]'
check "one caveat says what holds and what does not" report '[.notes[] | select(.kind == "caveat" and .run == null)] | length == 1 and .[0].id == "emulated" and .[0].text ==
    "The emulated nodes are equal parts of one machine. Scaling, communication and imbalance hold for this emulated cluster. Absolute times are not those of real nodes."'
check "what a node was is in report.json" report '.runs[2].nodes[3].emulated == {"cores": 0.25, "period_us": 4000, "link_bit_per_s": 50000000, "is_default": true} and .runs[2].nodes[3].cores_quota == 0.25'
check "the kind is emulated" report '[.runs[].provenance.node_kind] | unique == ["emulated"]'
page=$(find "$TMP/site/runs" -name index.html | grep equal4)
check "the nodes table has share and link" sh -c 'grep -A3 -F "Emulated nodes of this run: parts of one machine" "$0" | grep -q . && grep -q "0.25 of 2" "$0" && grep -q "50 Mbit/s" "$0"' "$page"
check "the page of scaling says what would make it faster, by the times of the table" sh -c 'grep -q "Without transfer, " "$0/scaling.html" &&
    awk -F, "NR == 2 { now = \$2 } NR == 3 { exit !(\$2 < now && (now / \$2 - \$4) ^ 2 < 1e-12) } END { exit NR < 3 }" "$0/tables/moves.csv"' "$TMP/site"
check "the text report too" grep -rq "2 cores (emulated: 0.25 of them, link 50 Mbit/s)" "$TMP/site/runs"

# Transfer limits only as most of the scaling loss, and is below the share of a step that its check would name.
made little4 4 "${equal[@]}" transfer=4500000
check "little transfer, most of the loss" render "$TMP"/equal1.tar "$TMP/little4.tar"
check "limits as such" report '.runs[1].classes.communication | .verdict == "limits" and .judged.threshold_name == "comm_loss" and .share_ratio < .threshold_ratio'
check "and is given no check that holds already" report '.first_action | test("bf16|fewer ranks|verlap") and (test("should fall below") | not)'

check "a run alone" render "$TMP/equal4.tar"
check "names communication with high confidence" report '.runs[0].confidence == "high" and .claims[0].class == "communication"'
check "one node" render "$TMP/equal1.tar"
check "is one node" report '.node_label == "emulated node: 0.25 core, 50 Mbit/s" and ([.notes[] | select(.id == "emulated")][0].text | test("^The emulated node is a part of one machine\\. "))'
made other 1
check_status 3 "beside a run of a machine itself" render "$TMP/equal1.tar" "$TMP/equal4.tar" "$TMP/other.tar"
check "the emulated nodes stay equal" report '[.notes[] | select(.id == "emulated")][0].text | test("^The emulated nodes are equal parts of one machine\\. ")'
made unshaped2 2 "${share[@]}" transfer=8000000
check "a link that is not shaped" render "$TMP/unshaped2.tar"
check "is said" report '.node_label == "emulated nodes: 0.25 core each, links not shaped"'

# ---- nodes without a share divide the cores
shared=(kind=emulated cores=2 node_cores=0 node_link=50000000)
made all2 2 "${shared[@]}" transfer=8000000
check "nodes that share cores" render "$TMP/all2.tar"
check "say so, and what follows" report '.node_label == "emulated nodes: cores shared, 50 Mbit/s each" and ([.notes[] | select(.id == "emulated")][0].text ==
    "The emulated nodes are equal parts of one machine and share its cores. Absolute times are not those of real nodes.")'
check "with enough of them, confidence is medium" report '.runs[0].confidence == "medium" and .runs[0].confidence_because == "the nodes are emulated on one host"'
made all4 4 "${shared[@]}" transfer=15000000
check "with too few" render "$TMP/all4.tar"
check "ranks share cores" report '.runs[0] | .finding == "CORES_SHARED" and (.headline | test("4 ranks .* 2 cores")) and (.support | test("communication: 41 %"))'

# ---- shares that do not fit on the machine
made crowded4 4 kind=emulated cores=2 node_cores=1 quota=1 node_link=50000000 transfer=15000000
check "four nodes of a core on two" render "$TMP/crowded4.tar"
check "share cores" report '.runs[0] | .finding == "CORES_SHARED" and (.headline | test("4 ranks .* 2 cores")) and (.support | test("communication: 41 %"))'

# ---- quotas that differ are a cause
made unequal4 4 "${equal[@]}" transfer=15000000 last_quota=0.1
check "a node with another quota" render "$TMP"/equal{1,2}.tar "$TMP/unequal4.tar"
check "the quota is the cause" report '.series[0] | .finding == "SCALING_QUOTA" and (.headline | test("72 %"))'
check "confidence is low" report '.claims[] | select(.id == "series0.limit") | .confidence == "low" and .class == "shared"'
check "the nodes are not called equal" report '.node_label == "emulated nodes: unlike parts of one machine"'
made half4 4 kind=emulated cores=2 node_cores=0.5 quota=0.5 throttled=40 node_link=50000000 transfer=15000000
check "another share at another node count" render "$TMP"/equal{1,2}.tar "$TMP/half4.tar"
check "the quota is the cause there, too" report '.series[0] | .finding == "SCALING_QUOTA" and (.headline | test("40 %"))'
check "the series is marked unlike" report '[.notes[] | select(.id == "differing")][0].text | test("used different emulated nodes[.]")'

# ---- apparent scaling
made half2 2 kind=emulated cores=2 node_cores=0.5 quota=0.5 node_link=50000000 transfer=100000
check "more of a core on two nodes" render "$TMP"/equal1.tar "$TMP/half2.tar"
check "is not called scaling" report '.series[0] | .finding == "SCALING_UNLIKE" and (.support | test("different shares or links"))'
check "nor is it said that nodes pay off" report '[.. | strings] | all(test("pays? off|efficiency is (good|low)|95 % interval of the speed-up") | not)'
made ranks2 2 kind=emulated cores=2 transfer=100000
check_status 3 "emulated nodes beside plain ranks" render "$TMP"/equal{1,2}.tar "$TMP/ranks2.tar"
check "... which alone are called so" report '[.notes[] | select(.id == "emulated").text] | any(startswith("In 1 run of this report, ranks of one host"))'

# ---- a link that differs within a series, and between before and after
made faster4 4 "${share[@]}" node_link=100000000 transfer=7500000
check "a series with a faster link at 4 nodes" render "$TMP"/equal{1,2}.tar "$TMP/faster4.tar"
check "is marked unlike" report '([.notes[] | select(.id == "differing")][0].text | test("different emulated nodes")) and (.how_sure | test("Confidence is low: the runs differ in emulated nodes"))'
check "before and after a faster link" render --baseline "$TMP/equal4.tar" -- "$TMP/faster4.tar"
check "is compared" report '.comparisons | length == 1 and .[0].achieved_gain_ns == 7500000 and .[0].differing == ""'
check "and says what differs" report '(.comparisons[0] | .nodes_before == "0.25 core, 50 Mbit/s each" and .nodes_after == "0.25 core, 100 Mbit/s each") and
    (.comparisons[0] as $c | .support | contains($c.nodes_before) and contains($c.nodes_after))'
made period4 4 "${equal[@]}" node_period=10000 transfer=20000000
check "another period" render --baseline "$TMP/period4.tar" -- "$TMP/equal4.tar"
check "is said, since nothing else tells them apart" report '.comparisons[0] | .nodes_before == "0.25 core, 50 Mbit/s each, a quota every 10.0 ms" and .nodes_after == "0.25 core, 50 Mbit/s each, a quota every 4.00 ms"'
made ranks4 4 kind=emulated cores=8 transfer=15000000
check "ranks of one host before, equal nodes after" render --baseline "$TMP/ranks4.tar" -- "$TMP/equal4.tar"
check "is no fair comparison" report '.comparisons[0].differing == "emulated nodes" and .comparisons[0].confidence == "low" and (.verdict | test("differ in their emulated nodes"))'
check "equal nodes before and after" render --baseline "$TMP/equal4.tar" -- "$TMP/equal4.tar"
check "differ in nothing" report '.comparisons[0] | .differing == "" and (has("nodes_before") | not)'

# ---- elsewhere: an equal quota without a description limits each run, and does not change the comparison of nodes
quota=(cores=4 quota=0.5 throttled=45)
made quota1 1 "${quota[@]}"; made quota2 2 "${quota[@]}" transfer=8000000; made quota4 4 "${quota[@]}" transfer=15000000
check "an equal quota" render "$TMP"/quota{1,2,4}.tar
check "is the cause of each run" report '[.runs[] | .finding] | unique == ["QUOTA_HOLDS"]'
check "as the table of runs says" bash -c 'test "$(grep -o "<td[^>]*>CPU quota</td>" "$0/site/index.html" | wc -l)" = 3' "$TMP"
check "and not of the loss of scaling" report '.series[0].finding == "SCALING_COMMUNICATION_GROWS"'
check "scaling is as sure as without it" report '(.how_sure | test("Confidence is medium: there is one run per node count")) and ([.series[0].points[].unreliable_because] | unique == [null])'
made quota4b 4 cores=4 quota=0.5 last_quota=1 throttled=45 transfer=15000000
check "a quota that differs between nodes" render "$TMP"/quota{1,2}.tar "$TMP/quota4b.tar"
check "makes all of it doubtful" report '.how_sure | test("Parts of a step have low confidence: at 4 nodes, time without a core")'

# ---- ranks of one host: as it was
made r1 1 kind=emulated cores=2; made r4 4 kind=emulated cores=2 transfer=15000000
check "ranks that stand in for nodes" render "$TMP"/r{1,4}.tar
check "say so" report '.node_label == "emulated nodes: ranks of one host" and ([.notes[] | select(.id == "emulated")][0].text | test("ranks of one host stand in for them"))'
check "and share cores" report '.series[0].finding | test("CORES")'
check "with low confidence" report '.claims[] | select(.id == "series0.limit").confidence == "low"'
made r2 2 kind=emulated cores=8 transfer=8000000
check "with cores enough" render "$TMP/r2.tar"
check "confidence is medium for the emulation" report '.runs[0].confidence == "medium" and .runs[0].confidence_because == "the nodes are emulated on one host"'

# ---- one rank is late; jobs of Slurm
made late2 2 slow_rank=1 transfer=1000000
check "a rank that is late" render "$TMP/late2.tar"
check "the key figure is Waiting for other ranks, not Communication" bash -c 'grep -o "<dt>[^<]*</dt>" "$0" | grep -q "Waiting for other ranks" && ! grep -o "<dt>[^<]*</dt>" "$0" | grep -q Communication' "$TMP/site/index.html"
for n in 1 2; do
    fixture_run "$TMP/job$n" $n
    sed -i 's/"scheduler":{"name":"none"}/"scheduler":{"name":"slurm","job_id":"7"}/' "$TMP/job$n/job_metadata.json"
    fixture_pack "$TMP/job$n" "$TMP/job$n.tar"
done
check "jobs of Slurm" render "$TMP"/job{1,2}.tar
check "are repeated by slurm/submit" grep -q 'slurm/submit --repeat 3' "$TMP/site/bottleneck_summary.txt"
check_status 1 "and not by make collect" grep -q 'make collect REPEAT' "$TMP/site/bottleneck_summary.txt"
finish
