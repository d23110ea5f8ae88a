#!/bin/bash
# dccollect shows the progress of long work with an estimate: on a terminal only, and not while the user's program runs. strace makes
# short work long, by a pause with each read of one file.
# plain: strace, under which LeakSanitizer does not work
# shellcheck disable=SC2016,SC2317  # commands for another shell; functions that check calls
. tests/lib/tap.sh
. tests/data/programs/build.sh
build_make_ranks || not_ok "make_ranks builds"
WELLFORMED_NOT='*.screen before' # what a terminal was sent
cd "$TMP" || exit 1
export TERM=xterm COLLECT
for program in strace script; do command -v $program >/dev/null || { skip "progress" "no $program"; finish; }; done

slowly() { # FILE command...: PAUSE, in ms, with each read of the file
    strace -f -qq -o /dev/null -P "$TMP/$1" -e trace=read,pread64 -e "inject=read,pread64:delay_enter=${PAUSE:-120}000" "${@:2}"
}
export -f slowly
./make_ranks spool 2 3000 4
"$COLLECT" pack spool -o ranks.tar 2>/dev/null
trace=$(echo spool/rank1/*.dct)
mkdir results && head -c 2000000 /dev/zero >results/data.bin
declare -A commands=(
    [pack]="slowly $trace \$COLLECT pack spool -o packed.tar"
    [verify]='slowly ranks.tar $COLLECT verify ranks.tar'
    [export]='slowly ranks.tar $COLLECT export ranks.tar -o events.json'
    [csv]='slowly ranks.tar $COLLECT export ranks.tar --format csv >events.csv'
    [events]='slowly ranks.tar $COLLECT export ranks.tar --format csv'
    [anonymise]='PAUSE=40 slowly ranks.tar $COLLECT anonymise ranks.tar without.tar'
    [run]='slowly .unverified-run.tar $COLLECT run --adopt results -o run.tar -- sh -c "sleep 2.5; echo ended"'
    [calibrate]='$COLLECT calibrate -o calibration.json'
)
for name in "${!commands[@]}"; do
    SHELL=$BASH script -qfec "${commands[$name]}" "$name.screen" >/dev/null 2>&1 </dev/null &
done
slowly ranks.tar "$COLLECT" verify ranks.tar >piped 2>&1
wait
# shown NAME WORDS: a line with these words and an estimate, and the last line is erased
shown() {
    grep -qaE $'\r\033\\[K'"$2, about [0-9]+ s for the rest" "$1.screen" && ! tr '\r' '\n' <"$1.screen" | grep -a $'^\033\\[K' | tail -n 1 | grep -a "for the rest"
}
check "pack: the traces" shown pack "dccollect: reading the traces"
check "... the files" shown pack "dccollect: [0-9]+ of [0-9]+ files packed"
check "verify" shown verify "dccollect: checking the archive"
check "export" shown export "dccollect: exporting the traces"
check "export by redirection" shown csv "dccollect: exporting the traces"
check "export to the terminal: the events only" sh -c '! grep -a "for the rest" events.screen && grep -qa all_reduce_bucket events.screen'
check "anonymise" shown anonymise "dccollect: replacing names"
check "run: its archive is checked" shown run "dccollect: checking the archive"
check "... and nothing is shown before the program has ended" sh -c 'sed "/^ended/q" run.screen >before && tail -n 1 before | grep -qa "^ended" && ! grep -qa "\[K" before'
check "calibrate" shown calibrate "dccollect calibrate: [1-4] of 4 rates measured"
check "no colours, so NO_COLOR has nothing to switch off" sh -c '! grep -qaP "\x1b\[[0-9;]*m" ./*.screen'
check "without a terminal: nothing" test "$(cat piped)" = "ranks.tar: ok, 9 members, 2 traces read to the end"
finish
