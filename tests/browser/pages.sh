#!/usr/bin/env bash
# The site in a real browser: opens from file://, without complaints or requests to the network; links have targets,
# nothing scrolls sideways on a phone, headings, tables, figures and contrast are sound in light and dark.
. tests/lib/tap.sh
. tests/data/archives/fixture.sh
WELLFORMED_NOT='unsound.html cut.html bad.html'

if ! command -v chromium > /dev/null; then
    skip "pages in a browser" "chromium is not installed"
    finish
fi
site=$TMP/site
hostile='<script>alert(1)</script><img src=\\"http://example.com/x.png\\">'
for n in 1 2 4; do
    fixture_run "$TMP/run$n" "$n" slow_rank=$((n == 4 ? 2 : -1)) kind=emulated io=3000000
    sed -i "s|\"host\":\"node1\"|\"host\":\"$hostile\"|; s|\"dataset\":\"generated\"|\"dataset\":\"$hostile a-very-long-name-$(printf 'x%.0s' {1..300})\"|" \
        "$TMP/run$n/job_metadata.json"
    fixture_pack "$TMP/run$n" "$TMP/$n.tar"
done
# Data loading took longer in the run before.
fixture_run "$TMP/run-before" 4 id=before kind=emulated data=30000000
fixture_pack "$TMP/run-before" "$TMP/<b>4.tar"
check "the site is made" "$BIN/dcreport" --baseline "$TMP/<b>4.tar" -- "$TMP/1.tar" "$TMP/2.tar" "$TMP/4.tar" -o "$site" -q \
    --single-file "$TMP/whole.html"
# A GPU known only by its trace: kernels, copies and collectives by stream, operators by thread.
trace=worker0_step_12.1694128201545_of_a_job_with_a_long_name.pt.trace.json
awk -v hostile="$hostile" 'BEGIN {
    printf "{\"schemaVersion\":1,\"deviceProperties\":[{\"id\":0,\"name\":\"Example GPU\"}],\"distributedInfo\":{\"rank\":3,\"world_size\":8},\"traceEvents\":["
    for (s = 0; s < 8; s++) {
        at = 1000 + s * 10000
        one("user_annotation", "ProfilerStep#" s, at, 9900, 1, 1, "")
        one("cpu_op", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at + 10, 900 + 40 * s, 1, 1, "")
        for (k = 0; k < 12; k++) {
            t = at + 1500 + k * 600
            one("cpu_op", k % 3 ? "aten::linear" : "aten::" hostile, t, 300, 1, 1, "")
            one("cuda_runtime", "cudaLaunchKernel", t + 20, 8, 1, 1, "\"correlation\":" 100 * s + k)
            one("kernel", k % 3 ? "gemm_f16" : "fuse" hostile, t + 60, 420, 0, 7, "\"device\":0,\"stream\":7,\"correlation\":" 100 * s + k)
        }
        one("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", at + 1000, 200, 0, 7, "\"device\":0,\"stream\":7,\"bytes\":4000000")
        one("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", at + 6000, 3000 + 100 * s, 0, 20, "\"device\":0,\"stream\":20,\"correlation\":" 100 * s + 50)
    }
    print "]}"
}
function one(cat, name, ts, dur, pid, tid, args) {
    printf "%s{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"ts\":%d,\"dur\":%d,\"pid\":%d,\"tid\":%d,\"args\":{%s}}", n++ ? ",\n" : "", cat, name, ts, dur, pid, tid, args
}' > "$TMP/$trace"
check "a site of a GPU trace is made" "$BIN/dcreport" "$TMP/$trace" -o "$site/gpu" -q
sed 's/"dur":420/"dur":350/; s/"name":"gemm_f16"/"name":"void math::gemm<16>(int)"/' "$TMP/$trace" > "$TMP/before.json"
awk 'BEGIN { FS = OFS = "\"name\":\"gemm_f16" } /gemm_f16/ { $0 = $1 "\"name\":\"void math::gemm<" NR % 2 ">(int)" $2 } 1' "$TMP/$trace" > "$TMP/after.json"
check "a site of two GPU traces is made" "$BIN/dcreport" --baseline "$TMP/before.json" -- "$TMP/after.json" -o "$site/names" -q
mapfile -t pages < <(cd "$site" && find . -name '*.html' -printf '%P\n' | sort)

