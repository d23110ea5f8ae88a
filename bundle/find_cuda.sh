# shellcheck shell=sh
# shellcheck disable=SC2154  # bundle, cuda_major: the caller's
# find_cuda.sh - a thin bundle looks for the CUDA libraries of the machine: sourced by start.sh and run_on_device.sh.
# Reads $bundle and $cuda_major, adds the folders it finds to LD_LIBRARY_PATH, sets cuda_missing to what it did not find.
# A full bundle has its own in lib/cuda, which the programs find by themselves.
cuda_folders() {
    echo "${LD_LIBRARY_PATH:-}" | tr : '\n'
    # wheels: of the environment that is active, of the python that is found first, of the user, of the system
    interpreter=$(command -v "${PYTHON:-python3}") || interpreter=
    real=$(readlink -f -- "$interpreter") || real=
    for root in "${VIRTUAL_ENV:-}" "${CONDA_PREFIX:-}" "${interpreter%/bin/*}" "${real%/bin/*}" "${HOME:-}/.local" /usr/local /usr; do
        [ -d "$root/lib" ] || continue
        for packages in "$root"/lib/python3*/site-packages "$root"/lib/python3*/dist-packages "$root"/lib/python3/dist-packages; do
            for d in "$packages"/nvidia/*/lib; do [ ! -d "$d" ] || echo "$d"; done
        done
    done
    for d in "${CUDA_HOME:-/nowhere}/lib64" "${CUDA_HOME:-/nowhere}/targets/x86_64-linux/lib" /usr/local/cuda/lib64 \
        /usr/local/cuda/targets/x86_64-linux/lib /usr/local/cuda-"$cuda_major"*/lib64 "${CONDA_PREFIX:-/nowhere}/lib" \
        "${CONDA_PREFIX:-/nowhere}/targets/x86_64-linux/lib" /usr/lib/x86_64-linux-gnu /usr/lib64 \
        /opt/nvidia/hpc_sdk/Linux_x86_64/*/math_libs/lib64 /opt/nvidia/hpc_sdk/Linux_x86_64/*/comm_libs/nccl/lib; do
        [ ! -d "$d" ] || echo "$d"
    done
}

# The first folder that has a library; nothing when none has it.
folder_of() { # library, folders on stdin
    while IFS= read -r d; do
        [ -z "$d" ] || [ ! -e "$d/$1" ] || { echo "$d"; return; }
    done
}

cuda_missing=
if [ ! -d "$bundle/lib/cuda" ]; then
    folders=$(cuda_folders)
    for library in "libcublasLt.so.$cuda_major" "libcublas.so.$cuda_major" "libnvrtc.so.$cuda_major" libnccl.so.2 "libcupti.so.$cuda_major"; do
        found=$(echo "$folders" | folder_of "$library")
        if [ -z "$found" ]; then
            cuda_missing="$cuda_missing $library"
            continue
        fi
        case :${LD_LIBRARY_PATH:-}: in
        *:"$found":*) ;;
        *) export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$found" ;;
        esac
    done
fi
