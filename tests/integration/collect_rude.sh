#!/bin/bash
# Rough treatment: children that outlive the program, packing killed at any moment, targets that cannot be written, a disk
# that fills while summaries are made, many threads, 200 processes at once.
# partly sanitized: error paths are rarely executed; where nothing can be written they run with them
# shellcheck disable=SC2016,SC2317  # commands for another shell; functions that check calls
. tests/lib/tap.sh
. tests/data/programs/build.sh
build_marks || not_ok "marks builds"
build_program burst burst.c || not_ok "burst builds"
build_make_ranks || not_ok "make_ranks builds"
cd "$TMP" || exit 1
trap 'umount "$TMP/ro" "$TMP/small" 2>/dev/null; rm -rf "$TMP"' EXIT

# ---- children that go on recording when the program has ended
cat >leave.sh <<'END'
(sleep "$1"; ./marks 300) &
./marks 100
END
# A file call that a busy machine delays becomes an event, and its process gets a trace, so --io off is used where
# traces are counted.
"$COLLECT" run -o short.tar --io off -- bash leave.sh 0.7 2>said
check "a child that ends soon is waited for" metadata short.tar '.collector.events == 1600 and .collector.traces == 2'
check "nothing is left" sh -c '! ls -d short.tar.spool* 2>/dev/null'
"$COLLECT" run -o long.tar --io off -- bash leave.sh 4 2>said
check "a child that stays: the archive is there" "$COLLECT" verify long.tar
check "it is incomplete, and says why" manifest long.tar '.incomplete_because | any(test("left behind still ran"))'
check "the spool stays, with what to do" sh -c '[ -d long.tar.spool ] && grep -q "may still record in .*long.tar.spool.*dccollect pack .*long.tar.spool -o long.tar" said'
for _ in $(seq 1200); do
    pgrep -f 'marks 300' >/dev/null || pgrep -f 'leave.sh 4' >/dev/null || break
    sleep 0.1
done
check "packed again when the child has ended: nothing is lost" sh -c '"$0" pack long.tar.spool -o long.tar' "$COLLECT"
check "both are in it" metadata long.tar '.collector.events == 1600 and .collector.traces == 2'

cat >busy.sh <<'END'
exec >/dev/null 2>&1
# With pauses, because thousands of traces would be packed twice, and at the second time no process would record any
# more.
(end=$((SECONDS + $1)); while [ $SECONDS -lt $end ]; do ./marks 3000; sleep 0.05; done) &
exit 7
END
check_status 7 "a child that records while the run is packed: the program's status" "$COLLECT" run -o busy.tar -- bash busy.sh 5
check "packed by hand while it records" sh -c '"$0" pack busy.tar.spool -o by-hand.tar && "$0" verify busy.tar by-hand.tar' "$COLLECT"
n_bad=0
for _ in 1 2 3; do
    "$COLLECT" run -o outer.tar --steps 3:4 -- "$COLLECT" run -o inner.tar -- ./marks 20 2>>said || n_bad=$((n_bad + 1))
    "$COLLECT" verify outer.tar inner.tar >>said || n_bad=$((n_bad + 1))
done
check "a collector under a collector" test "$n_bad" -eq 0
check "the inner one has the program's events, whatever window the outer one has" metadata inner.tar '.collector.events == 80'

# ---- packing is killed
./make_ranks spool 64 100 8 && "$COLLECT" pack spool -o want.tar.zst 2>/dev/null
"$COLLECT" pack spool -o out.tar.zst --traces none 2>/dev/null && cp out.tar.zst old.tar.zst
bad='' n_killed=0
for i in $(seq 1 12); do
    "$COLLECT" pack spool -o out.tar.zst 2>/dev/null &
    pid=$!
    sleep "0.0$((i * 7 % 10))"
    kill -9 $pid 2>/dev/null && n_killed=$((n_killed + 1))
    wait $pid 2>/dev/null
    cmp -s out.tar.zst old.tar.zst || cmp -s out.tar.zst want.tar.zst || bad="$bad $i"
done
check "packing killed $n_killed times: the archive is the old one or the new one, never half" test -z "$bad" -a "$n_killed" -gt 3
use sanitized
check "packed again" "$COLLECT" pack spool -o out.tar.zst
check "as if nothing had been" cmp out.tar.zst want.tar.zst
check "nothing is left beside it" sh -c '! ls -d .unverified* .summaries* 2>/dev/null'

# ---- nothing can be written, and the disk is full
if [ "$(id -u)" = 0 ] && mkdir ro small && mount -t tmpfs -o size=40m tmpfs ro 2>/dev/null; then
    cp -R spool ro/spool && mount -o remount,ro ro
    check_status 125 "run: a read-only target is refused before the program starts" "$COLLECT" run -o ro/x.tar -- touch started
    check "it did not start" test ! -e started
    check_status 2 "pack: a read-only target" "$COLLECT" pack spool -o ro/x.tar
    check "pack: a spool that is read-only" "$COLLECT" pack ro/spool -o from-ro.tar.zst
    check "the same archive" cmp from-ro.tar.zst want.tar.zst
    umount ro
    mount -t tmpfs -o size=300k tmpfs small
    check_status 2 "the disk fills while summaries are made" "$COLLECT" pack spool -o small/x.tar
    check "nothing is left on it" sh -c '[ -z "$(ls -A small)" ]'
    umount small
else
    skip "read-only targets, a disk that fills" "needs root and tmpfs"
fi

# ---- many
use plain
"$COLLECT" run -o threads.tar -- ./burst 500 64 >burst.out 2>said
made=$(grep -oE '[0-9]+' burst.out | head -n 1)
check "64 threads: every event ($made)" metadata threads.tar "2 * .collector.events == $made and .collector.dropped_events == 0"
# Twice as much memory, because it has room for 128 processes at once, and on a busy machine the collector may be late to
# free the entries of those that ended.
"$COLLECT" run -o storm.tar --io off --max-mb 16 -- bash -c 'for i in $(seq 200); do ./marks 2 >/dev/null & done; wait' 2>said
check "200 processes at once: every event of every one" metadata storm.tar '.collector.events == 1600 and .collector.traces == 200'
MARKS_STEP_US=500000 "$COLLECT" run -o crowd.tar --io off --max-mb 1 -- bash -c 'for i in $(seq 60); do ./marks 1 >/dev/null & done; wait' 2>said
check "more processes than there is room for: said once, with what was lost" manifest crowd.tar '[.incomplete_because[] | select(test("events of processes that got no trace"))] | length == 1'
check "and counted once" test "$(metadata crowd.tar .collector.dropped_events)" = "$(sed -n 's/.*INCOMPLETE: \([0-9]*\) events of processes.*/\1/p' said)"
"$COLLECT" run -o exec.tar -- bash -c 'for i in $(seq 20); do (./marks 1; exec ./marks 2); done' 2>said
check "fork and exec in turn" metadata exec.tar '.collector.events == 240'
check "verify all" "$COLLECT" verify threads.tar storm.tar exec.tar
finish
