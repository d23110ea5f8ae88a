#!/usr/bin/env bash
# demo_fix.sh - `make demo-fix`: runs the first command that the report of the last series advises, and compares the new
# run with the old one and with the forecast. There is no forecast if the advice is to measure again.
#
# From the environment: BUILD; RESULTS, SITE and FIX (folders: results, site, site-fix). The new archive goes to
# RESULTS/fix, so that RESULTS/last-series stays the list of the series. The comparison goes to FIX.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=${BUILD:-build}/bin
results=${RESULTS:-results} site=${SITE:-site} fix=${FIX:-site-fix}

fail() { # sentence
    echo "make demo-fix: $1" >&2
    exit 2
}
# The file has one key a line; keys of the top level are indented by two spaces.
value_of() { # key: its text, "" for null
    sed -n "s/^  \"$1\": \"\(.*\)\",\{0,1\}\$/\1/p" "$site/report.json" | sed 's/\\"/"/g; s/\\\\/\\/g'
}

[ -s "$site/report.json" ] || fail "there is no report in $site/. Run \`make report\` first."
[ -s "$results/last-series" ] || fail "$results/last-series, the list of the last series, is gone. Run \`make report\` again."
command=$(value_of first_command)
if [ -z "$command" ]; then
    fail "the first advice of the report has no command that can be run here. $(value_of first_action)"
fi
# The command is never given to a shell. Only words of this form are run.
word='[A-Za-z0-9_./=,:+@%-]+'
form="^make collect NODES=([0-9]+)( EMULATE=ranks)?( NODE_CPU=[0-9a-z.]+)?( NODE_NET=[0-9a-z]+)?( DATA=$word)?( GRAPH=$word)? ARGS=\"(($word( |\"\$))*)\"?\$"
[[ $command =~ $form ]] || fail "'$command' in $site/report.json is not a command of make collect. Run \`make site\` again."
nodes=${BASH_REMATCH[1]}
set_to=("NODES=$nodes" EMULATE=nodes) # the new run uses the same kind of nodes, unless the command sets another
for part in "${BASH_REMATCH[@]:2:5}"; do
    [ -z "$part" ] || set_to+=("${part# }")
done
set_to+=("ARGS=${BASH_REMATCH[7]%\"}")

old=()
while IFS= read -r archive; do
    name=${archive##*/}
    [[ $name == "${nodes}node-"* ]] || continue
    [ -r "$archive" ] || fail "'$archive' of the last series is gone. Run \`make report\` again."
    grep -qF -- "${name%.tar}" "$site/report.json" || fail "$site/ is not the report of the last series. Run \`make site\` first."
    old+=("$archive")
done <"$results/last-series"
[ ${#old[@]} -gt 0 ] || fail "$results/last-series has no run on $nodes node(s), which the advice is about. Run \`make report\` again."

echo "The first advice of $site/index.html: $(value_of first_action | sed 's/^Do first: //')"
echo "\$ $command"
# Other settings of the user are not part of the advice. The new run is calibrated too, so that the report judges memory for
# both runs.
env -u DATA -u GRAPH -u EMULATE -u NODE_CPU -u NODE_NET RESULTS="$results/fix" "${set_to[@]}" \
    bash collect/series.sh || exit
mapfile -t new <"$results/fix/last-series"
status=0
"$bin/dcreport" --baseline "${old[@]}" -- "${new[@]}" -o "$fix" || status=$?
[ $status -eq 0 ] || [ $status -eq 3 ] || exit $status
echo "Before and after: $fix/compare.html"
if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] && command -v xdg-open >/dev/null; then
    xdg-open "$fix/compare.html" >/dev/null 2>&1 || true
fi
