#!/usr/bin/env bash
# Faults of an archive, an option or the output folder: one sentence, exit status 2, nothing written. If data are only
# missing: exit status 3 and a report that names the gap.
# partly sanitized: bad input must not cause memory errors; whole reports take five times as long with them
. tests/lib/tap.sh
. tests/data/archives/fixture.sh
WELLFORMED_NOT='bad/*'

report=$BIN/dcreport
site=$TMP/site
fixture_run "$TMP/good1" 1 steps=12
fixture_run "$TMP/good2" 2 steps=12
fixture_pack "$TMP/good1" "$TMP/1.tar"
fixture_pack "$TMP/good2" "$TMP/2.tar"

# refused NAME PATTERN ARGS...: exit status 2, one line on stderr that matches, no output folder, nothing beside it.
refused() {
    local name=$1 pattern=$2 status=0 left
    shift 2
    "$report" "$@" > "$TMP/out" 2> "$TMP/err" < /dev/null || status=$?
    left=$(find "$TMP" -maxdepth 1 -name '*site*' ! -name 'kept*')
    if [ $status -ne 2 ]; then
        not_ok "$name" "exit status $status instead of 2: $(cat "$TMP/err")"
    elif [ "$(wc -l < "$TMP/err")" -ne 1 ] || ! grep -q "^dcreport: .*$pattern" "$TMP/err"; then
        not_ok "$name" "not one sentence with '$pattern': $(cat "$TMP/err")"
    elif [ -n "$left" ] || [ -s "$TMP/out" ]; then
        not_ok "$name" "left behind: $left $(cat "$TMP/out")"
    else
        ok "$name"
    fi
}

# gap NAME PATTERN ARGS...: exit status 3, a site, and the gap in the summary.
gap() {
    local name=$1 pattern=$2 status=0
    shift 2
    rm -rf "$site"
    "$report" "$@" -o "$site" > "$TMP/out" 2> "$TMP/err" < /dev/null || status=$?
    if [ $status -ne 3 ]; then
        not_ok "$name" "exit status $status instead of 3: $(cat "$TMP/err" "$TMP/out")"
    elif ! [ -s "$site/index.html" ] || ! tr '\n' ' ' < "$site/bottleneck_summary.txt" | tr -s ' ' | grep -q "MISSING .*$pattern"; then
        not_ok "$name" "no site, or its summary does not say '$pattern'"
    else
        ok "$name"
    fi
    rm -rf "$site"
}

# A copy of the two-node run to be spoiled; then packed with or without a true manifest.
spoil() {
    rm -rf "$TMP/bad"
    cp -r "$TMP/good2" "$TMP/bad"
}

