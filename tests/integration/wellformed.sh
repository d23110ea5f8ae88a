#!/usr/bin/env bash
# Tests of tests/lib/wellformed.py: for each kind of output a well-formed file and some malformed ones, a script with malformed
# outputs, and outputs of the programs for hostile names.
# shellcheck disable=SC2317  # functions are called by check
. tests/lib/tap.sh
. tests/data/archives/fixture.sh
WELLFORMED_NOT='kinds/* nested/*'
checker=tests/lib/wellformed.py
kinds=$TMP/kinds
mkdir "$kinds"

# sound NAME CONTENT (of printf): nothing is found
# wrong NAME CONTENT WORDS: it is named, with the words
# All are looked at together, further down.
names=()
words=()
sound() { wrong "$1" "$2" ''; }
wrong() {
    local name="${#names[@]}-$1"
    # shellcheck disable=SC2059  # escapes are meant
    printf "$2" >"$kinds/$name"
    names+=("$name")
    words+=("$3")
}

# ---- text and messages
sound a.txt 'one\ttwo \303\251\n\342\200\256 in a file\n'
wrong a.md 'one\ncaf\351\n' 'line 2: no UTF-8: .*caf'
wrong a.tex 'one\n\033[31mtwo\n' 'line 2: the control character U+001B'
wrong a.bib 'one\302\205\n' 'the control character U+0085'
wrong a.txt 'one\r\n' 'U+000D'
sound message 'dcreport: \303\251.\n'
wrong message 'dcreport: cannot read \342\200\256txt.exe\n' 'line 1: the format character U+202E'
wrong message 'Note: x\ndccollect: \342\200\213\n' 'line 2: the format character U+200B'

# ---- JSON
sound a.json '{"a": [1.5e3, null, "\\u001b"], "b": {"a": 1}}\n'
wrong a.json '{"a": 1,}\n' 'no JSON'
wrong a.json '{"a": NaN}\n' 'NaN is no number'
wrong a.json '{"a": [1, -Infinity]}\n' 'Infinity is no number'
wrong a.json '{"b": {"a": 1, "a": 2}}\n' "the key 'a' twice"
wrong a.json '{"a": "\377"}\n' 'no UTF-8'
wrong a.json '{"a": 1}\n{"a": 2}\n' 'Extra data'
wrong a.json '{"a": "\\ud800"}\n' 'no JSON: .*surrogates'
sound a.json '{"a": "\\ud83d\\ude00"}\n'
sound a.jsonl '{"a": 1}\n{"a": 2}\n'
wrong a.jsonl '{"a": 1}\n{"a": 2\n' 'line 2: no JSON'
wrong a.jsonl '{"a": 1}\n{"a": 2}' 'the last line has no end'
sound a.js 'dcreport("meta",{"a":[1,2]});\n'
wrong a.js 'dcreport("meta",{"a":[1,,2]});\n' 'no JSON'
wrong a.js 'dcreport("meta",{"a":[1,2]}\n' 'has no end'

# ---- CSV
sound a.csv 'a,"b, ""c"" (ns)"\n1,\n"two\nlines",3\n'
wrong a.csv '"Step time, mean" (ns),b\n1,2\n' 'line 1: .*expected after'
wrong a.csv "a,b\n'\"x,y\",2\n" 'line 2: 3 fields instead of 2'
wrong a.csv 'a,b\n1\n' 'line 2: 1 fields instead of 2'
wrong a.csv 'a,b\n1,2\n\n' 'line 3: 0 fields instead of 2'
wrong a.csv 'a,b\n1,"2\n' 'line 2: unexpected end of data'
wrong a.csv 'a,b\n1,2' 'the last line has no end'
wrong a.csv 'a,b\n1,\000\n' 'U+0000'

# ---- XML, pictures
sound a.svg '<?xml version="1.0" encoding="UTF-8"?>\n<svg xmlns="http://www.w3.org/2000/svg"><g a="&lt;"/></svg>\n'
wrong a.svg '<svg xmlns="http://www.w3.org/2000/svg"><g></svg>\n' 'no XML: mismatched tag'
wrong a.xml '<testsuites a="1" a="2"/>\n' 'no XML: duplicate attribute'
wrong a.xml '<testsuites>a & b</testsuites>\n' 'no XML'
wrong a.xml '<testsuites>&#27;</testsuites>\n' 'no XML: reference to invalid character'
sound a.pdf '%%PDF-1.5\n%%%%EOF\n'
wrong a.pdf '%%PDF-1.5\n' 'no whole PDF'
wrong a.png '\211PNG\r\n\032\n' 'no whole PNG'

