#!/bin/bash
# dccollect pack and verify on bad input: one clear sentence, the right status, nothing half-written.
# partly sanitized: bad input must not cause memory errors; what reads damaged archives runs with them
# shellcheck disable=SC2016,SC2317  # commands for another shell; functions that check calls
. tests/lib/tap.sh
. tests/data/programs/build.sh
build_marks || not_ok "marks builds"
cd "$TMP" || exit 1
"$COLLECT" run -o good.tar -- ./marks 200 2>/dev/null
check "a good archive" "$COLLECT" verify good.tar

# says STATUS NAME PATTERN CMD...: exact status, one line of complaint that holds the pattern
says() {
    local want=$1 name=$2 pattern=$3 got=0
    shift 3
    "$@" >says.out 2>&1 </dev/null || got=$?
    if [ "$got" -eq "$want" ] && grep -q -- "$pattern" says.out; then
        ok "$name"
    else
        not_ok "$name" "status $got instead of $want, wanted '$pattern' in: $(head -n 5 says.out)"
    fi
}

printf '#!/none/python3\n' >lost.py && chmod +x lost.py
says 127 "a script without its interpreter" "cannot start './lost.py': its interpreter or loader is missing. Look at its first line, or install it." "$COLLECT" run -o none.tar -- ./lost.py
says 127 "a program of this folder without ./" "cannot start 'marks': it is in this folder, not in PATH. Write ./marks." "$COLLECT" run -o none.tar -- marks
mkdir train
: >notes.py
says 127 "a folder is no program" "cannot start 'train': No such file or directory" "$COLLECT" run -o none.tar -- train
says 127 "a file that is no program" "cannot start 'notes.py': No such file or directory" "$COLLECT" run -o none.tar -- notes.py
rm -r train notes.py

# ---- nothing to check: 2
use sanitized
says 2 "verify: not there" "No such file" "$COLLECT" verify nowhere.tar
says 2 "verify: a folder" "cannot read" "$COLLECT" verify .
mkfifo nobody
for command in verify ls "export -o x.csv"; do
    # shellcheck disable=SC2086  # options of the command
    says 2 "$command: a pipe that nobody writes to" "cannot use 'nobody': it is a pipe. Write its content to a file and pass that file" "$COLLECT" $command nobody
done
rm nobody
says 2 "verify: no archive named" "no archive given[.] Name one or more, as in .dccollect verify RUN.tar.[.]$" "$COLLECT" verify
says 2 "ls: no archive named" "no archive given[.] Name one or more, as in .dccollect ls RUN.tar.[.]$" "$COLLECT" ls

# ---- incomplete archives: 1, however much of it is right
: >empty.tar
says 1 "verify: empty" "^dccollect: 'empty.tar' is empty[.] Copy or pack it again[.]$" "$COLLECT" verify empty.tar
tar cf memberless.tar --files-from=/dev/null
says 1 "verify: a tar without a member" "cannot read .memberless.tar.: it is not a tar archive" "$COLLECT" verify memberless.tar
head -c 100000 /dev/urandom >rubbish.tar
says 1 "verify: not a tar" "^dccollect: cannot read 'rubbish.tar': it is not a tar archive" "$COLLECT" verify rubbish.tar
printf 'hello' >hello && tar cf other.tar hello
says 1 "verify: a tar of something else" "manifest.json" "$COLLECT" verify other.tar
head -c 700 good.tar >front.tar
says 1 "verify: ends inside the manifest" "front.tar" "$COLLECT" verify front.tar
size=$(stat -c %s good.tar)
head -c $((size / 2)) good.tar >half.tar
says 1 "verify: truncated" "half.tar" "$COLLECT" verify half.tar
check "... in one sentence, once" sh -c '[ "$(sort says.out | uniq -d)" = "" ] && grep -q "FAILED, 1 problem$" says.out'
head -c $((size - 512)) good.tar >tail.tar
says 1 "verify: only the end behind the members is cut" "the end of the tar is missing" "$COLLECT" verify tail.tar
cat good.tar hello >behind.tar
says 1 "verify: garbage behind the end" "after the end of the tar, from byte $size on" "$COLLECT" verify behind.tar
says 0 "ls: garbage behind the end" "WRONG .*after the end" "$COLLECT" ls behind.tar
says 2 "ls: truncated, not complete" "DAMAGED" "$COLLECT" ls half.tar

