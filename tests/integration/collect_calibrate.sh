#!/bin/bash
# dccollect calibrate: alone and under mpirun; its result in an archive.
# alone: it measures the machine
# plain: it measures the machine
# shellcheck disable=SC2016,SC2317  # commands for another shell; functions that check calls
. tests/lib/tap.sh
. tests/data/programs/build.sh
unset OMPI_COMM_WORLD_RANK PMIX_RANK PMI_RANK SLURM_PROCID
top=$PWD
cd "$TMP" || exit 1
# spread JQ: n, median, min, max that belong together
spread='(.n >= 1 and .min > 0 and .min <= .median and .median <= .max)'
# A disturbance is reported on standard error and in the file, in the same words, or in neither. warned FILE ERR
warned() {
    diff <(jq -r '[.. | objects | .disturbed // empty] | .[:8][]' "$1" | sort) \
        <(sed -n 's/^dccollect calibrate: warning: .*: \(.*\)[.]$/\1/p' "$2" | sort)
}
closing() { # ERR: the lines that are no warning
    grep -v '^dccollect calibrate: warning: ' "$1"
}

SECONDS=0
# An earlier file with other formatting is replaced.
echo '{"format":"dcreport-calibration","version":0}' >calibration.json
"$COLLECT" calibrate >out 2>err
check "it ends well" test "$?" -eq 0
echo "# alone: $SECONDS s"
check "within 20 s" test "$SECONDS" -lt 20
check "one closing line, on standard error" test ! -s out -a "$(closing err | grep -c '')" -eq 1 -a "$(closing err | grep -c 'calibration.json: 1 node')" -eq 1
check "it warns of what was disturbed, and of nothing else" warned calibration.json err
check "format and version" jq -e '.format == "dcreport-calibration" and .version == 1' calibration.json
check "arithmetic: one core and all, their unit, precision and kernel" \
    jq -e ".nodes[0].fma | .unit == \"GFLOP/s\" and .precision == \"float32\" and (.kernel | length > 0) and (.one_core | $spread) and (.all_cores | $spread)" calibration.json
check "the closing line says the most of it" \
    grep -q "the first, $(nproc) cores\?: $(jq .nodes[0].fma.all_cores.max calibration.json | awk '{ printf $1 < 1000 ? "%.3g" : "%.0f", $1 }') GFLOP/s" err
check "memory: arrays beyond the cache, or it says so" \
    jq -e ".nodes[0].memory | (.array_bytes >= 4 * .last_level_cache_bytes or .note != null) and (.one_core | $spread) and (.all_cores | $spread)" calibration.json
widest() { # bytes of the widest registers of an x86 processor
    case " $(grep -m1 '^flags' /proc/cpuinfo) " in *" avx512f "*) echo 64 ;; *" avx "*) echo 32 ;; *) echo 16 ;; esac
}
if [ "$(uname -m)" = x86_64 ]; then
    check "... with the widest registers of the processor" test "$(jq .nodes[0].memory.register_bytes calibration.json)" = "$(widest)"
fi
check "cores are those it may use" test "$(jq .nodes[0].cores calibration.json)" = "$(nproc)"
check "no all-reduce, and why" jq -e '.allreduce == null and (.missing.allreduce | test("mpirun"))' calibration.json
check "nothing else is left" test "$(ls -A)" = "$(printf 'calibration.json\nerr\nout\ntap.out')"

