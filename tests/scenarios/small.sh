#!/usr/bin/env bash
# small.sh - every scenario on 2 ranks with its knob on and off, at sizes drawn from a seed (LONG=1: a new one each time). It runs, its mechanism
# is at work, the knob saves what the scenario says, and the report names the cause. LONG=1: also on 1 and 4 ranks.
# SCENARIO_SEED=N repeats the draw of an earlier run, SCENARIOS="data io" runs these alone, SCENARIO_RANKS="1 4" on so many ranks,
# SCENARIO_LINES=FILE gets a line of tab-separated fields for each (docs/scenarios.md).
# shellcheck disable=SC2317  # functions are called by check
. tests/lib/tap.sh
. tests/lib/scenarios.sh

drawn=4352704
[ -z "${LONG:-}" ] || drawn=$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')
seed=${SCENARIO_SEED:-$drawn}
steps=${SCENARIO_STEPS:-24}
ranks=${SCENARIO_RANKS:-2}
[ -z "${LONG:-}" ] || ranks=${SCENARIO_RANKS:-1 2 4}
rounds=4
budget=90 # seconds after which a run that other programs disturbed is not repeated
margin=15 # percentage points by which a busy machine may differ
echo "# sizes of seed $seed; repeat them with SCENARIO_SEED=$seed"
for program in mpirun jq; do
    if ! command -v "$program" >/dev/null; then
        skip "scenarios" "no $program"
        finish
    fi
done

fact() { # folder key: of program.json
    jq -r --arg key "$2" '.[$key] // empty' "$1/out/program.json"
}
more() { # what's-in-on what's-in-off factor: on > factor x off
    awk -v a="$1" -v b="$2" -v f="$3" 'BEGIN { exit !(a > f * b) }'
}
read_bytes() { # folder: from the disk, all ranks, as the collector saw it
    last_of "$1" read_bytes | awk '{ s += $1 } END { printf "%.0f\n", s }'
}

check "of two gains the larger is told, within a quarter neither" \
    test "$(larger data 40 io 15) $(larger data 4 io 70) $(larger data 30 io 33)" = "data io even"

mkdir -p "$TMP/told/site"
echo '{"runs": [{"classes": {"memory": {"verdict": "n/a", "text": "Other work was on the machine while it was calibrated."},
    "data": {"verdict": "n/a", "text": "No loading was recorded."}}}]}' >"$TMP/told/site/report.json"
check "one answer is right; what no calibration could tell is told from a wrong report" \
    test "$(judge memory memory 1) $(judge memory compute 1) $(judge memory compute 1 "$TMP/told") $(judge data compute 1 "$TMP/told")" = "right wrong unjudged wrong"

