#!/usr/bin/env bash
# train_loader.sh - training is the same to the bit whoever loads and from where; files of windows that are not what they
# should be end it with a sentence; reads that shall be cold reach the disk, checkpoints are synced when they shall be.
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
    file=$TMP/windows.$format
    check "--write-windows, $format" "$BIN/dcrnn-train" "${data[@]}" --write-windows "$file" --windows-format $format --windows-chunk 50
    same_as_plain "$format file" --windows "$file" --loader-workers 1
done
if command -v mpirun >/dev/null; then
    check "two ranks" "${two[@]}" "${train[@]}" --out "$TMP/two"
    check "two ranks from a file, with workers" "${two[@]}" "${train[@]}" --windows "$TMP/windows.text" --loader-workers 1 --out "$TMP/run"
    same_two() { cmp <(losses "$TMP/two") <(losses "$TMP/run"); }
    check "two ranks: the same losses" same_two
    rm -rf "$TMP/run"
fi
check "a resumed run, first part" "${train[@]}" --loader-workers 2 --checkpoint-every 1000 --steps 17 --out "$TMP/run"
check "a resumed run, second part" "${train[@]}" --loader-workers 2 --resume "$TMP/run/checkpoint.bin" --out "$TMP/run"
check "a resumed run: the same losses" cmp "$TMP/plain" <(losses "$TMP/run")
rm -rf "$TMP/run"

# ---- files that are not what they should be -----------------------------------------------------------------------
refused() { # name sentence option...
    local name=$1 sentence=$2
    shift 2
    check_status 2 "$name" "${train[@]}" --out "$TMP/run" "$@"
    cp "$TMP/tap.out" "$TMP/said"
    check "$name: says so in one line" test "$(grep -c '^dcrnn-train: ' "$TMP/said")" -eq 1
    check "$name: and what" grep -q -e "$sentence" "$TMP/said"
}
head -c 5000 "$TMP/windows.raw" >"$TMP/cut"
refused "a file that is cut" "'$TMP/cut' have 5000 of their" --windows "$TMP/cut"
refused "a file of something else" "'$BIN/dcrnn-train' holds no windows" --windows "$BIN/dcrnn-train"
refused "a file of other data" "other data" --windows "$TMP/windows.raw" --data-seed 9
refused "no file" "No such file" --windows "$TMP/absent"
refused "no file, asked before training" "No such file" --check-data --windows "$TMP/absent"
refused "cold memory" "--cold needs" --cold
refused "two files" "leave out" --windows "$TMP/windows.raw" --stage-windows
refused "a folder that cannot be written" "cannot" --stage-windows --out /proc/nowhere
for format in raw text; do
    cp "$TMP/windows.$format" "$TMP/bad"
    printf 'X' | dd of="$TMP/bad" bs=1 seek=4000 conv=notrunc 2>/dev/null # in an early chunk, behind the index
    refused "a damaged $format file" "'$TMP/bad' are damaged: the chunk of row" --windows "$TMP/bad"
    refused "a damaged $format file, workers" "'$TMP/bad' are damaged: the chunk of row" --windows "$TMP/bad" --loader-workers 2
done
if command -v mpirun >/dev/null; then
    check_status 2 "a damaged file ends both ranks" timeout 300 "${two[@]}" "${train[@]}" --windows "$TMP/bad" --loader-workers 1 --out "$TMP/run"
    cp "$TMP/tap.out" "$TMP/said"
    check "one rank says why" test "$(grep -c '^dcrnn-train: ' "$TMP/said")" -eq 1
fi
mkdir "$TMP/kept"
ln -s /dev/full "$TMP/kept/w.partial"
check_status 2 "a full disk" "$BIN/dcrnn-train" "${data[@]}" --write-windows "$TMP/kept/w"
check "nothing is left of it" test ! -e "$TMP/kept/w" -a ! -L "$TMP/kept/w.partial"

# ---- signals ------------------------------------------------------------------------------------------------------
"${train[@]}" --steps 100000 --epochs 100000 --stage-windows --windows-format text --loader-workers 2 --out "$TMP/long" >"$TMP/log" 2>&1 &
pid=$!
for _ in $(seq 1200); do
    [ "$(wc -l 2>/dev/null <"$TMP/long/steps-rank0.csv" || echo 0)" -lt 3 ] || break
    sleep 0.1
done
kill -TERM $pid
wait $pid
check "SIGTERM ends a run with workers in order" test $? -eq 143
check "its table has whole rows" awk -F, 'NR == 1 { n = NF } NF != n { exit 1 }' "$TMP/long/steps-rank0.csv"

# ---- what reaches the disk ----------------------------------------------------------------------------------------
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
    check "warm reads" watch --windows "$TMP/windows.raw"
    warm=$(told read_bytes)
    check "cold reads" watch --windows "$TMP/windows.raw" --cold
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
