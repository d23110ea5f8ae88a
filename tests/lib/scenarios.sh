# shellcheck shell=bash
# scenarios.sh - sourced by tests/scenarios/*: runs a scenario with its knob on and off, records both runs alike, and
# tells what was measured and what the report says about it. Needs BIN and a folder TMP; jq.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
cores=$(nproc)

scenario_names() { # the names that the program lists for an unknown name
    "$BIN/dcrnn-train" --scenario '?' 2>&1 | sed -n 's/.*Use one of //p' | tr -d ' .' | tr ',' '\n'
}

# A line of --show-scenario: scenario_line NAME SEED KEY
scenario_line() {
    "$BIN/dcrnn-train" --scenario "$1" --scenario-seed "$2" --show-scenario | sed -n "s/^$3: //p"
}

has_gpu() {
    "$BIN/dcrnn-train" --backend cuda --sensors 3 --days 1 --units 1 --batch 1 --steps 1 --validate-every 0 \
        --validation-windows 1 --out "$TMP/gpu" >/dev/null 2>&1
}

# Measures what this machine can do, because memory is judged against it. Without that the report says that it is missing.
# calibrate NAME: once in a script. For the scenario `memory`, before each run, as each job of slurm/ does: on virtual machines
# the rate of memory changes within minutes. If other work disturbs it, it is repeated.
calibrate() {
    local file=$TMP/calibration.json
    [ "$1" != memory ] || rm -f "$file"
    for try in 1 2 3; do
        [ ! -e "$file" ] || break
        "$BIN/dccollect" calibrate -o "$file" >/dev/null 2>&1 </dev/null || : >"$file"
        if [ "$1" = memory ] && [ $try -lt 3 ] && grep -q '"disturbed"' "$file"; then rm "$file"; fi
    done
    [ -s "$file" ]
}

# One recorded run: run_scenario NAME SEED RANKS on|off STEPS FOLDER -> FOLDER/run.tar, FOLDER/out, FOLDER/log
run_scenario() {
    run_options "$1" "$3" "$6" --scenario "$1" --scenario-seed "$2" --knob "$4" --steps "$5"
}
# The same of any options: run_options NAME RANKS FOLDER option...
run_options() {
    local name=$1 n=$2 dir=$3 launch=() evidence=(--adopt "$3/out")
    shift 3
    # With more ranks than cores, ranks that wait must give their core away.
    [ "$n" -eq 1 ] || launch=(mpirun --oversubscribe --bind-to none --mca btl_vader_single_copy_mechanism none -n "$n")
    [ "$n" -le "$cores" ] || launch+=(--mca mpi_yield_when_idle 1)
    calibrate "$name" && evidence+=(--calibration "$TMP/calibration.json")
    rm -rf "$dir"
    mkdir -p "$dir"
    "$BIN/dccollect" run -o "$dir/run.tar" "${evidence[@]}" -- "${launch[@]}" "$BIN/dcrnn-train" "$@" --out "$dir/out" >"$dir/log" 2>&1 </dev/null
}

# column_of FOLDER COLUMN sum|median|quartile: over the steps of all ranks, without the first three.
# The lower quartile is for machines that others use too, because a neighbour can only add time.
column_of() {
    awk -F, -v name="$2" 'FNR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i } FNR > 4 { print $c + 0 }' \
        "$1"/out/steps-rank*.csv | sort -n | awk -v what="$3" '{ v[NR] = $1; s += $1 }
        END { if (NR == 0) exit 1
              if (what == "sum") printf "%.0f\n", s
              else if (what == "median") printf "%.0f\n", NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2
              else printf "%.0f\n", v[int((NR + 3) / 4)] }'
}

# gain_percent FOLDER_ON FOLDER_OFF median|quartile: how many percent of the step time with the knob on are saved with it off
gain_percent() {
    awk -v on="$(column_of "$1" step_ns "$3")" -v off="$(column_of "$2" step_ns "$3")" \
        'BEGIN { printf "%.1f\n", 100 * (1 - off / on) }'
}

# larger NAME A NAME B: the name of the larger number, or `even` when they differ by less than a quarter
larger() {
    awk -v an="$1" -v a="$2" -v bn="$3" -v b="$4" 'BEGIN { print (a > 1.25 * b ? an : b > 1.25 * a ? bn : "even") }'
}

# last_of FOLDER COLUMN: the last value of a column in the monitors of each rank
last_of() {
    local member
    for member in $(tar tf "$1/run.tar" | grep '^rank[0-9]*/process_monitor.csv$'); do
        tar xOf "$1/run.tar" "$member" | awk -F, -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i }
            NR > 1 && $c != "" { v = $c } END { printf "%.0f\n", v }'
    done
}

