#!/usr/bin/env bash
# make bundle-thin: the folder runs from any place where nothing is installed, and uses nothing of the machine except glibc.
# plain: it builds programs of its own
. tests/lib/tap.sh

[ "$(uname -s)-$(uname -m)" = Linux-x86_64 ] || { skip "bundle" "not x86-64 Linux"; finish; }
for program in patchelf orted; do
    command -v $program >/dev/null || { skip "bundle" "no $program"; finish; }
done
nvcc=$(command -v nvcc || true)
name=$(sed -n 's/^VERSION := \(.*\)/dcreport-\1-x86_64-thin/p' Makefile)
rm -rf "$BUILD/bundle/$name"*
mkdir "$TMP/moved here"
b="$TMP/moved here/$name"
alone=(env -i PATH=/usr/bin:/bin OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 TMPDIR="$TMP")

check "make bundle-thin" make --no-print-directory BUILD="$BUILD" bundle-thin
cp "$TMP/tap.out" "$TMP/made"
[ -s "$BUILD/bundle/$name.tar" ] || finish
check "it says how large it is and what it needs" grep -qE "$name: [1-5]?[0-9] MB unpacked, needs glibc 2\.[0-9]+$" "$TMP/made"
if [ -z "$nvcc" ]; then
    check "it says that there are no GPU parts, and why" grep -q "no GPU parts: no nvcc" "$TMP/made"
else
    check "it says where the CUDA libraries come from" grep -q "CUDA [0-9]* libraries are looked for on the machine" "$TMP/made"
    check "GPU tests are in it" test -x "$BUILD/bundle/$name/tests/gpu/collect_gpu"
    check "no library of the toolkit is" test ! -e "$BUILD/bundle/$name/lib/cuda"
fi
check "the tar unpacks" tar -C "$TMP/moved here" -xf "$BUILD/bundle/$name.tar"
rm -rf "$BUILD/bundle/$name"