# Of three runs of one kind two are examined; of the second site only pages of other kinds.
mapfile -t some < <(printf '%s\n' "${pages[@]}" | grep -vE '^runs/2node|^gpu/(analysis|data|formulas|glossary|methodology)|^names/(runs|index|methodology)')

mv "$TMP/whole.html" "$site/" # it has the same contents, so some checks need not be repeated on it

# look FOLDER PAGE...: opens the pages in one browser and leaves its observations in FOLDER (the head of look.py).
look() {
    timeout 400 python3 tests/browser/look.py "$@" > "$TMP/said" 2>&1
}
# Requests of pages in a net log. The browser's own services make requests too, which come from no origin.
requests() {
    jq -r '.constants.logEventTypes.URL_REQUEST_START_JOB as $start | .events[]
           | select(.type == $start and .params.url != null and .params.initiator != "not an origin") | .params.url' "$1" 2> "$TMP/jq" \
        | grep -vE '^(file|data|chrome|devtools|chrome-extension):' || [ ! -s "$TMP/jq" ]
}

# The check itself must be able to fail: a page that breaks its own policy, and one that asks for the network.
sed 's|</main>|<script>document.title = 1</script><img src="http://example.com/x.png" alt="x"></main>|' "$site/index.html" > "$TMP/bad.html"
echo '<img src="http://example.com/x.png">' > "$TMP/net.html"
look "$TMP/bad" "$TMP/bad.html" "$TMP/net.html"
if [ "$(grep -c 'Content Security Policy' "$TMP/bad/0.said")" -ge 2 ] && [ "$(grep -c CONSOLE "$TMP/bad/stderr")" -ge 2 ]; then
    ok "a broken page is noticed"
else
    not_ok "a broken page is noticed" "$(cat "$TMP/said" "$TMP/bad/stderr")"
fi
if grep -q example.com "$TMP/bad/1.asked" && requests "$TMP/bad/net.json" | grep -q example.com; then
    ok "a request for the network is noticed"
else
    not_ok "a request for the network is noticed" "$(cat "$TMP/said"; requests "$TMP/bad/net.json")"
fi

look "$TMP/looked" "${some[@]/#/$site/}"
# Messages and requests that cannot be assigned to a page count against all of them.
everywhere=''
[ -n "$(cat "$TMP"/looked/*.said)" ] || everywhere+=$(grep CONSOLE "$TMP/looked/stderr")
[ -n "$(cat "$TMP"/looked/*.asked)" ] || everywhere+=$(requests "$TMP/looked/net.json")
for i in "${!some[@]}"; do
    page=${some[i]}
    wrong=$(cat "$TMP/looked/$i.said" "$TMP/looked/$i.asked" 2>&1)
    if [ -n "$wrong$everywhere" ]; then
        not_ok "$page: silent and without requests" "$wrong $everywhere $(cat "$TMP/said")"
    elif ! grep -q '</footer>' "$TMP/looked/$i.dom" || grep -qiE '<script[^>]*>alert|<img' "$TMP/looked/$i.dom"; then
        not_ok "$page: silent and without requests" "the page did not come out whole, or holds what an archive said as HTML"
    else
        ok "$page: silent and without requests"
    fi
done

# Every link leads to a file of the site, every anchor to an id in it.
broken=$(python3 tests/browser/links.py "$site" "${pages[@]}" 2>&1)
printf '<p id="here"><a href="none.html"> <a href="#none"> <a href="#here"> <a href="http://example.com">' > "$TMP/linked.html"
check "broken links are noticed" test "$(python3 tests/browser/links.py "$TMP" linked.html | sed 's/.* //' | tr '\n' ' ')" = "anchor site nowhere "
if [ -z "$broken" ]; then
    ok "every link and anchor resolves"
else
    not_ok "every link and anchor resolves" "$broken"
fi
size=$(stat -c %s "$site/index.html")
if [ "$size" -lt 300000 ]; then
    ok "index.html is under 300 kB"
else
    not_ok "index.html is under 300 kB" "$size bytes"
fi

