#!/bin/bash
# dccollect anonymise: no name of a host, user, home path, job, label or branch is left, every number stays, and the
# archive is whole.
# shellcheck disable=SC2016,SC2317  # commands for another shell; functions that check calls
. tests/lib/tap.sh
. tests/data/programs/build.sh
build_make_ranks || not_ok "make_ranks builds"
cat >"$TMP/names.c" <<'END'
#include "collect/guest/entry.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
/* names HOST: ranges that name a user, a host and a path; writes a file in the home folder. */
int main(int argc, char **argv)
{
    char text[200];
    int (*push)(const char *, const char *, const char *, uint64_t) = dlsym(RTLD_DEFAULT, "dcc_range_push");
    int (*pop)(const char *) = dlsym(RTLD_DEFAULT, "dcc_range_pop");
    for (int i = 0; push && i < 40; i++) {
        push("app", "step", "step", (uint64_t)i);
        snprintf(text, sizeof text, "copy to %s", argc > 1 ? argv[1] : "");
        push("app", "compute", i % 2 ? "load /home/alice/set-x/a.bin" : text, 0);
        pop("app");
        pop("app");
    }
    static char bytes[4 << 20];
    FILE *f = fopen(argv[2], "w");
    fwrite(bytes, sizeof bytes, 1, f);
    return fclose(f);
}
END
gcc -std=gnu11 -O1 -I. -o "$TMP/names" "$TMP/names.c" -ldl || not_ok "names builds"
recorded=$PWD/tests/data/archives/recorded
cd "$TMP" || exit 1
host=$(uname -n)

# same_numbers A B: the reports of two archives have the same numbers, booleans and nulls at the same places.
same_numbers() {
    local i=0 a
    for a; do
        i=$((i + 1))
        "$BIN/dcreport" "$a" -o "site$i" >/dev/null 2>&1 || [ $? -eq 3 ] || return 1
        jq -c '[paths(type | IN("number", "boolean", "null")) as $p | [$p, getpath($p)]]' "site$i/report.json" >"numbers$i"
    done
    test "$(wc -c <numbers1)" -gt 1000 && cmp numbers1 numbers2
}
# silent_on ARCHIVE WORD...: none of the words is in its bytes or in names of members.
silent_on() {
    local archive=$1 word
    shift
    zstd -dcqf "$archive" >plain.tar 2>/dev/null || cp "$archive" plain.tar
    for word; do
        ! grep -aqF -- "$word" plain.tar || { echo "'$word' is there: $(grep -aoF -m 3 -- "$word" plain.tar | head -n 3)"; return 1; }
    done
}

mkdir -p home/alice/set-x
(cd home/alice && git init -q -b alice/secret-branch . && cp ../../names . && git add names && git -c user.name=alice -c user.email=alice@example.org commit -qm x)
(cd home/alice && SLURM_JOB_ID=771177 SLURM_JOB_NAME=acme-weather SLURM_JOB_USER=alice SLURM_JOB_ACCOUNT=70123456 SLURM_JOB_UID=90876543 SLURM_PROCID=0 NCCL_IB_GID_INDEX=3 SLURM_NTASKS=1 OMP_NUM_THREADS=2 MASTER_ADDR=10.20.30.40 \
    NCCL_SOCKET_IFNAME=eth-acme "$COLLECT" run -o "$TMP/run.tar" --label "customer=Big Corp" --label global_batch=64 -- \
    ./names "$host" "$TMP/home/alice/set-x/out.bin" --project acme-weather --lr=0.5) 2>/dev/null
check "an archive with names" "$COLLECT" verify run.tar
check "... is anonymised" "$COLLECT" anonymise run.tar anonymous.tar
check "... into one that verifies" "$COLLECT" verify anonymous.tar
check "... the same bytes each time" eval '"$COLLECT" anonymise run.tar again.tar && cmp again.tar anonymous.tar'
check "... with the same numbers" same_numbers run.tar anonymous.tar
names=(alice acme-weather 771177 70123456 90876543 'Big Corp' customer secret-branch set-x eth-acme "$TMP")
[ "${#host}" -lt 4 ] || names+=("$host")
check "every name is in the first one, before and after" eval 'for w in "${names[@]}"; do tar xOf run.tar | grep -aqF -- "$w" || [ "$w" = eth-acme ] || { echo "$w"; exit 1; }; done'
check "none is in the second" silent_on anonymous.tar "${names[@]}"
member anonymous.tar job_metadata.json >meta.json
check "a host, a job, a branch and a label have words" eval \
    'jq -e ".nodes[0].host == \"host-1\" and .scheduler.job_id == \"job-1\" and .git.branch == \"branch-1\" and .labels.global_batch == \"64\"" meta.json'