# ---- HTML
page() { printf '%s' '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>a</title></head><body>\n' "$1" '\n</body></html>\n'; }
sound a.html "$(page '<main><dl><div><dt>a</dt><dd>b</dd></div></dl><svg viewBox="0 0 1 1"><text x="1">&lt;</text></svg></main>')"
wrong a.html '<html lang="en"><title>a</title><p>x</p></html>\n' 'line 1, column 1: the parser had to repair'
wrong a.html "$(page '<p><div>a</p></div>')" 'line 3, column .* the parser had to repair'
wrong a.html "$(page '<table><p>a</p></table>')" 'the parser had to repair'
wrong a.html "$(page '<p id="a" id="b">a</p>')" 'the parser had to repair'
wrong a.html "$(page '<p>&#27;</p>')" 'the parser had to repair'
wrong a.html "$(page '<p id="a">a</p><p id="a">b</p>')" 'anchor "a" already defined'
wrong a.html "$(page '<span><p>a</p></span>')" 'missing </span> before <p>'
wrong a.html "$(page '<p colour="red">a</p>')" 'proprietary attribute "colour"'
wrong a.html "$(page '<blink>a</blink>')" '<blink> is not'
wrong a.html "$(page '<ul><li></li></ul>')" 'trimming empty <li>'
wrong a.html "$(page '<p>\377</p>')" 'no UTF-8'
wrong a.html "$(page '<script type="application/json">{"a":}</script>')" 'a script of data: no JSON'

python3 "$checker" "${names[@]/#/$kinds/}" >"$TMP/found"
check_status 1 "what is not well formed ends with status 1" test $? -eq 0
for i in "${!names[@]}"; do
    of_one=$(grep -F -- "$kinds/${names[i]}: " "$TMP/found")
    if [ -z "${words[i]}" ]; then
        check "well formed: ${names[i]}" test -z "$of_one"
    elif grep -q -- "${words[i]}" <<<"$of_one"; then
        ok "found: ${names[i]}, ${words[i]}"
    else
        not_ok "found: ${names[i]}, ${words[i]}" "instead: $of_one"
    fi
done

# ---- an archive: only as it was sealed, and only what dccollect wrote
# sealed NAME MEMBER CONTENT ROLE
sealed() {
    rm -rf "$TMP/nested"
    mkdir -p "$TMP/nested"
    # shellcheck disable=SC2059
    printf "$3" >"$TMP/nested/$2"
    local zeros sum
    zeros=$(printf '0%.0s' {1..64})
    printf '{"format": "dcreport-run", "version": 2, "manifest_sha256": "%s", "members": [{"name": "%s", "role": "%s", "sha256": "%s"}]}' \
        "$zeros" "$2" "$4" "$(sha256sum <"$TMP/nested/$2" | cut -c 1-64)" >"$TMP/nested/manifest.json"
    sum=$(sha256sum <"$TMP/nested/manifest.json" | cut -c 1-64)
    sed -i "s/$zeros/$sum/" "$TMP/nested/manifest.json"
    tar cf "$TMP/nested/$1" -C "$TMP/nested" manifest.json "$2"
    cat "$TMP/nested/$1" >"$kinds/$1"
}
named() { python3 "$checker" "$1" | grep -qF -- "$2"; }
sealed a.tar cpu_monitor.csv 'a,b\n1\n' cpu-monitor
check "found: a member of an archive" named "$kinds/a.tar" "a.tar: cpu_monitor.csv: line 2: 1 fields instead of 2"
zstd -q "$kinds/a.tar"
check "... compressed" named "$kinds/a.tar.zst" "cpu_monitor.csv: line 2"
sed 's/^1$/2/' "$kinds/a.tar" >"$kinds/b.tar"
check "... not where it was changed since" python3 "$checker" "$kinds/b.tar"
sealed a.tar their.csv 'a,b\n1\n' other
check "... not what other programs wrote" python3 "$checker" "$kinds/a.tar"

