#!/bin/bash
# dccollect run: alone, in front of mpirun, one per rank; status, signals, kills, other people's injections.
# shellcheck disable=SC2016,SC2317  # commands for another shell; functions that check calls
. tests/lib/tap.sh
. tests/data/programs/build.sh
build_marks || not_ok "marks builds"
build_trace_text || not_ok "trace_text builds"
cd "$TMP" || exit 1
export MARKS_STEP_US=20000

# ---- alone
printf 'hello\n' | "$COLLECT" run -o alone.tar --label purpose=test -- sh -c 'cat; exec ./marks 20' >out 2>err
check "exit status 0" test "$?" -eq 0
check "standard input and output are the program's" grep -qx hello out
check "one closing line" test "$(wc -l <err)" -eq 1
check "verify" "$COLLECT" verify alone.tar
check "complete" manifest alone.tar '.complete and .n_ranks == 1 and .n_nodes == 1'
check "80 ranges" test "$(metadata alone.tar .collector.events)" = 80
check "label" test "$(metadata alone.tar .labels.purpose)" = test
check "ls tells it" sh -c '"$0" ls alone.tar | grep -qx "  labels    purpose=test"' "$COLLECT"
check "monitors said ok or why not" metadata alone.tar '[.nodes[0].monitors[] | test("^(ok|absent: .|partial: .)")] | all'
check "several samples of the CPU" test "$(member alone.tar node0/cpu_monitor.csv | wc -l)" -ge 4
check "the process is sampled" test "$(member alone.tar rank0/process_monitor.csv | wc -l)" -ge 4
check "manifest is the first member, the others are sorted" sh -c \
    'tar tf alone.tar >names; [ "$(head -n 1 names)" = manifest.json ] && tail -n +2 names | LC_ALL=C sort -c'
check "no spool is left" test ! -e alone.tar.spool

# ---- status
check_status 7 "the program's exit status" "$COLLECT" run -o status.tar -- ./marks 1 0 7
check "incomplete, with the reason" manifest status.tar '(.complete | not) and (.incomplete_because[0] | test("exit status 7"))'
"$COLLECT" run -o status.tar -- sh -c 'exit 139' 2>err
check "a status above 128 is not surely a signal" manifest status.tar \
    '.incomplete_because == ["the program ended with exit status 139, which may mean signal 11 (Segmentation fault)"]'
mkdir front && printf '#!/bin/sh\nexit 132\n' >front/mpirun && chmod +x front/mpirun
"$COLLECT" run -o status.tar -- front/mpirun -n 2 ./no-such-program 2>err
check "a launcher that started no rank has statuses of its own" manifest status.tar \
    '.incomplete_because == ["the launcher mpirun ended with exit status 132", "no rank was recorded, so the program may not have started"]'
check "and said to have recorded no rank" grep -q '1 node, 0 ranks, 0 ranges' err
for signal in 9 11 6; do
    check_status $((128 + signal)) "ended by signal $signal" "$COLLECT" run -o signal.tar -- ./marks 10 $signal
    check "verify after signal $signal" "$COLLECT" verify signal.tar
    check "ranges up to signal $signal" test "$(metadata signal.tar .collector.events)" = 24
done
check_status 127 "a program that is not there" "$COLLECT" run -o none.tar -- ./no-such-program
check_status 126 "a program that is none" "$COLLECT" run -o none.tar -- ./out
check "no archive and no spool of a program that never ran" sh -c '! ls none.tar* 2>/dev/null'
check_status 125 "no output named" "$COLLECT" run -- ./marks
check_status 125 "nowhere to write" "$COLLECT" run -o /proc/nowhere/x.tar -- ./marks
check_status 125 "unknown option" "$COLLECT" run --what -o x.tar -- ./marks

