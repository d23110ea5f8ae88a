#!/usr/bin/env bash
# train_data.sh - the same readings from every format train to the same bits; claims of a header are not trusted.
# plain: it limits the address space, of which ASan reserves all
# shellcheck disable=SC2317  # functions are called by check
. tests/lib/tap.sh
train=("$BIN/dcrnn-train")
data=tests/data/readers
printf '773869,767541,767542,717447' >"$TMP/ids.txt"

run() { # folder argument...
    local out=$TMP/$1
    shift
    "${train[@]}" --out "$out" --units 4 --batch 4 --steps 2 --validation-windows 2 --checkpoint-every 1 "$@"
}
# The checkpoint holds the CRC of readings, times and graph, and all weights.
same() { # name argument...
    check "$1 is read" run "$1" "${@:2}"
    check "$1: the same bits as from the CSV" cmp "$TMP/csv/checkpoint.bin" "$TMP/$1/checkpoint.bin"
}
numbered=(--sensor-ids "$TMP/ids.txt" --start-time "2012-03-01 22:00")
check "CSV and edge list" run csv --data $data/speeds.csv --graph $data/edges.csv
same hdf5 --data $data/metr-la.h5 --graph $data/adj_mx.pkl
same hdf5-nan --data $data/pems-bay.h5 --graph $data/adj_mx-windows.pkl
same hdf5-blocks --data $data/mixed.h5 --data-key df --graph $data/weights-csr.npz
same npy --data $data/speeds.npy "${numbered[@]}" --graph $data/weights.npy --graph-format weight-matrix
same npy-fortran --data $data/speeds-f4-fortran.npy "${numbered[@]}" --graph $data/weights-coo.npz
same npz --data $data/pems04.npz --data-feature 2 "${numbered[@]}" --graph $data/weights.npz --graph-format weight-matrix
same windows --data $data/windows --sensor-ids "$TMP/ids.txt" --graph $data/edges.csv

check "without --start-time" run midnight --data $data/speeds.npy --sensor-ids "$TMP/ids.txt" --graph $data/edges.csv
cp "$TMP/tap.out" "$TMP/said"
check "the assumed time is noted" grep -q "note: .*first row is taken as midnight" "$TMP/said"
check_status 1 "and makes other bits" cmp -s "$TMP/csv/checkpoint.bin" "$TMP/midnight/checkpoint.bin"
if command -v mpirun >/dev/null; then
    train=(mpirun --oversubscribe -n 2 "$BIN/dcrnn-train")
    check "two ranks on the CSV" run two-csv --data $data/speeds.csv --graph $data/edges.csv
    check "two ranks on an HDF5 file" run two-hdf5 --data $data/metr-la.h5 --graph $data/adj_mx.pkl
    check "two ranks: the same bits" cmp "$TMP/two-csv/checkpoint.bin" "$TMP/two-hdf5/checkpoint.bin"
else
    skip "two ranks on an HDF5 file" "no mpirun"
fi

# A header promises 10^9 rows but 48 are there: a sentence, and no memory for them.
head_of() { printf "\223NUMPY\1\0v\0{'descr': '<f8', 'fortran_order': %s, 'shape': %s, }%*s\n" "$1" "$2" $((118 - 61 - ${#1} - ${#2})) ''; }
few() { (ulimit -v 4000000 && exec "$BIN/dcrnn-train" --out "$TMP/no" --graph "$data/edges.csv" --data "$1"); }
promised() { # name file part-of-the-sentence function
    check_status 2 "$1" "${4:-few}" "$2"
    cp "$TMP/tap.out" "$TMP/said"
    check "$1: one sentence" test "$(wc -l <"$TMP/said")" -eq 1
    check "$1: says why" grep -q "$3" "$TMP/said"
}
for order in False True; do
    {
        head_of $order '(1000000000, 4)'
        tail -c 1536 $data/speeds.npy
    } >"$TMP/promise-$order.npy"
    promised "an array that promises 10^9 rows, Fortran order $order" "$TMP/promise-$order.npy" "ends before the 4000000000 values of its header"
done
promised "a frame that promises 10^9 rows" $data/bad-claims.h5 "not all in the file"
head -c 3000 $data/metr-la.h5 >"$TMP/cut.h5"
promised "a frame that is cut off" "$TMP/cut.h5" "truncated file"
# 4 GiB of zeros as a file with a hole: it is refused by its beginning.
matrix() { (ulimit -v 1000000 && exec "$BIN/dcrnn-train" --out "$TMP/no" --data "$data/speeds.csv" --graph "$1" --graph-format weight-matrix); }
head_of False '(65536, 65536)' | sed 's/<f8/|b1/' >"$TMP/large.npy"
truncate -s $((128 + 65536 * 65536)) "$TMP/large.npy"
promised "a matrix of 65536 x 65536" "$TMP/large.npy" "a matrix of 4 x 4 is needed" matrix
# One row of 2^25 values: as many features of one sensor.
head_of False '(1, 1, 33554432)' | sed 's/<f8/|b1/' >"$TMP/wide.npy"
truncate -s $((128 + 33554432)) "$TMP/wide.npy"
promised "a row of 2^25 values is read" "$TMP/wide.npy" "which name no sensors"
check "nothing was written" test ! -e "$TMP/no"
finish