# The peak must equal the rate of the assembler loop in multiply_add.c. Both are the best of many pieces by processor time, so
# that other programs matter little; two retries allow for a changed clock frequency.
(cd "$top" && build_program multiply_add multiply_add.c)
ratio=none
for _ in 1 2 3; do
    rate=$(taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')" "$TMP/multiply_add")
    [ "$rate" != none ] || break
    ratio=$(jq --argjson rate "$rate" '.nodes[0].fma.one_core.max / $rate' calibration.json)
    awk -v r="$ratio" 'BEGIN { exit !(r >= 0.95 && r <= 1.05) }' && break
    "$COLLECT" calibrate -o calibration.json 2>err
done
echo "# of instructions of our own: $ratio"
if [ "$rate" = none ]; then
    skip "the peak is the rate of multiply-adds in registers" "no loop for this processor"
else
    check "the peak is the rate of multiply-adds in registers" awk -v r="$ratio" 'BEGIN { exit !(r >= 0.95 && r <= 1.05) }'
fi
if command -v clang >/dev/null; then
    fused() { # target instruction: its number in the kernels
        clang --target="$1" -ffreestanding -std=c11 -O2 -ffp-contract=fast -I"$top" -S -o - "$top/collect/calibrate/loops.c" |
            sed -n '/^multiply_add.*:/,/^\t*\.size/p' | grep -c "$2"
    }
    check "it is one instruction on x86 and on Arm" test "$(fused x86_64-linux-gnu vfmadd)" -ge 24 -a "$(fused aarch64-linux-gnu fmla)" -ge 16
else
    skip "it is one instruction on x86 and on Arm" "no clang"
fi
check "no library does it" sh -c '! ldd "$1" | grep -qi -e blas -e mkl' - "$BIN/dccollect-calibrate"

busy=()
for _ in $(seq $((2 * $(nproc)))); do # two per core, so that wherever they run none has less than one
    (while :; do :; done) &
    busy+=($!)
done
"$COLLECT" calibrate -o busy.json 2>err
kill "${busy[@]}"
wait "${busy[@]}" 2>/dev/null
check "on a busy machine the file says so, for one core and for all" \
    jq -e '.nodes[0] | [.fma, .memory | .one_core, .all_cores | .disturbed] | all(test("other work|slower|together"))' busy.json
check "and so does standard error" warned busy.json err
check "with what to do" grep -q 'warning: .*Measure again' err

# A CPU quota of half a core, by cgroup version 1 or 2. Processor time does not show the quota, so the report must apply it.
cgroup=''
while read -r _ mount type options _; do
    case $type,$options, in
    cgroup,*,cpu,*) cgroup=$mount/dcrquota.$$ ;;
    cgroup2,*) [ -n "$cgroup" ] || ! grep -qw cpu "$mount/cgroup.subtree_control" || cgroup=$mount/dcrquota.$$ ;;
    esac
done </proc/mounts
made() { # a group that has the quota
    [ -n "$cgroup" ] && mkdir "$cgroup" || return
    if [ -e "$cgroup/cpu.max" ]; then echo 50000 100000 >"$cgroup/cpu.max"; else
        echo 100000 >"$cgroup/cpu.cfs_period_us" && echo 50000 >"$cgroup/cpu.cfs_quota_us"
    fi
}
under_quota() {
    (echo "$BASHPID" >"$cgroup/cgroup.procs" && exec "$@")
}
if made 2>/dev/null && under_quota true 2>/dev/null; then
    under_quota "$COLLECT" calibrate -o quota.json 2>err
    check "under a quota: it is in the file" jq -e '.nodes[0].cores_quota == 0.5' quota.json
    check "and the closing line is about that part of the cores" grep -q "the first, 0.5 core: $(jq '.nodes[0] | .fma.all_cores.max * 0.5 / .cores' quota.json |
        awk '{ printf $1 < 1000 ? "%.3g" : "%.0f", $1 }') GFLOP/s" err
    jq 'del(.. | .disturbed?)' quota.json >calm.json # this test is not about neighbours
    under_quota "$COLLECT" run -o quota.tar --adopt out.quota --calibration calm.json -- \
        "$BIN/dcrnn-train" --batch 8 --steps 6 --days 2 --validate-every 0 --out out.quota >said 2>&1
    check_status 0 "its report" "$BIN/dcreport" quota.tar -o site.quota
    check "its peak is that of half a core" jq -e --slurpfile c quota.json \
        '(.runs[0].roofline.peak_gflop_per_s / (0.5 * $c[0].nodes[0].fma.one_core.max)) as $r | $r > 0.99 and $r < 1.01' site.quota/report.json
else
    skip "under a quota" "needs root and a cpu cgroup"
fi
for _ in 1 2 3 4 5 6 7 8 9 10; do # what has just ended leaves it a moment later
    [ ! -d "${cgroup:-/no}" ] || rmdir "$cgroup" 2>/dev/null || sleep 0.2
done