# is_busy FOLDER: did a rank wait for a core for more than a fifth of its computing time, or did other machines take over 1 % of
# the node's time? Both make ranks wait for each other.
is_busy() {
    paste <(last_of "$1" run_delay_ns) <(last_of "$1" user_ns) | awk '$1 > 0.2 * $2 { busy = 1 } END { exit !busy }' ||
        tar xOf "$1/run.tar" node0/cpu_monitor.csv | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "steal_percent") c = i }
            NR > 1 && $c != "" { s += $c; n++ } END { exit !(n && s / n > 1) }'
}

# held_by FOLDER: what a rank of a busy run waited for. It is "other programs" if these took more than a twentieth of the cores
# from the first step on (the node's monitor less the CPU time of the ranks), or if other machines took some. Otherwise it is
# "their own threads".
held_by() {
    local members began
    began=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "start_ns") c = i } NR == 2 { print $c }' "$1/out/steps-rank0.csv")
    mapfile -t members < <(tar tf "$1/run.tar" | grep '^rank[0-9]*/process_monitor.csv$')
    { tar xOf "$1/run.tar" "${members[@]}" && tar xOf "$1/run.tar" node0/cpu_monitor.csv; } | awk -F, -v cores="$cores" -v began="$began" '
        /^timestamp/ { own += last - first; first = last = ""; for (i = 1; i <= NF; i++) at[$i] = i; is_node = /,cpu_percent,/; next }
        $at["t_ns"] < began { next }
        !is_node { last = $at["user_ns"] + $at["system_ns"]; if (first == "") first = last
                   t = $at["t_ns"]; if (!from || t < from) from = t; if (t > to) to = t; next }
        $at["cpu_percent"] != "" && $at["t_ns"] > from && $at["t_ns"] <= to { busy += $at["cpu_percent"]; steal += $at["steal_percent"]; n++ }
        END { is_others = !n || to <= from || busy / n / 100 - own / (to - from) / cores > 0.05 || steal / n > 1
              print is_others ? "other programs" : "their own threads" }'
}

