#!/bin/bash
# Calls on files: what is counted, what is an event, what is left alone; forks, threads, signal handlers, dead processes.
# shellcheck disable=SC2016,SC2317  # commands for another shell; functions that check calls
# alone: it counts calls that took long
. tests/lib/tap.sh
. tests/data/programs/build.sh
unset OMPI_COMM_WORLD_RANK PMIX_RANK PMI_RANK SLURM_PROCID
build_trace_text || not_ok "trace_text builds"
build_program io_calls io_calls.c || not_ok "io_calls builds"
build_program io_hard io_calls.c -O2 -D_FORTIFY_SOURCE=2 || not_ok "io_calls builds with fortified calls"
build_program io_large io_calls.c -D_FILE_OFFSET_BITS=64 -D_LARGEFILE64_SOURCE || not_ok "io_calls builds for large files"
build_program burst burst.c || not_ok "burst builds"
build_program keys keys.c || not_ok "keys builds"
IO=$INJECT
cd "$TMP" || exit 1
# record_io SPOOL THRESHOLD-US CMD...
record_io() {
    local spool=$1 us=$2
    shift 2
    rm -rf "$spool"
    "$COLLECT" run --spool "$spool" --mpi off --cuda off --python off --io-threshold "$us" -- "$@" 2>record.err
}
files() { # SPOOL: sums per file of all its traces
    for t in "$1"/rank0/*.dct; do ./trace_text "$t" | sed -n "s|^file \[$PWD/|[|p"; done | sort
}

# ---- every call, no event: all is in the sums
cat >want <<'END'
[copied] read=0:0- write=1:5000 other=2:0
[streamed] read=1:8192 write=2:10100 other=3:0
[written] read=6:10516 write=3:1049876 other=9:0
END
for program in io_calls io_hard io_large; do
    record_io s 900000 ./$program calls
    check "$program does what it does alone" test "$?" -eq 0
    # sendfile is the sixth reading call, close of the descriptor's copy belongs to the file too
    files s >got
    check "$program: calls and bytes per file" diff want got
done
check "pipes, /proc and our own files are not in it" sh -c '! ./trace_text s/rank0/*.dct | grep -E "pipe|/proc/|trace-"'

# ---- a threshold of nothing: each call is an event, the sums are empty
record_io s 1 env ./io_calls calls
n=$(./trace_text s/rank0/*.dct | grep -c '^span .*\[io|io|')
check "long calls are events, with file and bytes" sh -c './trace_text s/rank0/*.dct | grep -q "span depth=0 .io|io|write. bytes=1048576 file=.*/written"'
sums=$(./trace_text s/rank0/*.dct | sed -n 's/^file .*read=\([0-9]*\):.*write=\([0-9]*\):.*other=\([0-9]*\):.*/\1+\2+\3/p' | paste -sd+)
# fwrite of 100 bytes is never timed, fread of a filled buffer may take less than a microsecond
check "together they are all 27 calls" test $((n + ${sums:-0})) -eq 27

# ---- quiet processes
record_io s 900000 ./io_calls quiet
check "a process that hardly touches files leaves no trace" sh -c '! ls s/rank0 2>/dev/null | grep -q .'
"$COLLECT" run --io-threshold 900000 -o quiet.tar -- ./io_calls quiet 2>err
check "and the metadata says why there is nothing" metadata quiet.tar '.collector.io | test("^nothing recorded because")'
"$COLLECT" run -o off.tar --io off -- ./io_calls calls 2>err
check "--io off" metadata off.tar '.collector | .io_calls == 0 and (.io | test("switched off"))'
"$COLLECT" run -o on.tar -- ./io_calls calls 2>err
check "on by itself" metadata on.tar '.collector | .io == "ok" and .io_calls == 27 and .events == 0'
check "and in the report" sh -c '"$0"/dcreport on.tar -o site >/dev/null 2>&1; jq -e ".runs[0].files | map(select(.name | endswith(\"/written\")))[0].write.bytes == 1049876" site/report.json' "$BIN"

# ---- calls that cannot be seen do not count as 0: the kernel's totals show them
cat >printed.c <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
int main(void)
{
    static char bytes[2000000]; /* seen, so that there is a trace */
    FILE *f = fopen("numbers", "w");
    int seen = open("seen", O_CREAT | O_WRONLY, 0666);
    for (int i = 0; f && i < 1000000; i++)
        fprintf(f, "%d\n", i);
    return !f || fclose(f) != 0 || write(seen, bytes, sizeof bytes) != sizeof bytes;
}
END
"$CC" -O1 -o printed printed.c
"$COLLECT" run -o printed.tar -- ./printed 2>err && "$BIN/dcreport" printed.tar -o printed.site >/dev/null 2>&1
# in_report EXPRESSION: of the run in the report of printed.tar
in_report() {
    jq -e ".runs[0] | $1" printed.site/report.json >/dev/null || { jq -c '.runs[0] | .files, .files_total' printed.site/report.json && false; }
}
check "6.9 MB by fprintf: no writes of 0 bytes" in_report '.files | map(select(.name | endswith("/numbers")))[0].write | .calls == null and .bytes == null'
check "all of it is counted, and attributed to no call" in_report '.files_total | .because == null and .write.recorded_bytes == 2000000 and .write.not_attributed_bytes >= 6888890 and .write.not_attributed_bytes < 7000000'
check "on the page" sh -c 'grep "(not attributed: unseen calls such as fprintf" printed.site/runs/*/index.html | grep -q "6\.89.*MB"'
check "and in the text" sh -c 'grep -q "^written .* 6.89 MB not attributed" printed.site/runs/*/profiling_report.txt'
check "what is recorded is explained" sh -c 'jq -e ".runs[0].files_total.write | .recorded_bytes > 1060000 and .not_attributed_bytes >= 0 and .not_attributed_bytes < 20000" site/report.json'
tar xf printed.tar rank0/process_monitor.csv && cut -d, -f1-21 rank0/process_monitor.csv >older.csv && mkdir -p older/rank0 && cp older.csv older/rank0/process_monitor.csv
"$BIN/dcreport" older -o older.site >/dev/null 2>&1
check "an archive of before: missing, and why" sh -c 'jq -e ".runs[0].files_total | .write.bytes == null and (.because | test(\"no totals of the kernel\"))" older.site/report.json'

# ---- fork, threads, handlers
record_io s 900000 ./io_calls fork
cat >want <<'END'
[before] read=0:0- write=1:1048576 other=2:0
[both] read=0:0- write=1:222 other=0:0-
[both] read=0:0- write=2:1048687 other=1:0
[child] read=0:0- write=1:1048576 other=2:0
END
files s >got
check "after a fork each process counts its own" diff want got
record_io s 900000 ./io_calls threads 50000
check "8 threads on one file: exact" test "$(files s)" = "[shared] read=0:0- write=400000:4000000 other=1:0"
handled=$(record_io s 900000 ./io_calls handler 200000)
check "a handler that writes: as much as was written" test "$(files s | sed -n 's/.plain. .*write=\([0-9]*:[0-9]*\).*/\1/p')" = "200001:1248576"
got=$(files s | sed -n 's/.handled. .*write=\([0-9]*\):.*/\1/p')
# Calls that interrupt the recorder's own code are passed on and not counted.
check "what the handler wrote: at most that, and most of it" test "${got:-0}" -le "$handled" -a "$((10 * ${got:-0}))" -ge "$((5 * handled))"
rm -f before both child shared plain handled

# ---- killed: the sums are in the file at every moment
record_io s 900000 sh -c './io_calls threads 100000000 & sleep 1.5; kill -9 $!; wait $! 2>/dev/null'
size=$(stat -c %s shared)
read -r n bytes <<<"$(files s | sed -n 's/.shared. .*write=\([0-9]*\):\([0-9]*\).*/\1 \2/p')"
check "killed: no call but those under way is missing" test $((size - ${bytes:-0})) -ge 0 -a $((size - ${bytes:-0})) -le 80
check "counts and bytes fit" test $((10 * ${n:-0} - ${bytes:-0})) -ge -80 -a $((10 * ${n:-0} - ${bytes:-0})) -le 80
rm -f shared

# ---- together with ranges: one file, one clock
record_io s 900000 ./burst 1000
check "ranges are recorded under the interposer as ever" sh -c './trace_text s/rank0/*.dct --count | grep -q "^events=1000 dropped=0 bad=0 missing=0 unmatched=0 open=0"'
# A library of the program's that counts its calls: the recorder's own are not among them, and chroot() is its own.
"$CC" -shared -fPIC -O1 -o watch.so -x c - <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static int n[5];
#define PASS(I, TYPE, NAME, PARAMS, ARGS) \
    TYPE NAME PARAMS { TYPE(*next) PARAMS; *(void **)&next = dlsym(RTLD_NEXT, #NAME); n[I]++; return next ARGS; }
PASS(0, ssize_t, write, (int fd, const void *b, size_t k), (fd, b, k))
PASS(1, ssize_t, pwrite, (int fd, const void *b, size_t k, off_t at), (fd, b, k, at))
PASS(2, int, close, (int fd), (fd))
int open(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
    n[3]++;
    return openat(AT_FDCWD, path, flags, mode);
}
int chroot(const char *path) { n[4]++; return path == NULL; }
__attribute__((constructor)) static void at_load(void) { chroot("/nowhere"); }
__attribute__((destructor)) static void at_exit(void) { fprintf(stderr, "%d %d %d %d %d\n", n[0], n[1], n[2], n[3], n[4]); }
END
cat >names.c <<'END'
#include <stdlib.h>
#include <unistd.h>
int dcc_range_push(const char *, const char *, const char *, unsigned long long) __attribute__((weak));
int main(void)
{
    for (int i = 0; i < 9000 && dcc_range_push; i++)
        dcc_range_push("d", 0, "name", i);
    char said = (char)(malloc(24 << 20) ? '0' + dup(1) : 'n');
    return write(1, &said, 1) != 1 || chroot("/nowhere") > 0;
}
END
"$CC" -O1 -o names names.c
LD_PRELOAD=$PWD/watch.so ./names >/dev/null 2>want
record_io s 900000 env LD_PRELOAD="$IO $PWD/watch.so" ./names >/dev/null
grep -v '^dccollect' record.err >got
check "a library that counts the program's calls counts no more of them ($(cat want))" diff want got
check "while the recorder made its trace" sh -c './trace_text s/rank0/*.dct --count | grep -q "^events=9000 "'
scarce='ulimit -n 64; ulimit -v 48000; ./names 2>/dev/null'
sh -c "$scarce" >want
record_io s 900000 sh -c "$scarce" >got
check "few descriptors and little memory: they are the program's ($(cat want))" sh -c 'cmp want got && ! grep -q n got && ./trace_text s/rank0/*.dct --count | grep -q " dropped=0 .* open=9000 "'
if command -v python3 >/dev/null; then
    record_io s 900000 python3 -c 'open("py", "wb").write(b"x" * 3000000); print(len(open("py", "rb").read()))' >out
    check "an interpreter's files" sh -c 'grep -qx 3000000 out' && check "are counted" sh -c './trace_text s/rank0/*.dct | grep -q "/py. read=[1-9][0-9]*:3000000.* write=1:3000000"'
    mkdir many
    record_io s 900000 python3 -c 'for i in range(1500): open(f"many/{i:0150}", "w").write(2048 * "y")'
    check "1,500 files, more names than a block holds, are known by their names" sh -c 'test "$(./trace_text s/rank0/*.dct | grep -c "/many/[0-9]*. .*write=1:2048")" = 1500'
fi

check "the first event of a thread, in a signal handler that interrupts malloc()" record_io s 900000 timeout 300 ./keys 300
check "is recorded" sh -c './trace_text s/rank0/*.dct --count | grep -Eq "^events=[1-9]"'

# ---- one recorder in a process, although an outer collector loads the one with MPI. Other libraries stay, in their order.
"$CC" -shared -o other.so -xc /dev/null || not_ok "an empty library builds"
rm -rf s
LD_PRELOAD="$PWD/other.so" "$COLLECT" run --spool outer --mpi on -- "$COLLECT" run --spool s --mpi off --io-threshold 900000 -- \
    sh -c './io_calls calls && echo "$LD_PRELOAD" | tr ":" "\n" >loaded; echo "$NVTX_INJECTION64_PATH" >nvtx' 2>err
printf '%s\n' libdccollect-inject.so other.so >want
check "a collector in a collector: one recorder" diff want <(sed 's|.*/||' loaded)
check "NVTX gets the same" test "$(cat nvtx)" = "$(head -n 1 loaded)"
printf '%s\n' '[copied] read=0:0- write=1:5000 other=2:0' '[streamed] read=1:8192 write=2:10100 other=3:0' >want
files s | grep -v written >got
check "which counts as it does alone" diff want got
rm -rf s
"$COLLECT" run --spool s --mpi on --io off -- sh -c './io_calls calls; echo "$LD_PRELOAD" >loaded' 2>err
check "MPI without files: loaded" grep -q 'libdccollect-mpi.so$' loaded
check "and no file is counted" sh -c '! find s -name "*.dct" | grep -q .'
finish
