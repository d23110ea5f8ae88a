#!/bin/bash
# What reaches the disk, and how much: the machine dies (a snapshot of a loop-mounted image), a cap on the bytes of a trace.
# shellcheck disable=SC2016,SC2317  # commands for another shell; functions that check calls
# plain: strace, under which LeakSanitizer does not work
. tests/lib/tap.sh
. tests/data/programs/build.sh
WELLFORMED_NOT=dead.tar # a file that grew as the machine died may end in zeros, and is kept as it is
build_marks || not_ok "marks builds"
build_program burst burst.c || not_ok "burst builds"
cd "$TMP" || exit 1
trap 'umount "$TMP/after" "$TMP/disk" 2>/dev/null; rm -rf "$TMP"' EXIT

# ---- the cap: exact counts
"$COLLECT" run --keep all --max-disk-mb 1 -o capped.tar -- ./burst 100000 2 >burst.out 2>capped.err
made=$(grep -oE '[0-9]+' burst.out | head -n 1)
trace=$(tar tvf capped.tar | awk '/trace-.*dct/ { print $3 }')
check "--max-disk-mb: the trace keeps to its limit" test "$trace" -le 1048576 -a "$trace" -ge 900000
kept=$(metadata capped.tar .collector.events) dropped=$(metadata capped.tar .collector.dropped_events)
check "kept and dropped are all that were made ($made = 2 x ($kept + $dropped))" test "$made" -eq $((2 * (kept + dropped)))
check "the archive is incomplete, with the number" manifest capped.tar ".incomplete_because | any(test(\"could not record $dropped events\"))"
check "the reason is noted" metadata capped.tar '.collector.notes | any(test("--max-disk-mb"))'
check "the closing line has it" grep -q " $dropped events dropped" capped.err
check_status 125 "--max-disk-mb 0 is refused" "$COLLECT" run --max-disk-mb 0 -o x.tar -- true

# ---- the machine dies
if command -v strace >/dev/null; then
    # A file per thread: in one file, a call beside another thread's is cut in two lines.
    OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 strace -ff -o calls -e trace=fdatasync,fsync,openat "$COLLECT" run --sync-seconds 1 --spool traced -- env MARKS_STEP_US=50000 ./marks 50 2>/dev/null
    cat calls.* >calls
    check "the trace and the folder are forced to the disk" sh -c 'grep -q "openat.*rank0/trace-.*dct.*O_NONBLOCK" calls && [ "$(grep -c "fdatasync(.*= 0" calls)" -ge 4 ] && grep -q "fsync(.*= 0" calls'
else
    skip "the trace and the folder are forced to the disk" "no strace"
fi

# snapshot SECONDS OUT: a run on a file system of its own, whose medium is copied while the program runs: what the disk
# holds at that moment is all that a dead machine leaves.
snapshot() {
    dd if=/dev/zero of=disk.img bs=1M count=64 status=none && mkfs.ext4 -q -O ^has_journal disk.img || return 1
    mkdir -p disk && mount -o loop disk.img disk || return 1
    env MARKS_STEP_US=10000 "$COLLECT" run --sync-seconds "$1" --spool disk/spool -- ./marks 400 2>/dev/null &
    local run=$!
    sleep 3.2
    python3 -c 'import time; print(time.clock_gettime_ns(time.CLOCK_MONOTONIC))' >died
    cp --sparse=always disk.img "$2"
    wait $run
    cp -r disk/spool "$2.spool"
    umount disk
}
if [ "$(id -u)" = 0 ] && command -v mkfs.ext4 >/dev/null && snapshot 1 dead.img; then
    fsck.ext4 -fy dead.img >/dev/null 2>&1
    mkdir -p after && mount -o loop dead.img after
    check "the machine dies: what is left packs" "$COLLECT" pack after/spool -o dead.tar
    check "it is marked incomplete" manifest dead.tar '.complete | not'
    "$COLLECT" export dead.tar -o dead.csv 2>/dev/null
    "$COLLECT" pack dead.img.spool -o whole.tar 2>/dev/null && "$COLLECT" export whole.tar -o whole.csv 2>/dev/null
    last=$(awk -F, '$5 == "range" && $16 == 0 { print $11 }' dead.csv | sort -n | tail -n 1)
    lost_ms=$((($(cat died) - ${last:-0}) / 1000000))
    check "what is lost is at most the interval of 1 s, and the time that it takes (it was $lost_ms ms)" test "${last:-0}" -gt 0 -a "$lost_ms" -lt 1600
    grep ',range,.*,0,[0-9]*,0$' dead.csv >dead.rows && grep ',range,.*,0,[0-9]*,0$' whole.csv | head -n "$(wc -l <dead.rows)" >whole.rows
    check "what is left is the beginning of what was recorded" cmp dead.rows whole.rows
    umount after
else
    umount disk 2>/dev/null
    skip "the machine dies: a snapshot of its disk" "needs root, mkfs.ext4 and loop mounts"
fi
finish
