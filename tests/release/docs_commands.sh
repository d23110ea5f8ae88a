#!/usr/bin/env bash
# Every command block (```sh) of README.md and docs/ is run here, or PLAN names the test that runs it, or why nothing can. The test fails if PLAN
# lacks a block. Each command is looked up too: the program, its options, make targets and variables, files and packages must exist.
# plain: a reader runs the plain build
# shellcheck disable=SC2317,SC2016  # functions are called by check; inner shells expand
WELLFORMED=no # other tests look at these outputs
. tests/lib/tap.sh
. tests/data/archives/fixture.sh
here=$PWD recorded=$PWD/tests/data/archives/recorded
mapfile -t pages < <(grep -lx '```sh' README.md docs/*.md docs/tutorials/*.md)

# PAGE | the beginning of the block | run
#                                   | by TEST: words of that test
#                                   | not run: the reason
PLAN='
README.md|make report|by tests/fresh/fresh.sh: make report
README.md|build/bin/dccollect run -o run.tar|run
README.md|build/bin/dccollect run -o run2.tar|run
README.md|build/bin/dcreport trace.json.gz|run
README.md|slurm/submit --nodes|by tests/slurm/series.sh: slurm/submit
README.md|make                        #|by tests/release/install.sh: install "${there[@]}"
README.md|build/bin/dcreport --baseline|run
README.md|build/bin/dcreport|run
docs/accuracy.md|make accuracy|not run: takes half an hour and more, and needs data that are not in the repository
docs/bundle.md|make bundle|by tests/release/bundle.sh: make --no-print-directory
docs/bundle.md|tar xf|by tests/release/bundle.sh: bin/mpirun
docs/bundle.md|./run-on-device|by tests/release/bundle.sh: --only "machine selftest gpu-tests bench yardstick train report"
docs/ci.md|build/bin/dccollect run|run
docs/ci.md|mkdir -p baseline|run
docs/ci.md|python3 -m http.server|by tests/release/docs_commands.sh: serves()
docs/cluster.md|make|by tests/slurm/series.sh: slurm/submit
docs/cluster.md|sbatch|by tests/slurm/local.sh: slurm/profile.sbatch
docs/cluster.md|tests/slurm/cluster|by tests/slurm/choices.sh: tests/slurm/cluster
docs/data.md|build/bin/dcrnn-train|by tests/integration/train_data.sh: metr-la.h5
docs/data.md|python3|run
docs/performance.md|make bench|not run: measures for minutes and needs an idle machine
docs/scenarios.md|build/bin/dcrnn-train --scenario data --show|run
docs/scenarios.md|build/bin/dcrnn-train --scenario data|by tests/scenarios/small.sh: run_scenario
docs/simulator.md|build/bin/dcrnn-train|run
docs/themes.md|build/bin/dcreport|run
docs/themes.md|mkdir|run
docs/tutorials/mpi.md|sudo apt install|not run: installs packages, which must be in packages.txt
docs/tutorials/mpi.md|cp /usr/share|run
docs/tutorials/mpi.md|export|run
docs/tutorials/mpi.md|build/bin/dccollect verify|run
docs/tutorials/mpi.md|build/bin/dcreport|run
docs/tutorials/pytorch.md|sudo apt install|not run: installs packages, which must be in packages.txt
docs/tutorials/pytorch.md|export|run
docs/tutorials/pytorch.md|build/bin/dcreport run1.tar|run
docs/tutorials/pytorch.md|BATCH=256|run
docs/tutorials/slurm-paper.md|make|by tests/fresh/fresh.sh: make report
docs/tutorials/slurm-paper.md|slurm/submit --dry-run|run
docs/tutorials/slurm-paper.md|slurm/submit --nodes|by tests/slurm/choices.sh: slurm/submit --nodes "1 2" --repeat
docs/tutorials/slurm-paper.md|build/bin/dccollect verify|run
docs/tutorials/slurm-paper.md|sbatch|by tests/slurm/local.sh: slurm/profile.sbatch
docs/tutorials/slurm-paper.md|mkdir -p article|run
docs/tutorials/slurm-paper.md|build/bin/dcreport results|run
docs/tutorials/slurm-paper.md|mkdir -p public|run
'

# ---- the blocks, each a file PAGE-NUMBER; of a page code of other languages too, PAGE.python
mkdir "$TMP/blocks"
for page in "${pages[@]}"; do
    awk -v to="$TMP/blocks/$(basename "$page" .md)" '/^```/ { if (open) close(open); open = $0 == "```sh" ? sprintf("%s-%02d", to, ++n) : $0 == "```python" ? to ".python" : ""; next }
        open { print >open }' "$page"
done
check "there are command blocks on README, the recipe and the tutorials" test "$(printf '%s\n' "${pages[@]}" | grep -c 'README\|ci.md\|tutorials/')" = 5
unread() {
    awk '/^```/ { fenced = !fenced }
        !fenced && /^    ((build\/bin\/)?dc(report|collect|rnn-train)|bash|cp|make|mkdir|mpirun|python3|sbatch|sh|slurm\/[a-z]+|srun|sudo|tar|tests\/[a-z]+)[ \/]/ { print FILENAME ": " $0 }' README.md docs/*.md docs/tutorials/*.md
}
check "no command stands in an indented block, which nothing here reads" test -z "$(unread)"
elsewhere() { # tests that PLAN names and that do not exist or have not these words
    grep -oE '\|by [^|]*$' <<<"$PLAN" | sed 's/^|by //' | while IFS= read -r by; do
        grep -qF -- "${by#*: }" "${by%%: *}" 2>/dev/null || echo "$by"
    done
}
check "the tests that run blocks elsewhere exist" test -z "$(elsewhere)"
check "PLAN says nothing else" test -z "$(awk -F'|' 'NF && $3 !~ /^(run|by tests\/[^ ]*: .+|not run: .+)$/' <<<"$PLAN")"

unlisted() { for page in docs/*.md docs/tutorials/*.md; do grep -qF "](${page#docs/})" docs/index.md || echo "$page"; done; }
check "docs/index.md lists every page but itself" test "$(unlisted)" = docs/index.md
dead() { # relative links that lead nowhere
    for page in ./*.md docs/*.md docs/tutorials/*.md; do
        grep -oE '\]\([^)#: ]+' "$page" | sed 's/^](//' | while read -r to; do [ -e "$(dirname "$page")/$to" ] || echo "$page: $to"; done
    done
}
check "no link leads nowhere" test -z "$(dead)"

# ---- looked up: Python prints what does not exist
cat >"$TMP/look.py" <<'PY'
import glob, os, re, shlex, shutil, subprocess, sys
blocks = sys.argv[1:]
text = {}
def output(*command):
    if command not in text:
        text[command] = subprocess.run(command, capture_output=True, text=True).stdout
    return text[command]
def read(pattern):
    return "".join(open(f).read() for f in sorted(glob.glob(pattern)))
make = read("Makefile") + read("mk/*.mk")
known = make + read("collect/series.sh") + read("slurm/*") + read(os.environ["TMP"] + "/blocks/*.python")
packages = read("packages.txt")
faults = []
def exists(word, where, what):
    if not re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", where):
        faults.append(f"{what} {word}")
def options(words, where, what):
    for w in words:
        if w.startswith("-") and w != "--":
            exists(re.match(r"-+[\w-]+", w).group(), where, f"{what} has no option")
def look(words):
    while words and words[0] in ("if", "then", "else", "fi"):
        words.pop(0)
    while words and re.match(r"[A-Za-z_]+=", words[0]):
        name = words.pop(0).split("=")[0]
        if name.isupper():
            exists(name, known, "nothing reads the variable")
    if not words or words[0] in ("[", "exit"):
        return
    program, rest = words[0], words[1:]
    name = os.path.basename(program)
    if name == "sudo":
        return look(rest)
    if program.startswith(("build/bin/", "bin/dc")):
        if not os.access(os.path.join(os.environ["BIN"], name), os.X_OK):
            faults.append(f"no program {program}")
        inner = rest.index("--") + 1 if name == "dccollect" and "--" in rest else None
        options(rest[:inner], output(os.path.join(os.environ["BIN"], name), "--help"), name)
        if inner:
            look(rest[inner:])
    elif name == "make":
        for w in rest:
            exists(w.split("=")[0], known if "=" in w else "\n".join(l for l in make.split("\n") if re.match(r"[\w-].*:", l)), "make has no")
    elif name == "apt":
        for w in rest[1:]:
            exists(w, packages, "packages.txt lacks")
    elif name in ("submit", "sbatch"):
        mine = rest[:rest.index("--")] if "--" in rest else rest
        if "slurm/profile.sbatch" in mine: # what follows it is for dcrnn-train
            script = mine.index("slurm/profile.sbatch") + 1
            options(mine[script:], output(os.path.join(os.environ["BIN"], "dcrnn-train"), "--help"), "dcrnn-train")
            mine = mine[:script]
        theirs = shutil.which("sbatch") and output("sbatch", "--help") or "--partition --time --nodes --account --array" # without a cluster it says nothing
        options(mine, output("slurm/submit", "--help") + theirs, program)
        for w in [program] * (name == "submit") + [w for w in mine if w.startswith("slurm/")]:
            if not os.path.exists(w):
                faults.append(f"no file {w}")
    elif name == "bash" or program.startswith("tests/"):
        file = rest[0] if name == "bash" else program
        if not os.path.exists(file):
            faults.append(f"no file {file}")
    elif name in ("torchrun", "squeue", "hpcc", "cp", "sed", "export", "ls", "mkdir", "cat", "cd", "echo", "tar", "mpirun", "python3"):
        pass
    elif program in ("./program", "./run-on-device"):
        pass
    else:
        faults.append(f"nobody checks {program}")
n = 0
for block in blocks:
    text_of_block = re.sub(r"<<'END'\n.*?\nEND\n", "\n", open(block).read(), flags=re.S)
    for line in text_of_block.replace("\\\n", " ").split("\n"):
        tokens = shlex.shlex(line, posix=True, punctuation_chars=True)
        tokens.whitespace_split = True
        command = []
        for token in [*tokens, ";"]:
            if set(token) <= set(";|&"):
                n += bool(command)
                look(command)
                command = []
            else:
                command.append(token)
print("\n".join(f"{fault}" for fault in faults), n, "commands")
sys.exit(bool(faults))
PY
look() { python3 "$TMP/look.py" "$@"; }
printf 'build/bin/dcreport --sparkle x.tar\nmake repport\nSTEPPS=3 build/bin/dccollect run -- true\nfrobnicate\n' >"$TMP/wrong"
check_status 1 "what does not exist is found" look "$TMP/wrong"
check "... option, target, variable and program" test "$(grep -c 'option --sparkle\|no repport\|variable STEPPS\|checks frobnicate' "$TMP/tap.out")" = 4

check "every command of the pages exists" look "$TMP"/blocks/*-[0-9][0-9]

# ---- run: a folder for each page, like a clone, with the files that a reader has
first_with() { # MODULE: the first Python that has it. This does not use find_torch, which takes two seconds to import it.
    for python in python3 /usr/bin/python3; do
        "$python" -c 'import importlib.util as u, sys; raise SystemExit(not u.find_spec(sys.argv[1]))' "$1" 2>/dev/null && { command -v "$python"; return; }
    done
}
torch=$(first_with torch) numpy=$(first_with numpy)
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 STEPS=4 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
place() { # PAGE: its folder
    local to=$TMP/$1
    mkdir -p "$to/build" "$to/results"
    ln -s "$BIN" "$to/build/bin"
    ln -s "$here/slurm" "$to/slurm"
    case $1 in
    README)
        printf '#!/bin/sh\n[ "$1" = args ]\n' >"$to/program" && chmod +x "$to/program"
        cp "$recorded/data-on.tar.zst" "$to/old.tar" && cp "$recorded/data-off.tar.zst" "$to/new.tar"
        cp "$here/tests/data/foreign/torch-cpu/rank0.json.gz" "$to/trace.json.gz"
        cp "$here/tests/data/programs/torch_spawn.py" "$to/train.py"
        for rank in 0 1; do gzip -dc "$here/tests/data/foreign/torch-cpu/rank$rank.json.gz" >"$to/rank$rank.json"; done
        python3 - "$to" <<'PY'
import sqlite3, sys
for name in "old", "new":
    d = sqlite3.connect(f"{sys.argv[1]}/{name}.sqlite")
    d.executescript("""CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT); INSERT INTO StringIds VALUES (1, 'sgemm');
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, shortName INTEGER, demangledName INTEGER);
        INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 51000, 0, 7, 1, 1, 1), (60000, 95000, 0, 7, 2, 1, 1);""")
PY
        ;;
    pytorch) cp "$TMP/blocks/pytorch.python" "$to/train.py" ;;
    slurm-paper) for n in 1 2 4; do cp "$recorded/series-$n.tar.zst" "$to/results/${n}node-slurm-471${n}_1.tar"; done ;;
    data)
        cp "$here/tests/data/readers/speeds.csv" "$to/speeds.csv"
        cp "$here/tests/data/readers/adj_mx.pkl" "$to/g.pkl"
        ;;
    themes)
        mkdir "$to/my-theme" && echo 'body { color: black }' >"$to/my-theme/more.css"
        for n in 1 2; do cp "$recorded/series-$n.tar.zst" "$to/results/${n}node.tar"; done
        ;;
    esac
}
lacks() { # PAGE BLOCK: prints a package that it needs and this machine lacks
    case $1 in
    README) [ -n "$torch" ] || ! grep -q torchrun "$2" || echo "PyTorch with gloo (python3-torch)" ;;
    pytorch) [ -n "$torch" ] || echo "PyTorch with gloo (python3-torch)" ;;
    data) [ -n "$numpy" ] || echo "NumPy (python3-numpy)" ;;
    mpi) [ -e /usr/share/doc/hpcc/examples/_hpccinf.txt ] && command -v hpcc >/dev/null || echo "Debian's hpcc" ;;
    esac
}
sed -i 's/1000 Ns/200 Ns/' "$TMP"/blocks/mpi-*
# Each command must end with 0, or with 3 (a report with gaps, which the pages explain).
run_block() { # PAGE BLOCK
    (cd "$TMP/$1" && PATH=$TMP/python:$PATH timeout 240 bash -c 'trap "s=\$?; [ \$s -eq 3 ] || exit \$s" ERR; . "$0"; exit 0' "$2")
}
n_run=0
mkdir "$TMP/python"
[ -z "$torch$numpy" ] || ln -s "${torch:-$numpy}" "$TMP/python/python3"
# PyTorch may be installed without this program. The options are those that README.md names for Debian 12.
printf '#!/bin/sh\nexec python3 -m torch.distributed.run -r 0:1,1:1 -t 0:1,1:1 "$@"\n' >"$TMP/python/torchrun" && chmod +x "$TMP/python/torchrun"
for block in "$TMP"/blocks/*-[0-9][0-9]; do
    page=${block##*/} page=${page%-*}
    path=$(printf '%s\n' "${pages[@]}" | grep "\(^\|/\)$page\.md$")
    first=$(head -n 1 "$block")
    how=$(awk -F'|' -v page="$path" -v first="$first" '$1 == page && index(first, $2) == 1 && length($2) > longest { longest = length($2); how = $3 } END { print how }' <<<"$PLAN")
    case $how in
    '') not_ok "$path: $first" "PLAN says neither run nor why not"; continue ;;
    run) n_run=$((n_run + 1)) ;;
    *) continue ;;
    esac
    [ -d "$TMP/$page" ] || place "$page"
    missing=$(lacks "$page" "$block")
    if [ -n "$missing" ]; then skip "$path: $first" "no $missing"; else check "$path: $first" run_block "$page" "$block"; fi
