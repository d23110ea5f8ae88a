# shellcheck shell=sh
# shellcheck disable=SC1091,SC2154  # what a bundle has beside this file
# start.sh - what every program of a bundle's bin/ does before it runs: find the bundle wherever it stands, see that this
# machine can run it, tell Open MPI and fontconfig where their files are now. Sourced by the program in bin/, whose path is
# $self. Libraries need nothing: the programs find them relative to themselves.
# $preload, what a collector wants loaded, is for the program and not for what is started here.
name=${self##*/}
bundle=${self%/*/*}
# glibc_needed, cuda_major: written by bundle/make.sh
. "$bundle/libexec/built-with"

glibc_here() {
    text=$(getconf GNU_LIBC_VERSION 2>/dev/null) || text=$(/lib64/ld-linux-x86-64.so.2 --version 2>/dev/null | sed -n '1s/\.$//p')
    echo "${text##* }"
}
older() { # 2.31 2.36: is the first one older?
    [ "${1%%.*}" -lt "${2%%.*}" ] || { [ "${1%%.*}" -eq "${2%%.*}" ] && [ "${1#*.}" -lt "${2#*.}" ]; }
}
case $(uname -s)-$(uname -m) in
Linux-x86_64) ;;
*)
    echo "$name: this bundle runs on x86-64 Linux, and this is $(uname -s) on $(uname -m); build from source here" >&2
    exit 2
    ;;
esac
here=$(glibc_here)
case $here in
[0-9]*.[0-9]*)
    if older "$here" "$glibc_needed"; then
        echo "$name: this bundle needs glibc $glibc_needed or later, and this machine has $here; make the bundle on a machine as old as this one" >&2
        exit 2
    fi
    ;;
*)
    echo "$name: this bundle needs glibc $glibc_needed or later, and none was found here; run it in a container that has one" >&2
    exit 2
    ;;
esac

# Open MPI was built to live in /usr. A node that mpirun reaches over ssh or srun starts bin/orted, which comes by here too.
relocate_mpi() {
    mpi=$bundle/openmpi
    export OPAL_PREFIX="$mpi" OPAL_LIBDIR="$mpi/lib" OPAL_PKGLIBDIR="$mpi/plugins" OPAL_PKGDATADIR="$mpi/help" \
        OPAL_SYSCONFDIR="$mpi/etc"
    export PMIX_PREFIX="$mpi" PMIX_LIBDIR="$mpi/pmix" PMIX_PKGLIBDIR="$mpi/pmix" PMIX_PKGDATADIR="$mpi/pmix-help" \
        PMIX_DATADIR="$mpi/pmix-help" PMIX_SYSCONFDIR="$mpi/etc"
    # plugins of this machine's hwloc would be of another version
    export HWLOC_PLUGINS_PATH="$mpi/no-hwloc-plugins"
    # Open MPI 4 gives up where there is nothing to reach other nodes with, even when none is asked for
    command -v ssh >/dev/null || command -v rsh >/dev/null || export OMPI_MCA_plm="${OMPI_MCA_plm:-^rsh}"
}

case $name in
dcreport) export FONTCONFIG_FILE="$bundle/etc/fonts.conf" ;;
dcrnn-train)
    relocate_mpi
    # of all words only these ask for a GPU: a folder may have cuda in its name, and of the scenarios one needs a GPU
    case " $* " in
    *' cuda '* | *'=cuda '* | *' --scenario'[\ =]'host '*)
        . "$bundle/libexec/find-cuda"
        case $cuda_missing in
        *cublas*)
            echo "$name: this thin bundle brings no CUDA libraries, and this machine has none of version $cuda_major where they were looked for (missing:$cuda_missing); name their folder in LD_LIBRARY_PATH, activate the Python environment that has them, or use the full bundle" >&2
            exit 2
            ;;
        esac
        ;;
    esac
    ;;
orted) relocate_mpi ;;
mpirun)
    relocate_mpi
    set -- --prefix "$bundle/openmpi" "$@"
    ;;
esac
[ -z "$preload" ] || export LD_PRELOAD="$preload"
exec "$bundle/libexec/$name" "$@"
