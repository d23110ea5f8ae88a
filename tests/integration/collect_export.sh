#!/bin/bash
# dccollect export: valid JSON and CSV of every event, exact times, names escaped, several ranks; and what has no events.
# shellcheck disable=SC2016,SC2317  # commands for another shell; functions that check calls
. tests/lib/tap.sh
. tests/data/programs/build.sh
build_marks || not_ok "marks builds"
build_trace_text || not_ok "trace_text builds"
build_make_ranks || not_ok "make_ranks builds"
build_program stress stress.c 2>/dev/null
if [ -n "$NVTX_INCLUDE" ]; then
    build_program nvtx_all nvtx_all.c "${NVTX_FLAGS[@]}" -Wno-unused-result && build_program libnvtx_library.so nvtx_library.c "${NVTX_FLAGS[@]}" -shared -fPIC
fi
cd "$TMP" || exit 1

# same_events ARCHIVE: the JSON and the CSV hold the events of the traces, at the same nanoseconds.
same_events() {
    "$COLLECT" export "$1" -o events.json && "$COLLECT" export "$1" -o events.csv && rm -rf x && mkdir x && tar xf "$1" -C x || return 1
    find x -name '*.dct' -print0 | xargs -0 -n 1 ./trace_text | grep -Evc '^(events|file|note|thread)' >n_text
    python3 - "$1" <<'END'
import csv, json, decimal, collections
rows = list(csv.DictReader(open("events.csv", newline="")))
doc = json.load(open("events.json"), parse_float=decimal.Decimal)
events = [e for e in doc["traceEvents"] if e["ph"] in "Xib"]
ends = {(e["pid"], e["id"]): e["ts"] for e in doc["traceEvents"] if e["ph"] == "e"}
assert len(rows) == len(events) > 0, (len(rows), len(events))
assert len(rows) == int(open("n_text").read()), (len(rows), open("n_text").read())
shift = {}
for r, e in zip(rows, events):
    assert (r["name"] or "(no name)") == e["name"] and (r["category"] or "none") == e["cat"], (r, e)
    ns = int(e["ts"] * 1000)
    assert ns == e["ts"] * 1000
    # one shift from the monotonic clock to the calendar per host: processes of one host share its clock
    shift.setdefault(r["host"], set()).add(ns - int(r["start_ns"]))
    assert int(r["unix_ns"]) == ns + int(doc["otherData"]["zero_unix_ns"]), (r, e)
    end = ends[e["pid"], e["id"]] * 1000 if e["ph"] == "b" else ns + (e.get("dur", 0) * 1000)
    assert end - ns == int(r["dur_ns"]), (r, e)
    assert (e["pid"], e["tid"]) == (max(int(r["rank"]), 0), int(r["track"]))
assert all(len(s) == 1 for s in shift.values()), shift
named = {(e["pid"], e["tid"]) for e in doc["traceEvents"] if e["name"] == "thread_name"}
assert {(e["pid"], e["tid"]) for e in events} <= named
END
}
"$COLLECT" run -o marks.tar -- env MARKS_BUCKETS=1 ./marks 50 2>/dev/null
check "ranges, process ranges: JSON and CSV say what the trace says" same_events marks.tar
head -c 3000000 /dev/zero >$'caf\351' && "$COLLECT" run --io-threshold 1 -o bytes.tar -- cat $'caf\351' >/dev/null 2>&1
check "a name that is no UTF-8: both say the same" same_events bytes.tar
check "... with ? for its bytes" grep -q '/caf?"\{0,1\},' events.csv
if [ -x nvtx_all ]; then
    "$COLLECT" run -o all.tar -- ./nvtx_all ./libnvtx_library.so >/dev/null 2>&1
    check "all of NVTX: marks, payloads, odd names, threads" same_events all.tar
else
    skip "all of NVTX" "no NVTX headers"