done
echo "# $n_run of $(find "$TMP/blocks" -name '*-[0-9][0-9]' | wc -l) blocks are run here"

# ---- docs/ci.md: the script of its first block, as a pipeline runs it. The blocks above ran it once, and kept the baseline.
plays() { (cd "$TMP/ci" && sh -e performance.sh); }
cd "$TMP/ci" || exit
cp "$TMP/blocks/ci-01" performance.sh
check "docs/ci.md: with a baseline" plays
check "... the site compares" grep -q . site/compare.html
check "... the rules hold in JUnit and in the summary" sh -c 'grep -q "tests=\"2\" failures=\"0\"" dcreport.xml && grep -q "^## dcreport: 2 of 2 checks hold" dcreport.md'
sed -i "s/step_time<1s/step_time<1us/; s/dcrnn-train .*/dcrnn-train --steps 12 --sensors 24 --units 8 --batch 16/" performance.sh
check_status 1 "... a rule that fails gives status 1" plays
check "... and is named in both" sh -c 'grep -q "failures=\"1\"" dcreport.xml && grep -q "^| [*][*]fails[*][*] | step" dcreport.md'
check "... with a report all the same" test -s site/index.html -a -s new.tar
serves() { # its block, at a free port, until a page has been read
    (
        is_read=
        port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])')
        sed "s/ 8000$/ $port/" "$TMP/blocks/ci-03" >serve.sh && grep -q " $port$" serve.sh || exit
        timeout 60 bash serve.sh 2>/dev/null &
        for _ in $(seq 50); do
            python3 -c "from urllib.request import urlopen as u; u('http://localhost:$port/index.html')" 2>/dev/null && is_read=1 && break
            sleep 0.2
        done
        kill $! && [ -n "$is_read" ]
    )
}
check "docs/ci.md: a site behind a web server" serves
cd "$here" || exit
hosted() { # the files that the hosted systems name
    sed -n '/^```yaml/,/^```$/p' docs/ci.md | grep -oE '\b(performance\.sh|dcreport\.(md|xml)|new\.tar|site/)' | sort -u |
        while read -r name; do [ -e "$TMP/ci/$name" ] || echo "$name"; done
}
check "... and with every file that the hosted systems take" test -z "$(hosted)"
finish
