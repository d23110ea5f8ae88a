#!/bin/bash
# Programs that the project did not write: collected unchanged, rendered, and the records compared with the programs'
# own output.
# shellcheck disable=SC2016,SC2317  # commands for another shell; functions that check calls
. tests/lib/tap.sh
. tests/data/programs/build.sh
root=$PWD
cd "$TMP" || exit 1

# rendered ARCHIVE: a report that names its gaps is one
rendered() {
    "$BIN/dcreport" "$1" -o "site-$1" --theme "$root/themes/default" >render.out 2>&1 || [ $? -eq 3 ] || return 1
    test -s "site-$1/report.json" && jq -e '.runs | length == 1' "site-$1/report.json" >/dev/null
}
summaries() { # ARCHIVE: the lines of all summaries
    tar xOf "$1" --wildcards '*summary-*.jsonl'
}

# ---- HPC Challenge (MPI, C, OpenBLAS)
if command -v hpcc >/dev/null && [ -e /usr/share/doc/hpcc/examples/_hpccinf.txt ]; then
    mkdir hpcc && sed -e '6s/.*/200 Ns/;8s/.*/40 NBs/;11s/.*/1 Ps/' /usr/share/doc/hpcc/examples/_hpccinf.txt >hpcc/hpccinf.txt
    check "hpcc runs" sh -c 'cd hpcc && c=$0 && shift && timeout 300 "$c" run -o ../hpcc.tar -- "$@" 2>../hpcc.err' "$COLLECT" - "${MPIRUN[@]}" -n 2 hpcc
    check "it passed its own tests" grep -q '^Success=1' hpcc/hpccoutf.txt
    check "complete, two ranks" manifest hpcc.tar '.complete and .n_ranks == 2'
    check "its MPI calls" metadata hpcc.tar '.collector.mpi == "ok" and .collector.mpi_calls > 10000'
    # Each rank begins and ends MPI once, whatever the library does inside.
    check "MPI_Init and MPI_Finalize once a rank" test "$(summaries hpcc.tar | jq -c 'select(.mpi) | select(.mpi[0] | test("^MPI_(Init|Finalize)$")) | .mpi[1]' | sort -u)" = 1
    check "the report" rendered hpcc.tar
    check "the report has the calls" grep -q 'MPI_Allreduce\|MPI_Recv' site-hpcc.tar/report.json
else
    skip "hpcc" "Debian's hpcc is not installed"
fi

# ---- ScaLAPACK's timing program of LU (MPI through the Fortran interface of BLACS), under each MPI
for mpi in openmpi mpich; do
    lu=$(find /usr/lib -path "*scalapack/$mpi-tests/xdlu" 2>/dev/null | head -n 1)
    if [ -z "$lu" ] || ! choose_mpi "$mpi"; then
        skip "ScaLAPACK's xdlu, $mpi" "Debian's scalapack-mpi-test or $mpi is not installed"
        continue
    fi
    mkdir "lu-$mpi" && cp "$(dirname "$lu")/LU.dat" "lu-$mpi"
    check "ScaLAPACK's xdlu runs, $mpi" sh -c 'cd "$1" && c=$0 && shift 1 && timeout 300 "$c" run -o run.tar -- "$@" >out 2>err' "$COLLECT" "lu-$mpi" "${MPIRUN[@]}" -n 2 "$lu"
    check "it passed its own tests" grep -Eq ' 0 tests completed and failed' "lu-$mpi/out"
    check "complete, two ranks" manifest "lu-$mpi/run.tar" '.complete and .n_ranks == 2'
    check "its MPI calls" metadata "lu-$mpi/run.tar" '.collector | .mpi == "ok" and .mpi_calls > 100'
    cp "lu-$mpi/run.tar" "lu-$mpi.tar"
    check "the report" rendered "lu-$mpi.tar"
done

# ---- mpi4py: MPI is opened by a module of the interpreter
if [ -x /usr/bin/python3 ] && /usr/bin/python3 -c 'import mpi4py' 2>/dev/null && choose_mpi openmpi; then
    cat >four.py <<'END'