# ---- nothing of this machine -----------------------------------------------------------------------------
# Libraries of these names that are found anywhere else would end every program.
mkdir "$TMP/poison"
for f in "$b"/lib/*.so* libhdf5{_serial.so{,.103},.so{,.103,.200,.310}}; do echo "no library" >"$TMP/poison/$(basename "$f")"; done
train=("$b/bin/dcrnn-train" --data "$b/data/speeds.csv" --graph "$b/data/distances.csv" --units 4 --batch 16 --steps 6
    --validation-windows 8)
check "two ranks under the collector, moved, in another environment" "${alone[@]}" LD_DEBUG=libs LD_DEBUG_OUTPUT="$TMP/loaded" \
    LD_LIBRARY_PATH="$TMP/poison" "$b/bin/mpirun" -n 2 --oversubscribe --bind-to none --mca btl_vader_single_copy_mechanism none \
    "$b/bin/dccollect" run --spool "$TMP/spool" --emulate-nodes -- "${train[@]}" --out "$TMP/spool/program"
check "packed" "${alone[@]}" "$b/bin/dccollect" pack "$TMP/spool" --adopt "$TMP/spool/program" -o "$TMP/run.tar"
check_status 0 "rendered" "${alone[@]}" LD_DEBUG=libs LD_DEBUG_OUTPUT="$TMP/loaded" "$b/bin/dcreport" "$TMP/run.tar" -o "$TMP/site"
sed -nE 's/^.*calling init: //p' "$TMP"/loaded.* | sort -u >"$TMP/all"
glibc='/(ld-linux-x86-64|lib(c|m|dl|rt|pthread|util|resolv|nss_[a-z]+))\.so\.[0-9]+$'
# sh, sed and the other programs that the scripts of bin/ start
other=$(grep -vF "$b/" "$TMP/all" | grep -vE "$glibc" | grep -vE '/lib(selinux|pcre2-8|acl|attr|tinfo)\.so\.[0-9]+$')
if [ -z "$other" ] && [ "$(grep -cF "$b/" "$TMP/all")" -gt 50 ]; then
    ok "libraries come from the bundle and glibc ($(grep -cF "$b/" "$TMP/all") and $(grep -cE "$glibc" "$TMP/all"))"
else
    not_ok "libraries come from the bundle and glibc" "${other:-few were loaded: $(cat "$TMP/all")}"
fi
missing=$(find "$b" -type f \( -name '*.so*' -o -path '*/libexec/*' \) -not -name 'libdcrnn-cuda.so' -exec ldd {} + 2>/dev/null |
    grep 'not found')
if [ -z "$missing" ]; then ok "every library finds its own"; else not_ok "every library finds its own" "$missing"; fi

status=0
"$BIN/dcreport" "$TMP/run.tar" -o "$TMP/site-installed" >/dev/null 2>&1 || status=$?
[ $status -eq 0 ] || not_ok "the installed renderer" "status $status"
check "the report is the installed renderer's, byte for byte" diff -r "$TMP/site" "$TMP/site-installed"
check "the archive is whole for the installed collector" "$BIN/dccollect" verify "$TMP/run.tar"
ln -s "$b/bin/dcreport" "$TMP/link"
check "through a link" "${alone[@]}" "$TMP/link" --version
# libhdf5 is in the program: nothing of that name can be loaded
if grep -q "no libhdf5.a here" "$TMP/made"; then
    skip "HDF5 files are read" "made without libhdf5.a"
else
    check "HDF5 files are read" "${alone[@]}" LD_LIBRARY_PATH="$TMP/poison" "$b/bin/dcrnn-train" --check-data --data "$PWD/tests/data/readers/metr-la.h5" \
        --graph "$PWD/tests/data/readers/adj_mx.pkl"
fi

# ---- a root without anything -----------------------------------------------------------------------------
# sh, glibc, and the four programs that the scripts of bin/ need; a user who is not root.
root=$TMP/root
fill_root() {
    local f p
    mkdir -p "$root"/{bin,lib64,proc,dev,tmp,bundle} && chmod 1777 "$root/tmp"
    for p in sh readlink uname getconf; do
        cp -L "$(command -v $p)" "$root/bin/$p"
        ldd "$root/bin/$p" | grep -oE '/[^ ]+' | while read -r f; do cp -L --parents -n "$f" "$root"; done
    done
    for p in libm libdl librt libpthread libutil libresolv; do
        cp -L --parents "$(dirname "$(ldd /bin/sh | grep -oE '/[^ ]+/libc\.so\.6')")"/$p.so.[0-9] "$root" 2>/dev/null
    done
    cp -a "$b/." "$root/bundle/"
    chmod -R go+rX "$root"
}
if [ "$(id -u)" = 0 ] && unshare -m -p -f true 2>/dev/null; then
    fill_root
    CHROOT=$(command -v chroot)
    export CHROOT
    # shellcheck disable=SC2016,SC2317  # the inner shell expands these; check calls it
    inside() {
        unshare -m -p -f bash -c '
            root=$1; shift
            mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" && mount --make-rslave "$root/dev" || exit 77
            exec env -i PATH=/bin TMPDIR=/tmp HOME=/tmp "$CHROOT" --userspec=65534:65534 "$root" "$@"' sh "$root" "$@"
    }
    check "no package, no root, no ssh: two ranks under the collector" inside /bundle/bin/mpirun -n 2 --oversubscribe --bind-to none \
        --mca btl_vader_single_copy_mechanism none /bundle/bin/dccollect run --spool /tmp/spool --emulate-nodes -- \
        /bundle/bin/dcrnn-train --data /bundle/data/speeds.csv --graph /bundle/data/distances.csv --units 4 --batch 16 --steps 6 \
        --validation-windows 8 --out /tmp/spool/program
    check "one rank without mpirun" inside /bundle/bin/dcrnn-train --sensors 6 --days 2 --units 2 --batch 8 --steps 1 \
        --validation-windows 4 --out /tmp/alone
    check "packed there" inside /bundle/bin/dccollect pack /tmp/spool --adopt /tmp/spool/program -o /tmp/run.tar
    check_status 0 "rendered there" inside /bundle/bin/dcreport /tmp/run.tar -o /tmp/site
    "$BIN/dcreport" "$root/tmp/run.tar" -o "$TMP/site-2" >/dev/null 2>&1
    check "with the same report" diff -r "$root/tmp/site" "$TMP/site-2"
    rm -f "$root/bundle/lib/libcairo.so.2"
    check_status 127 "(a library that is taken away is missed)" inside /bundle/bin/dcreport --version
else
    skip "a root without anything" "needs root and namespaces"
fi

# ---- other nodes -------------------------------------------------------------------------------------------
# A stand-in for ssh reaches them. It passes no environment on, and each node has its own /tmp. Open MPI cannot quote blanks
# there.
mv "$b" "$TMP/bundle"
b=$TMP/bundle
cat >"$TMP/fake-ssh" <<'END'
#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
mkdir -p "$TMP/node-$1"
node=$TMP/node-$1
shift
exec env -i PATH=/usr/bin:/bin TMPDIR="$node" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 sh -c "$*"
END
chmod +x "$TMP/fake-ssh"
check "one rank on each of two nodes" "${alone[@]}" TMP="$TMP" "$b/bin/mpirun" --mca plm_rsh_agent "$TMP/fake-ssh" --host a:1,b:1 -n 2 \
    "$b/bin/dcrnn-train" --sensors 6 --days 2 --units 2 --batch 8 --steps 2 --validation-windows 4 --out "$TMP/nodes"
check "the nodes were there" test -d "$TMP/node-a" -a -d "$TMP/node-b"

# ---- what stands in the way ----------------------------------------------------------------------------------
one_sentence() { # name, text, command...
    local what=$1 text=$2
    shift 2
    check_status 2 "$what" "$@"
    if [ "$(wc -l <"$TMP/tap.out")" -eq 1 ] && grep -q "$text" "$TMP/tap.out"; then
        ok "$what: one sentence"
    else
        not_ok "$what: one sentence" "$(cat "$TMP/tap.out")"
    fi
}
mkdir "$TMP/old" "$TMP/arm"
printf '#!/bin/sh\necho glibc 2.17\n' >"$TMP/old/getconf"
# shellcheck disable=SC2016  # it is a script
printf '#!/bin/sh\ncase $1 in -m) echo aarch64 ;; *) echo Linux ;; esac\n' >"$TMP/arm/uname"
chmod +x "$TMP/old/getconf" "$TMP/arm/uname"
one_sentence "an old glibc" 'dcreport: this bundle needs glibc 2\.[0-9]* or later, and this machine has 2\.17' \
    "${alone[@]}" PATH="$TMP/old:/usr/bin:/bin" "$b/bin/dcreport" --version
one_sentence "another processor" 'this is Linux on aarch64' "${alone[@]}" PATH="$TMP/arm:/usr/bin:/bin" "$b/run-on-device" "$TMP/no"
check "nothing was begun" test ! -e "$TMP/no"
# The search for CUDA's libraries ends with Python's wheels.
wheels=$TMP/home/.local/lib/python3.11/site-packages/nvidia
mkdir -p "$wheels/cu99/lib" "$wheels/nccl/lib"
touch "$wheels"/cu99/lib/lib{cublas,cublasLt,nvrtc}.so.99 "$wheels/nccl/lib/libnccl.so.2"
# shellcheck disable=SC2016  # the inner shell expands these
check "wheels are found, the rest is named" "${alone[@]}" HOME="$TMP/home" sh -euc '
    bundle=$1 cuda_major=99
    . "$bundle/libexec/find-cuda"
    echo "$LD_LIBRARY_PATH missing$cuda_missing"
    case $LD_LIBRARY_PATH in "$2/cu99/lib:$2/nccl/lib") ;; *) exit 1 ;; esac
    [ "$cuda_missing" = " libcupti.so.99" ]' sh "$b" "$wheels"
sed -i "s/^cuda_major=.*/cuda_major='98'/" "$b/libexec/built-with"
one_sentence "no CUDA libraries anywhere" 'missing: libcublasLt\.so\.98 libcublas\.so\.98' \
    "${alone[@]}" "$b/bin/dcrnn-train" --backend cuda --out "$TMP/no"
