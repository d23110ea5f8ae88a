#!/usr/bin/env bash
# make.sh - one relocatable folder, and a tar of it, that runs on another x86-64 Linux machine without packages and without
# root: `make bundle`, or `make bundle-thin` without the CUDA libraries. docs/bundle.md says what is in it and why.
#   BUILD      what was built                     PROGRAMS   folder of the programs to take
#   CUDA_ROOT  the toolkit; empty: no GPU parts   THIN=1     leaves its libraries out
#   NO_CUDA    why there are no GPU parts
#   VERSION    of the programs                    DATA GRAPH a data set to take instead of a generated one
set -euo pipefail
export LC_ALL=C
said=''
trap '[ $? -eq 0 ] || [ -n "$said" ] || echo "make bundle: bundle/make.sh failed at: $BASH_COMMAND" >&2' EXIT
cd "$(dirname "$0")/.."
: "${BUILD:?}" "${PROGRAMS:?}" "${VERSION:?}"
readonly THIN_LIMIT_MB=60
name=dcreport-$VERSION-x86_64${THIN:+-thin}
out=$BUILD/bundle/$name
work=$out.partial

fail() { # sentence
    said=yes
    echo "make bundle: $1" >&2
    exit 2
}
[ "$(uname -s)-$(uname -m)" = Linux-x86_64 ] || fail "this is $(uname -sm). Make bundles on x86-64 Linux."
if [ -n "${DATA:-}${GRAPH:-}" ] && ! { [ -f "${DATA:-}" ] && [ -f "${GRAPH:-}" ]; }; then
    fail "DATA='${DATA:-}' and GRAPH='${GRAPH:-}' are not two files. Name both, or neither."
fi
rm -rf "$work"
mkdir -p "$work"/{bin,libexec,lib/dcreport,etc,share/dcreport,share/fonts,share/doc,data,tests/gpu,bench}
mkdir -p "$work"/openmpi/{lib,plugins,help,etc,pmix,pmix-help}
cuda_major=
if [ -n "${CUDA_ROOT:-}" ]; then
    cuda_major=$(sed -nE 's/^#define CUDA_VERSION ([0-9]+)[0-9]{3}$/\1/p' "$CUDA_ROOT/include/cuda.h")
    [ -n "$cuda_major" ] || fail "'$CUDA_ROOT/include/cuda.h' does not say its version. Give CUDA_HOME, or CUDA=0 for a bundle without GPU parts."
fi

# ---- what goes in ------------------------------------------------------------------------------------
# Parts of glibc and of the driver belong to the machine: another version of either beside the machine's own cannot work.
is_of_the_machine() { # soname
    case $1 in
    ld-linux* | libc.so* | libm.so* | libmvec.so* | libpthread.so* | libdl.so* | librt.so* | libresolv.so* | libutil.so* | \
        libanl.so* | libnss_* | libthread_db.so* | libBrokenLocale.so* | linux-vdso* | libcuda.so* | libnvidia-*) return 0 ;;
    esac
    return 1
}
cuda_real=$(readlink -f "${CUDA_ROOT:-/nowhere}")
is_of_cuda() { # path
    [ -n "${CUDA_ROOT:-}" ] || return 1
    case $(readlink -f "$1") in "$cuda_real"/*) return 0 ;; esac
    return 1
}
copy_library() { # path soname
    if [ -e "$work/lib/$2" ] || [ -e "$work/lib/cuda/$2" ]; then
        return
    elif ! is_of_cuda "$1"; then
        cp -L "$1" "$work/lib/$2"
    elif [ -z "${THIN:-}" ]; then
        mkdir -p "$work/lib/cuda"
        cp -L "$1" "$work/lib/cuda/$2"
    fi
}
take_needed() { # files...; what ldd says of them on standard input
    local soname path
    while read -r soname _ path _; do
        soname=${soname##*/}
        ! is_of_the_machine "$soname" || continue
        case $path in "$BUILD"/*) continue ;; esac # it is taken as itself
        [ "$path" != not ] || fail "$soname is needed by one of $* and not found on this machine. Install its package."
        copy_library "$path" "$soname"
    done < <(grep ' => ' | sort -u)
}
# ldd follows the libraries of libraries.
needs_of() { # file...
    LD_LIBRARY_PATH=${CUDA_ROOT:+$CUDA_ROOT/lib64:}${LD_LIBRARY_PATH:-} ldd "$@"
}
take_libraries_of() { # file...
    take_needed "$@" < <(needs_of "$@")
}

# Every program of bin/ is this: libexec/start finds out which one it is.
put_starter() { # name
    # shellcheck disable=SC2016  # expanded when it runs
    printf '%s\n' '#!/bin/sh' 'preload=${LD_PRELOAD:-}' 'unset LD_PRELOAD' 'self=$(readlink -f -- "$0") || exit 2' \
        '. "${self%/*/*}/libexec/start"' >"$work/bin/$1"
    chmod 755 "$work/bin/$1"
}