# ---- usage and output folder
cd "$TMP" || exit
refused "no archives" "no archive given, and there is no results/\*.tar here. Name one: .dcreport run.tar -o site/.\." -o "$site"
cd "$OLDPWD" || exit
refused "no archives to check" "no archive given to check. Name one" --check 'steps>0'
refused "no archives to compare" "no archive given to compare with the baseline. Put the new ones" --baseline "$TMP/1.tar" -o "$site"
refused "JUnit of nothing" "junit and --summary write the results of checks. Add a check" "$TMP/1.tar" -o "$site" --junit "$TMP/j.xml"
refused "an output folder without a name" "the output folder has no name. Give one with -o DIR" "$TMP/1.tar" -o ""
refused "an unknown option" "unknown option '--sparkle'" --sparkle "$TMP/1.tar" -o "$site"
refused "a misspelt option" "unknown option '--basline=x.tar'. Did you mean --baseline?" --basline=x.tar "$TMP/1.tar" -o "$site"
refused "an option without its value" "option .--theme. needs a value. See .dcreport --help" "$TMP/1.tar" --theme
refused "a file that is taken for an option" "unknown option '-amd.json'. Put the name of a file after .--." -q -amd.json -o "$site"
refused "... for --nodes" "not '.tar'. Put the name of a file after .--." -n.tar -o "$site"
refused "--nodes that is no number" "number from 1" --nodes many "$TMP/1.tar" -o "$site"
refused "an archive that is not there" "No such file" "$TMP/none.tar" -o "$site"
mkdir "$TMP/nothing"
mkfifo "$TMP/pipe"
refused "a pipe that nobody writes to" "pipe': it is a pipe. Write its content to a file" "$TMP/pipe" -o "$site"
refused "... beside an archive" "it is a pipe" "$TMP/1.tar" "$TMP/pipe" -o "$site"
refused "... as the baseline" "it is a pipe" --baseline "$TMP/pipe" -- "$TMP/1.tar" -o "$site"
refused "a pipe of the shell" "it is a pipe" <(cat "$TMP/1.tar") -o "$site"
refused "a device" "it is a device" /dev/zero -o "$site"
status=0
timeout -k 2 20 "$report" -q -t "$TMP/pipe" "$TMP/1.tar" -o "$site" > "$TMP/out" 2> "$TMP/err" < /dev/null || status=$?
check "thresholds from a pipe that nobody writes to" test "$status" = 2
check "... are refused with one sentence" test "$(cat "$TMP/err")" = "dcreport: cannot use '$TMP/pipe': it is a pipe. Write its content to a file and pass that file."
cp -r themes/default "$TMP/theme"
rm "$TMP/theme/index.html"
mkfifo "$TMP/theme/index.html"
status=0
timeout -k 2 20 "$report" -q --theme "$TMP/theme" "$TMP/1.tar" -o "$site" > "$TMP/out" 2> "$TMP/err" < /dev/null || status=$?
check "a theme with a pipe in it" test "$status" = 2
check "... is refused with one sentence" test "$(cat "$TMP/err")" = "dcreport: cannot use '$TMP/theme/index.html': it is a pipe. Write its content to a file and pass that file."
check "... and leaves nothing" test -z "$(find "$TMP" -maxdepth 1 -name '*site*')"
rm -r "$TMP/theme"/*
printf 'zero\0' > "$TMP/theme/frame.html"
refused "a template with a zero byte" "template 'frame.html' is not text: it holds a NUL byte" --theme "$TMP/theme" "$TMP/1.tar" -o "$site"
echo '<title>{{title}}</title>' > "$TMP/theme/frame.html"
refused "a frame without the page" "'frame.html' does not show {{{content}}}" --theme "$TMP/theme" "$TMP/1.tar" -o "$site" --single-file "$TMP/single.html"
rm -r "$TMP/theme"
refused "a folder without files" "is empty. Name a folder with archives, or a run." "$TMP/nothing" -o "$site"
refused "the same folder twice" "the same folder. Give it once" "$TMP/good1" "$TMP/good2" "$TMP/good1/" -o "$site"
refused "the same run twice" "same run" "$TMP/1.tar" "$TMP/1.tar" -o "$site"
mkdir "$TMP/copies"
cp "$TMP/1.tar" "$TMP/copies/a.tar"
cp "$TMP/1.tar" "$TMP/copies/b.tar"
refused "... though a folder holds it too" "same run" "$TMP/1.tar" "$TMP/copies/a.tar" "$TMP/copies" -o "$site"
check "runs of one node count alone are no gap" "$BIN/dcreport" "$TMP/copies/b.tar" -o "$site"
rm -r "$site"
check_status 0 "a copy in a folder is no gap" "$BIN/dcreport" "$TMP/copies" "$TMP/copies/b.tar" -o "$site"
cp "$TMP/tap.out" "$TMP/said"
check "... is left out, and what was named is used" grep -q "^Note: Used once: '.*/copies/a.tar' is the same run as '.*/copies/b.tar', which is used" "$TMP/said"
rm -r "$site"
use sanitized
echo 'data_limits = much' > "$TMP/thresholds"
refused "a threshold that is no number" "line 1.*data_limits" -t "$TMP/thresholds" "$TMP/1.tar" -o "$site"
echo 'data_limit = 0.5' > "$TMP/thresholds"
refused "a threshold that does not exist" "unknown threshold 'data_limit'" -t "$TMP/thresholds" "$TMP/1.tar" -o "$site"
refused "thresholds that are a folder" "cannot read thresholds '.*nothing': Is a directory" -t "$TMP/nothing" "$TMP/1.tar" -o "$site"
deep=$TMP/deep/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17
mkdir -p "$deep"
refused "folders that never end" "has more than 16 levels of folders" "$TMP/deep" -o "$site"
mkdir "$TMP/strange"
echo "?" > "$TMP/strange/a.txt"
echo "!" > "$TMP/strange/b.txt"
(cd "$TMP/strange" && tar cf "$TMP/bad.tar" a.txt)
refused "a tar of something else" "it holds no metrics.csv, no steps and no trace" "$TMP/bad.tar" -o "$site"
refused "a folder of something else" "cannot use '$TMP/strange': it holds no run, and dcreport does not know what 'a.txt' and others are" "$TMP/strange" -o "$site"
echo '{"traceEvents":[]}' > "$TMP/empty.json"
refused "a trace without events" "empty.json' is a trace without events. Profile some steps" "$TMP/empty.json" -o "$site"
use plain
mkdir "$TMP/beside"
cp "$TMP/1.tar" "$TMP/beside"
touch "$TMP/beside/README" "$TMP/beside/slurm-7.out"
"$report" "$TMP/beside" -o "$TMP/beside/site" > /dev/null 2> "$TMP/err"
check "logs beside an archive need no word" test ! -s "$TMP/err"
echo "5 nodes" > "$TMP/beside/note.txt"
echo "old" > "$TMP/beside/plan.md"
"$report" "$TMP/beside" -o "$TMP/beside/site" > /dev/null 2> "$TMP/err"
check "other files are named in one line, without the earlier report" test "$(cat "$TMP/err")" = \
    "dcreport: 'note.txt' and 1 more are left out: no archive of a run and no file of a known tool. See \`man dcreport\`."