one_sentence "DATA without GRAPH" "make bundle: DATA='README.md' and GRAPH='' are not two files" \
    env VERSION=0 PROGRAMS="$BUILD/bundle/programs" DATA=README.md GRAPH= bundle/make.sh
check "and leaves nothing" test ! -e "$BUILD/bundle/$name"

# ---- the driver ------------------------------------------------------------------------------------------------
check "run-on-device" "${alone[@]}" "$b/run-on-device" --steps 6 --only "machine selftest gpu-tests bench yardstick train report" "$TMP/device"
tail -n 3 "$TMP/tap.out" | sed 's/^/# /'
if command -v jq >/dev/null; then
    check "its figures are JSON, with a reason for all that was skipped" jq -e \
        '.checks | length > 6 and all(.result != "failed" and (.result == "passed" or (.why | length > 5)))' "$TMP/device/figures.json"
fi
check "two archives and a report" test -s "$TMP/device/archives/2ranks-cpu.tar" -a -s "$TMP/device/site/index.html"
check_status 2 "an unknown part" "${alone[@]}" "$b/run-on-device" --only "machine bogus" "$TMP/no"
check_status 2 "a wrong number" "${alone[@]}" "$b/run-on-device" --steps 0 "$TMP/no"
touch "$TMP/file"
check_status 2 "an output that is a file" "${alone[@]}" "$b/run-on-device" "$TMP/file"
cp -r "$b/data/vectors/mixed-k3" "$TMP/wrong"
printf 'x' >>"$(find "$TMP/wrong" -name '*W_ru_f64.npy' | head -n 1)"
check_status 1 "vectors that cannot be read make it fail" "${alone[@]}" "$b/run-on-device" --only selftest --vectors "$TMP/wrong" "$TMP/device-2"
# An imitated machine with a GPU: the other half of the driver's checks. Nothing trains on it, and that must be said and counted.
mkdir -p "$b/lib/cuda" "$b/tests/gpu" "$b/bench" "$TMP/played"
rm -f "$b"/tests/gpu/*
printf '#!/bin/sh\necho "shape prec. launch step"\necho "METR-LA   fp32  graph   9.125  9.0"\n' >"$b/tests/gpu/bench_step"
printf '#!/bin/sh\nexit 3\n' >"$b/tests/gpu/kernels_gpu"
printf '#!/bin/sh\necho no device; exit 77\n' >"$b/tests/gpu/collect_gpu"
# shellcheck disable=SC2016  # they are scripts
printf '#!/bin/sh\ncase $* in *-L*) echo "GPU 0: played" ;; esac\n' >"$TMP/played/nvidia-smi"
# shellcheck disable=SC2016
printf '#!/bin/sh\ncase $* in *--compile*) exit 1 ;; *step*) echo "forward 0.1 s step 0.125 s (min 0.1)" ;; esac\n' >"$TMP/played/python3"
chmod +x "$b"/tests/gpu/* "$TMP"/played/*
touch "$b/bench/torch_dcrnn.py"
check_status 1 "a played GPU" "${alone[@]}" PATH="$TMP/played:/usr/bin:/bin" "$b/run-on-device" --steps 2 --sensors 8 \
    --only "gpu-tests bench yardstick" "$TMP/device-3"
if command -v jq >/dev/null; then
    check "what it measured, what failed and why" jq -e '
        ([.figures[] | {(.name): .value}] | add) == {"step on the device, METR-LA, fp32, graph": 9.125, "yardstick eager": 0.125, "yardstick eager, tf32": 0.125}
        and ([.checks[] | select(.name == "kernels_gpu")][0].why | startswith("status 3"))
        and ([.checks[] | select(.name == "collect_gpu")][0] | .result == "skipped" and .why == "no device")
        and ([.checks[] | select(.name | startswith("dcrnn-train cuda"))] | length == 6 and all(.result == "failed" and (.why | contains("--backend cuda") or contains("driver"))))
        and ([.checks[] | select(.name | startswith("yardstick compile"))] | length == 3 and all(.result == "failed"))' "$TMP/device-3/figures.json"
fi
if [ -n "$nvcc" ]; then
    check "without CUDA" make --no-print-directory BUILD="$BUILD" CUDA=0 bundle-thin
    cp "$TMP/tap.out" "$TMP/made"
    check "without CUDA: says so" grep -q "no GPU parts: switched off by CUDA=0" "$TMP/made"
    check "without CUDA: none is in it" test ! -e "$BUILD/bundle/$name/lib/dcreport/libdcrnn-cuda.so"
fi
rm -rf "$BUILD/bundle"
finish
