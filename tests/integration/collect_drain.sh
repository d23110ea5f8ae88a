#!/bin/bash
# The shared memory between program and collector when one of them is stopped or killed, when a disk fails, and where
# memory for it is scarce. In each case the program ends as it does alone, and what was recorded and what was lost add up.
# plain: a library is preloaded into the collector, which the sanitizers do not allow
# shellcheck disable=SC2016,SC2317  # commands for another shell; functions that check calls
. tests/lib/tap.sh
. tests/data/programs/build.sh
build_marks || not_ok "marks builds"
build_program burst burst.c || not_ok "burst builds"
build_program stress stress.c || not_ok "stress builds"
build_trace_text || not_ok "trace_text builds"
cd "$TMP" || exit 1

# adds_up FILE RANGES: recorded and dropped are all of them, and no block is damaged
adds_up() {
    local events dropped
    read -r events dropped <<<"$(./trace_text "$1" --count | sed -n 's/^events=\([0-9]*\) dropped=\([0-9]*\) bad=0 missing=0 unmatched=0 .*/\1 \2/p')"
    echo "recorded ${events:-?} dropped ${dropped:-?} made $2"
    [ $((${events:-0} + ${dropped:-0})) -eq "$2" ]
}
nothing_left() { # SPOOL: no segment that it names
    ! ls "$1"/segment-* 2>/dev/null
}

# ---- the collector is stopped under load: the program goes on, and the segment fills up
"$COLLECT" run --spool stopped --io off --max-mb 1 -- sh -c 'touch begun; sleep 0.5; ./burst 1000000; date +%s%N >ended' >out 2>err &
collector=$!
while [ ! -e begun ]; do sleep 0.05; done
kill -STOP $collector
for _ in $(seq 600); do [ -s ended ] && break; sleep 0.1; done
check "SIGSTOP of the collector: the program comes to its end" test -s ended
kill -CONT $collector
wait $collector
check "and the collector to its own, with the program's status" test "$?" -eq 0
check "recorded and dropped are all ranges" adds_up "$(echo stopped/rank0/*.dct)" 1000000
check "something was dropped" sh -c './trace_text stopped/rank0/*.dct --count | grep -q " dropped=[1-9]"'
"$COLLECT" pack stopped -o stopped.tar 2>err
check "but no sum lacks them" sh -c 'tar xOf stopped.tar "$(tar tf stopped.tar | grep summary-)" | jq -es "map(select(.name? == \"one of many\")) | .[0].n == 1000000"'
"$BIN/dcreport" -o stopped.site stopped.tar >stopped.out 2>&1
check "and the report says so" grep -q "Sums of calls and ranges include the lost events" stopped.out
check "nothing is left in memory" nothing_left stopped

# ---- the same, and ranges of the process end when there is no room: their ends have a reserve, later ranges have none
rm -f begun ended
"$COLLECT" run --spool ends --io off --max-mb 1 -- sh -c 'touch begun; sleep 0.5; ./stress ends >made; echo $? >ended' >out 2>err &
collector=$!
while [ ! -e begun ]; do sleep 0.05; done
kill -STOP $collector
for _ in $(seq 600); do [ -s ended ] && break; sleep 0.1; done
kill -CONT $collector
wait $collector
check "ends of process ranges without room: the program's status" test "$(cat ended)" = 0
check "recorded and dropped are all ranges" adds_up "$(echo ends/rank0/*.dct)" 400020
check "most ends were recorded" sh -c './trace_text ends/rank0/*.dct --count | grep -q " open=[0-9] "'