take_programs() {
    local p
    for p in dcrnn-train dccollect dccollect-calibrate dcreport; do
        cp "$PROGRAMS/$p" "$work/libexec/$p"
        put_starter $p
    done
    mkdir -p "$work/lib/dcreport/python"
    cp "$BUILD"/lib/dcreport/python/*.py "$work/lib/dcreport/python/" # without what Python compiled beside them
    for p in "$BUILD"/lib/dcreport/libdccollect-*.so; do
        cp "$p" "$work/lib/dcreport/"
        take_libraries_of "$p"
    done
    cp bundle/start.sh "$work/libexec/start"
    cp bundle/find_cuda.sh "$work/libexec/find-cuda"
    cp -R themes "$work/share/dcreport/"
    take_libraries_of "$work"/libexec/{dcrnn-train,dccollect,dccollect-calibrate,dcreport}
}

# Plugins for fabrics and OpenSHMEM stay behind: they need drivers' libraries of exactly their version on both sides.
# Between nodes this Open MPI speaks TCP; NCCL brings its own InfiniBand. Nobody here needs files or windows of MPI,
# nor ranks in another order or counts of messages, nor logs of messages, made-up allocations, Flux, or the two sets of
# collectives that Open MPI 4 does not choose by itself.
readonly LEFT_OUT_NEEDING='lib(ucp|fabric|psm2|psm_infinipath|ibverbs|oshmem)\.so' LEFT_OUT='mca_(io|fs|fbtl|fcoll|sharedfp|osc)_|_(treematch|monitoring|pessimist|simulator|flux|adapt|han)\.so'
# Reads what ldd says of all plugins, prints the part of those that are taken.
without_left_out() {
    named=$LEFT_OUT needing=$LEFT_OUT_NEEDING awk '
        function tell() { if (said !~ ENVIRON["named"] && said !~ ENVIRON["needing"]) printf "%s", said; said = "" }
        /^[^ \t].*:$/ { tell() }
        { said = said $0 "\n" }
        END { tell() }'
}

take_open_mpi() {
    local of plugins help plugin pmix taken
    of=$(ompi_info --path all --parsable 2>/dev/null) || fail "there is no ompi_info, so Open MPI's parts cannot be found. Install openmpi-bin."
    plugins=$(sed -n 's/^path:pkglibdir://p' <<<"$of" | head -n 1)
    help=$(sed -n 's/^path:pkgdatadir://p' <<<"$of" | head -n 1)
    command -v orterun orted >/dev/null || fail "there is no orterun or no orted here. Install Open MPI 4."
    taken=$(needs_of "$plugins"/mca_*.so | without_left_out)
    sed -n 's/:$//p' <<<"$taken" | xargs -d '\n' cp -t "$work/openmpi/plugins/"
    take_needed "$plugins/mca_*.so" <<<"$taken"
    cp "$(command -v orterun)" "$work/libexec/mpirun"
    cp "$(command -v orted)" "$work/libexec/orted"
    put_starter mpirun
    put_starter orted
    ln -s ../bin "$work/openmpi/bin" # where a remote node looks for orted
    cp "$help"/help-*.txt "$work/openmpi/help/"
    take_libraries_of "$work"/libexec/{mpirun,orted}
    # Debian's PMIx is a library of its own, with plugins.
    pmix=$(ldd "$plugins/mca_pmix_ext3x.so" 2>/dev/null | awk '$1 ~ /^libpmix/ { print $3 }')
    [ -n "$pmix" ] || return 0
    pmix=$(dirname "$(readlink -f "$pmix")")
    for plugin in "$pmix"/pmix/pmix_mca_*.so "$pmix"/pmix2/lib/pmix/pmix_mca_*.so; do
        [ ! -e "$plugin" ] || cp "$plugin" "$work/openmpi/pmix/"
    done
    for help in "$pmix"/../share/pmix/help-*.txt "$pmix"/pmix2/share/pmix/help-*.txt; do
        [ ! -e "$help" ] || cp "$help" "$work/openmpi/pmix-help/"
    done
}

# The device library, the GPU tests and benches, and the libraries that are opened at run time.
take_gpu_parts() {
    local f
    [ -n "${CUDA_ROOT:-}" ] || return 0
    f=$BUILD/lib/dcreport/libdcrnn-cuda.so
    cp "$f" "$work/lib/dcreport/"
    take_libraries_of "$f"
    for f in "$BUILD"/tests/gpu/*; do
        if [ -f "$f" ] && [ -x "$f" ]; then
            cp "$f" "$work/tests/gpu/"
            take_libraries_of "$f"
        fi
    done
    # cuBLAS itself opens NVRTC for kernels that it compiles where it runs
    for f in "$CUDA_ROOT"/lib64/{libnccl.so.2,libcupti.so."$cuda_major",libnvrtc.so."$cuda_major",libnvrtc-builtins.so."$cuda_major".*}; do
        [ ! -e "$f" ] || { copy_library "$f" "${f##*/}" && take_libraries_of "$f"; }
    done
    [ -d "$work/lib/cuda" ] || return 0
    # cuBLAS looks beside itself only
    for f in libgcc_s.so.1 libstdc++.so.6; do ln -sf "../$f" "$work/lib/cuda/$f"; done
}

