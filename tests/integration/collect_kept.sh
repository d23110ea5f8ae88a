#!/bin/bash
# No evidence is lost and no program is harmed: closed standard streams, a full table of descriptors, two packs at once, full disks.
# plain: strace, under which LeakSanitizer does not work
# shellcheck disable=SC2016,SC2317  # commands for another shell; functions that check calls
. tests/lib/tap.sh
. tests/data/programs/build.sh
build_marks || not_ok "marks builds"
build_make_ranks || not_ok "make_ranks builds"
build_program full_table full_table.c || not_ok "full_table builds"
chmod 755 "$TMP"
cd "$TMP" || exit 1
trap 'umount "$TMP/small" 2>/dev/null; rm -rf "$TMP"' EXIT

# ---- standard streams that the program has closed
for how in first again closed; do
    check "standard output closed, $how: what the program writes goes nowhere" "$COLLECT" run -o "$how.tar" -- ./full_table "$how"
    check "$how: the archive is whole" "$COLLECT" verify "$how.tar"
done
for how in first again closed; do
    check "$how: no descriptor is needed, nothing is lost" metadata "$how.tar" '.collector.events > 0 and .collector.dropped_events == 0'
done

# ---- standard streams that are closed when we start
"$COLLECT" run --spool plain -- ./marks 20 2>/dev/null
"$COLLECT" pack plain -o plain.tar 2>/dev/null
n_bad=''
for closed in '>&-' '2>&-' '<&- >&- 2>&-'; do
    rm -f shut.tar
    eval "\"\$COLLECT\" pack plain -o shut.tar $closed" && cmp plain.tar shut.tar || n_bad="$n_bad [$closed]"
done >said 2>&1
check "packing with closed standard streams: the same bytes$n_bad" test -z "$n_bad"
"$COLLECT" run --spool shut -- sh -c '[ ! -e /proc/$$/fd/1 ] && [ ! -e /proc/$$/fd/2 ]' >&- 2>&-
check "the program finds them closed too" test $? -eq 0

# ---- two packs of one archive
./make_ranks first 64 400 8 && ./make_ranks second 32 400 8
"$COLLECT" pack second -o want.tar 2>/dev/null
# hold SPOOL: start packing it into two.tar and stop the process in the middle; its number is in $pid. Retries if it ended too early.
hold() {
    for _ in $(seq 20); do
        "$COLLECT" pack "$1" -o two.tar 2>held.err &
        pid=$!
        while kill -0 $pid 2>/dev/null && ! [ -s .unverified-two.tar ]; do :; done
        kill -STOP $pid 2>/dev/null
        while kill -0 $pid 2>/dev/null && ! grep -q '^State:.[TZ]' /proc/$pid/status; do :; done
        grep -qs '^State:.T' /proc/$pid/status && [ -s .unverified-two.tar ] && return
        kill -CONT $pid 2>/dev/null
        wait $pid
    done
    not_ok "a pack is stopped in the middle"
}
hold first
check_status 2 "a second pack of the same archive is refused" "$COLLECT" pack second -o two.tar
cp tap.out said
check "and says why" grep -q "another process is writing it" said
kill -CONT "$pid"
wait "$pid"
check "the first one is not disturbed" test $? -eq 0
check "its archive is whole" "$COLLECT" verify two.tar
check "and its own" manifest two.tar '.n_ranks == 64'
hold first
kill -9 "$pid"
wait "$pid" 2>/dev/null
check "what a killed pack leaves does not block the next" "$COLLECT" pack second -o two.tar
check "whose archive is as if nothing had been" cmp two.tar want.tar
for _ in 1 2 3; do
    "$COLLECT" pack first -o race.tar 2>/dev/null &
    pid=$!
    "$COLLECT" pack second -o race.tar 2>/dev/null
    b=$?
    wait $pid
    a=$?
    [ $a$b = 00 ] || [ $a$b = 02 ] || [ $a$b = 20 ] || echo "statuses $a and $b"
    "$COLLECT" verify race.tar >verified || cat verified