# Before and after are on the first page, and the archives of before are cited too.
# shellcheck disable=SC2317  # called by check
compared() {
    grep -A 12 '<section id="compared">' "$site/index.html" | grep -q 'Data loading\|data loading' &&
        grep -q '<a href="compare.html#nodes-4">' "$site/index.html" && grep -q '&lt;b&gt;4.tar (before)' "$site/index.html" &&
        grep -A 1 'before:' "$site/citation.bib" | grep -qE '<b>4.tar .manifest SHA-256 [0-9a-f]{64}' &&
        [ "$(jq -r '.baseline_archives[] | .archive' "$site/report.json")" = '<b>4.tar' ]
}
check "the first page tells before and after, and cites both" compared

# In the single file nothing is elsewhere: links lead only to itself and to data inside.
outside=$(grep -oE ' (href|src)="[^"]*"' "$site/whole.html" | grep -vE '="(#|data:)' | head -3)
if [ -z "$outside" ]; then ok "the single file is whole"; else not_ok "the single file is whole" "$outside"; fi

check "a trace that was not packed is cited by its checksum" grep -qF "(file SHA-256 $(sha256sum "$TMP/$trace" | cut -c 1-64))" "$site/gpu/citation.bib"

# browse URL OPTION...: prints the rendered page; the browser's messages go to $TMP/said.
browse() {
    local url=$1 profile
    shift
    profile=$(mktemp -d "$TMP/profile.XXXXXX")
    timeout 60 chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
        --disable-component-update --disable-sync --disable-dev-shm-usage --disable-extensions --no-default-browser-check \
        --host-resolver-rules='MAP * ~NOTFOUND' --user-data-dir="$profile" --enable-logging=stderr \
        "$@" --dump-dom "$url" 2> "$TMP/said"
    rm -rf "$profile"
}
# Inside the pages: light, then dark. probe SCHEME PAGE...: lines of the probe on stdout.
cp tests/browser/probe.html "$TMP/probe.html"
probe() {
    local scheme=$1 number=1
    shift
    [ "$scheme" = dark ] && number=0
    {
        echo "window.SITE = 'file://$site/';"
        printf 'window.PAGES = ['
        printf "'%s'," "$@"
        echo '];'
    } > "$TMP/pages.js"
    browse "file://$TMP/probe.html" --allow-file-access-from-files --window-size=1400,1000 --virtual-time-budget=60000 \
        --blink-settings=preferredColorScheme=$number |
        sed -n '/<pre id="result">/,/<\/pre>/p' | sed -E 's/<[^>]*>//g; s/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g'
}

# The probe itself must be able to fail.
sed 's|<main id="main">|<main id="main"><h4>jump</h4><table><tr><th>a</th></tr></table><hr width="2000"><font color="#999">pale</font>|;
     s|>compute</text>|>compute and very much more than there is room for in any figure of this width or of the next one, however wide it be</text>|' \
    "$site/index.html" > "$TMP/unsound.html"
probe light "$TMP/unsound.html" > "$TMP/result"
for what in 'sideways scrolling at 390' 'sideways scrolling at 1280' 'headings, labels' 'contrast' 'no word of a figure'; do
    if grep -q "^not ok .*$what" "$TMP/result"; then
        ok "the probe notices: $what"
    else
        not_ok "the probe notices: $what" "$(cat "$TMP/result")"
    fi
done

for scheme in light dark; do
    probe $scheme "${some[@]}" > "$TMP/result"
    while IFS= read -r line; do
        case $line in
        ok\ *) ok "$scheme ${line#ok }" ;;
        not\ ok\ *) not_ok "$scheme ${line#not ok }" ;;
        esac
    done < "$TMP/result"
    if grep -q "^end $scheme" "$TMP/result"; then
        ok "$scheme: every page was probed"
    else
        not_ok "$scheme: every page was probed" "$(tail -5 "$TMP/said")"
    fi
done