flip() { # flip FILE OFFSET
    local byte
    byte=$(od -An -tu1 -j "$2" -N 1 "$1" | tr -d ' ')
    # shellcheck disable=SC2059  # the byte is made of its octal form
    printf "\\$(printf %03o $((byte ^ 1)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
# seal FILE: the manifest's own checksum again, after it was changed
seal() {
    local sum
    sum=$(sed -E 's/("manifest_sha256": ")[0-9a-f]{64}/\1'"$(printf '0%.0s' {1..64})"'/' "$1" | sha256sum | cut -c1-64)
    sed -Ei 's/("manifest_sha256": ")[0-9a-f]{64}/\1'"$sum"'/' "$1"
}
n_seen=0
n_tried=0
silent=''
# Every part of the archive: content, headers, padding of 512-byte records is not covered by any checksum.
for entry in job_metadata.json:'"dropped_events"' node0/cpu_monitor.csv:timestamp,cpu_percent rank0/rank.json:'"max_rss_bytes"'; do
    member=${entry%%:*}
    offset=$(grep -abo -F "${entry#*:}" good.tar | tail -n 1 | cut -d: -f1)
    cp good.tar flip.tar
    flip flip.tar $((offset + 20))
    n_tried=$((n_tried + 1))
    status=0
    "$COLLECT" verify flip.tar >says.out 2>&1 || status=$?
    if [ "$status" -eq 1 ] && grep -q "^dccollect: '$member' has the wrong checksum[.] Copy or pack it again[.]$" says.out; then n_seen=$((n_seen + 1)); else silent="$silent $member"; fi
done
check "verify: one flipped byte, and it names the member ($n_tried members)" test "$n_seen" -eq "$n_tried" 
# Every part of the content is covered, including the manifest; tests/unit/test_manifest_sum.c checks every byte. The
# padding of a member's last block and the end of the archive are not content.
cp good.tar flip.tar
use plain # a hundred times
silent=$(python3 - "$COLLECT" <<'END'
import subprocess, sys, tarfile
good = open("good.tar", "rb").read()
places = []
for m in tarfile.open("good.tar"):
    n = 24 if m.name == "manifest.json" else 3
    places += [m.offset + 100] + [m.offset_data + m.size * i // n for i in range(n) if m.size]
with open("flip.tar", "r+b", buffering=0) as f:
    for at in places:
        f.seek(at); f.write(bytes([good[at] ^ 1]))
        if subprocess.run([sys.argv[1], "verify", "flip.tar"], capture_output=True).returncode not in (1, 2):
            print(at, end=" ")
        f.seek(at); f.write(good[at:at + 1])
END
)
check "verify: no flipped byte of content goes unseen, the manifest included" test -z "$silent"

use sanitized
# The same archive compressed: smaller, whole, readable by tar, the same bytes again, and damage is noticed.
"$COLLECT" run -o packed.tar.zst -- ./marks 200 2>run.err
check "the closing line" grep -q '^dccollect: packed.tar.zst: 1 node' run.err
check "verify: compressed" "$COLLECT" verify packed.tar.zst
check "... and much smaller" test "$(stat -c %s packed.tar.zst)" -lt $((size / 5))
says 2 "--zstd is gone: the name of the archive says it" "unknown option '--zstd'" "$COLLECT" pack . -o p.tar --zstd
zsize=$(stat -c %s packed.tar.zst)
silent=''
content() { tar xOf "$1" --wildcards '*' 2>/dev/null | sha256sum; }
for i in 1 2 3 4 5 6 7 8 9; do
    cp packed.tar.zst flip.tar.zst
    flip flip.tar.zst $((zsize * i / 10))
    status=0
    "$COLLECT" verify flip.tar.zst >says.out 2>&1 || status=$?
    # The padding of a member's last block is not content.
    [ "$status" -ne 0 ] || [ "$(content flip.tar.zst)" != "$(content packed.tar.zst)" ] || continue
    { [ "$status" -eq 1 ] || [ "$status" -eq 2 ]; } && grep -q "flip.tar.zst" says.out || silent="$silent $i"
done
check "verify: one flipped byte of a compressed archive, at nine places, is seen where content changed" test -z "$silent"
for part in 10 50 90 99; do
    head -c $((zsize * part / 100)) packed.tar.zst >part.tar.zst
    says 1 "verify: $part % of a compressed archive" "^dccollect: 'part.tar.zst' is incomplete: its compressed data end early[.] Copy or pack it again[.]$" \
        "$COLLECT" verify part.tar.zst
done
says 2 "anonymise: the same" "'part.tar.zst' is incomplete" "$COLLECT" anonymise part.tar.zst anonymous.tar

# ls describes the content.
"$COLLECT" ls good.tar >ls.out
check "ls: what ran" grep -qx '  program   ./marks 200' ls.out
check "ls: what was recorded" grep -q '^  recorded  800 ranges, 0 MPI calls, 0 file calls; 0 dropped' ls.out
check "ls: what is missing, with its reason" grep -Eq '^  missing   gpu: absent: .+' ls.out
check "ls -l: every member" test "$("$COLLECT" ls -l packed.tar.zst | grep -c 'rank0/trace-')" -eq 2
says 2 "ls: what is no archive" "manifest.json" "$COLLECT" ls other.tar
says 2 "ls: cut short shows what is left" "^  program   ./marks 200" "$COLLECT" ls half.tar

mkdir x && tar xf good.tar -C x && (cd x && find . -type f | sed 's|^\./||' | grep -v '^manifest.json$' | LC_ALL=C sort) >names
trace=$(grep '\.dct$' names)
repack() { # repack OUT [TAR-OPTIONS...]: the members of x in the order of names, manifest first
    local out=$1
    shift
    (cd x && tar cf "../$out" --format=ustar "$@" manifest.json -T ../names)
}
repack same.tar
check "the same members by another tar" "$COLLECT" verify same.tar
(cd x && tac ../names | tar cf ../lie.tar --format=ustar manifest.json -T -)
says 1 "verify: members in another order" "is out of order after" "$COLLECT" verify lie.tar
cp x/manifest.json manifest.keep
jq '(.members[] | select(.name == "job_metadata.json")).size += 1' manifest.keep >x/manifest.json
seal x/manifest.json
repack lie.tar
says 1 "verify: a manifest that lies about a size" "'job_metadata.json' has .* bytes, but the manifest says .* Copy or pack it again[.]$" "$COLLECT" verify lie.tar
jq 'del(.members)' manifest.keep >x/manifest.json
repack lie.tar
says 1 "verify: a manifest without members" "the manifest lists no members. Pack the run again[.]$" "$COLLECT" verify lie.tar
jq '(.members[] | select(.name == "job_metadata.json")).sha256 = "00"' manifest.keep >x/manifest.json
seal x/manifest.json
repack lie.tar
says 1 "verify: a manifest that lies about a checksum" "'job_metadata.json' has the wrong checksum" "$COLLECT" verify lie.tar
jq '.members += [{"name": "more.csv", "role": "other", "size": 1, "sha256": "00"}]' manifest.keep >x/manifest.json
seal x/manifest.json
repack lie.tar
says 1 "verify: a member that is missing" "'more.csv' is in the manifest, but not in the archive" "$COLLECT" verify lie.tar
jq '.members += [{"name": "a\u001b]0;x\u0007\nb", "role": "other", "size": 1, "sha256": "00"}]' manifest.keep >x/manifest.json
seal x/manifest.json
repack lie.tar
cp lie.tar "$(printf 'l\033i\ne.tar')"
says 1 "verify: names with control characters, on a line each" "^dccollect: 'a?\]0;x??b' is in the manifest" "$COLLECT" verify "$(printf 'l\033i\ne.tar')"
check "... and the archive's own" grep -q '^l?i?e.tar: FAILED, 1 problem$' says.out
jq 'del(.members[] | select(.name == "job_metadata.txt"))' manifest.keep >x/manifest.json
seal x/manifest.json
repack lie.tar
says 1 "verify: a member too many" "'job_metadata.txt' is in the archive, but not in the manifest" "$COLLECT" verify lie.tar
jq '.members += [.members[0]]' manifest.keep >x/manifest.json
seal x/manifest.json
repack lie.tar
says 1 "verify: listed twice" "lists 'job_metadata.json' twice" "$COLLECT" verify lie.tar
jq '.members += [{}]' manifest.keep >x/manifest.json
seal x/manifest.json
repack lie.tar
says 1 "verify: an entry without a name" "an entry of the manifest has no name" "$COLLECT" verify lie.tar
jq '.format = "other"' manifest.keep >x/manifest.json
repack lie.tar
says 1 "verify: another manifest" "its manifest is not that of a run archive" "$COLLECT" verify lie.tar
jq '.node_kind = "emulated"' manifest.keep >x/manifest.json
repack lie.tar
says 1 "verify: a manifest that was changed by hand" "'lie.tar': its manifest is not as it was written" "$COLLECT" verify lie.tar
says 2 "ls: the same" "not as it was written" "$COLLECT" ls lie.tar
says 2 "report: the same" "not as it was written" "$BIN/dcreport" lie.tar -o site
jq 'del(.manifest_sha256)' manifest.keep >x/manifest.json
repack lie.tar
says 1 "verify: a manifest without its checksum" "lacks the checksum of itself" "$COLLECT" verify lie.tar
jq 'del(.manifest_sha256) | .version = 1' manifest.keep >x/manifest.json
repack old.tar
check "verify: an archive of version 1, whose manifest holds no checksum" "$COLLECT" verify old.tar
check "ls: the same" "$COLLECT" ls old.tar
jq '.version = 99' manifest.keep >x/manifest.json
repack lie.tar
says 2 "verify: of a later version" "version 99" "$COLLECT" verify lie.tar
printf '{ "format": "dcreport-run", ' >x/manifest.json
repack lie.tar
says 1 "verify: a manifest that is no JSON" "not JSON" "$COLLECT" verify lie.tar
cp manifest.keep x/manifest.json

# A trace that is cut or damaged inside an archive that is right otherwise.
retrace() { # retrace OUT: the manifest is made to fit the trace
    jq --arg n "$trace" --argjson s "$(stat -c %s "x/$trace")" --arg h "$(sha256sum "x/$trace" | cut -d' ' -f1)" \
        '(.members[] | select(.name == $n)) |= (.size = $s | .sha256 = $h)' manifest.keep >x/manifest.json
    seal x/manifest.json
    repack "$1"
}
cp "x/$trace" trace.keep
mkdir alone && cp x/rank0/summary-*.jsonl alone
says 2 "report: sums without their trace" "'alone': it holds no metrics.csv, no steps and no trace" "$BIN/dcreport" alone -o site
head -c 40000 trace.keep >"x/$trace"
retrace cut.tar
says 1 "verify: a trace cut in the middle" "ends inside a block" "$COLLECT" verify cut.tar
cp trace.keep "x/$trace"
flip "x/$trace" $((16384 * 2 + 100))
retrace hurt.tar
cp "x/$trace" hurt.dct
says 1 "verify: a damaged block" "1 damaged" "$COLLECT" verify hurt.tar
cp trace.keep "x/$trace"
cp manifest.keep x/manifest.json

# Members that would leave the folder when unpacked.
repack abs.tar -P --transform 's|^job_metadata.txt$|/tmp/dcr-never|'
says 1 "verify: an absolute name" "/tmp/dcr-never" "$COLLECT" verify abs.tar
repack up.tar -P --transform 's|^job_metadata.txt$|../up|'
says 1 "verify: a name with .." "\.\./up" "$COLLECT" verify up.tar
mv x/job_metadata.txt keep.txt && ln -s /etc/passwd x/job_metadata.txt
repack link.tar
says 1 "verify: a link" "job_metadata.txt" "$COLLECT" verify link.tar
rm x/job_metadata.txt && mv keep.txt x/job_metadata.txt

# ---- pack
use plain
mkdir nothing
says 2 "pack: an empty folder" "nothing to pack" "$COLLECT" pack nothing -o p.tar
says 2 "pack: no folder" "No such file" "$COLLECT" pack nowhere -o p.tar
says 2 "pack: a file" "not a folder" "$COLLECT" pack names -o p.tar
says 2 "pack: no output" "-o RUN.tar" "$COLLECT" pack x
mkdir dir.tar
says 2 "pack: the output is a folder" "in the way" "$COLLECT" pack x -o dir.tar
echo precious >notes.txt
says 2 "pack: the output is somebody's file" "not overwritten" "$COLLECT" pack x -o notes.txt
says 125 "run: the output is somebody's file, seen before the program starts" "not overwritten" \
    "$COLLECT" run -o notes.txt -- touch started
check "... which is untouched, and nothing was started" sh -c '[ "$(cat notes.txt)" = precious ] && [ ! -e started ]'
mkdir -p runs y && ln -s runs/one.tar latest.tar && echo epoch,epoch_time_sec >y/metrics.csv && echo 0,1 >>y/metrics.csv
says 2 "pack: a link to nothing" "cannot write 'latest.tar', because of the file to which this link points: No such file" "$COLLECT" pack y -o latest.tar
cp good.tar runs/one.tar
says 0 "pack: a link to an archive" "^dccollect: .*/runs/one.tar: " "$COLLECT" pack y -o latest.tar
check "... it says that an archive was replaced" grep -qx "  It replaced the archive that had this name." says.out
check "... what it names is replaced, and the link stays" sh -c '[ -L latest.tar ] && ! cmp -s good.tar runs/one.tar && "$0" verify runs/one.tar && [ "$(ls runs)" = one.tar ]' "$COLLECT"
says 2 "pack: the output's folder is missing" "cannot" "$COLLECT" pack x -o nowhere/p.tar
cp good.tar in.tar && cp packed.tar.zst other.tar.zst && ln -s in.tar in.csv
says 2 "export: over its archive" "-o 'in.tar' is one of the inputs" "$COLLECT" export in.tar -o in.tar
says 2 "export: over it by a link" "-o 'in.csv' is one of the inputs" "$COLLECT" export in.tar -o in.csv
says 2 "export: over another archive" "-o 'other.tar.zst' exists and is not an export" "$COLLECT" export in.tar -o other.tar.zst
says 2 "export: over somebody's file" "-o 'notes.txt' exists and is not an export" "$COLLECT" export in.tar -o notes.txt
check "they are untouched" sh -c 'cmp in.tar good.tar && cmp other.tar.zst packed.tar.zst && [ "$(cat notes.txt)" = precious ]'
for name in x.json x.csv; do
    "$COLLECT" export in.tar -o $name 2>/dev/null
    check "export: $name again, in place of its own" "$COLLECT" export in.tar -o $name
done
check "nothing was written" sh -c '! ls p.tar* .unverified* 2>/dev/null'
use sanitized
mkdir odd && cp x/job_metadata.txt odd/ && printf 'epoch\n' >odd/metrics.csv && ln -s /etc/passwd odd/link && mkfifo odd/pipe
check "pack: links and pipes are not followed" timeout 120 "$COLLECT" pack odd -o odd.tar
check "they are listed" metadata odd.tar '[.not_packed[].name | test("(link|pipe)$")] == [true, true]'

# One odd file among the results does not cost the archive. Root can read everything without permission.
mkdir odder odder/closed && printf 'epoch\n1\n' >odder/metrics.csv && echo x >odder/secret && echo x >odder/'back\slash'
printf 'x' >odder/"$(printf 'caf\351.txt')" && echo x >odder/'two words.txt' && chmod 0 odder/secret odder/closed
plainly=()
[ "$(id -u)" != 0 ] || plainly=(setpriv '--bounding-set=-dac_override,-dac_read_search')
check_status 1 "a file that cannot be read" "${plainly[@]}" cat odder/secret
check "pack: unreadable files and odd names are left out" "${plainly[@]}" "$COLLECT" pack odder -o odder.tar
check "the others are there" sh -c '[ "$(tar tf odder.tar | tail -n 2 | tr "\n" ,)" = "metrics.csv,two words.txt," ]'
check "each left out has its reason" metadata odder.tar '[.not_packed[].reason] | length == 4 and all(. != "")'
check "by its name as far as it is text" metadata odder.tar '[.not_packed[].name | test("caf\ufffd.txt")] | any'
chmod 755 odder/closed
"$COLLECT" run --label "$(printf 'l\351=v\351')" -o bytes.tar -- sh -c : "$(printf 'caf\351')" 2>/dev/null
check "run: words and labels that are no UTF-8 are kept as far as they are text" metadata bytes.tar \
    '(.command[3] == "caf\ufffd") and (.labels["l\ufffd"] == "v\ufffd")'

# A trace that is cut in the spool is packed and reported, and verify accepts damage that the manifest states.
mkdir -p torn/rank0 && head -c 40000 trace.keep >"torn/$trace" && cp x/rank0/rank.json torn/rank0/
check "pack: a torn trace" "$COLLECT" pack torn -o torn.tar
check "it is marked incomplete" manifest torn.tar '(.complete | not) and (.incomplete_because | any(test("ends inside a block")))'
check "verify takes the manifest's word" "$COLLECT" verify torn.tar
printf 'not json' >torn/rank0/rank.json
check "pack: a record that is no JSON" "$COLLECT" pack torn -o torn2.tar
check "it is said" manifest torn2.tar '.incomplete_because | any(test("cannot be read"))'

# A spool with many faults: each is a reason why the archive is incomplete.
mkdir -p wrong/rank{0..9}
for rank in {0..9}; do sed "s/\"rank\" *: *0/\"rank\": $rank/; s/\"exit_status\" *: *0/\"exit_status\": 134/" x/rank0/rank.json >"wrong/rank$rank/rank.json"; done
: >wrong/rank1/trace-1.dct
cp hurt.dct wrong/rank2/trace-2.dct
cp trace.keep wrong/rank3/trace-3.dct.1
says 0 "pack: a spool with damaged files is packed" "" "$COLLECT" pack wrong -o wrong.tar
reasons() { # PATTERN...
    local pattern
    for pattern; do
        manifest wrong.tar ".incomplete_because | any(test(\"$pattern\"))" || { echo "$pattern is not among them"; return 1; }
    done
}
check "... and said" reasons "rank 0 ended with exit status 134, which may mean signal 6" "further ranks may have failed too" \
    "trace 'rank1/trace-1.dct' is empty" "trace 'rank2/trace-2.dct' has 1 damaged" "trace-3.dct.1' is a piece of a trace whose"

# A good archive is not lost when the next one cannot be written.
if [ "$(id -u)" = 0 ] && mkdir small && mount -t tmpfs -o size=40k tmpfs small 2>/dev/null; then
    echo 'the old one' >manifest.json && tar cf small/run.tar manifest.json && cp small/run.tar old.tar
    rm -f x/manifest.json
    says 2 "pack: full disk" "No space left" "$COLLECT" pack x -o small/run.tar
    check "the old archive is untouched, nothing else is there" sh -c 'cmp small/run.tar old.tar && [ "$(ls -A small)" = run.tar ]'
    says 125 "run: a spool on a full disk" "" "$COLLECT" run --spool small/"$(printf 'x%.0s' {1..300})" -- true
    dd if=/dev/zero of=small/fill bs=1k status=none 2>/dev/null
    got=0
    "$COLLECT" run --spool small/s -- ./marks 5 0 9 >out 2>&1 || got=$?
    check "run: a full disk is its own failure before the start, or the program's status" \
        sh -c '[ "$0" -eq 125 ] || [ "$0" -eq 9 ]' "$got"
    rm small/fill
    # A slow write on a busy machine leaves a trace of 128 KiB. Spool and archive with one are more than 200 KiB.
    mount -o remount,size=2m small
    says 125 "run: the disk fills up: no archive, and how it is made later" \
        "the program succeeded, but recording failed .*no archive was made, .* kept in '.*r.tar.spool'.*pack .*/r.tar.spool -o small/r.tar" \
        "$COLLECT" run -o small/r.tar -- sh -c 'dd if=/dev/zero of=small/fill bs=1k status=none 2>&1; true'
    rm small/fill
    check "... as it says" sh -c "$(sed -n 's/.*`\(.*\)`.*/\1/p' says.out | sed "s|^dccollect|$COLLECT|")"
    umount small
else
    skip "pack: full disk" "needs root and a tmpfs"
fi

# A limit on the size of files ends neither the collector nor changes the program's status.
says 125 "run: an archive beyond the limit on files" "the program succeeded, but .*no archive was made.*kept in '.*f.tar.spool'" bash -c 'ulimit -f 700; exec "$@"' - "$COLLECT" run -o f.tar --io off -- env MARKS_STEP_US=50 sh -c './marks 5000 & ./marks 5000; wait'
says 125 "run: no file may hold anything" "the program was not started: .*File too large" bash -o pipefail -c '(ulimit -f 0; exec "$@") 2>&1 | cat' - "$COLLECT" run -o f0.tar -- ./marks 200
says 2 "pack: the same" "File too large" bash -c 'ulimit -f 700; exec "$@"' - "$COLLECT" pack f.tar.spool -o f.tar
check "... what there was packs without it, and what is missing is said" sh -c '"$0" pack f.tar.spool -o f.tar 2>said && tr "\n" " " <said | grep -q "[1-9][0-9]* events dropped.*could not record [0-9]* events"' "$COLLECT"
check "the program's own limit is as before" sh -c 'ulimit -f 64; "$0" run --spool fsize -- sh -c "head -c 99999 /dev/zero >fsize.out" 2>/dev/null; [ $? -eq 153 ]' "$COLLECT"

use plain
# ---- a results folder of an earlier collector
if [ -e "$SHARED/data/seed-run/metrics.csv" ]; then
    check "seed folder packs" "$COLLECT" pack "$SHARED/data/seed-run" -o seed.tar
    check "verify" "$COLLECT" verify seed.tar
    check "node count unknown, said" manifest seed.tar '(has("n_nodes") | not) and .node_kind == "unknown"'
    check "the command is missing, with a reason" metadata seed.tar '.missing.command | test(".")'
    check "--nodes" sh -c '"$0" pack "$1" --nodes 2 -o seed2.tar' "$COLLECT" "$SHARED/data/seed-run"
    check "taken" manifest seed2.tar '.n_nodes == 2'
    mkdir -p 4node/run_123/nsys && cp "$SHARED"/data/seed-run/metrics.csv 4node/run_123/ && chmod u+w 4node/run_123/metrics.csv
    echo 'Nodes: 4' >4node/run_123/job_metadata.txt && echo x >4node/run_123/nsys/p.nsys-rep
    printf 'timestamp,gpu_id\n' >4node/run_123/gpu_monitor.csv
    check "the number of nodes is given" "$COLLECT" pack 4node/run_123 --nodes 4 -o named.tar
    check "4 nodes, roles" manifest named.tar \
        '.n_nodes == 4 and ([.members[] | {(.name): .role}] | add | .["nsys/p.nsys-rep"] == "foreign" and .["gpu_monitor.csv"] == "gpu-monitor")'
    check "its own job_metadata.txt is kept" sh -c '[ "$(tar xOf named.tar job_metadata.txt)" = "Nodes: 4" ]'
else
    skip "seed folder packs" "no $SHARED/data/seed-run"
fi

# ---- refused before anything runs, or reported in one sentence
says 125 "run: no folder for the archive" "there is no folder '/no/such/dir'. Make it first." "$COLLECT" run -o /no/such/dir/x.tar -- true
says 125 "run: an ending of another compression" "x.tar.gz.*plain tar, or compressed by zstd" "$COLLECT" run -o x.tar.gz -- true
mkdir -- -dash && echo epoch >-dash/metrics.csv
says 0 "pack: names that begin with a dash" "^dccollect: -dash.tar: nodes unknown" "$COLLECT" pack -o -dash.tar -- -dash
says 0 "verify: the same" "^-dash.tar: ok" "$COLLECT" verify -- -dash.tar
says 2 "verify: the same, taken for an option" "unknown option '-dash.tar'. Put the name of a file after .--." "$COLLECT" verify -dash.tar
says 2 "verify: one that is not there" "unknown option '-none.tar'. Put the name of a file after .--." "$COLLECT" verify -none.tar
says 2 "pack: an option behind --" "'-o' stands after .--. and is read as a file name" "$COLLECT" pack -- -dash -o x.tar
says 2 "pack: the command that is suggested can be given" "dccollect pack ./-dash -o RUN.tar" "$COLLECT" pack -- -dash
says 125 "run: --duration 0" "--duration takes more than 0 seconds, not .0." "$COLLECT" run -o x.tar --duration 0 -- true
says 125 "run: a label twice" "--label 'a=2' repeats the key of 'a=1'" "$COLLECT" run -o x.tar --label a=1 --label a=2 -- true
says 125 "run: no such choice of traces" "--traces takes all, rank0 or none, not 'sample:2'" "$COLLECT" run -o x.tar --traces sample:2 -- true
use sanitized
check "calibrate --version" "$COLLECT" calibrate --version
use plain
"$COLLECT" run -o two.tar -- sleep 2 2>/dev/null &
while [ ! -e two.tar.spool/launcher.json ]; do sleep 0.05; done
says 125 "run: an archive that another collector is recording" "another dccollect is recording for 'two.tar'" "$COLLECT" run -o two.tar -- true
wait
check "the other one's archive" "$COLLECT" verify two.tar
mkdir unpacked && tar -C unpacked -xf two.tar
use sanitized
says 2 "pack: an unpacked archive" "is an unpacked run archive. Put it together again" "$COLLECT" pack unpacked -o again.tar
command=$(sed 's/.*`\(.*\)`.*/\1/' says.out)
check "and the way it says works" sh -c "$command && '$COLLECT' verify again.tar"
# A spool in a user's folder: files that no collector wrote are neither packed nor touched.
mkdir mine mine/src && echo 'password=hunter2' >mine/src/secret && cp -R mine/src mine/nsys && echo 'epoch' >mine/metrics.csv && ln -s src mine/link
(cd mine && find . | LC_ALL=C sort | xargs ls -ld >../mine.before)
"$COLLECT" run --spool mine -- sh -c 'echo 1 >mine/src/new' 2>/dev/null
check "pack: a spool among other files" "$COLLECT" pack mine -o mine/p.tar
check "... has none of them" sh -c '! tar tf mine/p.tar | grep -E "secret|metrics|src|nsys|link|p.tar" && ! grep -aq hunter2 mine/p.tar'
check "... lists what was left out" metadata mine/p.tar '[.not_packed[] | select(.reason | test("no collector wrote it")) | .name] == ["mine/link","mine/metrics.csv","mine/nsys","mine/src"]'
check "... and touches nothing" sh -c 'rm -r mine/host-* mine/launcher* mine/libraries-* mine/rank0 mine/p.tar mine/src/new 2>/dev/null; cd mine && find . | LC_ALL=C sort | xargs ls -ld | awk "{ print \$1, \$5, \$NF }" >../mine.after && awk "{ print \$1, \$5, \$NF }" ../mine.before | cmp - ../mine.after'
"$COLLECT" run --spool inside -- true 2>/dev/null
says 125 "run: a spool of a run that has ended takes no ranks" "already holds a run" env OMPI_COMM_WORLD_RANK=7 "$COLLECT" run --spool inside -- true

# ---- each message of the command line that nothing above provokes
use plain
says 2 "no command" "no command. See .dccollect --help" "$COLLECT"
says 2 "an unknown command" "unknown command 'pakc'. The commands are run," "$COLLECT" pakc
says 2 "a misspelt option" "unknown option '--formt'. Did you mean --format?" "$COLLECT" export a.tar --formt csv
says 2 "verify: no archive" "no archive given. Name one or more" "$COLLECT" verify
says 2 "export: two archives" "not one archive to export. Name one" "$COLLECT" export a.tar b.tar
says 2 "pack: two folders" "not one folder to pack. Name one" "$COLLECT" pack a b -o x.tar
says 2 "pack: no archive" "no archive to write. Name it: .dccollect pack inside -o RUN.tar.\." "$COLLECT" pack inside
says 2 "pack: no value" "option '-o' needs a value. See .dccollect --help" "$COLLECT" pack inside -o
says 2 "calibrate: too many words" "unknown option '1'" "$COLLECT" calibrate $(seq 70)
says 2 "anonymise: one name" "anonymise takes two names" "$COLLECT" anonymise good.tar
says 2 "anonymise: onto itself" "are the same file. Give the new archive another name" "$COLLECT" anonymise good.tar good.tar
says 2 "anonymise: onto a file" "'hello' exists and is not overwritten" "$COLLECT" anonymise good.tar hello
mkdir -p bare/empty
says 2 "pack: folders only" "holds no evidence of a run" "$COLLECT" pack bare -o x.tar
long=$(printf '%04000d/%0100d' 0 0)
says 2 "pack: a name that is too long" "the name '00.*' is too long" "$COLLECT" pack y -o "$long.tar"
mkdir -p left.tar.spool left.tar.spool-{2..999}
says 125 "run: what too many killed runs left" "too many folders 'left.tar.spool-.*' are left from killed runs" "$COLLECT" run -o left.tar -- true
says 125 "run: no program" "no program to run. Write .dccollect run" "$COLLECT" run -o x.tar
says 125 "run: no place" "no place for the evidence. Add -o RUN.tar" "$COLLECT" run -- true
refuses() { # PATTERN OPTION...
    local pattern=$1
    shift
    says 125 "run: $*" "$pattern" "$COLLECT" run -o x.tar "$@" -- true
}
refuses "--label takes KEY=VALUE, not 'x'" --label x
refuses "--label global_batch takes a whole number from 1, not '-3'. Give the samples" --label global_batch=-3
refuses "--delay takes seconds, as in --delay 30, not 'x'" --delay x
refuses "--traces takes all, rank0 or none, not 'x'" --traces x
refuses "--steps takes the first and the last step" --steps 9
refuses "--capture-range takes cudaProfilerApi, or nvtx:" --capture-range x
refuses "--keep takes ring, all or summary, not 'x'" --keep x
refuses "cannot adopt 'good.tar': it is not a folder. Give the one it lies in" --adopt good.tar
refuses "cannot adopt 'good.tar/x': Not a directory" --adopt good.tar/x
says 125 "run: a rank beyond all" "say that this is rank 99999999. More than" env OMPI_COMM_WORLD_RANK=99999999 OMPI_COMM_WORLD_SIZE=100000000 "$COLLECT" run -o x.tar -- true
says 125 "run: one archive of two ranks" "each of 2 ranks would write 'x.tar'" env OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 "$COLLECT" run -o x.tar -- true
"$COLLECT" pack inside -o inside/p.tar 2>/dev/null && "$COLLECT" pack inside -o inside/p.tar 2>/dev/null
check "pack: the archive does not pack itself" sh -c '! tar tf inside/p.tar | grep p.tar'
finish