mkdir "$TMP/only"
mv "$TMP/beside/site" "$TMP/only"
refused "a folder with nothing but an earlier report" "only' holds only what dcreport made" "$TMP/only" -o "$site"
rm -r "$TMP/beside" "$TMP/only"
echo mine > "$TMP/kept-file"
refused "an output folder that is a file" "kept-file" "$TMP/1.tar" -o "$TMP/kept-file"
check "... which is still there" grep -qx mine "$TMP/kept-file"
mkdir "$TMP/kept-folder"
echo mine > "$TMP/kept-folder/thesis.txt"
refused "an output folder that is not ours" "kept-folder" "$TMP/1.tar" -o "$TMP/kept-folder"
check "... whose content is still there" grep -qx mine "$TMP/kept-folder/thesis.txt"
mkdir "$TMP/read-only" && chmod 555 "$TMP/read-only"
plainly=()
[ "$(id -u)" != 0 ] || plainly=(setpriv '--bounding-set=-dac_override,-dac_read_search')
check_status 2 "an output folder that is read-only" "${plainly[@]}" "$BIN/dcreport" "$TMP/1.tar" -o "$TMP/read-only"
cp "$TMP/tap.out" "$TMP/said-read-only"
check "it is said" grep -q "cannot write into folder '.*read-only': Permission denied. Check the permissions." "$TMP/said-read-only"
check_status 2 "... and a report in it" "${plainly[@]}" "$BIN/dcreport" "$TMP/1.tar" -o "$TMP/read-only/site"
cp "$TMP/tap.out" "$TMP/said-read-only"
check "... are said" grep -q "cannot write into folder '.*/read-only': Permission denied. Check the permissions." "$TMP/said-read-only"
check_status 1 "nothing is beside it" compgen -G "$TMP/read-only.*"
refused "a single file in the output folder" "single-file.*lies in the output folder" "$TMP/1.tar" -o "$site" --single-file "$site/sub/y.html"
refused "... by another path" "junit.*lies in the output folder" "$TMP/1.tar" -o "$site/" --check 'steps>1' --junit "$TMP/nothing/../site/y.xml"
refused "a report in no folder" "cannot create folder '.*': there is no folder '.*nodir'. Make it first" "$TMP/1.tar" -o "$TMP/nodir/site"
refused "JUnit in no folder, before anything is printed" "cannot write '.*/j.xml': there is no folder '.*nodir'. Make it first" --check 'steps>1' "$TMP/1.tar" --junit "$TMP/nodir/j.xml"
refused "JUnit without a name" "junit '' is no name for a file" --check 'steps>1' "$TMP/1.tar" --junit ''
refused "a share above 1 in a check" "the limit is not a share. Write it as 20% or 0.2" --check 'exposed_comm<20' "$TMP/1.tar"
refused "... above 100 %" "a share is at most 100%. Write a smaller limit, such as 20%" --check 'data<500%' "$TMP/1.tar"
refused "a part of names" "unknown metric 'wait'. Did you mean comm_wait?" --check 'wait<20%' "$TMP/1.tar"
refused "a part of several names" "Did you mean exposed_comm, comm_transfer, comm_wait, communication_efficiency or gpu_communication?" --check 'comm<20%' "$TMP/1.tar"
refused "a misspelt metric" "unknown metric 'exposed_com'. Did you mean exposed_comm?" --check 'exposed_com<20%' "$TMP/1.tar"

