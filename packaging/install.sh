#!/bin/sh
# install.sh - copies what is built to where a user finds it, or removes it. make calls it with BUILD, DESTDIR and the folders.
#   packaging/install.sh install|uninstall
# The programs look for their libraries and themes beside themselves. So all of that is one folder, $LIBDIR/dcreport, and BINDIR has links
# into it: any BINDIR and LIBDIR go together.
set -eu
: "${BUILD:?}" "${PREFIX:?}" "${BINDIR:?}" "${LIBDIR:?}" "${MANDIR:?}" "${ZSHDIR:?}" "${DESTDIR=}"
programs='dcrnn-train dccollect dcreport'
own=$DESTDIR$LIBDIR/dcreport
doc=$DESTDIR$PREFIX/share/doc/dcreport
bash=$DESTDIR$PREFIX/share/bash-completion/completions
zsh=$DESTDIR$ZSHDIR

put() { # MODE FOLDER FILE...
    mode=$1 to=$2
    shift 2
    install -d -m 755 "$to"
    install -m "$mode" "$@" "$to"
}

case $1 in
install)
    put 755 "$own/bin" "$BUILD"/bin/dcrnn-train "$BUILD"/bin/dccollect "$BUILD"/bin/dccollect-calibrate "$BUILD"/bin/dcreport
    put 644 "$own/lib/dcreport" "$BUILD"/lib/dcreport/*.so
    put 644 "$own/lib/dcreport/python" "$BUILD"/lib/dcreport/python/*.py
    for theme in themes/*; do put 644 "$own/share/dcreport/$theme" "$theme"/*; done
    put 755 "$own/slurm" slurm/submit slurm/profile.sbatch
    install -d -m 755 "$DESTDIR$BINDIR"
    for program in $programs; do
        # Both folders may be moved together.
        ln -sfn "$(realpath -m -s --relative-to="$BINDIR" "$LIBDIR/dcreport/bin/$program")" "$DESTDIR$BINDIR/$program"
        put 644 "$bash" "$BUILD/completions/bash/$program"
        put 644 "$zsh" "$BUILD/completions/zsh/_$program"
    done
    put 644 "$DESTDIR$MANDIR/man1" "$BUILD"/man/*.1
    put 644 "$doc" README.md LICENSE CHANGELOG.md CONTRIBUTING.md SECURITY.md
    put 644 "$doc/docs" docs/*.md docs/*.png docs/thresholds
    put 644 "$doc/docs/tutorials" docs/tutorials/*.md
    echo "installed $DESTDIR$BINDIR/dccollect, dcreport, dcrnn-train; the batch script is $own/slurm/submit"
    ;;
uninstall)
    [ -d "$own" ] || { echo "make uninstall: there is no $own. Give the folders that make install got." >&2; exit 2; }
    for program in $programs; do
        rm -f "$DESTDIR$BINDIR/$program" "$DESTDIR$MANDIR/man1/$program.1" "$bash/$program" "$zsh/_$program"
    done
    rm -rf "$own" "$doc"
    echo "removed dccollect, dcreport and dcrnn-train from $DESTDIR$BINDIR, and $own"
    ;;
esac
