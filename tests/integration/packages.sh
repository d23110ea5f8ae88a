#!/usr/bin/env bash
# .ci/packages: missing packages are listed with the exact install line; libraries installed in other ways count;
# without Debian only they are searched.
# plain: it runs no program
. tests/lib/tap.sh

command -v dpkg-query >/dev/null || { skip "packages" "not Debian"; finish; }
mkdir "$TMP/plain" "$TMP/none"
for program in sh dirname grep id pkg-config; do ln -s "$(command -v $program)" "$TMP/plain/"; done

check "everything for building is here" .ci/packages --check build
# A machine that has none of them: dpkg-query knows nothing, nor does pkg-config.
printf '#!/bin/sh\nexit 1\n' >"$TMP/none/dpkg-query" && chmod +x "$TMP/none/dpkg-query"
check_status 2 "nothing is here" env PATH="$TMP/none:$PATH" PKG_CONFIG_LIBDIR=/nowhere .ci/packages --check build
cp "$TMP/tap.out" "$TMP/said"
all=$(awk '$1 == "build" { printf " %s", $2 }' packages.txt)
check "all are named in the install line" grep -qxF \
    "    apt-get update && apt-get install -y --no-install-recommends$all" "$TMP/said"
check_status 2 "libraries of a module, no package" env PATH="$TMP/none:$PATH" .ci/packages --check build
cp "$TMP/tap.out" "$TMP/said"
bare=$(awk '$1 == "build" && NF == 2 { printf " %s", $2 }' packages.txt)
check "only what has no module is named" grep -qxF "missing packages:$bare" "$TMP/said"
check "no Debian, but the libraries" env PATH="$TMP/plain" .ci/packages --check build
check_status 2 "no Debian, no libraries" env PATH="$TMP/plain" PKG_CONFIG_LIBDIR=/nowhere .ci/packages build
cp "$TMP/tap.out" "$TMP/said"
check "it says what to do" grep -q "load the modules of your site" "$TMP/said"
finish