take_the_rest() {
    local f font
    cp bundle/fonts.conf "$work/etc/"
    for f in DejaVuSans.ttf DejaVuSans-Bold.ttf; do
        font=$(find /usr/share/fonts /usr/local/share/fonts -name $f -print -quit 2>/dev/null)
        [ -n "$font" ] || fail "there is no $f under /usr/share/fonts. Install fonts-dejavu-core."
        cp "$font" "$work/share/fonts/"
    done
    if [ -n "${DATA:-}" ]; then
        cp "$DATA" "$work/data/speeds.csv"
        cp "$GRAPH" "$work/data/distances.csv"
    else
        "$PROGRAMS/dcrnn-train" --sensors 32 --days 7 --write-data "$work/data" >/dev/null
    fi
    cp -R tests/data/dcrnn "$work/data/vectors"
    [ ! -f "${SHARED:-../shared}/bench/torch_dcrnn.py" ] || cp "${SHARED:-../shared}/bench/torch_dcrnn.py" "$work/bench/"
    cp bundle/run_on_device.sh "$work/run-on-device"
    chmod 755 "$work/run-on-device"
    cp LICENSE "$work/"
    cp docs/bundle.md "$work/README.md"
}

# ---- made small ----------------------------------------------------------------------------------------
elf_files() {
    grep -rlaPm1 --exclude-dir=cuda '^\x7fELF' "$work"
}
with_cuda() {
    elf_files
    [ ! -d "$work/lib/cuda" ] || find "$work/lib/cuda" -type f
}
# Debian's OpenBLAS is 37 MB and brings Fortran for LAPACK, of which nothing is called: the functions that are called make a
# library of the same name, linked anew from the archive.
trim_openblas() {
    local full=$work/lib/libopenblas.so.0 archive called
    archive=$(pkg-config --variable=libdir openblas)/libopenblas.a
    [ -e "$full" ] && [ -e "$archive" ] || return 0
    mapfile -t called < <(comm -12 \
        <(elf_files | grep -v libopenblas | xargs -d '\n' nm -D --undefined-only -P 2>/dev/null | awk 'NF > 1 { print $1 }' | sort -u) \
        <(nm -D --defined-only -P "$full" | awk '{ print $1 }' | sort -u))
    printf '{ global:%s local: *; };\n' "$(printf ' %s;' "${called[@]}")" >"$full.exports"
    gcc -shared -s -Wl,-soname,libopenblas.so.0,--version-script="$full.exports" "${called[@]/#/-Wl,-u,}" \
        -o "$full.trimmed" "$archive" -lm -pthread
    mv "$full.trimmed" "$full"
    rm "$full.exports"
}
# What was needed only by what is gone.
drop_libraries_nobody_needs() {
    local needed f gone=yes
    while [ -n "$gone" ]; do
        gone=
        needed=$(with_cuda | xargs -d '\n' readelf -d 2>/dev/null | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p' | sort -u)
        for f in "$work"/lib/*.so*; do
            if ! grep -qxF "${f##*/}" <<<"$needed"; then rm "$f" && gone=yes; fi
        done
    done
}