# ---- files written by name: never over an input, a user's file, or another output
cp "$TMP/1.tar" "$TMP/mine.tar"
cp "$TMP/2.tar" "$TMP/another.tar"
ln "$TMP/mine.tar" "$TMP/linked.html"
one=$(sha256sum "$TMP/mine.tar" "$TMP/another.tar" "$TMP/thresholds")
rule='steps>1'
refused "a single file over the first of a glob" "single-file '.*mine.tar' exists and is not a report of dcreport.*not overwritten" \
    -o "$site" --single-file "$TMP/mine.tar" "$TMP/another.tar"
refused "... over the only input" "single-file.*one of the inputs" "$TMP/mine.tar" -o "$site" --single-file "$TMP/mine.tar"
refused "... by another link" "single-file.*one of the inputs" "$TMP/mine.tar" -o "$site" --single-file "$TMP/linked.html"
refused "JUnit over the input" "junit.*one of the inputs" --check "$rule" "$TMP/mine.tar" --junit "$TMP/./mine.tar" -q
refused "... over the baseline" "junit.*one of the inputs" --baseline "$TMP/another.tar" -- --check "$rule" "$TMP/mine.tar" --junit "$TMP/another.tar"
refused "a summary over the thresholds" "summary.*one of the inputs" --check "$rule" "$TMP/mine.tar" -t "$TMP/thresholds" --summary "$TMP/thresholds"
refused "... over notes" "summary '.*kept-file' exists and is not a summary" --check "$rule" "$TMP/mine.tar" --summary "$TMP/kept-file"
refused "... over a template" "single-file.*is not a report" "$TMP/mine.tar" -o "$site" --single-file themes/default/frame.html
refused "... over a device" "cannot write '/dev/null': it exists and is not a file" --check "$rule" "$TMP/mine.tar" --summary /dev/null
refused "two outputs, one file" "junit and --summary would both write '.*z.xml'" --check "$rule" "$TMP/mine.tar" --junit "$TMP/z.xml" --summary "$TMP/nothing/../z.xml"
cp "$TMP/mine.tar" "$TMP/z.xml.partial"
refused "an archive where an output is made" "junit '.*z.xml.partial' exists" --check "$rule" "$TMP/mine.tar" --junit "$TMP/z.xml"
rm "$TMP/z.xml.partial"
check "... and every one of them is as it was" test "$one" = "$(sha256sum "$TMP/mine.tar" "$TMP/another.tar" "$TMP/thresholds")"
own=("$TMP/mine.tar" -o "$site" --single-file "$TMP/z.html" --check "$rule" --junit "$TMP/z.xml" --summary "$TMP/z.md" -q)
: > "$TMP/z.md"
check "outputs where nothing stands" "$report" "${own[@]}"
check "... and in place of their own" "$report" "${own[@]}"
rm -rf "$site"
refused "... not in each other's" "summary.*z.xml' exists" --check "$rule" "$TMP/mine.tar" --summary "$TMP/z.xml" -o "$TMP/kept-none"
rm "$TMP"/z.* "$TMP/linked.html" "$TMP/mine.tar" "$TMP/another.tar"

# ---- a full disk behind standard output
use sanitized
for words in --version --help "--check $rule $TMP/1.tar"; do
    status=0
    # shellcheck disable=SC2086  # words
    "$report" $words > /dev/full 2> "$TMP/err" || status=$?
    check "lost output of ${words%% *} is said" test "$status $(cat "$TMP/err")" = \
        "2 dcreport: cannot write to standard output: No space left on device. Make room there, or name another place."
done

