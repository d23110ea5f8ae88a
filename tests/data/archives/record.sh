#!/usr/bin/env bash
# record.sh DIR - record the archives of tests/data/archives/recorded again, into DIR. They are small real runs, so that the golden
# file of numbers covers what the collector really writes. Old archives stay when the format changes.
#
# Run it as root: the runs see a host called node1, an anonymous home folder, and folders under /srv.
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: record.sh DIR" >&2; exit 2; }
out=$(realpath -m "$1")
top=$(cd "$(dirname "$0")/../../.." && pwd)
build=${BUILD:-$top/build}
if [ -z "${RECORDING:-}" ]; then
    mkdir -p "$out" /srv/dcreport /srv/runs
    RECORDING=yes exec unshare --uts --mount bash "$0" "$out"
fi
hostname node1
mount -t tmpfs none /srv/dcreport
find /srv/runs -mindepth 1 -delete
mkdir -p /srv/dcreport/share/dcreport
cp -R "$build/bin" "$build/lib" /srv/dcreport
bin=/srv/dcreport/bin
cd /srv/runs
clean=(env -i PATH=/usr/bin:/bin HOME=/home/user USER=user OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1)
ranks=(mpirun --bind-to none --oversubscribe --mca btl_vader_single_copy_mechanism none --mca mpi_yield_when_idle 1)
small=(--units 8 --batch 16 --steps 30)

# The trainer on 1, 2 and 4 emulated nodes. The machine is calibrated first, because other work would disturb the calibration.
"${clean[@]}" chrt --fifo 10 "${ranks[@]}" -n 2 "$bin/dccollect" calibrate -o calibration.json
for n in 1 2 4; do
    "${clean[@]}" "${ranks[@]}" -n $n "$bin/dccollect" run --spool "series-$n" --emulate-nodes -- "$bin/dcrnn-train" --out "out-$n" "${small[@]}"
    "$bin/dccollect" pack "series-$n" --adopt "out-$n" --calibration calibration.json -o "$out/series-$n.tar.zst"
done
train() { # archive ranks collector options... -- trainer options...
    local name=$1 n=$2 options=()
    shift 2
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    "${clean[@]}" "$bin/dccollect" run -o "$out/$name.tar.zst" "${options[@]}" --adopt "out-$name" -- \
        "${ranks[@]}" -n "$n" "$bin/dcrnn-train" --out "out-$name" "${small[@]}" "$@"
}
# With and without slow loading, for a comparison; checkpoints; a window of steps; summaries instead of traces.
train data-on 2 -- --scenario data
train data-off 2 -- --scenario data --knob off
train io 2 -- --scenario io
train window 2 --steps 10:19 --
train summaries 2 --traces none --
# Stopped from outside after two seconds: incomplete.
clean+=(timeout 2)
train stopped 2 -- --steps 100000 --units 16 || [ $? -eq 124 ]
unset 'clean[-1]' 'clean[-1]'
# Programs without steps: MPI calls, and calls on files in several processes.
mpicc -std=gnu11 -O1 -I"$top" -o mpi_calls "$top/tests/data/programs/mpi_calls.c" -ldl -pthread
"${clean[@]}" "$bin/dccollect" run -o "$out/mpi.tar.zst" -- "${ranks[@]}" -n 2 ./mpi_calls
# shellcheck disable=SC2016  # $i belongs to the shell that is recorded
"${clean[@]}" "$bin/dccollect" run -o "$out/files.tar.zst" -- \
    sh -c 'for i in 1 2 3; do dd if=/dev/zero of=copy-$i bs=64k count=40 2>/dev/null; done; sleep 1'
# GPU activity from an emulation of CUPTI.
gcc -std=gnu11 -O1 -shared -fPIC -isystem "${CUDA_HOME:-/usr/local/cuda}/include" -o fake_cupti.so "$top/tests/data/programs/fake_cupti.c"
gcc -std=gnu11 -O1 -I"$top" -o cupti_program "$top/tests/data/programs/cupti_program.c" -ldl -pthread
"${clean[@]}" DCC_CUPTI=/srv/runs/fake_cupti.so "$bin/dccollect" run -o "$out/gpu.tar.zst" -- ./cupti_program 2
