#!/usr/bin/env bash
# train_marks.sh - without the NVTX headers the phases reach a collector through its own entry points, nested as
# documented and as many as there were steps; without a collector nothing happens. The build with the headers is
# watched by the collector's tests.
# shellcheck disable=SC2317  # functions are called by check
. tests/lib/tap.sh

# A substitute for the collector that prints its calls.
cat >"$TMP/listen.c" <<'C'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
static FILE *log_file;
int dcc_range_push(const char *domain, const char *category, const char *name, uint64_t payload)
{
    if (!log_file)
        log_file = fopen(getenv("LISTEN_LOG"), "w");
    fprintf(log_file, "+ %s %s %s %llu\n", domain, category, name, (unsigned long long)payload);
    return 0;
}
int dcc_range_pop(const char *domain)
{
    fprintf(log_file, "- %s\n", domain);
    return 0;
}
#ifndef OLD
uint64_t dcc_range_start(const char *domain, const char *category, const char *name, uint64_t payload)
{
    static uint64_t id;
    fprintf(log_file, "start %s %s %s %llu %llu\n", domain, category, name, (unsigned long long)payload, (unsigned long long)++id);
    return id;
}
void dcc_range_end(const char *domain, uint64_t id)
{
    fprintf(log_file, "end %s %llu\n", domain, (unsigned long long)id);
}
#endif
C
check "a listening library" "${CC:-cc}" -shared -fPIC -o "$TMP/listen.so" "$TMP/listen.c"
export LISTEN_LOG=$TMP/log

run=(--sensors 8 --days 1 --units 4 --batch 32 --epochs 2 --checkpoint-every 3 --validation-windows 10)
marks_of() { # program: the route of its marks, from its own output
    NVTX_INJECTION64_PATH=$TMP/listen.so "$1" "${run[@]}" --steps 1 --out "$TMP/probe" >/dev/null 2>&1
    sed -n 's/.*"marks": "\(.*\)",/\1/p' "$TMP/probe/program.json"
}
train=$BIN/dcrnn-train
if [ "$(marks_of "$train")" = nvtx ]; then
    train=$(realpath --relative-to=. "$BUILD")/tests/lib/dcrnn-train-without-nvtx
    check "the trainer builds without NVTX headers" make --no-print-directory BUILD="$(realpath --relative-to=. "$BUILD")" "$train"
    check "no other file of it knows them" test "$(grep -lr nvtx3 trainer)" = trainer/mark.c
fi
check "its marks go to the collector" test "$(marks_of "$train")" = collector

rm -f "$LISTEN_LOG"
check "a run that is listened to" env NVTX_INJECTION64_PATH="$TMP/listen.so" "$train" "${run[@]}" --out "$TMP/out"
# Every range closed; paths of open ranges, with their number.
awk '$1 == "+" { path = path "/" $4; depth++; print path, $3, $5 }
     $1 == "-" { sub("/[^/]*$", "", path); depth-- }
     END { exit depth != 0 }' "$LISTEN_LOG" >"$TMP/paths"
check "every range is closed" test $? -eq 0
steps=$(($(wc -l <"$TMP/out/steps-rank0.csv") - 1))
count() { awk -v p="$1" '$1 == p' "$TMP/paths" | wc -l; }
for range in "" /data_load /forward /backward /all_reduce /optimizer; do
    check "/epoch/step$range once per step" test "$(count "/epoch/step$range")" -eq "$steps"
done
# Without bytes: the previous one is removed in the step that proves the new one good.
written() { awk '$1 == "/epoch/step/checkpoint" && $3 > 0' "$TMP/paths" | wc -l; }
check "/epoch/step/checkpoint every third step" test "$(written)" -eq $((steps / 3))
check "... and the one before is removed but for the first, and the last when no step follows" test "$(($(count /epoch/step/checkpoint) - $(written)))" -eq $((steps / 3 - 1 - (steps % 3 == 0)))
check "/epoch/validation once per epoch" test "$(count /epoch/validation)" -eq 2
check "/epoch twice, nothing else at the top" test "$(grep -c '^/[a-z_]* ' "$TMP/paths")" -eq 2
check "no copies to a device that is not there" test "$(grep -c h2d "$TMP/paths")" -eq 0
numbers() { awk '$1 == "/epoch/step" { print $3 }' "$TMP/paths"; }
check "the payload of a step is its number" test "$(numbers)" = "$(seq 0 $((steps - 1)))"
cat >"$TMP/categories" <<'END'
/epoch step
/epoch/step step
/epoch/step/all_reduce comm
/epoch/step/backward compute
/epoch/step/checkpoint io
/epoch/step/data_load data
/epoch/step/forward compute
/epoch/step/optimizer compute
/epoch/validation validation
END
categories() { cut -d' ' -f1,2 "$TMP/paths" | sort -u | grep -v '^/epoch/checkpoint '; }
check "categories are as documented" test "$(categories)" = "$(cat "$TMP/categories")"
check "domain is dcrnn throughout" test "$(awk '$2 != "dcrnn"' "$LISTEN_LOG" | wc -l)" -eq 0

if command -v mpirun >/dev/null; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    check "two ranks" mpirun --oversubscribe --bind-to none -n 1 env "NVTX_INJECTION64_PATH=$TMP/listen.so" "$train" \
        "${run[@]}" --steps 2 --out "$TMP/two" : -n 1 "$train" "${run[@]}" --steps 2 --out "$TMP/two"
    bytes=$(awk -F, 'NR == 2 { print $14 }' "$TMP/two/steps-rank0.csv")
    check "the payload of all_reduce is its bytes" grep -q "^+ dcrnn comm all_reduce $bytes\$" "$LISTEN_LOG"
    # Each bucket is started once and ended once, with bytes that sum to the gradients'; counts (40 bytes) are in none.
    buckets() {
        awk -v bytes="$bytes" '$1 == "start" { n++; sum += $5; open[$6] = 1; if ($2 $3 $4 != "dcrnncommall_reduce_bucket") exit 1 }
             $1 == "end" { if (!open[$3]) exit 1; delete open[$3] }
             END { for (k in open) exit 1; exit !(n == 4 && sum == 2 * (bytes - 40)) }' "$LISTEN_LOG"
    }
    check "buckets are started and ended, two in each step" buckets
    check "a collector that knows no process ranges" "${CC:-cc}" -DOLD -shared -fPIC -o "$TMP/old.so" "$TMP/listen.c"
    check "is told the rest" mpirun --oversubscribe --bind-to none -n 1 env "NVTX_INJECTION64_PATH=$TMP/old.so" "$train" \
        "${run[@]}" --steps 2 --out "$TMP/two" : -n 1 "$train" "${run[@]}" --steps 2 --out "$TMP/two"
    check "and no buckets" test "$(grep -c all_reduce "$LISTEN_LOG")" -eq 2
fi

# Nobody there, or another tool: no marks, no harm.
check "no collector" "$train" "${run[@]}" --steps 2 --out "$TMP/none"
check "a library that is no collector" env NVTX_INJECTION64_PATH="$(ldd "$train" | awk '/libm\.so/ { print $3 }')" \
    "$train" "${run[@]}" --steps 2 --out "$TMP/none"
check "a library that does not exist" env NVTX_INJECTION64_PATH=/nonexistent.so "$train" "${run[@]}" --steps 2 --out "$TMP/none"
check "program.json says none" grep -q '"marks": "none"' "$TMP/none/program.json"
finish