check_status 7 "nobody reads the closing line: the program's status" sh -c 'mkfifo nobody; { "$0" run -o unread.tar -- ./marks 1 0 7; } 2>nobody & true <nobody; wait $!' "$COLLECT"
# ---- signals are passed on
"$COLLECT" run -o term.tar -- sh -c 'trap "exit 42" TERM; : >trapped; while :; do sleep 0.05; done' 2>err &
collector=$!
for _ in $(seq 2400); do [ -e trapped ] && [ -e term.tar.spool/launcher.json ] && grep -q '"pid"' term.tar.spool/launcher.json && break; sleep 0.05; done
kill -TERM $collector
wait $collector
check "SIGTERM goes to the program, its status comes back" test "$?" -eq 42
check "the archive has both" manifest term.tar '.incomplete_because == ["the program ended with exit status 42, after it was told to end (SIGTERM)"]'
# Ctrl-C, or kill with a group's number: all processes of the group get SIGINT.
setsid env --default-signal=INT "$COLLECT" run -o int.tar -- ./marks 3000 2>err &
collector=$!
for _ in $(seq 2400); do [ -e int.tar.spool/launcher.json ] && grep -q '"pid"' int.tar.spool/launcher.json && [ -e int.tar.spool/rank0 ] && break; sleep 0.05; done
kill -INT -- -$collector
wait $collector
check "SIGINT to the group: status 130" test "$?" -eq 130
check "packed: the program was interrupted" manifest int.tar '.incomplete_because[0] == "the program was interrupted (SIGINT)"'
check "in the metadata too" metadata int.tar '.ranks[0].told_to_end == "SIGINT" and .ranks[0].signal == 2'

# ---- a signal reaches the program once, whatever its sender
if "$CC" -O1 -o count_signals "$OLDPWD/tests/data/programs/count_signals.c" 2>cc.txt; then
    for how in key group alone; do
        rm -f counts signals.tar
        "$OLDPWD/tests/lib/send_signals.py" $how counts "$COLLECT" run -o signals.tar -- ./count_signals counts >out 2>&1
        want="1 0 0"
        [ $how = alone ] && want="0 1 1"
        check "SIGINT, SIGTERM and SIGUSR1 that arrive ($how): $want" test "$(cat counts)" = "$want"
    done
else
    skip "signals arrive once" "no compiler: $(head -n 1 cc.txt)"
fi

# ---- the collector is killed: the spool packs, marked incomplete
MARKS_STEP_US=30000 "$COLLECT" run -o killed.tar -- ./marks 60 2>err &
collector=$!
for _ in $(seq 2400); do [ -e killed.tar.spool/rank0 ] && break; sleep 0.05; done
sleep 0.3
kill -9 $collector
wait $collector 2>/dev/null
for command in "dccollect verify" "dcreport -o killed-site"; do
    # shellcheck disable=SC2086  # options of the command
    check_status 2 "${command%% *}: an archive whose collector was killed" "$BIN"/$command killed.tar
    check "and how it is packed" test "$(cat tap.out)" = "${command%% *}: there is no 'killed.tar', but a recording beside it. When the program has ended, use \`dccollect pack killed.tar.spool -o killed.tar\`."
done
"$COLLECT" pack killed.tar.spool -o early.tar 2>early
check "pack while the program still records says so" grep -q "1 process of the run still records. Pack again when it has ended" early
for _ in $(seq 600); do pgrep -f 'marks 60$' >/dev/null || break; sleep 0.1; done # the program goes on to its end
check "pack after the collector was killed" "$COLLECT" pack killed.tar.spool -o killed.tar
check "verify" "$COLLECT" verify killed.tar
check "incomplete: no end record" manifest killed.tar '(.complete | not) and (.incomplete_because[0] | test("no end record"))'
check "all ranges of the program" test "$(metadata killed.tar .collector.events)" = 240

"$COLLECT" run -o nothing.tar -- true 2>err
check "a program without NVTX: nothing recorded, and why" metadata nothing.tar '.collector.nvtx | test("^nothing recorded because no process left a trace: it has no NVTX range, .* not loaded .statically linked, or privileges")'