done >said 2>&1
check "two at once: one or both give a whole archive" test ! -s said
check "nothing is left beside them" sh -c '! ls -d .unverified* 2>/dev/null'
if command -v strace >/dev/null; then
    strace -f -y -o calls -e trace=fsync,rename,renameat "$COLLECT" pack second -o two.tar 2>/dev/null
    check "the folder is forced to the disk behind the rename" awk -v folder="<$(realpath .)>" '/rename.*"two.tar"/ { named = 1 } named && /fsync/ && index($0, folder) && / = 0$/ { done = 1 } END { exit !done }' calls
else
    skip "the folder is forced to the disk behind the rename" "no strace"
fi

# ---- a file that is nearly all holes
mkdir adopted
"$COLLECT" run -o sparse.tar --adopt adopted -- sh -c 'echo a,b >adopted/notes.csv; truncate -s 20G adopted/model.bin
    echo end >>adopted/model.bin; head -c 1000000 /dev/urandom >adopted/small.bin; truncate -s 3M adopted/small.bin' 2>said
check "a sparse file of 20 GB is not packed at its size" test "$(stat -c %s sparse.tar)" -lt 10000000
check "it is said" grep -q "; 1 sparse file left out" said
check "and recorded with its reason" metadata sparse.tar '[.not_packed[] | select(.name | endswith("model.bin"))] |
    length == 1 and .[0].size == 21474836484 and (.[0].reason | test("^a sparse file: 21.5 GB"))'
check "and the run is complete without it" manifest sparse.tar .complete
check "a small one is packed as it is" sh -c 'tar xOf sparse.tar small.bin | cmp - adopted/small.bin'
mkdir evidence
printf 'epoch,train_loss\n1,2\n' >evidence/metrics.csv
echo epoch,step >evidence/steps-rank0.csv
truncate -s 200M evidence/steps-rank0.csv
check "... one that is evidence is left out, too" "$COLLECT" pack evidence -o evidence.tar
check "and the archive is incomplete then" manifest evidence.tar \
    '.complete == false and (.incomplete_because | any(test("steps-rank0.csv. is not packed: a sparse file")))'
mkdir results && mv adopted/model.bin results/ && printf 'timestamp,epoch\n1,1\n' >results/metrics.csv
check "left out of a results folder too" "$COLLECT" pack results -o folder.tar
check "whose archive is small" test "$(stat -c %s folder.tar)" -lt 20000000
rm -rf adopted results

# ---- a trace that the collector may not read
if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --clear-groups test -x "$COLLECT" -a -x "$TMP"; then
    mkdir others && chmod 777 others
    setpriv --reuid 65534 --clear-groups "$COLLECT" run -o others/run.tar -- sh -c './marks 5; until chmod 0 others/run.tar.spool/rank0/trace* 2>/dev/null; do sleep 0.05; done' 2>said
    check "the archive of the rest is incomplete, and says why" manifest others/run.tar '.incomplete_because | any(test("rank0/trace-.*could not be read: Permission denied"))'
    check "the spool is kept, and what to do is said" grep -q "1 file of '.*others/run.tar.spool' could not be read, so the folder is kept. Make it readable, then: dccollect pack" said
    check "root packs all of it" "$COLLECT" pack others/run.tar.spool -o unread.tar
    check "no event is lost" metadata unread.tar '.collector.events == 20'
else
    skip "a trace that the collector may not read" "needs root, and another user who may come here"
fi

# ---- an archive that does not fit beside the spool
if [ "$(id -u)" = 0 ] && mkdir small && mount -t tmpfs -o size=2500k tmpfs small 2>/dev/null; then
    check_status 125 "no room for the archive" "$COLLECT" run -o small/run.tar -- ./marks 6000
    cp tap.out said
    check "the message tells how the program ended" grep -q "the program succeeded, but recording failed" said
    check "and says where the evidence is kept" grep -q "kept in '$TMP/small/run.tar.spool'" said
    spool=$(sed -n 's/.*`dccollect pack \([^ ]*\) -o .*/\1/p' said)
    check "and how it is packed" "$COLLECT" pack "$spool" -o elsewhere.tar
    check "nothing is lost: every event" metadata elsewhere.tar '.collector.events == 24000 and .collector.dropped_events == 0'
    check_status 7 "a program that failed: its own status" "$COLLECT" run -o small/run.tar -- sh -c './marks 20; exit 7'
    umount small
else
    skip "an archive that does not fit" "needs root and tmpfs"
fi
finish