# ---- a script whose outputs are not well formed; they are deleted or replaced before it ends
# script NAME LINE...: runs a script of tests with these lines; its output in $TMP/NAME.tap
script() {
    local name=$1
    shift
    local folder=$TMP/nested/$name
    mkdir -p "$folder"
    { echo '. tests/lib/tap.sh' && printf '%s\n' "$@" finish; } >"$folder.sh"
    env TMP="$folder" bash "$folder.sh" >"$folder.tap" 2>&1
}
# shellcheck disable=SC2016  # for the script
made=('mkdir -p $TMP/site' 'printf "made by dcreport; x\na.csv\n" >$TMP/site/.dcreport' 'printf "a,b\n1\n" >$TMP/site/a.csv')
# shellcheck disable=SC2016
check_status 1 "a site is looked at before it is deleted" script deleted "${made[@]}" 'ok one' 'rm -r $TMP/site' 'ok two'
check "... and what is wrong is said" grep -q '^#   site/a.csv: line 2: 1 fields instead of 2' "$TMP/nested/deleted.tap"
check_status 0 "damaged on purpose" script damaged "${made[@]}" 'WELLFORMED_NOT="none site/*"' 'ok one'
check "... leaves one that was well formed" grep -q '^ok 2 - all outputs are well formed, . contents' "$TMP/nested/damaged.tap"
# shellcheck disable=SC2016
check_status 1 "... and hides no copy elsewhere" script hidden "${made[@]}" 'cp -r $TMP/site $TMP/other' 'WELLFORMED_NOT="site/*"' 'ok one'
# shellcheck disable=SC2016
check_status 1 "an empty file of a site" script empty "${made[@]}" ': >$TMP/site/a.csv' 'ok one'
check_status 1 "a printed message is looked at" script message 'check said printf "dcreport: \342\200\256\n"' 'check other true'
check "... and said" grep -q '^#   tap.out: line 1: the format character U+202E' "$TMP/nested/message.tap"
# shellcheck disable=SC2016
check_status 1 "a program's file is looked at that nobody names" script unnamed 'printf "dccollect: \033[2J\n" >$TMP/err' 'ok one'
check_status 0 "a script without outputs" script nothing 'ok one'
check "... has no such test" grep -qx '1\.\.1' "$TMP/nested/nothing.tap"

# ---- hostile names: outputs and messages stay well formed for any name of an input
odd=$(printf 'odd\033[2J\342\200\256\377"<&,name')
mkdir "$TMP/$odd"
"$BIN/dcrnn-train" --sensors 6 --days 1 --write-data "$TMP/$odd" >"$TMP/said" 2>&1
cp "$TMP/$odd/speeds.csv" "$TMP/$odd/$odd.csv"
check "a trainer with files of such names" "$BIN/dcrnn-train" --data "$TMP/$odd/$odd.csv" --graph "$TMP/$odd/distances.csv" \
    --units 4 --batch 8 --steps 3 --validation-windows 4 --out "$TMP/$odd/out"
check_status 2 "... refused" "$BIN/dcrnn-train" --data "$TMP/$odd/none.csv" --graph "$TMP/$odd/distances.csv" --out "$TMP/none"
check "a collector" "$BIN/dccollect" run -o "$TMP/$odd.tar" --label "where=$odd" -- \
    "$BIN/dcrnn-train" --data "$TMP/$odd/speeds.csv" --graph "$TMP/$odd/distances.csv" --units 4 --batch 8 --steps 3 \
    --validation-windows 4 --out "$TMP/$odd/out"
for command in verify ls "ls -l"; do
    # shellcheck disable=SC2086  # words
    check "... $command" "$BIN/dccollect" $command "$TMP/$odd.tar"
done
check "... pack" "$BIN/dccollect" pack "$TMP/$odd/out" -o "$TMP/$odd-packed.tar"
check_status 2 "... refused" "$BIN/dccollect" pack "$TMP/$odd/none" -o "$TMP/none.tar"
for form in json csv; do
    check "... export to $form" "$BIN/dccollect" export "$TMP/$odd.tar" -o "$TMP/$odd.$form"