# ---- the tar itself
echo "not a tar at all, just a line of text" > "$TMP/bad.tar"
refused "not a tar" "not a tar" "$TMP/bad.tar" -o "$site"
: > "$TMP/bad.tar"
refused "an empty file" "empty" "$TMP/bad.tar" -o "$site"
echo "just a line of text" > "$TMP/bad.txt"
refused "no known kind of file" "bad.txt.*neither an archive of a run nor a whole file" "$TMP/bad.txt" -o "$site"
size=$(stat -c %s "$TMP/2.tar")
for part in 3 2; do
    head -c $((size / part / 512 * 512 + 100)) "$TMP/2.tar" > "$TMP/bad.tar"
    refused "a tar cut at 1/$part" "'.*bad.tar'" "$TMP/bad.tar" -o "$site"
done
head -c 2000 /dev/zero > "$TMP/bad.tar"
refused "zeros" "bad.tar" "$TMP/bad.tar" -o "$site"

# One flipped byte in the content of a member, in a header, in the manifest.
flip() { # tar offset
    cp "$TMP/2.tar" "$TMP/bad.tar"
    local byte
    byte=$(od -An -tu1 -j "$1" -N 1 "$TMP/bad.tar" | tr -d ' ')
    printf '%b' "\\x$(printf %02x $((byte ^ 4)))" | dd of="$TMP/bad.tar" bs=1 seek="$1" conv=notrunc status=none
}
offset_of() { grep -abo "$1" "$TMP/2.tar" | head -n 1 | cut -d: -f1; }
flip "$(($(offset_of 'epoch,train_loss') + 3))"
refused "a flipped byte in metrics.csv" "metrics.csv" "$TMP/bad.tar" -o "$site"
flip "$(($(offset_of '^1,0,0,') + 8))"
refused "a flipped byte in steps.csv" "steps.csv" "$TMP/bad.tar" -o "$site"
flip "$(offset_of 'job_metadata.json.*ustar' || offset_of 'ustar')"
refused "a flipped byte in a header" "bad.tar" "$TMP/bad.tar" -o "$site"
flip "$(($(offset_of '"sha256"') + 12))"
refused "a flipped byte in a checksum of the manifest" "bad.tar" "$TMP/bad.tar" -o "$site"

# Members that point elsewhere.
mkdir -p "$TMP/evil"
cp "$TMP/good1/metrics.csv" "$TMP/evil/metrics.csv"
(cd "$TMP/evil" && tar cPf "$TMP/bad.tar" --transform="s|^|$TMP/escaped-|" metrics.csv)
refused "an absolute path" "outside the archive" "$TMP/bad.tar" -o "$site"
(cd "$TMP/evil" && tar cPf "$TMP/bad.tar" --transform='s|^|../escaped-|' metrics.csv)
refused "a path with .." "outside the archive" "$TMP/bad.tar" -o "$site"
ln -s /etc/passwd "$TMP/evil/steps.csv"
(cd "$TMP/evil" && tar cf "$TMP/bad.tar" metrics.csv steps.csv)
refused "a symbolic link" "not a plain file" "$TMP/bad.tar" -o "$site"
rm "$TMP/evil/steps.csv"
ln "$TMP/evil/metrics.csv" "$TMP/evil/steps.csv"
(cd "$TMP/evil" && tar cf "$TMP/bad.tar" metrics.csv steps.csv)
refused "a hard link" "not a plain file" "$TMP/bad.tar" -o "$site"
(cd "$TMP/evil" && tar cf "$TMP/bad.tar" metrics.csv && tar rf "$TMP/bad.tar" metrics.csv)
refused "a member that is there twice" "twice" "$TMP/bad.tar" -o "$site"
check "nothing escaped" test -z "$(find "$TMP" .. -maxdepth 1 -name 'escaped-*')"