# Development tools of npm, at the versions of the lock file. They are fetched once into the build folder; without npm or
# without its registry these checks are skipped.
. tests/lib/npm_tools.sh
if npm_tools; then
    if node tests/browser/axe.js "$TOOLS" "${some[@]/#/$site/}" "$site/whole.html" > "$TMP/axe"; then
        ok "axe-core finds nothing in $(tail -n 1 "$TMP/axe") looks at pages, light and dark"
    else
        not_ok "axe-core finds nothing" "$(cat "$TMP/axe")"
    fi
    echo '<main><img src="x.png"><font color="#ccc">pale</font></main>' > "$TMP/bad-axe.html"
    if node tests/browser/axe.js "$TOOLS" "$TMP/bad-axe.html" > "$TMP/axe"; then
        not_ok "axe-core notices a bad page" "it did not"
    else
        ok "axe-core notices a bad page"
    fi
    validate() { # CONFIGURATION PAGE...
        (cd "$site" && "$TOOLS/node_modules/.bin/html-validate" --config "$TOOLS/$1.json" -f text "${@:2}" 2>&1)
    }
    cp tests/browser/htmlvalidate.json "$TOOLS/"
    # For a file of 2 MB the rule on equal ids takes 10 s, so grep looks for them there.
    jq '.rules["no-dup-id"] = "off"' tests/browser/htmlvalidate.json > "$TOOLS/without-ids.json"
    each_id_once() { ! grep -oE ' id="[^"]*"' "$1" | sort | uniq -d | grep .; }
    if validate htmlvalidate "${pages[@]}" > "$TMP/said" && validate without-ids whole.html > "$TMP/said" &&
        each_id_once "$site/whole.html" > "$TMP/said"; then
        ok "html-validate finds nothing"
    else
        not_ok "html-validate finds nothing" "$(head -20 "$TMP/said")"
    fi
    echo '<p><div></p>' > "$site/bad.html"
    echo '<p id="here"></p><p id="there"></p><p id="here"></p>' > "$TMP/bad.html"
    if validate htmlvalidate bad.html > "$TMP/said" || validate without-ids bad.html > "$TMP/said" || each_id_once "$TMP/bad.html" > "$TMP/said"; then
        not_ok "html-validate notices a bad page" "it did not"
    else
        ok "html-validate notices a bad page"
    fi
    rm "$site/bad.html"
    # On paper: whole, and without gaps. The last page is cut.
    sed 's|<main id="main">|<main id="main"><figure id="tall"><svg width="2000" height="1500"></svg></figure>|' "$site/index.html" > "$TMP/cut.html"
    mapfile -t printed < <(printf "$site/%s\n" index.html methodology.html whole.html names/compare.html \
        "$(printf '%s\n' "${pages[@]}" | grep '^runs/4.*index')" "$(printf '%s\n' "${pages[@]}" | grep '^gpu/runs/.*index')")
    node tests/browser/print.js "$TOOLS" "${printed[@]}" "$TMP/cut.html" > "$TMP/paper"
    if grep -q '^not ok .*cut.html.*longer than a page' "$TMP/paper"; then ok "a cut page is noticed"; else not_ok "a cut page is noticed" "$(tail -n 1 "$TMP/paper")"; fi
    while IFS= read -r line; do
        case $line in
        *cut.html*) ;;
        ok\ *) ok "${line#ok }" ;;
        not\ ok\ *) not_ok "${line#not ok }" ;;
        esac
    done < "$TMP/paper"
    if [ "$(wc -l < "$TMP/paper")" -eq $((${#printed[@]} + 1)) ]; then ok "every page was printed"; else not_ok "every page was printed" "$(cat "$TMP/paper")"; fi
    node tests/browser/timeline.js "$TOOLS" "$site/$(printf '%s\n' "${pages[@]}" | grep '^runs/.*timeline' | tail -n 1)" \
        "$site/gpu/index.html" "$site/names/compare.html" > "$TMP/timeline" 2>&1 ||
        echo "not ok the timeline's test ran to its end ($(tail -n 3 "$TMP/timeline"))" >> "$TMP/timeline"
    while IFS= read -r line; do
        case $line in
        ok\ *) ok "timeline: ${line#ok }" ;;
        not\ ok\ *) not_ok "timeline: ${line#not ok }" ;;
        esac
    done < "$TMP/timeline"
else
    skip "axe-core, html-validate and the timeline in use" "$TOOLS_BECAUSE"
fi
finish
