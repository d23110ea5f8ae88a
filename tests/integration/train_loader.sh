#!/usr/bin/env bash
# train_loader.sh - training is the same to the bit with any workers and any source. A file of windows that is damaged
# while it is read ends it with a sentence. Cold reads reach the disk, and checkpoints are synced on request.
# shellcheck disable=SC2317  # functions are called by check
. tests/lib/tap.sh
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
data=(--sensors 20 --days 3)
train=("$BIN/dcrnn-train" "${data[@]}" --units 8 --batch 16 --steps 30 --validate-every 0 --validation-windows 16)
two=(mpirun --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 -n 2)

# ---- the same bits ------------------------------------------------------------------------------------------------
losses() {
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "loss") c = i } { print $1, $2, $c }' "$1/steps-rank0.csv"
}
same_as_plain() { # name option...
    local name=$1
    shift
    check "$name: runs" "${train[@]}" --out "$TMP/run" "$@"
    check "$name: the same losses" cmp "$TMP/plain" <(losses "$TMP/run")
    check "$name: no file is left" test ! -e "$TMP/run/windows.bin" -a ! -e "$TMP/run/windows.bin.partial"
    rm -rf "$TMP/run"
}
check "a plain run" "${train[@]}" --out "$TMP/memory"
losses "$TMP/memory" >"$TMP/plain"
check "it has 30 different losses" test "$(awk 'NR > 1 { print $3 }' "$TMP/plain" | sort -u | wc -l)" -eq 30
same_as_plain "one worker" --loader-workers 1
same_as_plain "three workers, nothing ahead" --loader-workers 3 --prefetch 0
same_as_plain "staged, raw" --stage-windows
same_as_plain "staged, text, two workers" --stage-windows --windows-format text --loader-workers 2 --prefetch 4
for format in raw text; do
    same_as_plain "staged, $format, chunks of 50 rows" --stage-windows --windows-format $format --windows-chunk 50 --loader-workers 1
done
if command -v mpirun >/dev/null; then
    check "two ranks" "${two[@]}" "${train[@]}" --out "$TMP/two"
    check "two ranks from a file, with workers" "${two[@]}" "${train[@]}" --stage-windows --windows-format text --loader-workers 1 --out "$TMP/run"
    same_two() { cmp <(losses "$TMP/two") <(losses "$TMP/run"); }
    check "two ranks: the same losses" same_two
    rm -rf "$TMP/run"
fi
check "a resumed run, first part" "${train[@]}" --loader-workers 2 --checkpoint-every 1000 --steps 17 --out "$TMP/run"
check "a resumed run, second part" "${train[@]}" --loader-workers 2 --resume "$TMP/run/checkpoint.bin" --out "$TMP/run"
check "a resumed run: the same losses" cmp "$TMP/plain" <(losses "$TMP/run")
rm -rf "$TMP/run"

# ---- damaged files ------------------------------------------------------------------------------------------------
said_once() { # name sentence
    cp "$TMP/tap.out" "$TMP/said"
    check "$1: says so in one line" test "$(grep -c '^dcrnn-train: ' "$TMP/said")" -eq 1
    check "$1: and what" grep -q -e "$2" "$TMP/said"
}
refused() { # name sentence option...
    check_status 2 "$1" "${train[@]}" --out "$TMP/run" "${@:3}"
    said_once "$1" "$2"
}
refused "cold memory" "--cold needs" --cold
refused "a folder that cannot be written" "cannot" --stage-windows --out /proc/nowhere
mkdir "$TMP/kept"
ln -s /dev/full "$TMP/kept/windows.bin.partial"
check_status 2 "a full disk" "${train[@]}" --stage-windows --out "$TMP/kept"
check "nothing is left of it" test ! -e "$TMP/kept/windows.bin" -a ! -L "$TMP/kept/windows.bin.partial"

wait_for_rows() {
    for _ in $(seq 1200); do
        [ "$(wc -l 2>/dev/null <"$1/steps-rank0.csv" || echo 0)" -lt 3 ] || return 0
        sleep 0.1
    done
}
# The file has no name any more, but the process has it open. Its middle is overwritten.
damage() { # command...
    local pid staged
    rm -rf "$TMP/damaged"
    timeout 300 "$@" --steps 100000 --epochs 100000 --stage-windows --out "$TMP/damaged" &
    pid=$!
    wait_for_rows "$TMP/damaged"
    staged=$(find /proc/[0-9]*/fd -lname "$TMP/damaged/windows.bin (deleted)" 2>/dev/null | head -n 1)
    head -c 3000 /dev/zero | dd of="$staged" bs=3000 seek=5 conv=notrunc 2>/dev/null
    wait "$pid"
}
for format in raw text; do
    for workers in 0 2; do
        check_status 2 "a damaged $format file, $workers workers" damage "${train[@]}" --windows-format $format --loader-workers $workers
        said_once "a damaged $format file, $workers workers" "'$TMP/damaged/windows.bin' are damaged: the chunk of row"
    done