# ---- made relocatable ----------------------------------------------------------------------------------
# DT_RPATH and not DT_RUNPATH: it comes before LD_LIBRARY_PATH, in which clusters' modules have other versions, and it holds for
# what a library needs in turn. NVIDIA's own libraries stay as they are.
find_libraries_relatively() {
    local depth=2 up=.. elf
    elf=$(elf_files)
    xargs -d '\n' chmod u+w <<<"$elf"
    while [ -n "$(find "$work" -mindepth $depth -print -quit)" ]; do
        # shellcheck disable=SC2016  # for the loader
        find "$work" -mindepth $depth -maxdepth $depth -type f | { grep -xFf <(echo "$elf") || true; } |
            xargs -r -d '\n' patchelf --force-rpath --set-rpath "\$ORIGIN:\$ORIGIN/$up/lib:\$ORIGIN/$up/lib/cuda"
        depth=$((depth + 1)) up=$up/..
    done
}
# The newest version of glibc that anything asks for.
glibc_needed() {
    with_cuda | xargs -d '\n' readelf -V --wide | grep -oE 'GLIBC_2\.[0-9.]+' | sed 's/GLIBC_//' | sort -uV | tail -n 1
}

say_what_it_is() {
    cat >"$work/libexec/built-with" <<END
# Read by libexec/start and run-on-device.
version='$VERSION'
commit='$(git -c safe.directory='*' describe --always --dirty --abbrev=12 2>/dev/null || echo unknown)'
glibc_needed='$(glibc_needed)'
cuda_major='$cuda_major'
is_thin='${THIN:+yes}'
END
}
pack() {
    local stamp
    stamp=$(git -c safe.directory='*' log -1 --format=%ct 2>/dev/null || date +%s)
    tar -C "$BUILD/bundle" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$stamp" -cf "$out.tar.partial" "$name"
    mv "$out.tar.partial" "$out.tar"
}

# Of files and folders.
bytes() {
    du -scb --apparent-size "$@" | awk 'END { print $1 }'
}

main() {
    local size
    take_programs
    take_open_mpi
    take_gpu_parts
    take_the_rest
    trim_openblas
    drop_libraries_nobody_needs
    # Debug information stays behind. Symbols stay, for profilers, in what runs on the device machine with training.
    elf_files | xargs -d '\n' strip --strip-debug
    find "$work/tests" "$work"/libexec/{dcreport,dccollect,dccollect-calibrate} "$work"/lib/dcreport/libdccollect-*.so -type f -exec strip {} +
    find_libraries_relatively
    say_what_it_is
    size=$(bytes "$work")
    if [ -n "${THIN:-}" ] && [ "$size" -ge $((THIN_LIMIT_MB * 1000000 + $(bytes ${DATA:+"$DATA" "$GRAPH"} /dev/null))) ]; then
        fail "the thin bundle has $size bytes, which is not under $THIN_LIMIT_MB MB. See what grew: \`du -a $work | sort -n\`."
    fi
    rm -rf "$out"
    mv "$work" "$out"
    pack
    # shellcheck disable=SC1091  # just written
    . "$out/libexec/built-with"
    # shellcheck disable=SC2154
    echo "$out: $((size / 1000000)) MB unpacked, needs glibc $glibc_needed"
    # shellcheck disable=SC2310  # no match is an answer
    nm -D "$out/libexec/dcrnn-train" | grep ' H5open$' >/dev/null ||
        echo "    no libhdf5.a here: .h5 files are read where the machine has libhdf5"
    if [ -z "$cuda_major" ]; then
        echo "    no GPU parts: $NO_CUDA"
    elif [ -n "${THIN:-}" ]; then
        echo "    CUDA $cuda_major libraries are looked for on the machine it runs on"
    else
        echo "    with the CUDA $cuda_major libraries; the machine needs a driver for it"
    fi
    echo "$out.tar: the same, to be unpacked anywhere; then: $name/run-on-device --help"
}
main