if command -v mpirun >/dev/null; then
    # Bound to a core each: together they have them all.
    # This is the recipe of the manual page.
    mkdir recipe
    "${MPIRUN[@]}" -n 2 "$COLLECT" calibrate -o recipe/calibration.json 2>err
    "$COLLECT" run --spool recipe -- true 2>said && "$COLLECT" pack recipe -o recipe.tar 2>said
    check "the recipe of the manual" manifest recipe.tar '[.members[] | select(.role == "calibration")] | length == 1'
    cp recipe/calibration.json two.json
    check "two ranks: one closing line" test "$(closing err | grep -c '')" -eq 1 -a "$(closing err | grep -c 'all-reduce of 2 ranks')" -eq 1
    check "they warn alike" warned two.json err
    check "one node with all its cores" test "$(jq '.nodes | length' two.json) $(jq .nodes[0].cores two.json)" = "1 $(nproc)"
    check "sizes ascend, times have their spread" \
        jq -e '.allreduce | length == 1 and (.[0].points | length >= 3 and ([.[].bytes] | . == sort) and all(.min_ns > 0 and .min_ns <= .median_ns and .median_ns <= .max_ns))' two.json
    check "latency is the smallest size's, bandwidth the best" \
        jq -e '.allreduce[0] | .latency_ns == .points[0].median_ns and (.algbw_gb_per_s / ([.points[] | .bytes / .median_ns] | max) | . > 0.99 and . < 1.01)' two.json
    check "bus bandwidth of two is the same" jq -e '.allreduce[0] | .busbw_gb_per_s == .algbw_gb_per_s' two.json
    check_status 2 "ranks and a folder that is not there" timeout 120 "${MPIRUN[@]}" -n 2 "$COLLECT" calibrate -o none/two.json
else
    skip "under mpirun" "no mpirun"
    cp calibration.json two.json
fi

# ---- in an archive
"$COLLECT" run -o run.tar --calibration two.json -- true 2>err
check "run --calibration: in the archive" manifest run.tar '[.members[] | select(.name == "calibration.json")][0].role == "calibration"'
check "as it was" diff <(member run.tar calibration.json | jq -S .) <(jq -S . two.json)
check "verify" "$COLLECT" verify run.tar
"$COLLECT" run --spool spool -- true 2>err
check "pack --calibration" "$COLLECT" pack spool --calibration two.json -o packed.tar
check "the same file" cmp <(member packed.tar calibration.json) two.json
cp calibration.json spool/
check "a calibration in the spool is taken by itself" "$COLLECT" pack spool -o packed.tar
check "that one" cmp <(member packed.tar calibration.json) calibration.json
check_status 3 "the report reads it" "$BIN/dcreport" run.tar -o site
check "and does not miss it" sh -c '! grep -q "Left out.*calibration" tap.out' 

# ---- refused
refused() { # refused "name" SENTENCE ARGS...
    local status=0
    "$COLLECT" calibrate "${@:3}" 2>err || status=$?
    check "$1" test "$status $(cat err)" = "2 dccollect calibrate: $2"
}
refused "an unknown option" "unknown option '--what'. See \`dccollect calibrate --help\`." --what
refused "an option without value" "option '-o' needs a value. See \`dccollect calibrate --help\`." -o
refused "a folder that is not there" "cannot write 'none/x.json': there is no folder 'none'. Make it first." -o none/x.json
check "... and is not made" test ! -e none
cp run.tar mine.tar
echo "my notes" >notes.txt
echo "{\"format\": \"dcreport\"}" >other.json
for f in notes.txt mine.tar other.json; do
    cp "$f" before
    check "what calibrate did not write stays: $f" sh -c '"$1" calibrate -o "$2" 2>err; test $? -eq 2 && grep -q "exists and is not a calibration" err && cmp "$2" before' - "$COLLECT" "$f"
done
check_status 125 "run: a file that is none" "$COLLECT" run -o x.tar --calibration err -- true
check_status 2 "pack: a file that is not there" "$COLLECT" pack spool --calibration none.json -o x.tar
jq '.version = 9' two.json >later.json
check_status 2 "pack: a later version" "$COLLECT" pack spool --calibration later.json -o x.tar
check "none of them wrote an archive" test ! -e x.tar
finish