check "numbers that are no names stay" eval 'jq -e ".scheduler.variables | .SLURM_PROCID == \"0\" and .SLURM_NTASKS == \"1\" and (has(\"SLURM_JOB_ACCOUNT\") | not)" meta.json'
check "options and their numbers stay" eval 'jq -e ".command[3:] == [\"--project\", .command[4], \"--lr=0.5\"]" meta.json'
check "the same host has the same word in traces" eval '"$COLLECT" export anonymous.tar -o - --format csv 2>/dev/null | cut -d, -f2 | sort -u | grep -qx host-1'
check "in names of ranges only paths, hosts and users are replaced" eval '"$COLLECT" export anonymous.tar -o - --format csv 2>/dev/null | cut -d, -f9 | grep -q "^load /path-[0-9]*/user-[12]/"'
check "a compressed one" eval '"$COLLECT" anonymise run.tar small.tar.zst && "$COLLECT" verify small.tar.zst && test "$(wc -c <small.tar.zst)" -lt "$(wc -c <anonymous.tar)"'
check "... is silent too" silent_on small.tar.zst "${names[@]}"
check "anonymised again it has the same numbers" eval '"$COLLECT" anonymise anonymous.tar twice.tar && same_numbers anonymous.tar twice.tar'

# Summaries of traces that were left out, and several hosts.
./make_ranks spool 4 20 2 && "$COLLECT" pack spool -o ranks.tar --traces rank0 2>/dev/null
check "four ranks on two hosts" "$COLLECT" anonymise ranks.tar ranks2.tar
check "... have the same numbers" same_numbers ranks.tar ranks2.tar
check "... and two words for hosts" test "$(member ranks2.tar job_metadata.json | jq -c '[.nodes[].host]')" = '["host-1","host-2"]'
for name in gpu mpi stopped summaries data-on files; do
    check "recorded: $name" "$COLLECT" anonymise "$recorded/$name.tar.zst" "$name.tar"
    check "... has the same numbers" same_numbers "$recorded/$name.tar.zst" "$name.tar"
done

# Files of other programs are left out, and the archive says so.
mkdir results && echo "epoch,train_loss
1,2.5" >results/metrics.csv && echo "secret of alice" >results/notes.txt && echo "alice logs in" >results/out.log
"$COLLECT" pack results -o results.tar 2>/dev/null
check "a results folder" eval '"$COLLECT" anonymise results.tar results2.tar >said'
check "... a line for each kind that is left out" test "$(grep -c '^left out: 1 member of kind' said)" = 2
check "... which the manifest names too" eval 'member results2.tar manifest.json | jq -e ".anonymised.left_out | .other.n == 1 and .log.n == 1"'
check "... and none of it inside" silent_on results2.tar alice notes.txt out.log
check "... the table as it was" test "$(member results2.tar metrics.csv)" = "$(cat results/metrics.csv)"

# One clear sentence, and nothing half-written.
refuses() {
    local want=$1 said status=0
    shift
    said=$("$COLLECT" anonymise "$@" 2>&1 >/dev/null) || status=$?
    [ "$status: $said" = "2: dccollect: $want" ] || { echo "$status: $said"; return 1; }
}
check "an output that exists" refuses "'again.tar' exists and is not overwritten. Remove it or choose another name." run.tar again.tar
check "the input as output" refuses "'run.tar' and './run.tar' are the same file. Give the new archive another name." run.tar ./run.tar
check "one name" refuses "anonymise takes two names. Write \`dccollect anonymise RUN.tar ANONYMOUS.tar\`." run.tar
check "no such file" eval '! "$COLLECT" anonymise gone.tar new.tar 2>said && grep -q "gone.tar.*No such file" said && test "$(wc -l <said)" = 1'
echo "no archive" >text.txt
check "no archive" eval '! "$COLLECT" anonymise text.txt new.tar 2>said && grep -qx "dccollect: cannot anonymise .text.txt.: it is not a run archive. Name one that dccollect packed." said && test "$(wc -l <said)" = 1'
head -c 20000 run.tar >cut.tar
check "a cut archive, named once" eval '! "$COLLECT" anonymise cut.tar new.tar 2>said && grep -q "cannot read .cut.tar.: damaged or cut short" said && test "$(grep -o "cut\.tar" said | wc -l)" = 1'
check "no folder for the output" eval '! "$COLLECT" anonymise run.tar nowhere/new.tar 2>said && grep -q "there is no folder .nowhere.. Make it first." said'
check "nothing is left of those" eval '! ls -A | grep -E "^new|unverified|partial"'
finish
