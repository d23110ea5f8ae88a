#!/bin/bash
# Events are dropped because the collector is stopped: each step of the run has the same sums as without a loss. The program
# makes up its clock, so that two runs record the same times.
# plain: the program stops the collector, which is its parent, and the clock is replaced in the program
# shellcheck disable=SC2016  # commands for another shell
. tests/lib/tap.sh
. tests/data/programs/build.sh
build_program gaps gaps.c -rdynamic || not_ok "gaps builds"
cd "$TMP" || exit 1
export DCC_CLOCK=monotonic

# gaps NAME MAX-MB ARGUMENTS...: a run without monitors of calls on files, its archive, its report
gaps() {
    local name=$1 mb=$2
    shift 2
    "$COLLECT" run --spool "$name" --io off --max-mb "$mb" -- ./gaps "$@" >"$name.out" 2>"$name.err"
    "$COLLECT" pack "$name" -o "$name.tar" 2>"$name.pack"
    tar xOf "$name.tar" "$(tar tf "$name.tar" | grep summary-)" >"$name.jsonl"
    "$BIN/dcreport" -o "$name.site" "$name.tar" >"$name.txt" 2>&1
}
# steps NAME: of each step its number, beginning, length, time by category and by phase, bytes
steps() {
    jq -c -s '(.[0].phases | map(.[0] + "/" + .[1])) as $phases | map(select(.step).step) | .[0][1] as $begin | .[] |
        {n: .[0], at: (.[1] - $begin), ns: .[2], categories: .[3], bytes: .[5],
         phases: ([$phases, .[6]] | transpose | map(select(.[1] > 0)) | sort)}' "$1.jsonl"
}
# rest NAME: time beside the steps, and the sums of calls and ranges
rest() {
    jq -c -S -s '(.[0] | [.steps, .wall_ns, .validation_ns, .outside_ns, .events + .mpi_calls + .io_calls + .dropped, .unmatched_pops]),
        (map(select(.mpi).mpi[0:4]) | sort | .[]), (map(select(.file).file) | map({(.[1]): .[2:5]}) | .[]),
        (map(select(.name?) | {name, category, kind, n, sum_ns, bytes}) | sort | .[])' "$1.jsonl" |
        jq -c -s 'group_by(if type == "object" and (.name == null) then keys else . end) |
            map(if .[0] | type == "object" and .name == null then (map(to_entries[0]) | {(.[0].key): (map(.value) | transpose | map(add))}) else .[] end) | .[]'
}
dropped() { # NAME: how many
    jq -s '.[0].dropped' "$1.jsonl"
}

gaps whole 64 400
check "without a loss nothing is dropped" test "$(dropped whole)" = 0
gaps lost 1 400 20 350
check "with one, events are dropped ($(dropped lost))" test "$(dropped lost)" -gt 10000
steps whole >whole.steps
steps lost >lost.steps
check "each step has the same number, beginning, length, sums by category and phase, and bytes" diff whole.steps lost.steps
check "all 400 of them" test "$(wc -l <whole.steps)" = 400
rest whole >whole.rest
rest lost >lost.rest
check "the time beside them and the sums of the run are the same" diff whole.rest lost.rest
figures() {
    jq -S '.runs[0] | {n_steps, parts_ns, step_mean: .step_ns.mean, mpi_ranks, bytes_per_step}' "$1.site/report.json"
}
check "the report judges all steps" diff <(figures whole) <(figures lost)
check "and says what the loss leaves out" grep -q "The times of steps include the lost events, but the timeline" lost.txt
check "no statement is withheld" sh -c '! grep -q "before the loss" lost.txt'

gaps beyond 1 1200 20 1190
steps beyond >beyond.steps
n=$(wc -l <beyond.steps)
check "the reserve for sums is full too: the steps before that are whole ($n)" sh -c '[ "$0" -gt 60 ] && [ "$0" -lt 400 ] && head -n "$0" whole.steps | diff - beyond.steps' "$n"
check "and the report says that it has no others" grep -q "The steps are those before the loss" beyond.txt

gaps beside 1 240 10 230 beside
check "of process ranges single events are needed: only what they hide is not known" \
    jq -e '.runs[0] | .hidden_communication_ns == null and .n_steps == 240' beside.site/report.json
finish
