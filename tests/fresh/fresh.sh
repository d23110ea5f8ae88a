#!/usr/bin/env bash
# The README's commands on a fresh Debian 12: debootstrap's minbase plus gcc, make and git, nothing else. First as a plain
# user without sudo (who must get the exact install line and nothing else), then as root.
# FRESH="report test deb" says which commands root runs. The package of make deb is installed in a root of its own.
WELLFORMED=no # it would search a whole Debian root; the tests inside check their own outputs
. tests/lib/tap.sh

: "${FRESH:=report test deb}"
[ "$(id -u)" = 0 ] || { skip "a fresh Debian root" "needs root"; finish; }
command -v debootstrap >/dev/null || { skip "a fresh Debian root" "no debootstrap"; finish; }

root=$TMP/root
# shellcheck disable=SC2016  # apt expands these
source=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' "Created-By: Packages" |
    awk '$2 ~ /bookworm/ && $2 !~ /-/ && $3 == "main" { print $1; exit }')
[ -n "$source" ] || { skip "a fresh Debian root" "apt knows no source of Debian 12 (bookworm)"; finish; }

# All mounts for the root are in a mount namespace and all processes in a PID namespace, so nothing remains after this test. A container may not be allowed to make them.
unshare -m -p -f --mount-proc true 2>/dev/null || { skip "a fresh Debian root" "may not make namespaces"; finish; }
inside() { # user command...
    local user=$1
    shift
    # shellcheck disable=SC2016  # the inner shell expands these
    unshare -m -p -f bash -c '
        root=$1 user=$2
        shift 2
        # The root gets a separate mount, because emulated nodes make mount namespaces.
        mount --rbind "$root" "$root" || exit
        mount --rbind /dev "$root/dev" && mount --make-rslave "$root/dev"
        mount -t tmpfs tmpfs "$root/dev/shm" 2>/dev/null
        mount -t proc proc "$root/proc" && mount --rbind /sys "$root/sys" && mount --make-rslave "$root/sys"
        exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb CI="${CI:-}" \
            chroot "$root" su "$user" -s /bin/bash -c "$*"' sh "$root" "$user" "$@"
}