done
fixture_run "$TMP/run" 1
# shellcheck disable=SC1003
sed -i 's|"host":"node1"|"host":"=a\\u202eb\\u0007,\\"<\&"|; s|"dataset":"generated"|"dataset":"-\\u009b\\u200f, \\"x\\" </script>"|' \
    "$TMP/run/job_metadata.json"
cp "$TMP/run/metrics.csv" "$TMP/$odd/metrics.csv"
fixture_pack "$TMP/run" "$TMP/$odd-1.tar"
check_status 3 "a report" "$BIN/dcreport" "$TMP/$odd-1.tar" "$TMP/$odd/metrics.csv" -o "$TMP/site" --single-file "$TMP/one.html"
check "a check with JUnit" "$BIN/dcreport" "$TMP/$odd-1.tar" --check 'steps>1' --junit "$TMP/junit.xml" --summary "$TMP/summary.md"
# A trace whose every name is odd: what JSON can say, and bytes that it cannot.
awk 'BEGIN {
    odd = "\\u0000\\u001b[31m\\u0085\\u200b\\u202e\\ud800 \\\"<&>\\n,=1+1|]]>\377"
    printf "{\"deviceProperties\":[{\"id\":0,\"name\":\"%s\"}],\"distributedInfo\":{\"rank\":0,\"world_size\":2},\"traceEvents\":[", odd
    for (s = 0; s < 40; s++) {
        one("user_annotation", "ProfilerStep#" s, s * 10000, 9900, 1, "")
        one("cpu_op", "aten::" odd, s * 10000 + 100, 3000, 1, "")
        one("cuda_runtime", "cudaLaunchKernel", s * 10000 + 200, 8, 1, "\"correlation\":" s)
        one("kernel", "gemm " odd, s * 10000 + 400, 6000, 0, "\"device\":0,\"stream\":7,\"correlation\":" s)
        one("gpu_memcpy", "Memcpy HtoD " odd, s * 10000 + 7000, 900, 0, "\"device\":0,\"stream\":7,\"bytes\":4000")
    }
    print "]}"
}
function one(cat, name, ts, dur, pid, args) {
    printf "%s{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"ts\":%d,\"dur\":%d,\"pid\":%d,\"tid\":%d,\"args\":{%s}}", n++ ? ",\n" : "", cat, name, ts, dur, pid, pid, args
}' >"$TMP/bytes-$odd.json"
tr -d '\377' <"$TMP/bytes-$odd.json" >"$TMP/$odd.pt.trace.json"
sed -i 's/\\u0000//g; s/\\ud800//g' "$TMP/$odd.pt.trace.json"
for trace in "bytes-$odd.json" "$odd.pt.trace.json"; do
    "$BIN/dcreport" "$TMP/$trace" -o "$TMP/site" --single-file "$TMP/one.html" >"$TMP/said" 2>&1
    status=$?
    check "a trace of odd names: a report, or refused" test $status -eq 0 -o $status -eq 2 -o $status -eq 3
done
check_status 2 "a report, refused" "$BIN/dcreport" "$TMP/$odd-none.tar" -o "$TMP/none"

# ---- every kind of output is known by what the programs write today: with a byte behind it that is no text, each is named
real=$TMP/nested/real
mkdir -p "$real"
cp "$TMP/$odd"/out/{program.json,metrics.csv,steps-rank0.csv} "$TMP"/{one.html,junit.xml,summary.md} "$real"
cp "$TMP/$odd.json" "$real/export.json"
cp "$TMP/$odd.csv" "$real/export.csv"
cp "$TMP/site/report.json" "$real"
fixture_calibrate "$real"
for command in "dcrnn-train --data none" "dccollect verify none" "dcreport none -o none"; do
    # shellcheck disable=SC2086  # words
    "$BIN"/$command >"$real/${command%% *}" 2>&1
done
for file in "$real"/*; do printf '\377' >>"$file"; done
check_status 1 "outputs of all programs, spoiled" script real 'ok one'
for file in "$real"/*; do check "... found: ${file##*/}" grep -q "^#   ${file##*/}: .*no UTF-8" "$TMP/nested/real.tap"; done
finish
