#!/usr/bin/env bash
# make install builds nothing, its programs work from any folder without the sources, and make uninstall leaves nothing. The same sources
# give the same bytes in two folders, from the tar of make dist too.
# plain: it installs what users build
# shellcheck disable=SC2317,SC2016  # functions are called by check; inner shells expand
. tests/lib/tap.sh

there=("DESTDIR=$TMP/tree" PREFIX=/opt/dcreport BINDIR=/usr/bin LIBDIR=/usr/lib64 MANDIR=/man)
make=(make --no-print-directory "BUILD=$BUILD")
check_status 2 "make install of nothing" make --no-print-directory BUILD="$TMP/nothing" install "${there[@]}"
cp "$TMP/tap.out" "$TMP/said"
check "says what is missing and what to do" grep -qx "make install: .*nothing/bin/dcrnn-train is not built. Run make first." "$TMP/said"
check "and leaves nothing" test ! -e "$TMP/tree" -a ! -e "$TMP/nothing"
check "make install into chosen folders" "${make[@]}" install "${there[@]}"
for path in usr/bin/dcreport usr/lib64/dcreport/slurm/submit man/man1/dccollect.1 opt/dcreport/share/doc/dcreport/docs/metrics.md \
    opt/dcreport/share/bash-completion/completions/dcreport opt/dcreport/share/zsh/site-functions/_dcreport; do
    check "$path is there" test -s "$TMP/tree/$path"
done
readable() { # it is readable for all, although root made it
    ! find "$TMP/tree" ! -type l ! -perm -a+r | grep .
}
check "all may read it" readable

# The folder of the sources is empty for these programs, and the installation was moved as a whole.
mv "$TMP/tree" "$TMP/moved"
hidden=()
if unshare -m true 2>/dev/null; then
    hidden=(unshare -m sh -c 'mount -t tmpfs tmpfs "$0" && cd / && exec "$@"' "$PWD")
    ! "${hidden[@]}" test -e "$PWD/Makefile" || not_ok "the sources are hidden"
else
    skip "without the sources" "may not make namespaces"
fi
bin=$TMP/moved/usr/bin
check "dccollect records" "${hidden[@]}" env -i PATH="$bin:/usr/bin:/bin" dccollect run -o "$TMP/run.tar" -- sh -c 'exec 3>"$0"; echo x >&3' "$TMP/x"
check "with its libraries" sh -c '"$0" ls "$1" | grep -q "file"' "$bin/dccollect" "$TMP/run.tar"
check_status 3 "dcreport renders with its theme" "${hidden[@]}" env -i PATH="$bin:/usr/bin:/bin" dcreport "$TMP/run.tar" -o "$TMP/site"
check "dcrnn-train starts" "${hidden[@]}" env -i PATH="$bin:/usr/bin:/bin" dcrnn-train --check-options
check "dccollect calibrate is found" "${hidden[@]}" env -i PATH="$bin:/usr/bin:/bin" dccollect calibrate --help
mkdir "$TMP/slurm"
printf '#!/bin/sh\nexit 1\n' >"$TMP/slurm/sbatch" && chmod +x "$TMP/slurm/sbatch"
check_status 2 "the batch script finds the programs" env -u BUILD -u DCREPORT_BIN PATH="$TMP/slurm:/usr/bin:/bin" DCREPORT_RESULTS="$TMP/results" \
    "$TMP/moved/usr/lib64/dcreport/slurm/submit" --nodes 1
cp "$TMP/tap.out" "$TMP/said"
check "and it reaches Slurm" grep -q "^submit: Slurm refuses the run" "$TMP/said"
mv "$TMP/moved" "$TMP/tree"
check "make uninstall" "${make[@]}" uninstall "${there[@]}"
check "leaves no file" sh -c '! find "$0" ! -type d | grep .' "$TMP/tree"
check_status 2 "make uninstall of nothing" "${make[@]}" uninstall "${there[@]}"

# ---- hardened, and the same in any folder ----------------------------------------------------------------
hardened() { # FILE: position independent, relro and now
    readelf -hldW "$1" >"$TMP/elf" && grep -q 'Type: *DYN' "$TMP/elf" && grep -q GNU_RELRO "$TMP/elf" && grep -q 'Flags:.* NOW\|BIND_NOW' "$TMP/elf"
}
for file in "$BUILD"/bin/* "$BUILD"/lib/dcreport/*.so; do check "${file##*/} is hardened" hardened "$file"; done
check "with checked calls and stacks" sh -c 'nm -D "$0" | grep -q __stack_chk_fail && nm -D "$0" | grep -q _chk@' "$BUILD/bin/dccollect"
git rev-parse -q --verify HEAD >/dev/null 2>&1 || { skip "make dist" "not a git checkout"; finish; }
check "make dist" make --no-print-directory BUILD="$TMP/dist" dist
tar=$(echo "$TMP"/dist/dcreport-*.tar.gz)
check "its name has the one version" test "${tar##*/}" = "$("$BIN/dcreport" --version | sed 's/ /-/').tar.gz"
# A recorder, linked with optimisation over all of it, an object with debug information and the version, and one with a kernel.
other="$TMP/another folder"
mkdir "$other" && tar -C "$other" --strip-components=1 -xf "$tar"
git diff -z --name-only --diff-filter=d HEAD | xargs -0r cp --parents -t "$other" # what is not committed yet
objects=(lib/dcreport/libdccollect-inject.so obj/render/main.o)
if [ -e "$BUILD/lib/dcreport/libdcrnn-cuda.so" ]; then
    objects+=(obj/trainer/gpu/reduce.cu.o)
else
    skip "a kernel has the same bytes in both folders" "no nvcc"
fi
check "its tar builds without git, in another folder" env -u BUILD -u BIN GIT_DIR=/nowhere make --no-print-directory -C "$other" -j2 "${objects[@]/#/build/}"
for object in "${objects[@]}"; do
    check "$object has the same bytes in both folders" cmp "$BUILD/$object" "$other/build/$object"
done
finish