# named_classes FOLDER [flags of dcreport]: the classes that limit, in the report's order: shared first, then by predicted gain.
# "none" if nothing limits.
named_classes() {
    local dir=$1
    shift
    "$BIN/dcreport" "$dir/run.tar" -o "$dir/site" "$@" >"$dir/report.log" 2>&1 || [ $? -eq 3 ] || return 1
    jq -r '[.runs[0].classes | to_entries[] | select(.value.verdict == "limits")
            | {key, gain: (if .key == "shared" then 1e18 else (.value.gain_ns // 0) end)}]
           | sort_by(-.gain) | map(.key) | if length == 0 then "none" else join(" ") end' "$dir/site/report.json"
}

# predicted_percent FOLDER "NAMED": what removing the first named class besides `shared` would save by the report that
# named_classes made, in percent of the step; - if it predicts nothing
predicted_percent() {
    local first=${2#shared}
    first=${first# }
    jq -r --arg class "${first%% *}" '.runs[0] | .step.mean_ns as $step | .classes[$class] // {}
        | if (.gain_ns // 0) > 0 and ($step // 0) > 0 then .gain_ns / $step * 1000 | round / 10 else "-" end' "$1/site/report.json"
}

# Is the predicted gain of a cause within a quarter of what the knob saved? If the knob saves less than a tenth of the step there
# is nothing to predict. If the report names another cause, its gain is another one.
# judge_prediction CLASS_OF_THE_KNOB "NAMED" PREDICTED ACHIEVED (percent, - unknown) -> right, off or -
judge_prediction() {
    local first=${2#shared}
    first=${first# }
    if [ "${first%% *}" != "$1" ] || [ "$3" = - ]; then
        echo -
    else
        awk -v p="$3" -v a="$4" 'BEGIN { d = p - a; if (d < 0) d = -d; print a < 10 ? "-" : d <= 0.25 * a ? "right" : "off" }'
    fi
}

# The most frequent line of the input; of equally frequent ones the first.
most_often() {
    awk '{ if (++n[$0] > most) { most = n[$0]; word = $0 } } END { print word }'
}
middle() { # median of the lines that are numbers; - without any
    { grep -v '^-$' || true; } | sort -g | awk '{ v[NR] = $1 } END { print NR == 0 ? "-" : NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

# The class that was named first after `shared`: first_class "shared data io" -> data; if nothing follows: shared
first_class() {
    local rest=${1#shared}
    rest=${rest# }
    rest=${rest%% *}
    echo "${rest:-${1%% *}}"
}
# Lines "SCENARIO RANKS CLASS VERDICT" -> how often each class was named first, and how many of them were misses: confusion
confusion() {
    awk 'BEGIN { n = split("communication imbalance data io copy host memory compute shared none", column)
            printf "| scenario | ranks |"
            for (i = 1; i <= n; i++) printf " %s |", column[i]
            print " misses |"
            printf "| --- | --- |"
            for (i = 0; i <= n; i++) printf " --- |"
            print "" }
        { key = $1 " | " $2
          if (!(key in seen)) { seen[key] = 1; keys[++rows] = key }
          count[key, $3]++
          if ($4 == "wrong") { miss[key]++; all++ } }
        END { for (r = 1; r <= rows; r++) {
                printf "| %s |", keys[r]
                for (i = 1; i <= n; i++) printf " %s |", (keys[r], column[i]) in count ? count[keys[r], column[i]] : "."
                printf " %d |\n", miss[keys[r]] }
            printf "| all | |"
            for (i = 1; i <= n; i++) printf " |"
            printf " %d |\n", all }'
}

# For programs: one line of tab-separated fields for each scenario and number of ranks; docs/scenarios.md explains them.
truth_columns() {
    printf '%s\t' scenario ranks cores seed rounds accepted expected_percent gain_percent gain_low_percent gain_high_percent named predicted_percent verdict
    echo prediction
}
# truth_line NAME RANKS SEED ACCEPTED EXPECTED GAINS NAMED PREDICTED VERDICTS; the last four have a line a round
truth_line() {
    local named predicted gain
    named=$(printf '%s\n' "$7" | most_often)
    predicted=$(paste -d '\t' <(printf '%s\n' "$7") <(printf '%s\n' "$8") | awk -F '\t' -v named="$named" '$1 == named { print $2 }' | middle)
    gain=$(printf '%s\n' "$6" | middle)
    printf '%s\t' "$1" "$2" "$cores" "$3" "$(printf '%s\n' "$6" | wc -l)" "$4" "${5:--}" "$gain" \
        "$(printf '%s\n' "$6" | sort -g | head -n 1)" "$(printf '%s\n' "$6" | sort -g | tail -n 1)" "$named" "$predicted" "$(printf '%s\n' "$9" | most_often)"
    judge_prediction "$1" "$named" "$predicted" "$gain"
}

# unjudged FOLDER "ALLOWED": the reason of a report that could not judge the answer for lack of a calibration; "" for other reports.
unjudged() {
    jq -r --arg class "${2#shared }" '.runs[0].classes[$class] // {} | if .verdict == "n/a" and (.text | test("calibrat"))
        then .text else "" end' "$1/site/report.json"
}

# may_be_named "ALLOWED" RANKS: what judge takes as right, in words
may_be_named() {
    if [ -z "$1" ]; then
        echo "nothing is claimed"
    elif [ "$2" -gt "$cores" ]; then
        echo "shared first; behind it nothing is judged: $2 ranks on $cores cores"
    else
        echo "$1"
    fi
}

# judge "ALLOWED" "NAMED" RANKS [FOLDER]: does the list of named classes begin with the answer? Prints right, wrong or busy;
# unjudged if the report in FOLDER could not judge the answer for lack of a calibration; - if no answer is expected.
# If there are fewer cores than ranks, the report has to say so first, and what follows is not judged. If there are enough cores,
# `shared` in front means that other programs used the cores: what follows counts, and if nothing follows the run proves nothing.
judge() {
    local allowed=" $1 " named=$2 n=$3 first verdict=wrong
    [ -n "$1" ] || { echo - && return; }
    first=${named%% *}
    if [ "$first" = shared ] && [ "$n" -le "$cores" ]; then
        verdict=busy
        named=${named#shared}
        first=${named## }
        first=${first%% *}
    fi
    # without a core for every rank, everything but `shared` is wrong
    if [ "$n" -gt "$cores" ] && [ "$first" != shared ]; then
        echo wrong
    elif [ -n "$first" ] && [[ $allowed == *" $first "* ]]; then
        echo right
    elif [ "$verdict" = wrong ] && [ -n "${4:-}" ] && [ -n "$(unjudged "$4" "$1")" ]; then
        echo unjudged
    else
        echo "$verdict"
    fi
}