from array import array
from mpi4py import MPI
world = MPI.COMM_WORLD
sums = array("d", [0] * 10)
for i in range(25):
    world.Allreduce([array("d", [world.rank] * 10), MPI.DOUBLE], [sums, MPI.DOUBLE])
line = f"sum {int(sum(sums))} {world.allgather(world.rank)}"
for each in world.gather(line) or ():  # by rank 0 alone, because mpirun mixes the lines of ranks
    print(each)
END
    check "mpi4py runs" sh -c 'c=$0 && timeout 300 "$c" run -o four.tar -- "$@" >four.out 2>four.err' "$COLLECT" "${MPIRUN[@]}" -n 2 /usr/bin/python3 four.py
    check "its results" test "$(grep -o 'sum 10 \[0, 1\]' four.out | wc -l)" -eq 2
    check "its calls and bytes, exactly" test "$(summaries four.tar | jq -c 'select(.mpi) | select(.mpi[0] == "MPI_Allreduce") | .mpi[1:3]' | sort | uniq -c | tr -s ' ')" = " 2 [25,2000]"
else
    skip "mpi4py" "Debian's python3-mpi4py is not installed"
fi

# ---- fio: the requested number of bytes and writes
if command -v fio >/dev/null; then
    mkdir fio
    check "fio runs" sh -c '"$0" run -o fio.tar -- fio --name=job --directory=fio --size=8M --rw=write --bs=64k --ioengine=psync --fallocate=none --output=fio.out 2>fio.err' "$COLLECT"
    # One line when all were summed, more when slow ones were events.
    check "its writes, exactly" test "$(summaries fio.tar | jq -c 'select(.file) | select(.file[0] | test("job.0.0$")) | select(.file[1] == "write") | [.file[2], .file[3]]')" = '[128,8388608]'
    check "the report" rendered fio.tar
    check "the report has the file" grep -q 'job.0.0' site-fio.tar/report.json
else
    skip "fio" "not installed"
fi

# ---- a program that only computes, and one in Python
if command -v openssl >/dev/null; then
    check "openssl speed runs" sh -c '"$0" run -o openssl.tar -- openssl speed -seconds 1 -bytes 1024 sha256 >openssl.out 2>openssl.err' "$COLLECT"
    check "its output is its own" grep -q '^sha256 ' openssl.out
    check "nothing was named, and that is said" metadata openssl.tar '.collector.events == 0 and (.collector.nvtx | test("nothing recorded because"))'
    check "its processor time" metadata openssl.tar '.ranks[0].user_ns > 50000000'
    check "the report" rendered openssl.tar
else
    skip "openssl speed" "not installed"
fi
if command -v python3 >/dev/null; then
    cat >script.py <<'END'
import os, sys
with open("data.bin", "wb", buffering=0) as f:
    for i in range(64):
        f.write(b"x" * 65536)
with open("data.bin", "rb", buffering=0) as f:
    n = 0
    while True:
        b = f.read(65536)
        if not b:
            break
        n += len(b)
print(n, os.path.exists("data.bin"))
sys.exit(7)
END
    check_status 7 "a Python script: its status is passed on" sh -c '"$0" run -o python.tar -- python3 script.py >python.out 2>python.err' "$COLLECT"
    check "its output is its own" grep -qx '4194304 True' python.out
    check "what it wrote and read, exactly" test "$(summaries python.tar | jq -c 'select(.file) | select(.file[0] | test("data.bin$")) | select(.file[1] != "other") | [.file[1], .file[3]]' | sort | tr '\n' ' ')" = '["read",4194304] ["write",4194304] '
    check "the archive says how it ended" manifest python.tar '.incomplete_because | any(test("exit status 7"))'
    check "the report" rendered python.tar
    "$COLLECT" run -o none.tar -- sh -c 'exit 3' 2>/dev/null
    check_status 3 "two programs that failed" "$BIN/dcreport" -q python.tar none.tar -o site-two
    check "the title names both" grep -qE '<title>(script.py and sh|sh and script.py) on 1 node' site-two/index.html
else
    skip "a Python script" "no python3"
fi
finish