fi
./make_ranks spool 5 20 2 && "$COLLECT" pack spool -o ranks.tar 2>/dev/null
# As left by a process that is killed, or ends by _exit.
truncate -s +262144 spool/rank3/*.dct && "$COLLECT" pack spool -o reserved.tar 2>/dev/null
check "what a trace reserved and never used is not packed" cmp ranks.tar reserved.tar
check "several ranks" same_events ranks.tar
check "a report is made of the archive, not of its export" sh -c '! "$0" events.json -o site 2>said && grep -qx "dcreport: .events.json. was exported from an archive by dccollect. Give the archive itself." said' "$BIN/dcreport"
check "each is a named process" test "$(jq -c '[.traceEvents[] | select(.name == "process_name") | .pid]' events.json)" = '[0,1,2,3,4]'
check "to standard output" sh -c '"$0" export ranks.tar 2>said | cmp - events.json' "$COLLECT"
check "the closing line counts" grep -qx 'dccollect: standard output: 800 events of 5 traces; 2 hosts laid beside the first by the time of day, nobody knows how wrong' said
check "-o - is standard output too" sh -c '"$0" export ranks.tar -o - 2>said | cmp - events.json && [ ! -e ./- ]' "$COLLECT"
mkfifo pipe && timeout 300 cat pipe >piped.csv & # a file in its place would leave cat waiting
while [ ! -p pipe ]; do sleep 0.02; done
"$COLLECT" export ranks.tar --format csv -o pipe 2>/dev/null
wait
check "into a pipe, which stays one" sh -c '[ -p pipe ] && cmp piped.csv events.csv'
check_status 2 "a folder in the way" "$COLLECT" export ranks.tar -o .
check "--format" sh -c '"$0" export ranks.tar --format csv -o x.txt && cmp x.txt events.csv' "$COLLECT"
"$COLLECT" pack spool -o some.tar --traces rank0 2>/dev/null
check "traces that were not packed are said" sh -c '"$0" export some.tar -o some.json 2>&1 | grep -q "160 events of 1 trace; 4 ranks. traces were not packed"' "$COLLECT"
mkdir flip && tar xf some.tar -C flip && trace=$(find flip -name '*.dct') && printf '\377' | dd of="$trace" bs=1 seek=$(($(stat -c %s "$trace") - 1)) conv=notrunc status=none
tar cf flip.tar -C flip manifest.json job_metadata.json "${trace#flip/}"
check "a damaged trace is said" sh -c '"$0" export flip.tar -o flip.json 2>&1 | grep -q "; 1 of these traces has another content than the manifest says: damaged"' "$COLLECT"
"$COLLECT" pack spool -o none.tar --traces none 2>/dev/null
check_status 2 "only summaries: refused" "$COLLECT" export none.tar -o none.json
check "nothing is written" sh -c '! ls none.json* 2>/dev/null && [ -z "$("$0" export none.tar 2>/dev/null)" ]' "$COLLECT"
# Two hosts. The second's clock is 0.3 s behind and loses 80 us a second. Its exported times are those of a correct
# clock, within the stated error.
./make_ranks right 2 50 1 && ./make_ranks wrong 2 50 1 300000000 80 && "$COLLECT" pack right -o right.tar 2>/dev/null &&
    "$COLLECT" pack wrong -o wrong.tar 2>/dev/null
"$COLLECT" export right.tar -o right.csv 2>/dev/null && "$COLLECT" export right.tar -o right.json 2>/dev/null
"$COLLECT" export wrong.tar -o wrong.csv 2>/dev/null && "$COLLECT" export wrong.tar -o wrong.json 2>said
check "clocks of two hosts: the closing line has the error" grep -q '; clocks of 1 host set by what was measured, wrong by at most 0.250 us' said
check "start and end of the run, whose hosts' calendars differ by an hour" metadata wrong.tar '.started == 1700000000 and .ended == 1700000060'
cat > "$TMP/check1.py" << 'END'
import csv, json
right, wrong = (list(csv.DictReader(open(n + ".csv", newline=""))) for n in ("right", "wrong"))
assert len(right) == len(wrong) == 800
for a, b in zip(right, wrong):
    assert b["clock_error_ns"] == ("0" if b["rank"] == "0" else "250"), b
    assert a["clock_error_ns"] == ("0" if a["rank"] == "0" else ""), a  # nobody measured it
    assert abs(int(a["unix_ns"]) - int(b["unix_ns"])) <= (0 if b["rank"] == "0" else 2), (a, b)
    assert b["rank"] == "0" or int(a["start_ns"]) - int(b["start_ns"]) >= 300000000
right, wrong = (json.load(open(n + ".json")) for n in ("right", "wrong"))
for a, b in zip((e for e in right["traceEvents"] if "ts" in e), (e for e in wrong["traceEvents"] if "ts" in e)):
    assert abs(a["ts"] - b["ts"]) <= 0.003 and abs(a.get("dur", 0) - b.get("dur", 0)) <= 0.003, (a, b)
assert [c.get("error_ns") for c in wrong["otherData"]["clocks"]] == [None, 250]
END
check "every time is right within the error that stands beside it" python3 "$TMP/check1.py"
head -c 300000 ranks.tar >cut.tar
check_status 2 "a truncated archive" "$COLLECT" export cut.tar -o cut.json
check "nothing is written of it" sh -c '! ls cut.json* 2>/dev/null'
check_status 2 "no such folder" "$COLLECT" export ranks.tar -o nowhere/x.json
check "an ending of no format is refused" sh -c '"$0" export ranks.tar -o events.xml 2>said; grep -q "no ending of a format. End the name in .json or .csv" said && ! ls events.xml* 2>/dev/null' "$COLLECT"
check_status 2 "no such format" "$COLLECT" export ranks.tar --format xml
check_status 2 "a full disk" sh -c '"$0" export ranks.tar >/dev/full' "$COLLECT"
check_status 2 "the same by its name, which stays a device" "$COLLECT" export ranks.tar -o /dev/full
check "it does" test -c /dev/full
finish