# ---- while the program rests the collector sleeps; it wakes up when the program runs
OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_SIZE=2 "$COLLECT" run --spool rest --max-mb 4 -- ./burst 100000 1 4000 >out 2>err &
collector=$!
switches() {
    cat /proc/$collector/task/*/status | awk '/^voluntary/ { n += $2 } END { print n }'
}
sleep 1.5
before=$(switches)
sleep 2
after=$(switches)
check "the program rests: the collector wakes up at most 6 times in 2 s ($((after - before)))" test $((after - before)) -le 6
wait $collector
check "a burst behind it: nothing is lost" adds_up "$(echo rest/rank1/*.dct)" 100000
check "and nothing is dropped" sh -c './trace_text rest/rank1/*.dct --count | grep -q " dropped=0 "'

# ---- one process reaches its limit on disk: the others go on
"$COLLECT" run --spool limit --io off --max-mb 1 --keep all --max-disk-mb 1 -- sh -c './burst 400000 & sleep 0.3; ./marks 100; wait' >out 2>err
for trace in limit/rank0/*.dct; do ./trace_text "$trace" --count; done >counts
check "a process at its limit on disk: another one loses nothing" grep -q '^events=400 dropped=0 ' counts

# ---- a child in the background goes on when the program has ended
MARKS_STEP_US=20000 "$COLLECT" run -o background.tar --io off -- sh -c './marks 30 & sleep 0.1' >out 2>err
check "all that it records is in the archive" metadata background.tar '.collector.events == 120'

# ---- if a trace keeps its newest events, another process sums up all of them
summing() { # COLLECTOR SPOOL: that process, when it is at work
    local p
    for _ in $(seq 500); do compgen -G "$2/rank0/summary-*.partial" >/dev/null && break; sleep 0.02; done
    for p in $(pgrep -P "$1"); do
        readlink /proc/"$p"/fd/* | grep -q 'summary-.*partial' && echo "$p"
    done
}
rm -f ended
"$COLLECT" run --spool slow --io off --max-mb 1 --max-disk-mb 1 -- sh -c './burst 120000 2 10; echo $? >ended' >out 2>err &
collector=$!
sums=$(summing $collector slow)
kill -STOP "$sums"
for _ in $(seq 600); do [ -s ended ] && break; sleep 0.1; done
kill -CONT "$sums"
wait $collector
"$COLLECT" pack slow -o slow.tar 2>err
check "it is too slow: the archive says that events are missing because of it" manifest slow.tar \
    '.incomplete_because | any(test("could not record [0-9]+ events .events came faster than they could be summed up"))'
"$COLLECT" run --spool behind --io off --max-disk-mb 1 -- ./burst 1000000 2 10 >out 2>err &
collector=$!
sums=$(summing $collector behind)
kill -STOP "$sums"
kill -9 "$(pgrep -P $collector burst)" $collector
wait $collector 2>/dev/null
"$COLLECT" pack behind -o behind.tar 2>err &
packing=$!
sleep 0.5
check "pack waits for it when the collector was killed" test ! -e behind.tar
kill -CONT "$sums"
wait $packing
check "and takes its sums" test "$?" -eq 0
check "none is lost" manifest behind.tar '.incomplete_because | any(test("sums .* are lost")) | not'

# ---- the collector is killed: the program goes on, and pack takes the events in memory
rm -f begun ended
"$COLLECT" run --spool killed --io off --sync-seconds 0 -- sh -c 'touch begun; while [ ! -e go ]; do sleep 0.05; done; ./marks 3000; echo $? >ended' >out 2>err &
collector=$!
samples=killed/launcher/process_monitor.csv
while [ ! -e begun ] || [ "$(wc -l <$samples 2>/dev/null || echo 0)" -lt 2 ]; do sleep 0.05; done
kill -9 $collector
touch go
for _ in $(seq 600); do [ -s ended ] && break; sleep 0.1; done
check "SIGKILL of the collector: the program ends as it does alone" test "$(cat ended)" = 0
check "the memory is named in the spool" ls killed/segment-*
segment=$(cut -d' ' -f1 killed/segment-* | head -n 1)
rows=$(head -n "$(wc -l <$samples)" $samples)
printf '1790000000.123,45' >>$samples # SIGKILL can end a write in the middle of a row
check "it packs" "$COLLECT" pack killed -o killed.tar
check "a row without its end is left out, all others are there" test -n "$rows" -a "$(tar xOf killed.tar rank0/process_monitor.csv)" = "$rows"
check "recorded and dropped are all ranges" adds_up "$(echo killed/rank0/*.dct)" 12000
check "nothing is left in memory" sh -c '! ls killed/segment-* "$0" 2>/dev/null' "$segment"

# ---- program and collector are killed together
rm -f begun
setsid "$COLLECT" run --spool both --io off --sync-seconds 0 -- sh -c './marks 100; touch begun; exec sleep 100' >out 2>err &
collector=$!
while [ ! -e begun ]; do sleep 0.05; done
kill -9 -- -$collector
wait $collector
check "SIGKILL of all: it packs" "$COLLECT" pack both -o both.tar
check "and every range is there" adds_up "$(echo both/rank0/*.dct)" 400

# ---- a killed collector whose spool is gone leaves nothing in memory for long
rm -f begun
setsid "$COLLECT" run --spool lost -- sh -c './marks 10; touch begun; exec sleep 100' >out 2>err &
collector=$!
while [ ! -e begun ]; do sleep 0.05; done
segment=$(cut -d' ' -f1 lost/segment-*)
kill -9 -- -$collector
wait $collector
rm -rf lost
"$COLLECT" run --spool next -- true 2>err
check "memory of a spool that is gone: the next run removes it" test ! -e "$segment"

# ---- the disk fails in the middle
cat >failing.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
ssize_t pwrite(int fd, const void *b, size_t n, off_t at)
{
    static int n_calls;
    ssize_t (*next)(int, const void *, size_t, off_t) = (ssize_t (*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, "pwrite");
    if (n > 4096 && __atomic_add_fetch(&n_calls, 1, __ATOMIC_RELAXED) > 6) {
        errno = EIO;
        return -1;
    }
    return next(fd, b, n, at);
}
END
"$CC" -shared -fPIC -O1 -D_FILE_OFFSET_BITS=64 -Dpwrite=pwrite64 -o failing64.so failing.c -ldl && "$CC" -shared -fPIC -O1 -o failing.so failing.c -ldl
LD_PRELOAD=$PWD/failing.so:$PWD/failing64.so "$COLLECT" run --spool eio -- env -u LD_PRELOAD ./burst 400000 >out 2>err
check "EIO: the program's status" test "$?" -eq 0
check "EIO: its output" grep -q '^800000 ' out
check "EIO: recorded and dropped are all ranges" adds_up "$(echo eio/rank0/*.dct)" 400000
check "EIO: some are dropped" sh -c './trace_text eio/rank0/*.dct --count | grep -q " dropped=[1-9]"'

# ---- scarce memory and descriptors
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
    for shm in 'size=1m' 'ro,size=1m'; do
        unshare -m sh -c 'mount -t tmpfs -o "$1" tmpfs /dev/shm && shift && exec "$@"' - "$shm" "$COLLECT" run --spool "shm-$shm" -- ./marks 50 2>err
        check "/dev/shm with $shm: the program's status" test "$?" -eq 0
        check "/dev/shm with $shm: all is recorded" adds_up "$(echo "shm-$shm"/rank0/*.dct)" 200
    done
else
    skip "/dev/shm of 1 MB, and one that is read-only" "needs root"
fi
"$COLLECT" run --spool narrow --max-mb 200 -- sh -c 'ulimit -v 100000; exec ./marks 50' 2>err
check "no address space for the memory: the program's status" test "$?" -eq 0
check "the record says how many processes had none" jq -e '.recorder.without_memory >= 1' narrow/launcher.json
"$COLLECT" run --spool files -- sh -c 'ulimit -n 4; exec ./marks 50' 2>err
check "a single descriptor: the program's status" test "$?" -eq 0
check "a single descriptor: all is recorded" adds_up "$(echo files/rank0/*.dct)" 200
finish