# ---- is the mechanism there? mechanism_NAME ON OFF RANKS --------------------------------------------------------
mechanism_data() { # one thread inflates and parses; with the knob off nobody does
    [ "$(fact "$1" windows_from)" = text ] && [ "$(fact "$2" windows_from)" = memory ] && [ "$(fact "$1" loader_workers)" = 0 ] &&
        more "$(column_of "$1" data_ns sum)" "$(column_of "$2" data_ns sum)" 10
}
mechanism_io() { # bytes come from a disk, and every step writes and syncs a checkpoint
    local windows least
    case $(fact "$1" windows_read_by) in O_DIRECT | POSIX_FADV_DONTNEED) ;; *) return 1 ;; esac
    windows=$(($(fact "$1" global_batch) * steps))
    least=$((windows * 6 * 4 * $(fact "$1" n_sensors) / 2)) # the last sample of the monitor may miss some
    [ "$(read_bytes "$1")" -ge "$least" ] && [ "$(fact "$1" checkpoint_fsync)" = true ] &&
        [ -s "$1/out/checkpoint.bin" ] && [ ! -e "$2/out/checkpoint.bin" ] &&
        awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "checkpoint_ns") c = i } NR > 1 && $c <= 0 { exit 1 }' \
            "$1/out/steps-rank0.csv"
}
mechanism_memory() { # few operations a byte, and more bytes than with the knob off
    more "$(fact "$1" traffic_bytes_per_step)" "$(fact "$2" traffic_bytes_per_step)" 1.5 &&
        ! more "$(fact "$1" flop_per_step)" "$(fact "$1" traffic_bytes_per_step)" 4
}
mechanism_compute() {
    [[ $(fact "$1" blas) == *openblas* ]]
}
mechanism_communication() { # on one rank nothing travels
    [ "$3" -eq 1 ] || { more "$(column_of "$1" allreduce_bytes sum)" "$(column_of "$2" allreduce_bytes sum)" 10 &&
        more "$(column_of "$1" allreduce_ns sum)" "$(column_of "$2" allreduce_ns sum)" 1; }
}
mechanism_imbalance() {
    [ "$3" -eq 1 ] || more "$(tail -n 1 "$1/out/steps-rank0.csv" | cut -d, -f13)" "$(tail -n 1 "$1/out/steps-rank1.csv" | cut -d, -f13)" 2
}
mechanism_healthy() { # a worker reads ahead, and loading costs the step nearly nothing
    [ "$(fact "$1" windows_from)" = raw ] && [ "$(fact "$1" loader_workers)" = 1 ] &&
        more "$(column_of "$1" step_ns sum)" "$(column_of "$1" data_ns sum)" 5
}
mechanism_host() { [ "$(fact "$1" backend)" = cuda ]; }