debootstrap --variant=minbase bookworm "$root" "$source" >"$TMP/debootstrap.log" 2>&1 || {
    not_ok "debootstrap" "$(tail -n 5 "$TMP/debootstrap.log")"
    finish
}
# apt inside must reach the same servers as outside: same sources, keys and settings of this machine.
cp -L /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null
# As Debian's installer writes it. Without it every start of mpirun and MPI_Init may wait five seconds for a name
# server.
printf '127.0.0.1 localhost\n127.0.1.1 %s\n' "$(hostname)" >"$root/etc/hosts"
rm -f "$root/etc/apt/sources.list"
for f in /etc/apt/sources.list /etc/apt/sources.list.d/* /etc/apt/apt.conf.d/*; do
    case $f in *.sources | *.list) grep -qs bookworm "$f" || continue ;; esac
    [ ! -f "$f" ] || cp --parents "$f" "$root"
done
for f in $(apt-config dump | sed -nE 's/^Acquire::https.*(CaInfo|CAInfo|SslCert|SslKey) "(.*)";/\2/p'); do
    [ ! -f "$f" ] || cp --parents "$f" "$root"
done
cp -r /usr/share/keyrings "$root/usr/share/" 2>/dev/null
[ ! -d /etc/ssl/certs ] || cp -rL --parents /etc/ssl/certs "$root" 2>/dev/null
# Third-party sources (a vendor's CUDA, Node) are not part of a fresh Debian.
grep -Lr 'Suites:.*bookworm\|debian.* bookworm' "$root/etc/apt/sources.list.d" 2>/dev/null | xargs -r rm -f
# The package brings its dependencies to a root without a compiler.
case " $FRESH " in *" deb "*) inside root "useradd -m plain" >/dev/null && cp -a "$root" "$TMP/bare" ;; esac
check "a fresh root with gcc, make and git" inside root \
    "apt-get update -q && apt-get install -y -q --no-install-recommends gcc make git"
check "it has no CUDA toolkit" inside root "! command -v nvcc"
[ -d "$root/home/plain" ] || inside root "useradd -m plain" >"$TMP/useradd.log" 2>&1

git -c safe.directory='*' clone -q --no-hardlinks . "$root/srv/dcreport" || { not_ok "clone"; finish; }
[ ! -d "$SHARED" ] || cp -r "$SHARED" "$root/srv/shared"
chown -R 1000:1000 "$root/srv/dcreport"
n_before=$(inside root "dpkg-query -W | wc -l")
inside plain "cd /srv/dcreport && make report" >"$TMP/plain.log" 2>&1
plain_status=$?
if [ $plain_status -ne 0 ] && grep -q '^    apt-get update && apt-get install -y --no-install-recommends .*libopenblas-dev.*openmpi-bin' "$TMP/plain.log" &&
    [ "$n_before" = "$(inside root "dpkg-query -W | wc -l")" ]; then
    ok "a plain user without sudo gets the install line"
else
    not_ok "a plain user without sudo gets the install line" "status $plain_status: $(cat "$TMP/plain.log")"
fi

chown -R 0:0 "$root/srv/dcreport"
for command in $FRESH; do
    began=$SECONDS
    inside root "cd /srv/dcreport && make $command" >"$TMP/$command.log" 2>&1
    status=$?
    cp "$TMP/$command.log" "$BUILD/test-logs/fresh-make-$command.log"
    if [ $status -eq 0 ]; then
        ok "make $command as root ($((SECONDS - began)) s with the download of packages)"
    else
        # Failures inside are far above the end of the output.
        not_ok "make $command as root" "status $status: $(grep -A 5 'FAILED\|    not ok' "$TMP/$command.log" | head -n 60)
$(tail -n 40 "$TMP/$command.log")"
    fi
    [ "$command" != test ] || grep -E '^[0-9]+ passed' "$TMP/$command.log" | sed 's/^/# inside: /'
done
case " $FRESH " in
*" deb "*)
    built=$root
    root=$TMP/bare
    cp "$built"/srv/dcreport/build/dcreport_*.deb "$root/srv/" || not_ok "make deb leaves a package"
    check "lintian had nothing to say" test "$(grep -c '^[EW]: ' "$TMP/deb.log")" = 0
    check "the package installs where nothing else is" inside root \
        "apt-get update -q && apt-get install -y -q --no-install-recommends /srv/dcreport_*.deb && ! command -v gcc"
    check "dccollect of the package records" inside plain "cd && dccollect run -o run.tar -- sh -c 'exec 3>x; echo x >&3' && dccollect verify run.tar"
    check_status 3 "dcreport renders" inside plain "cd && dcreport run.tar -o site"
    check "dcrnn-train trains" inside plain "cd && dcrnn-train --sensors 8 --days 2 --steps 2 --units 4 --out out"
    check "the page is there" inside plain "cd && test -s site/index.html"
    check "it goes without a trace" inside root "apt-get purge -y -q dcreport && ! ls -d /usr/lib/dcreport /usr/share/doc/dcreport /usr/bin/dc* 2>/dev/null"
    root=$built
    ;;
esac
case " $FRESH " in
*" report "*)
    if grep -q 'missing packages:.*libopenblas-dev' "$TMP/report.log"; then
        ok "packages are named before they are installed"
    else
        not_ok "packages are named before they are installed" "$(head -n 20 "$TMP/report.log")"
    fi
    check "no line of it is a shell command" test "$(grep -c 'mkdir -p' "$TMP/report.log")" = 0
    check "three archives verify" inside root "cd /srv/dcreport && build/bin/dccollect verify results/1node-*.tar results/2node-*.tar results/4node-*.tar"
    check "the page is there" test -s "$root/srv/dcreport/site/index.html"
    check "the last lines say where to open it" grep -q 'site/index.html' <(tail -n 5 "$TMP/report.log")
    tail -n 6 "$TMP/report.log" | sed 's/^/# /'
    check "its nodes are equal shares of this machine" grep -q '"node_label": "emulated nodes: [0-9.]* core, [0-9.]* Mbit/s each"' "$root/srv/dcreport/site/report.json"
    check "make demo-fix tries the first advice" inside root "cd /srv/dcreport && make demo-fix"
    cp "$TMP/tap.out" "$TMP/fix.log"
    # On a machine that other programs or guests use, the first advice is to measure again, without a forecast.
    if grep -q '^Measure again while nothing else runs: make collect ' "$TMP/report.log"; then
        check "the cores were disturbed, so nothing is forecast, and both runs are compared" jq -e '.comparisons[0] |
            .tried == null and .median_before_ns > 0 and .median_after_ns > 0' "$root/srv/dcreport/site-fix/report.json"
    else
        check "and says what was forecast and achieved" says "$TMP/fix.log" TRIED FORECAST_ABOUT
        check "as its report does in numbers" jq -e '.comparisons[0].tried | .before_ns > 0 and .forecast_ns > 0 and .achieved_ns > 0' "$root/srv/dcreport/site-fix/report.json"
    fi
    # Without the permissions: the same command, plain processes.
    chown -R 1000:1000 "$root/srv/dcreport"
    check "make report as a plain user" inside plain "cd /srv/dcreport && make report NODES='1 2' ARGS='--batch 16 --steps 20'"
    cp "$TMP/tap.out" "$TMP/plain.log"
    check "says why its nodes are plain processes" grep -q '^the nodes are plain processes that share all cores, because .*: this user may not ' "$TMP/plain.log"
    check "and so does its page" grep -q '"node_label": "emulated nodes: ranks of one host"' "$root/srv/dcreport/site/report.json"
    ;;
esac
finish
