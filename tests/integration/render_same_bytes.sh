#!/usr/bin/env bash
# The same archives give the same bytes: twice, in another folder, locale and time zone, in another order of arguments, by another
# user with another umask, on fewer cores. By another build: render_builds.sh.
# Three archives of a usual size are rendered within a second and 100 MB.
# alone: it measures processor time, which files that others make and delete on the same disk and cache cost too
# plain: it measures processor time
. tests/lib/tap.sh
. tests/data/archives/fixture.sh

for n in 1 2 4; do
    fixture_run "$TMP/run$n" "$n" steps=150
    fixture_pack "$TMP/run$n" "$TMP/${n}node-x.tar"
done
a=("$TMP/1node-x.tar" "$TMP/2node-x.tar" "$TMP/4node-x.tar")
check "renders" "$BIN/dcreport" "${a[@]}" -o "$TMP/first" -q
check "renders again" "$BIN/dcreport" "${a[@]}" -o "$TMP/second" -q
check "the same bytes twice" diff -r "$TMP/first" "$TMP/second"

mkdir -p "$TMP/elsewhere/copy"
cp "${a[@]}" "$TMP/elsewhere/copy"
# shellcheck disable=SC2317  # called through check
elsewhere() {
    (cd "$TMP/elsewhere" && env LC_ALL=C.UTF-8 LANG=C.UTF-8 TZ=Pacific/Auckland \
        "$BIN/dcreport" copy/4node-x.tar copy/1node-x.tar copy/2node-x.tar -o here -q)
}
check "renders from another folder, in another order and time zone" elsewhere
check "... with the same bytes" diff -r "$TMP/first" "$TMP/elsewhere/here"
# Another root: user, mask of new files and home folder must not change the bytes.
# shellcheck disable=SC2317  # called through check
as_nobody() {
    (umask 077 && cd "$TMP/elsewhere/copy" && env -i PATH="$PATH" HOME=/nonexistent USER=nobody TZ=Asia/Kathmandu \
        setpriv --reuid 65534 --regid 65534 --clear-groups "$BIN/dcreport" ./*.tar -o ../nobody/site -q)
}
mkdir "$TMP/elsewhere/nobody"
chmod 755 "$TMP" "$TMP/elsewhere" "$TMP/elsewhere/copy" && chmod 777 "$TMP/elsewhere/nobody" && chmod 644 "$TMP/elsewhere/copy"/*.tar
if setpriv --reuid 65534 --regid 65534 --clear-groups "$BIN/dcreport" --version > /dev/null 2>&1 &&
    setpriv --reuid 65534 --regid 65534 --clear-groups test -r "$TMP/elsewhere/copy/1node-x.tar"; then
    check "another user renders, with umask 077" as_nobody
    check "... with the same bytes" diff -r "$TMP/first" "$TMP/elsewhere/nobody/site"
else
    skip "another user renders" "needs root, and another user who may come here"
fi
# A locale that writes 1,5 for 1.5, made here because few machines have one installed.
other=de_DE.UTF-8
mkdir "$TMP/locale"
if localedef -i de_DE -f UTF-8 "$TMP/locale/$other" 2> "$TMP/localedef.err"; then
    comma=$(env LOCPATH="$TMP/locale" LC_ALL="$other" bash -c 'printf %.1f 1,5' 2> /dev/null)
    check "the locale $other has a decimal comma" test "$comma" = 1,5
    check "renders in the locale $other" env LOCPATH="$TMP/locale" LC_ALL="$other" "$BIN/dcreport" "${a[@]}" -o "$TMP/third" -q
    check "... with the same bytes" diff -r "$TMP/first" "$TMP/third"
else
    skip "a locale with a decimal comma" "localedef cannot make one: $(head -n 1 "$TMP/localedef.err")"
fi
# From four runs on, all cores make pages.
fixture_run "$TMP/run3" 3
fixture_pack "$TMP/run3" "$TMP/3node-x.tar"
a+=("$TMP/3node-x.tar")
check "renders four runs" "$BIN/dcreport" "${a[@]}" -o "$TMP/cores" -q
core=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
check "... on one core" taskset -c "$core" "$BIN/dcreport" "${a[@]}" -o "$TMP/core" -q
check "... with the same bytes" diff -r "$TMP/cores" "$TMP/core"
check "... every file is listed" diff <(cd "$TMP/cores" && find . -type f ! -name .dcreport -printf '%P\n' | LC_ALL=C sort) \
    <(tail -n +2 "$TMP/cores/.dcreport")
a=("${a[@]:0:3}")
check "a site of ours is replaced" "$BIN/dcreport" "${a[0]}" "${a[1]}" -o "$TMP/second" -q
check "... whole" test ! -e "$TMP/second/runs/4node-fixture-4"

# Processor time, because other work of the machine does not count; the best of five is used.
if command -v python3 > /dev/null; then
    python3 - "$BIN/dcreport" "$TMP/timed" "${a[@]}" > "$TMP/cost" << 'PY'
import resource, subprocess, sys
program, out, archives = sys.argv[1], sys.argv[2], sys.argv[3:]
best, before = 1e9, 0
for _ in range(5):
    subprocess.run([program, *archives, "-o", out, "-q"], check=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    now = used.ru_utime + used.ru_stime
    best, before = min(best, now - before), now
print(round(best * 1000), used.ru_maxrss)
PY
    read -r ms kb < "$TMP/cost"
    if [ "$ms" -lt 1000 ]; then ok "three archives in $ms ms"; else not_ok "three archives within a second" "$ms ms"; fi
    if [ "$kb" -lt 100000 ]; then ok "peak memory $((kb / 1000)) MB"; else not_ok "peak memory under 100 MB" "$kb kB"; fi
else
    skip "time and memory" "needs python3"
fi
finish