# ---- the starting folder is removed
mkdir leave && (cd leave && "$COLLECT" run -o ../left.tar --io off -- sh -c 'rm -r ../leave; exec ../marks 2' 2>../err)
check "the folder in which all began is removed: the archive is there" metadata left.tar '.collector.events == 8'
check "and nothing else" sh -c '! ls -d left.tar.* leave 2>/dev/null'
check_status 125 "an archive in /proc" sh -c '"$0" run -o /proc/x.tar -- true 2>err' "$COLLECT"
check "... the message is about its folder" grep -q "^dccollect: cannot write '/proc/x.tar': no file can be created in its folder[.] Choose another folder[.]$" err
check_status 125 "a rank that cannot be" env OMPI_COMM_WORLD_RANK=70000 "$COLLECT" run --spool no-rank -- true

# ---- the environment belongs to the C library alone: another walk over it would be one more that a setenv() can hit
check "getenv is not replaced" sh -c 'for l in "$1"/*.so; do ! nm -D --defined-only "$l" | grep -wE "getenv|setenv|environ" || exit 1; done' - "$(dirname "$BIN")/lib/dcreport"
# ---- interposed functions are called before they are relocated
if "$CC" -shared -fPIC -O1 -DLIBRARY -o libearly.so "$OLDPWD/tests/data/programs/early.c" 2>cc.txt &&
    "$CC" -O1 -o early "$OLDPWD/tests/data/programs/early.c" ./libearly.so 2>>cc.txt; then
    HOME=/ ./early >out
    HOME=/ "$COLLECT" run -o early.tar -- ./early >with 2>err
    check "a library that reads files while the loader relocates it: nothing changes" test "$?" -eq 0 -a "$(cat out)" = "42 home" -a "$(cat with)" = "42 home"
    check "and what follows is recorded" metadata early.tar '.collector.io == "ok"'
else
    skip "a library that reads files while the loader relocates it" "no IFUNC here: $(head -n 1 cc.txt)"
fi

# ---- programs that give up their environment or root before their first range
if [ -n "$NVTX_INCLUDE" ]; then
    (cd "$OLDPWD" && build_program give_up give_up.c "${NVTX_FLAGS[@]}") || not_ok "give_up builds"
    gives_up() { # EVENTS OUTPUT ARGUMENTS...
        local want=$1 out=$2
        shift 2
        [ "$(HOME=/ "$COLLECT" run -o given.tar --max-mb 8 -- ./give_up "$@" 2>err)" = "$out" ] && [ "$(metadata given.tar .collector.events)" = "$want" ]
    }
    check "clearenv(): NVTX finds no recorder, and the environment stays empty" gives_up 0 "no-spool no-home" clearenv
    check "and the metadata says why" metadata given.tar '.collector.nvtx | test("^nothing recorded because .* environment or root given up")'
    check "another environment" gives_up 0 "no-spool no-home" noenv
    check "NVTX's variable alone taken out: that is meant" gives_up 0 "spool home" unset
    if [ "$(id -u)" = 0 ]; then
        check "chroot()" gives_up 10 "spool home" chroot
        check "both" gives_up 0 "no-spool no-home" clearenv chroot
        chmod 755 . # the other user has to find the program
        check "setuid(): recorded" gives_up 10 "spool home" user
        check "setuid() and exec: not recorded" gives_up 0 "spool home" user exec
        check "and the metadata says why" metadata given.tar '.collector.nvtx | test("^nothing recorded because .*privileges")'
        check "the same in a forked child, as su does" gives_up 0 "spool home" fork user exec
        check "and the metadata says why" metadata given.tar '.collector.nvtx | test("^nothing recorded because .*privileges")'
        "$COLLECT" run --spool server -- sh -c 'echo $$ >server.pid; exec ./give_up server' >out 2>err
        pid=$(cat server.pid)
        check "fifty children that become another user leave no trace" test -z "$(find server -name '*.dct' ! -name "trace-$pid.dct" ! -name "trace-$pid-*.dct")"
        check "that of the parent has its own number" test -n "$(find server -name "trace-$pid*.dct")"
        cp give_up changes && chown 65534 changes && chmod 4755 changes
        "$COLLECT" run -o changes.tar -- ./changes >out 2>err
        check "a set-user-ID program: what cannot be loaded, and why" metadata changes.tar '.collector.not_loaded | test("changes the user")'
    fi
else
    skip "programs that give up their environment" "no NVTX headers"