# ---- the manifest
lie() { # name pattern sed-expression
    spoil
    fixture_manifest "$TMP/bad"
    sed -i "$3" "$TMP/bad/manifest.json"
    fixture_tar "$TMP/bad" "$TMP/bad.tar"
    refused "$1" "$2" "$TMP/bad.tar" -o "$site"
}
lie "a manifest that lies about a size" "but the manifest says 1225. Copy or pack it again." 's|\("name":"metrics.csv","role":"metrics","size":\)|\11|'
lie "a manifest that lies about a checksum" "'metrics.csv' has the wrong checksum" 's|\("name":"metrics.csv".*"sha256":"\)........|\100000000|'
lie "a manifest that lists what is not there" "'metrics2.csv' is in the manifest, but not in the archive" 's|"name":"metrics.csv"|"name":"metrics2.csv"|'
lie "a manifest of another format" "its manifest is not that of a run archive" 's|dcreport-run|other-run|'
lie "a manifest of a later version" "version 9" 's|"version":1|"version":9|'
lie "a manifest that is no JSON" "not JSON" 's|"members"|members|'
spoil
fixture_manifest "$TMP/bad"
sed -i 's|"n_nodes":2|"n_nodes":2.5|' "$TMP/bad/manifest.json"
fixture_tar "$TMP/bad" "$TMP/bad.tar"
use plain
gap "a number of nodes that is none" "manifest.json gives 2.5 as n_nodes" "$TMP/bad.tar" "$TMP/1.tar"
"$report" "$TMP/bad.tar" -o "$site" -q > "$TMP/out" 2>&1
check "... and is not rounded" test "$(jq '.runs[0].n_nodes' "$site/report.json")" != 3
rm -rf "$site"
use sanitized
lie "a manifest without members" "no members" 's|"members":\[|"parts":\[|'
lie "an entry without a name" "an entry of the manifest has no name" 's|"name":"metrics.csv"|"nom":"metrics.csv"|'
lie "an entry with a size below 0" "the entry of 'metrics.csv' has no valid size or checksum" 's|\("name":"metrics.csv","role":"metrics","size":\)|\1-1|'
lie "job_metadata.json listed twice" "twice" 's|"name":"metrics.csv"|"name":"job_metadata.json"|'
spoil
fixture_manifest "$TMP/bad"
echo "later" > "$TMP/bad/notes.csv"
use plain
fixture_tar "$TMP/bad" "$TMP/bad.tar"
gap "a member the manifest does not list" "not in the manifest" "$TMP/bad.tar" "$TMP/1.tar"

# ---- the tables
table() { # refused|gap name pattern file sed-expression
    spoil
    sed -i "$5" "$TMP/bad/$4"
    fixture_pack "$TMP/bad" "$TMP/bad.tar"
    if [ "$1" = gap ]; then
        use plain
        gap "$2" "$3" "$TMP/bad.tar" "$TMP/1.tar"
    else
        use sanitized
        refused "$2" "$3" "$TMP/bad.tar" -o "$site"
    fi
}
table refused "metrics.csv with text in a number" "train_loss\|line 2" metrics.csv '2s/5.1/five/'
table gap "metrics.csv with NaN" "train_loss is 'nan'" metrics.csv '2s/5.1/nan/'
table gap "metrics.csv without a column" "no column 'val_loss'" metrics.csv '1s/val_loss/other/'
table refused "metrics.csv with a row too short" "line 2" metrics.csv '2s/,[^,]*$//'
table gap "metrics.csv cut in its last row" "middle of its last row" metrics.csv "\$s/,.*//"
table refused "metrics.csv without any known column" "none of its columns" metrics.csv '1s/[a-z]/q/g'
table refused "metrics.csv that is empty" "metrics.csv" metrics.csv 'd'
table refused "steps.csv with text in a number" "steps.csv.*line 3" rank1/steps.csv '3s/64000000\|,1,/x/'
table refused "steps.csv with a negative time" "makes no sense" rank1/steps.csv '3s/,500000,/,-500000,/'
table refused "steps.csv with a rank that cannot be" "rank 99999999 is larger than" rank1/steps.csv '3s/^\([0-9]*,[0-9]*\),1,/\1,99999999,/'
table refused "steps.csv with a step of no time" "step_ns is missing or makes no sense" rank1/steps.csv '3s/^\([^,]*,[^,]*,[^,]*,[^,]*\),[^,]*/\1,0/'
table gap "steps.csv without a phase" "no column 'forward_ns'" rank1/steps.csv '1s/forward_ns/other/'
table gap "steps.csv without step times" "no column 'step_ns'" rank1/steps.csv '1s/step_ns/other/'
table gap "a monitor with text in a number" "left out as impossible" node0/cpu_monitor.csv '5s/[0-9]/x/g'
spoil
use plain
sed -i '2,$d' "$TMP"/bad/rank*/steps.csv
fixture_pack "$TMP/bad" "$TMP/bad.tar"
gap "steps.csv with a header alone, as a full disk leaves it" "steps.csv holds no step. The run ended, or its disk was full" "$TMP/bad.tar" "$TMP/1.tar"
spoil
sed -i '1s/$/,extra/; 2,$s/$/,7/' "$TMP/bad/metrics.csv"
fixture_pack "$TMP/bad" "$TMP/bad.tar"
check "metrics.csv with one more column is fine" "$report" "$TMP/1.tar" "$TMP/bad.tar" -o "$site" -q
rm -rf "$site"
spoil
use sanitized
echo '{"command": [' > "$TMP/bad/job_metadata.json"
fixture_pack "$TMP/bad" "$TMP/bad.tar"
refused "job_metadata.json that is no JSON" "not JSON" "$TMP/bad.tar" -o "$site"
spoil
head -c 3000 /dev/urandom > "$TMP/bad/rank0/trace-7.dct"
fixture_pack "$TMP/bad" "$TMP/bad.tar"
gap "a trace that is noise" "trace-7.dct" "$TMP/bad.tar" "$TMP/1.tar"

