#!/usr/bin/env bash
# CSV tables are for programs: strict, rectangular, plain numbers with one unit per column (tests/lib/csv_tables.py), the same
# numbers as report.json, and foreign names are never formulas.
. tests/lib/tap.sh
. tests/data/archives/fixture.sh
report=$BIN/dcreport
tables() { check "$1: every table is data" python3 tests/lib/csv_tables.py "$TMP/site"; }

for n in 1 2 4; do
    fixture_run "$TMP/comm$n" "$n"
    [ "$n" = 4 ] && fixture_calibrate "$TMP/comm$n"
    sed -i 's/"environment":{/&"SUM":"=1,2","QUOTED":"@a \\"b\\"","MINUS":"-1+cmd",/' "$TMP/comm$n/job_metadata.json"
    fixture_pack "$TMP/comm$n" "$TMP/comm-${n}node.tar"
done
check "a series with a calibration" "$report" -q "$TMP"/comm-*.tar -o "$TMP/site"
tables "a series"
cat > "$TMP/numbers.py" << 'PY'
import csv, json, sys
site = sys.argv[1]
report = json.load(open(site + '/report.json'))
def table(path):
    return list(csv.DictReader(open(f'{site}/{path}.csv', newline=''), strict=True))
def near(text, value):
    assert abs(float(text) - value) <= 1e-6 * abs(value), (text, value)
for row, run in zip(table('tables/runs'), report['runs'], strict=True):
    near(row['Step time (ns)'], run['step']['mean_ns'])
    near(row['Samples/s'], run['throughput_samples_per_s'])
points = report['series'][0]['points']
for row, point in zip(table('tables/speedup'), points, strict=True):
    near(row['Speed-up (ratio)'], point['speedup'])
    near(row['Efficiency (ratio)'], point['efficiency'])
    if point['speedup_interval']:
        near(row['95 % interval, from (ratio)'], point['speedup_interval']['lo'])
        near(row['95 % interval, to (ratio)'], point['speedup_interval']['hi'])
    else:
        assert row['95 % interval, note'] == 'reference' and not row['95 % interval, from (ratio)']
judged = 0
for run in report['runs']: # the share of step time, whatever quantity judged the class
    rows = table('runs/' + run['slug'] + '/tables/classes')
    shares = sorted(c['share_ratio'] for c in run['classes'].values() if c['share_ratio'] is not None)
    for text, share in zip(sorted((r['Share of step (ratio)'] for r in rows if r['Share of step (ratio)']), key=float), shares, strict=True):
        near(text, share)
    judged += sum(c['judged'] is not None for c in run['classes'].values())
assert judged > 0
folder = 'runs/' + report['runs'][2]['slug'] + '/tables/'
assert {r['Memory (bytes)'] for r in table(folder + 'nodes')} == {'16000000000'}
values = {r['Quantity']: (r['Unit'], r['Value']) for r in table(folder + 'steps-figure')}
assert values['mean'] == ('ns', str(report['runs'][2]['step']['mean_ns'])), values
assert values['slowest / median'][0] == 'ratio' and values['steps counted'] == ('', '39'), values
PY
check "... with the numbers of report.json" python3 "$TMP/numbers.py" "$TMP/site"
check "... and what no host recorded is on a page once" test "$(cat "$TMP"/site/runs/4*/index.html | grep -o 'Memory pressure' | wc -l)" = 1
check "... and in the table of all monitors" grep -q '^node 3 Memory pressure,,,not recorded' "$TMP"/site/runs/4*/tables/monitors-figure.csv
cat > "$TMP/formulas.py" << 'PY'
import csv, sys
rows = {row[0]: row[1] for row in csv.reader(open(sys.argv[1], newline=''), strict=True)}
assert (rows['SUM'], rows['QUOTED'], rows['MINUS']) == ("'=1,2", "'@a \"b\"", "'-1+cmd"), rows
PY
check "... and no formula: the mark stands inside of the quotes" python3 "$TMP/formulas.py" "$TMP"/site/runs/4*/tables/environment.csv
fixture_run "$TMP/slow4" 4 slow_rank=2 transfer=500000 kind=emulated cores=2
fixture_pack "$TMP/slow4" "$TMP/slow-4node.tar"
check "a comparison" "$report" -q --baseline "$TMP/slow-4node.tar" -- "$TMP/comm-4node.tar" -o "$TMP/site"
tables "a comparison"
mkdir "$TMP/bare"
cp "$TMP/comm1/metrics.csv" "$TMP/bare/"
check_status 3 "a run without steps" "$report" -q "$TMP/bare/metrics.csv" -o "$TMP/site"
tables "a run without steps"
printf '{"traceEvents":[{"ph":"X","cat":"kernel","name":"gemm, \\"of two\\"","pid":0,"tid":7,"ts":10,"dur":2.5,"args":{"device":0,"stream":7}}]}' >"$TMP/trace.json"
check "a trace of one kernel" "$report" -q "$TMP/trace.json" -o "$TMP/site"
tables "a trace of one kernel"
cat > "$TMP/operators.py" << 'PY'
import json, sys
names = ['1,2', '1,3', '12', '-5']
events = [{'ph': 'X', 'cat': 'cpu_op', 'name': name, 'pid': 1, 'tid': 1, 'ts': 100 * i, 'dur': 50 + i} for i, name in enumerate(names)]
json.dump({'traceEvents': events}, open(sys.argv[1], 'w'))
PY
python3 "$TMP/operators.py" "$TMP/names.json"
check "operators whose names are numbers" "$report" -q "$TMP/names.json" -o "$TMP/site"
tables "... of them"
cat > "$TMP/names.py" << 'PY'
import csv, sys
names = sorted(row[0] for row in list(csv.reader(open(sys.argv[1], newline=''), strict=True))[1:])
assert names == ['-5', '1,2', '1,3', '12'], names
PY
check "... which stay names" python3 "$TMP/names.py" "$TMP"/site/runs/*/tables/operators_1.csv
# Of a locale with decimal commas; older versions of nsys name no unit in most columns.
echo 'Time(%),Total Time (ns),Instances,Average,Minimum,Maximum,Name' >"$TMP/commas.csv"
printf '"60,0","1,600","1,200","18,5",1,20,gemm\n"40,0","1,000",10,"100,25",90,"1,10",copy\n' >>"$TMP/commas.csv"
check "a summary with decimal commas" "$report" -q "$TMP/commas.csv" -o "$TMP/site"
tables "... of it"
cat > "$TMP/commas.py" << 'PY'
import csv, sys
rows = [[float(cell) for cell in row[1:]] for row in list(csv.reader(open(sys.argv[1], newline=''), strict=True))[1:]]
assert rows == [[60, 1600, 1200, 18.5, 1, 20], [40, 1000, 10, 100.25, 90, 1.1]], rows
PY
check "... whose commas are no separators of thousands" python3 "$TMP/commas.py" "$TMP"/site/runs/*/tables/evidence*.csv
if [ -d "$SHARED/data/traces/kineto" ]; then
    for name in kineto monitor nccl-tests nsys nsys-h100 scaling talp; do
        "$report" -q "$SHARED/data/traces/$name" -o "$TMP/site" >/dev/null 2>&1
        tables "$name"
    done
else
    skip "tables of real traces" "no ../shared/data/traces"
fi
finish
