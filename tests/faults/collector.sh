#!/bin/bash
# Faults at random moments in program, collector and disk. The program's status and output are the same as without the collector,
# the archive can be read, and recorded and dropped events together are all events. Each fault once; LONG=1: 100 times.
# FAULT_SEED=N repeats the moments of an earlier run, FAULTS="disk eio" runs only these, FAULT_ROUNDS=N sets how often.
# plain: a library is preloaded into the collector, which the sanitizers do not allow
# shellcheck disable=SC2015,SC2016,SC2086,SC2317  # commands for another shell; numbers; functions that check calls
. tests/lib/tap.sh
. tests/data/programs/build.sh
WELLFORMED_NOT='*' # thousands of files, also of killed programs
build_program faults faults.c || not_ok "faults builds"
build_trace_text || not_ok "trace_text builds"
cd "$TMP" || exit 1
trap 'umount "$TMP/small" 2>/dev/null; rm -rf "$TMP"' EXIT
seed=${FAULT_SEED:-$([ "${LONG:-0}" = 0 ] && echo 1 || date +%s)}
RANDOM=$seed
rounds=${FAULT_ROUNDS:-1}
[ "${LONG:-0}" = 0 ] || rounds=${FAULT_ROUNDS:-100}
N=10000 # ranges of each part of the program, which has four
made=$((4 * N))
alone=$(NVTX_INJECTION64_PATH=$INJECT ./faults $N)
alone_status=$?

soon() { # a pause of up to 0.4 s: the program runs for about half a second
    sleep "0.$(printf %03d $((RANDOM % 400)))"
}
run() { # SPOOL OPTIONS...: in the background; its process id is in $collector
    local spool=$1
    shift
    "$COLLECT" run --spool "$spool" --io off --cuda off --python off "$@" -- sh -c "'$TMP/faults' $N >out; echo \$? >status" 2>err &
    collector=$!
}
is_undisturbed() {
    for _ in $(seq 300); do [ -s status ] && break; sleep 0.1; done
    [ "$(cat out)" = "$alone" ] && [ "$(cat status)" = "$alone_status" ] || { echo "out: $(cat out), alone: $alone; status $(cat status)"; return 1; }
}
counted() { # SPOOL: events and dropped ones of all traces, and those of processes that got none
    {
        for t in "$1"/rank0/*.dct; do ./trace_text "$t" --count; done |
            sed -n 's/^events=\([0-9]*\) dropped=\([0-9]*\) bad=0 missing=0 unmatched=0 .* torn=0 .*/\1 \2/p'
        jq '.recorder.lost_without_trace // 0 | "0 \(.)"' -r "$1/launcher.json"
    } | awk '{ e += $1; d += $2 } END { print e + 0, d + 0 }'
}
adds_up() { # SPOOL
    local events dropped
    read -r events dropped <<<"$(counted "$1")"
    [ $((events + dropped)) -eq $made ] || { echo "recorded $events dropped $dropped made $made"; return 1; }
}
packs() { # SPOOL: it can be packed, and the archive is sound
    "$COLLECT" pack "$1" -o spool.tar 2>err && "$COLLECT" verify spool.tar >/dev/null
}