# ---- missing parts
use plain
check_status 0 "one whole archive lacks nothing" "$report" -q "$TMP/2.tar" -o "$site"
fixture_run "$TMP/again" 2 id=again
fixture_pack "$TMP/again" "$TMP/again.tar"
gap "archives of one node count only" "archives are of one node count only" "$TMP/2.tar" "$TMP/again.tar"
fixture_run "$TMP/other" 4 steps=12 batch=128
fixture_pack "$TMP/other" "$TMP/4.tar"
sed -i 's/"--epochs","2"/"--epochs","5"/' "$TMP/other/job_metadata.json"
fixture_pack "$TMP/other" "$TMP/4.tar"
gap "mixed configurations" "configurations, which differ in" "$TMP/1.tar" "$TMP/2.tar" "$TMP/4.tar"
spoil
rm "$TMP/bad/job_metadata.json"
fixture_pack "$TMP/bad" "$TMP/bad.tar"
gap "no metadata" "no job_metadata.json" "$TMP/bad.tar"
spoil
rm -r "$TMP/bad/rank1"
fixture_pack "$TMP/bad" "$TMP/bad.tar"
gap "steps of one rank missing" "on 1 of 2 ranks" "$TMP/bad.tar"
spoil
fixture_manifest "$TMP/bad"
sed -i 's|"complete":true,"incomplete_because":\[\]|"complete":false,"incomplete_because":["killed by the time limit"]|' "$TMP/bad/manifest.json"
fixture_tar "$TMP/bad" "$TMP/bad.tar"
gap "an incomplete run" "Killed by the time limit" "$TMP/bad.tar" "$TMP/1.tar"
"$report" "$TMP/bad.tar" -o "$site" -q > "$TMP/out" 2>&1
check "alone it has a badge" grep -q '>incomplete run<' "$site/index.html"
rm -rf "$site"
spoil
sed -i 's/"command" *: *\[/&"mpirun","-n","2",/' "$TMP/bad/job_metadata.json"
fixture_pack "$TMP/bad" "$TMP/bad.tar"
"$report" "$TMP/bad.tar" -o "$site" -q > "$TMP/out" 2>&1
check "a command line with its launcher" grep -q 'mpirun -n 2 ' "$site"/runs/*/index.html
if grep -q 'mpirun.* mpirun' "$site"/runs/*/index.html; then not_ok "... has it once"; else ok "... has it once"; fi
rm -rf "$site"
(cd "$TMP/good1" && tar cf "$TMP/bad.tar" metrics.csv)
gap "only a metrics.csv" "number of nodes is unknown" "$TMP/bad.tar"
"$report" "$TMP/bad.tar" -o "$site" --nodes 1 > "$TMP/out" 2>&1
if grep -q "number of nodes is unknown" "$site/bottleneck_summary.txt"; then not_ok "--nodes gives the number"; else ok "--nodes gives the number"; fi
rm -rf "$site"
mkdir "$TMP/tables"
cp "$TMP/good1/metrics.csv" "$TMP/tables/metrics-1node.csv"
cp "$TMP/good2/metrics.csv" "$TMP/tables/metrics-2node.csv"
gap "a table of epochs by another name" "number of nodes (2) is taken from the file name" "$TMP/tables/metrics-2node.csv"
check_status 3 "... two of them in a folder" "$report" "$TMP/tables" -o "$site" -q
check "... are two runs" test "$(jq -c '[.runs[] | [.n_nodes, (.epochs | length)]]' "$site/report.json")" = '[[1,2],[2,2]]'
cp "$TMP/tables/metrics-1node.csv" "$TMP/good2/metrics-before.csv"
check "... beside a run's own" "$report" "$TMP/good2" -o "$site" -q
check "... is not its" test "$(jq -c '[.runs[].epochs | length]' "$site/report.json")" = '[2]'
rm -r "$site" "$TMP/good2/metrics-before.csv"
printf 'epoch,height\n1,2\n' > "$TMP/tables/metrics-3node.csv"
refused "a table of epochs of something else" "neither an archive of a run nor a whole file" "$TMP/tables/metrics-3node.csv" -o "$site"

