#!/bin/bash
# Death in every form, with everything on: the program's output, files and status are the same as without the collector,
# and the trace has the events before.
# plain: it limits the address space, of which ASan reserves all
# shellcheck disable=SC2016,SC2317  # commands for another shell; functions that check calls
. tests/lib/tap.sh
. tests/data/programs/build.sh
unset OMPI_COMM_WORLD_RANK PMIX_RANK PMI_RANK SLURM_PROCID
build_trace_text || not_ok "trace_text builds"
build_program die die.c || not_ok "die builds"
cd "$TMP" || exit 1
ulimit -c 0

# died HOW SPOOL: alone and under the collector; then looks at the trace
died() {
    local how=$1 plain=0 with=0
    shift
    mkdir -p plain with
    (cd plain && exec "$@" ../die "$how") >plain.txt 2>plain.err || plain=$?
    rm -rf spool
    (cd with && exec "$@" "$COLLECT" run --spool ../spool --io-threshold 1000000 -- ../die "$how") >with.txt 2>with.err || with=$?
    sed -i '/^dccollect: recorded in/d' with.err
    if [ "$plain" -eq "$with" ] && cmp -s plain.txt with.txt && [ "$(grep -c . plain.err)" -eq "$(grep -c . with.err)" ] &&
        cmp -s plain/die.out with/die.out; then
        ok "$how: same status ($plain), output and files"
    else
        not_ok "$how: same status, output and files" "$plain and $with; $(diff plain.txt with.txt; diff plain.err with.err; cmp plain/die.out with/die.out)"
    fi
}
has() { # NAME OPEN-RANGES
    local line
    line=$(for t in spool/rank0/*.dct; do ./trace_text "$t"; done 2>&1)
    if [ "$(grep -c '\[die|step|step\]' <<<"$line")" -eq 200 ] && grep -q "dropped=0 bad=0 missing=0 unmatched=0 open=$2 torn=0" <<<"$line" &&
        grep -q '^file .*/die.out\] .*write=200:2000000' <<<"$line"; then
        ok "$1: 200 ranges and 200 writes are in the trace"
    else
        not_ok "$1: 200 ranges and 200 writes are in the trace" "$(grep -v '|step|' <<<"$line" | head -n 20)"
    fi
}
for how in exit _exit quick abort segv kill term exec; do
    died $how
    has $how 1
done
died thread
check "exit while threads name ranges: every block is sound" sh -c './trace_text spool/rank0/*.dct --count | grep -q "bad=0 missing=0 unmatched=0 .*torn=0"'

# ---- memory: a limit on addresses, and the kernel's own killer
died oom bash -c 'ulimit -v 500000; exec "$@"' -
has "no memory (ulimit -v)" 1
# A separate group with 300 MB, version 2 or 1; prints its folder.
make_group() {
    local dir=/sys/fs/cgroup/dcr-test-$$
    [ "$(id -u)" = 0 ] || return 1
    if mkdir "$dir" 2>/dev/null && [ -e "$dir/memory.max" ] && echo 300M >"$dir/memory.max"; then
        echo 0 >"$dir/memory.swap.max" || true
    else
        rmdir "$dir" || true
        dir=/sys/fs/cgroup/memory/dcr-test-$$
        mkdir "$dir" && echo 300M >"$dir/memory.limit_in_bytes" || return 1
    fi 2>/dev/null
    echo "$dir"
}
if group=$(make_group 2>/dev/null); then
    died oom bash -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$group"
    # Only the program is killed, as the largest process of the group; its collector reports it.
    has "killed for want of memory" 1
    for _ in 1 2 3 4 5; do rmdir "$group" 2>/dev/null && break; sleep 0.2; done
else
    skip "killed for want of memory" "needs root and a memory cgroup of its own"
fi

# ---- the disk of the evidence is full, or goes away
if [ "$(id -u)" = 0 ] && mkdir full && mount -t tmpfs -o size=200k tmpfs full 2>/dev/null; then
    (cd plain && exec ../die exit >../plain.txt)
    with=0
    (cd with && "$COLLECT" run --spool ../full/spool -- ../die exit >../with.txt 2>../with.err) || with=$?
    # A disk this small may not even hold the collector's own records. Then it reports this with 125, and the program's
    # output is still whole.
    check "a full disk: the program's output is the same" cmp plain.txt with.txt
    check "and so is its status, or the collector says that it failed" sh -c '[ "$1" -eq 7 ] || { [ "$1" -eq 125 ] && grep -q "No space" with.err; }' - "$with"
    umount full
else
    skip "a full disk" "needs root and a tmpfs"
fi
mkdir gone
# One removal may not be enough, because the sampler of the host makes files there meanwhile.
(cd with && exec "$COLLECT" run --spool ../gone/spool -- sh -c 'while [ -e ../gone ]; do rm -rf ../gone 2>/dev/null; done; exec ../die exit') >with.txt 2>with.err
with=$?
check "the folder of the evidence is removed: output as ever" cmp plain.txt with.txt
check "the collector says that what was recorded is gone" test "$with" -ne 0 -a "$(grep -c "was removed while the program ran" with.err)" -eq 1 -a "$(grep -c "recorded in" with.err)" -eq 0
mkdir away
(cd with && exec "$COLLECT" run -o ../away/run.tar -- sh -c 'rm -rf ../away; exec ../die segv') >with.txt 2>with.err
check "removed, and the program crashes: status of the crash" test "$?" -eq 139

# ---- a static binary: nothing is recorded, and this is reported
if "$CC" -static -o static -x c - <<<'#include <stdio.h>
int main(void) { puts("static"); return 9; }' 2>/dev/null; then
    "$COLLECT" run -o static.tar -- ./static >with.txt 2>with.err
    check "a static binary: status and output" test "$?" -eq 9 -a "$(cat with.txt)" = static
    check "nothing recorded, with the reason" metadata static.tar '.collector.nvtx | test("statically linked")'
else
    skip "a static binary" "no static C library here"
fi
finish