# ---- one scenario on so many ranks ------------------------------------------------------------------------------
median_of() { printf '%s\n' "$@" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
inside() { awk -v g="$1" -v range="$2" -v m="$3" 'BEGIN { split(range, r, /\.\./); exit !(g >= r[1] - m && g <= r[2] + m) }'; }

# Is loading named first and files next, if loading is most of what the knob adds? The steps do not split loading into reading
# and unpacking. On a disk whose checkpoints take longer than loading, files must be first.
is_unpacking() { # named-classes folder
    [[ $1 == data*io* ]] && [ "$(larger io "$(column_of "$2" checkpoint_ns sum)" data "$(column_of "$2" data_ns sum)")" = data ]
}

try() { # name ranks
    local outcome="" steps=$steps name=$1 n=$2 on=$TMP/$1-$2-on off=$TMP/$1-$2-off title allowed range gain=0 verdict="" named="" gains=() said=() verdicts=() predicted=() n_busy=0 held=""
    title="$name on $n rank$([ "$n" -eq 1 ] || echo s)"
    allowed=$(scenario_line "$name" "$seed" "class $n")
    range=$(scenario_line "$name" "$seed" "gain $n")
    [ "$n" -le "$cores" ] || range=""
    # Steps of `memory` are long. If ranks lack cores, only the mechanism and the report's statement about cores can be judged.
    if [ "$name" = memory ] || [ "$n" -gt "$cores" ]; then steps=$((steps / 2)); fi
    for _ in $(seq $rounds); do
        if ! run_scenario "$name" "$seed" "$n" on "$steps" "$on" || ! run_scenario "$name" "$seed" "$n" off "$steps" "$off"; then
            if grep -q 'are on a file system in memory' "$on/log"; then
                skip "$title" "$TMP is no disk"
            else
                not_ok "$title: runs" "$(tail -n 5 "$on/log" "$off/log" 2>/dev/null)"
            fi
            return
        fi
        gains+=("$(gain_percent "$on" "$off" quartile)")
        named=$(named_classes "$on") || named="no report"
        said+=("$named")
        gain=$(median_of "${gains[@]}")
        verdict=$(judge "$allowed" "$named" "$n" "$on")
        if [ "$name $verdict" = "io wrong" ] && is_unpacking "$named" "$on"; then verdict=unpacking; fi
        verdicts+=("$verdict")
        outcome="$name $n $(first_class "$named") $verdict"
        [ "$named" = "no report" ] || predicted+=("$(predicted_percent "$on" "$named")")
        if [ "$n" -le "$cores" ] && { is_busy "$on" || is_busy "$off"; }; then
            n_busy=$((n_busy + 1))
            held=$(held_by "$on")
        fi
        if [[ $verdict = right || $verdict = - ]] && { [ -z "$range" ] || inside "$gain" "$range" 0; }; then break; fi
        if [ $SECONDS -gt $budget ] && [ $n_busy -gt 0 ]; then break; fi
    done
    ok "$title: runs"
    if "mechanism_${name//-/_}" "$on" "$off" "$n"; then
        ok "$title: the mechanism is at work"
    else
        not_ok "$title: the mechanism is at work" "$(cat "$on/out/program.json")"
    fi
    if [ -n "$range" ] && [ "$name" = compute ] && [ "$(fact "$on" blas)" = "$(fact "$off" blas)" ]; then
        skip "$title: the knob saves time" "this processor has no better kernels than the plain ones"
    elif [ -n "$range" ] && inside "$gain" "$range" $margin; then
        ok "$title: the knob saves $gain % ($range)"
    elif [ -n "$range" ] && [ $n_busy -gt 0 ]; then
        skip "$title: the knob saves time" "ranks waited for a core, held by $held: ${gains[*]} % instead of $range"
    elif [ -n "$range" ]; then
        not_ok "$title: the knob saves time" "$gain % (${gains[*]}) instead of $range; seed $seed"
    fi
    if [ -n "$range" ] && ! inside "$gain" "$range" 0; then
        skip "$title: the report" "what is true is not clear here: the knob saves $gain %, $range was expected"
    elif [ "$verdict" = - ]; then
        echo "# $title: nothing is claimed; the report names $named"
    elif [ "$verdict" = right ]; then
        ok "$title: the report names $named ($allowed)"
    elif [ "$verdict" = unpacking ]; then
        skip "$title: the report" "this disk is so fast that unpacking the windows may take longer than reading them: it named ${said[*]}"
    elif [ "$verdict" = unjudged ]; then
        skip "$title: the report" "it says why it does not name ${allowed#shared }: $(unjudged "$on" "$allowed")"
    elif [ "$verdict" = busy ] || [ $n_busy -gt 0 ]; then
        skip "$title: the report" "ranks waited for a core, held by ${held:-other programs}: it named ${said[*]}"
    else
        not_ok "$title: the report names $allowed, not ${said[*]}" "it named ${said[*]}; seed $seed; the last report:
$(jq -c '.runs[0].classes | map_values({verdict, gain_ns, share_ratio})' "$on/site/report.json")"
    fi
    # What cannot be told on a machine that others use is no miss: those cases are skipped above, by name.
    if [ $n_busy -gt 0 ] || { [ -n "$range" ] && ! inside "$gain" "$range" 0; }; then outcome=${outcome/%wrong/skipped}; fi
    echo "$outcome" >>"$TMP/outcomes"
    [ -z "${SCENARIO_LINES:-}" ] || truth_line "$name" "$n" "$seed" "$allowed" "$range" "$(printf '%s\n' "${gains[@]}")" \
        "$(printf '%s\n' "${said[@]}")" "$(printf '%s\n' "${predicted[@]}")" "$(printf '%s\n' "${verdicts[@]}")" >>"$SCENARIO_LINES"
    rm -rf "$on" "$off"
}
: >"$TMP/outcomes"
[ -z "${SCENARIO_LINES:-}" ] || truth_columns >"$SCENARIO_LINES"

for name in ${SCENARIOS:-$(scenario_names)}; do
    if [ "$(scenario_line "$name" "$seed" needs)" = gpu ] && ! has_gpu; then
        skip "$name" "no GPU that this build can compute on"
        continue
    fi
    for n in $ranks; do
        try "$name" "$n"
    done
done
echo "# what the reports named first, behind shared cores:"
confusion <"$TMP/outcomes" | sed 's/^/# /'
finish