# ---- a program that does not train needs no epochs
spoil
rm -r "$TMP/bad/metrics.csv" "$TMP"/bad/rank*/steps.csv
python3 - "$TMP/bad/job_metadata.json" << 'EOF'
import json, sys
it = json.load(open(sys.argv[1]))
it.pop("program", None)
json.dump(it, open(sys.argv[1], "w"))
EOF
fixture_pack "$TMP/bad" "$TMP/bad.tar"
"$report" "$TMP/bad.tar" -o "$site" -q > "$TMP/out" 2>&1
check "no metrics.csv of a program that does not train" test "$(grep -c 'no metrics.csv' "$site/bottleneck_summary.txt")" = 0
rm -rf "$site"
spoil
rm "$TMP/bad/metrics.csv"
fixture_pack "$TMP/bad" "$TMP/bad.tar"
gap "... and of one that does" "There is no metrics.csv" "$TMP/bad.tar"

cp "$TMP/1.tar" "$TMP/again.tar"
fixture_run "$TMP/repeat" 1 steps=12 id=second
fixture_pack "$TMP/repeat" "$TMP/repeat.tar"
check "a repeated run is a repetition" "$report" "$TMP/1.tar" "$TMP/repeat.tar" "$TMP/2.tar" -o "$site" -q
check "... and is merged" grep -q '| 1 | 1 | 2 |' "$site/BOTTLENECK_ANALYSIS.md"

# ---- a full disk: the old site stays
use sanitized
if [ "$(id -u)" -eq 0 ] && mkdir "$TMP/disk" && mount -t tmpfs -o size=256k tmpfs "$TMP/disk" 2> /dev/null; then
    status=0
    "$report" "$TMP/1.tar" "$TMP/2.tar" -o "$TMP/disk/site" > "$TMP/out" 2> "$TMP/err" || status=$?
    left=$(find "$TMP/disk" -mindepth 1)
    umount "$TMP/disk"
    if [ $status -eq 2 ] && [ "$(wc -l < "$TMP/err")" -eq 1 ] && [ -z "$left" ]; then
        ok "a full disk"
    else
        not_ok "a full disk" "exit status $status, left '$left': $(cat "$TMP/err")"
    fi
else
    skip "a full disk" "needs root and a mount"
fi
# ---- few descriptors, a killed one: nothing unfinished is left
check "a report to replace" "$report" -q "$TMP/1.tar" -o "$site"
for n in 4 5 6 7; do
    # shellcheck disable=SC2016  # of the inner shell
    check_status 2 "$n descriptors are too few" bash -c 'ulimit -n $0 && exec "$@"' $n "$report" -q "$TMP/1.tar" -o "$site"
    check "... and nothing but the report of before is there" test "$(find "$TMP" -maxdepth 1 -name '*site*')" = "$site"
done
use plain
mkdir -p "$TMP/site.$$.partial/runs" # of a process number that lives
: > "$TMP/site.$$.partial/.dcreport-unfinished"
check "what a killed one left is no obstacle" "$report" -q "$TMP/1.tar" -o "$site"
check "... and is gone, whoever has its number now" test "$(find "$TMP" -maxdepth 1 -name '*site*')" = "$site"
rm -r "$site"

finish