done
if command -v mpirun >/dev/null; then
    check_status 2 "a damaged file ends both ranks" damage "${two[@]}" "${train[@]}" --loader-workers 1
    said_once "two ranks" "are damaged: the chunk of row"
fi

# ---- signals ------------------------------------------------------------------------------------------------------
"${train[@]}" --steps 100000 --epochs 100000 --stage-windows --windows-format text --loader-workers 2 --out "$TMP/long" >"$TMP/log" 2>&1 &
pid=$!
wait_for_rows "$TMP/long"
kill -TERM $pid
wait $pid
check "SIGTERM ends a run with workers in order" test $? -eq 143
check "its table has whole rows" awk -F, 'NR == 1 { n = NF } NF != n { exit 1 }' "$TMP/long/steps-rank0.csv"

# ---- accesses to the disk -----------------------------------------------------------------------------------------
cat >"$TMP/watch.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int n_syncs;
int fsync(int fd)
{
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    __atomic_add_fetch(&n_syncs, 1, __ATOMIC_RELAXED);
    return real(fd);
}
__attribute__((destructor)) static void tell(void)
{
    char line[200];
    FILE *io = fopen("/proc/self/io", "r"), *out = fopen(getenv("WATCH_LOG"), "w");
    while (io && out && fgets(line, sizeof line, io))
        if (!strncmp(line, "read_bytes", 10))
            fputs(line, out);
    fprintf(out, "syncs: %d\n", n_syncs);
    fclose(out);
}
C
check "a library that watches" "${CC:-cc}" -shared -fPIC -o "$TMP/watch.so" "$TMP/watch.c" -ldl
watch() { # option... -> $TMP/watched
    env LD_PRELOAD="$TMP/watch.so" WATCH_LOG="$TMP/watched" "${train[@]}" --out "$TMP/run" "$@"
}
told() { sed -n "s/^$1: //p" "$TMP/watched"; }
check "checkpoints" watch --checkpoint-every 3
check "a checkpoint syncs file and folder" test "$(told syncs)" -eq 20
check "checkpoints without waiting" watch --checkpoint-every 3 --checkpoint-fsync no
check "no checkpoint syncs" test "$(told syncs)" -eq 0
if grep -q . /proc/self/io 2>/dev/null && ! df --output=fstype "$TMP" | grep -q tmpfs; then
    least=$((30 * 16 * 24 * 20 * 4)) # windows x rows x sensors
    check "warm reads" watch --stage-windows
    warm=$(told read_bytes)
    check "cold reads" watch --stage-windows --cold
    check "cold reads come from the disk ($(told read_bytes) bytes, warm $warm)" test "$(told read_bytes)" -ge $((warm + least))
    check "program.json says how" grep -qE '"windows_read_by": "(O_DIRECT|POSIX_FADV_DONTNEED)"' "$TMP/run/program.json"
    check "cold: the same losses" cmp "$TMP/plain" <(losses "$TMP/run")
else
    skip "cold reads" "$TMP is no disk, or the kernel does not count"
fi

# ---- marks of the workers -----------------------------------------------------------------------------------------
cat >"$TMP/listen.c" <<'C'
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static long n_own, n_worker, n_windows;
int dcc_range_push(const char *domain, const char *category, const char *name, uint64_t payload)
{
    if (!strcmp(name, "decode") && !strcmp(category, "data")) {
        __atomic_add_fetch(gettid() == getpid() ? &n_own : &n_worker, 1, __ATOMIC_RELAXED);
        __atomic_add_fetch(&n_windows, (long)payload, __ATOMIC_RELAXED);
    }
    return (void)domain, 0;
}
int dcc_range_pop(const char *domain) { return (void)domain, 0; }
__attribute__((destructor)) static void tell(void)
{
    FILE *out = fopen(getenv("LISTEN_LOG"), "w");
    fprintf(out, "%ld %ld %ld\n", n_own, n_worker, n_windows);
    fclose(out);
}
C
check "a listening library" "${CC:-cc}" -shared -fPIC -o "$TMP/listen.so" "$TMP/listen.c"
listen() {
    env LISTEN_LOG="$TMP/heard" NVTX_INJECTION64_PATH="$TMP/listen.so" "${train[@]}" --out "$TMP/run" "$@"
}
check "a run that is listened to" listen --loader-workers 2
if grep -q '"marks": "collector"' "$TMP/run/program.json"; then
    read -r own worker windows <"$TMP/heard"
    check "workers mark what they decode on their own threads ($worker pieces)" test "$own" -eq 0 -a "$worker" -ge 30
    check "and mark every window" test "$windows" -ge $((30 * 16))
    check "without workers" listen
    check "nobody marks it: it is data_load" test "$(cat "$TMP/heard")" = "0 0 0"
else
    skip "marks of workers" "marks of this build are NVTX's; the collector's tests see them"
fi
finish
