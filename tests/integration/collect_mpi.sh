#!/bin/bash
# MPI calls as recorded by the profiling interface: C, three Fortran bindings, MPI that comes by dlopen, another MPI,
# MPI_Abort; what the program does, prints and returns stays as it is.
# shellcheck disable=SC2016,SC2317  # commands for another shell; functions that check calls
. tests/lib/tap.sh
. tests/data/programs/build.sh
if ! command -v mpirun >/dev/null || ! command -v mpicc >/dev/null; then
    skip "MPI" "no mpirun and mpicc here"
    finish
fi
build_trace_text || not_ok "trace_text builds"
mpicc -O1 -o "$TMP/mpi_calls" tests/data/programs/mpi_calls.c || not_ok "mpi_calls builds"
fortran=$PWD/tests/data/programs/mpi_calls.F90
cd "$TMP" || exit 1

# spans SPOOL RANK: calls of a rank, in order of their end
spans() {
    ./trace_text "$1/rank$2"/*.dct | sed -n 's/^span depth=0 \[mpi|\([a-z ]*\)|MPI_\([A-Za-z_]*\)\] /\2 \1 /p'
}

"${MPIRUN[@]}" -n 2 "$COLLECT" run --spool c --io off -- ./mpi_calls >out 2>err
check "the program runs as ever" test "$?" -eq 0 -a "$(grep -c "done" out)" -eq 2
spans c 0 >got
cat >want <<'END'
Init comm bytes=0 size=0 peer=-1
Send comm bytes=800 size=2 peer=1
Recv comm bytes=400 size=2 peer=1
Sendrecv comm bytes=80 size=2 peer=1
Irecv comm bytes=0 size=2 peer=1
Isend comm bytes=0 size=2 peer=1
Irecv in flight bytes=800 size=2 peer=1
Isend in flight bytes=800 size=2 peer=1
Waitall comm bytes=0 size=0 peer=-1
Irecv comm bytes=0 size=2 peer=1
Issend comm bytes=0 size=2 peer=1
END
check "point to point: bytes received, not those there was room for; peers though any was asked for" \
    diff want <(head -n 11 got)
cat >want <<'END'
Irecv in flight bytes=800 size=2 peer=1
Issend in flight bytes=800 size=2 peer=1
Waitany comm bytes=0 size=0 peer=-1
Waitany comm bytes=0 size=0 peer=-1
END
check "waitany: in either order" diff want <(sed -n 12,15p got | sort)
cat >want <<'END'
Recv_init comm bytes=0 size=2 peer=1
Start comm bytes=0 size=0 peer=-1
Send comm bytes=800 size=2 peer=1
Recv_init in flight bytes=800 size=2 peer=1
Wait comm bytes=0 size=0 peer=-1
Start comm bytes=0 size=0 peer=-1
Send comm bytes=800 size=2 peer=1
Recv_init in flight bytes=800 size=2 peer=1
Wait comm bytes=0 size=0 peer=-1
Request_free comm bytes=0 size=0 peer=-1
Barrier comm bytes=0 size=2 peer=-1
Bcast comm bytes=400 size=2 peer=1
Allreduce comm bytes=800 size=2 peer=-1
Reduce comm bytes=800 size=2 peer=0
Allgather comm bytes=20 size=2 peer=-1
Alltoall comm bytes=40 size=2 peer=-1
Allgatherv comm bytes=4 size=2 peer=-1
Alltoallv comm bytes=16 size=2 peer=-1
Reduce_scatter comm bytes=16 size=2 peer=-1
Gather comm bytes=16 size=2 peer=0
Scatter comm bytes=16 size=2 peer=0
Iallreduce comm bytes=0 size=2 peer=-1
Iallreduce in flight bytes=400 size=2 peer=-1
Test comm bytes=0 size=0 peer=-1
Comm_split comm bytes=0 size=2 peer=-1
Allreduce comm bytes=8 size=1 peer=-1
Finalize comm bytes=0 size=0 peer=-1
END
check "persistent requests, collectives, non-blocking, a communicator of one" diff want <(tail -n +16 got)
spans c 1 >got
check "the other rank has its own view" sh -c 'grep -q "^Recv comm bytes=800 size=2 peer=0" got && grep -q "^Allgatherv comm bytes=12 " got'
check "pack" "$COLLECT" pack c -o c.tar
check "the metadata says so" metadata c.tar '.collector | .mpi == "ok" and .mpi_calls > 60 and .events == 0'
# On an emulated node waits sleep, inside of MPI: what is recorded stays the same.
DCREPORT_NODE="cores=1 period_us=4000 link_bit_per_s=0 default=0" "${MPIRUN[@]}" -n 2 "$COLLECT" run --spool node -- ./mpi_calls >out 2>err
for rank in 0 1; do
    check "rank $rank on an emulated node: the same calls, each once" diff <(spans c $rank | sort) <(spans node $rank | sort)
done
check "events of the program are counted apart" metadata c.tar '.collector.nvtx | test("^nothing recorded")'

# ---- many at once: what is not followed is said
"${MPIRUN[@]}" -n 2 "$COLLECT" run --spool many --io off -- ./mpi_calls many 6000 >out 2>err
check "12000 requests in flight" test "$?" -eq 0 -a "$(grep -c "done" out)" -eq 2
check "the trace says that not all were followed" sh -c './trace_text many/rank0/*.dct --notes | grep -q "not every non-blocking"'

# ---- one collector in front; MPI is found behind mpirun's options
"$COLLECT" run -o front.tar --io off -- "${MPIRUN[@]}" -n 2 ./mpi_calls >out 2>err
check "in front of mpirun" metadata front.tar '.collector.mpi == "ok" and (.collector.traces == 2)'
check "the collector's own processor time: in front of mpirun" metadata front.tar '.collector.cpu_ns > 1000000'
check "and as the sum of the ranks' collectors" metadata c.tar '.collector.cpu_ns > 1000000'
"$COLLECT" run -o off.tar --mpi off -- "${MPIRUN[@]}" -n 2 ./mpi_calls >out 2>err
check "--mpi off" metadata off.tar '.collector | .mpi_calls == 0 and (.mpi | test("switched off"))'
"$COLLECT" run -o none.tar -- printenv LD_PRELOAD >out 2>err
check "no MPI on the command line: nothing of it is loaded" sh -c '! grep -q mpi.so out'
check "and why" metadata none.tar '.collector.mpi | test("no program on the command line is linked with MPI")'
printf '#!/bin/sh\nexec ./mpi_calls\n' >wrapped && chmod +x wrapped
"$COLLECT" run -o wrapped.tar -- "${MPIRUN[@]}" -n 2 ./wrapped >out 2>err
check "behind a script it is" metadata wrapped.tar '.collector.mpi == "ok" and .collector.mpi_calls > 0'

# ---- MPI_Abort: output and status as without the collector
"${MPIRUN[@]}" -n 2 ./mpi_calls abort >plain.out 2>plain.err
plain=$?
"${MPIRUN[@]}" -n 2 "$COLLECT" run --spool abort -- ./mpi_calls abort >out 2>err
check "MPI_Abort: the status of mpirun is the same" test "$?" -eq "$plain" -a "$plain" -ne 0
check "the output is the same" cmp <(sort plain.out) <(sort out)
check "calls up to it are recorded" sh -c './trace_text abort/rank0/*.dct | grep -q MPI_Comm_split'
check "it packs" "$COLLECT" pack abort -o abort.tar
check "and is no complete run" manifest abort.tar '.complete | not'

# ---- Fortran
if command -v mpif90 >/dev/null; then
    for binding in 1 2 3; do
        name=$(sed -n "${binding}p" <<<$'mpif.h\nuse mpi\nuse mpi_f08')
        if ! mpif90 -DBINDING=$binding -fallow-argument-mismatch -o fortran "$fortran" >cc.txt 2>&1; then
            skip "Fortran: $name" "this compiler does not build it"
            continue
        fi
        rm -rf f && "${MPIRUN[@]}" -n 2 "$COLLECT" run --spool f --io off -- ./fortran >out 2>err
        spans f 0 >got
        cat >want <<'END'
Init comm bytes=0 size=0 peer=-1
Send comm bytes=800 size=2 peer=1
Recv comm bytes=400 size=2 peer=1
Irecv comm bytes=0 size=2 peer=1
Isend comm bytes=0 size=2 peer=1
Irecv in flight bytes=800 size=2 peer=1
Isend in flight bytes=800 size=2 peer=1
Waitall comm bytes=0 size=0 peer=-1
Allreduce comm bytes=800 size=2 peer=-1
Iallreduce comm bytes=0 size=2 peer=-1
Iallreduce in flight bytes=800 size=2 peer=-1
Wait comm bytes=0 size=0 peer=-1
Finalize comm bytes=0 size=0 peer=-1
END
        check "Fortran: $name" diff want got
    done
else
    skip "Fortran" "no mpif90 here"
fi

# ---- MPI opened by dlopen, outside the scope of the other libraries, as an interpreter's module has it
cat >module.c <<'END'
#include <mpi.h>
int work(void);
int work(void)
{
    int x = 1, y = 0;
    MPI_Init(0, 0);
    MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return y;
}
END
cat >interpreter.c <<'END'
#include <dlfcn.h>
int main(void)
{
    void *m = dlopen("./module.so", RTLD_NOW | RTLD_LOCAL);
    int (*work)(void);
    *(void **)&work = m ? dlsym(m, "work") : 0;
    return !work || work() != 1;
}
END
mpicc -shared -fPIC -o module.so module.c && "$CC" -o interpreter interpreter.c -ldl
"$COLLECT" run --spool local --mpi on -- ./interpreter 2>err
check "a module with MPI inside: runs" test "$?" -eq 0
check "and is recorded with --mpi on" sh -c './trace_text local/rank0/*.dct | grep -q "MPI_Allreduce. bytes=4 size=1"'

# ---- another MPI: left alone, and said
cat >mpich.c <<'END'
/* Handles are numbers here. */
int MPI_Init(int *argc, char ***argv);
int MPI_Allreduce(const void *in, void *out, int count, int type, int op, int comm);
int MPI_Init(int *argc, char ***argv) { return argc || argv; }
int MPI_Allreduce(const void *in, void *out, int count, int type, int op, int comm)
{
    *(int *)out = *(const int *)in + (count == 1 && type == 0x4c000405 && op == 0x58000003 && comm == 0x44000000);
    return 0;
}
END
cat >uses_mpich.c <<'END'
int MPI_Init(int *, char ***);
int MPI_Allreduce(const void *, void *, int, int, int, int);
int main(void)
{
    int x = 41, y = 0;
    MPI_Init(0, 0);
    MPI_Allreduce(&x, &y, 1, 0x4c000405, 0x58000003, 0x44000000);
    return y == 42 ? 0 : 1;
}
END
"$CC" -shared -fPIC -Wl,-soname,libmpich.so.12 -o libmpich.so.12 mpich.c && "$CC" -o uses_mpich uses_mpich.c ./libmpich.so.12
LD_LIBRARY_PATH=. "$COLLECT" run -o mpich.tar -- ./uses_mpich 2>err
check "another MPI: runs" test "$?" -eq 0
check "n/a, and why" metadata mpich.tar '.collector.mpi | test("linked with .*libmpich.so.12; only Open MPI")'
check "the closing line says so" grep -q "; no MPI calls: 'uses_mpich' is linked with .*libmpich.so.12; only Open MPI's" err
check "ls too" sh -c '"$0" ls mpich.tar | grep -q "^  missing   MPI calls: .uses_mpich. is linked with .*libmpich"' "$COLLECT"
LD_LIBRARY_PATH=. "$COLLECT" run -o mpich.tar --mpi on -- ./uses_mpich 2>err
check "another MPI under our wrappers all the same: passed through unharmed" test "$?" -eq 0
check "the closing line says that too" grep -q "; no MPI calls: this program's MPI is not an Open MPI" err
check "and said by the trace" metadata mpich.tar '.collector.mpi | test("not an Open MPI")'

# ---- another tool that uses the profiling interface works as before
cat >tool.c <<'END'
#include <mpi.h>
#include <stdio.h>
static int n;
int MPI_Allreduce(const void *a, void *b, int c, MPI_Datatype t, MPI_Op o, MPI_Comm m) { n++; return PMPI_Allreduce(a, b, c, t, o, m); }
int MPI_Finalize(void) { fprintf(stderr, "tool saw %d\n", n); return PMPI_Finalize(); }
END
mpicc -shared -fPIC -o tool.so tool.c
LD_PRELOAD=$PWD/tool.so "$COLLECT" run --spool tool --io off --mpi on -- ./interpreter 2>err
"${MPIRUN[@]}" -n 2 -x LD_PRELOAD="$PWD/tool.so" "$COLLECT" run --spool tool2 --io off -- ./mpi_calls >out 2>err
check "a preloaded PMPI tool keeps working" test "$(grep -c 'tool saw 2' err)" -eq 2
check "and nothing is counted twice" test "$(spans tool2 0 | grep -c '^Allreduce')" -eq 2
finish
