#!/bin/bash
# MPI calls recorded by the profiling interface, under each installed MPI: C, three Fortran bindings, MPI opened by
# dlopen, MPI_Abort, another tool. Then an unknown MPI, and a program that jumps out of a call, which must both work.
# The program's work, output and status stay the same.
# shellcheck disable=SC2016,SC2317  # commands for another shell; functions that check calls
. tests/lib/tap.sh
. tests/data/programs/build.sh
build_trace_text || not_ok "trace_text builds"
top=$PWD
cd "$TMP" || exit 1

# spans SPOOL RANK: calls of a rank, in order of their end
spans() {
    ./trace_text "$1/rank$2"/*.dct | sed -n 's/^span depth=0 \[mpi|\([a-z ]*\)|MPI_\([A-Za-z_]*\)\] /\2 \1 /p'
}

# all_of MPI: all of these tests, in a separate folder
all_of() {
    local mpi=$1 fortran=$top/tests/data/programs/mpi_calls.F90
    mkdir "$TMP/$mpi" && cd "$TMP/$mpi" && ln -s ../trace_text . || return
    "$MPICC" -O1 -w -o mpi_calls "$top/tests/data/programs/mpi_calls.c" || not_ok "$mpi: mpi_calls builds"
    "${MPIRUN[@]}" -n 2 "$COLLECT" run --spool c --io off -- ./mpi_calls >out 2>err
    check "$mpi: the program runs as ever" test "$?" -eq 0 -a "$(grep -o "done" out | wc -l)" -eq 2
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
    check "$mpi: point to point: bytes received, not those there was room for; peers though any was asked for" \
        diff want <(head -n 11 got)
    cat >want <<'END'
Irecv in flight bytes=800 size=2 peer=1
Issend in flight bytes=800 size=2 peer=1
Waitany comm bytes=0 size=0 peer=-1
Waitany comm bytes=0 size=0 peer=-1
END
    check "$mpi: waitany: in either order" diff want <(sed -n 12,15p got | sort)
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
    check "$mpi: persistent requests, collectives, non-blocking, a communicator of one" diff want <(tail -n +16 got)
    spans c 1 >got
    check "$mpi: the other rank has its own view" sh -c 'grep -q "^Recv comm bytes=800 size=2 peer=0" got && grep -q "^Allgatherv comm bytes=12 " got'
    check "$mpi: pack" "$COLLECT" pack c -o c.tar
    check "$mpi: the metadata says so" metadata c.tar '.collector | .mpi == "ok" and .mpi_calls > 60 and .events == 0'
    # On an emulated node waits sleep inside of MPI, and the recorded events stay the same.
    DCREPORT_NODE="cores=1 period_us=4000 link_bit_per_s=0 default=0" "${MPIRUN[@]}" -n 2 "$COLLECT" run --spool node -- ./mpi_calls >out 2>err
    for rank in 0 1; do
        check "$mpi: rank $rank on an emulated node: the same calls, each once" diff <(spans c $rank | sort) <(spans node $rank | sort)
    done
    check "$mpi: events of the program are counted apart" metadata c.tar '.collector.nvtx | test("^nothing recorded")'

    # ---- MPI_PROC_NULL: nothing is sent, and nothing arrives
    "${MPIRUN[@]}" -n 2 "$COLLECT" run --spool edge --io off -- ./mpi_calls edge >out 2>err
    cat >want <<'END'
Sendrecv comm bytes=800 size=2 peer=1
Sendrecv_replace comm bytes=800 size=2 peer=-1
Send comm bytes=0 size=2 peer=-1
Recv comm bytes=0 size=2 peer=-1
Irecv comm bytes=0 size=2 peer=-1
Isend comm bytes=0 size=2 peer=-1
Irecv in flight bytes=0 size=2 peer=-1
Isend in flight bytes=0 size=2 peer=-1
Waitall comm bytes=0 size=0 peer=-1
Send_init comm bytes=0 size=2 peer=-1
Start comm bytes=0 size=0 peer=-1
Send_init in flight bytes=0 size=2 peer=-1
Wait comm bytes=0 size=0 peer=-1
Request_free comm bytes=0 size=0 peer=-1
END
    spans edge 0 >got
    check "$mpi: a neighbour that does not exist: no bytes" diff <(sort want) <(sed -n '/^Comm_split/,/^Finalize/p' got | sed '1,2d;$d' | sort)
    sed -i '1s/peer=1/peer=-1/;2s/peer=-1/peer=0/' want
    spans edge 1 >got
    check "$mpi: on the other rank either" diff <(sort want) <(sed -n '/^Comm_split/,/^Finalize/p' got | sed '1,2d;$d' | sort)

    # ---- many at once: all are followed, up to a limit; others are reported
    "${MPIRUN[@]}" -n 2 "$COLLECT" run --spool many --io off -- ./mpi_calls many 3000 >out 2>err
    check "$mpi: 6000 requests in flight" test "$?" -eq 0 -a "$(grep -o "done" out | wc -l)" -eq 2
    check "$mpi: each is followed, also those that share a request" \
        test "$(spans many 0 | grep -c 'Isend in flight bytes=4 .*peer=1$') $(spans many 0 | grep -c 'Irecv in flight bytes=4 .*peer=1$')" = "3000 3000"
    "${MPIRUN[@]}" -n 2 "$COLLECT" run --spool more --io off -- ./mpi_calls many 9000 >out 2>err
    check "$mpi: 18000 requests in flight" test "$?" -eq 0 -a "$(grep -o "done" out | wc -l)" -eq 2
    check "$mpi: the trace says that not all were followed" sh -c './trace_text more/rank0/*.dct --notes | grep -q "not every non-blocking"'

    # ---- one collector in front; MPI is found behind mpirun's options
    "$COLLECT" run -o front.tar --io off -- "${MPIRUN[@]}" -n 2 ./mpi_calls >out 2>err
    check "$mpi: in front of mpirun" metadata front.tar '.collector.mpi == "ok" and (.collector.traces == 2)'
    check "$mpi: the collector's own processor time: in front of mpirun" metadata front.tar '.collector.cpu_ns > 1000000'
    check "$mpi: and as the sum of the ranks' collectors" metadata c.tar '.collector.cpu_ns > 1000000'
    "$COLLECT" run -o off.tar --mpi off -- "${MPIRUN[@]}" -n 2 ./mpi_calls >out 2>err
    check "$mpi: --mpi off" metadata off.tar '.collector | .mpi_calls == 0 and (.mpi | test("switched off"))'
    "$COLLECT" run -o none.tar -- printenv LD_PRELOAD >out 2>err
    check "$mpi: no MPI on the command line: nothing of it is loaded" sh -c '! grep -q mpi.so out'
    check "$mpi: and why" metadata none.tar '.collector.mpi | test("no program of the command is linked with MPI")'
    printf '#!/bin/sh\nexec ./mpi_calls\n' >wrapped && chmod +x wrapped
    "$COLLECT" run -o wrapped.tar -- "${MPIRUN[@]}" -n 2 ./wrapped >out 2>err
    check "$mpi: behind a script it is" metadata wrapped.tar '.collector.mpi == "ok" and .collector.mpi_calls > 0'

    # ---- MPI_Abort: output and status as without the collector
    "${MPIRUN[@]}" -n 2 ./mpi_calls abort >plain.out 2>plain.err
    plain=$?
    "${MPIRUN[@]}" -n 2 "$COLLECT" run --spool abort -- ./mpi_calls abort >out 2>err
    check "$mpi: MPI_Abort: the status of mpirun is the same" test "$?" -eq "$plain" -a "$plain" -ne 0
    check "$mpi: the output is the same" cmp <(tr -d "\n" <plain.out) <(tr -d "\n" <out) # hydra mixes lines of two ranks
    check "$mpi: it packs" "$COLLECT" pack abort -o abort.tar
    check "$mpi: calls up to it are recorded" sh -c './trace_text abort/rank0/*.dct | grep -q MPI_Comm_split'
    check "$mpi: and is no complete run" manifest abort.tar '.complete | not'

    # ---- Fortran
    if command -v "$MPIF90" >/dev/null; then
        for binding in 1 2 3; do
            name=$(sed -n "${binding}p" <<<$'mpif.h\nuse mpi\nuse mpi_f08')
            if ! "$MPIF90" -DBINDING=$binding -fallow-argument-mismatch -o fortran "$fortran" >cc.txt 2>&1; then
                skip "$mpi: Fortran: $name" "this compiler does not build it"
                continue
            fi
            rm -rf f && "${MPIRUN[@]}" -n 2 "$COLLECT" run --spool f --io off -- ./fortran >out 2>err
            spans f 0 >got
            cat >want <<'END'
Init comm bytes=0 size=0 peer=-1
Send comm bytes=800 size=2 peer=1
Recv comm bytes=400 size=2 peer=1
Send comm bytes=0 size=2 peer=-1
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
            check "$mpi: Fortran: $name" diff want got
        done
    else
        skip "$mpi: Fortran" "no $MPIF90 here"
    fi

    # ---- MPI opened by dlopen, outside the scope of the other libraries, as by an interpreter's module
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
    "$MPICC" -shared -fPIC -o module.so module.c && "$CC" -o interpreter interpreter.c -ldl
    "$COLLECT" run --spool local --mpi on -- ./interpreter 2>err
    check "$mpi: a module with MPI inside: runs" test "$?" -eq 0
    check "$mpi: and is recorded with --mpi on" sh -c './trace_text local/rank0/*.dct | grep -q "MPI_Allreduce. bytes=4 size=1"'

    # ---- another tool that uses the profiling interface works as before
    cat >tool.c <<'END'
#include <mpi.h>
#include <stdio.h>
static int n;
int MPI_Allreduce(const void *a, void *b, int c, MPI_Datatype t, MPI_Op o, MPI_Comm m) { n++; return PMPI_Allreduce(a, b, c, t, o, m); }
int MPI_Finalize(void) { fprintf(stderr, "tool saw %d\n", n); return PMPI_Finalize(); }
END
    "$MPICC" -shared -fPIC -o tool.so tool.c
    LD_PRELOAD=$PWD/tool.so "$COLLECT" run --spool tool --io off --mpi on -- ./interpreter 2>err
    "${MPIRUN[@]}" -n 2 env LD_PRELOAD="$PWD/tool.so" "$COLLECT" run --spool tool2 --io off -- ./mpi_calls >out 2>err
    check "$mpi: a preloaded PMPI tool keeps working" test "$(grep -c 'tool saw 2' err)" -eq 2
    check "$mpi: and nothing is counted twice" test "$(spans tool2 0 | grep -c '^Allreduce')" -eq 2
}

for mpi in openmpi mpich; do
    if choose_mpi "$mpi"; then
        all_of "$mpi"
    else
        skip "$mpi" "no mpirun and mpicc of it here"
    fi
done
cd "$TMP" || exit 1

# ---- an unknown MPI: left alone, and reported
cat >other.c <<'END'
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
cat >uses_other.c <<'END'
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
"$CC" -shared -fPIC -Wl,-soname,libmpi_other.so.1 -o libmpi_other.so.1 other.c && "$CC" -o uses_other uses_other.c ./libmpi_other.so.1
why="this program's MPI follows neither Open MPI's binary interface nor MPICH's"
LD_LIBRARY_PATH=. "$COLLECT" run -o other.tar -- ./uses_other 2>err
check "another MPI: runs" test "$?" -eq 0
check "why, in the metadata" metadata other.tar ".collector.mpi | endswith(\"$why\")"
check "in the closing line" grep -q "  no MPI calls: $why" err
check "in ls" sh -c '"$0" ls other.tar | grep -q "^  missing   MPI calls: $1"' "$COLLECT" "$why"
"$BIN/dcreport" other.tar -o site --theme "$top/themes/default" >/dev/null 2>&1
check "in the report" grep -q "^- .*MPI calls were not recorded: $why" site/BOTTLENECK_ANALYSIS.md

# ---- ranks of a program in which no MPI can be seen
for rank in 0 1; do
    PMI_RANK=$rank PMI_SIZE=2 MPI_LOCALRANKID=$rank "$COLLECT" run --spool ranks -- printenv MPI_LOCALRANKID >/dev/null 2>&1
done
"$COLLECT" pack ranks -o ranks.tar 2>err
check "two ranks without a known MPI: the closing line says it" grep -q "  no MPI calls: no program .* is linked with MPI" err
"$BIN/dcreport" ranks.tar -o site2 --theme "$top/themes/default" >/dev/null 2>&1
check "and the report" grep -q "^- .*MPI calls were not recorded: no program .* is linked with MPI" site2/BOTTLENECK_ANALYSIS.md

# ---- a call that is left by siglongjmp, and completion on a small stack, with an imitation of Open MPI
cat >made.c <<'END'
#include <signal.h>
int ompi_mpi_comm_world, n_barriers;
int PMPI_Comm_size(void *comm, int *size) { return (*size = comm != 0) * 0; }
int MPI_Init(int *argc, char ***argv) { return argc || argv; }
int MPI_Waitall(int n, void **requests, void *statuses) { return n && (!requests || !statuses); }
/* Every other one is interrupted. */
int MPI_Barrier(void *comm) { return comm && n_barriers++ % 2 == 0 ? raise(SIGUSR1) : 0; }
END
cat >jumps.c <<'END'
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
int MPI_Init(int *, char ***), MPI_Barrier(void *), MPI_Waitall(int, void **, void *);
extern int ompi_mpi_comm_world;
static sigjmp_buf back;
static void jump(int signal) { siglongjmp(back, signal); }
static void *wait_all(void *unused) { return MPI_Waitall(0, 0, 0) ? &back : unused; }
int main(void)
{
    pthread_t t;
    pthread_attr_t small;
    void *failed = 0;
    MPI_Init(0, 0);
    signal(SIGUSR1, jump);
    for (volatile int i = 0; i < 100; i++)
        if (sigsetjmp(back, 1) == 0)
            MPI_Barrier(&ompi_mpi_comm_world);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 32768);
    pthread_create(&t, &small, wait_all, 0);
    pthread_join(t, &failed);
    return failed != 0;
}
END
"$CC" -shared -fPIC -w -Wl,-soname,libmpi.so.40 -o libmpi.so.40 made.c && "$CC" -w -o jumps jumps.c ./libmpi.so.40 -pthread
LD_LIBRARY_PATH=. "$COLLECT" run --spool jumped --io off -- ./jumps 2>err
check "jumps out of calls, and MPI_Waitall in a thread with a stack of 32 KiB: runs" test "$?" -eq 0
check "calls after a jump are recorded" test "$(./trace_text jumped/rank0/*.dct | grep -c 'mpi|comm|MPI_Barrier')" -eq 50
check "and MPI_Waitall" sh -c './trace_text jumped/rank0/*.dct | grep -q MPI_Waitall'
finish