fi

# ---- adopted results; those of an earlier run stay out
mkdir -p results/nsys
printf 'epoch,train_loss\n1,2.5\n' >old.csv
cp old.csv results/metrics.csv
touch -d '2001-01-01' results/metrics.csv
"$COLLECT" run -o adopt.tar --adopt results -- sh -c \
    'printf "epoch,step\n" >results/steps-rank0.csv; echo "{\"name\":\"marks\",\"global_batch\":64}" >results/program.json
     echo x >results/checkpoint-1.bin; echo rep >results/nsys/a.nsys-rep; ln -s /etc/passwd results/link; ./marks 2' 2>err
check "steps of rank 0" member adopt.tar rank0/steps.csv
check "program.json, verbatim and in the metadata" metadata adopt.tar '.program.global_batch == 64'
check "foreign evidence" manifest adopt.tar '.members[] | select(.name == "nsys/a.nsys-rep") | .role == "foreign"'
check "checkpoint, link and old metrics are listed, not packed" metadata adopt.tar \
    '[.not_packed[] | select(.name | test("(checkpoint-1.bin|link|metrics.csv)$"))] | length == 3'
check_status 1 "metrics of an earlier run are not in it" manifest adopt.tar '[.members[].name] | index("metrics.csv") != null'

# A path that the record of the run cannot hold is reported before the program runs; the spool still packs.
latin=$'results-\xfc'
mkdir "$latin"
printf 'epoch,train_loss\n1,2.5\n' >"$latin/metrics.csv"
check_status 125 "results in a folder whose name is not UTF-8 are not lost: the program does not start" \
    sh -c '"$@" 2>said' sh "$COLLECT" run -o latin.tar --adopt "$latin" -- touch started
check "... and the way to pack them is said" grep -qF "'dccollect pack SPOOL -o RUN.tar --adopt FOLDER'" said
check_status 1 "... at once" test -e started
"$COLLECT" run --spool latin -- true 2>/dev/null
check "... which works" "$COLLECT" pack latin -o latin.tar --adopt "$latin"
check "... with the results" member latin.tar metrics.csv

# ---- repetitions: another output path is the same configuration, other arguments are not
for i in 1 2; do
    mkdir -p "rep$i" && "$COLLECT" run -o "rep$i.tar" --adopt "rep$i" -- ./marks 2 0 0 --out "rep$i" "rep$i/file" 2>/dev/null
done
"$COLLECT" run -o rep3.tar -- ./marks 3 0 0 2>/dev/null
check "another output folder: the same configuration" test "$(manifest rep1.tar .config_hash)" = "$(manifest rep2.tar .config_hash)"
check "another argument: another configuration" test "$(manifest rep1.tar .config_hash)" != "$(manifest rep3.tar .config_hash)"
check "each run has its own id" test "$(manifest rep1.tar .run_id)" != "$(manifest rep2.tar .run_id)"

