# shellcheck shell=bash disable=SC2034  # used by the scripts that source this
# build.sh - the small programs of tests/data/programs, built into $TMP for the collector's tests.
: "${CC:=gcc}"
nvtx_include() {
    local d nvcc
    [ "${CUDA:-1}" != 0 ] || return 1
    nvcc=$(command -v nvcc 2>/dev/null || true)
    for d in "${CUDA_HOME:-/nowhere}/include" ${nvcc:+"$(dirname "$(realpath "$nvcc")")/../include"} /usr/local/cuda/include; do
        [ -e "$d/nvtx3/nvToolsExt.h" ] && echo "$d" && return 0
    done
    return 1
}
if NVTX_INCLUDE=$(nvtx_include); then
    NVTX_FLAGS=(-DHAVE_NVTX -isystem "$NVTX_INCLUDE")
else
    NVTX_INCLUDE=''
    NVTX_FLAGS=()
fi
# build_program OUT SOURCE FLAGS...
build_program() {
    local out=$1 source=$2
    shift 2
    "$CC" -std=gnu11 -O1 -I. "$@" -o "$TMP/$out" "tests/data/programs/$source" -ldl -pthread
}
build_marks() {
    build_program marks_own marks.c && cp "$TMP/marks_own" "$TMP/marks"
    if [ -n "$NVTX_INCLUDE" ]; then
        build_program marks_nvtx marks.c "${NVTX_FLAGS[@]}" && cp "$TMP/marks_nvtx" "$TMP/marks"
    fi
}
build_trace_text() {
    "$CC" -std=gnu11 -O1 -I. -o "$TMP/trace_text" tests/data/programs/trace_text.c "$BUILD/libdcr.a" -lnettle
}
build_make_ranks() {
    "$CC" -std=gnu11 -O2 -I. -o "$TMP/make_ranks" tests/data/programs/make_ranks.c "$BUILD/libdcr.a" -lnettle
}
# member ARCHIVE NAME: its content
member() {
    tar xOf "$1" "$2"
}
# asked ARCHIVE MEMBER JQ-EXPRESSION: jq 1.6 accepts empty input, so a missing archive is checked first
asked() {
    local text
    text=$(member "$1" "$2") && jq -e -r "$3" <<<"$text"
}
# manifest ARCHIVE JQ-EXPRESSION
manifest() {
    asked "$1" manifest.json "$2"
}
metadata() {
    asked "$1" job_metadata.json "$2"
}
if [ "$(id -u)" = 0 ]; then
    MPIRUN=(mpirun --allow-run-as-root --oversubscribe --mca mpi_yield_when_idle 1)
else
    MPIRUN=(mpirun --oversubscribe --mca mpi_yield_when_idle 1)
fi
export OMPI_MCA_btl=self,vader,tcp
# choose_mpi openmpi|mpich: MPIRUN, MPICC and MPIF90 of that MPI, by Debian's names where it has them; fails if it is missing
choose_mpi() {
    local end='' tell
    [ ! -x "$(command -v "mpicc.$1")" ] || end=.$1
    MPIRUN=("mpirun$end") MPICC=mpicc$end MPIF90=mpif90$end
    command -v "${MPIRUN[0]}" "$MPICC" >/dev/null || return 1
    case $1 in
    openmpi)
        MPIRUN+=(--oversubscribe --mca mpi_yield_when_idle 1)
        [ "$(id -u)" != 0 ] || MPIRUN+=(--allow-run-as-root)
        tell=--showme:version
        ;;
    mpich) tell=-show ;;
    esac
    [ -n "$end" ] || "$MPICC" $tell 2>&1 | grep -q "${1/#openmpi/Open MPI}"
}
INJECT=$BUILD/lib/dcreport/libdccollect-inject.so
# record SPOOL CMD...: run it under the collector, NVTX alone, with an empty spool. RECORD: more options
record() {
    local spool=$1
    shift
    rm -rf "$spool"
    # shellcheck disable=SC2086  # several words
    "$COLLECT" run --spool "$spool" --mpi off --io off --cuda off --counters off ${RECORD:-} -- "$@" 2>"$TMP/record.err"
}
COLLECT=$BIN/dccollect INJECT=$(realpath -m "$INJECT")
