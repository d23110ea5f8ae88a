#!/usr/bin/env bash
# deb.sh - a Debian package of what is built: $BUILD/dcreport_VERSION_ARCH.deb. make deb calls it with BUILD, VERSION and MAINTAINER.
# lintian has the last word.
set -euo pipefail
: "${BUILD:?}" "${VERSION:?}" "${MAINTAINER:?}"
top=$PWD
work=$BUILD/deb
root=$work/debian/dcreport
doc=$root/usr/share/doc/dcreport
arch=$(dpkg --print-architecture)
deb=$BUILD/dcreport_${VERSION}_$arch.deb
# One time for all files: that of the last commit, or of the change log where there is no git.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)
export SOURCE_DATE_EPOCH
umask 022
rm -rf "$work"
mkdir -p "$root/DEBIAN"

make --no-print-directory BUILD="$BUILD" install DESTDIR="$top/$root" PREFIX=/usr BINDIR=/usr/bin LIBDIR=/usr/lib MANDIR=/usr/share/man \
    ZSHDIR=/usr/share/zsh/vendor-completions >/dev/null
# CUDA's toolkit is no Debian package: --backend cuda needs make install.
rm -f "$root/usr/lib/dcreport/lib/dcreport/libdcrnn-cuda.so"
find "$root/usr/lib/dcreport" -name '*.so' -exec strip --strip-unneeded {} +
strip "$root"/usr/lib/dcreport/bin/*
gzip -9n "$root"/usr/share/man/man1/*.1

# What Debian wants said, and where.
{
    printf 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: dcreport\n\n'
    printf 'Files: *\nCopyright: %s The dcreport authors\nLicense: Expat\n' "$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y)"
    sed '1,/^Copyright/d; /./!d' LICENSE | sed 's/^/ /'
    # dccollect contains parts of libarchive (mk/programs.mk).
    echo
    awk 'BEGIN { RS = ""; ORS = "\n\n" } /^Files: libarchive\/\*\n/ || /^License: BSD-2-clause\n/' /usr/share/doc/libarchive-dev/copyright
} >"$doc/copyright"
rm "$doc/LICENSE"
mv "$doc/CHANGELOG.md" "$doc/NEWS"
printf 'dcreport (%s) unstable; urgency=medium\n\n  * Changes are listed in NEWS.gz.\n\n -- %s  %s\n' "$VERSION" "$MAINTAINER" \
    "$(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")" >"$work/debian/changelog"
cp "$work/debian/changelog" "$doc/changelog"
gzip -9n "$doc/NEWS" "$doc/changelog"

# The libraries that the programs are linked with.
printf 'Source: dcreport\n\nPackage: dcreport\nArchitecture: any\n' >"$work/debian/control"
linked=$(cd "$work" && find debian/dcreport/usr/lib/dcreport \( -path '*/bin/*' -o -name '*.so' \) -type f)
# shellcheck disable=SC2086  # a list of words is meant
depends=$(cd "$work" && dpkg-shlibdeps -O -ldebian/dcreport/usr/lib/dcreport/lib/dcreport $linked | sed -n 's/^shlibs:Depends=//p')
{
    printf 'Package: dcreport\nVersion: %s\nArchitecture: %s\nMaintainer: %s\n' "$VERSION" "$arch" "$MAINTAINER"
    printf 'Installed-Size: %s\nDepends: %s\n' "$(du -sk --apparent-size "$root/usr" | cut -f1)" "$depends, fonts-dejavu-core"
    cat packaging/control
} >"$root/DEBIAN/control"
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --root-owner-group -Zxz --build "$root" "$deb" >/dev/null
lintian --fail-on error,warning "$deb"
echo "$deb"