# ---- ranks
if command -v mpirun >/dev/null; then
    "${MPIRUN[@]}" -n 4 "$COLLECT" run --spool spool -- ./marks 20 2>err
    check "one collector per rank" test "$?" -eq 0
    check "one line for all ranks" test "$(grep -c dccollect: err)" -eq 1
    check "pack" "$COLLECT" pack spool -o ranks.tar
    check "verify" "$COLLECT" verify ranks.tar
    check "four ranks on one node, complete" manifest ranks.tar '.complete and .n_ranks == 4 and .n_nodes == 1 and .node_kind == "machines"'
    check "each rank has its trace and its samples" manifest ranks.tar \
        '[.members[] | select(.role == "trace" or .role == "process-monitor") | .rank] | sort == [0,0,1,1,2,2,3,3]'
    check "one set of host monitors" manifest ranks.tar '[.members[] | select(.role == "cpu-monitor")] | length == 1'
    check "pack twice gives the same bytes" sh -c '"$0" pack spool -o again.tar && cmp ranks.tar again.tar' "$COLLECT"
    check "ranks stand in for nodes" "$COLLECT" pack spool -o emulated.tar --emulate-nodes
    check "labelled" manifest emulated.tar '.n_nodes == 4 and .node_kind == "emulated"'
    check_status 125 "a spool that holds a run already" env OMPI_COMM_WORLD_RANK=0 "$COLLECT" run --spool spool -- true
    check_status 125 "a spool that holds the ranks of another run" "$COLLECT" run --spool spool -- true
    check_status 1 "nothing of the refused run is left there" test -e spool/launcher.json
    check_status 125 "a spool that holds the ranks of another job" env OMPI_COMM_WORLD_RANK=7 PMIX_RANK=7 PMIX_NAMESPACE=other "$COLLECT" run --spool spool -- true
    check_status 1 "nothing of that is left there" test -e spool/rank7
    cp -R spool mixed && sed -i 's/"pmix": "[^"]*"/"pmix": "other"/' mixed/rank3/rank.json
    check "ranks of two jobs in one spool: packed" sh -c '"$0" pack mixed -o mixed.tar 2>said && grep -q "INCOMPLETE: the spool holds processes of more than one run: ranks 0 and 3 are of two jobs" said' "$COLLECT"
    check "the metadata and the report have it" sh -c '[ "$(tar xOf mixed.tar job_metadata.json | jq -r .several_runs)" = "ranks 0 and 3 are of two jobs" ] && "$0" mixed.tar -o mixed-site >/dev/null 2>&1; grep -q "processes of more than one run" mixed-site/report.json' "$BIN/dcreport"
    rm -r mixed && cp -R spool mixed && sed -i 's/"world_size": 4/"world_size": 8/' mixed/rank3/rank.json && "$COLLECT" pack mixed -o mixed.tar 2>/dev/null
    check "ranks of jobs of 4 and of 8" metadata mixed.tar '.several_runs == "rank 0 was one of 4, rank 3 one of 8"'
    "$COLLECT" run --spool later --io off -- ./marks 2 2>/dev/null && mkdir -p later/rank0 && cp spool/rank1/*.dct later/rank0/ && rm -f later/rank0/*.jsonl
    "$COLLECT" pack later -o later.tar 2>/dev/null
    check "a process older than the run" metadata later.tar '.several_runs | test("^the process of .rank0/trace-[0-9]*.dct. began [0-9.]+ s before the collector of this run$")'
    check_status 1 "a spool of one run is none of several" metadata ranks.tar 'has("several_runs")'
    check_status 125 "-o under several ranks" env OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=4 "$COLLECT" run -o x.tar -- true

    # New processes are looked for at least once a second, so a shorter one may be missed.
    MARKS_STEP_US=40000 "$COLLECT" run -o front.tar -- "${MPIRUN[@]}" -n 3 ./marks 40 2>err
    check "in front of mpirun" manifest front.tar '.complete and .n_ranks == 3'
    check "its ranks are told apart and sampled" manifest front.tar \
        '[.members[] | select(.role == "process-monitor") | .rank] == [0,1,2]'
    check "all ranges" test "$(metadata front.tar .collector.events)" = 480
    "$COLLECT" run --spool below --io off -- "${MPIRUN[@]}" -n 2 true 2>err
    check "memory for as many ranks as the launcher is asked for" jq -e '.recorder.segment_bytes <= 16 * 1048576' below/launcher.json

    # mpirun ends the others a second after the first one, and its own status does not tell which that was.
    MARKS_STEP_US=5000 "$COLLECT" run -o first.tar -- "${MPIRUN[@]}" -n 2 sh -c 'test $OMPI_COMM_WORLD_RANK = 0 || exec ./marks 600 11; exec ./marks 3000' >out 2>err
    check "a rank that crashes below the launcher: the archive says that it ended first, not how" manifest first.tar \
        '.incomplete_because == ["rank 1 ended first", "the launcher mpirun ended with exit status 139, which may mean signal 11 (Segmentation fault)"]'
    "$BIN/dcreport" first.tar -o first-site >report 2>/dev/null
    check "... also by the report" grep -q "The run ended early: rank 1 ended first, and exit status 139 of mpirun may mean signal 11 (Segmentation fault)\." report
    MARKS_STEP_US=5000 "$COLLECT" run -o gave.tar -- "${MPIRUN[@]}" -n 2 sh -c 'test $OMPI_COMM_WORLD_RANK = 0 || exec ./marks 100 0 3; exec ./marks 600' >out 2>err
    check "a rank that calls exit(3) there" manifest gave.tar \
        '.incomplete_because == ["rank 1 ended with exit status 3", "the launcher mpirun ended with exit status 3"]'
    check "... with its status in the metadata, and the rank that mpirun ended has none" metadata gave.tar \
        '.ranks | .[1].exit_status == 3 and .[1].signal == 0 and (.[0] | has("exit_status") | not)'
    "$COLLECT" run -o done.tar -- "${MPIRUN[@]}" -n 2 sh -c './marks 2; test $OMPI_COMM_WORLD_RANK = 0 || exit 3' >out 2>err
    check "a status that only a rank's shell had names no rank" manifest done.tar '.incomplete_because == ["the launcher mpirun ended with exit status 3"]'
    check "... and the status of its child is not that of the rank" metadata done.tar '.ranks | .[1] | has("exit_status") | not'

    MARKS_RANK=1 "${MPIRUN[@]}" -n 3 "$COLLECT" run --spool dead -- ./marks 20 9 >out 2>&1
    got=$?
    check "a killed rank ends the job with an error" test "$got" -ne 0
    check "it packs" "$COLLECT" pack dead -o dead.tar
    check "incomplete, naming the rank" manifest dead.tar '.incomplete_because | any(test("rank 1 was ended by signal 9"))'

    # Everything of one rank is killed at once, as by the end of a job's time.
    "${MPIRUN[@]}" -n 2 bash -c 'if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then
            setsid "$0" run --spool cut -- ./marks 100 & sleep 1; kill -9 -- -$!; else "$0" run --spool cut -- ./marks 20; fi' "$COLLECT" >out 2>&1
    check "program and collector killed together: it packs" "$COLLECT" pack cut -o cut.tar
    check "verify" "$COLLECT" verify cut.tar
    check "no end record of rank 1" manifest cut.tar '.incomplete_because | any(test("rank 1 has no end record"))'
    check "what rank 1 named is there" metadata cut.tar '.ranks[1].events > 40'
else
    skip "ranks" "no mpirun here"
fi

# ---- two host names on one kernel, as the nodes of a test cluster have
if unshare -u true 2>/dev/null; then
    for rank in 1 0; do
        OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_SIZE=2 unshare -u sh -c \
            'hostname "$1" && exec "$0" run --spool hosts -- ./marks 5' "$COLLECT" "box$rank" 2>/dev/null
    done
    check "two hosts: pack" "$COLLECT" pack hosts -o hosts.tar
    check "two nodes on one kernel" manifest hosts.tar '.complete and .n_nodes == 2 and .node_kind == "one-kernel"'
    check "nodes in the order of their ranks" test "$(metadata hosts.tar '[.nodes[].host] | join(" ")')" = "box0 box1"
    check "each with its own monitors" manifest hosts.tar '[.members[] | select(.role == "cpu-monitor") | .node] == [0, 1]'
    rm -r hosts/rank1
    check "a rank that left nothing: pack" "$COLLECT" pack hosts -o hosts.tar
    check "is missed" manifest hosts.tar '.incomplete_because | any(test("1 of 2 ranks left nothing"))'

    # ---- the same as equal emulated nodes: the script that makes them describes them
    node="cores=0.25 period_us=4000 link_bit_per_s=50000000 default=1"
    for rank in 1 0; do
        DCREPORT_NODE=$node OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_SIZE=2 unshare -u sh -c \
            'hostname "$1" && exec "$0" run --spool equal -- ./marks 5' "$COLLECT" "box$rank" 2>/dev/null
    done
    check "emulated nodes: the closing line says so" sh -c '"$0" pack equal -o equal.tar 2>&1 | grep -q "2 nodes (emulated)"' "$COLLECT"
    check "the record of each rank has its node" jq -e '.emulated == {"cores": 0.25, "period_us": 4000, "link_bit_per_s": 50000000, "is_default": true}' equal/rank1/rank.json
    check "manifest: emulated" manifest equal.tar '.complete and .n_nodes == 2 and .node_kind == "emulated"'
    check "each node says its share" metadata equal.tar \
        '.node_kind == "emulated" and (.nodes | map(.emulated) | unique == [{"cores": 0.25, "period_us": 4000, "link_bit_per_s": 50000000, "is_default": true}])'
    check "each with its own monitors" manifest equal.tar '[.members[] | select(.role == "cpu-monitor") | .node] == [0, 1]'
    check "verify" "$COLLECT" verify equal.tar
    check "ls says what they were" sh -c '"$0" ls equal.tar | grep -qF "2 nodes (emulated: 0.25 core, 50 Mbit/s each)"' "$COLLECT"
    check_status 2 "ranks of emulated nodes stand in for no others" sh -c '"$0" pack equal -o no.tar --emulate-nodes 2>err' "$COLLECT"
    check "said" grep -q "rank 0 ran in an emulated node (DCREPORT_NODE). Leave the option out." err
    check_status 1 "nothing half-written" test -e no.tar
    cp -R equal slower && sed -i 's/"cores": 0.25/"cores": 0.5/' slower/rank1/rank.json && "$COLLECT" pack slower -o unlike.tar 2>/dev/null
    check "ls: unlike nodes" sh -c '"$0" ls unlike.tar | grep -qF "2 nodes (emulated: unlike parts of one machine)"' "$COLLECT"
    check "another share: another configuration" test "$(manifest unlike.tar .config_hash)" != "$(manifest equal.tar .config_hash)"
    sed -i 's/"cores": 0.5/"cores": 0.25/; s/"is_default": true/"is_default": false/' slower/rank?/rank.json && "$COLLECT" pack slower -o named.tar 2>/dev/null
    check "the default, named: the same configuration" test "$(manifest named.tar .config_hash)" = "$(manifest equal.tar .config_hash)"
else
    skip "two hosts" "needs root for host names of their own"
fi

# ---- a process in an emulated node, without a launcher of ranks
check "one node" env DCREPORT_NODE="cores=1 period_us=5000 link_bit_per_s=0 default=0" "$COLLECT" run -o node.tar -- ./marks 2
check "is emulated, too" manifest node.tar '.n_nodes == 1 and .node_kind == "emulated"'
check "ls" sh -c '"$0" ls node.tar | grep -qF "1 node (emulated: 1 core, link not shaped)"' "$COLLECT"
check "an empty variable says nothing" env DCREPORT_NODE= "$COLLECT" run -o empty.tar -- ./marks 2
check "machines" manifest empty.tar '.node_kind == "machines"'
check_status 125 "a malformed one is refused" env DCREPORT_NODE="cores=0,25 period_us=4000 link_bit_per_s=0 default=1" sh -c '"$0" run -o bad.tar -- touch started 2>err' "$COLLECT"
check "in a sentence" grep -qF "dccollect: DCREPORT_NODE is 'cores=0,25 period_us=4000 link_bit_per_s=0 default=1', and not what collect/nodes sets, as 'cores=" err
check_status 1 "the program is not started, nothing is left" sh -c 'test -e started || test -e bad.tar'
check_status 125 "an emulated node is not as many as its ranks, too" env DCREPORT_NODE="cores=1 period_us=5000 link_bit_per_s=0 default=0" sh -c '"$0" run --spool both --emulate-nodes -- true 2>err' "$COLLECT"
check "said" grep -q "DCREPORT_NODE says that this host is an emulated node, and --emulate-nodes that each rank is one. Leave one of them out." err
check_status 1 "no spool is left" test -e both

# ---- waits: on an emulated node, and nowhere else, giving way is a short sleep, and Open MPI gives way
(cd "$OLDPWD" && build_program yields yields.c) || not_ok "yields builds"
emulated="DCREPORT_NODE=cores=0.25 period_us=4000 link_bit_per_s=50000000 default=1"
way() { # PROGRAM'S OUTPUT, VARIABLE...: what it prints under the collector
    test "$(env -u OMPI_MCA_mpi_yield_when_idle "${@:2}" "$COLLECT" run -o yields.tar -- sh -c './yields; echo "${DCC_YIELD_NS-unset} ${OMPI_MCA_mpi_yield_when_idle-unset}"' 2>err | xargs)" = "$1"
}
check "to give way on an emulated node is to sleep" way "all 50000 1" "$emulated"
check "which records no call of it" metadata yields.tar '.collector.io_calls < 100'
check "a user's own setting of Open MPI stays" way "all 50000 0" "$emulated" OMPI_MCA_mpi_yield_when_idle=0
check "elsewhere it is not, whatever the environment holds" way "none unset unset" DCC_YIELD_NS=50000

# ---- secrets: not in any member
env WANDB_API_KEY=hunter2a SLURM_JWT=hunter2b NCCL_PWD=hunter2m SLURM_MPI_PWD=hunter2n NCCL_Tok=hunter2o OMP_PAT=hunter2p SLURM_Access=hunter2q NCCL_PROXY=http://me:hunter2c@host "$COLLECT" run -o secret.tar --label token=hunter2d --label from=https://me:hunter2i@host/x -- \
    sh -c 'exec true' --token hunter2e --api-key=hunter2f 'HF_TOKEN=hunter2g ./x --password hunter2h' \
    curl -su me:hunter2j 'sshpass -p hunter2k mysql -phunter2l' -p 2 2>err
check "the command is there, its secrets are not" metadata secret.tar \
    '.command == ["sh", "-c", "exec true", "--token", "(redacted)", "--api-key=(redacted)", "HF_TOKEN=(redacted) ./x --password (redacted)",
        "curl", "(redacted)", "(redacted)", "(redacted)", "(redacted)", "(redacted)"]'
check_status 1 "no secret in the archive" grep -a hunter2 secret.tar
check_status 1 "nor in what was said" grep hunter2 err

# ---- torchrun's names for ranks
for r in 0 1; do
    RANK=$r LOCAL_RANK=$r WORLD_SIZE=2 TORCHELASTIC_RUN_ID=x "$COLLECT" run --spool torch -- ./marks 3 2>err
done
check "torchrun: two ranks" "$COLLECT" pack torch -o torch.tar
check "each with its trace" metadata torch.tar '[.ranks[] | [.rank, .events]] == [[0, 12], [1, 12]]'
for r in 0 1; do
    SLURM_PROCID=0 RANK=$r LOCAL_RANK=$r WORLD_SIZE=2 "$COLLECT" run --spool batch -- ./marks 3 2>err
done
check "ranks that a batch script of Slurm started itself" "$COLLECT" pack batch -o batch.tar
check "each with its trace" metadata batch.tar '[.ranks[] | [.rank, .events]] == [[0, 12], [1, 12]]'

# ---- programs into which nothing can be loaded
if (cd "$OLDPWD" && build_program still marks.c -static) 2>/dev/null; then
    "$COLLECT" run -o still.tar -- ./still 3 >out 2>err
    check "a static program: the closing line says why nothing is there" grep -q "MPI, files: './still' is statically linked" err
    check "and ls" sh -c '"$0" ls still.tar | grep -q "missing .*statically linked"' "$COLLECT"
    check "and the archive" metadata still.tar '.collector | (.io | test("statically linked")) and (.mpi | test("statically linked"))'
else
    skip "a static program" "no static C library"
fi
mkdir 'with blank' && cp -R "$BIN" "$BIN/../lib" 'with blank/' && rm -f 'with blank'/bin/*-*
'with blank/bin/dccollect' run -o blank.tar -- ./marks 3 >out 2>err
check "installed in a folder with a blank: the closing line says what is missing" grep -q 'MPI, files: the name .*with blank.* LD_PRELOAD cannot hold' err
"$COLLECT" run -o quoted.tar -- sh -c 'exit 0' "it's" 2>err
check "ls: the command as a shell would take it" sh -c '"$0" ls quoted.tar | grep -qF "sh -c '"'exit 0' 'it'\\\''s'"'"' "$COLLECT"
finish