none() {
    run spool
    wait $collector
    is_undisturbed && packs spool && adds_up spool
}
program_killed() {
    run spool
    while [ ! -e out ]; do sleep 0.01; done
    soon
    pkill -KILL -f "^$TMP/faults"
    wait $collector
    packs spool && { [ "$(cat status)" = 137 ] || is_undisturbed; }
}
collector_stopped() {
    run spool --max-mb 1
    soon
    kill -STOP $collector
    soon
    [ "${LONG:-0}" = 0 ] || [ $((RANDOM % 10)) -ne 0 ] || sleep 10
    kill -CONT $collector
    wait $collector
    is_undisturbed && packs spool && adds_up spool
}
collector_killed() {
    run spool
    while [ ! -e out ]; do sleep 0.01; done # before that, no program was started
    soon
    kill -KILL $collector
    wait $collector
    is_undisturbed || return 1
    while pgrep -f "^$TMP/faults" >/dev/null; do sleep 0.05; done
    packs spool && { ! ls spool/rank0/*.dct 2>/dev/null || adds_up spool; }
}
all_killed() {
    setsid "$COLLECT" run --spool spool --io off -- ./faults $N >out 2>err &
    collector=$!
    soon
    kill -KILL -- -$collector
    wait $collector
    # If it was killed before it wrote the record, there is no run to pack. The empty file only reserves the folder.
    [ ! -s spool/launcher.json ] || packs spool
}
ring() { # the oldest events are removed, and the counts still include them
    run spool --keep ring --max-disk-mb 1
    wait $collector
    is_undisturbed && packs spool &&
        for s in $(tar tf spool.tar | grep summary-); do member spool.tar "$s" | head -n 1; done |
        jq -es "map(.events + .dropped) | add == $made"
}
disk() { # a disk that fills up: events without room are counted
    mount -t tmpfs -o size=1m tmpfs small || return 1
    run small/spool --keep all
    wait $collector
    is_undisturbed && adds_up small/spool && packs small/spool
    local rc=$?
    umount small
    return $rc
}
eio() { # writes of the collector fail from a random moment on
    LD_PRELOAD=$PWD/failing.so FAIL_AFTER=$((RANDOM % 60 + 2)) "$COLLECT" run --spool spool --io off --keep all -- env -u LD_PRELOAD sh -c "'$TMP/faults' $N >out; echo \$? >status" 2>err
    is_undisturbed && adds_up spool && packs spool
}
removed() { # the spool is removed
    run spool
    soon
    rm -rf spool
    wait $collector
    is_undisturbed
}
clock() { # the time of day jumps back and forth
    LD_PRELOAD=$PWD/jumping.so "$COLLECT" run --spool spool --io off -- sh -c "'$TMP/faults' $N >out; echo \$? >status" 2>err
    is_undisturbed && packs spool && adds_up spool
}
seccomp() { # operations that a strict container forbids: memory without a name, descriptors of processes, new locks
    python3 refuse.py "$COLLECT" run --spool spool --io off -- sh -c "'$TMP/faults' $N >out; echo \$? >status" 2>err
    is_undisturbed && packs spool && adds_up spool
}

mkdir -p small
cat >failing.c <<'END'
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
static ssize_t fail(int fd, const void *b, size_t n, off_t at)
{
    static int n_calls;
    const char *after = getenv("FAIL_AFTER");
    if (after && n > 4096 && __atomic_add_fetch(&n_calls, 1, __ATOMIC_RELAXED) > atoi(after)) {
        errno = EIO;
        return -1;
    }
    return syscall(SYS_pwrite64, fd, b, n, at);
}
ssize_t pwrite(int fd, const void *b, size_t n, off_t at) { return fail(fd, b, n, at); }
ssize_t pwrite64(int fd, const void *b, size_t n, off_t at) { return fail(fd, b, n, at); }
END
cat >jumping.c <<'END'
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec *t)
{
    static unsigned n;
    int rc = (int)syscall(SYS_clock_gettime, id, t);
    if (id == CLOCK_REALTIME)
        t->tv_sec += __atomic_add_fetch(&n, 1, __ATOMIC_RELAXED) % 2 ? 86400 : -86400;
    return rc;
}
END
"$CC" -shared -fPIC -O1 -o failing.so failing.c && "$CC" -shared -fPIC -O1 -o jumping.so jumping.c || not_ok "the preloaded libraries build"
cat >refuse.py <<'END'
# refuse.py PROGRAM ARGUMENTS...: some system calls fail in it with EPERM, as in a strict container (a filter in BPF).
import ctypes, os, platform, struct, sys
refused = {"x86_64": [319, 434, 437, 425, 298], "aarch64": [279, 434, 437, 425, 241]}[platform.machine()]
code = [(0x20, 0, 0, 0)]  # the number of the call
for i, number in enumerate(refused):
    code.append((0x15, len(refused) - i, 0, number))
code += [(0x06, 0, 0, 0x7FFF0000), (0x06, 0, 0, 0x00050001)]  # allow; EPERM
program = b"".join(struct.pack("HBBI", *c) for c in code)
buffer = ctypes.create_string_buffer(program)
class Filter(ctypes.Structure):
    _fields_ = [("n", ctypes.c_ushort), ("code", ctypes.c_void_p)]
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(Filter(len(code), ctypes.addressof(buffer))), 0, 0):
    sys.exit("no filter: " + os.strerror(ctypes.get_errno()))
os.execvp(sys.argv[1], sys.argv[1:])
END

for fault in ${FAULTS:-none program_killed collector_stopped collector_killed all_killed ring disk eio removed clock seccomp}; do
    if [ $fault = disk ] && { [ "$(id -u)" != 0 ] || ! { mount -t tmpfs tmpfs small && umount small; }; } 2>/dev/null; then
        skip "$fault" "cannot mount"
        continue
    fi
    failed=''
    for round in $(seq $rounds); do
        rm -rf spool spool.tar status out err
        $fault >said 2>&1 || failed+="round $round: $(tail -n 3 said err 2>/dev/null); "
    done
    if [ -z "$failed" ]; then ok "$fault, $rounds times"; else not_ok "$fault, $rounds times (FAULT_SEED=$seed)" "$failed"; fi
done
finish
